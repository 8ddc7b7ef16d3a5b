//! The name of a checkpoint that an operation of this worktree deleted: which one, and the command that brings it back.

use crate::git::{RefChange, Repo};
use crate::model::{Code, Error};
use crate::store::files::places::Places;
use crate::store::operation::{Kind, Log, LogEntry};
use crate::store::refs::ref_names;

use super::tag_message::TagMessage;

/// Makes the error for a name that no checkpoint has any more; `None` if no operation in the log deleted it.
pub(super) fn explain(repo: &Repo, name: &str) -> Option<Error> {
    let log = Log::read(repo, &Places::find(repo).ok()??).ok()?;
    let deleted = log.entries.iter().rev().find_map(|entry| {
        let mut gone = entry.record.refs.iter().filter(|change| change.new.is_none());
        gone.find_map(|change| id_of(repo, change, name)).map(|id| (entry, id))
    });
    let (entry, checkpoint_id) = deleted?;
    let record = &entry.record;
    let by = match record.inverts {
        Some(inverted) => format!("{} of {inverted} ({})", record.kind.as_str(), record.op),
        None => record.op.to_string(),
    };
    let message = format!("checkpoint '{name}' was deleted by {by}");
    let error = Error::new(Code::CheckpointNotFound, message)
        .detail("name", name)
        .detail("checkpoint_id", checkpoint_id)
        .detail("op", record.op);
    Some(match command(&log, entry) {
        Some(command) => error.hint(format!("{command}   # brings it back")),
        None => error.hint("git colony ops   # lists the operations"),
    })
}

/// Returns the id of the checkpoint whose ref a change deletes, if it has the name.
fn id_of(repo: &Repo, change: &RefChange, name: &str) -> Option<String> {
    let id = ref_names::parse_checkpoint(&change.name)?;
    let checkpoint_id = format!("checkpoint/{id}");
    let is_id = [&*checkpoint_id, &*id].contains(&name) || id.rsplit('-').next() == Some(name);
    let is_label = || {
        let tag = repo.find_tag(change.old?)?;
        Some(TagMessage::read(&String::from_utf8_lossy(&tag.message)).label == name)
    };
    (is_id || is_label().unwrap_or(false)).then_some(checkpoint_id)
}

/// Returns the command that undoes or redoes all steps down to this one.
fn command(log: &Log, entry: &LogEntry) -> Option<String> {
    let kind = if entry.record.kind == Kind::Undo { Kind::Redo } else { Kind::Undo };
    let steps = log.steps(kind);
    let step = steps.iter().position(|step| step.record.op == entry.record.op)?;
    let verb = kind.as_str();
    Some(match step {
        0 => format!("git colony {verb}"),
        step => format!("git colony {verb} {}", step + 1),
    })
}
