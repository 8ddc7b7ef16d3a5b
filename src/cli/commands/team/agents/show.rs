//! `git colony agents show`

use crate::blackboard::agent_marks::Mark;
use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::commands::branches::clash_lines;
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Opening, Stop};
use crate::design::diff::DiffEntry;
use crate::desk::agent_show::{self, ShownAgent};
use crate::desk::completion::Names;
use crate::desk::log::Entry;
use crate::model::text::typed_word;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// More files than these are only counted.
const MAX_FILES: usize = 12;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agent (default: the one whose clone this is)
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("agents show").answers::<ShownAgent>().completes("NAME", Names::Agents).action(
        action("show_agent", Group::Agents, Effect::Reads)
            .about("Show an agent's task, commits, decisions, files and clashes")
            .takes(&[same("name").about("Default: your own")]),
    )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Opening::Read, args.name.as_slice())?;
    let report = agent_show::show(&session, args.name.as_deref())?;
    face.answer(&report)
}

impl Answer for ShownAgent {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let (agent, row) = (&self.agent, &self.row);
        let branch = row.elsewhere.as_ref().map(|place| &place.branch).or(row.fork.as_ref());
        let on = branch.map(|branch| format!(" on '{branch}'")).unwrap_or_default();
        let commits = match row.commits {
            0 => "nothing to merge".to_owned(),
            count => text::count(count, "commit"),
        };
        let uncommitted = match row.unsaved {
            None | Some(0) => String::new(),
            Some(count) => format!(", {count} uncommitted"),
        };
        format!("agent '{agent}'{on}: {commits}{uncommitted}")
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        lines.extend(self.task.as_ref().map(|task| format!("task: {task}")));
        lines.extend(self.said(now));
        lines.extend(self.clone.as_ref().map(|clone| format!("clone: {}", clone.path.display())));
        lines.extend(self.row.elsewhere.as_ref().map(|place| {
            let seen = place.known_at.as_deref().map(|at| format!(", as of {}", age(at, now)));
            format!("on the machine '{}'{}", place.machine, seen.unwrap_or_default())
        }));
        let commits: Vec<_> = self.commits.iter().map(|commit| commit_row(commit, now)).collect();
        lines.extend(text::table(&commits));
        if self.truncated {
            lines.push(format!("  and {} more", self.row.commits - self.commits.len()));
        }
        let decided = self.decisions.iter();
        lines.extend(
            decided
                .map(|decision| format!("decided: {} ({})", decision.title, decision.decision_id)),
        );
        let files: Vec<_> = self.files.iter().take(MAX_FILES).map(file).collect();
        lines.extend(text::table(&files));
        if self.files.len() > MAX_FILES {
            lines.push(format!("  and {} more", text::count(self.files.len() - MAX_FILES, "file")));
        }
        lines.extend(self.meets());
        if self.row.commits > 0 || self.row.unsaved.is_some_and(|count| count > 0) {
            lines.push(format!("next: git colony diff {}", typed_word(&self.to_look_at())));
        }
        lines
    }
}

fn commit_row(commit: &Entry, now: &Moment) -> Vec<String> {
    let when = commit.authored_at.as_deref().map(|at| age(at, now)).unwrap_or_default();
    vec![format!("  {}", commit.sha.short()), when, commit.subject.clone()]
}

fn file(entry: &DiffEntry) -> Vec<String> {
    let lines = if entry.binary {
        "binary".to_owned()
    } else {
        format!("+{} -{}", entry.insertions, entry.deletions)
    };
    vec![format!("  {}", entry.path), lines]
}

impl ShownAgent {
    /// Returns what the agent and a person have said of its work.
    fn said(&self, now: &Moment) -> Vec<String> {
        let row = &self.row;
        let done = row.done.as_ref().map(|mark| ("done", mark));
        let held = row.held.as_ref().map(|mark| ("held back", mark));
        let line = |(what, mark): (&str, &Mark)| {
            let text = mark.text.as_ref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("{what} {}{text}", age(&mark.at, now))
        };
        let mut lines: Vec<String> = done.into_iter().chain(held).map(line).collect();
        if let Some(tested) = &row.tested {
            let when = age(&tested.at, now);
            let on = &tested.branch;
            lines.push(match (&tested.command, tested.exit_code) {
                (Some(command), Some(code)) => {
                    format!("left out of '{on}' {when}: exit code {code}: {command}")
                }
                (Some(command), None) => format!("left out of '{on}' {when}: ended: {command}"),
                (None, _) => format!("left out of '{on}' {when}: it conflicted"),
            });
            lines.extend(tested.log.iter().map(|log| format!("its output: {}", log.display())));
        }
        let contains = row.contains_held.as_ref();
        lines.extend(contains.map(|other| format!("held back: it contains work of {other}")));
        lines
    }

    /// Returns what a merge of it would meet.
    fn meets(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let into = self.row.into.as_ref().filter(|into| !into.paths.is_empty());
        lines.extend(
            into.map(|into| {
                format!("conflict with {}: {}", into.branch, text::first_of(&into.paths))
            }),
        );
        let agent_of = |fork: &str| self.agents.get(fork).cloned();
        let clashes =
            clash_lines::by_path(&self.clashes, |fork| agent_of(fork).unwrap_or(fork.to_owned()));
        lines.extend(clashes.into_iter().map(|line| format!("clash: {line}")));
        lines
    }

    /// Returns the name of its state, with its uncommitted files if there are any.
    fn to_look_at(&self) -> String {
        match self.row.unsaved {
            None | Some(0) => self.agent.clone(),
            Some(_) => format!("{}@", self.agent),
        }
    }
}
