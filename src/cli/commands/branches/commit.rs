//! `git colony commit`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, How, action, as_arg, how, same};
use crate::cli::commands::states::checkpoint::left_out_line;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop, typed_path};
use crate::design::checkpoint::left_out::Allowances;
use crate::design::commit::pending_paths::Choice;
use crate::design::commit::{self, CommitReport, Request};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Commit chosen paths or everything, with the repository's hooks
///
/// Commits every change at or below the named paths, new files included; other staged changes stay
/// staged. The hooks pre-commit, prepare-commit-msg, commit-msg and post-commit run as for 'git commit';
/// if one refuses, nothing is committed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(group = clap::ArgGroup::new("what").required(true).args(["tracked", "all", "paths"]))]
pub(in crate::cli) struct Args {
    /// Use MESSAGE; each further one becomes a paragraph
    #[arg(short = 'm', long = "message", value_name = "MESSAGE", required = true)]
    messages: Vec<String>,
    /// Commit everything that is tracked and has changed, as 'git commit -a' does
    #[arg(short = 'a')]
    tracked: bool,
    /// Commit everything that is tracked, and everything untracked that is not ignored
    #[arg(long)]
    all: bool,
    /// Include untracked files however many they are (default: up to colony.maxNewFiles)
    #[arg(long, conflicts_with = "tracked")]
    all_untracked: bool,
    /// The files and directories
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be committed, commit nothing and run no hook
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("commit", Section::Keep, Screen::All)
        .example("git colony commit -am 'Fix the parser'", "changes of tracked files, as git does")
        .example("git colony commit -m 'Add notes' dir", "one folder, new files included")
        .answers::<CommitReport>()
        .action(
            action("commit_state", Group::States, Effect::Adds)
                .about(
                    "Commit changes: 'paths', or everything with 'all_changes', with the \
                     repository's hooks. To save a state, checkpoint_state",
                )
                .takes(&[
                    how("message", How::Text("messages")).plain().required(),
                    same("paths").plain(),
                    as_arg("all_changes", "all")
                        .about("Everything tracked or untracked, but not ignored"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let choice = if args.all {
        Choice::Everything
    } else if args.tracked {
        Choice::Tracked
    } else {
        let typed = args.paths.iter();
        let paths = typed.map(|path| typed_path::repo_path(&session, path));
        Choice::Paths(paths.collect::<Result<_, Error>>()?)
    };
    let request = Request {
        message: args.messages.join("\n\n"),
        choice,
        allowances: Allowances { untracked: args.all_untracked, ..Allowances::default() },
    };
    face.answer(&commit::commit(&session, &request)?)
}

impl Answer for CommitReport {
    fn message(&self) -> String {
        let branch = &self.branch;
        if !self.changed {
            return format!("nothing to commit on '{branch}'");
        }
        let changes = text::count(self.files_changed, "changed path");
        let subject = &self.subject;
        match self.sha {
            Some(sha) => {
                format!("committed '{subject}' with {changes}, on '{branch}': {}", sha.short())
            }
            None => format!("would commit '{subject}' with {changes}, on '{branch}'"),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<_> = self.left_out.iter().map(left_out_of_commit).collect();
        if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}

/// Says why a new file is not in a commit; naming the file itself includes it.
pub(in crate::cli) fn left_out_of_commit(
    left_out: &crate::design::checkpoint::left_out::LeftOut,
) -> String {
    let line = left_out_line(left_out);
    match line.split_once("; --") {
        Some((reason, _)) => format!("{reason}; naming the file itself includes it)"),
        None => line,
    }
}
