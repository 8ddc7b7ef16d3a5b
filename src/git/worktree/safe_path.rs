//! Checks of paths that come from repository content: which are refused, and why.

use gix::bstr::BStr;
use gix::index::entry::Mode;
use gix::validate::path::{self, component};

use crate::git::Repo;

/// The names that git refuses in trees, by `core.protectHFS` and `core.protectNTFS`: names that
/// mean `.git` on some file system, and `.gitmodules` as a symlink.
#[derive(Clone, Copy)]
pub(in crate::git) struct RefusedNames(component::Options);

impl RefusedNames {
    pub(in crate::git) fn of(repo: &Repo) -> RefusedNames {
        let is_mac = cfg!(target_os = "macos");
        RefusedNames(component::Options {
            protect_windows: false,
            protect_hfs: repo.config_bool("core.protectHFS").unwrap_or(is_mac),
            protect_ntfs: repo.config_bool("core.protectNTFS").unwrap_or(true),
        })
    }

    /// Returns `true` if a name without slashes is refused for an entry of this mode.
    pub(in crate::git) fn has(self, name: &[u8], mode: Mode) -> bool {
        let link = (mode == Mode::SYMLINK).then_some(component::Mode::Symlink);
        path::component(BStr::new(name), link, self.0).is_err()
    }
}

/// Returns why a text is not a path below the root of a repository on every file system; `None` for
/// a valid path. Slashes separate; there is none at either end.
pub fn refusal(path: &str) -> Option<&'static str> {
    let mut letters = path.chars();
    let drive =
        letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if path.is_empty() {
        return Some("is empty");
    }
    if path.chars().any(char::is_control) {
        return Some("contains a control character");
    }
    if path.starts_with('/') {
        return Some("is absolute, expected a path below the root of the repository");
    }
    if drive {
        return Some(
            "begins with a drive letter, expected a path below the root of the repository",
        );
    }
    if path.contains('\\') {
        return Some("contains a backslash, expected '/' between directories");
    }
    path.split('/').find_map(part_refusal)
}

fn part_refusal(part: &str) -> Option<&'static str> {
    let every_system =
        RefusedNames(component::Options { protect_windows: false, ..Default::default() });
    match part {
        "" | "." => Some("has '.' or nothing between slashes"),
        ".." => Some("leads out of the repository"),
        _ => every_system
            .has(part.as_bytes(), Mode::FILE)
            .then_some("has a part that git refuses, such as '.git' in any spelling"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        for path in [
            "",
            "/etc",
            "..",
            "../..",
            "a/../../b",
            "a//b",
            "a/",
            "./a",
            "C:\\",
            "C:",
            "c:/x",
            "a\\b",
            "a\0b",
            "a\nb",
            ".git",
            "a/.GIT/hooks",
            "git~1",
            ".g\u{200c}it",
            ".git::$DATA",
        ] {
            assert!(refusal(path).is_some(), "{path:?}");
        }
        for path in ["tools", "a/b c", ".github", "..a", "a.git", "-x", "con"] {
            assert_eq!(refusal(path), None, "{path:?}");
        }
    }
}
