//! Documents of one answer, above those of the index: their words and texts are in memory, and nothing of them is kept.

use std::collections::HashMap;
use std::rc::Rc;

use crate::search::index::postings::{Segment, WordBytes};
use crate::search::index::view::View;

use super::documents::{Document, StoredDocument};

/// The documents, numbered from `base` on. The index may have documents with these numbers by now, which were added
/// after it was looked at: no view has them.
#[derive(Default)]
pub(super) struct Above {
    base: u32,
    documents: Vec<(Rc<StoredDocument>, Rc<str>)>,
    words: HashMap<Box<str>, Vec<u8>>,
    /// The number of the first documents, whose files are as they are committed.
    committed: usize,
}

/// Documents while they are collected: the committed ones first.
#[derive(Default)]
pub(super) struct Collecting {
    segment: Segment,
    documents: Vec<(Rc<StoredDocument>, Rc<str>)>,
    committed: usize,
}

/// Whether a file is as HEAD has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    Committed,
    Uncommitted,
}

impl Collecting {
    /// Adds a document; no committed one after one that is not.
    pub(super) fn add(&mut self, document: Document, text: String, state: FileState) {
        let passages = self.segment.add(&document.path.to_string(), &text);
        let stored = StoredDocument::new(document, &passages, &text);
        self.documents.push((Rc::new(stored), text.into()));
        self.committed += usize::from(state == FileState::Committed);
    }

    /// Numbers the documents from `base` on.
    pub(super) fn above(self, base: u32) -> Above {
        Above {
            base,
            documents: self.documents,
            words: self.segment.into_words().into_iter().collect(),
            committed: self.committed,
        }
    }
}

impl Above {
    /// Returns the view of the documents.
    pub(super) fn view(&self) -> View {
        let mut view = View::default();
        for (id, (document, _)) in (self.base..).zip(&self.documents) {
            view.push(id, document.lengths());
        }
        view
    }

    /// Returns a document by its number.
    pub(super) fn document(&self, id: u32) -> Option<Rc<StoredDocument>> {
        self.get(id).map(|(document, _)| Rc::clone(document))
    }

    /// Returns the text of a document.
    pub(super) fn text(&self, id: u32) -> Option<Rc<str>> {
        self.get(id).map(|(_, text)| Rc::clone(text))
    }

    /// Returns `true` if a document is of a file that is not committed as it is.
    pub(super) fn is_uncommitted(&self, id: u32) -> bool {
        let number = id.checked_sub(self.base).map(|number| number as usize);
        number.is_some_and(|number| number >= self.committed && number < self.documents.len())
    }

    /// Adds the places of a word to those of the index.
    pub(super) fn add_places(&self, word: &str, places: &mut Vec<WordBytes>) {
        if self.documents.is_empty() {
            return;
        }
        places.retain(|place| place.base < self.base);
        let own = self.words.get(word);
        places.extend(own.map(|bytes| WordBytes { base: self.base, bytes: bytes.clone() }));
    }

    fn get(&self, id: u32) -> Option<&(Rc<StoredDocument>, Rc<str>)> {
        self.documents.get(id.checked_sub(self.base)? as usize)
    }
}
