//! `git colony fleet`, and plain `git colony`

use std::collections::BTreeSet;

use crate::design::clashes::Clash;
use crate::design::forks::Outcome as Ending;
use crate::design::problem::Problem;
use crate::flow::fleet::{self, FleetReport, Row, State};
use crate::lfs::locks;
use crate::model::RepoPath;
use crate::model::time::{self, Moment};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::agent_answers::held_by;
use super::checkpoints::age;
use super::{Face, Run, Stop, agent_answers, locked};

/// Who works on what, who clashes with whom, what to merge next
///
/// A line per agent and per fork: its commits and uncommitted changes, its newest checkpoint, when it
/// was last seen and what its hooks told, how it would merge into the branch it goes to. This is what
/// 'git colony' alone shows.
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
        if let Some(at) = &self.last_checkpoint {
            lines.push(format!("last checkpoint {}", age(at, now)));
        }
        let rows: Vec<_> = self.agents.iter().map(|row| cells(row, now)).collect();
        lines.extend(text::table(&rows));
        lines.extend(self.clashes.iter().map(clash));
        lines.extend(self.agents.iter().filter_map(outside));
        let known_at = self.locked.locks_known_at.as_deref();
        lines.extend(locked::lines(&self.locked.locked, known_at, now));
        if let Some(hint) = &self.hint {
            lines.push(format!("next: {hint}"));
        }
        lines
    }
}

fn cells(row: &Row, now: &Moment) -> Vec<String> {
    let agent = row.agent.as_deref().unwrap_or("-");
    let work = match row.commits {
        0 if row.merged => "merged".to_owned(),
        0 => "no commits".to_owned(),
        count => format!(
            "{}, {}",
            text::count(count, "commit"),
            text::count(row.files, "file")
        ),
    };
    let unsaved = match row.unsaved {
        None | Some(0) => String::new(),
        Some(count) => format!("{count} unsaved"),
    };
    let seen = row.last_seen_at.as_deref();
    let seen = seen.and_then(time::parse_rfc3339);
    let seen = seen.map_or_else(String::new, |seen| time::ago(&seen, now));
    let state = match row.state {
        State::Working => "working",
        State::Waiting => "waiting",
        State::Quiet => "",
    };
    let held = row.held_by.as_ref().map(held_by);
    vec![
        format!("  {agent}"),
        row.fork.clone().unwrap_or_default(),
        work,
        unsaved,
        seen,
        [Some(state.to_owned()), held]
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
        Ending::UpToDate => String::new(),
        Ending::FastForward | Ending::Merged => format!("merges cleanly into {branch}"),
        Ending::Conflicted => {
            let paths = first_of(&into.paths);
            format!("conflicts with {branch}: {paths}")
        }
        Ending::Unrelated => format!("has no history in common with {branch}"),
    }
}

fn clash(clash: &Clash) -> String {
    let binary = if clash.binary { " (no text)" } else { "" };
    let paths = first_of(&clash.paths);
    let paths = clash.problem.as_ref().map_or(paths, Problem::words);
    format!("clash: {} and {}: {paths}{binary}", clash.a, clash.b)
}

/// Says what the rule of an agent does not let in, where there is such.
fn outside(row: &Row) -> Option<String> {
    let who = row.agent.as_deref().or(row.fork.as_deref())?;
    let paths = Some(first_of(&row.outside_scope)).filter(|paths| !paths.is_empty())?;
    Some(format!(
        "outside the scope of {who}, not to be merged: {paths}"
    ))
}

fn first_of(paths: &[RepoPath]) -> String {
    let first = paths.first().map(ToString::to_string);
    let more = match paths.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.unwrap_or_default())
}
