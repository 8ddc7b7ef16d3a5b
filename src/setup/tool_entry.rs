//! One tool in a registry: what it can do, and where it is.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::model::RepoPath;

/// One tool. Fields are in the order they are written: sorted, so that differences stay small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolEntry {
    /// Its capability.
    #[serde(deserialize_with = "filled")]
    pub capability: String,
    /// The image it runs in, where it needs one.
    #[serde(default)]
    pub container_image: Option<String>,
    /// Further fields; `description` is searched.
    #[serde(default)]
    pub extra: Map<String, Value>,
    /// The command that runs it without a screen.
    #[serde(default = "native")]
    pub headless: String,
    /// The SPDX identifier of its license, or empty.
    #[serde(default)]
    pub license: String,
    /// Its location.
    pub location: Location,
    /// Its name.
    #[serde(deserialize_with = "filled")]
    pub name: String,
    /// Its purpose.
    #[serde(deserialize_with = "filled")]
    pub purpose: String,
    /// Its version.
    #[serde(default = "first_version")]
    pub version: String,
}

/// The location of a tool: `subdir:<path>`, or `remote:<git remote>:<path>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Location(String);

impl Location {
    /// Returns the location of a directory of the repository.
    pub fn below(directory: &RepoPath) -> Location {
        Location(format!("subdir:{directory}"))
    }

    /// Returns the path, unless the tool is in another repository.
    pub fn directory(&self) -> Option<RepoPath> {
        self.0.strip_prefix("subdir:").map(RepoPath::from)
    }

    /// Returns the location as seen from a repository that has the tool's repository as a remote.
    #[must_use]
    pub fn seen_through(&self, remote: &str) -> Location {
        match self.0.strip_prefix("subdir:") {
            Some(path) => Location(format!("remote:{remote}:{path}")),
            None => self.clone(),
        }
    }
}

impl TryFrom<String> for Location {
    type Error = String;

    fn try_from(text: String) -> Result<Location, String> {
        let path = text
            .strip_prefix("subdir:")
            .or_else(|| Some(text.strip_prefix("remote:")?.split_once(':')?.1));
        if path.is_some_and(|path| RepoPath::from(path).is_safe()) {
            return Ok(Location(text));
        }
        Err(format!("location '{text}' is neither 'subdir:<path>' nor 'remote:<remote>:<path>'"))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn native() -> String {
    "native".to_owned()
}

fn first_version() -> String {
    "0.1.0".to_owned()
}

fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Err(serde::de::Error::custom("name, purpose and capability are not empty"));
    }
    Ok(text)
}
