//! Any value as lines: texts as they are, lists of objects as tables with tabs, other members one a line.
//!
//! A cell or an item is one line whatever is in it, so that content cannot begin a line of its own, except in a text
//! that is shown as a text.

use serde_json::{Map, Value};

use crate::model::escape;

/// A cell of a table has at most this many bytes; objects with more are shown one by one.
const MAX_CELL_BYTES: usize = 240;

/// The length of an id of git.
const ID_BYTES: usize = 40;

/// How much of an id is shown in a line.
const SHOWN_ID_BYTES: usize = 12;

/// Returns `true` for a value that has nothing to show.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns a value without the members of objects that have nothing to show, and its texts as `shown` has them.
pub(super) fn without_nothing(value: &Value, shown: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => shown(text).into(),
        Value::Array(items) => items.iter().map(|item| without_nothing(item, shown)).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !is_empty(value));
            members.map(|(name, value)| (shown(name), without_nothing(value, shown))).collect()
        }
        other => other.clone(),
    }
}

/// Returns the lines of a member.
pub(super) fn of_member(value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    match value {
        Value::String(text) => lines.extend(text.lines().map(str::to_owned)),
        Value::Array(items) => of_list(items, "", &mut lines),
        Value::Object(members) => of_object(members, "", &mut lines),
        other => lines.push(cell(other)),
    }
    lines
}

/// Returns a value as one line without tabs; ids of git are short, as git shows them.
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => escape::line(&abbreviated(text)),
        other => escape::line(&without_nothing(other, &abbreviated).to_string()),
    }
}

/// Returns the first part of an id of git, which names it as well; other texts as they are.
fn abbreviated(text: &str) -> String {
    let is_id = text.len() == ID_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.get(..SHOWN_ID_BYTES).filter(|_| is_id).unwrap_or(text).to_owned()
}

fn of_object(members: &Map<String, Value>, indent: &str, lines: &mut Vec<String>) {
    for (name, value) in members.iter().filter(|(_, value)| !is_empty(value)) {
        of_named(name, value, indent, lines);
    }
}

fn of_named(name: &str, value: &Value, indent: &str, lines: &mut Vec<String>) {
    let name = escape::line(name);
    let inner = format!("{indent}  ");
    if fits_cell(value) {
        lines.push(format!("{indent}{name}: {}", cell(value)));
        return;
    }
    lines.push(format!("{indent}{name}:"));
    match value {
        Value::String(text) => lines.extend(text.lines().map(|line| format!("{inner}{line}"))),
        Value::Array(items) => of_list(items, &inner, lines),
        Value::Object(members) => of_object(members, &inner, lines),
        _ => {}
    }
}

fn of_list(items: &[Value], indent: &str, lines: &mut Vec<String>) {
    let objects: Option<Vec<_>> = items.iter().map(Value::as_object).collect();
    let Some(objects) = objects else {
        lines.extend(items.iter().map(|item| format!("{indent}{}", cell(item))));
        return;
    };
    let is_table = objects.iter().all(|object| object.values().all(fits_cell));
    if is_table && objects.len() > 1 {
        of_table(&objects, indent, lines);
        return;
    }
    for object in objects {
        let (short, long): (Vec<_>, Vec<_>) =
            object.iter().filter(|(_, value)| !is_empty(value)).partition(|(_, v)| fits_cell(v));
        lines.push(format!("{indent}- {}", pairs(short.into_iter())));
        for (name, value) in long {
            of_named(name, value, &format!("{indent}  "), lines);
        }
    }
}

/// Adds a table: what all rows share, the names of the columns, and a line a row.
fn of_table(objects: &[&Map<String, Value>], indent: &str, lines: &mut Vec<String>) {
    let Some(first) = objects.first() else { return };
    let mut names: Vec<&String> = Vec::new();
    for name in objects.iter().flat_map(|object| object.keys()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let value_of = |object: &Map<String, Value>, name: &str| object.get(name).map(cell);
    let has_some = |name: &&String| {
        objects.iter().any(|object| object.get(*name).is_some_and(|value| !is_empty(value)))
    };
    let is_shared = |name: &&String| {
        objects.iter().all(|object| value_of(object, name) == value_of(first, name))
    };
    let (shared, columns): (Vec<_>, Vec<_>) =
        names.into_iter().filter(has_some).partition(is_shared);
    if !shared.is_empty() {
        let shared = shared.into_iter().filter_map(|name| Some((name, first.get(name)?)));
        lines.push(format!("{indent}each: {}", pairs(shared)));
    }
    let header: Vec<_> = columns.iter().map(|name| escape::line(name)).collect();
    lines.push(format!("{indent}{}", header.join("\t")));
    for object in objects {
        let cells: Vec<_> =
            columns.iter().map(|name| value_of(object, name).unwrap_or_default()).collect();
        lines.push(format!("{indent}{}", cells.join("\t").trim_end()));
    }
}

/// Returns members as one line.
pub(super) fn pairs<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let pairs: Vec<_> =
        members.map(|(name, value)| format!("{}={}", escape::line(name), cell(value))).collect();
    pairs.join(" ")
}

fn fits_cell(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains('\n') && text.len() <= MAX_CELL_BYTES,
        Value::Array(_) | Value::Object(_) => cell(value).len() <= MAX_CELL_BYTES,
        _ => true,
    }
}
