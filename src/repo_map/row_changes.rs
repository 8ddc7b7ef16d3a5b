//! Compares the rows of two states of a map.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::row::SourceRow;
use super::schema::RepoMap;

/// A row that differs between two states of a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RowChange {
    /// The name of the row.
    pub name: String,
    /// How it differs.
    pub change: RowDifference,
    /// The keys with different values, of a row that both states have.
    pub keys: Vec<String>,
}

/// How a row differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowDifference {
    /// Only the second state has it.
    Added,
    /// Only the first state has it.
    Removed,
    /// Both have it, with different values.
    Changed,
}

/// Lists the rows that differ: those of the second state in its order, then those it lacks.
pub fn compare(before: &RepoMap, after: &RepoMap) -> Vec<RowChange> {
    let differing = after.sources.iter().filter_map(|row| {
        let Some(old) = find(before, row) else {
            return Some(RowChange::of(row, RowDifference::Added));
        };
        let keys = different_keys(old, row);
        (!keys.is_empty()).then(|| RowChange { keys, ..RowChange::of(row, RowDifference::Changed) })
    });
    let gone = before.sources.iter().filter(|row| find(after, row).is_none());
    let removed = gone.map(|row| RowChange::of(row, RowDifference::Removed));
    differing.chain(removed).collect()
}

impl RowChange {
    fn of(row: &SourceRow, change: RowDifference) -> RowChange {
        RowChange { name: row.name.clone(), change, keys: Vec::new() }
    }
}

fn find<'a>(map: &'a RepoMap, row: &SourceRow) -> Option<&'a SourceRow> {
    map.sources.iter().find(|other| other.name == row.name)
}

fn different_keys(before: &SourceRow, after: &SourceRow) -> Vec<String> {
    let values = |row: &SourceRow| match serde_json::to_value(row) {
        Ok(Value::Object(values)) => values,
        _ => serde_json::Map::new(),
    };
    let (before, after) = (values(before), values(after));
    // The fault of a row is not a value: its position moves with the lines above it.
    let differs =
        |key: &&String| *key != "fault" && before.get(key.as_str()) != after.get(key.as_str());
    after.keys().filter(differs).cloned().collect()
}
