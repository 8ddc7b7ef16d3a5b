//! The agent programs that `hooks install` sets up: their names and files. A new one is in `entries` and `server`, too.

/// An agent that can run hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Agent; 3] = [Agent::ClaudeCode, Agent::Codex, Agent::Cursor];

    /// Returns the name used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "claude-code",
            Agent::Codex => "codex",
            Agent::Cursor => "cursor",
        }
    }

    /// Finds an agent by that name.
    pub fn parse(text: &str) -> Option<Agent> {
        Agent::ALL.into_iter().find(|agent| agent.as_str() == text)
    }

    /// Returns the file with its hooks, from the root of the working tree: the personal one where the agent
    /// has one.
    pub(super) fn hooks_file(self) -> &'static str {
        match self {
            Agent::ClaudeCode => ".claude/settings.local.json",
            Agent::Codex => ".codex/hooks.json",
            Agent::Cursor => ".cursor/hooks.json",
        }
    }

    /// Returns the file with the MCP servers of the project, from the root of the working tree.
    pub(super) fn servers_file(self) -> &'static str {
        match self {
            Agent::ClaudeCode => ".mcp.json",
            Agent::Codex => ".codex/config.toml",
            Agent::Cursor => ".cursor/mcp.json",
        }
    }

    /// Returns the note about those files for the user.
    pub(super) fn note(self) -> &'static str {
        match self {
            Agent::ClaudeCode | Agent::Cursor => {
                "git ignores these files here, so they are in no commit; to share one: git add -f PATH"
            }
            Agent::Codex => {
                "Codex reads these files in projects that it trusts; git ignores them here, so they are in no \
                 commit; to share one: git add -f PATH"
            }
        }
    }
}
