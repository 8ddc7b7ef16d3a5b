//! `git colony git`

use std::path::PathBuf;

use clap::Subcommand;

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Stop, typed_path};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;
use crate::workspace::git_tools::{self, DiffOf, GitLogReport, GitQuestion, GitTextReport};
use crate::workspace::query::query_log::LoggedCommit;

use super::git_code;

/// Ask git about this checkout, within limits
///
/// For agents that have no shell. At most 30 seconds and 1 MiB; '--offset' continues a longer answer. Without pager, color, hooks,
/// monitor of files, external diff and text conversion; filters of changed files run, as in git. No content of files that 'catalog query'
/// hides is shown: likely secrets, and what '.colonyignore' or '.voxignore' names.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: GitCommand,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum GitCommand {
    Find(git_code::FindArgs),
    Read(git_code::ReadArgs),
    History(git_code::HistoryArgs),
    Log(LogArgs),
    Diff(DiffArgs),
    Status(StatusArgs),
    Blame(BlameArgs),
}

/// List the newest commits of HEAD
#[derive(Debug, clap::Args)]
struct LogArgs {
    /// List at most N commits, 1000 or fewer
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    max_commits: usize,
}

/// Show what differs between working tree and index
#[derive(Debug, clap::Args)]
struct DiffArgs {
    /// Only PATH and files below it
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Compare the index with HEAD
    #[arg(long)]
    staged: bool,
    #[command(flatten)]
    from: From,
}

/// Show staged, changed and untracked files
#[derive(Debug, clap::Args)]
struct StatusArgs {
    #[command(flatten)]
    from: From,
}

/// Show the commit that each line of a file is from
#[derive(Debug, clap::Args)]
struct BlameArgs {
    /// The file
    #[arg(value_name = "PATH")]
    path: PathBuf,
    #[command(flatten)]
    from: From,
}

/// Where an answer begins.
#[derive(Debug, clap::Args)]
struct From {
    /// Continue a longer answer at byte N, where it was cut
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    offset: usize,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("git")
        .example("git colony git find parse_header --path src", "lines with a text")
        .example("git colony git read src/header.rs:1-2", "lines of a file")
        .example("git colony git diff a.txt", "the change of one file")
        .below([
            git_code::find_declaration(),
            git_code::read_declaration(),
            git_code::history_declaration(),
            Declaration::of("git log").answers::<GitLogReport>().action(
                action("git_log", Group::Repository, Effect::Reads).takes(&[as_arg(
                    "limit",
                    "max_commits",
                )
                .or("max_commits")
                .about("1000 or fewer")]),
            ),
            Declaration::of("git diff").answers::<GitTextReport>().action(
                action("git_diff", Group::Repository, Effect::Reads).takes(&[
                    same("path").about("Only it and files below"),
                    same("staged"),
                    same("offset").about("Where a longer answer was cut, in bytes"),
                ]),
            ),
            Declaration::of("git status").answers::<GitTextReport>().action(
                action("git_status", Group::Repository, Effect::Reads)
                    .takes(&[same("offset").about("Where a longer answer was cut, in bytes")]),
            ),
            Declaration::of("git blame").answers::<GitTextReport>().action(
                action("git_blame", Group::Repository, Effect::Reads).takes(&[
                    same("path").plain(),
                    same("offset").about("Where a longer answer was cut, in bytes"),
                ]),
            ),
        ])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let (world, checkout) = face.checkout()?;
    let below = |path: PathBuf| typed_path::below(&world, &checkout.root, &path);
    let (question, from) = match args.command {
        GitCommand::Find(args) => return git_code::find(face, args),
        GitCommand::Read(args) => return git_code::read(face, &args),
        GitCommand::History(args) => return git_code::history(face, args),
        GitCommand::Log(args) => {
            let report = git_tools::git_log(&world, &checkout, args.max_commits)?;
            return face.answer(&report);
        }
        GitCommand::Diff(args) => {
            let of = if args.staged { DiffOf::Staged } else { DiffOf::Unstaged };
            let typed = args.path.map(below).transpose()?;
            // git has no path for the root, which means everything.
            let path = typed.filter(|path| !path.as_bytes().is_empty());
            (GitQuestion::Diff(of, path), args.from)
        }
        GitCommand::Status(args) => (GitQuestion::Status, args.from),
        GitCommand::Blame(args) => (GitQuestion::Blame(below(args.path)?), args.from),
    };
    let report = git_tools::ask(&world, &checkout, &question, from.offset)?;
    face.answer(&report)
}

impl Answer for GitTextReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let lines = text::count(self.text.lines().count(), "line");
        match self.next_offset {
            Some(next) => format!("{lines}; continue with --offset {next}"),
            None => lines,
        }
    }

    fn narration(&self) -> Vec<String> {
        let hidden = text::count(self.hidden, "changed file");
        let line = format!("hidden: {hidden}, by ignore files of colony or as likely secrets");
        (self.hidden > 0).then_some(line).into_iter().collect()
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        self.text.lines().map(str::to_owned).collect()
    }
}

impl Answer for GitLogReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        text::count(self.count, "commit")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |commit: &LoggedCommit| {
            let id = commit.commit.chars().take(8).collect();
            vec![id, commit.summary.clone()]
        };
        text::table(&self.commits.iter().map(row).collect::<Vec<_>>())
    }
}
