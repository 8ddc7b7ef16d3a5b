//! `git colony init remove`

use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::init::deinit::{self, DeinitReport, Depth, Request};
use crate::model::time::Moment;
use crate::ui::answer::Answer;
use crate::ui::answer::Outcome;

/// Remove git-colony from this repository
///
/// Removes its hooks, its settings and what init set up beside the tree. Checkpoints, operations
/// and kept files stay unless --purge is given; the tree and its history always stay.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Remove operations, automatic checkpoints, checkpoint tags and kept files too
    #[arg(long)]
    purge: bool,
    /// Delete kept files, which undo would restore, for good
    #[arg(short, long, requires = "purge")]
    force: bool,
    /// Show what would be deleted, and delete nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("init remove")
        .example("git colony init remove -n", "show what would be taken out")
        .example("git colony init remove --purge -n", "with checkpoints and kept files")
        .answers::<DeinitReport>()
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        depth: if args.purge { Depth::Everything } else { Depth::Settings },
        force: args.force,
    };
    let report = deinit::deinit(&session, request)?;
    face.answer(&report)
}

impl Answer for DeinitReport {
    fn message(&self) -> String {
        match (self.removed.is_empty(), self.dry_run) {
            (true, _) => "there is no setup to remove".to_owned(),
            (false, true) => format!("would remove: {}", self.removed.join(", ")),
            (false, false) => format!("removed: {}", self.removed.join(", ")),
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let stays = self.stays.iter().map(|what| format!("stays: {what}"));
        let left = self.left.iter().map(|left| format!("stays: {}: {}", left.what, left.command));
        let mut lines: Vec<String> = stays.chain(left).collect();
        if self.needs_force {
            lines.push("refused without --force: kept files would be deleted for good".to_owned());
        }
        lines
    }
}
