//! `git colony checkpoint`

use std::path::PathBuf;

use crate::cli::actions::{Effect, Group, How, action, how, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop, typed_path};
use crate::design::checkpoint::left_out::{Allowances, LeaveOutReason, LeftOut};
use crate::design::checkpoint::{self, CheckpointReport, Request, automatic};
use crate::design::submodule::snapshots::SubmoduleReport;
use crate::model::Error;
use crate::model::time::Moment;
use crate::store::operation::Kind;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Commit the whole working tree under a label
///
/// Commits everything that is tracked, and everything untracked that is not ignored, on the current
/// branch. Commit hooks do not run: a checkpoint keeps all files, finished or not.
/// Left out, and listed: untracked files over 100 MiB, likely secrets, nested repositories.
/// Edits inside submodules are kept in the repositories of these.
/// More than 2,000 untracked files are refused.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(in crate::cli) struct Args {
    /// Label of the checkpoint (default: branch and time)
    #[arg(short = 'm', long = "label", value_name = "LABEL")]
    label: Option<String>,
    /// Add TEXT to its message
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    rationale: String,
    /// Leave branch, index and HEAD as they are (default: colony.checkpoint.offBranch)
    #[arg(long)]
    off_branch: bool,
    /// Commit on the branch, whatever colony.checkpoint.offBranch says
    #[arg(long, conflicts_with_all = ["off_branch", "auto"])]
    on_branch: bool,
    /// Keep the state privately if it has changed since the last checkpoint; never wait for a lock
    #[arg(long, conflicts_with_all = ["label", "off_branch"])]
    auto: bool,
    /// Include untracked files however many they are (default: up to colony.maxNewFiles)
    #[arg(long, conflicts_with = "auto")]
    all_untracked: bool,
    /// Include untracked files of any size
    #[arg(long, conflicts_with = "auto")]
    allow_large: bool,
    /// Include PATH, or everything below it, even if it looks like a secret
    #[arg(long, value_name = "PATH", conflicts_with = "auto")]
    allow_secret: Vec<PathBuf>,
    /// Include untracked files that were ignored until a restore brought older ignore files back
    #[arg(long, conflicts_with = "auto")]
    include_unignored: bool,
    /// Show what would be kept, and keep nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("checkpoint", Section::Keep, Screen::First)
        .example("git colony checkpoint -m 'it works'", "commit everything under a label")
        .example(
            "git colony checkpoint --off-branch -m 'half an idea'",
            "keep it without a commit on the branch",
        )
        .answers::<CheckpointReport>()
        .action(
            action("checkpoint_state", Group::States, Effect::Adds)
                .about(
                    "Make a checkpoint: save and keep the current state, untracked files too, \
                     before a risky change; restore_checkpoint brings it back. Commits to the \
                     branch unless 'off_branch'",
                )
                .takes(&[
                    same("label")
                        .about("A short label; one that is used twice has to be named by the id")
                        .required(),
                    same("rationale"),
                    how("all_changes", How::OrElse("checkpoints tag")).about(
                        "false: name the present commit only, and leave uncommitted changes out",
                    ),
                    same("off_branch").about("Leave branch, index and HEAD as they are"),
                    same("allow_large"),
                    same("all_untracked"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    if args.auto {
        face.hurry();
    }
    let session = face.session(Run::from(args.dry_run))?;
    if args.auto {
        return face.answer(&automatic::create(&session, &args.rationale)?);
    }
    let secrets = args.allow_secret.iter().map(|path| typed_path::repo_path(&session, path));
    let request = Request {
        label: args.label,
        rationale: args.rationale,
        off_branch: args.off_branch || (session.settings.checkpoint_off_branch && !args.on_branch),
        allowances: Allowances {
            large: args.allow_large,
            secrets: secrets.collect::<Result<_, Error>>()?,
            unignored: args.include_unignored,
            untracked: args.all_untracked,
        },
    };
    face.answer(&checkpoint::create(&session, &request)?)
}

impl Answer for CheckpointReport {
    fn narration(&self) -> Vec<String> {
        let uses = self.label_uses.into_iter();
        let line = |uses| {
            format!(
                "note: {} have the label '{}': each is named by its id, the label is ambiguous",
                text::count(uses, "checkpoint"),
                self.label
            )
        };
        uses.map(line).collect()
    }

    fn message(&self) -> String {
        let changes = text::count(self.files_changed, "changed path");
        if self.kind == Kind::Tag {
            let verb = if self.dry_run { "would tag" } else { "tagged" };
            return format!("{verb} {} as '{}'", text::short(self.sha), self.label);
        }
        match (self.reason, self.dry_run, self.branch_moved) {
            (Some("busy"), ..) => "nothing kept: another command is running".to_owned(),
            (Some(_), ..) => "nothing to keep: the state is kept already".to_owned(),
            (None, true, _) => format!("would keep '{}' with {changes}", self.label),
            (None, false, true) => {
                format!("kept '{}' with {changes}, on '{}'", self.label, self.branch)
            }
            (None, false, false) => {
                format!("kept '{}'; no commit on '{}'", self.label, self.branch)
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<String> =
            self.submodules.iter().map(|kept| submodule_line(kept, self.dry_run)).collect();
        lines.extend(self.left_out.iter().map(left_out_line));
        if !self.without_filter.is_empty() {
            let files = text::count(self.without_filter.len(), "file");
            lines.push(format!(
                "attention: {files} for git-lfs kept in git, its filters are not set up here: git colony init"
            ));
            let shown = self.without_filter.iter().take(10);
            lines.extend(shown.map(|path| format!("  {path}")));
        }
        if let Some(id) = &self.checkpoint_id {
            lines.push(format!("to restore: git colony restore {id}"));
        }
        lines
    }
}

fn submodule_line(kept: &SubmoduleReport, dry_run: bool) -> String {
    let verb = if dry_run { "would keep" } else { "kept" };
    let changes = text::count(kept.files_changed, "changed path");
    format!("{verb} too: {changes} inside the submodule {}", kept.path)
}

pub(in crate::cli) fn left_out_line(left_out: &LeftOut) -> String {
    let (why, way) = why(left_out.reason);
    let way = way.map_or_else(String::new, |way| format!("; {way} includes it"));
    format!("left out: {} ({why}{way})", left_out.path)
}

/// Says why something was left out, and which flag includes it.
pub(in crate::cli) fn why(reason: LeaveOutReason) -> (&'static str, Option<&'static str>) {
    match reason {
        LeaveOutReason::EditedSubmodule => ("edits inside a submodule", None),
        LeaveOutReason::ForeignSubmodule => {
            ("edits inside a submodule with filters or a git directory of its own", None)
        }
        LeaveOutReason::NestedRepository => ("a repository of its own", None),
        LeaveOutReason::RefusedName => ("git refuses the name", None),
        LeaveOutReason::Unreadable => ("cannot be read", None),
        LeaveOutReason::Unignored => ("ignored until a restore", Some("--include-unignored")),
        LeaveOutReason::Large => ("large", Some("--allow-large")),
        LeaveOutReason::Secret => ("looks like a secret", Some("--allow-secret PATH")),
    }
}
