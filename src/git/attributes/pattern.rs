//! Patterns and lists of patterns by git's rules for ignore files.
//!
//! A pattern without a slash matches a name at any depth; one with a slash, other than at its end, is anchored at the
//! directory of its list. A slash at the end matches directories only. `!` includes again what an earlier pattern of
//! the list excludes. The last matching pattern of a list decides.

use super::wildmatch::Wildcards;

/// The bytes that have a meaning in a pattern.
const SPECIAL: &[u8] = b"*?[\\";

/// One pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    is_negative: bool,
    matches_directories_only: bool,
    target: Target,
    /// The beginning without wildcards, compared as it is. As in git, a `**` directly after it counts as a component.
    literal: Vec<u8>,
    rest: PatternRest,
    folds_case: bool,
}

/// The part of a path that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// The last component.
    Name,
    /// All of it.
    Path,
}

#[derive(Clone, Debug)]
enum PatternRest {
    /// The literal beginning is all of it.
    Empty,
    /// `*`, and then no other wildcard.
    EndsWith(Vec<u8>),
    Wildcards(Wildcards),
    /// It can match nothing.
    Broken,
}

impl Pattern {
    /// Reads a pattern.
    pub(crate) fn parse(text: &[u8], folds_case: bool) -> Pattern {
        let (is_negative, body) = match text.strip_prefix(b"!") {
            Some(body) => (true, body),
            None => (false, text),
        };
        let (matches_directories_only, body) = match body.strip_suffix(b"/") {
            Some(body) => (true, body),
            None => (false, body),
        };
        let target = if body.contains(&b'/') { Target::Path } else { Target::Name };
        let body = body.strip_prefix(b"/").unwrap_or(body);
        let is_special = |byte: &u8| SPECIAL.contains(byte);
        let start = body.iter().position(is_special).unwrap_or(body.len());
        let (literal, rest) = body.split_at(start);
        let rest = match rest {
            [] => PatternRest::Empty,
            // A name has no slash that the star could not match.
            [b'*', end @ ..] if target == Target::Name && !end.iter().any(is_special) => {
                PatternRest::EndsWith(end.to_vec())
            }
            // Git compares the beginning of a name as a part of the pattern: it makes no difference without a slash.
            rest => Wildcards::parse(rest, folds_case)
                .map_or(PatternRest::Broken, PatternRest::Wildcards),
        };
        Pattern {
            is_negative,
            matches_directories_only,
            target,
            literal: literal.to_vec(),
            rest,
            folds_case,
        }
    }

    /// Returns `true` if the pattern begins with `!`.
    pub(crate) fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// Returns `true` if the pattern can match nothing: a bracket in it is not closed, or a class has no such name.
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self.rest, PatternRest::Broken)
    }

    /// Returns the name that the pattern matches at any depth, if it has no wildcard.
    pub(super) fn plain_name(&self) -> Option<&[u8]> {
        let is_plain = self.target == Target::Name && matches!(self.rest, PatternRest::Empty);
        is_plain.then_some(&self.literal[..])
    }

    /// Returns the extension of `*.EXTENSION`.
    pub(super) fn plain_extension(&self) -> Option<&[u8]> {
        match &self.rest {
            PatternRest::EndsWith(end) if self.literal.is_empty() => {
                end.strip_prefix(b".").filter(|extension| !extension.contains(&b'.'))
            }
            _ => None,
        }
    }

    /// Returns `true` if the pattern matches a path, relative to the directory of its list; its parent directories do
    /// not count.
    pub(crate) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        if self.matches_directories_only && !is_directory {
            return false;
        }
        let text = if self.target == Target::Name { name_of(path) } else { path };
        let Some((start, rest)) = text.split_at_checked(self.literal.len()) else {
            return false;
        };
        self.is_same(start, &self.literal) && self.matches_rest(rest)
    }

    /// Returns `true` if the pattern matches a path or one of its parent directories.
    pub(crate) fn covers(&self, path: &[u8], is_directory: bool) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut above = slashes.filter_map(|(at, _)| path.get(..at));
        self.matches(path, is_directory) || above.any(|directory| self.matches(directory, true))
    }

    fn matches_rest(&self, rest: &[u8]) -> bool {
        match &self.rest {
            PatternRest::Empty => rest.is_empty() && !self.literal.is_empty(),
            PatternRest::EndsWith(end) => {
                let start = rest.len().checked_sub(end.len());
                start
                    .and_then(|start| rest.get(start..))
                    .is_some_and(|rest| self.is_same(rest, end))
            }
            PatternRest::Wildcards(wildcards) => wildcards.match_all(rest),
            PatternRest::Broken => false,
        }
    }

    fn is_same(&self, a: &[u8], b: &[u8]) -> bool {
        if self.folds_case { a.eq_ignore_ascii_case(b) } else { a == b }
    }
}

/// Returns the last component of a path.
fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

/// The patterns of one ignore file.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternList {
    patterns: Vec<Pattern>,
}

impl PatternList {
    /// Reads the lines of a file.
    pub(crate) fn parse(text: &[u8], folds_case: bool) -> PatternList {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let lines = text.split(|&byte| byte == b'\n');
        let patterns = lines.filter_map(pattern_in).map(|text| Pattern::parse(text, folds_case));
        PatternList { patterns: patterns.collect() }
    }

    /// Returns `true` if there is no pattern.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Returns whether the list ignores a path, which is relative to the directory of the list, or includes it again;
    /// `None` if no pattern matches. Parent directories do not count.
    pub(crate) fn verdict(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        let last =
            self.patterns.iter().rev().find(|pattern| pattern.matches(path, is_directory))?;
        Some(!last.is_negative)
    }
}

/// Returns the pattern of a line; `None` for a comment and an empty line.
fn pattern_in(line: &[u8]) -> Option<&[u8]> {
    if line.is_empty() || line.starts_with(b"#") {
        return None;
    }
    let text = line.strip_suffix(b"\r").unwrap_or(line);
    // Git reads a line as a string that a NUL ends.
    text.split(|&byte| byte == 0).next().map(without_trailing_spaces)
}

/// Removes the spaces at the end; a backslash keeps the one after it.
fn without_trailing_spaces(line: &[u8]) -> &[u8] {
    let (mut end, mut at) = (0, 0);
    while let Some(byte) = line.get(at) {
        match byte {
            b' ' => {}
            // Git leaves a line alone whose last byte is a backslash.
            b'\\' if at + 1 == line.len() => return line,
            b'\\' => {
                at += 1;
                end = at + 1;
            }
            _ => end = at + 1,
        }
        at += 1;
    }
    line.get(..end).unwrap_or(line)
}
