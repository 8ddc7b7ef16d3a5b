//! Actions: what an agent may ask for, by the names of the specification, as JSON.
//!
//! An action is a command of ours under another name: its arguments are translated to a command line, which the
//! same grammar reads and the same code answers. So `git colony call`, the MCP server and `--json` cannot differ,
//! and the help of the command is the only text about an argument. Each command declares its actions. Only the arguments
//! that it declares can be given: a new flag of a command does not become a tool of agents by itself.
//!
//! Not offered: decisions of a person (`init remove`, `prune`, hooks and settings, leave to run cargo, the approval of
//! set-up commands, consent to publish, moving tags of a remote, likely secrets, taking over a clone, changes
//! outside of the allowed paths), and arguments that are command lines.

mod as_call;
mod command_line;
mod input_schema;
mod typed_arguments;

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::commands;

pub(super) use as_call::{Reach, in_calls};
pub(super) use command_line::{CommandLine, command_line, in_own_words};
pub(super) use input_schema::{description, input_schema};
pub(super) use typed_arguments::typed_arguments;

/// Every action, in the order of its group, and in a group in that of its command. Built when one is asked for.
pub(super) static ACTIONS: LazyLock<Vec<Action>> = LazyLock::new(|| {
    let declared = commands::with_those_below().flat_map(|declaration| &declaration.actions);
    let mut actions: Vec<Action> = declared.cloned().collect();
    actions.sort_by_key(|action| action.group);
    actions
});

/// Returns the action of a name.
pub(super) fn find(name: &str) -> Option<&'static Action> {
    ACTIONS.iter().find(|action| action.name == name)
}

/// One action.
#[derive(Clone, Debug)]
pub(super) struct Action {
    /// Its name.
    pub(super) name: &'static str,
    /// What it is about.
    pub(super) group: Group,
    /// What it may do.
    pub(super) effect: Effect,
    /// The command that does it, with the flags that are always given.
    pub(super) command: &'static str,
    /// The arguments that can be given.
    pub(super) takes: Vec<Takes>,
    /// Its description, where the help of the command does not fit.
    pub(super) about: Option<&'static str>,
}

/// The groups of actions; `mcp --only` offers some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(super) enum Group {
    /// Checkpoints, restore, undo, commits
    States,
    /// Forks, merges, decisions, differences
    Design,
    /// Agents, clones, the fleet
    Agents,
    /// The repo map, scopes and pages
    Pages,
    /// Set-up, tools, large files, remotes, health
    Repository,
}

/// What an action may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes nothing that lasts.
    Reads,
    /// It adds something, and what was there stays or comes back by one undo.
    Adds,
    /// It runs code of the repository, which only the user allows.
    Runs,
    /// It moves away what was there: a preview comes first.
    Destroys,
    /// It does so if this argument is `true`.
    DestroysWith(&'static str),
    /// It may send something to a remote: a preview comes first, until a person has consented to that.
    Publishes,
    /// It does so unless the first argument is `false`, and destroys if the second is `true`.
    PublishesUnlessNot(&'static str, &'static str),
}

impl Effect {
    /// Returns `true` if an action with these arguments moves away what was there.
    pub(super) fn destroys(self, arguments: &Map<String, Value>) -> bool {
        match self {
            Effect::Reads | Effect::Adds | Effect::Runs | Effect::Publishes => false,
            Effect::Destroys => true,
            Effect::DestroysWith(name) | Effect::PublishesUnlessNot(_, name) => {
                is(arguments, name, true)
            }
        }
    }

    /// Returns `true` if it sends something to a remote.
    pub(super) fn publishes(self, arguments: &Map<String, Value>) -> bool {
        match self {
            Effect::Publishes => true,
            Effect::PublishesUnlessNot(name, _) => !is(arguments, name, false),
            _ => false,
        }
    }

    /// Returns `true` if the action may need a preview with some arguments.
    pub(super) fn may_need_preview(self) -> bool {
        !matches!(self, Effect::Reads | Effect::Adds | Effect::Runs)
    }
}

fn is(arguments: &Map<String, Value>, name: &str, value: bool) -> bool {
    arguments.get(name).and_then(Value::as_bool) == Some(value)
}

/// One argument of an action.
#[derive(Clone, Copy, Debug)]
pub(super) struct Takes {
    /// Its name in JSON.
    pub(super) name: &'static str,
    /// Another name that is accepted.
    pub(super) also: Option<&'static str>,
    /// How it becomes part of the command line.
    pub(super) how: How,
    /// Whether the action asks for it though the command does not.
    pub(super) is_required: bool,
    /// Its description, where the help of the command does not fit.
    pub(super) about: Option<&'static str>,
}

/// How an argument becomes part of the command line; names are those of the grammar's arguments.
#[derive(Clone, Copy, Debug)]
pub(super) enum How {
    /// As the value or values of this argument, or as this flag.
    As(&'static str),
    /// As one value of this argument, which the command takes several times.
    Text(&'static str),
    /// As a number, the value of this argument; this is given if there is none.
    Number(&'static str, Option<u64>),
    /// As this flag if it is `false`; `true` is what happens without.
    Not(&'static str),
    /// As the first flag if it is `true`, which it is if it is not given, else as the second.
    Either(&'static str, &'static str),
    /// As this flag unless it is `true`; `false` is the default.
    Unless(&'static str),
    /// If it is `false`, another command does the action; `true` is the default.
    OrElse(&'static str),
    /// If it is `true`, another command does the action; `false` is the default.
    Instead(&'static str),
    /// As one value `KEY=VALUE` of this argument for each member of an object.
    Pairs(&'static str),
    /// An object with arguments of its own.
    Object(&'static [Takes]),
}

/// Declares an action, which its command does.
pub(super) fn action(name: &'static str, group: Group, effect: Effect) -> Action {
    Action { name, group, effect, command: "", takes: Vec::new(), about: None }
}

impl Action {
    /// Has its command given these flags, as in `diff --patch`.
    pub(super) fn by(self, command: &'static str) -> Action {
        Action { command, ..self }
    }

    /// Describes it.
    pub(super) fn about(self, about: &'static str) -> Action {
        Action { about: Some(about), ..self }
    }

    /// Takes these arguments, in fewer words than the help of a command: an agent reads all of them before it begins.
    pub(super) fn takes(self, takes: &[Takes]) -> Action {
        Action { takes: takes.to_vec(), ..self }
    }
}

/// Takes an argument under its name in the grammar.
pub(super) const fn same(name: &'static str) -> Takes {
    as_arg(name, name)
}

/// Takes an argument under a name of the specification.
pub(super) const fn as_arg(name: &'static str, argument: &'static str) -> Takes {
    how(name, How::As(argument))
}

/// Takes an argument in this way.
pub(super) const fn how(name: &'static str, how: How) -> Takes {
    Takes { name, also: None, how, is_required: false, about: None }
}

impl Takes {
    /// Has to be given.
    pub(super) const fn required(self) -> Takes {
        Takes { is_required: true, ..self }
    }

    /// Has a second name, too.
    pub(super) const fn or(self, also: &'static str) -> Takes {
        Takes { also: Some(also), ..self }
    }

    /// Has no description: its name says enough.
    pub(super) const fn plain(self) -> Takes {
        self.about("")
    }

    /// Describes it.
    pub(super) const fn about(self, about: &'static str) -> Takes {
        Takes { about: Some(about), ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_action_is_made_of_arguments_of_the_grammar() {
        let grammar = crate::cli::grammar::built();
        let mut names = BTreeSet::new();
        for action in ACTIONS.iter() {
            assert!(names.insert(action.name), "'{}' is there twice", action.name);
            // Both name what the grammar does not have.
            input_schema(&grammar, action);
            assert!(!description(&grammar, action).is_empty(), "{}", action.name);
        }
    }

    #[test]
    fn what_changes_something_can_be_previewed() {
        let grammar = crate::cli::grammar::built();
        for action in ACTIONS.iter().filter(|action| action.effect.may_need_preview()) {
            let command = command_line::find(&grammar, action.command);
            let has_dry_run =
                command.get_arguments().any(|argument| argument.get_id() == "dry_run");
            assert!(has_dry_run, "{}", action.name);
        }
    }

    #[test]
    fn no_action_takes_what_only_a_person_decides() {
        let personal = ["approve", "allow_secret", "takeover", "allow_unscoped", "run"];
        for action in ACTIONS.iter() {
            for takes in &action.takes {
                if let How::As(argument) = takes.how {
                    assert!(!personal.contains(&argument), "{} {argument}", action.name);
                }
            }
            // Syncing with '--push' is the consent itself.
            assert!(action.name != "sync" || action.takes.iter().all(|takes| takes.name != "push"));
        }
    }
}
