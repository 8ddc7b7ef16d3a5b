//! The entry of our MCP server in the configuration of each agent: JSON, and for Codex TOML.
//!
//! An entry of our name with any other content belongs to the user: it is neither changed nor removed.

use std::path::Path;

use serde_json::{Value, json};

use crate::setup::json_text::{self, Edit as _};
use crate::store::data_tree::Node;
use crate::store::data_tree::toml_values;

use super::agent::Agent;

/// The name of the entry.
pub(super) const NAME: &str = "git-colony";

/// The key of the servers in JSON, and that in TOML.
const JSON_KEY: &str = "mcpServers";
const TOML_KEY: &str = "mcp_servers";

/// Our lines in TOML.
const TABLE: &str = "[mcp_servers.git-colony]\ncommand = \"git-colony\"\nargs = [\"mcp\"]\n";

/// The entry of our name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerEntry {
    /// There is none.
    Absent,
    /// It is the one that we write.
    Ours,
    /// It has another content, and starts our server with other options.
    Changed,
    /// It starts something else.
    Foreign,
}

/// Returns our entry as a value. Cursor starts servers in any directory and names the right one.
pub(super) fn value(agent: Agent) -> Value {
    let args = match agent {
        Agent::Cursor => json!(["-C", "${workspaceFolder}", "mcp"]),
        Agent::ClaudeCode | Agent::Codex => json!(["mcp"]),
    };
    json!({ "command": "git-colony", "args": args })
}

/// Returns the configuration with only our entry: a value of JSON, or the lines of TOML as a text.
pub(super) fn whole(agent: Agent) -> Value {
    match agent {
        Agent::Codex => Value::from(TABLE),
        Agent::ClaudeCode | Agent::Cursor => json!({ JSON_KEY: { NAME: value(agent) } }),
    }
}

/// Finds the entry of our name.
pub(super) fn find(agent: Agent, text: Option<&str>) -> Result<ServerEntry, String> {
    let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
        return Ok(ServerEntry::Absent);
    };
    let entry = match agent {
        Agent::Codex => {
            let root = toml_values::parse(text).map_err(|e| format!("it is not TOML: {e}"))?;
            let servers = root.get(TOML_KEY);
            if servers.is_some_and(|servers| !servers.is_object()) {
                return Err(format!("its '{TOML_KEY}' is not a table"));
            }
            let server = servers.and_then(|servers| servers.get(NAME)).cloned();
            // Other lines of the same meaning were written by the user.
            server.map(|server| (server, block(text).is_some()))
        }
        Agent::ClaudeCode | Agent::Cursor => {
            let root = parse(text)?;
            let entry = root.member(JSON_KEY).and_then(|node| node.member(NAME));
            let json_value = entry.map(|node| {
                let json = text.get(node.span.clone()).unwrap_or_default();
                serde_json::from_str(json).unwrap_or_default()
            });
            json_value.map(|json_value| (json_value, true))
        }
    };
    Ok(match entry {
        None => ServerEntry::Absent,
        Some((entry, true)) if entry == value(agent) => ServerEntry::Ours,
        Some((entry, _)) if is_our_server(&entry) => ServerEntry::Changed,
        Some(_) => ServerEntry::Foreign,
    })
}

/// Returns `true` if an entry starts our server.
fn is_our_server(entry: &Value) -> bool {
    let program = entry["command"].as_str().map(Path::new);
    let is_ours = program.and_then(Path::file_name) == Some(NAME.as_ref());
    let mut args = entry["args"].as_array().into_iter().flatten();
    is_ours
        && args.any(|arg| arg == "mcp")
        && entry["disabled"] != true
        && entry["enabled"] != false
}

/// Adds our entry to the text, unless one of our name exists.
pub(super) fn put_in(agent: Agent, text: Option<&str>) -> Result<String, String> {
    let before = text.unwrap_or_default();
    if find(agent, text)? != ServerEntry::Absent {
        return Ok(before.to_owned());
    }
    if agent == Agent::Codex {
        return with_table(before);
    }
    if before.trim().is_empty() {
        let whole = serde_json::to_string_pretty(&whole(agent)).map_err(|e| e.to_string())?;
        return Ok(format!("{whole}\n"));
    }
    let root = parse(before)?;
    Ok(match root.member(JSON_KEY) {
        None => root.with(before, Some(JSON_KEY), &json!({ NAME: value(agent) })),
        Some(servers) => servers.with(before, Some(NAME), &value(agent)),
    })
}

/// Adds our table as the last lines.
fn with_table(before: &str) -> Result<String, String> {
    let newline = newline_of(before);
    let gap = match before {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let after = format!("{before}{gap}{}", TABLE.replace('\n', newline));
    match find(Agent::Codex, Some(&after)) {
        Ok(ServerEntry::Ours) => Ok(after),
        _ => Err(format!("its '{TOML_KEY}' takes no further table")),
    }
}

/// Removes our entry from the text; any other stays.
pub(super) fn take_out(agent: Agent, text: &str) -> Result<String, String> {
    if find(agent, Some(text))? != ServerEntry::Ours {
        return Ok(text.to_owned());
    }
    if agent == Agent::Codex {
        return without_table(text);
    }
    let root = parse(text)?;
    let servers = root.member(JSON_KEY);
    let is_alone = servers.and_then(Node::members).is_some_and(|all| all.len() == 1);
    let (parent, key) = match servers {
        Some(servers) if !is_alone => (servers, NAME),
        _ => (&root, JSON_KEY),
    };
    let members = parent.members().unwrap_or_default();
    let at = members.iter().rposition(|member| member.key == key);
    Ok(at.map_or_else(|| text.to_owned(), |at| parent.without(text, at)))
}

/// Removes our table and the empty line before it.
fn without_table(text: &str) -> Result<String, String> {
    let (before, after) = block(text).unwrap_or((text, ""));
    let kept = before.strip_suffix(newline_of(text));
    let before = kept.filter(|kept| kept.ends_with('\n')).unwrap_or(before);
    let rest = format!("{before}{after}");
    match find(Agent::Codex, Some(&rest)) {
        Ok(ServerEntry::Absent) => Ok(rest),
        _ => Err("our lines cannot be removed from it".to_owned()),
    }
}

/// Returns the text before our lines and that after them.
fn block(text: &str) -> Option<(&str, &str)> {
    let lines = TABLE.replace('\n', newline_of(text));
    let parts = text.split_once(&lines)?;
    let starts_line = parts.0.is_empty() || parts.0.ends_with('\n');
    starts_line.then_some(parts)
}

fn newline_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn parse(text: &str) -> Result<Node, String> {
    let node = json_text::parse(text).map_err(|e| format!("it is not JSON: {e}"))?;
    if node.members().is_none() {
        return Err("it is not an object".to_owned());
    }
    let servers = node.member(JSON_KEY);
    if servers.is_some_and(|servers| servers.members().is_none()) {
        return Err(format!("its '{JSON_KEY}' is not an object"));
    }
    Ok(node)
}

/// Returns `true` if a text has nothing that the user has added.
pub(super) fn is_bare(agent: Agent, text: &str) -> bool {
    let is_empty = text.trim().is_empty();
    if agent == Agent::Codex {
        return is_empty;
    }
    let root = parse(text).ok();
    is_empty || root.is_some_and(|root| root.members().unwrap_or_default().is_empty())
}
