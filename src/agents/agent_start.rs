//! The program of an agent: started in its clone when the clone is made, and stopped.
//!
//! The record names its process. The agent could change the record, so the process also has to have [`MARK`] with the path
//! of the clone in the environment that it was started with, which nobody can change from outside.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::git::process::{self, detached};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};
use crate::setup::hooks::agents::shell_functions;
use crate::store::Session;
use crate::store::files::{atomic, bounded_log};
use crate::store::lease::{acting_agent, processes};

use super::agent_places;

/// The variable that the program and all that it starts have: the path of the clone.
const MARK: &str = "COLONY_STARTED_IN";

/// How long a program has to end by itself.
const TERM_TIMEOUT: Duration = Duration::from_secs(10);

/// How often it is looked whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The program of an agent that was started in the background.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Started {
    /// Its process.
    pub pid: u32,
    /// The file with its output, in the git directory of the clone.
    #[schemars(with = "String")]
    pub log: PathBuf,
}

/// What `agents stop` did.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StopReport {
    /// The agent.
    pub agent: String,
    /// The process that was ended, or would be; null if none of its program runs.
    pub pid: Option<u32>,
    /// Whether it had to be killed.
    pub killed: bool,
    /// True if nothing was ended because of a dry run.
    pub dry_run: bool,
}

/// The record of a started program.
#[derive(Serialize, Deserialize)]
struct Record {
    pid: u32,
    /// The start time in ticks: with the pid it names one process.
    started: u64,
}

/// Returns the variables of the program of an agent.
pub fn variables<'a>(
    agent: &'a str,
    task: Option<&'a str>,
    path: &'a str,
) -> [(&'a str, &'a str); 3] {
    [("COLONY_AGENT", agent), ("COLONY_TASK", task.unwrap_or_default()), (MARK, path)]
}

/// Returns a line for the shell with which programs that we know have our hooks and tools.
pub fn with_options(line: &str) -> String {
    format!("{}{line}", shell_functions())
}

/// Refuses to start a program for anybody but a person.
pub fn refuse_agent(session: &Session) -> Result<()> {
    match acting_agent::of_session(session) {
        None => Ok(()),
        Some((agent, why)) => Err(acting_agent::refused(&agent, &why, "start programs")
            .unchanged()
            .hint("git colony agents new NAME   # without a program")),
    }
}

/// Starts a line for the shell in a clone, in the background, with the environment of the caller.
pub fn start(
    world: &World,
    path: &Path,
    line: &str,
    variables: &[(&str, &str)],
) -> Result<Started> {
    let folder = path.join(".git/colony");
    let log = log_of(path);
    bounded_log::create(&log).map_err(|e| Error::io("cannot make the log of a program", e))?;
    let program =
        detached::Program { line: &with_options(line), directory: path, variables, log: &log };
    let pid = program.start(world)?;
    if let Some(process) = processes::find(pid) {
        let record = Record { pid, started: process.started };
        let json = serde_json::to_vec(&record).unwrap_or_default();
        atomic::write_durably(&folder.join("started.json"), &json)?;
    }
    Ok(Started { pid, log })
}

/// Ends the program that was started in the clone of an agent, with all of its process group.
pub fn stop(session: &Session, name: &str) -> Result<StopReport> {
    refuse_agent(session)?;
    let clone = agent_places::find(session, name)?;
    let agent = clone.member.agent.clone().unwrap_or_default();
    let pid = running(&clone.path);
    let mut report = StopReport { agent, pid, killed: false, dry_run: session.is_dry() };
    let Some(pid) = pid.filter(|_| !session.is_dry()) else {
        return Ok(report);
    };
    process::ask_group_to_end(pid);
    let end = Instant::now() + TERM_TIMEOUT;
    while processes::all().any(|process| process.group == pid) {
        session.world.interrupt.check()?;
        if Instant::now() >= end {
            process::kill_group(pid);
            report.killed = true;
            break;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(report)
}

/// Refuses while the program runs that was started in the clone of an agent.
pub(super) fn refuse_running(clone: &Path, agent: &str) -> Result<()> {
    let Some(pid) = running(clone) else {
        return Ok(());
    };
    let message = format!("the program of agent '{agent}' runs (process {pid})");
    Err(Error::new(Code::CloneInUse, message)
        .unchanged()
        .detail("pid", pid)
        .hint(format!("git colony agents stop {}", shell_word(agent))))
}

/// Returns the path of the log of the program of a clone.
pub(super) fn log_of(clone: &Path) -> PathBuf {
    clone.join(".git/colony/run.log")
}

/// Returns the process of the program that was started in a clone, while it runs.
pub(super) fn running(clone: &Path) -> Option<u32> {
    let bytes = plain_file::find_own(clone.join(".git/colony/started.json")).ok()??;
    let record: Record = serde_json::from_slice(&bytes).ok()?;
    let process = processes::find(record.pid)?;
    let path = clone.to_string_lossy();
    let is_it =
        process.started == record.started && processes::has_variable(record.pid, MARK, &path);
    is_it.then_some(record.pid)
}
