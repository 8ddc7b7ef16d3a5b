//! The arguments of an action, held against the schema that is published for them.
//!
//! Models write numbers, lists and objects as texts at times: a text that holds JSON of the wanted type is taken for it,
//! and 2.0 for 2. Everything else is refused by what was wanted. Names that the schema does not have are refused later,
//! with those that it has.

use clap::Command;
use serde_json::{Map, Value};

use crate::model::{Code, Error, Result};

use super::{Action, input_schema};

/// The largest integer that a number with a fraction holds exactly.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The most characters of a refused value that are repeated.
const MAX_SHOWN: usize = 40;

/// A value that does not fit.
struct Misfit {
    /// The names on the way to it.
    path: String,
    wanted: String,
    value: Value,
}

/// Returns the arguments with the types of the published schema; `grammar` is built.
///
/// # Errors
/// `invalid-value` with what was wanted.
pub(in crate::cli) fn typed_arguments(
    grammar: &Command,
    action: &Action,
    arguments: &Map<String, Value>,
) -> Result<Map<String, Value>> {
    let schema = Value::Object(input_schema(grammar, action));
    let arguments = with_own_names(action, arguments)?;
    members(&schema, &arguments, "").map_err(|misfit| {
        let Misfit { path, wanted, value } = misfit;
        let text = value.to_string();
        let short: String = text.chars().take(MAX_SHOWN).collect();
        let end = if short.len() < text.len() { "..." } else { "" };
        let message = format!(
            "cannot take '{path}' of '{}': wanted {wanted}, found {short}{end}",
            action.name
        );
        Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint(format!("git colony call {} --schema", action.name))
    })
}

/// Returns the arguments by the names that are published for them.
fn with_own_names(action: &Action, arguments: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut named = arguments.clone();
    for takes in &action.takes {
        let Some((also, value)) = takes.also.and_then(|also| Some((also, named.remove(also)?)))
        else {
            continue;
        };
        if named.contains_key(takes.name) {
            let message = format!("'{}' and '{also}' are one argument: give one", takes.name);
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
        named.insert(takes.name.to_owned(), value);
    }
    Ok(named)
}

/// Returns the members of an object with their types. Null is nothing.
fn members(
    schema: &Value,
    members: &Map<String, Value>,
    path: &str,
) -> Result<Map<String, Value>, Misfit> {
    let of_member = |name: &str| {
        let own = schema.get("properties").and_then(|all| all.get(name));
        own.or_else(|| schema.get("additionalProperties").filter(|other| other.is_object()))
    };
    let typed = members.iter().map(|(name, value)| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let value = match of_member(name) {
            Some(schema) if !value.is_null() => typed(schema, value, &path)?,
            _ => value.clone(),
        };
        Ok((name.clone(), value))
    });
    typed.collect()
}

/// Returns a value with its type, which the text may hold that it is.
fn typed(schema: &Value, value: &Value, path: &str) -> Result<Value, Misfit> {
    let held = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    match (of_type(schema, value, path), held) {
        (Err(misfit), Some(held)) if type_of(schema) != "string" => {
            of_type(schema, &held, path).map_err(|_| misfit)
        }
        (typed, _) => typed,
    }
}

fn of_type(schema: &Value, value: &Value, path: &str) -> Result<Value, Misfit> {
    let misfit = || Misfit { path: path.to_owned(), wanted: wanted(schema), value: value.clone() };
    let typed = match (type_of(schema), value) {
        ("string", Value::String(text)) if is_choice(schema, text) => value.clone(),
        ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => value.clone(),
        ("integer", Value::Number(_)) => integer(schema, value).ok_or_else(misfit)?,
        ("array", Value::Array(items)) => {
            let items = items.iter().map(|item| match schema.get("items") {
                Some(schema) => typed(schema, item, path),
                None => Ok(item.clone()),
            });
            Value::Array(items.collect::<Result<_, _>>().map_err(|_: Misfit| misfit())?)
        }
        ("object", Value::Object(own)) => members(schema, own, path)?.into(),
        _ => return Err(misfit()),
    };
    Ok(typed)
}

/// Returns an integer that is not less than the schema has it.
fn integer(schema: &Value, value: &Value) -> Option<Value> {
    let whole = match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < MAX_EXACT => {
            format!("{number:.0}").parse::<i64>().ok().map(Value::from)
        }
        _ if value.is_f64() => None,
        _ => Some(value.clone()),
    }?;
    let minimum = schema.get("minimum").and_then(Value::as_i64);
    let is_less = minimum.is_some_and(|least| whole.as_i64().is_some_and(|own| own < least));
    Some(whole).filter(|_| !is_less)
}

fn is_choice(schema: &Value, text: &str) -> bool {
    let choices = schema.get("enum").and_then(Value::as_array);
    choices.is_none_or(|choices| choices.iter().any(|choice| choice == text))
}

fn type_of(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Returns what a schema wants, as text.
fn wanted(schema: &Value) -> String {
    let choices = schema.get("enum").and_then(Value::as_array);
    if let Some(choices) = choices {
        let names: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", names.join(", "));
    }
    match (type_of(schema), schema.get("minimum")) {
        ("integer", Some(least)) => format!("an integer of at least {least}"),
        ("integer", None) => "an integer".to_owned(),
        ("number", _) => "a number".to_owned(),
        ("boolean", _) => "true or false".to_owned(),
        ("array", _) => "an array of strings".to_owned(),
        ("object", _) => "an object".to_owned(),
        _ => "a string".to_owned(),
    }
}
