//! The tokens of a vocabulary, and byte pair encoding with them.
//!
//! Encoding means: of all neighbors that are a token together, those of the lowest rank are merged, until there
//! are none. The same comes out of a walk from left to right that takes the longest token which may follow the
//! last one, and goes back where none may (the crate `bpe`, whose algorithm this is, proves it). The walk gives up
//! a place at most once, so its time is linear in the length of a piece, whatever a file holds.

/// The tokens that are a single byte come first.
const SINGLE_BYTES: u32 = 256;

/// The bits of a slot that are a rank; those above are of the hash of its token.
const RANK: u32 = (1 << 18) - 1;

const EMPTY: u32 = u32::MAX;

/// No token is longer, in bytes.
const LONGEST: usize = 128;

/// Beginnings of tokens whose lengths are known apart: `2^n`.
const BEGINNINGS: u32 = 16;

/// How many bits there are for merged pairs, for each slot: `2^n`.
const BITS_PER_SLOT: u32 = 3;

/// The tokens of a vocabulary, by rank.
pub(super) struct Tokens {
    /// The two tokens that each token beyond the single bytes is merged from.
    merges: &'static [[u8; 5]],
    /// The tokens, one after the other.
    bytes: Vec<u8>,
    /// Where each begins, and where the last ends.
    starts: Vec<u32>,
    /// Each rank at its place by the hash of its token, or behind.
    slots: Vec<u32>,
    /// A bit for each hash of two ranks that are merged: it answers most questions for merges, and stays in the
    /// cache of a processor.
    merged: Vec<u64>,
    /// Which lengths the tokens have that begin with three, and with six bytes of a hash. Bit 63 stands for
    /// all from there.
    lengths: [Vec<u64>; 2],
}

impl Tokens {
    /// Builds the tables. A file of `vocabularies/` contains the single bytes by rank, then for each other
    /// token the ranks of its two parts, in 20 bits each.
    pub(super) fn new(file: &'static [u8]) -> Tokens {
        let (singles, merges) = file.split_at(SINGLE_BYTES as usize);
        let (merges, _) = merges.as_chunks();
        let count = singles.len() + merges.len();
        let slots = (count * 5 / 4).next_power_of_two();
        let mut tokens = Tokens {
            merges,
            bytes: Vec::with_capacity(count * 8),
            starts: Vec::with_capacity(count + 1),
            slots: vec![EMPTY; slots],
            merged: vec![0; (slots << BITS_PER_SLOT) / 64],
            lengths: [vec![0; 1 << BEGINNINGS], vec![0; 1 << BEGINNINGS]],
        };
        tokens.starts.push(0);
        // The hash of a token goes on from that of its left part.
        let mut hashes: Vec<u64> = Vec::with_capacity(count);
        for (rank, &byte) in (0..).zip(singles) {
            let hash = step(HASH, byte);
            tokens.bytes.push(byte);
            tokens.take_in(rank, hash);
            hashes.push(hash);
        }
        for (rank, &merge) in (SINGLE_BYTES..).zip(merges) {
            let (left, right) = parts_in(merge);
            let (word, bit) = tokens.bit(left, right);
            if let Some(word) = tokens.merged.get_mut(word) {
                *word |= bit;
            }
            for part in [left, right] {
                let range = tokens.range(part).expect("a merge joins earlier tokens");
                tokens.bytes.extend_from_within(range);
            }
            let right = tokens.token(right).iter();
            let of_left = hashes.get(left as usize).copied().unwrap_or(HASH);
            let hash = right.fold(of_left, |hash, &byte| step(hash, byte));
            tokens.take_in(rank, hash);
            hashes.push(hash);
        }
        tokens
    }

    /// Puts the token that `bytes` ends with, and that has this hash, into the tables.
    fn take_in(&mut self, rank: u32, hash: u64) {
        let start = self.starts.last().map_or(0, |&last| last as usize);
        self.starts.push(u32::try_from(self.bytes.len()).unwrap_or(EMPTY));
        let token = self.bytes.get(start..).unwrap_or_default();
        let length = 1 << token.len().min(63);
        let [near, far] = beginnings(token);
        let [three, six] = &mut self.lengths;
        if let Some(known) = near.and_then(|at| three.get_mut(at)) {
            *known |= length;
        }
        if let Some(known) = far.and_then(|at| six.get_mut(at)) {
            *known |= length;
        }
        let hash = mixed(hash);
        let mut at = place(hash, self.slots.len());
        // More than half of the slots stay empty.
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == EMPTY {
                *slot = low(hash) & !RANK | rank;
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn range(&self, rank: u32) -> Option<std::ops::Range<usize>> {
        let rank = rank as usize;
        Some(*self.starts.get(rank)? as usize..*self.starts.get(rank + 1)? as usize)
    }

    /// Returns the bytes of a token; none of a rank beyond the table.
    pub(super) fn token(&self, rank: u32) -> &[u8] {
        let range = self.range(rank).unwrap_or_default();
        self.bytes.get(range).expect("tokens end within the bytes")
    }

    /// Returns the rank of these bytes, if they are a token.
    pub(super) fn rank(&self, bytes: &[u8]) -> Option<u32> {
        self.find(bytes.iter().fold(HASH, |hash, &byte| step(hash, byte)), bytes)
    }

    fn find(&self, hash: u64, bytes: &[u8]) -> Option<u32> {
        let hash = mixed(hash);
        let (before, from) = self.slots.split_at(place(hash, self.slots.len()));
        for &slot in from.iter().chain(before) {
            if slot == EMPTY {
                return None;
            }
            if (slot ^ low(hash)) & !RANK == 0 && self.token(slot & RANK) == bytes {
                return Some(slot & RANK);
            }
        }
        None
    }

    /// Returns the tokens that one is merged from; itself twice for a single byte.
    fn parts(&self, rank: u32) -> (u32, u32) {
        let merge = rank.checked_sub(SINGLE_BYTES);
        let Some(&merge) = merge.and_then(|merge| self.merges.get(merge as usize)) else {
            return (rank, rank);
        };
        parts_in(merge)
    }

    /// Returns the word and the bit in it that stand for a pair.
    fn bit(&self, left: u32, right: u32) -> (usize, u64) {
        let pair = u64::from(left) << 32 | u64::from(right);
        let hash = mixed(pair.wrapping_mul(FACTOR));
        let at = place(hash, self.slots.len() << BITS_PER_SLOT);
        (at / 64, 1 << (at % 64))
    }

    /// Returns the token that two are merged to; they meet in `text` at a place.
    fn merge(&self, (left, right): (u32, u32), text: &[u8], at: usize) -> Option<u32> {
        let (word, bit) = self.bit(left, right);
        if self.merged.get(word)? & bit == 0 {
            return None;
        }
        let start = at.checked_sub(self.token(left).len())?;
        let rank = self.rank(text.get(start..at + self.token(right).len())?)?;
        (self.parts(rank) == (left, right)).then_some(rank)
    }

    /// Returns `true` if encoding would part two tokens that meet in `text` at a place as they are: taken apart
    /// again, the younger first, nothing must have been merged across the place before.
    fn may_meet(&self, mut left: u32, mut right: u32, text: &[u8], at: usize) -> bool {
        let mut limit = u32::MAX;
        loop {
            let merged = self.merge((left, right), text, at);
            if merged.is_some_and(|merged| merged < limit) {
                return false;
            }
            let takes_left = left > right && left >= SINGLE_BYTES || right < SINGLE_BYTES;
            if !takes_left {
                limit = right + 1;
                right = self.parts(right).0;
            } else if left >= SINGLE_BYTES {
                limit = left;
                left = self.parts(left).1;
            } else {
                return true;
            }
        }
    }

    /// Puts the tokens shorter than `below` that a text begins with into `ranks`, the longest last.
    fn prefixes(&self, text: &[u8], below: usize, ranks: &mut Vec<u32>) {
        ranks.clear();
        let [near, far] = beginnings(text);
        let [three, six] = &self.lengths;
        let known = |at: Option<usize>, lengths: &[u64]| {
            at.and_then(|at| lengths.get(at)).copied().unwrap_or(0)
        };
        // Tokens of one and two bytes are looked up without asking.
        let mut lengths = known(near, three) | 0b110;
        if lengths >> 6 != 0 {
            lengths &= known(far, six) | 0b11_1110;
        }
        let longest = match lengths.ilog2() {
            63 => LONGEST,
            length => length as usize,
        };
        let mut hash = HASH;
        for (length, &byte) in (1..below.min(longest + 1)).zip(text) {
            hash = step(hash, byte);
            if lengths >> length.min(63) & 1 == 1
                && let Some(bytes) = text.get(..length)
                && let Some(rank) = self.find(hash, bytes)
            {
                ranks.push(rank);
            }
        }
    }
}

/// Encodes pieces; what it needs for that it keeps from one to the next.
pub(in crate::text) struct Encoder {
    tokens: Vec<u32>,
    /// Places from which no way leads to the end: a bit each.
    given_up: Vec<u64>,
    /// What may stand at the place next; the last is tried first.
    candidates: Vec<u32>,
}

impl Encoder {
    /// Returns one that holds no memory.
    pub(in crate::text) const fn new() -> Encoder {
        Encoder { tokens: Vec::new(), given_up: Vec::new(), candidates: Vec::new() }
    }

    /// Returns the tokens of a piece.
    pub(super) fn encode(&mut self, vocabulary: &Tokens, piece: &[u8]) -> &[u32] {
        self.tokens.clear();
        self.given_up.clear();
        self.given_up.resize(piece.len() / 64 + 1, 0);
        let mut at = 0;
        vocabulary.prefixes(piece, usize::MAX, &mut self.candidates);
        while at < piece.len() {
            #[cfg(test)]
            STEPS.set(STEPS.get() + 1);
            let last = self.tokens.last().copied();
            if let Some(token) = self.candidates.pop() {
                let end = at + vocabulary.token(token).len();
                let is_open =
                    self.given_up.get(end / 64).is_some_and(|bits| bits >> (end % 64) & 1 == 0);
                if is_open && last.is_none_or(|last| vocabulary.may_meet(last, token, piece, at)) {
                    self.tokens.push(token);
                    at = end;
                    let rest = piece.get(at..).expect("a token of the piece ends within it");
                    vocabulary.prefixes(rest, usize::MAX, &mut self.candidates);
                }
            } else {
                if let Some(bits) = self.given_up.get_mut(at / 64) {
                    *bits |= 1 << (at % 64);
                }
                // Every byte is a token, so the first place always has a next token.
                let Some(last) = self.tokens.pop() else { break };
                let length = vocabulary.token(last).len();
                at -= length;
                let rest = piece.get(at..).expect("a token of the piece begins within it");
                vocabulary.prefixes(rest, length, &mut self.candidates);
            }
        }
        &self.tokens
    }
}

/// Returns how many candidates this thread has tried.
#[cfg(test)]
pub(super) fn steps() -> usize {
    STEPS.get()
}

#[cfg(test)]
thread_local! {
    static STEPS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the two ranks of an entry of a file of `vocabularies/`.
fn parts_in(entry: [u8; 5]) -> (u32, u32) {
    let mut both = [0; 8];
    *both.first_chunk_mut().expect("eight are more than five") = entry;
    let both = u64::from_le_bytes(both);
    (low(both & 0xf_ffff), low(both >> 20))
}

/// The hash of no bytes (FNV-1a: it grows by a byte at a time).
const HASH: u64 = 0xcbf2_9ce4_8422_2325;

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// Spreads a hash over all its bits.
fn mixed(hash: u64) -> u64 {
    (hash ^ (hash >> 32)).wrapping_mul(FACTOR)
}

/// Returns the place of a hash among as many as a power of two.
fn place(hash: u64, places: usize) -> usize {
    usize::try_from(hash >> (64 - places.trailing_zeros())).unwrap_or_default()
}

fn low(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).expect("the mask leaves 32 bits")
}

/// Returns where it is known how long tokens are that begin with the first three, and six, bytes of a text.
fn beginnings(text: &[u8]) -> [Option<usize>; 2] {
    let of = |bytes: u64| place(bytes.wrapping_mul(FACTOR), 1 << BEGINNINGS);
    let three =
        text.first_chunk().map(|&[a, b, c]| of(u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0])));
    let six = text
        .first_chunk()
        .map(|&[a, b, c, d, e, f]| of(u64::from_le_bytes([a, b, c, d, e, f, 0, 0])));
    [three, six]
}
