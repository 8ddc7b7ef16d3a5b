//! The documents that a search is about: those of some scopes as they are mapped.
//!
//! The index also has documents of other branches and earlier commits. Ranks are counted over the view alone, so that
//! an answer depends on the mapped files and on nothing else.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::postings::{Numbers, write};

/// The greatest number of a document: ranks are counted in a table of all numbers.
const MAX_ID: u32 = 1 << 26;

/// A document of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewedDocument {
    /// Its number in the index.
    pub id: u32,
    /// The number of the first of its passages in the view.
    pub first: u32,
    /// The number of its passages.
    pub passages: u32,
}

/// The documents of a search, in the order of their paths, and the lengths of their passages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The documents.
    pub documents: Vec<ViewedDocument>,
    /// The lengths of all passages: the numbers of their words.
    pub lengths: Vec<u32>,
}

impl View {
    /// Adds a document with the lengths of its passages.
    pub fn push(&mut self, id: u32, lengths: &[u32]) {
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        self.documents.push(ViewedDocument {
            id,
            first: small(self.lengths.len()),
            passages: small(lengths.len()),
        });
        self.lengths.extend(lengths);
    }

    /// Removes documents.
    pub fn remove(&mut self, ids: &BTreeSet<u32>) {
        if !ids.is_empty() {
            let whole = std::mem::take(self);
            for document in whole.documents.iter().filter(|it| !ids.contains(&it.id)) {
                self.push(document.id, whole.lengths_of(document));
            }
        }
    }

    /// Joins views. A document that is in several counts once, where it is first.
    pub fn join(views: &[Rc<View>]) -> Rc<View> {
        let mut filled = views.iter().filter(|view| !view.documents.is_empty());
        if let (Some(only), None) = (filled.next(), filled.next()) {
            return Rc::clone(only);
        }
        let mut joined = View::default();
        let mut seen = BTreeSet::new();
        for view in views {
            for document in &view.documents {
                if seen.insert(document.id) {
                    joined.push(document.id, view.lengths_of(document));
                }
            }
        }
        Rc::new(joined)
    }

    /// Returns the lengths of the passages of a document.
    pub fn lengths_of(&self, document: &ViewedDocument) -> &[u32] {
        let first = document.first as usize;
        self.lengths
            .get(first..first + document.passages as usize)
            .unwrap_or_default()
    }

    /// Returns the view in bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for document in &self.documents {
            write(&mut bytes, document.id);
            write(&mut bytes, document.passages);
            for &length in self.lengths_of(document) {
                write(&mut bytes, length);
            }
        }
        bytes
    }

    /// Reads a view; `None` for damaged bytes.
    pub fn read(bytes: &[u8]) -> Option<View> {
        let mut numbers = Numbers(bytes);
        let mut view = View::default();
        let mut lengths = Vec::new();
        while let Some(id) = numbers.next() {
            if id > MAX_ID {
                return None;
            }
            lengths.clear();
            for _ in 0..numbers.next()? {
                lengths.push(numbers.next()?);
            }
            view.push(id, &lengths);
        }
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_read_as_it_was_written() {
        let mut view = View::default();
        view.push(7, &[3, 300]);
        view.push(2, &[]);
        view.push(900, &[1]);
        let bytes = view.to_bytes();
        assert_eq!(View::read(&bytes), Some(view));
        assert_eq!(View::read(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_document_of_two_views_counts_once() {
        let (mut one, mut other) = (View::default(), View::default());
        one.push(1, &[10]);
        one.push(2, &[20]);
        other.push(2, &[20]);
        other.push(3, &[30]);
        let joined = View::join(&[Rc::new(one), Rc::new(other)]);
        let ids: Vec<u32> = joined.documents.iter().map(|it| it.id).collect();
        assert_eq!(
            (ids, joined.lengths.clone()),
            (vec![1, 2, 3], vec![10, 20, 30])
        );
    }
}
