//! The lines below the table: clashes, warnings, the next commands.

use std::collections::BTreeSet;

use crate::cli::commands::branches::clash_lines;
use crate::clones::damaged::DamagedClone;
use crate::design::fork::forks::MergeOutcome;
use crate::desk::fleet::{FleetReport, Next, Row, Settling};
use crate::model::text::typed_word;
use crate::store::agent_policy::protected_branches::ProtectedBranch;
use crate::ui::text;

/// More names are only counted.
const MAX_NAMES: usize = 6;

/// The columns of a line about the next step, where its names are many.
const COLUMNS: usize = 80;

impl FleetReport {
    /// Returns the lines below the table.
    pub(super) fn below(&self) -> Vec<String> {
        let clashes = clash_lines::by_path(&self.clashes, |name| whose(&self.agents, name));
        let mut lines: Vec<String> = clashes.iter().map(|line| format!("clash: {line}")).collect();
        lines.extend(self.protected.as_ref().map(|branch| protected("this agent", branch)));
        lines.extend(self.agents.iter().filter_map(on_protected));
        lines.extend(self.agents.iter().filter_map(outside));
        lines.extend(self.agents.iter().flat_map(unseen));
        lines.extend(self.damaged.iter().filter(|clone| clone.is_unusable()).map(lost));
        lines.extend(self.agents.iter().filter_map(left_lock));
        lines.extend(self.agents.iter().filter_map(lost_work));
        let old = named("older than the rewrite for git-lfs", self.agents.iter().filter_map(old));
        lines.extend(old.map(|line| format!("{line}   # a merge rewrites their commits first")));
        let elsewhere = named("agents of other checkouts", self.elsewhere.iter().cloned());
        lines.extend(elsewhere.map(|line| format!("{line}   # git colony --everywhere")));
        let removed = self.removed.iter().map(|work| work.agent.clone()).collect::<BTreeSet<_>>();
        let removed = named("removed, not merged", removed.into_iter());
        lines.extend(removed.map(|line| format!("{line}   # git colony agents restore NAME")));
        lines.extend(self.next.iter().flat_map(next));
        lines.extend(self.settling.iter().map(settling));
        lines
    }
}

/// Returns a line of names, if there are any.
pub(super) fn named(what: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(" ")))
}

/// Tells the next step, and the other way where there is one.
fn next(next: &Next) -> Vec<String> {
    // zsh takes a comment that is typed for words of the command.
    let quoted: Vec<_> = next.paths.iter().map(|path| typed_word(&path.to_string())).collect();
    let paths = match quoted.as_slice() {
        [] => String::new(),
        paths => format!("   # {}", text::first_of(paths)),
    };
    let mut line = format!("next: {}{paths}", next.command);
    if let names @ [_, _, ..] = next.clean.as_slice() {
        line = format!("{line}   # {} merge cleanly: ", names.len());
        line.push_str(&first_names(names, COLUMNS.saturating_sub(line.chars().count())));
    }
    let mut lines = vec![line];
    lines.extend(next.then.as_ref().map(|later| {
        let paths: Vec<_> = later.paths.iter().map(|path| typed_word(&path.to_string())).collect();
        format!("then: {}   # {}", later.command, text::first_of(&paths))
    }));
    lines.extend(next.other_way.as_ref().map(|way| {
        let (agent, command) = (&way.agent, &way.command);
        format!("or let {agent} settle it: {command}")
    }));
    if let Some(ends) = &next.ends {
        let completion = ends.completion.iter();
        let later = completion.filter(|command| **command != next.command);
        lines.extend(later.map(|command| format!("then: {command}")));
        lines.push(format!("or to undo: {}", ends.abort));
    }
    lines
}

/// Returns the first of several names, as many as fit into these columns, and how many more there are.
fn first_names(names: &[String], columns: usize) -> String {
    let names_line = |count: usize| {
        let first = names.get(..count).unwrap_or(names).join(" ");
        match names.len().saturating_sub(count) {
            0 => first,
            more => format!("{first} and {more} more"),
        }
    };
    let mut counts = (2..=names.len().min(MAX_NAMES)).rev();
    let fitting = counts.find(|count| names_line(*count).chars().count() <= columns);
    names_line(fitting.unwrap_or(1))
}

/// Returns the line about an agent that is resolving the conflict already.
fn settling(at: &Settling) -> String {
    format!("{} is {}: {}", at.agent, at.what, at.command)
}

/// Returns the agent of a fork, or the name of the fork if it has no agent.
fn whose(rows: &[Row], name: &str) -> String {
    let is_it = |row: &&Row| row.fork.as_deref() == Some(name);
    let agent = rows.iter().find(is_it).and_then(|row| row.agent.clone());
    agent.unwrap_or_else(|| name.to_owned())
}

/// Says how the lock is deleted that a killed git has left in the clone of an agent.
fn left_lock(row: &Row) -> Option<String> {
    let (agent, lock) = (row.agent.as_deref()?, row.lock.as_ref()?);
    let path = typed_word(&lock.to_string_lossy());
    Some(format!("{agent} cannot commit: rm {path}   # if no git is running there"))
}

/// Says how the clone of an agent is repaired in which git cannot work.
fn lost(clone: &DamagedClone) -> String {
    format!("repair: {}", clone.repair_command())
}

/// Says how the work of an agent is restored that the agent has lost by merging the revert of it.
fn lost_work(row: &Row) -> Option<String> {
    let (agent, lost) = (row.agent.as_ref()?, row.lost_with.as_ref()?);
    let (agent, commit) = (typed_word(agent), &lost.commit.to_string());
    let commit = commit.get(..12).unwrap_or(commit);
    Some(format!(
        "{agent} merged the revert of its work, which is gone there too: \
         git -C \"$(git colony agents path {agent})\" revert {commit}"
    ))
}

/// Returns the name of a row from before a rewrite.
fn old(row: &Row) -> Option<String> {
    let is_old = row.into.as_ref().is_some_and(|into| into.outcome == MergeOutcome::OldHistory);
    row.agent.clone().or_else(|| row.fork.clone()).filter(|_| is_old)
}

/// Says why the uncommitted changes in the clone of an agent are unknown, and how it is repaired.
fn unseen(row: &Row) -> Vec<String> {
    let Some((agent, problem)) = row.agent.as_deref().zip(row.unseen.as_ref()) else {
        return Vec::new();
    };
    let reason = format!("uncommitted changes of {agent} are unknown: {}", problem.reason);
    let anew = || format!("git colony agents restore {}", typed_word(agent));
    vec![reason, format!("repair: {}", problem.hint.clone().unwrap_or_else(anew))]
}

/// Reports an agent whose commits are refused because of its branch.
fn on_protected(row: &Row) -> Option<String> {
    let agent = row.agent.as_deref()?;
    row.protected.as_ref().map(|branch| protected(agent, branch))
}

fn protected(agent: &str, protected_branch: &ProtectedBranch) -> String {
    let ProtectedBranch { branch, origin, .. } = protected_branch;
    format!(
        "'{branch}' is protected ({origin}), commits of {agent} are refused: git colony fork LABEL"
    )
}

/// Lists the paths outside an agent's allowed paths, if any.
fn outside(row: &Row) -> Option<String> {
    let who = row.agent.as_deref().or(row.fork.as_deref())?;
    let paths = Some(text::first_of(&row.outside_scope)).filter(|paths| !paths.is_empty())?;
    Some(format!("outside the allowed paths of {who}, not to be merged: {paths}"))
}
