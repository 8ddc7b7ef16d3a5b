//! `git colony forks`

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::design::fork::clashes::{self, Matrix};
use crate::design::fork::fork_delete::{self, DeleteReport};
use crate::design::fork::forks::{self, Fork, MergeOutcome};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Role, Span};

use super::clash_lines;

/// List the forks, and how each would merge
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    /// Show which of them clash with each other, and in which order to merge them
    #[arg(long)]
    conflicts: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Delete a fork; the operation keeps its commits
    Delete {
        /// The fork
        #[arg(value_name = "FORK")]
        label: String,
        /// Delete it although no other branch has its commits
        #[arg(short, long)]
        force: bool,
        /// Show what would be done, and change nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("forks", Section::Collaborate, Screen::All)
        .lists_by_itself()
        .example("git colony forks --conflicts", "shows which forks clash")
        .example("git colony forks delete hotfix --force", "undo restores it")
        .answers::<ForksReport>()
        .action(
            action("list_forks", Group::Design, Effect::Reads).takes(&[same("conflicts")
                .about("Show which clash with each other, and in which order to merge")]),
        )
        .below([Declaration::of("forks delete").answers::<DeleteReport>().action(
            action("delete_fork", Group::Design, Effect::Destroys)
                .takes(&[same("label").plain(), same("force")]),
        )])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    if let Some(Action::Delete { label, force, dry_run }) = &args.action {
        let session = face.session_among_others(Run::from(*dry_run), &[])?;
        let report = fork_delete::delete(&session, label, *force)?;
        return face.answer(&report);
    }
    let session = face.session_among_others(Opening::Read, &[])?;
    let forks = forks::list(&session)?;
    let clashes = args.conflicts.then(|| clashes::matrix(&session, &forks));
    face.answer(&ForksReport { count: forks.len(), forks, clashes: clashes.transpose()? })
}

/// The forks of a repository.
#[derive(Serialize, JsonSchema)]
struct ForksReport {
    /// The forks, the oldest first.
    forks: Vec<Fork>,
    /// How many.
    count: usize,
    /// How they clash, where that was asked for.
    #[serde(flatten)]
    clashes: Option<Matrix>,
}

impl Answer for ForksReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "fork")
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        let row = |fork: &Fork| {
            let mark = if fork.is_current { "* " } else { "  " };
            let made = fork.created_at.as_ref().or(fork.last_commit_at.as_ref());
            let owner = fork.owner.as_deref().unwrap_or("-");
            let name = owner.split(" <").next().unwrap_or(owner);
            vec![
                Span::new(Role::Heading, format!("{mark}{}", fork.name)),
                format!("+{} -{}", fork.ahead, fork.behind).into(),
                Span::new(Role::Dim, made.map_or_else(String::new, |made| age(made, now))),
                name.into(),
                ending(fork),
            ]
        };
        let lines = self.clashes.iter().flat_map(lines_of).map(Block::text);
        let forks = Block::Table(self.forks.iter().map(row).collect());
        std::iter::once(forks).chain(lines).collect()
    }
}

/// Tells which forks clash, and what to merge first.
fn lines_of(clashes: &Matrix) -> Vec<String> {
    let mut lines = vec![format!("{} clash", text::count(clashes.matrix.len(), "pair"))];
    let by_path = clash_lines::by_path(&clashes.matrix, str::to_owned);
    lines.extend(by_path.iter().map(|line| format!("  {line}")));
    if !clashes.merge_order.is_empty() {
        lines.push(format!("merge in this order: {}", clashes.merge_order.join(", ")));
    }
    lines
}

fn ending(fork: &Fork) -> Span {
    if let Some(problem) = &fork.problem {
        return Span::new(Role::Warning, problem.to_text());
    }
    let Some(into) = &fork.into else {
        return Span::new(Role::Warning, "no target branch");
    };
    let branch = &into.branch;
    // Merging does not guess where a fork goes whose branch is gone.
    let base = fork.diverged_from_branch.as_ref();
    let named = match base.filter(|base| *base != branch) {
        Some(base) => format!(" (its '{base}' is gone: --into {branch})"),
        None => String::new(),
    };
    match into.outcome {
        MergeOutcome::UpToDate => Span::new(Role::Dim, format!("nothing for {branch}")),
        MergeOutcome::FastForward | MergeOutcome::Merged => {
            Span::new(Role::Good, format!("merges cleanly into {branch}{named}"))
        }
        MergeOutcome::Conflicted => {
            let paths = text::count(into.paths.len(), "path");
            Span::new(Role::Bad, format!("conflicts with {branch} in {paths}"))
        }
        MergeOutcome::Unrelated => {
            Span::new(Role::Warning, format!("has nothing in common with {branch}"))
        }
        MergeOutcome::OldHistory => Span::new(
            Role::Warning,
            format!("older than the rewrite of {branch}: a merge rewrites its commits first"),
        ),
    }
}

impl Answer for DeleteReport {
    fn message(&self) -> String {
        let (name, tip) = (&self.name, self.head_sha.short());
        if self.dry_run {
            return format!("would delete '{name}' (was {tip})");
        }
        format!("deleted '{name}' (was {tip})")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.unmerged.is_empty() {
            let count = text::count(self.unmerged.len(), "commit");
            lines.push(format!("{count} that no other branch has, kept by the operation"));
        }
        if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}
