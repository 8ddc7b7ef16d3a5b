//! `git colony lfs migrate`

use crate::cli::actions::{Effect, Group, How, action, how, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::migrate::{self, Agents, MigrateReport, MigrateStatus, Publication, Replaced, Request};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Move large files that are committed already to git-lfs, by rewriting history
///
/// Every branch and tag moves to a new history at once, here, with notes, checkpoints and records of forks;
/// 'git colony undo' takes it back. Nothing is pushed without --push: the answer names what a push would
/// replace. Uncommitted edits, and work in clones that is not merged, stop it before anything changes.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(in crate::cli) struct Args {
    /// Push to origin, too, replacing its old history: this allows pushing there until its URL changes
    ///
    /// Every branch and tag that is old there moves at once, each only from the commit that was seen. Run it
    /// again to publish a history that was rewritten before.
    #[arg(long, conflicts_with_all = ["push_if_allowed", "no_push"])]
    push: bool,
    /// Push only if a person has allowed pushing to this URL before, by --push
    #[arg(long, conflicts_with = "no_push")]
    push_if_allowed: bool,
    /// Push nothing; this is the default
    #[arg(long)]
    no_push: bool,
    /// Go on although clones of agents have work that is not merged: 'merge' rewrites it later
    #[arg(long)]
    leave_agents: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("lfs migrate").answers::<MigrateReport>().action(
        action("lfs_migrate", Group::Repository, Effect::Destroys).takes(&[
            how("push", How::Either("push_if_allowed", "no_push"))
                .about("Where a person has allowed it; true by default"),
            same("leave_agents"),
        ]),
    )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        publication: publication(args.push, args.push_if_allowed),
        agents: if args.leave_agents { Agents::Leave } else { Agents::Refuse },
    };
    face.answer(&migrate::migrate(&session, request)?)
}

/// Returns whether something is published, from the two flags.
pub(in crate::cli) fn publication(push: bool, push_if_allowed: bool) -> Publication {
    match (push, push_if_allowed) {
        (true, _) => Publication::Consents,
        (false, true) => Publication::WithConsent,
        (false, false) => Publication::Local,
    }
}

/// The maximum number of patterns on one line; beyond it, only their number is shown.
const SHOWN_PATTERNS: usize = 8;

impl MigrateReport {
    /// Prints the patterns of the rewrite and notes about them, once.
    fn news(&self) -> Vec<String> {
        if self.status != MigrateStatus::Migrated {
            return Vec::new();
        }
        let mut lines = Vec::new();
        match self.patterns.len() {
            0 => {}
            1..=SHOWN_PATTERNS => lines.push(format!("patterns: {}", self.patterns.join(" "))),
            more => lines.push(format!("patterns: {more}, as .gitattributes has them")),
        }
        let notes = self.notes.iter();
        lines.extend(notes.map(|note| format!("attention: {note}")));
        lines
    }
}

impl Answer for MigrateReport {
    fn message(&self) -> String {
        let commits = text::count(self.commits, "commit");
        let refs = text::count(self.refs.len(), "ref");
        match (self.status, self.dry_run) {
            (MigrateStatus::Migrated, true) => {
                let files = text::count(self.files, "file");
                format!("would rewrite the history of {refs}; {files} of HEAD would go to git-lfs")
            }
            (MigrateStatus::Migrated, false) => {
                format!("moved large files to git-lfs: {commits} rewritten, {refs} moved")
            }
            (MigrateStatus::UpToDate, _) => "git-lfs has every large file already".to_owned(),
            (MigrateStatus::Continued, _) => "published the rewritten history".to_owned(),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        for moved in &self.refs {
            let (old, new) = (text::short(moved.old), text::short(moved.new));
            let name = moved.name.short();
            lines.push(match moved.new {
                None if self.dry_run => format!("  {name}  {old}"),
                _ => format!("  {name}  {old} -> {new}"),
            });
        }
        lines.extend(self.news());
        match &self.push_error {
            Some(error) => lines.push(format!("not pushed: {error}")),
            None if self.pushed => {
                let refs = text::count(self.pushed_refs.len(), "ref");
                lines.push(format!("pushed to origin: {refs}"));
            }
            None => {}
        }
        lines.extend(replaced(&self.replaces, self.push_command));
        if self.op.is_some() {
            lines.push("to undo: git colony undo".to_owned());
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        let is_refused = self.push_error_code.is_some_and(|code| code != "no-consent");
        if is_refused { Outcome::No } else { Outcome::Yes }
    }
}

/// Says what a push would replace, and the command that pushes.
pub(in crate::cli) fn replaced(replaces: &[Replaced], command: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if !replaces.is_empty() {
        lines.push("a push would replace:".to_owned());
        lines.extend(replaces.iter().map(|replaced| format!("  {}", replaced.to_text())));
    }
    lines.extend(command.map(|command| format!("to publish: {command}")));
    lines
}
