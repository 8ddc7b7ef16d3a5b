//! `git colony checkpoints`

use chrono::DateTime;
use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoints::{self, Checkpoint, Which};
use crate::design::damaged_checkpoint::DamagedCheckpoint;
use crate::design::restore_target::Target;
use crate::flow::colony;
use crate::git::diff::TreeChange;
use crate::model::time::{self, Moment};
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::checkpoint::left_out_line;
use super::{Face, Run, Stop};

/// List what has been kept, oldest first
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    /// List the automatic checkpoints instead
    #[arg(long)]
    auto: bool,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show one checkpoint: by id, label, unique prefix of either, @{0} for the newest, or auto@{0}
    Show {
        /// The checkpoint
        #[arg(value_name = "ID")]
        name: String,
    },
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::ForReal)?;
    if let Some(Action::Show { name }) = &args.action {
        colony::gather_checkpoint(&session, name);
        let report = show(&session, name)?;
        return face.answer(&report);
    }
    let which = if args.auto {
        Which::Automatic
    } else {
        Which::Named
    };
    let listed = checkpoints::list(&session.repo, which)?;
    face.answer(&ListReport {
        count: listed.sound.len(),
        checkpoints: listed.sound,
        damaged: listed.damaged,
    })
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ListReport {
    checkpoints: Vec<Checkpoint>,
    /// Refs of checkpoints that lead to no commit.
    damaged: Vec<DamagedCheckpoint>,
    count: usize,
}

impl Answer for ListReport {
    fn message(&self) -> String {
        text::count(self.count, "checkpoint")
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let row = |checkpoint: &Checkpoint| {
            vec![
                checkpoint.checkpoint_id.clone(),
                age(&checkpoint.created_at, now),
                checkpoint.sha.short(),
                checkpoint.label.clone(),
            ]
        };
        let rows: Vec<_> = self.checkpoints.iter().map(row).collect();
        let damaged = self.damaged.iter().map(DamagedCheckpoint::words);
        text::table(&rows).into_iter().chain(damaged).collect()
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ShowReport {
    #[serde(flatten)]
    checkpoint: Checkpoint,
    /// Paths that differ from the commit before it.
    paths: Vec<RepoPath>,
}

fn show(session: &Session, name: &str) -> Result<ShowReport> {
    let checkpoint = checkpoints::find(&session.repo, name)?;
    let target = Target::find(&session.repo, &checkpoint.checkpoint_id)?;
    let parent = session
        .repo
        .read_commit(checkpoint.sha)?
        .parents
        .first()
        .copied();
    let before = session.repo.tree_of(parent)?;
    let changes = session.repo.diff_trees(before, target.tree)?;
    let paths = changes
        .into_iter()
        .map(|TreeChange { path, .. }| path)
        .collect();
    Ok(ShowReport { checkpoint, paths })
}

impl Answer for ShowReport {
    fn message(&self) -> String {
        format!(
            "'{}' ({})",
            self.checkpoint.label, self.checkpoint.checkpoint_id
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let checkpoint = &self.checkpoint;
        let mut lines = vec![
            format!("commit  {}", checkpoint.sha),
            format!("author  {}", checkpoint.author),
            format!("date    {}", checkpoint.created_at),
        ];
        lines.extend(
            checkpoint
                .branch
                .iter()
                .map(|branch| format!("branch  {branch}")),
        );
        lines.extend(
            checkpoint
                .rationale
                .lines()
                .map(|line| format!("    {line}")),
        );
        lines.extend(checkpoint.left_out.iter().map(left_out_line));
        lines.push(text::count(self.paths.len(), "changed path"));
        lines.extend(self.paths.iter().map(|path| format!("  {path}")));
        lines
    }
}

pub(super) fn age(created_at: &str, now: &Moment) -> String {
    let made = DateTime::parse_from_rfc3339(created_at);
    made.map_or_else(|_| created_at.to_owned(), |made| time::ago(&made, now))
}
