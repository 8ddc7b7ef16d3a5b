//! Hooks of agents: entries in a configuration file of the working tree that create a checkpoint before a
//! tool changes something and when the agent stops.
//!
//! The file belongs to the user: it is edited as text so that nothing else in it changes, shown as a diff
//! beforehand, replaced completely or not at all, and never written through a link.

mod agent;
mod entries;
mod file;
pub mod session_file;

use std::path::PathBuf;

use serde_json::Value;
use similar::TextDiff;

use crate::git::Repo;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::places::HookPlaces;

use super::action::Act;
use super::hook_state::{HookState, HookStatus};
use super::last_fired;
use super::record::{self, AgentRecord, Blob};

use file::AgentFile;

pub use agent::Agent;

/// The plan for an agent's configuration.
pub(super) struct AgentPlan<'a> {
    agent: Agent,
    file: AgentFile<'a>,
    before: Option<String>,
    after: Option<String>,
}

impl<'a> AgentPlan<'a> {
    /// Plans to add or remove our entries; changes nothing.
    ///
    /// # Errors
    /// `agent-config-refused` with the lines to add by hand; `io`.
    pub(super) fn make(session: &'a Session, agent: Agent, act: Act) -> Result<AgentPlan<'a>> {
        let file = AgentFile::of(&session.repo, agent);
        let before = file.read()?;
        let after = match act {
            Act::Install => Some(
                entries::put_in(agent, before.as_deref())
                    .map_err(|why| refuse(agent, &file, &why))?,
            ),
            Act::Uninstall => without_ours(session, agent, &file, before.as_deref())?,
        };
        Ok(AgentPlan {
            agent,
            file,
            before,
            after,
        })
    }

    /// Returns `true` if there is anything to do.
    pub(super) fn changes(&self) -> bool {
        self.before != self.after
    }

    /// Returns the change as a unified diff; empty without a change.
    pub(super) fn diff(&self) -> String {
        let name = self.file.shown();
        let (before, after) = (
            self.before.as_deref().unwrap_or_default(),
            self.after.as_deref().unwrap_or_default(),
        );
        let side = |there: bool, prefix: &str| {
            if there {
                format!("{prefix}/{name}")
            } else {
                "/dev/null".to_owned()
            }
        };
        TextDiff::from_lines(before, after)
            .unified_diff()
            .header(
                &side(self.before.is_some(), "a"),
                &side(self.after.is_some(), "b"),
            )
            .to_string()
    }

    /// Returns the note about the file for the user.
    pub(super) fn note(&self) -> &'static str {
        self.agent.note()
    }

    /// Describes the steps.
    pub(super) fn steps(&self) -> Vec<String> {
        let verb = match (self.changes(), &self.after) {
            (false, _) => return Vec::new(),
            (true, Some(_)) => "write",
            (true, None) => "remove",
        };
        vec![format!("{verb} '{}'", self.file.shown())]
    }

    /// Carries out the plan.
    pub(super) fn apply(&self, session: &Session, act: Act) -> Result<()> {
        let path = HookPlaces::of(&session.repo).agent_record(self.agent.as_str());
        let known: Option<AgentRecord> = record::read(&path)?;
        if !self.changes() {
            return self.finish(act, known.as_ref());
        }
        if let (Act::Install, Some(after)) = (act, &self.after) {
            // For a file that we have changed before, the state before that change counts.
            let ours_since = |known: &AgentRecord| {
                let before = self.before.as_deref().unwrap_or_default();
                known.after == record::digest(before.as_bytes())
            };
            let record = match known.filter(ours_since) {
                Some(known) => AgentRecord {
                    after: record::digest(after.as_bytes()),
                    ..known
                },
                None => AgentRecord {
                    before: self.before.clone().map(|text| Blob(text.into_bytes())),
                    after: record::digest(after.as_bytes()),
                    made_folder: !self.file.folder_exists(),
                },
            };
            record::write(&path, &record)?;
            session.world.reach("hooks-remembered")?;
            self.file.write(self.before.as_deref(), after)?;
            return session.world.reach("hooks-written");
        }
        match &self.after {
            Some(after) => self.file.write(self.before.as_deref(), after)?,
            None => self.file.remove(self.before.as_deref())?,
        }
        session.world.reach("hooks-removed")?;
        self.finish(act, known.as_ref())
    }

    /// Removes the folder that we created for the file, also for a dead process that removed the file.
    fn finish(&self, act: Act, known: Option<&AgentRecord>) -> Result<()> {
        if act == Act::Uninstall && known.is_some_and(|known| known.made_folder) {
            self.file.remove_folder_if_empty()?;
        }
        Ok(())
    }
}

/// Returns the text without our entries; `None` if we created the file and it has nothing else.
fn without_ours(
    session: &Session,
    agent: Agent,
    file: &AgentFile<'_>,
    text: Option<&str>,
) -> Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    let path = HookPlaces::of(&session.repo).agent_record(agent.as_str());
    let known: Option<AgentRecord> = record::read(&path)?;
    if let Some(known) = &known
        && known.after == record::digest(text.as_bytes())
    {
        let before = known.before.as_ref();
        return Ok(before.map(|blob| String::from_utf8_lossy(&blob.0).into_owned()));
    }
    let rest = entries::take_out(agent, text).map_err(|why| refuse(agent, file, &why))?;
    let made = known.is_some_and(|known| known.before.is_none());
    Ok(Some(rest).filter(|rest| !made || !entries::is_bare(agent, rest)))
}

fn refuse(agent: Agent, file: &AgentFile<'_>, why: &str) -> Error {
    let lines = serde_json::to_string_pretty(&entries::whole(agent)).unwrap_or_default();
    Error::new(
        Code::AgentConfigRefused,
        format!("cannot edit '{}': {why}; nothing has changed", file.shown()),
    )
    .detail("path", file.shown())
    .detail("by_hand", entries::whole(agent))
    .hint(format!("edit it by hand, it needs: {}", one_line(&lines)))
}

fn one_line(text: &str) -> String {
    serde_json::from_str::<Value>(text)
        .map(|value| value.to_string())
        .unwrap_or_default()
}

/// Returns the status of the entries of an agent; an unreadable file is a status, too.
pub(super) fn status(session: &Session, agent: Agent) -> Vec<HookStatus> {
    let repo = &session.repo;
    let file = AgentFile::of(repo, agent);
    let text = file.read();
    let found = text
        .as_ref()
        .ok()
        .map(|text| entries::found(agent, text.as_deref()));
    let record = HookPlaces::of(repo).agent_record(agent.as_str());
    let named = text.as_ref().is_ok_and(|text| {
        let text = text.as_deref().unwrap_or_default();
        text.contains("git colony hook")
    });
    let is_ours = named || record.exists();
    let row = |event: &'static entries::Event| {
        let state = match &found {
            None | Some(Err(_)) if is_ours => HookState::Unreadable,
            Some(Ok(names)) if names.contains(&event.name) => HookState::Installed,
            Some(Ok(names)) if !names.is_empty() => HookState::Partial,
            None | Some(_) => HookState::NotInstalled,
        };
        let there = state != HookState::NotInstalled;
        HookStatus {
            name: event.name.to_owned(),
            target: agent.as_str(),
            state,
            runs: state == HookState::Installed,
            path: there.then(|| file.path().display().to_string()),
            last_fired_at: last_fired::last(repo, event.fired),
        }
    };
    entries::events(agent).iter().map(row).collect()
}

/// Deletes the record about an agent.
pub(super) fn forget(repo: &Repo, agent: Agent) -> Result<()> {
    let names: Vec<&str> = entries::events(agent)
        .iter()
        .map(|event| event.fired)
        .collect();
    last_fired::forget(repo, &names)?;
    let record: PathBuf = HookPlaces::of(repo).agent_record(agent.as_str());
    crate::store::files::atomic::remove_file(&record)
}

/// Returns the name under which the runs of an agent's hook are recorded.
pub fn fired_name(agent: Agent, event: Option<&str>) -> &'static str {
    let events = entries::events(agent);
    let known = events
        .iter()
        .find(|known| event.is_some_and(|event| known.name.eq_ignore_ascii_case(event)));
    // An unknown event counts as a stop, the last of each list.
    known.or(events.last()).map_or("agent", |event| event.fired)
}

/// The last report of the agent that works in a repository.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The time, RFC 3339 UTC.
    pub at: String,
    /// The state it reported.
    pub doing: Doing,
}

/// The state that an agent reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// It is working.
    Working,
    /// It has started a session, or stopped.
    Waiting,
    /// Its session has ended.
    Gone,
}

/// Returns the last report of any agent's hooks; `None` if none was ever run.
pub fn last_report(repo: &Repo) -> Option<Heard> {
    let events = Agent::ALL.into_iter().flat_map(entries::events);
    let heard = events.filter_map(|event| {
        let at = last_fired::last(repo, event.fired)?;
        let doing = match event.fired.rsplit('.').next() {
            Some("stop" | "session-start") => Doing::Waiting,
            Some("session-end") => Doing::Gone,
            _ => Doing::Working,
        };
        Some(Heard { at, doing })
    });
    heard.max_by(|a, b| (&a.at, a.doing).cmp(&(&b.at, b.doing)))
}
