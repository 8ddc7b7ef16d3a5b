//! A file that may be in a context; its text and passages are read once they are needed.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::context::scoring::reading::{FileReading, MAX_PROJECT_BYTES};
use crate::git::Oid;
use crate::model::{RepoPath, Result};
use crate::search::documents::{Document, DocumentKind};
use crate::search::index::postings::{self, IndexedPassage};
use crate::source::file::Encoding;
use crate::store::Session;
use crate::store::state::{FragmentName, Tier};

use super::project_files::{Place, ProjectReader};

/// A file with its text.
pub(super) struct TaskFile {
    pub(super) project: String,
    pub(super) name: FragmentName,
    pub(super) shown: RepoPath,
    pub(super) hash: String,
    /// Its text, once it is read.
    pub(super) text: OnceCell<Rc<str>>,
    /// The size of its text.
    pub(super) bytes: u64,
    /// Its tokens, if they are known.
    pub(super) tokens: Option<u64>,
    /// The number of its passages, if it is known.
    pub(super) passages: Option<u64>,
    /// Its passages, once they are needed.
    pub(super) cut: OnceCell<Vec<IndexedPassage>>,
    /// Where the text is read.
    pub(super) place: Option<Rc<Place>>,
    pub(super) modified: i64,
    /// The tier that has it; `None` for a file that only a search of its scope has found.
    pub(super) tier: Option<Tier>,
    /// The passages that a search of a scope has found, by number.
    pub(super) matches: BTreeMap<usize, Match>,
}

/// A passage that a search has found.
pub(super) struct Match {
    pub(super) passage: IndexedPassage,
    /// Of 0 to 1.
    pub(super) relevance: f64,
    /// Whether it is the whole file.
    pub(super) is_whole: bool,
}

impl TaskFile {
    /// Returns the text; `None` if the file has changed since the command looked at it.
    pub(super) fn text(&self, session: &Session) -> Result<Option<&Rc<str>>> {
        if let Some(text) = self.text.get() {
            return Ok(Some(text));
        }
        let Some(place) = &self.place else {
            return Ok(None);
        };
        let reader = ProjectReader::new(session, &[]);
        Ok(match reader.read(place, &self.name.path, MAX_PROJECT_BYTES)? {
            FileReading::Read(file) if file.hash == self.hash => {
                Some(self.text.get_or_init(|| file.text.into()))
            }
            _ => None,
        })
    }

    /// Returns it as the index names it; `None` for content that has no id.
    pub(super) fn document(&self) -> Option<Document> {
        let kind = self.place.as_ref().map(|place| place.kind(&self.name.path));
        Some(Document {
            path: self.shown.clone(),
            blob: Oid::parse(&self.hash)?,
            kind: kind.unwrap_or(DocumentKind::Text(Encoding::Utf8)),
        })
    }

    /// Returns the number of its passages; `None` as [`TaskFile::text`].
    pub(super) fn passage_count(&self, session: &Session) -> Result<Option<usize>> {
        if let Some(known) = self.passages.and_then(|count| usize::try_from(count).ok()) {
            return Ok(Some(known));
        }
        Ok(self.passages(session)?.map(<[_]>::len))
    }

    /// Returns the only passage of a file that has not been cut, with its tokens.
    pub(super) fn whole(&self) -> Option<(IndexedPassage, usize)> {
        let tokens = self.tokens.filter(|_| self.passages == Some(1))?;
        let passage = IndexedPassage {
            start: 0,
            end: u32::try_from(self.bytes).ok()?,
            first_line: 1,
            length: 0,
        };
        Some((passage, usize::try_from(tokens).ok()?))
    }

    /// Returns a passage; `None` as [`TaskFile::text`].
    pub(super) fn passage(
        &self,
        session: &Session,
        number: usize,
    ) -> Result<Option<IndexedPassage>> {
        let passages = self.passages(session)?;
        Ok(passages.and_then(|passages| passages.get(number).copied()))
    }

    fn passages(&self, session: &Session) -> Result<Option<&[IndexedPassage]>> {
        let text = self.text(session)?;
        Ok(text.map(|text| self.cut.get_or_init(|| postings::cut(text)).as_slice()))
    }

    /// Adds what another search has found in the same content; the higher relevance stays.
    pub(super) fn join(&mut self, matches: BTreeMap<usize, Match>) {
        for (number, file_match) in matches {
            let known = self.matches.get(&number);
            if known.is_none_or(|known| known.relevance < file_match.relevance) {
                self.matches.insert(number, file_match);
            }
        }
    }
}
