//! Decisions as recorded: JSON files below `design/decisions/`, and trailers of commits.
//!
//! A file holds one object, a list of them, or an object of them by id. An id comes from the file,
//! or is the name of the file; it is never that of a commit, so it survives squash, rebase and
//! amend. Files come from anybody: invalid content is reported, never guessed.

pub mod decide;
mod decision_history;
pub(crate) mod decision_standing;
mod decision_walk;
pub mod decisions;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::model::{Code, Error, RepoPath, Result};

/// The folder of decisions.
pub(super) const FOLDER: &str = "design/decisions";

/// The trailer that names the decision a commit belongs to.
pub(super) const TRAILER: &str = "Colony-Decision";

/// A larger file is not a record of a decision.
const LARGEST_BYTES: usize = 1 << 20;

/// One decision in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) object: Map<String, Value>,
    /// Whether the id is in the object, and not only in the name of the file.
    pub(super) names_itself: bool,
}

impl Item {
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let value = self.object.get(key)?.as_str()?;
        Some(value.to_owned()).filter(|text| !text.is_empty())
    }

    /// Returns a list of texts; a single text counts as a list of one.
    pub(super) fn texts(&self, key: &str) -> Vec<String> {
        match self.object.get(key) {
            Some(Value::String(text)) if !text.is_empty() => vec![text.clone()],
            Some(Value::Array(all)) => {
                all.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// How a file holds its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    One,
    List,
    ById,
}

/// The decisions of a file, by id.
pub(super) type Items = BTreeMap<String, Item>;

/// Returns `true` if a path below [`FOLDER`] is that of a record.
pub(super) fn is_record(path: &RepoPath) -> bool {
    path.as_bytes().ends_with(b".json")
}

/// Reads a whole file.
pub(super) fn read(path: &RepoPath, bytes: &[u8]) -> Result<Items, String> {
    let (items, problems) = read_usable(path, bytes)?;
    match problems.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(items),
    }
}

/// Reads the usable decisions of a file, and returns the problems of the others.
pub(super) fn read_usable(
    path: &RepoPath,
    bytes: &[u8],
) -> Result<(Items, BTreeSet<String>), String> {
    let (_, value) = parse(bytes)?;
    let mut items = Items::new();
    let mut problems = BTreeSet::new();
    let mut add = |fallback: Option<String>, value: Value| {
        let Value::Object(object) = value else {
            return Err("holds an item that is not an object".to_owned());
        };
        let own = object.get("decision_id").and_then(Value::as_str);
        let names_itself = own.is_some_and(|id| !id.is_empty());
        let own = own.filter(|id| !id.is_empty()).map(str::to_owned);
        let id = own.or(fallback).ok_or("holds a decision without 'decision_id'")?;
        let item = Item { object, names_itself };
        if items.contains_key(&id) {
            return Err(format!("holds decision '{id}' twice"));
        }
        items.insert(id, item);
        Ok(())
    };
    let all: Vec<(Option<String>, Value)> = match value {
        Value::Array(all) => all.into_iter().map(|decision| (None, decision)).collect(),
        Value::Object(all) if shape(&all) == Shape::ById => {
            all.into_iter().map(|(id, decision)| (Some(id), decision)).collect()
        }
        decision => vec![(Some(stem(path)), decision)],
    };
    for (fallback, decision) in all {
        problems.extend(add(fallback, decision).err());
    }
    Ok((items, problems))
}

fn parse(bytes: &[u8]) -> Result<(Shape, Value), String> {
    if bytes.len() > LARGEST_BYTES {
        return Err("is larger than 1 MiB".to_owned());
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("is not JSON: {error}"))?;
    match &value {
        Value::Array(_) => Ok((Shape::List, value)),
        Value::Object(object) => Ok((shape(object), value)),
        _ => Err("is neither an object nor a list".to_owned()),
    }
}

/// An object in which every field is an object, and none is a field of a decision, holds decisions
/// by id.
fn shape(object: &Map<String, Value>) -> Shape {
    let fields = ["decision_id", "title", "summary", "rationale"];
    let is_decision = fields.iter().any(|field| object.contains_key(*field));
    if is_decision || object.is_empty() || !object.values().all(Value::is_object) {
        Shape::One
    } else {
        Shape::ById
    }
}

fn stem(path: &RepoPath) -> String {
    let name = String::from_utf8_lossy(path.name()).into_owned();
    name.strip_suffix(".json").map_or(name.clone(), str::to_owned)
}

/// Returns the bytes of a file with one decision added or replaced; the others stay as they are.
pub(super) fn write(
    old: Option<&[u8]>,
    id: &str,
    object: Map<String, Value>,
) -> Result<Vec<u8>, String> {
    let value = match old.map(parse).transpose()? {
        None | Some((Shape::One, _)) => Value::Object(object),
        Some((Shape::ById, Value::Object(mut all))) => {
            all.insert(id.to_owned(), Value::Object(object));
            Value::Object(all)
        }
        Some((_, Value::Array(mut all))) => {
            let is_it = |decision: &&mut Value| decision.get("decision_id") == Some(&json!(id));
            match all.iter_mut().find(is_it) {
                Some(decision) => *decision = Value::Object(object),
                None => all.push(Value::Object(object)),
            }
            Value::Array(all)
        }
        Some(_) => return Err("is neither an object nor a list".to_owned()),
    };
    let text = serde_json::to_string_pretty(&value).map_err(|error| error.to_string())?;
    Ok((text + "\n").into_bytes())
}

/// The maximum length of an id.
const MAX_ID_BYTES: usize = 100;

/// Checks an id that a user gives: it becomes the name of a file and the value of a trailer.
pub(super) fn check_id(id: &str) -> Result<()> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let first = id.chars().next().is_some_and(char::is_alphanumeric);
    if first && id.len() <= MAX_ID_BYTES && id.chars().all(plain) && !id.ends_with('.') {
        return Ok(());
    }
    Err(Error::new(
        Code::InvalidValue,
        format!(
            "'{id}' cannot be the id of a decision: expected at most {MAX_ID_BYTES} bytes of letters, \
             digits, '.', '_' and '-', a letter or digit first"
        ),
    )
    .hint("git colony decide -m TITLE   # makes an id of the title"))
}

/// Makes an id from a title.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 60 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "decision".to_owned() } else { slug.to_owned() }
}

/// Returns the values of a trailer, anywhere in the message: a squash may have moved it.
pub(super) fn trailers(message: &str, key: &str) -> Vec<String> {
    let value = |line: &str| {
        let rest = line.trim_start().strip_prefix(key)?.strip_prefix(':')?;
        Some(rest.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let mut values = Vec::new();
    for value in message.lines().filter_map(value) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

/// Returns the commits that a message says it reverts, in the form of `git revert`.
pub(super) fn reverts(message: &str) -> Vec<&str> {
    let said = message.split("This reverts commit ").skip(1);
    said.filter_map(|rest| rest.split(|c: char| !c.is_ascii_hexdigit()).next())
        .filter(|hex| hex.len() >= 40)
        .collect()
}

/// Returns text of a user without lines that could be taken for trailers of ours.
pub(super) fn without_trailers(text: &str) -> String {
    let line = |line: &str| {
        if line.trim_start().starts_with("Colony-") { format!("> {line}") } else { line.to_owned() }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_valid_ids() {
        for title in ["Use SQLite, not files!", "  ", "../../etc", "Füße", &"x y".repeat(99)] {
            let slug = slug(title);
            assert!(check_id(&slug).is_ok(), "{slug}");
        }
        assert_eq!(slug("Use SQLite, not files!"), "use-sqlite-not-files");
    }

    #[test]
    fn ids_are_one_harmless_component() {
        for bad in ["", ".", "..", ".git", "-x", "a/b", "a\nb", "a b", "x.", &"x".repeat(101)] {
            assert!(check_id(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn every_shape_is_read_and_written_back() {
        let path = RepoPath::from("design/decisions/d.json");
        let object = br#"{"title": "t"}"#;
        let list = br#"[{"decision_id": "a"}, {"decision_id": "b", "x": 1}]"#;
        let by_id = br#"{"a": {"title": "t"}, "b": {"decision_id": "c"}}"#;
        let ids = |bytes: &[u8]| read(&path, bytes).unwrap().into_keys().collect::<Vec<_>>();
        assert_eq!(ids(object), ["d"]);
        assert_eq!(ids(list), ["a", "b"]);
        assert_eq!(ids(by_id), ["a", "c"]);
        let new = json!({"decision_id": "a", "title": "new"});
        let written = write(Some(list), "a", new.as_object().unwrap().clone()).unwrap();
        assert_eq!(read(&path, &written).unwrap()["a"].text("title").unwrap(), "new");
        assert_eq!(ids(&written), ["a", "b"]);
        for bad in
            [&b"{"[..], b"7", b"[7]", b"[{}]", b"[{\"decision_id\":\"a\"},{\"decision_id\":\"a\"}]"]
        {
            assert!(read(&path, bad).is_err());
        }
    }

    #[test]
    fn trailers_are_found_after_a_squash_too() {
        let message =
            "two\n\n* one\n\nColony-Decision: a\n\n    Colony-Decision: b\nColony-Decision:\n";
        assert_eq!(trailers(message, TRAILER), ["a", "b"]);
        let harmless = without_trailers("why\nColony-Decision: forged");
        assert!(trailers(&harmless, TRAILER).is_empty());
    }
}
