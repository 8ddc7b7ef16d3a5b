//! Suggests the next step: end an operation in progress, merge what merges cleanly, then settle the
//! smallest conflict.

use std::collections::BTreeSet;
use std::ptr;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::fork::clashes::Clash;
use crate::design::fork::forks::{Fork, Into, MergeOutcome};
use crate::design::worktree::Ends;
use crate::git::RefName;
use crate::model::RepoPath;
use crate::model::text::typed_word;
use crate::store::agent_policy::protected_branches::ProtectedBranches;

use super::git_in_progress::Operation;
use super::row::Row;

/// The next step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// The names of all that merge cleanly one by one, in the order of merging.
    pub clean: Vec<String>,
    /// The step after these: the smallest conflict.
    pub then: Option<Later>,
}

/// A later step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Later {
    /// Its command.
    pub command: String,
    /// The paths in conflict.
    pub paths: Vec<RepoPath>,
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
    /// The forks that do not merge cleanly with each other.
    pub(super) clashes: &'a [Clash],
    /// The paths that merging a fork would change.
    pub(super) coming_in: &'a dyn Fn(&Fork) -> BTreeSet<RepoPath>,
    /// Whether commands are known that test merged work.
    pub(super) has_tests: bool,
    /// The name by which the clone of a row merges the branch that the row is compared with.
    pub(super) name_in_clone: &'a dyn Fn(&Row, &str) -> String,
}

/// Returns the next step: the first fork in the merge order that merges cleanly and may be merged;
/// else the smallest conflict, by paths, then by commits, then by name.
pub(super) fn next(desk: &DeskView<'_>, rows: &[Row], order: &[String]) -> Option<Next> {
    if let Some(operation) = desk.operation {
        return Some(end(operation, desk.ends));
    }
    // What a lost clone has published is not all of its work.
    let lost: BTreeSet<&str> =
        rows.iter().filter(|row| row.lost).filter_map(|row| row.agent.as_deref()).collect();
    let is_open = |row: &&Row| {
        let is_held = row.held.is_some() || row.contains_held.is_some();
        let is_lost = row.agent.as_deref().is_some_and(|agent| lost.contains(agent));
        let is_whole = row.problem.is_none() && !is_lost;
        let is_waiting = is_held || row.is_as_reverted;
        // It is merged on its machine, unless it is named.
        let is_waiting = is_waiting || row.elsewhere.is_some();
        let is_free = row.outside_scope.is_empty() && is_whole && !is_waiting;
        is_free && row.commits > 0 && !is_settling(row)
    };
    let open: Vec<&Row> = rows.iter().filter(is_open).collect();
    let conflict = smallest_conflict(desk, &open);
    let ready = ready(desk, &open, order);
    let Some(first) = ready.first().and_then(|row| clean(desk, row)) else {
        return from_old_history(desk, &open).or(conflict);
    };
    let (batch, meet) = batch(desk, &ready);
    let met = meet.into_iter().filter_map(|(row, paths)| {
        let command = format!("git colony merge {} --resolve", typed_word(&row.merged_as()?));
        Some(Later { command, paths })
    });
    let conflict = conflict.map(|next| Later { command: next.command, paths: next.paths });
    let (command, batch) = landing(desk, &batch).unwrap_or((first.command, batch));
    Some(Next {
        command,
        clean: batch.into_iter().filter_map(Row::merged_as).collect(),
        then: conflict.into_iter().chain(met).min_by_key(|later| later.paths.len()),
        ..first
    })
}

/// Lists the agents with an operation in progress: merging their work is not suggested before they
/// have ended it.
pub(super) fn settling(desk: &DeskView<'_>, rows: &[Row]) -> Vec<Settling> {
    let others = rows.iter().filter(|row| !desk.is_own(row) && is_settling(row));
    let settlings = others.filter_map(|row| {
        let place = typed_word(&row.path.as_ref()?.to_string_lossy());
        Some(Settling {
            agent: row.agent.clone()?,
            what: row.operation.as_ref()?.doing(),
            command: format!("git -C {place} status"),
        })
    });
    settlings.collect()
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
    Next { command, ends: ends.cloned(), ..Next::default() }
}

/// Returns the rows that merge cleanly and may be merged, in the order of merging. In the clone of an agent its own work
/// is not suggested: another user merges it.
fn ready<'r>(desk: &DeskView<'_>, open: &[&'r Row], order: &[String]) -> Vec<&'r Row> {
    let is_ready = |row: &&&Row| {
        let outcome = row.into.as_ref().map(|into| into.outcome);
        let is_clean = matches!(outcome, Some(MergeOutcome::FastForward | MergeOutcome::Merged));
        let has_failed = row.tested.as_ref().is_some_and(|tested| tested.holds);
        is_clean && !has_failed && !desk.is_own(row) && desk.may_merge(row)
    };
    let mut rows: Vec<&Row> = Vec::new();
    for name in order {
        // Two agents may each have a branch of one name.
        let is_next =
            |row: &&&Row| is_named(row, name) && !rows.iter().any(|listed| ptr::eq(*listed, **row));
        rows.extend(open.iter().filter(is_ready).find(is_next));
    }
    // Those who are done before those who may still be working.
    rows.sort_by_key(|row| row.done.is_none());
    rows
}

/// Returns the merge of a row from before a rewrite: only that shows how its rewritten commits merge.
fn from_old_history(desk: &DeskView<'_>, open: &[&Row]) -> Option<Next> {
    let is_old = |row: &&&Row| {
        let outcome = row.into.as_ref().map(|into| into.outcome);
        // The clone of an agent has the old history itself.
        desk.agent.is_none() && outcome == Some(MergeOutcome::OldHistory)
    };
    open.iter().find(is_old).and_then(|row| clean(desk, row))
}

/// Returns the rows that merge cleanly one after the other, and those that would meet one of them, each with the paths.
fn batch<'r>(
    desk: &DeskView<'_>,
    ready: &[&'r Row],
) -> (Vec<&'r Row>, Vec<(&'r Row, Vec<RepoPath>)>) {
    let (mut batch, mut meet): (Vec<&Row>, Vec<_>) = (Vec::new(), Vec::new());
    for row in ready {
        let with = |clash: &&Clash| {
            let is_met = |name: &String| batch.iter().any(|other| is_named(other, name));
            (is_named(row, &clash.a) && is_met(&clash.b))
                || (is_named(row, &clash.b) && is_met(&clash.a))
        };
        match desk.clashes.iter().find(with) {
            Some(clash) => meet.push((*row, clash.paths.clone())),
            None => batch.push(row),
        }
    }
    (batch, meet)
}

/// Returns the command that tests and merges those of a batch that are done, all at once, and those.
fn landing<'r>(desk: &DeskView<'_>, batch: &[&'r Row]) -> Option<(String, Vec<&'r Row>)> {
    let is_here = |row: &&&Row| row.into.as_ref().is_some_and(|into| into.branch == desk.branch);
    let is_ready = |row: &&&Row| row.done.is_some() && row.unsaved == Some(0);
    let ready: Vec<&Row> = batch.iter().filter(is_here).filter(is_ready).copied().collect();
    let first = ready.first().filter(|_| desk.has_tests && desk.agent.is_none())?;
    let keeping = desk.keeping_first(first, first.into.as_ref()?);
    Some((format!("{keeping}git colony land"), ready))
}

fn clean(desk: &DeskView<'_>, row: &Row) -> Option<Next> {
    let into = row.into.as_ref()?;
    let (first, name) = (desk.keeping_first(row, into), typed_word(&row.merged_as()?));
    let target_option = desk.target_option(row, into);
    Some(Next {
        command: format!("{first}git colony merge {name}{target_option}"),
        ..Next::default()
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
        in_conflict.min_by_key(|(row, into)| (into.paths.len(), row.commits, row.merged_as()))?;
    let branch = typed_word(&into.branch);
    let in_clone =
        format!("colony merge {} --resolve", typed_word(&(desk.name_in_clone)(row, &into.branch)));
    if desk.is_own(row) {
        return Some(Next {
            command: format!("git {in_clone}"),
            paths: into.paths.clone(),
            ..Next::default()
        });
    }
    let first = if into.branch == desk.branch {
        desk.keeping_first(row, into).to_owned()
    } else {
        format!("git switch {branch} && ")
    };
    let (name, target_option) = (typed_word(&row.merged_as()?), desk.target_option(row, into));
    let clone = row.agent.clone().zip(row.path.as_ref());
    Some(Next {
        command: format!("{first}git colony merge {name}{target_option} --resolve"),
        paths: into.paths.clone(),
        other_way: clone.map(|(agent, path)| OtherWay {
            agent,
            command: format!("git -C {} {in_clone}", typed_word(&path.to_string_lossy())),
        }),
        ..Next::default()
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
    fn target_option(&self, row: &Row, into: &Into) -> String {
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
