//! The command line: one file per command; arguments in, one report out.
//!
//! A command's doc comment is its help. `run` of each file turns arguments into a request, calls one
//! use case, and prints its report; it decides nothing else.

mod actions;
mod agent_answers;
mod agents;
mod args;
mod aside_lines;
mod blackboard;
mod call;
mod cargo;
mod catalog;
mod checkpoint;
mod checkpoints;
mod cherry_pick;
mod clash_lines;
mod clone;
mod clones;
mod colony;
mod commit;
mod complete;
mod completions;
mod cone;
mod config;
mod context;
mod corrected_command;
mod credential;
mod decide;
mod decisions;
mod deinit;
mod diff;
mod disk_space;
mod doctor;
mod event_lines;
mod events;
pub mod examples;
mod face;
mod fleet;
mod fork;
mod forks;
mod git;
mod groups;
mod guide;
mod habits;
mod help;
mod hook;
mod hooks;
mod id;
mod index;
mod ingest;
mod init;
mod knowledge;
mod lfs;
mod lfs_migrate;
mod lock_lines;
mod log;
mod look;
pub mod manual;
mod map;
mod mcp;
mod meanings;
mod memory;
mod merge;
mod merge_driver;
mod open_repository;
mod ops;
mod pages;
mod paths;
mod projects;
mod promote;
mod prune;
mod query;
pub mod reference;
mod restore;
mod roff;
mod schema;
mod scopes;
mod search;
mod session;
mod session_answers;
mod status;
mod sync;
mod tag;
mod text_argument;
mod tools;
mod topology;
mod tour;
mod typed_line;
mod typed_path;
mod undo;
mod usage;
mod validate;
mod version;
mod watch;
mod watch_answers;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::sync::LazyLock;

use clap::{Command as Grammar, CommandFactory as _, FromArgMatches as _};

use crate::Exit;
use crate::env::Env;
use crate::flow::clones::colony as taking_part;
use crate::git::process::trace;
use crate::model::progress::Progress;
use crate::model::{Error, Result};
use crate::store::settings::Flags;
use crate::ui::answer::{Form, Outcome};
use crate::ui::theme::Palette;

use actions::Action;
use args::{Cli, Command, ContextCommand};
use face::{Face, Run, Stop, exit_of, face_error, stream_failed};
use look::Wanted;
use open_repository::Opening;

/// The commands, whose arguments are not defined yet.
static COMMANDS: LazyLock<Grammar> = LazyLock::new(Cli::command);

/// Parses and runs one command line.
pub(crate) fn run(args: &[OsString], env: &mut Env) -> Exit {
    let wants_json = args.iter().any(|arg| arg == "--json");
    let args = &habits::as_grammar_has_it(&COMMANDS, args);
    let mut cli = match parse(args) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error, args, wants_json, env),
    };
    match cli.command.take() {
        // An action is another command line, with the same global options.
        Some(Command::Call(own)) if own.is_call() => call::run(&own, &cli, env),
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
                Some(action) => actions::in_own_words(&built_grammar(), action, &error),
                None => error,
            };
            face_error(&error, Form::Json, Palette::Plain, env)
        }
    }
}

/// Runs a parsed command line, which is not an action.
fn answer(mut cli: Cli, args: &[OsString], env: &mut Env) -> Exit {
    if let Some(Command::Restore(own)) = &mut cli.command {
        // clap takes an empty list for none, and an empty variable of a shell must not bring back all of it.
        own.names_no_path = args.last().is_some_and(|last| last == "--");
    }
    let form = match (cli.json, cli.quiet) {
        (true, _) => Form::Json,
        (false, true) => Form::Quiet,
        (false, false) => Form::Text,
    };
    if cli.quiet || cli.no_progress {
        env.world.progress = Progress::unwanted();
    }
    if cli.command.as_ref().is_some_and(Command::is_run_by_git) {
        // git has chosen the repository.
        env.world.forget_named_root();
    }
    if cli.verbose {
        let wanted = (trace::VARIABLE.into(), "1".into());
        env.world.variables.extend([wanted]);
    }
    let mut face = Face {
        form,
        flags: flags(&cli),
        directory: cli.directory.clone(),
        named_root: OnceCell::new(),
        clone: OnceCell::new(),
        wanted: Wanted {
            color: cli.color,
            no_pager: cli.no_pager,
        },
        look: OnceCell::new(),
        measured_at: OnceCell::new(),
        env,
    };
    let started = face.env.world.now();
    let name = std::mem::take(&mut cli.name);
    let default = if cli.version {
        Command::Version(version::Args {})
    } else {
        Command::Fleet(fleet::Args::default())
    };
    let command = cli.command.unwrap_or(default);
    face.handle_signals(&command);
    let done = face.dispatch(command);
    let sent = face.sent();
    let palette = face.palette_of_errors();
    taking_part::publish_changes(&face.env.world);
    face.keep_time(name, started, exit_of(&done));
    match done {
        Ok(Outcome::Yes) => Exit(0),
        Ok(Outcome::No) => Exit(1),
        Err(Stop::Stream(error)) => stream_failed(&error, env),
        Err(Stop::Command(error)) => {
            let error = disk_space::with_way_to_look(
                corrected_command::with_the_newest(error, args),
                &env.world.cwd,
            );
            let hint = error.hint_text().map(|hint| sent.hint(hint));
            let error = hint.into_iter().fold(error, Error::replace_hint);
            face_error(&error, form, palette, env)
        }
    }
}

/// Parses a command line. Only help, and the message about a wrong line, need the whole grammar.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let parsed = grammar_for(args)
        .try_get_matches_from(args)
        .or_else(|_| grammar().try_get_matches_from(args));
    let mut matches = parsed?;
    let name = name_in(&matches);
    let cli = Cli::from_arg_matches_mut(&mut matches)?;
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
        names.push("fleet");
    }
    names.join(" ")
}

/// Returns the grammar with only one command, the first that the words name: clap copies the global options into
/// every command that it is given, which would be half of the start. What this grammar takes, the whole one takes too.
fn grammar_for(args: &[OsString]) -> Grammar {
    let cli = &*COMMANDS;
    let mut words = args.iter().skip(1);
    Grammar::new(cli.get_name().to_owned())
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(cli.get_arguments())
        .subcommands(words.find_map(|word| cli.find_subcommand(word)))
}

/// Returns the whole grammar of the command line, with our first screen as its help.
fn grammar() -> Grammar {
    let cli = built_grammar();
    let screen = help::first_screen(&cli);
    let cli = cli.mut_subcommands(|command| match examples::as_help(command.get_name()) {
        Some(examples) => command.after_help(examples),
        None => command,
    });
    cli.override_help(screen)
}

/// Returns the grammar with all that clap adds to it: what it takes can be asked.
fn built_grammar() -> Grammar {
    let mut cli = COMMANDS.clone();
    cli.build();
    cli
}

/// Returns the options that every command takes as they would be typed, for an answer in JSON.
fn global_words(cli: &Cli) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["--json".into()];
    if let Some(directory) = &cli.directory {
        words.extend(["-C".into(), directory.into()]);
    }
    let agent = cli.agent.iter().map(|agent| format!("--agent={agent}"));
    let timeout = cli
        .timeout
        .iter()
        .map(|seconds| format!("--timeout={seconds}"));
    words.extend(agent.chain(timeout).map(OsString::from));
    let flags = [
        (cli.quiet, "--quiet"),
        (cli.verbose, "--verbose"),
        (cli.no_progress, "--no-progress"),
    ];
    words.extend(
        flags
            .iter()
            .filter(|(given, _)| *given)
            .map(|(_, flag)| flag.into()),
    );
    words
}

fn flags(cli: &Cli) -> Flags {
    Flags {
        agent: cli.agent.clone(),
        timeout_seconds: cli.timeout.clone(),
    }
}

impl Face<'_> {
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

    fn dispatch(&mut self, command: Command) -> Result<Outcome, Stop> {
        match command {
            Command::Checkpoint(args) => checkpoint::run(self, args),
            Command::Tag(args) => tag::run(self, args),
            Command::Checkpoints(args) => checkpoints::run(self, &args),
            Command::Restore(args) => restore::run(self, args),
            Command::Agents(args) => agents::run(self, args),
            Command::Fork(args) => fork::run(self, args),
            Command::Forks(args) => forks::run(self, &args),
            Command::Merge(args) => merge::run(self, args),
            Command::CherryPick(args) => cherry_pick::run(self, args),
            Command::Undo(args) => undo::undo(self, &args),
            Command::Redo(args) => undo::redo(self, &args),
            Command::Ops(args) => ops::run(self, &args),
            Command::Clone(args) => clone::run(self, args),
            Command::Clones(args) => clones::run(self, args),
            Command::Colony(args) => colony::run(self, args),
            Command::Fleet(args) => fleet::run(self, &args),
            Command::Status(args) => status::run(self, &args),
            Command::Events(args) => events::run(self, args),
            Command::Tour(_) => tour::run(self),
            Command::Config(args) => config::run(self, &args),
            Command::Prune(args) => prune::run(self, &args),
            Command::Hooks(args) => hooks::run(self, args),
            Command::Hook(args) => hook::run(self, args),
            Command::Version(_) => version::run(self),
            Command::Id(_) => id::run(self),
            Command::Paths(_) => paths::run(self),
            Command::Groups(args) => groups::run(self, &args),
            Command::Catalog(args) => catalog::run(self, args),
            Command::Query(args) => query::run(self, args),
            Command::Index(args) => index::run(self, &args),
            Command::Git(args) => git::run(self, args),
            Command::Cargo(args) => cargo::run(self, args),
            Command::Validate(args) => validate::run(self, &args),
            Command::Init(args) => init::run(self, args),
            Command::Doctor(args) => doctor::run(self, &args),
            Command::Deinit(args) => deinit::run(self, &args),
            Command::Lfs(args) => lfs::run(self, &args),
            Command::Context(command) => self.dispatch_context(command),
            Command::Schema(args) => schema::run(self, &args),
            Command::Help(args) => help::run(self, &args),
            Command::Completions(args) => completions::run(self, &args),
            Command::Tools(args) => tools::run(self, args),
            Command::Complete(args) => complete::run(self, &args),
            Command::Diff(args) => diff::run(self, args),
            Command::Log(args) => log::run(self, &args),
            Command::Sync(args) => sync::run(self, args),
            Command::Topology(_) => topology::run(self),
            Command::Commit(args) => commit::run(self, &args),
            Command::Decide(args) => decide::run(self, args),
            Command::Decisions(args) => decisions::run(self, args),
            Command::MergeDriver(args) => merge_driver::run(self, args),
            Command::Credential(args) => credential::run(self, args),
            Command::Mcp(args) => mcp::run(self, &args),
            Command::Call(args) => call::describe(self, &args),
        }
    }

    fn dispatch_context(&mut self, command: ContextCommand) -> Result<Outcome, Stop> {
        match command {
            ContextCommand::Map(args) => map::run(self, args),
            ContextCommand::Pages(args) => pages::run(self, args),
            ContextCommand::Scopes(args) => scopes::run(self, &args),
            ContextCommand::Search(args) => search::run(self, args),
            ContextCommand::Context(args) => context::run(self, args),
            ContextCommand::Projects(args) => projects::run(self, args),
            ContextCommand::Session(args) => session::run(self, args),
            ContextCommand::Plans(_) => projects::run_plans(self),
            ContextCommand::Memory(args) => memory::run(self, args),
            ContextCommand::Blackboard(args) => blackboard::run(self, args),
            ContextCommand::Ingest(args) => ingest::run(self, args),
            ContextCommand::Knowledge(args) => knowledge::run(self, args),
            ContextCommand::Promote(args) => promote::promote(self, &args),
            ContextCommand::Demote(args) => promote::demote(self, &args),
            ContextCommand::Watch(args) => watch::run(self, &args),
            ContextCommand::Watches(args) => watch::run_list(self, &args),
        }
    }
}
