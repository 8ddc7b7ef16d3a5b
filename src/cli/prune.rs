//! `git colony prune`

use crate::design::retention::{self, PruneReport, Scope};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Run, Stop};

/// Let go of old operations and automatic checkpoints
///
/// Operations go after 90 days or when there are more than 2,000, with the files they moved aside;
/// automatic checkpoints after 30 days or when a branch has more than 50. Checkpoints somebody asked
/// for stay. Objects nobody needs any more are git's to collect.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Keep operations of the last DAYS days (default: colony.keepDays)
    #[arg(long, value_name = "DAYS")]
    keep: Option<u64>,
    /// Say what would go, and remove nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let report = retention::prune(&session, Scope::Everything, args.keep, args.dry_run)?;
    face.answer(&report)
}

impl Answer for PruneReport {
    fn message(&self) -> String {
        let verb = if self.dry_run {
            "would remove"
        } else {
            "removed"
        };
        let operations = text::count(self.operations_removed.len(), "operation");
        let automatic = text::count(self.automatic_removed, "automatic checkpoint");
        format!(
            "{verb} {operations} and {automatic}, {} of kept files",
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
        lines
    }
}
