//! The documents that a search is about: those of some scopes as they are mapped.
//!
//! The index also has documents of other branches and earlier commits. Ranks are counted over the view alone, so that
//! an answer depends on the mapped files and on nothing else.
//!
//! A view is used in the form in which it is stored: for each document its number, the number of its passages, and
//! their lengths. A document is known by its position there, so that most of a large view is read once.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::numbers::{Numbers, write};

/// The greatest number of a document: a table has all numbers.
const MAX_ID: u32 = 1 << 26;

/// A document of a view.
#[derive(Clone)]
pub struct ViewedDocument<'a> {
    /// Its number in the index.
    pub id: u32,
    /// The number of its passages.
    pub passages: u32,
    lengths: Numbers<'a>,
}

impl ViewedDocument<'_> {
    /// Returns the lengths of its passages: the numbers of their words.
    #[inline]
    pub fn lengths(&self) -> impl Iterator<Item = u32> {
        self.lengths.clone().take(self.passages as usize)
    }
}

/// The documents of a search, in the order of their paths, and the lengths of their passages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    bytes: Vec<u8>,
    /// The positions of the documents, plus one, by their numbers in the index; 0 for others.
    positions: Vec<u32>,
    documents: usize,
    passages: usize,
    /// The sum of the lengths.
    words: u64,
}

impl View {
    /// Adds a document with the lengths of its passages.
    pub fn push(&mut self, id: u32, lengths: impl ExactSizeIterator<Item = u32>) {
        let position = self.bytes.len();
        write(&mut self.bytes, id);
        let passages = u32::try_from(lengths.len()).unwrap_or(u32::MAX);
        write(&mut self.bytes, passages);
        for length in lengths.take(passages as usize) {
            write(&mut self.bytes, length);
            self.words += u64::from(length);
        }
        self.note(id, passages, position);
    }

    /// Adds the documents of another view that this one does not have, as long as there are fewer than `most`.
    pub fn extend(&mut self, other: &View, most: usize) {
        for document in other.documents() {
            if self.documents >= most {
                break;
            }
            if self.position(document.id).is_none() {
                self.copy(&document);
            }
        }
    }

    /// Removes documents. Their bytes stay.
    pub fn remove(&mut self, ids: &BTreeSet<u32>) {
        for &id in ids {
            let Some(position) = self.position(id) else { continue };
            let Some(document) = self.document(position) else { continue };
            let (passages, words) =
                (document.passages, document.lengths().map(u64::from).sum::<u64>());
            self.documents -= 1;
            self.passages -= passages as usize;
            self.words -= words;
            if let Some(noted) = self.positions.get_mut(id as usize) {
                *noted = 0;
            }
        }
    }

    /// Joins views. A document that is in several counts once, where it is first.
    pub fn join(views: &[Rc<View>]) -> Rc<View> {
        let mut filled = views.iter().filter(|view| !view.is_empty());
        let first = filled.next();
        let mut filled = filled.peekable();
        if let (Some(only), None) = (first, filled.peek()) {
            return Rc::clone(only);
        }
        let mut joined = first.map(|first| View::clone(first)).unwrap_or_default();
        for document in filled.flat_map(|view| view.documents()) {
            if joined.position(document.id).is_none() {
                joined.copy(&document);
            }
        }
        Rc::new(joined)
    }

    /// Returns `true` if there is no document.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Returns the number of documents.
    pub fn document_count(&self) -> usize {
        self.documents
    }

    /// Returns the number of passages.
    pub fn passage_count(&self) -> usize {
        self.passages
    }

    /// Returns the number of words.
    pub fn word_count(&self) -> u64 {
        self.words
    }

    /// Returns the position of a document by its number in the index; `None` for one of another view. Positions are in
    /// the order of the documents.
    #[inline]
    pub fn position(&self, id: u32) -> Option<usize> {
        let position = self.positions.get(id as usize).copied();
        position.and_then(|one_based| one_based.checked_sub(1)).map(|offset| offset as usize)
    }

    /// Returns the document at a position.
    #[inline]
    pub fn document(&self, position: usize) -> Option<ViewedDocument<'_>> {
        let mut numbers = Numbers(self.bytes.get(position..)?);
        Some(ViewedDocument { id: numbers.next()?, passages: numbers.next()?, lengths: numbers })
    }

    /// Returns the positions of the documents, in order.
    pub fn positions(&self) -> impl Iterator<Item = usize> {
        let mut next = 0;
        std::iter::from_fn(move || {
            loop {
                let position = next;
                let mut document = self.document(position)?;
                for _ in 0..document.passages {
                    document.lengths.next()?;
                }
                next = self.bytes.len() - document.lengths.0.len();
                // A document that was removed has no position any more.
                if self.position(document.id) == Some(position) {
                    return Some(position);
                }
            }
        })
    }

    /// Returns the documents, in order.
    pub fn documents(&self) -> impl Iterator<Item = ViewedDocument<'_>> {
        self.positions().filter_map(|position| self.document(position))
    }

    /// Returns the view in bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes a view of its bytes; `None` for damaged ones.
    pub fn of_bytes(bytes: Vec<u8>) -> Option<View> {
        let mut view = View::default();
        let mut numbers = Numbers(&bytes);
        let mut position = 0;
        while let Some(id) = numbers.next() {
            if id > MAX_ID {
                return None;
            }
            let passages = numbers.next()?;
            for _ in 0..passages {
                view.words += u64::from(numbers.next()?);
            }
            view.note(id, passages, position);
            position = bytes.len() - numbers.0.len();
        }
        view.bytes = bytes;
        Some(view)
    }

    fn copy(&mut self, document: &ViewedDocument<'_>) {
        let lengths: Vec<u32> = document.lengths().collect();
        self.push(document.id, lengths.into_iter());
    }

    /// Counts a document, and notes its position.
    #[inline]
    fn note(&mut self, id: u32, passages: u32, position: usize) {
        self.documents += 1;
        self.passages += passages as usize;
        let at = id as usize;
        if at >= self.positions.len() {
            self.positions.resize((at + 1).next_multiple_of(1 << 10), 0);
        }
        if let (Some(noted), Ok(position)) =
            (self.positions.get_mut(at), u32::try_from(position.saturating_add(1)))
        {
            *noted = position;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(documents: &[(u32, &[u32])]) -> View {
        let mut view = View::default();
        for (id, lengths) in documents {
            view.push(*id, lengths.iter().copied());
        }
        view
    }

    fn listed(view: &View) -> Vec<(u32, Vec<u32>)> {
        let listed = |document: ViewedDocument<'_>| (document.id, document.lengths().collect());
        view.documents().map(listed).collect()
    }

    #[test]
    fn a_view_is_read_as_it_was_written() {
        let view = view(&[(7, &[3, 300]), (2, &[]), (900, &[1])]);
        let bytes = view.as_bytes().to_vec();
        assert_eq!(View::of_bytes(bytes[..bytes.len() - 1].to_vec()), None);
        assert_eq!(View::of_bytes(bytes), Some(view.clone()));
        assert_eq!((view.document_count(), view.passage_count(), view.word_count()), (3, 3, 304));
        let document = view.position(900).and_then(|at| view.document(at));
        assert_eq!(document.map(|document| document.id), Some(900));
        assert_eq!((view.position(3), view.position(901)), (None, None));
    }

    #[test]
    fn a_document_of_two_views_counts_once() {
        let first = view(&[(1, &[10]), (2, &[20])]);
        let second = view(&[(2, &[20]), (3, &[30])]);
        let joined = View::join(&[Rc::new(first), Rc::new(second)]);
        let wanted = [(1, vec![10]), (2, vec![20]), (3, vec![30])];
        assert_eq!(listed(&joined), wanted);
    }

    #[test]
    fn documents_are_removed() {
        let mut view = view(&[(1, &[10]), (5, &[20, 30]), (3, &[])]);
        view.remove(&BTreeSet::from([1]));
        assert_eq!(listed(&view), [(5, vec![20, 30]), (3, vec![])]);
        assert_eq!(view.position(1), None);
    }
}
