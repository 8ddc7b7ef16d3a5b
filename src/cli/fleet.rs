//! `git colony fleet`, and plain `git colony`

use std::collections::BTreeSet;

use crate::design::fork::forks::MergeOutcome;
use crate::flow::fleet::{
    self, Activity, FleetReport, Next, Operation, Row, Settling, Upstream, Whose, Work,
};
use crate::lfs::locks;
use crate::model::text::typed_word;
use crate::model::time::{self, Moment};
use crate::store::agent_policy::protected_branches::ProtectedBranch;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Line, Role, Span};

use super::actions::{Effect, Group, action};
use super::agents::answers;
use super::checkpoints::age;
use super::declaration::{Declaration, Screen, Section};
use super::{Face, Run, Stop, clash_lines, lock_lines};

/// Show agents and forks: progress, clashes, and what to merge next
///
/// A line per agent and per fork: its commits with the lines that they add and delete ('2c +31 -4'), the
/// number of uncommitted paths ('1*'), the subject of its newest commit or a merge in progress, when it was
/// last active or the state that its hooks reported, with the program that works in its clone, and how it
/// would merge into its target branch. Then who is merged, the paths in which forks clash, removed agents
/// with work that is not here, and the next command: merge what merges cleanly, then settle the smallest
/// conflict. Work that 'agents hold' holds back is not suggested. 'git colony' alone shows the same.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Args {
    /// Ask the server of git-lfs which files are locked, instead of using its last answer
    #[arg(long)]
    refresh: bool,
    /// Show the agents of other checkouts of this repository, too
    #[arg(long)]
    everywhere: bool,
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
    let whose = if args.everywhere { Whose::Everyone } else { Whose::ThisCheckout };
    let report = fleet::fleet(&session, whose)?;
    face.answer(&report)
}

/// The columns of the table; one for the target branch follows.
const COLUMNS: [&str; 5] = ["  AGENT", "WORK", "", "NEWEST", "SEEN"];

/// Those that may be cut on a narrow terminal, in this order: the newest subject, the name, the verdict.
const CUT: &[usize] = &[3, 0, 5];

/// More names are only counted.
const MAX_NAMES: usize = 6;

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
        // Those have a row.
        let others = self.damaged.iter().filter(|clone| !clone.has_lost_git_dir);
        answers::damaged(others)
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
        let upstream = self.upstream.as_ref().and_then(apart).unwrap_or_default();
        format!("{}: {changed}{upstream}{agents}", self.branch)
    }

    fn headline(&self) -> Line {
        let message = self.message();
        let rest = message.strip_prefix(&self.branch).unwrap_or_default();
        let branch = Span::new(Role::Heading, &self.branch);
        Line(vec![branch, rest.to_owned().into()])
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        if self.agents.is_empty() && self.removed.is_empty() && self.last_checkpoint.is_none() {
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
        let mut blocks: Vec<Block> = lines.into_iter().map(Block::text).collect();
        let (merged, open): (Vec<&Row>, Vec<&Row>) =
            self.agents.iter().partition(|row| is_done(row));
        if !open.is_empty() {
            let head = COLUMNS.map(|name| Span::new(Role::Dim, name));
            let into = Span::new(Role::Dim, format!("INTO {}", self.branch));
            let mut rows = vec![head.into_iter().chain([into]).collect()];
            rows.extend(open.iter().map(|row| cells(row, &self.branch, now)));
            blocks.push(Block::Ordered(rows, CUT));
        }
        blocks.extend(named("merged", merged.into_iter().filter_map(name)).map(Block::text));
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
        lines.extend(self.agents.iter().filter_map(lost));
        let elsewhere = named("agents of other checkouts", self.elsewhere.iter().cloned());
        lines.extend(elsewhere.map(|line| format!("{line}   # git colony fleet --everywhere")));
        let removed = self.removed.iter().map(|work| work.agent.clone()).collect::<BTreeSet<_>>();
        let removed = named("removed, not merged", removed.into_iter());
        lines.extend(removed.map(|line| format!("{line}   # git colony agents restore NAME")));
        let known_at = self.locked.locks_known_at.as_deref();
        lines.extend(lock_lines::lines(&self.locked.locked, known_at, now));
        lines.extend(self.next.iter().flat_map(next));
        lines.extend(self.settling.iter().map(settling));
        lines
    }
}

/// Returns the commits between a branch and the one that it follows; `None` without any.
fn apart(upstream: &Upstream) -> Option<String> {
    let Upstream { name, ahead, behind } = upstream;
    match (ahead, behind) {
        (0, 0) => None,
        (_, 0) => Some(format!(", {ahead} ahead of {name}")),
        (0, _) => Some(format!(", {behind} behind {name}")),
        _ => Some(format!(", {ahead} ahead of {name} and {behind} behind")),
    }
}

/// Returns `true` for an agent or fork with nothing left to merge or to keep.
fn is_done(row: &Row) -> bool {
    row.operation.is_none() && row.protected.is_none() && row.work == Work::Merged
}

/// Returns a line of names, if there are any.
fn named(what: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(" ")))
}

/// Returns the name of a row: the agent, with its branch where that is not its own fork.
fn name(row: &Row) -> Option<String> {
    Some(match (&row.agent, &row.fork) {
        (Some(agent), Some(fork)) if *fork != format!("fork/{agent}") => format!("{agent}/{fork}"),
        (Some(agent), _) => agent.clone(),
        (None, fork) => fork.clone()?,
    })
}

fn cells(row: &Row, branch: &str, now: &Moment) -> Vec<Span> {
    vec![
        Span::new(Role::Heading, format!("  {}", name(row).unwrap_or_default())),
        work(row).into(),
        uncommitted(row),
        newest(row, now),
        seen(row, now),
        ending(row, branch),
    ]
}

/// Returns the commits of a row, and their lines, or their files where there are too many lines to count.
fn work(row: &Row) -> String {
    let Row { commits, files, .. } = row;
    match row.insertions.zip(row.deletions) {
        _ if *commits == 0 => String::new(),
        Some((added, deleted)) => format!("{commits}c +{added} -{deleted}"),
        None => format!("{commits}c {}", text::count(*files, "file")),
    }
}

fn uncommitted(row: &Row) -> Span {
    let role = if row.kept_at.is_some() { Role::Plain } else { Role::Warning };
    let count = row.unsaved.filter(|count| *count > 0);
    Span::new(role, count.map_or_else(String::new, |count| format!("{count}*")))
}

/// Returns what a row is at: an operation in progress, else its newest commit.
fn newest(row: &Row, now: &Moment) -> Span {
    if row.lost {
        return Span::new(Role::Bad, "its .git is gone");
    }
    if let Some(open) = &row.operation {
        return Span::new(Role::Warning, open.to_text());
    }
    if let Some(subject) = row.subject.as_deref().filter(|_| row.commits > 0) {
        return subject.into();
    }
    let kept_at = row.kept_at.as_deref().map(|at| age(at, now));
    let told = match (row.work, kept_at) {
        (Work::Unknown, _) => "not known".to_owned(),
        (Work::Idle, _) => "nothing yet".to_owned(),
        (_, Some(when)) => format!("no commits, kept {when}"),
        _ if row.merged => "merged".to_owned(),
        _ => "no commits".to_owned(),
    };
    Span::new(Role::Dim, told)
}

/// Returns when a row was last active, or the state that its hooks reported, and the program that works in its clone.
fn seen(row: &Row, now: &Moment) -> Span {
    let seen = row.last_seen_at.as_deref().and_then(time::parse_rfc3339);
    let age = || seen.map(|seen| time::short_age(&seen, now)).unwrap_or_default();
    let (role, state) = match row.state {
        Activity::Working => (Role::Good, "working".to_owned()),
        Activity::Waiting => (Role::Warning, "waiting".to_owned()),
        Activity::Ended => (Role::Warning, format!("ended {}", age())),
        Activity::Quiet => (Role::Dim, age()),
    };
    let holder = row.held_by.as_ref().and_then(|it| it.session.as_ref().or(it.command.as_ref()));
    Span::new(role, holder.map_or(state.clone(), |holder| format!("{state} '{holder}'")))
}

/// The most letters of the reason for which work is held back.
const MAX_REASON: usize = 20;

/// Returns the beginning of a text of others.
fn shortened(text: &str) -> String {
    let start: String = text.chars().take(MAX_REASON).collect();
    if start.len() < text.len() { format!("{start}...") } else { start }
}

/// The longest path that a verdict has whole; of others it has the name of the file.
const LONG_PATH: usize = 24;

/// Returns how a row would merge, as short text: it is not cut.
fn ending(row: &Row, here: &str) -> Span {
    if let Some(problem) = &row.problem {
        return Span::new(Role::Warning, problem.to_text());
    }
    if let Some(held) = &row.held {
        let why = held.text.as_deref().map(|why| format!(": {}", shortened(why)));
        return Span::new(Role::Warning, format!("held{}", why.unwrap_or_default()));
    }
    if let Some(other) = &row.contains_held {
        return Span::new(Role::Warning, format!("held: has {other}"));
    }
    let Some(into) = &row.into else {
        return Span::default();
    };
    let goal = if into.branch == here { String::new() } else { format!(" into {}", into.branch) };
    match into.outcome {
        MergeOutcome::UpToDate => Span::default(),
        MergeOutcome::FastForward | MergeOutcome::Merged => {
            let done = if row.done.is_some() { "done, " } else { "" };
            Span::new(Role::Good, format!("{done}clean{goal}"))
        }
        MergeOutcome::Conflicted => {
            let first = into.paths.first().map(ToString::to_string).unwrap_or_default();
            let last = first.rsplit('/').next().unwrap_or_default();
            let path = if first.chars().count() > LONG_PATH { last } else { &first };
            let more = match into.paths.len() {
                0 | 1 => String::new(),
                count => format!(" +{}", count - 1),
            };
            Span::new(Role::Bad, format!("conflict{goal} {path}{more}"))
        }
        MergeOutcome::Unrelated => Span::new(Role::Warning, format!("unrelated{goal}")),
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
    let clean = match next.clean.as_slice() {
        [] | [_] => String::new(),
        names => format!("   # {} merge cleanly: {}", names.len(), first_names(names)),
    };
    let mut lines = vec![format!("next: {}{paths}{clean}", next.command)];
    lines.extend(next.then.as_ref().map(|it| {
        let paths: Vec<_> = it.paths.iter().map(|path| typed_word(&path.to_string())).collect();
        format!("then: {}   # {}", it.command, text::first_of(&paths))
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

/// Returns the first of several names, and how many more there are.
fn first_names(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(MAX_NAMES).map(String::as_str).collect();
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first.join(" "),
        more => format!("{} and {more} more", first.join(" ")),
    }
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

/// Says how the clone of an agent is repaired that has lost its git directory.
fn lost(row: &Row) -> Option<String> {
    let agent = row.agent.as_ref().filter(|_| row.lost)?;
    let agent = typed_word(agent);
    Some(format!("repair: git colony agents restore {agent}   # its files stay, uncommitted"))
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
