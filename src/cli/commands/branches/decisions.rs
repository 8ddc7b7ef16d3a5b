//! `git colony decisions`

use std::path::PathBuf;

use crate::agents::agent_state;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::checkpoints::age;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Stop, typed_path};
use crate::design::decision::decisions::{
    self, Decision, DecisionReport, DecisionsReport, Filter, Status,
};
use crate::model::Error;
use crate::model::time::Moment;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// List the decisions, oldest first, the newest version of each
///
/// Read from the records below design/decisions in the history of HEAD. A decision is superseded when
/// another one says so, reverted when its record was deleted or its commit was reverted.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
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

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Show one decision in full, with the text of its record
    Show {
        /// The decision, by its id or a unique prefix of it
        #[arg(value_name = "DECISION")]
        id: String,
    },
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("decisions", Section::Inspect, Screen::All)
        .lists_by_itself()
        .example("git colony decisions", "what was decided")
        .example("git colony decisions --since main -- a.txt", "about one file, on this branch")
        .answers::<DecisionsReport>()
        .action(action("list_recent_decisions", Group::Design, Effect::Reads).takes(&[
            same("since").about("Only newer than this revision"),
            same("limit").about("The newest"),
            same("paths").about("Only with a commit that touched these, or files below"),
        ]))
        .below([Declaration::of("decisions show").answers::<DecisionReport>().action(
            action("show_decision", Group::Design, Effect::Reads).takes(&[as_arg(
                "decision_id",
                "id",
            )
            .about("Or a unique prefix")]),
        )])
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    if let Some(Action::Show { id }) = args.action {
        let session = face.session(Opening::Read)?;
        let report = decisions::show(&session, &id)?;
        return face.answer(&report);
    }
    // For real: what it finds is remembered.
    let session = face.session_among_others(Opening::Read, args.since.as_slice())?;
    let typed = args.paths.iter();
    let paths = typed.map(|path| typed_path::repo_path(&session, path));
    let filter = Filter {
        since: args.since,
        limit: Some(args.limit),
        paths: paths.collect::<Result<_, Error>>()?,
    };
    let report = decisions::list(&session, &filter);
    let explained = |error| agent_state::explain_unknown(&session, error);
    face.answer(&report.map_err(explained)?)
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

impl Answer for DecisionReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        format!("'{}' ({})", self.decision.title, self.decision.decision_id)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let decision = &self.decision;
        let mut lines = vec![
            format!("status  {}", status(decision.status)),
            format!("commit  {}", text::short(decision.sha)),
            format!("author  {}", decision.author),
            format!("date    {}", decision.authored_at),
            format!("record  {}", decision.relative_path),
        ];
        let mut name = |word: &str, values: &[String]| {
            let some = (!values.is_empty()).then(|| format!("{word}: {}", text::list(values)));
            lines.extend(some);
        };
        name("supersedes", decision.supersedes.as_slice());
        name("depends on", &decision.depends_on);
        name("implemented by", &decision.implements);
        for (heading, words) in [("summary", &decision.summary), ("rationale", &decision.rationale)]
        {
            if !words.is_empty() {
                lines.push(format!("{heading}:"));
                lines.extend(words.lines().map(|line| format!("    {line}")));
            }
        }
        let rejected = decision.rejected.iter();
        lines.extend(rejected.map(|alternative| format!("rejected: {alternative}")));
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
