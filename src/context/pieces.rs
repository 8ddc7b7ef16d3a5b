//! The passages of a plan's files that may be printed, with their scores.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::scoring::score::Weighed;
use crate::model::Result;
use crate::search::documents::Document;
use crate::search::file_ranks::{self, FileRanks};
use crate::search::index::postings::{Segment, WordBytes};
use crate::search::index::query::{Query, Syntax};
use crate::search::index::ranking::{self, Tuning};
use crate::search::index::view::View;
use crate::store::Session;

use super::task_file::TaskFile;

/// A passage that may be printed.
pub(super) struct Piece {
    pub(super) file: usize,
    pub(super) number: usize,
    relevance: f64,
    pub(super) score: f64,
}

/// Scores the passages of files that are candidates, the best first; `None` if a file has changed since the command
/// looked at it.
pub(super) fn pieces(
    session: &Session,
    files: &[TaskFile],
    question: Option<&str>,
) -> Result<Option<Vec<Piece>>> {
    let Some(ranks) = ranks(session, files, question)? else {
        return Ok(None);
    };
    let changes: BTreeSet<i64> = files.iter().map(|file| file.modified).collect();
    let last = changes.len().saturating_sub(1).max(1);
    let changes: Vec<i64> = changes.into_iter().collect();
    let mut pieces = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let place = changes.binary_search(&file.modified).unwrap_or_default();
        let mut add = |at: usize, relevance: f64, is_whole: bool| {
            let weighed = Weighed {
                relevance,
                hierarchy: 1.0 / count(file.shown.parts().count().max(1)),
                quality: if is_whole { 1.0 } else { 0.5 },
                recency: count(place) / count(last),
            };
            pieces.push(Piece { file: number, number: at, relevance, score: weighed.score() });
        };
        if file.tier.is_none() {
            for (at, file_match) in &file.matches {
                add(*at, file_match.relevance, file_match.is_whole);
            }
            continue;
        }
        let passages = ranks.passages.get(number).copied().unwrap_or_default();
        for at in 0..passages {
            let relevance = match question {
                None => Some(0.5),
                Some(_) => ranks.relevance.get(&(number, at)).copied(),
            };
            let searched = file.matches.get(&at).map(|file_match| file_match.relevance);
            // Of two searches, the higher relevance counts.
            let best = relevance.into_iter().chain(searched).max_by(f64::total_cmp);
            if let Some(relevance) = best {
                add(at, relevance, passages == 1);
            }
        }
    }
    // The order of equal ones is that of files and passages.
    pieces.sort_by(|piece, other| {
        let by_score = other.score.total_cmp(&piece.score);
        by_score.then_with(|| other.relevance.total_cmp(&piece.relevance))
    });
    Ok(Some(pieces))
}

/// Counts the passages of files, and ranks them for a question.
fn ranks(
    session: &Session,
    files: &[TaskFile],
    question: Option<&str>,
) -> Result<Option<FileRanks>> {
    if let Some(question) = question {
        return ranks_for(session, files, question);
    }
    let mut passages = Vec::with_capacity(files.len());
    for file in files {
        let Some(number) = file.passage_count(session)? else {
            return Ok(None);
        };
        passages.push(number);
    }
    Ok(Some(FileRanks { passages, relevance: BTreeMap::new() }))
}

/// Ranks the passages of files for a question; those that only a search has found are ranked by it.
fn ranks_for(session: &Session, files: &[TaskFile], question: &str) -> Result<Option<FileRanks>> {
    let in_tiers = files.iter().enumerate().filter(|(_, file)| file.tier.is_some());
    let (numbers, documents): (Vec<usize>, Vec<Document>) =
        in_tiers.filter_map(|(number, file)| Some((number, file.document()?))).unzip();
    let text = |at: usize| match numbers.get(at).and_then(|number| files.get(*number)) {
        Some(file) => file.text(session),
        None => Ok(None),
    };
    let Some(ranks) = file_ranks::rank(session, &documents, question, text)? else {
        return Ok(None);
    };
    let mut passages = vec![0; files.len()];
    for (number, count) in numbers.iter().zip(ranks.passages) {
        if let Some(passages) = passages.get_mut(*number) {
            *passages = count;
        }
    }
    let relevance = ranks.relevance.into_iter();
    let of_files = relevance.filter_map(|((at, passage), relevance)| {
        numbers.get(at).map(|number| ((*number, passage), relevance))
    });
    Ok(Some(FileRanks { passages, relevance: of_files.collect() }))
}

/// Ranks the passages of texts for a question, each text with its name: the relevance of those that match, up to 1, by
/// the numbers of text and passage.
pub(super) fn matches<'t>(
    texts: impl Iterator<Item = (String, &'t str)>,
    question: &str,
) -> BTreeMap<(usize, usize), f64> {
    let query = Query::parse(question, Syntax::Data);
    let mut segment = Segment::of_words(query.words.iter().map(|word| word.word.as_str()));
    let mut view = View::default();
    for (number, (name, text)) in (0..).zip(texts) {
        let indexed = segment.add(&name, text);
        view.push(number, indexed.iter().map(|passage| passage.length));
    }
    let words: BTreeMap<Box<str>, Vec<u8>> = segment.into_words().into_iter().collect();
    let find = |word: &str| {
        let bytes = words.get(word).cloned();
        let word_bytes = bytes.map(|bytes| WordBytes { base: 0, bytes });
        Ok::<_, std::convert::Infallible>(word_bytes.into_iter().collect())
    };
    let mut ranked = Vec::new();
    let Ok(()) =
        ranking::rank(&view, &query, Tuning::default(), find, |passage| ranked.push(passage));
    file_ranks::relevance(&view, &ranked)
}

#[expect(clippy::cast_precision_loss, reason = "numbers of files are small")]
fn count(number: usize) -> f64 {
    number as f64
}
