//! What to do next: end what is open, merge what is clean, then settle the smallest conflict.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::fork::forks::{Fork, Into, MergeOutcome};
use crate::model::RepoPath;
use crate::model::text::typed_word;

use super::git_in_progress::Operation;
use super::row::Row;

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Next {
    /// The command that does it.
    pub command: String,
    /// What is in conflict; nothing where it merges cleanly.
    pub paths: Vec<RepoPath>,
    /// Another way: the agent whose work it is settles the conflict.
    #[serde(rename = "or")]
    pub other_way: Option<OtherWay>,
}

/// How an agent settles a conflict of its own work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OtherWay {
    /// The agent.
    pub agent: String,
    /// The command that opens the conflict in its clone.
    pub command: String,
}

/// An agent that is in the middle of something in its clone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Settling {
    /// The agent.
    pub agent: String,
    /// What it does: `settling main`.
    pub what: String,
    /// The command that shows how far it is.
    pub command: String,
}

/// Where one stands.
pub(super) struct DeskView<'a> {
    /// The branch that is checked out.
    pub(super) branch: String,
    /// The agent in whose clone one stands.
    pub(super) agent: Option<&'a str>,
    /// What git is in the middle of.
    pub(super) operation: Option<&'a Operation>,
    /// The lines of work that the rows are about.
    pub(super) forks: &'a [Fork],
}

/// Returns the next step: what merges cleanly, is allowed to, and meets conflicts last, in order; else the
/// smallest conflict, by paths, then by commits, then by name.
pub(super) fn next(desk: &DeskView<'_>, rows: &[Row], order: &[String]) -> Option<Next> {
    if let Some(operation) = desk.operation {
        return Some(end(operation));
    }
    let is_open = |row: &&Row| {
        let is_free = row.outside_scope.is_empty() && row.problem.is_none();
        is_free && row.commits > 0 && !is_settling(row)
    };
    let open: Vec<&Row> = rows.iter().filter(is_open).collect();
    clean(desk, &open, order).or_else(|| smallest_conflict(desk, &open))
}

/// Lists the agents that are at it: their work is not told to be merged before they have ended.
pub(super) fn settling(desk: &DeskView<'_>, rows: &[Row]) -> Vec<Settling> {
    let others = rows
        .iter()
        .filter(|row| !desk.is_own(row) && is_settling(row));
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

/// A search for a bad commit changes nothing that is to be merged.
fn is_settling(row: &Row) -> bool {
    let operation = row.operation.as_ref();
    operation.is_some_and(|operation| operation.kind != "bisect")
}

/// What is open here stands in the way of everything else.
fn end(operation: &Operation) -> Next {
    let command = match (operation.kind, operation.conflicts) {
        ("merge" | "cherry-pick", 0) => format!("git colony {} --continue", operation.kind),
        _ => "git status".to_owned(),
    };
    Next {
        command,
        paths: Vec::new(),
        other_way: None,
    }
}

/// What the agent does in whose clone one stands is for somebody else to merge.
fn clean(desk: &DeskView<'_>, open: &[&Row], order: &[String]) -> Option<Next> {
    let is_ready = |row: &&&Row| {
        let outcome = row.into.as_ref().map(|into| into.outcome);
        !desk.is_own(row)
            && matches!(
                outcome,
                Some(MergeOutcome::FastForward | MergeOutcome::Merged)
            )
    };
    let row = order.iter().find_map(|name| {
        let mut ready = open.iter().filter(is_ready);
        ready.find(|row| is_named(row, name))
    })?;
    Some(Next {
        command: format!(
            "git colony merge {}{}",
            typed_word(&name_of(row)?),
            desk.goal_words(row, row.into.as_ref()?)
        ),
        paths: Vec::new(),
        other_way: None,
    })
}

fn smallest_conflict(desk: &DeskView<'_>, open: &[&Row]) -> Option<Next> {
    let in_conflict = open.iter().filter_map(|row| {
        let into = row.into.as_ref()?;
        // In the clone of an agent its own work is what it can settle.
        let is_its = desk.agent.is_none() || desk.is_own(row);
        (is_its && into.outcome == MergeOutcome::Conflicted).then_some((*row, into))
    });
    let (row, into) =
        in_conflict.min_by_key(|(row, into)| (into.paths.len(), row.commits, name_of(row)))?;
    let branch = typed_word(&into.branch);
    let in_clone = format!("colony merge {branch} --resolve");
    if desk.is_own(row) {
        return Some(Next {
            command: format!("git {in_clone}"),
            paths: into.paths.clone(),
            other_way: None,
        });
    }
    let first = if into.branch == desk.branch {
        String::new()
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
    })
}

impl DeskView<'_> {
    fn is_own(&self, row: &Row) -> bool {
        self.agent.is_some() && row.agent.as_deref() == self.agent
    }

    /// Names the branch that the forecast is for where a merge would not find it: the one that the line of work
    /// began on is gone.
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

/// Returns what to merge it by.
fn name_of(row: &Row) -> Option<String> {
    let fork = row.fork.as_deref();
    Some(match row.agent.as_deref() {
        // An agent's name is what it has checked out.
        Some(agent) if row.unsaved.is_none() => format!("{agent}/{}", fork?),
        Some(agent) => agent.to_owned(),
        None => fork?.to_owned(),
    })
}
