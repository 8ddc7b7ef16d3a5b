//! `git colony agents new`

use std::io::Write as _;

use crate::agents::{self, NewAgent, Request, agent_places, agent_start};
use crate::cli::actions::{Effect, Group, action, as_arg, same};
use crate::cli::commands::team::cone::ConeArgs;
use crate::cli::declaration::Declaration;
use crate::cli::{Face, Run, Stop};
use crate::git::process::foreground::{self, Foreground};
use crate::git::process::pager::PagerStreams;
use crate::store::Session;
use crate::store::operation::last_act;
use crate::ui::answer::{Form, Outcome};

use super::answers::OneOfSeveral;
use super::large_files;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The agent: letters, digits, '.', '_', '-'
    #[arg(value_name = "NAME")]
    name: String,
    /// More agents, each with the same options
    #[arg(value_name = "NAME")]
    more: Vec<String>,
    /// The label of its fork (default: its name)
    #[arg(long, value_name = "LABEL", conflicts_with = "more")]
    fork: Option<String>,
    /// Start at this branch, fork, checkpoint or commit (default: HEAD)
    #[arg(long, value_name = "REVISION")]
    from: Option<String>,
    /// Its task, which 'agents show' tells
    #[arg(short, long, value_name = "TASK")]
    message: Option<String>,
    /// Start this program in the clone, a line for the shell: it has the terminal if there is one agent and a terminal, else
    /// it runs in the background. Its environment has the task and the name of the agent
    #[arg(short = 'x', long = "start", value_name = "COMMAND")]
    start: Option<String>,
    /// Start it in the background in any case
    #[arg(long, requires = "start")]
    detach: bool,
    /// Copy the uncommitted changes of this working tree into the clone
    #[arg(long, conflicts_with_all = ["from", "sparse"])]
    with_changes: bool,
    /// Large files: 'all' (the default), 'none', or paths
    #[arg(long, value_name = "all|none|PATH", num_args = 1)]
    lfs: Vec<String>,
    #[command(flatten)]
    cone: ConeArgs,
    /// Show what would be created, and create nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn declaration() -> Declaration {
    Declaration::of("agents new").answers::<NewAgent>().action(
        action("new_agent", Group::Agents, Effect::Adds)
            .about(
                "Create a new agent with a clone and a fork, in 'path': calls with that as \
                 'directory' work there",
            )
            .takes(&[
                same("name"),
                same("fork"),
                same("from").about("A branch, fork, checkpoint or commit (default: HEAD)"),
                as_arg("task", "message").plain(),
                same("with_changes").about("Copy uncommitted changes"),
                same("lfs"),
                same("sparse")
                    .about("Check out only the files at the top and below these directories"),
            ]),
    )
}

pub(super) fn run(face: &mut Face<'_>, new: Args) -> Result<Outcome, Stop> {
    // It may begin at what another agent has.
    let session = face.session_to_begin(Run::from(new.dry_run), new.from.as_slice())?;
    let first = Request {
        name: new.name,
        fork: new.fork,
        from: new.from,
        large_files: large_files(new.lfs),
        with_changes: new.with_changes,
        sparse: new.cone.cone(),
        task: new.message,
    };
    let of = |name: &str| Request { name: name.to_owned(), ..first.clone() };
    let names = [vec![first.name.clone()], new.more].concat();
    if new.start.is_some() {
        agent_start::refuse_agent(&session)?;
    }
    let in_terminal = names.len() == 1 && !new.detach && has_terminal(face);
    if names.len() > 1 {
        // A name that cannot be taken is refused before the first clone is made.
        names.iter().try_for_each(|name| agents::check(&session, &of(name)))?;
    }
    let mut made: Vec<String> = Vec::new();
    let mut make = |face: &mut Face<'_>, name: &str| {
        let mut report = agents::create(&session, &of(name))?;
        made.push(name.to_owned());
        let path = report.path.to_string_lossy().into_owned();
        let variables = agent_start::variables(name, first.task.as_deref(), &path);
        if let Some(line) = new.start.as_deref().filter(|_| !(new.dry_run || in_terminal)) {
            report.started =
                Some(agent_start::start(&session.world, &report.path, line, &variables)?);
        }
        if names.len() == 1 { face.answer(&report) } else { face.answer(&OneOfSeveral(report)) }
    };
    let outcome = match names.as_slice() {
        [name] => make(face, name),
        names => face.each(names, make),
    };
    if !made.is_empty() {
        let made = made.join(" ");
        let way_back = format!("git colony agents remove {made}");
        last_act::note(&session, format!("agents new {made}"), way_back);
    }
    let answered = outcome?;
    match new.start.filter(|_| in_terminal && !new.dry_run) {
        Some(line) => run_here(face, &session, &first, &line),
        None => Ok(answered),
    }
}

/// Returns `true` if a program that is started has a terminal: its output and the keys.
fn has_terminal(face: &Face<'_>) -> bool {
    let has_output = face.env.terminal.streams.is_some() && face.form == Form::Text;
    has_output && crate::env::keyboard().is_some()
}

/// Runs the program of a new agent in the terminal, to its end.
fn run_here(
    face: &mut Face<'_>,
    session: &Session,
    agent: &Request,
    line: &str,
) -> Result<Outcome, Stop> {
    let place = agent_places::place(&session.world, Some(session), &agent.name)?;
    let path = place.path.to_string_lossy();
    let variables = agent_start::variables(&agent.name, agent.task.as_deref(), &path);
    face.env.stdout.flush().ok();
    let Some(streams) = &face.env.terminal.streams else {
        return Ok(Outcome::Yes);
    };
    let terminal = PagerStreams { stdout: &streams.stdout, stderr: &streams.stderr };
    let program = Foreground {
        program: std::path::Path::new("sh"),
        args: &["-c".into(), "--".into(), agent_start::with_options(line).into()],
        directory: &place.path,
        variables: &variables,
    };
    let status = foreground::run(&session.world, &program, &terminal)?;
    Ok(if status.success() { Outcome::Yes } else { Outcome::No })
}
