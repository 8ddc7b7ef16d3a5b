//! What a row takes of a tree.

use serde::{Deserialize, Serialize};

use super::globs::{GlobVerdict, Globs};
use crate::model::RepoPath;

/// What becomes of files that are no text.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum BinaryPolicy {
    /// They are left out.
    #[default]
    Skip,
    /// Each is one record that says what it is, without its bytes.
    Include,
}

/// What a row takes of a tree.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The directory that the row is about; the root is empty. Globs are relative to it.
    pub start_dir: RepoPath,
    /// What is taken; `None` takes everything.
    pub include: Option<Globs>,
    /// What is left out, whatever `include` says.
    pub exclude: Globs,
    /// What becomes of files that are no text.
    pub binary: BinaryPolicy,
    /// Whether `.gitignore` files of the tree count like `.colonyignore`.
    pub gitignore: bool,
}

impl Selection {
    /// Says whether the globs take a file, by its path below `start_dir`.
    pub fn takes(&self, path: &RepoPath) -> bool {
        let included = self
            .include
            .as_ref()
            .is_none_or(|globs| globs.verdict(path) == GlobVerdict::In);
        included && self.exclude.verdict(path) != GlobVerdict::In
    }
}
