//! `git colony checkpoints tag`

use crate::agents::agent_state;
use crate::agents::colony::taking_part;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::{self, CheckpointReport, Request};
use crate::ui::answer::Outcome;

/// Create a checkpoint of an existing commit
///
/// Uncommitted work is not part of it; 'git colony checkpoint' keeps that.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
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

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::of("checkpoints tag")
        .example(
            "git colony checkpoints tag -m 'last good' HEAD~1",
            "give an existing commit a label",
        )
        .example(
            "git colony checkpoints tag -m release-1 HEAD --rationale 'sent to the customer'",
            "and a reason",
        )
        .answers::<CheckpointReport>()
        .action(action("tag_checkpoint", Group::States, Effect::Adds).takes(&[
            same("label").plain(),
            same("rationale"),
            as_arg("ref", "revision").or("sha").plain(),
        ]))
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let request = Request {
        label: Some(args.label.clone()),
        rationale: args.rationale.clone(),
        off_branch: false,
        allowances: Allowances::default(),
    };
    taking_part::gather_state(&session, &args.revision);
    let report = checkpoint::tag(&session, &request, &args.revision);
    let explained = |error| agent_state::explain_unknown(&session, error);
    face.answer(&report.map_err(explained)?)
}
