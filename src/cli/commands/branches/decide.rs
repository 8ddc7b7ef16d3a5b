//! `git colony decide`

use std::path::PathBuf;

use crate::agents::agent_state;
use crate::agents::colony::taking_part;
use crate::cli::actions::{Effect, Group, action, same};
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop, typed_path};
use crate::design::checkpoint::left_out::Allowances;
use crate::design::decision::decide::{self, DecideReport, Request};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::commit::left_out_of_commit;

/// Record a decision, and commit it with the work it is about
///
/// The record is a file in design/decisions. The pending changes of the named paths are committed
/// together with it; other staged changes stay staged. Existing commits are named with --implements. Git
/// hooks do not run. The file is committed on this branch; the commit names the decision and, in a session,
/// the session, so both are published with it.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
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
    /// Call it DECISION (default: made from the title); if it exists, its next version is written
    #[arg(long, value_name = "DECISION")]
    id: Option<String>,
    /// The decision that this one replaces
    #[arg(long, value_name = "DECISION")]
    supersedes: Option<String>,
    /// A decision that this one depends on; may be given more than once
    #[arg(long, value_name = "DECISION")]
    depends_on: Vec<String>,
    /// A commit that already implements it; may be given more than once
    #[arg(long, value_name = "REVISION")]
    implements: Vec<String>,
    /// Include untracked files however many they are (default: up to colony.maxNewFiles)
    #[arg(long)]
    all_untracked: bool,
    /// Files and directories whose uncommitted changes implement it
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be written and committed, and do neither
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("decide", Section::Keep, Screen::All)
        .example(
            "git colony decide -m 'Use SQLite' --rationale 'one file, no server'",
            "record a decision",
        )
        .example(
            "git colony decide -m 'Keep ids stable' a.txt",
            "commit it with the file it is about",
        )
        .answers::<DecideReport>()
        .action(
            action("decide", Group::Design, Effect::Adds)
                .about(
                    "Record a decision with its rationale, and commit it with the work it is about",
                )
                .takes(&[
                    same("title"),
                    same("summary"),
                    same("rationale").plain(),
                    same("rejected"),
                    same("id").about(
                        "Default: from the title; if it exists, its next version is written",
                    ),
                    same("supersedes"),
                    same("depends_on").plain(),
                    same("implements").about("Commits that do already"),
                    same("paths").about("Whose uncommitted changes implement it"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session(Run::from(args.dry_run))?;
    let typed = args.paths.iter();
    let paths = typed.map(|path| typed_path::repo_path(&session, path));
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
        allowances: Allowances { untracked: args.all_untracked, ..Allowances::default() },
    };
    for name in &request.implements {
        taking_part::gather_state(&session, name);
    }
    let explained = |error| agent_state::explain_unknown(&session, error);
    face.answer(&decide::decide(&session, &request).map_err(explained)?)
}

impl Answer for DecideReport {
    fn message(&self) -> String {
        let id = &self.decision.decision_id;
        if !self.changed {
            return format!("decision '{id}' already says this");
        }
        let verb = match (self.dry_run, self.next_version) {
            (true, true) => "would write the next version of",
            (true, false) => "would record",
            (false, true) => "wrote the next version of",
            (false, false) => "recorded",
        };
        let with = match (self.reasons_only, self.dry_run) {
            (true, true) => "only the reasons".to_owned(),
            (true, false) => "only reasons were recorded".to_owned(),
            (false, _) => format!("with {}", text::count(self.files_changed, "changed path")),
        };
        format!("{verb} '{id}' on '{}', {with}", self.branch)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines: Vec<_> = self.left_out.iter().map(left_out_of_commit).collect();
        lines.extend(self.taken_id.as_ref().map(|taken| {
            format!("'{taken}' exists already: --id {taken} writes its next version")
        }));
        if self.reasons_only && self.changed {
            lines.push(
                if self.named_paths {
                    "nothing is uncommitted below the named paths; --implements COMMIT names a commit that implements it"
                } else {
                    "name PATHs to commit their pending changes with it, or --implements COMMIT"
                }
                .to_owned(),
            );
        }
        if self.is_first && self.changed {
            let path = &self.decision.relative_path;
            lines.push(format!("the first record here, a file of the branch: {path}"));
        }
        if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}
