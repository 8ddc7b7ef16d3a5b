//! The tokens of pieces, remembered.
//!
//! Few different words make up most of a text, and to count those of a word takes longer than to look it up.

use std::cell::RefCell;

use crate::text::tokenizer::Tokenizer;
use crate::text::vocabulary::{Encoder, Vocabulary};

/// Longer pieces are counted each time, in bytes.
const LONGEST: usize = 14;

/// How many pieces are remembered at most; they stay in the cache of a processor.
const SLOTS: usize = 1 << 14;

/// The bits of a slot that are the piece and its length; the eight above them are its tokens.
const PIECE: u128 = (1 << 120) - 1;

thread_local! {
    static MEMOS: RefCell<[Memo; 2]> = const { RefCell::new([Memo::new(), Memo::new()]) };
}

/// What a thread remembers of a vocabulary. A piece has one slot, and shares it with others: the last
/// one stays.
pub(super) struct Memo {
    slots: Vec<u128>,
    encoder: Encoder,
}

/// Works with what this thread remembers of a vocabulary.
pub(super) fn with<T>(tokenizer: Tokenizer, work: impl FnOnce(&mut Memo) -> T) -> T {
    MEMOS.with_borrow_mut(|[o200k, other]| {
        work(match tokenizer {
            Tokenizer::O200k => o200k,
            Tokenizer::Cl100k | Tokenizer::Bytes => other,
        })
    })
}

impl Memo {
    const fn new() -> Memo {
        Memo { slots: Vec::new(), encoder: Encoder::new() }
    }

    /// Counts the tokens of a piece, as the vocabulary that this memo belongs to splits texts.
    pub(super) fn count(&mut self, vocabulary: &Vocabulary, piece: &str) -> usize {
        let Memo { slots, encoder } = self;
        let mut count = || vocabulary.count(piece, encoder);
        let Some(key) = key(piece) else {
            return count();
        };
        if slots.is_empty() {
            *slots = vec![0; SLOTS];
        }
        let Some(slot) = slots.get_mut(place(key)) else {
            return count();
        };
        if *slot & PIECE != key {
            // A piece has at least one byte for each token.
            *slot = key | (count() as u128) << 120;
        }
        usize::try_from(*slot >> 120).expect("8 bits are left")
    }
}

/// A piece and its length as one number; `None` for a long one.
fn key(piece: &str) -> Option<u128> {
    let mut bytes = [0; 16];
    bytes
        .get_mut(..piece.len().min(LONGEST))
        .filter(|room| room.len() == piece.len())?
        .copy_from_slice(piece.as_bytes());
    Some(u128::from_le_bytes(bytes) | (piece.len() as u128) << 112)
}

/// Where a key is remembered.
fn place(key: u128) -> usize {
    // The upper bits of the product depend on all of the key.
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    usize::try_from(mixed >> (128 - SLOTS.trailing_zeros())).unwrap_or_default()
}
