//! The tools: one for each action that is offered, and one for the rest of a long answer.

use std::sync::Arc;

use clap::Command;
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::cli::actions::{self, ACTIONS, Action, Effect, Reach};
use crate::cli::served::previews::PREVIEW_ID;

use super::any_action::{CALL_ACTION, READ_ACTION};
use super::call_place::DIRECTORY;
use super::{Options, ToolSet, any_action};

/// The actions that are tools of their own by default: what an agent does in an hour.
const CORE: [&str; 21] = [
    "get_repo_state",
    "find",
    "read",
    "history",
    "context",
    "checkpoint_state",
    "list_checkpoints",
    "restore_checkpoint",
    "undo",
    "commit_state",
    "diff_design",
    "diff_against_checkpoint",
    "fork_design",
    "merge_design",
    "decide",
    "fleet",
    "list_agents",
    "new_agent",
    "wait_events",
    "blackboard_put",
    "memory_add",
];

/// The tool that tells the rest of an answer.
pub(super) const CONTINUE: &str = "continue_answer";

/// Returns `true` if the action is offered.
pub(super) fn is_offered(action: &Action, options: &Options) -> bool {
    let in_group = options.only.is_empty() || options.only.contains(&action.group);
    let is_allowed = action.effect != Effect::Runs || options.cargo;
    in_group && is_allowed && (action.effect == Effect::Reads || !options.read_only)
}

/// Returns `true` if an action that is offered is a tool of its own. What only a flag allows is what the user wants.
pub(super) fn is_tool(action: &Action, options: &Options) -> bool {
    let is_core = CORE.contains(&action.name) || action.effect == Effect::Runs;
    is_core || options.tools == ToolSet::All || !options.only.is_empty()
}

/// Returns `true` if a tool stands for all actions.
pub(super) fn is_any_action(name: &str, options: &Options) -> bool {
    let is_offered = options.tools == ToolSet::Core && options.only.is_empty();
    let is_one = name == READ_ACTION || name == CALL_ACTION && !options.read_only;
    is_offered && is_one
}

/// Returns how a client of this server does an action.
pub(super) fn reach(action: &Action, options: &Options) -> Reach {
    match (is_offered(action, options), is_tool(action, options)) {
        (false, _) => Reach::None,
        (true, true) => Reach::Tool,
        (true, false) => Reach::ByName,
    }
}

/// Returns every tool that is offered, the usual ones first.
pub(super) fn offered(grammar: &Command, options: &Options) -> Vec<Tool> {
    let mut offered: Vec<_> = ACTIONS
        .iter()
        .filter(|action| is_offered(action, options) && is_tool(action, options))
        .collect();
    offered.sort_by_key(|action| {
        CORE.iter().position(|name| *name == action.name).unwrap_or(CORE.len())
    });
    let mut tools: Vec<Tool> =
        offered.into_iter().map(|action| tool(grammar, action, options)).collect();
    if is_any_action(READ_ACTION, options) {
        tools.extend(any_action::tools(options));
    }
    tools.push(continue_tool());
    tools
}

fn tool(grammar: &Command, action: &Action, options: &Options) -> Tool {
    let mut schema = actions::input_schema(grammar, action);
    // The server refuses an argument that it does not know, by its name.
    schema.remove("additionalProperties");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(simplify);
        // The instructions of the server say what it is for.
        properties.insert(DIRECTORY.to_owned(), json!({ "type": "string" }));
    }
    let is_previewed = action.effect.may_need_preview() && !options.trust;
    if is_previewed && let Some(Value::Object(properties)) = schema.get_mut("properties") {
        // The preview says what it is for.
        properties.insert(PREVIEW_ID.to_owned(), json!({ "type": "string" }));
    }
    let mut description = actions::description(grammar, action);
    if is_previewed {
        let when = match action.effect {
            Effect::DestroysWith(name) => format!("With '{name}' it answers"),
            Effect::PublishesUnlessNot(name, other) => {
                format!("Unless '{name}' is false, or with '{other}', it answers")
            }
            _ => "Answers".to_owned(),
        };
        description = format!("{description}. {when} with a preview first");
    }
    Tool::new(action.name, description, Arc::new(schema)).with_annotations(hints(action.effect))
}

/// Makes a schema one that every provider takes: some refuse objects with any members, and members that are objects.
fn simplify(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    let other = members.remove("additionalProperties");
    if other.is_some_and(|other| other.is_object()) {
        // The server takes a text that holds JSON for an object.
        members.insert("type".to_owned(), "string".into());
        let description = members.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = format!("{description} (a JSON object)");
        members.insert("description".to_owned(), description.trim_start().into());
    }
    if let Some(Value::Object(inner)) = members.get_mut("properties") {
        inner.values_mut().for_each(simplify);
    }
}

/// Returns what the protocol asks about an action, as far as it differs from the protocol's defaults: that a tool
/// changes things, may destroy some, and reaches a network.
pub(super) fn hints(effect: Effect) -> ToolAnnotations {
    let mut hints = ToolAnnotations::new();
    if effect == Effect::Reads {
        hints = hints.read_only(true);
    } else if !effect.may_need_preview() {
        hints = hints.destructive(false);
    }
    let may_publish = matches!(effect, Effect::Publishes | Effect::PublishesUnlessNot(..));
    if !may_publish {
        hints = hints.open_world(false);
    }
    hints
}

fn continue_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "continuation": { "type": "string", "description": "As 'rest' has it" }
        },
        "required": ["continuation"],
    });
    let Value::Object(schema) = schema else {
        return Tool::default();
    };
    Tool::new(CONTINUE, "Tell the next part of an answer that was too long", Arc::new(schema))
        .with_annotations(hints(Effect::Reads))
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
