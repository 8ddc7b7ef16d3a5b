//! Rooms and names: folders of a size to hold in the head, one module style, no import cycles where they have
//! been cut, and no type that is met under two meanings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::imports::{Crate, Module};

/// The most files of a folder.
const MAX_FILES: usize = 20;

/// Where files import each other in one direction only, and folders there where they do not.
const WITHOUT_CYCLES: [(&str, &[&str]); 3] =
    [("clones", &[]), ("map", &["map::pages", "map::residency"]), ("setup::hooks", &[])];

/// Types that each command or use case has one of, named with their module: `restore::Request`.
const NAMED_WITH_THEIR_MODULE: [&str; 2] = ["Args", "Request"];

/// Lists the folders of the sources and tests, with their files and folders.
fn folders() -> Vec<(String, Vec<String>, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut left = vec!["src".to_owned(), "tests".to_owned()];
    while let Some(folder) = left.pop() {
        let (mut files, mut below) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                left.push(format!("{folder}/{name}"));
                below.push(name);
            } else if Path::new(&name).extension().is_some_and(|end| end == "rs") {
                files.push(name);
            }
        }
        found.push((folder, files, below));
    }
    found
}

#[test]
fn no_folder_has_more_than_20_files() {
    for (folder, files, _) in folders() {
        let count = files.len();
        assert!(count <= MAX_FILES, "{folder} has {count} files: group some of them in a folder");
    }
}

#[test]
fn a_module_with_children_is_a_mod_rs() {
    for (folder, files, below) in folders() {
        for file in files {
            let stem = file.trim_end_matches(".rs").to_owned();
            assert!(
                !below.contains(&stem),
                "{folder}/{file} stands beside {folder}/{stem}/: make it {folder}/{stem}/mod.rs"
            );
        }
    }
}

/// Returns the files that import each other in a circle, each with one of those it imports.
fn cycle<'a>(imports: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> Vec<String> {
    // What imports nothing that is left goes, until only circles and what leads to them are left.
    let mut left = imports.clone();
    loop {
        let before = left.len();
        let names: BTreeSet<_> = left.keys().copied().collect();
        left.retain(|_, of| of.iter().any(|one| names.contains(one)));
        if left.len() == before {
            break;
        }
    }
    let names: BTreeSet<_> = left.keys().copied().collect();
    let shown = left.iter().map(|(module, of)| {
        let of: Vec<_> = of.intersection(&names).map(|one| one.join("::")).collect();
        format!("{} imports {}", module.join("::"), of.join(", "))
    });
    shown.collect()
}

#[test]
fn files_import_each_other_in_one_direction_only() {
    let all = Crate::read();
    for (room, but) in WITHOUT_CYCLES {
        let is_in = |module: &Module| {
            let path = format!("{}::", module.join("::"));
            let is_below = |room: &&str| path.starts_with(&format!("{room}::"));
            is_below(&room) && !but.iter().any(is_below)
        };
        let inside = all.modules().filter(|module| is_in(module));
        let imports = inside
            .map(|module| {
                let of = all.paths_of(module).iter().map(|path| all.file_of(path));
                let of = of.filter(|of| is_in(of) && *of != module);
                (module, of.collect())
            })
            .collect::<BTreeMap<_, BTreeSet<_>>>();
        assert!(imports.len() > 5, "{room} has moved");
        let cycle = cycle(&imports);
        assert!(cycle.is_empty(), "{cycle:#?}");
    }
}

#[test]
fn no_file_meets_a_type_under_two_meanings() {
    let all = Crate::read();
    let mut wrong = Vec::new();
    // The façade for tests has a module of its own for each second meaning.
    for module in all.modules().filter(|module| *module != &["testing"]) {
        let mut meanings: BTreeMap<&str, BTreeSet<&Module>> = BTreeMap::new();
        let own = all.types_of(module).iter().map(|name| (name.as_str(), module));
        let met = all.paths_of(module).iter().filter_map(|path| all.type_in(path));
        for (name, home) in own.chain(met) {
            meanings.entry(name).or_default().insert(home);
        }
        meanings.retain(|name, homes| homes.len() > 1 && !NAMED_WITH_THEIR_MODULE.contains(name));
        for (name, homes) in meanings {
            let homes: Vec<_> = homes.into_iter().map(|home| home.join("::")).collect();
            wrong.push(format!("{}: {name} of {}", module.join("::"), homes.join(" and ")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_type_of_ours_is_imported_under_another_name() {
    let all = Crate::read();
    let mut wrong = Vec::new();
    for module in all.modules() {
        for (path, name) in all.renamed_by(module) {
            if name != "_" && all.type_in(path).is_some() {
                wrong.push(format!("{}: {} as {name}", module.join("::"), path.join("::")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
