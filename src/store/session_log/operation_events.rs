//! Work in a session: the event of an operation, and of an automatic checkpoint, in the file of the session that
//! `COLONY_SESSION` names.
//!
//! It is written when the work is done. Without a file of that session nothing is written, and a failure is a warning.

use serde_json::{Map, Value, json};

use crate::git::{Checkout, Oid, RefChange, Repo};
use crate::model::Result;
use crate::model::id::SessionId;
use crate::store::Session;
use crate::store::lease::lease_holder::session_of;
use crate::store::operation::{Kind, Record};
use crate::store::refs::ref_names;

use super::SessionLogs;
use super::session_event::SessionEvent;

/// The trailer of commits that names a decision.
const DECISION: &str = "Colony-Decision: ";

/// The maximum number of commits that an operation is recorded with.
const MAX_COMMITS: usize = 100;

/// Appends the events of a completed operation.
pub fn note_operation(session: &Session, record: &Record) {
    let Some(id) = session_of(&session.world) else {
        return;
    };
    for (name, data) in events_of(session, record) {
        note(session, &id, name, data);
    }
}

/// Appends an event, if the session has a file here.
pub fn note(session: &Session, id: &SessionId, name: &str, data: Value) {
    if session.is_dry() {
        return;
    }
    let event = SessionEvent::new(name, &session.world.now(), data);
    if let Err(error) = append(session, id, &event) {
        (session.world.narrate)(&format!(
            "warning: cannot record '{name}' in the session {}: {}",
            id.as_str(),
            error.message()
        ));
    }
}

fn append(session: &Session, id: &SessionId, event: &SessionEvent) -> Result<bool> {
    let checkout = Checkout::of_repo(&session.repo)?;
    let logs = SessionLogs::of(&checkout.root, checkout.repository_id());
    logs.append(Some(&session.repo), id, event)
}

/// Returns the type and the fields of each event of an operation.
fn events_of(session: &Session, record: &Record) -> Vec<(&'static str, Value)> {
    let head = record.after.head.commit;
    let with_op = |fields: Value| {
        let mut all = Map::from_iter([
            ("op".to_owned(), json!(record.op)),
            ("kind".to_owned(), json!(record.kind)),
        ]);
        if let Value::Object(fields) = fields {
            all.extend(fields);
        }
        Value::Object(all)
    };
    let mut events = Vec::new();
    match record.kind {
        Kind::Checkpoint | Kind::Tag => {
            let moves_a_branch = record.refs.iter().any(is_of_branch);
            for (id, sha) in checkpoints(&session.repo, record) {
                let fields = json!({
                    "checkpoint_id": id,
                    "sha": sha,
                    "branch_moved": moves_a_branch,
                });
                events.push(("checkpoint", with_op(fields)));
            }
        }
        Kind::Decide => {
            let decision = head.and_then(|head| decision_of(&session.repo, head));
            let fields = json!({ "decision_id": decision, "sha": head });
            events.push(("decision", with_op(fields)));
        }
        Kind::Merge | Kind::Land => {
            for change in record.refs.iter().filter(|change| is_of_branch(change)) {
                let fields = json!({ "sha": change.new, "into": change.name.short() });
                events.push(("merge", with_op(fields)));
            }
        }
        Kind::Commit | Kind::CherryPick | Kind::Revert | Kind::External => {
            for sha in new_commits(&session.repo, record) {
                events.push(("commit", with_op(json!({ "sha": sha }))));
            }
        }
        _ => {}
    }
    if events.is_empty() {
        events.push(("operation", with_op(json!({ "sha": head }))));
    }
    events
}

fn is_of_branch(change: &RefChange) -> bool {
    change.name.as_bytes().starts_with(b"refs/heads/") && change.old != change.new
}

/// Lists the new checkpoints with the commits that they name.
fn checkpoints(repo: &Repo, record: &Record) -> Vec<(String, Option<Oid>)> {
    let new = |change: &RefChange| {
        let name = change.name.to_string();
        let id = name.strip_prefix(ref_names::CHECKPOINTS)?;
        let commit = repo.peel_to_commit(change.new?);
        Some((format!("checkpoint/{id}"), commit))
    };
    record.refs.iter().filter_map(new).collect()
}

/// Lists the commits that a branch has now and had not before, oldest first: first parents only. A branch that did not
/// move forward has none.
fn new_commits(repo: &Repo, record: &Record) -> Vec<Oid> {
    let moved = record.refs.iter().find(|change| is_of_branch(change));
    let Some((old, new)) = moved.map(|change| (change.old, change.new)) else {
        return Vec::new();
    };
    let mut commits = Vec::new();
    let mut at = new;
    while let Some(commit) = at.filter(|commit| Some(*commit) != old) {
        commits.push(commit);
        if commits.len() > MAX_COMMITS {
            return Vec::new();
        }
        at = repo.read_commit(commit).ok().and_then(|commit| commit.parents.first().copied());
    }
    // Without the old tip in it, this is another history: a switch, a reset, a rebase.
    if at != old {
        return Vec::new();
    }
    commits.reverse();
    commits
}

fn decision_of(repo: &Repo, commit: Oid) -> Option<String> {
    let message = repo.message_of(commit).ok()?;
    let mut lines = message.lines().rev();
    lines.find_map(|line| Some(line.strip_prefix(DECISION)?.to_owned()))
}
