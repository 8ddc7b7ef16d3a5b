//! Suggests the next step: end an operation in progress, merge what merges cleanly, then settle the
//! smallest conflict.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::fork::forks::{Fork, Into, MergeOutcome};
use crate::design::worktree::Ends;
use crate::git::RefName;
use crate::model::RepoPath;
use crate::model::text::typed_word;
use crate::store::agent_policy::protected_branches::ProtectedBranches;

use super::git_in_progress::Operation;
use super::row::Row;

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Next {
    /// Its command.
    pub command: String,
    /// The paths in conflict; empty if it merges cleanly.
    pub paths: Vec<RepoPath>,
    /// The alternative: the agent whose work it is settles the conflict.
    #[serde(rename = "or")]
    pub other_way: Option<OtherWay>,
    /// The commands that end the operation in progress.
    pub ends: Option<Ends>,
}

/// How an agent settles a conflict of its own work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherWay {
    /// The agent.
    pub agent: String,
    /// The command that opens the conflict in its clone.
    pub command: String,
}

/// An agent that has a git operation in progress in its clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Settling {
    /// The agent.
    pub agent: String,
    /// The operation: `settling main`.
    pub what: String,
    /// The command that shows its progress.
    pub command: String,
}

/// The current checkout.
pub(super) struct DeskView<'a> {
    /// The branch that is checked out.
    pub(super) branch: String,
    /// The agent, if this is its clone.
    pub(super) agent: Option<&'a str>,
    /// The git operation in progress.
    pub(super) operation: Option<&'a Operation>,
    /// The commands that end it.
    pub(super) ends: Option<&'a Ends>,
    /// The forks that the rows are about.
    pub(super) forks: &'a [Fork],
    /// The uncommitted paths here, untracked ones included.
    pub(super) unsaved: &'a BTreeSet<RepoPath>,
    /// The branches that an agent may not move.
    pub(super) protected: &'a ProtectedBranches,
    /// The paths that merging a fork would change.
    pub(super) coming_in: &'a dyn Fn(&Fork) -> BTreeSet<RepoPath>,
    /// The name by which the clone of a row merges the branch that the row is compared with.
    pub(super) name_in_clone: &'a dyn Fn(&Row, &str) -> String,
}

/// Returns the next step: the first fork in the merge order that merges cleanly and may be merged;
/// else the smallest conflict, by paths, then by commits, then by name.
pub(super) fn next(desk: &DeskView<'_>, rows: &[Row], order: &[String]) -> Option<Next> {
    if let Some(operation) = desk.operation {
        return Some(end(operation, desk.ends));
    }
    let is_open = |row: &&Row| {
        let is_free = row.outside_scope.is_empty() && row.problem.is_none();
        is_free && row.commits > 0 && !is_settling(row)
    };
    let open: Vec<&Row> = rows.iter().filter(is_open).collect();
    clean(desk, &open, order).or_else(|| smallest_conflict(desk, &open))
}

/// Lists the agents with an operation in progress: merging their work is not suggested before they
/// have ended it.
pub(super) fn settling(desk: &DeskView<'_>, rows: &[Row]) -> Vec<Settling> {
    let others = rows.iter().filter(|row| !desk.is_own(row) && is_settling(row));
    let told = others.filter_map(|row| {
        let place = typed_word(&row.path.as_ref()?.to_string_lossy());
        Some(Settling {
            agent: row.agent.clone()?,
            what: row.operation.as_ref()?.doing(),
            command: format!("git -C {place} status"),
        })
    });
    told.collect()
}

/// A bisect changes nothing that could be merged.
fn is_settling(row: &Row) -> bool {
    let operation = row.operation.as_ref();
    operation.is_some_and(|operation| operation.kind != "bisect")
}

/// An operation in progress here blocks everything else.
fn end(operation: &Operation, ends: Option<&Ends>) -> Next {
    let command = match (operation.kind, operation.conflicts) {
        ("merge" | "cherry-pick", 0) => format!("git colony {} --continue", operation.kind),
        _ => "git status".to_owned(),
    };
    Next { command, paths: Vec::new(), other_way: None, ends: ends.cloned() }
}

/// In the clone of an agent its own work is not suggested: another user merges it.
fn clean(desk: &DeskView<'_>, open: &[&Row], order: &[String]) -> Option<Next> {
    let is_ready = |row: &&&Row| {
        let outcome = row.into.as_ref().map(|into| into.outcome);
        !desk.is_own(row)
            && matches!(outcome, Some(MergeOutcome::FastForward | MergeOutcome::Merged))
    };
    let row = order.iter().find_map(|name| {
        let mut ready = open.iter().filter(is_ready).filter(|row| desk.may_merge(row));
        ready.find(|row| is_named(row, name))
    })?;
    Some(Next {
        command: format!(
            "{}git colony merge {}{}",
            desk.keeping_first(row, row.into.as_ref()?),
            typed_word(&name_of(row)?),
            desk.goal_words(row, row.into.as_ref()?)
        ),
        paths: Vec::new(),
        other_way: None,
        ends: None,
    })
}

fn smallest_conflict(desk: &DeskView<'_>, open: &[&Row]) -> Option<Next> {
    let in_conflict = open.iter().filter_map(|row| {
        let into = row.into.as_ref()?;
        // In the clone of an agent only its own conflicts can be settled.
        let is_its = desk.agent.is_none() || desk.is_own(row);
        (is_its && into.outcome == MergeOutcome::Conflicted).then_some((*row, into))
    });
    let (row, into) =
        in_conflict.min_by_key(|(row, into)| (into.paths.len(), row.commits, name_of(row)))?;
    let branch = typed_word(&into.branch);
    let in_clone =
        format!("colony merge {} --resolve", typed_word(&(desk.name_in_clone)(row, &into.branch)));
    if desk.is_own(row) {
        return Some(Next {
            command: format!("git {in_clone}"),
            paths: into.paths.clone(),
            other_way: None,
            ends: None,
        });
    }
    let first = if into.branch == desk.branch {
        desk.keeping_first(row, into).to_owned()
    } else {
        format!("git switch {branch} && ")
    };
    let (name, goal) = (typed_word(&name_of(row)?), desk.goal_words(row, into));
    let clone = row.agent.clone().zip(row.path.as_ref());
    Some(Next {
        command: format!("{first}git colony merge {name}{goal} --resolve"),
        paths: into.paths.clone(),
        other_way: clone.map(|(agent, path)| OtherWay {
            agent,
            command: format!("git -C {} {in_clone}", typed_word(&path.to_string_lossy())),
        }),
        ends: None,
    })
}

impl DeskView<'_> {
    /// Returns `false` for an agent and a protected target branch.
    fn may_merge(&self, row: &Row) -> bool {
        let into = row.into.as_ref().map(|into| format!("refs/heads/{}", into.branch));
        let is_protected =
            |name: String| self.protected.find(&RefName::from(name.as_str())).is_some();
        self.agent.is_none() || !into.is_some_and(is_protected)
    }

    fn is_own(&self, row: &Row) -> bool {
        self.agent.is_some() && row.agent.as_deref() == self.agent
    }

    /// Returns the command that keeps uncommitted changes, where the merge would be refused because of them.
    fn keeping_first(&self, row: &Row, into: &Into) -> &'static str {
        if into.branch != self.branch || self.unsaved.is_empty() {
            return "";
        }
        let fork = self.forks.iter().find(|fork| row.is_on(fork));
        let coming = fork.map(self.coming_in).unwrap_or_default();
        let meets = |path: &RepoPath| {
            let is_one = |own: &RepoPath| own.is_at_or_below(path) || path.is_at_or_below(own);
            self.unsaved.iter().any(is_one)
        };
        if coming.iter().chain(&into.paths).any(meets) { "git colony checkpoint && " } else { "" }
    }

    /// Adds the target branch if a merge would not find it: the branch that the fork was created
    /// from is gone.
    fn goal_words(&self, row: &Row, into: &Into) -> String {
        let fork = self.forks.iter().find(|fork| row.is_on(fork));
        let began_on = fork.and_then(|fork| fork.diverged_from_branch.as_ref());
        match began_on {
            Some(began_on) if *began_on != into.branch => {
                format!(" --into {}", typed_word(&into.branch))
            }
            _ => String::new(),
        }
    }
}

fn is_named(row: &Row, name: &str) -> bool {
    let on = row.fork.as_deref().unwrap_or_default();
    let agent = row.agent.as_deref().unwrap_or_default();
    let rest = name.strip_prefix(agent);
    on == name || rest.and_then(|rest| rest.strip_prefix('/')) == Some(on)
}

/// Returns the name to merge it by.
fn name_of(row: &Row) -> Option<String> {
    let fork = row.fork.as_deref();
    Some(match row.agent.as_deref() {
        // The name of an agent stands for its current checkout.
        Some(agent) if row.unsaved.is_none() => format!("{agent}/{}", fork?),
        Some(agent) => agent.to_owned(),
        None => fork?.to_owned(),
    })
}
