//! The vocabularies `o200k_base` and `cl100k_base`: how a text is split in pieces, and a piece in tokens.
//!
//! The program carries the merges of a vocabulary (`vocabularies/`), a thirtieth of the size of the tables of
//! a library; the tables for look-ups are built from them when a text is first counted.

mod tokens;

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::{Anchored, Input};

pub(super) use tokens::Encoder;
use tokens::Tokens;

/// A vocabulary with its pattern.
pub(super) struct Vocabulary {
    tokens: Tokens,
    /// Pieces follow each other, so a match begins where the last one ended: one automaton finds its end, and none has
    /// to find its start.
    pattern: DFA,
    /// What automata have learnt, for the next text.
    spare: Mutex<Vec<Cache>>,
}

/// The pieces of a text.
struct Pieces<'a> {
    vocabulary: &'a Vocabulary,
    rest: &'a str,
    /// There until it is dropped.
    cache: Option<Cache>,
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
        Vocabulary::new(include_bytes!("../../../vocabularies/cl100k.merges"), CL100K)
    });
    &ONE
}

impl Vocabulary {
    fn new(merges: &'static [u8], pattern: &str) -> Vocabulary {
        // Only the end of a match is asked for.
        let without_groups = thompson::Config::new().which_captures(WhichCaptures::None);
        let pattern = DFA::builder().thompson(without_groups).build_many(&[
            pattern,
            WHITE_SPACE,
            SINGLE_SPACE,
        ]);
        Vocabulary {
            tokens: Tokens::new(merges),
            pattern: pattern.expect("the patterns are constants, and every test compiles them"),
            spare: Mutex::default(),
        }
    }

    /// Splits a text in pieces; no token goes beyond one.
    pub(super) fn split<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let spare = self.spare().pop();
        Pieces {
            vocabulary: self,
            rest: text,
            cache: Some(spare.unwrap_or_else(|| self.pattern.create_cache())),
        }
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Cache>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
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
        tokens.iter().map(|&rank| self.tokens.token(rank).len()).collect()
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let input = Input::new(self.rest).anchored(Anchored::Yes);
        let pattern = &self.vocabulary.pattern;
        let searched = pattern.try_search_fwd(self.cache.as_mut()?, &input);
        let boundary = searched.expect("an automaton without limits gives up nowhere")?;
        let mut end = boundary.offset();
        // The second pattern is that of white space.
        if boundary.pattern().as_usize() == 1 {
            let last = self.rest.get(..end)?.chars().next_back()?;
            end -= last.len_utf8();
        }
        let (piece, behind) = self.rest.split_at_checked(end)?;
        self.rest = behind;
        Some(piece)
    }
}

impl Drop for Pieces<'_> {
    fn drop(&mut self) {
        self.vocabulary.spare().extend(self.cache.take());
    }
}

#[cfg(test)]
mod tests;
