//! The part of a tree that a row includes.

use serde::{Deserialize, Serialize};

use crate::model::RepoPath;

use super::globs::{GlobVerdict, Globs};

/// The treatment of binary files.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum BinaryPolicy {
    /// They are left out.
    #[default]
    Skip,
    /// Each is one record that describes it, without its bytes.
    Include,
}

/// The part of a tree that a row includes.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The directory of the row; empty for the root. Globs are relative to it.
    pub start_dir: RepoPath,
    /// The included files; `None` includes everything.
    pub include: Option<Globs>,
    /// The excluded files, regardless of `include`.
    pub exclude: Globs,
    /// The treatment of binary files.
    pub binary: BinaryPolicy,
    /// Whether `.gitignore` files of the tree apply like `.colonyignore`.
    pub gitignore: bool,
}

impl Selection {
    /// Returns `true` if the globs include a file, by its path below `start_dir`.
    pub fn takes(&self, path: &RepoPath) -> bool {
        let included =
            self.include.as_ref().is_none_or(|globs| globs.verdict(path) == GlobVerdict::In);
        included && self.exclude.verdict(path) != GlobVerdict::In
    }
}
