//! The settings: one table, one reader. Built-in < git config < environment < flag.

use std::time::Duration;

use serde::Serialize;

use crate::git::Repo;
use crate::model::{Code, Error, Result, World};

/// What the value of a setting looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A whole number, zero or more; `k`, `m`, `g` multiply by powers of 1024.
    Number,
    /// Seconds; fractions allowed.
    Seconds,
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
        default: "",
        help: "the agent that acts; empty means the user",
    },
    Setting {
        key: "colony.timeout",
        variable: "COLONY_TIMEOUT",
        flag: Some("--timeout"),
        kind: Kind::Seconds,
        default: "",
        help: "seconds to wait for a lock; empty means 10 for ours and 2 for git's",
    },
    Setting {
        key: "colony.maxNewFileSize",
        variable: "COLONY_MAX_NEW_FILE_SIZE",
        flag: Some("--allow-large"),
        kind: Kind::Number,
        default: "100m",
        help: "untracked files above this many bytes are left out of checkpoints",
    },
    Setting {
        key: "colony.maxNewFiles",
        variable: "COLONY_MAX_NEW_FILES",
        flag: None,
        kind: Kind::Number,
        default: "2000",
        help: "an automatic checkpoint refuses to take in more new files than this",
    },
    Setting {
        key: "colony.keepDays",
        variable: "COLONY_KEEP_DAYS",
        flag: Some("--keep"),
        kind: Kind::Number,
        default: "90",
        help: "days that prune keeps operations and what they moved aside",
    },
    Setting {
        key: "colony.keepOperations",
        variable: "COLONY_KEEP_OPERATIONS",
        flag: None,
        kind: Kind::Number,
        default: "2000",
        help: "operations per worktree that prune keeps",
    },
    Setting {
        key: "colony.keepAutoDays",
        variable: "COLONY_KEEP_AUTO_DAYS",
        flag: None,
        kind: Kind::Number,
        default: "30",
        help: "days that automatic checkpoints are kept",
    },
    Setting {
        key: "colony.keepAutoPerBranch",
        variable: "COLONY_KEEP_AUTO_PER_BRANCH",
        flag: None,
        kind: Kind::Number,
        default: "50",
        help: "automatic checkpoints kept per branch",
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
}

/// A setting with its value and where that comes from.
#[derive(Clone, Debug, Serialize)]
pub struct Effective {
    /// The key.
    pub key: &'static str,
    /// The value, as written; empty when unset.
    pub value: String,
    /// `default`, `file:<path>`, `environment:<name>` or `flag:<name>`.
    pub origin: String,
    /// What the setting does.
    pub help: &'static str,
}

impl Settings {
    /// Reads all layers.
    ///
    /// # Errors
    /// `invalid-value` naming the key and where the value comes from.
    pub fn read(world: &World, repo: &Repo, flags: &Flags) -> Result<Settings> {
        let number = |key| parse_number(&require(world, repo, flags, key)?);
        let agent = require(world, repo, flags, "colony.agent")?.value;
        let timeout = parse_seconds(&require(world, repo, flags, "colony.timeout")?)?;
        Ok(Settings {
            agent: Some(agent).filter(|agent| !agent.is_empty()),
            timeout,
            max_new_file_size_bytes: number("colony.maxNewFileSize")?,
            max_new_files: number("colony.maxNewFiles")?,
            keep_days: number("colony.keepDays")?,
            keep_operations: number("colony.keepOperations")?,
            keep_auto_days: number("colony.keepAutoDays")?,
            keep_auto_per_branch: number("colony.keepAutoPerBranch")?,
        })
    }

    /// Returns every setting with its origin.
    pub fn effective(world: &World, repo: &Repo, flags: &Flags) -> Vec<Effective> {
        TABLE
            .iter()
            .map(|setting| look_up(world, repo, flags, setting))
            .collect()
    }
}

fn require(world: &World, repo: &Repo, flags: &Flags, key: &str) -> Result<Effective> {
    let setting = TABLE.iter().find(|setting| setting.key == key);
    let setting = setting.ok_or_else(|| {
        Error::new(Code::UnknownSetting, format!("no setting is named '{key}'"))
            .hint("git colony config list")
    })?;
    Ok(look_up(world, repo, flags, setting))
}

/// Finds one setting by key, in any case.
///
/// # Errors
/// `unknown-setting`.
pub fn effective_of(world: &World, repo: &Repo, flags: &Flags, key: &str) -> Result<Effective> {
    let known = TABLE
        .iter()
        .find(|setting| setting.key.eq_ignore_ascii_case(key));
    require(world, repo, flags, known.map_or(key, |setting| setting.key))
}

fn look_up(world: &World, repo: &Repo, flags: &Flags, setting: &'static Setting) -> Effective {
    let from = |value: String, origin: String| Effective {
        key: setting.key,
        value,
        origin,
        help: setting.help,
    };
    let flag = match setting.key {
        "colony.agent" => flags.agent.clone(),
        "colony.timeout" => flags.timeout_seconds.clone(),
        _ => None,
    };
    if let Some(value) = flag {
        return from(value, format!("flag:{}", setting.flag.unwrap_or_default()));
    }
    if let Some(value) = world.text_variable(setting.variable) {
        return from(
            value.to_owned(),
            format!("environment:{}", setting.variable),
        );
    }
    if let Some((value, origin)) = repo.config_with_origin(setting.key) {
        return from(value, origin);
    }
    from(setting.default.to_owned(), "default".to_owned())
}

fn parse_number(found: &Effective) -> Result<u64> {
    let text = found.value.trim().to_ascii_lowercase();
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
    let value = digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor));
    value.ok_or_else(|| invalid(found, "a whole number, zero or more"))
}

fn parse_seconds(found: &Effective) -> Result<Option<Duration>> {
    if found.value.is_empty() {
        return Ok(None);
    }
    let seconds = found
        .value
        .parse::<f64>()
        .ok()
        .filter(|s| (0.0..=86_400.0).contains(s));
    let seconds = seconds.ok_or_else(|| invalid(found, "seconds, from 0 to 86400"))?;
    Ok(Some(Duration::from_secs_f64(seconds)))
}

fn invalid(found: &Effective, wanted: &str) -> Error {
    let Effective {
        key, value, origin, ..
    } = found;
    Error::new(
        Code::InvalidValue,
        format!("'{key}' is '{value}' ({origin}): wanted {wanted}"),
    )
    .hint(format!("git colony config get {key} --show-origin"))
}
