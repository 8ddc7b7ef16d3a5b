//! The examples of the commands: what help and the man pages show. Each command declares its own.

use super::commands;

/// A command with its examples.
pub struct Examples {
    /// The command.
    pub command: &'static str,
    /// The lines as they are typed, and their purpose.
    pub lines: &'static [(&'static str, &'static str)],
}

/// Returns the examples of every visible command, in the order of help.
pub fn all() -> impl Iterator<Item = Examples> {
    commands::with_those_below()
        .filter(|declaration| !declaration.examples.is_empty())
        .map(|declaration| Examples { command: declaration.command, lines: &declaration.examples })
}

/// Returns the examples of a command.
pub(super) fn find(command: &str) -> Option<Examples> {
    all().find(|examples| examples.command == command)
}

/// Returns the examples of a command as help shows them.
pub(super) fn as_help(command: &str) -> Option<String> {
    let lines =
        find(command)?.lines.iter().map(|(typed, meaning)| format!("  {typed}\n      {meaning}"));
    Some(format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n")))
}
