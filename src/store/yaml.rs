//! The gate to the YAML parser: text to values, with limits. It writes nothing.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::options::{MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Location, Spanned};

use crate::model::text::Position;

/// Larger files are not read.
pub const MAX_BYTES: usize = 1024 * 1024;

/// The limit on values in [`read_plain`], with each alias counted as the values it stands for.
const MAX_NODES: usize = 30_000;

/// The limit on aliases there.
const MAX_ALIASES: usize = 64;

/// Parses one YAML document; returns `None` for anything but a single document of plain data: for bad syntax,
/// duplicate keys, several documents, malformed numbers, and anything beyond a limit (1 MiB; the parser's own
/// on depth, nodes and aliases).
pub fn find_value(text: &str) -> Option<Value> {
    if text.len() > MAX_BYTES {
        return None;
    }
    serde_saphyr::from_str(text).ok()
}

/// A value and its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The position of its beginning.
    pub position: Position,
    /// The value.
    pub node: Node,
}

/// A value, as far as our settings need it: texts, in lists and maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// An empty value: nothing, `~`, `null`.
    Nothing,
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Placed>),
    /// A map with its keys in the order of the text.
    Map(Vec<(Placed, Placed)>),
    /// A whole number.
    Integer(i128),
    /// `true` or `false`. Words that only YAML 1.1 took for them (`y`, `no`, `off`) are texts in
    /// [`read_plain`].
    Truth(bool),
    /// A number that is not whole, as written in decimals.
    Fraction(String),
    /// Anything else; the name of the kind.
    Other(&'static str),
}

impl Node {
    /// Returns the kind of value, for use in a sentence.
    pub fn kind(&self) -> &'static str {
        match self {
            Node::Nothing => "empty",
            Node::Text(_) => "a text",
            Node::List(_) => "a list",
            Node::Map(_) => "a map",
            Node::Integer(_) | Node::Fraction(_) => "a number",
            Node::Truth(_) => "a truth value",
            Node::Other(kind) => kind,
        }
    }
}

/// The problem of a text, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position, if it is known.
    pub position: Option<Position>,
    /// The problem, in one line.
    pub message: String,
}

/// Parses one YAML document with the position of each value.
pub fn read_placed(text: &str) -> Result<Placed, Fault> {
    if text.len() > MAX_BYTES {
        return Err(Fault { position: None, message: "it is larger than 1 MiB".to_owned() });
    }
    serde_saphyr::from_str(text).map_err(|error| fault_of(&error))
}

/// Parses one YAML document of plain data, from any author, with the position of each value.
///
/// Refuses more than [`read_placed`]: tags, merge keys, and more depth, values and aliases than a
/// hand-written file has.
pub fn read_plain(text: &str) -> Result<Placed, Fault> {
    if text.len() > MAX_BYTES {
        return Err(Fault { position: None, message: "it is larger than 1 MiB".to_owned() });
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 16,
            max_nodes: MAX_NODES,
            max_events: 2 * MAX_NODES,
            max_aliases: MAX_ALIASES,
            max_anchors: MAX_ALIASES,
            flow_nesting_limit: 16,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_NODES / 4,
            max_replay_stack_depth: 8,
        },
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| fault_of(&error))
}

fn fault_of(error: &serde_saphyr::Error) -> Fault {
    let error = error.without_snippet();
    let message = match error {
        serde_saphyr::Error::MultipleDocuments { .. } => {
            "there is more than one document".to_owned()
        }
        _ => first_words(&error.to_string()),
    };
    // How the parser counts does not matter to the author of the file.
    let complex = ["budget breached", "recursion limit", "alias replay"];
    let is_complex = complex.iter().any(|words| message.starts_with(words));
    Fault {
        position: error.location().map(position),
        message: if is_complex { "it is too complex".to_owned() } else { message },
    }
}

/// Returns the parser's message without the position it repeats and without advice for its code.
fn first_words(message: &str) -> String {
    let line = message.lines().next().unwrap_or("no YAML");
    let reason = line.split(" at line ").next().unwrap_or(line);
    reason.split(", set ").next().unwrap_or(reason).to_owned()
}

fn position(location: Location) -> Position {
    let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Position { line: number(location.line()), column: number(location.column()) }
}

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Placed { position: position(spanned.referenced), node: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_none<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Node, E> {
        Ok(Node::Truth(truth))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Integer(number.into()))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Integer(number.into()))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Fraction(format!("{number:?}")))
    }

    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<Node, E> {
        Ok(Node::Other("bytes"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Node::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_data_is_read_and_anything_odd_is_not() {
        assert_eq!(
            find_value("a: 1\nb: [x, \"2\"]\n"),
            Some(serde_json::json!({"a": 1, "b": ["x", "2"]}))
        );
        for odd in ["a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "a: [\n"] {
            assert_eq!(find_value(odd), None, "{odd}");
        }
        assert_eq!(find_value(&"[".repeat(5000)), None);
    }

    #[test]
    fn every_value_has_its_position() {
        let read = read_placed("a: [x,\r\n  'y']\r\nb:\r\n").unwrap();
        let Node::Map(entries) = read.node else {
            panic!("{read:?}");
        };
        let Node::List(items) = &entries[0].1.node else {
            panic!("{entries:?}");
        };
        let places: Vec<_> = items
            .iter()
            .map(|item| item.position)
            .map(|place| (place.line, place.column))
            .collect();
        assert_eq!(places, [(1, 5), (2, 3)]);
        assert_eq!(entries[1].1.node, Node::Nothing);
    }

    #[test]
    fn a_fault_has_its_position() {
        let fault = read_placed("a: 1\na: 2\n").unwrap_err();
        let position = fault.position.unwrap();
        assert_eq!((position.line, position.column), (2, 1));
        assert!(fault.message.starts_with("duplicate"), "{fault:?}");
        assert!(!fault.message.contains("line"), "{fault:?}");
        for odd in ["a: **\n", "a: 1\n---\nb: 2\n", "a: [\n", "\"a"] {
            assert!(read_placed(odd).unwrap_err().position.is_some(), "{odd}");
        }
    }
}
