//! Branches of a remote that a fetch cannot bring up to date: each is named, and stops nothing else.

use crate::git::Oid;
use crate::git::remote::{Remote, Tracked};
use crate::model::text::shell_word;
use crate::model::{Error, Result};
use crate::records::rules::Sides;
use crate::store::Session;
use crate::store::refs::obstacle;

use super::both_sides::BothSides;
use super::plan::Step;
use super::{SyncResult, SyncedRef};

/// Returns a row for each branch that is not as the remote has it, after a fetch that failed.
pub(super) fn rows(
    session: &Session,
    remote: &Remote<'_>,
    snapshot: &BothSides,
) -> Result<Vec<SyncedRef>> {
    let Some(error) = &snapshot.branches_failed else {
        return Ok(Vec::new());
    };
    let behind = remote.behind(&snapshot.offered);
    if behind.is_empty() {
        let (name, problem) = (remote.name(), error.message());
        (session.world.narrate)(&format!("warning: of the branches of '{name}': {problem}"));
    }
    behind.iter().map(|tracked| row(session, remote, tracked, error)).collect()
}

fn row(
    session: &Session,
    remote: &Remote<'_>,
    tracked: &Tracked,
    error: &Error,
) -> Result<SyncedRef> {
    let ours = session.repo.find_ref(&tracked.here).unwrap_or_default();
    let sides = Sides { base: None, ours, theirs: tracked.id };
    let mut row = Step::still(&tracked.here, &sides, SyncResult::Conflict).row;
    let (reason, hint) = explain(session, remote, tracked, &sides)?.unwrap_or_else(|| {
        let again = || format!("git fetch {}", shell_word(remote.name()));
        (error.message(), error.hint_text().map_or_else(again, str::to_owned))
    });
    (row.reason, row.hint) = (Some(reason), Some(hint));
    Ok(row)
}

/// Returns the reason and the command that helps, as far as the two sides show it.
fn explain(
    session: &Session,
    remote: &Remote<'_>,
    tracked: &Tracked,
    sides: &Sides<Oid>,
) -> Result<Option<(String, String)>> {
    let (repo, there) = (&session.repo, &tracked.there);
    let name = shell_word(remote.name());
    let Some(theirs) = sides.theirs else {
        let reason =
            format!("'remote.{}.fetch' names '{there}', which is not there", remote.name());
        let key = shell_word(&format!("remote.{}.fetch", remote.name()));
        return Ok(Some((reason, format!("git config --get-all {key}   # delete its line"))));
    };
    let Some(ours) = sides.ours else {
        let found = repo.find_in_the_way(&tracked.here)?;
        let then = format!("git colony sync {name}");
        return Ok(found.map(|found| {
            (obstacle::reason(&found, "here"), obstacle::room(&found, "git", &then))
        }));
    };
    let is_rewritten = !tracked.is_forced
        && repo.object_size(theirs).is_some()
        && !repo.is_covered(&session.world, &[ours], &[theirs])?;
    Ok(is_rewritten.then(|| {
        let reason = "it was rewritten there, and its refspec, without '+', takes no such change";
        let spec = shell_word(&format!("+{there}:{}", tracked.here));
        (reason.to_owned(), format!("git fetch {name} {spec}"))
    }))
}
