//! The documents that are searched, with their texts, passages and pages.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use crate::map::pages::no_pages::NoPages;
use crate::map::pages::{self, Freshness, Opened};
use crate::map_rows::reading::Reading;
use crate::model::secret_forms::masked;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::listing::{Work, unusable};
use crate::page::mapping::read_pages;
use crate::page::pages::{Page, PageId};
use crate::search::index::postings::{IndexedPassage, WordBytes};
use crate::search::index::ranked::Ranked;
use crate::search::index::view::View;
use crate::search::index::{definitions, words};
use crate::source::globs::Globs;
use crate::source::literature::Literature;
use crate::store::Session;
use crate::store::cache::page_table::ScopeRow;
use crate::text::readers::Format;

use super::SearchedFiles;
use super::documents::StoredDocument;
use super::documents_of_answer::{Above, Collecting};
use super::first_question::{self, Partial, QuestionPages};
use super::indexing::{IndexKept, Indexer, literature};
use super::known_documents::{self, KnownDocuments};
use super::partly::{self, Wanted};
use super::question_ranks::HistoryOfScopes;
use super::uncommitted_files;

/// The maximum size of the texts that are kept, in bytes; beyond it they are read again.
const MAX_TEXTS: usize = 64 << 20;

/// The maximum number of different words whose definitions are looked for.
const MAX_USED_WORDS: usize = 20_000;

/// The documents that are searched.
pub(super) struct Searched<'a> {
    pub(super) session: &'a Session,
    pub(super) opened: Opened,
    pub(super) indexer: Indexer<'a>,
    /// The documents of each scope, in the order of `opened.scopes`, and those of the knowledge base.
    pub(super) views: Vec<Rc<View>>,
    pub(super) view: Rc<View>,
    pub(super) globs: Option<Globs>,
    pub(super) reader: Literature<'a>,
    /// The repositories of the views.
    pub(super) places: Vec<Reading>,
    documents: RefCell<HashMap<u32, Rc<StoredDocument>>>,
    /// Returns the texts of documents by their numbers, where they are not in a repository.
    given_texts: Option<&'a GivenTexts<'a>>,
    texts: RefCell<HashMap<u32, Rc<str>>>,
    /// The size of these texts, in bytes.
    texts_bytes: Cell<usize>,
    /// The pages of directories, by scope and path.
    pages: RefCell<HashMap<Directory, Rc<[Page]>>>,
    /// The histories of the scopes, as far as they were asked for.
    pub(super) histories: Vec<HistoryOfScopes>,
    /// The documents of this answer alone.
    pub(super) above: Above,
    /// Why only some files are searched, if that is so.
    pub(super) partial: Option<Partial>,
    /// Whether all uncommitted files are searched.
    pub(super) has_all_uncommitted: bool,
    pub(super) indexed: usize,
    pub(super) stale_scopes: Vec<String>,
    pub(super) nothing: Option<NoPages>,
}

/// Texts of documents, by their numbers in the index.
pub(super) type GivenTexts<'a> = dyn Fn(u32) -> Result<Rc<str>> + 'a;

/// A directory of a scope: the place of the scope in `opened.scopes`, and the path.
type Directory = (usize, RepoPath);

/// A passage that matches.
pub(super) struct Candidate {
    /// Its view: the scope, by its place in `opened.scopes`, else the knowledge base.
    pub(super) scope: usize,
    /// The number of its document in the index.
    pub(super) id: u32,
    pub(super) document: Rc<StoredDocument>,
    pub(super) passage: IndexedPassage,
    /// The tokens of the passage.
    pub(super) tokens: usize,
    pub(super) score: f32,
}

/// Opens the documents to search, and adds to the index those that it does not have.
pub(super) fn open<'a>(
    session: &'a Session,
    files: &SearchedFiles,
    kept: IndexKept,
    wanted: Wanted<'_>,
) -> Result<Searched<'a>> {
    let globs = globs_of(files)?;
    let mut indexer = match kept {
        IndexKept::OnDisk => Indexer::open(session)?,
        IndexKept::InMemory => Indexer::in_memory(session)?,
    };
    let QuestionPages { mut opened, nothing, partial } = match wanted {
        Wanted::Index => first_question::open_whole(session, files)?,
        _ => first_question::open(session, files, &indexer)?,
    };
    if !files.has_pages() {
        opened.scopes.clear();
    }
    let data_type = files.data_type.as_deref();
    let known =
        files.has_knowledge().then(|| known_documents::list(session, data_type)).transpose()?;
    let has_known = known.as_ref().is_some_and(|known| !known.documents.is_empty());
    let mut views = views_of(&mut indexer, &opened, known.as_ref())?;
    if kept == IndexKept::OnDisk && indexer.is_overgrown(&views)? {
        // Most of it is of files that nobody has any more.
        indexer = Indexer::recreate(session)?;
        views = views_of(&mut indexer, &opened, known.as_ref())?;
    }
    let of_head = uncommitted_files::scopes_of_head(session, &opened)?;
    let uncommitted = uncommitted_files::of_question(session, files, &of_head, partial)?;
    let has_all_uncommitted = uncommitted.are_all();
    let collecting = match partial {
        Some(_) => partly::collect(session, wanted, globs.as_ref(), &uncommitted.replaced)?,
        None => Collecting::default(),
    };
    let of_head = of_head
        .iter()
        .zip(views.iter_mut())
        .filter_map(|(scope, view)| scope.as_ref().map(|_| view));
    let above = uncommitted_files::put_above(&indexer, collecting, uncommitted, of_head)?;
    views.push(Rc::new(above.view()));
    let scopes = opened.scopes.iter().map(|scope| scope.place.as_deref());
    let others = known.as_ref().map(|_| None).into_iter().chain([None]);
    let all = scopes.chain(others);
    let places = all.map(|place| Reading::of(session, place)).collect::<Result<_>>()?;
    Ok(Searched {
        stale_scopes: Freshness::of(session).stale(&opened.scopes),
        globs,
        above,
        partial,
        has_all_uncommitted,
        nothing: nothing.filter(|_| !has_known && files.has_pages()),
        ..Searched::of(indexer, opened, views, places)
    })
}

fn globs_of(files: &SearchedFiles) -> Result<Option<Globs>> {
    let globs = (!files.globs.is_empty()).then(|| Globs::parse(&files.globs)).transpose();
    globs.map_err(|fault| {
        let glob = files.globs.get(fault.index).map(String::as_str).unwrap_or_default();
        Error::new(Code::InvalidValue, format!("'{glob}' {}", fault.message)).unchanged()
    })
}

/// Returns the view of each scope, and that of the knowledge base.
fn views_of(
    indexer: &mut Indexer<'_>,
    opened: &Opened,
    known: Option<&KnownDocuments>,
) -> Result<Vec<Rc<View>>> {
    let view = |scope: &ScopeRow| indexer.view(&opened.table, scope).map(Rc::new);
    let mut views: Vec<Rc<View>> = opened.scopes.iter().map(view).collect::<Result<_>>()?;
    if let Some(known) = known {
        let mut view = indexer.view_of_knowledge(known)?;
        if !view.is_empty() {
            let documents = views.iter().flat_map(|view| view.documents());
            let mapped = documents.map(|document| document.id).collect();
            view.remove(&indexer.mapped_as_well(known, &mapped)?);
        }
        views.push(Rc::new(view));
    }
    Ok(views)
}

impl<'a> Searched<'a> {
    /// Opens documents of the index that need not be mapped, with the texts that they have now.
    pub(super) fn of_files(
        indexer: Indexer<'a>,
        view: View,
        texts: &'a GivenTexts<'a>,
    ) -> Result<Searched<'a>> {
        let (mut opened, _) = pages::open_wanted(indexer.session, None, Work::Committed)?;
        opened.scopes.clear();
        let places = vec![Reading::of(indexer.session, None)?];
        let searched = Searched::of(indexer, opened, vec![Rc::new(view)], places);
        Ok(Searched { given_texts: Some(texts), ..searched })
    }

    fn of(
        indexer: Indexer<'a>,
        opened: Opened,
        views: Vec<Rc<View>>,
        places: Vec<Reading>,
    ) -> Searched<'a> {
        Searched {
            session: indexer.session,
            opened,
            indexed: indexer.added,
            reader: literature(indexer.session),
            indexer,
            view: View::join(&views),
            views,
            globs: None,
            places,
            documents: RefCell::default(),
            given_texts: None,
            texts: RefCell::default(),
            texts_bytes: Cell::default(),
            pages: RefCell::default(),
            histories: Vec::new(),
            above: Above::default(),
            partial: None,
            has_all_uncommitted: true,
            stale_scopes: Vec::new(),
            nothing: None,
        }
    }
}

impl Searched<'_> {
    /// Ranks the passages that define what documents use, the best first; those of the documents themselves are left
    /// out.
    pub(super) fn definitions(&self, documents: &BTreeSet<usize>) -> Result<Vec<Ranked>> {
        let mut used = BTreeSet::new();
        for &document in documents {
            self.session.world.interrupt.check()?;
            let first = Ranked { document, passage: 0, score: 0.0 };
            let text = self.text(&self.candidate(&first)?)?;
            words::each_word(&text, |word| {
                let is_new = !word.is_stop_word() && !used.contains(word.stem);
                if is_new && used.len() < MAX_USED_WORDS {
                    used.insert(word.stem.to_owned());
                }
            });
        }
        let find = |word: &str| self.places(word);
        let mut ranked = definitions::rank(&self.view, &used, find)?;
        ranked.retain(|passage| !documents.contains(&passage.document));
        let mut of_code = Vec::new();
        for passage in ranked {
            // A title of prose that has a word defines nothing that code uses.
            let candidate = self.candidate(&passage)?;
            if Format::of_knowledge(&candidate.document.document.path) == Some(Format::Code) {
                of_code.push(passage);
            }
        }
        Ok(of_code)
    }

    pub(super) fn places(&self, word: &str) -> Result<Vec<WordBytes>> {
        let mut places = self.indexer.places(word)?;
        self.above.add_places(word, &mut places);
        Ok(places)
    }

    /// Returns the positions of all documents in the view, in their order.
    pub(super) fn all_documents(&self) -> impl Iterator<Item = usize> {
        self.view.positions()
    }

    /// Returns the number of passages of a document, by its position in the view.
    pub(super) fn passage_count(&self, document: usize) -> usize {
        let viewed = self.view.document(document);
        viewed.map_or(0, |document| document.passages as usize)
    }

    /// Returns the positions of the documents at or below a path.
    pub(super) fn documents_below(&self, path: &RepoPath) -> Result<Vec<usize>> {
        let mut positions = Vec::new();
        for position in self.view.positions() {
            self.session.world.interrupt.check()?;
            let document = self.document(self.id_of(position))?;
            if document.document.path.is_at_or_below(path) {
                positions.push(position);
            }
        }
        Ok(positions)
    }

    /// Returns the pages that have a document, each with its scope.
    pub(super) fn pages_of(&self, document: usize) -> Result<BTreeSet<(usize, PageId)>> {
        let mut pages = BTreeSet::new();
        for passage in 0..self.passage_count(document) {
            let ranked = Ranked { document, passage, score: 0.0 };
            let candidate = self.candidate(&ranked)?;
            let text = self.text(&candidate)?;
            let page = self.page_with(&candidate, &text, candidate.passage.range().start)?;
            pages.extend(page.map(|page| (candidate.scope, page)));
        }
        Ok(pages)
    }

    /// Returns a ranked passage with its document.
    pub(super) fn candidate(&self, ranked: &Ranked) -> Result<Candidate> {
        let id = self.id_of(ranked.document);
        let document = self.document(id)?;
        let has = |view: &Rc<View>| view.position(id).is_some();
        Ok(Candidate {
            scope: self.views.iter().position(has).unwrap_or_default(),
            id,
            passage: document.passage(ranked.passage).unwrap_or(IndexedPassage {
                start: 0,
                end: 0,
                first_line: 1,
                length: 0,
            }),
            tokens: document.tokens(ranked.passage),
            document,
            score: ranked.score,
        })
    }

    /// Returns the text of the document of a candidate.
    pub(super) fn text(&self, candidate: &Candidate) -> Result<Rc<str>> {
        if let Some(text_of) = self.given_texts {
            return text_of(candidate.id);
        }
        let known = self.above.text(candidate.id);
        if let Some(text) = known.or_else(|| self.texts.borrow().get(&candidate.id).cloned()) {
            return Ok(text);
        }
        let Some(place) = self.places.get(candidate.scope) else {
            return Ok("".into());
        };
        let library = place.library();
        let document = &candidate.document.document;
        let text: Rc<str> = document.text_if_any(&library, &self.reader)?.into();
        let mut texts = self.texts.borrow_mut();
        let bytes = self.texts_bytes.get() + text.len();
        if bytes > MAX_TEXTS {
            texts.clear();
            self.texts_bytes.set(0);
        } else {
            self.texts_bytes.set(bytes);
            texts.insert(candidate.id, Rc::clone(&text));
        }
        Ok(text)
    }

    /// Returns the same as it is shown: without keys and tokens, whose bytes are replaced.
    pub(super) fn shown_text(&self, candidate: &Candidate) -> Result<Rc<str>> {
        let text = self.text(candidate)?;
        Ok(match masked(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => masked.into(),
        })
    }

    /// Returns the pages of the directory of a candidate.
    pub(super) fn pages_beside(&self, candidate: &Candidate) -> Result<Rc<[Page]>> {
        let folder = candidate.document.document.path.parent().unwrap_or_default();
        let key = (candidate.scope, folder);
        if let Some(pages) = self.pages.borrow().get(&key) {
            return Ok(Rc::clone(pages));
        }
        let row = match self.opened.scopes.get(candidate.scope) {
            Some(scope) => self.opened.table.directory(scope, &key.1).map_err(unusable)?,
            None => None,
        };
        let pages: Rc<[Page]> = row.map_or(Ok(Vec::new()), |row| read_pages(&row))?.into();
        self.pages.borrow_mut().insert(key, Rc::clone(&pages));
        Ok(pages)
    }

    /// Returns the number in the index of a document of the view.
    pub(super) fn id_of(&self, position: usize) -> u32 {
        let viewed = self.view.document(position);
        viewed.map_or(u32::MAX, |document| document.id)
    }

    pub(super) fn document(&self, id: u32) -> Result<Rc<StoredDocument>> {
        if let Some(document) = self.documents.borrow().get(&id) {
            return Ok(Rc::clone(document));
        }
        let document = match self.above.document(id) {
            Some(document) => document,
            None => Rc::new(self.indexer.document(id)?),
        };
        self.documents.borrow_mut().insert(id, Rc::clone(&document));
        Ok(document)
    }
}
