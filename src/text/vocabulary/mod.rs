//! The vocabularies `o200k_base` and `cl100k_base`: how a text is split in pieces, and a piece in tokens.
//!
//! The program carries the merges of a vocabulary (`vocabularies/`), a thirtieth of the size of the tables of
//! a library; the tables for look-ups are built from them when a text is first counted.

mod tokens;

use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input};

pub(super) use tokens::Encoder;
use tokens::Tokens;

/// A vocabulary with its pattern.
pub(super) struct Vocabulary {
    tokens: Tokens,
    pattern: Regex,
}

/// The pattern of each vocabulary, without what it says of white space before other text: `\s+(?!\S)`.
const O200K: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$",
);
const CL100K: &str = concat!(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+$",
);

/// White space up to the last character of it, which belongs to what follows. An automaton cannot look
/// ahead: it takes that character too, and it is given back.
const WHITE_SPACE: &str = r"\s+\s";

/// A single character of white space before other text.
const SINGLE_SPACE: &str = r"\s+";

/// Returns the vocabulary `o200k_base`.
pub(super) fn o200k() -> &'static Vocabulary {
    static ONE: LazyLock<Vocabulary> = LazyLock::new(|| {
        Vocabulary::new(include_bytes!("../../../vocabularies/o200k.merges"), O200K)
    });
    &ONE
}

/// Returns the vocabulary `cl100k_base`.
pub(super) fn cl100k() -> &'static Vocabulary {
    static ONE: LazyLock<Vocabulary> = LazyLock::new(|| {
        Vocabulary::new(
            include_bytes!("../../../vocabularies/cl100k.merges"),
            CL100K,
        )
    });
    &ONE
}

impl Vocabulary {
    fn new(merges: &'static [u8], pattern: &str) -> Vocabulary {
        let pattern = Regex::new_many(&[pattern, WHITE_SPACE, SINGLE_SPACE]);
        Vocabulary {
            tokens: Tokens::new(merges),
            pattern: pattern.expect("the patterns are constants, and every test compiles them"),
        }
    }

    /// Splits a text in pieces; no token goes beyond one.
    pub(super) fn split<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let found = self
                .pattern
                .find(Input::new(rest).anchored(Anchored::Yes))?;
            let mut end = found.end();
            // The second pattern is that of white space.
            if found.pattern().as_usize() == 1 {
                let last = rest.get(..end)?.chars().next_back()?;
                end -= last.len_utf8();
            }
            let (piece, behind) = rest.split_at_checked(end)?;
            rest = behind;
            Some(piece)
        })
    }

    /// Counts the tokens of a piece.
    pub(super) fn count(&self, piece: &str, encoder: &mut Encoder) -> usize {
        if self.tokens.rank(piece.as_bytes()).is_some() {
            return 1;
        }
        encoder.encode(&self.tokens, piece.as_bytes()).len()
    }

    /// Returns the length of each token of a piece, in bytes.
    pub(super) fn lengths(&self, piece: &str) -> Vec<usize> {
        let mut encoder = Encoder::new();
        let tokens = encoder.encode(&self.tokens, piece.as_bytes());
        tokens
            .iter()
            .map(|&rank| self.tokens.token(rank).len())
            .collect()
    }
}

#[cfg(test)]
mod tests;
