//! An answer that is kept below `.colony/cache` of a checkout, as JSON, for later commands.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::git::Checkout;
use crate::git::worktree::safe_open::read_below;
use crate::model::{Error, RepoPath, Result, World};
use crate::store::files::tree_folder::{TreeFolder, folder_of};

/// The kind of an answer.
#[derive(Clone, Copy)]
pub(super) struct Kept {
    /// Its file.
    pub(super) name: &'static str,
    /// A larger file is not ours.
    pub(super) max_bytes: u64,
}

/// The place of an answer, whose folder exists.
pub(super) struct KeptPlace<'a> {
    kept: Kept,
    world: &'a World,
    folder: TreeFolder,
    path: RepoPath,
}

impl Kept {
    /// Reads the answer; one that cannot be read counts as absent.
    pub(super) fn read<T: DeserializeOwned>(self, world: &World, checkout: &Checkout) -> Option<T> {
        let path = self.path(&checkout.repository_id());
        let bytes = read_below(&world.interrupt, &checkout.root, &path, self.max_bytes);
        serde_json::from_slice(&bytes.ok()??).ok()
    }

    /// Makes the folder.
    pub(super) fn place<'a>(self, world: &'a World, checkout: &Checkout) -> Result<KeptPlace<'a>> {
        let id = checkout.repository_id();
        Ok(KeptPlace {
            kept: self,
            world,
            folder: TreeFolder::of_repository(world, &checkout.root, &id)?,
            path: RepoPath::from(&*self.path(&id).under(&checkout.root)),
        })
    }

    fn path(self, repository_id: &str) -> RepoPath {
        folder_of(repository_id).join(&RepoPath::from(self.name))
    }
}

impl KeptPlace<'_> {
    /// Returns the path of the file on this machine.
    pub(super) fn path(&self) -> RepoPath {
        self.path.clone()
    }

    /// Replaces the answer.
    pub(super) fn write(&self, answer: &impl Serialize) -> Result<()> {
        let json = serde_json::to_vec_pretty(answer).map_err(|e| {
            Error::io(format!("cannot write '{}' as JSON", self.kept.name), e.into())
        })?;
        self.folder.write(self.kept.name, &json, &self.world.nonce8())
    }
}
