//! `git colony decide`

use std::path::PathBuf;

use crate::design::decision::decide::{self, DecideReport, Request};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::commit::left_out_of_commit;
use super::{Face, Run, Stop, paths};

/// Record a decision, and commit it with the work it is about
///
/// The record is a file in design/decisions. The pending changes of the named paths are committed
/// together with it, whatever else is staged stays; commits that are there already are named by
/// --implements. Hooks of git do not run.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What was decided, in one line
    #[arg(short = 'm', long = "title", value_name = "TITLE")]
    title: String,
    /// The same in a few sentences
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    rationale: Option<String>,
    /// What was not chosen, and why; may be given more than once
    #[arg(long, value_name = "TEXT")]
    rejected: Vec<String>,
    /// Call it DECISION (default: made of the title); that of one that exists writes its next version
    #[arg(long, value_name = "DECISION")]
    id: Option<String>,
    /// The decision that this one takes the place of
    #[arg(long, value_name = "DECISION")]
    supersedes: Option<String>,
    /// A decision that this one needs; may be given more than once
    #[arg(long, value_name = "DECISION")]
    depends_on: Vec<String>,
    /// A commit that carries it out already; may be given more than once
    #[arg(long, value_name = "REVISION")]
    implements: Vec<String>,
    /// Files and directories whose pending changes carry it out
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Say what would be written and committed, and do neither
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let run = Run::from(args.dry_run);
    let session = face.session(run)?;
    let typed = args.paths.iter();
    let paths = typed.map(|path| paths::repo_path(&session, path));
    let request = Request {
        title: args.title,
        summary: args.summary,
        rationale: args.rationale,
        rejected: args.rejected,
        id: args.id,
        supersedes: args.supersedes,
        depends_on: args.depends_on,
        implements: args.implements,
        paths: paths.collect::<Result<_, Error>>()?,
    };
    let report = match run {
        Run::Dry => decide::preview(&session, &request)?,
        Run::ForReal => decide::decide(&session, &request)?,
    };
    face.answer(&report)
}

impl Answer for DecideReport {
    fn message(&self) -> String {
        let id = &self.decision.decision_id;
        if !self.changed {
            return format!("decision '{id}' says so already");
        }
        let verb = match (self.dry_run, self.next_version) {
            (true, true) => "would write the next version of",
            (true, false) => "would write down",
            (false, true) => "wrote the next version of",
            (false, false) => "wrote down",
        };
        let with = if self.reasons_only {
            "only reasons were recorded".to_owned()
        } else {
            format!("with {}", text::count(self.files_changed, "changed path"))
        };
        format!("{verb} '{id}' on '{}', {with}", self.branch)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<_> = self.left_out.iter().map(left_out_of_commit).collect();
        if self.reasons_only && self.changed {
            lines.push(
                if self.named_paths {
                    "nothing is pending below the named paths; --implements COMMIT names what was done"
                } else {
                    "name PATHs to commit their pending changes with it, or --implements COMMIT"
                }
                .to_owned(),
            );
        }
        if let Some(op) = self.op {
            lines.push(format!("take it back: git colony undo   ({op})"));
        }
        lines
    }
}
