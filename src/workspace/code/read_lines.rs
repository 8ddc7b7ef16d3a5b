//! `git read`: lines of files.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::secret_file_names::contains_secret;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::source::file::is_binary;
use crate::store::Session;
use crate::workspace::query::target::Content;

use super::{State, hidden, require_shown, typed_path};

/// The most bytes of a file that are looked at.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The most bytes of one answer.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The most files of one answer.
const MAX_FILES: usize = 100;

/// Lines of a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FileLines {
    /// The path.
    pub path: RepoPath,
    /// The number of the first line, from 1.
    pub first_line: usize,
    /// The number of the last line.
    pub last_line: usize,
    /// How many lines the file has.
    pub lines: usize,
    /// Whether `content` ends before the last line that was wanted, or in the middle of a line of over 1 MiB.
    pub truncated: bool,
    /// The lines.
    pub content: String,
}

/// A file that was not read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NotRead {
    /// The path, as it was asked for.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ReadReport {
    /// The files, as they were asked for.
    pub files: Vec<FileLines>,
    /// Their number.
    pub count: usize,
    /// Those that were not read.
    pub not_read: Vec<NotRead>,
    /// The commit that they are read from; null for the working tree.
    pub at_commit: Option<String>,
    /// What to ask for next, as `PATH:LINE-`, if an answer was not large enough.
    pub next: Option<String>,
}

/// Reads files of a state, each `PATH`, `PATH:LINE`, `PATH:FIRST-LAST` or `PATH:FIRST-`.
///
/// # Errors
/// `path-not-found` if none of them can be read.
pub fn read(session: &Session, wanted: &[String], revision: Option<&str>) -> Result<ReadReport> {
    if wanted.len() > MAX_FILES {
        let message = format!("cannot read {} files: at most {MAX_FILES} at once", wanted.len());
        return Err(Error::new(Code::InvalidValue, message).unchanged());
    }
    let state = State::find(session, revision)?;
    let content = state.content()?;
    let (mut files, mut not_read, mut next) = (Vec::new(), Vec::new(), None);
    let (mut left, mut last_error) = (MAX_TEXT_BYTES, None);
    for typed in wanted {
        if left == 0 {
            next.get_or_insert_with(|| typed.clone());
            break;
        }
        match read_one(state.world, &content, typed, left) {
            Ok(file) => {
                left = if file.truncated { 0 } else { left.saturating_sub(file.content.len()) };
                if file.truncated && file.last_line < file.lines {
                    next = Some(format!("{}:{}-", file.path, file.last_line + 1));
                }
                files.push(file);
            }
            Err(error) if error.code() == Code::Interrupted => return Err(error),
            Err(error) => {
                not_read.push(NotRead { path: typed.clone(), why: error.sentence() });
                last_error = Some(error);
            }
        }
    }
    if let (true, Some(error)) = (files.is_empty(), last_error) {
        return Err(error);
    }
    let at_commit = state.commit.map(|commit| commit.to_string());
    Ok(ReadReport { count: files.len(), files, not_read, at_commit, next })
}

fn read_one(world: &World, content: &Content, typed: &str, most: usize) -> Result<FileLines> {
    let whole = typed_path(typed);
    // A path may have a colon and a number.
    let is_path = || whole.is_safe() && content.beginning(world, &whole, 1).is_ok();
    let (path, first, last) = match range_of(typed) {
        Some((path, first, last)) if !is_path() => (typed_path(path), first, last),
        _ => (whole, 1, usize::MAX),
    };
    require_shown(world, content, &path)?;
    let bytes = content.beginning(world, &path, MAX_FILE_BYTES)?;
    if contains_secret(&bytes) {
        return Err(hidden(&path));
    }
    if is_binary(&bytes) {
        let message = format!("'{path}' is not a text");
        return Err(Error::new(Code::PathNotFound, message).unchanged());
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(lines_of(path, &text, (first, last), most))
}

/// Takes lines out of a text, whole ones, but for a first one that is too long.
fn lines_of(path: RepoPath, text: &str, (first, last): (usize, usize), most: usize) -> FileLines {
    let (mut content, mut last_line, mut truncated, mut lines) = (String::new(), 0, false, 0);
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        lines = number;
        if number < first || number > last || truncated {
            continue;
        }
        if content.len() + line.len() > most && !content.is_empty() {
            truncated = true;
            continue;
        }
        let end = line.floor_char_boundary(most.min(line.len()));
        truncated |= end < line.len();
        content.push_str(line.get(..end).unwrap_or_default());
        last_line = number;
    }
    FileLines { path, first_line: first.min(last_line), last_line, lines, truncated, content }
}

/// Splits the lines that are wanted from a path.
fn range_of(typed: &str) -> Option<(&str, usize, usize)> {
    let (path, range) = typed.rsplit_once(':')?;
    let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
    let (first, last) = match range.split_once('-') {
        None => (number(range)?, number(range)?),
        Some((first, "")) => (number(first)?, usize::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    (first <= last && !path.is_empty()).then_some((path, first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_stands_behind_the_last_colon() {
        assert_eq!(range_of("a.rs:10-20"), Some(("a.rs", 10, 20)));
        assert_eq!(range_of("a:b:7"), Some(("a:b", 7, 7)));
        assert_eq!(range_of("a.rs:7-"), Some(("a.rs", 7, usize::MAX)));
        for typed in ["a.rs", "a.rs:", "a.rs:0", "a.rs:9-8", "a.rs:x", ":7", "a.rs:-7"] {
            assert_eq!(range_of(typed), None, "{typed}");
        }
    }

    #[test]
    fn whole_lines_are_taken_as_long_as_they_fit() {
        let lines = |range, most| {
            let read = lines_of(RepoPath::from("a"), "one\ntwo\nthree", range, most);
            (read.content, read.last_line, read.truncated, read.lines)
        };
        assert_eq!(lines((1, usize::MAX), 99), ("one\ntwo\nthree".to_owned(), 3, false, 3));
        assert_eq!(lines((2, 2), 99), ("two\n".to_owned(), 2, false, 3));
        assert_eq!(lines((1, usize::MAX), 6), ("one\n".to_owned(), 1, true, 3));
        assert_eq!(lines((1, usize::MAX), 2), ("on".to_owned(), 1, true, 3));
        assert_eq!(lines((7, 9), 99), (String::new(), 0, false, 3));
    }
}
