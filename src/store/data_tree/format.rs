//! The formats of data that a text alone shows to be valid.

use std::path::Path;

use crate::model::text::Position;
use crate::store::yaml::{self, Fault};

use super::toml_values;

/// A format, by the extension of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `.json`
    Json,
    /// `.toml`
    Toml,
    /// `.yaml` and `.yml`
    Yaml,
}

impl Format {
    /// Returns the format of a file; `None` for any other.
    pub(crate) fn of(path: &str) -> Option<Format> {
        let extension = Path::new(path).extension()?.to_str()?.to_lowercase();
        match &*extension {
            "json" => Some(Format::Json),
            "toml" => Some(Format::Toml),
            "yaml" | "yml" => Some(Format::Yaml),
            _ => None,
        }
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Json => "JSON",
            Format::Toml => "TOML",
            Format::Yaml => "YAML",
        }
    }

    /// Returns the first problem of a text, and its position.
    pub(crate) fn fault_in(self, text: &str) -> Option<Fault> {
        match self {
            Format::Json => json_fault(text),
            Format::Toml => toml_values::fault_in(text),
            Format::Yaml => yaml::read_placed(text).err(),
        }
    }
}

fn json_fault(text: &str) -> Option<Fault> {
    let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    let at = Position { line: error.line().max(1), column: error.column().max(1) };
    let message = error.to_string().split(" at line ").next().unwrap_or_default().to_owned();
    Some(Fault { message, position: Some(at) })
}
