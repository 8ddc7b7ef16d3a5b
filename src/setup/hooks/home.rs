//! The level of git's configuration that names the hooks folder, and the places of our folder and record.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::store::files::places::HookPlaces;

/// The setting that names another hooks folder.
pub(super) const KEY: &str = "core.hooksPath";

/// The level of the configuration that sets a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// For every repository of the machine or of the user.
    Outside,
    /// In the repository, for all worktrees.
    Local,
    /// In the repository, for this worktree.
    Worktree,
}

/// The places of the scripts and the record: for all worktrees, or for one with its own setting.
pub(super) struct Home {
    /// Our folder.
    pub(super) folder: PathBuf,
    /// The record of the earlier state.
    pub(super) record: PathBuf,
    /// The configuration that is changed.
    pub(super) scope: Scope,
}

impl Home {
    /// Returns the home for a value written in `scope`.
    pub(super) fn of(repo: &Repo, scope: Option<Scope>) -> Home {
        let places = HookPlaces::of(repo);
        match scope {
            Some(Scope::Worktree) => Home {
                folder: places.own_forwarders(),
                record: places.own_record(),
                scope: Scope::Worktree,
            },
            _ => Home { folder: places.forwarders(), record: places.record(), scope: Scope::Local },
        }
    }

    /// Returns both homes.
    pub(super) fn all(repo: &Repo) -> [Home; 2] {
        [Home::of(repo, Some(Scope::Worktree)), Home::of(repo, Some(Scope::Local))]
    }
}
