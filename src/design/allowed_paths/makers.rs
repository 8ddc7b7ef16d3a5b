//! Which agents have made the commits that a merge or a pick brings in, whatever names them: an id, the ref of a copy, a
//! tag, a fork of their work.
//!
//! A commit is an agent's if it names the agent as author or committer, or if the agent has published it and no branch of
//! a person has it, here or on a remote. A fork of the agent's work does not count as one. Commits of the default branch
//! are nobody's: they were merged before.
//!
//! The limit: in a branch that a person has made of the agent's work with plain git, a commit that names no agent counts
//! as the person's.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::default_branch;
use crate::design::fork::{fork_record, names, published_forks};
use crate::git::{Oid, RefName, Repo};
use crate::model::{RepoPath, Result};
use crate::store::settings::agent_rule;

use super::path_gate::agent_of;

/// What agents and persons have, seen from a branch that commits come into.
pub(in crate::design) struct Makers<'a> {
    repo: &'a Repo,
    /// The tips whose commits nobody asks about.
    merged: Vec<Oid>,
    /// The tips of the branches of persons.
    of_persons: Vec<Oid>,
    /// The published tips of each agent.
    published: BTreeMap<String, Vec<Oid>>,
}

impl<'a> Makers<'a> {
    /// Looks at all branches; `None` if the branch at `target_tip` limits no agent.
    pub(in crate::design) fn find(repo: &'a Repo, target_tip: Oid) -> Result<Option<Makers<'a>>> {
        if !agent_rule::are_in(repo, repo.tree_of(Some(target_tip))?)? {
            return Ok(None);
        }
        let published = published_forks::work_of_agents(repo)?;
        let desks = published_forks::branches_of_desks(repo)?;
        let mut makers =
            Makers { repo, merged: vec![target_tip], of_persons: Vec::new(), published };
        let default = default_branch::find(repo)?.map(|(name, _)| name.short());
        let mut forks = Vec::new();
        for reference in repo.refs_below("refs/heads/")? {
            let branch = reference.name.short();
            if Some(&branch) == default.as_ref() {
                makers.merged.push(reference.id);
            } else if names::label_of(&reference.name).is_some() {
                forks.push(reference);
            } else {
                makers.of_persons.push(reference.id);
            }
        }
        let remote = repo.remote_branches()?.into_iter().filter_map(|reference| {
            let short = reference.name.short();
            let branch = short.split_once('/')?.1.to_owned();
            Some((branch, reference.id))
        });
        for (branch, tip) in remote.chain(desks) {
            let Some(tip) = repo.peel_to_commit(tip) else { continue };
            if Some(&branch) == default.as_ref() {
                makers.merged.push(tip);
            } else if !branch.starts_with("fork/") {
                makers.of_persons.push(tip);
            }
        }
        for fork in forks {
            if !makers.is_of_agents(&fork.name)? {
                makers.of_persons.push(fork.id);
            }
        }
        Ok(Some(makers))
    }

    /// Returns `true` if a fork here was created from the work of an agent.
    fn is_of_agents(&self, fork: &RefName) -> Result<bool> {
        let record =
            names::label_of(fork).and_then(|label| fork_record::of_branch(self.repo, &label));
        match record {
            Some(record) => Ok(!self.publishers(record.base)?.is_empty()),
            None => Ok(false),
        }
    }

    /// Returns the agents that have published a commit, if no person has it.
    fn publishers(&self, commit: Oid) -> Result<BTreeSet<String>> {
        let lacks = |tips: &[Oid]| -> Result<bool> {
            Ok(!self.repo.commits_between(commit, tips, 1)?.is_empty())
        };
        let mut agents = BTreeSet::new();
        if !lacks(&self.known())? {
            return Ok(agents);
        }
        for (agent, tips) in &self.published {
            if !lacks(tips)? {
                agents.insert(agent.clone());
            }
        }
        Ok(agents)
    }

    fn known(&self) -> Vec<Oid> {
        [self.merged.as_slice(), &self.of_persons].concat()
    }

    /// Returns the agents that have made a commit.
    pub(in crate::design) fn of(&self, commit: Oid) -> Result<BTreeSet<String>> {
        if self.repo.commits_between(commit, &self.merged, 1)?.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut agents = self.publishers(commit)?;
        agents.extend(self.named_in(commit)?);
        Ok(agents)
    }

    /// Returns the agents that a commit names.
    fn named_in(&self, commit: Oid) -> Result<BTreeSet<String>> {
        let past = self.repo.read_past(commit)?;
        let committer = self.repo.read_commit(commit)?.committer;
        let names = [(past.author.name, past.author.email), (committer.name, committer.email)];
        let named =
            names.into_iter().filter_map(|(name, email)| agent_of(&format!("{name} <{email}>")));
        Ok(named.collect())
    }

    /// Returns the paths that each agent has changed in the commits that come in with `tip`.
    pub(in crate::design) fn changed_paths(
        &self,
        tip: Oid,
    ) -> Result<BTreeMap<String, BTreeSet<RepoPath>>> {
        let repo = self.repo;
        let lacking = |tips: &[Oid]| repo.commits_between(tip, tips, usize::MAX);
        let known = self.known();
        let unknown: BTreeSet<Oid> = lacking(&known)?.into_iter().collect();
        let mut made: BTreeMap<String, BTreeSet<Oid>> = BTreeMap::new();
        for (agent, tips) in &self.published {
            let others: BTreeSet<Oid> =
                lacking(&[known.as_slice(), tips].concat())?.into_iter().collect();
            made.insert(agent.clone(), unknown.difference(&others).copied().collect());
        }
        for commit in lacking(&self.merged)? {
            for agent in self.named_in(commit)? {
                made.entry(agent).or_default().insert(commit);
            }
        }
        let mut changed = BTreeMap::new();
        for (agent, commits) in made.into_iter().filter(|(_, commits)| !commits.is_empty()) {
            let mut paths = BTreeSet::new();
            for commit in commits {
                let commit = repo.read_commit(commit)?;
                let parents = commit.parents.iter().copied().map(Some);
                let root = commit.parents.is_empty().then_some(None);
                for parent in parents.chain(root) {
                    let changes = repo.diff_trees(repo.tree_of(parent)?, commit.tree)?;
                    paths.extend(changes.into_iter().map(|change| change.path));
                }
            }
            changed.insert(agent, paths);
        }
        Ok(changed)
    }
}
