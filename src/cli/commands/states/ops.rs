//! `git colony ops`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::clones::removal::removed_clone::RemovedClone;
use crate::design::checkpoint::retention::PruneReport;
use crate::design::meaning;
use crate::desk::prune::{self, PruneScope};
use crate::model::id::OperationId;
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::operations::listing::{self, OperationInfo, OperationReport, OperationsReport};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::layout::Block;
use crate::ui::text;
use crate::ui::theme::{Role, Span};

use super::checkpoints::age;

/// List the operations, oldest first
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    /// List the operations of every worktree of the repository
    #[arg(long)]
    all_worktrees: bool,
    /// List the operations of a removed clone, from the hub, by its agent or its id
    #[arg(long, value_name = "NAME", conflicts_with = "all_worktrees")]
    removed: Option<String>,
    /// List the N newest only
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Show one operation of this worktree
    Show {
        /// The operation, as in 'op-12'
        #[arg(value_name = "OP")]
        id: String,
        /// Show an operation of a removed clone, and where the hub has the files that it moved aside
        #[arg(long, value_name = "NAME")]
        removed: Option<String>,
    },
    /// Delete operations past their time, with the files they moved aside
    Prune {
        /// Keep operations of the last DAYS days (default: colony.keepDays)
        #[arg(long, value_name = "DAYS")]
        keep: Option<u64>,
        /// Show what would be deleted, and delete nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("ops", Section::Inspect, Screen::First)
        .lists_by_itself()
        .example("git colony ops -n 5", "the newest five operations")
        .example("git colony ops show op-2", "one of them, with what it moved aside")
        .answers::<OperationsReport>()
        .action(action("list_operations", Group::States, Effect::Reads).takes(&[
            same("limit").about("Only the newest"),
            same("all_worktrees").about("Of every worktree"),
        ]))
        .below([
            Declaration::of("ops show").answers::<OperationReport>().action(
                action("show_operation", Group::States, Effect::Reads).takes(&[as_arg(
                    "operation",
                    "id",
                )
                .about("As in 'op-12'")]),
            ),
            Declaration::of("ops prune").answers::<PruneReport>(),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.action {
        None => {
            let session = face.session(Opening::Read)?;
            let report = match &args.removed {
                Some(name) => listing::list_removed(&session, name)?,
                None => listing::list(&session, args.all_worktrees)?,
            };
            face.answer(&match args.limit {
                Some(limit) => report.newest(limit),
                None => report,
            })
        }
        Some(Action::Show { id, removed }) => {
            let session = face.session(Opening::Read)?;
            let of_name = || meaning::find_operation(&session.repo, id);
            let id = OperationId::parse(id).or_else(of_name).ok_or_else(|| {
                Error::new(
                    Code::OperationNotFound,
                    format!("'{id}' is not an operation: expected op-<number>"),
                )
            })?;
            let report = match removed {
                Some(name) => listing::show_removed(&session, name, id)?,
                None => listing::show(&session, id)?,
            };
            face.answer(&report)
        }
        Some(Action::Prune { keep, dry_run }) => {
            let session = face.session(Run::from(*dry_run))?;
            let report = prune::prune(&session, PruneScope::Operations, *keep)?;
            face.answer(&report)
        }
    }
}

fn row(info: &OperationInfo, now: &Moment) -> Vec<Span> {
    let undone = if info.undone == Some(true) { "(undone)" } else { "" };
    vec![
        Span::new(Role::Id, info.op.to_string()),
        Span::new(Role::Dim, age(&info.created_at, now)),
        info.summary.clone().into(),
        Span::new(Role::Dim, undone),
    ]
}

/// Words whose removed clone it was, and when it went.
fn of_removed(clone: &RemovedClone) -> String {
    let whose = match &clone.agent {
        Some(agent) => format!("of agent '{agent}'"),
        None => format!("'{}'", clone.name()),
    };
    format!("the clone {whose}, removed {}", clone.removed_at)
}

impl Answer for OperationsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let count = if self.count < self.total {
            format!("the newest {} of {}", self.count, text::count(self.total, "operation"))
        } else {
            text::count(self.count, "operation")
        };
        match self.removed.first() {
            Some(clone) => format!("{count} of {}", of_removed(clone)),
            None => count,
        }
    }

    fn narration(&self) -> Vec<String> {
        let others = self.removed.iter().skip(1).map(|clone| {
            let id = clone.clone.get(..8).unwrap_or(&clone.clone);
            let (when, command) = (&clone.removed_at, "git colony ops --removed");
            format!("another clone of that name was removed {when}: {command} {id}")
        });
        others.collect()
    }

    fn blocks(&self, now: &Moment) -> Vec<Block> {
        let first = self.ops.first().map(|info| &info.worktree);
        let several = self.ops.iter().any(|info| Some(&info.worktree) != first);
        let row = |info| {
            let mut cells = row(info, now);
            if several {
                cells.insert(0, info.worktree.to_string().into());
            }
            cells
        };
        vec![Block::Table(self.ops.iter().map(row).collect())]
    }
}

impl Answer for OperationReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        format!("{}: {}", self.info.op, self.info.summary)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = vec![
            format!("date    {}", self.info.created_at),
            format!("author  {}", self.info.author),
        ];
        let removed = self.removed.as_ref();
        lines.extend(removed.map(|clone| format!("in      {}", of_removed(clone))));
        if let Some(head) = &self.head {
            lines.push(format!("HEAD    {} -> {}", head.old.short(), head.new.short()));
        }
        for change in &self.info.refs {
            let (old, new) = (text::short(change.old), text::short(change.new));
            lines.push(format!("ref     {}  {old} -> {new}", change.name));
        }
        lines.extend(self.snapshot.map(|id| format!("files before  {id}")));
        for file in &self.kept {
            let at = file.kept_at.as_deref().unwrap_or("(restored, or pruned)");
            lines.push(format!("moved aside  {}  {at}", file.path));
        }
        lines
    }
}
