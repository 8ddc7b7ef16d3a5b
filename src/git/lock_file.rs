//! A lock file of git in the way: found in git's message, and the error about it.

use crate::model::text::shell_word;
use crate::model::{Code, Error};

/// The text before the name of a file in the way, the text after it, and the suffix that the name
/// lacks.
const PHRASES: [(&str, &str, &str); 3] = [
    ("Unable to create '", "': File exists", ""),
    ("unable to create file ", ": File exists", ""),
    ("could not lock config file ", ": File exists", ".lock"),
];

/// The suffixes of such files: other files that a message names, those of a filter for example,
/// must not be removed.
const ENDS: [&str; 2] = [".lock", "/packed-refs.new"];

/// Finds the lock file that an error message of git names.
pub(super) fn named_in(said: &str) -> Option<String> {
    let name_in = |(before, after, lacks): &(&str, &str, &str)| {
        let (_, rest) = said.split_once(before)?;
        let (path, _) = rest.split_once(after)?;
        Some(format!("{path}{lacks}"))
    };
    let mut named = PHRASES.iter().filter_map(name_in);
    named.find(|path| path.starts_with('/') && ENDS.iter().any(|end| path.ends_with(end)))
}

/// Returns the error for a lock file in the way.
pub(super) fn in_the_way(what: &str, path: &str) -> Error {
    Error::new(
        Code::Locked,
        format!("{what}: '{path}' is in the way, the lock file of another git process or of one that was killed"),
    )
    .detail("path", path)
    .hint(format!(
        "rm {}   # only if no git is running",
        shell_word(path)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_found_in_what_git_says() {
        let table = [
            (
                "error: cannot lock ref 'HEAD': Unable to create '/a b/.git/HEAD.lock': File exists.\n\n\
                 Another git process seems to be running",
                Some("/a b/.git/HEAD.lock"),
            ),
            (
                "error: could not delete references: unable to create file /a/packed-refs.new: File exists",
                Some("/a/packed-refs.new"),
            ),
            ("fatal: Unable to create '/a/HEAD.lock': Permission denied", None),
            ("Unable to create '/a/precious': File exists", None),
            ("error: could not lock config file /a/config: File exists", Some("/a/config.lock")),
            ("Unable to create 'HEAD.lock': File exists", None),
            ("", None),
        ];
        for (said, path) in table {
            assert_eq!(named_in(said).as_deref(), path);
        }
    }
}
