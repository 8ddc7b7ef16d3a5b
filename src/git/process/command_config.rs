//! Configuration for one git command through variables: added after the caller's.
//!
//! git reads `GIT_CONFIG_COUNT` first and then `GIT_CONFIG_PARAMETERS` (from `git -c`). So an entry
//! that has to win is in both if the caller uses both.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use crate::model::{Code, Error, Result, World};

const COUNT: &str = "GIT_CONFIG_COUNT";
const PARAMETERS: &str = "GIT_CONFIG_PARAMETERS";

/// The caller's configuration, and additions.
pub(in crate::git) struct CommandConfig {
    count: Option<OsString>,
    parameters: Option<OsString>,
    added: Vec<(String, OsString)>,
}

impl CommandConfig {
    /// Starts from the caller's configuration.
    pub(in crate::git) fn inherited(world: &World) -> CommandConfig {
        CommandConfig {
            count: world.variable(COUNT).map(OsStr::to_owned),
            parameters: world.variable(PARAMETERS).map(OsStr::to_owned),
            added: Vec::new(),
        }
    }

    /// Adds a value.
    pub(in crate::git) fn add(&mut self, key: &str, value: OsString) {
        self.added.push((key.to_owned(), value));
    }

    /// Returns the variables to set; none if nothing was added.
    pub(in crate::git) fn variables(&self) -> Result<Vec<(String, OsString)>> {
        if self.added.is_empty() {
            return Ok(Vec::new());
        }
        let count = self.count.as_deref().unwrap_or(OsStr::new("0"));
        let Some(first) = count.to_str().and_then(|count| count.parse::<usize>().ok()) else {
            return Err(Error::new(
                Code::InvalidValue,
                format!("'{COUNT}' is '{}': expected a number", count.to_string_lossy()),
            )
            .hint(format!("unset {COUNT}")));
        };
        let mut variables = Vec::new();
        for (number, (key, value)) in (first..).zip(&self.added) {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), key.into()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.clone()));
        }
        let count = first + self.added.len();
        variables.push((COUNT.to_owned(), count.to_string().into()));
        if let Some(parameters) = &self.parameters {
            let mut all = parameters.clone().into_vec();
            for (key, value) in &self.added {
                all.push(b' ');
                all.extend(quoted(key.as_bytes()));
                all.push(b'=');
                all.extend(quoted(value.as_bytes()));
            }
            variables.push((PARAMETERS.to_owned(), OsString::from_vec(all)));
        }
        Ok(variables)
    }
}

/// Quotes a word for a shell; git reads its own variable the same way.
pub(in crate::git) fn quoted(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word {
        match byte {
            b'\'' => quoted.extend(br"'\''"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    quoted
}
