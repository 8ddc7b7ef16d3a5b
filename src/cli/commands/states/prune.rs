//! `git colony prune`

use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::design::checkpoint::dropped_commits::DroppedCommit;
use crate::design::checkpoint::retention::PruneReport;
use crate::desk::prune::{self, PruneScope};
use crate::git::refs::damaged_refs::DamagedRef;
use crate::model::id::SessionId;
use crate::model::time::Moment;
use crate::store::refs::lost_refs::LostRef;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Delete old operations and automatic checkpoints
///
/// Operations are deleted after 90 days, or when there are more than 2,000, with the files they moved aside;
/// automatic checkpoints after 30 days, or when a branch has more than 50; sessions of this checkout that are archived
/// or ended, with the operations: 90 days after their last event. That includes the operations of
/// removed worktrees, and in the checkout of a person those of removed clones, which the hub keeps. Named
/// checkpoints stay. Unreachable objects are left to git's garbage collection.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Keep operations and sessions of the last DAYS days (default: colony.keepDays)
    #[arg(long, value_name = "DAYS")]
    keep: Option<u64>,
    /// Show what would be deleted, and delete nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("prune", Section::Inspect, Screen::All)
        .example("git colony prune -n", "show the data past its time")
        .example("git colony prune --keep 90", "keep three months")
        .answers::<PruneReport>()
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = prune::prune(&session, PruneScope::Everything, args.keep)?;
    face.answer(&report)
}

impl Answer for PruneReport {
    fn message(&self) -> String {
        let verb = if self.dry_run { "would remove" } else { "removed" };
        let operations = text::count(self.operations_removed.len(), "operation");
        let automatic = text::count(self.automatic_removed, "automatic checkpoint");
        let sessions = match self.sessions_removed.len() {
            0 => String::new(),
            count => format!(", {}", text::count(count, "session")),
        };
        let lost = match self.lost.len() {
            0 => String::new(),
            count => format!(", {} whose objects are gone", text::count(count, "ref")),
        };
        let damaged = match self.damaged.len() {
            0 => String::new(),
            count => format!(", {} without an object id", text::count(count, "ref")),
        };
        format!(
            "{verb} {operations} and {automatic}, {} of kept files{sessions}{lost}{damaged}",
            text::size(self.freed)
        )
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let kept = text::count(self.kept, "operation");
        let mut lines = vec![format!("{kept} left in this worktree")];
        if self.backups_removed > 0 {
            let refs = text::count(self.backups_removed, "ref");
            lines.push(format!("of a migration to git-lfs: {refs} as before it"));
        }
        if self.submodule_states_removed > 0 {
            let states = text::count(self.submodule_states_removed, "state");
            lines.push(format!("of submodules: {states} that nothing names any more"));
        }
        lines.extend(dropped(self));
        let gone = |lost: &LostRef| {
            let (name, missing) = (&lost.name, lost.missing);
            format!("lost: '{name}', whose object git has removed: {missing}")
        };
        lines.extend(self.lost.iter().map(gone));
        let damaged = |damaged: &DamagedRef| {
            let (name, holds) = (&damaged.name, &damaged.holds);
            format!("lost: '{name}', which had '{holds}' in place of an object id")
        };
        lines.extend(self.damaged.iter().map(damaged));
        let session = |id: &SessionId| format!("session {}", id.as_str());
        lines.extend(self.sessions_removed.iter().map(session));
        if self.of_removed_worktrees > 0 {
            let operations = text::count(self.of_removed_worktrees, "operation");
            lines.push(format!("of removed worktrees: {operations}"));
        }
        if self.removed_clones > 0 {
            let folders = text::count(self.removed_clones, "folder");
            lines.push(format!("{folders} of removed clones"));
        }
        if self.of_removed_clones + self.files_of_removed_clones > 0 {
            let operations = text::count(self.of_removed_clones, "operation");
            let files = text::count(self.files_of_removed_clones, "kept file");
            lines.push(format!("of removed clones, in the hub: {operations}, {files}"));
        }
        lines
    }
}

/// Lists the commits that no ref keeps any more, so that the user can restore one.
fn dropped(report: &PruneReport) -> Vec<String> {
    let count = report.commits_dropped_count;
    if count == 0 {
        return Vec::new();
    }
    let commits = text::count(count, "commit");
    let mut lines = vec![format!("{commits} that nothing else keeps:")];
    let named = &report.commits_dropped;
    let name = |commit: &DroppedCommit| format!("  {} {}", commit.sha.short(), commit.subject);
    lines.extend(named.iter().map(name));
    if count > named.len() {
        lines.push(format!("  and {} more", count - named.len()));
    }
    lines
}
