//! `git colony tag`

use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::{self, Request};
use crate::ui::answer::Outcome;

use super::{Face, Run, Stop};

/// Create a checkpoint of an existing commit
///
/// Uncommitted work is not part of it; 'git colony checkpoint' keeps that.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Label of the checkpoint
    #[arg(short = 'm', long = "label", value_name = "LABEL")]
    label: String,
    /// Add TEXT to its message
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    rationale: String,
    /// The commit
    #[arg(value_name = "REVISION", default_value = "HEAD")]
    revision: String,
    /// Show what would be tagged, and tag nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        label: Some(args.label),
        rationale: args.rationale,
        off_branch: false,
        allowances: Allowances::default(),
    };
    let report = checkpoint::tag(&session, &request, &args.revision)?;
    face.answer(&report)
}
