//! A candidate as a hit: the line that matches best, its section, its page.

use std::collections::BTreeSet;

use crate::knowledge::stored::record::source_uri;
use crate::model::RepoPath;
use crate::model::{Result, escape};
use crate::page::pages::PageId;
use crate::search::index::defined_names;
use crate::search::index::headings::is_heading;
use crate::search::index::passages::PAGE_BREAK;
use crate::search::index::query::Query;
use crate::search::index::ranked::Ranked;
use crate::search::index::words;
use crate::source::record::RecordKind;

use super::candidates::{Candidate, Searched};
use super::context::NextFile;
use super::documents::DocumentKind;
use super::known_documents::JoinedChunks;
use super::{Hit, HitSource, section_names};

/// The maximum number of lines of a snippet.
const MAX_LINES: usize = 3;

/// The maximum length of a line of a snippet, in characters.
const MAX_LENGTH: usize = 160;

/// The maximum length of the line of a next file, in characters.
const MAX_NEXT_LINE: usize = 60;

/// The position of a passage in its file.
pub(super) struct FilePlace {
    /// The line, from 1.
    pub(super) line: Option<usize>,
    /// The page, from 1.
    pub(super) page: Option<usize>,
    /// The heading or definition that it belongs to.
    pub(super) section: Option<String>,
}

impl FilePlace {
    /// Returns path and line, or path and page.
    fn citation(&self, path: &RepoPath) -> String {
        match (self.line, self.page) {
            (Some(line), _) => format!("{path}:{line}"),
            (None, Some(page)) => format!("{path}, page {page}"),
            (None, None) => path.to_string(),
        }
    }
}

impl Searched<'_> {
    /// Describes a candidate.
    pub(super) fn hit(&self, query: &Query, candidate: &Candidate) -> Result<Hit> {
        let text = self.shown_text(candidate)?;
        let document = &candidate.document.document;
        let passage = candidate.passage;
        let body = text.get(passage.range()).unwrap_or_default();
        let best = best_line(query, body);
        let before: usize = body.split_inclusive('\n').take(best).map(str::len).sum();
        let at = passage.range().start + before;
        let place = self.place(candidate, &text, at)?;
        let path = &document.path;
        let is_known = document.kind == DocumentKind::Knowledge;
        let last = body.lines().count().saturating_sub(1);
        let start_line = place.line.map(|line| line.saturating_sub(best));
        Ok(Hit {
            score: f64::from(candidate.score),
            source: if is_known { HitSource::Knowledge } else { HitSource::Pages },
            source_uri: is_known.then(|| source_uri(path)),
            line: place.line,
            start_line,
            end_line: start_line.map(|line| line + last),
            citation: place.citation(path),
            page: place.page,
            section: place.section,
            scope_id: self.scope_of(candidate),
            page_id: self.page_with(candidate, &text, at)?,
            uncommitted: self.above.is_uncommitted(candidate.id),
            tokens: candidate.tokens,
            snippet: snippet(body, best),
            path: path.clone(),
        })
    }

    /// Describes a file by its passage that matches best.
    pub(super) fn next_file(&self, query: &Query, ranked: &Ranked) -> Result<NextFile> {
        let candidate = self.candidate(ranked)?;
        let text = self.shown_text(&candidate)?;
        let body = text.get(candidate.passage.range()).unwrap_or_default();
        let path = candidate.document.document.path.clone();
        // A file that only the history leads to has no line that matches.
        let Some(best) = matching_line(query, body) else {
            return Ok(NextFile { path, line: None, text: String::new() });
        };
        let before: usize = body.split_inclusive('\n').take(best).map(str::len).sum();
        let place = self.place(&candidate, &text, candidate.passage.range().start + before)?;
        let line = body.lines().nth(best).unwrap_or_default().trim();
        let shown: String = line.chars().filter(|c| !c.is_control()).take(MAX_NEXT_LINE).collect();
        Ok(NextFile { path, line: place.line, text: escape::line(shown.trim_end()) })
    }

    /// Returns the scope of a candidate; `None` for a document of the knowledge base.
    pub(super) fn scope_of(&self, candidate: &Candidate) -> Option<String> {
        let scope = self.opened.scopes.get(candidate.scope);
        scope.map(|scope| scope.scope.clone())
    }

    /// Finds the position of a place of a text in its file.
    pub(super) fn place(&self, candidate: &Candidate, text: &str, at: usize) -> Result<FilePlace> {
        let passage = candidate.passage;
        let before = text.get(passage.range().start..at).unwrap_or_default();
        let line = passage.first_line as usize + before.matches('\n').count();
        let section = section_names::section(&candidate.document.document.path, text, at);
        if candidate.document.document.kind != DocumentKind::Knowledge {
            let page = self.page_of_document(candidate, text, at)?;
            return Ok(FilePlace { line: page.is_none().then_some(line), page, section });
        }
        let bytes = self.session.repo.read_blob(candidate.document.document.blob)?;
        let joined = JoinedChunks::read(&bytes)?;
        let chunk_place = joined.place(at);
        Ok(FilePlace {
            line: chunk_place.and_then(|(_, line)| line),
            page: chunk_place.and_then(|(chunk, _)| chunk.page).map(|page| page as usize),
            section: section.or_else(|| chunk_place.and_then(|(chunk, _)| chunk.heading.clone())),
        })
    }

    /// Finds the page of the scope that has a place of a text.
    pub(super) fn page_with(
        &self,
        candidate: &Candidate,
        text: &str,
        at: usize,
    ) -> Result<Option<PageId>> {
        let document = &candidate.document.document;
        let at = document.place_in_file(text, at);
        let pages = self.pages_beside(candidate)?;
        let with_place = pages.iter().find(|page| {
            page.records.iter().any(|record| {
                let has = record.start <= at && (at < record.end || record.start == record.end);
                record.path == document.path && (has || document.kind == DocumentKind::Name)
            })
        });
        Ok(with_place.map(|page| page.id))
    }

    /// Finds the page of a PDF, which its chunks say.
    fn page_of_document(
        &self,
        candidate: &Candidate,
        text: &str,
        at: usize,
    ) -> Result<Option<usize>> {
        let document = &candidate.document.document;
        let is_paged = document.kind == DocumentKind::Literature && text.contains('\u{c}');
        if !is_paged {
            return Ok(None);
        }
        let pages = self.pages_beside(candidate)?;
        let records = pages.iter().flat_map(|page| &page.records);
        let mut own = records.filter(|record| {
            record.path == document.path && record.start <= at as u64 && (at as u64) < record.end
        });
        Ok(own.find_map(|record| match record.kind {
            RecordKind::Chunk { page, .. } => page.map(|page| page as usize),
            _ => None,
        }))
    }
}

/// Returns the line with the most different words of the query, by its number within a passage.
fn best_line(query: &Query, body: &str) -> usize {
    matching_line(query, body).unwrap_or(0)
}

/// Does the same; `None` if no line has a word of the query.
pub(super) fn matching_line(query: &Query, body: &str) -> Option<usize> {
    let asked = |name: &str| {
        let whole = words::of(name).pop();
        whole.is_some_and(|whole| query.words.iter().any(|query_word| query_word.word == whole))
    };
    let names =
        defined_names::within(body, 0..body.len()).filter(|definition| asked(definition.name));
    let defining: BTreeSet<usize> = names.map(|definition| definition.line).collect();
    let score = |line: &str, start: usize| {
        let words = words::of(line);
        let has = |word: &str| words.iter().any(|line_word| line_word == word);
        let matched = query.words.iter().filter(|query_word| has(&query_word.word)).count();
        (matched, matched > 0 && defining.contains(&start), matched > 0 && is_heading(line))
    };
    let mut best = (None, (0, false, false));
    let mut start = 0;
    for (number, line) in body.split_inclusive('\n').enumerate() {
        let score = score(line, start);
        start += line.len();
        if score > best.1 {
            best = (Some(number), score);
        }
    }
    best.0
}

fn snippet(body: &str, best: usize) -> String {
    let lines: Vec<String> = body
        .lines()
        .skip(best)
        .take(MAX_LINES)
        .map(|line| shortened(line.trim_start_matches(PAGE_BREAK)))
        .collect();
    lines.join("\n").trim_end().to_owned()
}

fn shortened(line: &str) -> String {
    let line = line.trim_end();
    match line.char_indices().nth(MAX_LENGTH) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
