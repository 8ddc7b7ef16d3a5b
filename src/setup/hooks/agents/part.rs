//! The two files of an agent that have entries of ours: that with its hooks, and that with its MCP servers.

use std::path::PathBuf;

use serde_json::Value;

use crate::git::Repo;
use crate::model::{Code, Error};
use crate::store::files::places::HookPlaces;

use super::agent::Agent;
use super::file::AgentFile;
use super::server::ServerEntry;
use super::{entries, server};

/// One of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// That with the hooks.
    Hooks(Agent),
    /// That with the MCP servers.
    Server(Agent),
}

impl Part {
    /// Returns both, in the order in which they are written.
    pub(super) fn all(agent: Agent) -> [Part; 2] {
        [Part::Hooks(agent), Part::Server(agent)]
    }

    /// Returns the file.
    pub(super) fn file(self, repo: &Repo) -> AgentFile<'_> {
        AgentFile::at(repo, self.path())
    }

    /// Returns the path of the file, from the root of the working tree.
    pub(super) fn path(self) -> &'static str {
        match self {
            Part::Hooks(agent) => agent.hooks_file(),
            Part::Server(agent) => agent.servers_file(),
        }
    }

    /// Returns the path of the record of the state before we changed it.
    pub(super) fn record(self, repo: &Repo) -> PathBuf {
        let places = HookPlaces::of(repo);
        match self {
            Part::Hooks(agent) => places.agent_record(agent.as_str()),
            Part::Server(agent) => places.agent_server_record(agent.as_str()),
        }
    }

    /// Adds our entries to the text; existing ones stay as they are.
    pub(super) fn put_in(self, text: Option<&str>) -> Result<String, String> {
        match self {
            Part::Hooks(agent) => entries::put_in(agent, text),
            Part::Server(agent) => server::put_in(agent, text),
        }
    }

    /// Returns `true` if the text has an entry of ours.
    pub(super) fn is_in(self, text: Option<&str>) -> bool {
        match self {
            Part::Hooks(agent) => {
                entries::events_of_ours(agent, text).is_ok_and(|names| !names.is_empty())
            }
            Part::Server(agent) => server::find(agent, text) == Ok(ServerEntry::Ours),
        }
    }

    /// Removes our entries from the text.
    pub(super) fn take_out(self, text: &str) -> Result<String, String> {
        match self {
            Part::Hooks(agent) => entries::take_out(agent, text),
            Part::Server(agent) => server::take_out(agent, text),
        }
    }

    /// Returns `true` if a text has nothing that the user has added.
    pub(super) fn is_bare(self, text: &str) -> bool {
        match self {
            Part::Hooks(agent) => entries::is_bare(agent, text),
            Part::Server(agent) => server::is_bare(agent, text),
        }
    }

    /// Returns `true` if a text that cannot be edited may have an entry of ours.
    pub(super) fn is_named_in(self, text: &str) -> bool {
        match self {
            Part::Hooks(_) => text.contains("git colony hook"),
            Part::Server(_) => text.contains(server::NAME),
        }
    }

    /// Returns the entries of the user that have the place of ours, as text.
    pub(super) fn in_the_way(self, text: Option<&str>) -> Vec<String> {
        let path = self.path();
        match self {
            Part::Hooks(agent) => entries::in_the_way(agent, text)
                .iter()
                .map(|event| format!("the hook {event} in '{path}', which is not ours"))
                .collect(),
            Part::Server(agent) => match server::find(agent, text) {
                Ok(ServerEntry::Changed | ServerEntry::Foreign) => {
                    let name = server::NAME;
                    vec![format!("the server '{name}' in '{path}', with another content than ours")]
                }
                _ => Vec::new(),
            },
        }
    }

    /// Returns the refusal to edit the file, with the lines to add by hand.
    pub(super) fn refuse(self, why: &str) -> Error {
        let path = self.path();
        let by_hand = match self {
            Part::Hooks(agent) => entries::whole(agent),
            Part::Server(agent) => server::whole(agent),
        };
        let lines = match &by_hand {
            Value::String(lines) => lines.trim_end().replace('\n', "; "),
            json => json.to_string(),
        };
        Error::new(Code::AgentConfigRefused, format!("cannot edit '{path}': {why}"))
            .detail("path", path)
            .detail("by_hand", by_hand)
            .hint(format!("edit it by hand, it needs: {lines}"))
    }
}
