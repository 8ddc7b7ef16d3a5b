//! Lists of gitignore-style globs, as in the rows of a repo map.
//!
//! A glob without a slash matches at any depth, one with a slash (other than at its end) is
//! anchored at the top of the list; `*` and `?` do not match a slash, `**` does; a trailing slash
//! matches directories only; a match of a directory includes everything below it. The last matching
//! glob of a list decides: `!` excludes what an earlier one included. (In a `.gitignore`, git
//! cannot look below an excluded directory; a list has no such limit.)

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

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
    set: GlobSet,
    negative: Vec<bool>,
    /// The index of the glob from which each pattern of the set is made.
    made_of: Vec<usize>,
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
        let mut set = GlobSetBuilder::new();
        let (mut negative, mut made_of) = (Vec::new(), Vec::new());
        for (index, text) in texts.iter().enumerate() {
            let fault = |message: String| GlobFault { index, message };
            let glob = LineGlob::read(text).map_err(|message| fault(message.to_owned()))?;
            for pattern in glob.patterns() {
                let compiled = GlobBuilder::new(&pattern)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build()
                    .map_err(|error| fault(format!("does not compile: {}", error.kind())))?;
                set.add(compiled);
                negative.push(glob.negative);
                made_of.push(index);
            }
        }
        let set = set.build().map_err(|error| GlobFault {
            index: 0,
            message: format!("does not compile: {}", error.kind()),
        })?;
        Ok(Globs { texts: texts.to_vec(), set, negative, made_of })
    }

    /// Returns the globs as they were written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns the indices of the globs that match a file, regardless of the others.
    pub fn covering(&self, path: &RepoPath) -> impl Iterator<Item = usize> + use<'_> {
        let candidate = Candidate::from_bytes(path.as_bytes());
        let patterns = self.set.matches_candidate(&candidate).into_iter();
        patterns.filter_map(|pattern| self.made_of.get(pattern).copied())
    }

    /// Returns whether the list includes or excludes a file.
    pub fn verdict(&self, path: &RepoPath) -> GlobVerdict {
        let candidate = Candidate::from_bytes(path.as_bytes());
        let last = self
            .set
            .matches_candidate(&candidate)
            .into_iter()
            .max()
            .and_then(|index| self.negative.get(index).copied());
        match last {
            None => GlobVerdict::Silent,
            Some(false) => GlobVerdict::In,
            Some(true) => GlobVerdict::Out,
        }
    }
}

/// One parsed glob.
struct LineGlob<'a> {
    body: &'a str,
    negative: bool,
    anchored: bool,
    directory: bool,
}

impl<'a> LineGlob<'a> {
    fn read(text: &'a str) -> Result<LineGlob<'a>, &'static str> {
        if text.len() > MAX_BYTES {
            return Err("is too long: at most 1024 bytes");
        }
        if text.chars().any(char::is_control) {
            return Err("has a control character");
        }
        let (negative, body) = match text.strip_prefix('!') {
            Some(body) => (true, body),
            None => (false, text),
        };
        let (directory, body) = match body.strip_suffix('/') {
            Some(body) => (true, body),
            None => (false, body),
        };
        let (rooted, body) = match body.strip_prefix('/') {
            Some(body) => (true, body),
            None => (false, body),
        };
        if body.trim().is_empty() {
            return Err("is empty");
        }
        if body.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("has '.', '..' or nothing between slashes");
        }
        if body.matches('*').count() > MAX_STARS {
            return Err("has too many stars: at most 32");
        }
        Ok(LineGlob { body, negative, anchored: rooted || body.contains('/'), directory })
    }

    /// The equivalent globs of the engine: for the path itself, and for everything below it.
    fn patterns(&self) -> Vec<String> {
        // As in git, braces have no special meaning.
        let body = self.body.replace('{', "[{]").replace('}', "[}]");
        let place = if self.anchored { "" } else { "**/" };
        let below = format!("{place}{body}/**");
        if self.directory { vec![below] } else { vec![format!("{place}{body}"), below] }
    }
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
