//! Passages with their scores, and the best of them.

use std::cmp::Ordering;

/// A passage with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The document, by its position in the view.
    pub document: usize,
    /// The passage, by its number within the document.
    pub passage: usize,
    /// The score.
    pub score: f32,
}

/// The best passages of many.
pub struct BestPassages {
    wanted: usize,
    kept: Vec<Ranked>,
    /// A passage that is not better is not one of the best.
    bound: Option<Ranked>,
    /// The number of all passages.
    pub total: usize,
}

impl BestPassages {
    /// Keeps the best `wanted` passages.
    pub fn new(wanted: usize) -> BestPassages {
        BestPassages { wanted, kept: Vec::new(), bound: None, total: 0 }
    }

    /// Adds a passage.
    #[inline]
    pub fn add(&mut self, ranked: Ranked) {
        self.total += 1;
        let is_good = |bound: &Ranked| order(&ranked, bound) == Ordering::Less;
        if self.bound.as_ref().is_none_or(is_good) {
            self.kept.push(ranked);
            if self.kept.len() / 2 > self.wanted {
                self.cut();
            }
        }
    }

    /// Returns the best passages in their order; equal ones are in the order of the view.
    pub fn into_sorted(mut self) -> Vec<Ranked> {
        self.cut();
        self.kept.sort_unstable_by(order);
        self.kept
    }

    fn cut(&mut self) {
        if self.wanted < self.kept.len() {
            let (_, bound, _) = self.kept.select_nth_unstable_by(self.wanted, order);
            self.bound = Some(*bound);
            self.kept.truncate(self.wanted);
        }
    }
}

/// Sorts the passages of a document, and lowers the score of each by a factor for every better one.
#[inline]
pub(super) fn lower_repeated(factor: f32, ranked: &mut [Ranked]) {
    if ranked.len() < 2 {
        return;
    }
    ranked.sort_unstable_by(order);
    let mut left = 1.0;
    for passage in ranked {
        passage.score *= left;
        left *= factor;
    }
}

/// The better one first; equal ones are in the order of the view.
#[inline]
pub fn order(passage: &Ranked, other: &Ranked) -> Ordering {
    let by_score = other.score.total_cmp(&passage.score);
    by_score.then_with(|| (passage.document, passage.passage).cmp(&(other.document, other.passage)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_the_first_of_all_in_order(
            scores in proptest::collection::vec(0..9_u8, 0..99),
            wanted in 0..20_usize,
        ) {
            let ranked = |(document, score): (usize, &u8)| Ranked {
                document,
                passage: 0,
                score: f32::from(*score),
            };
            let mut all: Vec<Ranked> = scores.iter().enumerate().map(ranked).collect();
            let mut best = BestPassages::new(wanted);
            for passage in &all {
                best.add(*passage);
            }
            all.sort_by(order);
            prop_assert_eq!(best.total, all.len());
            all.truncate(wanted);
            prop_assert_eq!(best.into_sorted(), all);
        }
    }
}
