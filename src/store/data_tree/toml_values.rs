//! TOML as values, for reading only: who edits a text edits its lines.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::model::text::Position;
use crate::store::yaml::Fault;

/// Parses a text into a map. Numbers and times are null: no reader of ours needs them.
///
/// # Errors
/// The problem, on one line.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    match DeTable::parse(text) {
        Ok(table) => Ok(map_of(table.get_ref())),
        Err(error) => {
            let message = error.message().lines().next();
            Err(message.unwrap_or("it does not parse").to_owned())
        }
    }
}

/// Returns the problem of a text, and its position.
pub(crate) fn fault_in(text: &str) -> Option<Fault> {
    let error = DeTable::parse(text).err()?;
    let start = error.span().map(|span| span.start);
    Some(Fault {
        position: start.map(|start| Position::of(text.as_bytes(), start)),
        message: error
            .message()
            .lines()
            .next()
            .unwrap_or("it does not parse")
            .to_owned(),
    })
}

fn map_of(table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(name, value)| {
        let name: &str = name.get_ref().as_ref();
        (name.to_owned(), value_of(value.get_ref()))
    });
    Value::Object(entries.collect())
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Array(items) => items.iter().map(|item| value_of(item.get_ref())).collect(),
        DeValue::Table(table) => map_of(table),
        _ => Value::Null,
    }
}
