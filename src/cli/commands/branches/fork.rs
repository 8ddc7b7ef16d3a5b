//! `git colony fork`

use crate::agents::agent_state;
use crate::cli::actions::{Effect, Group, How, action, as_arg, how, same};
use crate::cli::commands::states::aside_lines;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::design::fork::{self, ForkReport, Request};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Create a fork and switch to it
///
/// Creates the branch 'fork/LABEL' at HEAD, or at another commit, and records its base, its base branch
/// and its owner: 'git colony merge LABEL' needs no target later. Uncommitted changes are carried over;
/// if one would be overwritten, the command stops.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// Its label, as in 'try-2' or 'ada/parser'
    #[arg(value_name = "LABEL")]
    label: String,
    /// Start at this branch, fork, checkpoint or commit
    #[arg(long, value_name = "REVISION")]
    from: Option<String>,
    /// Do not switch to it
    #[arg(long)]
    no_switch: bool,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("fork", Section::Collaborate, Screen::First)
        .example("git colony fork try-sqlite", "create a fork and switch to it")
        .example("git colony fork hotfix --from main --no-switch", "begin one elsewhere and stay")
        .answers::<ForkReport>()
        .action(
            action("fork_design", Group::Design, Effect::Adds)
                .about(
                    "Fork the design: create a fork, a branch, and switch to it unless 'checkout' \
                     is false",
                )
                .takes(&[
                    same("label"),
                    as_arg("from_sha", "from").about("A branch, fork, checkpoint or commit"),
                    how("checkout", How::Not("no_switch"))
                        .about("false: stay on the present branch"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Run::from(args.dry_run), args.from.as_slice())?;
    let request = Request { label: args.label, from: args.from, switch: !args.no_switch };
    let report = fork::create(&session, &request);
    let from = request.from.as_deref().unwrap_or("HEAD");
    let named = |error: Error| error.of_tree(from);
    let explained = |error| agent_state::explain_unknown(&session, error);
    face.answer(&report.map_err(named).map_err(explained)?)
}

impl Answer for ForkReport {
    fn message(&self) -> String {
        let (name, at) = (&self.name, self.head_sha.short());
        let from = self
            .diverged_from_branch
            .as_ref()
            .map_or(at.clone(), |branch| format!("{branch} ({at})"));
        let there = match (self.dry_run, self.switched) {
            (true, true) => "would create and switch to",
            (true, false) => "would create",
            (false, true) => "created and switched to",
            (false, false) => "created",
        };
        format!("{there} '{name}' at {from}")
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = Vec::new();
        if self.files_changed > 0 {
            lines.push(format!("{} changed", text::count(self.files_changed, "file")));
        }
        if !self.carried.is_empty() {
            let count = text::count(self.carried.len(), "uncommitted change");
            lines.push(format!("{count} carried over"));
        }
        lines.extend(aside_lines::of(
            self.dry_run.into(),
            &self.ignored_kept,
            "ignored and in the way",
            &self.kept_late,
        ));
        if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}
