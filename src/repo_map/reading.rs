//! Reads the globs of a map, within limits, and remembers where values are.

use crate::model::text::Position;
use crate::source::globs::Globs;
use crate::store::yaml::{Node, Placed};
use crate::store::yaml_problem::quoted;
use crate::store::yaml_reading::{Fields, Reader};

use super::schema::ReadRow;

/// The maximum number of globs in a map file: more would be slow and unreadable.
const MAX_GLOBS: usize = 2000;

/// The maximum number of characters of globs; a star counts for as many as it costs to match.
const MAX_WEIGHT: usize = 256 * 1024;

/// The number of characters that a star counts for.
const STAR_WEIGHT: usize = 32;

/// A map that is being read.
#[derive(Default)]
pub(super) struct MapReader {
    /// The values, and the problems found so far.
    pub(super) yaml: Reader,
    /// The sources, also those with problems.
    pub(super) rows: Vec<ReadRow>,
    /// The positions of the routing rows.
    pub(super) routes: Vec<Position>,
    globs: usize,
    weight: usize,
}

impl MapReader {
    /// Reads a list of globs, each of which must be valid.
    pub(super) fn globs(&mut self, fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
        let value = fields.find(key)?;
        self.as_globs(value, key)
    }

    pub(super) fn as_globs(&mut self, value: &Placed, key: &str) -> Option<Vec<String>> {
        let Node::List(items) = &value.node else {
            let kind = value.node.kind();
            let message =
                format!("'{key}' is {kind}, expected a list of globs, as in [\"src/**\"]");
            self.yaml.problem(value.position, message);
            return None;
        };
        self.globs += items.len();
        self.weight += items.iter().map(weight_of).sum::<usize>();
        if self.globs > MAX_GLOBS || self.weight > MAX_WEIGHT {
            let message = format!(
                "too complex: a map has at most {MAX_GLOBS} globs, and fewer where they are long or have many stars"
            );
            self.yaml.problem(value.position, message);
            return None;
        }
        let before = self.yaml.problems.len();
        let name = format!("a glob of '{key}'");
        let mut texts = Vec::new();
        for item in items {
            let word = match &item.node {
                Node::Text(text) => text.clone(),
                other => {
                    let kind = other.kind();
                    let message = format!("{name} is {kind}, expected a text in quotes");
                    self.yaml.problem(item.position, message);
                    continue;
                }
            };
            // One by one, so that every problem of the list is reported.
            if let Err(fault) = Globs::parse(std::slice::from_ref(&word)) {
                let message = format!("glob {} of '{key}' {}", quoted(&word), fault.message);
                self.yaml.problem(item.position, message);
            }
            texts.push(word);
        }
        if self.yaml.problems.len() > before {
            return None;
        }
        match Globs::parse(&texts) {
            Ok(_) => Some(texts),
            Err(fault) => {
                let at = items.get(fault.index).map_or(value.position, |item| item.position);
                self.yaml.problem(at, format!("'{key}': the list {}", fault.message));
                None
            }
        }
    }
}

fn weight_of(item: &Placed) -> usize {
    match &item.node {
        Node::Text(text) => text.len() + STAR_WEIGHT * text.matches('*').count(),
        _ => 0,
    }
}
