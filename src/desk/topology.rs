//! The branches of a repository and where each diverged from the default branch.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::default_branch;
use crate::design::fork::forks;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::Session;
use crate::store::refs::ref_names;

/// The branches.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TopologyReport {
    /// The default branch; `None` if there is no branch.
    pub main: Option<String>,
    /// Its tip, or that of `origin`'s if it is not here, or HEAD.
    pub main_head_sha: Option<Oid>,
    /// Every local branch, sorted by name.
    pub branches: Vec<Branch>,
    /// Their number.
    pub count: usize,
}

/// A branch.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the published answer")]
pub struct Branch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// Its tip.
    pub head_sha: Oid,
    /// The branch that a fork was created from, while it exists, else the default branch; `None`
    /// for that itself.
    pub parent_branch: Option<String>,
    /// Its merge base with that branch; `None` if there is none, and for the default branch.
    pub diverged_from_sha: Option<Oid>,
    /// Whether it is below `fork/`.
    pub is_fork: bool,
    /// Whether it is below `session/`.
    pub is_session: bool,
    /// Whether it is below `agent/`.
    pub is_agent: bool,
    /// Whether it is below `tool/`.
    pub is_tool: bool,
}

/// Examines every local branch: one walk of the history, no process.
pub fn topology(session: &Session) -> Result<TopologyReport> {
    let repo = &session.repo;
    let heads = repo.refs_below(HEADS)?;
    let main = main_branch(repo)?;
    let head = main_tip(repo, main.as_deref())?;
    let tips: Vec<_> = heads.iter().map(|branch| branch.id).collect();
    let bases = match head {
        Some(head) => repo.fork_points(head, &tips),
        None => vec![None; tips.len()],
    };
    let mut branches: Vec<_> = heads
        .iter()
        .zip(bases)
        .map(|(branch, base)| {
            let name = branch.name.short();
            let is_main = main.as_ref() == Some(&name);
            Branch {
                head_sha: branch.id,
                parent_branch: main.clone().filter(|_| !is_main),
                diverged_from_sha: base.filter(|_| !is_main),
                is_fork: name.starts_with("fork/"),
                is_session: name.starts_with("session/"),
                is_agent: name.starts_with("agent/"),
                is_tool: name.starts_with("tool/"),
                name,
            }
        })
        .collect();
    if !repo.refs_below(ref_names::FORK_RECORDS)?.is_empty() {
        for branch in branches.iter_mut().filter(|branch| branch.is_fork) {
            attach_to_base(repo, branch)?;
        }
    }
    Ok(TopologyReport { main, main_head_sha: head, count: branches.len(), branches })
}

/// Sets the branch that a fork was created from as its parent.
fn attach_to_base(repo: &Repo, fork: &mut Branch) -> Result<()> {
    let name = RefName::from(format!("{HEADS}{}", fork.name).as_str());
    let Some((base, tip)) = forks::into_of(repo, &name)? else {
        return Ok(());
    };
    let base = base.short();
    if fork.parent_branch.as_ref() != Some(&base) {
        fork.parent_branch = Some(base);
        let bases = repo.merge_bases(tip, fork.head_sha).unwrap_or_default();
        fork.diverged_from_sha = bases.first().copied();
    }
    Ok(())
}

const HEADS: &str = "refs/heads/";
const REMOTE: &str = "refs/remotes/origin/";

/// Returns the default branch; before the first commit the one that is checked out.
fn main_branch(repo: &Repo) -> Result<Option<String>> {
    if let Some((branch, _)) = default_branch::find(repo)? {
        return Ok(Some(branch.short()));
    }
    let current = repo.head()?.moving_ref().to_string();
    Ok(current.strip_prefix(HEADS).map(str::to_owned))
}

fn main_tip(repo: &Repo, main: Option<&str>) -> Result<Option<Oid>> {
    match main.and_then(|name| tip_of(repo, name)) {
        Some(tip) => Ok(Some(tip)),
        None => Ok(repo.head()?.commit()),
    }
}

/// Returns the tip of a branch here, else of `origin`'s. A file of the tree may name anything, even
/// an invalid branch name.
fn tip_of(repo: &Repo, name: &str) -> Option<Oid> {
    let find = |prefix: &str| {
        let name = RefName::from(format!("{prefix}{name}").as_str());
        repo.find_ref(&name).ok().flatten()
    };
    find(HEADS).or_else(|| find(REMOTE))
}
