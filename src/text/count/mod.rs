//! The counter: tokens of a text as it stands in JSON: of a whole text, or of any stretch of a long one.

mod memo;

use super::tokenizer::Tokenizer;
use super::vocabulary::{self, Vocabulary};

/// Pieces that must follow a place before the end of the text cannot change how
/// the text was split there: the patterns of the vocabularies look at most one piece ahead.
const PIECES_AHEAD: usize = 3;

/// A longer piece, in bytes, has marks inside: a run without white space may be a whole text, and how
/// much of it is before a place must be known. Usual lines have no such piece.
const LONG_PIECE: usize = 2048;

/// The distance between two marks inside a long piece, in bytes.
const MARK_DISTANCE: usize = 256;

/// Bytes looked at first to find a place where two ways of splitting meet.
const FIRST_LOOK: usize = 64;

/// Returns a text as a JSON string, with its quotes.
pub fn json_string(text: &str) -> String {
    // Writing text into memory cannot fail.
    serde_json::to_string(text).unwrap_or_default()
}

/// Counts the bytes of a text as a JSON string, without its quotes.
pub fn json_length(text: &str) -> usize {
    let of = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(of).sum()
}

/// Counts the tokens of the JSON string of a text, its quotes included.
pub fn json_tokens(tokenizer: Tokenizer, text: &str) -> usize {
    tokenizer.count(&json_string(text))
}

impl Tokenizer {
    /// Counts the tokens of a text as it stands.
    pub fn count(self, text: &str) -> usize {
        #[cfg(test)]
        COUNTED.set(COUNTED.get() + text.len());
        match self.vocabulary() {
            Some(vocabulary) => {
                let pieces = vocabulary.split(text);
                memo::with(self, |memo| pieces.map(|piece| memo.count(vocabulary, piece)).sum())
            }
            None => text.len().div_ceil(4),
        }
    }

    /// Begins to build the tables of the vocabulary on another thread, for a command that counts later. Without a thread
    /// the first count builds them.
    pub fn prepare(self) {
        let build = move || {
            self.vocabulary();
        };
        std::thread::Builder::new().spawn(build).ok();
    }

    fn vocabulary(self) -> Option<&'static Vocabulary> {
        match self {
            Tokenizer::O200k => Some(vocabulary::o200k()),
            Tokenizer::Cl100k => Some(vocabulary::cl100k()),
            Tokenizer::Bytes => None,
        }
    }
}

/// A text as a JSON string, split once, so that the tokens of any stretch of it can be counted.
pub struct Measured {
    tokenizer: Tokenizer,
    json: String,
    /// Where each piece ends, in bytes of `json`.
    ends: Vec<u32>,
    /// The tokens of all pieces up to each.
    sums: Vec<u32>,
    /// Places inside long pieces, with about the tokens before each.
    marks: Vec<(u32, u32)>,
}

impl Measured {
    /// Splits a text, of at most 1 GiB.
    pub fn new(tokenizer: Tokenizer, text: &str) -> Measured {
        let json = json_string(text);
        let (mut ends, mut sums, mut marks) = (Vec::new(), Vec::new(), Vec::new());
        if let Some(vocabulary) = tokenizer.vocabulary() {
            let (mut end, mut sum) = (0, 0);
            memo::with(tokenizer, |memo| {
                for piece in vocabulary.split(&json) {
                    let tokens = if piece.len() > LONG_PIECE {
                        mark(vocabulary, piece, (end, sum), &mut marks)
                    } else {
                        memo.count(vocabulary, piece)
                    };
                    end += piece.len();
                    sum += tokens;
                    ends.push(number(end));
                    sums.push(number(sum));
                }
            });
        }
        Measured { tokenizer, json, ends, sums, marks }
    }

    /// Returns whose tokens are counted.
    pub fn tokenizer(&self) -> Tokenizer {
        self.tokenizer
    }

    /// Returns the tokens of the whole JSON string.
    pub fn total(&self) -> usize {
        match self.sums.last() {
            Some(&sum) => sum as usize,
            None => self.tokenizer.count(&self.json),
        }
    }

    /// Returns about how many tokens stand before a place, in bytes of the JSON string.
    pub fn before(&self, at: usize) -> usize {
        if self.tokenizer.vocabulary().is_none() {
            return at / 4;
        }
        let pieces = self.ends.partition_point(|&end| end as usize <= at);
        let marks = self.marks.partition_point(|&(mark, _)| mark as usize <= at);
        let mark = marks.checked_sub(1).and_then(|last| self.marks.get(last));
        self.sum(pieces).max(mark.map_or(0, |&(_, sum)| sum as usize))
    }

    /// Counts the tokens of the JSON string whose inner bytes are `start..end` of this one: exactly
    /// what counting that string alone gives. Both must be inside the quotes, and part no character
    /// and no escape.
    pub fn tokens(&self, start: usize, end: usize) -> usize {
        let Some(vocabulary) = self.tokenizer.vocabulary() else {
            return (end.saturating_sub(start) + 2).div_ceil(4);
        };
        let whole = || {
            let text = format!("\"{}\"", self.slice(start, end));
            self.tokenizer.count(&text)
        };
        let Some((head, met)) = self.head(vocabulary, start, end) else {
            return whole();
        };
        // The pieces between have the same ends in both ways of splitting; behind the last that is
        // sure of it, the end with its quote is split again.
        let last = self.ends.partition_point(|&at| (at as usize) < end);
        let Some(sure) = last.checked_sub(PIECES_AHEAD + 1).filter(|&sure| sure >= met) else {
            return whole();
        };
        let Some(&from) = self.ends.get(sure) else {
            return whole();
        };
        let tail = format!("{}\"", self.slice(from as usize, end));
        head + self.sum(sure + 1) - self.sum(met + 1) + self.tokenizer.count(&tail)
    }

    /// Splits the beginning of a stretch until a piece ends where one of the whole text ends.
    /// Returns the tokens up to there, and which piece that is.
    fn head(&self, vocabulary: &Vocabulary, start: usize, end: usize) -> Option<(usize, usize)> {
        let mut span = FIRST_LOOK;
        loop {
            let stop = self.json.floor_char_boundary((start + span).min(end));
            let text = format!("\"{}", self.slice(start, stop));
            let pieces: Vec<&str> = vocabulary.split(&text).collect();
            let sure = pieces.len().saturating_sub(PIECES_AHEAD);
            // The quote is not in the text at `start`.
            let (mut at, mut tokens) = (start.checked_sub(1)?, 0);
            for piece in pieces.iter().take(sure) {
                at += piece.len();
                tokens += memo::with(self.tokenizer, |memo| memo.count(vocabulary, piece));
                if let Ok(met) = self.ends.binary_search(&number(at)) {
                    return Some((tokens, met));
                }
            }
            if stop == end || span > 256 * FIRST_LOOK {
                return None;
            }
            span *= 4;
        }
    }

    /// The tokens of the first `pieces` pieces.
    fn sum(&self, pieces: usize) -> usize {
        let last = pieces.checked_sub(1);
        last.and_then(|last| self.sums.get(last)).map_or(0, |&sum| sum as usize)
    }

    fn slice(&self, start: usize, end: usize) -> &str {
        self.json.get(start..end).unwrap_or_default()
    }
}

/// Returns how many bytes this thread has given to vocabularies.
#[cfg(test)]
pub(crate) fn counted_bytes() -> usize {
    COUNTED.get()
}

#[cfg(test)]
thread_local! {
    static COUNTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts the tokens of a long piece, which has `before.0` bytes and `before.1` tokens before it, and
/// marks places in it.
fn mark(
    vocabulary: &Vocabulary,
    piece: &str,
    before: (usize, usize),
    marks: &mut Vec<(u32, u32)>,
) -> usize {
    let (start, sum) = before;
    let lengths = vocabulary.lengths(piece);
    let (mut at, mut marked) = (0, 0);
    for (count, length) in (1..).zip(&lengths) {
        at += length;
        if at - marked >= MARK_DISTANCE {
            marks.push((number(start + at), number(sum + count)));
            marked = at;
        }
    }
    lengths.len()
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_those_of_the_vocabulary() {
        assert_eq!(Tokenizer::O200k.count("hello world"), 2);
        assert_eq!(Tokenizer::Cl100k.count("hello world"), 2);
        assert_eq!(Tokenizer::Bytes.count("hello world"), 3);
        assert_eq!(Tokenizer::O200k.count(""), 0);
    }

    /// Where characters and escapes begin in the JSON string of `text`, inside the quotes.
    fn boundaries(text: &str) -> Vec<usize> {
        let mut at = 1;
        let mut boundaries = vec![at];
        for character in text.chars() {
            at += json_string(character.encode_utf8(&mut [0; 4])).len() - 2;
            boundaries.push(at);
        }
        boundaries
    }

    #[test]
    fn the_length_of_a_string_is_that_of_what_is_written() {
        for character in '\0'..='\u{3000}' {
            let text = character.to_string();
            assert_eq!(json_length(&text), json_string(&text).len() - 2, "{text:?}");
        }
    }

    #[test]
    fn what_is_remembered_is_what_the_vocabulary_counts() {
        let words: Vec<String> =
            (0..40_000_u64).map(|n| format!(" w{:x}", n * n * 7919 % 60_013)).collect();
        for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
            let text = words.concat();
            let alone = match tokenizer {
                Tokenizer::O200k => bpe_openai::o200k_base(),
                _ => bpe_openai::cl100k_base(),
            };
            assert_eq!(tokenizer.count(&text), alone.count(text.as_str()));
        }
    }

    fn check(text: &str, start: usize, end: usize, tokenizer: Tokenizer) {
        let places = boundaries(text);
        let measured = Measured::new(tokenizer, text);
        let stretch: String = text.chars().skip(start).take(end - start).collect();
        assert_eq!(
            measured.tokens(places[start], places[end]),
            tokenizer.count(&json_string(&stretch)),
            "{stretch:?} in {text:?}"
        );
    }

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z]{1,12}",
            2 => "[ ]{1,6}",
            2 => Just("\n".to_owned()),
            1 => Just("\n\n    ".to_owned()),
            1 => "[0-9]{1,7}",
            2 => "[-+*/=<>(){};:,.'\"\\\\#]{1,5}",
            1 => Just("'ve".to_owned()),
            1 => Just("\u{2028}\u{a0}\t ".to_owned()),
            1 => "[ぁ-んäöüßéД-я\u{300}-\u{310}]{1,6}",
            1 => "[\u{1}-\u{1f}]{1,2}",
        ];
        proptest::collection::vec(piece, 0..160).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn a_stretch_counts_as_if_it_stood_alone(text in text(), a: usize, b: usize) {
            let length = text.chars().count() + 1;
            let (a, b) = (a % length, b % length);
            for tokenizer in [Tokenizer::O200k, Tokenizer::Cl100k] {
                check(&text, a.min(b), a.max(b), tokenizer);
            }
        }
    }

    #[test]
    fn long_runs_count_as_if_they_stood_alone() {
        for run in ["a", " ", "\n", "\"", "ab ", "\u{a0}"] {
            let text = run.repeat(3000);
            let length = text.chars().count();
            for (start, end) in [(0, length), (1, length), (0, length - 1), (700, 2000)] {
                check(&text, start, end, Tokenizer::O200k);
            }
        }
    }
}
