//! A file as a tree of values, each with its bytes; the same for JSON and YAML. TOML as values only.

pub(crate) mod format;
pub(crate) mod json;
pub(in crate::store) mod toml_text;
pub(crate) mod toml_values;
pub(crate) mod yaml;
pub(crate) mod yaml_edit;
mod yaml_lines;
mod yaml_words;

use std::ops::Range;

use serde_json::Value;

/// How the entries of a collection are delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Between brackets, with commas: all of JSON, and flow collections of YAML.
    Flow,
    /// By lines and indentation; the column of its entries.
    Block(usize),
}

/// A parsed file.
#[derive(Debug)]
pub(crate) struct Document<'t> {
    /// The whole text.
    pub(crate) text: &'t str,
    /// Its value; the rest of the text is whitespace and comments.
    pub(crate) root: Node,
    /// The same value from the reader of the format; `None` for JSON, which has no other.
    pub(crate) value: Option<Value>,
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// Its bytes. A block: whole lines, except that the first one may start behind a dash.
    pub(crate) span: Range<usize>,
    /// Its content.
    pub(crate) data: Data,
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    /// In one canonical spelling: JSON, numbers as written.
    Scalar(String),
    /// A collection that is merged as one value, from the reader.
    Whole(Value),
    /// Members with keys, in the order of the file.
    Map(Style, Vec<Entry>),
    /// Items without keys.
    List(Style, Vec<Entry>),
}

/// One member of a map or item of a list.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The decoded key; empty for an item.
    pub(crate) key: String,
    /// Its bytes with everything that moves with it. Flow: from one delimiter to the next. Block:
    /// its lines, with the comment right above.
    pub(crate) whole: Range<usize>,
    /// Where its own text begins, behind whitespace and comments: the key, the dash or the item.
    pub(crate) start: usize,
    /// Its value.
    pub(crate) value: Node,
}

impl Document<'_> {
    /// Returns the text of a range.
    pub(crate) fn at(&self, range: Range<usize>) -> &str {
        self.text.get(range).unwrap_or_default()
    }

    /// Returns the part of a line before a byte.
    fn line_before(&self, at: usize) -> &str {
        self.at(0..at).rsplit('\n').next().unwrap_or_default()
    }

    /// Returns the indentation of the line of a byte, up to that byte.
    pub(crate) fn indentation(&self, at: usize) -> &str {
        let line = self.line_before(at);
        let length = line.len() - line.trim_start_matches([' ', '\t']).len();
        line.get(..length).expect("the line begins with its indentation")
    }

    /// Returns the number of bytes on the line before a byte.
    pub(crate) fn column(&self, at: usize) -> usize {
        self.line_before(at).len()
    }
}

impl Node {
    /// Returns the members or items; none for a scalar.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.data {
            Data::Scalar(_) | Data::Whole(_) => &[],
            Data::Map(_, entries) | Data::List(_, entries) => entries,
        }
    }

    /// Returns `true` if it is written by lines and indentation.
    pub(crate) fn is_block(&self) -> bool {
        matches!(self.data, Data::Map(Style::Block(_), _) | Data::List(Style::Block(_), _))
    }

    /// Returns the text of an empty map or list.
    pub(crate) fn empty(&self) -> &'static str {
        match self.data {
            Data::List(..) => "[]",
            _ => "{}",
        }
    }

    /// Returns `true` if it is a map or list that is read as one value.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.data, Data::Whole(_))
    }

    /// Returns the members of a map.
    pub(crate) fn members(&self) -> Option<&[Entry]> {
        match &self.data {
            Data::Map(_, entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self) -> Option<&[Entry]> {
        match &self.data {
            Data::List(_, entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the member with that name; the last one of a repeated name, as parsers do.
    pub(crate) fn member(&self, key: &str) -> Option<&Node> {
        let mut members = self.members()?.iter();
        members.rfind(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns the canonical spelling of the member with that name if it is a scalar.
    pub(crate) fn scalar_member(&self, key: &str) -> Option<String> {
        match &self.data {
            Data::Whole(value) => {
                let member = value.get(key)?;
                (!member.is_object() && !member.is_array()).then(|| spelled(member))
            }
            _ => self.member(key)?.scalar().map(str::to_owned),
        }
    }

    /// Returns the canonical spelling of a scalar.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.data {
            Data::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the canonical spelling: equal values have equal ones, however they are written.
    pub(crate) fn canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    fn write_canonical(&self, out: &mut String) {
        match &self.data {
            Data::Scalar(text) => out.push_str(text),
            Data::Whole(value) => out.push_str(&spelled(value)),
            Data::List(_, entries) => {
                let items = entries.iter().map(|entry| entry.value.canonical());
                write_list(out, items);
            }
            Data::Map(_, entries) => {
                let members =
                    entries.iter().map(|entry| (entry.key.as_str(), entry.value.canonical()));
                write_map(out, members.collect());
            }
        }
    }
}

/// Returns the spelling of a value as [`Node::canonical`] does.
pub(crate) fn spelled(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Array(items) => write_list(&mut out, items.iter().map(spelled)),
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| (key.as_str(), spelled(value)));
            write_map(&mut out, members.collect());
        }
        value => out = value.to_string(),
    }
    out
}

/// Writes the canonical spelling of a list.
pub(crate) fn write_list(out: &mut String, items: impl Iterator<Item = String>) {
    out.push('[');
    for item in items {
        out.push_str(&item);
        out.push(',');
    }
    out.push(']');
}

/// Writes the canonical spelling of a map: by key.
pub(crate) fn write_map(out: &mut String, mut members: Vec<(&str, String)>) {
    members.sort();
    out.push('{');
    for (key, value) in members {
        out.extend([&format!("{key:?}:"), &value, ","]);
    }
    out.push('}');
}

/// Returns `true` if two values are equal; an absent one equals an absent one.
pub(crate) fn same(node: Option<&Node>, other: Option<&Node>) -> bool {
    match (node, other) {
        (None, None) => true,
        (Some(node), Some(other)) => equal(node, other),
        _ => false,
    }
}

fn equal(node: &Node, other: &Node) -> bool {
    let (some, others) = (node.entries(), other.entries());
    match (&node.data, &other.data) {
        (Data::Scalar(scalar), Data::Scalar(other)) => scalar == other,
        // One of them may be written as parts.
        (Data::Whole(_), _) | (_, Data::Whole(_)) => node.canonical() == other.canonical(),
        (Data::List(..), Data::List(..)) => {
            let mut pairs = some.iter().zip(others);
            some.len() == others.len() && pairs.all(|(a, b)| equal(&a.value, &b.value))
        }
        (Data::Map(..), Data::Map(..)) if some.len() == others.len() => {
            // The order is mostly the same, so no table is needed.
            let mut pairs = some.iter().zip(others);
            if pairs.all(|(a, b)| a.key == b.key && equal(&a.value, &b.value)) {
                return true;
            }
            node.canonical() == other.canonical()
        }
        _ => false,
    }
}
