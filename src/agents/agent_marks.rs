//! Marks on the work of agents: an agent is done, a person holds work back. The agent hears of it as an event.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::blackboard::agent_marks::{self, MAX_TEXT, Mark, MarkKind, MarkedWork, Marks};
use crate::blackboard::change::Changed;
use crate::design::default_branch;
use crate::design::fork::forks;
use crate::design::fork::machines::AgentWork;
use crate::design::fork::names::Named;
use crate::design::fork::{branch_line, found_forks};
use crate::design::meaning;
use crate::git::Oid;
use crate::model::id::OperationId;
use crate::model::text::{count, shell_word};
use crate::model::{Code, Error, Result};
use crate::records::{self, ShareWarning};
use crate::store::Session;
use crate::store::lease::acting_agent;
use crate::store::state::event_log::announce;

use super::{agent_places, agent_state};

/// Whether a mark is made or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marking<'a> {
    /// It is made, with a text.
    Put(Option<&'a str>),
    /// It is deleted.
    Gone,
}

/// The mark on the work of an agent after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkStatus {
    /// The agent is done with its work.
    Done,
    /// The agent is not done.
    NotDone,
    /// Its work is held back.
    Held,
    /// Its work is not held back.
    Released,
}

/// What a command did to the mark on the work of an agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MarkReport {
    /// The agent.
    pub agent: String,
    /// The name that was typed, which takes the mark back, too.
    #[serde(skip)]
    pub typed: String,
    /// Its mark now, or as it would be.
    pub status: MarkStatus,
    /// Whether it was so already.
    pub unchanged: bool,
    /// The commit that the agent has.
    pub sha: Oid,
    /// The reason, or a summary of the work.
    pub text: Option<String>,
    /// The operation; null if nothing had to change, or in a dry run.
    pub op: Option<OperationId>,
    /// Reasons why the other clones do not see it.
    pub warnings: Vec<ShareWarning>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// Says that the agent of this clone is done with its work, or not done after all.
pub fn done(session: &Session, marking: Marking<'_>) -> Result<MarkReport> {
    let member = session.membership.as_ref();
    let of_clone = member.and_then(|member| member.agent.as_deref());
    let Some(agent) = of_clone.filter(|agent| session.settings.agent.as_deref() == Some(*agent))
    else {
        let message = "an agent says this of its own work, and this is not the clone of one";
        return Err(Error::new(Code::Usage, message)
            .unchanged()
            .hint("cd \"$(git colony agents path NAME)\" && git colony agents done"));
    };
    let Some(sha) = session.repo.head()?.commit() else {
        let message = format!("agent '{agent}' has no commit yet");
        return Err(Error::new(Code::RevisionNotFound, message)
            .unchanged()
            .hint("git colony checkpoint -m LABEL   # commits its files"));
    };
    if let Marking::Put(_) = marking {
        refuse_unready(session, agent)?;
    }
    let clone = member.map(|member| member.id.as_str());
    let work = MarkedWork { name: agent, clone, sha, base: None };
    mark(session, MarkKind::Done, agent, work, marking)
}

/// Refuses to call work done that nothing could be merged of, or not all: nobody but the agent can commit it.
fn refuse_unready(session: &Session, agent: &str) -> Result<()> {
    let uncommitted = session.repo.scan(&session.world)?.count_uncommitted();
    if uncommitted > 0 {
        let paths = count(uncommitted, "uncommitted path");
        let message = format!("the work of agent '{agent}' is not done: {paths}");
        return Err(Error::new(Code::UncommittedEdits, message)
            .unchanged()
            .detail("uncommitted", uncommitted)
            .hint("git colony commit -m MESSAGE --all   # then 'git colony agents done'"));
    }
    let Some(branch) = branch_line::head_is_within(&session.repo)? else { return Ok(()) };
    let message = format!("agent '{agent}' has no commit that '{branch}' does not have");
    Err(Error::new(Code::NothingToLand, message)
        .unchanged()
        .hint("git colony log   # lists the commits of this branch"))
}

/// Holds the work of an agent back, so that merging it is not suggested, or releases it. Only a person may.
pub fn hold(session: &Session, agent: &str, marking: Marking<'_>) -> Result<MarkReport> {
    if let Some((acting, why)) = acting_agent::of_session(session) {
        let name = shell_word(agent);
        return Err(acting_agent::refused(&acting, &why, "hold work back")
            .unchanged()
            .hint(format!("git colony agents hold {name}   # run by the user, in the checkout")));
    }
    let named = meaning::find_commit(&session.repo, agent)
        .map_err(|error| agent_state::explain_unknown(session, error))?;
    let Some(Work { name, clone, sha }) = work_of(session, &named)? else {
        let message = format!("'{agent}' is neither an agent nor a fork");
        return Err(Error::new(Code::ForkNotFound, message).unchanged().hint("git colony"));
    };
    let clone = match marking {
        Marking::Put(_) => clone,
        // Its clone may have been removed since.
        Marking::Gone => {
            let marks = all(session);
            let held = marks.find_held(&name, clone.as_deref());
            held.and_then(|(clone, _)| clone.map(str::to_owned))
        }
    };
    let base = shared_with_target(session, sha)?;
    let work = MarkedWork { name: &name, clone: clone.as_deref(), sha, base };
    mark(session, MarkKind::Held, agent, work, marking)
}

/// Finds the mark that holds the work of a name back, as far as this repository knows.
pub fn held(session: &Session, typed: &str) -> Result<Option<Mark>> {
    let marks = Marks::read(&session.repo)?;
    if marks.hold_nothing() {
        return Ok(None);
    }
    let named = meaning::find_commit(&session.repo, typed).ok();
    let work = named.map(|named| work_of(session, &named)).transpose()?.flatten();
    let mark = |work: Work| Some(marks.find_held(&work.name, work.clone.as_deref())?.1.clone());
    Ok(work.and_then(mark))
}

/// The work that a mark is on.
struct Work {
    /// The agent, or the fork.
    name: String,
    /// The id of its clone.
    clone: Option<String>,
    /// Its commit.
    sha: Oid,
}

/// Returns whose work a name stands for; `None` if it is neither an agent's nor a fork.
fn work_of(session: &Session, named: &Named) -> Result<Option<Work>> {
    if let Some(there) = &named.elsewhere {
        let AgentWork { agent, clone, .. } = there.work.clone();
        return Ok(Some(Work { name: agent, clone: Some(clone), sha: named.commit }));
    }
    let fork = Some(&named.name).filter(|name| name.starts_with("fork/"));
    // A fork that an agent has in its clone is the agent's, and a copy may be older than it.
    let of_fork = fork.map(|fork| found_forks::agent_with(&session.repo, fork)).transpose()?;
    let (of_fork, tip) = of_fork.flatten().unzip();
    let agent = named.published.as_ref().and_then(|published| published.agent.clone());
    let Some(name) = agent.or(of_fork).or(fork.cloned()) else {
        return Ok(None);
    };
    let clone = agent_places::find(session, &name).ok().map(|clone| clone.member.id);
    Ok(Some(Work { name, clone, sha: tip.unwrap_or(named.commit) }))
}

/// Returns the commit that a fork shares with the branch that it goes to.
fn shared_with_target(session: &Session, sha: Oid) -> Result<Option<Oid>> {
    let repo = &session.repo;
    let lines = forks::lines_of_work(session)?;
    let line = lines.iter().find(|line| line.head_sha == sha && line.into.is_some());
    let into = line.and_then(|line| line.into.as_ref()).map(|into| into.branch.as_str());
    let target = match forks::standing(repo, into)? {
        Some(target) => Some(target),
        None => default_branch::find(repo)?,
    };
    let bases = target.map(|(_, tip)| repo.merge_bases(tip, sha)).transpose()?;
    Ok(bases.and_then(|bases| bases.first().copied()))
}

/// Makes or deletes one mark, and tells the other clones.
fn mark(
    session: &Session,
    kind: MarkKind,
    typed: &str,
    work: MarkedWork<'_>,
    marking: Marking<'_>,
) -> Result<MarkReport> {
    let MarkedWork { name: agent, sha, .. } = work;
    let text = match marking {
        Marking::Put(text) => checked(text)?,
        Marking::Gone => None,
    };
    let _lock = records::lock(session)?;
    records::refresh(session);
    let Changed { op, before, now } = match marking {
        Marking::Put(_) => agent_marks::put(session, kind, work, text)?,
        Marking::Gone => agent_marks::delete(session, kind, work)?,
    };
    let warnings = records::refresh(session);
    let status = match (kind, marking) {
        (MarkKind::Done, Marking::Put(_)) => MarkStatus::Done,
        (MarkKind::Done, Marking::Gone) => MarkStatus::NotDone,
        (MarkKind::Held, Marking::Put(_)) => MarkStatus::Held,
        (MarkKind::Held, Marking::Gone) => MarkStatus::Released,
    };
    if op.is_some() {
        let event = kind.event(matches!(marking, Marking::Put(_)));
        let value = json!({"agent": agent, "sha": sha, "text": text, "op": op});
        announce(session, format!("{event}:{agent}"), value);
    }
    Ok(MarkReport {
        agent: agent.to_owned(),
        typed: typed.to_owned(),
        status,
        unchanged: before == now,
        sha,
        text: text.map(str::to_owned),
        op,
        warnings,
        dry_run: session.is_dry(),
    })
}

/// Refuses a text that is too long to be shown.
fn checked(text: Option<&str>) -> Result<Option<&str>> {
    let letters = text.map_or(0, |text| text.chars().count());
    if letters > MAX_TEXT {
        let message = format!("a text has at most {MAX_TEXT} letters, this one has {letters}");
        return Err(Error::new(Code::ValueTooLarge, message).unchanged());
    }
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// Reads the marks of all agents, as the clones of the hub have them now. Where they cannot be read there are none.
pub(crate) fn all(session: &Session) -> Marks {
    records::refresh(session);
    Marks::read(&session.repo).unwrap_or_default()
}
