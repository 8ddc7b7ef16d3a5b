//! Previews an undo without reading a file.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::id::OperationId;
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::operation::{Kind, Log};

use super::undo_next::{origin_of, refuse_foreign_progress};
use super::undo_refs::refs_back;
use super::{Direction, plain_git};

/// The preview of an undo.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UndoStep {
    /// The operation it would undo; `None` for an unrecorded change by plain git.
    pub op: Option<OperationId>,
    /// The summary of the operation.
    pub summary: String,
    /// The code with which undo refuses without `--force`; a git operation in progress is refused
    /// in any case.
    pub refused_as: Option<&'static str>,
}

/// Returns the preview of an undo without reading a file.
pub fn outlook(session: &Session, log: &Log) -> Result<Option<UndoStep>> {
    let step = |op, summary: &str, refused: Option<Code>| {
        Some(UndoStep { op, summary: summary.to_owned(), refused_as: refused.map(Code::as_str) })
    };
    if let Some(found) = plain_git::unrecorded(session, log, Direction::Undo)? {
        return Ok(step(None, &found.summary, Some(Code::ExternalChange)));
    }
    let Some(entry) = log.next_undo() else {
        return Ok(None);
    };
    let record = &entry.record;
    let refused = if let Err(error) = refuse_foreign_progress(session, Direction::Undo) {
        Some(error.code())
    } else if origin_of(log, record).kind == Kind::External {
        Some(Code::ExternalChange)
    } else {
        refs_back(session, record, false).err().map(|error| error.code())
    };
    Ok(step(Some(record.op), &record.summary, refused))
}
