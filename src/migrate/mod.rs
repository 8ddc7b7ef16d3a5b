//! Moves committed large files to git-lfs: rewrites history here, and publishes it on request.
//!
//! The new history is written beside the repository while other commands keep running; then every
//! ref moves in one operation, or none does, and `undo` takes it back like any other. Publishing is
//! a separate step (`publication`), which a person has to permit. Clones do not follow: `merge`
//! rewrites their commits by the recorded map (`design::migration`).

mod checks;
mod disk_full;
mod in_progress;
mod old_history;
mod other_checkouts;
mod preview;
mod publication;
mod replaced;
mod report;
mod set_up;
mod start_note;
mod starting_point;
mod stashes;
mod upload;

use crate::design::migration::{self, OffBranchCheckpoint};
use crate::git::lfs::lfs_import::{Import, Imported};
use crate::git::refs::FoundRef;
use crate::lfs::install::{self, Way};
use crate::model::{Code, Error, Result};
use crate::store::agent_policy::protected_branches;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::membership::Role;
use crate::store::migration::migration_children::{self, Children};
use crate::store::migration::migration_journal::Journal;
use crate::store::migration::{ObjectMap, folder};
use crate::store::operation::commit_point::refuse_nested;
use crate::store::operation::recover;
use crate::store::{self, Session};

use start_note::StartState;
use starting_point::StartingPoint;

pub use in_progress::{Stage, UnderWay, under_way};
pub use old_history::{refuse_known_push, refuse_old_push, refuse_two_histories};
pub use preview::{Outlook, check};
pub use publication::Publication;
pub use replaced::Replaced;
pub use report::{MigrateReport, MigrateStatus};
pub use set_up::follow_undo;

/// The remote to which a history is published.
const REMOTE: &str = "origin";

/// The hint that makes room for the git-lfs hooks beside existing ones.
const HOOKS_HINT: &str =
    "git colony hooks install   # keeps and calls that hook; then run it again";

/// The options of a migration.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Whether it is published.
    pub publication: Publication,
    /// What happens to work in clones that is not merged.
    pub agents: Agents,
}

/// The treatment of work in clones that would stay in the old history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agents {
    /// It stops the migration.
    Refuse,
    /// It stays there; `merge` rewrites it.
    Leave,
}

/// Moves committed large files to git-lfs, and publishes what the remote lacks; in a dry run, only
/// plans that.
pub fn migrate(session: &Session, request: Request) -> Result<MigrateReport> {
    session.refuse_reader()?;
    refuse_clone(session)?;
    require_git_lfs(session)?;
    let leave = publication::leave(session, request.publication)?;
    let _lock = lock(session)?;
    settle(session)?;
    // `None` in a dry run, which starts no process that could outlive it.
    let children = (!session.is_dry()).then(|| Children::begin(&session.repo)).transpose()?;
    let mut report = begin(session, request.agents, children.as_ref())?;
    report.dry_run = session.is_dry();
    if let Some(leave) = leave {
        publication::publish(session, &leave, children.as_ref(), &mut report)?;
    }
    Ok(report)
}

/// Refuses in a clone of ours: its checkout decides which history is valid.
fn refuse_clone(session: &Session) -> Result<()> {
    let member = session.membership.as_ref();
    if member.is_none_or(|member| member.role == Role::Desk) {
        return Ok(());
    }
    let message = "cannot migrate to git-lfs in a clone of an agent";
    Err(Error::new(Code::Unsupported, message)
        .unchanged()
        .hint("git colony lfs migrate   # for the user, in the checkout"))
}

fn require_git_lfs(session: &Session) -> Result<()> {
    if install::version(session).is_some() {
        return Ok(());
    }
    Err(Error::new(Code::LfsNotInstalled, "cannot migrate: git-lfs is not installed"))
}

/// Decides how to configure git-lfs; without it nothing can be migrated.
fn plan_install(session: &Session) -> Result<Way> {
    install::plan(session).map_err(|error| match error.code() {
        Code::HooksInTheWay => error.hint(HOOKS_HINT),
        _ => error,
    })
}

/// Takes the lock, and makes sure that no process of its last holder is still running; in a dry run, neither.
fn lock(session: &Session) -> Result<Option<WorktreeLock>> {
    if session.is_dry() {
        return Ok(None);
    }
    refuse_nested(session)?;
    let lock = store::migration::lock(session, WaitLimit::for_long_work(session.settings.timeout))?;
    migration_children::settle(session)?;
    Ok(Some(lock))
}

/// Completes or cancels the work of a dead process; not in a dry run.
fn settle(session: &Session) -> Result<()> {
    if session.is_dry() {
        return Ok(());
    }
    if let Some(places) = Places::find(&session.repo)? {
        let _lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
        recover::recover(session, &places)?;
    }
    Ok(())
}

fn begin(session: &Session, agents: Agents, children: Option<&Children>) -> Result<MigrateReport> {
    let start = StartingPoint::take(session, agents)?;
    if !start.is_needed {
        tidy(session)?;
        return report::up_to_date(session, &start);
    }
    protected_branches::require(session, start.refs.iter().map(|reference| &reference.name))?;
    let Some(children) = children else {
        return report::of_start(session, &start);
    };
    let way = plan_install(session)?;
    let begun = StartState::note(session).map_err(|error| disk_full::explain(session, error));
    let standing = begun?.standing;
    let done = install::install(session, way).and_then(|()| {
        let set_up = standing.has_grown(&session.repo);
        rewrite(session, &start, set_up, children)
    });
    if session.world.is_dead() {
        return done;
    }
    let done = done.map_err(|error| disk_full::explain(session, error));
    // First delete the large folder: on a full disk no configuration can be written.
    let removed = atomic::remove_folder(&folder(&session.repo));
    match done {
        Ok(done) => removed.and_then(|()| StartState::forget(&session.repo)).map(|()| done),
        // The next migration restores the rest: its note stays.
        Err(error) => match standing.restore(session).and(removed) {
            Ok(()) => StartState::forget(&session.repo).and(Err(error)),
            Err(_) => Err(error),
        },
    }
}

/// Deletes what a migration that was cut off has left, with its configuration; not in a dry run.
fn tidy(session: &Session) -> Result<()> {
    if session.is_dry() {
        return Ok(());
    }
    atomic::remove_folder(&folder(&session.repo))?;
    if let Some(begun) = StartState::find(&session.repo)? {
        begun.standing.restore(session)?;
    }
    StartState::forget(&session.repo)
}

/// Joins the maps of the steps of an import.
fn joined_map(session: &Session, imported: &Imported) -> ObjectMap {
    let mut map = ObjectMap::default();
    for (number, later) in imported.maps.iter().enumerate() {
        match number {
            0 => map = ObjectMap::new(later.clone(), &session.repo),
            _ => map.then(later),
        }
    }
    map
}

fn rewrite(
    session: &Session,
    start: &StartingPoint,
    set_up: bool,
    children: &Children,
) -> Result<MigrateReport> {
    let repo = &session.repo;
    let besides = migration::besides(repo, &start.refs)?;
    let imported = import(session, start, &besides, children)?;
    let map = joined_map(session, &imported);
    start.refuse_partial(session, &imported, &map)?;
    let moves = |reference: &FoundRef| {
        let commit = repo.peel_to_commit(reference.id);
        commit.is_some_and(|id| map.get(id).is_some())
    };
    if !start.refs.iter().any(moves) {
        return report::up_to_date(session, start);
    }
    let files = start.files(session)?;
    let record = migration::commit(
        session,
        migration::Request {
            recorded: &start.refs,
            imported: &imported,
            map,
            besides: &besides,
            set_up,
            files,
            include: &start.patterns.include,
            exclude: &start.patterns.exclude,
            taken: &start.patterns.taken,
        },
    )?;
    let journal =
        Journal::find(repo)?.map(|(journal, _)| journal).filter(|journal| journal.op == record.op);
    let mut report = report::of_record(session, start, &record)?;
    report.commits = journal.map_or(0, |journal| journal.commits);
    report.files = files;
    Ok(report)
}

fn import(
    session: &Session,
    start: &StartingPoint,
    besides: &[OffBranchCheckpoint],
    children: &Children,
) -> Result<Imported> {
    let repo = &session.repo;
    let folder = folder(&session.repo);
    atomic::remove_folder(&folder)?;
    atomic::make_directory(&folder)?;
    let mut tips = migration::tips(repo, &start.refs)?;
    tips.extend(besides.iter().map(|beside| beside.files));
    tips.sort();
    tips.dedup();
    if !session.world.progress.is_unwanted() {
        (session.world.narrate)("rewriting history; this takes a while for a long history");
    }
    repo.import_for_lfs(
        &session.world,
        &Import {
            folder: &folder,
            steps: &[start.step()],
            tips: &tips,
            kept_open: children.file()?,
        },
    )
}
