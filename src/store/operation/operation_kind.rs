//! The kinds of operations, as records and reports name them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Creates a checkpoint.
    Checkpoint,
    /// Names an existing commit as a checkpoint.
    Tag,
    /// Deletes checkpoints.
    CheckpointDelete,
    /// Restores a checkpoint.
    Restore,
    /// Sets a repository up.
    Init,
    /// Replaces pointers by their large files.
    Hydrate,
    /// Undoes an operation.
    Undo,
    /// Undoes an undo.
    Redo,
    /// Creates a fork.
    Fork,
    /// Deletes a fork.
    ForkDelete,
    /// Merges one branch into another.
    Merge,
    /// Merges the work of several agents into a branch, tested together.
    Land,
    /// Picks commits onto a branch.
    CherryPick,
    /// Reverts merges of a branch.
    Revert,
    /// Commits chosen paths.
    Commit,
    /// Commits a decision, with the paths it is about.
    Decide,
    /// Creates a tool.
    ToolsNew,
    /// Rewrites history so that git-lfs stores the large files.
    LfsMigrate,
    /// Writes a key of a blackboard.
    BlackboardPut,
    /// Deletes a key of a blackboard.
    BlackboardDelete,
    /// Writes records of the knowledge base.
    Ingest,
    /// Deletes records of the knowledge base.
    KnowledgeClear,
    /// Changes the map: files go to a source.
    Promote,
    /// Changes the map: files go back to the knowledge base.
    Demote,
    /// Changes the projects of `.colony/colony.toml`.
    Projects,
    /// Writes records of mapped scopes.
    Map,
    /// Removes the records of a scope.
    Unmap,
    /// Changes the catalog of repositories.
    Catalog,
    /// A change of HEAD, the branch or the index from outside, most likely by plain git.
    External,
}

impl Kind {
    /// Returns `true` for an operation that changes only records of derived data: it is not among the steps of undo.
    pub fn is_derived(self) -> bool {
        matches!(self, Kind::Map | Kind::Unmap)
    }

    /// Returns the name of the command.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Checkpoint => "checkpoint",
            Kind::Tag => "tag",
            Kind::CheckpointDelete => "checkpoint-delete",
            Kind::Restore => "restore",
            Kind::Init => "init",
            Kind::Hydrate => "hydrate",
            Kind::Undo => "undo",
            Kind::Redo => "redo",
            Kind::Fork => "fork",
            Kind::ForkDelete => "fork-delete",
            Kind::Merge => "merge",
            Kind::Land => "land",
            Kind::CherryPick => "cherry-pick",
            Kind::Revert => "revert",
            Kind::Commit => "commit",
            Kind::Decide => "decide",
            Kind::ToolsNew => "tools-new",
            Kind::LfsMigrate => "lfs-migrate",
            Kind::BlackboardPut => "blackboard-put",
            Kind::BlackboardDelete => "blackboard-delete",
            Kind::Ingest => "ingest",
            Kind::KnowledgeClear => "knowledge-clear",
            Kind::Promote => "promote",
            Kind::Demote => "demote",
            Kind::Projects => "projects",
            Kind::Map => "map",
            Kind::Unmap => "unmap",
            Kind::Catalog => "catalog",
            Kind::External => "external",
        }
    }
}
