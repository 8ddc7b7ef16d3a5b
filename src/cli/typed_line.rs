//! A command line as it stands in a shell: words with their quotes, git's own options before ours.
//!
//! Nothing is expanded or run but a leading `~/`: a word that needs more simply fits nothing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::model::World;

/// A line that is being typed.
pub(super) struct TypedLine {
    /// The world where git's own options put it.
    pub(super) world: World,
    /// The words after the program's name, but the last one.
    pub(super) before: Vec<String>,
    /// The word that is being typed; empty for a new one.
    pub(super) last: String,
}

/// Reads the words of `git [OPTION]... colony WORD...` or `git-colony WORD...`.
pub(super) fn read(mut world: World, words: &[OsString]) -> TypedLine {
    let unquoted: Vec<_> = words.iter().map(|word| unquoted(&word.to_string_lossy())).collect();
    let mut words = unquoted.into_iter();
    let program = words.next().unwrap_or_default();
    if Path::new(&program).file_name().is_some_and(|name| name == "git") {
        while let Some(word) = words.next().filter(|word| word.starts_with('-')) {
            skip_git_option(&mut world, &word, &mut words);
        }
    }
    let mut before: Vec<_> = words.collect();
    let last = before.pop().unwrap_or_default();
    TypedLine { world, before, last }
}

/// Obeys what says where the repository is, skips all else.
fn skip_git_option(world: &mut World, word: &str, rest: &mut impl Iterator<Item = String>) {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    if !["-C", "-c", "--git-dir", "--work-tree", "--namespace"].contains(&name) {
        return;
    }
    let Some(value) = value.or_else(|| rest.next()) else {
        return;
    };
    let variable = match name {
        "-C" => {
            world.cwd = directory(world, &value);
            return;
        }
        "--git-dir" => "GIT_DIR",
        "--work-tree" => "GIT_WORK_TREE",
        _ => return,
    };
    let value = directory(world, &value);
    world.variables.insert(variable.into(), value.into());
}

/// Returns a directory that was typed, from where the world stands.
pub(super) fn directory(world: &World, typed: &str) -> PathBuf {
    match (typed.strip_prefix("~/"), world.variable("HOME")) {
        (Some(rest), Some(home)) => Path::new(home).join(rest),
        _ => world.absolute(Path::new(typed)),
    }
}

/// Takes the quotes of a shell off a word, also one that is not closed yet.
fn unquoted(word: &str) -> String {
    let mut plain = String::with_capacity(word.len());
    let mut open = None;
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (open, c) {
            (None, '\'' | '"') => open = Some(c),
            (Some(quote), c) if quote == c => open = None,
            (None | Some('"'), '\\') => plain.extend(chars.next()),
            (_, c) => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn quotes_come_off_and_nothing_is_expanded() {
        for (typed, plain) in [
            ("first\\ draft", "first draft"),
            ("'first dr", "first dr"),
            ("\"it's\"", "it's"),
            ("a'b'c", "abc"),
            ("$(touch x)", "$(touch x)"),
            ("end\\", "end"),
        ] {
            assert_eq!(unquoted(typed), plain, "{typed}");
        }
    }
}
