//! How one hook stands.

use serde::Serialize;

/// How a hook stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookState {
    /// Nothing of ours is there.
    NotInstalled,
    /// Ours is there alone.
    Installed,
    /// Ours is there and runs the one that was there before.
    Chained,
    /// Something took the place of ours.
    Replaced,
    /// Ours is there and is not executable.
    Disabled,
    /// Ours is there with changes by somebody else; it is left as it is.
    Edited,
    /// Some entries of ours are missing in the configuration of an agent.
    Partial,
    /// The configuration of an agent does not parse.
    Unreadable,
}

/// One hook.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct HookStatus {
    /// Its name, as git or the agent calls it.
    pub name: String,
    /// Who runs it: `git`, `claude-code`, `codex` or `cursor`.
    #[serde(rename = "for")]
    pub target: &'static str,
    /// How it stands.
    pub state: HookState,
    /// Whether ours runs; a newcomer may run it, too.
    pub runs: bool,
    /// The file it stands in.
    pub path: Option<String>,
    /// When it last fired, RFC 3339 UTC.
    pub last_fired_at: Option<String>,
}
