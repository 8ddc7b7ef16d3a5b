//! What each command declares about itself, beside its arguments: where help lists it, its examples, the reports it
//! answers with, what completion offers for its values, and the actions that agents may ask for.
//!
//! A command's own file has its declaration, and `commands` lists all. Help, the manual, `schema`, completion, `call` and
//! the MCP server read that list and have no table of their own. The arguments and their help are clap's (`args`), and
//! `dispatch` runs a command: the compiler compares these two. A declaration is a function and no constant: in the
//! program, the addresses of all texts would be filled in by the loader at every start.

use schemars::JsonSchema;

use crate::cli::commands::program::schema::{self, Report};

use super::actions::Action;
use super::complete::ValueKind;

/// A group of commands in help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Keep,
    Restore,
    Collaborate,
    Inspect,
}

impl Section {
    /// All of them, in the order of help.
    pub(super) const ALL: [Section; 4] =
        [Section::Keep, Section::Restore, Section::Collaborate, Section::Inspect];

    /// Returns its heading.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Section::Keep => "Keep",
            Section::Restore => "Restore",
            Section::Collaborate => "Collaborate",
            Section::Inspect => "Inspect and maintain",
        }
    }
}

/// The screen that lists a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    /// On the first screen, which has room for thirteen, and among all.
    First,
    /// Only among all.
    All,
}

/// Where help lists a command.
#[derive(Clone, Copy)]
pub(super) struct Listing {
    pub(super) section: Section,
    pub(super) screen: Screen,
}

/// What a command declares.
pub(super) struct Declaration {
    /// The command as it is typed, as in `checkpoints show`.
    pub(super) command: &'static str,
    /// Where help lists it; `None` for a command below another one.
    pub(super) listing: Option<Listing>,
    /// Whether it is a noun that lists by itself: after it, `list` and `ls` say nothing more.
    pub(super) lists_by_itself: bool,
    /// Lines as they are typed, and their purpose.
    pub(super) examples: Vec<(&'static str, &'static str)>,
    /// What it answers with.
    pub(super) reports: Vec<Report>,
    /// What its values are, by their names in help, where that is special.
    pub(super) values: Vec<(&'static str, ValueKind)>,
    /// What agents may ask for that it does.
    pub(super) actions: Vec<Action>,
    /// The commands below it.
    pub(super) below: Vec<Declaration>,
}

impl Declaration {
    /// Declares a command that help lists.
    pub(super) fn listed(command: &'static str, section: Section, screen: Screen) -> Declaration {
        let listing = Some(Listing { section, screen });
        Declaration { listing, ..Declaration::of(command) }
    }

    /// Declares a command below another one, as in `checkpoints show`.
    pub(super) fn of(command: &'static str) -> Declaration {
        Declaration {
            command,
            listing: None,
            lists_by_itself: false,
            examples: Vec::new(),
            reports: Vec::new(),
            values: Vec::new(),
            actions: Vec::new(),
            below: Vec::new(),
        }
    }

    /// Has `list` and `ls` after it mean nothing more.
    pub(super) fn lists_by_itself(self) -> Declaration {
        Declaration { lists_by_itself: true, ..self }
    }

    /// Shows a line in help and the manual. A test runs the lines of all commands, in a repository with the branch 'main',
    /// a file 'a.txt' and a folder 'dir', both with uncommitted changes, and a remote.
    pub(super) fn example(mut self, line: &'static str, purpose: &'static str) -> Declaration {
        self.examples.push((line, purpose));
        self
    }

    /// Answers with this report.
    pub(super) fn answers<T: JsonSchema>(self) -> Declaration {
        let name = self.command;
        self.answers_with::<T>(name)
    }

    /// Answers with this report if it is called with a flag, as in `status --line`.
    pub(super) fn answers_with<T: JsonSchema>(mut self, name: &'static str) -> Declaration {
        self.reports.push(Report { name, make: schema::of_answer::<T> });
        self
    }

    /// Has completion offer this for a value, which is named as in help.
    pub(super) fn completes(
        mut self,
        value: &'static str,
        kind: impl Into<ValueKind>,
    ) -> Declaration {
        self.values.push((value, kind.into()));
        self
    }

    /// Lets agents ask for this.
    pub(super) fn action(mut self, action: Action) -> Declaration {
        let command = if action.command.is_empty() { self.command } else { action.command };
        self.actions.push(Action { command, ..action });
        self
    }

    /// Has these commands below it.
    pub(super) fn below(mut self, commands: impl IntoIterator<Item = Declaration>) -> Declaration {
        self.below.extend(commands);
        self
    }

    /// Returns it and all below it, in order.
    pub(super) fn with_those_below(&self) -> Vec<&Declaration> {
        let below = self.below.iter().flat_map(Declaration::with_those_below);
        std::iter::once(self).chain(below).collect()
    }
}
