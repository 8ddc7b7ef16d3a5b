//! The events of a session added up: its state, its turns, its work. Pure.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::time::{self, Moment};

use super::session_event::SessionEvent;

/// A session without an event for this many seconds is idle.
pub const IDLE_SECONDS: i64 = 1_800;

/// A session without an event for this many seconds is archived.
pub const ARCHIVE_SECONDS: i64 = 86_400;

/// The clocks of two machines may differ by this many seconds.
const MAX_SKEW_SECONDS: i64 = 300;

/// The states that `state_changed` names.
pub const ENDED: &str = "ended";

/// The state of a session that goes on.
pub const ACTIVE: &str = "active";

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionState {
    /// It had an event in the last 30 minutes.
    Active,
    /// It had none for 30 minutes.
    Idle,
    /// It had none for a day.
    Archived,
    /// It was ended.
    Ended,
}

impl SessionState {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            SessionState::Active => ACTIVE,
            SessionState::Idle => "idle",
            SessionState::Archived => "archived",
            SessionState::Ended => ENDED,
        }
    }
}

/// The sum of a session's events.
#[derive(Clone, Debug, Default)]
pub struct SessionHistory {
    /// The number of events.
    pub event_count: usize,
    /// The first event of the type `created`.
    pub created: Option<SessionEvent>,
    /// When the last event happened.
    pub last_at: Option<String>,
    /// Whether it was ended and not resumed.
    pub is_ended: bool,
    /// The turns since the last reset; a summary counts as one.
    pub turns: usize,
    /// Their tokens.
    pub tokens: u64,
    /// The values of `meta_updated`; later ones replace earlier ones.
    pub meta: Map<String, Value>,
}

impl SessionHistory {
    /// Adds up events, in their order.
    pub fn of(events: &[SessionEvent]) -> SessionHistory {
        let mut sum = SessionHistory::default();
        for event in events {
            sum.add(event);
        }
        sum
    }

    fn add(&mut self, event: &SessionEvent) {
        self.event_count += 1;
        match event.name.as_str() {
            "created" if self.created.is_none() => self.created = Some(event.clone()),
            "turn_added" => {
                self.turns += 1;
                self.tokens = self.tokens.saturating_add(event.number("tokens").unwrap_or(0));
            }
            "reset" => (self.turns, self.tokens) = (0, 0),
            "compacted" => {
                self.turns = 1;
                self.tokens = event.number("tokens").unwrap_or(0);
            }
            "state_changed" => self.is_ended = event.text("state") == Some(ENDED),
            "meta_updated" => {
                let of_event = event.data.get("meta").and_then(Value::as_object);
                self.meta.extend(of_event.unwrap_or(&event.data).clone());
            }
            _ => {}
        }
        if event.at.is_some() {
            self.last_at.clone_from(&event.at);
        }
    }

    /// Returns its state. A time that cannot be read is long ago, and so is one further in the future than clocks
    /// differ: a file that came with a commit must not stay active for ever.
    pub fn state(&self, now: &Moment) -> SessionState {
        if self.is_ended {
            return SessionState::Ended;
        }
        let last = self.last_at.as_deref().and_then(time::parse_rfc3339);
        match last.map(|last| now.signed_duration_since(last).num_seconds()) {
            Some(age) if age < -MAX_SKEW_SECONDS => SessionState::Archived,
            Some(age) if age < IDLE_SECONDS => SessionState::Active,
            Some(age) if age < ARCHIVE_SECONDS => SessionState::Idle,
            _ => SessionState::Archived,
        }
    }

    /// Returns a field of the event `created`.
    pub fn text(&self, field: &str) -> Option<String> {
        let text = self.created.as_ref()?.text(field)?;
        Some(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(seconds: i64) -> Moment {
        let start = time::parse_rfc3339("2026-11-21T10:00:00Z").unwrap();
        start + chrono::TimeDelta::seconds(seconds)
    }

    fn event(name: &str, data: Value) -> SessionEvent {
        SessionEvent::new(name, &at(0), data)
    }

    #[test]
    fn a_session_becomes_idle_and_then_archived() {
        let history = SessionHistory::of(&[event("created", json!({}))]);
        for (age, state) in [
            (-MAX_SKEW_SECONDS - 1, SessionState::Archived),
            (-9, SessionState::Active),
            (IDLE_SECONDS - 1, SessionState::Active),
            (IDLE_SECONDS, SessionState::Idle),
            (ARCHIVE_SECONDS - 1, SessionState::Idle),
            (ARCHIVE_SECONDS, SessionState::Archived),
        ] {
            assert_eq!(history.state(&at(age)), state, "{age}");
        }
    }

    #[test]
    fn a_reset_drops_turns_and_a_summary_replaces_them() {
        let turn = event("turn_added", json!({ "tokens": 5 }));
        let after = |more: &SessionEvent| {
            let events = [turn.clone(), turn.clone(), more.clone(), turn.clone()];
            let sum = SessionHistory::of(&events);
            (sum.turns, sum.tokens)
        };
        assert_eq!(after(&turn), (4, 20));
        assert_eq!(after(&event("reset", json!({}))), (1, 5));
        assert_eq!(after(&event("compacted", json!({ "tokens": 2 }))), (2, 7));
    }

    #[test]
    fn an_ended_session_can_go_on() {
        let state = |name| event("state_changed", json!({ "state": name }));
        let ended = SessionHistory::of(&[state(ENDED)]);
        assert_eq!(ended.state(&at(0)), SessionState::Ended);
        let resumed = SessionHistory::of(&[state(ENDED), state(ACTIVE)]);
        assert_eq!(resumed.state(&at(0)), SessionState::Active);
    }
}
