//! The allowed paths of agents: holding changes against them. [`AgentRule`] says what each agent
//! may change.
//!
//! The rule counts as it was before the change, so that no change loosens the rule it is held
//! against. A path is judged by its place in the tree: both sides of a rename are paths, a deletion
//! is one, and a symlink that is added must stay within the allowed paths. Nothing here changes
//! anything.

pub(in crate::design) mod makers;
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

/// A symlink with a longer target is treated as leading out.
const MAX_TARGET_BYTES: u64 = 4096;

/// The maximum number of symlinks that are followed in a row.
const MAX_LINKS: usize = 8;

/// Why a path may not be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalReason {
    /// No pattern of the allowed paths matches it, or one excludes it.
    OutsideScope,
    /// It is the file of an agent, or a place for one.
    AgentRule,
    /// A directory on the way to it is a symlink or a submodule.
    ThroughLink,
    /// It is a symlink that leads out.
    LinkLeadsOut,
    /// It lies outside the working tree, or git cannot track such a path.
    OutsideRepository,
}

impl RefusalReason {
    /// Returns the reason as text for people.
    pub fn to_text(self) -> &'static str {
        match self {
            RefusalReason::OutsideScope => "outside the allowed paths",
            RefusalReason::AgentRule => "sets allowed paths",
            RefusalReason::ThroughLink => "behind a link",
            RefusalReason::LinkLeadsOut => "a link to the outside",
            RefusalReason::OutsideRepository => "outside the tree",
        }
    }
}

/// A path that an agent may not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Violation {
    /// The path.
    pub path: RepoPath,
    /// The reason.
    pub reason: RefusalReason,
}

/// Lists the changes that a rule does not allow, sorted by path; `before` is the tree they begin at.
pub(super) fn violations(
    repo: &Repo,
    rule: &AgentRule,
    before: Oid,
    changes: &[TreeChange],
) -> Result<Vec<Violation>> {
    let view = View::of(repo, before, changes);
    let mut violations = Vec::new();
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
        violations.extend(reason.map(|reason| Violation { path: change.path.clone(), reason }));
    }
    Ok(violations)
}

/// A tree with changes applied to it, path by path.
pub(super) struct View<'a> {
    repo: &'a Repo,
    before: Oid,
    changes: BTreeMap<&'a RepoPath, &'a TreeChange>,
}

impl<'a> View<'a> {
    pub(super) fn of(repo: &'a Repo, before: Oid, changes: &'a [TreeChange]) -> View<'a> {
        let changes = changes.iter().map(|change| (&change.path, change));
        View { repo, before, changes: changes.collect() }
    }

    /// Returns the file, link or submodule at a path.
    pub(super) fn leaf(&self, path: &RepoPath) -> Result<Option<TreeEntry>> {
        match self.changes.get(path) {
            Some(change) => Ok(change.new),
            None => self.repo.leaf_in(self.before, path),
        }
    }

    /// Returns why a path may not be changed; `None` if it may, symlink or not.
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

    /// Returns `true` if a path is a directory or a submodule, before or after the change.
    fn is_directory(&self, path: &RepoPath) -> Result<bool> {
        let is_submodule = |entry: Option<TreeEntry>| entry.is_none_or(|leaf| leaf.is_submodule());
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

    /// Returns `true` if a symlink leads to a place that the agent may not change, or to an unknown
    /// one.
    pub(super) fn leads_out(
        &self,
        rule: &AgentRule,
        path: &RepoPath,
        link: TreeEntry,
        depth: usize,
    ) -> Result<bool> {
        let size = self.repo.object_size(link.id);
        if depth > MAX_LINKS || size.is_none_or(|size| size > MAX_TARGET_BYTES) {
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

    /// Returns where a target leads from a symlink, if it stays in the tree and goes through no
    /// other symlink.
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
            // This part has to be a directory: neither `..` nor a name below may lead through a
            // symlink.
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
