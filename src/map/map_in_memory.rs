//! Pages without a record: for one command, if the page table cannot be used, because a foreign file is in its place or
//! nothing can be written there, and for a question about what nobody has mapped as it is now.
//!
//! The rows of the map of HEAD are mapped as usual. Nothing but the cache changes.

use std::collections::BTreeSet;

use crate::map_rows::{self, Request, follows};
use crate::model::{Code, Result};
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::cache::page_table::PageTable;

use super::mapping::{MapOptions, Mapper};

/// Maps the rows of HEAD for this command. A row that cannot be mapped has no pages.
pub(in crate::map) fn table(session: &Session, worktree: &str) -> Result<PageTable> {
    let mapper = Mapper::in_memory(MapOptions::offline(session), worktree)?;
    mapped(session, mapper, None)
}

/// Does the same with the pages of the cache, which the next question finds; only some scopes, or all.
pub(in crate::map) fn kept_table(
    session: &Session,
    worktree: &str,
    only: Option<&BTreeSet<String>>,
) -> Result<PageTable> {
    let mapper = Mapper::unrecorded(MapOptions::offline(session), worktree)?;
    mapped(session, mapper, only)
}

fn mapped(
    session: &Session,
    mut mapper: Mapper<'_>,
    only: Option<&BTreeSet<String>>,
) -> Result<PageTable> {
    let request = Request::offline(MapState::Head);
    let rows = map_rows::resolve(session, &request)?;
    let is_wanted = |scope: &String| only.is_none_or(|only| only.contains(scope));
    for outcome in rows.outcomes.into_iter().filter(|outcome| is_wanted(&outcome.scope_id)) {
        let Ok(resolved) = outcome.resolved else {
            continue;
        };
        let follows = follows(&request, &outcome.row, &resolved);
        match mapper.map(&resolved, follows.as_deref()) {
            Err(error) if error.code() == Code::Interrupted => return Err(error),
            // `map` reports the problem with a row.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(mapper.into_table())
}
