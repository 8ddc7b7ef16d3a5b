//! Prose in chunks: as full as the limit allows, ending where a reader would pause.
//!
//! A pure function of the text, the size and the count of tokens. Each byte that is not white space
//! is in at least one chunk; a chunk is a range of its text, nothing in it is changed; no chunk has
//! more tokens than asked for. A chunk begins with the last sentences of the one before, and always
//! goes beyond it: no chunk is a part of another.
//!
//! Where several ends are as good as each other, a digest of the text before them chooses. So two
//! versions of a text have the same chunks again some way after a difference.

use super::units::{self, Ending, Unit};

/// The tokens of a chunk by default.
pub const DEFAULT_TARGET_TOKENS: usize = 800;

/// The tokens that a chunk repeats of the one before, by default.
pub const DEFAULT_OVERLAP_TOKENS: usize = 100;

/// A smaller target is refused: a single character in its quotes may need as much.
pub const LEAST_TARGET_TOKENS: usize = 16;

/// How large chunks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkSize {
    target: usize,
    overlap: usize,
}

/// Changes whenever the same text might be cut otherwise; part of what results are remembered by.
pub const VERSION: u32 = 2;

/// So many ends are tried one after the other before one that fits is searched for.
const FEW_TRIES: usize = 6;

/// Why a size cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeFault {
    /// The target is below [`LEAST_TARGET_TOKENS`].
    TargetTooSmall,
    /// The overlap is not less than the target.
    OverlapTooLarge,
}

impl ChunkSize {
    /// Makes a size of the greatest number of tokens of a chunk, and about how many of them repeat
    /// the chunk before.
    ///
    /// # Errors
    /// The target is too small, or the overlap not less than it.
    pub fn new(target: usize, overlap: usize) -> Result<ChunkSize, SizeFault> {
        if target < LEAST_TARGET_TOKENS {
            return Err(SizeFault::TargetTooSmall);
        }
        if overlap >= target {
            return Err(SizeFault::OverlapTooLarge);
        }
        Ok(ChunkSize { target, overlap })
    }

    /// Returns the greatest number of tokens of a chunk.
    pub fn target(self) -> usize {
        self.target
    }

    /// Returns about how many tokens of a chunk repeat the one before.
    pub fn overlap(self) -> usize {
        self.overlap
    }

    /// The tokens that a chunk may stay below its target for a better end.
    fn slack(self) -> usize {
        self.target / 10
    }

    /// The tokens of the largest piece that is not cut further.
    fn piece(self) -> usize {
        let overlap = if self.overlap == 0 {
            self.target
        } else {
            self.overlap
        };
        self.slack().min(overlap).max(4)
    }
}

impl Default for ChunkSize {
    fn default() -> ChunkSize {
        ChunkSize {
            target: DEFAULT_TARGET_TOKENS,
            overlap: DEFAULT_OVERLAP_TOKENS,
        }
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
    /// How many of its first bytes are also in the chunk before.
    pub overlap_bytes: usize,
}

/// Cuts a text. `count` tells the exact tokens of the JSON string of a text, quotes included.
///
/// Every unit is counted once, and every chunk once more as a whole, or a few times where its units
/// are more tokens together than apart.
pub fn chunk(text: &str, size: ChunkSize, count: &dyn Fn(&str) -> usize) -> Vec<Chunk> {
    chunk_sections(text, &[], size, count)
}

/// Cuts a text in which sections begin at `sections`, in order. A chunk ends before a heading where
/// that leaves it full but for a fifth, and the next one repeats nothing then; small sections share a
/// chunk.
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
    let filling = Filling {
        text,
        size,
        count,
        quotes: count(""),
        units,
        sums,
    };
    filling.chunks()
}

struct Filling<'a> {
    text: &'a str,
    size: ChunkSize,
    count: &'a dyn Fn(&str) -> usize,
    quotes: usize,
    units: Vec<Unit>,
    /// The joined tokens of the units before each.
    sums: Vec<usize>,
}

impl Filling<'_> {
    fn chunks(&self) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = Vec::new();
        // The unit a chunk begins with, and the first that no chunk has yet.
        let (mut first, mut fresh) = (0, 0);
        while fresh < self.units.len() {
            let filled = self.fill(first, fresh);
            if filled.is_none() && first < fresh {
                // What is repeated leaves no place for anything new.
                first += 1;
                continue;
            }
            // A unit alone is within the limit by the way it was cut.
            let (last, tokens) = filled.unwrap_or_else(|| (fresh, self.exactly(fresh, fresh)));
            let (start, end) = self.range(first, last);
            let before = chunks.last().map_or(start, |chunk| chunk.end);
            chunks.push(Chunk {
                start,
                end,
                tokens,
                overlap_bytes: before.saturating_sub(start),
            });
            fresh = last + 1;
            first = self.repeated_from(first, last);
        }
        chunks
    }

    /// Finds the unit to end with and the exact tokens up to it; `None` when not even the first
    /// fresh unit fits.
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
            most = if tries < FEW_TRIES {
                last.checked_sub(1)?
            } else {
                self.last_fitting(first, fresh, last)?
            };
        }
        None
    }

    /// Finds the last unit before one that does not fit; for texts whose units are more tokens together
    /// than apart.
    fn last_fitting(&self, first: usize, fresh: usize, beyond: usize) -> Option<usize> {
        let units: Vec<usize> = (fresh..beyond).collect();
        let fits = |&last: &usize| self.exactly(first, last) <= self.size.target;
        let fitting = units.partition_point(fits);
        units.get(fitting.checked_sub(1)?).copied()
    }

    /// Finds the last unit that seems to fit.
    fn reach(&self, first: usize) -> Option<usize> {
        let fits = |last: &usize| self.about(first, *last) <= self.size.target;
        (first..self.units.len()).take_while(fits).last()
    }

    /// Chooses the unit to end with: the last heading in the last fifth, else the best ending within
    /// the slack.
    fn best_end(&self, first: usize, fresh: usize, most: usize) -> usize {
        if most + 1 == self.units.len() {
            return most;
        }
        let late = |last: &usize| self.about(first, *last) * 5 >= self.size.target * 4;
        let mut late = (fresh..=most).rev().take_while(late);
        if let Some(last) = late.find(|last| self.ending(*last) == Ending::Section) {
            return last;
        }
        let near = |last: &usize| {
            *last == most || self.about(first, *last) + self.size.slack() >= self.size.target
        };
        let ends = (fresh..=most).rev().take_while(near);
        let digest = |last: usize| std::cmp::Reverse(self.digest(last));
        let better = |&last: &usize| (self.ending(last), digest(last), last);
        ends.max_by_key(better).unwrap_or(most)
    }

    /// Finds the unit that the next chunk begins with: whole units of at most the overlap, from the
    /// beginning of a sentence if there is one among them, and nothing before a heading.
    fn repeated_from(&self, first: usize, last: usize) -> usize {
        let fits = |from: &usize| {
            self.ending(*from) != Ending::Section
                && self.about(*from, last) <= self.size.overlap + self.quotes
        };
        let starts: Vec<usize> = (first + 1..=last).rev().take_while(fits).collect();
        let is_sentence = |from: usize| {
            from.checked_sub(1)
                .is_none_or(|before| self.ending(before) >= Ending::Paragraph)
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
        (self.count)(self.text.get(start..end).unwrap_or_default())
    }

    fn about(&self, first: usize, last: usize) -> usize {
        let sum = |index: usize| self.sums.get(index).copied().unwrap_or_default();
        let alone = self.unit(first).map_or(0, |unit| unit.alone);
        self.quotes + alone + sum(last + 1).saturating_sub(sum(first + 1))
    }

    /// FNV-1a of a unit: the same on every machine, and cheap.
    fn digest(&self, index: usize) -> u64 {
        let (start, end) = self.range(index, index);
        let bytes = self.text.as_bytes().get(start..end).unwrap_or_default();
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

#[cfg(test)]
mod tests;
