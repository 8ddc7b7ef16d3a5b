//! Ranks the passages of a view for a query: BM25 over passages, with shares for the whole document, for its path, and
//! for headings and definitions.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::postings::{self, PATH_MARK};
use super::query::Query;
use super::view::View;
use super::words;

/// The minimum length of a word that may be a name, in bytes.
const MIN_NAME: usize = 4;

/// The maximum number of passages that define a name: more say nothing about which one is meant.
const MAX_DEFINITIONS: usize = 3;

/// How much each part of a score counts.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// How soon more occurrences of a word count no more.
    pub saturation: f32,
    /// How much the length of a passage counts, from 0 to 1.
    pub length: f32,
    /// The share of a word in a heading or definition: a definition ranks above any number of uses.
    pub heading: f32,
    /// The share of a word in the path.
    pub path: f32,
    /// The share of the whole document.
    pub document: f32,
    /// The factor of the score of a passage for each better one of the same document: ten passages of one file say
    /// less than those of ten.
    pub repeated: f32,
}

impl Default for Tuning {
    /// Chosen by `benches/retrieval`.
    fn default() -> Tuning {
        Tuning {
            saturation: 1.2,
            length: 0.75,
            heading: 1.25,
            path: 1.5,
            document: 0.5,
            repeated: 0.7,
        }
    }
}

/// The bytes of a word in one segment of the index.
#[derive(Clone, Debug)]
pub struct WordBytes {
    /// The number of the first document of the segment.
    pub base: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A passage with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The document, by its place in the view.
    pub document: usize,
    /// The passage, by its number within the document.
    pub passage: usize,
    /// The score.
    pub score: f32,
}

/// Ranks all passages with a word of the query: the best `wanted` come first, in their order, and the others after them
/// in no order. Equal ones are in the order of the view. `find` returns the bytes of a word, by segment.
///
/// # Errors
/// Those of `find`.
pub fn rank<E>(
    view: &View,
    query: &Query,
    tuning: Tuning,
    wanted: usize,
    mut find: impl FnMut(&str) -> Result<Vec<WordBytes>, E>,
) -> Result<Vec<Ranked>, E> {
    let mut ranking = Ranking::new(view, tuning);
    for word in &query.words {
        #[expect(clippy::cast_precision_loss, reason = "a query has at most 64 words")]
        let weight = word.count as f32;
        ranking.add_text(weight, &find(&word.word)?);
        ranking.add_path(weight, &find(&format!("{PATH_MARK}{}", word.word))?);
    }
    for (words, wants) in [(&query.required, true), (&query.excluded, false)] {
        for word in words {
            let path = find(&format!("{PATH_MARK}{word}"))?;
            ranking.retain(&find(word)?, &path, wants);
        }
    }
    Ok(ranking.finish(wanted))
}

/// Ranks the passages that define words, the best first. A word counts as much as it is rare, if it is long enough to
/// be a name and few passages define it.
///
/// # Errors
/// Those of `find`.
pub fn definitions<E>(
    view: &View,
    words: &BTreeSet<String>,
    mut find: impl FnMut(&str) -> Result<Vec<WordBytes>, E>,
) -> Result<Vec<Ranked>, E> {
    let mut ranking = Ranking::new(view, Tuning::default());
    let names = words.iter().filter(|word| word.len() >= MIN_NAME);
    for name in names.filter(|name| !words::is_stop_word(name)) {
        let found = ranking.found(&find(name)?);
        let defining: Vec<u32> = found
            .iter()
            .filter(|it| it.is_heading)
            .map(|it| it.passage)
            .collect();
        if (1..=MAX_DEFINITIONS).contains(&defining.len()) {
            let rarity = rarity(ranking.passages.len(), found.len());
            for passage in &defining {
                add(&mut ranking.passages, *passage, rarity);
            }
        }
    }
    Ok(ranking.finish(usize::MAX))
}

struct Ranking<'a> {
    view: &'a View,
    tuning: Tuning,
    /// The places of the documents in the view, plus one, by their numbers in the index; 0 for others.
    places: Vec<u32>,
    passages: Vec<f32>,
    documents: Vec<f32>,
    paths: Vec<f32>,
    /// The lengths of the documents: the numbers of their words.
    document_lengths: Vec<u64>,
    mean_passage: f32,
    mean_document: f32,
    refused: Vec<bool>,
    /// The memory of the postings of the word before.
    emptied: Vec<Found>,
}

/// A posting in the view.
struct Found {
    document: u32,
    passage: u32,
    count: u32,
    is_heading: bool,
}

impl<'a> Ranking<'a> {
    fn new(view: &'a View, tuning: Tuning) -> Ranking<'a> {
        let last = view.documents.iter().map(|document| document.id).max();
        let mut places = vec![0; last.map_or(0, |last| last as usize + 1)];
        for (place, document) in (1..).zip(&view.documents) {
            if let Some(at) = places.get_mut(document.id as usize) {
                *at = place;
            }
        }
        let length = |lengths: &[u32]| lengths.iter().map(|&it| u64::from(it)).sum::<u64>();
        let document_lengths: Vec<u64> = view
            .documents
            .iter()
            .map(|document| length(view.lengths_of(document)))
            .collect();
        let total = length(&view.lengths);
        Ranking {
            view,
            tuning,
            places,
            passages: vec![0.0; view.lengths.len()],
            documents: vec![0.0; view.documents.len()],
            paths: vec![0.0; view.documents.len()],
            mean_passage: mean(total, view.lengths.len()),
            mean_document: mean(total, view.documents.len()),
            document_lengths,
            refused: vec![false; view.lengths.len()],
            emptied: Vec::new(),
        }
    }

    /// Returns the postings of documents of the view, by document.
    fn found(&mut self, segments: &[WordBytes]) -> Vec<Found> {
        let mut found = std::mem::take(&mut self.emptied);
        found.clear();
        for segment in segments {
            postings::read(&segment.bytes, |posting| {
                let id = segment.base.saturating_add(posting.document);
                let place = self.places.get(id as usize).copied().unwrap_or_default();
                let Some(document) = place.checked_sub(1) else {
                    return;
                };
                let viewed = self.view.documents.get(document as usize);
                if let Some(viewed) = viewed.filter(|it| posting.passage < it.passages) {
                    found.push(Found {
                        document,
                        passage: viewed.first + posting.passage,
                        count: posting.count,
                        is_heading: posting.is_heading,
                    });
                }
            });
        }
        found
    }

    fn add_text(&mut self, weight: f32, segments: &[WordBytes]) {
        let found = self.found(segments);
        let rarity = weight * rarity(self.passages.len(), found.len());
        let tuning = self.tuning;
        for it in &found {
            let length = self.view.lengths.get(it.passage as usize).copied();
            let length = u64::from(length.unwrap_or_default());
            let mut share = saturated(tuning, it.count, length, self.mean_passage);
            if it.is_heading {
                share += tuning.heading;
            }
            add(&mut self.passages, it.passage, rarity * share);
        }
        let of_document = |one: &Found, other: &Found| one.document == other.document;
        let groups = found.chunk_by(of_document);
        let rarity = weight * self::rarity(self.documents.len(), groups.clone().count());
        for group in groups {
            let Some(document) = group.first().map(|it| it.document) else {
                continue;
            };
            let count = group.iter().map(|it| it.count).sum();
            let length = self.document_lengths.get(document as usize).copied();
            let share = saturated(
                tuning,
                count,
                length.unwrap_or_default(),
                self.mean_document,
            );
            add(&mut self.documents, document, rarity * share);
        }
        self.emptied = found;
    }

    fn add_path(&mut self, weight: f32, segments: &[WordBytes]) {
        let found = self.found(segments);
        let rarity = weight * rarity(self.documents.len(), found.len());
        for it in &found {
            add(&mut self.paths, it.document, rarity);
        }
    }

    /// Refuses passages that have a word, or those that do not; a word of its path is a word of each passage.
    fn retain(&mut self, text: &[WordBytes], path: &[WordBytes], wants: bool) {
        let mut has = vec![false; self.refused.len()];
        for it in self.found(text) {
            if let Some(has) = has.get_mut(it.passage as usize) {
                *has = true;
            }
        }
        for it in self.found(path) {
            let document = self.view.documents.get(it.document as usize);
            let passages = document.map_or(0..0, |it| {
                it.first as usize..(it.first + it.passages) as usize
            });
            if let Some(has) = has.get_mut(passages) {
                has.fill(true);
            }
        }
        for (refused, has) in self.refused.iter_mut().zip(has) {
            *refused |= has != wants;
        }
    }

    fn finish(self, wanted: usize) -> Vec<Ranked> {
        let mut ranked: Vec<Ranked> = Vec::new();
        for (place, document) in self.view.documents.iter().enumerate() {
            let at = |scores: &[f32]| scores.get(place).copied().unwrap_or_default();
            let path = self.tuning.path * at(&self.paths);
            let shared = path + self.tuning.document * at(&self.documents);
            let first = ranked.len();
            for passage in 0..document.passages as usize {
                let index = document.first as usize + passage;
                let own = self.passages.get(index).copied().unwrap_or_default();
                let is_refused = self.refused.get(index).copied().unwrap_or_default();
                // A document that only its path is about is shown from its beginning.
                if !is_refused && (own > 0.0 || (path > 0.0 && passage == 0)) {
                    ranked.push(Ranked {
                        document: place,
                        passage,
                        score: own + shared,
                    });
                }
            }
            let own = ranked.get_mut(first..).unwrap_or_default();
            own.sort_unstable_by(order);
            let mut left = 1.0;
            for it in own {
                it.score *= left;
                left *= self.tuning.repeated;
            }
        }
        if wanted < ranked.len() {
            ranked.select_nth_unstable_by(wanted, order);
        }
        let best = ranked.len().min(wanted);
        ranked
            .get_mut(..best)
            .unwrap_or_default()
            .sort_unstable_by(order);
        ranked
    }
}

/// The better one first; equal ones are in the order of the view.
fn order(one: &Ranked, other: &Ranked) -> Ordering {
    let by_score = other.score.total_cmp(&one.score);
    by_score.then_with(|| (one.document, one.passage).cmp(&(other.document, other.passage)))
}

/// The share of the occurrences of a word: rising ever less with their number, and falling with the length.
fn saturated(tuning: Tuning, count: u32, length: u64, mean: f32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
    let (count, length) = (count as f32, length as f32);
    let relative = 1.0 - tuning.length + tuning.length * length / mean.max(1.0);
    count * (tuning.saturation + 1.0) / (count + tuning.saturation * relative)
}

/// How much a word says that `with` of `all` have: the logarithm of the odds against it.
#[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
fn rarity(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no exact numbers")]
fn mean(total: u64, count: usize) -> f32 {
    total as f32 / count.max(1) as f32
}

fn add(scores: &mut [f32], at: u32, share: f32) {
    if let Some(score) = scores.get_mut(at as usize) {
        *score += share;
    }
}
