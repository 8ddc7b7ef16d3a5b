//! Chooses where the parts of a long text begin, and the pages of a directory.
//!
//! A part begins at the place that looks most like the beginning of a section and, among equals,
//! has the lowest hash. This holds at two levels. A place that is the lowest within several parts on
//! both sides always begins a part. Between two such places the lowest is chosen first, then the
//! lowest on each side of it, until all parts fit; a place that would leave the parts on one side
//! too empty is passed over. So a low place is chosen whatever surrounds it, and an edit moves only
//! the places near it, however long the edit is.
//!
//! Knows nothing of texts or files: a place has a position and a score.

use std::ops::Range;

/// The minimum mean of the parts on each side of a place, in hundredths of the room.
const FULL_FROM: usize = 60;

/// The minimum mean of all parts of a stretch, in hundredths of the room, unless even the lowest
/// number of parts does not reach it.
const MEAN_FROM: usize = 70;

/// A stretch of this many parts or fewer is divided into the lowest number of parts.
const FEW_PARTS: usize = 3;

/// The minimum for a stretch that cannot be divided otherwise: it is hardly longer than a part.
const LEAST: usize = 30;

/// A stretch of more parts is divided in its middle half, so that the number of steps has a limit.
const MANY_PARTS: usize = 16;

/// How well a part may begin at a place: the lower, the better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Score {
    /// How little it looks like the beginning of a section.
    pub(crate) class: u8,
    /// A hash of its content.
    pub(crate) hash: u64,
}

/// A place where a part may begin, or the end of the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The tokens before it.
    pub(crate) at: usize,
    /// Its score; the first place and the last have the default, the lowest.
    pub(crate) score: Score,
}

/// Returns the places that always begin a part, in order; neither the first place nor the last. Such a place is
/// the lowest within `radius` tokens to both sides.
pub(crate) fn fixed(places: &[Place], radius: usize) -> Vec<usize> {
    // The places without a lower one after them so far: each is lower than the next.
    let mut rising: Vec<(usize, Place)> = Vec::new();
    let mut is_fixed = vec![false; places.len()];
    let mut set = |index: usize, value: bool| {
        if let Some(slot) = is_fixed.get_mut(index) {
            *slot = value;
        }
    };
    for (index, &place) in places.iter().enumerate() {
        while let Some((last, higher)) = rising.pop_if(|(_, last)| last.score >= place.score) {
            if place.at - higher.at < radius {
                set(last, false);
            }
        }
        let lower = rising.last();
        set(index, lower.is_some_and(|(_, lower)| place.at - lower.at >= radius));
        rising.push((index, place));
    }
    let inner = 1..places.len().saturating_sub(1);
    inner.filter(|&index| is_fixed.get(index).copied().unwrap_or_default()).collect()
}

/// Returns the lowest place in the second half, for a text that goes on and has no fixed place.
pub(crate) fn lowest_late(places: &[Place]) -> usize {
    let end = places.len().saturating_sub(1);
    let half = places.last().map_or(0, |last| last.at / 2);
    let late = places.partition_point(|place| place.at < half).max(1);
    let score = |&index: &usize| places.get(index).map(|place| place.score);
    (late..end).min_by_key(score).unwrap_or(end)
}

/// Divides a stretch so that parts have at most `room` tokens, if the distances between places do.
/// Returns the end of each part, in order.
pub(crate) fn divide(places: &[Place], stretch: Range<usize>, room: usize) -> Vec<usize> {
    let (mut waiting, mut ends) = (vec![stretch], Vec::new());
    while let Some(range) = waiting.pop() {
        let stretch = Stretch { places, range: range.clone(), room: room.max(1) };
        match stretch.cut() {
            Some(at) => waiting.extend([at..range.end, range.start..at]),
            None => ends.push(range.end),
        }
    }
    ends
}

/// A stretch of places.
struct Stretch<'a> {
    places: &'a [Place],
    range: Range<usize>,
    room: usize,
}

impl Stretch<'_> {
    /// Returns where the stretch is divided; `None` if it is a part.
    fn cut(&self) -> Option<usize> {
        let tokens = self.tokens(self.range.start, self.range.end);
        if tokens <= self.room || self.range.len() < 2 {
            return None;
        }
        let least = self.parts(tokens);
        let most = match least {
            ..=FEW_PARTS => least,
            _ => least.max(tokens * 100 / (self.room * MEAN_FROM)),
        };
        self.lowest(most, FULL_FROM)
            .or_else(|| self.lowest(least + 1, FULL_FROM))
            .or_else(|| self.lowest(usize::MAX, LEAST))
            .or_else(|| Some(self.last_in_room()))
    }

    /// Finds the lowest place that makes at most `most` parts, filled from `full` on both sides.
    fn lowest(&self, most: usize, full: usize) -> Option<usize> {
        let Range { start, end } = self.range;
        let tokens = self.tokens(start, end);
        let margin = match self.parts(tokens) {
            MANY_PARTS.. => tokens / 4,
            _ => self.room * full / 100,
        };
        let from = self.after(start + 1, margin);
        let to = self.after(from, tokens.saturating_sub(margin) + 1);
        let is_full = |tokens: usize, parts: usize| tokens * 100 >= parts * self.room * full;
        let fits = |&place: &usize| {
            let (left, right) = (self.tokens(start, place), self.tokens(place, end));
            let (left_parts, right_parts) = (self.parts(left), self.parts(right));
            left_parts + right_parts <= most
                && is_full(left, left_parts)
                && is_full(right, right_parts)
        };
        // Equal places are chosen from the middle: a text of equal lines takes few steps.
        let from_middle = |place: usize| (2 * self.tokens(start, place)).abs_diff(tokens);
        let key = |&place: &usize| (self.score(place), from_middle(place));
        (from..to).filter(fits).min_by_key(key)
    }

    /// Returns the last place that leaves the part before it within the room.
    fn last_in_room(&self) -> usize {
        let Range { start, end } = self.range;
        let beyond = self.after(start + 1, self.room + 1);
        (beyond - 1).clamp(start + 1, end - 1)
    }

    /// Returns the first place from `from` on with at least `tokens` tokens of the stretch before
    /// it, or the end.
    fn after(&self, from: usize, tokens: usize) -> usize {
        let inner =
            self.places.get(from..self.range.end).expect("a stretch is a range of the places");
        let base = self.at(self.range.start);
        from + inner.partition_point(|place| place.at - base < tokens)
    }

    fn parts(&self, tokens: usize) -> usize {
        tokens.div_ceil(self.room).max(1)
    }

    fn tokens(&self, from: usize, to: usize) -> usize {
        self.at(to).saturating_sub(self.at(from))
    }

    fn at(&self, place: usize) -> usize {
        self.places.get(place).map_or(0, |place| place.at)
    }

    fn score(&self, place: usize) -> Score {
        self.places.get(place).map_or_else(Score::default, |place| place.score)
    }
}
