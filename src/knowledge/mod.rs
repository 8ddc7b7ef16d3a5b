//! The knowledge base: documents ingested, listed, cleared.
//!
//! Only files of the commit at HEAD are read. Each file has an outcome of its own; all records are then one commit
//! of the shared ref, as one operation. A version that cannot be read leaves the record of the one before as it is.

pub mod acquire;
mod chunk_rules;
pub mod clear;
mod documents;
mod ingestor;
pub mod listing;
pub mod promotion;
mod retirement;
pub mod stored;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::knowledge::stored::change;
use crate::knowledge::stored::record::SourceRecord;
use crate::knowledge::stored::sources::Sources;
use crate::map_rows::other_repositories::Network;
use crate::map_rows::{self, Rows};
use crate::model::id::OperationId;
use crate::model::{Code, RepoPath, Result, text};
use crate::records;
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::operation::Kind;

use ingestor::Ingestor;

pub(crate) use chunk_rules::Rules;
pub(crate) use documents::list as list_files;

/// The documents to ingest.
#[derive(Clone, Debug)]
pub struct Request {
    /// Files and directories of the commit; empty for those that the map routes to the knowledge base.
    pub paths: Vec<RepoPath>,
    /// Their kind; `None` is that of the route, else of the format.
    pub profile: Option<String>,
    /// Whether large files may be fetched.
    pub network: Network,
}

/// The result for one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceStatus {
    /// It has a record now, and had none.
    Ingested,
    /// Its record is that of this content already.
    Unchanged,
    /// Its record is that of its new content now.
    Replaced,
    /// The commit does not have it any more: its records are deleted.
    Retired,
    /// It was left out.
    Skipped,
    /// It could not be read; a record of an earlier version stays.
    Failed,
}

/// A document and what became of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourceOutcome {
    /// The document, `repo:<path>`.
    pub source_uri: String,
    /// Its path.
    pub path: RepoPath,
    /// The blob of its record, which is an earlier one if `stale`; without a record, that of the commit.
    pub blob: Option<Oid>,
    /// Its kind.
    pub data_type: Option<String>,
    /// The result.
    pub status: SourceStatus,
    /// The number of chunks of its record.
    pub chunks: usize,
    /// The sum of their tokens.
    pub tokens: usize,
    /// When its record was made, RFC 3339 UTC.
    pub ingested_at: Option<String>,
    /// Who made it, `name <email>`.
    pub by: Option<String>,
    /// The program that read it.
    pub extractor: Option<String>,
    /// Whether its record is of another content than the commit has.
    pub stale: bool,
    /// The name of the reason why it has no new record, or no chunk.
    pub code: Option<String>,
    /// The reason as text.
    pub error: Option<String>,
}

/// The result of `ingest`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IngestReport {
    /// The commit whose files were read; null if there is none yet.
    pub commit: Option<Oid>,
    /// One result for each document, by path.
    pub records: Vec<SourceOutcome>,
    /// The number of results.
    pub count: usize,
    /// The operation; null if nothing had to change, and in a dry run.
    pub op: Option<OperationId>,
    /// With '--from', the files that were committed before, or would be: documents, and beside each the file that names
    /// its origin. In a dry run these documents are not read.
    pub acquired: Vec<RepoPath>,
    /// The operation that committed them.
    pub acquired_op: Option<OperationId>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

impl IngestReport {
    /// Returns the report of a command that has no document to read.
    fn empty(session: &Session) -> Result<IngestReport> {
        Ok(IngestReport {
            commit: session.repo.head()?.commit(),
            records: Vec::new(),
            count: 0,
            op: None,
            acquired: Vec::new(),
            acquired_op: None,
            dry_run: session.is_dry(),
        })
    }
}

impl SourceOutcome {
    fn new(path: &RepoPath, status: SourceStatus) -> SourceOutcome {
        SourceOutcome {
            source_uri: crate::knowledge::stored::record::source_uri(path),
            path: path.clone(),
            blob: None,
            data_type: None,
            status,
            chunks: 0,
            tokens: 0,
            ingested_at: None,
            by: None,
            extractor: None,
            stale: false,
            code: None,
            error: None,
        }
    }

    fn with_record(self, record: &SourceRecord, is_stale: bool) -> SourceOutcome {
        SourceOutcome {
            blob: Some(record.blob),
            data_type: Some(record.data_type.clone()),
            chunks: record.chunks,
            tokens: record.tokens,
            ingested_at: Some(record.finished_at.clone()),
            by: Some(record.by.clone()),
            extractor: Some(record.extractor.clone()),
            stale: is_stale,
            ..self
        }
    }

    /// Names a document that has no text, and so no chunk.
    fn noting_no_text(self) -> SourceOutcome {
        match self.chunks {
            0 => self.because("no_text", "it has no text: nothing of it is found".to_owned()),
            _ => self,
        }
    }

    fn because(self, code: &str, error: String) -> SourceOutcome {
        SourceOutcome { code: Some(code.to_owned()), error: Some(error), ..self }
    }
}

/// Ingests documents; in a dry run, says what it would do.
pub fn ingest(session: &Session, request: &Request) -> Result<IngestReport> {
    session.refuse_reader()?;
    records::refresh(session);
    let rows = map_rows::resolve(session, &map_rows::Request::offline(MapState::Head))?;
    let rules = Rules::of(session, &rows)?;
    let done = run(session, &rows, &rules, request)?;
    records::refresh(session);
    Ok(IngestReport {
        commit: Some(rows.commit),
        count: done.outcomes.len(),
        records: done.outcomes,
        op: done.op,
        ..IngestReport::empty(session)?
    })
}

/// The documents of the knowledge base in the report of `map`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct RoutedReport {
    /// One result for each document that has changed or could not be read, by path.
    #[serde(rename = "knowledge")]
    pub records: Vec<SourceOutcome>,
    /// The number of documents whose records were those of their content already.
    #[serde(rename = "knowledge_unchanged")]
    pub unchanged: usize,
    /// The operation that wrote the records; null if nothing had to change, and in a dry run.
    #[serde(rename = "knowledge_op")]
    pub op: Option<OperationId>,
    /// The reason why nothing was ingested.
    #[serde(rename = "knowledge_error")]
    pub error: Option<String>,
}

/// What was done.
struct Done {
    /// One outcome for each document, by path.
    outcomes: Vec<SourceOutcome>,
    op: Option<OperationId>,
}

/// Ingests what the rows of a map route to the knowledge base, at the commit that was mapped. The scopes are mapped
/// already: a failure is only reported.
pub(crate) fn ingest_routed(
    session: &Session,
    rows: &Rows,
    rules: Result<Rules>,
    network: Network,
) -> Result<RoutedReport> {
    let request = Request { paths: Vec::new(), profile: None, network };
    let done = rules.and_then(|rules| {
        if !rules.routing.has_knowledge() || session.refuse_reader().is_err() {
            return Ok(None);
        }
        records::refresh(session);
        let done = run(session, rows, &rules, &request)?;
        records::refresh(session);
        Ok(Some(done))
    });
    match done {
        Err(error) if error.code() == Code::Interrupted => Err(error),
        Err(error) => Ok(RoutedReport { error: Some(error.message()), ..RoutedReport::default() }),
        Ok(None) => Ok(RoutedReport::default()),
        Ok(Some(Done { mut outcomes, op })) => {
            let all = outcomes.len();
            outcomes.retain(|outcome| outcome.status != SourceStatus::Unchanged);
            Ok(RoutedReport { unchanged: all - outcomes.len(), records: outcomes, op, error: None })
        }
    }
}

fn run(session: &Session, rows: &Rows, rules: &Rules, request: &Request) -> Result<Done> {
    let documents = documents::find(session, rows.commit, rules, request)?;
    let sources = Sources::load(&session.repo)?;
    let mut ingestor = Ingestor::new(session, rows, rules, &sources, request)?;
    for document in &documents {
        ingestor.take(document)?;
    }
    if request.paths.is_empty() {
        ingestor.retire(&documents)?;
    }
    let (outcomes, edits) = ingestor.finish();
    let op = change::apply(session, Kind::Ingest, &summary(&outcomes), &edits)?;
    Ok(Done { outcomes, op })
}

/// Describes the operation.
fn summary(outcomes: &[SourceOutcome]) -> String {
    let of = |wanted: &[SourceStatus]| -> Vec<&RepoPath> {
        let changed = outcomes.iter().filter(|outcome| wanted.contains(&outcome.status));
        changed.map(|outcome| &outcome.path).collect()
    };
    let telling = |verb: &str, paths: &[&RepoPath]| match paths {
        [] => None,
        [only] => Some(format!("{verb} '{only}'")),
        many => Some(format!("{verb} {}", text::count(many.len(), "document"))),
    };
    let parts = [
        telling("ingest", &of(&[SourceStatus::Ingested, SourceStatus::Replaced])),
        telling("retire", &of(&[SourceStatus::Retired])),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}
