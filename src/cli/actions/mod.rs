//! Actions: what an agent may ask for, by the names of the specification, as JSON.
//!
//! An action is a command of ours under another name: its arguments are translated to a command line, which the
//! same grammar reads and the same code answers. So `git colony call`, the MCP server and `--json` cannot differ,
//! and the help of the command is the only text about an argument. Only the arguments of the table can be
//! given: a new flag of a command does not become a tool of agents by itself.

mod as_call;
mod command_line;
mod input_schema;
mod table;
mod typed_arguments;

use serde_json::{Map, Value};

pub(super) use as_call::{Reach, in_calls};
pub(super) use command_line::{CommandLine, command_line, in_own_words};
pub(super) use input_schema::{description, input_schema};
pub(super) use table::{ACTIONS, CORE, find};
pub(super) use typed_arguments::typed_arguments;

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
    pub(super) told: Option<&'static str>,
}

/// The groups of actions; `mcp --only` offers some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
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
    pub(super) told: Option<&'static str>,
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
    Takes { name, also: None, how, is_required: false, told: None }
}

/// Takes an argument that has to be given.
pub(super) const fn required(takes: Takes) -> Takes {
    Takes { is_required: true, ..takes }
}

/// Takes an argument under a second name, too.
pub(super) const fn or(also: &'static str, takes: Takes) -> Takes {
    Takes { also: Some(also), ..takes }
}

/// Takes an argument without a description: its name says enough.
pub(super) const fn plain(takes: Takes) -> Takes {
    told("", takes)
}

/// Describes an argument.
pub(super) const fn told(told: &'static str, takes: Takes) -> Takes {
    Takes { told: Some(told), ..takes }
}
