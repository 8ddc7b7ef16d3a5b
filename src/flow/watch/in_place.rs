//! Whether a process still watches the working tree that it was started for.

use std::path::PathBuf;

use crate::store::lock::FileIdentity;

/// Files and directories as they were at the start.
pub(super) struct InPlace(Vec<(PathBuf, Option<FileIdentity>)>);

impl InPlace {
    /// Notes them.
    pub(super) fn of(paths: impl IntoIterator<Item = PathBuf>) -> InPlace {
        let noted = paths.into_iter().map(|path| {
            let identity = FileIdentity::of(&path);
            (path, identity)
        });
        InPlace(noted.collect())
    }

    /// Returns `false` if one was deleted, or another has its path.
    pub(super) fn holds(&self) -> bool {
        let is_same = |(path, identity): &(PathBuf, Option<FileIdentity>)| {
            identity.is_some() && FileIdentity::of(path) == *identity
        };
        self.0.iter().all(is_same)
    }
}
