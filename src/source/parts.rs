//! Splits a text that is too long for a page into parts.
//!
//! The content determines the cuts: among the lines where a part may end (it is nearly full there),
//! the one that looks most like the beginning of a section, and among those the one with the lowest
//! hash. So the same stretch of text is cut in the same places regardless of the text before it,
//! and an edit changes only the parts around it.

use std::ops::Range;

use crate::text::count::{Measured, json_length, json_string};
use crate::text::tokenizer::Tokenizer;

/// Changes whenever the same text might be cut differently; part of the cache keys.
pub const VERSION: u32 = 2;

/// A part ends when it is at least this full, in hundredths of its budget.
const FULL_FROM: usize = 84;

/// A longer line, in bytes, is cut like several lines.
const LONG_LINE: usize = 1024;

/// The minimum length of the pieces of a long line, in bytes.
const MIN_PIECE: usize = 256;

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
            return vec![Part {
                range: 0..text.len(),
                tokens: measured.total(),
            }];
        }
        let block = Block::new(measured, &text[start..stop], start);
        let taken = block.cut(budget, stop == text.len(), &mut parts);
        if start + taken >= text.len() {
            break;
        }
        start += taken;
    }
    parts
}

/// Returns the end of the block that begins at `start`: the end of a line, if there is one nearby.
fn block_end(text: &str, start: usize, budget: usize) -> usize {
    let least = start.saturating_add(BLOCK.max(budget.saturating_mul(32)));
    let Some(rest) = text
        .get(text.floor_char_boundary(least)..)
        .filter(|rest| !rest.is_empty())
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
        Block {
            text,
            offset,
            measured,
            units,
        }
    }

    /// Cuts parts off the front. The rest of a block that is not the last stays if it might belong
    /// to a longer part. Returns the number of bytes that were cut.
    fn cut(&self, budget: usize, is_last: bool, parts: &mut Vec<Part>) -> usize {
        let end = self.units.len() - 1;
        let mut from = 0;
        loop {
            // The exact count matters only near the end.
            if self.estimate(end) - self.estimate(from) <= budget.saturating_mul(2) {
                let rest = self.tokens(from, end);
                if rest <= budget && (is_last || from == 0) {
                    parts.push(self.part(from, end, rest));
                    return self.text.len();
                }
                if rest <= budget.saturating_add(SLACK) && !is_last {
                    return self.at(from);
                }
            }
            let (to, tokens) = self.next_cut(from, budget);
            if tokens > budget {
                // A single unit: a long piece without a place to cut.
                self.cut_by_characters(from, to, budget, parts);
            } else {
                parts.push(self.part(from, to, tokens));
            }
            from = to;
            if from == end {
                return self.text.len();
            }
        }
    }

    /// Chooses the end of the part that begins at unit `from`, at least one unit further, and
    /// counts its tokens.
    fn next_cut(&self, from: usize, budget: usize) -> (usize, usize) {
        let chosen = self.choose(from, budget.saturating_sub(SLACK));
        let tokens = self.tokens(from, chosen);
        if tokens <= budget {
            return (chosen, tokens);
        }
        // The estimate is wrong if a word is longer than a unit. The count may also fall with a
        // longer stretch: the result fits, though it need not be the longest that does.
        let units: Vec<usize> = (from + 1..chosen).collect();
        let fitting = units.partition_point(|&to| self.tokens(from, to) <= budget);
        let to = from + fitting.max(1);
        (to, self.tokens(from, to))
    }

    fn choose(&self, from: usize, room: usize) -> usize {
        let base = self.estimate(from);
        let reach = |limit: usize| {
            let units = self.units.get(from + 1..).unwrap_or_default();
            let within = |&(_, at): &(usize, usize)| self.measured.before(at) - base <= limit;
            from + units.partition_point(within)
        };
        let last = reach(room);
        let first = (reach(room * FULL_FROM / 100) + 1).min(last);
        (first..=last)
            .rev()
            .min_by_key(|&unit| self.score(unit))
            .unwrap_or(last)
            .max(from + 1)
    }

    /// Returns how little a unit looks like the beginning of a section, then a hash of its content.
    fn score(&self, unit: usize) -> (u8, [u8; 8]) {
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
        let mut hasher = blake3::Hasher::new();
        hasher.update(line.as_bytes());
        hasher.update(self.unit(unit + 1).as_bytes());
        let mut hash = [0; 8];
        hasher.finalize_xof().fill(&mut hash);
        (class, hash)
    }

    /// Cuts a unit that exceeds the budget into stretches of as many characters as fit.
    fn cut_by_characters(&self, from: usize, to: usize, budget: usize, parts: &mut Vec<Part>) {
        let tokenizer = self.measured.tokenizer();
        let count = |text: &str| tokenizer.count(&json_string(text));
        let (mut start, end) = (self.at(from), self.at(to));
        while start < end {
            let rest = &self.text[start..end];
            let boundaries: Vec<usize> = rest
                .char_indices()
                .skip(1)
                .map(|(at, _)| at)
                .chain([rest.len()])
                .collect();
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
        Part {
            range: self.offset + self.at(from)..self.offset + self.at(to),
            tokens,
        }
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

    fn estimate(&self, unit: usize) -> usize {
        self.measured.before(self.json_at(unit))
    }

    fn tokens(&self, from: usize, to: usize) -> usize {
        self.measured.tokens(self.json_at(from), self.json_at(to))
    }
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
            let window = rest.as_bytes().get(at - 8..at).unwrap_or_default();
            let bytes: [u8; 8] = window.try_into().unwrap_or_default();
            u64::from_le_bytes(bytes).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
        .unwrap_or(LONG_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::count::counted_bytes;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            6 => "[ ]{0,8}[a-z]{1,9}( [a-z0-9(){};=.]{1,9}){0,9}\n",
            2 => Just("\n".to_owned()),
            1 => "[a-zé]{1,3000}\n",
            1 => "(日本語|\"|\\\\|\t){1,40}\n",
        ];
        proptest::collection::vec(line, 0..80).prop_map(|lines| lines.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn parts_hold_every_byte_once_and_fit(text in text(), budget in 30_usize..400) {
            let parts = cut(Tokenizer::O200k, &text, budget);
            let mut at = 0;
            for part in &parts {
                prop_assert_eq!(part.range.start, at);
                at = part.range.end;
                let tokens = Tokenizer::O200k.count(&json_string(&text[part.range.clone()]));
                prop_assert_eq!(part.tokens, tokens);
                prop_assert!(tokens <= budget);
            }
            prop_assert_eq!(at, text.len());
            prop_assert!(!parts.is_empty());
        }
    }

    #[test]
    fn a_text_of_several_blocks_is_cut_like_any_other() {
        let line = |n: usize| format!("line {} of the text, {}\n", n, n * 7919 % 1009);
        let text: String = (0..90_000).map(line).collect();
        assert!(text.len() > 2 * BLOCK);
        let parts = cut(Tokenizer::Bytes, &text, 4000);
        let joined: String = parts.iter().map(|part| &text[part.range.clone()]).collect();
        assert_eq!(joined, text);
        let (last, others) = parts.split_last().unwrap();
        assert!(last.tokens <= 4000);
        assert!(
            others
                .iter()
                .all(|part| part.tokens <= 4000 && part.tokens >= 2990)
        );
    }

    /// Texts without a place to cut, longer than a block in JSON.
    fn without_white_space() -> Vec<String> {
        let runs = [
            "\u{1f600}",
            "\\",
            "\"",
            "\u{6f22}\u{5b57}",
            "e\u{301}\u{301}",
            "a",
            "\u{e9}\u{301}\u{323}\u{200d}",
            ".",
            " ",
            "\n",
        ];
        let repeat = |run: &str| run.repeat(1_200_000 / json_length(run));
        let mut texts: Vec<String> = runs.into_iter().map(repeat).collect();
        texts.push(format!("e{}", "\u{301}".repeat(600_000)));
        texts
    }

    #[test]
    fn what_is_counted_grows_with_the_text_only() {
        for text in without_white_space() {
            let few: String = text.chars().take(30_000).collect();
            for (text, budget, most) in [(&text, 4000, 4), (&few, MIN_BUDGET, 30)] {
                let before = counted_bytes();
                let parts = cut(Tokenizer::O200k, text, budget);
                let counted = (counted_bytes() - before) / json_length(text);
                let sample: String = text.chars().take(8).collect();
                // Counting each part from its beginning to the end of its block would be a hundred
                // times the text.
                assert!(counted <= most, "{sample:?}: {counted} times the text");
                let end = parts.iter().fold(0, |at, part| {
                    assert_eq!(part.range.start, at, "{sample:?}");
                    assert!(part.tokens <= budget, "{sample:?}");
                    part.range.end
                });
                assert_eq!(end, text.len(), "{sample:?}");
            }
        }
    }

    #[test]
    fn an_edit_changes_the_parts_around_it_only() {
        let line = |n: usize| format!("fn name_{}() {{ {} }}\n\n", n, n * 7919 % 1009);
        let lines: Vec<String> = (0..3000).map(line).collect();
        let before = lines.concat();
        let after = [&lines[..1500], &["a new line\n".to_owned()], &lines[1500..]]
            .concat()
            .concat();
        let texts = |text: &str| -> Vec<String> {
            let parts = cut(Tokenizer::O200k, text, 1000);
            parts
                .into_iter()
                .map(|part| text[part.range].to_owned())
                .collect()
        };
        let (before, after) = (texts(&before), texts(&after));
        let new = after.iter().filter(|part| !before.contains(part)).count();
        assert!(before.len() > 30 && new <= 3, "{new} of {}", before.len());
    }
}
