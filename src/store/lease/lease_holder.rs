//! The holder of a clone's lease: whether a command is the holder's, and when it has ended, or was idle for too long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::World;
use crate::model::id::SessionId;
use crate::model::time::{self, Moment};

use super::process_tree;
use super::processes::{self, Process};

/// Names the session of a command, for a harness whose commands share nothing else.
pub const SESSION_VARIABLE: &str = "COLONY_SESSION";

/// After this many seconds without a command, a holder can lose its lease.
pub(in crate::store) const IDLE_SECONDS: i64 = 15 * 60;

/// The number of hooks after which what runs them is certainly a program that stays.
const CERTAIN: u32 = 2;

/// The holder of a clone's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldBy {
    /// The value of `COLONY_SESSION`, where it names the holder.
    pub session: Option<String>,
    /// The terminal, relative to `/dev`.
    pub terminal: Option<String>,
    /// The process that leads the terminal, or without one the session; never process 1.
    pub pid: Option<u32>,
    /// The name of the program that runs its hooks, else of that process, as the system shortens it.
    pub command: Option<String>,
    /// The time it took the lease, RFC 3339 UTC.
    pub since: String,
}

/// The record of a holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store) struct Holder {
    #[serde(flatten)]
    pub(in crate::store) who: HeldBy,
    /// The start time of the process: pid and start time name one process.
    started: Option<u64>,
    /// The program that runs its hooks, by pid and start time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<(u32, u64)>,
    /// How many records in a row it has made, as far as that matters: what runs one hook only may be a wrapper of it.
    #[serde(default)]
    hooks: u32,
    /// The system in which the pids are valid.
    system: String,
    /// The time of its last command, RFC 3339 UTC.
    pub(in crate::store) renewed_at: String,
}

/// The process that runs a command, as far as it can be determined.
pub(in crate::store) struct CommandProcess {
    pub(in crate::store) session: Option<SessionId>,
    /// The process that identifies the holder, with a session or without.
    process: Option<Process>,
    /// The process and its ancestors.
    line: Vec<Process>,
    /// The program that runs it as a hook.
    program: Option<Process>,
}

impl HeldBy {
    /// Returns the holder as text.
    pub fn to_text(&self) -> String {
        let program = self.command.as_deref().unwrap_or("a program");
        match (&self.session, &self.terminal, self.pid) {
            (Some(session), ..) => format!("session {}", shortened(session)),
            (None, Some(terminal), _) => format!("'{program}' on {terminal}"),
            (None, None, Some(pid)) => format!("'{program}' (process {pid})"),
            (None, None, None) => format!("'{program}'"),
        }
    }
}

/// Returns the beginning of a session's id, as short as a line needs it.
fn shortened(session: &str) -> String {
    match session.get(..8).filter(|_| session.len() > 20) {
        Some(first) => format!("{first}..."),
        None => session.to_owned(),
    }
}

impl CommandProcess {
    /// Returns the same for a hook: the shell that runs it identifies nobody, since it ends at once.
    pub(in crate::store) fn of_hook(world: &World) -> Option<CommandProcess> {
        let me = CommandProcess::of(world)?;
        let Some(program) = process_tree::program_of(&me.line).cloned() else {
            return Some(me);
        };
        // That of a program that was adopted is not an ancestor, and says nothing about its commands.
        let leader = process_tree::leader_of(program.pid).filter(|leader| me.line.contains(leader));
        let process = if me.session.is_some() { me.process } else { leader.or(me.process) };
        Some(CommandProcess { process, program: Some(program), ..me })
    }

    /// Returns the process that runs this command, where it can be determined.
    pub(in crate::store) fn of(world: &World) -> Option<CommandProcess> {
        let pid = world.process?;
        let session = session_of(world);
        let line = process_tree::line_of(pid);
        // A session may run all its commands in one terminal or program, each of which leads a session below
        // it.
        let outermost = line
            .iter()
            .rev()
            .find(|process| process.leads_session())
            .filter(|_| session.is_some())
            .cloned();
        let process = outermost.or_else(|| process_tree::leader_of(pid));
        (session.is_some() || process.is_some()).then_some(CommandProcess {
            session,
            process,
            line,
            program: None,
        })
    }

    /// Returns `true` if a process is the identifying one or one of its ancestors.
    fn comes_from(&self, pid: u32, started: u64) -> bool {
        let mut all = self.process.iter().chain(&self.line);
        all.any(|process| (process.pid, process.started) == (pid, started))
    }
}

impl Holder {
    pub(in crate::store) fn new(me: &CommandProcess, at: &str) -> Holder {
        let process = me.process.as_ref();
        Holder {
            who: HeldBy {
                session: me.session.as_ref().map(|id| id.as_str().to_owned()),
                terminal: process.and_then(Process::terminal_name),
                pid: process.map(|process| process.pid).filter(|pid| *pid > 1),
                command: me.program.as_ref().or(process).map(|process| process.command.clone()),
                since: at.to_owned(),
            },
            started: process.map(|process| process.started),
            program: me.program.as_ref().map(named),
            hooks: u32::from(me.program.is_some()),
            system: processes::system(),
            renewed_at: at.to_owned(),
        }
    }

    /// Records that the holder was active, and the session that it names now.
    pub(in crate::store) fn renew(&mut self, me: &CommandProcess, at: String) {
        if self.who.session.is_none() && me.session.is_some() {
            let new = Holder::new(me, &at);
            let old = std::mem::replace(self, new);
            self.who.since = old.who.since;
            (self.program, self.hooks) = (old.program, old.hooks);
            if old.program.is_some() {
                self.who.command = old.who.command;
            }
        }
        if let Some(program) = &me.program {
            self.note(program);
        }
        self.renewed_at = at;
    }

    /// Returns the pid and start time of its process, if they belong to this system. A pid of another system,
    /// or from before a reboot, means nothing here. Process 1 is recorded by its terminal only.
    fn process(&self) -> Option<(u32, u64)> {
        let pid = self.who.pid.or_else(|| self.who.terminal.as_ref().map(|_| 1));
        pid.zip(self.started).filter(|_| self.system == processes::system())
    }

    /// Records the program of a hook. One that a program starts beside or below itself does not take its place.
    fn note(&mut self, program: &Process) {
        let new = named(program);
        if self.program == Some(new) {
            self.hooks = self.hooks.saturating_add(1).min(CERTAIN);
        } else if !self.program_is_live() {
            (self.program, self.hooks) = (Some(new), 1);
            self.who.command = Some(program.command.clone());
        }
    }

    /// Returns whether its program runs; `None` if that is not known for certain: in another system, or of a program that
    /// has run one hook only.
    fn program_runs(&self) -> Option<bool> {
        let is_certain = self.is_of_this_system() && self.hooks >= CERTAIN;
        self.program.filter(|_| is_certain).map(|(pid, started)| runs(pid, started))
    }

    /// Returns `true` if it has certainly ended: its program has, or without one its process. Of another system nothing is
    /// known.
    pub(in crate::store) fn has_ended(&self, now: &Moment) -> bool {
        self.is_of_this_system() && !self.program_is_live() && !self.is_there(now)
    }

    fn is_of_this_system(&self) -> bool {
        self.system == processes::system()
    }

    /// Returns `true` if the holder has not ended. Its program decides, if that is known; else, for a session, its last
    /// activity and its terminal, whichever process was active.
    pub(in crate::store) fn is_there(&self, now: &Moment) -> bool {
        if let Some(runs) = self.program_runs() {
            return runs;
        }
        let lasts = self.process().is_some_and(|(pid, started)| runs(pid, started));
        lasts || self.who.session.is_some() && age(&self.renewed_at, now) <= IDLE_SECONDS
    }

    fn program_is_live(&self) -> bool {
        let program = self.program.filter(|_| self.is_of_this_system());
        program.is_some_and(|(pid, started)| runs(pid, started))
    }

    /// Returns `true` if its program runs, and the command below it.
    pub(in crate::store) fn has_program_above(&self, me: &CommandProcess) -> bool {
        let program = self.program.filter(|_| self.is_of_this_system());
        program.is_some_and(|(pid, started)| me.comes_from(pid, started))
    }

    /// Returns `true` if a hook knows another program than is recorded.
    pub(in crate::store) fn lacks(&self, me: &CommandProcess) -> bool {
        let new = me.program.as_ref().map(named);
        let is_new = new != self.program && !self.program_is_live();
        new.is_some() && (is_new || (new == self.program && self.hooks < CERTAIN))
    }

    /// Returns `true` if the command is the holder's. Where one of them names no session, their ancestors are
    /// compared.
    pub(in crate::store) fn is(&self, me: &CommandProcess) -> bool {
        if let (Some(own), Some(session)) = (&self.who.session, &me.session) {
            return own == session.as_str();
        }
        let of_process = |(pid, started)| me.comes_from(pid, started);
        self.process().is_some_and(of_process) || self.has_program_above(me)
    }
}

/// Returns `true` if a process runs.
fn runs(pid: u32, started: u64) -> bool {
    processes::find(pid).is_some_and(|process| process.started == started)
}

/// Returns what names one process.
fn named(process: &Process) -> (u32, u64) {
    (process.pid, process.started)
}

/// Returns the session that `COLONY_SESSION` names; a value that is not a valid id names none.
pub fn session_of(world: &World) -> Option<SessionId> {
    SessionId::parse(world.text_variable(SESSION_VARIABLE)?)
}

/// Returns the seconds since a recorded time; a time that cannot be read is long ago.
pub(in crate::store) fn age(then: &str, now: &Moment) -> i64 {
    let then = time::parse_rfc3339(then);
    then.map_or(i64::MAX, |then| now.signed_duration_since(then).num_seconds())
}
