//! The work that a hub holds of removed agents, and the command that restores it: reported before a
//! hub is deleted, and after.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::{Hub, desk_note};
use crate::clones::removal::removed_work::{self, Held, RemovedWork};
use crate::design::fork::fork_problem::ForkProblem;
use crate::git::{Oid, Repo};
use crate::model::Result;
use crate::model::text::typed_word;
use crate::store::refs::ref_names;

/// The maximum number of commits that are counted.
const MAX_COMMITS: usize = 10_000;

/// The work of removed agents in a hub.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldWork {
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// The agents.
    pub agents: Vec<String>,
    /// Each of their removed clones, by agent, the newest of each at the end.
    pub removals: Vec<HeldRemoval>,
}

/// The work that is held of a removed clone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldRemoval {
    /// The agent.
    pub agent: String,
    /// When its clone was removed, RFC 3339 UTC; empty if unknown.
    pub removed_at: String,
    /// The number of commits that nothing else in the hub has.
    pub commits: usize,
    /// The number of files changed in these commits and in the uncommitted work.
    pub files: usize,
    /// The number of stashes.
    pub stashes: usize,
    /// Why the numbers are unknown: the work is too large, damaged or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<ForkProblem>,
    /// The command that restores it, as long as the hub exists.
    pub restore: String,
}

/// Examines the work in a hub; `is_here` if it is the hub of the current repository.
pub(in crate::agents) fn of(hub: &Hub, is_here: bool) -> Result<Option<HeldWork>> {
    let all = removed_work::of_agents(hub)?;
    if all.is_empty() {
        return Ok(None);
    }
    let mut agents: Vec<String> = all.iter().map(|work| work.agent.clone()).collect();
    agents.dedup();
    let path = hub.store.path().to_owned();
    let checkout = (!is_here).then(|| checkout_of(&path)).flatten();
    let repo = hub.store.to_read()?;
    let known = known_elsewhere(&repo)?;
    let status_of = |work: &RemovedWork| look_at(hub, &repo, &known, work, checkout.as_deref());
    Ok(Some(HeldWork {
        removals: all.iter().map(status_of).collect::<Result<_>>()?,
        hub: path,
        agents,
    }))
}

/// Returns a checkout from which a command about the hub can be run.
fn checkout_of(hub: &Path) -> Option<PathBuf> {
    let mut standing = desk_note::standing(hub).into_iter();
    let git_dir = standing.find(|git_dir| git_dir.ends_with(".git"))?;
    git_dir.parent().map(Path::to_owned)
}

/// Returns the commits that a hub has from elsewhere: branches, and the published branches of
/// checkouts.
fn known_elsewhere(repo: &Repo) -> Result<Vec<Oid>> {
    let mut commits = Vec::new();
    for below in ["refs/heads/", "refs/remotes/", ref_names::PUBLISHED_DESKS] {
        let refs = repo.refs_below(below)?.into_iter();
        commits.extend(refs.filter_map(|reference| repo.peel_to_commit(reference.id)));
    }
    commits.sort_unstable();
    commits.dedup();
    Ok(commits)
}

fn look_at(
    hub: &Hub,
    repo: &Repo,
    known: &[Oid],
    work: &RemovedWork,
    checkout: Option<&Path>,
) -> Result<HeldRemoval> {
    let at = checkout.map(|path| format!("-C {} ", typed_word(&path.to_string_lossy())));
    let command = work.command();
    let restore = command.strip_prefix("git ").unwrap_or(&command);
    let mut removal = HeldRemoval {
        agent: work.agent.clone(),
        removed_at: work.removed_at.clone(),
        commits: 0,
        files: 0,
        stashes: 0,
        problem: None,
        restore: format!("git {}{restore}", at.unwrap_or_default()),
    };
    let counted = work.held(hub).and_then(|held| count(repo, known, &held));
    match ForkProblem::or(counted)? {
        Ok(counted) => {
            removal.commits = counted.commits;
            removal.files = counted.files;
            removal.stashes = counted.stashes;
        }
        Err(problem) => removal.problem = Some(problem),
    }
    Ok(removal)
}

struct HeldCounts {
    /// The commits that only this work has.
    commits: usize,
    /// The files changed in them and in the uncommitted work.
    files: usize,
    stashes: usize,
}

fn count(repo: &Repo, known: &[Oid], held: &Held) -> Result<HeldCounts> {
    let tip = held.on.as_ref().map(|on| on.commit).or(held.detached);
    let mut hidden = known.to_vec();
    let (mut commits, mut base) = (0, tip);
    for (number, branch) in tips(repo, held, tip).into_iter().enumerate() {
        let own = repo.commits_between(branch, &hidden, MAX_COMMITS)?;
        commits += own.len();
        if number == 0
            && let Some(first) = own.last()
        {
            base = repo.read_commit(*first)?.parents.first().copied();
        }
        hidden.push(branch);
    }
    let last = held.uncommitted.and_then(|id| repo.peel_to_commit(id));
    let (before, after) = (repo.tree_of(base)?, repo.tree_of(last.or(tip))?);
    Ok(HeldCounts {
        commits,
        files: repo.diff_trees(before, after)?.len(),
        stashes: held.stashed.len(),
    })
}

/// Returns the commit that was checked out, then the other branches.
fn tips(repo: &Repo, held: &Held, tip: Option<Oid>) -> Vec<Oid> {
    let branches = held
        .refs
        .iter()
        .filter(|reference| {
            let name = reference.name.to_string();
            name.starts_with("refs/heads/")
        })
        .filter_map(|reference| repo.peel_to_commit(reference.id));
    tip.into_iter().chain(branches).collect()
}
