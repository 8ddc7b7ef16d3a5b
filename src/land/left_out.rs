//! The report of work that does not land, and why; `failing_members` finds it.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::model::RepoPath;

use super::members::Candidate;

/// Why work was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The tests fail with it, twice.
    Failed,
    /// It conflicts.
    Conflicts,
    /// It has commits of work that is held back or was left out.
    Contains,
    /// A person holds it back.
    Held,
    /// Its agent is done, and has uncommitted files.
    Uncommitted,
    /// It changes paths outside the allowed paths of its agent.
    OutsideScope,
    /// It was reverted on the branch, and has no later commit.
    Reverted,
    /// It failed or conflicted on the branch as it is.
    FailedBefore,
    /// Its history has no common ancestor with the branch.
    Unrelated,
    /// A git operation is in progress in its clone.
    InProgress,
    /// It cannot be read.
    Unreadable,
}

/// Work that was left out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The agent, else the fork or branch.
    pub name: String,
    /// The agent.
    pub agent: Option<String>,
    /// The fork.
    pub fork: Option<String>,
    /// Its commit.
    pub tip: Oid,
    /// Why.
    pub why: Why,
    /// Those with whom it conflicts, whose commits it has, or with whom the tests failed.
    pub with: Vec<String>,
    /// The paths in conflict.
    pub paths: Vec<RepoPath>,
    /// The command that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its exit code; null if a signal ended it, or it took too long.
    pub exit_code: Option<i32>,
    /// The last lines that it printed, at most 20: text of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tail: Option<String>,
    /// The file with more of them.
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<PathBuf>,
    /// More about why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LeftOut {
    pub(super) fn of(candidate: &Candidate, why: Why) -> LeftOut {
        LeftOut {
            name: candidate.name.clone(),
            agent: candidate.agent.clone(),
            fork: candidate.fork.clone(),
            tip: candidate.member.commit(),
            why,
            with: Vec::new(),
            paths: Vec::new(),
            command: None,
            exit_code: None,
            output_tail: None,
            log: None,
            reason: None,
        }
    }
}
