//! The events of a colony: listed, waited for, followed. Nothing here writes one.
//!
//! A reader polls: a look that finds nothing costs a few system calls, wakes no disk and needs no process that
//! passes events on. An agent does not see its own events unless it asks for them.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::map::pages::scopes;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, time};
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{Batch, Event, EventReader, Position};

use super::event_filter::Filter;
pub use super::event_filter::{OwnEvents, Request};

/// How long a reader sleeps between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// How often a reader looks whether its repository has joined a hub.
const JOIN_INTERVAL: Duration = Duration::from_secs(1);

/// How many events are read at once.
const BATCH: usize = 1_000;

/// An event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventEntry {
    /// Its position, `<epoch>:<number>`.
    pub position: String,
    /// Its key: a prefix, and the thing it is about verbatim.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// When it happened.
    pub ts: String,
    /// The agent that caused it; null for the user.
    pub agent: Option<String>,
    /// The name of the row whose scope it is about, if the map has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<String>,
}

/// Some events, the oldest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventsReport {
    /// The events.
    pub events: Vec<EventEntry>,
    /// Their number.
    pub count: usize,
    /// Where to read on: the position for `--since`.
    pub position: String,
    /// Whether events after the position that was asked for are lost: the log is bounded, and may be deleted.
    pub gap: bool,
    /// The position of the oldest event that the log still has; null if it has none.
    pub oldest: Option<String>,
    /// Whether there are more than the limit: after the last one with a position to start from, else before the
    /// first one.
    pub truncated: bool,
    /// Whether nothing came while it was waited for.
    pub timed_out: bool,
}

/// Lists the newest events; with a position, the oldest after it.
pub fn list(session: &Session, request: &Request) -> Result<EventsReport> {
    let filter = Filter::of(session, request)?;
    let mut reader = EventReader::of(session);
    let is_wanted = |event: &Event| filter.wants(event);
    let batch = match filter.since {
        Some(ref since) => reader.read(since, request.limit, &is_wanted),
        None => reader.newest(request.limit, &is_wanted),
    };
    let report = EventsReport::from(batch.map_err(|why| unusable(&why))?);
    Ok(report.with_rows(session))
}

/// Waits for events: returns those after a position as soon as there are some, by default after now.
pub fn wait(session: &Session, request: &Request, timeout: Duration) -> Result<EventsReport> {
    let mut follower = Follower::start(session, request)?;
    follower.limit = request.limit;
    let deadline = Instant::now().checked_add(timeout);
    let report = follower.next(session, deadline)?;
    Ok(report.unwrap_or_else(|| EventsReport { timed_out: true, ..follower.nothing() }))
}

/// A reader of all events from a position on, as they come.
pub struct Follower {
    reader: EventReader,
    filter: Filter,
    since: Position,
    /// Whether the last look left events unread.
    has_more: bool,
    limit: usize,
    /// When the place of the log was looked up last.
    joined_at: Instant,
}

impl Follower {
    /// Begins at a position, by default now.
    pub fn start(session: &Session, request: &Request) -> Result<Follower> {
        let filter = Filter::of(session, request)?;
        let mut reader = EventReader::of(session);
        let since = match &filter.since {
            Some(since) => since.clone(),
            None => reader.newest(0, &|_| false).map_err(|why| unusable(&why))?.position,
        };
        Ok(Follower {
            reader,
            // A position is looked at even if nothing has changed since.
            has_more: filter.since.is_some(),
            filter,
            since,
            limit: BATCH,
            joined_at: Instant::now(),
        })
    }

    /// Waits for the next events, up to a deadline.
    pub fn next(
        &mut self,
        session: &Session,
        deadline: Option<Instant>,
    ) -> Result<Option<EventsReport>> {
        loop {
            session.world.interrupt.check()?;
            if (self.has_more || self.reader.has_news())
                && let Some(report) = self.poll()?
            {
                return Ok(Some(report.with_rows(session)));
            }
            self.move_to_new_place(session);
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            std::thread::sleep(left.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL)));
        }
    }

    /// Goes on with the log of the hub if the repository has joined one meanwhile: its events are there from then
    /// on. The reader is informed of a gap, since the positions are of another log.
    fn move_to_new_place(&mut self, session: &Session) {
        if self.joined_at.elapsed() < JOIN_INTERVAL {
            return;
        }
        self.joined_at = Instant::now();
        if let Some(reader) = self.reader.elsewhere(session) {
            self.reader = reader;
            self.has_more = true;
        }
    }

    /// Returns the position up to which everything is read.
    pub fn position(&self) -> String {
        self.since.to_string()
    }

    fn poll(&mut self) -> Result<Option<EventsReport>> {
        let filter = &self.filter;
        let is_wanted = |event: &Event| filter.wants(event);
        let batch =
            self.reader.read(&self.since, self.limit, &is_wanted).map_err(|why| unusable(&why))?;
        self.since = batch.position.clone();
        self.has_more = batch.has_more;
        let is_empty = batch.events.is_empty() && !batch.has_gap;
        Ok((!is_empty).then(|| EventsReport::from(batch)))
    }

    fn nothing(&self) -> EventsReport {
        EventsReport::from(Batch {
            events: Vec::new(),
            position: self.since.clone(),
            oldest: None,
            has_gap: false,
            has_more: false,
        })
    }
}

impl From<Batch> for EventsReport {
    fn from(batch: Batch) -> Self {
        let events: Vec<_> = batch.events.into_iter().map(EventEntry::from).collect();
        EventsReport {
            count: events.len(),
            events,
            position: batch.position.to_string(),
            gap: batch.has_gap,
            oldest: batch.oldest.map(|oldest| oldest.to_string()),
            truncated: batch.has_more,
            timed_out: false,
        }
    }
}

impl From<Event> for EventEntry {
    fn from(event: Event) -> Self {
        let moment = chrono::DateTime::from_timestamp_millis(event.at);
        EventEntry {
            position: event.position.to_string(),
            key: event.key,
            value: event.value,
            ts: moment.map_or_else(String::new, |moment| time::rfc3339(&moment.fixed_offset())),
            agent: Some(event.agent).filter(|agent| !agent.is_empty()),
            row: None,
        }
    }
}

impl EventEntry {
    /// Returns the scope that it is about. The branch of other events is in the same member.
    fn scope(&self) -> Option<&str> {
        let is_about_branch = self.key.starts_with("branch_");
        let scope = self.value.get("scope_id").and_then(Value::as_str);
        scope.filter(|_| !is_about_branch)
    }
}

impl EventsReport {
    /// Adds the names of rows. The map is read only for events about scopes.
    fn with_rows(mut self, session: &Session) -> EventsReport {
        if self.events.iter().all(|event| event.scope().is_none()) {
            return self;
        }
        let names = scopes::row_names(session);
        for event in &mut self.events {
            let row = event.scope().map(|scope| scopes::row_name(&names, scope));
            event.row = row.flatten();
        }
        self
    }

    /// Returns the words that continue after these events.
    pub fn continued(&self) -> String {
        format!("--since {}", shell_word(&self.position))
    }
}

fn unusable(why: &Unusable) -> Error {
    if let Some(waited) = why.waited("the event log") {
        return waited;
    }
    let message = format!("cannot read the event log: {why}");
    Error::new(Code::CacheUnusable, message).unchanged()
}
