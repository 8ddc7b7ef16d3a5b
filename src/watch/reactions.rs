//! What the watcher does after changes: it maps scopes again or marks them, keeps the state, asks the remote.

use crate::agents::colony::taking_part;
use crate::design::checkpoint::automatic;
use crate::map::mapping::MapResult;
use crate::map::pages;
use crate::map::{self, map_worktree};
use crate::map_rows;
use crate::model::Result;
use crate::repo_map::show::MapState;
use crate::search;
use crate::store::Session;
use crate::store::state::{Watch, event_log};
use crate::sync;

use super::triggers::Rows;

/// The remote that is asked.
const REMOTE: &str = "origin";

/// The outcome of an automatic checkpoint.
pub(super) enum Keeping {
    /// It was made.
    Kept(String),
    /// The state is kept already, or automatic checkpoints are off.
    Unchanged,
    /// Git or another command is in the middle of something.
    Later,
}

/// Maps the rows of a watch again: HEAD and the working tree. Returns the scopes that have other pages now.
pub(super) fn reindex(session: &Session, watch: &Watch) -> Result<Vec<String>> {
    let names = Rows::read(session)?.names_for(watch);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let request =
        |state| map_rows::Request { sources: names.clone(), ..map_rows::Request::offline(state) };
    let committed = map::map(session, &request(MapState::Head))?;
    let worktree = map_worktree::map(session, &request(MapState::Worktree))?;
    taking_part::publish_session(session);
    search::keep_up_to_date(session);
    // Before the events of the watch, which come of them.
    event_log::write_announced(&session.world);
    let results = committed.results.into_iter().chain(worktree.results);
    let has_others = |result: &MapResult| result.size.pages_added + result.size.pages_removed > 0;
    let mapped = results.filter(has_others);
    Ok(mapped.map(|result| result.scope_id).collect())
}

/// Marks the pages of the scopes of a watch as stale, committed or not, until they are mapped again.
pub(super) fn invalidate(session: &Session, watch: &Watch) -> Result<()> {
    let scopes = Rows::read(session)?.scopes_for(watch);
    pages::invalidate(session, &scopes)
}

/// Keeps the state beside the branch, unless git is in the middle of something.
pub(super) fn keep(session: &Session) -> Result<Keeping> {
    if !session.settings.auto_checkpoint {
        return Ok(Keeping::Unchanged);
    }
    if session.repo.in_progress().is_some() {
        return Ok(Keeping::Later);
    }
    let report = automatic::create(session, "quiet working tree")?;
    taking_part::publish_session(session);
    Ok(match (report.reason, report.checkpoint_id) {
        (Some("busy"), _) => Keeping::Later,
        (None, Some(id)) => Keeping::Kept(id),
        _ => Keeping::Unchanged,
    })
}

/// Fetches what the remote has: branches, records, the work of agents of other machines. Announces what has moved, and
/// returns the names.
pub(super) fn fetch(session: &Session) -> Result<Vec<String>> {
    let remote = Some(REMOTE.to_owned());
    let request = sync::Request { remote, way: sync::Way::Fetch, allow_secrets: Vec::new() };
    let report = sync::sync(session, &request)?;
    // It is not what the agent does that watches, and it hears of them, too.
    for event in session.world.changes.take_announced() {
        event_log::emit_to_all(session, event.key, event.value);
    }
    let moved = report.branch_changed.into_iter().chain(report.agent_changed);
    Ok(moved.map(|branch| branch.name).collect())
}
