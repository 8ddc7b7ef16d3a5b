//! Where the words of some documents occur: a segment of the index, and its form in bytes.
//!
//! The bytes of a word are, for each document that has it, in order: the distance from the document before, the number
//! of passages, and for each of these the distance from the passage before and the number of times that the word is in
//! it, doubled, plus one if it is in a heading or definition. All numbers have a variable length. Documents are
//! numbered from 0 within a segment.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::headings::is_heading;
use super::numbers::{Numbers, write};
use super::{defined_names, passages, words};

/// Begins the words of paths. No word of a text begins so.
pub const PATH_MARK: char = '/';

/// Begins the word of a passage that defines a name: `:mergebase` for `fn merge_base()`.
pub const NAME_MARK: char = ':';

/// Begins the whole path of a document, which is a word of it.
pub const WHOLE_PATH_MARK: char = '=';

/// A passage of a document, as the index has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedPassage {
    /// Its start in the text, in bytes.
    pub start: u32,
    /// Its end.
    pub end: u32,
    /// The number of its first line, from 1.
    pub first_line: u32,
    /// The number of its words.
    pub length: u32,
}

impl IndexedPassage {
    /// Returns its bytes in the text.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Cuts a text into passages, whose words are not counted. A file without text has an empty one: it is found by its name.
pub fn cut(text: &str) -> Vec<IndexedPassage> {
    let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let passage = |range: Range<usize>, first_line| IndexedPassage {
        start: small(range.start),
        end: small(range.end),
        first_line: small(first_line),
        length: 0,
    };
    let passages_cut = passages::cut(text).into_iter();
    let mut cut: Vec<_> =
        passages_cut.map(|piece| passage(piece.range, piece.first_line)).collect();
    if cut.is_empty() {
        cut.push(passage(0..0, 1));
    }
    cut
}

/// The words of some documents.
#[derive(Default)]
pub struct Segment {
    words: HashMap<Box<str>, Word>,
    documents: u32,
    /// The words of the passage at hand.
    counts: HashMap<Box<str>, u32>,
    /// The only words that are noted; all if there is none.
    only: Option<HashSet<Box<str>>>,
}

/// A word of a segment.
#[derive(Default)]
struct Word {
    bytes: Vec<u8>,
    /// The document and passage at the end of the bytes.
    document: u32,
    passages: u32,
    passage: u32,
    /// The passages of that document.
    tail: Vec<u8>,
}

impl Segment {
    /// Returns one for a query, which notes only some words.
    pub fn of_words<'a>(words: impl Iterator<Item = &'a str>) -> Segment {
        Segment { only: Some(words.map(Box::from).collect()), ..Segment::default() }
    }

    /// Adds a document by its path, or another name, and returns its passages.
    pub fn add(&mut self, name: &str, text: &str) -> Vec<IndexedPassage> {
        let whole = (!name.is_empty()).then(|| format!("{WHOLE_PATH_MARK}{name}"));
        self.add_with(name, text, whole.into_iter())
    }

    /// Does the same for a document with marked words besides those of its text.
    pub fn add_with(
        &mut self,
        name: &str,
        text: &str,
        marked: impl Iterator<Item = String>,
    ) -> Vec<IndexedPassage> {
        let mut indexed = Vec::new();
        for (number, passage) in cut(text).into_iter().enumerate() {
            let body = text.get(passage.range());
            let length = self.count(body.expect("passages begin and end at characters"));
            self.flush(number);
            indexed.push(IndexedPassage { length, ..passage });
        }
        let (counts, only) = (&mut self.counts, &self.only);
        words::each(name, |word| {
            if only.as_ref().is_some_and(|only| !only.contains(word)) {
                return;
            }
            let word = format!("{PATH_MARK}{word}");
            *counts.entry(word.into_boxed_str()).or_default() += 2;
        });
        if only.is_none() {
            counts.extend(marked.map(|word| (word.into_boxed_str(), 2)));
        }
        self.flush(0);
        self.documents += 1;
        indexed
    }

    /// Returns the words in order, each with its bytes.
    pub fn into_words(self) -> Vec<(Box<str>, Vec<u8>)> {
        let whole = |(word, mut occurrences): (Box<str>, Word)| {
            occurrences.close();
            (word, occurrences.bytes)
        };
        let mut words: Vec<_> = self.words.into_iter().map(whole).collect();
        words.sort_unstable_by(|word, other| word.0.cmp(&other.0));
        words
    }

    /// Counts the words of a passage; returns their number.
    fn count(&mut self, text: &str) -> u32 {
        let (counts, only) = (&mut self.counts, &self.only);
        let mut length = 0;
        let mut add = |text: &str, mark: u32| {
            words::each(text, |word| {
                length += 1;
                if only.as_ref().is_some_and(|only| !only.contains(word)) {
                    return;
                }
                match counts.get_mut(word) {
                    Some(count) => *count = (*count + 2) | mark,
                    None => drop(counts.insert(word.into(), 2 | mark)),
                }
            });
        };
        for line in text.split_inclusive('\n') {
            add(line, u32::from(is_heading(line)));
        }
        let names = defined_names::within(text, 0..text.len());
        // The whole of a name comes after its parts.
        let whole = names.filter_map(|definition| words::of(definition.name).pop());
        for name in
            whole.filter(|name| only.as_ref().is_none_or(|only| only.contains(name.as_str())))
        {
            *counts.entry(format!("{NAME_MARK}{name}").into_boxed_str()).or_default() += 2;
        }
        length
    }

    /// Moves the counts to their words.
    fn flush(&mut self, passage: usize) {
        let passage = u32::try_from(passage).unwrap_or(u32::MAX);
        for (word, mark) in self.counts.drain() {
            let entry = self.words.entry(word).or_default();
            entry.add(self.documents, passage, mark);
        }
    }
}

impl Word {
    fn add(&mut self, document: u32, passage: u32, mark: u32) {
        let is_same = self.passages > 0 && self.document == document;
        if !is_same {
            self.close();
            // The distance is counted from the document before, the first from 0.
            write(&mut self.bytes, document - self.document);
            self.document = document;
            self.passage = 0;
        }
        write(&mut self.tail, passage - self.passage);
        write(&mut self.tail, mark);
        self.passage = passage;
        self.passages += 1;
    }

    /// Completes the document at the end.
    fn close(&mut self) {
        if self.passages > 0 {
            write(&mut self.bytes, self.passages);
            self.bytes.append(&mut self.tail);
            self.passages = 0;
        }
    }
}

/// The bytes of a word in one segment of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordBytes {
    /// The number of the first document of the segment.
    pub base: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A walk through the passages that have a word, in the order of their documents' numbers. Damaged bytes end early.
#[derive(Clone)]
pub struct Postings<'a> {
    segments: std::slice::Iter<'a, WordBytes>,
    numbers: Numbers<'a>,
    /// The document at hand, by its number in the index.
    pub document: u32,
    /// The passage at hand, by its number within the document.
    pub passage: u32,
    /// The number of times that it has the word, doubled, plus one if that is in a heading or definition.
    mark: u32,
    /// The number of further passages of the document.
    further: u32,
}

impl<'a> Postings<'a> {
    /// Stands for the document after the last one.
    pub const END: u32 = u32::MAX;

    /// Begins with the first passage. The segments are in the order of their documents.
    pub fn of(segments: &'a [WordBytes]) -> Postings<'a> {
        let mut postings = Postings {
            segments: segments.iter(),
            numbers: Numbers(&[]),
            document: 0,
            passage: 0,
            mark: 0,
            further: 0,
        };
        postings.next_document();
        postings
    }

    /// Returns the number of times that the passage at hand has the word.
    #[inline]
    pub fn count(&self) -> u32 {
        self.mark >> 1
    }

    /// Returns `true` if the passage at hand has the word in a heading or definition.
    #[inline]
    pub fn is_heading(&self) -> bool {
        self.mark & 1 == 1
    }

    /// Returns the number of passages of the document that have the word, from the one at hand on.
    #[inline]
    pub fn passages(&self) -> usize {
        self.further as usize + 1
    }

    /// Moves to the next passage of the document; returns `false` if there is none.
    #[inline]
    pub fn next_passage(&mut self) -> bool {
        self.further > 0 && self.read_passage()
    }

    /// Moves to the next document.
    #[inline]
    pub fn next_document(&mut self) {
        // Most documents have a word in one passage, and most numbers are small.
        if self.further == 0
            && let [distance, 1, passage, mark, rest @ ..] = self.numbers.0
            && (distance | passage | mark) < 0x80
        {
            self.document = self.document.saturating_add(u32::from(*distance));
            self.passage = u32::from(*passage);
            self.mark = u32::from(*mark);
            self.numbers = Numbers(rest);
        } else {
            self.read_document();
        }
    }

    /// Moves to a document, or to the one after it if that does not have the word.
    pub fn seek(&mut self, document: u32) {
        while self.document < document {
            self.next_document();
        }
    }

    #[inline(never)]
    fn read_document(&mut self) {
        while self.next_passage() {}
        loop {
            let document = self.numbers.next().zip(self.numbers.next());
            if let Some((distance, passages)) = document {
                self.document = self.document.saturating_add(distance);
                self.passage = 0;
                self.further = passages;
                if self.next_passage() {
                    return;
                }
            } else if let Some(segment) = self.segments.next() {
                self.numbers = Numbers(&segment.bytes);
                self.document = segment.base;
            } else {
                self.document = Self::END;
                return;
            }
        }
    }

    #[inline(never)]
    fn read_passage(&mut self) -> bool {
        let passage = self.numbers.next().zip(self.numbers.next());
        // Damaged bytes may promise far more than there are.
        self.further = passage.map_or(0, |_| self.further - 1);
        if let Some((distance, mark)) = passage {
            self.passage = self.passage.saturating_add(distance);
            self.mark = mark;
        }
        passage.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn postings(segment: Segment, wanted: &str) -> Vec<(u32, u32, u32, bool)> {
        let mut all = Vec::new();
        for (word, bytes) in segment.into_words() {
            if &*word == wanted {
                let segments = [WordBytes { base: 0, bytes }];
                let mut postings = Postings::of(&segments);
                while postings.document != Postings::END {
                    let (count, is_heading) = (postings.count(), postings.is_heading());
                    all.push((postings.document, postings.passage, count, is_heading));
                    if !postings.next_passage() {
                        postings.next_document();
                    }
                }
            }
        }
        all
    }

    #[test]
    fn a_word_is_found_in_each_document_that_has_it() {
        let mut segment = Segment::default();
        for (name, text) in [
            ("src/a.rs", "fn undo() {}\n\nundo();\n"),
            ("src/b.rs", "nothing\n"),
            ("undo.md", ""),
            ("src/c.rs", "an undo\n"),
        ] {
            segment.add(name, text);
        }
        assert_eq!(postings(segment, "undo"), [(0, 0, 2, true), (3, 0, 1, false)]);
    }

    #[test]
    fn a_walk_skips_passages_and_documents() {
        let numbers: &[u32] = &[3, 2, 0, 2, 200, 7, 1, 1, 4, 600];
        let mut first = Vec::new();
        for &number in numbers {
            write(&mut first, number);
        }
        let segment = |base, bytes: &[u8]| WordBytes { base, bytes: bytes.to_vec() };
        let segments = [segment(0, &first), segment(50, &[0, 1, 0, 2])];
        let mut postings = Postings::of(&segments);
        assert_eq!((postings.document, postings.passages()), (3, 2));
        assert!(postings.next_passage() && !postings.clone().next_passage());
        assert_eq!((postings.passage, postings.count()), (200, 3));
        assert!(postings.is_heading());
        let mut skipping = Postings::of(&segments);
        skipping.next_document();
        assert_eq!((skipping.document, skipping.count()), (4, 300));
        skipping.seek(50);
        assert_eq!((skipping.document, skipping.passages()), (50, 1));
        skipping.seek(51);
        assert_eq!(skipping.document, Postings::END);
    }

    #[test]
    fn the_words_of_a_path_are_apart() {
        let mut segment = Segment::default();
        segment.add("a/undo.rs", "x");
        segment.add("b.rs", "undo");
        assert_eq!(postings(segment, "/undo"), [(0, 0, 1, false)]);
    }

    proptest! {
        #[test]
        fn damaged_bytes_end_and_do_not_panic(bytes: Vec<u8>) {
            let segments = [WordBytes { base: 7, bytes }];
            let mut postings = Postings::of(&segments);
            while postings.document != Postings::END {
                if !postings.next_passage() {
                    postings.next_document();
                }
            }
        }
    }
}
