//! Who can hold the lease of a clone, and whether that is who comes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::World;
use crate::model::id::SessionId;
use crate::model::time::{self, Moment};

use super::process_tree;
use super::processes::{self, Process};

/// Names the session that a command is run in, for a harness whose commands have nothing else in common.
pub const SESSION_VARIABLE: &str = "COLONY_SESSION";

/// A holder that has not been heard of for longer gives way.
pub(in crate::store) const IDLE_SECONDS: i64 = 15 * 60;

/// Who works in a clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBy {
    /// What `COLONY_SESSION` says, where it names the holder.
    #[serde(default)]
    pub session: Option<String>,
    /// The terminal, as below `/dev`.
    #[serde(default)]
    pub terminal: Option<String>,
    /// The process that leads the terminal, or the session without one; never the first of all.
    #[serde(default)]
    pub pid: Option<u32>,
    /// The name of its program, as the system shortens it.
    #[serde(default)]
    pub command: Option<String>,
    /// Since when, RFC 3339 UTC.
    pub since: String,
}

/// What is written down of a holder. Without a session, `pid` and `command` are as in versions that knew
/// processes only, which take a record without them for none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store) struct Holder {
    #[serde(flatten)]
    pub(in crate::store) who: HeldBy,
    /// When the process began: with the number it names one.
    started: Option<u64>,
    /// Where the number counts.
    system: String,
    /// When it was last heard of, RFC 3339 UTC.
    pub(in crate::store) renewed_at: String,
}

/// Who runs a command, as far as it can be told.
pub(in crate::store) struct Me {
    pub(in crate::store) session: Option<SessionId>,
    /// The process that the holder is known by, beside a session or without one.
    process: Option<Process>,
    /// The processes that the command comes from.
    line: Vec<Process>,
}

impl HeldBy {
    /// Returns the words for people.
    pub fn words(&self) -> String {
        let program = self.command.as_deref().unwrap_or("a program");
        match (&self.session, &self.terminal, self.pid) {
            (Some(session), ..) => format!("session {}", shortened(session)),
            (None, Some(terminal), _) => format!("'{program}' on {terminal}"),
            (None, None, Some(pid)) => format!("'{program}' (process {pid})"),
            (None, None, None) => format!("'{program}'"),
        }
    }
}

/// Returns as much of the id of a session as a line has room for.
fn shortened(session: &str) -> String {
    match session.get(..8).filter(|_| session.len() > 20) {
        Some(first) => format!("{first}..."),
        None => session.to_owned(),
    }
}

impl Me {
    /// Returns who runs this, where that can be told.
    pub(in crate::store) fn of(world: &World) -> Option<Me> {
        let pid = world.process?;
        let session = session_of(world);
        let line = process_tree::line_of(pid);
        // A session may have a terminal or a program for all of its commands, which have one each below it.
        let outermost = line.iter().rev().find(|process| process.leads_session());
        let outermost = outermost.filter(|_| session.is_some()).cloned();
        let process = outermost.or_else(|| process_tree::leader_of(pid));
        (session.is_some() || process.is_some()).then_some(Me {
            session,
            process,
            line,
        })
    }

    /// Tells whether a process is the one it is known by, or one that it comes from.
    fn comes_from(&self, (pid, started): (u32, u64)) -> bool {
        let mut all = self.process.iter().chain(&self.line);
        all.any(|process| (process.pid, process.started) == (pid, started))
    }
}

impl Holder {
    pub(in crate::store) fn new(me: &Me, at: &str) -> Holder {
        let process = me.process.as_ref();
        Holder {
            who: HeldBy {
                session: me.session.as_ref().map(|id| id.as_str().to_owned()),
                terminal: process.and_then(Process::terminal_name),
                pid: process.map(|process| process.pid).filter(|pid| *pid > 1),
                command: process.map(|process| process.command.clone()),
                since: at.to_owned(),
            },
            started: process.map(|process| process.started),
            system: processes::system(),
            renewed_at: at.to_owned(),
        }
    }

    /// Writes down that it was heard of, and the session that it names by now.
    pub(in crate::store) fn renew(&mut self, me: &Me, at: String) {
        if self.who.session.is_none() && me.session.is_some() {
            let since = std::mem::take(&mut self.who.since);
            *self = Holder::new(me, &at);
            self.who.since = since;
        }
        self.renewed_at = at;
    }

    /// Returns what names its process in this system: number and beginning. A number of another system, or
    /// of one before it was started anew, says nothing here. That of the first process is not written down;
    /// where an older version has done so, that stands for nobody.
    fn process(&self) -> Option<(u32, u64)> {
        let pid = match self.who.pid {
            Some(1) => None,
            Some(pid) => Some(pid),
            None => self.who.terminal.as_ref().map(|_| 1),
        };
        pid.zip(self.started)
            .filter(|_| self.system == processes::system())
    }

    /// Tells whether it has not ended. A session is heard of again or not, whatever process it was heard of
    /// from: it counts for as long as that, and as its terminal is there.
    pub(in crate::store) fn is_there(&self, now: &Moment) -> bool {
        let lasts = self.process().is_some_and(|(pid, started)| {
            processes::find(pid).is_some_and(|found| found.started == started)
        });
        lasts || self.who.session.is_some() && age(&self.renewed_at, now) <= IDLE_SECONDS
    }

    /// Tells whether that is who comes. Where one of them names no session, what they come from counts.
    pub(in crate::store) fn is(&self, me: &Me) -> bool {
        match (&self.who.session, &me.session) {
            (Some(own), Some(session)) => own == session.as_str(),
            _ => self.process().is_some_and(|process| me.comes_from(process)),
        }
    }
}

/// Returns what `COLONY_SESSION` names; a value that no id is made of names nothing.
pub(in crate::store) fn session_of(world: &World) -> Option<SessionId> {
    SessionId::parse(world.text_variable(SESSION_VARIABLE)?)
}

/// Returns the seconds since a moment that was written down; one that cannot be read is long ago.
pub(in crate::store) fn age(then: &str, now: &Moment) -> i64 {
    let then = time::parse_rfc3339(then);
    then.map_or(i64::MAX, |then| {
        now.signed_duration_since(then).num_seconds()
    })
}
