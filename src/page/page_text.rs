//! The text of pages: as in the files below lines that name them, or as JSON.
//!
//! A text never has more tokens than its page. Tokens are counted of the JSON objects of records. As in the file a text
//! has fewer, with rare exceptions: `<:(">` is three tokens, and `<:(\">` is two. A record whose text would have more
//! is printed as its JSON object.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::model::{Code, Error, Result, escape};
use crate::source::file;
use crate::source::literature::{Library, Literature};
use crate::source::record::{Record, RecordKind};
use crate::text::headed::headed;
use crate::text::tokenizer::Tokenizer;

use super::listing::{Neighbor, RecordEntry};
use super::pages::{Page, PageId};

/// The format of a page as one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendering {
    /// A JSON object for each record, one per line: the text whose tokens are counted.
    Json,
    /// The text of each record as it is, below a line with its file.
    Text(Headings),
}

/// The line above the text of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headings {
    /// File and lines.
    Lines,
    /// File and part: it changes only if the text below it does, so that a cached prompt stays valid.
    Parts,
}

/// A page with its text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownPage {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// The scope it belongs to.
    pub scope_id: String,
    /// Its tokens, the sum over its records.
    pub tokens: u32,
    /// The exact tokens of its text as it is printed without --json; as text never more than `tokens`.
    pub text_tokens: usize,
    /// Whether the branch, or the working tree, has changed since the scope was mapped.
    pub stale: bool,
    /// The pages that have its files now, if the mapping no longer has it: such a page is shown while an
    /// agent has it, or it is locked.
    #[schemars(with = "Vec<String>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successors: Vec<PageId>,
    /// Its records, with their lines and their text.
    pub records: Vec<RecordEntry>,
    /// The most related pages, if they were asked for: the strongest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Vec<Neighbor>>,
    /// Its text as it is printed.
    #[serde(skip)]
    pub printed: String,
}

/// The first and the last line of a stretch, from 1.
type Lines = (usize, usize);

/// Reads the text of pages. A file is read once if its records follow each other.
pub struct PageTexts<'a> {
    library: &'a Library<'a>,
    reader: &'a Literature<'a>,
    rendering: Rendering,
    tokenizer: Tokenizer,
    last: Option<Source>,
}

/// The bytes from which records are cut.
struct Source {
    blob: Oid,
    is_document: bool,
    bytes: Vec<u8>,
    /// A place, and the number of newlines before it.
    counted: (usize, usize),
}

impl Source {
    /// Returns the lines of a stretch; `None` if it is empty.
    fn lines(&mut self, start: usize, end: usize) -> Option<Lines> {
        let last = end.checked_sub(1).filter(|last| *last >= start)?;
        Some((1 + self.newlines(start), 1 + self.newlines(last)))
    }

    fn newlines(&mut self, place: usize) -> usize {
        let (from, before) = match self.counted {
            (from, before) if from <= place => (from, before),
            _ => (0, 0),
        };
        let between = self.bytes.get(from..place).unwrap_or_default();
        let newlines = before + between.split(|byte| *byte == b'\n').count().saturating_sub(1);
        self.counted = (place, newlines);
        newlines
    }
}

impl<'a> PageTexts<'a> {
    /// Starts with the format, and the tokenizer by which the pages were made.
    pub fn new(
        library: &'a Library<'a>,
        reader: &'a Literature<'a>,
        rendering: Rendering,
        tokenizer: Tokenizer,
    ) -> PageTexts<'a> {
        PageTexts { library, reader, rendering, tokenizer, last: None }
    }

    /// Reads a page without printing it.
    pub fn check(&mut self, page: &Page) -> Result<()> {
        let mut records = page.records.iter();
        records.try_for_each(|record| self.text(record).map(drop))
    }

    /// Reads a page.
    pub fn show(&mut self, scope_id: &str, page: &Page) -> Result<ShownPage> {
        let (mut records, mut printed) = (Vec::new(), String::new());
        for record in &page.records {
            let (text, lines) = self.text(record)?;
            printed.push_str(&self.print(record, text.as_deref(), lines));
            records.push(RecordEntry {
                start_line: lines.map(|lines| lines.0),
                end_line: lines.map(|lines| lines.1),
                text,
                ..RecordEntry::from(record)
            });
        }
        Ok(ShownPage {
            page_id: page.id,
            scope_id: scope_id.to_owned(),
            tokens: page.tokens,
            text_tokens: self.tokenizer.count(&printed),
            stale: false,
            successors: Vec::new(),
            records,
            neighbours: None,
            printed,
        })
    }

    /// Prints a record. Ends with a newline, even if the file does not.
    fn print(&self, record: &Record, text: Option<&str>, lines: Option<Lines>) -> String {
        let as_json = || record.value(text.unwrap_or_default()).to_string() + "\n";
        let Rendering::Text(headings) = self.rendering else {
            // A value escaped by the rules of JSON stays the same value.
            return escape::json(&as_json());
        };
        let place = match headings {
            Headings::Lines => place(record, lines),
            Headings::Parts => part(record),
        };
        let body = text.map_or_else(
            || format!("(binary, {} bytes)", record.end),
            |text| text.strip_suffix('\n').unwrap_or(text).to_owned(),
        );
        let plain = headed(&format!("{}{place}", record.path), &(body + "\n"));
        if self.tokenizer.count(&plain) <= record.tokens as usize { plain } else { as_json() }
    }

    /// Reads a record: its text, `None` for a binary file, and its lines, if it has any.
    fn text(&mut self, record: &Record) -> Result<(Option<String>, Option<Lines>)> {
        let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let (start, end) = (at(record.start), at(record.end));
        let encoding = match &record.kind {
            RecordKind::Binary { .. } => return Ok((None, None)),
            RecordKind::Text(encoding) => *encoding,
            RecordKind::Chunk { .. } => file::Encoding::Utf8,
        };
        let source = self.source(record)?;
        let stretch = source.bytes.get(start..end).ok_or_else(|| {
            Error::new(
                Code::RepositoryBroken,
                format!("'{}' is shorter than the page table says", record.path),
            )
            .hint("git colony map   # once the cache below .git/colony is deleted")
        })?;
        let text = file::decode_as(encoding, stretch);
        // The lines of a document with pages are those of its extracted text.
        let lines = source.lines(start, end).filter(|_| document_page(record).is_none());
        Ok((Some(text), lines))
    }

    fn source(&mut self, record: &Record) -> Result<&mut Source> {
        let is_document = matches!(record.kind, RecordKind::Chunk { .. });
        let is_same = |last: &Source| last.blob == record.blob && last.is_document == is_document;
        let source = match self.last.take().filter(is_same) {
            Some(last) => last,
            None => Source {
                blob: record.blob,
                is_document,
                bytes: if is_document {
                    let text = self.reader.text(self.library, &record.path, record.blob)?;
                    text.into_bytes()
                } else {
                    self.library.objects.blob(record.blob)?
                },
                counted: (0, 0),
            },
        };
        Ok(self.last.insert(source))
    }
}

/// Returns the place of a record in its file, as a heading has it.
fn place(record: &Record, lines: Option<Lines>) -> String {
    match (lines, document_page(record)) {
        (Some((first, last)), _) => format!(":{first}-{last}"),
        (None, Some(page)) => format!(", page {page}"),
        (None, None) => String::new(),
    }
}

fn part(record: &Record) -> String {
    let part = record.part.as_ref();
    part.map(|part| format!(" part {part}")).unwrap_or_default()
}

/// Returns the page of a document on which a chunk begins.
fn document_page(record: &Record) -> Option<u32> {
    match record.kind {
        RecordKind::Chunk { page, .. } => page,
        _ => None,
    }
}
