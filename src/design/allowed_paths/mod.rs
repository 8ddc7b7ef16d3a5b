//! Holding changes against the rules of agents: what each may change says [`AgentRule`].
//!
//! The rule counts as it was before the change, so that no change loosens the rule it is held
//! against. A path is judged by where it stands in the tree: both sides of a rename are paths, a
//! deletion is one, and a link that is added must stay where the agent may write. Nothing here
//! changes anything.

pub mod path_check;
pub mod path_gate;
pub mod path_preview;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::compare::tree_diff::TreeChange;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::settings::agent_rule::{self, AgentRule};

/// A longer target of a link leads nowhere that could be told.
const LONGEST_TARGET: u64 = 4096;

/// Links that lead to links, at most so many.
const MOST_LINKS: usize = 8;

/// Why a path may not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalReason {
    /// No pattern of the scope matches it, or one takes it away.
    OutsideScope,
    /// It is the rule of an agent, or where one may stand.
    AgentRule,
    /// A directory on the way to it is a symbolic link or a submodule.
    ThroughLink,
    /// It is a symbolic link that leads out of the scope.
    LinkLeadsOut,
    /// It lies outside the worktree, or git does not track such a path.
    OutsideRepository,
}

impl RefusalReason {
    /// Returns the words for people.
    pub fn words(self) -> &'static str {
        match self {
            RefusalReason::OutsideScope => "outside the scope",
            RefusalReason::AgentRule => "no agent with a rule changes rules",
            RefusalReason::ThroughLink => "reached through a link or submodule",
            RefusalReason::LinkLeadsOut => "a link that leads out of the scope",
            RefusalReason::OutsideRepository => "outside the repository",
        }
    }
}

/// A path that an agent may not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Violation {
    /// The path.
    pub path: RepoPath,
    /// Why.
    pub reason: RefusalReason,
}

/// Lists the changes that a rule does not allow, sorted by path; `before` is the tree they begin at.
///
/// # Errors
/// `object-missing`.
pub(super) fn violations(
    repo: &Repo,
    rule: &AgentRule,
    before: Oid,
    changes: &[TreeChange],
) -> Result<Vec<Violation>> {
    let view = View::of(repo, before, changes);
    let mut found = Vec::new();
    for change in changes {
        let reason = match view.reason(rule, &change.path)? {
            None => match change.new.filter(TreeEntry::is_link) {
                Some(link) if view.leads_out(rule, &change.path, link, 0)? => {
                    Some(RefusalReason::LinkLeadsOut)
                }
                _ => None,
            },
            reason => reason,
        };
        found.extend(reason.map(|reason| Violation {
            path: change.path.clone(),
            reason,
        }));
    }
    Ok(found)
}

/// A tree with changes on it, path by path.
pub(super) struct View<'a> {
    repo: &'a Repo,
    before: Oid,
    changes: BTreeMap<&'a RepoPath, &'a TreeChange>,
}

impl<'a> View<'a> {
    pub(super) fn of(repo: &'a Repo, before: Oid, changes: &'a [TreeChange]) -> View<'a> {
        let changes = changes.iter().map(|change| (&change.path, change));
        View {
            repo,
            before,
            changes: changes.collect(),
        }
    }

    /// Returns the file, link or submodule at a path.
    pub(super) fn leaf(&self, path: &RepoPath) -> Result<Option<TreeEntry>> {
        match self.changes.get(path) {
            Some(change) => Ok(change.new),
            None => self.repo.leaf_in(self.before, path),
        }
    }

    /// Tells why a path may not be changed; `None` where it may, be it a link or not.
    pub(super) fn reason(
        &self,
        rule: &AgentRule,
        path: &RepoPath,
    ) -> Result<Option<RefusalReason>> {
        if !path.is_safe() {
            return Ok(Some(RefusalReason::OutsideRepository));
        }
        if agent_rule::is_rule_file(path) {
            return Ok(Some(RefusalReason::AgentRule));
        }
        let directory = self.is_directory(path)?;
        Ok((!rule.holds(path, directory)).then_some(RefusalReason::OutsideScope))
    }

    /// Tells whether a path is a directory or a submodule, whatever else it is before or after.
    fn is_directory(&self, path: &RepoPath) -> Result<bool> {
        let is_submodule = |entry: Option<TreeEntry>| entry.is_none_or(|one| one.is_submodule());
        if let Some(change) = self.changes.get(path) {
            return Ok(is_submodule(change.old) && is_submodule(change.new));
        }
        Ok(match self.repo.leaf_in(self.before, path)? {
            Some(leaf) => leaf.is_submodule(),
            None => match std::str::from_utf8(path.as_bytes()) {
                Ok(text) => self.repo.tree_in(self.before, text)?.is_some(),
                Err(_) => false,
            },
        })
    }

    /// Tells whether a link leads to a place that the agent may not change, or that cannot be told.
    pub(super) fn leads_out(
        &self,
        rule: &AgentRule,
        path: &RepoPath,
        link: TreeEntry,
        depth: usize,
    ) -> Result<bool> {
        let size = self.repo.object_size(link.id);
        if depth > MOST_LINKS || size.is_none_or(|size| size > LONGEST_TARGET) {
            return Ok(true);
        }
        let target = self.repo.read_blob(link.id)?;
        let Some(place) = self.place(path, &target)? else {
            return Ok(true);
        };
        if self.reason(rule, &place)?.is_some() {
            return Ok(true);
        }
        match self.leaf(&place)?.filter(TreeEntry::is_link) {
            Some(next) => self.leads_out(rule, &place, next, depth + 1),
            None => Ok(false),
        }
    }

    /// Returns where a target leads from a link, if it stays in the tree and goes through no link.
    fn place(&self, link: &RepoPath, target: &[u8]) -> Result<Option<RepoPath>> {
        if target.first().is_none_or(|&byte| byte == b'/') {
            return Ok(None);
        }
        let mut parts: Vec<&[u8]> = link.as_bytes().split(|&byte| byte == b'/').collect();
        parts.pop();
        for part in target.split(|&byte| byte == b'/') {
            if matches!(part, b"" | b".") {
                continue;
            }
            // What stands here has to be a directory: neither up nor down leads through a link.
            if !parts.is_empty() && self.leaf(&joined(&parts))?.is_some() {
                return Ok(None);
            }
            if part != b".." {
                parts.push(part);
            } else if parts.pop().is_none() {
                return Ok(None);
            }
        }
        Ok(Some(joined(&parts)))
    }
}

fn joined(parts: &[&[u8]]) -> RepoPath {
    RepoPath::new(parts.join(&b'/'))
}
