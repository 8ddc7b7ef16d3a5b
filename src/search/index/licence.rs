//! The licence at the beginning of a file of source code: a comment that says nothing of the lines below it.

/// What begins a line of a comment, in some language.
const LINE_COMMENTS: [&str; 6] = ["//", "#", "--", ";", "%", "\""];

/// What begins and ends a comment of several lines.
const BLOCK_COMMENTS: [(&str, &str); 4] =
    [("/*", "*/"), ("<!--", "-->"), ("\"\"\"", "\"\"\""), ("(*", "*)")];

/// A longer comment counts as text, in bytes.
const MAX_LENGTH: usize = 4_096;

/// Words that tell a licence, in lower case.
const WORDS: [&str; 3] = ["copyright", "license", "licence"];

/// Returns the length in bytes of the licence that a text begins with, and the empty lines after it; 0 if it begins with
/// none. The line that names an interpreter stays where it is: a text that has one begins with no licence.
pub fn length(text: &str) -> usize {
    let end = comment_length(text);
    let comment = text.get(..end.min(MAX_LENGTH)).unwrap_or_default().to_lowercase();
    if text.starts_with("#!")
        || end > MAX_LENGTH
        || !WORDS.iter().any(|word| comment.contains(word))
    {
        return 0;
    }
    let rest = text.get(end..).unwrap_or_default();
    let blank = rest.split_inclusive('\n').take_while(|line| line.trim().is_empty());
    end + blank.map(str::len).sum::<usize>()
}

/// Returns the length of the comment at the beginning, up to the end of its last line.
fn comment_length(text: &str) -> usize {
    if let Some((_, close)) = BLOCK_COMMENTS.iter().find(|(open, _)| text.starts_with(open)) {
        let inside = text.get(close.len()..).unwrap_or_default();
        let end = inside.find(close).map_or(0, |at| at + 2 * close.len());
        let line = text.get(end..).and_then(|rest| rest.find('\n'));
        return if end == 0 { 0 } else { line.map_or(text.len(), |line| end + line + 1) };
    }
    let is_comment = |line: &&str| LINE_COMMENTS.iter().any(|mark| line.starts_with(mark));
    let lines = text.split_inclusive('\n').take_while(is_comment);
    lines.map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_about_the_licence_is_one() {
        for (licence, rest) in [
            ("/* Copyright 2020 A\n * all of it\n */\n\n", "int one;\n"),
            ("// SPDX-License-Identifier: MIT\n", "fn one() {}\n"),
            ("# Licensed under a licence\n#\n# and so on\n\n\n", "import one\n"),
            ("<!-- Copyright A -->\n", "<p>\n"),
        ] {
            assert_eq!(length(&format!("{licence}{rest}")), licence.len(), "{licence}");
        }
    }

    #[test]
    fn another_beginning_is_none() {
        for text in [
            "",
            "// The parser.\n\nfn copyright() {}\n",
            "#!/bin/sh\n# Copyright A\n",
            "fn license() {}\n",
            "/* never closed, copyright\n",
        ] {
            assert_eq!(length(text), 0, "{text}");
        }
    }
}
