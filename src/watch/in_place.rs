//! Whether a process still watches the working tree that it was started for.

use std::fs::File;
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

    /// Adds a file that this process has open: at its path there may be another one already.
    #[must_use]
    pub(super) fn with_open(mut self, path: PathBuf, file: &File) -> InPlace {
        let metadata = file.metadata().ok();
        self.0.push((path, metadata.as_ref().map(FileIdentity::from)));
        self
    }

    /// Returns `false` if one was deleted, or another has its path.
    pub(super) fn holds(&self) -> bool {
        let is_same = |(path, identity): &(PathBuf, Option<FileIdentity>)| {
            identity.is_some() && FileIdentity::of(path) == *identity
        };
        self.0.iter().all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_open_file_is_not_the_one_that_took_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let open = File::create(&path).unwrap();
        let in_place = || InPlace::of([folder.path().to_owned()]).with_open(path.clone(), &open);
        assert!(in_place().holds());
        fs::remove_file(&path).unwrap();
        assert!(!in_place().holds());
        File::create(&path).unwrap();
        assert!(!in_place().holds());
    }
}
