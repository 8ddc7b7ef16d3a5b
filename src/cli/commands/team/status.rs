//! `git colony status`, with `--line` for prompts

use crate::cli::actions::{Effect, Group, action};
use crate::cli::commands::branches::topology;
use crate::cli::commands::states::checkpoints::age;
use crate::cli::commands::workspace::{groups, id, paths};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop};
use crate::design::undo::undo_preview::UndoStep;
use crate::desk::status::{self, StatusReport};
use crate::desk::status_line::{self, LineReport};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Show the state of the repository
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    pub(in crate::cli) part: Option<Part>,
    /// Print one short line for a prompt, within a time limit
    ///
    /// 'main +3 5m !': the branch; '+' and how many paths are uncommitted, '=' for none, nothing where
    /// that would take longer than colony.lineTime; the age of the newest checkpoint; '!' if 'status'
    /// names something that needs attention. Outside of a repository: nothing, and no error.
    #[arg(long)]
    pub(in crate::cli) line: bool,
}

/// What else is known about this checkout.
#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(in crate::cli) enum Part {
    Branches(topology::Args),
    Id(id::Args),
    Paths(paths::Args),
    Groups(groups::Args),
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("status", Section::Inspect, Screen::First)
        .example("git colony status", "shows the state of the repository")
        .example("git colony status --line", "in one line, for a prompt")
        .answers::<StatusReport>()
        .answers_with::<LineReport>("status --line")
        .action(action("get_repo_state", Group::States, Effect::Reads).about(
            "Show the status of this git working tree: branch, uncommitted changes, checkpoints, \
             what undo would undo",
        ))
        .below([
            topology::declaration(),
            id::declaration(),
            paths::declaration(),
            groups::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.part {
        None => {}
        Some(Part::Branches(_)) => return topology::run(face),
        Some(Part::Id(_)) => return id::run(face),
        Some(Part::Paths(_)) => return paths::run(face),
        Some(Part::Groups(args)) => return groups::run(face, args),
    }
    if args.line {
        let world = face.world();
        let report =
            world.map_or_else(|_| LineReport::default(), |world| status_line::line(&world));
        return face.answer(&report);
    }
    let session = face.silent_session(Opening::InMemory)?;
    let report = status::status(&session)?;
    face.answer(&report)
}

impl Answer for LineReport {
    fn message(&self) -> String {
        let progress = self.in_progress.map_or_else(String::new, |what| format!("|{what}"));
        let branch = self.branch.as_ref().map(|branch| format!("{branch}{progress}"));
        let changes = self.changes.map(|count| match count {
            0 => "=".to_owned(),
            count => format!("+{count}"),
        });
        let age = self.last_checkpoint_seconds.map(short_age);
        let attention = self.attention.then(|| "!".to_owned());
        let parts = [branch, changes, age, attention];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

fn short_age(seconds: i64) -> String {
    match seconds {
        ..60 => "now".to_owned(),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

impl Answer for StatusReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let changes = &self.changes;
        let paths = changes.staged
            + changes.changed
            + changes.untracked
            + changes.conflicts
            + changes.in_submodules;
        let state = if paths == 0 {
            "nothing uncommitted".to_owned()
        } else {
            let parts = [
                (changes.staged, "staged"),
                (changes.changed, "changed"),
                (changes.untracked, "untracked"),
                (changes.conflicts, "in conflict"),
                (changes.in_submodules, "edited inside submodules"),
            ]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"));
            text::list(&parts.collect::<Vec<_>>())
        };
        match self.current_sha {
            None => format!("on '{}', no commit yet: {state}", self.current_branch),
            Some(id) if self.current_branch.starts_with("detached:") => {
                format!("detached at {}: {state}", id.short())
            }
            Some(id) => format!("on '{}' at {}: {state}", self.current_branch, id.short()),
        }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        match self.checkpoints.last() {
            None => {
                lines.push("no checkpoint yet: git colony checkpoint -m 'first state'".to_owned());
            }
            Some(newest) => lines.push(format!(
                "{}, the newest {}: '{}'",
                text::count(self.checkpoints.len(), "checkpoint"),
                age(&newest.created_at, now),
                newest.label
            )),
        }
        if self.ahead_of_main_by + self.behind_main_by > 0 {
            let (ahead, behind) = (self.ahead_of_main_by, self.behind_main_by);
            lines.push(format!("{ahead} ahead of and {behind} behind the default branch"));
        }
        let edited = self.edited_submodules.iter();
        lines.extend(edited.map(|path| format!("edits inside the submodule {path}")));
        if self.changes.unignored > 0 {
            lines.push(format!(
                "{} no longer ignored since a restore, left out of checkpoints",
                text::count(self.changes.unignored, "file")
            ));
        }
        lines.extend(self.undo.as_ref().map(undo_line));
        let touched = self.touched_by_others.iter();
        lines.extend(touched.map(|other| {
            let files = text::count(other.paths.len(), "file");
            let first = other.paths.first().map(ToString::to_string).unwrap_or_default();
            format!("'{}' has changed {files} that are changed here too ({first})", other.fork)
        }));
        lines.extend(self.health.iter().map(|health| format!("attention: {}", health.detail)));
        lines
    }
}

fn undo_line(undo: &UndoStep) -> String {
    let summary = &undo.summary;
    let op = undo.op.map_or_else(String::new, |op| format!("{op}: "));
    match undo.refused_as {
        None => format!("undo would revert {op}{summary}"),
        Some("external-change") => {
            format!("undo --force would revert changes by plain git, {op}{summary}")
        }
        Some(code) => {
            let command = undo.hint.as_deref().and_then(|hint| hint.split("   # ").next());
            let way = command.map_or_else(String::new, |command| format!(": {command}"));
            format!("undo of {op}{summary} is refused now ({code}){way}")
        }
    }
}
