//! The file of a catalog: read whole, with every problem and its position.

use std::collections::BTreeMap;

use crate::model::text::Position;
use crate::store::yaml::{self, Node, Placed};
use crate::store::yaml_problem::{YamlProblem, in_order, quoted};
use crate::store::yaml_reading::Reader;

use super::row::{ManifestRow, short_text};

/// The supported format.
pub(super) const FORMAT: i128 = 1;

/// The maximum number of repositories.
const MAX_ROWS: usize = 1000;

const TOP_KEYS: &[&str] = &["schema_version", "primary_repository_id", "repositories"];

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The repository that is meant first.
    pub primary_repository_id: Option<String>,
    /// The position of its value in the file.
    pub primary_at: Option<Position>,
    /// The repositories, in the order of the file.
    pub repositories: Vec<ManifestRow>,
}

impl Manifest {
    /// Returns the catalog of a workspace without one: itself.
    pub fn of_workspace() -> Manifest {
        Manifest { repositories: vec![ManifestRow::of_workspace()], ..Manifest::default() }
    }
}

/// Parses a file.
pub fn read(text: &str) -> Result<Manifest, Vec<YamlProblem>> {
    let top = yaml::read_plain(text).map_err(|fault| {
        let at = fault.position.unwrap_or(Position { line: 1, column: 1 });
        let message = format!("it cannot be read as plain YAML: {}", fault.message);
        vec![YamlProblem::at(at, message)]
    })?;
    let mut reader = Reader::default();
    let manifest = read_top(&mut reader, &top);
    match manifest {
        Some(manifest) if reader.problems.is_empty() => Ok(manifest),
        _ => Err(in_order(reader.problems)),
    }
}

fn read_top(reader: &mut Reader, top: &Placed) -> Option<Manifest> {
    if top.node == Node::Nothing {
        let message = "it is empty, expected 'schema_version: 1' and 'repositories'";
        reader.problem(Position { line: 1, column: 1 }, message);
        return None;
    }
    let fields = reader.fields(top, "the catalog", TOP_KEYS)?;
    if let Some(version) = reader.required(&fields, "schema_version")
        && version.node != Node::Integer(FORMAT)
    {
        let version_text = match &version.node {
            Node::Integer(number) => number.to_string(),
            other => other.kind().to_owned(),
        };
        let message = format!("'schema_version' is {version_text}, expected {FORMAT}");
        reader.problem(version.position, message);
    }
    Some(Manifest {
        primary_repository_id: short_text(reader, &fields, "primary_repository_id", 256),
        primary_at: fields.place_of_value("primary_repository_id"),
        repositories: if fields.find("repositories").is_none()
            && fields.place_of("repositories").is_some()
        {
            // A key without a value is an empty list.
            Vec::new()
        } else {
            let list = reader.required(&fields, "repositories");
            list.map_or_else(Vec::new, |list| rows(reader, list))
        },
    })
}

fn rows(reader: &mut Reader, list: &Placed) -> Vec<ManifestRow> {
    let Node::List(items) = &list.node else {
        let kind = list.node.kind();
        let message = format!("'repositories' is {kind}, expected a list of rows");
        reader.problem(list.position, message);
        return Vec::new();
    };
    if items.len() > MAX_ROWS {
        let message = format!("too complex: there are more than {MAX_ROWS} repositories");
        reader.problem(list.position, message);
        return Vec::new();
    }
    let mut known: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for item in items {
        let Some(row) = ManifestRow::read(reader, item) else {
            continue;
        };
        let path = row.access.root_path.as_deref().map(plain_path);
        let unique = [("repository_id", row.repository_id.clone()), ("root_path", path)];
        for (key, value) in unique {
            let Some(value) = value else { continue };
            if let Some(line) = known.get(&(key, value.clone())) {
                let word = quoted(&value);
                let message = format!("'{key}' is {word}, as in the row of line {line}");
                reader.problem(row.at, message);
            } else {
                known.insert((key, value), row.at.line);
            }
        }
        rows.push(row);
    }
    rows
}

/// Returns a path without `./`, doubled slashes and a slash at its end, for comparisons.
pub(super) fn plain_path(path: &str) -> String {
    let start = if path.starts_with('/') { "/" } else { "" };
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let plain = format!("{start}{}", parts.collect::<Vec<_>>().join("/"));
    if plain.is_empty() { ".".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::super::row::{REMOTE_KEYS, ROW_KEYS};
    use super::*;

    #[test]
    fn every_key_stands_in_the_documentation() {
        let page = include_str!("../../../../docs/catalog.md");
        for key in [TOP_KEYS, ROW_KEYS, REMOTE_KEYS].concat() {
            assert!(page.contains(&format!("\n| `{key}` |")), "'{key}'");
        }
    }
}
