//! One agent in full: its task, what it has committed and decided, and what a merge of it would meet.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::agent_places::{self, Agent};
use crate::design::decision::decisions::{self, DecisionRef};
use crate::design::diff::{self, DiffBase, DiffEntry, Named, WithPatch};
use crate::design::fork::clashes::Clash;
use crate::desk::fleet::{self, Row};
use crate::desk::log::{self, Entry};
use crate::model::{Code, Error, Result};
use crate::store::Session;

/// The newest commits that are listed.
const MAX_COMMITS: usize = 20;

/// An agent with its work.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownAgent {
    /// The agent.
    pub agent: String,
    /// Its task, in the words of who made it.
    pub task: Option<String>,
    /// Its clone.
    pub clone: Agent,
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
    let clone = agent_places::find(session, name)?;
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
    let is_its = |name: &String| row.fork.as_ref().is_some_and(|fork| names_fork(name, fork, &row));
    let clashes = report.clashes.into_iter().filter(|clash| is_its(&clash.a) || is_its(&clash.b));
    let agents = report.agents.iter().filter_map(|row| row.fork.clone().zip(row.agent.clone()));
    let mut shown = ShownAgent {
        agents: agents.collect(),
        agent: clone.agent.clone(),
        task,
        clashes: clashes.collect(),
        clone,
        row,
        commits: Vec::new(),
        truncated: false,
        decisions: Vec::new(),
        files: Vec::new(),
    };
    if shown.row.commits > 0 {
        shown.read_commits(session)?;
    }
    Ok(shown)
}

/// Returns `true` if a name of the clash matrix is that of the fork of a row.
fn names_fork(name: &str, fork: &str, row: &Row) -> bool {
    let agent = row.agent.as_deref().unwrap_or_default();
    name == fork || name.strip_prefix(agent).and_then(|rest| rest.strip_prefix('/')) == Some(fork)
}

impl ShownAgent {
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
