//! Files and directories to move, and the globs that name them.

use crate::model::RepoPath;
use crate::source::globs::Globs;

/// A file or directory to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its path; empty for the root.
    pub path: RepoPath,
    /// Whether it is a directory: all files below it, also those to come.
    pub is_directory: bool,
}

impl Target {
    /// Returns `true` if a file is it, or is below it.
    pub fn covers(&self, file: &RepoPath) -> bool {
        if self.is_directory {
            self.path.as_bytes().is_empty() || file.is_at_or_below(&self.path)
        } else {
            *file == self.path
        }
    }

    /// Returns `true` if a glob can name it.
    pub(super) fn is_writable(&self) -> bool {
        let is_text = std::str::from_utf8(self.path.as_bytes()).is_ok();
        is_text && Globs::parse(&[self.glob(&RepoPath::default())]).is_ok()
    }

    /// Returns the glob that matches it and nothing else, relative to a directory at or above it; a directory below
    /// it is matched whole.
    pub(super) fn glob(&self, start: &RepoPath) -> String {
        let below = self.path.below(start).unwrap_or_default();
        if below.is_empty() {
            return "/**".to_owned();
        }
        let mut glob = "/".to_owned();
        for letter in String::from_utf8_lossy(below).chars() {
            if "*?[]\\".contains(letter) {
                glob.push('\\');
            }
            glob.push(letter);
        }
        if self.is_directory {
            glob.push('/');
        }
        glob
    }

    /// Returns `true` if a glob matches exactly it, relative to a directory.
    pub(super) fn is_named_by(&self, glob: &str, start: &RepoPath) -> bool {
        let own = self.glob(start);
        // Without the slash in front, a name without another slash matches at any depth.
        let plain = own.strip_prefix('/').unwrap_or_default();
        let is_anchored = plain.trim_end_matches('/').contains('/');
        let glob = match glob.strip_suffix("**") {
            Some(directory) if self.is_directory && directory.ends_with('/') && glob != "/**" => {
                directory
            }
            _ => glob,
        };
        glob == own || (is_anchored && glob == plain)
    }

    /// Returns `true` if a glob, relative to the root, can match nothing else, now and in future.
    pub(super) fn confines(&self, glob: &str) -> bool {
        let root = RepoPath::default();
        if self.is_named_by(glob, &root) || self.path.as_bytes().is_empty() {
            return true;
        }
        let own = self.glob(&root);
        let plain = glob.strip_prefix('/').unwrap_or(glob);
        let inside = own.strip_prefix('/').and_then(|own| plain.strip_prefix(own));
        self.is_directory && inside.is_some_and(|rest| !rest.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::globs::GlobVerdict;

    fn target(path: &str, is_directory: bool) -> Target {
        Target { path: path.into(), is_directory }
    }

    #[test]
    fn the_glob_of_a_target_matches_it_alone() {
        let root = RepoPath::default();
        for name in ["a.md", "lit/a.md", "lit/[x]*?.md", "!a", "#a", "a\\b", "{a,b}", " a "] {
            let globs = Globs::parse(&[target(name, false).glob(&root)]).unwrap();
            assert_eq!(globs.verdict(&name.into()), GlobVerdict::In, "{name}");
            for other in ["x/a.md", "lit/x.md", "a", "xa.md"] {
                assert_eq!(globs.verdict(&other.into()), GlobVerdict::Silent, "{name}");
            }
        }
        let globs = Globs::parse(&[target("lit/x", true).glob(&"lit".into())]).unwrap();
        assert_eq!(globs.verdict(&"x/a.md".into()), GlobVerdict::In);
        assert_eq!(globs.verdict(&"y/x/a.md".into()), GlobVerdict::Silent);
        let globs = Globs::parse(&[target("", true).glob(&root)]).unwrap();
        assert_eq!(globs.verdict(&"x/a.md".into()), GlobVerdict::In);
    }

    #[test]
    fn a_glob_is_confined_by_its_text() {
        let (lit, file) = (target("lit", true), target("lit/a.md", false));
        for (glob, by_lit, by_file) in [
            ("lit/a.md", true, true),
            ("/lit/a.md", true, true),
            ("lit/**/*.pdf", true, false),
            ("/lit/", true, false),
            ("lit/**", true, false),
            ("lit/", false, false),
            ("a.md", false, false),
            ("*.md", false, false),
            ("literature/a.md", false, false),
            ("**/lit/a.md", false, false),
        ] {
            assert_eq!(lit.confines(glob), by_lit, "{glob}");
            assert_eq!(file.confines(glob), by_file, "{glob}");
        }
    }
}
