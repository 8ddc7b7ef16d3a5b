//! The documents of the knowledge base, as a search has them: the chunks of a record, joined.

use crate::git::Oid;
use crate::knowledge::stored::record::{KnowledgeChunk, parse_chunks};
use crate::knowledge::stored::sources::{Sources, blob_at};
use crate::model::{Code, Error, RepoPath, Result};
use crate::records;
use crate::search::index::passages::PAGE_BREAK;
use crate::store::Session;

use super::documents::{Document, DocumentKind};

/// The documents of the knowledge base for the branch of the reader.
pub(crate) struct KnownDocuments {
    /// Them, by path.
    pub(crate) documents: Vec<Document>,
    /// The content of each.
    pub(super) contents: Vec<Oid>,
    /// All that they depend on, as text.
    pub(super) state: String,
}

/// Lists the documents, of one kind or of all.
pub(crate) fn list(session: &Session, data_type: Option<&str>) -> Result<KnownDocuments> {
    records::refresh(session);
    let repo = &session.repo;
    let sources = Sources::load(repo)?;
    let tree = repo.tree_of(repo.head()?.commit())?;
    let blob_of = |path: &RepoPath| blob_at(repo, tree, path);
    let (mut documents, mut contents) = (Vec::new(), Vec::new());
    for record in sources.in_effect(blob_of)? {
        if data_type.is_some_and(|wanted| record.data_type != wanted) {
            continue;
        }
        if let Some(chunks) = record.chunk_file(repo)? {
            contents.push(record.blob);
            documents.push(Document {
                path: record.path.clone(),
                blob: chunks,
                kind: DocumentKind::Knowledge,
            });
        }
    }
    Ok(KnownDocuments {
        documents,
        contents,
        state: format!("knowledge {:?} {tree} {data_type:?}", sources.tip),
    })
}

/// The text of a record, and the chunks that it is made of.
pub(super) struct JoinedChunks {
    /// The text: each chunk without the beginning that it repeats from the one before.
    pub(super) text: String,
    /// The chunks, each with the place at which it begins in the text, and what it leaves out.
    chunks: Vec<(usize, usize, KnowledgeChunk)>,
}

impl JoinedChunks {
    /// Joins the chunks of a file.
    pub(super) fn read(bytes: &[u8]) -> Result<JoinedChunks> {
        let chunks = parse_chunks(bytes).map_err(|problem| {
            let message = format!("cannot read the chunks of a document: {problem}");
            Error::new(Code::RepositoryBroken, message)
        })?;
        let mut joined = JoinedChunks { text: String::new(), chunks: Vec::new() };
        let mut end = 0;
        for chunk in chunks {
            let overlap = end.max(chunk.start) - chunk.start;
            // A place beyond the end counts as the end.
            let repeated = chunk.text.floor_char_boundary(overlap);
            let is_first = joined.text.is_empty();
            let before = joined.chunks.last().map(|(.., chunk)| chunk.page);
            if chunk.start > end && !is_first && !joined.text.ends_with('\n') {
                joined.text.push('\n');
            }
            let at = joined.text.len();
            if before.is_some_and(|page| page != chunk.page) {
                joined.text.push(PAGE_BREAK);
            }
            joined.text.push_str(chunk.text.get(repeated..).unwrap_or_default());
            end = end.max(chunk.end);
            joined.chunks.push((at, repeated, chunk));
        }
        Ok(joined)
    }

    /// Returns the chunk that has a place of the text, and the line of the file; `None` where the text is not that of
    /// the file.
    pub(super) fn place(&self, at: usize) -> Option<(&KnowledgeChunk, Option<usize>)> {
        let after = self.chunks.partition_point(|(start, ..)| *start <= at);
        let (start, repeated, chunk) = self.chunks.get(after.checked_sub(1)?)?;
        let end = (repeated + (at - start)).min(chunk.text.len());
        let before = chunk.text.get(..end).unwrap_or_default();
        let line = chunk.start_line.map(|first| first + before.matches('\n').count());
        Some((chunk, line))
    }
}
