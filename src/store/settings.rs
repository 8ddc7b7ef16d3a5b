//! The settings: one table, and the values in force, typed. Where each comes from says
//! [`super::setting_layers`].
//!
//! The repository may set only what the table allows it: its content is hostile, so it names no
//! credential, no time to wait and nothing that decides how long something is kept. The commands it
//! names for a new clone are a proposal: see [`super::setup_commands`].

use std::time::Duration;

use crate::model::Result;

use super::colony_toml::Problem;
use super::setting_layers::Layers;

/// What the value of a setting looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number, zero or more; `k`, `m`, `g` multiply by powers of 1024.
    Number,
    /// Seconds; fractions allowed.
    Seconds,
    /// Texts: a list in a file of the repository, else with commas between them.
    List,
    /// Commands of a shell: a list in a file of the repository, else one per line.
    Commands,
}

/// Who may set a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// The user alone.
    User,
    /// The user, and the repository in `.colony/colony.toml`.
    Repository,
}

/// One row of the table.
pub struct Setting {
    /// The key in git's configuration.
    pub key: &'static str,
    /// The environment variable that overrides it.
    pub variable: &'static str,
    /// The flag that overrides both, if there is one.
    pub flag: Option<&'static str>,
    /// The form of its value.
    pub kind: Kind,
    /// Who may set it.
    pub set_by: SetBy,
    /// The value when nothing sets it.
    pub default: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// Every setting there is.
pub const TABLE: &[Setting] = &[
    Setting {
        key: "colony.agent",
        variable: "COLONY_AGENT",
        flag: Some("--agent"),
        kind: Kind::Text,
        set_by: SetBy::User,
        default: "",
        help: "the agent that acts; empty means the user",
    },
    Setting {
        key: "colony.timeout",
        variable: "COLONY_TIMEOUT",
        flag: Some("--timeout"),
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "",
        help: "seconds to wait for a lock; empty means 10 for ours and 2 for git's",
    },
    Setting {
        key: "colony.maxNewFileSize",
        variable: "COLONY_MAX_NEW_FILE_SIZE",
        flag: Some("--allow-large"),
        kind: Kind::Number,
        set_by: SetBy::Repository,
        default: "100m",
        help: "untracked files above this many bytes are left out of checkpoints",
    },
    Setting {
        key: "colony.maxNewFiles",
        variable: "COLONY_MAX_NEW_FILES",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::Repository,
        default: "2000",
        help: "an automatic checkpoint refuses to take in more new files than this",
    },
    Setting {
        key: "colony.keepDays",
        variable: "COLONY_KEEP_DAYS",
        flag: Some("--keep"),
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "90",
        help: "days that prune keeps operations and what they moved aside",
    },
    Setting {
        key: "colony.keepOperations",
        variable: "COLONY_KEEP_OPERATIONS",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "2000",
        help: "operations per worktree that prune keeps",
    },
    Setting {
        key: "colony.keepAutoDays",
        variable: "COLONY_KEEP_AUTO_DAYS",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "30",
        help: "days that automatic checkpoints are kept",
    },
    Setting {
        key: "colony.keepAutoPerBranch",
        variable: "COLONY_KEEP_AUTO_PER_BRANCH",
        flag: None,
        kind: Kind::Number,
        set_by: SetBy::User,
        default: "50",
        help: "automatic checkpoints kept per branch",
    },
    Setting {
        key: "colony.clone.copy",
        variable: "COLONY_CLONE_COPY",
        flag: None,
        kind: Kind::List,
        set_by: SetBy::Repository,
        default: "",
        help: "ignored paths that 'agents new' copies into the clone",
    },
    Setting {
        key: "colony.clone.link",
        variable: "COLONY_CLONE_LINK",
        flag: None,
        kind: Kind::List,
        set_by: SetBy::Repository,
        default: "",
        help: "ignored paths that 'agents new' hard-links into the clone",
    },
    Setting {
        key: "colony.clone.run",
        variable: "COLONY_CLONE_RUN",
        flag: None,
        kind: Kind::Commands,
        set_by: SetBy::Repository,
        default: "",
        help: "commands that make a new clone ready; those of the repository run once approved",
    },
    Setting {
        key: "colony.clone.runTime",
        variable: "COLONY_CLONE_RUN_TIME",
        flag: None,
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "600",
        help: "seconds each of these commands may take; empty means any time",
    },
    Setting {
        key: "colony.lineTime",
        variable: "COLONY_LINE_TIME",
        flag: None,
        kind: Kind::Seconds,
        set_by: SetBy::User,
        default: "0.015",
        help: "seconds that 'status --line' may look for changes; 0 means not at all",
    },
];

/// What the command line sets for every command.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--agent`.
    pub agent: Option<String>,
    /// `--timeout`.
    pub timeout_seconds: Option<String>,
}

/// The settings in force, typed.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The agent that acts.
    pub agent: Option<String>,
    /// How long to wait for locks, where that was said.
    pub timeout: Option<Duration>,
    /// Untracked files above this are left out.
    pub max_new_file_size_bytes: u64,
    /// How many new files an automatic checkpoint accepts.
    pub max_new_files: u64,
    /// How long operations are kept.
    pub keep_days: u64,
    /// How many operations are kept.
    pub keep_operations: u64,
    /// How long automatic checkpoints are kept.
    pub keep_auto_days: u64,
    /// How many automatic checkpoints are kept per branch.
    pub keep_auto_per_branch: u64,
    /// Ignored paths that a new clone gets a copy of.
    pub clone_copy: Vec<String>,
    /// Ignored paths that a new clone shares.
    pub clone_link: Vec<String>,
    /// How long a command may take that makes a new clone ready; `None` for any time.
    pub clone_run_time: Option<Duration>,
    /// What `.colony/colony.toml` says and cannot be used.
    pub repository_problems: Vec<Problem>,
}

impl Settings {
    /// Returns the settings in force, typed.
    ///
    /// # Errors
    /// `invalid-value` naming the key and where the value comes from.
    pub fn of(layers: &Layers<'_>) -> Result<Settings> {
        let number = |key| {
            let found = layers.require(key)?;
            parse_number(&found.value).map_err(|wanted| found.invalid(wanted))
        };
        let list = |key| Ok(parse_list(&layers.require(key)?.value));
        let agent = layers.require("colony.agent")?.value;
        let seconds = |key| {
            let found = layers.require(key)?;
            parse_seconds(&found.value).map_err(|wanted| found.invalid(wanted))
        };
        Ok(Settings {
            agent: Some(agent).filter(|agent| !agent.is_empty()),
            timeout: seconds("colony.timeout")?,
            max_new_file_size_bytes: number("colony.maxNewFileSize")?,
            max_new_files: number("colony.maxNewFiles")?,
            keep_days: number("colony.keepDays")?,
            keep_operations: number("colony.keepOperations")?,
            keep_auto_days: number("colony.keepAutoDays")?,
            keep_auto_per_branch: number("colony.keepAutoPerBranch")?,
            clone_copy: list("colony.clone.copy")?,
            clone_link: list("colony.clone.link")?,
            clone_run_time: seconds("colony.clone.runTime")?,
            repository_problems: layers.repository_problems().to_vec(),
        })
    }
}

pub(super) fn wanted(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "a text",
        Kind::Number => "a whole number, zero or more",
        Kind::Seconds => "seconds, from 0 to 86400",
        Kind::List => "a list of texts",
        Kind::Commands => "commands without NUL",
    }
}

/// Tells whether a value is of a kind, or what is wanted.
pub(super) fn check(kind: Kind, value: &str) -> Result<(), &'static str> {
    match kind {
        Kind::Commands if value.contains('\0') => Err(wanted(kind)),
        Kind::Text | Kind::List | Kind::Commands => Ok(()),
        Kind::Number => parse_number(value).map(drop),
        Kind::Seconds => parse_seconds(value).map(drop),
    }
}

/// Returns how long a prompt may look for changes. A value that does not parse is reported by 'config';
/// here it counts as none.
pub fn line_time(layers: &Layers<'_>) -> Duration {
    let found = layers.require("colony.lineTime").ok();
    let time = found.and_then(|found| parse_seconds(&found.value).ok());
    time.flatten().unwrap_or(Duration::ZERO)
}

/// Reads a list: lines, or words with commas between them.
fn parse_list(value: &str) -> Vec<String> {
    let separator = if value.contains('\n') { '\n' } else { ',' };
    let parts = value.split(separator).map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn parse_number(value: &str) -> Result<u64, &'static str> {
    let text = value.trim().to_ascii_lowercase();
    let (digits, unit) = match text.strip_suffix(['k', 'm', 'g']) {
        Some(digits) => (digits, text.chars().last()),
        None => (text.as_str(), None),
    };
    let factor = match unit {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        _ => 1_u64,
    };
    let number = digits.parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(factor))
        .ok_or(wanted(Kind::Number))
}

fn parse_seconds(value: &str) -> Result<Option<Duration>, &'static str> {
    if value.is_empty() {
        return Ok(None);
    }
    let seconds = value.parse::<f64>().ok();
    let seconds = seconds.filter(|seconds| (0.0..=86_400.0).contains(seconds));
    let seconds = seconds.ok_or(wanted(Kind::Seconds))?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}
