//! Files that are not mapped, as those of a plan, ranked for a question by the words that the index has of them. A file is
//! read only if the index does not have it with this content.

use std::collections::BTreeMap;

use super::indexing::{
    self, IndexKept, Indexer, MAX_ATTEMPTS, digest, keeps_changing, unusable_index,
};
use crate::model::{RepoPath, Result};
use crate::search;
use crate::search::postings::{Segment, WordBytes};
use crate::search::query::{Query, Syntax};
use crate::search::ranked::Ranked;
use crate::search::ranking::{self, Tuning};
use crate::search::view::View;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::cache::search_index::{IndexKey, NewSegment};

/// A file with its content.
pub(in crate::flow) struct NamedContent<'f> {
    /// Its path, which is searched as well.
    pub(in crate::flow) path: &'f RepoPath,
    /// The id of its content.
    pub(in crate::flow) hash: &'f str,
}

/// How well the passages of files match.
#[derive(Debug)]
pub(in crate::flow) struct FileRanks {
    /// The number of passages of each file.
    pub(in crate::flow) passages: Vec<usize>,
    /// The relevance of passages that match, up to 1, by the numbers of file and passage.
    pub(in crate::flow) relevance: BTreeMap<(usize, usize), f64>,
}

/// Ranks the passages of files. `text` returns the text of a file by its number; where it returns `None`, so does this.
pub(in crate::flow) fn rank<'t>(
    session: &Session,
    files: &[NamedContent<'_>],
    question: &str,
    text: impl Fn(usize) -> Result<Option<&'t str>>,
) -> Result<Option<FileRanks>> {
    indexing::again_if_unusable(session, |kept| {
        let mut indexer = match kept {
            IndexKept::OnDisk => Indexer::open(session)?,
            IndexKept::InMemory => Indexer::in_memory(session)?,
        };
        let Some(view) = view_of(session, &mut indexer, files, &text)? else {
            return Ok(None);
        };
        let query = Query::parse(question, Syntax::Data);
        let find = |word: &str| {
            let places = indexer.index.places(word).map_err(unusable_index)?;
            let bytes = places.into_iter().map(|it| WordBytes { base: it.base, bytes: it.bytes });
            Ok(bytes.collect())
        };
        let mut ranked = Vec::new();
        ranking::rank(&view, &query, Tuning::default(), find, |it| ranked.push(it))?;
        Ok(Some(FileRanks {
            relevance: relevance(&view, &ranked),
            passages: view.documents().map(|it| it.passages as usize).collect(),
        }))
    })
}

/// Returns the scores divided by the best, by the numbers of document and passage. A document is numbered by its order in
/// the view.
pub(in crate::flow) fn relevance(view: &View, ranked: &[Ranked]) -> BTreeMap<(usize, usize), f64> {
    let positions: Vec<usize> = view.positions().collect();
    let scores = ranked.iter().map(|it| f64::from(it.score));
    let best = scores.max_by(f64::total_cmp).unwrap_or(1.0);
    let relevance = ranked.iter().filter_map(|it| {
        let number = positions.binary_search(&it.document).ok()?;
        let relevance = f64::from(it.score) / best.max(f64::MIN_POSITIVE);
        Some(((number, it.passage), relevance))
    });
    relevance.collect()
}

/// Returns the view of files; those that the index does not have are read and added first. `None` if one of them has no
/// text any more.
fn view_of<'t>(
    session: &Session,
    indexer: &mut Indexer<'_>,
    files: &[NamedContent<'_>],
    text: &impl Fn(usize) -> Result<Option<&'t str>>,
) -> Result<Option<View>> {
    let own_key = |file: &NamedContent<'_>| {
        let state = format!("{} file {} ", search::VERSION, file.hash);
        digest(&[state.as_bytes(), file.path.as_bytes()])
    };
    let keys: Vec<IndexKey> = files.iter().map(own_key).collect();
    let view_key = digest(&[b"files ", keys.as_flattened()]);
    if let Some(view) = indexer.find_view(view_key)? {
        return Ok(Some(view));
    }
    for _ in 0..MAX_ATTEMPTS {
        let mut view = View::default();
        let mut missing = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            match indexer.index.find(*key).map_err(unusable_index)? {
                Some((id, bytes)) => {
                    let lengths = unpacked(&bytes);
                    let damaged = || unusable_index(Unusable::because("it is damaged"));
                    view.push(id, lengths.ok_or_else(damaged)?.into_iter());
                }
                None => missing.push(number),
            }
        }
        if missing.is_empty() {
            indexer.put_view(view_key, &view)?;
            return Ok(Some(view));
        }
        let mut texts = Vec::new();
        for number in missing {
            session.world.interrupt.check()?;
            let Some(text) = text(number)? else {
                return Ok(None);
            };
            texts.extend(files.get(number).map(|file| (file, text)));
        }
        let segment = segment_of(texts.into_iter(), own_key);
        indexer.index.add(&segment).map_err(unusable_index)?;
    }
    Err(keeps_changing())
}

/// Returns files as one segment.
fn segment_of<'t>(
    files: impl Iterator<Item = (&'t NamedContent<'t>, &'t str)>,
    key: impl Fn(&NamedContent<'_>) -> IndexKey,
) -> NewSegment {
    let mut segment = Segment::default();
    let mut documents = Vec::new();
    for (file, text) in files {
        let passages = segment.add(&file.path.to_string(), text);
        let lengths: Vec<u32> = passages.iter().map(|it| it.length).collect();
        documents.push((key(file), packed(&lengths)));
    }
    NewSegment { documents, words: segment.into_words() }
}

/// Returns the lengths of the passages of a document in bytes.
fn packed(lengths: &[u32]) -> Vec<u8> {
    lengths.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// Reads them; `None` for damaged bytes.
fn unpacked(bytes: &[u8]) -> Option<Vec<u32>> {
    let (lengths, rest) = bytes.as_chunks();
    let lengths = lengths.iter().map(|it| u32::from_le_bytes(*it));
    rest.is_empty().then(|| lengths.collect())
}
