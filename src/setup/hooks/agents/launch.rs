//! Programs of agents with our hooks and tools by their options, without a file: for those that we start ourselves.

use serde_json::{Value, json};

use crate::model::text::shell_word;

use super::agent::Agent;
use super::{entries, server};

/// Returns functions for the shell by which the programs that take our hooks or tools as options get them: those that
/// are called by name. Claude Code runs a hook once that a file has, too; what a user gives `opencode` stays as it is.
pub fn shell_functions() -> String {
    let claude = [
        option("--settings=", &entries::whole(Agent::ClaudeCode)),
        option("--mcp-config=", &server::whole(Agent::ClaudeCode)),
    ];
    let copilot = option("--additional-mcp-config=", &server::whole(Agent::ClaudeCode));
    let function = |program: &str, options: &str| {
        defined(program, &format!("command {program} {options} \"$@\""))
    };
    [
        function("claude", &claude.join(" ")),
        function("codex", &codex_options().join(" ")),
        function("copilot", &copilot),
        opencode(),
    ]
    .concat()
}

/// It takes a whole configuration from a variable, beside its files.
fn opencode() -> String {
    let server = json!({ "type": "local", "command": ["git-colony", "mcp"] });
    let whole = option("", &json!({ "mcp": { server::NAME: server } }));
    let name = "OPENCODE_CONFIG_CONTENT";
    defined("opencode", &format!("{name}=${{{name}:-{whole}}} command opencode \"$@\""))
}

/// Defines a function in place of a program, where the program can be found: a line may ask for it.
fn defined(program: &str, body: &str) -> String {
    format!("if command -v {program} >/dev/null 2>&1; then {program}() {{ {body}; }}; fi\n")
}

fn option(name: &str, value: &Value) -> String {
    shell_word(&format!("{name}{value}"))
}

fn codex_options() -> Vec<String> {
    let values = codex_values();
    let option = |(key, value): &(String, Value)| {
        format!("-c {}", shell_word(&format!("{key}={}", toml(value))))
    };
    values.iter().map(option).collect()
}

/// Returns our settings of Codex, by their keys.
fn codex_values() -> Vec<(String, Value)> {
    let (hooks, server) = (entries::whole(Agent::Codex), server::value(Agent::Codex));
    let below = |start: &str, members: &Value| {
        let members = members.as_object().cloned().unwrap_or_default().into_iter();
        members.map(|(key, value)| (format!("{start}.{key}"), value)).collect::<Vec<_>>()
    };
    let server = below(&format!("mcp_servers.{}", server::NAME), &server);
    [server, hooks.get("hooks").map(|hooks| below("hooks", hooks)).unwrap_or_default()].concat()
}

/// Returns a value as TOML has it in one line. Texts are as in JSON.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{key}={}", toml(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(toml).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::data_tree::toml_values;

    #[test]
    fn codex_reads_what_its_files_would_say() {
        let mut read = json!({});
        for (key, value) in codex_values() {
            // Our reader has no use for numbers.
            let text = format!("x={}", toml(&value)).replace("timeout=15", "timeout=\"15\"");
            read[&key] = toml_values::parse(&text).unwrap()["x"].clone();
            let wanted = value.to_string().replace("\"timeout\":15", "\"timeout\":\"15\"");
            assert_eq!(read[&key], serde_json::from_str::<Value>(&wanted).unwrap(), "{text}");
        }
        assert_eq!(read["mcp_servers.git-colony.command"], "git-colony");
        let hook = &read["hooks.PreToolUse"][0]["hooks"][0]["command"];
        assert!(hook.as_str().unwrap().starts_with("git colony hook codex "), "{read:#}");
    }
}
