//! Pages for one command, if the page table cannot be used, because a foreign file is in its place
//! or nothing can be written there.
//!
//! The rows of the map of HEAD are mapped as usual, and nothing is kept.

use super::map_rows::{self, Request, follows};
use super::mapping::{How, Mapper};
use crate::map::show::MapState;
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::cache::page_table::PageTable;

/// Maps the rows of HEAD. A row that cannot be mapped has no pages.
pub(in crate::flow) fn table(session: &Session, worktree: &str) -> Result<PageTable> {
    let request = Request::offline(MapState::Head);
    let rows = map_rows::resolve(session, &request)?;
    let how = How::offline(session);
    let mut mapper = Mapper::in_memory(how, worktree)?;
    for outcome in rows.outcomes {
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
