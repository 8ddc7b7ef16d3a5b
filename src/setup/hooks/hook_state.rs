//! The state of one hook.

use serde::Serialize;

/// The name of an MCP server's entry in the list of an agent's hooks.
pub const SERVER: &str = "mcp";

/// The state of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    /// Ours is missing.
    NotInstalled,
    /// Ours is the only one.
    Installed,
    /// Ours runs the earlier one.
    Chained,
    /// Another program has replaced ours.
    Replaced,
    /// Ours is not executable.
    Disabled,
    /// Ours was edited; it is left as it is.
    Edited,
    /// Some entries of ours are missing in the configuration of an agent.
    Partial,
    /// The configuration of an agent is malformed.
    Unreadable,
}

/// One hook.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct HookStatus {
    /// Its name, in git or in the agent; `mcp` for the entry of the MCP server.
    pub name: String,
    /// The program that runs it: `git`, `claude-code`, `codex` or `cursor`.
    #[serde(rename = "for")]
    pub target: &'static str,
    /// Its state.
    pub state: HookState,
    /// Whether ours runs; another program may run it, too.
    pub runs: bool,
    /// The file it is in.
    pub path: Option<String>,
    /// When it was last run, RFC 3339 UTC.
    pub last_fired_at: Option<String>,
}

impl HookStatus {
    /// Returns `true` for the entry of the MCP server.
    pub fn is_server(&self) -> bool {
        self.name == SERVER
    }
}
