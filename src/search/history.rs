//! The history of the searched files: the messages of its newest commits are indexed, and those that are about a question
//! raise the files that they touched. Nothing is fetched: a history that is not here does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use crate::git::Oid;
use crate::map_rows::reading::Reading;
use crate::model::interrupt::unpoisoned;
use crate::model::progress::FileMeter;
use crate::model::text::count;
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};
use crate::search::index::history::{self, Matching};
use crate::search::index::postings::{Postings, Segment, WHOLE_PATH_MARK, WordBytes};
use crate::search::index::query::Query;
use crate::search::index::ranked::BestPassages;
use crate::search::index::ranking::{self, Tuning};
use crate::search::index::view::View;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::cache::search_index::{IndexKey, NewSegment};

use super::indexing::{Indexer, MAX_ATTEMPTS, keeps_changing, key_of, unusable_index};
use super::segments::on_processors;

/// The number of newest commits whose messages are indexed.
const COMMITS: usize = 6_000;

/// The number of commits after those of a known list that are added to it; after more, all are listed again.
const MAX_NEWER: usize = 500;

/// A commit that touched more files says nothing of each.
const MAX_FILES: usize = 100;

/// The part of a message that is indexed, in bytes.
const MAX_MESSAGE: usize = 4_096;

/// Begins the words of messages in the index: those of files are not mixed with them.
const MARK: char = '~';

/// A commit, as the index has it.
#[derive(Serialize, Deserialize)]
struct StoredCommit {
    /// The numbers of words of the passages of its message.
    lengths: Vec<u32>,
    /// The files that it touched.
    files: Vec<RepoPath>,
}

/// The history of one state of a repository.
pub(super) struct History {
    view: View,
}

impl History {
    /// Returns the commits before a state, and that state itself; those that the index does not have are added first.
    pub(super) fn of(
        session: &Session,
        indexer: &mut Indexer<'_>,
        place: &Reading,
        tip: Oid,
    ) -> Result<History> {
        let (mut commits, known) = listed(indexer, place, tip)?;
        if let (true, Some(view)) = (commits.is_empty(), &known) {
            return Ok(History { view: view.clone() });
        }
        let key_of_commit = |id: Oid| key_of(&format!("commit {id}"));
        for _ in 0..MAX_ATTEMPTS {
            let (mut view, mut missing) = (View::default(), Vec::new());
            for commit in &commits {
                match indexer.index.find(key_of_commit(*commit)).map_err(unusable_index)? {
                    Some((id, bytes)) => view.push(id, stored(&bytes)?.lengths.into_iter()),
                    None => missing.push(*commit),
                }
            }
            if missing.is_empty() {
                if let Some(known) = &known {
                    view.extend(known, COMMITS);
                }
                indexer.put_view(key_of_history(tip), &view)?;
                return Ok(History { view });
            }
            let (segment, unread) = read(&session.world, place, &missing, key_of_commit)?;
            if !unread.is_empty() {
                (session.world.narrate)(&format!(
                    "note: not searched, as their trees are not in this clone: {}",
                    count(unread.len(), "earlier commit")
                ));
                commits.retain(|commit| !unread.contains(commit));
            }
            if !segment.documents.is_empty() {
                indexer.index.add(&segment).map_err(unusable_index)?;
            }
        }
        Err(keeps_changing())
    }

    /// Returns how much each file is raised for a query, from 0 to 1.
    pub(super) fn weights(
        &self,
        indexer: &Indexer<'_>,
        query: &Query,
    ) -> Result<BTreeMap<RepoPath, f32>> {
        let find = |word: &str| places(indexer, word);
        let words = Query { words: query.words.clone(), ..Query::default() };
        let tuning = Tuning { heading: 0.0, document: 0.0, repeated: 0.0, ..Tuning::default() };
        let mut best = BestPassages::new(2 * history::COMMITS);
        ranking::rank(&self.view, &words, tuning, find, |passage| best.add(passage))?;
        let mut known = BTreeSet::new();
        let mut matching = Vec::new();
        for passage in best.into_sorted() {
            if matching.len() == history::COMMITS || !known.insert(passage.document) {
                continue;
            }
            let files = self.files(indexer, passage.document)?;
            matching.push(Matching { score: passage.score, files });
        }
        Ok(history::weights(matching))
    }

    /// Returns how much files are raised, from 0 to 1, as commits touched them together with some files, each with how
    /// much it counts.
    pub(super) fn together(
        &self,
        indexer: &Indexer<'_>,
        best: &[(RepoPath, f32)],
    ) -> Result<BTreeMap<RepoPath, f32>> {
        let mut shares = Vec::new();
        for (path, score) in best {
            let places = places(indexer, &format!("{WHOLE_PATH_MARK}{path}"))?;
            let mut commits: Vec<usize> =
                documents(&places).filter_map(|id| self.view.position(id)).collect();
            // The newest are the first of the view.
            commits.sort_unstable();
            commits.truncate(history::TOGETHER_COMMITS);
            let mut touched = Vec::new();
            for commit in commits {
                let mut files = self.files(indexer, commit)?;
                files.retain(|file| file != path);
                touched.push(files);
            }
            shares.push((*score, touched));
        }
        Ok(history::together(shares))
    }

    /// Returns the files that a commit touched, by its position in the view.
    fn files(&self, indexer: &Indexer<'_>, position: usize) -> Result<Vec<RepoPath>> {
        let Some(viewed) = self.view.document(position) else {
            return Ok(Vec::new());
        };
        let bytes = indexer.index.document(viewed.id).map_err(unusable_index)?;
        Ok(stored(&bytes.unwrap_or_default())?.files)
    }
}

fn key_of_history(tip: Oid) -> IndexKey {
    key_of(&format!("history {tip}"))
}

/// Lists the commits before a state, and that state itself, the newest first, without merges. Where the list of a commit
/// is known, the rest is in its view, in which those that are listed do not count.
fn listed(indexer: &Indexer<'_>, place: &Reading, tip: Oid) -> Result<(Vec<Oid>, Option<View>)> {
    let mut listing = Listing { next: BTreeSet::from([tip]), ..Listing::default() };
    place.objects.each_commit(tip, COMMITS, |commit, parents| {
        if listing.ends_before(indexer, commit)? {
            return Ok(false);
        }
        listing.add(indexer, commit, parents)?;
        Ok(listing.commits.len() < COMMITS)
    })?;
    Ok((listing.commits, listing.known.filter(|_| listing.has_ended)))
}

/// A list of commits while it is made. Of the commits that are next, the walk takes the newest.
#[derive(Default)]
struct Listing {
    commits: Vec<Oid>,
    next: BTreeSet<Oid>,
    /// Those that were next once.
    seen: BTreeSet<Oid>,
    /// The list of the first commit for which one is known.
    known: Option<View>,
    /// The commits that are next, or were, and are before that one.
    before_known: BTreeSet<Oid>,
    has_ended: bool,
}

impl Listing {
    /// Returns `true` if the rest is known: all that is next is a commit whose list is known, or one before that.
    fn ends_before(&mut self, indexer: &Indexer<'_>, commit: Oid) -> Result<bool> {
        if self.commits.len() > MAX_NEWER || self.next.len() > 1 {
            return Ok(false);
        }
        self.has_ended = self.before_known.contains(&commit);
        if self.known.is_none() {
            self.known = indexer.find_view(key_of_history(commit))?;
            self.has_ended = self.known.is_some();
        }
        Ok(self.has_ended)
    }

    fn add(&mut self, indexer: &Indexer<'_>, commit: Oid, parents: &[Oid]) -> Result<()> {
        if parents.len() <= 1 {
            self.commits.push(commit);
        }
        if self.known.is_none() && self.commits.len() <= MAX_NEWER {
            self.known = indexer.find_view(key_of_history(commit))?;
            self.before_known.extend(self.known.as_ref().map(|_| commit));
        }
        if self.before_known.contains(&commit) {
            self.before_known.extend(parents);
        }
        self.next.remove(&commit);
        self.seen.insert(commit);
        self.next.extend(parents.iter().filter(|parent| !self.seen.contains(parent)));
        Ok(())
    }
}

/// Returns where a word of messages occurs.
fn places(indexer: &Indexer<'_>, word: &str) -> Result<Vec<WordBytes>> {
    let places = indexer.index.places(&format!("{MARK}{word}")).map_err(unusable_index)?;
    Ok(places.into_iter().map(|place| WordBytes { base: place.base, bytes: place.bytes }).collect())
}

/// Returns the numbers of the documents that have a word.
pub(super) fn documents(places: &[WordBytes]) -> impl Iterator<Item = u32> {
    let mut postings = Postings::of(places);
    std::iter::from_fn(move || {
        let id = postings.document;
        postings.next_document();
        (id != Postings::END).then_some(id)
    })
}

fn stored(bytes: &[u8]) -> Result<StoredCommit> {
    let read = serde_json::from_slice(bytes);
    read.map_err(|_| unusable_index(Unusable::because("it is damaged")))
}

/// Reads commits, on all processors, into one segment. Those whose trees are not here are returned beside it.
fn read(
    world: &World,
    place: &Reading,
    commits: &[Oid],
    key: impl Fn(Oid) -> IndexKey,
) -> Result<(NewSegment, BTreeSet<Oid>)> {
    let meter = FileMeter::begin(&world.progress, "read the history".to_owned());
    let (next, read) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    on_processors(place, commits.len(), |place| {
        while let Some(commit) = commits.get(next.fetch_add(1, Ordering::Relaxed)) {
            world.interrupt.check()?;
            let files = match place.objects.touched(*commit, MAX_FILES) {
                Err(error) if error.code() == Code::ObjectMissing => continue,
                files => files?,
            };
            let message = place.objects.message(*commit)?;
            unpoisoned(&read).insert(*commit, (message, files));
            meter.count();
        }
        Ok(())
    })?;
    let read = std::mem::take(&mut *unpoisoned(&read));
    let unread = commits.iter().copied().filter(|commit| !read.contains_key(commit)).collect();
    let (mut segment, mut documents) = (Segment::default(), Vec::new());
    for (commit, (message, files)) in read {
        let paths = files.iter().map(|path| format!("{WHOLE_PATH_MARK}{path}"));
        let passages = segment.add_with("", &indexed_text(&message), paths);
        let lengths = passages.iter().map(|passage| passage.length).collect();
        let json = serde_json::to_vec(&StoredCommit { lengths, files })
            .or_code(Code::Io, || "cannot write a commit of the index")?;
        documents.push((key(commit), json));
    }
    let marked = |(word, bytes): (Box<str>, Vec<u8>)| (format!("{MARK}{word}").into(), bytes);
    let words = segment.into_words().into_iter().map(marked).collect();
    Ok((NewSegment { documents, words }, unread))
}

/// Returns the text that is indexed for a message: its subject twice, and its body.
fn indexed_text(message: &str) -> String {
    let end = message.floor_char_boundary(MAX_MESSAGE);
    let message = message.get(..end).unwrap_or_default().trim();
    let subject = message.lines().next().unwrap_or_default();
    format!("{subject}\n{message}\n")
}
