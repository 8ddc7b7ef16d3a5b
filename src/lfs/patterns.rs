//! The patterns in effect (those of a new repository: `setup::attributes`): which files git-lfs should store.
//!
//! They are in the form for `git lfs migrate` and come from every `.gitattributes` of a tree. Patterns in a subdirectory
//! apply from there, and a line that takes files away from git-lfs is an exclusion. Lines that git-lfs cannot express
//! exactly are an error.

use crate::git::attributes::attribute_lines::{FilterLine, Macros, filter_lines_by};
use crate::git::attributes::attribute_patterns::AttributePatterns;
use crate::git::lfs::exempt_lines;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, RepoPath, Result};

/// The files that git-lfs should store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns {
    /// The patterns of these files.
    pub include: Vec<String>,
    /// The patterns of files that stay in git although one above matches.
    pub exclude: Vec<String>,
    /// The lines with these exclusions, as seen from the root.
    pub taken: Vec<String>,
}

/// A larger attributes file is not read.
const MAX_BYTES: u64 = 1 << 20;

/// Reads the patterns in effect in a tree.
pub fn in_effect(repo: &Repo, tree: Oid) -> Result<Patterns> {
    let mut files = repo.attributes_files(tree)?;
    // Deeper files have precedence.
    files.sort_by_key(|(path, _)| path.parts().count());
    let (mut lines, mut macros): (Vec<FilterLine>, _) = (Vec::new(), Macros::of(b""));
    for (path, blob) in files {
        if repo.object_size(blob).is_some_and(|size| size > MAX_BYTES) {
            continue;
        }
        let mut bytes = repo.read_blob(blob)?;
        if path.as_bytes() == b".gitattributes" {
            macros = Macros::of(&bytes);
            bytes = with_exempt(&bytes);
        }
        for mut line in filter_lines_by(&macros, &bytes, "lfs") {
            line.pattern = from_the_top(&path, &line.pattern)?;
            // Of contradicting lines, the later one counts.
            lines.retain(|known| known.pattern != line.pattern);
            lines.push(line);
        }
    }
    let patterns = of_lines(&lines)?;
    if patterns.include.is_empty() {
        return Err(Error::new(
            Code::NoLfsPatterns,
            "cannot migrate to git-lfs: no committed '.gitattributes' gives it any file",
        )
        .hint("git colony init --migrate-existing-to-lfs   # commits patterns first"));
    }
    Ok(patterns)
}

/// Returns an attributes file without the exemptions: the patterns that were left out come first, so that a
/// line of the user has precedence.
fn with_exempt(bytes: &[u8]) -> Vec<u8> {
    let parts = exempt_lines::take_apart(bytes);
    let left_out = parts.exempt.unwrap_or_default().left_out.into_iter();
    let mut whole: Vec<u8> = left_out.flat_map(|line| (line + "\n").into_bytes()).collect();
    whole.extend(parts.own);
    whole
}

/// Converts lines for git-lfs, where an exclusion has precedence over an inclusion in any order.
fn of_lines(lines: &[FilterLine]) -> Result<Patterns> {
    let mut patterns = Patterns::default();
    for (number, line) in lines.iter().enumerate() {
        if line.gives {
            patterns.include.push(line.pattern.clone());
            continue;
        }
        let after: Vec<String> = lines
            .iter()
            .skip(number)
            .filter(|later| later.gives)
            .map(|later| later.pattern.clone())
            .collect();
        if AttributePatterns::new(&after, &[])?.give_all_of(&line.pattern) {
            // All the files it excludes are included again.
            continue;
        }
        let mut taken = AttributePatterns::new(std::slice::from_ref(&line.pattern), &[])?;
        if let Some(again) = after.iter().find(|given| taken.give_all_of(given)) {
            return Err(refuse_order(&line.pattern, again));
        }
        patterns.exclude.push(line.pattern.clone());
        patterns.taken.push(format!("{} {}", line.pattern, line.says));
    }
    Ok(patterns)
}

fn refuse_order(taken: &str, again: &str) -> Error {
    Error::new(
        Code::Unsupported,
        format!("git-lfs cannot leave out '{taken}' and take in '{again}' again"),
    )
    .unchanged()
    .detail("pattern", again)
    .hint("exclude files in .gitattributes by patterns that match no others")
}

/// Returns a pattern of the attributes file at `path` as seen from the root.
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
            format!("'git lfs migrate' cannot express the pattern '{pattern}' of '{path}'"),
        )
        .unchanged()
        .detail("pattern", pattern)
        .detail("path", path)
        .hint("write the pattern without commas and quotes in .gitattributes, and commit it"));
    }
    // A line of attributes writes spaces like this.
    Ok(below.replace(' ', "[[:space:]]"))
}

fn parent(path: &RepoPath) -> String {
    let text = path.to_string();
    text.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_below_a_directory_counts_from_there() {
        let of = |path: &str, pattern: &str| from_the_top(&RepoPath::from(path), pattern);
        assert_eq!(of(".gitattributes", "*.pdf").unwrap(), "*.pdf");
        assert_eq!(of(".gitattributes", "/a b.bin").unwrap(), "/a[[:space:]]b.bin");
        assert_eq!(of("lit/.gitattributes", "*.pdf").unwrap(), "lit/**/*.pdf");
        assert_eq!(of("a/b/.gitattributes", "c/*.x").unwrap(), "a/b/c/*.x");
        assert_eq!(of("a/.gitattributes", "/x").unwrap(), "a/x");
        for (path, pattern) in [(".gitattributes", "a,b"), ("a*/.gitattributes", "x")] {
            assert_eq!(of(path, pattern).unwrap_err().code(), Code::Unsupported);
        }
    }

    fn lines(text: &str) -> Vec<FilterLine> {
        filter_lines_by(&Macros::of(text.as_bytes()), text.as_bytes(), "lfs")
    }

    #[test]
    fn exempt_files_are_included_and_lines_of_the_user_win() {
        let exempt = exempt_lines::ExemptLines {
            files: vec!["x.gz".into()],
            left_out: vec!["*.png filter=lfs diff=lfs merge=lfs -text".to_owned()],
        };
        let mut file = b"*.gz filter=lfs\n/my.png -filter\n".to_vec();
        // The values are those that the files have without the patterns of git-lfs.
        file.extend(exempt.block(b"/my.png -filter\n").unwrap());
        let file = String::from_utf8(with_exempt(&file)).unwrap();
        let patterns = of_lines(&lines(&file)).unwrap();
        assert_eq!(patterns.include, ["*.png", "*.gz"]);
        assert_eq!(patterns.exclude, ["/my.png"]);
    }

    #[test]
    fn later_lines_count_as_far_as_git_lfs_can_express_them() {
        let of = |text: &str| of_lines(&lines(text));
        let own =
            |list: &[&str]| list.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>();
        let plain = of("*.a filter=lfs\nsub/*.a !filter !diff\n*.b filter=lfs\n").unwrap();
        assert_eq!(plain.include, own(&["*.a", "*.b"]));
        assert_eq!(plain.exclude, own(&["sub/*.a"]));
        assert_eq!(plain.taken, own(&["sub/*.a !filter !diff"]));
        let given_again = of("sub/*.a -filter\n*.a filter=lfs\n").unwrap();
        assert_eq!(given_again.exclude, own(&[]));
        let some = of("*.a -filter\nkeep.a filter=lfs\n").unwrap_err();
        assert_eq!(some.code(), Code::Unsupported);
    }
}
