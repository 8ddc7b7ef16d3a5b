//! The tools: one for each action that is offered, and one for the rest of a long answer.

use std::sync::Arc;

use clap::Command;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::cli::actions::{self, ACTIONS, Action, Effect};

use super::Options;
use super::previews::PREVIEW_ID;

/// The tool that tells the rest of an answer.
pub(super) const CONTINUE: &str = "continue_answer";

/// Returns `true` if the action is offered.
pub(super) fn is_offered(action: &Action, options: &Options) -> bool {
    let in_group = options.only.is_empty() || options.only.contains(&action.group);
    let is_allowed = action.effect != Effect::Runs || options.cargo;
    in_group && is_allowed && (action.effect == Effect::Reads || !options.read_only)
}

/// Returns every tool that is offered.
pub(super) fn offered(grammar: &Command, options: &Options) -> Vec<Tool> {
    let offered = ACTIONS.iter().filter(|action| is_offered(action, options));
    let mut tools: Vec<Tool> = offered
        .map(|action| tool(grammar, action, options))
        .collect();
    tools.push(continue_tool());
    tools
}

fn tool(grammar: &Command, action: &Action, options: &Options) -> Tool {
    let mut schema = actions::input_schema(grammar, action);
    let is_previewed = action.effect.may_need_preview() && !options.trust;
    if is_previewed && let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let told = json!({ "type": "string", "description": "Of the preview that is to be done" });
        properties.insert(PREVIEW_ID.to_owned(), told);
    }
    let mut told = actions::description(grammar, action);
    if is_previewed {
        let when = match action.effect {
            Effect::DestroysWith(name) => format!("With '{name}' it answers"),
            Effect::PublishesUnlessNot(name, other) => {
                format!("Unless '{name}' is false, or with '{other}', it answers")
            }
            _ => "Answers".to_owned(),
        };
        told = format!("{told}. {when} with a preview first");
    }
    let reads = action.effect == Effect::Reads;
    let may_publish = matches!(
        action.effect,
        Effect::Publishes | Effect::PublishesUnlessNot(..)
    );
    let annotations = ToolAnnotations::with_title(title(action.name))
        .read_only(reads)
        .destructive(!reads && action.effect.may_need_preview())
        .open_world(may_publish);
    Tool::new(action.name, told, Arc::new(schema)).with_annotations(annotations)
}

fn continue_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "continuation": { "type": "string", "description": "As 'rest' has it" }
        },
        "required": ["continuation"],
        "additionalProperties": false,
    });
    let Value::Object(schema) = schema else {
        return Tool::default();
    };
    Tool::new(
        CONTINUE,
        "Tell the next part of an answer that was too long",
        Arc::new(schema),
    )
    .with_annotations(
        ToolAnnotations::with_title("Continue an answer")
            .read_only(true)
            .open_world(false),
    )
}

/// Returns a name as words.
fn title(name: &str) -> String {
    let mut words = name.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

/// Takes the id of a preview out of the arguments of an action that may have one; a value that is not an id is one
/// that nobody was given.
pub(super) fn take_preview(
    action: &Action,
    arguments: &mut Map<String, Value>,
    options: &Options,
) -> Option<String> {
    if !action.effect.may_need_preview() || options.trust {
        return None;
    }
    let id = arguments.remove(PREVIEW_ID)?;
    Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}
