//! Edits a JSON text without touching the rest: order, spacing, numbers and unknown keys stay as they were
//! written.

use std::ops::Range;

use serde::de::{Error as _, IgnoredAny};
use serde_json::Value;

use crate::store::data_tree::Node;
use crate::store::data_tree::json::{self, RepeatedKeys};

/// Parses a text.
pub(in crate::setup) fn parse(text: &str) -> Result<Node, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    let document = json::parse_with(text, RepeatedKeys::Kept);
    let root = document.map(|document| document.root);
    root.ok_or_else(|| serde_json::Error::custom("it is too large or nested too deeply"))
}

/// Returns the text of a string.
pub(in crate::setup) fn text_of(node: &Node) -> Option<String> {
    serde_json::from_str(node.scalar()?).ok()
}

/// Edits of a text in which the value stands; each returns the whole text.
pub(in crate::setup) trait Edit {
    /// Adds `value` as the last child, after `key` in an object.
    fn with(&self, text: &str, key: Option<&str>, value: &Value) -> String;
    /// Puts `value` in the place of the child at `index`.
    fn replaced(&self, text: &str, index: usize, value: &Value) -> String;
    /// Removes the child at `index`.
    fn without(&self, text: &str, index: usize) -> String;
}

impl Edit for Node {
    fn with(&self, text: &str, key: Option<&str>, value: &Value) -> String {
        let style = Layout::of(text);
        let children = children(self);
        let own = Layout::indent_of(text, self.span.start);
        let inner = children.last().map_or_else(
            || format!("{own}{}", style.unit),
            |child| style.indent_of_child(text, child.start, &own),
        );
        let key = key.map(|key| format!("{}: ", Value::from(key))).unwrap_or_default();
        let value = style.pretty(value, &inner);
        let (at, new) = match children.last() {
            Some(last) => (last.end, format!(",{0}{inner}{key}{value}", style.newline)),
            None => (self.span.start + 1, format!("{0}{inner}{key}{value}{0}{own}", style.newline)),
        };
        // An empty container has nothing between its brackets.
        let end = if children.is_empty() { self.span.end - 1 } else { at };
        splice(text, at..end, &new)
    }

    fn replaced(&self, text: &str, index: usize, value: &Value) -> String {
        let children = children(self);
        let Some(child) = children.get(index) else {
            return text.to_owned();
        };
        let style = Layout::of(text);
        let own = Layout::indent_of(text, self.span.start);
        let indent = style.indent_of_child(text, child.start, &own);
        splice(text, child.clone(), &style.pretty(value, &indent))
    }

    fn without(&self, text: &str, index: usize) -> String {
        let children = children(self);
        let Some(child) = children.get(index) else {
            return text.to_owned();
        };
        let before = index.checked_sub(1).and_then(|index| children.get(index));
        let range = match (before, children.get(index + 1)) {
            (Some(before), _) => before.end..child.end,
            (None, Some(after)) => child.start..after.start,
            (None, None) => self.span.start + 1..self.span.end - 1,
        };
        splice(text, range, "")
    }
}

/// Returns the places of the members, each with its key, or of the items.
fn children(node: &Node) -> Vec<Range<usize>> {
    let entries = node.entries().iter();
    entries.map(|entry| entry.start..entry.value.span.end).collect()
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).expect("the range is in the text");
    let after = text.get(range.end..).expect("the range is in the text");
    [before, new, after].concat()
}

/// The layout of a text.
struct Layout {
    unit: String,
    newline: &'static str,
}

impl Layout {
    fn of(text: &str) -> Layout {
        let blank = |c: char| c == ' ' || c == '\t';
        let first = text.lines().find(|line| line.starts_with(blank));
        let unit = first.map_or("  ", |line| {
            line.get(..line.len() - line.trim_start_matches(blank).len()).unwrap_or("  ")
        });
        Layout { unit: unit.to_owned(), newline: if text.contains("\r\n") { "\r\n" } else { "\n" } }
    }

    /// Returns the white space at the beginning of the line of a position.
    fn indent_of(text: &str, at: usize) -> String {
        let before = text.get(..at).expect("the place is in the text");
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars().take_while(|c| *c == ' ' || *c == '\t').collect()
    }

    /// Returns the indentation of children: that of a child on a line of its own.
    fn indent_of_child(&self, text: &str, child: usize, own: &str) -> String {
        let before = text.get(..child).expect("the place is in the text");
        let line = before.rsplit('\n').next().unwrap_or_default();
        if line.trim().is_empty() && before.contains('\n') {
            line.to_owned()
        } else {
            format!("{own}{}", self.unit)
        }
    }

    fn pretty(&self, value: &Value, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        let written = serde::Serialize::serialize(value, &mut serializer);
        written.expect("a value is written into memory");
        let text = String::from_utf8(bytes).expect("only whole characters were replaced");
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn adding_and_removing_a_value_leaves_the_text_unchanged(
            members in prop::collection::vec((any::<String>(), any_json()), 0..4),
            pretty in any::<bool>(),
        ) {
            let mut value = Value::Object(members.into_iter().collect());
            value.as_object_mut().unwrap().shift_remove("new");
            let text = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            let added = parse(&text).unwrap().with(&text, Some("new"), &json!([{"a": 1}]));
            let mut wanted = value.clone();
            wanted["new"] = json!([{"a": 1}]);
            prop_assert_eq!(serde_json::from_str::<Value>(&added).unwrap(), wanted);
            let node = parse(&added).unwrap();
            let index = node.members().unwrap().len() - 1;
            prop_assert_eq!(node.without(&added, index), text);
        }
    }

    #[test]
    fn a_replaced_element_is_laid_out_as_its_place() {
        let text = "{\n  \"l\": [\n    1,\n    {\"a\": 2},\n    3\n  ]\n}\n";
        let node = parse(text).unwrap();
        let replaced = node.member("l").unwrap().replaced(text, 1, &json!({"b": 4}));
        let wanted = text.replace("{\"a\": 2}", "{\n      \"b\": 4\n    }");
        assert_eq!(replaced, wanted);
    }

    #[test]
    fn an_edit_keeps_the_layout_of_the_rest() {
        let text = "{\r\n\t\"n\": 1.0e3,\r\n\t\"list\": [1,2],\r\n\t\"empty\": { }\r\n}\r\n";
        let node = parse(text).unwrap();
        let added = node.member("empty").unwrap().with(text, Some("k"), &json!(["v"]));
        let wanted = "{\r\n\t\"n\": 1.0e3,\r\n\t\"list\": [1,2],\r\n\t\"empty\": {\r\n\t\t\"k\": \
                      [\r\n\t\t\t\"v\"\r\n\t\t]\r\n\t}\r\n}\r\n";
        assert_eq!(added, wanted);
    }
}
