//! Lists of gitignore-style globs, as in the rows of a repo map.
//!
//! A match of a directory includes everything below it. The last matching glob of a list decides: `!` excludes what an
//! earlier one included. (In a `.gitignore`, git cannot look below an excluded directory; a list has no such limit.)

use crate::git::attributes::pattern_set::PatternSet;
use crate::model::RepoPath;

/// The maximum length of a glob.
const MAX_BYTES: usize = 1024;

/// The maximum length of a list.
const MAX_GLOBS: usize = 1000;

/// The maximum number of stars in a glob: more would be slow and unreadable.
const MAX_STARS: usize = 32;

/// The problem of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobFault {
    /// The index of the glob in the list, from 0.
    pub index: usize,
    /// The problem as text that follows the glob.
    pub message: String,
}

/// A parsed list; it may be empty.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    texts: Vec<String>,
    set: PatternSet,
}

/// The decision of a list about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobVerdict {
    /// No glob matches.
    Silent,
    /// The last matching glob includes it.
    In,
    /// The last matching glob excludes it.
    Out,
}

impl Globs {
    /// Parses a list.
    pub fn parse(texts: &[String]) -> Result<Globs, GlobFault> {
        if texts.len() > MAX_GLOBS {
            return Err(GlobFault {
                index: MAX_GLOBS,
                message: format!("is one too many: a list has at most {MAX_GLOBS} globs"),
            });
        }
        let mut set = PatternSet::default();
        for (index, text) in texts.iter().enumerate() {
            let fault = |message: &str| GlobFault { index, message: message.to_owned() };
            check(text).map_err(fault)?;
            if !set.push(text.as_bytes()) {
                return Err(fault("has a bracket or backslash that is not ended"));
            }
        }
        Ok(Globs { texts: texts.to_vec(), set })
    }

    /// Returns the globs as they were written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns the indices of the globs that match a file, regardless of the others.
    pub fn covering(&self, path: &RepoPath) -> Vec<usize> {
        self.set.covering(path.as_bytes())
    }

    /// Returns whether the list includes or excludes a file.
    pub fn verdict(&self, path: &RepoPath) -> GlobVerdict {
        match self.set.verdict(path.as_bytes()) {
            None => GlobVerdict::Silent,
            Some(true) => GlobVerdict::In,
            Some(false) => GlobVerdict::Out,
        }
    }
}

fn check(text: &str) -> Result<(), &'static str> {
    if text.len() > MAX_BYTES {
        return Err("is too long: at most 1024 bytes");
    }
    if text.chars().any(char::is_control) {
        return Err("has a control character");
    }
    let glob = text.strip_prefix('!').unwrap_or(text);
    let unended = glob.strip_suffix('/').unwrap_or(glob);
    let body = unended.strip_prefix('/').unwrap_or(unended);
    if body.trim().is_empty() {
        return Err("is empty");
    }
    if body.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("has '.', '..' or nothing between slashes");
    }
    if body.matches('*').count() > MAX_STARS {
        return Err("has too many stars: at most 32");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(globs: &[&str], path: &str) -> GlobVerdict {
        let texts: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
        Globs::parse(&texts).unwrap().verdict(&RepoPath::new(path))
    }

    #[test]
    fn a_glob_counts_where_gitignore_would_count_it() {
        for (glob, path, covered) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "deep/er/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "x/src/a.rs", false),
            ("src/*.rs", "src/x/a.rs", false),
            ("src/**/*.rs", "src/a.rs", true),
            ("src/**/*.rs", "src/x/y/a.rs", true),
            ("**/build/**", "build/a", true),
            ("**/build/**", "x/build/y/a", true),
            ("build/", "build/a", true),
            ("build/", "x/build/a", true),
            ("build/", "build", false),
            ("/build", "x/build", false),
            ("lit/*", "lit/y/z", true),
            ("lit", "lit/y/z", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("a{b,c}", "ab", false),
            ("a{b,c}", "a{b,c}", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("[ab]c", "bc", true),
            ("[!ab]c", "bc", false),
        ] {
            let wanted = if covered { GlobVerdict::In } else { GlobVerdict::Silent };
            assert_eq!(verdict(&[glob], path), wanted, "{glob} {path}");
        }
    }

    #[test]
    fn the_last_glob_that_covers_a_path_decides() {
        let globs = ["lit/", "!lit/old/", "lit/old/kept.md"];
        assert_eq!(verdict(&globs, "lit/new.md"), GlobVerdict::In);
        assert_eq!(verdict(&globs, "lit/old/gone.md"), GlobVerdict::Out);
        assert_eq!(verdict(&globs, "lit/old/kept.md"), GlobVerdict::In);
        assert_eq!(verdict(&globs, "src/a.md"), GlobVerdict::Silent);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_place() {
        let long = "a".repeat(MAX_BYTES + 1);
        let stars = "*a".repeat(MAX_STARS + 1);
        for glob in ["", " ", "/", "!", "a//b", "../a", "a/./b", "a\nb", "[a", &long, &stars] {
            let texts = ["fine".to_owned(), glob.to_owned()];
            assert_eq!(Globs::parse(&texts).unwrap_err().index, 1, "{glob:?}");
        }
        let many = vec!["a".to_owned(); MAX_GLOBS + 1];
        assert_eq!(Globs::parse(&many).unwrap_err().index, MAX_GLOBS);
    }
}
