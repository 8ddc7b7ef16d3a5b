//! `git colony fleet`, and plain `git colony`

use std::collections::BTreeSet;

use crate::design::fork::forks::MergeOutcome;
use crate::flow::fleet::{self, Activity, FleetReport, Next, Operation, Row, Settling, Work};
use crate::lfs::locks;
use crate::model::text::typed_word;
use crate::model::time::{self, Moment};
use crate::store::agent_policy::protected_branches::ProtectedBranch;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Line, Role, Span};

use super::actions::{Effect, Group, action};
use super::agent_answers::{self, held_by};
use super::checkpoints::age;
use super::declaration::{Declaration, Screen, Section};
use super::{Face, Run, Stop, clash_lines, lock_lines};

/// Show agents and forks: progress, clashes, and what to merge next
///
/// A line per agent and per fork: its commits and uncommitted changes, its newest checkpoint, when it
/// was last active and the state its hooks reported, a merge in progress, how it would merge into its
/// target branch. Then the paths in which forks clash, and the next command: merge clean forks first,
/// then settle the smallest conflict. 'git colony' alone shows the same.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Args {
    /// Ask the server of git-lfs which files are locked, instead of using its last answer
    #[arg(long)]
    refresh: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::listed("fleet", Section::Collaborate, Screen::All)
        .example("git colony", "the same as 'git colony fleet'")
        .example("git colony fleet --json", "for a program")
        .answers::<FleetReport>()
        .action(action("fleet", Group::Agents, Effect::Reads).told(
            "See what other agents changed and who works on what: all agents and forks, conflicts \
             between forks, what to merge next",
        ))
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    // The clashes that are computed are cached for the next command.
    let session = face.session_among_others(Run::ForReal, &[])?;
    if args.refresh {
        locks::refresh(&session);
    }
    let report = fleet::fleet(&session)?;
    face.answer(&report)
}

/// The commands that are shown in a repository without agents and forks, and what each does.
const TEACHING: [(&str, &str); 5] = [
    ("git colony checkpoint -m LABEL", "keep this state: files, branch, index"),
    ("git colony restore LABEL", "restore it; undo reverts any operation"),
    ("git colony agents new NAME", "a clone and a fork for an agent"),
    ("git colony", "progress, clashes, the next command"),
    ("git colony merge NAME", "merge the work of an agent"),
];

impl Answer for FleetReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn narration(&self) -> Vec<String> {
        agent_answers::damaged(&self.damaged)
    }

    fn message(&self) -> String {
        let changed = match self.changed {
            0 => "nothing uncommitted".to_owned(),
            count => format!("{} uncommitted", text::count(count, "path")),
        };
        let names = self.agents.iter().filter_map(|row| row.agent.as_ref());
        let agents = match names.collect::<BTreeSet<_>>().len() {
            0 => String::new(),
            count => format!(", {}", text::count(count, "agent")),
        };
        format!("{}: {changed}{agents}", self.branch)
    }

    fn headline(&self) -> Line {
        let message = self.message();
        let rest = message.strip_prefix(&self.branch).unwrap_or_default();
        let branch = Span::new(Role::Heading, &self.branch);
        Line(vec![branch, rest.to_owned().into()])
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        if self.agents.is_empty() && self.last_checkpoint.is_none() {
            let teaching = TEACHING.map(|(command, told)| {
                let command = Span::new(Role::Command, format!("{command:<32}"));
                Block::line(["  ".into(), command, "  ".into(), told.into()])
            });
            return teaching.to_vec();
        }
        let mut lines = Vec::new();
        lines.extend(self.operation.as_ref().map(Operation::to_text));
        if let Some(at) = &self.last_checkpoint {
            lines.push(format!("last checkpoint {}", age(at, now)));
        }
        let rows: Vec<_> = self.agents.iter().map(|row| cells(row, now)).collect();
        let mut blocks: Vec<Block> = lines.into_iter().map(Block::text).collect();
        blocks.push(Block::Table(rows));
        blocks.extend(self.below(now).into_iter().map(Block::text));
        blocks
    }
}

impl FleetReport {
    /// Returns the lines below the table.
    fn below(&self, now: &Moment) -> Vec<String> {
        let clashes = clash_lines::by_path(&self.clashes, |name| whose(&self.agents, name));
        let mut lines: Vec<String> = clashes.iter().map(|line| format!("clash: {line}")).collect();
        lines.extend(self.protected.as_ref().map(|found| protected("this agent", found)));
        lines.extend(self.agents.iter().filter_map(on_protected));
        lines.extend(self.agents.iter().filter_map(outside));
        lines.extend(self.agents.iter().filter_map(unseen));
        let known_at = self.locked.locks_known_at.as_deref();
        lines.extend(lock_lines::lines(&self.locked.locked, known_at, now));
        lines.extend(self.next.iter().flat_map(next));
        lines.extend(self.settling.iter().map(settling));
        lines
    }
}

fn cells(row: &Row, now: &Moment) -> Vec<Span> {
    let agent = row.agent.as_deref().unwrap_or("-");
    let work = match (row.work, row.commits) {
        (_, 1..) => {
            format!("{}, {}", text::count(row.commits, "commit"), text::count(row.files, "file"))
        }
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
    let seen = row
        .last_seen_at
        .as_deref()
        .and_then(time::parse_rfc3339)
        .map_or_else(String::new, |seen| time::ago(&seen, now));
    let state = match row.state {
        Activity::Working => "working",
        Activity::Waiting => "waiting",
        Activity::Quiet => "",
    };
    let held = row.held_by.as_ref().map(held_by);
    let open = row.operation.as_ref().map(Operation::to_text);
    let unsaved_role = if row.kept_at.is_some() { Role::Plain } else { Role::Warning };
    let doing: Vec<_> = [Some(state.to_owned()), open, held]
        .into_iter()
        .flatten()
        .filter(|word| !word.is_empty())
        .collect();
    vec![
        Span::new(Role::Heading, format!("  {agent}")),
        row.fork.clone().unwrap_or_default().into(),
        work.into(),
        Span::new(unsaved_role, unsaved),
        Span::new(Role::Dim, seen),
        doing.join(", ").into(),
        ending(row),
    ]
}

fn ending(row: &Row) -> Span {
    if let Some(problem) = &row.problem {
        return Span::new(Role::Warning, problem.to_text());
    }
    let Some(into) = &row.into else {
        return Span::default();
    };
    let branch = &into.branch;
    match into.outcome {
        MergeOutcome::UpToDate => Span::default(),
        MergeOutcome::FastForward | MergeOutcome::Merged => {
            Span::new(Role::Good, format!("merges cleanly into {branch}"))
        }
        MergeOutcome::Conflicted => {
            let paths = text::first_of(&into.paths);
            Span::new(Role::Bad, format!("conflicts with {branch}: {paths}"))
        }
        MergeOutcome::Unrelated => {
            Span::new(Role::Warning, format!("has no history in common with {branch}"))
        }
    }
}

/// Tells the next step, and the other way where there is one.
fn next(next: &Next) -> Vec<String> {
    // zsh takes a comment that is typed for words of the command.
    let quoted: Vec<_> = next.paths.iter().map(|path| typed_word(&path.to_string())).collect();
    let paths = match quoted.as_slice() {
        [] => String::new(),
        paths => format!("   # {}", text::first_of(paths)),
    };
    let mut lines = vec![format!("next: {}{paths}", next.command)];
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

/// Says why the uncommitted changes in the clone of an agent are unknown.
fn unseen(row: &Row) -> Option<String> {
    let (agent, problem) = (row.agent.as_deref()?, row.unseen.as_ref()?);
    let reason = &problem.reason;
    Some(format!("uncommitted changes of {agent} are unknown: {reason}"))
}

/// Reports an agent whose commits are refused because of its branch.
fn on_protected(row: &Row) -> Option<String> {
    let agent = row.agent.as_deref()?;
    row.protected.as_ref().map(|found| protected(agent, found))
}

fn protected(agent: &str, found: &ProtectedBranch) -> String {
    let ProtectedBranch { branch, origin, .. } = found;
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
