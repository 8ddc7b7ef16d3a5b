//! Where the words of some documents occur: a segment of the index, and its form in bytes.
//!
//! The bytes of a word are, for each document that has it, in order: the distance from the document before, the number
//! of passages, and for each of these the distance from the passage before and the number of times that the word is in
//! it, doubled, plus one if it is in a heading or definition. All numbers have a variable length. Documents are
//! numbered from 0 within a segment.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{passages, words};

/// Begins the words of paths. No word of a text begins so.
pub const PATH_MARK: char = '/';

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
        Segment {
            only: Some(words.map(Box::from).collect()),
            ..Segment::default()
        }
    }

    /// Adds a document by its path, or another name, and returns its passages.
    pub fn add(&mut self, name: &str, text: &str) -> Vec<IndexedPassage> {
        let mut indexed = Vec::new();
        for (number, passage) in passages::cut(text).into_iter().enumerate() {
            let length = self.count(
                text.get(passage.range.clone())
                    .expect("passages begin and end at characters"),
            );
            self.flush(number);
            let small = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
            indexed.push(IndexedPassage {
                start: small(passage.range.start),
                end: small(passage.range.end),
                first_line: small(passage.first_line),
                length,
            });
        }
        if indexed.is_empty() {
            // A file without text is found by its name.
            indexed.push(IndexedPassage {
                start: 0,
                end: 0,
                first_line: 1,
                length: 0,
            });
        }
        let (counts, only) = (&mut self.counts, &self.only);
        words::each(name, |word| {
            if only.as_ref().is_some_and(|only| !only.contains(word)) {
                return;
            }
            let word = format!("{PATH_MARK}{word}");
            *counts.entry(word.into_boxed_str()).or_default() += 2;
        });
        self.flush(0);
        self.documents += 1;
        indexed
    }

    /// Returns the words in order, each with its bytes.
    pub fn into_words(self) -> Vec<(Box<str>, Vec<u8>)> {
        let whole = |(word, mut it): (Box<str>, Word)| {
            it.close();
            (word, it.bytes)
        };
        let mut words: Vec<_> = self.words.into_iter().map(whole).collect();
        words.sort_unstable_by(|one, other| one.0.cmp(&other.0));
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
            add(line, u32::from(passages::is_heading(line)));
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

/// A word in a passage of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// The document, by its number within the segment.
    pub document: u32,
    /// The passage, by its number within the document.
    pub passage: u32,
    /// The number of times that the word is in it.
    pub count: u32,
    /// Whether it is in a heading or definition.
    pub is_heading: bool,
}

/// Passes each posting of a word to `each`, by document and passage. Damaged bytes end early.
#[inline]
pub fn read(bytes: &[u8], mut each: impl FnMut(Posting)) {
    let mut numbers = Numbers(bytes);
    let mut document = 0_u32;
    while let Some(distance) = numbers.next() {
        document = document.saturating_add(distance);
        let mut passage = 0_u32;
        for _ in 0..numbers.next().unwrap_or_default() {
            let (Some(distance), Some(mark)) = (numbers.next(), numbers.next()) else {
                return;
            };
            passage = passage.saturating_add(distance);
            each(Posting {
                document,
                passage,
                count: mark >> 1,
                is_heading: mark & 1 == 1,
            });
        }
    }
}

/// Appends a number of variable length: seven bits in each byte, the lowest first.
pub(super) fn write(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Numbers of variable length.
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl Iterator for Numbers<'_> {
    type Item = u32;

    // A program that is compiled for size would call it for each number.
    #[inline]
    fn next(&mut self) -> Option<u32> {
        // Most are that small.
        if let Some((&first, rest)) = self.0.split_first()
            && first < 0x80
        {
            self.0 = rest;
            return Some(u32::from(first));
        }
        let mut number = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn postings(segment: Segment, wanted: &str) -> Vec<(u32, u32, u32, bool)> {
        let mut found = Vec::new();
        for (word, bytes) in segment.into_words() {
            if &*word == wanted {
                read(&bytes, |it| {
                    found.push((it.document, it.passage, it.count, it.is_heading));
                });
            }
        }
        found
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
        assert_eq!(
            postings(segment, "undo"),
            [(0, 0, 2, true), (3, 0, 1, false)]
        );
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
        fn numbers_are_read_as_they_were_written(numbers: Vec<u32>) {
            let mut bytes = Vec::new();
            for &number in &numbers {
                write(&mut bytes, number);
            }
            prop_assert_eq!(Numbers(&bytes).collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn damaged_bytes_end_and_do_not_panic(bytes: Vec<u8>) {
            read(&bytes, |_| {});
        }
    }
}
