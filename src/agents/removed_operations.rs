//! The operations of a clone that is about to be removed, and the files they moved aside: finished
//! first, then counted and named.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::session_at;
use crate::clones::found::FoundClone;
use crate::model::{RepoPath, Result, World};
use crate::store::Session;
use crate::store::files::moved_aside;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::operation::{Log, PendingOperation, recover};
use crate::store::refs::ref_names;

/// The maximum number of files that are named.
const FEW: usize = 10;

/// The part of the operation log that is kept in the hub with the work of a clone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeptLog {
    /// The number of operations in its log; they are kept.
    pub kept_operations: usize,
    /// The number of files that these have moved aside; they are kept.
    pub kept_files_count: usize,
    /// The first of them, by their original paths.
    pub kept_files: Vec<RepoPath>,
    /// An interrupted or running operation; it is finished, or cancelled, before the clone is
    /// removed.
    pub pending_operation: Option<PendingOperation>,
}

/// Finishes or cancels interrupted operations in the worktrees of a clone.
pub(in crate::agents) fn settle(world: &World, clone: &FoundClone) -> Result<()> {
    let main = session_at(world, &clone.path)?;
    for other in main.repo.other_worktrees() {
        // A worktree without a folder has nowhere to restore a file to.
        if other.root.join(".git").exists() {
            recover_in(&session_at(world, &other.root)?)?;
        }
    }
    recover_in(&main)
}

fn recover_in(session: &Session) -> Result<()> {
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(());
    };
    let _lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    recover::recover(session, &places)
}

/// Counts and names the operations and files that the hub keeps.
pub(in crate::agents) fn read(session: &Session) -> Result<KeptLog> {
    let repo = &session.repo;
    let log = Log::read_all(repo)?;
    let files = moved_aside::list(&Places::kept_in(repo.common_dir()));
    let named = files.iter().take(FEW);
    let pending = Places::find(repo)?.map(|places| recover::pending(&places));
    Ok(KeptLog {
        kept_operations: repo.refs_below(ref_names::OPERATIONS)?.len(),
        kept_files_count: files.len(),
        kept_files: named.map(|file| log.name_of(file)).collect(),
        pending_operation: pending.transpose()?.flatten().map(PendingOperation::from),
    })
}
