//! `git colony lfs migrate`

use crate::flow::migrate::{
    self, MigrateReport, MigrateStatus, Publication, Request, Since, Start,
};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Run, Stop};

/// Move large files that are committed already to git-lfs, by rewriting history
///
/// Every branch and tag moves to a new history at once, here and then on origin, with notes,
/// checkpoints and records of forks; a ref on origin that another user has moved meanwhile is left alone.
/// Uncommitted edits, and work that would be left behind, stop it before anything changes. Run it again
/// to publish the rest; until then --abort undoes it.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Args {
    /// Continue a migration that was cut off, and do nothing else
    #[arg(long = "continue", conflicts_with = "abort")]
    go_on: bool,
    /// Undo a migration that is not published: every ref returns to its old commit
    #[arg(long)]
    abort: bool,
    /// With --abort: also where commits were made since; they are kept below refs/colony/kept
    #[arg(long, requires = "abort")]
    force: bool,
    /// Leave origin as it is for now
    #[arg(long, conflicts_with = "abort")]
    no_push: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    if args.abort {
        let since = if args.force { Since::Keep } else { Since::Refuse };
        return face.answer(&migrate::abort(&session, since)?);
    }
    let request = Request {
        publication: if args.no_push { Publication::No } else { Publication::Yes },
        start: if args.go_on { Start::CutOff } else { Start::Anywhere },
    };
    face.answer(&migrate::migrate(&session, request)?)
}

/// The maximum number of patterns on one line; beyond it, only their number is shown.
const SHOWN_PATTERNS: usize = 8;

impl MigrateReport {
    /// Prints the patterns of the rewrite and notes about them, once.
    fn news(&self) -> Vec<String> {
        let is_new = matches!(self.status, MigrateStatus::Migrated | MigrateStatus::Followed);
        if !is_new {
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
            (MigrateStatus::Continued, true) => {
                format!("would publish a migration of {commits}")
            }
            (MigrateStatus::Continued, false) => format!("{commits} were rewritten already"),
            (MigrateStatus::Followed, _) => {
                format!("followed a migration made elsewhere: {commits} rewritten, {refs} moved")
            }
            (MigrateStatus::Aborted, true) if self.commits == 0 => {
                "would undo the set-up of a migration that was cut off".to_owned()
            }
            (MigrateStatus::Aborted, false) if self.commits == 0 => {
                "undid the set-up of a migration that was cut off; no ref had moved".to_owned()
            }
            (MigrateStatus::Aborted, true) => format!("would undo a migration of {commits}"),
            (MigrateStatus::Aborted, false) => format!("undid a migration of {commits}"),
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
        for one in &self.kept {
            let (name, kept) = (one.name.short(), &one.kept_as);
            let commits = text::count(one.commits, "commit");
            lines.push(format!("{commits} of {name} kept as {kept}: {}", one.way_back()));
        }
        for left in &self.left_on_new {
            let name = left.name.short();
            lines.push(format!("{name} stays in the history that was undone: {}", left.way_back));
        }
        lines.extend(self.news());
        match (&self.push_error, self.pushed) {
            (Some(error), _) => lines.push(format!("not pushed: {error}")),
            (None, true) => {
                let refs = text::count(self.pushed_refs.len(), "ref");
                lines.push(format!("pushed to origin: {refs}"));
            }
            (None, false) => {}
        }
        let is_open = !self.pushed && !self.dry_run;
        if is_open && matches!(self.status, MigrateStatus::Migrated | MigrateStatus::Continued) {
            lines.push("to undo: git colony lfs migrate --abort".to_owned());
        }
        lines
    }

    fn outcome(&self) -> Outcome {
        if self.push_error.is_some() { Outcome::No } else { Outcome::Yes }
    }
}
