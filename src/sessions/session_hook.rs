//! The sessions of agents that report their own ids to a hook: begun at the first event, with a turn at the end of each,
//! ended with the agent's session.
//!
//! What the agent said is not recorded, only that a turn ended.

use serde_json::json;

use crate::context::known_projects::DEFAULT;
use crate::model::{Code, Result};
use crate::setup::hooks::Agent;
use crate::setup::hooks::payload::Payload;
use crate::store::Session;
use crate::store::session_log::session_event::SessionEvent;
use crate::store::session_log::session_history::{ACTIVE, ENDED, SessionHistory};

use super::{SessionPlace, new_session};

/// The events that matter to a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Start,
    TurnEnd,
    End,
}

/// Records an event of an agent. Where as many sessions are active as may be, none is begun.
pub fn record(session: &Session, agent: Agent, payload: &Payload) -> Result<()> {
    let moment = match payload {
        _ if payload.begins_session() => Moment::Start,
        _ if payload.ends_session() => Moment::End,
        _ if payload.ends_turn() => Moment::TurnEnd,
        _ => return Ok(()),
    };
    let Some(id) = &payload.session else {
        return Ok(());
    };
    let place = SessionPlace::find(&session.world, Some(session), false)?;
    let now = session.world.now();
    let event = |name, data| SessionEvent::new(name, &now, data);
    match place.logs.read(&session.world.interrupt, id)? {
        None if moment == Moment::End => return Ok(()),
        None => {
            let report = new_session::describe(&place, id.clone(), DEFAULT.to_owned())?;
            let mut created = new_session::created(&place, &report, &now);
            let harness = agent.as_str().into();
            created.data.insert("harness".to_owned(), harness);
            match new_session::create(&place, id, &created) {
                Err(error) if error.code() == Code::TooManySessions => return Ok(()),
                done => done?,
            }
        }
        Some(log) if moment != Moment::End && SessionHistory::of(&log.events).is_ended => {
            let state = json!({ "state": ACTIVE });
            place.logs.append(Some(&session.repo), id, &event("state_changed", state))?;
        }
        Some(_) => {}
    }
    let last = match moment {
        Moment::Start => return Ok(()),
        Moment::TurnEnd => {
            event("turn_added", json!({ "role": "assistant", "content": "", "tokens": 0 }))
        }
        Moment::End => event("state_changed", json!({ "state": ENDED })),
    };
    place.logs.append(Some(&session.repo), id, &last)?;
    Ok(())
}
