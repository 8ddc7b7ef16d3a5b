//! Aborts a migration that no other repository has seen.

use crate::design::undo::{self, Direction};
use crate::git::Repo;
use crate::git::remote::Remote;
use crate::lfs::uninstall;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::files::places::Places;
use crate::store::migration::migration_journal::Journal;
use crate::store::operation::{Log, Record};

use super::later_work::{keep, left_on_new, moved_since, refuse_moved};
use super::report::{self, MigrateReport};
use super::start_note::{Begun, was_cut_off};
use super::{lock, nothing_under_way, publication, settle, tidy, unfinished};

/// The treatment of commits made since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// They stop the abort.
    Refuse,
    /// They are kept under names of their own.
    Keep,
}

/// Aborts an unpublished migration: every ref gets its old value. In a dry run, only plans that.
pub fn abort(session: &Session, since: Since) -> Result<MigrateReport> {
    let _lock = lock(session)?;
    let has_begun = was_cut_off(&session.repo)?;
    settle(session)?;
    let Some((journal, _)) = unfinished(&session.repo)? else {
        return abort_begun(session, has_begun);
    };
    tidy(session)?;
    let places = Places::find(&session.repo)?;
    if places.is_none_or(|places| places.key != journal.worktree) {
        return Err(Error::new(
            Code::NothingToResolve,
            "the migration was made in another worktree",
        )
        .unchanged()
        .hint("git worktree list   # then run the command there"));
    }
    let record = recorded(&session.repo, &journal)?;
    if !journal.is_followed {
        let moved = record.refs.iter();
        protected_branches::require(session, moved.map(|change| &change.name))?;
    }
    refuse_half_published(session, &journal)?;
    let moved = moved_since(&session.repo, &record)?;
    if since == Since::Refuse {
        refuse_moved(session, &moved)?;
    }
    let left = left_on_new(&session.repo, &record)?;
    let force = since == Since::Keep;
    let mut back = undo::preview(session, Direction::AbortMigration, force)?;
    if !session.is_dry() {
        keep(session, &moved)?;
        back = undo::run(session, Direction::AbortMigration, force)?;
        if journal.set_up {
            // With the filters git would report every large file that is stored in git again as
            // modified.
            uninstall::uninstall(session)?;
        }
        // Restored files have other times than the index has recorded. Everything is done: a
        // failure here is not an error, and the next git command refreshes the index.
        session.repo.refresh_index(&session.world).ok();
    }
    let mut report = report::of_abort(&journal, &back);
    (report.kept, report.left_on_new) = (moved, left);
    Ok(report)
}

/// Reverts the configuration of a migration that was interrupted before it moved anything.
fn abort_begun(session: &Session, has_begun: bool) -> Result<MigrateReport> {
    if !has_begun {
        return Err(nothing_under_way());
    }
    if !session.is_dry() {
        if let Some(begun) = Begun::find(&session.repo)? {
            begun.standing.restore(session)?;
        }
        tidy(session)?;
    }
    Ok(report::of_abort_before(session.is_dry()))
}

/// The old values are deleted with the operation when that is pruned.
fn recorded(repo: &Repo, journal: &Journal) -> Result<Record> {
    let places = Places::find(repo)?;
    let log = places.map(|places| Log::read(repo, &places)).transpose()?;
    if let Some(entry) = log.as_ref().and_then(|log| log.find(journal.op)) {
        return Ok(entry.record.clone());
    }
    Err(Error::new(
        Code::NothingToUndo,
        format!(
            "{} was pruned, and with it the old values of the refs: the migration cannot be \
            aborted",
            journal.op
        ),
    )
    .unchanged()
    .detail("op", journal.op)
    .hint("git colony lfs migrate --continue   # publishes it"))
}

/// The remote may have accepted the new history although its answer was lost.
fn refuse_half_published(session: &Session, journal: &Journal) -> Result<()> {
    let Some(name) = &journal.remote else {
        return Ok(());
    };
    let listed = Remote::find(&session.repo, &session.world, name)
        .and_then(|remote| publication::recorded(&remote));
    // An unreachable remote cannot answer; then the local state decides.
    let Ok(now) = listed else { return Ok(()) };
    for change in publication::plan(session, &journal.remote_refs)? {
        let found = now.iter().find(|found| found.name == change.name);
        if change.old.is_some() && found.map(|found| found.id) == change.new {
            return Err(Error::new(
                Code::PublishedCommits,
                format!("the new history is on '{name}' already"),
            )
            .hint("git colony lfs migrate --continue   # completes it"));
        }
    }
    Ok(())
}
