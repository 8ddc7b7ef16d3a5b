//! `git colony decisions`

use std::path::PathBuf;

use crate::design::decision::decisions::{self, Decision, DecisionsReport, Filter, Status};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::checkpoints::age;
use super::{Face, Run, Stop, paths};

/// List the decisions, oldest first, the newest version of each
///
/// Read from the records below design/decisions in the history of HEAD. A decision is superseded when
/// another one says so, reverted when its record was deleted or its commit was reverted.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only decisions that are newer than REVISION
    #[arg(long, value_name = "REVISION")]
    since: Option<String>,
    /// At most N, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Only decisions with a commit that touched PATH, or something below it
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<PathBuf>,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    // For real: what it finds is remembered.
    let session = face.session_among_others(Run::ForReal, args.since.as_slice())?;
    let typed = args.paths.iter();
    let paths = typed.map(|path| paths::repo_path(&session, path));
    let filter = Filter {
        since: args.since,
        limit: Some(args.limit),
        paths: paths.collect::<Result<_, Error>>()?,
    };
    let report = decisions::list(&session, &filter)?;
    face.answer(&report)
}

impl Answer for DecisionsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        let count = text::count(self.count, "decision");
        if self.count < self.total {
            format!("{count} of {}; --limit shows more", self.total)
        } else {
            count
        }
    }

    fn body(&self, now: &Moment) -> Vec<String> {
        let row = |decision: &Decision| {
            vec![
                decision.decision_id.clone(),
                age(&decision.authored_at, now),
                text::short(decision.sha),
                status(decision.status).to_owned(),
                decision.title.clone(),
            ]
        };
        let rows: Vec<_> = self.decisions.iter().map(row).collect();
        let mut lines = text::table(&rows);
        let problems = self.problems.iter();
        lines.extend(
            problems.map(|problem| format!("not used: {} {}", problem.path, problem.message)),
        );
        lines
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Active => "active",
        Status::Superseded => "superseded",
        Status::Reverted => "reverted",
    }
}
