//! `git colony cherry-pick`

use crate::agents::agent_state;
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::aside_lines;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop};
use crate::design::merge::resolve;
use crate::design::pick::{self, PickReport, Request};
use crate::design::undo::undo_report::UndoReport;
use crate::desk::log;
use crate::git::Oid;
use crate::model::Error;
use crate::model::time::Moment;
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::merge;

/// Apply chosen commits to a branch
///
/// All commits are applied or none: the picks are computed first; if one conflicts, nothing changes, and
/// the answer lists the conflicts (exit code 1). Authors and messages stay; a last line names the original
/// commit.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that people type")]
pub(in crate::cli) struct Args {
    /// Commits, in order; A..B for the commits of B that A does not have; an agent, for its commits since it left; or a
    /// decision, for its commits
    #[arg(
        value_name = "COMMIT",
        required_unless_present_any = ["go_on", "abort"],
        conflicts_with_all = ["go_on", "abort"]
    )]
    what: Vec<String>,
    /// Apply them to this branch, which need not be checked out
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Also apply the decisions that it depends on and the branch does not have
    #[arg(long)]
    with_dependencies: bool,
    /// Open a conflict in the working tree, for 'git status' and 'git mergetool'
    #[arg(long)]
    resolve: bool,
    /// Pick even if a commit changes paths outside its agent's allowed paths (agents may not use it)
    #[arg(short, long)]
    force: bool,
    /// Continue when the conflict is settled; the branch moves once all commits are applied
    #[arg(long = "continue", conflicts_with_all = ["abort", "into", "resolve", "force"])]
    go_on: bool,
    /// Undo a pick that --resolve opened
    #[arg(long, conflicts_with_all = ["into", "resolve", "force"])]
    abort: bool,
    /// Show what would happen, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("cherry-pick", Section::Collaborate, Screen::All)
        .example(
            "git colony cherry-pick main..HEAD --into hotfix -n",
            "show the result, and change nothing",
        )
        .example("git colony cherry-pick main..HEAD --into hotfix", "all that main does not have")
        .answers::<PickReport>()
        .answers_with::<UndoReport>("cherry-pick --abort")
        .action(
            action("cherry_pick_decisions", Group::Design, Effect::Adds)
                .about("Apply commits, or the commits of decisions, to a branch: all or none")
                .takes(&[
                    as_arg("commit_shas", "what"),
                    as_arg("target_branch", "into").about("It need not be checked out"),
                    same("with_dependencies")
                        .about("Also the decisions they depend on and the branch lacks"),
                    same("resolve").about("Open a conflict in the working tree"),
                    as_arg("continue", "go_on")
                        .about("Once the conflict that 'resolve' opened is settled"),
                    same("abort"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = face.session_among_others(Run::from(args.dry_run), &args.what)?;
    if args.abort {
        let report = resolve::abort(&session, "cherry-pick")?;
        return face.answer(&report);
    }
    if args.go_on {
        let report = pick::continue_pick(&session)?;
        return face.answer(&report);
    }
    let request = Request {
        what: args
            .what
            .iter()
            .map(|name| since_it_left(&session, name))
            .collect::<Result<_, _>>()?,
        into: args.into,
        with_dependencies: args.with_dependencies,
        resolve: args.resolve,
        others_rules: merge::others_rules(args.force),
    };
    let report = pick::pick(&session, &request);
    let explained = |error| agent_state::explain_unknown(&session, error);
    let named = |error: Error| error.of_tree(&args.what.join("' and '"));
    face.answer(&report.map_err(named).map_err(explained)?)
}

/// Returns the commits of an agent since it left, as a range, as 'log' and 'diff' show them; any other name as it is.
fn since_it_left(session: &Session, name: &str) -> Result<String, Error> {
    if name.contains("..") || name.ends_with('@') {
        return Ok(name.to_owned());
    }
    let left = log::left_at(session, name)?;
    Ok(left.map_or_else(|| name.to_owned(), |left| format!("{left}..{name}")))
}

impl Answer for PickReport {
    fn outcome(&self) -> Outcome {
        if self.conflicts.is_empty() { Outcome::Yes } else { Outcome::No }
    }

    fn message(&self) -> String {
        let into = &self.into;
        if let Some(at) = self.stopped_at {
            let count = text::count(self.conflicts.len(), "conflict");
            let state = if self.resolving { "opened here" } else { "nothing has changed" };
            return format!("{} has {count} in '{into}'; {state}", at.short());
        }
        if self.picked.is_empty() {
            // A branch names its newest commit only, so the commits are named.
            let known: Vec<_> = self.skipped.iter().map(Oid::short).collect();
            return match known.as_slice() {
                [] => format!("no commit to pick into '{into}'"),
                known => format!("'{into}' already has the changes of {}", text::list(known)),
            };
        }
        let count = text::count(self.picked.len(), "commit");
        if self.dry_run {
            format!("would pick {count} into '{into}'")
        } else {
            format!("picked {count} into '{into}'")
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = merge::table(&self.conflicts);
        if self.stopped_at.is_none() || self.resolving {
            let row = |picked: &pick::Picked| match picked.to {
                Some(new) => format!("  {} -> {}", picked.from.short(), new.short()),
                None => format!("  {}", picked.from.short()),
            };
            lines.extend(self.picked.iter().map(row));
        }
        let skipped = self.skipped.iter();
        lines.extend(skipped.map(|id| format!("skipped, already applied: {}", id.short())));
        lines.extend(aside_lines::of(
            self.dry_run.into(),
            &self.ignored_kept,
            "ignored and in the way",
            &self.kept_late,
        ));
        if self.resolving {
            let next = "git colony cherry-pick --continue";
            lines.push(format!("settle it, 'git add' each path, then: {next}"));
            lines.push("or to undo: git colony cherry-pick --abort".to_owned());
        } else if self.stopped_at.is_some() {
            lines.push(if self.is_here {
                "open it here: run it again with --resolve".to_owned()
            } else {
                merge::switch_first(&self.into)
            });
        } else if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}
