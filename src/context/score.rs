//! The score of a passage of a file: what it says about the question counts most, then where its file is.

/// What a score is made of, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighed {
    /// How well it matches the question; 0.5 without one.
    pub relevance: f64,
    /// How near its file is to the top of the repository.
    pub hierarchy: f64,
    /// 1 for a whole file, less for a part.
    pub quality: f64,
    /// The place of its file in the order of changes; 1 is the last.
    pub recency: f64,
}

impl Weighed {
    /// Returns the score, from 0 to 1.
    pub fn score(self) -> f64 {
        let Weighed { relevance, hierarchy, quality, recency } = self;
        0.4 * relevance + 0.3 * hierarchy + 0.2 * quality + 0.1 * recency
    }
}
