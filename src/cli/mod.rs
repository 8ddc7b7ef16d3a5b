//! The command line: one file per command; arguments in, one report out.
//!
//! A command's doc comment is its help. `declaration` of each file has what help, schemas, completion and agents need
//! beside. `run` turns arguments into a request, calls one use case, and prints its report; it decides nothing else.

mod actions;
mod args;
pub mod commands;
mod complete;
mod corrected_command;
mod dashboard;
mod declaration;
mod dispatch;
mod display;
pub mod examples;
mod face;
mod grammar;
pub mod habits;
mod mcp;
mod open_repository;
pub mod reference;
mod served;
mod text_argument;
mod typed_line;
mod typed_path;
mod usage;
mod wrong_words;

use std::cell::{Cell, OnceCell};
use std::ffi::OsString;
use std::time::Duration;

use clap::FromArgMatches as _;
use clap::error::ErrorKind;

use crate::Exit;
use crate::agents::colony::taking_part;
use crate::cli::commands::program::{call, version};
use crate::cli::commands::states::disk_space;
use crate::cli::commands::team::fleet;
use crate::env::Env;
use crate::git::process::trace;
use crate::model::progress::Progress;
use crate::model::{Error, Result, World};
use crate::store::settings::Flags;
use crate::ui::answer::{Form, Outcome};
use crate::ui::theme::Palette;

use actions::Action;
use args::{AgentCommand, Cli, Command, DEFAULT_COMMAND, SetupCommand, StateCommand};
use display::Wanted;
use face::{Face, Run, Stop, exit_of, face_error, stream_failed};
use open_repository::Opening;

/// Parses and runs one command line.
pub(crate) fn run(args: &[OsString], env: &mut Env) -> Exit {
    let wants_json = args.iter().any(|arg| arg == "--json");
    let args = &habits::as_grammar_has_it(args);
    let mut cli = match parse(args) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error, args, wants_json, env),
    };
    match cli.command.take() {
        // An action is another command line, with the same global options.
        Some(Command::Setup(SetupCommand::Call(own))) if own.is_call() => {
            call::run(&own, &cli, env)
        }
        command => {
            cli.command = command;
            answer(cli, args, env)
        }
    }
}

/// Runs a command line that is not of a person: its words are taken as they are, and the answer is JSON.
fn run_words(words: Vec<OsString>, action: Option<&Action>, env: &mut Env) -> Exit {
    let args: Vec<OsString> = std::iter::once("git-colony".into()).chain(words).collect();
    match parse(&args) {
        Ok(cli) => answer(cli, &args, env),
        Err(error) => {
            let error = usage::as_error(&error, &args);
            let error = match action {
                Some(action) => actions::in_own_words(&grammar::built(), action, &error),
                None => error,
            };
            face_error(&error, Form::Json, Palette::Plain, env)
        }
    }
}

/// Runs a parsed command line, which is not an action.
fn answer(mut cli: Cli, args: &[OsString], env: &mut Env) -> Exit {
    if let Some(Command::State(StateCommand::Restore(own))) = &mut cli.command {
        // clap takes an empty list for none, and an empty variable of a shell must not bring back all of it.
        own.names_no_path = args.last().is_some_and(|last| last == "--");
    }
    let form = match (cli.options.json, cli.options.quiet) {
        (true, _) => Form::Json,
        (false, true) => Form::Quiet,
        (false, false) => Form::Text,
    };
    if cli.options.quiet || cli.options.no_progress {
        env.world.progress = Progress::unwanted();
    }
    if cli.command.as_ref().is_some_and(Command::is_run_by_git) {
        // git has chosen the repository.
        env.world.forget_named_root();
    }
    if cli.options.verbose {
        let wanted = (trace::VARIABLE.into(), "1".into());
        env.world.variables.extend([wanted]);
    }
    env.world.timeout = timeout(&cli);
    let mut face = Face {
        form,
        flags: flags(&cli),
        directory: cli.options.directory.clone(),
        named_root: OnceCell::new(),
        clone: OnceCell::new(),
        wanted: Wanted { color: cli.options.color, no_pager: cli.options.no_pager },
        display: OnceCell::new(),
        measured_at: OnceCell::new(),
        verbose: cli.options.verbose,
        held_back_for: Cell::default(),
        env,
    };
    let started = (face.env.world.clock)();
    let name = std::mem::take(&mut cli.name);
    let command = command_of(cli);
    face.handle_signals(&command);
    let done = face.dispatch(command);
    let sent = face.sent();
    let palette = face.palette_of_errors();
    let place = if done.is_err() { face.world().ok() } else { None };
    taking_part::publish_changes(&face.env.world);
    face.keep_time(name, started, exit_of(&done));
    match done {
        Ok(Outcome::Yes) => Exit(0),
        Ok(Outcome::No) => Exit(1),
        Err(Stop::Stream(error)) => stream_failed(&error, env),
        Err(Stop::Command(error)) => {
            let error = taking_part::explain_by_lost_git(&env.world, error);
            let error = explained(error, place.as_ref(), args);
            let error = disk_space::with_space_command(error, &env.world.cwd);
            let hint = error.hint_text().map(|hint| sent.hint(hint));
            let error = hint.into_iter().fold(error, Error::replace_hint);
            face_error(&error, form, palette, env)
        }
    }
}

/// Returns the command of a line; without one, the fleet is shown.
fn command_of(cli: Cli) -> Command {
    let default = if cli.options.version {
        Command::Setup(SetupCommand::Version(version::Args { is_option: true }))
    } else {
        Command::Agents(AgentCommand::Fleet(fleet::Args::default()))
    };
    let mut command = cli.command.unwrap_or(default);
    if let Command::Agents(AgentCommand::Fleet(args)) = &mut command {
        args.add(&cli.options.fleet);
    }
    command
}

/// Adds what the surroundings say about an error: the hub that is gone, the command that was meant.
fn explained(error: Error, place: Option<&World>, args: &[OsString]) -> Error {
    let error = match place {
        Some(place) => taking_part::explain_by_lost_hub(place, error),
        None => error,
    };
    corrected_command::with_the_newest(error, args)
}

/// How long hooks and automatic checkpoints wait for another process.
const HASTY_TIMEOUT: Duration = Duration::from_secs(2);

/// Parses a command line. Only help, and the message about a wrong line, need the whole grammar.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let parsed = grammar::of_line(args)
        .try_get_matches_from(args)
        .or_else(|_| grammar::whole().try_get_matches_from(args));
    let mut matches = parsed?;
    let name = name_in(&matches);
    let cli = Cli::from_arg_matches_mut(&mut matches)?;
    if let Some(flag) = cli.options.fleet.flag()
        && cli.command.is_some()
        && name != DEFAULT_COMMAND
    {
        let message = format!("'{flag}' in front is for 'git colony' alone, not for '{name}'");
        return Err(grammar::whole().error(ErrorKind::ArgumentConflict, message));
    }
    Ok(Cli { name, ..cli })
}

/// Returns the name of the command, as in `query text`.
fn name_in(matches: &clap::ArgMatches) -> String {
    let mut names = Vec::new();
    let mut next = matches.subcommand();
    while let Some((name, below)) = next {
        names.push(name);
        next = below.subcommand();
    }
    if names.is_empty() {
        names.push(DEFAULT_COMMAND);
    }
    names.join(" ")
}

/// Returns the options that every command takes as they would be typed, for an answer in JSON.
fn global_words(cli: &Cli) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--json".into()];
    if let Some(directory) = &cli.options.directory {
        words.extend(["-C".into(), directory.into()]);
    }
    let agent = cli.options.agent.iter().map(|agent| format!("--agent={agent}"));
    let timeout = cli.options.timeout.iter().map(|seconds| format!("--timeout={seconds}"));
    words.extend(agent.chain(timeout).map(OsString::from));
    let flags = [
        (cli.options.quiet, "--quiet"),
        (cli.options.verbose, "--verbose"),
        (cli.options.no_progress, "--no-progress"),
    ];
    words.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| flag.into()));
    words
}

/// Returns the limit of `--timeout`, which also bounds the work after the command. A value that is not a time is refused
/// with the settings.
fn timeout(cli: &Cli) -> Option<Duration> {
    let seconds = cli.options.timeout.as_ref()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn flags(cli: &Cli) -> Flags {
    Flags { agent: cli.options.agent.clone(), timeout_seconds: cli.options.timeout.clone() }
}

impl Face<'_> {
    /// Bounds all waits for other processes: who works in the background must hold up nobody.
    fn hurry(&mut self) {
        let own = self.env.world.timeout;
        self.env.world.timeout = Some(own.map_or(HASTY_TIMEOUT, |own| own.min(HASTY_TIMEOUT)));
    }

    /// Has signals handled: at once, or only once the command starts a program.
    fn handle_signals(&mut self, command: &Command) {
        let Some(handle_signals) = self.env.handle_signals.take() else {
            return;
        };
        if command.ends_at_once() {
            self.env.world.interrupt.before_children(handle_signals);
        } else {
            handle_signals();
        }
    }
}
