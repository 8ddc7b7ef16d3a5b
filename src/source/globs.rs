//! Lists of gitignore-style globs, as the rows of a repo map have them.
//!
//! A glob without a slash counts at any depth, one with a slash (not at its end) from the top of the
//! list; `*` and `?` match no slash, `**` does; a final slash wants a directory; what matches a
//! directory covers all below it. The last glob of a list that covers a path decides: `!` takes out
//! again what an earlier one took in. (In a `.gitignore` git cannot look below an excluded directory;
//! in a list there is no such limit.)

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::model::RepoPath;

/// A longer glob is refused.
const MOST_BYTES: usize = 1024;

/// A longer list is refused.
const MOST_GLOBS: usize = 1000;

/// A glob with more stars is refused: it would be slow and nobody could read it.
const MOST_STARS: usize = 32;

/// What is wrong with a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlobFault {
    /// Which glob of the list, from 0.
    pub index: usize,
    /// What is wrong with it, in words that follow the glob.
    pub message: String,
}

/// A list that was read; none speaks of nothing.
#[derive(Clone, Debug, Default)]
pub struct Globs {
    texts: Vec<String>,
    set: GlobSet,
    negative: Vec<bool>,
    /// Which glob of the list each pattern of the set is made of.
    made_of: Vec<usize>,
}

/// How a list speaks of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GlobVerdict {
    /// No glob covers it.
    Silent,
    /// The last that covers it takes it in.
    In,
    /// The last that covers it takes it out.
    Out,
}

impl Globs {
    /// Reads a list.
    ///
    /// # Errors
    /// The first glob that cannot be used: empty, too long, with too many stars, control characters,
    /// `.` or `..` between slashes, or brackets that make no class.
    pub fn parse(texts: &[String]) -> Result<Globs, GlobFault> {
        if texts.len() > MOST_GLOBS {
            return Err(GlobFault {
                index: MOST_GLOBS,
                message: format!("is one too many: a list has at most {MOST_GLOBS} globs"),
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
        Ok(Globs {
            texts: texts.to_vec(),
            set,
            negative,
            made_of,
        })
    }

    /// Returns the globs as they were written.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns the globs, by their place in the list, that cover a file, whatever others say.
    pub fn covering(&self, path: &RepoPath) -> impl Iterator<Item = usize> + use<'_> {
        let candidate = Candidate::from_bytes(path.as_bytes());
        let patterns = self.set.matches_candidate(&candidate).into_iter();
        patterns.filter_map(|pattern| self.made_of.get(pattern).copied())
    }

    /// Says whether the list takes a file in or out.
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

/// One line of a list, taken apart.
struct LineGlob<'a> {
    body: &'a str,
    negative: bool,
    anchored: bool,
    directory: bool,
}

impl<'a> LineGlob<'a> {
    fn read(text: &'a str) -> Result<LineGlob<'a>, &'static str> {
        if text.len() > MOST_BYTES {
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
        if body.matches('*').count() > MOST_STARS {
            return Err("has too many stars: at most 32");
        }
        Ok(LineGlob {
            body,
            negative,
            anchored: rooted || body.contains('/'),
            directory,
        })
    }

    /// The globs of the engine that say the same: for the path itself, and for all below it.
    fn patterns(&self) -> Vec<String> {
        // Braces are letters here, as they are for git.
        let body = self.body.replace('{', "[{]").replace('}', "[}]");
        let place = if self.anchored { "" } else { "**/" };
        let below = format!("{place}{body}/**");
        if self.directory {
            vec![below]
        } else {
            vec![format!("{place}{body}"), below]
        }
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
            let wanted = if covered {
                GlobVerdict::In
            } else {
                GlobVerdict::Silent
            };
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
        let long = "a".repeat(MOST_BYTES + 1);
        let stars = "*a".repeat(MOST_STARS + 1);
        for glob in [
            "", " ", "/", "!", "a//b", "../a", "a/./b", "a\nb", "[a", &long, &stars,
        ] {
            let texts = ["fine".to_owned(), glob.to_owned()];
            assert_eq!(Globs::parse(&texts).unwrap_err().index, 1, "{glob:?}");
        }
        let many = vec!["a".to_owned(); MOST_GLOBS + 1];
        assert_eq!(Globs::parse(&many).unwrap_err().index, MOST_GLOBS);
    }
}
