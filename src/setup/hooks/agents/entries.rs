//! Our entries in the configuration of each agent: their form, and how they are added and removed.

use serde_json::{Value, json};

use crate::setup::json_text::Node;

use super::agent::Agent;

/// One event that an agent has a hook for.
pub(super) struct Event {
    /// The agent's name for it.
    pub(super) name: &'static str,
    /// The name under which its runs are recorded.
    pub(super) fired: &'static str,
    /// The tools it is for, in the agent's pattern language.
    matcher: Option<&'static str>,
}

const CLAUDE_CODE: &[Event] = &[
    Event {
        name: "SessionStart",
        fired: "claude-code.session-start",
        matcher: None,
    },
    Event {
        name: "PreToolUse",
        fired: "claude-code.before-tool",
        matcher: Some("Edit|MultiEdit|Write|NotebookEdit|Bash"),
    },
    Event {
        name: "SessionEnd",
        fired: "claude-code.session-end",
        matcher: None,
    },
    Event {
        name: "Stop",
        fired: "claude-code.stop",
        matcher: None,
    },
];

const CODEX: &[Event] = &[
    Event {
        name: "PreToolUse",
        fired: "codex.before-tool",
        matcher: Some("Bash|apply_patch|Edit|Write"),
    },
    Event {
        name: "Stop",
        fired: "codex.stop",
        matcher: None,
    },
];

/// Cursor's events before a tool are gates: an answer is a permission, and no answer a refusal. So the state
/// is kept before the turn and after each change instead, which are the same states.
const CURSOR: &[Event] = &[
    Event {
        name: "beforeSubmitPrompt",
        fired: "cursor.before-turn",
        matcher: None,
    },
    Event {
        name: "afterFileEdit",
        fired: "cursor.after-edit",
        matcher: None,
    },
    Event {
        name: "afterShellExecution",
        fired: "cursor.after-shell",
        matcher: None,
    },
    Event {
        name: "stop",
        fired: "cursor.stop",
        matcher: None,
    },
];

/// Returns the events of an agent; the last is the stop event.
pub(super) fn events(agent: Agent) -> &'static [Event] {
    match agent {
        Agent::ClaudeCode => CLAUDE_CODE,
        Agent::Codex => CODEX,
        Agent::Cursor => CURSOR,
    }
}

/// Returns the beginning of our commands.
fn call(agent: Agent) -> String {
    format!("git colony hook {}", agent.as_str())
}

/// Returns the command; where git-colony is missing, it prints the answer itself.
fn command(agent: Agent, event: &Event) -> String {
    let answer = crate::setup::hooks::payload::answer(agent, Some(event.name));
    format!("{} 2>/dev/null || echo '{answer}'", call(agent))
}

fn entry(agent: Agent, event: &Event) -> Value {
    let command = command(agent, event);
    if agent == Agent::Cursor {
        return json!({ "command": command });
    }
    let hooks = json!([{ "type": "command", "command": command, "timeout": 15 }]);
    match event.matcher {
        Some(matcher) => json!({ "matcher": matcher, "hooks": hooks }),
        None => json!({ "hooks": hooks }),
    }
}

/// Returns a configuration with only our entries.
pub(super) fn whole(agent: Agent) -> Value {
    let mut hooks = serde_json::Map::new();
    for event in events(agent) {
        hooks.insert(event.name.to_owned(), json!([entry(agent, event)]));
    }
    match agent {
        Agent::Cursor => json!({ "version": 1, "hooks": hooks }),
        Agent::ClaudeCode | Agent::Codex => json!({ "hooks": hooks }),
    }
}

/// Adds our entries to the text; existing ones stay as they are.
pub(super) fn put_in(agent: Agent, text: Option<&str>) -> Result<String, String> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        let whole = serde_json::to_string_pretty(&whole(agent)).map_err(|e| e.to_string())?;
        return Ok(format!("{whole}\n"));
    };
    let present = found(agent, Some(text))?;
    let mut text = text.to_owned();
    if agent == Agent::Cursor && parse(&text)?.get("version").is_none() {
        text = parse(&text)?.with(&text, Some("version"), &json!(1));
    }
    for event in events(agent) {
        if present.contains(&event.name) {
            continue;
        }
        let root = parse(&text)?;
        text = match root.get("hooks") {
            None => root.with(
                &text,
                Some("hooks"),
                &json!({ event.name: [entry(agent, event)] }),
            ),
            Some(hooks) => match hooks.get(event.name) {
                None => hooks.with(&text, Some(event.name), &json!([entry(agent, event)])),
                Some(list) => list.with(&text, None, &entry(agent, event)),
            },
        };
    }
    Ok(text)
}

/// Removes our entries from the text, and lists that this empties.
pub(super) fn take_out(agent: Agent, text: &str) -> Result<String, String> {
    let mut text = text.to_owned();
    while let Some(less) = take_one(agent, &text)? {
        text = less;
    }
    Ok(text)
}

fn take_one(agent: Agent, text: &str) -> Result<Option<String>, String> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let root = parse(text)?;
    let Some(hooks) = root.get("hooks") else {
        return Ok(None);
    };
    let position = |node: &Node, key: &str| {
        let members = node.members().unwrap_or_default();
        members.iter().rposition(|member| member.key == key)
    };
    for member in hooks.members().unwrap_or_default() {
        let list = member.value.elements().unwrap_or_default();
        for (index, element) in list.iter().enumerate() {
            if let Some(less) = less_of(agent, text, element) {
                if !less.is_empty() {
                    return Ok(Some(less));
                }
                if list.len() > 1 {
                    return Ok(Some(member.value.without(text, index)));
                }
                let only = hooks.members().is_some_and(|members| members.len() == 1);
                let (parent, key) = if only {
                    (&root, "hooks")
                } else {
                    (hooks, member.key.as_str())
                };
                return Ok(position(parent, key).map(|at| parent.without(text, at)));
            }
        }
    }
    Ok(None)
}

/// Removes our command from an element; returns an empty text if the element has nothing else.
fn less_of(agent: Agent, text: &str, element: &Node) -> Option<String> {
    if is_ours(agent, element) {
        return Some(String::new());
    }
    let inner = element.get("hooks")?;
    let list = inner.elements()?;
    let index = list.iter().position(|hook| is_ours(agent, hook))?;
    Some(if list.len() == 1 {
        String::new()
    } else {
        inner.without(text, index)
    })
}

fn is_ours(agent: Agent, hook: &Node) -> bool {
    let command = hook.get("command").and_then(Node::text);
    command.is_some_and(|command| command.trim_start().starts_with(&call(agent)))
}

/// Returns the events that have an entry of ours.
pub(super) fn found(agent: Agent, text: Option<&str>) -> Result<Vec<&'static str>, String> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(Vec::new());
    };
    let root = parse(text)?;
    let Some(hooks) = root.get("hooks") else {
        return Ok(Vec::new());
    };
    if hooks.members().is_none() {
        return Err("its 'hooks' is not an object".to_owned());
    }
    let mut names = Vec::new();
    for event in events(agent) {
        let Some(list) = hooks.get(event.name) else {
            continue;
        };
        let Some(elements) = list.elements() else {
            return Err(format!("its '{}' is not a list", event.name));
        };
        let ours = |element: &Node| {
            let inner = element
                .get("hooks")
                .and_then(Node::elements)
                .unwrap_or_default();
            is_ours(agent, element) || inner.iter().any(|hook| is_ours(agent, hook))
        };
        if elements.iter().any(ours) {
            names.push(event.name);
        }
    }
    Ok(names)
}

fn parse(text: &str) -> Result<Node, String> {
    let node = Node::parse(text).map_err(|e| format!("it is not JSON: {e}"))?;
    match node.members() {
        Some(_) => Ok(node),
        None => Err("it is not an object".to_owned()),
    }
}

/// Returns `true` if a text has nothing that the user has added.
pub(super) fn is_bare(agent: Agent, text: &str) -> bool {
    let Ok(root) = parse(text) else {
        return text.trim().is_empty();
    };
    let members = root.members().unwrap_or_default();
    let ours = |key: &str| agent == Agent::Cursor && key == "version";
    members.iter().all(|member| ours(&member.key))
}
