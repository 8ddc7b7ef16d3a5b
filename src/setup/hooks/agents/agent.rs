//! The agents whose hooks we know: their names, and where their configuration is.

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

    /// Returns the folder of its configuration, at the root of the working tree.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Agent::ClaudeCode => ".claude",
            Agent::Codex => ".codex",
            Agent::Cursor => ".cursor",
        }
    }

    /// Returns the file in it: the personal one where the agent has one.
    pub(super) fn file(self) -> &'static str {
        match self {
            Agent::ClaudeCode => "settings.local.json",
            Agent::Codex | Agent::Cursor => "hooks.json",
        }
    }

    /// Returns the note about that file for the user.
    pub(super) fn note(self) -> &'static str {
        match self {
            Agent::ClaudeCode => {
                "this file is personal, and a checkpoint includes it unless it is ignored: \
                 echo /.claude/settings.local.json >> \"$(git rev-parse --git-path info/exclude)\""
            }
            Agent::Codex => {
                "Codex has no personal file per repository: share this one, or leave it out of \
                 checkpoints: echo /.codex/hooks.json >> \"$(git rev-parse --git-path info/exclude)\""
            }
            Agent::Cursor => {
                "Cursor has no personal file per repository: share this one, or leave it out of \
                 checkpoints: echo /.cursor/hooks.json >> \"$(git rev-parse --git-path info/exclude)\""
            }
        }
    }
}
