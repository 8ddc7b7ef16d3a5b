//! Makes objects in memory readable for a git process: it writes them into a temporary folder
//! outside the object store. The repository itself is unchanged.

use gix::objs::Write as _;

use crate::git::process::Git;
use crate::git::quoted_path::listed;
use crate::git::scratch::Scratch;
use crate::git::{Oid, Repo};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

/// A temporary object folder; it is removed when dropped.
pub struct Quarantine {
    folder: Scratch,
}

impl Quarantine {
    /// Lets a git process find the objects.
    pub(in crate::git) fn show_to(&self, git: &mut Git) {
        git.env(
            "GIT_ALTERNATE_OBJECT_DIRECTORIES",
            listed(self.folder.path()),
        );
    }
}

impl Repo {
    /// Writes the objects in memory into a quarantine; `None` if objects are not kept in memory.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn quarantine(&self, world: &World) -> Result<Option<Quarantine>> {
        let Some(objects) = self.inner.objects.reset_object_memory() else {
            return Ok(None);
        };
        let folder = Scratch::new(world)?;
        let cannot = || "cannot write an object for a diff";
        let store = gix::odb::loose::Store::at(folder.path().to_owned(), self.inner.object_hash());
        for (kind, data) in objects.values() {
            store.write_buf(*kind, data).or_code(Code::Io, cannot)?;
            let kept = self.inner.objects.write_buf(*kind, data);
            kept.or_code(Code::Io, cannot)?;
        }
        Ok(Some(Quarantine { folder }))
    }

    /// Has git create the blob of a file, and reads it into memory; `run` runs `hash-object` and
    /// reads its answer.
    ///
    /// # Errors
    /// `no-space`, `io`, and those of `run`.
    pub(in crate::git) fn store_in_memory(
        &self,
        world: &World,
        path: &RepoPath,
        run: impl Fn(&mut Git) -> Result<Oid>,
    ) -> Result<Oid> {
        let folder = Scratch::new(world)?;
        let objects = self.common_dir().join("objects");
        let git = || {
            let mut git = self.git(world);
            git.env("GIT_OBJECT_DIRECTORY", folder.path())
                .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", listed(&objects));
            git
        };
        let id = run(git().args(["hash-object", "-w", "--"]).arg(path.as_path()))?;
        let mut read = git();
        read.args(["cat-file", "blob"]).arg(id.to_string());
        self.write_blob(&read.run_checked("read back a file")?)
    }
}
