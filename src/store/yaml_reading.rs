//! Reads typed values from a map of YAML, and collects all problems on the way.

use std::ops::RangeInclusive;

use crate::model::text::{Position, nearest};

use super::yaml::{Node, Placed};
use super::yaml_problem::{YamlProblem, one_of, quoted};

/// The problems found so far.
#[derive(Default)]
pub struct Reader {
    /// The problems that make the file invalid.
    pub problems: Vec<YamlProblem>,
    /// The parts of the file that have no effect.
    pub warnings: Vec<YamlProblem>,
}

/// A text with its position.
#[derive(Clone, Copy)]
pub struct Word<'a> {
    /// The text.
    pub text: &'a str,
    /// Its position.
    pub at: Position,
}

/// The entries of a map with known keys.
pub struct Fields<'a> {
    /// The start of the map.
    pub at: Position,
    /// The name of the map in a sentence.
    what: &'static str,
    entries: Vec<(&'a str, Position, &'a Placed)>,
}

impl<'a> Fields<'a> {
    /// Returns the value of a key; an empty one counts as absent.
    pub fn find(&self, key: &str) -> Option<&'a Placed> {
        let entry = self.entries.iter().find(|(known, ..)| *known == key);
        let value = entry.map(|(.., value)| *value);
        value.filter(|value| value.node != Node::Nothing)
    }

    /// Returns the position of the value of a key, if it has one.
    pub fn place_of_value(&self, key: &str) -> Option<Position> {
        self.find(key).map(|value| value.position)
    }

    /// Returns the position of a key.
    pub fn place_of(&self, key: &str) -> Option<Position> {
        let entry = self.entries.iter().find(|(known, ..)| *known == key);
        entry.map(|(_, at, _)| *at)
    }
}

impl Reader {
    /// Adds a problem.
    pub fn problem(&mut self, at: Position, message: impl Into<String>) {
        self.problems.push(YamlProblem::at(at, message));
    }

    /// Adds a warning.
    pub fn warn(&mut self, at: Position, message: impl Into<String>) {
        self.warnings.push(YamlProblem::at(at, message));
    }

    /// Opens a map and reports every unknown key.
    pub fn fields<'a>(
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
        Some(Fields { at: value.position, what, entries })
    }

    /// Returns a value that must exist, even if it is empty.
    pub fn required<'a>(&mut self, fields: &Fields<'a>, key: &str) -> Option<&'a Placed> {
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

    /// Reads the text of a key; `None` without one.
    pub fn text<'a>(&mut self, fields: &Fields<'a>, key: &str) -> Option<Word<'a>> {
        let value = fields.find(key)?;
        self.as_text(value, key)
    }

    /// Reads a value as text.
    pub fn as_text<'a>(&mut self, value: &'a Placed, key: &str) -> Option<Word<'a>> {
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
    pub fn choice<'a, T: Copy>(
        &mut self,
        value: &'a Placed,
        key: &str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let word: Word<'a> = self.as_text(value, key)?;
        let chosen = choices.iter().find(|(name, _)| *name == word.text);
        if chosen.is_none() {
            let names: Vec<&'static str> = choices.iter().map(|(name, _)| *name).collect();
            let near = nearest(word.text, names.iter().copied())
                .map_or_else(String::new, |near| format!("; the nearest is '{near}'"));
            let (text, names) = (quoted(word.text), one_of(&names));
            self.problem(word.at, format!("'{key}' is {text}, expected {names}{near}"));
        }
        chosen.map(|(_, value)| *value)
    }

    /// Reads one of several words; `None` without the key.
    pub fn optional_choice<T: Copy>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let value = fields.find(key)?;
        self.choice(value, key, choices)
    }

    /// Reads an integer within a range.
    pub fn number(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        bounds: RangeInclusive<u32>,
    ) -> Option<u32> {
        let value = fields.find(key)?;
        let number = match value.node {
            Node::Integer(number) => {
                let within = u32::try_from(number).ok().filter(|number| bounds.contains(number));
                if within.is_some() {
                    return within;
                }
                number.to_string()
            }
            Node::Fraction(ref number) => number.clone(),
            ref other => other.kind().to_owned(),
        };
        let (least, most) = (bounds.start(), bounds.end());
        let message =
            format!("'{key}' is {number}, expected a whole number from {least} to {most}");
        self.problem(value.position, message);
        None
    }

    /// Reads true or false; `None` without the key.
    pub fn truth(&mut self, fields: &Fields<'_>, key: &str) -> Option<bool> {
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
