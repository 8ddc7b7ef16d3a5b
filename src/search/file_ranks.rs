//! The files of a plan, and the scopes that it has, ranked for a question as those of a search are: by their words, and by
//! the history. A file is read only if the index does not have it with this content.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::git::Oid;
use crate::model::{RepoPath, Result};
use crate::search::index::postings::{IndexedPassage, Segment};
use crate::search::index::query::{Query, Syntax};
use crate::search::index::ranked::Ranked;
use crate::search::index::view::View;
use crate::store::Session;
use crate::store::cache::search_index::{IndexKey, NewSegment};

use super::candidates::Searched;
use super::documents::{Document, StoredDocument};
use super::indexing::{
    self, IndexKept, Indexer, MAX_ATTEMPTS, digest, keeps_changing, literature, unusable_index,
};
use super::partly::Wanted;
use super::question_ranks::Added;
use super::{SearchedFiles, SearchedOrigin, candidates};

/// How well the passages of files match.
#[derive(Debug)]
pub(crate) struct FileRanks {
    /// The number of passages of each file.
    pub(crate) passages: Vec<usize>,
    /// The relevance of passages that match, up to 1, by the numbers of file and passage.
    pub(crate) relevance: BTreeMap<(usize, usize), f64>,
}

/// Ranks the passages of files. `text` returns the text of a file by its number; where it returns `None`, so does this.
pub(crate) fn rank<'t>(
    session: &Session,
    files: &[Document],
    question: &str,
    text: impl Fn(usize) -> Result<Option<&'t Rc<str>>>,
) -> Result<Option<FileRanks>> {
    indexing::again_if_unusable(session, |kept| {
        let mut indexer = match kept {
            IndexKept::OnDisk => Indexer::open(session)?,
            IndexKept::InMemory => Indexer::in_memory(session)?,
        };
        let Some(view) = view_of(&mut indexer, files, &text)? else {
            return Ok(None);
        };
        let passages = view.documents().map(|document| document.passages as usize).collect();
        let numbers: HashMap<u32, usize> =
            view.documents().map(|document| document.id).zip(0..).collect();
        let has_changed = Cell::new(false);
        let text_of = |id: u32| {
            let text_of_file = numbers.get(&id).map(|number| text(*number)).transpose()?.flatten();
            has_changed.set(has_changed.get() || text_of_file.is_none());
            Ok(text_of_file.map_or_else(|| "".into(), Rc::clone))
        };
        let query = Query::parse(question, Syntax::Data);
        let searched = Searched::of_files(indexer, view, &text_of)?.with_history_of_head()?;
        let ranked = searched.rank_with_history(&query, Added::Told)?;
        let relevance = relevance(&searched.view, &ranked);
        Ok((!has_changed.get()).then_some(FileRanks { passages, relevance }))
    })
}

/// Returns the scores divided by the best, by the numbers of document and passage. A document is numbered by its order in
/// the view.
pub(crate) fn relevance(view: &View, ranked: &[Ranked]) -> BTreeMap<(usize, usize), f64> {
    let positions: Vec<usize> = view.positions().collect();
    let scores = ranked.iter().map(|ranked_passage| f64::from(ranked_passage.score));
    let best = scores.max_by(f64::total_cmp).unwrap_or(1.0);
    let relevance = ranked.iter().filter_map(|ranked_passage| {
        let number = positions.binary_search(&ranked_passage.document).ok()?;
        let relevance = f64::from(ranked_passage.score) / best.max(f64::MIN_POSITIVE);
        Some(((number, ranked_passage.passage), relevance))
    });
    relevance.collect()
}

/// Returns the view of files; those that the index does not have are read and added first. `None` if one of them has no
/// text any more.
fn view_of<'t>(
    indexer: &mut Indexer<'_>,
    files: &[Document],
    text: &impl Fn(usize) -> Result<Option<&'t Rc<str>>>,
) -> Result<Option<View>> {
    let session = indexer.session;
    let reader = literature(session);
    let keys: Vec<IndexKey> = files.iter().map(|file| file.key(&reader)).collect::<Result<_>>()?;
    let view_key = digest(&[b"files ", keys.as_flattened()]);
    if let Some(view) = indexer.find_view(view_key)? {
        return Ok(Some(view));
    }
    for _ in 0..MAX_ATTEMPTS {
        let (mut view, mut missing) = (View::default(), Vec::new());
        for (number, (key, file)) in keys.iter().zip(files).enumerate() {
            match indexer.find(*key)? {
                Some((id, stored)) => view.push(id, stored.lengths()),
                None => missing.push((number, *key, file)),
            }
        }
        if missing.is_empty() {
            indexer.put_view(view_key, &view)?;
            return Ok(Some(view));
        }
        let (mut segment, mut documents) = (Segment::default(), Vec::new());
        for (number, key, file) in missing {
            session.world.interrupt.check()?;
            let Some(text) = text(number)? else {
                return Ok(None);
            };
            let passages = segment.add(&file.path.to_string(), text);
            documents.push((key, StoredDocument::new(file.clone(), &passages, text).as_json()?));
        }
        let segment = NewSegment { documents, words: segment.into_words() };
        indexer.index.add(&segment).map_err(unusable_index)?;
    }
    Err(keeps_changing())
}

/// A passage that matches.
pub(crate) struct ScopeMatch {
    /// The file.
    pub(crate) path: RepoPath,
    /// Its content.
    pub(crate) blob: Oid,
    /// Its text.
    pub(crate) text: Rc<str>,
    /// The number of the passage, and that of all passages of the file.
    pub(crate) number: (usize, usize),
    /// The passage.
    pub(crate) passage: IndexedPassage,
    /// Its score, divided by that of the best passage of the scope.
    pub(crate) relevance: f64,
}

/// Finds the passages that match, the best first, at most `most`.
pub(crate) fn of_scope(
    session: &Session,
    scope: &str,
    question: &str,
    most: usize,
) -> Result<Vec<ScopeMatch>> {
    let files = SearchedFiles {
        scope: Some(scope.to_owned()),
        origin: SearchedOrigin::Pages,
        ..SearchedFiles::default()
    };
    indexing::again_if_unusable(session, |kept| {
        let query = Query::parse(question, Syntax::Data);
        let wanted = Wanted::Question(&query);
        let searched = candidates::open(session, &files, kept, wanted)?.with_histories()?;
        let ranked = searched.rank_with_history(&query, Added::Told)?;
        let best = ranked.first().map_or(1.0, |ranked_passage| f64::from(ranked_passage.score));
        let mut matches = Vec::new();
        for ranked_passage in ranked.iter().take(most) {
            session.world.interrupt.check()?;
            let candidate = searched.candidate(ranked_passage)?;
            let document = &candidate.document.document;
            matches.push(ScopeMatch {
                path: document.path.clone(),
                blob: document.blob,
                text: searched.text(&candidate)?,
                number: (ranked_passage.passage, searched.passage_count(ranked_passage.document)),
                passage: candidate.passage,
                relevance: f64::from(ranked_passage.score) / best.max(f64::MIN_POSITIVE),
            });
        }
        Ok(matches)
    })
}
