//! The events of an operation, read off its record: what it was done for is in the kind, what it changed in the refs.

use serde_json::json;

use crate::git::RefChange;
use crate::store::refs::ref_names;
use crate::store::state::event_log::announce;
use crate::store::{Session, key};

use super::operation_kind::Kind;
use super::operation_record::Record;

/// Announces the checkpoints, the merge and the moved branches of a completed operation.
pub(super) fn operation(session: &Session, record: &Record) {
    let cause = checkpoints(session, record);
    let is_branch = |change: &&RefChange| change.name.as_bytes().starts_with(b"refs/heads/");
    for change in record.refs.iter().filter(is_branch) {
        if change.old == change.new {
            continue;
        }
        let merged = merge(session, record, change);
        branch_changed(session, change, merged.as_ref().or(cause.as_ref()), record);
    }
    if matches!(record.kind, Kind::Undo | Kind::Redo) {
        scopes(session, record);
    }
}

/// Announces the scopes that are mapped again, or no longer. What maps or unmaps one first announces it itself.
fn scopes(session: &Session, record: &Record) {
    let repo = &session.repo;
    let is_of_scopes = |change: &&RefChange| {
        let name = change.name.to_string();
        name == ref_names::SCOPES || name.starts_with(ref_names::LOCAL_SCOPES)
    };
    for change in record.refs.iter().filter(is_of_scopes) {
        // Where the records cannot be read, the undo is done all the same.
        let trees = repo.tree_of(change.old).and_then(|old| Ok((old, repo.tree_of(change.new)?)));
        let changes = trees.and_then(|(old, new)| repo.diff_trees(old, new));
        for changed in changes.unwrap_or_default() {
            let folder = changed.path.parent();
            let name = folder.as_ref().and_then(|folder| folder.as_path().to_str());
            let Some(scope) = name.and_then(key::decode) else {
                continue;
            };
            let prefix = if changed.new.is_some() { "mapped" } else { "unmapped" };
            announce(
                session,
                format!("{prefix}:{scope}"),
                json!({"scope_id": scope, "op": record.op}),
            );
        }
    }
}

/// Announces new checkpoints; returns the key of the last one.
fn checkpoints(session: &Session, record: &Record) -> Option<String> {
    // An undo that brings one back is not a new one.
    if !matches!(record.kind, Kind::Checkpoint | Kind::Tag) {
        return None;
    }
    let mut last = None;
    for change in &record.refs {
        let is_named = change.name.to_string().starts_with(ref_names::CHECKPOINTS);
        let (Some(name), Some(tag), true) =
            (ref_names::parse_checkpoint(&change.name), change.new, is_named)
        else {
            continue;
        };
        let message = session.repo.find_tag(tag).map(|tag| tag.message).unwrap_or_default();
        let text = String::from_utf8_lossy(&message);
        let checkpoint_id = format!("checkpoint/{name}");
        let key = format!("checkpoint_emitted:{checkpoint_id}");
        let value = json!({
            "checkpoint_id": checkpoint_id,
            "sha": session.repo.peel_to_commit(tag),
            "label": text.lines().next(),
            "branch": record.before.head.name.short(),
            "op": record.op,
        });
        announce(session, &key, value);
        last = Some(key);
    }
    last
}

/// Announces that a branch has more work than before, where the operation is a merge into it.
fn merge(session: &Session, record: &Record, change: &RefChange) -> Option<String> {
    if !matches!(record.kind, Kind::Merge | Kind::Land) {
        return None;
    }
    let target = change.name.short();
    let key = format!("branch_merged:{target}");
    let value = json!({
        "scope_id": target,
        "target": target,
        "source": source_of(record, &target),
        "summary": record.summary.lines().next(),
        "old_sha": change.old,
        "new_sha": change.new,
        "op": record.op,
    });
    announce(session, &key, value);
    Some(key)
}

/// Returns what was merged, as it was typed.
fn source_of<'a>(record: &'a Record, target: &str) -> Option<&'a str> {
    let named = record.summary.strip_prefix("merge '")?;
    named.strip_suffix(&format!("' into '{target}'"))
}

fn branch_changed(session: &Session, change: &RefChange, cause: Option<&String>, record: &Record) {
    let branch = change.name.short();
    let value = json!({
        "scope_id": branch,
        "source_event_key": cause,
        "branch": branch,
        "old_sha": change.old,
        "new_sha": change.new,
        "kind": record.kind,
        "op": record.op,
    });
    announce(session, format!("branch_changed:{branch}"), value);
}
