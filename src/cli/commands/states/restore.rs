//! `git colony restore`

use std::path::{Path, PathBuf};

use crate::agents::agent_state;
use crate::agents::colony::taking_part;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop, typed_path};
use crate::design::checkpoint::left_out::{LeaveOutReason, LeftOut};
use crate::design::restore::remote_commits::RemoteCommits;
use crate::design::restore::restore_report::{AbsentSubmodule, FileCounts, RestoreReport};
use crate::design::restore::{self, Request, RestoreMode};
use crate::design::submodule::AbsenceReason;
use crate::desk::completion::Names;
use crate::model::text::{shell_word, typed_word};
use crate::model::time::Moment;
use crate::model::{Code, Error, RepoPath};
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::checkpoint::why;
use super::{aside_lines, undo};

/// Restore a checkpoint or any commit, or only some of its files
///
/// The current branch moves to the checkpoint, and index and files become equal to it. Files that are
/// replaced are moved aside, never deleted: 'git colony undo' restores every byte. Ignored files stay.
/// An operation (op-12) stands for the state before it, AGENT@ for the working tree of that agent: its
/// branch, with its uncommitted changes.
///
/// A branch, tag, fork, hash or revision (HEAD~1) is such a state as well: the current branch moves to that
/// commit, and index and files become equal to it, as by 'git reset --hard', and untracked files are moved
/// aside too. 'restore HEAD' undoes all uncommitted changes. Where a checkpoint has the name of a branch or
/// tag, say which: its id, or refs/heads/NAME.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is something that people type")]
pub(in crate::cli) struct Args {
    /// The checkpoint (id, label, unique prefix of either, @{0} for the newest, auto@{0}), an operation, or
    /// a revision
    #[arg(value_name = "ID")]
    name: String,
    /// What to restore; with paths, only files
    #[arg(long, value_enum)]
    mode: Option<ModeArg>,
    /// The label of the new fork (default: from- and the id)
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Keep untracked files that the checkpoint does not have
    #[arg(long)]
    keep_untracked: bool,
    /// Restore even if histories have diverged, or only the beginning of a name is given
    #[arg(short, long)]
    force: bool,
    /// Show what would change, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Whether '--' ends the line: a list of paths that came out empty.
    #[arg(skip)]
    pub(in crate::cli) names_no_path: bool,
    /// Restore only these files, or everything below these directories
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ModeArg {
    /// Branch, index and files
    Replace,
    /// Files only
    Files,
    /// All of it, on a new fork; the current branch stays where it is
    Fork,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("restore", Section::Restore, Screen::First)
        .example("git colony restore HEAD", "drop uncommitted changes; undo restores them")
        .example("git colony restore 'it works' -- a.txt", "one file as it was")
        .example("git colony restore release-1 -n", "show what going there would do")
        .answers::<RestoreReport>()
        .completes("ID", Names::CheckpointsAndOperations)
        .action(
            action("restore_checkpoint", Group::States, Effect::Destroys)
                .about(
                    "Restore a checkpoint, or go back to any previous version: all of an earlier \
                     state, or only some files",
                )
                .takes(&[
                    as_arg("checkpoint_id", "name")
                        .about("As for show_checkpoint; or an operation, or a revision"),
                    same("mode").about(
                        "replace (the default): branch and files; files: files only; fork: into a \
                         new fork",
                    ),
                    as_arg("recovery_label", "label").about("With 'mode' fork: its label"),
                    same("keep_untracked"),
                    same("force"),
                    same("paths").about("Only these files, or files below"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let name = shell_word(&args.name);
    refuse_usage(&args, &name)?;
    let files_only = args.mode == Some(ModeArg::Files) || !args.paths.is_empty();
    let session = face.session(Run::from(args.dry_run))?;
    taking_part::gather_state(&session, &args.name);
    let typed = args.paths.iter().map(|path| typed_path::repo_path(&session, path));
    let state = agent_state::find(&session, &args.name)?;
    let target = state.as_ref().map(|state| state.to_restore(&session)).transpose()?;
    let request = Request {
        name: args.name,
        target,
        mode: if files_only {
            RestoreMode::Files
        } else if args.mode == Some(ModeArg::Fork) {
            RestoreMode::Fork
        } else {
            RestoreMode::Replace
        },
        fork_label: args.label,
        paths: typed.collect::<Result<_, Error>>()?,
        keep_untracked: args.keep_untracked,
        force: args.force,
    };
    let mut report = restore::restore(&session, &request)
        .map_err(|error| explained(&session, &request.name, error))?;
    report.left_out = state.map(|state| state.left_out).unwrap_or_default();
    face.answer(&report)
}

fn refuse_usage(args: &Args, name: &str) -> Result<(), Error> {
    if args.names_no_path && args.paths.is_empty() {
        let message = "no path follows '--'";
        let hint = format!(
            "git colony restore {name} -- .   # all files below here; without '--': all of it"
        );
        return Err(Error::new(Code::Usage, message).unchanged().hint(hint));
    }
    let whole = matches!(args.mode, Some(ModeArg::Replace | ModeArg::Fork));
    if whole && !args.paths.is_empty() {
        let error = Error::new(
            Code::Usage,
            "'--mode replace' and '--mode fork' are about a whole branch and take no paths",
        );
        let paths: Vec<_> = args
            .paths
            .iter()
            .map(|path| path.to_string_lossy())
            .map(|path| shell_word(&path))
            .collect();
        let hint = format!("git colony restore {name} --mode files -- {}", paths.join(" "));
        return Err(error.hint(hint));
    }
    if let Some(label) = &args.label
        && args.mode != Some(ModeArg::Fork)
    {
        let error = Error::new(Code::Usage, "'--label' names the fork of '--mode fork'");
        let hint = format!("git colony restore {name} --mode fork --label {}", shell_word(label));
        return Err(error.hint(hint));
    }
    Ok(())
}

/// Says in an error what the name is: of a tree that is too large, of a path in HEAD, or of a removed agent.
fn explained(session: &Session, name: &str, error: Error) -> Error {
    agent_state::explain_unknown(session, of_a_path(session, name, error.of_tree(name)))
}

/// Adds the command that restores a file, if its name was typed in the place of a state.
fn of_a_path(session: &Session, typed: &str, error: Error) -> Error {
    if error.code() != Code::CheckpointNotFound {
        return error;
    }
    let last_commit = || {
        let path = typed_path::repo_path(session, Path::new(typed)).ok()?;
        let head = session.repo.tree_of(session.repo.head().ok()?.commit()).ok()?;
        session.repo.entry_in(head, path.as_path()).ok()??;
        let file = session.repo.leaf_in(head, &path).ok()?;
        Some(file.map_or("directory", |_| "file"))
    };
    match last_commit() {
        Some(kind) => {
            let message = format!("'{typed}' is a {kind}, not a checkpoint");
            let word = typed_word(typed);
            Error::new(Code::CheckpointNotFound, message)
                .unchanged()
                .hint(format!("git colony restore HEAD -- {word}"))
        }
        None => error,
    }
}

/// Says which commits come in where the branch moves on.
fn arriving(report: &RestoreReport) -> Option<String> {
    let moved = report.branch_move.filter(|_| report.behind > 0)?;
    let (from, to) = (moved.from.short(), moved.to.short());
    let count = text::count(report.behind, "commit");
    let (verb, come) =
        if report.dry_run { ("would move", "would come in") } else { ("moved", "came in") };
    Some(format!("'{}' {verb} {from} -> {to}, {count} {come}", report.branch))
}

/// Returns `true` if neither the path nor anything below it is known.
fn is_unread(left_out: &LeftOut) -> bool {
    left_out.reason == LeaveOutReason::Unreadable
}

fn is_submodule(left_out: &LeftOut) -> bool {
    matches!(left_out.reason, LeaveOutReason::EditedSubmodule | LeaveOutReason::ForeignSubmodule)
}

/// Says why the edits inside a submodule are not back.
fn absent_line(absent: &AbsentSubmodule) -> String {
    let path = &absent.path;
    match absent.reason {
        AbsenceReason::NotSetUp => {
            let word = typed_word(&path.to_string());
            format!(
                "not on this machine: edits inside {path}; git submodule update --init {word}, then restore it"
            )
        }
        AbsenceReason::NoSnapshot => format!("not on this machine: edits inside {path}"),
        AbsenceReason::NotItsOwn => {
            format!("not restored: edits inside {path}, with filters or a git directory of its own")
        }
        AbsenceReason::InProgress => {
            format!("not restored: edits inside {path}, git is in the middle of something there")
        }
        AbsenceReason::Failed => format!("not restored: edits inside {path}"),
    }
}

impl Answer for RestoreReport {
    fn message(&self) -> String {
        let inside = self.submodules_restored.iter().map(|submodule| submodule.files);
        let files = inside.fold(self.files, |sum, files| FileCounts {
            rewritten: sum.rewritten + files.rewritten,
            restored: sum.restored + files.restored,
            removed: sum.removed + files.removed,
        });
        let counts = [
            (files.rewritten, "rewritten"),
            (files.restored, "restored"),
            (files.removed, "removed"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0);
        let parts: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        let changes =
            if parts.is_empty() { "no file changed".to_owned() } else { text::list(&parts) };
        if self.dry_run {
            return format!("would restore '{}' into '{}': {changes}", self.label, self.branch);
        }
        match self.recovery {
            None if self.left_alone.iter().any(is_unread) => {
                format!("'{}' is the current state, as far as it can be read", self.label)
            }
            None if !self.submodules.is_empty()
                || !self.submodules_absent.is_empty()
                || self.left_alone.iter().any(is_submodule) =>
            {
                format!("'{}' is the current state, but for submodules", self.label)
            }
            None => format!("'{}' is already the current state", self.label),
            Some(_) => format!("restored '{}' into '{}': {changes}", self.label, self.branch),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let left = self.leaving_commits.iter();
        let mut lines: Vec<String> =
            left.flat_map(|left| undo::leaving(left, self.dry_run.into())).collect();
        lines.extend(self.on_remote.iter().map(RemoteCommits::sentence));
        lines.extend(arriving(self));
        lines.extend(aside_lines::of(
            self.dry_run.into(),
            &self.ignored_kept,
            "no checkpoint has it",
            &self.kept_late,
        ));
        let unignored = self.unignored.iter();
        lines.extend(
            unignored.map(|path| format!("no longer ignored, stays out of checkpoints: {path}")),
        );
        let is_restored = |path: &&RepoPath| {
            self.submodules_restored.iter().any(|submodule| submodule.path == **path)
        };
        let submodules = self.submodules.iter().filter(|path| !is_restored(path));
        lines.extend(submodules.map(|path| format!("submodule not touched: {path}")));
        lines.extend(self.submodules_restored.iter().filter(|submodule| submodule.other_head).map(
            |submodule| {
                let path = &submodule.path;
                format!(
                    "the submodule {path} stays at another commit than then: only its files changed"
                )
            },
        ));
        lines.extend(self.submodules_absent.iter().map(absent_line));
        // The flags that take something in are of 'checkpoint'.
        let alone = self.left_alone.iter();
        lines.extend(
            alone.map(|left| format!("left alone: {} ({})", left.path, why(left.reason).0)),
        );
        let left_out = self.left_out.iter();
        lines.extend(
            left_out.map(|left| format!("not part of it: {} ({})", left.path, why(left.reason).0)),
        );
        if let Some(what) = &self.in_progress {
            let verb = if self.dry_run { "would be" } else { "is" };
            lines.push(format!(
                "the {what} {verb} open again: git colony {what} --continue, or --abort"
            ));
        }
        if let Some(op) = self.recovery {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}
