//! `git colony undo` and `git colony redo`

use crate::design::restore::abandoned_commits::LeavingCommits;
use crate::design::undo::undo_report::UndoReport;
use crate::design::undo::{self, Direction};
use crate::flow::agents::agent_places;
use crate::model::time::Moment;
use crate::store::operation::LateFile;
use crate::store::operation::last_act::LastAct;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Run, Stop};

/// Take back the newest operation of this worktree
///
/// Refs, HEAD, the index file and every file it moved come back as they were. Run it again to go
/// back further. What plain git did since is a step as well: it takes --force. What is no step (agents, sync,
/// map, hooks) and came after it is named, each with its own way back.
#[derive(Debug, clap::Args)]
pub(super) struct UndoArgs {
    /// Take back what plain git did, and commits that are on a remote
    #[arg(short, long)]
    force: bool,
    /// Say what would be taken back, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Take back the newest undo
///
/// Possible until another operation is made.
#[derive(Debug, clap::Args)]
pub(super) struct RedoArgs {
    /// Go on although commits leave the branch that are on a remote
    #[arg(short, long)]
    force: bool,
    /// Say what would come back, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn undo(face: &mut Face<'_>, args: &UndoArgs) -> Result<Outcome, Stop> {
    run(face, Direction::Undo, args.force, Run::from(args.dry_run))
}

pub(super) fn redo(face: &mut Face<'_>, args: &RedoArgs) -> Result<Outcome, Stop> {
    run(face, Direction::Redo, args.force, Run::from(args.dry_run))
}

fn run(face: &mut Face<'_>, direction: Direction, force: bool, run: Run) -> Result<Outcome, Stop> {
    let session = face.session(run)?;
    let report = match run {
        Run::Dry => undo::preview(&session, direction, force),
        Run::ForReal => undo::run(&session, direction, force),
    };
    let explained = |error| agent_places::explain_nothing(&session, error);
    face.answer(&report.map_err(explained)?)
}

/// Says which commits leave a branch.
pub(super) fn leaving(commits: &LeavingCommits, run: Run) -> Vec<String> {
    let verb = match (run, commits.count) {
        (Run::Dry, _) => "would leave",
        (Run::ForReal, 1) => "leaves",
        (Run::ForReal, _) => "leave",
    };
    let count = text::count(commits.count, "commit");
    let mut lines = vec![format!(
        "{count} {verb} '{}', kept by the operation:",
        commits.branch
    )];
    let newest = commits.newest.iter();
    lines.extend(newest.map(|commit| format!("  {} {}", commit.sha.short(), commit.subject)));
    let more = commits.count - commits.newest.len();
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

impl Answer for UndoReport {
    fn message(&self) -> String {
        let cut_off = if self.completed {
            "; this completes the command that was cut off, and does nothing else"
        } else {
            ""
        };
        match (self.dry_run, self.direction) {
            (true, Direction::Undo | Direction::Abort | Direction::AbortMigration) => {
                format!("would take back {}: {}", self.undone, self.what)
            }
            (true, Direction::Redo) => format!("would bring back {}: {}", self.undone, self.what),
            (false, Direction::Undo | Direction::Abort | Direction::AbortMigration) => {
                format!("took back {}: {}{cut_off}", self.undone, self.what)
            }
            (false, Direction::Redo) => {
                format!("brought back {}: {}{cut_off}", self.undone, self.what)
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<String> = self.acts_since.iter().map(LastAct::words).collect();
        if let Some(head) = &self.head {
            lines.push(format!(
                "  HEAD  {} -> {}",
                head.old.short(),
                head.new.short()
            ));
        }
        for change in &self.refs {
            let name = change.name.short();
            let (old, new) = (text::short(change.old), text::short(change.new));
            lines.push(format!("  {name}  {old} -> {new}"));
        }
        lines.extend(
            self.leaving_commits
                .iter()
                .flat_map(|left| leaving(left, self.dry_run.into())),
        );
        let back = match self.direction {
            Direction::Undo | Direction::Abort | Direction::AbortMigration => "redo",
            Direction::Redo => "undo",
        };
        let would = if self.dry_run { "would be" } else { "is" };
        lines.extend(self.checkpoints_gone.iter().map(|gone| {
            let label = &gone.label;
            format!("checkpoint '{label}' {would} gone; it comes back with: git colony {back}")
        }));
        if !self.published.is_empty() {
            let count = crate::ui::text::count(self.published.len(), "commit");
            lines.push(format!("{count} of these on a remote already:"));
            let shown = self.published.iter().take(10);
            lines.extend(shown.map(|id| format!("  {}", id.short())));
        }
        if self.files_restored + self.files_moved_aside > 0 {
            lines.push(format!(
                "{} put back, {} moved aside",
                text::count(self.files_restored, "file"),
                self.files_moved_aside
            ));
        }
        lines.extend(self.kept_late.iter().map(LateFile::sentence));
        lines
    }
}
