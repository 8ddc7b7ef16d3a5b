//! Tells the next undo, and whether it refuses, for reports.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::worktree::scan::Scan;
use crate::model::id::OperationId;
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::operation::{Kind, Log};

use super::undo_next::origin_of;
use super::{Direction, plain_git, refusal};

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
    /// The hint of that refusal; left out if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Returns the preview of the next undo, by the scan of a session that keeps objects in memory. It reads at most the files
/// that an undo would read.
pub fn outlook(session: &Session, log: &Log, scan: &Scan) -> Result<Option<UndoStep>> {
    if let Some(unrecorded) = plain_git::unrecorded(session, log, Direction::Undo)? {
        let refused_as = Some(Code::ExternalChange.as_str());
        return Ok(Some(UndoStep {
            op: None,
            summary: unrecorded.summary,
            refused_as,
            hint: None,
        }));
    }
    let Some(entry) = log.next_undo() else {
        return Ok(None);
    };
    let record = &entry.record;
    let mut step = UndoStep {
        op: Some(record.op),
        summary: record.summary.clone(),
        refused_as: None,
        hint: None,
    };
    let refused = refusal(session, log, scan)?;
    if let Some(error) = &refused {
        step.refused_as = Some(error.code().as_str());
    }
    // The line about a change by plain git has its command.
    if origin_of(log, record).kind != Kind::External {
        step.hint = refused.and_then(|error| error.hint_text().map(str::to_owned));
    }
    Ok(Some(step))
}
