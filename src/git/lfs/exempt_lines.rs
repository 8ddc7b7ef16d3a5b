//! The lines of `.gitattributes` that keep files out of git-lfs that were committed to git itself.
//! Two marker lines enclose them.
//!
//! Each line names one file exactly and gives its attributes the values they had without the
//! patterns of git-lfs. The user's lines between the markers are never mistaken for generated ones.

use gix::bstr::{BStr, BString, ByteSlice as _};

use crate::git::attributes::attribute_lines::without_carriage_return;
use crate::model::{RepoPath, Result};

use super::lfs_attributes::{ATTRIBUTES, Values};

const BEGIN: &str = "# >>> git-colony: files that stay in git >>>";
const END: &str = "# <<< git-colony: files that stay in git <<<";
const WHY: [&str; 3] = [
    "# They were committed before git-lfs had the patterns above. Without its line here, git would show each",
    "# as modified in every clone, and the next commit would give it to git-lfs. To allow that for a file, delete",
    "# its line. 'git colony lfs migrate' gives them all to git-lfs, in all of history, and deletes the lines.",
];
const WHY_LEFT_OUT: [&str; 2] = [
    "# Patterns that are left out, since more than 100 such files match, or since git-lfs has one of the files",
    "# on another branch, or since a file is not here to be looked at, or its name is too long:",
];
/// The prefix of a pattern that is left out.
const LEFT_OUT: &str = "# left out: ";

/// The maximum length of an attributes line in git.
const MAX_LINE_BYTES: usize = 2047;

/// The lines between the markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExemptLines {
    /// The files that stay in git.
    pub files: Vec<RepoPath>,
    /// The lines of git-lfs that are left out.
    pub left_out: Vec<String>,
}

/// An attributes file, split into parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// All lines but those of git-colony.
    pub own: Vec<u8>,
    /// The lines of git-colony; `None` if the file has no markers.
    pub exempt: Option<ExemptLines>,
}

impl ExemptLines {
    /// Returns `true` if there are no lines to write.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.left_out.is_empty()
    }

    /// Returns the lines with their markers; `above` holds the lines that give the attributes their
    /// earlier values.
    pub fn block(&self, above: &[u8]) -> Result<Vec<u8>> {
        let mut values = Values::of(above)?;
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut say = |line: &str| lines.push(line.as_bytes().to_vec());
        say(BEGIN);
        for line in WHY {
            say(line);
        }
        let why_left_out = WHY_LEFT_OUT.iter().filter(|_| !self.left_out.is_empty());
        for line in why_left_out {
            say(line);
        }
        for line in &self.left_out {
            say(&format!("{LEFT_OUT}{line}"));
        }
        for file in &self.files {
            let values = values.of_path(file);
            lines.push([pattern_of(file), values.into_bytes()].join(&b' '));
        }
        lines.push(END.as_bytes().to_vec());
        let mut block = lines.join(&b'\n');
        block.push(b'\n');
        Ok(block)
    }
}

/// Returns the line for a file that no other line matches.
pub fn line_of(file: &RepoPath) -> String {
    let pattern = pattern_of(file);
    let values = ATTRIBUTES.map(|name| format!("!{name}")).join(" ");
    format!("{} {values}", pattern.to_str_lossy())
}

/// Returns `true` if the line of a file fits git's maximum length with any attribute values.
pub fn has_room(file: &RepoPath) -> bool {
    const FOR_VALUES: usize = 256;
    pattern_of(file).len() + FOR_VALUES <= MAX_LINE_BYTES
}

/// Returns an attributes file in which the line of one file names another, with the same values.
/// The new line replaces the old one, or is added if the first file still exists.
pub fn renamed(bytes: &[u8], from: &RepoPath, is_gone: bool, to: &RepoPath) -> Vec<u8> {
    let mut written = Vec::with_capacity(bytes.len() + to.as_bytes().len());
    let mut is_ours = false;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let text = trimmed(line);
        is_ours = (is_ours || text == BEGIN.as_bytes()) && text != END.as_bytes();
        match taken_apart(text).filter(|(file, _)| is_ours && file == from) {
            Some((_, values)) => {
                if !is_gone {
                    written.extend_from_slice(line);
                }
                written.extend(pattern_of(to));
                // Include the newline.
                written.extend_from_slice(
                    line.get(text.len() - values.len()..).expect("the values end the line"),
                );
            }
            None => written.extend_from_slice(line),
        }
    }
    written
}

/// Splits an attributes file.
pub fn take_apart(bytes: &[u8]) -> Parts {
    let mut parts = Parts { own: Vec::with_capacity(bytes.len()), exempt: None };
    let mut open = bytes;
    while let Some((before, from)) = split_at_line(open, BEGIN)
        && let Some((inside, after)) = split_at_line(from, END)
    {
        let before = before
            .strip_suffix(b"\n\n")
            .map_or(before, |_| before.strip_suffix(b"\n").unwrap_or(before));
        parts.own.extend_from_slice(before);
        let exempt = parts.exempt.get_or_insert_default();
        for line in inside.split_inclusive(|&byte| byte == b'\n') {
            if !take_line(trimmed(line), exempt) {
                parts.own.extend_from_slice(line);
            }
        }
        open = after;
    }
    parts.own.extend_from_slice(open);
    parts
}

/// Splits bytes at a line; returns the bytes before and after it.
fn split_at_line<'a>(bytes: &'a [u8], wanted: &str) -> Option<(&'a [u8], &'a [u8])> {
    let mut at = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if trimmed(line) == wanted.as_bytes() {
            return Some((bytes.get(..at)?, bytes.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

fn trimmed(line: &[u8]) -> &[u8] {
    without_carriage_return(line.strip_suffix(b"\n").unwrap_or(line))
}

/// Takes a line between the markers if git-colony wrote it.
fn take_line(line: &[u8], into: &mut ExemptLines) -> bool {
    let text = line.to_str().unwrap_or_default();
    if let Some(line) = text.strip_prefix(LEFT_OUT) {
        into.left_out.push(line.to_owned());
        return true;
    }
    if WHY.contains(&text) || WHY_LEFT_OUT.contains(&text) {
        return true;
    }
    let Some((file, _)) = taken_apart(line) else {
        return false;
    };
    into.files.push(file);
    true
}

/// Returns the file that a generated line names, and the text after its pattern.
fn taken_apart(line: &[u8]) -> Option<(RepoPath, &[u8])> {
    let (pattern, rest) = if line.starts_with(b"\"") {
        let (pattern, consumed) = gix::quote::ansi_c::undo(BStr::new(line)).ok()?;
        (pattern.into_owned(), line.get(consumed..)?)
    } else {
        let (pattern, rest) = line.split_at(line.find_byte(b' ')?);
        (BString::from(pattern), rest)
    };
    let words: Vec<&str> = rest.to_str().ok()?.split_ascii_whitespace().collect();
    let name = |word: &str| {
        let word = word.strip_prefix(['!', '-']).unwrap_or(word);
        word.split('=').next().map(str::to_owned)
    };
    let names: Vec<String> = words.iter().copied().filter_map(name).collect();
    if names != ATTRIBUTES || words.contains(&"filter=lfs") {
        return None;
    }
    Some((RepoPath::new(literal(pattern.strip_prefix(b"/")?)?), rest))
}

/// Returns the only path that a pattern matches; `None` if it may match others.
fn literal(pattern: &[u8]) -> Option<Vec<u8>> {
    let (mut path, mut bytes) = (Vec::with_capacity(pattern.len()), pattern.iter());
    while let Some(&byte) = bytes.next() {
        match byte {
            b'*' | b'?' | b'[' => return None,
            b'\\' => path.push(*bytes.next()?),
            byte => path.push(byte),
        }
    }
    (!path.is_empty()).then_some(path)
}

/// Returns the pattern that matches exactly one file, quoted if git requires that.
fn pattern_of(file: &RepoPath) -> Vec<u8> {
    let mut pattern = vec![b'/'];
    for &byte in file.as_bytes() {
        if matches!(byte, b'*' | b'?' | b'[' | b'\\') {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '"';
    match pattern.to_str() {
        Ok(text) if !text.contains(is_odd) => pattern,
        text => quoted(&pattern, text.is_ok()),
    }
}

/// Quotes a pattern as git does for names with odd bytes.
fn quoted(pattern: &[u8], is_utf8: bool) -> Vec<u8> {
    let mut text = vec![b'"'];
    for &byte in pattern {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            b' '..=b'~' => text.push(byte),
            0x80.. if is_utf8 => text.push(byte),
            byte => text.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    text.push(b'"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exempt(files: &[&str], left_out: &[&str]) -> ExemptLines {
        ExemptLines {
            files: files.iter().map(|&file| file.into()).collect(),
            left_out: left_out.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    fn lines_for(files: &[&str], above: &str) -> Vec<String> {
        let block = exempt(files, &[]).block(above.as_bytes()).unwrap();
        let block = String::from_utf8(block).unwrap();
        let lines = block.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_file_is_named_exactly_whatever_its_name() {
        let files = [
            "x.gz",
            "deep/with blank.gz",
            "star*[a]?.gz",
            "back\\slash.gz",
            "line\nfeed\".gz",
            "\u{fc}ml.gz",
            "\u{fc}ml out.gz",
        ];
        let wanted = [
            "/x.gz",
            "\"/deep/with blank.gz\"",
            "/star\\*\\[a]\\?.gz",
            "/back\\\\slash.gz",
            "\"/line\\012feed\\\".gz\"",
            "/\u{fc}ml.gz",
            "\"/\u{fc}ml out.gz\"",
        ]
        .map(|pattern| format!("{pattern} !filter !diff !merge !text"));
        assert_eq!(lines_for(&files, ""), wanted);
        let written = exempt(&files, &[]);
        let parts = take_apart(&written.block(b"").unwrap());
        assert_eq!(parts.exempt, Some(written));
    }

    #[test]
    fn a_name_that_is_not_utf8_is_written_in_octal() {
        let odd =
            ExemptLines { files: vec![RepoPath::new(b"\xfc.gz".to_vec())], left_out: Vec::new() };
        let block = odd.block(b"").unwrap();
        assert!(block.contains_str(b"\"/\\374.gz\" !filter"));
        assert_eq!(take_apart(&block).exempt, Some(odd));
    }

    #[test]
    fn attributes_have_the_values_that_lines_above_give_them() {
        let above = "* text=auto\n*.a binary\n/deep/*.b merge=mine -diff\n*.c my\n[attr]my -text merge=union\n";
        let lines = lines_for(&["x.z", "x.a", "deep/x.b", "x.c"], above);
        assert_eq!(
            lines,
            [
                "/x.z !filter !diff !merge text=auto",
                "/x.a !filter -diff -merge -text",
                "/deep/x.b !filter -diff merge=mine text=auto",
                "/x.c !filter !diff merge=union -text",
            ]
        );
    }

    #[test]
    fn lines_of_a_person_between_the_marks_stay() {
        let left_out = "*.png filter=lfs diff=lfs merge=lfs -text";
        let block = exempt(&["x.gz"], &[left_out]).block(b"").unwrap();
        let block = String::from_utf8(block).unwrap();
        let mine = "# mine\n/*.gz !filter !diff !merge !text\nx.gz !filter !diff !merge !text\n\
            /y.gz -filter\n/z.gz filter=lfs diff=lfs merge=lfs -text\n";
        let edited = block.replace(END, &format!("{mine}{END}"));
        let file = format!("*.gz filter=lfs\n\n{edited}*.txt text\n");
        let parts = take_apart(file.as_bytes());
        let own = String::from_utf8(parts.own).unwrap();
        assert_eq!(own, format!("*.gz filter=lfs\n{mine}*.txt text\n"));
        assert_eq!(parts.exempt, Some(exempt(&["x.gz"], &[left_out])));
        let without_end = file.replace(END, "");
        let parts = take_apart(without_end.as_bytes());
        assert_eq!((parts.own, parts.exempt), (without_end.into_bytes(), None));
    }
}
