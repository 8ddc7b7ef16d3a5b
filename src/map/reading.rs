//! Reads typed values from a YAML map, and collects all problems on the way.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::model::text::Position;
use crate::source::globs::Globs;
use crate::store::yaml::{Node, Placed};

use crate::model::text::nearest;

use super::problem::{MapProblem, one_of, quoted};

/// The maximum number of globs in a map file: more would be slow and unreadable.
const MAX_GLOBS: usize = 2000;

/// The maximum number of characters of globs; a star counts for as many as it costs to match.
const MAX_WEIGHT: usize = 256 * 1024;

/// The number of characters that a star counts for.
const STAR_WEIGHT: usize = 32;

/// The problems found so far.
#[derive(Default)]
pub(super) struct Reader {
    /// The problems that make the file invalid.
    pub(super) problems: Vec<MapProblem>,
    /// The parts of the file that have no effect.
    pub(super) warnings: Vec<MapProblem>,
    /// The positions of the values of sources.
    pub(super) places: BTreeMap<(String, &'static str), Position>,
    globs: usize,
    weight: usize,
}

/// A text with its position.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) at: Position,
}

/// The entries of a map with known keys.
pub(super) struct Fields<'a> {
    /// The start of the map.
    pub(super) at: Position,
    /// The name of the map in a sentence.
    what: &'static str,
    entries: Vec<(&'a str, Position, &'a Placed)>,
}

impl<'a> Fields<'a> {
    /// Returns the value of a key; an empty one counts as absent.
    fn find(&self, key: &str) -> Option<&'a Placed> {
        let entry = self.entries.iter().find(|(known, ..)| *known == key);
        let value = entry.map(|(.., value)| *value);
        value.filter(|value| value.node != Node::Nothing)
    }

    /// Returns the position of the value of a key, if it has one.
    pub(super) fn place_of_value(&self, key: &str) -> Option<Position> {
        self.find(key).map(|value| value.position)
    }

    /// Returns the position of a key.
    pub(super) fn place_of(&self, key: &str) -> Option<Position> {
        let entry = self.entries.iter().find(|(known, ..)| *known == key);
        entry.map(|(_, at, _)| *at)
    }
}

impl Reader {
    pub(super) fn problem(&mut self, at: Position, message: impl Into<String>) {
        self.problems.push(MapProblem::at(at, message));
    }

    pub(super) fn warn(&mut self, at: Position, message: impl Into<String>) {
        self.warnings.push(MapProblem::at(at, message));
    }

    /// Opens a map and reports every unknown key.
    pub(super) fn fields<'a>(
        &mut self,
        value: &'a Placed,
        what: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'a>> {
        let Node::Map(map) = &value.node else {
            let kind = value.node.kind();
            self.problem(value.position, format!("{what} is {kind}, expected a map"));
            return None;
        };
        let mut entries = Vec::new();
        for (key, value) in map {
            match &key.node {
                Node::Text(text) if known.contains(&text.as_str()) => {
                    entries.push((text.as_str(), key.position, value));
                }
                Node::Text(text) => {
                    let hint = nearest(text, known.iter().copied()).map_or_else(
                        || format!("its keys are {}", known.join(", ")),
                        |near| format!("the nearest is '{near}'"),
                    );
                    let key_text = quoted(text);
                    self.problem(
                        key.position,
                        format!("{key_text} is not a key of {what}: {hint}"),
                    );
                }
                other => {
                    let message = format!("a key of {what} is {}, expected a text", other.kind());
                    self.problem(key.position, message);
                }
            }
        }
        Some(Fields {
            at: value.position,
            what,
            entries,
        })
    }

    /// Returns a value that must exist, even if it is empty.
    pub(super) fn required<'a>(&mut self, fields: &Fields<'a>, key: &str) -> Option<&'a Placed> {
        let entry = fields.entries.iter().find(|(known, ..)| *known == key);
        let Some((_, at, value)) = entry else {
            let message = format!("{} has no '{key}'", fields.what);
            self.problem(fields.at, message);
            return None;
        };
        if value.node == Node::Nothing {
            self.problem(*at, format!("'{key}' is empty"));
            return None;
        }
        Some(value)
    }

    pub(super) fn text<'a>(&mut self, fields: &Fields<'a>, key: &str) -> Option<Word<'a>> {
        let value = fields.find(key)?;
        self.as_text(value, key)
    }

    pub(super) fn as_text<'a>(&mut self, value: &'a Placed, key: &str) -> Option<Word<'a>> {
        let at = value.position;
        match &value.node {
            Node::Text(text) => return Some(Word { text, at }),
            Node::List(_) | Node::Map(_) | Node::Nothing => {
                let kind = value.node.kind();
                self.problem(at, format!("'{key}' is {kind}, expected a text"));
            }
            other => {
                let kind = other.kind();
                let message = format!("'{key}' is {kind}, expected a text: put it in quotes");
                self.problem(at, message);
            }
        }
        None
    }

    /// Reads one of several words.
    pub(super) fn choice<'a, T: Copy>(
        &mut self,
        value: &'a Placed,
        key: &str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let word: Word<'a> = self.as_text(value, key)?;
        let found = choices.iter().find(|(name, _)| *name == word.text);
        if found.is_none() {
            let names: Vec<&'static str> = choices.iter().map(|(name, _)| *name).collect();
            let near = nearest(word.text, names.iter().copied())
                .map_or_else(String::new, |near| format!("; the nearest is '{near}'"));
            let (text, names) = (quoted(word.text), one_of(&names));
            self.problem(
                word.at,
                format!("'{key}' is {text}, expected {names}{near}"),
            );
        }
        found.map(|(_, value)| *value)
    }

    pub(super) fn optional_choice<T: Copy>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let value = fields.find(key)?;
        self.choice(value, key, choices)
    }

    /// Reads an integer within a range.
    pub(super) fn number(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        bounds: RangeInclusive<u32>,
    ) -> Option<u32> {
        let value = fields.find(key)?;
        let found = match value.node {
            Node::Integer(number) => {
                let within = u32::try_from(number)
                    .ok()
                    .filter(|number| bounds.contains(number));
                if within.is_some() {
                    return within;
                }
                number.to_string()
            }
            Node::Fraction(ref number) => number.clone(),
            ref other => other.kind().to_owned(),
        };
        let (least, most) = (bounds.start(), bounds.end());
        let message = format!("'{key}' is {found}, expected a whole number from {least} to {most}");
        self.problem(value.position, message);
        None
    }

    pub(super) fn truth(&mut self, fields: &Fields<'_>, key: &str) -> Option<bool> {
        let value = fields.find(key)?;
        let truth = match &value.node {
            Node::Truth(truth) => Some(*truth),
            Node::Text(text) => old_truth(text),
            _ => None,
        };
        if truth.is_some() {
            return truth;
        }
        let kind = value.node.kind();
        let message = format!("'{key}' is {kind}, expected true or false, without quotes");
        self.problem(value.position, message);
        None
    }

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
            self.problem(value.position, message);
            return None;
        };
        self.globs += items.len();
        self.weight += items.iter().map(weight_of).sum::<usize>();
        if self.globs > MAX_GLOBS || self.weight > MAX_WEIGHT {
            let message = format!(
                "too complex: a map has at most {MAX_GLOBS} globs, and fewer where they are long or have many stars"
            );
            self.problem(value.position, message);
            return None;
        }
        let before = self.problems.len();
        let name = format!("a glob of '{key}'");
        let mut texts = Vec::new();
        for item in items {
            let word = match &item.node {
                Node::Text(text) => text.clone(),
                other => {
                    let kind = other.kind();
                    let message = format!("{name} is {kind}, expected a text in quotes");
                    self.problem(item.position, message);
                    continue;
                }
            };
            // One by one, so that every problem of the list is reported.
            if let Err(fault) = Globs::parse(std::slice::from_ref(&word)) {
                let message = format!("glob {} of '{key}' {}", quoted(&word), fault.message);
                self.problem(item.position, message);
            }
            texts.push(word);
        }
        if self.problems.len() > before {
            return None;
        }
        match Globs::parse(&texts) {
            Ok(_) => Some(texts),
            Err(fault) => {
                let at = items
                    .get(fault.index)
                    .map_or(value.position, |item| item.position);
                self.problem(at, format!("'{key}': the list {}", fault.message));
                None
            }
        }
    }
}

/// Returns the boolean that a text was in YAML 1.1: where a boolean is expected it still is one,
/// elsewhere it is a text.
fn old_truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" => Some(true),
        "n" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn weight_of(item: &Placed) -> usize {
    match &item.node {
        Node::Text(text) => text.len() + STAR_WEIGHT * text.matches('*').count(),
        _ => 0,
    }
}
