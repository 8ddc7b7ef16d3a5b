//! Hooks of agents: entries in a configuration file of the working tree, which git ignores.
//!
//! They create a checkpoint before a tool changes something and when the agent stops. A second file gets the entry of our
//! MCP server.
//!
//! The files belong to the user: they are edited as text so that nothing else in them changes, shown as a diff
//! beforehand, replaced completely or not at all, and never written through a link.

mod agent;
mod entries;
mod exclusion;
mod file;
mod file_plan;
mod launch;
mod part;
mod server;
pub mod session_file;

use crate::git::Repo;
use crate::git::inherited::is_own;
use crate::model::time::Moment;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::files::atomic;

use super::action::HookChange;
use super::hook_state::{HookState, HookStatus, SERVER};
use super::last_fired;
use super::payload::Payload;

use exclusion::ExclusionPlan;
use file_plan::FilePlan;
use part::Part;
use server::ServerEntry;

pub use agent::Agent;
pub use launch::shell_functions;

/// The plan for an agent's configuration.
pub(super) struct AgentPlan<'a> {
    agent: Agent,
    act: HookChange,
    files: Vec<FilePlan<'a>>,
    exclusion: ExclusionPlan,
}

impl<'a> AgentPlan<'a> {
    /// Plans to add or remove our entries; changes nothing.
    pub(super) fn make(
        session: &'a Session,
        agent: Agent,
        act: HookChange,
    ) -> Result<AgentPlan<'a>> {
        AgentPlan::of_parts(session, agent, &Part::all(agent), act)
    }

    fn of_parts(
        session: &'a Session,
        agent: Agent,
        parts: &[Part],
        act: HookChange,
    ) -> Result<AgentPlan<'a>> {
        let exclusion = ExclusionPlan::make(session, parts, act)?;
        let mut parts = parts.to_vec();
        if act == HookChange::Uninstall {
            // The one that may have made the folder is the last in it.
            parts.reverse();
        }
        let files = parts.into_iter().map(|part| FilePlan::make(session, part, act));
        Ok(AgentPlan { agent, act, files: files.collect::<Result<_>>()?, exclusion })
    }

    /// Returns `true` if there is anything to do.
    pub(super) fn changes(&self) -> bool {
        self.exclusion.changes() || self.files.iter().any(FilePlan::changes)
    }

    /// Returns the changes as unified diffs; empty without a change.
    pub(super) fn diff(&self) -> String {
        let files = self.files.iter().map(FilePlan::diff).collect();
        self.in_order(files, Some(self.exclusion.diff())).concat()
    }

    /// Returns the note about the files for the user.
    pub(super) fn note(&self) -> String {
        self.exclusion.note().unwrap_or_else(|| self.agent.note().to_owned())
    }

    /// Describes the steps.
    pub(super) fn steps(&self) -> Vec<String> {
        let files = self.files.iter().filter_map(FilePlan::step).collect();
        self.in_order(files, self.exclusion.step())
    }

    /// Puts the step of the exclusion in its place: the files are excluded for as long as they have anything of ours,
    /// so that no checkpoint comes between.
    fn in_order(&self, files: Vec<String>, exclusion: Option<String>) -> Vec<String> {
        let exclusion = exclusion.into_iter();
        match self.act {
            HookChange::Install => exclusion.chain(files).collect(),
            HookChange::Uninstall => files.into_iter().chain(exclusion).collect(),
        }
    }

    /// Returns the entries of the user that have the place of ours and stay, as text.
    pub(super) fn left(&self) -> Vec<String> {
        self.files.iter().flat_map(FilePlan::in_the_way).collect()
    }

    /// Carries out the plan.
    pub(super) fn apply(&self, session: &Session) -> Result<()> {
        if self.act == HookChange::Install {
            self.exclusion.apply(session)?;
        }
        for file in &self.files {
            file.apply(session, self.act)?;
        }
        if self.act == HookChange::Install {
            return Ok(());
        }
        self.exclusion.apply(session)?;
        forget(&session.repo, self.agent)
    }
}

/// Gives a clone what the set-up of its checkout has of ours, as an installation there would; returns the paths that it
/// left out, because they are tracked in the clone and a change of them would be the agent's work.
///
/// Nothing else of the files is taken over, and nothing of a file that another user could have written.
pub(super) fn follow(
    checkout: &Session,
    inside: &Session,
    agent: Agent,
) -> Result<Vec<&'static str>> {
    let is_set_up = |part: &Part| {
        let file = part.file(&checkout.repo);
        is_own(file.path()) && file.read().is_ok_and(|text| part.is_in(text.as_deref()))
    };
    let (mut parts, mut left) = (Vec::new(), Vec::new());
    for part in Part::all(agent).into_iter().filter(is_set_up) {
        if inside.repo.is_tracked(&RepoPath::from(part.path()))? {
            left.push(part.path());
        } else {
            parts.push(part);
        }
    }
    AgentPlan::of_parts(inside, agent, &parts, HookChange::Install)?.apply(inside)?;
    Ok(left)
}

/// Returns the status of the entries of an agent; an unreadable file is a status, too.
pub(super) fn status(session: &Session, agent: Agent) -> Vec<HookStatus> {
    let mut all = status_of_hooks(session, agent);
    all.push(status_of_server(session, agent));
    all
}

fn status_of_hooks(session: &Session, agent: Agent) -> Vec<HookStatus> {
    let repo = &session.repo;
    let part = Part::Hooks(agent);
    let file = part.file(repo);
    let text = file.read();
    let text_of = text.as_ref().ok().map(|text| text.as_deref());
    let events = text_of.map(|text| entries::events_of_ours(agent, text));
    let taken = text_of.map(|text| entries::in_the_way(agent, text)).unwrap_or_default();
    let is_ours = is_ours(repo, part, text_of.flatten());
    let row = |event: &'static entries::Event| {
        let state = match &events {
            None | Some(Err(_)) if is_ours => HookState::Unreadable,
            Some(Ok(names)) if names.contains(&event.name) => HookState::Installed,
            // The user decides which one creates worktrees.
            Some(Ok(_)) if event.is_of_worktrees() && !taken.is_empty() => HookState::NotInstalled,
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

fn status_of_server(session: &Session, agent: Agent) -> HookStatus {
    let repo = &session.repo;
    let part = Part::Server(agent);
    let file = part.file(repo);
    let text = file.read();
    let entry = text.as_ref().ok().map(|text| server::find(agent, text.as_deref()));
    let text_of = text.as_ref().ok().and_then(Option::as_deref);
    let state = match entry {
        Some(Ok(ServerEntry::Ours)) => HookState::Installed,
        Some(Ok(ServerEntry::Changed)) => HookState::Edited,
        None | Some(Err(_)) if is_ours(repo, part, text_of) => HookState::Unreadable,
        None | Some(_) => HookState::NotInstalled,
    };
    let there = state != HookState::NotInstalled;
    HookStatus {
        name: SERVER.to_owned(),
        target: agent.as_str(),
        state,
        runs: matches!(state, HookState::Installed | HookState::Edited),
        path: there.then(|| file.path().display().to_string()),
        last_fired_at: None,
    }
}

/// Returns `true` if a file that cannot be edited is one that we have changed, as far as that can be determined.
fn is_ours(repo: &Repo, part: Part, text: Option<&str>) -> bool {
    part.record(repo).exists() || text.is_some_and(|text| part.is_named_in(text))
}

/// Returns `true` if the state before our change is recorded for a file of the agent.
pub(super) fn is_recorded(repo: &Repo, agent: Agent) -> bool {
    let mut parts = Part::all(agent).into_iter();
    parts.any(|part| part.record(repo).exists() || exclusion::is_left(repo, part))
}

/// Deletes the records about an agent.
fn forget(repo: &Repo, agent: Agent) -> Result<()> {
    let names: Vec<&str> = entries::events(agent).iter().map(|event| event.fired).collect();
    last_fired::forget(repo, &names)?;
    for part in Part::all(agent) {
        atomic::remove_file(&part.record(repo))?;
    }
    Ok(())
}

/// Returns the name under which the runs of an agent's hook are recorded; `None` if the event tells nothing of what the
/// agent does.
pub fn fired_name(agent: Agent, payload: &Payload) -> Option<&'static str> {
    if payload.tells_nothing() {
        return None;
    }
    if agent == Agent::ClaudeCode && payload.asks() {
        return Some(entries::ASKS);
    }
    let event = payload.event.as_deref();
    let events = entries::events(agent);
    let known = events
        .iter()
        .find(|known| event.is_some_and(|event| known.name.eq_ignore_ascii_case(event)));
    // An unknown event counts as a stop, the last of each list.
    known.or(events.last()).map(|event| event.fired)
}

/// The last report of the agent that works in a repository.
#[derive(Clone, Debug)]
pub struct AgentReport {
    /// The time.
    pub at: Moment,
    /// The state it reported.
    pub doing: Doing,
}

/// The state that an agent reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// It is working.
    Working,
    /// It asks its user something.
    Asking,
    /// It has started a session, or stopped.
    Waiting,
    /// Its session has ended.
    Gone,
}

/// Returns the last report of any agent's hooks; `None` if none was ever run.
pub fn last_report(repo: &Repo) -> Option<AgentReport> {
    let events = Agent::ALL.into_iter().flat_map(entries::events);
    // Events of worktrees are about another clone.
    let own = events.filter(|event| !event.is_of_worktrees());
    let heard = own.filter_map(|event| {
        let at = last_fired::moment(repo, event.fired)?;
        let doing = match event.fired.rsplit('.').next() {
            Some("stop" | "session-start") => Doing::Waiting,
            Some("asks") => Doing::Asking,
            Some("session-end") => Doing::Gone,
            _ => Doing::Working,
        };
        Some(AgentReport { at, doing })
    });
    heard.max_by_key(|heard| (heard.at, heard.doing))
}
