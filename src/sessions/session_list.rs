//! `session list`: the sessions of this checkout.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::id::SessionId;
use crate::model::time::Moment;
use crate::model::{RepoPath, Result};
use crate::store::session_log::MAX_ACTIVE;
use crate::store::session_log::session_history::SessionState;

use super::{KnownSession, SessionPlace, old_sessions};

/// A session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionRow {
    /// Its id.
    pub session_id: SessionId,
    /// Its state now.
    pub state: SessionState,
    /// The agent that works in it; null for the user.
    pub agent: Option<String>,
    /// The plan of its task; null if it does not name one.
    pub plan: Option<String>,
    /// When it began, RFC 3339 UTC.
    pub created_at: Option<String>,
    /// When its last event happened.
    pub last_at: Option<String>,
    /// The number of turns since its last reset.
    pub turns: usize,
    /// The tokens of these turns.
    pub tokens: u64,
    /// The number of its events.
    pub event_count: usize,
    /// The number of lines of its file that are torn or damaged.
    pub damaged_lines: usize,
    /// The size of its file.
    pub bytes: u64,
    /// Its file.
    pub path: RepoPath,
}

/// The sessions of a checkout.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionsReport {
    /// By the time of their last event, the newest last.
    pub sessions: Vec<SessionRow>,
    /// Their number.
    pub count: usize,
    /// The number of active ones.
    pub active: usize,
    /// The maximum number of active ones.
    pub max_active: usize,
    /// The number of archived and ended ones that are not listed.
    pub hidden: usize,
    /// Folders of other programs with sessions of this checkout: the next 'session new', 'note', 'end' or 'resume'
    /// copies them.
    pub not_copied: Vec<RepoPath>,
}

/// Which sessions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Those that go on.
    Open,
    /// All.
    All,
}

/// Lists the sessions.
pub fn list(place: &SessionPlace<'_>, listed: Listed) -> Result<SessionsReport> {
    let now = place.world.now();
    let known = place.read_all()?;
    let mut sessions: Vec<SessionRow> =
        known.iter().map(|session| row(place, session, &now)).collect();
    let active = sessions.iter().filter(|row| row.state == SessionState::Active).count();
    let is_open = |row: &SessionRow| matches!(row.state, SessionState::Active | SessionState::Idle);
    let all = sessions.len();
    if listed == Listed::Open {
        sessions.retain(is_open);
    }
    sessions.sort_by(|session, other| session.last_at.cmp(&other.last_at));
    Ok(SessionsReport {
        count: sessions.len(),
        hidden: all - sessions.len(),
        not_copied: old_sessions::not_copied(place)?,
        sessions,
        active,
        max_active: MAX_ACTIVE,
    })
}

/// Returns the row of a session.
pub(super) fn row(place: &SessionPlace<'_>, known: &KnownSession, now: &Moment) -> SessionRow {
    let history = &known.history;
    SessionRow {
        state: history.state(now),
        agent: history.text("agent"),
        plan: history.text("plan"),
        created_at: history.created.as_ref().and_then(|event| event.at.clone()),
        last_at: history.last_at.clone(),
        turns: history.turns,
        tokens: history.tokens,
        event_count: history.event_count,
        damaged_lines: known.log.damaged_lines,
        bytes: known.log.bytes,
        path: place.logs.path(&known.id),
        session_id: known.id.clone(),
    }
}
