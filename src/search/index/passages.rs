//! A text, of a PDF too, in passages: the unit that is ranked. (The chunks of a record are another cut.)
//!
//! A passage is a range of whole lines of about [`TARGET_BYTES`]; it preferably ends before a heading or definition. A
//! pure function of the text.

use std::ops::Range;

use super::headings::{is_definition, is_heading};

/// The size of a passage in bytes: about 350 tokens of source code and prose. Smaller ones find more files within a
/// number of tokens, and say less of each (`benches/retrieval`).
const TARGET_BYTES: usize = 1_200;

/// A passage may end once it is this long, if a heading or definition follows.
const MIN_BYTES: usize = 600;

/// A longer line, in bytes, is cut between characters.
const LONG_LINE: usize = 1_200;

/// Stands between two pages of a document.
pub const PAGE_BREAK: char = '\u{c}';

/// A passage of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Its bytes.
    pub range: Range<usize>,
    /// The number of its first line, from 1.
    pub first_line: usize,
}

/// A line, or a piece of a long one.
struct Line {
    start: usize,
    end: usize,
    number: usize,
    /// How well a passage begins here: the lower, the better.
    class: u8,
    /// Whether it begins a page of a document, and so a passage.
    begins_page: bool,
}

/// Cuts a text into passages. Every byte is in one, in order; an empty text has none.
pub fn cut(text: &str) -> Vec<Passage> {
    let lines = lines(text);
    let mut passages = Vec::new();
    let mut from = 0;
    while from < lines.len() {
        let to = end_of(&lines, from);
        let taken = lines.get(from..to).expect("the end is one of the lines");
        if let (Some(first), Some(last)) = (taken.first(), taken.last()) {
            passages.push(Passage { range: first.start..last.end, first_line: first.number });
        }
        from = to.max(from + 1);
    }
    passages
}

/// Returns the index after the last line of the passage that begins at `from`.
fn end_of(lines: &[Line], from: usize) -> usize {
    let start = lines.get(from).map_or(0, |line| line.start);
    let size = |line: &Line| line.end - start;
    let mut best: Option<(u8, usize)> = None;
    for (at, line) in lines.iter().enumerate().skip(from + 1) {
        if line.begins_page {
            return at;
        }
        let before = line.start - start;
        if before >= MIN_BYTES && best.is_none_or(|(class, _)| line.class <= class) {
            best = Some((line.class, at));
        }
        if size(line) > TARGET_BYTES {
            return best.map_or(at, |(_, best)| best);
        }
    }
    lines.len()
}

fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    let mut before = "";
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let mut class = class(before, line);
        let breaks = line.match_indices(PAGE_BREAK).map(|(at, _)| at).filter(|&at| at > 0);
        let mut begin = 0;
        for end in breaks.chain([line.len()]) {
            let mut rest = line.get(begin..end).expect("a page begins at a character");
            let mut begins_page = rest.starts_with(PAGE_BREAK);
            begin = end;
            while !rest.is_empty() {
                let length = rest.floor_char_boundary(LONG_LINE);
                let end = at + length;
                lines.push(Line { start: at, end, number: index + 1, class, begins_page });
                (at, class, begins_page) = (end, 4, false);
                rest = rest.get(length..).expect("a part of the line is taken");
            }
        }
        before = line;
    }
    lines
}

/// Ranks a line as the beginning of a passage: 0 for a heading or definition, 1 at the left margin after an empty
/// line, 2 after an empty line, 3 otherwise.
fn class(before: &str, line: &str) -> u8 {
    let after_blank = before.trim().is_empty();
    let at_margin = line.starts_with(|c: char| !c.is_whitespace());
    if is_heading(line) && (at_margin || after_blank || is_definition(line)) {
        0
    } else if after_blank && at_margin {
        1
    } else if after_blank {
        2
    } else {
        3
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_passage_ends_before_a_definition() {
        let body = "    x = merge(x);\n".repeat(60);
        let text = format!("int one(int x)\n{{\n{body}}}\n\nint two(int x)\n{{\n{body}}}\n");
        let passages = cut(&text);
        let second = passages
            .iter()
            .position(|passage| text[passage.range.clone()].starts_with("int two"))
            .expect("a passage begins with the definition");
        assert_eq!(passages[second].first_line, 65);
    }

    #[test]
    fn a_line_of_many_megabytes_is_cut_in_one_pass() {
        // With a search of the rest of the line for each piece, this would take minutes.
        let text = "x".repeat(64 << 20);
        assert_eq!(cut(&text).len(), text.len().div_ceil(LONG_LINE));
        let breaks = "\u{c}".repeat(1 << 20);
        assert_eq!(cut(&breaks).len(), breaks.len());
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_passage(
            lines in proptest::collection::vec(
                prop_oneof!["[a-z (){};]{0,60}", "[a-z\u{c}é]{0,6}", "#{1,3} [A-Z][a-z]{0,9}", "\\PC{0,30}", "[a-z]{1000,4000}"],
                0..80,
            ),
            end in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            let text = lines.join(end);
            let mut at = 0;
            for passage in cut(&text) {
                prop_assert_eq!(passage.range.start, at);
                prop_assert!(passage.range.end > at);
                prop_assert!(passage.range.len() <= TARGET_BYTES.max(LONG_LINE));
                let newlines = text[..at].matches('\n').count();
                prop_assert_eq!(passage.first_line, newlines + 1);
                at = passage.range.end;
            }
            prop_assert_eq!(at, text.len());
        }
    }
}
