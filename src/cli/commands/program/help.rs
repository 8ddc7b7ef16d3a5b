//! `git colony help` and the first screen of 24 lines: the commands in groups, in the order of `COMMANDS` in `commands`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::commands::program::{completions, schema, tour};
use crate::cli::complete::ValueKind;
use crate::cli::declaration::{Declaration, Listing, Screen, Section};
use crate::cli::reference::manual;
use crate::cli::{Face, Stop, commands, grammar, habits};
use crate::desk::manual_pages::{self, ManualPage, ManualReport};
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

/// Show the help of a command, or list all commands
///
/// 'git colony --help' and 'git help colony' open the manual, where it is installed: cargo installs the program
/// alone, 'git colony help --install' adds the manual.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    topic: Option<Topic>,
    /// List every command
    #[arg(short, long, conflicts_with = "command")]
    all: bool,
    /// Write the manual to PREFIX/share/man, where man finds it if the program is in PREFIX/bin
    #[arg(long, conflicts_with_all = ["all", "command"])]
    install: bool,
    /// Write it to the folder of manuals DIR instead
    #[arg(long, value_name = "DIR", requires = "install")]
    to: Option<PathBuf>,
    /// Show where it would be written, and write nothing
    #[arg(short = 'n', long, requires = "install")]
    dry_run: bool,
    /// The command, as in 'checkpoints show'
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
enum Topic {
    Schema(schema::Args),
    Tour(tour::Args),
    Completions(completions::Args),
}

/// What runs without a command: help lists it below the commands.
const WITHOUT_COMMAND: &str =
    "Without COMMAND: the agents, clashes, what to merge next (git colony fleet -h)";

/// A command as help lists it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct CommandHelp {
    /// The group that lists it.
    pub(in crate::cli) group: &'static str,
    /// Its name.
    pub(in crate::cli) name: String,
    /// What it does, in one line.
    pub(in crate::cli) summary: String,
    #[serde(skip)]
    screen: Screen,
}

pub(in crate::cli) fn declaration() -> Declaration {
    Declaration::listed("help", Section::Inspect, Screen::All)
        .example("git colony help --all", "every command")
        .example("git colony help checkpoints show", "one of them in full")
        .example(
            "git colony help --install --to ~/.local/share/man -n",
            "where the manual would be written",
        )
        .answers::<CommandsReport>()
        .answers_with::<ManualReport>("help --install")
        .completes("COMMAND", ValueKind::Command)
        .below([schema::declaration(), tour::declaration(), completions::declaration()])
}

/// Returns the visible commands by group.
pub(in crate::cli) fn commands(cli: &clap::Command) -> Vec<CommandHelp> {
    let listed = commands::all().iter().filter_map(|declaration| {
        let command = cli.find_subcommand(declaration.command)?;
        let Listing { section, screen } = declaration.listing?;
        Some(CommandHelp {
            group: section.heading(),
            name: declaration.command.to_owned(),
            summary: command.get_about().map(ToString::to_string).unwrap_or_default(),
            screen,
        })
    });
    listed.collect()
}

/// Returns what `git colony -h` prints: the first commands of each group, on one screen.
pub(in crate::cli) fn first_screen(cli: &clap::Command) -> String {
    let mut text = "\
Save, restore and undo states of a repository; merge the work of many agents

Usage: git colony [-C DIR] [--json] [--agent AGENT] [-q] [COMMAND]

"
    .to_owned();
    let first: Vec<_> =
        commands(cli).into_iter().filter(|command| command.screen == Screen::First).collect();
    for line in grouped(&first) {
        // Writing to a string cannot fail.
        writeln!(text, "{line}").ok();
    }
    writeln!(text, "{WITHOUT_COMMAND}").ok();
    text.push_str("'git colony COMMAND -h' shows more, 'git colony help --all' lists the rest\n");
    text
}

/// Lines up the commands below the names of their groups.
fn grouped(commands: &[CommandHelp]) -> Vec<String> {
    let row =
        |command: &CommandHelp| vec![format!("  {}", command.name), first_lower(&command.summary)];
    let rows = text::table(&commands.iter().map(row).collect::<Vec<_>>());
    let mut lines = Vec::new();
    let mut group = "";
    for (command, row) in commands.iter().zip(rows) {
        if command.group != group {
            group = command.group;
            lines.push(group.to_owned());
        }
        lines.push(row);
    }
    lines
}

pub(in crate::cli) fn first_lower(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

#[derive(Serialize, JsonSchema)]
struct CommandsReport {
    /// Every visible command, by group.
    commands: Vec<CommandHelp>,
    /// How many.
    count: usize,
}

impl Answer for CommandsReport {
    fn is_listing(&self) -> bool {
        true
    }

    fn message(&self) -> String {
        format!("{}; 'git colony COMMAND -h' shows more", text::count(self.count, "command"))
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        let mut lines = grouped(&self.commands);
        lines.push(WITHOUT_COMMAND.to_owned());
        lines
    }
}

impl Answer for ManualReport {
    fn message(&self) -> String {
        let verb = if self.dry_run { "would write" } else { "wrote" };
        let pages = text::count(self.count, "page");
        format!("{verb} {pages} of the manual to '{}'", self.folder.display())
    }

    fn body(&self, _now: &Moment) -> Vec<String> {
        vec![
            "man finds them if the 'bin' beside is on PATH, or MANPATH names it: git colony --help"
                .to_owned(),
        ]
    }
}

pub(in crate::cli) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
    match &args.topic {
        Some(Topic::Schema(args)) => return schema::run(face, args),
        Some(Topic::Tour(_)) => return tour::run(face),
        Some(Topic::Completions(args)) => return completions::run(face, args),
        None => {}
    }
    if args.install {
        let world = face.world()?;
        let pages: Vec<_> = manual::pages()
            .into_iter()
            .map(|page| ManualPage { file: page.file, text: page.text })
            .collect();
        let to = args.to.as_deref();
        return face.answer(&manual_pages::install(&world, to, &pages, args.dry_run)?);
    }
    let mut cli = grammar::whole();
    if args.all {
        let commands = commands(&cli);
        let count = commands.len();
        return face.answer(&CommandsReport { commands, count });
    }
    let mut command = &mut cli;
    let typed: Vec<OsString> = args.command.iter().map(OsString::from).collect();
    for name in habits::of_this_version(&typed) {
        command = command.find_subcommand_mut(&name).ok_or_else(|| {
            Error::new(Code::Usage, format!("no command is called '{}'", args.command.join(" ")))
                .hint("git colony help --all")
        })?;
    }
    let text = command.render_long_help();
    let out = &mut face.env.stdout;
    write!(out, "{text}").and_then(|()| out.flush()).map_err(Stop::Stream)?;
    Ok(Outcome::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_declared_in_a_section() {
        let cli = crate::cli::grammar::built();
        let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
        for name in visible.map(clap::Command::get_name) {
            let listing = commands::find(name).and_then(|declaration| declaration.listing);
            assert!(listing.is_some(), "'{name}' is not in the list of commands");
        }
        let listings: Vec<Listing> =
            commands::all().iter().filter_map(|declaration| declaration.listing).collect();
        assert!(listings.is_sorted_by_key(|listing| listing.section), "sections are mixed");
        let first = listings.iter().filter(|listing| listing.screen == Screen::First).count();
        assert!(first <= 13, "a screen of 24 lines has room for thirteen, and the prompt");
    }

    #[test]
    fn every_declaration_is_of_a_command() {
        let cli = crate::cli::grammar::built();
        for declaration in commands::with_those_below() {
            let mut words = declaration.command.split(' ');
            let command = words.try_fold(&cli, |above, word| above.find_subcommand(word));
            assert!(command.is_some(), "'{}'", declaration.command);
        }
    }
}
