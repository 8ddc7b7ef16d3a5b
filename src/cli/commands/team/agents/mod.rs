//! `git colony agents`

pub(in crate::cli) mod answers;
mod create;
mod marks;
mod output;
mod run;
mod show;
mod stop;

use std::path::PathBuf;

use crate::agents::agent_places::{AgentsReport, PathReport};
use crate::agents::agent_removal::{RemovalOptions, RemovedAgent};
use crate::agents::agent_restore::RestoredAgent;
use crate::agents::colony;
use crate::agents::restore_place::RestorePlace;
use crate::agents::{agent_places, agent_removal, agent_restore, agent_state};
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::team::guide;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::cli::{Face, Opening, Run, Stop};
use crate::clones::new_clone::clone_large_files::LargeFiles;
use crate::clones::removal::removed_work;
use crate::design::allowed_paths::path_check::{self, Changes, CheckReport};
use crate::desk::completion::Names;
use crate::desk::fleet;
use crate::store::operation::last_act;
use crate::ui::answer::Outcome;

use answers::OneOfSeveral;

/// Give each agent a clone and a fork of its own, and list them
///
/// The clones borrow their objects from one hub per repository, so that each costs little more than
/// its files. What an agent keeps can be seen and merged from here: 'git colony merge NAME'.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Action {
    /// Create a clone for an agent, on a fork of its own, and print its path
    #[command(alias = "add")]
    New(create::Args),
    /// Print the path of an agent's clone, and nothing else
    Path(Path),
    /// Show an agent's work: task, commits, decisions, files, clashes
    ///
    /// In the clone of an agent, without a name, its own.
    Show(show::Args),
    /// Run a command in the clones of agents
    ///
    /// It runs in each clone as it is, with your rights and without standard input, and its output follows when it has
    /// ended. Without names it runs in all clones of this checkout. Clones in which a program works are left out and
    /// named. The exit code is 1 if the command failed in one.
    Run(run::Args),
    /// Show the output of the program that 'agents new -x' has started in the background
    ///
    /// Of more than 1 MiB, the end. The exit code is 1 if none was started.
    Output(output::Args),
    /// End the programs of agents that 'agents new -x' has started in the background
    ///
    /// Each gets SIGTERM with its process group, and SIGKILL after ten seconds. The clones stay as they are.
    Stop(stop::Args),
    /// Say that your work is done, in the clone of the agent
    ///
    /// 'git colony' shows it until the agent commits again.
    Done(marks::Done),
    /// Hold work back: merging it is not suggested
    ///
    /// Nor is work that contains its commits. The agent hears of it as an event.
    Hold(marks::Hold),
    /// Remove the clone of an agent; 'agents restore' brings it back
    ///
    /// Its folder is kept as it was for 'colony.keepRemovedDays', a week; its commits and uncommitted changes are kept
    /// after that, too.
    #[command(alias = "rm", alias = "delete")]
    Remove(Remove),
    /// Restore a removed agent, with its uncommitted changes
    ///
    /// Its folder comes back as it was, while it is kept. After that, a new clone continues where the last one of
    /// that name ended: branches, checkpoints, stashes, the operation log, and uncommitted changes. Staged changes then
    /// come back unstaged.
    Restore(Restore),
    /// Check whether an agent is allowed to change the given paths
    ///
    /// The allowed paths are the list 'scope:' at the beginning of '.colony/agents/NAME.md': in HEAD, and
    /// with --range in A, so that no change widens the list it is checked against. The exit code is 1 if
    /// a path is not allowed.
    Check(Check),
    /// Print instructions for an agent, in Markdown
    ///
    /// They say where its clone is, how to keep, restore and merge, and what never to do. Inside a
    /// repository they use the names of that repository.
    Guide,
}

#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("changes").required(true).args(["paths", "staged", "range"]),
    override_usage = "git colony agents check [OPTIONS] <NAME> <PATH...|--staged|--range <A..B>>"
)]
struct Check {
    /// The agent
    #[arg(value_name = "NAME")]
    name: String,
    /// The files; they need not exist
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Check the staged changes
    #[arg(long)]
    staged: bool,
    /// Check the changes that B would bring to A
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// Allow everything if the agent has no allowed paths, instead of failing
    #[arg(long)]
    allow_unscoped: bool,
}

#[derive(Debug, clap::Args)]
struct Path {
    /// The agent
    #[arg(value_name = "NAME")]
    name: String,
    /// Take over the clone, even if another user or session works in it
    #[arg(long)]
    takeover: bool,
    /// Show from whom it would be taken over, and do nothing
    #[arg(short = 'n', long, requires = "takeover")]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct Remove {
    /// The agent, or the id of its clone
    #[arg(value_name = "NAME", required_unless_present = "merged")]
    name: Option<String>,
    /// More agents
    #[arg(value_name = "NAME")]
    more: Vec<String>,
    /// Remove all agents whose work is merged and that have nothing uncommitted
    #[arg(long, conflicts_with = "name")]
    merged: bool,
    /// Remove it also with files that a checkpoint leaves out, large new ones and likely secrets: they are deleted with its
    /// folder
    #[arg(short, long)]
    force: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct Restore {
    /// The removed agent
    #[arg(value_name = "NAME")]
    name: String,
    /// Give its work to an agent of another name
    #[arg(long = "as", value_name = "OTHER")]
    other: Option<String>,
    /// The removal at TIME, as 'agents' lists it, if an agent of this name was removed more than once
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Show what would be restored, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("agents", Section::Collaborate, Screen::First)
        .lists_by_itself()
        .example("git colony agents new ada bob", "a clone and a fork for each; prints the paths")
        .example("git colony agents remove --merged", "all whose work is merged")
        .example("cd \"$(git colony agents path ada)\"", "go there")
        .answers::<AgentsReport>()
        .action(action("list_agents", Group::Agents, Effect::Reads).about(
            "List the agents of this repository: their clones, who else is working there, and \
             removed ones",
        ))
        .below([
            create::declaration(),
            path_declaration(),
            show::declaration(),
            run::declaration(),
            output::declaration(),
            stop::declaration(),
            marks::done_declaration(),
            marks::hold_declaration(),
            remove_declaration(),
            restore_declaration(),
            check_declaration(),
            guide_declaration(),
        ])
}

fn path_declaration() -> Declaration {
    Declaration::of("agents path").answers::<PathReport>().completes("NAME", Names::Agents).action(
        action("agent_path", Group::Agents, Effect::Reads)
            .about("Find the path of an agent's clone")
            .takes(&[same("name").plain()]),
    )
}

fn remove_declaration() -> Declaration {
    Declaration::of("agents remove")
        .answers::<RemovedAgent>()
        .completes("NAME", Names::Agents)
        .action(
            action("remove_agent", Group::Agents, Effect::Destroys)
                .about("Remove an agent's clone; its work is kept, restore_agent brings it back")
                .takes(&[same("name").required()]),
        )
}

fn restore_declaration() -> Declaration {
    Declaration::of("agents restore")
        .answers::<RestoredAgent>()
        .completes("NAME", Names::RemovedAgents)
        .action(action("restore_agent", Group::Agents, Effect::Adds).takes(&[
            same("name").plain(),
            as_arg("new_name", "other"),
            same("at").about("When it was removed, as list_agents has it, if several times"),
        ]))
}

fn check_declaration() -> Declaration {
    Declaration::of("agents check")
        .answers::<CheckReport>()
        .completes("NAME", Names::Agents)
        .action(action("check_paths", Group::Agents, Effect::Reads).takes(&[
            same("name").about("The agent"),
            same("paths"),
            same("staged"),
            same("range"),
        ]))
}

fn guide_declaration() -> Declaration {
    Declaration::of("agents guide").answers::<guide::GuideReport>().action(action(
        "get_guide",
        Group::Agents,
        Effect::Reads,
    ))
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: Args) -> Result<Outcome, Stop> {
    match args.action {
        None => {
            let session = face.session(Opening::InMemory)?;
            let report = agent_places::list(&session)?;
            face.answer(&report)
        }
        Some(Action::New(new)) => create::run(face, new),
        Some(Action::Show(args)) => show::run(face, &args),
        Some(Action::Run(args)) => run::run(face, args),
        Some(Action::Output(args)) => output::run(face, &args),
        Some(Action::Stop(args)) => stop::run(face, &args),
        Some(Action::Done(args)) => marks::done(face, &args),
        Some(Action::Hold(args)) => marks::hold(face, &args),
        Some(Action::Remove(remove)) => remove_agents(face, &remove),
        Some(Action::Restore(restore)) => restore_agent(face, restore),
        Some(Action::Check(check)) => {
            // An agent may be on a branch of its own, and its work is found by its name.
            let session = face.session_among_others(Opening::InMemory, check.range.as_slice())?;
            let changes = match (check.range, check.staged) {
                (Some(range), _) => Changes::Range(range),
                (None, true) => Changes::Staged,
                (None, false) => Changes::Paths(check.paths),
            };
            let request = path_check::Request {
                agent: check.name,
                changes,
                allow_unscoped: check.allow_unscoped,
            };
            let report = path_check::check(&session, &request);
            let explained = |error| agent_state::explain_unknown(&session, error);
            face.answer(&report.map_err(explained)?)
        }
        Some(Action::Guide) => {
            let (_, session) = face.session_if_any()?;
            let report = guide::write(session.as_ref())?;
            face.answer(&report)
        }
        Some(Action::Path(path)) => {
            let (world, session) = face.session_anywhere(Run::Dry)?;
            let session = session.as_ref();
            let report = if path.takeover {
                agent_places::take_over(&world, session, &path.name, path.dry_run)?
            } else {
                agent_places::place(&world, session, &path.name)?
            };
            face.answer(&report)
        }
    }
}

fn restore_agent(face: &mut Face<'_>, restore: Restore) -> Result<Outcome, Stop> {
    let (world, session) = face.session_of_checkout(Run::from(restore.dry_run))?;
    let other = restore.other.filter(|other| *other != restore.name);
    let request = agent_restore::Request { name: restore.name, other, at: restore.at };
    let from = match &session {
        Some(session) => RestorePlace::in_checkout(session)?,
        None => RestorePlace::outside(&world, &request.name, restore.dry_run)?,
    };
    let report = agent_restore::restore(&from, &request)?;
    let agent = &report.agent;
    let way_back = format!("git colony agents remove {agent}");
    if let Some(session) = &session {
        last_act::note(session, format!("agents restore {agent}"), way_back);
    }
    face.answer(&report)
}

fn remove_agents(face: &mut Face<'_>, remove: &Remove) -> Result<Outcome, Stop> {
    let (world, session) = face.session_anywhere(Run::from(remove.dry_run))?;
    let options = RemovalOptions { force: remove.force, dry_run: remove.dry_run };
    let names: Vec<String> = match (&session, remove.merged) {
        (Some(session), true) => fleet::merged(session)?,
        _ => remove.name.iter().chain(&remove.more).cloned().collect(),
    };
    if names.len() > 1 || session.is_none() {
        // An unknown name is refused before the first is removed. One alone may be of a removal that was cut off: that is
        // completed, wherever it stands.
        let find = |name: &String| agent_places::find_anywhere(&world, session.as_ref(), name);
        names.iter().try_for_each(|name| find(name).map(drop))?;
    }
    let is_outside = session.is_none() || face.clone.get().is_some();
    let (mut removed, mut ways_back) = (Vec::new(), Vec::new());
    let mut remove_one = |face: &mut Face<'_>, name: &str| {
        let mut report = match &session {
            Some(session) => agent_removal::remove(session, name, options)?,
            None => colony::remove(&world, None, name, options)?,
        };
        report.is_from_outside = is_outside;
        removed.push(name.to_owned());
        // A clone for reading leaves nothing to bring back.
        let agent = report.agent.as_deref();
        let clones = || "git colony clones".to_owned();
        ways_back.push(agent.map_or_else(clones, removed_work::command));
        if names.len() == 1 { face.answer(&report) } else { face.answer(&OneOfSeveral(report)) }
    };
    let outcome = match names.as_slice() {
        [name] => remove_one(face, name),
        [] => {
            (world.narrate)("no agent without uncommitted changes is merged");
            Ok(Outcome::Yes)
        }
        names => face.each(names, remove_one),
    };
    if removed.len() > 1 && !remove.dry_run {
        (world.narrate)(
            "to restore one, while its folder is kept or after: git colony agents restore NAME",
        );
    }
    if let Some(session) = session.as_ref().filter(|_| !removed.is_empty()) {
        let command = format!("agents remove {}", removed.join(" "));
        last_act::note(session, command, ways_back.join(" && "));
    }
    outcome
}

/// Reads the values of `--lfs`.
pub(in crate::cli) fn large_files(values: Vec<String>) -> LargeFiles {
    match values.as_slice() {
        [] => LargeFiles::All,
        [word] if word == "all" => LargeFiles::All,
        [word] if word == "none" => LargeFiles::None,
        _ => LargeFiles::Paths(values),
    }
}
