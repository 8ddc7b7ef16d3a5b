//! `git colony mcp`: the actions as tools of an agent, by the Model Context Protocol on standard input and output.
//!
//! The protocol is rmcp's, and only this folder names it. A tool runs the command line of its action, in a world of
//! its own, on a thread of its own: its answer is what `--json` prints. Standard output carries the protocol and
//! nothing else. Threads: this one writes, one reads, one runs the protocol, one runs each call.

mod answer;
mod any_action;
mod attend;
mod call_place;
mod handler;
mod lines;
mod messages;
mod pace;
mod resources;
mod server;
mod tools;
mod updates;

use std::path::PathBuf;

use serde_json::Value;

use crate::cli::commands::reading::watch;
use crate::cli::declaration::{Declaration, Screen, Section};
use crate::model::world::Plane;
use crate::model::{Code, Error};
use crate::store::lease::processes;
use crate::store::settings::{self, CargoLeave, McpSettings};
use crate::ui::answer::Outcome;
use crate::workspace::bench::REPOSITORY_ID;

use super::actions::Group;
use super::served::run_action::{Own, Place};
use super::{Face, Opening, Stop};
use server::Server;

/// Serve the actions to an agent as the tools of an MCP server
///
/// The tools are the actions of 'git colony call'. One that could lose something answers with a preview first, and
/// is done when it is called again with the id of the preview. Agent and repository stay those of the start.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Args {
    /// Offer no tool that changes anything
    #[arg(long)]
    read_only: bool,
    /// Answer questions about the state from the shared clone for reading
    #[arg(long)]
    read_only_state: bool,
    /// Do at once what would answer with a preview first
    #[arg(long, conflicts_with = "read_only")]
    trust: bool,
    /// Also send each answer whole, as 'structuredContent', for programs that read it
    #[arg(long)]
    structured: bool,
    /// Offer the tools that run cargo, which runs code of the repository
    #[arg(long, conflicts_with = "read_only")]
    allow_cargo: bool,
    /// Offer a small set of tools, through which all actions can be reached, or a tool for each action
    #[arg(long, value_name = "SET", value_enum, default_value_t = ToolSet::Core)]
    tools: ToolSet,
    /// Offer only the tools of these groups: states, design, agents, pages, repository
    #[arg(long, value_name = "GROUP", value_enum, value_delimiter = ',')]
    only: Vec<Group>,
}

/// Which actions are tools of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ToolSet {
    /// What an agent does in an hour
    Core,
    /// Every action
    All,
}

/// What the command line says of the server.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Options {
    read_only: bool,
    trust: bool,
    /// Whether an answer is also sent as a structure.
    structured: bool,
    /// Whether the user allows cargo.
    cargo: bool,
    tools: ToolSet,
    only: Vec<Group>,
    /// The bounds.
    bounds: McpSettings,
}

pub(super) fn declaration() -> Declaration {
    Declaration::listed("mcp", Section::Inspect, Screen::All)
        .example(
            "git colony hooks install --for claude-code -n",
            "what starts it in an agent; without -n it is installed",
        )
        .example(
            "git colony mcp --read-only --only states </dev/null",
            "a server that ends at once, and offers only to read states",
        )
}

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    if face.env.world.stdout_is_terminal {
        let message = "the MCP server speaks with a program, and standard output is a terminal";
        let hint =
            "git colony hooks install --for claude-code -n   # what starts it; or: git colony call";
        return Err(Error::new(Code::Usage, message).hint(hint).into());
    }
    let mut place = place(face, args)?;
    let mut cargo = args.allow_cargo;
    // Outside of a repository the first call makes the clone of the agent; nothing is set before. A named agent that has no
    // place to work in would be left out of every call.
    let names_agent = face.flags.agent.is_some();
    let bounds = match face.silent_session(Opening::InMemory) {
        Err(error) if matches!(error.code(), Code::InvalidValue | Code::NameAmbiguous) => {
            return Err(error.into());
        }
        Err(error) if names_agent && error.code() == Code::NotARepository => {
            return Err(error.into());
        }
        session => session
            .map(|session| {
                if !args.read_only {
                    watch::resume(&session);
                }
                cargo |= session.settings.cargo == CargoLeave::Given;
                session.settings.mcp
            })
            .unwrap_or_default(),
    };
    place.world.allows_cargo = args.allow_cargo;
    if let Ok((world, checkout)) = face.checkout()
        && settings::keeps_times(&world, |key| checkout.config(key))
    {
        // The time of a call that is about another checkout is worth a warning.
        let variables = &mut place.world.variables;
        let own = variables.entry(REPOSITORY_ID.into());
        own.or_insert_with(|| checkout.repository_id().into());
    }
    let options = Options {
        read_only: args.read_only,
        trust: args.trust,
        structured: args.structured,
        cargo,
        tools: args.tools,
        only: args.only.clone(),
        bounds,
    };
    let server = Server::new(place, options);
    lines::serve(face.env, &server).map_err(Stop::Stream)?;
    face.env.world.interrupt.check()?;
    Ok(Outcome::Yes)
}

/// Returns where the calls run: it is fixed now.
fn place(face: &Face<'_>, args: &Args) -> Result<Place, Error> {
    let mut world = face.world()?;
    // The server stands where a variable says.
    world.forget_named_root();
    // The client works in the clone, with its servers and its shells; some start each server in a session of its own.
    world.process = world.process.map(|own| processes::parent_of(own).unwrap_or(own));
    let mut place = Place {
        world,
        plane: Plane::Mcp,
        agent: face.flags.agent.clone(),
        timeout: face.flags.timeout_seconds.clone(),
        state: None,
        known: Vec::new(),
    };
    place.keep_to_repository()?;
    if args.read_only_state {
        let clone = reading_clone(&place)?;
        place.keep_to(&clone);
        place.state = Some(clone);
    }
    Ok(place)
}

/// Returns the shared clone for reading of this repository, which is made if need be.
fn reading_clone(place: &Place) -> Result<PathBuf, Error> {
    let made =
        place.run(vec!["clones".into(), "new".into(), "--read-only".into()], None, Own::default());
    let path = made.object.get("path").and_then(Value::as_str);
    path.map(PathBuf::from).ok_or_else(|| {
        let message = format!("cannot make the shared clone for reading: {}", made.message());
        Error::new(Code::CloneNotFound, message).hint("git colony clones new --read-only")
    })
}
