//! `git colony clones`

use crate::flow::clones::{self, Clone, ClonesReport, GcReport, RefreshReport};
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Stop};

/// List the clones of this repository, or outside of one all, and tend them
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List them (the default)
    List,
    /// Take a clone away; what an agent has in it stays in the hub
    Remove {
        /// The clone: its id, its agent or its path
        #[arg(value_name = "CLONE")]
        id: String,
        /// Let go of what cannot be kept
        #[arg(short, long)]
        force: bool,
        /// Say what would be done, and do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
    /// Fetch from the remote for a clone; one for reading goes to the newest commit
    Refresh {
        /// The clone: its id, its agent or its path
        #[arg(value_name = "CLONE")]
        id: String,
    },
    /// Remove the hubs that no clone borrows from any more
    Gc {
        /// Also those that hold the work of clones that were removed
        #[arg(short, long)]
        force: bool,
        /// Say what would be done, and do nothing
        #[arg(short = 'n', long)]
        dry_run: bool,
    },
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let (world, session) = face.session_if_any()?;
    let session = session.as_ref();
    match args.action {
        None | Some(Action::List) => face.answer(&clones::list(&world, session)?),
        Some(Action::Remove { id, force, dry_run }) => {
            let report = clones::remove(&world, session, &id, (force, dry_run))?;
            face.answer(&report)
        }
        Some(Action::Refresh { id }) => face.answer(&clones::refresh(&world, session, &id)?),
        Some(Action::Gc { force, dry_run }) => face.answer(&clones::gc(&world, force, dry_run)?),
    }
}

impl Answer for ClonesReport {
    fn message(&self) -> String {
        text::count(self.count, "clone")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row = |clone: &Clone| {
            let whose = clone.agent.as_deref().unwrap_or("(reading)");
            vec![
                format!("  {}", clone.id.get(..8).unwrap_or(&clone.id)),
                whose.to_owned(),
                clone.scope.clone(),
                clone.path.display().to_string(),
            ]
        };
        text::table(&self.clones.iter().map(row).collect::<Vec<_>>())
    }
}

impl Answer for RefreshReport {
    fn message(&self) -> String {
        match self.moved.len() {
            0 => "the clone is up to date".to_owned(),
            count => format!("{} moved", text::count(count, "remote branch")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        self.moved.iter().map(|name| format!("  {name}")).collect()
    }
}

impl Answer for GcReport {
    fn message(&self) -> String {
        let did = if self.dry_run {
            "would remove"
        } else {
            "removed"
        };
        format!("{did} {}", text::count(self.removed.len(), "hub"))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let removed = self.removed.iter();
        let removed = removed.map(|path| format!("  {}", path.display()));
        let kept = self.kept.iter().map(|path| {
            format!(
                "  kept, it holds the work of clones that were removed: {}   (--force lets go of it)",
                path.display()
            )
        });
        removed.chain(kept).collect()
    }
}
