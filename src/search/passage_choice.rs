//! The choice of passages for `context` within a number of tokens, one way for a question and for a plan: the best fill most of it, then
//! those before and after them, then further ones.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::Result;
use crate::search::index::postings::IndexedPassage;
use crate::text::tokenizer::Tokenizer;

use super::context::PartOrigin;

/// The share of the budget, in hundredths, that the best passages fill before their surroundings are added.
const BEST_SHARE: usize = 85;

/// The share of the budget after which no more surroundings are added.
const SURROUNDINGS_SHARE: usize = 92;

/// The tokens of the line above a part, about.
pub(in crate::search) const HEADING_TOKENS: usize = 24;

/// No text has more bytes in a token, on average: a longer passage does not fit.
const MAX_TOKEN_BYTES: usize = 16;

/// The number of passages in turn that do not fit before the rest is left out.
const MAX_MISSES: usize = 16;

/// A passage: the number of its file, and its own in the file.
pub(crate) type Place = (usize, usize);

/// A passage that is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Its place in the index.
    pub(crate) place: Place,
    /// How well it matches.
    pub(crate) score: f64,
    /// The reason why it is part of the answer.
    pub(crate) from: PartOrigin,
}

/// What the files have at a place.
pub(crate) enum Offer {
    /// A passage of a text, with its tokens if they are known.
    Passage(IndexedPassage, Rc<str>, Option<usize>),
    /// Nothing to print.
    Nothing,
    /// A passage with more tokens than there is room for.
    TooLarge,
}

/// The files whose passages are chosen.
pub(crate) trait PackedFiles {
    /// Returns the passage at a place. One that certainly has more than `room` tokens need not be read.
    fn offer(&mut self, wanted: &Wanted, room: usize) -> Result<Offer>;

    /// Returns the number of passages of a file.
    fn passage_count(&self, file: usize) -> Result<usize>;

    /// Returns `true` if a file may have a first passage in the text, which is then taken.
    fn admits(&mut self, _file: usize) -> bool {
        true
    }
}

/// A chosen passage.
pub(crate) struct Chosen {
    /// The passage.
    pub(crate) passage: IndexedPassage,
    /// The text of its file.
    pub(crate) text: Rc<str>,
    tokens: usize,
    /// The order in which it was chosen: the last are dropped first.
    order: usize,
    /// The reason why it was chosen.
    pub(crate) from: PartOrigin,
    /// How well it matches; `None` if nothing was ranked for it.
    pub(crate) score: Option<f64>,
}

impl Chosen {
    pub(in crate::search) fn body(&self) -> &str {
        self.text.get(self.passage.range()).unwrap_or_default()
    }
}

/// The choice.
pub(crate) struct Packer<F> {
    /// The files of the passages.
    pub(crate) files: F,
    budget: usize,
    chosen: BTreeMap<Place, Chosen>,
    /// Digests of their texts: a copy of a file says nothing new.
    texts: BTreeSet<[u8; 32]>,
    /// The tokens of the chosen passages, about.
    used: usize,
    /// The number of wanted passages that did not fit.
    pub(crate) left_out: usize,
    /// The smallest budget, about, for one of the passages that did not fit into an empty text.
    pub(in crate::search) needed: Option<usize>,
}

impl<F: PackedFiles> Packer<F> {
    /// Chooses passages of these files, with a budget in tokens.
    pub(crate) fn new(files: F, budget: usize) -> Packer<F> {
        Packer {
            files,
            budget,
            chosen: BTreeMap::new(),
            texts: BTreeSet::new(),
            used: 0,
            left_out: 0,
            needed: None,
        }
    }

    /// Chooses ranked passages, the best first, with their surroundings.
    pub(crate) fn fill(&mut self, wanted: impl Iterator<Item = Wanted>) -> Result<()> {
        let mut wanted = wanted;
        for passage in self.take(&mut wanted, BEST_SHARE)? {
            let (file, number) = passage.place;
            for beside in [Some(number + 1), number.checked_sub(1)] {
                let is_full = self.used * 100 >= self.budget * SURROUNDINGS_SHARE;
                let Some(beside) = beside.filter(|_| !is_full) else {
                    continue;
                };
                if beside < self.files.passage_count(file)? {
                    let from = PartOrigin::Surroundings;
                    self.add(&Wanted { place: (file, beside), from, ..passage })?;
                }
            }
        }
        self.take(&mut wanted, 100)?;
        self.left_out += wanted.count();
        Ok(())
    }

    /// Adds passages until a share of the budget is full, in hundredths, or several in turn do not fit. Returns those
    /// that were added.
    fn take(
        &mut self,
        wanted: &mut impl Iterator<Item = Wanted>,
        share: usize,
    ) -> Result<Vec<Wanted>> {
        let (mut taken, mut misses) = (Vec::new(), 0);
        while misses < MAX_MISSES && self.used * 100 < self.budget * share {
            let Some(passage) = wanted.next() else { break };
            let before = self.left_out;
            if self.add(&passage)? {
                taken.push(passage);
            }
            misses = if self.left_out > before { misses + 1 } else { 0 };
        }
        Ok(taken)
    }

    /// Chooses a passage if it fits; returns `true` if it did.
    pub(in crate::search) fn add(&mut self, wanted: &Wanted) -> Result<bool> {
        let (file, number) = wanted.place;
        if self.has(file, Some(number)) {
            return Ok(false);
        }
        if self.used >= self.budget {
            self.leave_out(wanted);
            return Ok(false);
        }
        let is_joined = self.has(file, number.checked_sub(1)) || self.has(file, Some(number + 1));
        let heading = if is_joined { 0 } else { HEADING_TOKENS };
        let room = (self.budget - self.used).saturating_sub(heading);
        let (passage, text, known) = match self.files.offer(wanted, room)? {
            Offer::Passage(passage, text, known) => (passage, text, known),
            Offer::Nothing => return Ok(false),
            Offer::TooLarge => {
                self.leave_out(wanted);
                return Ok(false);
            }
        };
        let body = text.get(passage.range()).unwrap_or_default();
        let tokens = known.unwrap_or_else(|| Tokenizer::default().count(body));
        if tokens > room {
            self.note_needed(tokens + heading);
            self.leave_out(wanted);
            return Ok(false);
        }
        let digest = *blake3::hash(body.as_bytes()).as_bytes();
        let is_copy = self.texts.contains(&digest);
        if is_copy && wanted.from != PartOrigin::Requested {
            return Ok(false);
        }
        if !self.has_file(file) && !self.files.admits(file) {
            self.leave_out(wanted);
            return Ok(false);
        }
        self.texts.insert(digest);
        self.used += tokens + heading;
        let is_ranked = matches!(wanted.from, PartOrigin::Match);
        let chosen = Chosen {
            passage,
            text,
            tokens: tokens + heading,
            order: self.chosen.len(),
            from: wanted.from,
            score: is_ranked.then_some(wanted.score),
        };
        self.chosen.insert(wanted.place, chosen);
        Ok(true)
    }

    /// Returns `true` if a passage is chosen.
    pub(in crate::search) fn has(&self, file: usize, number: Option<usize>) -> bool {
        number.is_some_and(|number| self.chosen.contains_key(&(file, number)))
    }

    fn has_file(&self, file: usize) -> bool {
        self.chosen.range((file, 0)..=(file, usize::MAX)).next().is_some()
    }

    /// Counts a passage that does not fit; surroundings were not wanted.
    fn leave_out(&mut self, wanted: &Wanted) {
        self.left_out += usize::from(wanted.from != PartOrigin::Surroundings);
    }

    /// Notes the tokens of a passage that does not fit.
    fn note_needed(&mut self, tokens: usize) {
        self.needed = Some(self.needed.map_or(tokens, |needed| needed.min(tokens)));
    }

    /// Returns the numbers of the files of the chosen passages.
    pub(crate) fn files_of_chosen(&self) -> BTreeSet<usize> {
        self.chosen.keys().map(|(file, _)| *file).collect()
    }

    /// Returns the maximum number of tokens.
    pub(in crate::search) fn budget(&self) -> usize {
        self.budget
    }

    /// Returns the tokens of the chosen passages, about.
    pub(in crate::search) fn used(&self) -> usize {
        self.used
    }

    /// Keeps tokens free for other text.
    pub(in crate::search) fn keep_free(&mut self, tokens: usize) {
        self.budget = self.budget.saturating_sub(tokens);
    }

    /// Returns the chosen passages in the order of files and places, those that follow each other as one run, unless
    /// `begins` is true for one.
    pub(crate) fn runs(&self, begins: impl Fn(&Chosen) -> bool) -> Vec<(Place, Vec<&Chosen>)> {
        let mut runs: Vec<(Place, Vec<&Chosen>)> = Vec::new();
        for (place, chosen) in &self.chosen {
            match runs.last_mut() {
                Some(((file, first), run))
                    if (*file, *first + run.len()) == *place
                        && run
                            .last()
                            .is_some_and(|last| last.passage.end == chosen.passage.start)
                        && !begins(chosen) =>
                {
                    run.push(chosen);
                }
                _ => runs.push((*place, vec![chosen])),
            }
        }
        runs
    }

    /// Writes the text. The passages that were chosen last are dropped until it has no more tokens than `most`.
    pub(crate) fn fitted<T>(
        &mut self,
        most: usize,
        write: impl Fn(&Self) -> Result<(String, T)>,
    ) -> Result<(String, T)> {
        loop {
            let (text, with) = write(self)?;
            let tokens = Tokenizer::default().count(&text);
            if tokens <= most || self.chosen.is_empty() {
                return Ok((text, with));
            }
            self.note_needed(tokens);
            self.drop_last(tokens - most);
        }
    }

    /// Drops the passages that were chosen last, until they had a number of tokens.
    fn drop_last(&mut self, tokens: usize) {
        let mut excess = tokens;
        while excess > 0 {
            let last = self.chosen.iter().max_by_key(|(_, chosen)| chosen.order);
            let Some((&place, _)) = last else { break };
            let dropped = self.chosen.remove(&place).map_or(0, |chosen| chosen.tokens);
            excess = excess.saturating_sub(dropped.max(1));
            self.left_out += 1;
        }
    }
}

/// Returns `true` if a passage certainly has more tokens than there is room for.
pub(crate) fn is_too_large(passage: IndexedPassage, room: usize) -> bool {
    passage.range().len() > room.saturating_mul(MAX_TOKEN_BYTES)
}
