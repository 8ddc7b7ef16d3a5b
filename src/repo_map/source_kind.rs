//! The kind of a source: those that are built in, and those that the user has a command for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::yaml::Placed;
use crate::store::yaml_problem::{one_of, quoted};

use super::reading::MapReader;

/// The maximum length of the name of a type.
const MAX_TYPE: usize = 50;

/// The kind of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Files, one record each.
    GitRepo,
    /// Documents, cut into chunks of prose.
    Literature,
    /// A blackboard, which no row of a map has.
    Blackboard,
    /// What the user's command for a type of this name prints.
    #[serde(untagged)]
    Custom(String),
}

impl SourceKind {
    /// The names of the kinds that a row may have and that need no command.
    pub const BUILT_IN: [&'static str; 2] = ["git_repo", "literature"];

    /// Returns `true` for kinds whose records are files.
    pub fn is_of_files(&self) -> bool {
        matches!(self, SourceKind::GitRepo | SourceKind::Literature)
    }

    /// Returns its name in a map.
    pub fn name(&self) -> &str {
        match self {
            SourceKind::GitRepo => "git_repo",
            SourceKind::Literature => "literature",
            SourceKind::Blackboard => "blackboard",
            SourceKind::Custom(name) => name,
        }
    }

    /// Returns the kind of a name; `None` for a text that cannot be one.
    fn of(name: &str) -> Option<SourceKind> {
        let plain = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
        };
        let is_name = (1..=MAX_TYPE).contains(&name.len())
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(plain);
        match name {
            "git_repo" => Some(SourceKind::GitRepo),
            "literature" => Some(SourceKind::Literature),
            "blackboard" => Some(SourceKind::Blackboard),
            _ => is_name.then(|| SourceKind::Custom(name.to_owned())),
        }
    }

    pub(super) fn read(reader: &mut MapReader, value: &Placed) -> Option<SourceKind> {
        let word = reader.yaml.as_text(value, "type")?;
        let kind = SourceKind::of(word.text);
        if kind == Some(SourceKind::Blackboard) {
            let message = "no row maps a blackboard: 'git colony map blackboard' does";
            reader.yaml.problem(word.at, message);
            return None;
        }
        if kind.is_none() {
            let (text, names) = (quoted(word.text), one_of(&SourceKind::BUILT_IN));
            let message = format!(
                "'type' is {text}, expected {names}, or the name of a type with a command: small letters, digits, '_' and '-'"
            );
            reader.yaml.problem(word.at, message);
        }
        kind
    }
}
