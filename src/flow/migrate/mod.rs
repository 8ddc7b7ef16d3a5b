//! Moves committed large files to git-lfs: rewrites history, here and on the remote.
//!
//! The new history is written beside the repository while other commands keep running; then every
//! ref moves in one operation, or none does. Publishing is a separate step that may be repeated.
//! Until it has succeeded, everything can be reverted. The refs of the remote are recorded
//! beforehand, and no ref there is moved that another push has moved since.

mod abort;
mod checks;
mod disk_full;
mod follow;
mod in_progress;
mod later_work;
mod other_checkouts;
mod preview;
mod publication;
mod publish_step;
mod remote_side;
mod report;
mod start_note;
mod starting_point;
mod stashes;
mod tags_of_no_commit;
mod upload;

use crate::design::migration::{self, Beside};
use crate::git::lfs::lfs_import::{Import, Imported};
use crate::git::refs::FoundRef;
use crate::git::remote::Remote;
use crate::git::{Oid, Repo};
use crate::lfs::install::{self, Way};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::agent_policy::protected_branches;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::migration::migration_children::{self, Children};
use crate::store::migration::migration_journal::Journal;
use crate::store::migration::{ObjectMap, folder};
use crate::store::operation::commit_point::refuse_nested;
use crate::store::operation::recover;
use crate::store::{self, Session};

use follow::Follows;
use remote_side::NewHistory;
use start_note::{Begun, was_cut_off};
use starting_point::Look;

pub use abort::{Since, abort};
pub use follow::{
    give_up, refuse_pushed, refuse_rewritten, refuse_unpublished, would_follow, would_give_up,
};
pub use in_progress::{Stage, UnderWay, WAY_BACK, under_way};
pub use preview::{Outlook, check};
pub use remote_side::{come_back, refuse_come_back};
pub use report::{MigrateReport, MigrateStatus};

/// The remote to which a history is published.
const REMOTE: &str = "origin";

/// The hint that makes room for the git-lfs hooks beside existing ones.
const HOOKS_HINT: &str =
    "git colony hooks install   # keeps and calls the existing hooks; then run the command again";

/// The options of a migration.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Whether it is published.
    pub publication: Publication,
    /// Whether a migration must be in progress.
    pub start: Start,
}

/// Whether a new history is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// Yes, if there is a remote.
    Yes,
    /// No, it stays here for now.
    No,
}

/// The starting point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The beginning, or where the last run was interrupted.
    Anywhere,
    /// Only where a run was interrupted.
    CutOff,
}

/// Moves committed large files to git-lfs, or continues a migration; in a dry run, lists the refs
/// of the remote and only plans that.
pub fn migrate(session: &Session, request: Request) -> Result<MigrateReport> {
    session.refuse_reader()?;
    require_git_lfs(session)?;
    let _lock = lock(session)?;
    let has_begun = was_cut_off(&session.repo)?;
    settle(session)?;
    let unfinished = to_go_on_with(session, request.start)?;
    if unfinished.is_none() && !has_begun && request.start == Start::CutOff {
        return Err(nothing_under_way());
    }
    // `None` in a dry run, which starts no process that could outlive it.
    let children = (!session.is_dry()).then(|| Children::begin(&session.repo)).transpose()?;
    let (mut report, journal) = match unfinished {
        Some((journal, _)) => {
            if request.publication == Publication::Yes {
                publish_step::require_unprotected(session, &journal)?;
            }
            // The folder of the rewrite is not needed any more.
            tidy(session)?;
            (report::of_journal(&session.repo, &journal)?, Some(journal))
        }
        None => begin(session, request.publication, children.as_ref())?,
    };
    report.dry_run = session.is_dry();
    let is_open = report.status != MigrateStatus::Followed && !report.is_settled;
    if let Some(children) = &children
        && request.publication == Publication::Yes
        && is_open
    {
        publish_step::publish(session, journal.as_ref(), &mut report, children)?;
    }
    Ok(report)
}

/// Follows a published migration, if there is one to follow.
pub fn follow(session: &Session) -> Result<Option<MigrateReport>> {
    let of_remote = match Remote::find(&session.repo, &session.world, REMOTE) {
        Ok(remote) => {
            let theirs = publication::recorded(&remote)?;
            follow::find(session, &remote, &theirs)?
        }
        Err(error) if error.code() == Code::RemoteNotFound => None,
        Err(error) => return Err(error),
    };
    if of_remote.is_none() && follow::find_heard(session)?.is_none() {
        return Ok(None);
    }
    let request = Request { publication: Publication::No, start: Start::Anywhere };
    migrate(session, request).map(Some)
}

fn nothing_under_way() -> Error {
    Error::new(Code::NothingToResolve, "no migration to git-lfs is in progress")
        .unchanged()
        .hint("git colony lfs migrate   # starts one")
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

/// Returns the command that makes a clone follow a migration.
fn refresh_hint(name: &str) -> String {
    format!("git colony clones refresh {}", shell_word(name))
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

fn unfinished(repo: &Repo) -> Result<Option<(Journal, Oid)>> {
    let journal = Journal::find(repo)?;
    Ok(journal.filter(|(journal, _)| journal.published_at.is_none()))
}

/// Returns the migration that this run continues. Without a remote it counts as complete unless the
/// user asks to continue; it can be aborted nevertheless.
fn to_go_on_with(session: &Session, start: Start) -> Result<Option<(Journal, Oid)>> {
    let has_remote = match Remote::find(&session.repo, &session.world, REMOTE) {
        Ok(_) => true,
        Err(error) => error.code() != Code::RemoteNotFound,
    };
    let found = unfinished(&session.repo)?;
    Ok(found.filter(|_| has_remote || start == Start::CutOff))
}

fn begin(
    session: &Session,
    publication: Publication,
    children: Option<&Children>,
) -> Result<(MigrateReport, Option<Journal>)> {
    let look = Look::take(session)?;
    if !look.is_needed {
        tidy(session)?;
        return Ok((report::nothing_to_do(session, &look)?, None));
    }
    if look.follows.is_none() {
        protected_branches::require(session, look.refs.iter().map(|found| &found.name))?;
    }
    let Some(children) = children else {
        return Ok((report::of_look(session, &look)?, None));
    };
    let way = plan_install(session)?;
    let begun = Begun::note(session).map_err(|error| disk_full::explain(session, error));
    let standing = begun?.standing;
    let done = install::install(session, way).and_then(|()| {
        let set_up = standing.has_grown(&session.repo);
        rewrite(session, &look, set_up, publication, children)
    });
    if session.world.is_dead() {
        return done;
    }
    let done = done.map_err(|error| disk_full::explain(session, error));
    // First delete the large folder: on a full disk no configuration can be written.
    let removed = atomic::remove_folder(&folder(&session.repo));
    match done {
        Ok(done) => removed.and_then(|()| Begun::forget(&session.repo)).map(|()| done),
        // The rest is reverted by --abort: its note stays.
        Err(error) => match standing.restore(session).and(removed) {
            Ok(()) => Begun::forget(&session.repo).and(Err(error)),
            Err(_) => Err(disk_full::with_way_back(error)),
        },
    }
}

/// Deletes the folder that was needed for the rewrite; not in a dry run.
fn tidy(session: &Session) -> Result<()> {
    if session.is_dry() {
        return Ok(());
    }
    atomic::remove_folder(&folder(&session.repo))?;
    Begun::forget(&session.repo)
}

/// Joins the maps of the steps of an import.
fn joined_map(repo: &Repo, imported: &Imported) -> ObjectMap {
    let mut map = ObjectMap::default();
    for (number, later) in imported.maps.iter().enumerate() {
        match number {
            0 => map = ObjectMap::new(later.clone(), repo),
            _ => map.then(later),
        }
    }
    map
}

fn rewrite(
    session: &Session,
    look: &Look,
    set_up: bool,
    publication: Publication,
    children: &Children,
) -> Result<(MigrateReport, Option<Journal>)> {
    let repo = &session.repo;
    let besides = migration::besides(repo, &look.refs)?;
    let imported = import(session, look, &besides, children)?;
    let map = joined_map(repo, &imported);
    if let Some(follows) = &look.follows {
        follows.refuse_another(repo, &imported.maps)?;
    } else if let Some((name, theirs)) = &look.remote {
        let new = NewHistory { imported: &imported, map: &map, publication };
        remote_side::refuse_ahead(session, &new, name, theirs)?;
    }
    if look.follows.is_none() {
        look.refuse_partial(session, &imported, &map)?;
    }
    let moves = |found: &FoundRef| {
        let commit = repo.peel_to_commit(found.id);
        commit.is_some_and(|id| map.get(id).is_some())
    };
    if !look.refs.iter().any(moves) {
        return Ok((report::up_to_date(session, look)?, None));
    }
    let files = look.files(session)?;
    let record = migration::commit(
        session,
        migration::Request {
            recorded: &look.refs,
            imported: &imported,
            map,
            besides: &besides,
            set_up,
            files,
            include: &look.patterns.include,
            exclude: &look.patterns.exclude,
            taken: &look.patterns.taken,
            follows: look.follows.as_ref().map(Follows::told),
            remote: look.remote.clone(),
        },
    )?;
    let journal =
        Journal::find(repo)?.map(|(journal, _)| journal).filter(|journal| journal.op == record.op);
    let mut report = report::of_record(repo, look, &record)?;
    report.commits = journal.as_ref().map_or(0, |journal| journal.commits);
    report.files = files;
    report.remote_refs = look.remote.clone().map(|(_, refs)| refs).unwrap_or_default();
    if look.follows.is_some() {
        report.status = MigrateStatus::Followed;
    }
    Ok((report, journal))
}

fn import(
    session: &Session,
    look: &Look,
    besides: &[Beside],
    children: &Children,
) -> Result<Imported> {
    let repo = &session.repo;
    let folder = folder(&session.repo);
    atomic::remove_folder(&folder)?;
    atomic::make_directory(&folder)?;
    let mut tips = migration::tips(repo, &look.refs)?;
    // If others have migrated and not published before, ours may be based on that.
    let theirs = look
        .remote
        .iter()
        .flat_map(|(_, refs)| refs)
        .filter(|found| publication::is_history(&found.name));
    tips.extend(theirs.filter_map(|found| repo.peel_to_commit(found.id)));
    tips.extend(besides.iter().map(|beside| beside.files));
    tips.sort();
    tips.dedup();
    if !session.world.progress.is_unwanted() {
        (session.world.narrate)("rewriting history; this takes a while for a long history");
    }
    repo.import_for_lfs(
        &session.world,
        &Import { folder: &folder, steps: &look.steps(), tips: &tips, kept_open: children.file()? },
    )
}
