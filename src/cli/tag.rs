//! `git colony tag`

use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::{self, Request};
use crate::ui::answer::Outcome;

use super::{Face, Run, Stop};

/// Name an existing commit as a checkpoint
///
/// Uncommitted work is not part of it; 'git colony checkpoint' keeps that.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Call it LABEL
    #[arg(short = 'm', long = "label", value_name = "LABEL")]
    label: String,
    /// Say why it is made
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    rationale: String,
    /// The commit
    #[arg(value_name = "REVISION", default_value = "HEAD")]
    revision: String,
    /// Say what would be tagged, and tag nothing
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
    let report = checkpoint::tag(&session, &request, &args.revision, args.dry_run)?;
    face.answer(&report)
}
