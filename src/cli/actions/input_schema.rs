//! What an action takes and is for, as the grammar says it.

use std::any::TypeId;

use clap::builder::StyledStr;
use clap::{Arg, Command};
use serde_json::{Map, Number, Value, json};

use super::command_line::{argument, find, is_flag, is_list};
use super::{Action, How, Takes};

/// Returns the JSON Schema of the arguments of an action; `grammar` is built.
pub(in crate::cli) fn input_schema(grammar: &Command, action: &Action) -> Map<String, Value> {
    object(find(grammar, action.command), &action.takes)
}

/// Returns the purpose of an action, in the words of its command's help if none others are declared.
pub(in crate::cli) fn description(grammar: &Command, action: &Action) -> String {
    let own = action.about.map(str::to_owned);
    own.unwrap_or_else(|| text(find(grammar, action.command).get_about()))
}

fn object(command: &Command, all: &[Takes]) -> Map<String, Value> {
    let property = |takes: &Takes| {
        let mut schema = property(command, takes);
        let about = match takes.about {
            Some(about) => about.to_owned(),
            None => without_flags(command, all, schema.get("description")),
        };
        if about.is_empty() {
            schema.remove("description");
        } else {
            schema.insert("description".to_owned(), about.into());
        }
        (takes.name.to_owned(), Value::from(schema))
    };
    let properties: Map<String, Value> = all.iter().map(property).collect();
    let is_required = |takes: &&Takes| match takes.how {
        How::As(id) => takes.is_required || argument(command, id).is_required_set(),
        _ => takes.is_required,
    };
    let required: Vec<_> = all.iter().filter(is_required).map(|takes| takes.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// Returns a text in which the flags of the command have the names of their arguments.
pub(super) fn without_flags(command: &Command, all: &[Takes], text: Option<&Value>) -> String {
    let text = text.and_then(Value::as_str).unwrap_or_default().to_owned();
    all.iter().fold(text, |text, takes| match takes.how {
        How::As(id) | How::Text(id) | How::Number(id, _) => {
            match argument(command, id).get_long() {
                Some(long) => {
                    let name = format!("'{}'", takes.name);
                    let quoted = text.replace(&format!("'--{long}'"), &name);
                    quoted.replace(&format!("--{long}"), &name)
                }
                None => text,
            }
        }
        _ => text,
    })
}

fn property(command: &Command, takes: &Takes) -> Map<String, Value> {
    let help = |id: &str| text(argument(command, id).get_help());
    let schema = match takes.how {
        How::As(id) => return of_argument(argument(command, id)),
        How::Object(inner) => return object(command, inner),
        How::Text(id) => json!({ "type": "string", "description": help(id) }),
        How::Number(id, None) => {
            json!({ "type": "integer", "minimum": 0, "description": help(id) })
        }
        How::Number(id, Some(default)) => {
            json!({ "type": "integer", "minimum": 0, "default": default, "description": help(id) })
        }
        How::Not(id) => {
            json!({ "type": "boolean", "default": true, "description": format!("false: {}", help(id)) })
        }
        How::Either(yes, _) => {
            json!({ "type": "boolean", "default": true, "description": help(yes) })
        }
        How::Unless(id) => {
            json!({ "type": "boolean", "default": false, "description": format!("false: {}", help(id)) })
        }
        How::OrElse(other) => {
            json!({ "type": "boolean", "default": true, "description": format!("false: as 'git colony {other}' does") })
        }
        How::Instead(other) => {
            json!({ "type": "boolean", "default": false, "description": format!("As 'git colony {other}' does") })
        }
        How::Pairs(id) => {
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": once(&help(id)) })
        }
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn of_argument(argument: &Arg) -> Map<String, Value> {
    let mut schema = Map::new();
    if is_flag(argument) {
        schema.insert("type".to_owned(), "boolean".into());
    } else if is_list(argument) {
        schema.insert("type".to_owned(), "array".into());
        schema.insert("items".to_owned(), json!({ "type": "string" }));
    } else {
        schema.insert("type".to_owned(), type_of(argument).into());
        let values: Vec<_> = argument
            .get_possible_values()
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| value.get_name().to_owned())
            .collect();
        if !values.is_empty() {
            schema.insert("enum".to_owned(), values.into());
        }
        if let Some(default) =
            argument.get_default_values().first().and_then(|value| value.to_str())
            && !default.is_empty()
        {
            let number = default.parse::<Number>().ok().filter(|_| type_of(argument) != "string");
            let default = number.map_or_else(|| Value::from(default), Value::from);
            schema.insert("default".to_owned(), default);
        }
    }
    let help = text(argument.get_help());
    schema.insert("description".to_owned(), once(&help).into());
    schema
}

/// Leaves out that an option may be repeated: the type says that there may be several values.
fn once(help: &str) -> String {
    const REPEATED: [&str; 4] = [
        "; may be repeated",
        "; repeatable",
        "; may be given more than once",
        "; may be given several times",
    ];
    let without = |help: String, words: &&str| help.replace(words, "");
    REPEATED.iter().fold(help.to_owned(), without)
}

pub(super) fn type_of(argument: &Arg) -> &'static str {
    let type_id = argument.get_value_parser().type_id();
    if type_id == TypeId::of::<f64>() {
        return "number";
    }
    let integers = [
        TypeId::of::<i32>(),
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<usize>(),
    ];
    if integers.iter().any(|integer| type_id == *integer) { "integer" } else { "string" }
}

fn text(help: Option<&StyledStr>) -> String {
    help.map(ToString::to_string).unwrap_or_default()
}
