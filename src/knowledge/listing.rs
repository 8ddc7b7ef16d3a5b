//! The knowledge base as it is, seen from the branch of the reader.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::knowledge::stored::record::SourceRecord;
use crate::knowledge::stored::sources::{Sources, UnreadableRecord, blob_at};
use crate::model::{RepoPath, Result};
use crate::records;
use crate::repo_map::load;
use crate::repo_map::routing::{Route, Routing};
use crate::repo_map::show::MapState;
use crate::store::Session;

/// A document of the knowledge base.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KnowledgeSource {
    /// The document, `repo:<path>`.
    pub source_uri: String,
    /// Its path.
    pub path: RepoPath,
    /// Its kind.
    pub data_type: String,
    /// The outcome of its ingestion: always `ingested`.
    pub status: String,
    /// The number of its chunks.
    pub chunks: usize,
    /// The sum of their tokens.
    pub tokens: usize,
    /// The blob that was read.
    pub blob: Oid,
    /// When it was ingested, RFC 3339 UTC.
    pub ingested_at: String,
    /// Who ingested it, `name <email>`.
    pub by: String,
    /// The program that read it.
    pub extractor: String,
    /// Whether HEAD has other content at this path, or none.
    pub stale: bool,
    /// Whether no row of the map routes it to the knowledge base; null if the map cannot be read.
    pub unrouted: Option<bool>,
    /// The number of its records: branches may have several versions.
    pub versions: usize,
}

/// The documents of the knowledge base.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KnowledgeReport {
    /// The commit they are compared with; null for a branch without one.
    pub commit: Option<Oid>,
    /// The documents, by path.
    pub sources: Vec<KnowledgeSource>,
    /// Their number.
    pub count: usize,
    /// The number of their chunks.
    pub chunks: usize,
    /// The sum of their tokens.
    pub tokens: usize,
    /// Records that cannot be read.
    pub unreadable: Vec<UnreadableRecord>,
}

/// Lists the documents of the knowledge base.
pub fn list(session: &Session) -> Result<KnowledgeReport> {
    records::refresh(session);
    let repo = &session.repo;
    let sources = Sources::load(repo)?;
    let commit = repo.head()?.commit();
    let tree = repo.tree_of(commit)?;
    let blob_of = |path: &RepoPath| blob_at(repo, tree, path);
    let routing = routing_of(session)?;
    let by_path = sources.by_path();
    let mut rows = Vec::new();
    for record in sources.in_effect(blob_of)? {
        let versions = by_path.get(&record.path).map_or(0, Vec::len);
        rows.push(KnowledgeSource {
            stale: blob_of(&record.path)? != Some(record.blob),
            unrouted: routing.as_ref().map(|routing| {
                let route = routing.route(&record.path);
                !matches!(route, Route::KnowledgeBase { .. })
            }),
            versions,
            ..row(record)
        });
    }
    let broken = sources.records.iter().filter(|record| !record.is_whole(repo)).map(|record| {
        UnreadableRecord {
            name: record.key(),
            reason: format!(
                "the chunks of '{}' cannot be read; 'git colony knowledge ingest' reads it again",
                record.source_uri
            ),
        }
    });
    let unreadable = sources.unreadable.iter().cloned().chain(broken).collect();
    Ok(KnowledgeReport {
        commit,
        count: rows.len(),
        chunks: rows.iter().map(|row| row.chunks).sum(),
        tokens: rows.iter().map(|row| row.tokens).sum(),
        sources: rows,
        unreadable,
    })
}

fn row(record: &SourceRecord) -> KnowledgeSource {
    KnowledgeSource {
        source_uri: record.source_uri.clone(),
        path: record.path.clone(),
        data_type: record.data_type.clone(),
        status: record.status.clone(),
        chunks: record.chunks,
        tokens: record.tokens,
        blob: record.blob,
        ingested_at: record.finished_at.clone(),
        by: record.by.clone(),
        extractor: record.extractor.clone(),
        stale: false,
        unrouted: None,
        versions: 1,
    }
}

/// Reads the routing of HEAD; `None` if its map is not valid.
pub(super) fn routing_of(session: &Session) -> Result<Option<Routing>> {
    let (place, _) = MapState::Head.place(&session.repo)?;
    let map = load::load(&session.repo, place)?.read.map;
    Ok(map.and_then(|map| Routing::of(&map).ok()))
}
