//! TOML as values, for reading only: who edits a text edits its lines.

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::store::yaml::Fault;

use super::toml_text;

/// Parses a text into a map. Numbers and times are null: no reader of ours needs them.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let table = toml_text::open(text).map_err(|fault| fault.message)?;
    Ok(map_of(table.get_ref()))
}

/// Returns the problem of a text, and its position.
pub(crate) fn fault_in(text: &str) -> Option<Fault> {
    toml_text::open(text).err()
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
