//! The setup commands of a clone: planned, approved by their text, run.
//!
//! They run in order, and none after one that waits for approval or has failed: a later one may
//! need an earlier one. The clone stays whatever they do.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::found;
use crate::clones::hub::locate;
use crate::git::process::shell_command::{self, Ending};
use crate::git::{ObjectWrites, Oid, Repo};
use crate::model::{Code, Error, Result, World, text};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lease::acting_agent::{self, AgentReason};
use crate::store::settings::approved_commands::{self, Approvals, NamedBy};

use super::checkout_settings;

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It may run; in a dry run only.
    WouldRun,
    /// It has exited with 0.
    Ran,
    /// It has exited with another code, or was killed by a signal.
    Failed,
    /// It took too long, and was killed.
    OutOfTime,
    /// It comes from the repository, and the user has not approved its text.
    Waiting,
    /// It comes after one that waits or has failed.
    NotRun,
}

/// A setup command.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SetupCommand {
    /// The id for its approval: a digest of its exact text.
    pub id: String,
    /// Its exact text.
    pub command: String,
    /// The result.
    pub status: Status,
    /// Its exit code; `None` if it did not run or a signal killed it.
    pub exit_code: Option<i32>,
}

/// Returns `true` if one of them has failed.
pub fn has_failed(commands: &[SetupCommand]) -> bool {
    let mut all = commands.iter();
    all.any(|command| matches!(command.status, Status::Failed | Status::OutOfTime))
}

/// Returns the next steps for those that did not succeed: a line each, and the command that
/// approves those that wait. `clone` is the name of the clone.
pub fn advice(commands: &[SetupCommand], clone: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut approve = String::new();
    for command in commands {
        let text = &command.command;
        match (command.status, command.exit_code) {
            (Status::Waiting, _) => {
                lines.push(format!("not run, waiting for approval: {text}"));
                approve.push_str(" --approve ");
                approve.push_str(&command.id);
            }
            (Status::NotRun, _) => lines.push(format!("not run: {text}")),
            (Status::OutOfTime, _) => lines.push(format!("killed, it took too long: {text}")),
            (Status::Failed, Some(code)) => {
                lines.push(format!("failed with exit code {code}: {text}"));
            }
            (Status::Failed, None) => lines.push(format!("failed, killed by a signal: {text}")),
            (Status::WouldRun | Status::Ran, _) => {}
        }
    }
    let again = format!("git colony clones setup {}", text::shell_word(clone));
    if !approve.is_empty() {
        lines.push(format!("approve and run: {again}{approve}"));
    } else if has_failed(commands) {
        lines.push(format!("run again: {again}"));
    }
    lines
}

/// Plans the commands for a clone, and changes nothing: those that the tree proposes, else those of
/// the configuration of `repo`.
fn plan(
    world: &World,
    repo: &Repo,
    of_tree: &Repo,
    tree: Oid,
    approvals: &Approvals,
) -> Result<Vec<SetupCommand>> {
    let commands = approved_commands::find(world, repo, of_tree, tree)?;
    let mut waits = false;
    let planned = commands.texts.into_iter().map(|command| {
        let may = commands.named_by == NamedBy::User || approvals.has(&command);
        let status = match (may, waits) {
            (false, _) => Status::Waiting,
            (true, true) => Status::NotRun,
            (true, false) => Status::WouldRun,
        };
        waits |= !may;
        SetupCommand { id: approved_commands::id_of(&command), command, status, exit_code: None }
    });
    Ok(planned.collect())
}

/// Plans the commands for a clone of a local commit.
pub(crate) fn of_commit(
    session: &Session,
    commit: Option<Oid>,
    approvals: &Approvals,
) -> Result<Vec<SetupCommand>> {
    let repo = &session.repo;
    plan(&session.world, repo, repo, repo.tree_of(commit)?, approvals)
}

/// Runs the permitted setup commands of a new clone; `desk` is the checkout of the user.
pub(in crate::agents) fn run_new(
    (desk, inside): (&Session, &Session),
    approvals: &Approvals,
    setup: &mut Vec<String>,
) -> Result<Vec<SetupCommand>> {
    let (world, repo) = (&desk.world, &inside.repo);
    let tree = repo.tree_of(repo.head()?.commit())?;
    let mut commands = plan(world, &desk.repo, repo, tree, approvals)?;
    let limit = desk.settings.clone_run_time;
    run(world, repo.workdir(), limit, &mut commands)?;
    let ran = commands.iter().filter(|command| command.status == Status::Ran);
    setup.extend(ran.map(|command| format!("ran '{}'", command.command)));
    Ok(commands)
}

/// Runs the permitted set-up commands of a commit in another working tree of it.
pub(crate) fn run_in(
    desk: &Session,
    tree: &Path,
    commit: Oid,
    approvals: &Approvals,
) -> Result<Vec<SetupCommand>> {
    let mut commands = of_commit(desk, Some(commit), approvals)?;
    run(&desk.world, tree, desk.settings.clone_run_time, &mut commands)?;
    Ok(commands)
}

/// Runs the permitted commands at the root of a clone in its final place.
fn run(
    world: &World,
    clone: &Path,
    limit: Option<Duration>,
    commands: &mut [SetupCommand],
) -> Result<()> {
    let inside = world.standing_in(clone);
    let mut failed = false;
    let may_run = commands.iter_mut();
    for command in may_run.filter(|command| command.status == Status::WouldRun) {
        if failed {
            command.status = Status::NotRun;
            continue;
        }
        (world.narrate)(&format!("run: {}", command.command));
        let ending = shell_command::run_shell(&inside, &command.command, limit);
        match ending.map_err(|error| at_work(&error, clone))? {
            Ending::Exited(Some(0)) => {
                command.status = Status::Ran;
                command.exit_code = Some(0);
            }
            Ending::Exited(code) => {
                command.status = Status::Failed;
                command.exit_code = code;
            }
            Ending::OutOfTime => command.status = Status::OutOfTime,
        }
        failed = command.status != Status::Ran;
    }
    Ok(())
}

/// Adds to an error that the clone exists.
fn at_work(error: &Error, clone: &Path) -> Error {
    let shown = clone.display().to_string();
    let said = match error.code() {
        Code::Interrupted => "interrupted".to_owned(),
        _ => error.message(),
    };
    let again = text::shell_word(&shown);
    Error::new(
        error.code(),
        format!("{said}: the setup has not ended; the clone stays in '{shown}'"),
    )
    .untouched(None)
    .detail("path", &shown)
    .hint(format!("git colony clones setup {again}"))
    .verdict(error.ends_with())
}

/// The options of a setup run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The clone: its id, its agent or its path.
    pub clone: String,
    /// The agent that runs this, if any.
    pub agent: Option<String>,
    /// The ids of commands to approve.
    pub approve: Vec<String>,
    /// Only report the commands that would run.
    pub dry_run: bool,
}

/// The results of the setup commands of a clone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SetupReport {
    /// The id of the clone.
    pub id: String,
    /// Its path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Its commands in order.
    pub commands: Vec<SetupCommand>,
    /// True if nothing ran because of a dry run.
    pub dry_run: bool,
}

/// Runs the commands of an existing clone, as its HEAD has them, and approves those that are named.
pub fn set_up(world: &World, session: Option<&Session>, request: &Request) -> Result<SetupReport> {
    refuse_agent(world, request)?;
    let root = SharedRoot::of(world)?;
    let hub = session.map(|session| locate::place_of(session, &root));
    let clone = found::find(&root, hub.transpose()?.as_deref(), &request.clone)?;
    if let Some(checkout) = session.filter(|_| !request.dry_run) {
        checkout_settings::renew(checkout, &clone)?;
    }
    let inside = Session::open_foreign(world, &clone.path, ObjectWrites::Durable)?;
    inside.refuse_reader()?;
    let tree = inside.repo.tree_of(inside.repo.head()?.commit())?;
    let approvals = Approvals::of(&root, &clone.member.hub);
    let repo = session.map_or(&inside.repo, |session| &session.repo);
    let plan = || plan(world, repo, &inside.repo, tree, &approvals);
    let mut commands = plan()?;
    for id in &request.approve {
        let named = commands.iter().find(|command| &command.id == id);
        let Some(named) = named else {
            return Err(Error::new(
                Code::InvalidValue,
                format!("no command of this clone has the id '{id}'"),
            )
            .unchanged()
            .hint(format!(
                "git colony clones setup {} --dry-run",
                text::shell_word(&request.clone)
            )));
        };
        if !request.dry_run {
            approvals.add(&named.command)?;
        }
    }
    if !request.dry_run {
        commands = plan()?;
        let limit = inside.settings.clone_run_time;
        run(world, &clone.path, limit, &mut commands)?;
    }
    Ok(SetupReport { id: clone.member.id, path: clone.path, commands, dry_run: request.dry_run })
}

fn refuse_agent(world: &World, request: &Request) -> Result<()> {
    if request.approve.is_empty() {
        return Ok(());
    }
    let named = request.agent.clone().map(|agent| (agent, AgentReason::Named));
    let from = || acting_agent::by_place_or_session(world).into_iter().next();
    let Some((agent, reason)) = named.or_else(from) else {
        return Ok(());
    };
    Err(acting_agent::refused(&agent, &reason, "approve commands").hint(format!(
        "git colony clones setup {} --dry-run   # for the user",
        text::shell_word(&request.clone)
    )))
}
