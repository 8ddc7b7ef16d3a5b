//! `git colony merge`

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use crate::agents::{agent_marks, agent_state};
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::aside_lines;
use crate::cli::commands::states::checkpoint::why;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Run, Stop, typed_path};
use crate::design::allowed_paths::path_gate::OthersRules;
use crate::design::fork::forks::MergeOutcome;
use crate::design::merge::conflicts::Conflict;
use crate::design::merge::settle::{Choice, Settle};
use crate::design::merge::{self, MergeReport, Request, UncommittedWork, resolve};
use crate::design::undo::undo_report::UndoReport;
use crate::desk::completion::Names;
use crate::model::text::shell_word;
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Merge an agent's work, a fork, a branch or a commit into a branch
///
/// A fork is merged into the branch it was created from, even if another branch is checked out; anything
/// else into the current branch. The merge is computed first: if paths conflict, nothing changes, and the
/// answer lists them (exit code 1). Settle them path by path with --ours, --theirs and --both, or open them
/// in git's own state with --resolve. The hooks that 'git merge' runs do not run. With -n, SOURCE may be
/// AGENT@, which includes the uncommitted changes of the agent.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that people type")]
pub(in crate::cli) struct Args {
    /// An agent, a fork, a branch or a commit
    #[arg(
        value_name = "SOURCE",
        required_unless_present_any = ["go_on", "abort"],
        conflicts_with_all = ["go_on", "abort"]
    )]
    source: Option<String>,
    /// Merge into this branch, which need not be checked out (default: the base branch of the fork, else the
    /// current branch)
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Make one ordinary commit instead of a merge
    #[arg(long)]
    squash: bool,
    /// The message of the commit
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Settle conflicts at or below PATH with the version of the target branch
    #[arg(long, value_name = "PATH")]
    ours: Vec<OsString>,
    /// Settle conflicts at or below PATH with the version of SOURCE
    #[arg(long, value_name = "PATH")]
    theirs: Vec<OsString>,
    /// Settle conflicts at or below PATH with the lines of both, or with both files
    #[arg(long, value_name = "PATH")]
    both: Vec<OsString>,
    /// Open the remaining conflicts in the working tree, for 'git status', 'git mergetool' and 'git commit'
    #[arg(long, conflicts_with = "squash")]
    resolve: bool,
    /// Merge even if it changes paths outside the agent's allowed paths (agents may not use it)
    #[arg(short, long)]
    force: bool,
    /// Finish a merge that --resolve opened, once its conflicts are settled
    #[arg(long = "continue", conflicts_with_all = ["abort", "into", "squash", "message", "resolve", "force", "ours", "theirs", "both"])]
    go_on: bool,
    /// Undo a merge that --resolve opened
    #[arg(long, conflicts_with_all = ["into", "squash", "message", "resolve", "force", "ours", "theirs", "both"])]
    abort: bool,
    /// Show what would happen, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("merge", Section::Collaborate, Screen::First)
        .example(
            "git colony merge try-sqlite --into main -n",
            "show the result, and change nothing",
        )
        .example("git colony merge try-sqlite --into main", "main need not be checked out")
        .answers::<MergeReport>()
        .answers_with::<UndoReport>("merge --abort")
        .completes("SOURCE", Names::AgentsAndBranches)
        .action(
            action("merge_design", Group::Design, Effect::Adds)
                .about(
                    "Merge the work of an agent, a fork, a branch or a commit into a branch. A \
                     conflict changes nothing and is listed: call again with 'ours', 'theirs', \
                     'both' or 'resolve'",
                )
                .takes(&[
                    as_arg("source_branch", "source").plain(),
                    as_arg("target_branch", "into").about(
                        "It need not be checked out (default: the base of the fork, else the \
                         current branch)",
                    ),
                    same("message").plain(),
                    same("squash"),
                    same("ours").about("Paths whose conflicts get the target's version"),
                    same("theirs").about("The source's version"),
                    same("both").about("The lines of both, or both files"),
                    same("resolve").about("Open the remaining conflicts in the working tree"),
                    as_arg("continue", "go_on"),
                    same("abort"),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let run = Run::from(args.dry_run);
    let session = face.session_among_others(run, args.source.as_slice())?;
    if args.abort {
        let report = resolve::abort(&session, "merge")?;
        return face.answer(&report);
    }
    if args.go_on {
        let report = resolve::continue_merge(&session)?;
        return face.answer(&report);
    }
    let choices = choices(&session, &args)?;
    let mut source = args.source.unwrap_or_default();
    let (mut stand_in, mut left_out) = (None, Vec::new());
    if let Some(state) = agent_state::find(&session, &source)? {
        if run == Run::ForReal {
            return Err(state.is_not_committed().into());
        }
        stand_in = Some(state.to_merge(&session)?);
        left_out = state.left_out;
        source = state.agent;
    }
    let request = Request {
        source,
        stand_in,
        into: args.into,
        squash: args.squash,
        message: args.message,
        choices,
        resolve: args.resolve,
        others_rules: others_rules(args.force),
    };
    let report = merge::merge(&session, &request);
    let explained = |error| agent_state::explain_unknown(&session, error);
    let named = |error: Error| error.of_tree(&request.source);
    let mut report = report.map_err(named).map_err(explained)?;
    report.left_out = left_out;
    say_if_held(&session, &request.source)?;
    if request.stand_in.is_none() {
        report.uncommitted = agent_state::uncommitted_of(&session, &request.source);
    }
    face.answer(&report)
}

/// Says that the work of an agent is held back, and why: who names it may not know.
fn say_if_held(session: &Session, source: &str) -> Result<(), Error> {
    if let Some(mark) = agent_marks::held(session, source)? {
        let why = mark.text.map(|text| format!(": {text}")).unwrap_or_default();
        (session.world.narrate)(&format!("warning: the work of '{source}' is held back{why}"));
    }
    Ok(())
}

/// Reads '--force'.
pub(in crate::cli) fn others_rules(force: bool) -> OthersRules {
    if force { OthersRules::Lifted } else { OthersRules::Count }
}

/// Reads how paths are settled.
fn choices(session: &Session, args: &Args) -> Result<Vec<Choice>, Error> {
    let given =
        [(&args.ours, Settle::Ours), (&args.theirs, Settle::Theirs), (&args.both, Settle::Both)];
    let mut choices = Vec::new();
    for (typed, how) in given {
        for path in typed {
            choices.push(choice(session, path, how)?);
        }
    }
    let twice = choices.iter().enumerate().find(|(at, choice)| {
        let mut before = choices.iter().take(*at);
        before.any(|other: &Choice| other.path == choice.path && other.how != choice.how)
    });
    if let Some((_, Choice { path, .. })) = twice {
        let message = format!("'{path}' is settled in two ways");
        return Err(Error::new(Code::Usage, message).hint("name each path once"));
    }
    Ok(choices)
}

/// Reads one path: from the current directory, as git reads paths, or from the top, as answers name
/// them. What begins with a dot is meant from here, what begins with `:/` from the top.
fn choice(session: &Session, typed: &OsStr, how: Settle) -> Result<Choice, Error> {
    let bytes = typed.as_bytes();
    if bytes.is_empty() {
        let message = "an empty path names no conflict";
        return Err(Error::new(Code::Usage, message).hint("--ours .   # means all of it"));
    }
    let at_top = |rest: &[u8]| {
        let rest = session.repo.workdir().join(OsStr::from_bytes(rest));
        typed_path::repo_path(session, &rest)
    };
    let magic = [&b":/"[..], b":(top)"];
    if let Some(rest) = magic.iter().find_map(|start| bytes.strip_prefix(*start)) {
        let path = at_top(rest.strip_prefix(b"/").unwrap_or(rest))?;
        return Ok(Choice { path, from_top: None, how });
    }
    let path = typed_path::repo_path(session, Path::new(typed))?;
    let first = Path::new(typed).components().next();
    let from_top = match first {
        Some(Component::Normal(_)) => Some(at_top(bytes)?).filter(|top| *top != path),
        _ => None,
    };
    Ok(Choice { path, from_top, how })
}

impl Answer for MergeReport {
    fn outcome(&self) -> Outcome {
        match self.outcome {
            MergeOutcome::Conflicted => Outcome::No,
            _ => Outcome::Yes,
        }
    }

    fn message(&self) -> String {
        let (source, into) = (&self.source, &self.into);
        let would = self.dry_run;
        let sentence = match self.outcome {
            MergeOutcome::UpToDate => format!("'{into}' already has everything of '{source}'"),
            MergeOutcome::FastForward if would => {
                format!("would fast-forward '{into}' to '{source}'")
            }
            MergeOutcome::FastForward => format!("fast-forwarded '{into}' to '{source}'"),
            MergeOutcome::Merged if would => format!("'{source}' merges cleanly into '{into}'"),
            MergeOutcome::Merged => format!("merged '{source}' into '{into}'"),
            MergeOutcome::Conflicted | MergeOutcome::Unrelated | MergeOutcome::OldHistory => {
                let count = text::count(self.conflicts.len(), "conflict");
                let state = if self.resolving {
                    "opened here"
                } else if would && self.op.is_none() {
                    "nothing would change"
                } else {
                    "nothing has changed"
                };
                format!("'{source}' and '{into}' have {count}; {state}")
            }
        };
        if self.is_here {
            return sentence;
        }
        // The target is the base branch of the fork, which need not be the branch that is checked out.
        format!("{sentence} ('{}' is checked out)", self.checked_out)
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let into = &self.into;
        let mut lines: Vec<String> = table(&self.conflicts);
        let settled = self.settled.iter();
        lines.extend(settled.map(|path| format!("settled: {path}")));
        if self.files_changed > 0 && self.conflicts.is_empty() {
            lines.push(format!("{} changed", text::count(self.files_changed, "file")));
        }
        let decisions = self.decisions.iter();
        lines.extend(decisions.map(|decision| format!("decision: {}", decision.decision_id)));
        lines.extend(aside_lines::of(
            self.dry_run.into(),
            &self.ignored_kept,
            "ignored and in the way",
            &self.kept_late,
        ));
        let left_out = self.left_out.iter();
        lines.extend(
            left_out.map(|left| format!("not part of it: {} ({})", left.path, why(left.reason).0)),
        );
        if let Some(UncommittedWork { agent, paths }) = &self.uncommitted {
            let count = text::count(*paths, "uncommitted path");
            let [name, state] = [agent.clone(), format!("{agent}@")].map(|name| shell_word(&name));
            lines.push(format!("{count} of '{agent}' not merged: git colony diff {name} {state}"));
        }
        if self.resolving {
            lines.push("settle them, 'git add' each, then: git colony merge --continue".to_owned());
            lines.push("or to undo: git colony merge --abort".to_owned());
        } else if !self.conflicts.is_empty() {
            let ways = "--ours PATH, --theirs PATH and --both PATH";
            let open = if self.is_here { ", or with --resolve" } else { "" };
            lines.push(format!("settle them: run it again with {ways}{open}"));
            lines.extend((!self.is_here).then(|| switch_first(into)));
        } else if let Some(op) = self.op {
            lines.push(format!("to undo: git colony undo   ({op})"));
        }
        lines
    }
}

/// Says how conflicts of a branch that is not checked out are opened.
pub(in crate::cli) fn switch_first(branch: &str) -> String {
    let branch = crate::model::text::shell_word(branch);
    format!("open them: git switch {branch}   # then run it again with --resolve")
}

/// Lines up conflicts: the path, what it is about, where else it stands.
pub(in crate::cli) fn table(conflicts: &[Conflict]) -> Vec<String> {
    let row = |conflict: &Conflict| {
        let other_paths: Vec<_> = conflict
            .paths
            .iter()
            .filter(|path| **path != conflict.path)
            .map(ToString::to_string)
            .collect();
        let others = if other_paths.is_empty() {
            String::new()
        } else {
            format!("with {}", text::list(&other_paths))
        };
        vec![format!("  {}", conflict.path), conflict.kind.as_str().to_owned(), others]
    };
    text::table(&conflicts.iter().map(row).collect::<Vec<_>>())
}
