//! `git colony diff`

use std::path::PathBuf;

use serde::Serialize;

use crate::agents::agent_state;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::checkpoint::left_out_line;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop, typed_path};
use crate::design::diff::{
    self, ChangeType, DiffBase, DiffEntry, DiffReport, Named, Request, WORKTREE, WithPatch,
};
use crate::design::meaning;
use crate::desk::completion::Names;
use crate::desk::log;
use crate::model::Error;
use crate::model::time::Moment;
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Compare two states: revisions, checkpoints, forks, working tree
///
/// Without A, HEAD is compared with the working tree; with A alone, A is compared with HEAD. AGENT alone
/// shows what that agent has committed since it left the branch that its work goes to, AGENT@ also what it
/// has not committed. The working tree is everything that a checkpoint would keep, untracked files included.
/// Renames are detected, also of edited files; lines of binary files are not counted. 'A..B' means 'A B',
/// and 'A...B' means the changes of B since its merge base with A; a side that is left out is HEAD.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(
    override_usage = "git colony diff [OPTIONS] [A [B] | A..B | A...B] [-- PATH...]\n       \
    git colony diff [OPTIONS] --checkpoint <ID> [--worktree] [-- PATH...]"
)]
pub(in crate::cli) struct Args {
    /// The first state: a revision, a fork (with or without 'fork/'), a checkpoint, AGENT, AGENT@
    #[arg(value_name = "A")]
    from: Option<String>,
    /// The second state (default: HEAD)
    #[arg(value_name = "B", requires = "from")]
    to: Option<String>,
    /// Start from the checkpoint ID, or from the state before the operation ID
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    checkpoint: Option<String>,
    /// Compare it with the working tree
    #[arg(long, conflicts_with = "to")]
    worktree: bool,
    /// Show the patch, at most 256 KiB of it
    #[arg(short, long)]
    patch: bool,
    /// List the paths with the lines added and deleted (the default)
    #[arg(long)]
    stat: bool,
    /// List the paths alone, as git quotes them
    #[arg(long, conflicts_with_all = ["patch", "stat"])]
    name_only: bool,
    /// Compare only these files, or everything below these directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("diff", Section::Inspect, Screen::All)
        .example("git colony diff", "uncommitted changes")
        .example("git colony diff main...try-sqlite --patch", "what a fork has changed")
        .example("git colony diff ada@ --patch", "what an agent has changed, committed or not")
        .answers::<DiffReport>()
        .completes("ID", Names::CheckpointsAndOperations)
        .completes("A", Names::AgentsAndRevisions)
        .completes("B", Names::AgentsAndRevisions)
        .action(
            action("diff_design", Group::Design, Effect::Reads)
                .by("diff --patch")
                .about(
                    "Compare two states: revisions, checkpoints, forks, agents. 'ref_a' alone: \
                     with HEAD, of AGENT since it left; neither: HEAD with the files",
                )
                .takes(&[
                    as_arg("ref_a", "from"),
                    as_arg("ref_b", "to"),
                    same("worktree"),
                    same("paths").about("Only these files, or files below"),
                ]),
        )
        .action(
            action("diff_against_checkpoint", Group::Design, Effect::Reads)
                .by("diff --patch")
                .about(
                    "Show the diff since a checkpoint, up to HEAD; with 'worktree' up to the \
                     files as they are",
                )
                .takes(&[
                    as_arg("checkpoint_id", "checkpoint")
                        .about("Or an operation, for the state before it")
                        .required(),
                    same("worktree"),
                    same("paths").about("Only these files, or files below"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, mut args: Args) -> Result<Outcome, Stop> {
    // Looking at the worktree makes objects: they stay in memory.
    let typed: Vec<String> = args.from.iter().chain(&args.to).cloned().collect();
    let session = face.session_among_others(Opening::InMemory, &typed)?;
    let since = read_range(&session, &mut args)?;
    let named = |name: String| -> Result<Named, Error> {
        Ok(match agent_state::find(&session, &name)? {
            Some(state) => Named::State(state.to_compare(&session)?),
            None => Named::Any(name),
        })
    };
    let head = || Named::Any("HEAD".to_owned());
    let left_at = match (&args.from, &args.to) {
        (Some(name), None) if !args.worktree => log::left_at(&session, name)?,
        _ => None,
    };
    let nothing_named = args.from.is_none() && args.checkpoint.is_none();
    let from = match (args.checkpoint, args.from) {
        (Some(checkpoint), _) => Named::Checkpoint(checkpoint),
        (None, Some(name)) => named(name)?,
        (None, None) => head(),
    };
    let paths = args.paths.iter().map(|path| typed_path::repo_path(&session, path));
    let (from, named_alone) = match left_at {
        Some(commit) => (Named::Any(commit.to_string()), Some(from)),
        None => (from, None),
    };
    let request = Request {
        from,
        to: match args.to {
            _ if let Some(alone) = named_alone => alone,
            Some(name) => named(name)?,
            None if args.worktree || nothing_named => Named::Worktree,
            None => head(),
        },
        since,
        paths: paths.collect::<Result<_, Error>>()?,
        patch: if args.patch { WithPatch::Yes } else { WithPatch::No },
    };
    let report = diff::diff(&session, &request);
    let explained = |error| agent_state::explain_unknown(&session, error);
    let of_tree = |error: Error| error.of_tree(&typed.join("' and '"));
    let report = report.map_err(of_tree).map_err(explained)?;
    if args.name_only {
        return face.answer(&ChangedNames(report));
    }
    face.answer(&report)
}

/// Takes two revisions in one word apart.
fn read_range(session: &Session, args: &mut Args) -> Result<DiffBase, Error> {
    let typed = args.from.clone().filter(|_| args.to.is_none() && !args.worktree);
    let ends = typed.as_deref().map(|typed| meaning::ends(&session.repo, typed));
    let Some(range) = ends.transpose()?.flatten() else {
        return Ok(DiffBase::First);
    };
    args.from = Some(range.from.to_owned());
    args.to = Some(range.to.to_owned());
    Ok(if range.is_symmetric { DiffBase::MergeBase } else { DiffBase::First })
}

/// What differs, as a list of names for scripts.
#[derive(Serialize)]
#[serde(transparent)]
struct ChangedNames(DiffReport);

impl Answer for ChangedNames {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        self.0.message()
    }

    fn line(&self) -> String {
        String::new()
    }

    fn narration(&self) -> Vec<String> {
        self.0.left_out.iter().map(left_out_line).collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let entries = self.0.entries.iter();
        entries.map(|entry| entry.path.to_string()).collect()
    }
}

impl Answer for DiffReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let name = |name: &String| match name.as_str() {
            WORKTREE => "the working tree".to_owned(),
            // Where two states parted.
            id if self.commit_a.is_some_and(|commit| commit.to_string() == id) => {
                format!("'{}'", id.get(..8).unwrap_or(id))
            }
            other => format!("'{other}'"),
        };
        let (a, b) = (name(&self.ref_a), name(&self.ref_b));
        if self.entries.is_empty() {
            return format!("nothing differs between {a} and {b}");
        }
        let sum = |of: fn(&DiffEntry) -> u64| self.entries.iter().map(of).sum::<u64>();
        format!(
            "from {a} to {b}: {}, +{} -{}",
            text::count(self.entries.len(), "changed path"),
            sum(|entry| entry.insertions),
            sum(|entry| entry.deletions),
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let rows: Vec<_> = self.entries.iter().map(row).collect();
        let mut lines = text::table(&rows);
        lines.extend(self.left_out.iter().map(left_out_line));
        if self.truncated {
            let (a, b) = (&self.ref_a, &self.ref_b);
            lines.push(format!(
                "the patch from '{a}' to '{b}' is cut at 256 KiB; the list above is whole"
            ));
        }
        lines
    }

    fn verbatim(&self) -> Option<&str> {
        self.raw_unified_diff.as_deref()
    }
}

fn row(entry: &DiffEntry) -> Vec<String> {
    let letter = match entry.change_type {
        ChangeType::Added => "A",
        ChangeType::Modified => "M",
        ChangeType::Deleted => "D",
        ChangeType::Renamed => "R",
        ChangeType::Copied => "C",
        ChangeType::TypeChanged => "T",
    };
    let lines = match &entry.new_mode {
        _ if entry.binary => "binary".to_owned(),
        Some(mode) if entry.insertions + entry.deletions == 0 => {
            if mode == "100755" { "+x" } else { "-x" }.to_owned()
        }
        _ => format!("+{} -{}", entry.insertions, entry.deletions),
    };
    let path = match &entry.old_path {
        Some(old) => format!("{old} -> {}", entry.path),
        None => entry.path.to_string(),
    };
    vec![letter.to_owned(), lines, path]
}
