//! The committed default branch, as far as an agent cannot choose it.
//!
//! In the clone of an agent the branch counts as a checkout of a person has published it, else as the remote has
//! it. The manifest of the working tree may name another branch: that one counts as well, unless it is a fork. So an
//! edited manifest adds a tree, and removes none.

use serde_json::Value;

use crate::git::config::ConfigLevel;
use crate::git::refs::usual_default_branches;
use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::git::{Oid, RefName, Repo};
use crate::model::{RepoPath, Result, World};
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

/// The path of the manifest. Here single values of it are read, whatever the rest is.
const MANIFEST: &str = ".colony/manifest.json";

/// A tree of the default branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultTree {
    /// The short name of the branch.
    pub branch: String,
    /// The tree.
    pub tree: Oid,
}

/// Lists the trees that decide, the strongest first: of the branch that the manifest of a usual default branch names;
/// of every branch that usually is the default one; of the one that the manifest in the working tree names; without
/// any, of the branch that is checked out. So no name that an agent can choose takes another one out. Several
/// checkouts of people may have published different trees of one branch.
///
/// # Errors
/// `repository-broken`, `object-missing`.
pub fn find(world: &World, repo: &Repo) -> Result<Vec<DefaultTree>> {
    let member = Membership::find(repo)?;
    let is_agents = member.is_some_and(|member| member.role == Role::Agent);
    let trees_of = |name: &str| trees_of(repo, is_agents, name);
    let remote_head = repo.symbolic_target(&RefName::from("refs/remotes/origin/HEAD"));
    // An agent may change the configuration of its clone.
    let configured = repo
        .config_with_origin(world, "init.defaultBranch")
        .filter(|value| matches!(value.level, ConfigLevel::System | ConfigLevel::Global));
    let mut found = Vec::new();
    for name in usual_default_branches(remote_head, configured.map(|value| value.value)) {
        add_new(&mut found, trees_of(&name)?);
    }
    let named = found.iter().find_map(|usual| {
        let name = manifest_in(repo, usual.tree)?;
        name.get("default_branch")?.as_str().map(str::to_owned)
    });
    if let Some(name) = named {
        let usual = std::mem::replace(&mut found, trees_of(&name)?);
        add_new(&mut found, usual);
    }
    if let Some(name) = manifest_branch(repo) {
        add_new(&mut found, trees_of(&name)?);
    }
    if found.is_empty() {
        found = trees_of(&repo.head()?.moving_ref().short())?;
    }
    Ok(found)
}

fn add_new(found: &mut Vec<DefaultTree>, further: Vec<DefaultTree>) {
    for tree in further {
        if !found.contains(&tree) {
            found.push(tree);
        }
    }
}

/// Returns the trees of a branch by its short name; none of a fork.
fn trees_of(repo: &Repo, is_agents: bool, name: &str) -> Result<Vec<DefaultTree>> {
    let here = RefName::from(format!("refs/heads/{name}").as_str());
    if !here.is_valid() || here.to_string().starts_with(ref_names::FORKS) {
        return Ok(Vec::new());
    }
    let there = RefName::from(format!("refs/remotes/origin/{name}").as_str());
    let commits = if is_agents {
        let published = published(repo, name)?;
        if published.is_empty() {
            let commit = repo.find_ref(&there)?.or(repo.find_ref(&here)?);
            commit.into_iter().collect()
        } else {
            published
        }
    } else {
        let commit = repo.find_ref(&here)?.or(repo.find_ref(&there)?);
        commit.into_iter().collect()
    };
    let tree = |commit| {
        Ok(DefaultTree {
            branch: name.to_owned(),
            tree: repo.tree_of(Some(commit))?,
        })
    };
    commits.into_iter().map(tree).collect()
}

/// Returns the tips of a branch as checkouts of people have published it.
fn published(repo: &Repo, name: &str) -> Result<Vec<Oid>> {
    let wanted = format!("heads/{name}");
    let copies = repo.refs_below(ref_names::DESKS)?.into_iter();
    let of_branch = copies.filter(|copy| {
        let full = copy.name.to_string();
        let rest = full.strip_prefix(ref_names::DESKS);
        rest.and_then(|rest| rest.split_once('/'))
            .is_some_and(|(_, rest)| rest == wanted)
    });
    Ok(of_branch.map(|copy| copy.id).collect())
}

/// Returns the manifest of a tree as a value; an unusable one counts as absent.
pub(super) fn manifest_in(repo: &Repo, tree: Oid) -> Option<Value> {
    let leaf = repo.leaf_in(tree, &RepoPath::from(MANIFEST)).ok()??;
    let size = repo.object_size(leaf.id)?;
    if !leaf.is_plain_file() || size > MAX_RECORD_BYTES {
        return None;
    }
    serde_json::from_slice(&repo.read_blob(leaf.id).ok()?).ok()
}

/// Returns the default branch that the manifest in the working tree names; an unusable manifest counts as absent.
pub fn manifest_branch(repo: &Repo) -> Option<String> {
    let bytes = repo
        .read_file(&RepoPath::from(MANIFEST), MAX_RECORD_BYTES)
        .ok()??;
    let manifest: Value = serde_json::from_slice(&bytes).ok()?;
    Some(manifest.get("default_branch")?.as_str()?.to_owned())
}
