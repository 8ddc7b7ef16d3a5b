//! `[[affinity_groups]]` in `.colony/colony.toml` or `Vox.toml`: rows of names and patterns, with their positions.
//!
//! Other keys of the file are not read here, and nothing else reads this one. Unlike a setting, a row that
//! cannot be used is an error: guessed groups would send work to the wrong agent.

use toml::Spanned;
use toml::de::DeValue;

use crate::model::text::Position;
use crate::store::data_tree::toml_text;

/// The key.
pub const KEY: &str = "affinity_groups";

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// The name of the group.
    pub name: String,
    /// Its patterns, each with its position.
    pub patterns: Vec<(String, Position)>,
}

/// The problem of a file, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupFault {
    /// The position, if it is known.
    pub position: Option<Position>,
    /// The problem, in one line.
    pub message: String,
}

/// Reads the rows of a text; `None` if it does not have the key.
pub fn rows(text: &str) -> Result<Option<Vec<GroupRow>>, GroupFault> {
    let table = toml_text::open(text)
        .map_err(|fault| GroupFault { position: fault.position, message: fault.message })?;
    let Some(value) = table.get_ref().get(KEY) else {
        return Ok(None);
    };
    let DeValue::Array(items) = value.get_ref() else {
        let message = format!("'{KEY}' is not an array of tables");
        return Err(fault(text, value, message));
    };
    let mut rows: Vec<GroupRow> = Vec::new();
    for item in items {
        let row = row(text, item)?;
        if rows.iter().any(|other| other.name == row.name) {
            let message = format!("another group has the name '{}'", row.name);
            return Err(fault(text, item, message));
        }
        rows.push(row);
    }
    Ok(Some(rows))
}

fn row(text: &str, item: &Spanned<DeValue<'_>>) -> Result<GroupRow, GroupFault> {
    let DeValue::Table(table) = item.get_ref() else {
        return Err(fault(text, item, "a group is not a table".to_owned()));
    };
    let require = |key: &str| {
        let value = table.get(key);
        value.ok_or_else(|| fault(text, item, format!("a group has no '{key}'")))
    };
    let (name, patterns) = (require("name")?, require("patterns")?);
    let wrong = |value: &Spanned<DeValue<'_>>, why: &str| Err(fault(text, value, why.to_owned()));
    let DeValue::String(group_name) = name.get_ref() else {
        return wrong(name, "'name' is not a text");
    };
    let is_plain = |name: &str| !name.chars().any(char::is_control) && name.len() <= MAX_NAME_BYTES;
    if group_name.trim().is_empty() || !is_plain(group_name) {
        return wrong(
            name,
            "'name' is empty, has more than 256 bytes, or holds control characters",
        );
    }
    let listed = match patterns.get_ref() {
        DeValue::String(_) => vec![patterns],
        DeValue::Array(items) => items.iter().collect(),
        _ => return wrong(patterns, "'patterns' is not a text or a list of texts"),
    };
    if listed.is_empty() {
        return wrong(patterns, "'patterns' is empty");
    }
    let mut read = Vec::new();
    for pattern in listed {
        let DeValue::String(text_of_pattern) = pattern.get_ref() else {
            return wrong(pattern, "a pattern is not a text");
        };
        let start = position(text, pattern.span().start);
        read.push((text_of_pattern.clone().into_owned(), start));
    }
    Ok(GroupRow { name: group_name.clone().into_owned(), patterns: read })
}

fn fault(text: &str, at: &Spanned<DeValue<'_>>, message: String) -> GroupFault {
    GroupFault { position: Some(position(text, at.span().start)), message }
}

fn position(text: &str, offset: usize) -> Position {
    Position::of(text.as_bytes(), offset)
}
