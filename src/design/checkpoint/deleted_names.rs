//! The name of a checkpoint that an operation of this worktree deleted: which one, and the command that brings it back.

use crate::git::{Oid, RefChange, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error};
use crate::store::operation::{Kind, Log, LogEntry};
use crate::store::refs::ref_names;

use super::tag_message::{Mode, TagMessage};

/// A checkpoint that an operation deleted.
struct Deleted<'a> {
    entry: &'a LogEntry,
    checkpoint_id: String,
    message: TagMessage,
    commit: Oid,
}

/// Makes the error for a name that no checkpoint has any more; `None` if no operation of this worktree, and none of
/// another, deleted it.
pub(super) fn explain(repo: &Repo, name: &str) -> Option<Error> {
    let own = Log::here(repo).unwrap_or_default();
    if let Some(deleted) = find(repo, &own, name) {
        let record = &deleted.entry.record;
        let by = match record.inverts {
            Some(inverted) => format!("{} of {inverted} ({})", record.kind.as_str(), record.op),
            None => record.op.to_string(),
        };
        let hint =
            command(&own, deleted.entry).map(|command| format!("{command}   # brings it back"));
        return Some(deleted.error(name, &by).hint(hint.unwrap_or_else(|| deleted.by_commit())));
    }
    let all = Log::read_all(repo).ok()?;
    let deleted = find(repo, &all, name)?;
    Some(deleted.error(name, "another worktree").hint(deleted.by_commit()))
}

fn find<'a>(repo: &Repo, log: &'a Log, name: &str) -> Option<Deleted<'a>> {
    let scratch = repo.in_memory().ok()?;
    log.entries.iter().rev().find_map(|entry| {
        let mut gone = entry.record.refs.iter().filter(|change| change.new.is_none());
        gone.find_map(|change| named(&scratch, entry, change, name))
    })
}

impl Deleted<'_> {
    fn error(&self, name: &str, by: &str) -> Error {
        let message = format!("checkpoint '{name}' was deleted by {by}");
        Error::new(Code::CheckpointNotFound, message)
            .detail("name", name)
            .detail("checkpoint_id", &self.checkpoint_id)
            .detail("op", self.entry.record.op)
    }

    /// Returns the command that brings its state back by the commit, which the operation keeps alive.
    fn by_commit(&self) -> String {
        let commit = self.commit.short();
        match self.message.mode {
            Mode::Branch => {
                let label = shell_word(&self.message.label);
                format!("git colony checkpoints tag -m {label} {commit}   # names its commit again")
            }
            Mode::OffBranch | Mode::Auto => {
                format!("git colony restore {commit} --mode files   # its files, by its commit")
            }
        }
    }
}

/// Returns the checkpoint whose ref a change deletes, if it has the name. git may have deleted its tag object since,
/// which the operation has a copy of.
fn named<'a>(
    scratch: &Repo,
    entry: &'a LogEntry,
    change: &RefChange,
    name: &str,
) -> Option<Deleted<'a>> {
    let id = ref_names::parse_checkpoint(&change.name)?;
    let tag = scratch.find_tag(change.old?).or_else(|| {
        entry.record.revive_tags(scratch, entry.commit).ok()?;
        scratch.find_tag(change.old?)
    })?;
    let message = TagMessage::read(&String::from_utf8_lossy(&tag.message));
    let checkpoint_id = format!("checkpoint/{id}");
    let is_id = [&*checkpoint_id, &*id].contains(&name) || id.rsplit('-').next() == Some(name);
    let is_named = is_id || message.label == name;
    is_named.then_some(Deleted { entry, checkpoint_id, message, commit: tag.target })
}

/// Returns the command that undoes or redoes this step, if it is the next one.
fn command(log: &Log, entry: &LogEntry) -> Option<String> {
    let kind = if entry.record.kind == Kind::Undo { Kind::Redo } else { Kind::Undo };
    let steps = log.steps(kind);
    let step = steps.iter().position(|step| step.record.op == entry.record.op)?;
    let verb = kind.as_str();
    // More steps would undo later work as well.
    (step == 0).then(|| format!("git colony {verb}"))
}
