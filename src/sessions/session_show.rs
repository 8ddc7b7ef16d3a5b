//! `session show`: a session with its events and its work.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::Result;
use crate::store::session_log::session_event::SessionEvent;

use super::SessionPlace;
use super::session_list::{SessionRow, row};
use super::session_work::{SessionWork, WithPatch};

/// The maximum number of events that an answer has.
const MAX_EVENTS: usize = 200;

/// A session with its work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionReport {
    /// The session.
    #[serde(flatten)]
    pub session: SessionRow,
    /// The values that its events of the type `meta_updated` gave it.
    pub meta: Map<String, Value>,
    /// Its work; empty without git.
    #[serde(flatten)]
    pub work: SessionWork,
    /// Its newest events, at most 200, oldest first.
    pub events: Vec<SessionEvent>,
}

/// Shows a session: by id or unique prefix, else the one of this command.
pub fn show(
    place: &SessionPlace<'_>,
    name: Option<&str>,
    patch: WithPatch,
) -> Result<SessionReport> {
    let known = place.find_session(name)?;
    let work = match place.session {
        Some(session) => SessionWork::read(session, &known.id, &known.log.events, patch)?,
        None => SessionWork::default(),
    };
    let session = row(place, &known, &place.world.now());
    let mut events = known.log.events;
    events.drain(..events.len().saturating_sub(MAX_EVENTS));
    Ok(SessionReport { session, meta: known.history.meta, work, events })
}
