//! `git colony checkpoints`

use chrono::DateTime;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agents::colony::taking_part;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::design::checkpoint::checkpoint_names;
use crate::design::checkpoint::checkpoints::{self, Checkpoint, CheckpointKind};
use crate::design::checkpoint::damaged_checkpoint::DamagedCheckpoint;
use crate::design::checkpoint::published_checkpoints;
use crate::design::restore::restore_target::Target;
use crate::desk::completion::Names;
use crate::git::compare::tree_diff::TreeChange;
use crate::model::time::{self, Moment};
use crate::model::{RepoPath, Result};
use crate::operations::checkpoint_deletion::{self, CheckpointDeleteReport};
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Role, Span};

use super::checkpoint::left_out_line;
use super::tag;

/// List the checkpoints, oldest first
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    /// List the automatic checkpoints instead
    #[arg(long)]
    auto: bool,
    /// List those that agents have published as well, as AGENT/ID
    #[arg(long, conflicts_with = "auto")]
    all: bool,
    /// List those of one session, automatic ones, too
    #[arg(long, value_name = "SESSION", conflicts_with_all = ["auto", "all"])]
    session: Option<String>,
    /// List the N newest only
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    Tag(tag::Args),
    /// Show one checkpoint: by id, label, unique prefix of either, @{0} for the newest, or auto@{0}
    Show {
        /// The checkpoint
        #[arg(value_name = "ID")]
        name: String,
    },
    /// Delete checkpoints by name; 'git colony undo' restores them
    Delete {
        /// The checkpoints
        #[arg(value_name = "ID", required = true)]
        names: Vec<String>,
        /// Show what would be deleted, and change nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("checkpoints", Section::Keep, Screen::First)
        .lists_by_itself()
        .example("git colony checkpoints", "list what can be restored")
        .example("git colony checkpoints show @{0}", "the newest one")
        .example("git colony checkpoints delete 'half an idea'", "delete one; undo restores it")
        .answers::<ListReport>()
        .action(action("list_checkpoints", Group::States, Effect::Reads).takes(&[
            same("auto").about("The automatic ones instead"),
            same("all").about("Those of agents, too, as AGENT/ID"),
        ]))
        .below([
            Declaration::of("checkpoints show")
                .answers::<ShowReport>()
                .completes("ID", Names::Checkpoints)
                .action(
                    action("show_checkpoint", Group::States, Effect::Reads).takes(&[as_arg(
                        "checkpoint_id",
                        "name",
                    )
                    .plain()]),
                ),
            Declaration::of("checkpoints delete")
                .answers::<CheckpointDeleteReport>()
                .completes("ID", Names::Checkpoints)
                .action(
                    action("delete_checkpoints", Group::States, Effect::Destroys)
                        .about("Delete checkpoints; undo restores them")
                        .takes(&[as_arg("checkpoint_ids", "names").plain()]),
                ),
            tag::declaration(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.action {
        None => list(face, args),
        Some(Action::Tag(args)) => tag::run(face, args),
        Some(Action::Show { name }) => {
            let session = face.session(Opening::Read)?;
            taking_part::gather_checkpoint(&session, name);
            let report = show(&session, name)?;
            face.answer(&report)
        }
        Some(Action::Delete { names, dry_run }) => {
            let session = face.session(Run::from(*dry_run))?;
            let report = checkpoint_deletion::delete(&session, names)?;
            face.answer(&report)
        }
    }
}

fn list(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let mut listed = if args.all {
        let session = face.session_among_others(Opening::Read, &[])?;
        published_checkpoints::list_with_agents(&session.repo)?
    } else if let Some(name) = &args.session {
        checkpoints::list_of_session(&face.session(Opening::Read)?.repo, name)?
    } else {
        let which = if args.auto { CheckpointKind::Automatic } else { CheckpointKind::Named };
        checkpoints::list(&face.session(Opening::Read)?.repo, which)?
    };
    let total = listed.sound.len();
    let older = total.saturating_sub(args.limit.unwrap_or(usize::MAX));
    listed.sound.drain(..older);
    face.answer(&ListReport {
        count: listed.sound.len(),
        total,
        checkpoints: listed.sound,
        damaged: listed.damaged,
    })
}

#[derive(Serialize, JsonSchema)]
struct ListReport {
    checkpoints: Vec<Checkpoint>,
    /// Refs of checkpoints that lead to no commit.
    damaged: Vec<DamagedCheckpoint>,
    count: usize,
    /// The number without a limit.
    total: usize,
}

impl Answer for ListReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let all = text::count(self.total, "checkpoint");
        if self.count < self.total { format!("the newest {} of {all}", self.count) } else { all }
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        let row = |checkpoint: &Checkpoint| {
            let label = match &checkpoint.agent {
                Some(agent) => format!("{agent}/{}", checkpoint.label),
                None => checkpoint.label.clone(),
            };
            vec![
                Span::new(Role::Id, &checkpoint.checkpoint_id),
                Span::new(Role::Dim, age(&checkpoint.created_at, now)),
                Span::new(Role::Id, checkpoint.sha.short()),
                Span::new(Role::Heading, label),
            ]
        };
        let rows = self.checkpoints.iter().map(row).collect();
        let damaged = self
            .damaged
            .iter()
            .map(DamagedCheckpoint::to_text)
            .map(|words| Block::line([Span::new(Role::Warning, words)]));
        std::iter::once(Block::Table(rows)).chain(damaged).collect()
    }
}

#[derive(Serialize, JsonSchema)]
struct ShowReport {
    #[serde(flatten)]
    checkpoint: Checkpoint,
    /// Paths that differ from the commit before it.
    paths: Vec<RepoPath>,
}

fn show(session: &Session, name: &str) -> Result<ShowReport> {
    let checkpoint = checkpoint_names::find(&session.repo, name)?;
    let target = Target::find(&session.repo, &checkpoint.checkpoint_id)?;
    let parent = session.repo.read_commit(checkpoint.sha)?.parents.first().copied();
    let before = session.repo.tree_of(parent)?;
    let changes = session.repo.diff_trees(before, target.tree)?;
    let paths = changes.into_iter().map(|TreeChange { path, .. }| path).collect();
    Ok(ShowReport { checkpoint, paths })
}

impl Answer for ShowReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        format!("'{}' ({})", self.checkpoint.label, self.checkpoint.checkpoint_id)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let checkpoint = &self.checkpoint;
        let mut lines = vec![
            format!("commit  {}", checkpoint.sha),
            format!("git     {}", checkpoint.git_ref),
            format!("author  {}", checkpoint.author),
            format!("date    {}", checkpoint.created_at),
        ];
        lines.extend(checkpoint.branch.iter().map(|branch| format!("branch  {branch}")));
        lines.extend(checkpoint.rationale.lines().map(|line| format!("    {line}")));
        let inside = checkpoint.submodules.iter();
        lines.extend(
            inside.map(|state| format!("kept too: edits inside the submodule {}", state.path)),
        );
        lines.extend(checkpoint.left_out.iter().map(left_out_line));
        lines.push(text::count(self.paths.len(), "changed path"));
        lines.extend(self.paths.iter().map(|path| format!("  {path}")));
        lines
    }
}

impl Answer for CheckpointDeleteReport {
    fn message(&self) -> String {
        let verb = if self.dry_run { "would delete" } else { "deleted" };
        match self.deleted.as_slice() {
            [checkpoint] => format!("{verb} checkpoint '{}'", checkpoint.label),
            several => format!("{verb} {}", text::count(several.len(), "checkpoint")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        for checkpoint in &self.deleted {
            if self.deleted.len() > 1 {
                lines.push(format!("  {}  {}", checkpoint.checkpoint_id, checkpoint.label));
            }
            if !checkpoint.published.is_empty() {
                lines.push(format!(
                    "  '{}' stays on {}",
                    checkpoint.label,
                    text::list(&checkpoint.published)
                ));
            }
        }
        let op = self.op.as_ref();
        lines.extend(op.map(|op| format!("to undo: git colony undo   ({op})")));
        lines
    }
}

pub(in crate::cli) fn age(created_at: &str, now: &Moment) -> String {
    let made = DateTime::parse_from_rfc3339(created_at);
    made.map_or_else(|_| created_at.to_owned(), |made| time::ago(&made, now))
}
