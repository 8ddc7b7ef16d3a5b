//! The committed default branch, as far as an agent cannot choose it.
//!
//! In the clone of an agent the branch counts as the hub has it: as a checkout of a person has published it, else as
//! the remote has it. The refs and objects of the clone are the agent's own and count for nothing. The manifest of
//! the working tree may name another branch: that one counts as well, unless it is a fork. So an edited manifest adds
//! a tree, and removes none.

use serde_json::Value;

use crate::git::refs::usual_default_branches;
use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::git::{BareRepo, Oid, RefName, Repo};
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

/// The trees that decide, the strongest first.
pub struct DefaultTrees {
    /// The trees.
    pub trees: Vec<DefaultTree>,
    hub: Option<Repo>,
}

impl DefaultTrees {
    /// Finds the trees: of the branch that the manifest of a usual default branch names; of every branch that
    /// usually is the default one; of the one that the manifest in the working tree names, and in the hub those of
    /// the branches that people have checked out; without any, of the branch that is checked out. So no name that an
    /// agent can choose takes another one out. Several checkouts of people may have published different trees of one
    /// branch.
    pub fn find(world: &World, repo: &Repo) -> Result<DefaultTrees> {
        let member = Membership::find(repo)?.filter(|member| member.role == Role::Agent);
        let hub = member.map(|member| BareRepo::open(&member.hub)?.to_read()).transpose()?;
        let published = hub.as_ref().map(published).transpose()?;
        let source = Source { repo: hub.as_ref().unwrap_or(repo), published };
        Ok(DefaultTrees { trees: source.trees(world, repo)?, hub })
    }

    /// Returns the repository to read the trees from, given the one that they decide about.
    pub fn repo<'a>(&'a self, here: &'a Repo) -> &'a Repo {
        self.hub.as_ref().unwrap_or(here)
    }
}

/// The repository whose refs decide.
struct Source<'a> {
    repo: &'a Repo,
    /// In a hub, what checkouts of people have published there, without their ids.
    published: Option<Vec<(String, Oid)>>,
}

impl Source<'_> {
    fn trees(&self, world: &World, here: &Repo) -> Result<Vec<DefaultTree>> {
        let head = RefName::from("refs/remotes/origin/HEAD");
        let remote_head = self.repo.symbolic_target(&head);
        // An agent may change the configuration of its clone.
        let configured = here.config_of_user(world, "init.defaultBranch");
        let mut trees = Vec::new();
        for name in usual_default_branches(remote_head, configured.map(|value| value.value)) {
            add_new(&mut trees, self.trees_of(&name)?);
        }
        let named = trees.iter().find_map(|usual| self.named_in(usual.tree));
        if let Some(name) = named {
            let usual = std::mem::replace(&mut trees, self.trees_of(&name)?);
            add_new(&mut trees, usual);
        }
        for name in self.named_by_people()?.into_iter().chain(manifest_branch(here)) {
            add_new(&mut trees, self.trees_of(&name)?);
        }
        if trees.is_empty() && self.published.is_none() {
            trees = self.trees_of(&here.head()?.moving_ref().short())?;
        }
        Ok(trees)
    }

    /// Returns the default branch that the manifest of a tree names.
    fn named_in(&self, tree: Oid) -> Option<String> {
        let manifest = manifest_in(self.repo, tree)?;
        manifest.get("default_branch")?.as_str().map(str::to_owned)
    }

    /// Returns the default branches that the manifests name at the commits which people have checked out.
    fn named_by_people(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for (name, commit) in self.published.iter().flatten() {
            if name.starts_with("on/") {
                names.extend(self.named_in(self.repo.tree_of(Some(*commit))?));
            }
        }
        Ok(names)
    }

    /// Returns the trees of a branch by its short name; none of a fork.
    fn trees_of(&self, name: &str) -> Result<Vec<DefaultTree>> {
        let local = RefName::from(format!("refs/heads/{name}").as_str());
        if !local.is_valid() || local.to_string().starts_with(ref_names::FORKS) {
            return Ok(Vec::new());
        }
        let remote = RefName::from(format!("refs/remotes/origin/{name}").as_str());
        let mut commits = Vec::new();
        if let Some(published) = &self.published {
            let wanted = format!("heads/{name}");
            let published = published.iter().filter(|(name, _)| *name == wanted);
            commits.extend(published.map(|(_, id)| *id));
        } else {
            commits.extend(self.repo.find_ref(&local)?);
        }
        if commits.is_empty() {
            commits.extend(self.repo.find_ref(&remote)?);
        }
        let tree = |commit| {
            Ok(DefaultTree { branch: name.to_owned(), tree: self.repo.tree_of(Some(commit))? })
        };
        commits.into_iter().map(tree).collect()
    }
}

/// Lists what checkouts of people have published in a hub, without their ids.
fn published(hub: &Repo) -> Result<Vec<(String, Oid)>> {
    let refs = hub.refs_below(ref_names::PUBLISHED_DESKS)?.into_iter();
    let of_desk = |name: &RefName| {
        let name = name.to_string();
        let (_, rest) = name.strip_prefix(ref_names::PUBLISHED_DESKS)?.split_once('/')?;
        Some(rest.to_owned())
    };
    Ok(refs.filter_map(|reference| Some((of_desk(&reference.name)?, reference.id))).collect())
}

fn add_new(trees: &mut Vec<DefaultTree>, further: Vec<DefaultTree>) {
    for tree in further {
        if !trees.contains(&tree) {
            trees.push(tree);
        }
    }
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
    let bytes = repo.read_file(&RepoPath::from(MANIFEST), MAX_RECORD_BYTES).ok()??;
    let manifest: Value = serde_json::from_slice(&bytes).ok()?;
    Some(manifest.get("default_branch")?.as_str()?.to_owned())
}
