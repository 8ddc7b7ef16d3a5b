//! The input of an agent's hook, untrusted, and its meaning: worth a checkpoint, a question, the end of a session.
//!
//! Versions differ in names and fields. Missing fields count as unset; malformed input counts as a stop
//! event. See `docs/agent-hooks.md`.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::model::id::SessionId;

use super::Agent;

/// The number of bytes that are read; no valid payload is longer.
pub const MAX_BYTES: u64 = 4 << 20;

/// The content of a payload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The session or conversation, if its id is valid.
    pub session: Option<SessionId>,
    /// The event, by the agent's name.
    pub event: Option<String>,
    /// The tool that is about to run.
    pub tool: Option<String>,
    /// The arguments of that tool.
    pub tool_input: Option<Map<String, Value>>,
    /// The directories that the agent may work in; the first that exists counts.
    pub directories: Vec<PathBuf>,
    /// What a notification is about.
    notification: Option<String>,
    /// The name of the worktree that the agent wants.
    pub worktree_name: Option<String>,
    /// The worktree that the agent wants to be removed.
    pub worktree_path: Option<PathBuf>,
    /// Whether Cursor sent it: it runs the hooks of Claude Code, too.
    from_cursor: bool,
}

/// An event of Claude Code whose answer is a worktree, or its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeEvent {
    /// A worktree is wanted; the answer is its path.
    Create,
    /// A worktree is not needed any more.
    Remove,
}

/// Tools of any agent that only read.
const LOOKING: &[&str] =
    &["Read", "Grep", "Glob", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "Task"];

/// Tools that ask the user.
const ASKING: &[&str] = &["AskUserQuestion"];

/// Notifications that are questions; before they had a type, there was only their text.
const QUESTIONS: &[&str] = &["permission_prompt", "elicitation_dialog"];
const QUESTION_WORDS: &str = "permission";

/// How Claude Code begins the names of the tools of our server.
const OWN_TOOLS: &str = "mcp__git-colony__";

impl Payload {
    /// Parses a payload; anything but a JSON object counts as empty.
    pub fn read(bytes: &[u8]) -> Payload {
        let Ok(Value::Object(fields)) = serde_json::from_slice(bytes) else {
            return Payload::default();
        };
        let text = |names: &[&str]| {
            let value = names.iter().find_map(|name| fields.get(*name)?.as_str());
            value.map(str::to_owned)
        };
        let session =
            text(&["session_id", "conversation_id", "thread_id", "thread-id", "sessionId"]);
        let roots = fields
            .get("workspace_roots")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let cwd = text(&["cwd", "working_directory"]);
        let worktree = text(&["worktree_path"]).map(PathBuf::from);
        // Versions differ in the name of the field.
        let named = || Some(worktree.as_ref()?.file_name()?.to_str()?.to_owned());
        let directories = cwd.as_deref().into_iter().chain(roots).map(PathBuf::from);
        Payload {
            session: session.as_deref().and_then(SessionId::parse),
            event: text(&["hook_event_name", "hookEventName", "event", "type"]),
            tool: text(&["tool_name", "toolName"]),
            tool_input: fields.get("tool_input").and_then(Value::as_object).cloned(),
            directories: directories.filter(|path| path.is_absolute()).take(8).collect(),
            notification: text(&["notification_type"]).or_else(|| text(&["message"])),
            worktree_name: text(&["name", "worktree_name"]).or_else(named),
            worktree_path: worktree.clone().filter(|path| path.is_absolute()),
            from_cursor: fields.contains_key("cursor_version")
                || fields.contains_key("workspace_roots"),
        }
    }

    /// Returns `true` if the state is worth a checkpoint now: not before a tool that only reads, nor
    /// before one of ours, nor at the start of a session, nor where the state is kept before the next change.
    pub fn is_worth_keeping(&self) -> bool {
        let tool = self.tool.as_deref();
        let looks = |tool: &str| {
            LOOKING.contains(&tool) || ASKING.contains(&tool) || tool.starts_with(OWN_TOOLS)
        };
        let only_tells = ["SessionStart", "Notification", "PostToolUse", "UserPromptSubmit"];
        !only_tells.iter().any(|event| self.is(event)) && !tool.is_some_and(looks)
    }

    /// Returns `true` if the agent asks its user: for a permission, or with a question.
    pub fn asks(&self) -> bool {
        let notification = self.notification.as_deref().unwrap_or_default();
        let is_question =
            QUESTIONS.contains(&notification) || notification.contains(QUESTION_WORDS);
        let tool = self.tool.as_deref().unwrap_or_default();
        (self.is("Notification") && is_question)
            || (self.is("PreToolUse") && ASKING.contains(&tool))
    }

    /// Returns `true` if the event tells nothing of what the agent does: a notification that asks nothing.
    pub fn tells_nothing(&self) -> bool {
        self.is("Notification") && !self.asks()
    }

    /// Returns `true` if a session starts or resumes.
    pub fn begins_session(&self) -> bool {
        self.is("SessionStart")
    }

    /// Returns `true` if a session has ended.
    pub fn ends_session(&self) -> bool {
        self.is("SessionEnd")
    }

    /// Returns `true` if a turn of the agent has ended.
    pub fn ends_turn(&self) -> bool {
        self.is("Stop") || self.is("agent-turn-complete")
    }

    /// Returns the event about a worktree; `None` for any other event, and for Cursor, which has none.
    pub fn worktree_event(&self, agent: Agent) -> Option<WorktreeEvent> {
        if agent != Agent::ClaudeCode || self.from_cursor {
            None
        } else if self.is("WorktreeCreate") {
            Some(WorktreeEvent::Create)
        } else if self.is("WorktreeRemove") {
            Some(WorktreeEvent::Remove)
        } else {
            None
        }
    }

    fn is(&self, name: &str) -> bool {
        let event = self.event.as_deref();
        event.is_some_and(|event| event.eq_ignore_ascii_case(name))
    }

    /// Returns the answer with which the agent continues as if there were no hook; a tool of ours gets the directory
    /// in which the agent works, since its server stands where the program was started.
    pub fn answer(&self, agent: Agent) -> String {
        let agent = if self.from_cursor { Agent::Cursor } else { agent };
        match self.moved_input().filter(|_| agent == Agent::ClaudeCode) {
            Some(input) => json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "updatedInput": input,
            }})
            .to_string(),
            None => answer(agent, self.event.as_deref()).to_owned(),
        }
    }

    /// Returns the arguments of a tool of ours with the directory, unless they have one.
    fn moved_input(&self) -> Option<Map<String, Value>> {
        let is_ours = self.tool.as_ref().is_some_and(|tool| tool.starts_with(OWN_TOOLS));
        let mut input = self.tool_input.clone().filter(|_| is_ours && self.is("PreToolUse"))?;
        let directory = self.directories.first()?.to_str()?;
        input.entry("directory").or_insert_with(|| directory.into());
        Some(input)
    }
}

/// Returns the answer to an event: an object that decides nothing.
///
/// Codex and Cursor treat no answer as a failed hook. We never answer an event before a tool with a
/// permission, not even Cursor's: only the user gives permissions, and `allow` may suppress the question.
pub(super) fn answer(agent: Agent, event: Option<&str>) -> &'static str {
    match (agent, event) {
        (Agent::Cursor, Some("beforeSubmitPrompt")) => "{\"continue\":true}",
        _ => "{}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ids_that_are_not_plain_are_ignored(id in any::<String>(), junk in any::<Vec<u8>>()) {
            let text = serde_json::json!({ "session_id": id, "cwd": 7, "tool_name": ["Read"] });
            let payload = Payload::read(text.to_string().as_bytes());
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
            prop_assert!(payload.session.is_none_or(|id| id.as_str().chars().all(plain)));
            prop_assert_eq!(payload.tool, None);
            prop_assert!(Payload::read(&junk).session.is_none());
        }
    }

    #[test]
    fn every_known_version_is_read() {
        let known = [
            (
                r#"{"session_id":"a-1","hook_event_name":"PreToolUse","tool_name":"Edit","cwd":"/x"}"#,
                ("a-1", "PreToolUse", "/x"),
            ),
            (
                r#"{"conversation_id":"b","hook_event_name":"stop","workspace_roots":["/y","/z"]}"#,
                ("b", "stop", "/y"),
            ),
            (
                r#"{"type":"agent-turn-complete","thread-id":"c","cwd":"/w","turn-id":"1"}"#,
                ("c", "agent-turn-complete", "/w"),
            ),
        ];
        for (text, (session, event, directory)) in known {
            let payload = Payload::read(text.as_bytes());
            assert_eq!(payload.session, SessionId::parse(session));
            assert_eq!(payload.event.as_deref(), Some(event));
            assert_eq!(payload.directories.first(), Some(&PathBuf::from(directory)));
            assert!(payload.is_worth_keeping());
        }
    }

    #[test]
    fn cursor_gets_its_own_answers_under_any_agent_name() {
        let text = r#"{"hook_event_name":"beforeSubmitPrompt","cursor_version":"2.5"}"#;
        let payload = Payload::read(text.as_bytes());
        assert_eq!(payload.answer(Agent::ClaudeCode), "{\"continue\":true}");
    }

    #[test]
    fn a_tool_of_ours_gets_the_directory_of_the_agent() {
        let answer = |tool: &str, input: &str| {
            let text = format!(
                r#"{{"hook_event_name":"PreToolUse","tool_name":"{tool}","tool_input":{input},"cwd":"/x"}}"#
            );
            Payload::read(text.as_bytes()).answer(Agent::ClaudeCode)
        };
        assert_eq!(
            answer("mcp__git-colony__undo", r#"{"steps":2}"#),
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"steps":2,"directory":"/x"}}}"#
        );
        let own = answer("mcp__git-colony__undo", r#"{"directory":"/y"}"#);
        assert!(own.contains(r#""directory":"/y""#), "{own}");
        assert_eq!(answer("mcp__other__undo", "{}"), "{}");
        assert_eq!(answer("mcp__git-colony__undo", "[]"), "{}");
        assert_eq!(answer("Edit", "{}"), "{}");
    }

    #[test]
    fn no_answer_gives_a_permission() {
        for event in [
            "preToolUse",
            "PreToolUse",
            "beforeShellExecution",
            "beforeMCPExecution",
            "beforeReadFile",
            "PermissionRequest",
        ] {
            for agent in Agent::ALL {
                for version in ["", ",\"cursor_version\":\"2.5\""] {
                    let text = format!("{{\"hook_event_name\":\"{event}\"{version}}}");
                    let payload = Payload::read(text.as_bytes());
                    assert_eq!(payload.answer(agent), "{}", "{event} {version}");
                }
            }
        }
    }
}
