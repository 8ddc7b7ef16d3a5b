//! `git colony fleet`, and plain `git colony`

use std::collections::BTreeSet;

use crate::design::fork::forks::MergeOutcome;
use crate::flow::fleet::{self, Activity, FleetReport, Next, Operation, Row, Settling, Work};
use crate::lfs::locks;
use crate::model::time::{self, Moment};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::agent_answers::{self, held_by};
use super::checkpoints::age;
use super::{Face, Run, Stop, clash_lines, lock_lines};

/// Who works on what, who clashes with whom, what to merge next
///
/// A line per agent and per fork: its commits and uncommitted changes, its newest checkpoint, when it
/// was last seen and what its hooks told, a merge it has not ended, how it would merge into the branch
/// it goes to. Then the paths that forks clash about, and the next command: to merge what is clean, then
/// to settle the smallest conflict. This is what 'git colony' alone shows.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Args {
    /// Ask the server of git-lfs which files are locked, instead of going by what it said last
    #[arg(long)]
    refresh: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    // What is found out about clashes is kept for the next time.
    let session = face.session_among_others(Run::ForReal, &[])?;
    if args.refresh {
        locks::refresh(&session);
    }
    let report = fleet::fleet(&session)?;
    face.answer(&report)
}

/// What a repository in which nothing has begun yet is shown.
const TEACHING: [&str; 5] = [
    "git colony checkpoint -m LABEL    keep this state: every file, the branch, a label",
    "git colony restore LABEL          get it back exactly; git colony undo takes any step back",
    "git colony agents new NAME        a clone and a fork for an agent, made in a moment",
    "git colony                        then shows who did what, who clashes, what to merge first",
    "git colony merge NAME             brings the work of an agent back; git colony -h tells more",
];

impl Answer for FleetReport {
    fn narration(&self) -> Vec<String> {
        agent_answers::damaged(&self.damaged)
    }

    fn message(&self) -> String {
        let changed = match self.changed {
            0 => "nothing uncommitted".to_owned(),
            count => format!("{} uncommitted", text::count(count, "path")),
        };
        let agents = self.agents.iter().filter_map(|row| row.agent.as_ref());
        let agents = match agents.collect::<BTreeSet<_>>().len() {
            0 => String::new(),
            count => format!(", {}", text::count(count, "agent")),
        };
        format!("{}: {changed}{agents}", self.branch)
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        if self.agents.is_empty() && self.last_checkpoint.is_none() {
            return TEACHING.map(|line| format!("  {line}")).to_vec();
        }
        let mut lines = Vec::new();
        lines.extend(self.operation.as_ref().map(Operation::words));
        if let Some(at) = &self.last_checkpoint {
            lines.push(format!("last checkpoint {}", age(at, now)));
        }
        let rows: Vec<_> = self.agents.iter().map(|row| cells(row, now)).collect();
        lines.extend(text::table(&rows));
        let clashes = clash_lines::by_path(&self.clashes, |name| whose(&self.agents, name));
        lines.extend(clashes.iter().map(|line| format!("clash: {line}")));
        lines.extend(self.agents.iter().filter_map(outside));
        lines.extend(self.agents.iter().filter_map(unseen));
        let known_at = self.locked.locks_known_at.as_deref();
        lines.extend(lock_lines::lines(&self.locked.locked, known_at, now));
        lines.extend(self.next.iter().flat_map(next));
        lines.extend(self.settling.iter().map(settling));
        lines
    }
}

fn cells(row: &Row, now: &Moment) -> Vec<String> {
    let agent = row.agent.as_deref().unwrap_or("-");
    let work = match (row.work, row.commits) {
        (_, 1..) => format!(
            "{}, {}",
            text::count(row.commits, "commit"),
            text::count(row.files, "file")
        ),
        _ if row.merged => "merged".to_owned(),
        (Work::Unknown, _) => "not known".to_owned(),
        (Work::Idle, _) => "nothing yet".to_owned(),
        _ => "no commits".to_owned(),
    };
    let kept_at = row.kept_at.as_deref().map(|at| age(at, now));
    let unsaved = match (row.unsaved, kept_at) {
        (None | Some(0), _) => String::new(),
        (Some(count), Some(when)) => format!("{count} changed, kept {when}"),
        (Some(count), None) => format!("{count} uncommitted"),
    };
    let seen = row.last_seen_at.as_deref();
    let seen = seen.and_then(time::parse_rfc3339);
    let seen = seen.map_or_else(String::new, |seen| time::ago(&seen, now));
    let state = match row.state {
        Activity::Working => "working",
        Activity::Waiting => "waiting",
        Activity::Quiet => "",
    };
    let held = row.held_by.as_ref().map(held_by);
    let open = row.operation.as_ref().map(Operation::words);
    vec![
        format!("  {agent}"),
        row.fork.clone().unwrap_or_default(),
        work,
        unsaved,
        seen,
        [Some(state.to_owned()), open, held]
            .into_iter()
            .flatten()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(", "),
        ending(row),
    ]
}

fn ending(row: &Row) -> String {
    if let Some(problem) = &row.problem {
        return problem.words();
    }
    let Some(into) = &row.into else {
        return String::new();
    };
    let branch = &into.branch;
    match into.outcome {
        MergeOutcome::UpToDate => String::new(),
        MergeOutcome::FastForward | MergeOutcome::Merged => format!("merges cleanly into {branch}"),
        MergeOutcome::Conflicted => {
            let paths = text::first_of(&into.paths);
            format!("conflicts with {branch}: {paths}")
        }
        MergeOutcome::Unrelated => format!("has no history in common with {branch}"),
    }
}

/// Tells the next step, and the other way where there is one.
fn next(next: &Next) -> Vec<String> {
    let paths = match next.paths.as_slice() {
        [] => String::new(),
        paths => format!("   # {}", text::first_of(paths)),
    };
    let mut lines = vec![format!("next: {}{paths}", next.command)];
    lines.extend(next.other_way.as_ref().map(|way| {
        let (agent, command) = (&way.agent, &way.command);
        format!("or let {agent} settle it: {command}")
    }));
    lines
}

/// Tells of an agent that is at it already.
fn settling(at: &Settling) -> String {
    format!("{} is {}: {}", at.agent, at.what, at.command)
}

/// Returns the agent whose line of work it is, or its name where it is nobody's.
fn whose(rows: &[Row], name: &str) -> String {
    let is_it = |row: &&Row| row.fork.as_deref() == Some(name);
    let agent = rows.iter().find(is_it).and_then(|row| row.agent.clone());
    agent.unwrap_or_else(|| name.to_owned())
}

/// Says why nobody knows what is uncommitted in the clone of an agent.
fn unseen(row: &Row) -> Option<String> {
    let (agent, problem) = (row.agent.as_deref()?, row.unseen.as_ref()?);
    let reason = &problem.reason;
    Some(format!(
        "what is uncommitted of {agent} is not known: {reason}"
    ))
}

/// Says what the rule of an agent does not let in, where there is such.
fn outside(row: &Row) -> Option<String> {
    let who = row.agent.as_deref().or(row.fork.as_deref())?;
    let paths = Some(text::first_of(&row.outside_scope)).filter(|paths| !paths.is_empty())?;
    Some(format!(
        "outside the allowed paths of {who}, not to be merged: {paths}"
    ))
}
