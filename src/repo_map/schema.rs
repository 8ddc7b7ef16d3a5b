//! `.colony/repo_map.yaml`: read whole, with every problem and its position.
//!
//! The content of the file is not trusted: its size is limited before it is interpreted (bytes,
//! depth, values, globs), and none of its paths leads out of its tree. A row that contradicts
//! itself has its own problem; any other problem makes the whole file invalid.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::text::Position;
use crate::store::yaml::{self, Node, Placed};
use crate::store::yaml_problem::{YamlProblem, in_order, quoted};

use super::reading::MapReader;
use super::row::{DEFAULT_NAME, RouteRow, SourceKind, SourceRow};

/// The supported format.
pub const FORMAT: u32 = 1;

/// The maximum number of sources.
const MAX_SOURCES: usize = 1000;

const TOP_KEYS: &[&str] = &["schema_version", "sources", "knowledge_routing"];

/// The sources of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RepoMap {
    /// The sources, in the order of the file.
    pub sources: Vec<SourceRow>,
    /// The files for the knowledge base.
    pub knowledge_routing: Vec<RouteRow>,
}

/// The result of parsing a map.
#[derive(Clone, Debug)]
pub struct Read {
    /// The map, if the file is valid; rows may have problems of their own.
    pub map: Option<RepoMap>,
    /// All problems, including those of rows, in the order of the file.
    pub problems: Vec<YamlProblem>,
    /// The parts of the file that have no effect.
    pub warnings: Vec<YamlProblem>,
    /// The sources as far as they could be read, also those of an invalid file.
    pub rows: Vec<ReadRow>,
    /// The positions of the routing rows.
    pub routes: Vec<Position>,
}

/// A source of a file; a key whose value has a problem is `None`.
#[derive(Clone, Debug)]
pub struct ReadRow {
    /// The source.
    pub row: SourceRow,
    /// Its position.
    pub at: Position,
    /// The positions of the values that more than the file decides about.
    pub places: BTreeMap<&'static str, Position>,
}

impl Read {
    pub(super) fn failed(problem: YamlProblem) -> Read {
        Read { problems: vec![problem], ..Read::of(None) }
    }

    /// Returns a map without a position or a problem.
    pub(super) fn of(map: Option<RepoMap>) -> Read {
        let (problems, warnings) = (Vec::new(), Vec::new());
        Read { map, problems, warnings, rows: Vec::new(), routes: Vec::new() }
    }
}

impl RepoMap {
    /// Returns the map of a repository without one: the whole tree is one source.
    pub fn whole_tree() -> RepoMap {
        RepoMap {
            sources: vec![SourceRow::new(DEFAULT_NAME, SourceKind::GitRepo)],
            knowledge_routing: Vec::new(),
        }
    }

    /// Parses the bytes of a map file.
    pub fn read(bytes: &[u8]) -> Read {
        if bytes.len() > yaml::MAX_BYTES {
            return Read::failed(too_large());
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let at = Position::of(bytes, error.valid_up_to());
                return Read::failed(YamlProblem::at(at, "it is not UTF-8"));
            }
        };
        match yaml::read_plain(text) {
            Ok(top) => read_top(&top),
            Err(fault) => {
                let start = Position { line: 1, column: 1 };
                let at = fault.position.unwrap_or(start);
                let message = format!("it cannot be read as plain YAML: {}", fault.message);
                Read::failed(YamlProblem::at(at, message))
            }
        }
    }
}

/// Returns the problem of a file that exceeds the maximum size.
pub(super) fn too_large() -> YamlProblem {
    YamlProblem::of_file("it is larger than 1 MiB")
}

fn read_top(top: &Placed) -> Read {
    let mut reader = MapReader::default();
    let map = read_map(&mut reader, top);
    let faults: Vec<_> = reader.rows.iter().filter_map(|read| read.row.fault.clone()).collect();
    let map = map.filter(|_| reader.yaml.problems.is_empty());
    reader.yaml.problems.extend(faults);
    Read {
        map,
        problems: in_order(reader.yaml.problems),
        warnings: in_order(reader.yaml.warnings),
        rows: reader.rows,
        routes: reader.routes,
    }
}

fn read_map(reader: &mut MapReader, top: &Placed) -> Option<RepoMap> {
    if top.node == Node::Nothing {
        let message = "it is empty, expected 'schema_version: 1' and 'sources'";
        reader.yaml.problem(Position { line: 1, column: 1 }, message);
        return None;
    }
    let fields = reader.yaml.fields(top, "the map", TOP_KEYS)?;
    if let Some(version) = reader.yaml.required(&fields, "schema_version")
        && version.node != Node::Integer(i128::from(FORMAT))
    {
        let version_text = match &version.node {
            Node::Integer(number) => number.to_string(),
            Node::Fraction(number) => number.clone(),
            Node::Text(text) => format!("the text {}", quoted(text)),
            other => other.kind().to_owned(),
        };
        let message = format!("'schema_version' is {version_text}, expected {FORMAT}");
        reader.yaml.problem(version.position, message);
    }
    let sources = reader.yaml.required(&fields, "sources").map(|list| sources_of(reader, list));
    let has_routing = fields.place_of("knowledge_routing").is_some();
    let routing = has_routing
        .then(|| reader.yaml.required(&fields, "knowledge_routing"))
        .flatten()
        .map(|list| routing_of(reader, list));
    Some(RepoMap { sources: sources?, knowledge_routing: routing.unwrap_or_default() })
}

fn sources_of(reader: &mut MapReader, list: &Placed) -> Vec<SourceRow> {
    let Some(items) = items(reader, list, "sources") else {
        return Vec::new();
    };
    let mut rows: Vec<SourceRow> = Vec::new();
    let mut names = BTreeMap::new();
    for item in items {
        let (row, name) = SourceRow::read(reader, item);
        rows.extend(row);
        let Some(name) = name else { continue };
        if let Some(line) = names.get(name.text) {
            let message =
                format!("name {} is also the name of the source in line {line}", quoted(name.text));
            reader.yaml.problem(name.at, message);
        } else {
            names.insert(name.text, name.at.line);
        }
    }
    if items.is_empty() {
        reader.yaml.warn(list.position, "'sources' is an empty list: nothing is mapped");
    }
    rows
}

fn routing_of(reader: &mut MapReader, list: &Placed) -> Vec<RouteRow> {
    let items = items(reader, list, "knowledge_routing").unwrap_or_default();
    let mut rows = Vec::new();
    for item in items {
        reader.routes.push(item.position);
        rows.extend(RouteRow::read(reader, item));
    }
    rows
}

fn items<'a>(reader: &mut MapReader, list: &'a Placed, key: &str) -> Option<&'a [Placed]> {
    let Node::List(items) = &list.node else {
        let kind = list.node.kind();
        reader.yaml.problem(list.position, format!("'{key}' is {kind}, expected a list of rows"));
        return None;
    };
    if items.len() > MAX_SOURCES {
        let message = format!("too complex: '{key}' has more than {MAX_SOURCES} rows");
        reader.yaml.problem(list.position, message);
        return None;
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::super::row::{ROUTE_KEYS, SOURCE_KEYS};
    use super::*;

    #[test]
    fn every_key_stands_in_the_documentation() {
        let page = include_str!("../../docs/repo-map.md");
        for key in [TOP_KEYS, SOURCE_KEYS, ROUTE_KEYS].concat() {
            assert!(page.contains(&format!("\n| `{key}` |")), "'{key}'");
        }
    }

    #[test]
    fn the_map_that_init_writes_is_that_of_a_repository_without_one() {
        let read = RepoMap::read(include_bytes!("../init/repo_map_template.yaml"));
        assert_eq!(read.map, Some(RepoMap::whole_tree()));
        assert_eq!((read.problems, read.warnings), (Vec::new(), Vec::new()));
    }
}
