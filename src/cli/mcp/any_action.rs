//! The tools by which every action can be found and called, so that few are listed: one for actions that only read, which
//! a client may allow at once, and one for all.

use std::sync::Arc;

use clap::Command;
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use crate::cli::actions::{self, ACTIONS, Action, Effect};
use crate::cli::served::previews::PREVIEW_ID;
use crate::model::text::{count, nearest};
use crate::model::{Code, Error, Result};

use super::Options;
use super::answer::AnswerText;
use super::call_place::DIRECTORY;
use super::tools::{self, hints};

/// The tool for actions that only read.
pub(super) const READ_ACTION: &str = "read_action";

/// The tool for every action.
pub(super) const CALL_ACTION: &str = "call_action";

/// What such a tool is asked for.
pub(super) enum Request {
    /// The actions with these words.
    List(String),
    /// An action with its arguments.
    Call(&'static Action, Map<String, Value>),
}

/// Returns the tools.
pub(super) fn tools(options: &Options) -> Vec<Tool> {
    let tool = |name: &'static str, description: &'static str, effect: Effect, preview: bool| {
        let properties = json!({
            "words": { "type": "string", "description": "List the actions with these words, or describe one" },
            "name": { "type": "string", "description": "The action to call" },
            "arguments": { "type": "string", "description": "Its arguments, a JSON object" },
            DIRECTORY: { "type": "string" },
        });
        let mut members = properties.as_object().cloned().unwrap_or_default();
        if preview {
            members.insert(PREVIEW_ID.to_owned(), json!({ "type": "string" }));
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), members.into());
        Tool::new(name, description, Arc::new(schema)).with_annotations(hints(effect))
    };
    let read = tool(
        READ_ACTION,
        "Find and call any other action that only reads: pages, decisions, agents, blackboards, knowledge, settings",
        Effect::Reads,
        false,
    );
    let call = tool(
        CALL_ACTION,
        "Find and call any other action: land, revert, tags, maps, ingest, sessions, sync, large files. Previews as usual",
        Effect::Destroys,
        !options.trust,
    );
    if options.read_only { vec![read] } else { vec![read, call] }
}

/// Reads the arguments of one of the tools.
pub(super) fn request(
    tool: &str,
    arguments: &Map<String, Value>,
    options: &Options,
) -> Result<Request> {
    require_known(tool, arguments)?;
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("name").is_empty() {
        if arguments.get("arguments").is_some_and(|value| !value.is_null()) {
            let message = format!("'{tool}' has 'arguments' and no 'name' of an action");
            return Err(Error::new(Code::Usage, message).unchanged());
        }
        return Ok(Request::List(text("words").to_owned()));
    }
    let action = find(text("name"), options)?;
    if tool == READ_ACTION && action.effect != Effect::Reads {
        let message = format!("'{}' may change something", action.name);
        let hint = format!("{CALL_ACTION} takes the same arguments");
        return Err(Error::new(Code::Usage, message).unchanged().hint(hint));
    }
    let mut given = own_arguments(action, arguments.get("arguments"))?;
    for name in [DIRECTORY, PREVIEW_ID] {
        if let Some(value) = arguments.get(name).filter(|value| !value.is_null()) {
            given.insert(name.to_owned(), value.clone());
        }
    }
    Ok(Request::Call(action, given))
}

/// Refuses a member that such a tool does not have, and one of another type: it would be a list of actions else, which
/// looks like a success.
fn require_known(tool: &str, arguments: &Map<String, Value>) -> Result<()> {
    const KNOWN: [&str; 5] = ["words", "name", "arguments", DIRECTORY, PREVIEW_ID];
    for (member, value) in arguments {
        if !KNOWN.contains(&member.as_str()) {
            let message =
                format!("'{member}' is not an argument of '{tool}': it takes {}", KNOWN.join(", "));
            return Err(Error::new(Code::Usage, message).unchanged());
        }
        if member != "arguments" && !value.is_string() && !value.is_null() {
            let message = format!("cannot take '{member}' of '{tool}': wanted a string");
            return Err(Error::new(Code::InvalidValue, message).unchanged());
        }
    }
    Ok(())
}

fn find(name: &str, options: &Options) -> Result<&'static Action> {
    let offered = || ACTIONS.iter().filter(|action| tools::is_offered(action, options));
    offered().find(|action| action.name == name).ok_or_else(|| {
        if actions::find(name).is_some() {
            let message = format!("this server does not offer '{name}'");
            let hint = "ask the user for a server without --read-only, or with --allow-cargo";
            return Error::new(Code::Usage, message).unchanged().hint(hint);
        }
        let like = nearest(name, offered().map(|action| action.name)).unwrap_or(name);
        Error::new(Code::Usage, format!("no action is called '{name}'"))
            .unchanged()
            .hint(format!("{READ_ACTION} {}", json!({ "words": like })))
    })
}

/// Returns the arguments of the action, which are a text that holds them, or themselves.
fn own_arguments(action: &Action, given: Option<&Value>) -> Result<Map<String, Value>> {
    let object = match given {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(members)) => Some(members.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Some(Map::new()),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(_) => None,
    };
    object.ok_or_else(|| {
        let message = format!("the arguments of '{}' are not a JSON object", action.name);
        Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint(format!("{READ_ACTION} {}", json!({ "words": action.name })))
    })
}

/// Lists the actions with some words, those with the most of them first; the one of that name is described.
pub(super) fn listed(grammar: &Command, words: &str, options: &Options) -> AnswerText {
    let offered = || ACTIONS.iter().filter(|action| tools::is_offered(action, options));
    if let Some(action) = offered().find(|action| action.name == words.trim()) {
        return AnswerText::of_lines(action.name, described(grammar, action));
    }
    let wanted: Vec<String> = words
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty())
        .collect();
    let rated = offered().map(|action| (rating(grammar, action, &wanted), action));
    let mut matching: Vec<_> =
        rated.filter(|(rating, _)| *rating > 0 || wanted.is_empty()).collect();
    matching.sort_by_key(|(rating, _)| std::cmp::Reverse(*rating));
    let message = match (wanted.is_empty(), matching.len()) {
        (true, number) => format!("{}; 'words' describes some", count(number, "action")),
        (false, 0) => format!(
            "no action has these words; without 'words' all {} are listed",
            offered().count()
        ),
        (false, number) => format!("{}, the likeliest first", count(number, "action")),
    };
    let line = |action: &Action| {
        if wanted.is_empty() {
            return action.name.to_owned();
        }
        let changes = if action.effect == Effect::Reads { "" } else { ", by call_action" };
        let names: Vec<_> = action.takes.iter().map(|takes| takes.name).collect();
        let description = actions::description(grammar, action);
        format!("{} {{{}}}{changes}: {description}", action.name, names.join(", "))
    };
    AnswerText::of_lines(&message, matching.iter().map(|(_, action)| line(action)).collect())
}

/// Counts the words of an action's name and description that are wanted; those of the name count twice.
fn rating(grammar: &Command, action: &Action, wanted: &[String]) -> usize {
    let description = actions::description(grammar, action).to_lowercase();
    let has = |text: &str, word: &String| {
        text.split(|c: char| !c.is_alphanumeric()).any(|own| own.starts_with(word.as_str()))
    };
    let of_word = |word: &String| {
        usize::from(has(&description, word)) + 2 * usize::from(has(action.name, word))
    };
    wanted.iter().map(of_word).sum()
}

/// Returns what an action is for, and a line for each argument.
fn described(grammar: &Command, action: &Action) -> Vec<String> {
    let schema = actions::input_schema(grammar, action);
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object).cloned();
    let line = |(name, schema): (String, Value)| {
        let text = |member: &str| schema.get(member).and_then(Value::as_str).unwrap_or_default();
        let needed = if required.contains(&name.as_str().into()) { ", required" } else { "" };
        let choices = schema.get("enum").map(|choices| format!(" {choices}")).unwrap_or_default();
        format!("{name} ({}{needed}){choices}: {}", text("type"), text("description"))
    };
    let arguments = properties.into_iter().flatten().map(line);
    std::iter::once(actions::description(grammar, action)).chain(arguments).collect()
}
