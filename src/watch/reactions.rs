//! What the watcher does after changes: it maps scopes again or marks them, keeps the state, asks the remote.

use std::collections::BTreeMap;

use serde_json::json;

use crate::agents::colony::taking_part;
use crate::design::checkpoint::automatic;
use crate::git::remote::Remote;
use crate::git::{Oid, RefName};
use crate::map::mapping::MapResult;
use crate::map::pages;
use crate::map::{self, map_worktree};
use crate::map_rows;
use crate::model::Result;
use crate::repo_map::show::MapState;
use crate::search;
use crate::store::Session;
use crate::store::state::{Watch, event_log};

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

/// Fetches the branches of the remote, and announces those that have moved. Returns their names.
pub(super) fn fetch(session: &Session) -> Result<Vec<String>> {
    let before = branches(session)?;
    Remote::find(&session.repo, &session.world, REMOTE)?.fetch_branches()?;
    let after = branches(session)?;
    let mut moved = Vec::new();
    for (branch, new) in &after {
        let old = before.get(branch);
        if old == Some(new) {
            continue;
        }
        let ref_name = branch.to_string();
        let branch = ref_name.strip_prefix("refs/remotes/").unwrap_or(&ref_name);
        let value = json!({
            "scope_id": branch, "source_event_key": null, "branch": branch,
            "old_sha": old, "new_sha": new, "kind": "fetch",
        });
        event_log::emit_to_all(session, format!("branch_changed:{branch}"), value);
        moved.push(branch.to_owned());
    }
    Ok(moved)
}

fn branches(session: &Session) -> Result<BTreeMap<RefName, Oid>> {
    let prefix = format!("refs/remotes/{REMOTE}/");
    let found = session.repo.refs_below(&prefix)?.into_iter();
    let is_branch = |name: &RefName| !name.as_bytes().ends_with(b"/HEAD");
    Ok(found.filter(|found| is_branch(&found.name)).map(|found| (found.name, found.id)).collect())
}
