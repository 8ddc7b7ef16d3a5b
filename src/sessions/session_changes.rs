//! `session note`, `end` and `resume`: one more event in the file of a session.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::id::SessionId;
use crate::model::{Error, RepoPath, Result};
use crate::store::session_log::refuse_long;
use crate::store::session_log::session_event::SessionEvent;
use crate::store::session_log::session_history::{ACTIVE, ENDED, SessionState};
use crate::text::tokenizer::Tokenizer;

use super::{KnownSession, SessionPlace, new_session, old_sessions};

/// An event that was added to a session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionChangeReport {
    /// The session.
    pub session_id: SessionId,
    /// The state of the session after it.
    pub state: SessionState,
    /// The event, without the secrets of its text; null if nothing had to change.
    pub event: Option<SessionEvent>,
    /// Its file.
    pub path: RepoPath,
    /// True if nothing was written because of a dry run.
    pub dry_run: bool,
}

/// A change of a session.
#[derive(Clone, Debug)]
pub enum SessionChange {
    /// Adds a turn.
    Note {
        /// Who said it; `None` is the agent, or without one the user.
        role: Option<String>,
        /// The text.
        text: String,
    },
    /// Ends it.
    End,
    /// Lets an ended or archived one go on.
    Resume,
}

/// Changes a session.
pub fn change(
    place: &SessionPlace<'_>,
    name: Option<&str>,
    change: &SessionChange,
) -> Result<SessionChangeReport> {
    place.world.refuse_change()?;
    old_sessions::copy_once(place)?;
    let known = place.find_session(name)?;
    // Only one command at a time counts the active ones.
    let counts = matches!(change, SessionChange::Resume) && !place.is_dry;
    let _lock = counts.then(|| place.logs.folder()?.lock()).transpose()?;
    let now = place.world.now();
    let (event, state) = match change {
        SessionChange::Note { role, text } => {
            known.require_open()?;
            let of_place = place.agent().map_or("user", |_| "assistant");
            let role = role.as_deref().unwrap_or(of_place);
            let tokens = Tokenizer::default().count(text);
            let turn = json!({ "role": role, "content": text, "tokens": tokens });
            (Some(("turn_added", turn)), SessionState::Active)
        }
        SessionChange::End => (
            (!known.history.is_ended).then(|| ("state_changed", json!({ "state": ENDED }))),
            SessionState::Ended,
        ),
        SessionChange::Resume => {
            let is_active = known.history.state(&now) == SessionState::Active;
            if !is_active {
                new_session::refuse_many(place, &now)?;
            }
            (
                (!is_active).then(|| ("state_changed", json!({ "state": ACTIVE }))),
                SessionState::Active,
            )
        }
    };
    let event = event.map(|(name, data): (&str, Value)| SessionEvent::new(name, &now, data));
    if let Some(event) = &event {
        add(place, &known, event)?;
    }
    Ok(SessionChangeReport {
        path: place.logs.path(&known.id),
        session_id: known.id,
        state,
        event: event.and_then(|event| SessionEvent::read(&event.to_line())),
        dry_run: place.is_dry,
    })
}

fn add(place: &SessionPlace<'_>, known: &KnownSession, event: &SessionEvent) -> Result<()> {
    if place.is_dry {
        return refuse_long(&event.to_line());
    }
    let repo = place.session.map(|session| &session.repo);
    if place.logs.append(repo, &known.id, event)? {
        return Ok(());
    }
    // It was adopted elsewhere since it was read.
    Err(Error::unchanged(place.unknown(known.id.as_str())))
}
