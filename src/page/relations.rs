//! Relations of files: markdown links, and changes in the same commits.
//!
//! Both are computed from immutable data, the text of a blob and the paths that a commit touched,
//! and cached by them: after a commit only new objects are read.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::{Objects, Oid};
use crate::model::{RepoPath, Result, World};
use crate::store::cache::relation_cache::RelationCache;
use crate::text::readers::Format;
use crate::text::readers::links::{self, Link};

/// The maximum size of a file whose links are read.
const MAX_BYTES: u64 = 1 << 20;

/// The number of commits before the mapped one that are read.
const COMMITS: usize = 1000;

/// The number of days before the mapped commit that are read.
const DAYS: u64 = 365;

/// The maximum number of files of a commit that counts as relating them.
const MAX_FILES: usize = 20;

/// The age difference, in days, at which a commit counts half.
const HALF_LIFE_DAYS: u64 = 91;

/// The minimum number of commits that relate two files.
const MIN_TOGETHER: u32 = 2;

/// The minimum share of their commits that touched both.
const MIN_SHARE: f64 = 0.2;

/// The inputs.
pub struct Source<'a> {
    /// The world.
    pub world: &'a World,
    /// The objects of the scope.
    pub objects: &'a Objects,
}

/// A link from one file to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLink {
    /// The file that contains it.
    pub from: RepoPath,
    /// The position in the file, in bytes.
    pub at: u64,
    /// The target file.
    pub to: RepoPath,
}

/// Two files that changed together.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePair {
    /// The one whose path comes first.
    pub first: RepoPath,
    /// The other.
    pub second: RepoPath,
    /// The share of commits that touched both, among those that touched one of them, weighted by
    /// age.
    pub share: f64,
    /// The number of commits that touched both.
    pub commits: u32,
}

/// Finds the links between files; `files` lists all files with their blobs.
pub fn links(
    source: &Source<'_>,
    files: &BTreeMap<RepoPath, Oid>,
    cache: &mut RelationCache,
) -> Result<Vec<FileLink>> {
    let (mut links, mut learned) = (Vec::new(), Vec::new());
    for (path, blob) in files {
        if Format::of(path) != Some(Format::Markdown) {
            continue;
        }
        source.world.interrupt.check()?;
        let key = format!("links 1 {blob}");
        let known = cache.find(&key).and_then(|value| serde_json::from_slice(&value).ok());
        let written: Vec<(usize, String)> = known.unwrap_or_else(|| {
            let written = written_links(source.objects, *blob);
            learned
                .push((key, serde_json::to_vec(&written).expect("a link is a number and a text")));
            written
        });
        for (at, target) in written {
            let to = resolve(path, &target).filter(|to| to != path && files.contains_key(to));
            links.extend(to.map(|to| FileLink { from: path.clone(), at: at as u64, to }));
        }
    }
    cache.remember(&learned);
    Ok(links)
}

/// Reads the links of a blob; none if it is missing, too large or not UTF-8.
fn written_links(objects: &Objects, blob: Oid) -> Vec<(usize, String)> {
    let small = objects.size(blob).is_some_and(|size| size <= MAX_BYTES);
    let bytes = small.then(|| objects.blob(blob).ok()).flatten();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let links = text.map(|text| links::links(&text)).unwrap_or_default();
    let plain = |Link { at, target }: Link| (at, target);
    links.into_iter().map(plain).collect()
}

/// Resolves a link to a path of the repository: relative to its file, or to the root with a leading
/// slash; `None` if it leads elsewhere.
fn resolve(from: &RepoPath, target: &str) -> Option<RepoPath> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if path.is_empty() || path.starts_with("//") || (!scheme.is_empty() && is_scheme(scheme)) {
        return None;
    }
    let path = decoded(path);
    let mut parts: Vec<&[u8]> = Vec::new();
    let directory = from.parent().unwrap_or_default();
    if !path.starts_with(b"/") {
        parts.extend(directory.parts());
    }
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(RepoPath::new(parts.join(&b'/'))).filter(RepoPath::is_safe)
}

/// Decodes `%20` and the like.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok())
            .filter(|two| byte == b'%' && two.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(value.unwrap_or(byte));
        rest = match value {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    bytes
}

/// Finds the files that changed together before a commit. "Now" is the time of that commit: the
/// result is the same on every machine and every day.
pub fn together(
    source: &Source<'_>,
    commit: Oid,
    files: &BTreeMap<RepoPath, Oid>,
    cache: &mut RelationCache,
) -> Result<Vec<FilePair>> {
    let day = 24 * 60 * 60;
    let recent = source.objects.recent_commits(commit, COMMITS, DAYS * day)?;
    let mut learned = Vec::new();
    let mut single: BTreeMap<RepoPath, u32> = BTreeMap::new();
    let mut pairs: BTreeMap<(RepoPath, RepoPath), (u32, u32)> = BTreeMap::new();
    for commit in recent {
        source.world.interrupt.check()?;
        let key = format!("touched 1 {}", commit.id);
        let known = cache.find(&key).and_then(|value| serde_json::from_slice(&value).ok());
        let touched: Vec<RepoPath> = if let Some(touched) = known {
            touched
        } else {
            let touched = source.objects.touched(commit.id, MAX_FILES)?;
            learned
                .push((key, serde_json::to_vec(&touched).expect("a path can be written as JSON")));
            touched
        };
        // Integers: their sum is the same in any order.
        let halvings = commit.age_seconds / (HALF_LIFE_DAYS * day);
        let weight = 16_u32 >> halvings.min(4);
        let touched: BTreeSet<&RepoPath> =
            touched.iter().filter(|path| files.contains_key(path)).collect();
        for (at, &first) in touched.iter().enumerate() {
            *single.entry(first.clone()).or_default() += weight;
            for &second in touched.iter().skip(at + 1) {
                let pair = pairs.entry((first.clone(), second.clone())).or_default();
                pair.0 += weight;
                pair.1 += 1;
            }
        }
    }
    cache.remember(&learned);
    let weight_of = |path: &RepoPath| single.get(path).copied().unwrap_or_default();
    let related = pairs.into_iter().filter_map(|((first, second), (both, commits))| {
        let either = weight_of(&first) + weight_of(&second) - both;
        let share = f64::from(both) / f64::from(either.max(1));
        (share >= MIN_SHARE && commits >= MIN_TOGETHER).then_some(FilePair {
            first,
            second,
            share,
            commits,
        })
    });
    Ok(related.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_means_a_path_of_the_repository_or_nothing() {
        let from = RepoPath::from("docs/guide/a.md");
        let resolved = |target: &str| resolve(&from, target).map(|path| path.to_string());
        for (target, wanted) in [
            ("b.md", "docs/guide/b.md"),
            ("./b.md#part", "docs/guide/b.md"),
            ("../x%20y.md?raw=1", "docs/x y.md"),
            ("/README.md", "README.md"),
            ("../../src//lib.rs", "src/lib.rs"),
            ("%zz%4", "docs/guide/%zz%4"),
        ] {
            assert_eq!(resolved(target).as_deref(), Some(wanted), "{target}");
        }
        for target in [
            "#part",
            "",
            "https://example.com/a.md",
            "mailto:a@example.com",
            "//example.com/a.md",
            "../../../etc/passwd",
            "%2e%2e/../../../x",
            "../../.git/config",
            "a%00b",
            "/",
        ] {
            assert_eq!(resolved(target), None, "{target}");
        }
    }
}
