//! A command of a person, run in the clones of several agents as they are.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, mpsc};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::damaged::DamagedClone;
use crate::clones::found::FoundClone;
use crate::git::process::shell_command::{self, Ending};
use crate::model::{Code, Result, World};
use crate::store::Session;
use crate::store::lease::lease_holder::HeldBy;
use crate::store::lease::{self, acting_agent};

use super::{agent_places, own_agents};

/// The end of the output of a command that is kept, in bytes.
const MAX_OUTPUT: usize = 64 << 10;

/// What to run, and where.
#[derive(Clone, Debug)]
pub struct Request {
    /// The agents; all of this checkout if there are none.
    pub names: Vec<String>,
    /// The number of commands that run at once.
    pub jobs: usize,
    /// Whether it also runs where a program works.
    pub busy: bool,
    /// The command: one word is a line for the shell, several are a program with its arguments.
    pub command: Vec<String>,
}

/// How the command ended in the clone of an agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RanReport {
    /// The agent.
    pub agent: String,
    /// The path of its clone.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The command, as a line for the shell.
    pub command: String,
    /// Whether it ran: not where a program works, and not in a dry run.
    pub ran: bool,
    /// Its exit code; null if it did not run, or a signal ended it.
    pub exit_code: Option<i32>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What it printed, at most the last 64 KiB.
    pub output: String,
    /// Whether it printed more than that.
    pub truncated: bool,
    /// Why it could not be started: the clone is damaged, for example.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The program that works in the clone.
    pub held_by: Option<HeldBy>,
    /// True if nothing was run because of a dry run.
    pub dry_run: bool,
}

/// Runs the command in each clone, and hands on each report as its command ends. Only a person may.
pub fn run(
    session: &Session,
    request: &Request,
    mut tell: impl FnMut(RanReport) -> Result<()>,
) -> Result<()> {
    if let Some((agent, why)) = acting_agent::of_session(session) {
        return Err(acting_agent::refused(&agent, &why, "run in clones")
            .unchanged()
            .hint("git colony agents   # lists them"));
    }
    let line = line_of(&request.command);
    let (free, busy) = chosen(session, request)?;
    let damaged = if request.names.is_empty() { damaged(session)? } else { Vec::new() };
    for clone in &damaged {
        let why = format!("its clone is damaged: {}", clone.reason);
        let report = planned(clone.agent.as_deref(), &clone.path, &line, session);
        tell(RanReport { problem: Some(why), ..report })?;
    }
    for (clone, held_by) in busy {
        tell(RanReport { held_by, ..report_of(&clone, &line, session) })?;
    }
    if session.is_dry() {
        return free.iter().try_for_each(|clone| tell(report_of(clone, &line, session)));
    }
    let planned = free.iter().map(|clone| report_of(clone, &line, session));
    let waiting = Mutex::new(planned.collect::<VecDeque<_>>());
    let world = &session.world;
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..request.jobs.max(1) {
            let sender = sender.clone();
            let (line, waiting) = (&line, &waiting);
            scope.spawn(move || work(world, line, waiting, &sender));
        }
        drop(sender);
        let outcome = receiver.iter().try_for_each(|report| tell(report?));
        if outcome.is_err() {
            // What has begun goes on to its end; nothing else begins.
            waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clear();
        }
        outcome
    })
}

/// Runs the command in one clone after the other, until there are none, or it is interrupted.
fn work(
    world: &World,
    line: &str,
    waiting: &Mutex<VecDeque<RanReport>>,
    sender: &Sender<Result<RanReport>>,
) {
    loop {
        let next = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
        let Some(planned) = next else {
            return;
        };
        let report = run_in(world, line, planned);
        let has_failed = report.is_err();
        if sender.send(report).is_err() || has_failed {
            return;
        }
    }
}

fn run_in(world: &World, line: &str, report: RanReport) -> Result<RanReport> {
    let inside = world.standing_in(&report.path);
    let (mut output, mut is_cut) = (Vec::new(), false);
    let mut keep = |bytes: &[u8]| {
        output.extend_from_slice(bytes);
        if output.len() > 2 * MAX_OUTPUT {
            output.drain(..output.len() - MAX_OUTPUT);
            is_cut = true;
        }
    };
    let began = Instant::now();
    let ending = match shell_command::run_shell_heard(&inside, line, None, &mut keep) {
        Err(error) if error.code() == Code::Interrupted => return Err(error.untouched(None)),
        // A clone that has gone meanwhile stops no other.
        Err(error) => {
            let problem = Some(error.message());
            return Ok(RanReport { problem, ..report });
        }
        Ok(ending) => ending,
    };
    let over = output.len().saturating_sub(MAX_OUTPUT);
    Ok(RanReport {
        ran: true,
        exit_code: match ending {
            Ending::Exited(code) => code,
            Ending::OutOfTime => None,
        },
        seconds: (began.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        output: String::from_utf8_lossy(output.get(over..).unwrap_or_default()).into_owned(),
        truncated: is_cut || over > 0,
        ..report
    })
}

fn report_of(clone: &FoundClone, line: &str, session: &Session) -> RanReport {
    planned(clone.member.agent.as_deref(), &clone.path, line, session)
}

fn planned(agent: Option<&str>, path: &Path, line: &str, session: &Session) -> RanReport {
    RanReport {
        agent: agent.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        command: line.to_owned(),
        ran: false,
        exit_code: None,
        seconds: 0.0,
        output: String::new(),
        truncated: false,
        problem: None,
        held_by: None,
        dry_run: session.is_dry(),
    }
}

/// Returns the command as a line for the shell.
fn line_of(words: &[String]) -> String {
    match words {
        [line] => line.clone(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Quotes a word for any shell of POSIX: `$'..'` is for others.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Finds the damaged clones of this checkout's agents, in which no command can work.
fn damaged(session: &Session) -> Result<Vec<DamagedClone>> {
    let mut damaged = own_agents::damaged(session)?.0;
    damaged.retain(|clone| clone.agent.is_some());
    Ok(damaged)
}

/// A clone, and the program that works in it.
type Busy = (FoundClone, Option<HeldBy>);

/// Finds the clones, and among them those in which a program works.
fn chosen(session: &Session, request: &Request) -> Result<(Vec<FoundClone>, Vec<Busy>)> {
    let mut clones: Vec<FoundClone> = if request.names.is_empty() {
        own_agents::clones(session)?.0
    } else {
        let find = |name: &String| agent_places::find(session, name);
        request.names.iter().map(find).collect::<Result<_>>()?
    };
    clones.sort_by(|clone, other| clone.path.cmp(&other.path));
    clones.dedup_by(|clone, other| clone.path == other.path);
    let (mut free, mut busy) = (Vec::new(), Vec::new());
    for clone in clones {
        let git_dir = clone.git_dir();
        let name = clone.member.agent.as_deref().unwrap_or_default();
        let is_free = lease::refuse_busy(&session.world, &git_dir, name).is_ok();
        if is_free || request.busy {
            free.push(clone);
        } else {
            let held_by = lease::held_by(&session.world, &git_dir);
            busy.push((clone, held_by));
        }
    }
    Ok((free, busy))
}
