//! The gate between objects and refs: what a ref names is on disk before the ref exists.
//!
//! git does not sync loose objects by default. A power cut would leave a durable ref of ours and empty objects
//! behind it, also those that plain git has written a moment ago. So whatever creates or moves a ref here needs
//! [`DurableChanges`], or [`Durable`] itself, and only this file makes them: by one sync of the file system that holds
//! the objects.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::model::{Error, Result};

use super::process::Git;
use super::{RefChange, Repo};

/// Proof that all objects of a repository were on disk when it was made.
pub struct Durable(());

/// Changes of refs whose objects are on disk.
#[derive(Clone, Copy)]
pub struct DurableChanges<'a>(&'a [RefChange]);

impl Durable {
    /// Returns changes to objects that existed when the proof was made.
    #[expect(clippy::unused_self, reason = "the value is the proof")]
    pub fn changes<'a>(&self, changes: &'a [RefChange]) -> DurableChanges<'a> {
        DurableChanges(changes)
    }
}

impl<'a> DurableChanges<'a> {
    /// Makes the objects in the folder durable, unless the changes only delete refs.
    pub(super) fn below(objects: &Path, changes: &'a [RefChange]) -> Result<DurableChanges<'a>> {
        if changes.iter().any(|change| change.new.is_some()) {
            sync_file_system(objects)?;
        }
        Ok(DurableChanges(changes))
    }

    /// Returns the changes.
    pub fn all(&self) -> &'a [RefChange] {
        self.0
    }
}

impl Repo {
    /// Makes all objects durable, and everything on the file systems of the other paths.
    pub fn make_durable(&self, others: &[&Path]) -> Result<Durable> {
        let objects = self.common_dir().join("objects");
        let mut synced = HashSet::new();
        for path in others.iter().copied().chain([&*objects]) {
            let device =
                path.metadata().map(|metadata| metadata.dev()).map_err(|e| cannot(path, e))?;
            if synced.insert(device) {
                sync_file_system(path)?;
            }
        }
        Ok(Durable(()))
    }

    /// Makes the objects durable that changes of refs need.
    pub fn durable_changes<'a>(&self, changes: &'a [RefChange]) -> Result<DurableChanges<'a>> {
        DurableChanges::below(&self.common_dir().join("objects"), changes)
    }
}

/// Makes everything written to the file system of `path` durable: one call for many files.
pub fn sync_file_system(path: &Path) -> Result<()> {
    let directory = File::open(path).map_err(|e| cannot(path, e))?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&directory).map_err(|e| cannot(path, e.into()))?;
    #[cfg(not(target_os = "linux"))]
    {
        rustix::fs::sync();
        directory.sync_all().map_err(|e| cannot(path, e))?;
    }
    Ok(())
}

fn cannot(path: &Path, error: std::io::Error) -> Error {
    Error::io(format!("cannot sync the file system of '{}'", path.display()), error)
}

/// Has a git that moves refs and runs no hook write them before it renames them into place: a power cut leaves none
/// of them empty. git does not do so by default.
pub(super) fn write_refs_out(git: &mut Git) {
    git.config("core.fsync", "reference").config("core.fsyncMethod", "writeout-only");
}

/// Has a git that stores objects and then moves refs to them make the objects durable first.
pub fn store_durably(git: &mut Git) {
    git.config("core.fsync", "committed");
}

/// Has a git that packs refs make the file of all of them durable before it deletes their own files.
pub fn pack_durably(git: &mut Git) {
    git.config("core.fsync", "reference");
}
