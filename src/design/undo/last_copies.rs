//! Keeps an undo from deleting a checkpoint after something else deleted or reset its files.
//!
//! Only the paths that the checkpoint changed count, each by itself: other files and untracked ones do not.

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::submodule::Submodule;
use crate::design::worktree::open_worktree;
use crate::git::TreeEntry;
use crate::model::text::{self, typed_word};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::files::worktree_files::PathState;
use crate::store::operation::{Kind, Record, SubmoduleSnapshot};
use crate::store::refs::ref_names;

use super::undo_report::{GoneCheckpoint, RefMoves};

/// Refuses to delete a checkpoint if a path that it changed is missing now, or is as it was before the checkpoint.
pub(in crate::design) fn refuse_lost(
    session: &Session,
    (record, origin): (&Record, &Record),
    gone: &RefMoves,
    kept: &Kept,
) -> Result<()> {
    let Some(checkpoint) = gone.checkpoints.first().filter(|_| origin.kind == Kind::Checkpoint)
    else {
        return Ok(());
    };
    let repo = &session.repo;
    let deleted = gone.refs.iter().filter(|change| change.new.is_none());
    let mut tags = deleted.filter(|change| ref_names::parse_checkpoint(&change.name).is_some());
    let tag = tags.find_map(|change| change.old);
    let Some(commit) = tag.and_then(|tag| repo.peel_to_commit(tag)) else {
        return Ok(());
    };
    let before = repo.tree_of(record.before.head.commit)?;
    let files = open_worktree(session)?;
    let mut lost = Vec::new();
    for change in repo.diff_trees(before, repo.read_commit(commit)?.tree)? {
        let sides = [change.old, change.new];
        let is_submodule = sides.iter().flatten().any(TreeEntry::is_submodule);
        if is_submodule || kept.scan.is_skipped(&change.path) {
            continue;
        }
        let now = repo.leaf_in(kept.snapshot.worktree_tree, &change.path)?;
        let is_as_before = now.is_some() && now == change.old;
        let is_missing = || -> Result<bool> {
            let state = files.state(&change.path).map_err(|e| Error::io("cannot read", e))?;
            Ok(state == PathState::Nothing)
        };
        if is_as_before || (now.is_none() && change.new.is_some() && is_missing()?) {
            lost.push(change.path);
        }
    }
    for state in &origin.submodules {
        lost.extend(lost_inside(session, state, kept)?);
    }
    if lost.is_empty() { Ok(()) } else { Err(refusal(checkpoint, &lost)) }
}

/// Lists the files inside a submodule that only its state has; none while it has edits.
fn lost_inside(session: &Session, state: &SubmoduleSnapshot, kept: &Kept) -> Result<Vec<RepoPath>> {
    let edited = &kept.scan.edited_submodules;
    if edited.iter().any(|top| state.path.is_at_or_below(top)) {
        return Ok(Vec::new());
    }
    let Ok(submodule) = Submodule::open(session, &state.path) else {
        return Ok(vec![state.path.clone()]);
    };
    let repo = &submodule.session.repo;
    let Ok(commit) = repo.read_commit(state.snapshot) else {
        return Ok(Vec::new());
    };
    let before = repo.tree_of(commit.parents.first().copied())?;
    let now = repo.tree_of(repo.head()?.commit())?;
    let mut lost = Vec::new();
    for change in repo.diff_trees(before, commit.tree)? {
        if repo.leaf_in(now, &change.path)? == change.old {
            lost.push(submodule.at(&change.path));
        }
    }
    Ok(lost)
}

fn refusal(checkpoint: &GoneCheckpoint, lost: &[RepoPath]) -> Error {
    /// A longer name would not fit into the line.
    const MAX_NAME: usize = 20;
    let GoneCheckpoint { checkpoint_id, label } = checkpoint;
    let short_id = checkpoint_id.rsplit('-').next().unwrap_or(checkpoint_id);
    let name = if label.chars().count() > MAX_NAME { short_id } else { label };
    let are = if lost.len() == 1 { "is" } else { "are" };
    let message = format!(
        "only '{name}' has {} that {are} gone or reset here",
        text::count(lost.len(), "file")
    );
    Error::new(Code::CheckpointNeeded, message)
        .detail("checkpoint_id", checkpoint_id)
        .detail("label", label)
        .detail("paths", lost)
        .hint(format!("git colony restore {}   # or: git colony undo --force", typed_word(name)))
}
