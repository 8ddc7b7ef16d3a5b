//! `git colony revert`

use crate::agents::agent_state;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::aside_lines;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::design::merge::conflicts::Conflict;
use crate::design::revert::{self, Request, RevertOutcome, RevertReport, RevertedMerge};
use crate::desk::completion::Names;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::merge;

/// Revert the newest merge of an agent or a fork, as a new commit
///
/// Makes one new commit on the branch, at any later time, with the files that 'git revert -m 1' would
/// give. Edits here are kept as 'merge' keeps them. If later changes conflict, nothing changes, and the answer lists the
/// paths (exit code 1). The agent keeps its work: 'git colony merge' in its clone does not delete it, and merging the
/// agent again brings all of it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// An agent or a fork, for the newest merge of it; or an operation, as in 'op-12'
    #[arg(value_name = "NAME")]
    what: String,
    /// Revert on this branch, which need not be checked out (default: the current branch)
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// The first line of the message
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Show what would happen, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("revert", Section::Collaborate, Screen::All)
        .example(
            "git colony revert parser --into main -n",
            "show the result, and change nothing",
        )
        .example("git colony revert parser --into main", "the fork keeps its work")
        .answers::<RevertReport>()
        .completes("NAME", Names::AgentsAndBranches)
        .action(
            action("revert_work", Group::Design, Effect::Destroys)
                .about(
                    "Revert the newest merge of an agent or fork, or an operation ('op-12'), as one \
                     new commit on a branch",
                )
                .takes(&[
                    as_arg("name", "what"),
                    as_arg("target_branch", "into").about("It need not be checked out"),
                    same("message"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let run = Run::from(args.dry_run);
    let session = face.session_among_others(run, std::slice::from_ref(&args.what))?;
    let request = Request { what: args.what, into: args.into, message: args.message };
    let report = revert::revert(&session, &request);
    let explained = |error| agent_state::explain_unknown(&session, error);
    face.answer(&report.map_err(explained)?)
}

impl Answer for RevertReport {
    fn outcome(&self) -> Outcome {
        match self.outcome {
            RevertOutcome::Conflicted => Outcome::No,
            _ => Outcome::Yes,
        }
    }

    fn message(&self) -> String {
        let Self { source, branch, .. } = self;
        match self.outcome {
            RevertOutcome::UpToDate => {
                format!("'{branch}' has no changes of '{source}' any more")
            }
            RevertOutcome::Reverted if self.dry_run => {
                format!("would revert '{source}' on '{branch}'")
            }
            RevertOutcome::Reverted => format!("reverted '{source}' on '{branch}'"),
            RevertOutcome::Conflicted => {
                let count = text::count(self.conflicts.len(), "conflict");
                let state = if self.dry_run { "would change" } else { "has changed" };
                format!("reverting '{source}' on '{branch}' has {count}; nothing {state}")
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let conflicts: &[Conflict] = &self.conflicts;
        let mut lines = merge::table(conflicts);
        if conflicts.is_empty() {
            let named =
                |merge: &RevertedMerge| format!("  {} {}", merge.merge.short(), merge.subject);
            lines.extend(self.reverted.iter().map(named));
            let count = text::count(self.files_changed, "file");
            lines.extend((self.files_changed > 0).then(|| format!("{count} changed")));
        }
        lines.extend(aside_lines::of(
            self.dry_run.into(),
            &self.ignored_kept,
            "ignored and in the way",
            &self.kept_late,
        ));
        if let Some(hint) = &self.next_step.hint {
            lines.push(format!("open them: {hint}"));
        }
        if let Some(op) = self.op {
            lines.push(format!("to merge it again: git colony merge {}", self.again()));
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}

impl RevertReport {
    /// Returns what merges the work again.
    fn again(&self) -> String {
        let named = || self.agents.first().cloned();
        let is_operation = self.source.starts_with("op-");
        let name = if is_operation { named() } else { Some(self.source.clone()) };
        name.map_or_else(|| "NAME".to_owned(), |name| crate::model::text::typed_word(&name))
    }
}
