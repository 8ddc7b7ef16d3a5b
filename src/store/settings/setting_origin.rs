//! A setting with the value in effect and its origin.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::config::{ConfigLevel, ConfigValue};
use crate::model::text::Position;
use crate::model::{Code, Error};
use crate::store::agent_policy::protected_branches::ProtectingSource;

use super::Setting;
use super::setting_kind::Kind;

/// The layer of a value, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The built-in default.
    Default,
    /// git's configuration of the machine.
    System,
    /// git's configuration of the user.
    Global,
    /// git's configuration of the repository.
    Local,
    /// git's configuration of the worktree.
    Worktree,
    /// git's configuration of this one command.
    Command,
    /// `.colony/colony.toml` at the root of the worktree.
    Repository,
    /// `.colony/colony.toml` in the current directory.
    Directory,
    /// An environment variable.
    Environment,
    /// The command line.
    Flag,
}

/// A setting with its value and origin.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Effective {
    /// The key.
    pub key: &'static str,
    /// The value, as written; empty when unset.
    pub value: String,
    /// `default`, `file:<path>[:<line>:<column>]`, `command`, `environment:<name>` or `flag:<name>`.
    pub origin: String,
    /// Its layer.
    pub level: Level,
    /// The file that sets it.
    pub path: Option<String>,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The column, from 1, where it is known.
    pub column: Option<usize>,
    /// The description of the setting.
    pub help: &'static str,
}

/// A setting with the value that wins.
pub(in crate::store) struct Resolved {
    pub(super) setting: &'static Setting,
    pub(in crate::store) value: String,
    pub(super) source: Source,
}

pub(super) enum Source {
    BuiltIn,
    Git(ConfigValue),
    File(Level, PathBuf, Position),
    Environment,
    Flag,
    /// Several, with the level of the strongest and all origins.
    All(Level, String),
}

impl From<ConfigLevel> for Level {
    fn from(level: ConfigLevel) -> Level {
        match level {
            ConfigLevel::System => Level::System,
            ConfigLevel::Global => Level::Global,
            ConfigLevel::Local => Level::Local,
            ConfigLevel::Worktree => Level::Worktree,
            ConfigLevel::Command => Level::Command,
        }
    }
}

impl Source {
    fn path(&self) -> Option<&Path> {
        match self {
            Source::Git(value) => value.path.as_deref(),
            Source::File(_, path, _) => Some(path),
            Source::BuiltIn | Source::Environment | Source::Flag | Source::All(..) => None,
        }
    }

    /// Returns the position in the file; reads the file again if it is one of git's.
    fn position(&self, key: &str) -> Option<Position> {
        match self {
            Source::Git(value) => value.position(key),
            Source::File(_, _, position) => Some(*position),
            Source::BuiltIn | Source::Environment | Source::Flag | Source::All(..) => None,
        }
    }

    fn level(&self) -> Level {
        match self {
            Source::BuiltIn => Level::Default,
            Source::Git(value) => value.level.into(),
            Source::File(level, _, _) | Source::All(level, _) => *level,
            Source::Environment => Level::Environment,
            Source::Flag => Level::Flag,
        }
    }
}

impl Resolved {
    /// Joins the values of all sources, the weakest first.
    pub(super) fn of_all(setting: &'static Setting, sources: &[ProtectingSource]) -> Resolved {
        let origins: Vec<_> = sources.iter().map(|source| source.origin.clone()).collect();
        let patterns: Vec<_> = sources.iter().map(|source| source.patterns.join(" ")).collect();
        let level = sources.last().map(|source| source.level);
        Resolved {
            setting,
            value: patterns.join(" "),
            source: level.map_or(Source::BuiltIn, |level| Source::All(level, origins.join(", "))),
        }
    }

    /// Returns `true` if the repository sets it, and not the user.
    pub(in crate::store) fn is_of_repository(&self) -> bool {
        matches!(self.source, Source::File(..))
    }

    pub(in crate::store) fn kind(&self) -> Kind {
        self.setting.kind
    }

    pub(super) fn effective(self) -> Effective {
        let Resolved { setting, value, source } = self;
        let position = source.position(setting.key);
        let path = source.path().map(|path| path.display().to_string());
        let origin = match (&source, &path, position) {
            (Source::Environment, ..) => format!("environment:{}", setting.variable),
            (Source::Flag, ..) => format!("flag:{}", setting.flag.unwrap_or_default()),
            (_, Some(path), Some(Position { line, column })) => {
                format!("file:{path}:{line}:{column}")
            }
            (_, Some(path), None) => format!("file:{path}"),
            (Source::All(_, origins), ..) => origins.clone(),
            (Source::BuiltIn, ..) => "default".to_owned(),
            (_, None, _) => "command".to_owned(),
        };
        Effective {
            key: setting.key,
            value,
            origin,
            level: source.level(),
            path,
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            help: setting.help,
        }
    }

    pub(in crate::store) fn invalid(self, wanted: &str) -> Error {
        let Effective { key, value, origin, .. } = self.effective();
        let message = format!("'{key}' is '{value}' ({origin}): expected {wanted}");
        Error::new(Code::InvalidValue, message)
            .hint(format!("git colony config get {key} --show-origin"))
    }
}
