//! What a clone that is to go has moved aside and done: finished first, then counted and named.

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::found::FoundClone;
use crate::flow::reports::operations;
use crate::flow::reports::status::PendingOperation;
use crate::model::{RepoPath, Result, World};
use crate::store::Session;
use crate::store::files::moved_aside;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::operation::{Log, recover};
use crate::store::refs::ref_names;

use super::session_at;

/// So many files are named.
const FEW: usize = 10;

/// What comes into the hub with the work of a clone: nothing of it is lost.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeptLog {
    /// How many operations its log has; they are kept.
    pub kept_operations: usize,
    /// How many files these have moved aside; they are kept.
    pub kept_files_count: usize,
    /// The first of them, as they were named.
    pub kept_files: Vec<RepoPath>,
    /// An operation that was cut off or is at work; it is finished, or taken back, before the clone goes.
    pub pending_operation: Option<PendingOperation>,
}

/// Finishes what was cut off in the worktrees of a clone, or takes it back.
///
/// # Errors
/// `recovery-needed`, `locked`; everything is left as found then.
pub(in crate::flow) fn settle(world: &World, clone: &FoundClone) -> Result<()> {
    let main = session_at(world, &clone.path)?;
    for other in main.repo.other_worktrees() {
        // One whose folder is gone has nothing to put a file back into.
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
    let _lock = WorktreeLock::take(&session.world, &session.repo, session.lock_timeout())?;
    recover::recover(session, &places)
}

/// Counts and names what comes into the hub.
///
/// # Errors
/// `repository-broken`, `newer-format`.
pub(in crate::flow) fn look(session: &Session) -> Result<KeptLog> {
    let repo = &session.repo;
    let log = Log::read_all(repo)?;
    let files = moved_aside::list(&Places::kept_in(repo.common_dir()));
    let named = files.iter().take(FEW);
    let pending = Places::find(repo)?;
    let pending = pending.map(|places| recover::pending(&places));
    Ok(KeptLog {
        kept_operations: repo.refs_below(ref_names::OPERATIONS)?.len(),
        kept_files_count: files.len(),
        kept_files: named.map(|file| operations::name_of(&log, file)).collect(),
        pending_operation: pending.transpose()?.flatten().map(PendingOperation::from),
    })
}
