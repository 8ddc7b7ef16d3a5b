//! One line of a session's file: an event with a type, a time, and fields of its type.
//!
//! Other versions and programs write types that this one does not know: they are kept and shown. No event that is
//! written here holds a key or a token.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::git::remote::url;
use crate::model::secret_forms;
use crate::model::time::{self, Moment};

/// The types that this version knows.
pub const KNOWN_TYPES: [&str; 13] = [
    "created",
    "turn_added",
    "state_changed",
    "meta_updated",
    "plugin_state_updated",
    "reset",
    "compacted",
    "expensive_op",
    "checkpoint",
    "decision",
    "commit",
    "merge",
    "operation",
];

/// The fields in which other programs put the type.
const TYPE_FIELDS: [&str; 3] = ["type", "event", "kind"];

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionEvent {
    /// Its type.
    #[serde(rename = "type")]
    pub name: String,
    /// When it happened, RFC 3339 UTC; null if the line does not have it.
    pub at: Option<String>,
    /// Whether this version knows the type.
    pub known: bool,
    /// The fields of its type.
    pub data: Map<String, Value>,
}

impl SessionEvent {
    /// Makes an event of now; `data` is an object.
    pub fn new(name: &str, now: &Moment, data: Value) -> SessionEvent {
        let data = match data {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        SessionEvent { name: name.to_owned(), at: Some(time::rfc3339(now)), known: true, data }
    }

    /// Reads a line; `None` if it is not a JSON object: torn, or damaged.
    pub fn read(line: &[u8]) -> Option<SessionEvent> {
        let Value::Object(mut data) = serde_json::from_slice(line).ok()? else {
            return None;
        };
        let field =
            TYPE_FIELDS.into_iter().find(|field| data.get(*field).is_some_and(Value::is_string));
        let name = field
            .and_then(|field| text_of(data.shift_remove(field)?))
            .unwrap_or_else(|| "unknown".to_owned());
        let at = match data.get("at") {
            Some(Value::String(_)) => data.shift_remove("at").and_then(text_of),
            _ => None,
        };
        Some(SessionEvent { known: KNOWN_TYPES.contains(&name.as_str()), name, at, data })
    }

    /// Returns the line, with its newline and without secrets.
    pub fn to_line(&self) -> Vec<u8> {
        let mut fields = Map::new();
        fields.insert("type".to_owned(), self.name.clone().into());
        if let Some(at) = &self.at {
            fields.insert("at".to_owned(), at.clone().into());
        }
        fields.extend(self.data.clone());
        let mut line = without_secrets(Value::Object(fields)).to_string();
        line.push('\n');
        line.into_bytes()
    }

    /// Returns a field that is a text.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.data.get(field)?.as_str()
    }

    /// Returns a field that is a number.
    pub fn number(&self, field: &str) -> Option<u64> {
        self.data.get(field)?.as_u64()
    }
}

fn text_of(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Returns a line of another file without secrets; one without any is returned as it is.
pub fn line_without_secrets(line: &[u8]) -> Vec<u8> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return text_without_secrets(&String::from_utf8_lossy(line)).into_bytes();
    };
    let clean = without_secrets(value.clone());
    if clean == value {
        return line.to_vec();
    }
    clean.to_string().into_bytes()
}

fn without_secrets(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text_without_secrets(&text)),
        Value::Array(all) => Value::Array(all.into_iter().map(without_secrets).collect()),
        Value::Object(fields) => {
            let clean = |(key, value): (String, Value)| {
                (text_without_secrets(&key), without_secrets(value))
            };
            Value::Object(fields.into_iter().map(clean).collect())
        }
        other => other,
    }
}

/// Returns a text without keys and tokens, and without the logins of URLs.
fn text_without_secrets(text: &str) -> String {
    secret_forms::redacted(&url::redact_logins(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn event(data: Value) -> SessionEvent {
        let now = time::parse_rfc3339("2026-11-21T10:00:00Z").unwrap();
        SessionEvent::new("turn_added", &now, data)
    }

    #[test]
    fn only_the_logins_of_urls_are_hidden() {
        let clean = |text: &str| text_without_secrets(text);
        for text in [
            "https://example.com/@ada/post",
            "https://example.com/react@18/x",
            "https://example.com/x?e=a@b",
        ] {
            assert_eq!(clean(text), text);
        }
        assert_eq!(clean("at https://u:p@h/x"), "at https://***@h/x");
    }

    proptest! {
        #[test]
        fn a_line_is_read_as_it_was_written(text in any::<String>(), junk in any::<Vec<u8>>()) {
            let written = event(json!({ "content": &text, "tokens": 3 }));
            let line = written.to_line();
            prop_assert_eq!(line.split(|byte| *byte == b'\n').count(), 2);
            let read = SessionEvent::read(&line).unwrap();
            if !text.contains("//") {
                prop_assert_eq!(read, written);
            }
            // No bytes make it panic.
            drop(SessionEvent::read(&junk));
        }
    }

    #[test]
    fn no_line_holds_a_secret_anywhere() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let nested = json!({ "content": format!("a\n{token}"), "meta": [{ &token: [&token] }] });
        let line = String::from_utf8(event(nested).to_line()).unwrap();
        assert!(!line.contains("ghp_"), "{line}");
        let login = event(json!({ "content": "see https://ada:pass@host/x for a::b?" }));
        let line = String::from_utf8(login.to_line()).unwrap();
        assert!(line.contains("https://***@host/x for a::b?"), "{line}");
    }

    #[test]
    fn types_of_others_are_kept() {
        let read = SessionEvent::read(br#"{"event":"thought","at":7,"x":1}"#).unwrap();
        assert_eq!((read.name.as_str(), read.known), ("thought", false));
        assert_eq!(Value::Object(read.data), json!({ "at": 7, "x": 1 }));
        assert_eq!(SessionEvent::read(br#"{"type":"turn_add"#), None);
        assert_eq!(SessionEvent::read(b"[1]"), None);
    }
}
