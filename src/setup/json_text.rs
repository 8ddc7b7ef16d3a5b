//! Edits a JSON text without touching the rest: order, spacing, numbers and unknown keys stay as they were
//! written.

use std::ops::Range;

use serde_json::Value;

/// A value and its position in the text.
#[derive(Clone, Debug)]
pub(in crate::setup) struct Node {
    /// The range from its first byte to after its last.
    pub(in crate::setup) span: Range<usize>,
    /// What it is.
    pub(in crate::setup) kind: Kind,
}

/// The kind of a value.
#[derive(Clone, Debug)]
pub(in crate::setup) enum Kind {
    /// `{...}`: each member from its key on.
    Object(Vec<Member>),
    /// `[...]`.
    Array(Vec<Node>),
    /// `"..."`, unescaped.
    Text(String),
    /// Anything else.
    Other,
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(in crate::setup) struct Member {
    /// The key, unescaped.
    pub(in crate::setup) key: String,
    /// The range from the first byte of the key to after the value.
    pub(in crate::setup) span: Range<usize>,
    /// The value.
    pub(in crate::setup) value: Node,
}

impl Node {
    /// Parses a text.
    ///
    /// # Errors
    /// The problem and its position, from `serde_json`.
    pub(in crate::setup) fn parse(text: &str) -> Result<Node, serde_json::Error> {
        // It checks the grammar and limits the depth, so the code below need not.
        serde_json::from_str::<Value>(text)?;
        let mut reader = Reader { text, at: 0 };
        Ok(reader.value())
    }

    /// Returns the value of a key; the last one of a duplicate key, as parsers do.
    pub(in crate::setup) fn get(&self, key: &str) -> Option<&Node> {
        let members = self.members()?.iter();
        members
            .rev()
            .find(|member| member.key == key)
            .map(|member| &member.value)
    }

    /// Returns the members of an object.
    pub(in crate::setup) fn members(&self) -> Option<&[Member]> {
        match &self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the elements of an array.
    pub(in crate::setup) fn elements(&self) -> Option<&[Node]> {
        match &self.kind {
            Kind::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// Returns the content of a string.
    pub(in crate::setup) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    fn children(&self) -> Vec<Range<usize>> {
        match &self.kind {
            Kind::Object(members) => members.iter().map(|member| member.span.clone()).collect(),
            Kind::Array(elements) => elements
                .iter()
                .map(|element| element.span.clone())
                .collect(),
            Kind::Text(_) | Kind::Other => Vec::new(),
        }
    }

    /// Returns the text with `value` as the last child, after `key` in an object.
    pub(in crate::setup) fn with(&self, text: &str, key: Option<&str>, value: &Value) -> String {
        let style = Style::of(text);
        let children = self.children();
        let own = Style::indent_of(text, self.span.start);
        let inner = children.last().map_or_else(
            || format!("{own}{}", style.unit),
            |child| style.indent_of_child(text, child.start, &own),
        );
        let key = key
            .map(|key| format!("{}: ", Value::from(key)))
            .unwrap_or_default();
        let value = style.pretty(value, &inner);
        let (at, new) = match children.last() {
            Some(last) => (last.end, format!(",{0}{inner}{key}{value}", style.newline)),
            None => (
                self.span.start + 1,
                format!("{0}{inner}{key}{value}{0}{own}", style.newline),
            ),
        };
        // An empty container has nothing between its brackets.
        let end = if children.is_empty() {
            self.span.end - 1
        } else {
            at
        };
        splice(text, at..end, &new)
    }

    /// Returns the text with `value` in place of the child of an array at `index`.
    pub(in crate::setup) fn replaced(&self, text: &str, index: usize, value: &Value) -> String {
        let children = self.children();
        let Some(child) = children.get(index) else {
            return text.to_owned();
        };
        let style = Style::of(text);
        let own = Style::indent_of(text, self.span.start);
        let indent = style.indent_of_child(text, child.start, &own);
        splice(text, child.clone(), &style.pretty(value, &indent))
    }

    /// Returns the text without the child at `index`.
    pub(in crate::setup) fn without(&self, text: &str, index: usize) -> String {
        let children = self.children();
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

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    [before, new, after].concat()
}

/// The layout of a text.
struct Style {
    unit: String,
    newline: &'static str,
}

impl Style {
    fn of(text: &str) -> Style {
        let blank = |c: char| c == ' ' || c == '\t';
        let first = text.lines().find(|line| line.starts_with(blank));
        let unit = first.map_or("  ", |line| {
            line.get(..line.len() - line.trim_start_matches(blank).len())
                .unwrap_or("  ")
        });
        Style {
            unit: unit.to_owned(),
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
        }
    }

    /// Returns the white space at the beginning of the line of a position.
    fn indent_of(text: &str, at: usize) -> String {
        let before = text.get(..at).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.chars()
            .take_while(|c| *c == ' ' || *c == '\t')
            .collect()
    }

    /// Returns the indentation of children: that of a child on a line of its own.
    fn indent_of_child(&self, text: &str, child: usize, own: &str) -> String {
        let before = text.get(..child).unwrap_or_default();
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
        // Writing a value that is in memory to memory cannot fail.
        drop(written);
        let text = String::from_utf8(bytes).unwrap_or_default();
        text.replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// Parses a text that is known to be JSON.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Node {
        self.skip_blanks();
        let start = self.at;
        let kind = match self.peek() {
            b'{' => Kind::Object(self.children(b'}', Reader::member)),
            b'[' => Kind::Array(self.children(b']', Reader::value)),
            b'"' => Kind::Text(self.string()),
            _ => {
                while !matches!(
                    self.peek(),
                    0 | b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'
                ) {
                    self.at += 1;
                }
                Kind::Other
            }
        };
        let span = start..self.at;
        Node { span, kind }
    }

    fn children<T>(&mut self, close: u8, one: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut found = Vec::new();
        self.at += 1;
        loop {
            self.skip_blanks();
            match self.peek() {
                b',' => self.at += 1,
                byte if byte == close => {
                    self.at += 1;
                    return found;
                }
                0 => return found,
                _ => found.push(one(self)),
            }
        }
    }

    fn member(&mut self) -> Member {
        let start = self.at;
        let key = self.string();
        self.skip_blanks();
        self.at += 1;
        let value = self.value();
        Member {
            key,
            span: start..self.at,
            value,
        }
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        while !matches!(self.peek(), b'"' | 0) {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        let text = self.text.get(start..self.at).unwrap_or("\"\"");
        serde_json::from_str(text).unwrap_or_default()
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
            let added = Node::parse(&text).unwrap().with(&text, Some("new"), &json!([{"a": 1}]));
            let mut wanted = value.clone();
            wanted["new"] = json!([{"a": 1}]);
            prop_assert_eq!(serde_json::from_str::<Value>(&added).unwrap(), wanted);
            let node = Node::parse(&added).unwrap();
            let index = node.members().unwrap().len() - 1;
            prop_assert_eq!(node.without(&added, index), text);
        }
    }

    #[test]
    fn a_replaced_element_is_laid_out_as_its_place() {
        let text = "{\n  \"l\": [\n    1,\n    {\"a\": 2},\n    3\n  ]\n}\n";
        let node = Node::parse(text).unwrap();
        let replaced = node.get("l").unwrap().replaced(text, 1, &json!({"b": 4}));
        let wanted = text.replace("{\"a\": 2}", "{\n      \"b\": 4\n    }");
        assert_eq!(replaced, wanted);
    }

    #[test]
    fn an_edit_keeps_the_layout_of_the_rest() {
        let text = "{\r\n\t\"n\": 1.0e3,\r\n\t\"list\": [1,2],\r\n\t\"empty\": { }\r\n}\r\n";
        let node = Node::parse(text).unwrap();
        let added = node
            .get("empty")
            .unwrap()
            .with(text, Some("k"), &json!(["v"]));
        let wanted = "{\r\n\t\"n\": 1.0e3,\r\n\t\"list\": [1,2],\r\n\t\"empty\": {\r\n\t\t\"k\": \
                      [\r\n\t\t\t\"v\"\r\n\t\t]\r\n\t}\r\n}\r\n";
        assert_eq!(added, wanted);
    }
}
