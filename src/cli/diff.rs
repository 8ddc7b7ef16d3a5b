//! `git colony diff`

use crate::design::diff::{
    self, ChangeType, DiffEntry, DiffReport, Named, Request, WORKTREE, WithPatch,
};
use crate::flow::agents::{agent_places, agent_state};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::checkpoint::left_out_line;
use super::{Face, Opening, Stop};

/// Compare two states: revisions, checkpoints, forks, the worktree
///
/// Without A, HEAD is compared with the worktree; with A alone, A with HEAD. Of the worktree all
/// counts that a checkpoint would keep, untracked files among it. Renames are found, also of edited
/// files; lines of binary files are not counted. AGENT is what the agent has committed, AGENT@ what it has
/// in its working tree now.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git colony diff [OPTIONS] [A [B]]\n       \
    git colony diff [OPTIONS] --checkpoint <ID> [--worktree]")]
pub(super) struct Args {
    /// The first state: a revision, a fork (with or without 'fork/'), a checkpoint, AGENT, AGENT@
    #[arg(value_name = "A")]
    from: Option<String>,
    /// The second state (default: HEAD)
    #[arg(value_name = "B", requires = "from")]
    to: Option<String>,
    /// Begin with the checkpoint ID, or with the state before the operation ID
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    checkpoint: Option<String>,
    /// End with the worktree
    #[arg(long, conflicts_with = "to")]
    worktree: bool,
    /// Show the patch, at most 256 KiB of it
    #[arg(long)]
    patch: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    // Looking at the worktree makes objects: they stay in memory.
    let typed: Vec<String> = args.from.iter().chain(&args.to).cloned().collect();
    let session = face.session_among_others(Opening::Look, &typed)?;
    let head = || Named::Any("HEAD".to_owned());
    let named = |name: String| -> Result<Named, Error> {
        Ok(match agent_state::find(&session, &name)? {
            Some(state) => Named::State(state.to_compare(&session)?),
            None => Named::Any(name),
        })
    };
    let nothing_named = args.from.is_none() && args.checkpoint.is_none();
    let from = match (args.checkpoint, args.from) {
        (Some(checkpoint), _) => Named::Checkpoint(checkpoint),
        (None, Some(name)) => named(name)?,
        (None, None) => head(),
    };
    let report = diff::diff(
        &session,
        &Request {
            from,
            to: match args.to {
                Some(name) => named(name)?,
                None if args.worktree || nothing_named => Named::Worktree,
                None => head(),
            },
            patch: if args.patch {
                WithPatch::Yes
            } else {
                WithPatch::No
            },
        },
    );
    let explained = |error| agent_places::explain_unknown_of(&session, &typed, error);
    let of_tree = |error: Error| error.of_tree(&typed.join("' and '"));
    face.answer(&report.map_err(of_tree).map_err(explained)?)
}

impl Answer for DiffReport {
    fn message(&self) -> String {
        let name = |name: &String| match name.as_str() {
            WORKTREE => "the worktree".to_owned(),
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
    let lines = if entry.binary {
        "binary".to_owned()
    } else {
        format!("+{} -{}", entry.insertions, entry.deletions)
    };
    let path = match &entry.old_path {
        Some(old) => format!("{old} -> {}", entry.path),
        None => entry.path.to_string(),
    };
    vec![letter.to_owned(), lines, path]
}
