//! The commands of custom sources: `colony.source.<type>.command`, with its `version` and `timeout`.
//!
//! They are the user's alone, in git's configuration. A repository names types in its map, and
//! never a command: `.colony/colony.toml` cannot set one.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::git::Repo;
use crate::model::{Code, Error, Result};

use super::setting_kind::parse_seconds;

/// The section of the keys, in git's configuration.
const SECTION: &str = "colony";

/// The prefix of the subsections; the name of the type comes after it.
pub(super) const PREFIX: &str = "source.";

/// How long a command may take, unless its `timeout` says otherwise.
pub const DEFAULT_TIME: Duration = Duration::from_mins(1);

/// The command of a type of source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCommand {
    /// The command, for a shell.
    pub text: String,
    /// Its version, as the user declares it: a change makes the command run again.
    pub version: String,
    /// How long it may take.
    pub time: Duration,
}

/// Returns the key of a value of a type.
pub fn key(name: &str, value: &str) -> String {
    format!("{SECTION}.{PREFIX}{name}.{value}")
}

/// Reads the commands of all types.
pub(super) fn all(repo: &Repo) -> Result<BTreeMap<String, SourceCommand>> {
    let mut commands = BTreeMap::new();
    for name in repo.config_subsections(SECTION, PREFIX) {
        let value = |value: &str| repo.config(&key(&name, value)).unwrap_or_default();
        let text = value("command");
        if text.trim().is_empty() {
            continue;
        }
        let seconds = value("timeout");
        let time = match parse_seconds(&seconds) {
            Ok(time) => time.unwrap_or(DEFAULT_TIME),
            Err(_) => Duration::ZERO,
        };
        if time.is_zero() {
            let key = key(&name, "timeout");
            let message =
                format!("'{key}' is '{seconds}': expected seconds, above 0 and up to 86400");
            return Err(Error::new(Code::InvalidValue, message)
                .hint(format!("git config --show-origin {key}")));
        }
        let version = value("version");
        commands.insert(name, SourceCommand { text, version, time });
    }
    Ok(commands)
}
