//! Publishing as the last step of a migration: a failure is part of the report.

use crate::git::remote::Remote;
use crate::git::{RefChange, RefName};
use crate::model::{Code, Error, Result, time};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::migration::migration_children::Children;
use crate::store::migration::migration_journal::Journal;
use crate::store::refs::ref_names;

use super::report::MigrateReport;
use super::{REMOTE, follow, publication, remote_side, unfinished};

/// Refuses to publish protected branches, for an agent. A follower publishes nothing.
pub(super) fn require_unprotected(session: &Session, journal: &Journal) -> Result<()> {
    if journal.is_followed {
        return Ok(());
    }
    let names: Vec<RefName> = if journal.remote.is_some() {
        let changes = publication::plan(session, &journal.remote_refs)?;
        changes.into_iter().map(|change| change.name).collect()
    } else {
        // Which branches a remote of later has is not known yet.
        let branches = session.repo.refs_below("refs/heads/")?;
        branches.into_iter().map(|found| found.name).collect()
    };
    protected_branches::require(session, &names)
}

/// Publishes the migration if it is not published yet; a failure is part of the report.
pub(super) fn publish(
    session: &Session,
    journal: Option<&Journal>,
    report: &mut MigrateReport,
    children: &Children,
) -> Result<()> {
    let remote = match Remote::find(&session.repo, &session.world, REMOTE) {
        Ok(remote) => remote.keeping_open(children.file()?),
        Err(error) if error.code() == Code::RemoteNotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if journal.is_some_and(|journal| journal.is_followed) {
        // The checkout that made it has to publish it.
        return match follow::has_arrived(session, &remote) {
            Ok(true) => {
                note_published(session)?;
                report.publish(&[]);
                Ok(())
            }
            Ok(false) => {
                report.fail(&follow::not_arrived(remote.name()));
                Ok(())
            }
            Err(error) => {
                report.fail(&error);
                Ok(())
            }
        };
    }
    let before = match journal {
        Some(journal) if journal.remote.is_some() => Ok(journal.remote_refs.clone()),
        Some(journal) => publication::as_before(session, &remote, journal.op),
        None => Ok(report.remote_refs.clone()),
    };
    let published = before.and_then(|before| {
        if journal.is_some() {
            let changes = publication::plan(session, &before)?;
            remote_side::refuse_unmerged(session, remote.name(), &changes)?;
        }
        publication::publish(session, &remote, &before)
    });
    match published {
        Ok(moved) => {
            note_published(session)?;
            report.publish(&moved);
        }
        Err(error) if error.code() == Code::Interrupted => return Err(stopped_short(&error)),
        Err(error) => report.fail(&error),
    }
    Ok(())
}

/// Makes the error for an interrupt when everything was done here.
fn stopped_short(cause: &Error) -> Error {
    let message = "interrupted: history is rewritten here, and may not be published";
    Error::new(Code::Interrupted, message)
        .verdict(cause.ends_with())
        .hint("git colony lfs migrate --continue   # publishes it; --abort reverts it")
}

pub(super) fn note_published(session: &Session) -> Result<()> {
    let Some((journal, old)) = unfinished(&session.repo)? else {
        return Ok(());
    };
    let done = Journal { published_at: Some(time::rfc3339(&session.world.now())), ..journal };
    let new = done.write(&session.repo, &session.record_signature())?;
    let change = RefChange {
        name: RefName::from(ref_names::MIGRATION_JOURNAL),
        old: Some(old),
        new: Some(new),
    };
    publication::move_refs(session, &[change])
}
