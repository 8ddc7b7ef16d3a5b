//! The grammar of the command line, as much of it as a line needs: the whole is for help and for wrong lines.

use std::ffi::{OsStr, OsString};
use std::sync::LazyLock;

use clap::{Args as _, Command as Grammar, CommandFactory as _, Subcommand};

use crate::cli::commands::program::help;

use super::args::{
    AgentCommand, CalledCommand, Cli, ContextCommand, DesignCommand, NAME, Options, SetupCommand,
    StateCommand, WorkspaceCommand,
};
use super::examples;

/// The options of the program, without commands.
static OPTIONS: LazyLock<Grammar> = LazyLock::new(|| Options::augment_args(Grammar::new(NAME)));

/// Every command; its arguments are not defined yet.
static COMMANDS: LazyLock<Grammar> = LazyLock::new(Cli::command);

/// A group of commands: whether it has one, and all of them.
type Group = (fn(&str) -> bool, fn(Grammar) -> Grammar);

const GROUPS: [Group; 7] = [
    group::<StateCommand>(),
    group::<DesignCommand>(),
    group::<AgentCommand>(),
    group::<ContextCommand>(),
    group::<WorkspaceCommand>(),
    group::<SetupCommand>(),
    group::<CalledCommand>(),
];

const fn group<T: Subcommand>() -> Group {
    (T::has_subcommand, T::augment_subcommands)
}

/// Returns the options of the program.
pub(super) fn options() -> &'static Grammar {
    &OPTIONS
}

/// Returns the grammar of a command; its arguments are not defined yet.
pub(super) fn command(word: &OsStr) -> Option<Grammar> {
    let word = word.to_str()?;
    let (_, add_commands) = GROUPS.iter().find(|(has, _)| has(word))?;
    let mut group = add_commands(Grammar::new(NAME));
    group.find_subcommand_mut(word).map(std::mem::take)
}

/// Returns the grammar with only one command, the first that the words name: clap copies the global options into
/// every command that it is given, which would be half of the start. What this grammar takes, the whole one takes too.
pub(super) fn of_line(args: &[OsString]) -> Grammar {
    Grammar::new(NAME)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        .args(options().get_arguments())
        .subcommands(args.iter().skip(1).find_map(|word| command(word)))
}

/// Returns the whole grammar of the command line, with our first screen as its help.
pub(super) fn whole() -> Grammar {
    let cli = built();
    let screen = help::first_screen(&cli);
    with_examples(cli, "").override_help(screen)
}

/// Adds the examples of the commands below a command, whose name begins with `above`.
fn with_examples(command: Grammar, above: &str) -> Grammar {
    command.mut_subcommands(|command| {
        let name = format!("{above}{}", command.get_name());
        let command = with_examples(command, &format!("{name} "));
        match examples::as_help(&name) {
            Some(examples) => command.after_help(examples),
            None => command,
        }
    })
}

/// Returns the grammar with all that clap adds to it: what it takes can be asked.
pub(super) fn built() -> Grammar {
    let mut cli = COMMANDS.clone();
    cli.build();
    cli
}

/// Returns `true` if a command is not shown in help.
pub(super) fn is_hidden(name: &str) -> bool {
    command(OsStr::new(name)).is_some_and(|command| command.is_hide_set())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_by_itself() {
        for subcommand in COMMANDS.get_subcommands() {
            let name = subcommand.get_name();
            let by_name = command(OsStr::new(name)).unwrap();
            assert_eq!(by_name.get_name(), name);
            assert_eq!(by_name.is_hide_set(), subcommand.is_hide_set(), "{name}");
            // A name that only clap knows would take the way of a wrong line.
            assert_eq!(subcommand.get_all_aliases().count(), 0, "{name}");
        }
        assert!(command(OsStr::new("nothing")).is_none());
    }
}
