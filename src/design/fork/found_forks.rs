//! Finds all forks: those of this repository, those published by others, those on remotes.

use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::refs::ref_names;

use super::fork_problem::ForkProblem;
use super::fork_record::{self, ForkRecord};
use super::machines::{self, Elsewhere};
use super::names::label_of;
use super::{published_forks, remote_forks};

/// A fork, wherever it is.
#[derive(Clone)]
pub(in crate::design) struct FoundFork {
    pub(in crate::design) name: String,
    /// The branch, if it is one of this repository.
    pub(in crate::design) branch: Option<RefName>,
    pub(in crate::design) agent: Option<String>,
    pub(in crate::design) tip: Oid,
    /// Whether it is a branch of a person, or one that an agent has checked out.
    pub(in crate::design) is_in_use: bool,
    pub(in crate::design) record: Option<ForkRecord>,
    /// The remote, if only a remote has it.
    pub(in crate::design) remote: Option<String>,
    /// Where it is, if an agent of another machine has it.
    pub(in crate::design) elsewhere: Option<Elsewhere>,
}

/// Finds the forks of this repository, and those that others have published.
pub(in crate::design) fn all_forks(repo: &Repo) -> Result<Vec<FoundFork>> {
    let own = repo.refs_below(ref_names::FORKS)?.into_iter().filter_map(|reference| {
        let label = label_of(&reference.name)?;
        Some(FoundFork {
            name: reference.name.short(),
            tip: repo.peel_to_commit(reference.id)?,
            record: fork_record::of_branch(repo, &label),
            branch: Some(reference.name),
            agent: None,
            is_in_use: true,
            remote: None,
            elsewhere: None,
        })
    });
    let published = published_forks::forks(repo)?.into_iter().map(|fork| FoundFork {
        name: fork.branch,
        branch: None,
        is_in_use: fork.agent.is_none() || fork.is_checked_out,
        agent: fork.agent,
        tip: fork.commit,
        record: fork.record,
        remote: None,
        elsewhere: None,
    });
    Ok(own.chain(published).collect())
}

/// Finds the agent that has a fork in its clone, and the tip there: others may have copies of it.
pub fn agent_with(repo: &Repo, fork: &str) -> Result<Option<(String, Oid)>> {
    let forks = without_begun_on(repo, all_forks(repo)?)?.into_iter();
    let mut of_agents =
        forks.filter(|line| line.name == fork).filter_map(|line| line.agent.zip(Some(line.tip)));
    Ok(of_agents.next())
}

/// Leaves out the copies of forks that clones of agents have only because they were created from
/// them.
pub(in crate::design) fn without_begun_on(
    repo: &Repo,
    all: Vec<FoundFork>,
) -> Result<Vec<FoundFork>> {
    // Of several copies that are not checked out, the first is listed.
    let (mut reported, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|line| line.is_in_use);
    for line in rest {
        let mut is_known = false;
        for other in reported.iter().filter(|other| other.name == line.name) {
            let more = ForkProblem::or(repo.commits_between(line.tip, &[other.tip], 1))?;
            is_known |= more.is_ok_and(|more| more.is_empty());
        }
        if !is_known {
            reported.push(line);
        }
    }
    Ok(reported)
}

/// Lists the forks of remotes with commits that no known fork of the same label has.
pub(in crate::design) fn on_remotes(repo: &Repo, known: &[FoundFork]) -> Result<Vec<FoundFork>> {
    let mut missing: Vec<FoundFork> = Vec::new();
    for fork in remote_forks::list(repo)? {
        let name = format!("fork/{}", fork.label);
        let same = known.iter().filter(|line| line.name == name);
        let tips: Vec<Oid> = same.map(|line| line.tip).collect();
        let more = ForkProblem::or(repo.commits_between(fork.tip, &tips, 1))?;
        if more.is_ok_and(|more| more.is_empty()) {
            continue;
        }
        missing.push(FoundFork {
            name: fork.name(),
            branch: None,
            agent: None,
            tip: fork.tip,
            is_in_use: false,
            record: fork_record::of_branch(repo, &fork.label),
            remote: Some(fork.remote),
            elsewhere: None,
        });
    }
    Ok(missing)
}

/// Returns the branch that is checked out here, if it is not a fork.
pub(in crate::design) fn own_line(repo: &Repo) -> Result<Option<FoundFork>> {
    let head = repo.head()?;
    let branch = head.moving_ref();
    let tip = head.commit().filter(|_| label_of(&branch).is_none());
    Ok(tip.map(|tip| FoundFork {
        name: head.label(),
        branch: Some(branch),
        agent: None,
        tip,
        is_in_use: true,
        record: None,
        remote: None,
        elsewhere: None,
    }))
}

/// The maximum number of agents of other machines that are compared: the newest.
const MAX_ELSEWHERE: usize = 100;

/// Lists the work of agents of other machines, the newest first.
pub(in crate::design) fn elsewhere(repo: &Repo) -> Result<Vec<FoundFork>> {
    let mut agents = machines::list(repo)?;
    agents.sort_by(|a, b| b.place.known_at.cmp(&a.place.known_at));
    agents.truncate(MAX_ELSEWHERE);
    let lines = agents.into_iter().map(|agent| FoundFork {
        record: agent.record(repo),
        name: agent.name,
        branch: None,
        agent: None,
        tip: agent.work.commit,
        is_in_use: true,
        remote: None,
        elsewhere: Some(agent.place),
    });
    Ok(lines.collect())
}
