//! `git colony help` and the first screen: the commands in groups, told in clap's own words.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::flow::reports::manual_pages::{self, ManualPage, ManualReport};
use crate::model::time::Moment;
use crate::model::{Code, Error};
use crate::ui::answer::{Answer, Outcome};
use crate::ui::text;

use super::{Face, Stop, grammar, manual};

/// Show the help of a command, or list all commands
///
/// 'git colony --help' and 'git help colony' open the manual, where it is installed: cargo installs the program
/// alone, 'git colony help --install' adds the manual.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
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

/// The screen that lists a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Screen {
    /// On the first screen, and among all.
    First,
    /// Only among all.
    All,
}

use Screen::{All, First};

/// The groups, in order.
pub(super) const GROUPS: [&str; 4] = ["Keep", "Restore", "Collaborate", "Inspect and maintain"];

/// Every visible command in the order of its group, one line each. A line whose command is not built is
/// skipped; a command without a line fails a test. The first screen has room for fourteen.
const TABLE: &[(&str, &str, Screen)] = &[
    ("Keep", "init", First),
    ("Keep", "checkpoint", First),
    ("Keep", "checkpoints", First),
    ("Keep", "tag", All),
    ("Keep", "commit", All),
    ("Keep", "decide", All),
    ("Restore", "restore", First),
    ("Restore", "undo", First),
    ("Restore", "redo", All),
    ("Collaborate", "fleet", All),
    ("Collaborate", "agents", First),
    ("Collaborate", "clone", All),
    ("Collaborate", "clones", All),
    ("Collaborate", "colony", All),
    ("Collaborate", "fork", First),
    ("Collaborate", "forks", First),
    ("Collaborate", "merge", First),
    ("Collaborate", "cherry-pick", First),
    ("Collaborate", "sync", All),
    ("Collaborate", "blackboard", All),
    ("Collaborate", "events", All),
    ("Collaborate", "session", All),
    ("Inspect and maintain", "status", First),
    ("Inspect and maintain", "ops", First),
    ("Inspect and maintain", "log", All),
    ("Inspect and maintain", "diff", All),
    ("Inspect and maintain", "decisions", All),
    ("Inspect and maintain", "topology", All),
    ("Inspect and maintain", "tour", All),
    ("Inspect and maintain", "hooks", First),
    ("Inspect and maintain", "lfs", All),
    ("Inspect and maintain", "map", All),
    ("Inspect and maintain", "pages", All),
    ("Inspect and maintain", "scopes", All),
    ("Inspect and maintain", "search", All),
    ("Inspect and maintain", "context", All),
    ("Inspect and maintain", "projects", All),
    ("Inspect and maintain", "plans", All),
    ("Inspect and maintain", "memory", All),
    ("Inspect and maintain", "ingest", All),
    ("Inspect and maintain", "knowledge", All),
    ("Inspect and maintain", "promote", All),
    ("Inspect and maintain", "demote", All),
    ("Inspect and maintain", "watch", All),
    ("Inspect and maintain", "watches", All),
    ("Inspect and maintain", "tools", All),
    ("Inspect and maintain", "id", All),
    ("Inspect and maintain", "paths", All),
    ("Inspect and maintain", "groups", All),
    ("Inspect and maintain", "catalog", All),
    ("Inspect and maintain", "query", All),
    ("Inspect and maintain", "index", All),
    ("Inspect and maintain", "git", All),
    ("Inspect and maintain", "cargo", All),
    ("Inspect and maintain", "validate", All),
    ("Inspect and maintain", "config", All),
    ("Inspect and maintain", "doctor", First),
    ("Inspect and maintain", "prune", All),
    ("Inspect and maintain", "call", All),
    ("Inspect and maintain", "mcp", All),
    ("Inspect and maintain", "dashboard", All),
    ("Inspect and maintain", "schema", All),
    ("Inspect and maintain", "version", All),
    ("Inspect and maintain", "help", All),
    ("Inspect and maintain", "completions", All),
    ("Inspect and maintain", "deinit", All),
];

/// A command as help lists it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct CommandHelp {
    /// The group that lists it.
    pub(super) group: &'static str,
    /// Its name.
    pub(super) name: String,
    /// What it does, in one line.
    pub(super) summary: String,
    #[serde(skip)]
    screen: Screen,
}

/// Returns the visible commands by group. One that is in no group comes last, in the last group.
pub(super) fn commands(cli: &clap::Command) -> Vec<CommandHelp> {
    let visible = cli.get_subcommands().filter(|command| !command.is_hide_set());
    let mut found: Vec<(usize, CommandHelp)> = visible
        .map(|command| {
            let name = command.get_name();
            let at = TABLE.iter().position(|(_, known, _)| *known == name);
            let row = at.and_then(|at| TABLE.get(at));
            let told = CommandHelp {
                group: row.map_or(GROUPS[3], |(group, ..)| group),
                name: name.to_owned(),
                summary: command.get_about().map(ToString::to_string).unwrap_or_default(),
                screen: row.map_or(All, |(.., screen)| *screen),
            };
            (at.unwrap_or(TABLE.len()), told)
        })
        .collect();
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, told)| told).collect()
}

/// Returns what `git colony -h` prints: the first commands of each group, on one screen.
pub(super) fn first_screen(cli: &clap::Command) -> String {
    let mut text = "\
Save, restore and undo states of a repository; merge the work of many agents

Usage: git colony [-C DIR] [--json] [--agent AGENT] [-q] [COMMAND]

"
    .to_owned();
    let first: Vec<_> = commands(cli).into_iter().filter(|told| told.screen == First).collect();
    for line in grouped(&first) {
        // Writing to a string cannot fail.
        writeln!(text, "{line}").ok();
    }
    text.push_str("Without COMMAND: the agents, their clashes, and what to merge next\n");
    text.push_str("'git colony COMMAND -h' shows more, 'git colony help --all' lists the rest\n");
    text
}

/// Lines up the commands below the names of their groups.
fn grouped(told: &[CommandHelp]) -> Vec<String> {
    let row = |told: &CommandHelp| vec![format!("  {}", told.name), first_lower(&told.summary)];
    let rows = text::table(&told.iter().map(row).collect::<Vec<_>>());
    let mut lines = Vec::new();
    let mut group = "";
    for (told, row) in told.iter().zip(rows) {
        if told.group != group {
            group = told.group;
            lines.push(group.to_owned());
        }
        lines.push(row);
    }
    lines
}

pub(super) fn first_lower(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

#[derive(Serialize, JsonSchema)]
pub(super) struct CommandsReport {
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
        grouped(&self.commands)
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

pub(super) fn run(face: &mut Face<'_>, args: &Args) -> Result<Outcome, Stop> {
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
    for name in &args.command {
        command = command.find_subcommand_mut(name).ok_or_else(|| {
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
    fn every_visible_command_has_a_line_in_a_group() {
        let cli = crate::cli::grammar::built();
        for command in cli.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let row = TABLE.iter().find(|(_, known, _)| *known == name);
            let (group, ..) = row.unwrap_or_else(|| panic!("'{name}' has no line in help's TABLE"));
            assert!(GROUPS.contains(group), "'{name}' is in no group");
        }
        let groups: Vec<_> =
            TABLE.iter().map(|(group, ..)| GROUPS.iter().position(|g| g == group)).collect();
        assert!(groups.is_sorted(), "the lines of a group stand together");
        let first = TABLE.iter().filter(|(.., screen)| *screen == First).count();
        assert!(first <= 14, "the first screen has room for fourteen");
    }
}
