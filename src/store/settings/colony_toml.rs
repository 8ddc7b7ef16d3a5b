//! `.colony/colony.toml`: settings that a repository proposes. It is not trusted.
//!
//! The file is at the root of the working tree, and another one may be in the current directory of a command.
//! It never makes a command fail: anything unusable is a [`SettingsProblem`], and the layer below counts. No symlink
//! is followed, and at most [`LIMIT_BYTES`] are read. The table in [`super`] defines the settings that a
//! repository may set, and the form of their values.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use toml::de::DeValue;

use crate::git::{Oid, Repo, TreeEntry};
use crate::model::text::Position;
use crate::model::{RepoPath, World};
use crate::store::data_tree::toml_text;

use super::affinity_groups;

/// A larger file is not read.
pub const LIMIT_BYTES: u64 = 64 * 1024;

/// The keys that are not settings: each has a reader of its own, which also reports their problems.
const TABLES: [&str; 3] = [affinity_groups::KEY, PROJECTS, PLANS];

/// The table of projects.
pub const PROJECTS: &str = "projects";

/// The table of plans.
pub const PLANS: &str = "plans";

const FOLDER: &str = ".colony";
const NAME: &str = "colony.toml";

/// An unusable part of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SettingsProblem {
    /// The file; empty for a value that is in none.
    pub path: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The column, from 1.
    pub column: Option<usize>,
    /// The problem.
    pub message: String,
}

impl SettingsProblem {
    /// Makes a problem at a position in a file.
    pub fn at(
        path: &Path,
        position: Option<Position>,
        message: impl Into<String>,
    ) -> SettingsProblem {
        SettingsProblem {
            path: path.display().to_string(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            message: message.into(),
        }
    }

    /// Returns the position and the problem in one line.
    pub fn sentence(&self) -> String {
        let SettingsProblem { path, message, .. } = self;
        match (path.as_str(), self.line, self.column) {
            ("", ..) => message.clone(),
            (path, Some(line), Some(column)) => format!("'{path}:{line}:{column}': {message}"),
            (path, ..) => format!("'{path}': {message}"),
        }
    }
}

/// One `name = value` of a file.
#[derive(Clone, Debug)]
pub struct TomlEntry {
    /// The name, without `colony.`.
    pub name: String,
    /// The value as text; `None` for anything but a text or a whole number.
    pub value: Option<String>,
    /// Its position.
    pub position: Position,
}

/// A file that was found.
#[derive(Clone, Debug)]
pub struct ColonyToml {
    /// Its path.
    pub path: PathBuf,
    /// Its settings, in the order of the file.
    pub entries: Vec<TomlEntry>,
}

/// The files that count here: the one at the root and the one in the current directory.
#[derive(Clone, Debug, Default)]
pub struct FoundFiles {
    /// The file of the whole repository.
    pub root: Option<ColonyToml>,
    /// The file of the current directory, where that is not the root.
    pub directory: Option<ColonyToml>,
    /// Their unusable parts.
    pub problems: Vec<SettingsProblem>,
}

/// Reads the files that count here; never fails.
pub fn find(world: &World, repo: &Repo) -> FoundFiles {
    let root = repo.workdir();
    let mut files = FoundFiles::default();
    files.root = read(repo, Path::new(""), &mut files.problems);
    let here = world.cwd.canonicalize().ok();
    let below = here.as_ref().and_then(|here| here.strip_prefix(root).ok());
    let inside = below.filter(|path| !path.as_os_str().is_empty() && !path.starts_with(".git"));
    files.directory = inside.and_then(|below| read(repo, below, &mut files.problems));
    files
}

/// Returns the path of the file in a tree.
pub fn path() -> String {
    format!("{FOLDER}/{NAME}")
}

/// Reads the file in a tree; never fails.
pub fn in_tree(repo: &Repo, tree: Oid, problems: &mut Vec<SettingsProblem>) -> Option<ColonyToml> {
    let path = Path::new(FOLDER).join(NAME);
    let leaf = repo
        .leaf_in(tree, &RepoPath::from(self::path().as_str()))
        .ok()
        .flatten()
        .filter(TreeEntry::is_plain_file)?;
    let text = match repo.object_size(leaf.id) {
        Some(size) if size <= LIMIT_BYTES => repo.read_blob(leaf.id).ok().map(String::from_utf8),
        _ => None,
    };
    let parsed = match text {
        Some(Ok(text)) => entries(&text),
        _ => Err((None, "it is larger than 64 KiB or not UTF-8, and ignored".to_owned())),
    };
    match parsed {
        Ok(entries) => Some(ColonyToml { path, entries }),
        Err((position, message)) => {
            problems.push(SettingsProblem::at(&path, position, message));
            None
        }
    }
}

fn read(repo: &Repo, directory: &Path, problems: &mut Vec<SettingsProblem>) -> Option<ColonyToml> {
    let below = directory.join(FOLDER).join(NAME);
    let path = repo.workdir().join(&below);
    let text = match read_text(repo, &below) {
        Ok(text) => text?,
        Err(message) => {
            problems.push(SettingsProblem::at(&path, None, message));
            return None;
        }
    };
    match entries(&text) {
        Ok(entries) => Some(ColonyToml { path, entries }),
        Err((position, message)) => {
            problems.push(SettingsProblem::at(&path, position, message));
            None
        }
    }
}

/// Reads the file at a path of the working tree; `None` if it does not exist.
fn read_text(repo: &Repo, path: &Path) -> Result<Option<String>, String> {
    let path = RepoPath::from(path.as_os_str().as_bytes());
    let read = repo.read_file(&path, LIMIT_BYTES);
    let bytes = read.map_err(|fault| format!("{fault}, and ignored"))?;
    let text = bytes.map(String::from_utf8).transpose();
    text.map_err(|_| "it is not UTF-8, and ignored".to_owned())
}

fn entries(text: &str) -> Result<Vec<TomlEntry>, (Option<Position>, String)> {
    let place = |offset| Position::of(text.as_bytes(), offset);
    let table = toml_text::open(text)
        .map_err(|fault| (fault.position, format!("it is ignored: {}", fault.message)))?;
    let mut spans = Vec::new();
    for (name, value) in table.get_ref() {
        let top: &str = name.get_ref().as_ref();
        if TABLES.contains(&top) {
            continue;
        }
        match value.get_ref() {
            // '[clone] copy' is 'clone.copy'.
            DeValue::Table(inner) if is_group(top) => {
                let below = inner.iter().map(|(name, value)| {
                    let below: &str = name.get_ref().as_ref();
                    (name.span().start, format!("{top}.{below}"), value)
                });
                spans.extend(below);
            }
            _ => spans.push((name.span().start, top.to_owned(), value)),
        }
    }
    spans.sort_by_key(|(start, ..)| *start);
    let entry = |(start, name, value): (usize, String, &toml::Spanned<DeValue<'_>>)| TomlEntry {
        name,
        value: text_of(value.get_ref()),
        position: place(start),
    };
    Ok(spans.into_iter().map(entry).collect())
}

/// Returns `true` if a name is a group of settings.
fn is_group(name: &str) -> bool {
    let below = format!("colony.{name}.");
    super::TABLE.iter().any(|row| row.key.starts_with(&below))
}

/// Returns a value as text, a list as one text per line; `None` for anything else.
fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Array(values) => {
            let line = |value: &toml::Spanned<DeValue<'_>>| match value.get_ref() {
                DeValue::String(text) if !text.contains('\n') => Some(format!("{text}\n")),
                _ => None,
            };
            values.iter().map(line).collect()
        }
        _ => None,
    }
}
