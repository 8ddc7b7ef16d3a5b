//! The passages of a plan's files that may be printed, with their scores.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::score::Weighed;
use crate::search::postings::{IndexedPassage, Segment, WordBytes};
use crate::search::query::{Query, Syntax};
use crate::search::ranking::{self, Tuning};
use crate::search::view::View;

use super::task_files::TaskFile;

/// A passage that may be printed.
pub(super) struct Piece {
    pub(super) file: usize,
    pub(super) number: usize,
    pub(super) passage: IndexedPassage,
    relevance: f64,
    pub(super) score: f64,
}

/// Cuts files into passages, and scores those that are candidates, the best first.
pub(super) fn pieces(files: &[TaskFile], question: Option<&str>) -> Vec<Piece> {
    let texts = files.iter().map(|file| match file.tier {
        // What only a search has found is not cut again.
        None => (String::new(), ""),
        Some(_) => (file.shown.to_string(), file.text.as_str()),
    });
    let Matches {
        passages,
        relevance,
    } = matches(texts, question);
    let changes: BTreeSet<i64> = files.iter().map(|it| it.modified).collect();
    let last = changes.len().saturating_sub(1).max(1);
    let place: BTreeMap<i64, usize> = changes.into_iter().zip(0..).collect();
    let mut pieces = Vec::new();
    for (number, (file, indexed)) in files.iter().zip(&passages).enumerate() {
        let place = place.get(&file.modified).copied().unwrap_or_default();
        let mut add = |at: usize, passage: IndexedPassage, relevance: f64, is_whole: bool| {
            let weighed = Weighed {
                relevance,
                hierarchy: 1.0 / count(file.shown.parts().count().max(1)),
                quality: if is_whole { 1.0 } else { 0.5 },
                recency: count(place) / count(last),
            };
            pieces.push(Piece {
                file: number,
                number: at,
                passage,
                relevance,
                score: weighed.score(),
            });
        };
        if file.tier.is_none() {
            for (at, found) in &file.matches {
                add(*at, found.passage, found.relevance, found.is_whole);
            }
            continue;
        }
        for (at, passage) in indexed.iter().enumerate() {
            let found = match question {
                None => Some(0.5),
                Some(_) => relevance.get(&(number, at)).copied(),
            };
            let searched = file.matches.get(&at).map(|it| it.relevance);
            // Of two searches, the higher relevance counts.
            let best = found.into_iter().chain(searched).max_by(f64::total_cmp);
            if let Some(relevance) = best {
                add(at, *passage, relevance, indexed.len() == 1);
            }
        }
    }
    // The order of equal ones is that of files and passages.
    pieces.sort_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then_with(|| other.relevance.total_cmp(&one.relevance))
    });
    pieces
}

/// The passages of texts, and how well they match a question.
pub(super) struct Matches {
    /// The passages of each text.
    passages: Vec<Vec<IndexedPassage>>,
    /// The relevance of those that match, up to 1, by the numbers of text and passage.
    pub(super) relevance: BTreeMap<(usize, usize), f64>,
}

/// Cuts texts into passages and ranks them, each text with its name; nothing matches without a question.
pub(super) fn matches<'t>(
    texts: impl Iterator<Item = (String, &'t str)>,
    question: Option<&str>,
) -> Matches {
    let query = Query::parse(question.unwrap_or_default(), Syntax::Data);
    let mut segment = Segment::of_words(query.words.iter().map(|it| it.word.as_str()));
    let (mut view, mut passages) = (View::default(), Vec::new());
    for (number, (name, text)) in (0..).zip(texts) {
        let indexed = segment.add(&name, text);
        view.push(number, indexed.iter().map(|it| it.length));
        passages.push(indexed);
    }
    let words: BTreeMap<Box<str>, Vec<u8>> = segment.into_words().into_iter().collect();
    let find = |word: &str| {
        let bytes = words.get(word).cloned();
        let found = bytes.map(|bytes| WordBytes { base: 0, bytes });
        Ok::<_, std::convert::Infallible>(found.into_iter().collect())
    };
    let mut ranked = Vec::new();
    let Ok(()) = ranking::rank(&view, &query, Tuning::default(), find, |it| ranked.push(it));
    let scores = ranked.iter().map(|it| f64::from(it.score));
    let best = scores.max_by(f64::total_cmp).unwrap_or(1.0);
    let relevance = ranked.iter().filter_map(|it| {
        let relevance = f64::from(it.score) / best.max(f64::MIN_POSITIVE);
        let number = view.document(it.document)?.id as usize;
        Some(((number, it.passage), relevance))
    });
    Matches {
        relevance: relevance.collect(),
        passages,
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of files are small")]
fn count(number: usize) -> f64 {
    number as f64
}
