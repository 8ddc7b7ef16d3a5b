//! One agent in full: its task, what it has committed and decided, and what a merge of it would meet.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::agent_places::{self, Agent};
use crate::clones::found::FoundClone;
use crate::design::decision::decisions::{self, DecisionRef};
use crate::design::diff::{self, DiffBase, DiffEntry, Named, WithPatch};
use crate::design::fork::clashes::Clash;
use crate::design::fork::machines::RemoteAgent;
use crate::design::meaning::{self, Meaning};
use crate::desk::fleet::{self, FleetReport, Row};
use crate::desk::log::{self, Entry};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result};
use crate::store::Session;

/// The newest commits that are listed.
const MAX_COMMITS: usize = 20;

/// An agent with its work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownAgent {
    /// The agent; of another machine `<machine>/<agent>`.
    pub agent: String,
    /// Its task, in the words of who made it.
    pub task: Option<String>,
    /// Its clone; null for an agent of another machine: `row.elsewhere` names that.
    pub clone: Option<Agent>,
    /// Its progress, as the fleet has it.
    pub row: Row,
    /// Its newest commits that the target branch does not have.
    pub commits: Vec<Entry>,
    /// Whether there are more commits.
    pub truncated: bool,
    /// The decisions of these commits.
    pub decisions: Vec<DecisionRef>,
    /// What the commits have changed since it left the branch.
    pub files: Vec<DiffEntry>,
    /// The forks that do not merge cleanly with it.
    pub clashes: Vec<Clash>,
    /// The agents of the forks.
    #[serde(skip)]
    pub agents: BTreeMap<String, String>,
}

/// Collects everything about an agent; without a name, of the one whose clone this is.
pub fn show(session: &Session, typed: Option<&str>) -> Result<ShownAgent> {
    let own = session.settings.agent.as_deref();
    let Some(name) = typed.or(own) else {
        let message = "this is not an agent's clone: the name of an agent is needed";
        return Err(Error::new(Code::Usage, message).unchanged().hint("git colony agents"));
    };
    match agent_places::find(session, name) {
        Ok(clone) => show_clone(session, name, clone),
        Err(error) if error.code() == Code::CloneNotFound => {
            match meaning::find(&session.repo, name) {
                Ok(Meaning::Line(named)) => show_elsewhere(session, named.elsewhere.ok_or(error)?),
                Err(ambiguous) if ambiguous.code() == Code::NameAmbiguous => Err(ambiguous),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Shows an agent by its clone.
fn show_clone(session: &Session, name: &str, clone: FoundClone) -> Result<ShownAgent> {
    let task = clone.member.task.clone();
    let report = fleet::fleet(session, fleet::Whose::Everyone)?;
    let described = agent_places::describe(session, clone);
    let Some((clone, row)) = described.and_then(|clone| {
        let is_it = |row: &Row| row.agent.as_ref() == Some(&clone.agent);
        let row = report.agents.iter().find(|row| is_it(row))?.clone();
        Some((clone, row))
    }) else {
        let message = format!("the clone of agent '{name}' cannot be read");
        return Err(Error::new(Code::RepositoryBroken, message).hint("git colony doctor"));
    };
    let shown = ShownAgent { task, ..ShownAgent::of_row(clone.agent.clone(), row, report) };
    ShownAgent { clone: Some(clone), ..shown }.with_commits(session)
}

/// Shows an agent of another machine, as last synced.
fn show_elsewhere(session: &Session, agent: RemoteAgent) -> Result<ShownAgent> {
    let report = fleet::fleet(session, fleet::Whose::Everyone)?;
    let is_it = |row: &&Row| row.elsewhere.as_ref() == Some(&agent.place);
    let Some(row) = report.agents.iter().find(is_it).cloned() else {
        let message = format!("the work of '{}' cannot be read", agent.name);
        let hint = format!("git colony log {}", typed_word(&agent.name));
        return Err(Error::new(Code::RepositoryBroken, message).hint(hint));
    };
    let shown = ShownAgent::of_row(agent.name, row, report);
    ShownAgent { task: agent.work.task, ..shown }.with_commits(session)
}

/// Returns `true` if a name of the clash matrix is that of the fork of a row.
fn names_fork(name: &str, fork: &str, row: &Row) -> bool {
    let agent = row.agent.as_deref().unwrap_or_default();
    name == fork || name.strip_prefix(agent).and_then(|rest| rest.strip_prefix('/')) == Some(fork)
}

impl ShownAgent {
    /// Makes one of a row of the fleet.
    fn of_row(agent: String, row: Row, report: FleetReport) -> ShownAgent {
        let named = report.agents.iter().filter_map(|row| row.fork.clone().zip(row.agent.clone()));
        let agents = named.collect();
        let is_its =
            |name: &String| row.fork.as_ref().is_some_and(|fork| names_fork(name, fork, &row));
        let clashes =
            report.clashes.into_iter().filter(|clash| is_its(&clash.a) || is_its(&clash.b));
        ShownAgent {
            agent,
            task: None,
            clone: None,
            clashes: clashes.collect(),
            row,
            commits: Vec::new(),
            truncated: false,
            decisions: Vec::new(),
            files: Vec::new(),
            agents,
        }
    }

    /// Adds what it has committed.
    fn with_commits(mut self, session: &Session) -> Result<ShownAgent> {
        if self.row.commits > 0 {
            self.read_commits(session)?;
        }
        Ok(self)
    }

    fn read_commits(&mut self, session: &Session) -> Result<()> {
        let is_own = session.settings.agent.as_ref() == Some(&self.agent);
        let name = if is_own { None } else { Some(self.agent.as_str()) };
        let listed = log::log(session, name, MAX_COMMITS)?;
        let ids: Vec<_> = listed.commits.iter().map(|commit| commit.sha).collect();
        self.decisions = decisions::of_commits(session, &ids)?;
        (self.commits, self.truncated) = (listed.commits, listed.truncated);
        let left_at = match name {
            Some(name) => log::left_at(session, name)?,
            None => log::head_left_at(&session.repo)?,
        };
        let Some((from, to)) = left_at.zip(listed.head_sha) else {
            return Ok(());
        };
        let request = diff::Request {
            from: Named::Any(from.to_string()),
            to: Named::Any(to.to_string()),
            since: DiffBase::First,
            paths: Vec::new(),
            patch: WithPatch::No,
        };
        self.files = diff::diff(session, &request)?.entries;
        Ok(())
    }
}
