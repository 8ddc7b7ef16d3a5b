//! The default branch of a repository, into which forks are merged: one rule for all commands.

use crate::git::refs::usual_default_branches;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::store::agent_policy::default_trees;

const HEADS: &str = "refs/heads/";
const REMOTE: &str = "refs/remotes/origin/";

/// Finds the default branch: the first of these that exists here, or that `origin` had at the last
/// fetch: the branch that the manifest names, then the usual ones ([`usual_default_branches`]);
/// else the branch that is checked out.
pub fn find(repo: &Repo) -> Result<Option<(RefName, Oid)>> {
    let of_remote = repo.symbolic_target(&RefName::from("refs/remotes/origin/HEAD"));
    let usual = usual_default_branches(of_remote, repo.config("init.defaultBranch"));
    for name in default_trees::manifest_branch(repo).into_iter().chain(usual) {
        let branch = RefName::from(format!("{HEADS}{name}").as_str());
        // A manifest or a configuration may name anything, even an invalid branch name.
        if !branch.is_valid() {
            continue;
        }
        let there = RefName::from(format!("{REMOTE}{name}").as_str());
        let local = repo.find_ref(&branch)?;
        let tip = local.map_or_else(|| repo.find_ref(&there), |commit| Ok(Some(commit)));
        if let Some(commit) = tip? {
            return Ok(Some((branch, commit)));
        }
    }
    let head = repo.head()?;
    let branch = Some(head.moving_ref()).filter(|name| name.as_bytes().starts_with(b"refs/heads/"));
    Ok(branch.zip(head.commit()))
}
