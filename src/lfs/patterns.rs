//! The patterns in force: which files git-lfs is to have, as `git lfs migrate` takes them.
//!
//! They come from every `.gitattributes` of a tree. What stands below a directory counts from there, and
//! a line that takes files away again is an exclusion. What cannot be said to git-lfs exactly is refused.

use crate::git::attribute_lines::filter_lines;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result};

/// Which files git-lfs is to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// Patterns of files that it gets.
    pub include: Vec<String>,
    /// Patterns of files that it does not get although one above matches.
    pub exclude: Vec<String>,
}

/// A longer file of attributes is not read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads the patterns in force in a tree.
///
/// # Errors
/// `no-lfs-patterns`; `unsupported` for a pattern that git-lfs would read otherwise.
pub fn in_force(repo: &Repo, tree: Oid) -> Result<Patterns> {
    let mut patterns = Patterns::default();
    for (path, blob) in repo.attributes_files(tree)? {
        if repo.object_size(blob).is_some_and(|size| size > MOST_BYTES) {
            continue;
        }
        for line in filter_lines(&repo.read_blob(blob)?, "lfs") {
            let pattern = from_the_top(&path, &line.pattern)?;
            // Of lines that contradict each other the later one counts.
            patterns.include.retain(|known| *known != pattern);
            patterns.exclude.retain(|known| *known != pattern);
            if line.gives {
                patterns.include.push(pattern);
            } else {
                patterns.exclude.push(pattern);
            }
        }
    }
    if patterns.include.is_empty() {
        return Err(Error::new(
            Code::NoLfsPatterns,
            "cannot migrate to git-lfs: no committed '.gitattributes' gives it any file; nothing has changed",
        )
        .hint("git colony init --migrate-existing-to-lfs   # commits patterns for large formats first"));
    }
    Ok(patterns)
}

/// Returns a pattern of the attributes file at `path` as it reads from the root.
fn from_the_top(path: &RepoPath, pattern: &str) -> Result<String> {
    let folder = parent(path);
    let below = match pattern.strip_prefix('/') {
        _ if folder.is_empty() => pattern.to_owned(),
        Some(rest) => format!("{folder}/{rest}"),
        None if pattern.contains('/') => format!("{folder}/{pattern}"),
        None => format!("{folder}/**/{pattern}"),
    };
    let odd = |c: char| c == ',' || c == '"' || c == '\u{fffd}' || c.is_control();
    if below.contains(odd) || folder.contains(['*', '?', '[', '\\']) {
        return Err(Error::new(
            Code::Unsupported,
            format!("cannot migrate to git-lfs: it cannot be told the pattern '{pattern}' of '{path}'; nothing has changed"),
        )
        .detail("pattern", pattern)
        .detail("path", path)
        .hint("write the pattern without commas and quotes in .gitattributes, and commit it"));
    }
    // As a line of attributes has it, blanks are written so.
    Ok(below.replace(' ', "[[:space:]]"))
}

fn parent(path: &RepoPath) -> String {
    let text = path.to_string();
    text.rsplit_once('/')
        .map(|(folder, _)| folder.to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_below_a_directory_counts_from_there() {
        let of = |path: &str, pattern: &str| from_the_top(&RepoPath::from(path), pattern);
        assert_eq!(of(".gitattributes", "*.pdf").unwrap(), "*.pdf");
        assert_eq!(
            of(".gitattributes", "/a b.bin").unwrap(),
            "/a[[:space:]]b.bin"
        );
        assert_eq!(of("lit/.gitattributes", "*.pdf").unwrap(), "lit/**/*.pdf");
        assert_eq!(of("a/b/.gitattributes", "c/*.x").unwrap(), "a/b/c/*.x");
        assert_eq!(of("a/.gitattributes", "/x").unwrap(), "a/x");
        for (path, pattern) in [(".gitattributes", "a,b"), ("a*/.gitattributes", "x")] {
            assert_eq!(of(path, pattern).unwrap_err().code(), Code::Unsupported);
        }
    }
}
