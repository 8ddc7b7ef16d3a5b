//! The units of chunks: sentences, and parts of sentences that are too long.

use super::sentence;

/// The end of a unit; a chunk prefers the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    /// Inside a word.
    Inside,
    /// After a word.
    Word,
    /// At the end of a line.
    Line,
    /// At the end of a paragraph that does not end a sentence.
    Paragraph,
    /// At the end of a sentence.
    Sentence,
    /// At the end of a sentence that ends a paragraph.
    Both,
    /// Before a heading.
    Section,
}

/// A piece of a text: no white space at its ends, and only white space between two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) ending: Ending,
    /// Its approximate tokens at the beginning of a chunk.
    pub(super) alone: usize,
    /// Its approximate tokens with the white space before it.
    pub(super) joined: usize,
}

/// Splits a text into units of at most `most` tokens each. Sections begin at `sections`, in order.
pub(super) fn of(
    text: &str,
    sections: &[usize],
    most: usize,
    count: &dyn Fn(&str) -> usize,
) -> Vec<Unit> {
    let mut cutter = Cutter { text, most: most.max(1), count, units: Vec::new() };
    let ends = sections.iter().copied().chain([text.len()]);
    let mut at = 0;
    for end in ends {
        for (start, stop) in paragraphs(text.get(at..end).unwrap_or_default()) {
            cutter.paragraph(at + start, at + stop);
        }
        if let Some(last) = cutter.units.last_mut() {
            last.ending = Ending::Section;
        }
        at = end;
    }
    cutter.units
}

/// Lists the paragraphs, which blank lines separate.
fn paragraphs(text: &str) -> Vec<(usize, usize)> {
    let mut paragraphs: Vec<(usize, usize)> = Vec::new();
    let (mut at, mut open) = (0, false);
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim().is_empty() {
            open = false;
        } else if let Some(last) = paragraphs.last_mut().filter(|_| open) {
            last.1 = end;
        } else {
            paragraphs.push((at, end));
            open = true;
        }
        at = end;
    }
    paragraphs
}

struct Cutter<'a> {
    text: &'a str,
    most: usize,
    count: &'a dyn Fn(&str) -> usize,
    units: Vec<Unit>,
}

impl Cutter<'_> {
    fn slice(&self, start: usize, end: usize) -> &str {
        self.text.get(start..end).expect("units begin and end at characters")
    }

    /// Counts a piece without its quotes: the opening quote is a token, the closing one is not if a
    /// punctuation mark precedes it, since both are one token then.
    fn tokens(&self, start: usize, end: usize) -> usize {
        let text = self.slice(start, end);
        let quotes = 1 + usize::from(text.ends_with(char::is_alphanumeric));
        (self.count)(text).saturating_sub(quotes).max(1)
    }

    fn paragraph(&mut self, start: usize, end: usize) {
        let text = self.slice(start, end);
        let last = if sentence::is_closed(text) { Ending::Both } else { Ending::Paragraph };
        let mut at = start;
        for place in sentence::ends(text) {
            self.piece(at, start + place, Ending::Sentence);
            at = start + place;
        }
        self.piece(at, end, last);
    }

    /// Adds a piece, split if it exceeds the limit.
    fn piece(&mut self, start: usize, end: usize, ending: Ending) {
        let text = self.slice(start, end);
        let start = end - text.trim_start().len();
        let end = start + text.trim().len();
        let mut at = start;
        while at < end {
            let part = self.part(at, end);
            let before = self.units.last().map_or(0, |unit| unit.end);
            self.units.push(Unit {
                start: at,
                end: part.end,
                ending: if part.end == end { ending } else { part.ending },
                alone: part.tokens,
                joined: part.tokens + self.gap(before, at),
            });
            let rest = self.slice(part.end, end);
            at = end - rest.trim_start().len();
        }
    }

    /// Returns the approximate tokens of the white space between two units: a space has none, since
    /// it belongs to the word after it.
    fn gap(&self, start: usize, end: usize) -> usize {
        match self.slice(start, end) {
            "" | " " => 0,
            "\n" => 1,
            "\n\n" => 2,
            _ => self.tokens(start, end),
        }
    }

    /// Finds the part of a piece that fits.
    fn part(&self, start: usize, end: usize) -> Part {
        // A longer text is hardly ever within the limit: it need not be counted.
        let mut most_bytes = self.most.saturating_mul(6);
        loop {
            let (cut, ending) = if end - start <= most_bytes {
                (end, Ending::Word)
            } else {
                cut(self.slice(start, end), most_bytes, start)
            };
            let is_one_char = self.slice(start, cut).chars().nth(1).is_none();
            let tokens = self.tokens(start, cut);
            if is_one_char || tokens <= self.most {
                return Part { end: cut, ending, tokens };
            }
            // Estimate the limit by the density, minus a margin; the part shrinks every time.
            let length = cut - start;
            most_bytes = (length * self.most / tokens * 9 / 10).min(length - 1).max(1);
        }
    }
}

/// A part of a piece.
struct Part {
    end: usize,
    ending: Ending,
    tokens: usize,
}

/// Cuts a text that is longer than `most_bytes`: after its last line, or its last word within that
/// length, if there is one in its second half; otherwise at any character boundary.
fn cut(text: &str, most_bytes: usize, offset: usize) -> (usize, Ending) {
    let head = text.get(..text.floor_char_boundary(most_bytes)).unwrap_or_default();
    let late = |at_end: Option<usize>| at_end.filter(|&at| at > head.len() / 2);
    let trimmed = |at: usize| {
        let length = head.get(..at).expect("the place is in the head").trim_end().len();
        Some(length).filter(|&length| length > 0)
    };
    if let Some(at) = late(head.rfind('\n')).and_then(trimmed) {
        return (offset + at, Ending::Line);
    }
    if let Some(at) = late(head.rfind(char::is_whitespace)).and_then(trimmed) {
        return (offset + at, Ending::Word);
    }
    let first = text.chars().next().map_or(1, char::len_utf8);
    // White space after the last word of the head belongs to no part.
    let at = trimmed(head.len()).unwrap_or(first).max(first);
    (offset + at, Ending::Inside)
}
