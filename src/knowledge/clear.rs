//! Documents deleted from the knowledge base, with all versions; their files stay.

use schemars::JsonSchema;
use serde::Serialize;

use crate::knowledge::stored::change::{self, Edits};
use crate::knowledge::stored::record::SourceRecord;
use crate::knowledge::stored::sources::{Sources, UnreadableRecord};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::records;
use crate::store::Session;
use crate::store::operation::Kind;

use super::listing;
use super::retirement::Retirement;

/// The documents to delete.
#[derive(Clone, Debug)]
pub enum Choice {
    /// Those of these names: `repo:<path>`, a path of the repository, or the place of a record that cannot be
    /// read.
    Named(Vec<String>),
    /// Those whose path, or `repo:<path>`, begins so.
    Prefix(String),
    /// Those that this row of the routing matches, from 1.
    Row(usize),
    /// Versions that no branch has, of those that are known here.
    Unused,
}

impl Choice {
    /// Returns why it chooses nothing, if it must choose something.
    fn without_match(&self) -> Option<String> {
        let what = match self {
            Choice::Prefix(prefix) => format!("begins with '{prefix}'"),
            Choice::Row(row) => format!("matches routing row {row}"),
            Choice::Named(_) | Choice::Unused => return None,
        };
        Some(format!("no document of the knowledge base {what}"))
    }
}

/// A document that was deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClearedSource {
    /// The document, `repo:<path>`.
    pub source_uri: String,
    /// Its path.
    pub path: RepoPath,
    /// The number of its records.
    pub versions: usize,
    /// The number of their chunks.
    pub chunks: usize,
}

/// The result of `knowledge clear`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClearReport {
    /// The documents, by path.
    pub cleared: Vec<ClearedSource>,
    /// Their number.
    pub count: usize,
    /// The number of deleted records that could not be read.
    pub unreadable: usize,
    /// Why nothing was chosen, if a prefix or a row matches no document; null otherwise.
    pub problem: Option<String>,
    /// The operation; null if nothing had to change, and in a dry run.
    pub op: Option<OperationId>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Deletes the records of documents; in a dry run, says which.
pub fn clear(session: &Session, choice: &Choice) -> Result<ClearReport> {
    session.refuse_reader()?;
    records::refresh(session);
    let sources = Sources::load(&session.repo)?;
    let (mut cleared, mut edits) = (Vec::new(), Edits::new());
    let is_chosen = chosen(session, &sources, choice)?;
    for (path, records) in sources.by_path() {
        let mut gone = Vec::new();
        for record in records {
            if is_chosen(record)? {
                gone.push(record);
            }
        }
        let Some(first) = gone.first() else {
            continue;
        };
        edits.extend(gone.iter().map(|record| (record.key(), None)));
        cleared.push(ClearedSource {
            source_uri: first.source_uri.clone(),
            path: path.clone(),
            versions: gone.len(),
            chunks: gone.iter().map(|record| record.chunks).sum(),
        });
    }
    let mut unreadable = 0;
    if let Choice::Named(names) = choice {
        let records = sources.unreadable.iter();
        for record in records.filter(|record| names.iter().any(|name| is_place(record, name))) {
            edits.insert(record.name.clone(), None);
            unreadable += 1;
        }
    }
    let op = change::apply(session, Kind::KnowledgeClear, &summary(&cleared), &edits)?;
    records::refresh(session);
    Ok(ClearReport {
        count: cleared.len(),
        problem: if cleared.is_empty() { choice.without_match() } else { None },
        cleared,
        unreadable,
        op,
        dry_run: session.is_dry(),
    })
}

/// Whether a record is to be deleted.
type IsChosen<'a> = Box<dyn Fn(&SourceRecord) -> Result<bool> + 'a>;

fn chosen<'a>(
    session: &'a Session,
    sources: &'a Sources,
    choice: &'a Choice,
) -> Result<IsChosen<'a>> {
    Ok(match choice {
        Choice::Named(names) => {
            for name in names {
                require(sources, name)?;
            }
            Box::new(|record| Ok(names.iter().any(|name| is_named(record, name))))
        }
        Choice::Prefix(prefix) => Box::new(move |record| {
            let path = record.path.as_bytes();
            Ok(record.source_uri.starts_with(prefix) || path.starts_with(prefix.as_bytes()))
        }),
        Choice::Row(row) => {
            let routing = listing::routing_of(session)?.ok_or_else(|| {
                Error::new(Code::MapInvalid, "cannot use the map of HEAD")
                    .hint("git colony map check --rev HEAD")
            })?;
            if !(1..=routing.count()).contains(row) {
                let rows = text::count(routing.count(), "routing row");
                let message = format!("there is no routing row {row}: the map has {rows}");
                return Err(Error::new(Code::Usage, message).hint("git colony map show"));
            }
            Box::new(move |record| Ok(routing.row_matches(*row, &record.path) == Some(true)))
        }
        Choice::Unused => {
            let retirement = Retirement::new(&session.repo, session.repo.resolve_commit("HEAD")?)?;
            Box::new(move |record| retirement.is_unused(record))
        }
    })
}

fn is_named(record: &SourceRecord, name: &str) -> bool {
    record.source_uri == name || record.path.as_bytes() == name.as_bytes()
}

fn is_place(record: &UnreadableRecord, name: &str) -> bool {
    record.name.to_string() == name.strip_prefix("repo:").unwrap_or(name)
}

fn require(sources: &Sources, name: &str) -> Result<()> {
    let is_known = sources.records.iter().any(|record| is_named(record, name));
    let mut unreadable = sources.unreadable.iter();
    if is_known || unreadable.any(|record| is_place(record, name)) {
        return Ok(());
    }
    let message = format!("the knowledge base has no document '{name}'");
    Err(Error::new(Code::SourceNotFound, message).unchanged().hint("git colony knowledge"))
}

fn summary(cleared: &[ClearedSource]) -> String {
    match cleared {
        [only] => format!("clear '{}' from the knowledge base", only.path),
        many => {
            let documents = text::count(many.len(), "document");
            format!("clear {documents} from the knowledge base")
        }
    }
}
