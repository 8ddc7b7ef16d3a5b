//! The newest events of the colony, below the table of a screen that is high enough.

use crate::cli::commands::team::events::rows;
use crate::model::time::Moment;
use crate::store::Session;
use crate::ui::layout::lined_up;
use crate::ui::theme::Line;
use crate::watch::events::{self, EventEntry, OwnEvents, Request};

/// The most events.
const MAX_EVENTS: usize = 6;

/// The lines of the smallest screen that shows them.
const MIN_LINES: usize = 40;

/// Reads the newest events; none if their log cannot be read: there is the table without them.
pub(super) fn newest(session: &Session) -> Vec<EventEntry> {
    let request = Request {
        since: None,
        keys: Vec::new(),
        scope: None,
        own: OwnEvents::Shown,
        limit: MAX_EVENTS,
    };
    events::list(session, &request).map(|report| report.events).unwrap_or_default()
}

/// Returns the lines of events, as `git colony events` prints them, below an empty one; none on a low screen.
pub(super) fn lines(
    events: &[EventEntry],
    now: &Moment,
    (columns, height): (usize, usize),
) -> Vec<Line> {
    if height < MIN_LINES || events.is_empty() {
        return Vec::new();
    }
    let rows: Vec<_> = rows(events, now).collect();
    std::iter::once(Line::default()).chain(lined_up(&rows, None, Some(columns))).collect()
}
