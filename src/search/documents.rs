//! The documents of a scope: its files, each with the content that is indexed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::design::checkpoint::secret_file_names::is_named_as_secret;
use crate::git::Oid;
use crate::model::{Code, RepoPath, Result, ResultExt as _};
use crate::page::listing::unusable;
use crate::page::mapping::read_pages;
use crate::search::index;
use crate::search::index::postings::IndexedPassage;
use crate::source::file::{self, Encoding};
use crate::source::literature::{Library, Literature};
use crate::source::record::{Record, RecordKind};
use crate::store::cache::page_table::{PageTable, ScopeRow};
use crate::store::cache::search_index::IndexKey;
use crate::text::count::json_tokens;
use crate::text::readers::Format;
use crate::text::tokenizer::Tokenizer;

use super::known_documents::JoinedChunks;

/// A file with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Document {
    /// Its path from the root of its repository.
    pub(crate) path: RepoPath,
    /// Its content.
    pub(crate) blob: Oid,
    /// How its text is read.
    pub(crate) kind: DocumentKind,
}

/// How the text of a document is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DocumentKind {
    /// As the text of a file.
    #[serde(rename = "t")]
    Text(Encoding),
    /// As literature, by its reader.
    #[serde(rename = "l")]
    Literature,
    /// As a record of the knowledge base: the blob is the file with its chunks.
    #[serde(rename = "k")]
    Knowledge,
    /// It has none: only its name is indexed.
    #[serde(rename = "n")]
    Name,
}

/// A document as the index has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredDocument {
    /// The document.
    #[serde(flatten)]
    pub(super) document: Document,
    /// Its passages: start, end, first line, number of words and of tokens.
    passages: Vec<[u32; 5]>,
}

impl Document {
    /// Returns the name of the document in the index. The program that reads PDF is looked for only if it is one.
    pub(super) fn key(&self, reader: &Literature<'_>) -> Result<IndexKey> {
        let mut hasher = blake3::Hasher::new();
        let kind = match self.kind {
            DocumentKind::Text(encoding) => format!("text {encoding:?}"),
            DocumentKind::Literature if Format::of(&self.path) == Some(Format::Pdf) => {
                format!("literature {}", reader.extractor_id()?.unwrap_or_default())
            }
            DocumentKind::Literature => "literature".to_owned(),
            DocumentKind::Knowledge => "knowledge".to_owned(),
            DocumentKind::Name => "name".to_owned(),
        };
        hasher.update(format!("{} {kind} {} ", index::VERSION, self.blob).as_bytes());
        hasher.update(self.path.as_bytes());
        let mut key = IndexKey::default();
        hasher.finalize_xof().fill(&mut key);
        Ok(key)
    }

    /// Reads the text.
    pub(crate) fn text(&self, library: &Library<'_>, reader: &Literature<'_>) -> Result<String> {
        match self.kind {
            // The name of a file with keys is found, and nothing of its text.
            DocumentKind::Text(_) if is_named_as_secret(&self.path) => Ok(String::new()),
            DocumentKind::Text(encoding) => {
                let bytes = library.objects.blob(self.blob)?;
                Ok(file::decode_as(encoding, &bytes))
            }
            DocumentKind::Literature => reader.text(library, &self.path, self.blob),
            DocumentKind::Knowledge => {
                let bytes = library.objects.blob(self.blob)?;
                JoinedChunks::read(&bytes).map(|joined| joined.text)
            }
            DocumentKind::Name => Ok(String::new()),
        }
    }

    /// Does the same, but a document that cannot be read any more has no text: its name is still found.
    pub(super) fn text_if_any(
        &self,
        library: &Library<'_>,
        reader: &Literature<'_>,
    ) -> Result<String> {
        match self.text(library, reader) {
            Err(error) if error.code() != Code::Interrupted => Ok(String::new()),
            read => read,
        }
    }

    /// Returns the place in the file, as records count it, of a place in the text.
    pub(super) fn place_in_file(&self, text: &str, at: usize) -> u64 {
        match self.kind {
            DocumentKind::Text(Encoding::Latin1) => {
                text.get(..at).map_or(0, |before| before.chars().count() as u64)
            }
            _ => at as u64,
        }
    }
}

impl StoredDocument {
    /// Counts the tokens of the passages: a search need not load the table of tokens then.
    pub(super) fn new(
        document: Document,
        passages: &[IndexedPassage],
        text: &str,
    ) -> StoredDocument {
        let stored = |passage: &IndexedPassage| {
            let body = text.get(passage.range()).unwrap_or_default();
            let tokens = json_tokens(Tokenizer::default(), body);
            let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
            [passage.start, passage.end, passage.first_line, passage.length, tokens]
        };
        StoredDocument { document, passages: passages.iter().map(stored).collect() }
    }

    /// Returns it as the index stores it.
    pub(super) fn as_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).or_code(Code::Io, || "cannot write a document of the index")
    }

    /// Returns a passage.
    pub(super) fn passage(&self, number: usize) -> Option<IndexedPassage> {
        let &[start, end, first_line, length, _] = self.passages.get(number)?;
        Some(IndexedPassage { start, end, first_line, length })
    }

    /// Returns the tokens of a passage, as a string of JSON.
    pub(super) fn tokens(&self, number: usize) -> usize {
        let passage = self.passages.get(number);
        passage.map_or(0, |&[.., tokens]| tokens as usize)
    }

    /// Returns the lengths of the passages: the numbers of their words.
    pub(super) fn lengths(&self) -> impl ExactSizeIterator<Item = u32> {
        self.passages.iter().map(|&[.., words, _]| words)
    }
}

/// Lists the documents of a scope by path.
pub(crate) fn of_scope(table: &PageTable, scope: &ScopeRow) -> Result<Vec<Document>> {
    let mut files = BTreeMap::new();
    let mut damage = None;
    let read = table.each_directory(scope, |row| {
        match read_pages(&row) {
            Ok(pages) => {
                for record in pages.iter().flat_map(|page| &page.records) {
                    files.entry(record.path.clone()).or_insert_with(|| of_record(record));
                }
            }
            Err(error) => damage = Some(error),
        }
        damage.is_none()
    });
    read.map_err(unusable)?;
    damage.map_or_else(|| Ok(files.into_values().collect()), Err)
}

fn of_record(record: &Record) -> Document {
    Document {
        path: record.path.clone(),
        blob: record.blob,
        kind: match record.kind {
            RecordKind::Text(encoding) => DocumentKind::Text(encoding),
            RecordKind::Chunk { .. } => DocumentKind::Literature,
            RecordKind::Binary { .. } => DocumentKind::Name,
        },
    }
}
