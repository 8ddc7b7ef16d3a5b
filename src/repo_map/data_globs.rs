//! Globs for data that would drown the rest of a map: tables, lists of values, translations, lock files, generated files.
//!
//! Names and sizes decide; no content is read. Nothing is left out by it: a glob is a proposal.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::RepoPath;

/// A glob is proposed for at least this share of all text, in percent.
const MIN_PERCENT: u64 = 10;

/// A glob is proposed for at least this many bytes: less is a few pages.
const MIN_BYTES: u64 = 100_000;

/// A glob names the directory that has at least this share of its data, in percent.
const DIRECTORY_PERCENT: u64 = 90;

/// The names of data, as globs: one name, or `*` and an ending. The first that matches counts.
const DATA: [&str; 21] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "go.sum",
    "*.lock",
    "*.min.js",
    "*.min.css",
    "*.js.map",
    "*.css.map",
    "*.csv",
    "*.tsv",
    "*.jsonl",
    "*.ndjson",
    "*.geojson",
    "*.json",
    "*.svg",
    "*.xml",
    "*.sql",
    "*.po",
    "*.log",
    "*.dat",
];

/// A glob for data, and its part of the text of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DataGlob {
    /// The glob, for `exclude_globs` of a row without `start_dir`.
    pub glob: String,
    /// The number of files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Their share of the bytes of all text, in percent, rounded down.
    pub percent: u64,
}

/// The files of one kind, with their bytes.
type Files<'a> = Vec<(&'a RepoPath, u64)>;

/// Proposes globs for the text files of a tree, with their bytes: the largest share first, none twice.
pub fn propose(files: &BTreeMap<RepoPath, u64>) -> Vec<DataGlob> {
    let total: u64 = files.values().sum();
    let mut kinds: BTreeMap<&str, Files<'_>> = BTreeMap::new();
    for (path, bytes) in files {
        if let Some(kind) = kind_of(path) {
            kinds.entry(kind).or_default().push((path, *bytes));
        }
    }
    let globs = kinds.into_iter().filter_map(|(kind, files)| {
        let (glob, files) = narrow(kind, files)?;
        let bytes = bytes_of(&files);
        let percent = (bytes * 100).checked_div(total)?;
        (bytes >= MIN_BYTES && percent >= MIN_PERCENT).then_some(DataGlob {
            glob,
            files: files.len(),
            bytes,
            percent,
        })
    });
    let mut globs: Vec<DataGlob> = globs.collect();
    globs.sort_by(|proposal, other| {
        (other.bytes, &proposal.glob).cmp(&(proposal.bytes, &other.glob))
    });
    globs
}

fn kind_of(path: &RepoPath) -> Option<&'static str> {
    let name = path.name();
    DATA.into_iter().find(|kind| match kind.strip_prefix('*') {
        Some(ending) => name.ends_with(ending.as_bytes()),
        None => name == kind.as_bytes(),
    })
}

fn bytes_of(files: &Files<'_>) -> u64 {
    files.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the narrowest glob that has nearly all bytes of a kind, with the files that it covers.
fn narrow<'a>(kind: &str, mut files: Files<'a>) -> Option<(String, Files<'a>)> {
    let all = bytes_of(&files);
    let is_nearly_all = |bytes: u64| bytes * 100 >= all * DIRECTORY_PERCENT;
    let alone = files.iter().find(|(_, bytes)| is_nearly_all(*bytes));
    if let Some((path, bytes)) = alone.copied()
        && let Some(literal) = literal(path)
    {
        return Some((format!("/{literal}"), vec![(path, bytes)]));
    }
    let mut directory = RepoPath::default();
    while let Some(child) = main_child(&directory, &files, is_nearly_all) {
        files.retain(|(path, _)| path.is_at_or_below(&child));
        directory = child;
    }
    let glob = match literal(&directory)? {
        top if top.is_empty() => kind.to_owned(),
        below => format!("/{below}/**/{kind}"),
    };
    Some((glob, files))
}

/// Returns the subdirectory that has nearly all bytes of the files, if a glob can name it.
fn main_child(
    directory: &RepoPath,
    files: &Files<'_>,
    is_nearly_all: impl Fn(u64) -> bool,
) -> Option<RepoPath> {
    let mut children: BTreeMap<RepoPath, u64> = BTreeMap::new();
    for (path, bytes) in files {
        let name = path.below(directory)?.split(|byte| *byte == b'/').next()?;
        let child = directory.join(&RepoPath::new(name));
        if child != **path {
            *children.entry(child).or_default() += bytes;
        }
    }
    let main = children.into_iter().find(|(_, bytes)| is_nearly_all(*bytes));
    let child = main.map(|(child, _)| child);
    child.filter(|child| literal(child).is_some())
}

/// Returns a path as a glob that matches only it; `None` if it cannot be written as one.
fn literal(path: &RepoPath) -> Option<String> {
    let text = std::str::from_utf8(path.as_bytes()).ok()?;
    // Some letters end a line, and with it a comment, for some readers of YAML.
    let is_plain =
        |letter: char| letter.is_alphanumeric() || letter == ' ' || letter.is_ascii_graphic();
    if !text.chars().all(is_plain) {
        return None;
    }
    let mut glob = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\') {
            glob.push('\\');
        }
        glob.push(character);
    }
    Some(glob)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::globs::{GlobVerdict, Globs};

    fn proposed(files: &[(&str, u64)]) -> Vec<(String, u64)> {
        let files: BTreeMap<RepoPath, u64> =
            files.iter().map(|(path, bytes)| (RepoPath::from(*path), *bytes)).collect();
        let globs = propose(&files);
        for glob in &globs {
            let list = Globs::parse(std::slice::from_ref(&glob.glob)).unwrap();
            let covered: Vec<u64> = files
                .iter()
                .filter(|(path, _)| list.verdict(path) == GlobVerdict::In)
                .map(|(_, bytes)| *bytes)
                .collect();
            assert_eq!((covered.len(), covered.iter().sum()), (glob.files, glob.bytes));
        }
        let globs = globs.into_iter();
        globs.map(|glob| (glob.glob, glob.percent)).collect()
    }

    fn only(glob: &str, percent: u64) -> Vec<(String, u64)> {
        vec![(glob.to_owned(), percent)]
    }

    #[test]
    fn data_that_is_much_of_a_tree_gets_the_narrowest_glob() {
        let code = ("src/main.rs", 600_000);
        let runs = [
            code,
            ("bench/runs/1/raw.csv", 150_000),
            ("bench/runs/2/raw.csv", 150_000),
            ("docs/small.csv", 1_000),
        ];
        assert_eq!(proposed(&runs), only("/bench/runs/**/*.csv", 33));
        let apart = [code, ("a/1.csv", 100_000), ("b/2.csv", 100_000)];
        assert_eq!(proposed(&apart), only("*.csv", 25));
        let alone = [code, ("web/package-lock.json", 200_000), ("a.json", 5)];
        assert_eq!(proposed(&alone), only("/web/package-lock.json", 24));
        let odd = [code, ("a[1]*/!{x} y.csv", 100_000), ("a1/!{x} y.csv", 9)];
        assert_eq!(proposed(&odd), only("/a\\[1\\]\\*/!{x} y.csv", 14));
        let two = [code, ("a.svg", 150_000), ("b.tsv", 250_000)];
        assert_eq!(proposed(&two), [("/b.tsv".to_owned(), 25), ("/a.svg".to_owned(), 15)]);
    }

    #[test]
    fn little_data_and_no_data_get_no_glob() {
        assert_eq!(proposed(&[]), []);
        assert_eq!(proposed(&[("a.csv", 0)]), []);
        assert_eq!(proposed(&[("a.csv", MIN_BYTES - 1), ("a.rs", 10)]), []);
        let tenth = [("a.csv", MIN_BYTES), ("a.rs", 9 * MIN_BYTES)];
        assert_eq!(proposed(&tenth), only("/a.csv", 10));
        assert_eq!(proposed(&[tenth[0], ("a.rs", 9 * MIN_BYTES + 1)]), []);
        assert_eq!(proposed(&[("main.c", 10 * MIN_BYTES)]), []);
    }
}
