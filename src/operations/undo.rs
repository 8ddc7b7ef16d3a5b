//! `undo` and `redo`: the steps, and the scopes that are mapped again by them without pages here.
//!
//! An operation has the record of a scope, and pages are derived data: undo of `scopes unmap` returns the record alone.

use std::collections::BTreeSet;

use crate::agents::agent_places;
use crate::design::undo::Direction;
use crate::design::undo::undo_report::UndoReport;
use crate::design::undo::undo_steps::{self, Request, Steps};
use crate::git::Oid;
use crate::map::pages;
use crate::model::Result;
use crate::repo_map::scope_record;
use crate::store::refs::{ref_names, shared_record};
use crate::store::{Session, key};
use crate::{migrate, records};

/// Takes the steps, and names the scopes whose pages must be made again.
pub fn run(session: &Session, request: Request) -> Result<UndoReport> {
    // Another clone may have changed a shared record since.
    records::refresh(session);
    let is_plain_undo =
        request.direction == Direction::Undo && matches!(request.steps, Steps::Newest(_));
    let work = || undo_steps::run(session, request);
    let mut report = migrate::follow_undo(session, request.direction, work).map_err(|error| {
        if is_plain_undo { agent_places::explain_nothing(session, error) } else { error }
    })?;
    // The steps are taken: pages that cannot be read do not make them a failure.
    report.scopes_without_pages = without_pages(session, &report).unwrap_or_default();
    Ok(report)
}

/// Returns the scopes that have a record again and no pages here.
fn without_pages(session: &Session, report: &UndoReport) -> Result<Vec<String>> {
    let mut returned = BTreeSet::new();
    let changes = report.all().flat_map(|step| &step.refs);
    for change in changes {
        let is_of_worktree = || {
            let place = ref_names::LOCAL_SCOPES.as_bytes();
            change.name.as_bytes().starts_with(place)
        };
        if change.name.as_bytes() != ref_names::SCOPES.as_bytes() && !is_of_worktree() {
            continue;
        }
        let ids = |commit: Option<Oid>| -> Result<BTreeSet<String>> {
            let keys = shared_record::keys(&session.repo, &change.name, commit)?;
            let text = |key: &[u8]| std::str::from_utf8(key).ok().and_then(key::decode);
            Ok(keys.keys().filter_map(|name| text(name.as_bytes())).collect())
        };
        let before = ids(change.old)?;
        returned.extend(ids(change.new)?.difference(&before).cloned());
    }
    if returned.is_empty() {
        return Ok(Vec::new());
    }
    // Scopes of the working tree have no step of undo.
    returned.retain(|id| scope_record::committed(id).is_none());
    let opened = pages::open_kept(session)?;
    for scope in &opened.scopes {
        returned.remove(&scope.scope);
    }
    Ok(returned.into_iter().collect())
}
