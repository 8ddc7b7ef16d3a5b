//! Sessions of agents in a checkout: begun, noted in, ended, listed. Their files are in `store::session_log`.
//!
//! A session needs no git: without it the current directory is the checkout.

pub mod expired_sessions;
pub mod new_session;
pub mod old_sessions;
pub mod session_changes;
pub mod session_hook;
pub mod session_list;
pub mod session_show;
pub mod session_undo;
pub mod session_work;

use std::path::Path;

use crate::git::Checkout;
use crate::model::id::SessionId;
use crate::model::{Code, Error, Result, World, text};
use crate::store::Session;
use crate::store::lease::lease_holder::{SESSION_VARIABLE, session_of};
use crate::store::session_log::session_history::{SessionHistory, SessionState};
use crate::store::session_log::{SessionLog, SessionLogs};

/// Where the sessions of a command are.
pub struct SessionPlace<'a> {
    /// The environment.
    pub world: &'a World,
    /// The repository; `None` without git.
    pub session: Option<&'a Session>,
    /// The files.
    pub logs: SessionLogs,
    /// Whether nothing is written.
    pub is_dry: bool,
}

/// A session that was read.
pub struct KnownSession {
    /// Its id.
    pub id: SessionId,
    /// Its events.
    pub log: SessionLog,
    /// Their sum.
    pub history: SessionHistory,
}

impl<'a> SessionPlace<'a> {
    /// Finds the place of the sessions of a directory, or of a repository.
    pub fn find(
        world: &'a World,
        session: Option<&'a Session>,
        is_dry: bool,
    ) -> Result<SessionPlace<'a>> {
        let world = session.map_or(world, |session| &session.world);
        let checkout = Checkout::find(world)?;
        Ok(SessionPlace {
            world,
            session,
            logs: SessionLogs::of(&checkout.root, checkout.repository_id()),
            is_dry,
        })
    }

    /// Returns the root of the checkout.
    pub fn root(&self) -> &Path {
        self.logs.root()
    }

    /// Returns the agent that acts, if there is one.
    pub fn agent(&self) -> Option<String> {
        let of_variable = || self.world.text_variable("COLONY_AGENT").map(str::to_owned);
        match self.session {
            Some(session) => session.settings.agent.clone(),
            None => of_variable(),
        }
    }

    /// Reads a session.
    pub fn read(&self, id: SessionId) -> Result<KnownSession> {
        let read = self.logs.read(&self.world.interrupt, &id)?;
        let log = read.ok_or_else(|| self.unknown(id.as_str()))?;
        Ok(KnownSession { history: SessionHistory::of(&log.events), log, id })
    }

    /// Reads every session, by id, and keeps their sums without the events. A file that cannot be read is passed over
    /// with a warning.
    pub fn read_all(&self) -> Result<Vec<KnownSession>> {
        let mut all = Vec::new();
        for id in self.logs.ids()? {
            match self.read(id.clone()) {
                Ok(mut known) => {
                    known.log.events = Vec::new();
                    all.push(known);
                }
                // It was adopted elsewhere meanwhile.
                Err(error) if error.code() == Code::SessionNotFound => {}
                Err(error) if error.code() == Code::Interrupted => return Err(error),
                Err(error) => (self.world.narrate)(&format!(
                    "warning: the session {} is left out: {}",
                    id.as_str(),
                    error.message()
                )),
            }
        }
        Ok(all)
    }

    /// Finds the session that is meant: by its id or a unique prefix of it; without a name the one that
    /// `COLONY_SESSION` names, else the only active one.
    pub fn find_session(&self, name: Option<&str>) -> Result<KnownSession> {
        let of_variable = session_of(self.world);
        if let Some(name) = name.or(of_variable.as_ref().map(SessionId::as_str)) {
            return self.read(self.id_of(name)?);
        }
        let now = self.world.now();
        let mut active: Vec<KnownSession> = self.read_all()?;
        active.retain(|session| session.history.state(&now) == SessionState::Active);
        match (active.pop(), active.len()) {
            (Some(session), 0) => self.read(session.id),
            (other, _) => Err(not_named(active.len() + usize::from(other.is_some()))),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let message = format!("no session of this checkout has the id '{}'", name.escape_debug());
        let error = Error::new(Code::SessionNotFound, message).detail("session_id", name);
        match old_sessions::earlier_id_with(self, name) {
            Some(earlier) => error.hint(format!("git colony session adopt {earlier}")),
            None => error,
        }
    }

    fn id_of(&self, name: &str) -> Result<SessionId> {
        let ids = self.logs.ids()?;
        if let Some(id) = ids.iter().find(|id| id.as_str() == name) {
            return Ok(id.clone());
        }
        let fits = |id: &&SessionId| !name.is_empty() && id.as_str().starts_with(name);
        let mut fitting = ids.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(id), None) => Ok(id.clone()),
            (None, _) => Err(self.unknown(name)),
            (Some(_), Some(_)) => {
                let message = format!("'{name}' begins the id of more than one session");
                Err(Error::new(Code::NameAmbiguous, message)
                    .unchanged()
                    .hint("git colony session list --all"))
            }
        }
    }
}

impl KnownSession {
    /// Fails if the session was ended.
    pub fn require_open(&self) -> Result<()> {
        if !self.history.is_ended {
            return Ok(());
        }
        let id = self.id.as_str();
        let message = format!("the session {id} was ended");
        Err(Error::new(Code::SessionEnded, message)
            .detail("session_id", id)
            .hint(format!("git colony session resume {id}")))
    }
}

fn not_named(active: usize) -> Error {
    let message = match active {
        0 => format!("no session is active here, and {SESSION_VARIABLE} names none"),
        _ => format!(
            "{} are active here, and {SESSION_VARIABLE} names none",
            text::count(active, "session")
        ),
    };
    let error = Error::new(Code::SessionNotFound, message);
    match active {
        0 => error.hint(format!(
            "export {SESSION_VARIABLE}=\"$(git colony session new)\"   # begins one"
        )),
        _ => error.hint("git colony session list   # then give the id of one of them"),
    }
}
