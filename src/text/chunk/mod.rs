//! Prose in chunks, the records of documents (a search has passages: `search::index`).
//!
//! Chunks are as full as the limit allows, with natural ends.
//!
//! A pure function of the text, the size and the token count. Each byte other than white space is
//! in at least one chunk; a chunk is an unchanged range of the text; no chunk exceeds its token
//! limit. A chunk begins with the last sentences of the previous one and always ends after it: no
//! chunk is contained in another.
//!
//! Among equally good ends, a digest of the text before them decides. So two versions of a text
//! have the same chunks again some distance after a difference.

use super::units::{self, Ending, Unit};

/// The default size of a chunk in tokens.
pub const DEFAULT_TARGET_TOKENS: usize = 800;

/// The default number of tokens that a chunk repeats from the previous one.
pub const DEFAULT_OVERLAP_TOKENS: usize = 100;

/// The minimum target: a single character in quotes may need as much.
pub const MIN_TARGET_TOKENS: usize = 16;

/// The size of chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    target: usize,
    overlap: usize,
}

/// Changes whenever the same text might be cut differently; part of the cache keys.
pub const VERSION: u32 = 3;

/// The tokens that a small chunk may stay below its target for the end of a sentence: as many as a
/// long sentence has, but at most half of the target.
const SENTENCE_TOKENS: usize = 40;

/// The number of ends that are tried one by one before a binary search.
const FEW_ATTEMPTS: usize = 6;

/// The reason why a size is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeFault {
    /// The target is below [`MIN_TARGET_TOKENS`].
    TargetTooSmall,
    /// The overlap is not less than the target.
    OverlapTooLarge,
}

impl ChunkSize {
    /// Creates a size from the maximum number of tokens of a chunk, and the approximate number that
    /// repeat the previous one.
    pub fn new(target: usize, overlap: usize) -> Result<ChunkSize, SizeFault> {
        if target < MIN_TARGET_TOKENS {
            return Err(SizeFault::TargetTooSmall);
        }
        if overlap >= target {
            return Err(SizeFault::OverlapTooLarge);
        }
        Ok(ChunkSize { target, overlap })
    }

    /// Returns the maximum number of tokens of a chunk.
    pub fn target(self) -> usize {
        self.target
    }

    /// Returns the approximate number of tokens that repeat the previous chunk.
    pub fn overlap(self) -> usize {
        self.overlap
    }

    /// Returns how many tokens a chunk may stay below its target for a better end.
    fn slack(self) -> usize {
        self.target / 10
    }

    /// Returns how many tokens a chunk may stay below its target for the end of a sentence.
    fn sentence_slack(self) -> usize {
        self.slack().max(SENTENCE_TOKENS.min(self.target / 2))
    }

    /// Returns the tokens of the largest piece that is not cut further.
    fn piece(self) -> usize {
        let overlap = if self.overlap == 0 { self.target } else { self.overlap };
        self.slack().min(overlap).max(4)
    }
}

impl Default for ChunkSize {
    fn default() -> ChunkSize {
        ChunkSize { target: DEFAULT_TARGET_TOKENS, overlap: DEFAULT_OVERLAP_TOKENS }
    }
}

/// A range of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// Its tokens, exact.
    pub tokens: usize,
    /// The number of its first bytes that are also in the previous chunk.
    pub overlap_bytes: usize,
}

/// Cuts a text. `count` returns the exact tokens of the JSON string of a text, including quotes.
///
/// Counts each unit once, and each chunk once as a whole, or a few times if its units have more
/// tokens together than apart.
pub fn chunk(text: &str, size: ChunkSize, count: &dyn Fn(&str) -> usize) -> Vec<Chunk> {
    chunk_sections(text, &[], size, count)
}

/// Cuts a text whose sections begin at `sections`, in order. A chunk ends before a heading if it is
/// at least four fifths full then, and the next one repeats nothing; small sections share a chunk.
pub fn chunk_sections(
    text: &str,
    sections: &[usize],
    size: ChunkSize,
    count: &dyn Fn(&str) -> usize,
) -> Vec<Chunk> {
    let units = units::of(text, sections, size.piece(), count);
    let mut sums = vec![0];
    sums.extend(units.iter().scan(0, |sum, unit| {
        *sum += unit.joined;
        Some(*sum)
    }));
    let filling = Filling { text, size, count, quotes: count(""), units, sums };
    filling.chunks()
}

struct Filling<'a> {
    text: &'a str,
    size: ChunkSize,
    count: &'a dyn Fn(&str) -> usize,
    quotes: usize,
    units: Vec<Unit>,
    /// The running sum of the units' tokens.
    sums: Vec<usize>,
}

impl Filling<'_> {
    fn chunks(&self) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = Vec::new();
        // The first unit of the chunk, and the first that is in no chunk yet.
        let (mut first, mut fresh) = (0, 0);
        while fresh < self.units.len() {
            let filled = self.fill(first, fresh);
            if filled.is_none() && first < fresh {
                // The repeated part leaves no room for new text.
                first += 1;
                continue;
            }
            // A single unit never exceeds the limit.
            let (last, tokens) = filled.unwrap_or_else(|| (fresh, self.exactly(fresh, fresh)));
            let (start, end) = self.range(first, last);
            let before = chunks.last().map_or(start, |chunk| chunk.end);
            chunks.push(Chunk { start, end, tokens, overlap_bytes: before.saturating_sub(start) });
            fresh = last + 1;
            first = self.repeated_from(first, last);
        }
        chunks
    }

    /// Finds the last unit of a chunk and the exact tokens up to it; `None` if not even the first
    /// new unit fits.
    fn fill(&self, first: usize, fresh: usize) -> Option<(usize, usize)> {
        let mut most = self.reach(first)?;
        let mut tries = 0;
        while most >= fresh {
            let last = self.best_end(first, fresh, most);
            let tokens = self.exactly(first, last);
            if tokens <= self.size.target {
                return Some((last, tokens));
            }
            tries += 1;
            most = if tries < FEW_ATTEMPTS {
                last.checked_sub(1)?
            } else {
                self.last_fitting(first, fresh, last)?
            };
        }
        None
    }

    /// Finds the last unit before one that does not fit; for texts whose units have more tokens
    /// together than apart.
    fn last_fitting(&self, first: usize, fresh: usize, beyond: usize) -> Option<usize> {
        let units: Vec<usize> = (fresh..beyond).collect();
        let fits = |&last: &usize| self.exactly(first, last) <= self.size.target;
        let fitting = units.partition_point(fits);
        units.get(fitting.checked_sub(1)?).copied()
    }

    /// Finds the last unit that fits by the estimate.
    fn reach(&self, first: usize) -> Option<usize> {
        let fits = |last: &usize| self.about(first, *last) <= self.size.target;
        (first..self.units.len()).take_while(fits).last()
    }

    /// Chooses the last unit: the last heading in the last fifth; otherwise the best end within the
    /// slack, or the last end of a sentence or paragraph before it if that is none.
    fn best_end(&self, first: usize, fresh: usize, most: usize) -> usize {
        if most + 1 == self.units.len() {
            return most;
        }
        let is_late = |last: &usize| self.about(first, *last) * 5 >= self.size.target * 4;
        let mut late = (fresh..=most).rev().take_while(is_late);
        if let Some(last) = late.find(|last| self.ending(*last) == Ending::Section) {
            return last;
        }
        let near = |last: usize, slack: usize| {
            last == most || self.about(first, last) + slack >= self.size.target
        };
        let ends = |slack: usize| (fresh..=most).rev().take_while(move |&last| near(last, slack));
        let digest = |last: usize| std::cmp::Reverse(self.digest(last));
        let better = |&last: &usize| (self.ending(last), digest(last), last);
        let best = ends(self.size.slack()).max_by_key(better).unwrap_or(most);
        let closed = |last: &usize| self.ending(*last) >= Ending::Paragraph;
        let closed_before = || ends(self.size.sentence_slack()).find(closed);
        Some(best).filter(closed).or_else(closed_before).unwrap_or(best)
    }

    /// Finds the first unit of the next chunk: whole units of at most the overlap, from the
    /// beginning of a sentence if there is one among them, and nothing before a heading.
    fn repeated_from(&self, first: usize, last: usize) -> usize {
        let fits = |from: &usize| {
            self.ending(*from) != Ending::Section
                && self.about(*from, last) <= self.size.overlap + self.quotes
        };
        let starts: Vec<usize> = (first + 1..=last).rev().take_while(fits).collect();
        let is_sentence = |from: usize| {
            from.checked_sub(1).is_none_or(|before| self.ending(before) >= Ending::Paragraph)
        };
        let sentence = starts.iter().rev().find(|&&from| is_sentence(from));
        sentence.or(starts.last()).copied().unwrap_or(last + 1)
    }

    fn ending(&self, index: usize) -> Ending {
        self.unit(index).map_or(Ending::Inside, |unit| unit.ending)
    }

    fn unit(&self, index: usize) -> Option<&Unit> {
        self.units.get(index)
    }

    fn range(&self, first: usize, last: usize) -> (usize, usize) {
        let start = self.unit(first).map_or(0, |unit| unit.start);
        (start, self.unit(last).map_or(start, |unit| unit.end))
    }

    fn exactly(&self, first: usize, last: usize) -> usize {
        let (start, end) = self.range(first, last);
        (self.count)(self.text.get(start..end).expect("units begin and end at characters"))
    }

    fn about(&self, first: usize, last: usize) -> usize {
        let sum = |index: usize| self.sums.get(index).copied().unwrap_or_default();
        let alone = self.unit(first).map_or(0, |unit| unit.alone);
        self.quotes + alone + sum(last + 1).saturating_sub(sum(first + 1))
    }

    /// Returns the FNV-1a hash of a unit: the same on every machine, and cheap.
    fn digest(&self, index: usize) -> u64 {
        let (start, end) = self.range(index, index);
        let bytes = self.text.as_bytes().get(start..end).expect("units are in the text");
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

#[cfg(test)]
mod tests;
