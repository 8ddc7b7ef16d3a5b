//! One at a time takes a clone away: a lock beside those that are on their way out, by the id of the clone.

use std::path::PathBuf;
use std::time::Duration;

use crate::model::{Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::WorktreeLock;
use crate::store::membership::Membership;

/// How long to wait for somebody else who takes the same clone away.
const TURN: Duration = Duration::from_mins(1);

/// Keeps others from taking the same clone away, as long as it is there.
#[derive(Debug)]
pub struct Turn {
    path: PathBuf,
    _lock: WorktreeLock,
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Whoever waits for it looks for it anew; what stays is swept with the locks of the dead.
        atomic::remove_file(&self.path).ok();
    }
}

/// Waits for others who take the same clone away; whoever comes next may find it gone.
///
/// # Errors
/// `locked`, `interrupted`, `invalid-value`.
pub fn take_turn(world: &World, member: &Membership) -> Result<Turn> {
    let root = SharedRoot::of(world)?;
    let path = root.leaving().join(format!("{}.turn.lock", member.id));
    let waiting = "waiting for another git-colony that takes this clone away";
    let lock = WorktreeLock::take_at(world, &path, (TURN, waiting))?;
    Ok(Turn { path, _lock: lock })
}
