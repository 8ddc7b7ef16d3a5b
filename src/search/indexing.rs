//! Keeps the index up to date: the documents of a scope that it does not have are added, on all processors.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Mutex;

use crate::map::pages;
use crate::map_rows::reading::Reading;
use crate::model::interrupt::unpoisoned;
use crate::model::progress::FileMeter;
use crate::model::text::count;
use crate::model::{Code, Error, Result};
use crate::page::listing::Work;
use crate::search::index;
use crate::search::index::postings::WordBytes;
use crate::search::index::view::View;
use crate::source::file::Encoding;
use crate::source::literature::Literature;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{PageTable, ScopeRow};
use crate::store::cache::search_index::{IndexKey, SearchIndex};
use crate::text::chunk::ChunkSize;
use crate::text::tokenizer::Tokenizer;

use super::documents::{self, Document, DocumentKind, StoredDocument};
use super::known_documents::{self, KnownDocuments};
use super::segments::Indexing;

/// How often to index the same scope while other processes do so, too.
pub(super) const MAX_ATTEMPTS: usize = 8;

const SECONDS_PER_DAY: i64 = 86_400;

/// The index, and the number of files that were added to it.
pub(super) struct Indexer<'a> {
    pub(super) session: &'a Session,
    pub(super) index: SearchIndex,
    pub(super) added: usize,
}

/// Adds the files of the mapped scopes to the index, if this repository has one: the next search finds it up to
/// date. A failure is one warning.
pub fn keep_up_to_date(session: &Session) {
    if !session.repo.keeps_objects() || !super::has_index(session) {
        return;
    }
    let update = || -> Result<()> {
        let mut indexer = Indexer::open(session)?;
        for work in [Work::Committed, Work::Worktree] {
            let (opened, _) = pages::open_wanted(session, None, work)?;
            for scope in &opened.scopes {
                indexer.view(&opened.table, scope)?;
            }
        }
        indexer.view_of_knowledge(&known_documents::list(session, None)?)?;
        Ok(())
    };
    if let Err(error) = update() {
        (session.world.narrate)(&format!(
            "warning: the index of 'git colony search' is not up to date: {}; the next search updates it",
            error.message()
        ));
    }
}

/// Where the index of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexKept {
    /// In its file, for the next command, too.
    OnDisk,
    /// In memory, for this command only.
    InMemory,
}

/// Does some work; if the index or the page table is damaged, deletes both and does the
/// work once more: they are derived data. If another
/// process holds the index for long, the work is done with one of its own.
pub(super) fn again_if_unusable<T>(
    session: &Session,
    work: impl Fn(IndexKept) -> Result<T>,
) -> Result<T> {
    let failed_as = |done: &Result<T>, code: Code| {
        let error = done.as_ref().err();
        error.is_some_and(|error| error.code() == code)
    };
    let mut done = work(IndexKept::OnDisk);
    if failed_as(&done, Code::CacheUnusable) {
        // Another process may have made it again, and then it must not be deleted once more.
        done = work(IndexKept::OnDisk);
    }
    if failed_as(&done, Code::CacheUnusable) {
        // The pages or the index: one damaged file is rare enough to make both again.
        drop(PageTable::recreate(session));
        done = Indexer::recreate(session).and_then(|_| work(IndexKept::OnDisk));
    }
    if failed_as(&done, Code::CacheUnusable) {
        (session.world.narrate)(
            "warning: the index cannot be written; it is made for this command only",
        );
        done = work(IndexKept::InMemory);
    }
    if failed_as(&done, Code::Locked) {
        (session.world.narrate)(
            "warning: another process holds the index; it is made for this command only",
        );
        done = work(IndexKept::InMemory);
    }
    done
}

impl<'a> Indexer<'a> {
    /// Opens the index; where no file can be used, one for this command only.
    pub(super) fn open(session: &'a Session) -> Result<Indexer<'a>> {
        let index = match SearchIndex::open(session) {
            Err(why) => {
                (session.world.narrate)(&format!(
                    "warning: cannot use the index: {why}; it is made for this command only"
                ));
                SearchIndex::in_memory()
            }
            opened => opened,
        };
        Ok(Indexer { session, index: index.map_err(unusable_index)?, added: 0 })
    }

    /// Opens an index for this command only.
    pub(super) fn in_memory(session: &'a Session) -> Result<Indexer<'a>> {
        Ok(Indexer { session, index: SearchIndex::in_memory().map_err(unusable_index)?, added: 0 })
    }

    /// Deletes the index, and opens an empty one.
    pub(super) fn recreate(session: &'a Session) -> Result<Indexer<'a>> {
        // Where that cannot be done, opening it says why.
        drop(SearchIndex::recreate(session));
        Indexer::open(session)
    }

    /// Returns `true` if the index has grown, and most of its documents are not those of the views.
    pub(super) fn is_overgrown(&self, views: &[Rc<View>]) -> Result<bool> {
        let used = views.iter().map(|view| view.document_count()).sum();
        Ok(self.added > 0 && self.index.is_overgrown(used).map_err(unusable_index)?)
    }

    /// Returns the view of a scope; documents that the index does not have are added first.
    pub(super) fn view(&mut self, table: &PageTable, scope: &ScopeRow) -> Result<View> {
        let key = view_key(scope);
        if let Some(view) = self.find_view(key)? {
            return Ok(view);
        }
        let place = Reading::of(self.session, scope.place.as_deref())?;
        let documents = documents::of_scope(table, scope)?;
        self.make_view(key, &documents, &place, &scope.scope)
    }

    /// Returns the number of documents that the index has, if it lacks some of the scopes.
    pub(super) fn missing_among(&self, scopes: &[ScopeRow]) -> Result<Option<usize>> {
        for scope in scopes {
            if !self.index.has_view(view_key(scope)).map_err(unusable_index)? {
                return self.next_id().map(|next| Some(next as usize));
            }
        }
        Ok(None)
    }

    /// Returns where a word occurs.
    pub(super) fn places(&self, word: &str) -> Result<Vec<WordBytes>> {
        let places = self.index.places(word).map_err(unusable_index)?;
        Ok(places
            .into_iter()
            .map(|place| WordBytes { base: place.base, bytes: place.bytes })
            .collect())
    }

    /// Returns the number that the next document of the index has.
    pub(super) fn next_id(&self) -> Result<u32> {
        self.index.next_id().map_err(unusable_index)
    }

    /// Returns the view of documents of the knowledge base.
    pub(super) fn view_of_knowledge(&mut self, known: &KnownDocuments) -> Result<View> {
        let key = key_of(&known.state);
        if let Some(view) = self.find_view(key)? {
            return Ok(view);
        }
        let place = Reading::of(self.session, None)?;
        self.make_view(key, &known.documents, &place, "the knowledge base")
    }

    /// Returns the documents of the knowledge base that are mapped with the same content: they are found once.
    pub(super) fn mapped_as_well(
        &self,
        known: &KnownDocuments,
        mapped: &BTreeSet<u32>,
    ) -> Result<BTreeSet<u32>> {
        let mut twice = BTreeSet::new();
        if mapped.is_empty() {
            return Ok(twice);
        }
        let reader = literature(self.session);
        let kinds = [
            DocumentKind::Text(Encoding::Utf8),
            DocumentKind::Text(Encoding::Latin1),
            DocumentKind::Literature,
        ];
        for (document, content) in known.documents.iter().zip(&known.contents) {
            let of_kind =
                |kind: DocumentKind| Document { blob: *content, kind, ..document.clone() };
            for kind in kinds {
                let id = self.id(of_kind(kind).key(&reader)?)?;
                if id.is_some_and(|id| mapped.contains(&id)) {
                    twice.extend(self.id(document.key(&reader)?)?);
                }
            }
        }
        Ok(twice)
    }

    /// Keeps a view for the next search.
    pub(super) fn put_view(&mut self, key: IndexKey, view: &View) -> Result<()> {
        let now = self.session.world.now().timestamp();
        let day = now.div_euclid(SECONDS_PER_DAY);
        let stored = self.index.put_view(key, view.as_bytes(), day);
        stored.map_err(unusable_index)
    }

    fn id(&self, key: IndexKey) -> Result<Option<u32>> {
        self.index.id(key).map_err(unusable_index)
    }

    /// Returns a view that was kept; `None` if there is none that can be read.
    pub(super) fn find_view(&self, key: IndexKey) -> Result<Option<View>> {
        let known = self.index.view(key).map_err(unusable_index)?;
        Ok(known.and_then(View::of_bytes))
    }

    fn make_view(
        &mut self,
        key: IndexKey,
        documents: &[Document],
        place: &Reading,
        name: &str,
    ) -> Result<View> {
        let reader = literature(self.session);
        for _ in 0..MAX_ATTEMPTS {
            let mut view = View::default();
            let mut missing = Vec::new();
            for document in documents {
                match self.find(document.key(&reader)?)? {
                    Some((id, stored)) => view.push(id, stored.lengths()),
                    None => missing.push(document),
                }
            }
            if missing.is_empty() {
                self.put_view(key, &view)?;
                return Ok(view);
            }
            let what = format!("index {name}");
            let work = Indexing {
                world: &self.session.world,
                reader: &reader,
                meter: FileMeter::begin(&self.session.world.progress, what),
            };
            let index = Mutex::new((&mut self.index, &mut self.added));
            let indexed = work.index(place, &missing, &|segment| {
                let mut index = unpoisoned(&index);
                // Documents that another process has added meanwhile are found by the next attempt.
                if index.0.add(&segment).map_err(unusable_index)? {
                    *index.1 += segment.documents.len();
                }
                Ok(())
            })?;
            if indexed == 0 {
                // The view is not stored: another search may find them readable.
                (self.session.world.narrate)(&format!(
                    "warning: not searched, as they cannot be read here: {}",
                    count(missing.len(), "document")
                ));
                return Ok(view);
            }
        }
        Err(keeps_changing())
    }

    /// Finds a document by its key.
    pub(super) fn find(&self, key: IndexKey) -> Result<Option<(u32, StoredDocument)>> {
        let document = self.index.find(key).map_err(unusable_index)?;
        document.map(|(id, bytes)| Ok((id, stored(&bytes)?))).transpose()
    }

    /// Returns a document by its number.
    pub(super) fn document(&self, id: u32) -> Result<StoredDocument> {
        let bytes = self.index.document(id).map_err(unusable_index)?;
        stored(&bytes.unwrap_or_default())
    }
}

/// Returns a reader of documents: the size of its chunks does not matter.
pub(super) fn literature(session: &Session) -> Literature<'_> {
    Literature::new(&session.world, ChunkSize::default(), Tokenizer::default())
}

fn stored(bytes: &[u8]) -> Result<StoredDocument> {
    let read = serde_json::from_slice(bytes);
    read.map_err(|_| unusable_index(Unusable::because("it is damaged")))
}

/// Makes the error for an index that cannot be used.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(super) fn unusable_index(error: Unusable) -> Error {
    if let Some(waited) = error.waited("the index of 'git colony search'") {
        return waited;
    }
    Error::new(Code::CacheUnusable, format!("cannot use the index of 'git colony search': {error}"))
        .hint(
            "git colony doctor   # shows where the cache is; its file 'search-1.db' may be deleted",
        )
}

/// Makes the error for an index that was never still.
pub(super) fn keeps_changing() -> Error {
    Error::new(Code::Locked, "other processes keep changing the index").unchanged()
}

/// Returns the key of the view of a scope.
fn view_key(scope: &ScopeRow) -> IndexKey {
    key_of(&format!("{} {:?}", scope.scope, view_state(scope)))
}

/// Returns all that the documents of a scope depend on, but its name.
fn view_state(scope: &ScopeRow) -> (&str, &[u8], [u64; 3]) {
    let totals = &scope.totals;
    let counts = [totals.pages, totals.records, totals.tokens];
    (&scope.revision, &scope.recipe, counts)
}

/// Returns the key of a view: a digest of all that its documents depend on.
pub(super) fn key_of(state: &str) -> IndexKey {
    digest(&[format!("{} {state}", index::VERSION).as_bytes()])
}

/// Returns the key of what these parts name.
pub(super) fn digest(parts: &[&[u8]]) -> IndexKey {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut key = IndexKey::default();
    hasher.finalize_xof().fill(&mut key);
    key
}
