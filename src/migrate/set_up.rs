//! The configuration of git-lfs that a migration made: an undo takes it back, a redo makes it again.

use crate::design::undo::Direction;
use crate::lfs::{install, uninstall};
use crate::model::Result;
use crate::model::id::OperationId;
use crate::store::Session;
use crate::store::migration::migration_journal::Journal;

/// Returns the migration in effect that configured git-lfs.
fn configured(session: &Session) -> Result<Option<OperationId>> {
    let journal = Journal::find(&session.repo)?.map(|(journal, _)| journal);
    Ok(journal.filter(|journal| journal.set_up).map(|journal| journal.op))
}

/// Runs an undo or a redo; where it takes a migration back that configured git-lfs, or makes it
/// again, the configuration follows.
///
/// With the filters git would report every large file that is stored in git again as modified.
pub fn follow_undo<T>(
    session: &Session,
    direction: Direction,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    if session.is_dry() {
        return work();
    }
    let before = configured(session)?;
    let done = work()?;
    let after = configured(session)?;
    if before == after {
        return Ok(done);
    }
    match direction {
        Direction::Redo => install::install(session, super::plan_install(session)?)?,
        Direction::Undo | Direction::Alone(_) | Direction::Abort if after.is_none() => {
            uninstall::uninstall(session)?;
        }
        Direction::Undo | Direction::Alone(_) | Direction::Abort => {}
    }
    // The files that came back have other times than the index has recorded. Everything is done: a
    // failure here is not an error, and the next git command refreshes the index.
    session.repo.refresh_index(&session.world).ok();
    Ok(done)
}
