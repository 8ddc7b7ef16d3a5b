//! Our entries in the configuration of each agent: their form, and how they are added and removed.
//!
//! An event that makes a checkpoint is named in `hooks::payload`, too.

use serde_json::{Value, json};

use crate::setup::json_text::{self, Edit as _};
use crate::store::data_tree::Node;

use super::agent::Agent;

/// One event that an agent has a hook for.
pub(super) struct Event {
    /// The agent's name for it.
    pub(super) name: &'static str,
    /// The name under which its runs are recorded.
    pub(super) fired: &'static str,
    /// The tools or notifications it is for, in the agent's pattern language.
    matcher: Option<&'static str>,
}

/// The events of Claude Code by which it has a worktree created and removed, and the limit of their runs in
/// seconds: a clone may have large files to fetch, and commands to run.
const WORKTREES: [&str; 2] = ["WorktreeCreate", "WorktreeRemove"];
const WORKTREE_TIMEOUT: u32 = 600;

impl Event {
    /// Returns `true` if it creates or removes a worktree. The answer counts there: without git-colony it is a
    /// failure, and with two hooks there would be two worktrees.
    pub(super) fn is_of_worktrees(&self) -> bool {
        WORKTREES.contains(&self.name)
    }
}

/// The name under which it is recorded that Claude Code asks its user something.
pub(super) const ASKS: &str = "claude-code.asks";

const CLAUDE_CODE: &[Event] = &[
    Event { name: "SessionStart", fired: "claude-code.session-start", matcher: None },
    Event {
        name: "PreToolUse",
        fired: "claude-code.before-tool",
        // The last ones are the tools of our server, which get the directory in which the agent works. A question to
        // the user is a tool, too, and in some versions has no other event.
        matcher: Some("Edit|MultiEdit|Write|NotebookEdit|Bash|AskUserQuestion|mcp__git-colony__.*"),
    },
    Event {
        name: "Notification",
        fired: ASKS,
        matcher: Some("permission_prompt|elicitation_dialog"),
    },
    // By these two a question is known to be answered, whichever tool it was about.
    Event { name: "PostToolUse", fired: "claude-code.after-tool", matcher: None },
    Event { name: "UserPromptSubmit", fired: "claude-code.before-turn", matcher: None },
    Event { name: "WorktreeCreate", fired: "claude-code.worktree-create", matcher: None },
    Event { name: "WorktreeRemove", fired: "claude-code.worktree-remove", matcher: None },
    Event { name: "SessionEnd", fired: "claude-code.session-end", matcher: None },
    Event { name: "Stop", fired: "claude-code.stop", matcher: None },
];

const CODEX: &[Event] = &[
    Event {
        name: "PreToolUse",
        fired: "codex.before-tool",
        matcher: Some("Bash|apply_patch|Edit|Write"),
    },
    Event { name: "Stop", fired: "codex.stop", matcher: None },
];

/// Cursor's events before a tool are gates: an answer is a permission, and no answer a refusal. So the state
/// is kept before the turn and after each change instead, which are the same states.
const CURSOR: &[Event] = &[
    Event { name: "beforeSubmitPrompt", fired: "cursor.before-turn", matcher: None },
    Event { name: "afterFileEdit", fired: "cursor.after-edit", matcher: None },
    Event { name: "afterShellExecution", fired: "cursor.after-shell", matcher: None },
    Event { name: "stop", fired: "cursor.stop", matcher: None },
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

/// Returns the command; where git-colony is missing, it prints the answer itself, or fails where only a failure
/// is an answer.
fn command(agent: Agent, event: &Event) -> String {
    if event.is_of_worktrees() {
        return call(agent);
    }
    let answer = crate::setup::hooks::payload::answer(agent, Some(event.name));
    format!("{} 2>/dev/null || echo '{answer}'", call(agent))
}

fn entry(agent: Agent, event: &Event) -> Value {
    let command = command(agent, event);
    if agent == Agent::Cursor {
        return json!({ "command": command });
    }
    let timeout = if event.is_of_worktrees() { WORKTREE_TIMEOUT } else { 15 };
    let hooks = json!([{ "type": "command", "command": command, "timeout": timeout }]);
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
    let present = events_of_ours(agent, Some(text))?;
    let is_taken = !in_the_way(agent, Some(text)).is_empty();
    let mut text = text.to_owned();
    if agent == Agent::Cursor && parse(&text)?.member("version").is_none() {
        text = parse(&text)?.with(&text, Some("version"), &json!(1));
    }
    for event in events(agent) {
        if present.contains(&event.name) || (is_taken && event.is_of_worktrees()) {
            continue;
        }
        let root = parse(&text)?;
        text = match root.member("hooks") {
            None => root.with(&text, Some("hooks"), &json!({ event.name: [entry(agent, event)] })),
            Some(hooks) => match hooks.member(event.name) {
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
    let Some(hooks) = root.member("hooks") else {
        return Ok(None);
    };
    let position = |node: &Node, key: &str| {
        let members = node.members().unwrap_or_default();
        members.iter().rposition(|member| member.key == key)
    };
    for member in hooks.members().unwrap_or_default() {
        let list = member.value.items().unwrap_or_default();
        for (index, element) in list.iter().enumerate() {
            if let Some(less) = less_of(agent, text, &element.value) {
                if !less.is_empty() {
                    return Ok(Some(less));
                }
                if list.len() > 1 {
                    return Ok(Some(member.value.without(text, index)));
                }
                let only = hooks.members().is_some_and(|members| members.len() == 1);
                let (parent, key) =
                    if only { (&root, "hooks") } else { (hooks, member.key.as_str()) };
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
    let inner = element.member("hooks")?;
    let list = inner.items()?;
    let index = list.iter().position(|hook| is_ours(agent, &hook.value))?;
    Some(if list.len() == 1 { String::new() } else { inner.without(text, index) })
}

fn is_ours(agent: Agent, hook: &Node) -> bool {
    let command = hook.member("command").and_then(json_text::text_of);
    command.is_some_and(|command| command.trim_start().starts_with(&call(agent)))
}

/// Returns the events that have an entry of ours.
pub(super) fn events_of_ours(
    agent: Agent,
    text: Option<&str>,
) -> Result<Vec<&'static str>, String> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(Vec::new());
    };
    let root = parse(text)?;
    let Some(hooks) = root.member("hooks") else {
        return Ok(Vec::new());
    };
    if hooks.members().is_none() {
        return Err("its 'hooks' is not an object".to_owned());
    }
    let mut names = Vec::new();
    for event in events(agent) {
        let Some(list) = hooks.member(event.name) else {
            continue;
        };
        let Some(elements) = list.items() else {
            return Err(format!("its '{}' is not a list", event.name));
        };
        if elements.iter().any(|element| has_ours(agent, &element.value)) {
            names.push(event.name);
        }
    }
    Ok(names)
}

fn has_ours(agent: Agent, element: &Node) -> bool {
    let mut inner = element.member("hooks").and_then(Node::items).unwrap_or_default().iter();
    is_ours(agent, element) || inner.any(|hook| is_ours(agent, &hook.value))
}

/// Returns the events about worktrees for which the user has a hook: ours would make a second worktree.
pub(super) fn in_the_way(agent: Agent, text: Option<&str>) -> Vec<&'static str> {
    let root = text.and_then(|text| parse(text).ok());
    let hooks = root.as_ref().and_then(|root| root.member("hooks"));
    let is_foreign = |event: &&Event| {
        let mut list = hooks
            .and_then(|hooks| hooks.member(event.name))
            .and_then(Node::items)
            .unwrap_or_default()
            .iter();
        event.is_of_worktrees() && list.any(|element| !has_ours(agent, &element.value))
    };
    let foreign = events(agent).iter().filter(is_foreign);
    foreign.map(|event| event.name).collect()
}

fn parse(text: &str) -> Result<Node, String> {
    let node = json_text::parse(text).map_err(|e| format!("it is not JSON: {e}"))?;
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
