//! What files of the crate name of each other, as far as their text tells: `use` declarations and paths, with
//! `crate`, `super` and re-exports resolved. Tests in the files are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::sources;

/// The path of a module, without `crate`.
pub(super) type Module = Vec<String>;

/// What a file says.
#[derive(Default)]
struct File {
    /// The types it defines.
    types: BTreeSet<String>,
    /// The paths it names, from the root of the crate.
    paths: BTreeSet<Vec<String>>,
    /// The paths it imports under another name.
    renamed: Vec<(Vec<String>, String)>,
}

/// The files of the crate.
pub(super) struct Crate {
    files: BTreeMap<Module, File>,
}

/// One leaf of a `use` declaration: its path, and the name it gets.
type Leaf = (Vec<String>, String);

impl Crate {
    /// Reads all files.
    pub(super) fn read() -> Crate {
        let sources = sources().into_iter();
        let sources =
            sources.filter(|(path, _)| !path.starts_with("bin") && !path.ends_with("main.rs"));
        let texts = sources.map(|(path, text)| (module_of(&path), code_of(&text)));
        let texts: BTreeMap<Module, String> = texts.collect();
        let modules: BTreeSet<Module> = texts.keys().cloned().collect();
        let mut exports = BTreeMap::new();
        let mut files: BTreeMap<Module, File> = BTreeMap::new();
        let mut imports: BTreeMap<Module, Vec<Leaf>> = BTreeMap::new();
        for (module, text) in &texts {
            for (declaration, is_public) in declarations(text) {
                for (path, name) in leaves(&declaration) {
                    let Some(path) = absolute(module, &path, &modules) else {
                        continue;
                    };
                    if is_public {
                        let exported = [module.as_slice(), std::slice::from_ref(&name)].concat();
                        exports.insert(exported, path.clone());
                    }
                    imports.entry(module.clone()).or_default().push((path, name));
                }
            }
        }
        for (module, text) in texts {
            let imports = imports.remove(&module).unwrap_or_default();
            let resolved = |path: Vec<String>| follow(path, &exports, &modules);
            let mut file = File { types: types(&text), ..File::default() };
            let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for (path, name) in imports {
                let is_renamed = path.last().is_some_and(|last| *last != name);
                let path = resolved(path);
                if is_renamed {
                    file.renamed.push((path.clone(), name.clone()));
                }
                known.insert(name, path.clone());
                file.paths.insert(path);
            }
            for path in paths(&text) {
                let imported = known.get(&path[0]);
                let path = match imported {
                    Some(start) => Some([start.as_slice(), &path[1..]].concat()),
                    None => absolute(&module, &path, &modules),
                };
                file.paths.extend(path.map(resolved));
            }
            files.insert(module, file);
        }
        Crate { files }
    }

    /// Lists the modules that are files.
    pub(super) fn modules(&self) -> impl Iterator<Item = &Module> {
        self.files.keys()
    }

    /// Returns the paths that a file names.
    pub(super) fn paths_of(&self, module: &Module) -> &BTreeSet<Vec<String>> {
        &self.files[module].paths
    }

    /// Returns the types that a file defines.
    pub(super) fn types_of(&self, module: &Module) -> &BTreeSet<String> {
        &self.files[module].types
    }

    /// Returns the paths that a file imports under another name, each with that.
    pub(super) fn renamed_by(&self, module: &Module) -> &[(Vec<String>, String)] {
        &self.files[module].renamed
    }

    /// Returns the file that a path leads to.
    pub(super) fn file_of(&self, path: &[String]) -> &Module {
        let mut starts = (0..=path.len()).rev().map(|end| path[..end].to_vec());
        let start = starts.find(|start| self.files.contains_key(start)).unwrap();
        self.files.get_key_value(&start).unwrap().0
    }

    /// Returns the type that a path names, itself or one of its variants, and where it is defined.
    pub(super) fn type_in<'a>(&'a self, path: &'a [String]) -> Option<(&'a str, &'a Module)> {
        let home = self.file_of(path);
        let name = path.get(home.len())?;
        self.files[home].types.contains(name).then_some((name.as_str(), home))
    }
}

/// The path of the module that a file is.
fn module_of(path: &Path) -> Module {
    let path = path.with_extension("");
    let parts = path.iter().map(|part| part.to_str().unwrap().to_owned());
    let mut module: Module = parts.collect();
    module.pop_if(|last| last == "mod" || last == "lib");
    module
}

/// The lines that are compiled into the program, without comments.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Lists the `use` declarations, without `use` and `;`, and whether each is for others.
fn declarations(code: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let line = code[..at].rsplit('\n').next().unwrap().trim();
        let is_public = line.starts_with("pub") && !line.contains(['=', ';', '{']);
        if line.is_empty() || is_public {
            let end = code[at..].find(';').unwrap();
            found.push((code[at + "use ".len()..at + end].to_owned(), is_public));
        }
    }
    found
}

/// Lists what a declaration imports.
fn leaves(declaration: &str) -> Vec<Leaf> {
    let declaration = declaration.trim();
    let Some((start, group)) = declaration.split_once('{') else {
        let (path, name) = declaration.split_once(" as ").unwrap_or((declaration, ""));
        let mut path: Vec<String> = path.split("::").map(|part| part.trim().to_owned()).collect();
        if path.len() > 1 {
            path.pop_if(|last| last == "self" || last == "*");
        }
        let last = path.last().unwrap().clone();
        let name = if name.is_empty() { last } else { name.trim().to_owned() };
        return vec![(path, name)];
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    let mut found = Vec::new();
    let (mut depth, mut part) = (0, String::new());
    for c in group.chars().chain([',']) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            let whole = std::mem::take(&mut part);
            if !whole.trim().is_empty() {
                found.extend(leaves(&format!("{start}{}", whole.trim())));
            }
        } else {
            part.push(c);
        }
    }
    found
}

/// Lists the paths of two parts and more, `use` declarations and those of a visibility left out.
fn paths(code: &str) -> BTreeSet<Vec<String>> {
    let code = code.replace("(in crate::", "(in_");
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(|c| !is_part(c));
    let paths = words.map(|word| word.trim_matches(':')).filter(|word| word.contains("::"));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

/// Lists the types that are defined.
fn types(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in code.lines().filter(|line| !line.starts_with(' ')) {
        let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        if words.any(|word| ["struct", "enum", "trait", "type"].contains(&word)) {
            found.extend(words.next().map(str::to_owned));
        }
    }
    found
}

/// Returns a path from the root of the crate; `None` for what is not of the crate.
fn absolute(module: &[String], path: &[String], modules: &BTreeSet<Module>) -> Option<Vec<String>> {
    let first = path.first()?.as_str();
    let child = [module, &[first.to_owned()]].concat();
    let (start, rest) = match first {
        "crate" => (&[][..], &path[1..]),
        "self" => (module, &path[1..]),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            (&module[..module.len().checked_sub(up)?], &path[up..])
        }
        _ if modules.contains(&child) => (module, path),
        _ => return None,
    };
    Some([start, rest].concat())
}

/// Follows re-exports.
fn follow(
    mut path: Vec<String>,
    exports: &BTreeMap<Vec<String>, Vec<String>>,
    modules: &BTreeSet<Module>,
) -> Vec<String> {
    // No chain of re-exports is longer.
    for _ in 0..8 {
        let mut ends = (1..=path.len()).rev();
        let is_export = |end: &usize| {
            let start = &path[..*end];
            !modules.contains(start) && exports.contains_key(start)
        };
        let Some(end) = ends.find(is_export) else {
            break;
        };
        path = [exports[&path[..end]].as_slice(), &path[end..]].concat();
    }
    path
}
