//! Splits a text that is too long for a page into parts.
//!
//! The content determines the cuts, see [`places`]: the same stretch of text is cut in the same
//! places whatever text is around it, and an edit changes only the parts near it.

pub(crate) mod places;

use std::ops::Range;

use crate::text::count::{Measured, json_length, json_string};
use crate::text::tokenizer::Tokenizer;

use places::{Place, Score};

/// Changes whenever the same text might be cut differently; part of the cache keys.
pub const VERSION: u32 = 4;

/// A longer line, in bytes, is cut like several lines.
const LONG_LINE: usize = 1024;

/// The minimum length of the pieces of a long line, in bytes.
const MIN_PIECE: usize = 256;

/// The distance to both sides within which a place must be the lowest to begin a part
/// unconditionally, in parts. It limits how much of a text must be known to cut it.
const RADIUS: usize = 6;

/// The minimum number of tokens for a part.
pub const MIN_BUDGET: usize = 32;

/// The amount of text to measure at a time, in bytes: memory holds several copies of it.
const BLOCK: usize = 1024 * 1024;

/// The maximum difference between the count of a stretch and the estimate: tokens are split
/// differently at both ends.
const SLACK: usize = 8;

/// A stretch of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its bytes.
    pub range: Range<usize>,
    /// The tokens of the JSON string of its text, exactly.
    pub tokens: usize,
}

/// Cuts a text into parts of at most `budget` tokens each, as JSON strings. Every byte of the text
/// is in one part, in order; an empty text is one empty part.
///
/// A character that exceeds the budget is a part of its own.
pub fn cut(tokenizer: Tokenizer, text: &str, budget: usize) -> Vec<Part> {
    // A tokenizer makes at least as many tokens as the bytes of a text divided by its longest
    // token.
    let mut parts = Vec::new();
    let mut start = 0;
    while start < text.len() || parts.is_empty() {
        let stop = block_end(text, start, budget);
        let measured = Measured::new(tokenizer, &text[start..stop]);
        if stop - start == text.len() && measured.total() <= budget {
            return vec![Part { range: 0..text.len(), tokens: measured.total() }];
        }
        let block = Block::new(measured, &text[start..stop], start);
        start += block.cut(budget, stop == text.len(), &mut parts);
    }
    parts
}

/// Returns the end of the block that begins at `start`: the end of a line, if there is one nearby.
fn block_end(text: &str, start: usize, budget: usize) -> usize {
    let least = start.saturating_add(BLOCK.max(budget.saturating_mul(64)));
    let Some(rest) = text.get(text.floor_char_boundary(least)..).filter(|rest| !rest.is_empty())
    else {
        return text.len();
    };
    let from = text.len() - rest.len();
    let near = rest.floor_char_boundary(LONG_LINE);
    rest[..near].find('\n').map_or(from, |at| from + at + 1)
}

/// A measured stretch of the text.
struct Block<'a> {
    text: &'a str,
    /// Its start in the text.
    offset: usize,
    measured: Measured,
    /// The starts of lines, and of pieces of long lines, with their positions in the JSON string;
    /// and the end.
    units: Vec<(usize, usize)>,
}

impl<'a> Block<'a> {
    fn new(measured: Measured, text: &'a str, offset: usize) -> Block<'a> {
        let mut units = Vec::new();
        let (mut at, mut json_at) = (0, 1);
        for line in text.split_inclusive('\n') {
            for piece in pieces(line) {
                units.push((at, json_at));
                at += piece.len();
                json_at += json_length(piece);
            }
        }
        units.push((at, json_at));
        Block { text, offset, measured, units }
    }

    /// Cuts parts off the front. The rest of a block that is not the last stays: where it is cut
    /// depends on the text after it. Returns the number of bytes that were cut.
    fn cut(&self, budget: usize, is_last: bool, parts: &mut Vec<Part>) -> usize {
        let room = budget.saturating_sub(SLACK);
        let places = self.places();
        let mut ends = places::fixed(&places, room.saturating_mul(RADIUS));
        if is_last {
            ends.push(self.units.len() - 1);
        } else if ends.is_empty() {
            ends.push(places::lowest_late(&places));
        }
        let mut from = 0;
        for end in ends {
            for to in places::divide(&places, from..end, room) {
                self.fill(from, to, budget, parts);
                from = to;
            }
        }
        self.at(from)
    }

    /// Returns the places between units.
    fn places(&self) -> Vec<Place> {
        let end = self.units.len() - 1;
        let place = |unit: usize| Place {
            at: self.measured.before(self.json_at(unit)),
            score: if unit == 0 || unit == end { Score::default() } else { self.score(unit) },
        };
        (0..=end).map(place).collect()
    }

    /// Adds the units of a part; several parts if its tokens are more than their estimate, which
    /// they are if a word is longer than a unit.
    fn fill(&self, from: usize, to: usize, budget: usize, parts: &mut Vec<Part>) {
        let mut from = from;
        while from < to {
            let (mut end, mut tokens) = (to, self.tokens(from, to));
            if tokens > budget {
                // The count may also fall with a longer stretch: the result fits, though it need
                // not be the longest that does.
                let units: Vec<usize> = (from + 1..to).collect();
                let fitting = units.partition_point(|&to| self.tokens(from, to) <= budget);
                end = from + fitting.max(1);
                tokens = self.tokens(from, end);
            }
            if tokens > budget {
                // A single unit: a long piece without a place to cut.
                self.cut_by_characters(from, end, budget, parts);
            } else {
                parts.push(self.part(from, end, tokens));
            }
            from = end;
        }
    }

    fn score(&self, unit: usize) -> Score {
        let line = self.unit(unit);
        let before = unit.checked_sub(1).map_or("", |unit| self.unit(unit));
        let opens = line.starts_with(|c: char| c.is_alphanumeric() || "#/@<[_$".contains(c));
        let class = match (opens, before.trim().is_empty()) {
            (true, true) => 0,
            (true, false) if before.starts_with(['}', ')', ']']) => 0,
            (false, true) => 1,
            (true, false) => 2,
            (false, false) => 3,
        };
        // Many lines begin a function of the same kind: the next one tells them apart.
        let next = self.at((unit + 2).min(self.units.len() - 1));
        let hash = hash(self.text.get(self.at(unit)..next).expect("units begin at characters"));
        Score { class, hash }
    }

    /// Cuts a unit that exceeds the budget into stretches of as many characters as fit.
    fn cut_by_characters(&self, from: usize, to: usize, budget: usize, parts: &mut Vec<Part>) {
        let tokenizer = self.measured.tokenizer();
        let count = |text: &str| tokenizer.count(&json_string(text));
        let (mut start, end) = (self.at(from), self.at(to));
        while start < end {
            let rest = &self.text[start..end];
            let boundaries: Vec<usize> =
                rest.char_indices().skip(1).map(|(at, _)| at).chain([rest.len()]).collect();
            let first = |count: usize| boundaries.get(..count).unwrap_or(&boundaries);
            let fits = |&at: &usize| count(&rest[..at]) <= budget;
            // The counted text stays near the budget, however long the unit is.
            let mut reach = budget;
            while reach < boundaries.len() && first(reach).last().is_some_and(fits) {
                reach *= 2;
            }
            let fitting = first(reach).partition_point(fits);
            let length = first(fitting.max(1)).last().copied().unwrap_or(rest.len());
            parts.push(Part {
                range: self.offset + start..self.offset + start + length,
                tokens: count(&rest[..length]),
            });
            start += length;
        }
    }

    fn part(&self, from: usize, to: usize, tokens: usize) -> Part {
        Part { range: self.offset + self.at(from)..self.offset + self.at(to), tokens }
    }

    fn at(&self, unit: usize) -> usize {
        self.units.get(unit).map_or(self.text.len(), |unit| unit.0)
    }

    fn json_at(&self, unit: usize) -> usize {
        self.units.get(unit).map_or(1, |unit| unit.1)
    }

    fn unit(&self, unit: usize) -> &str {
        &self.text[self.at(unit)..self.at(unit + 1)]
    }

    fn tokens(&self, from: usize, to: usize) -> usize {
        self.measured.tokens(self.json_at(from), self.json_at(to))
    }
}

/// Returns a hash of a text that is the same on every machine, eight bytes at a time: every line of
/// a long text has one.
fn hash(text: &str) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = text.as_bytes().chunks(8).fold(text.len() as u64, |hash, chunk| {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(chunk) {
            *to = *from;
        }
        (hash ^ u64::from_le_bytes(bytes)).wrapping_mul(ODD).rotate_left(29)
    });
    // The high bits decide first, and each depends on every byte.
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(ODD);
    (mixed ^ (mixed >> 29)).wrapping_mul(ODD)
}

/// Returns a line as it is, or a long one in pieces that its content determines.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, left) = rest.split_at(piece_length(rest));
        rest = left;
        Some(piece)
    })
}

fn piece_length(rest: &str) -> usize {
    if rest.len() <= LONG_LINE {
        return rest.len();
    }
    // The hash covers the last eight bytes before a position; the lowest in the range wins.
    let candidates = MIN_PIECE..=LONG_LINE;
    candidates
        .filter(|&at| rest.is_char_boundary(at))
        .min_by_key(|&at| {
            let window =
                rest.as_bytes().get(at - 8..at).expect("a candidate is at least 8 bytes in");
            let bytes: [u8; 8] = window.try_into().expect("it has 8 bytes");
            u64::from_le_bytes(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
        .unwrap_or(LONG_LINE)
}

#[cfg(test)]
mod tests;
