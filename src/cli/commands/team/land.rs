//! `git colony land` and `git colony try`

use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::states::aside_lines;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::desk::completion::Names;
use crate::land::{
    self, Breaks, Forecast, LandOutcome, LandReport, LeftOut, Request, RunReport, TryOutcome,
    TryReport, WhichTests, Who, Why,
};
use crate::model::text::typed_word;
use crate::model::time::Moment;
use crate::store::Session;
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// The lines of the output of a failed test that people see at once; the rest is in its log.
const MAX_TAIL_LINES: usize = 10;

/// Merge the work of several agents once its tests have passed
///
/// The work is merged in memory and tested as a whole with 'colony.test.run', in a working tree of its own that keeps
/// build files. If the tests fail, the search finds who breaks them in few runs; those are left out, and so is work that
/// conflicts. Then the branch moves once, to exactly the files that were tested: one operation, one undo. Without names
/// it takes the agents that are done, with everything committed. Tests that '.colony/colony.toml' names need your
/// approval once. They run code of agents with your rights, in no sandbox.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    train: TrainArgs,
    /// Move this branch, which need not be checked out (default: the current branch)
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Make one ordinary commit for each, instead of a merge
    #[arg(long)]
    squash: bool,
    /// Test with this command
    #[arg(long, value_name = "COMMAND", conflicts_with = "no_test")]
    test: Option<String>,
    /// Merge without tests
    #[arg(long)]
    no_test: bool,
    /// Show what would be merged and what conflicts, and run nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Test the merged work of several agents, and move nothing
///
/// It merges and tests as 'land' does. If the tests fail, it names the first agent with which they fail. The working tree
/// with all of the work is left for you to look at.
#[derive(Debug, clap::Args)]
#[command(override_usage = "git colony try [OPTIONS] [NAME...] [-- <COMMAND>]")]
pub(in crate::cli) struct TryArgs {
    #[command(flatten)]
    train: TrainArgs,
    /// Test with this command
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// Merge onto this branch (default: the current branch)
    #[arg(long, value_name = "BRANCH")]
    into: Option<String>,
    /// Run the tests at most N times
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    max_runs: u16,
    /// Show what would be tested and what conflicts, and run nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Whose work is taken, and how its tests run.
#[derive(Debug, clap::Args)]
struct TrainArgs {
    /// Agents, forks or branches (default: the agents that are done)
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Take all agents with commits, also those that are not done
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Do not take this agent or fork
    #[arg(long, value_name = "NAME", conflicts_with = "names")]
    except: Vec<String>,
    /// Make the working tree of the tests again, without build files
    #[arg(long)]
    fresh: bool,
    /// Run tests again whose result is known; a result counts for a day
    #[arg(long)]
    retest: bool,
    /// Approve a command of the repository that would run (agents may not use it)
    #[arg(long, value_name = "ID")]
    approve: Vec<String>,
}

impl TrainArgs {
    /// Returns the request that they make.
    fn request(self, command: &'static str) -> Request {
        Request {
            command,
            who: match self.names.is_empty() {
                false => Who::Named(self.names),
                true if self.all => Who::All,
                true => Who::Done,
            },
            except: self.except,
            fresh: self.fresh,
            retest: self.retest,
            approve: self.approve,
            ..Request::default()
        }
    }
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("land", Section::Collaborate, Screen::First)
        .example(
            "git colony land try-sqlite --into main --test 'test -e a.txt'",
            "with a test of your own; without names, all agents that are done",
        )
        .example(
            "git colony land try-sqlite hotfix --into main --no-test -n",
            "show what would be merged, and what conflicts",
        )
        .answers::<LandReport>()
        .completes("NAME", Names::AgentsAndBranches)
        .action(
            action("land_work", Group::Agents, Effect::Destroys)
                .about(
                    "Merge the work of several agents as one operation once its tests pass; who \
                     fails or conflicts is left out",
                )
                .takes(&[
                    same("names").about("Default: the agents that are done"),
                    as_arg("target_branch", "into").plain(),
                    same("squash").plain(),
                ]),
        )
}

pub(in crate::cli) fn try_declaration() -> Declaration {
    Declaration::listed("try", Section::Collaborate, Screen::All)
        .example(
            "git colony try try-sqlite hotfix --into main -- test -e a.txt",
            "two forks, with a test of your own; without names, all agents that are done",
        )
        .example(
            "git colony try try-sqlite --into main --max-runs 3 -- true",
            "run the test three times at most",
        )
        .answers::<TryReport>()
        .completes("NAME", Names::AgentsAndBranches)
        .action(
            action("try_work", Group::Agents, Effect::Adds)
                .about("Test the merged work of several agents, and move nothing")
                .takes(&[
                    same("names").about("Default: the agents that are done"),
                    as_arg("target_branch", "into").plain(),
                ]),
        )
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    let session = session(face, Run::from(args.dry_run), &args.train.names)?;
    let request = Request {
        into: args.into,
        squash: args.squash,
        tests: match args.test {
            Some(command) => WhichTests::Command(command),
            None if args.no_test => WhichTests::None,
            None => WhichTests::Configured,
        },
        ..args.train.request("land")
    };
    let report = land::land(&session, &request)?;
    face.answer(&report)
}

pub(in crate::cli) fn run_try(face: &mut Face<'_>, args: TryArgs) -> Result<Outcome, Stop> {
    let session = session(face, Run::from(args.dry_run), &args.train.names)?;
    let request = Request {
        into: args.into,
        tests: line_of(&args.command).map_or(WhichTests::Configured, WhichTests::Command),
        max_runs: Some(args.max_runs.into()),
        ..args.train.request("try")
    };
    let report = land::try_work(&session, &request)?;
    face.answer(&report)
}

/// Opens the repository, with the work of others as they have published it.
fn session(face: &Face<'_>, run: Run, names: &[String]) -> Result<Session, Stop> {
    if run == Run::Dry {
        // Who is done is a copy of what others have published, as their branches are.
        land::refresh_marks(&face.session_among_others(Opening::Read, names)?);
    }
    Ok(face.session_among_others(run, names)?)
}

/// Returns words as a line for the shell; one word is a line already.
fn line_of(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [line] => Some(line.clone()),
        words => Some(words.iter().map(|word| typed_word(word)).collect::<Vec<_>>().join(" ")),
    }
}

impl Answer for LandReport {
    fn outcome(&self) -> Outcome {
        match self.outcome {
            LandOutcome::Landed => Outcome::Yes,
            LandOutcome::Nothing if self.left_out.is_empty() => Outcome::Yes,
            LandOutcome::Nothing | LandOutcome::Partly | LandOutcome::BaseFailing => Outcome::No,
        }
    }

    fn message(&self) -> String {
        let branch = &self.branch;
        let names: Vec<&str> = self.landed.iter().map(|landed| landed.name.as_str()).collect();
        let of = match self.left_out.len() {
            0 => String::new(),
            more => format!(" of {}", names.len() + more),
        };
        match self.outcome {
            LandOutcome::BaseFailing => {
                format!("the tests fail on '{branch}' by itself, so nothing has landed")
            }
            LandOutcome::Nothing if self.left_out.is_empty() => {
                format!("'{branch}' already has all of this work")
            }
            LandOutcome::Nothing => format!("nothing landed on '{branch}'"),
            _ if self.dry_run => {
                format!("{}{of} would be merged into '{branch}'", names.len())
            }
            _ => {
                let runs = ran(&self.runs).map(|runs| format!(", {runs}")).unwrap_or_default();
                format!("landed {}{of} on '{branch}'{runs}", names.len())
            }
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut rows: Vec<Vec<String>> = self
            .landed
            .iter()
            .map(|landed| {
                let word = if self.dry_run { "merges cleanly" } else { "landed" };
                let flaky = self.flaky.contains(&landed.name);
                let flaky = if flaky { ", after a test that failed once" } else { "" };
                let brings = match landed.brings.as_slice() {
                    [] => String::new(),
                    names => format!(", with commits of {}", names.join(" ")),
                };
                vec![format!("  {}", landed.name), format!("{word}{brings}{flaky}")]
            })
            .collect();
        rows.extend(self.left_out.iter().map(row));
        rows.extend(self.passed_over.iter().map(passed_over));
        rows.extend(
            self.up_to_date
                .iter()
                .map(|name| vec![format!("  {name}"), format!("'{}' has it already", self.branch)]),
        );
        let mut lines = text::table(&rows);
        lines.extend(self.left_out.iter().flat_map(failure));
        lines.extend(self.breaks.iter().flat_map(broken));
        lines.extend(self.uncommitted.iter().map(|work| {
            let count = text::count(work.paths, "uncommitted path");
            format!("{count} of '{}' not merged", work.agent)
        }));
        lines.extend(self.forecast.iter().filter(|_| !self.landed.is_empty()).map(foreseen));
        if !self.dirtied.is_empty() {
            lines.push(format!("the tests change files: {}", text::first_of(&self.dirtied)));
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

impl Answer for TryReport {
    fn outcome(&self) -> Outcome {
        match self.outcome {
            TryOutcome::Passed | TryOutcome::Planned => Outcome::Yes,
            TryOutcome::Failed | TryOutcome::Conflicted => Outcome::No,
        }
    }

    fn message(&self) -> String {
        let branch = &self.branch;
        let merged = match self.names.as_slice() {
            [] => "nothing".to_owned(),
            [name] => format!("'{name}'"),
            names => format!("all {}", names.len()),
        };
        let runs = ran(&self.runs).map(|runs| format!(", {runs}")).unwrap_or_default();
        match &self.breaks {
            _ if self.dry_run => format!("{merged} would be tested on '{branch}'"),
            None if self.left_out.is_empty() => {
                format!("the tests pass with {merged} merged onto '{branch}'{runs}")
            }
            None => format!(
                "the tests pass with {merged} merged onto '{branch}', {} left out{runs}",
                self.left_out.len()
            ),
            Some(breaks) => match breaks.names.first() {
                Some(name) => format!("the tests fail with '{name}' on '{branch}'{runs}"),
                None => format!("the tests fail on '{branch}' by itself{runs}"),
            },
        }
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let row_of_clean = |name| vec![format!("  {name}"), "merges cleanly".to_owned()];
        let clean = self.names.iter().filter(|_| self.dry_run).map(row_of_clean);
        let left_out = self.left_out.iter().map(row);
        let rows = clean.chain(left_out).chain(self.passed_over.iter().map(passed_over));
        let mut lines = text::table(&rows.collect::<Vec<_>>());
        if let Some(breaks) = &self.breaks {
            if !breaks.with.is_empty() {
                lines.push(format!("they pass with {} alone", text::first_of(&breaks.with)));
            }
            lines.extend(broken(breaks));
        }
        if self.dry_run {
            lines.extend(self.forecast.iter().filter(|_| !self.names.is_empty()).map(foreseen));
        } else {
            lines.push(format!("all of it, merged: {}", self.path.display()));
        }
        lines
    }
}

/// Says how many tests ran, and how long they took; `None` if none did.
fn ran(runs: &[RunReport]) -> Option<String> {
    let own: Vec<&RunReport> = runs.iter().filter(|run| run.cached_seconds.is_none()).collect();
    if own.is_empty() {
        let oldest = runs.iter().filter_map(|run| run.cached_seconds).max()?;
        return Some(match oldest / 60 {
            0 => format!("tested {oldest} s ago"),
            minutes @ 1..60 => format!("tested {minutes} min ago"),
            minutes => format!("tested {} h ago", minutes / 60),
        });
    }
    let seconds: f64 = own.iter().map(|run| run.seconds).sum();
    Some(format!("{} of the tests, {}", text::count(own.len(), "run"), shown(seconds)))
}

/// Returns a duration, as exact as a reader needs it.
fn shown(seconds: f64) -> String {
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        10.0..180.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} min", seconds / 60.0),
    }
}

/// Says how often the tests would run.
fn foreseen(forecast: &Forecast) -> String {
    let each = forecast.seconds_per_run;
    #[expect(clippy::cast_precision_loss, reason = "a handful of runs")]
    let time = |runs: usize| each.map(|each| format!(", about {}", shown(each * runs as f64)));
    let runs = |runs: usize| text::count(runs, "run") + &time(runs).unwrap_or_default();
    let most = format!("if one fails, at most {}", runs(forecast.runs_if_one_fails));
    match (forecast.passed, forecast.age_seconds) {
        (Some(true), Some(age)) => format!("tests: passed with these files {} min ago", age / 60),
        (Some(false), Some(age)) => {
            format!("tests: failed with these files {} min ago; {most}", age / 60)
        }
        _ => format!("tests: {}; {most}", runs(forecast.runs)),
    }
}

/// Returns the row of work that was left out.
fn row(left: &LeftOut) -> Vec<String> {
    vec![format!("  {}", left.name), format!("left out: {}", reason(left))]
}

/// Returns the row of work that was not taken, since it was not named.
fn passed_over(left: &LeftOut) -> Vec<String> {
    vec![format!("  {}", left.name), format!("not taken: {}", reason(left))]
}

fn reason(left: &LeftOut) -> String {
    let with = &left.with;
    match left.why {
        Why::Failed => match left.exit_code {
            Some(code) => format!("the tests fail with it (exit code {code})"),
            None => "the tests fail with it (ended by a signal or too late)".to_owned(),
        },
        Why::Conflicts => {
            let paths: Vec<String> = left.paths.iter().map(ToString::to_string).collect();
            let with =
                if with.is_empty() { String::new() } else { format!(" with {}", with.join(" ")) };
            format!("conflicts{with}: {}", text::first_of(&paths))
        }
        Why::Contains => format!("has commits of {}", with.join(" ")),
        Why::Held => "it is held back".to_owned(),
        Why::Uncommitted => "it has uncommitted files".to_owned(),
        Why::OutsideScope => "changes paths outside the allowed ones".to_owned(),
        Why::Reverted => "it was reverted; to merge it again, name it".to_owned(),
        Why::FailedBefore => "failed or conflicted here already; name it to try again".to_owned(),
        Why::Unrelated => "no common ancestor".to_owned(),
        Why::InProgress => "a git operation is in progress in its clone".to_owned(),
        Why::Unreadable => left.reason.as_deref().unwrap_or("it cannot be read").to_owned(),
    }
}

/// Shows the command that fails, and the end of its output.
fn broken(breaks: &Breaks) -> Vec<String> {
    let mut lines: Vec<String> = breaks.command.iter().cloned().collect();
    lines.extend(last_lines(&breaks.output_tail));
    lines.extend(breaks.log.iter().map(|log| format!("more of it: {}", log.display())));
    lines
}

/// Shows the end of the output of a failed test.
fn failure(left: &LeftOut) -> Vec<String> {
    let Some(tail) = &left.output_tail else {
        return Vec::new();
    };
    let mut lines = vec![format!("{}: {}", left.name, left.command.as_deref().unwrap_or_default())];
    lines.extend(last_lines(tail));
    lines.extend(left.log.iter().map(|log| format!("more of it: {}", log.display())));
    lines
}

fn last_lines(tail: &str) -> Vec<String> {
    let all: Vec<&str> = tail.lines().collect();
    let last = all.get(all.len().saturating_sub(MAX_TAIL_LINES)..).unwrap_or_default();
    last.iter().map(|line| format!("  | {line}")).collect()
}
