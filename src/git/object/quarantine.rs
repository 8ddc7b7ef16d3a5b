//! Objects for a git process outside the object store: those that are in memory here, for git to read, and
//! those that git creates, to be kept or not. The repository itself is unchanged.

use gix::objs::Write as _;
use gix::odb::loose::Store;

use crate::git::process::Git;
use crate::git::quoted_path::listed;
use crate::git::scratch::Scratch;
use crate::git::{Oid, Repo};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

/// A temporary object folder; it is removed when dropped.
#[derive(Debug)]
pub struct Quarantine {
    folder: Scratch,
}

impl Quarantine {
    /// Creates an empty one.
    pub(in crate::git) fn new(world: &World) -> Result<Quarantine> {
        let folder = Scratch::new(world)?;
        Ok(Quarantine { folder })
    }

    fn store(&self, repo: &Repo) -> Store {
        Store::at(self.folder.path().to_owned(), repo.inner.object_hash())
    }

    /// Lets a git process find the objects.
    pub(in crate::git) fn show_to(&self, git: &mut Git) {
        git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", listed(self.folder.path()));
    }

    /// Has a git process create its objects here, and find all others in the repository. Before any argument.
    pub(in crate::git) fn collect_from(&self, repo: &Repo, git: &mut Git) {
        // The objects are read once at most: they need not be small or durable.
        git.args(["-c", "core.looseCompression=0", "-c", "core.fsync=none"]);
        git.env("GIT_OBJECT_DIRECTORY", self.folder.path());
        let objects = listed(&repo.common_dir().join("objects"));
        git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    }

    /// Stores the objects in the repository.
    pub(in crate::git) fn keep_in(&self, repo: &Repo) -> Result<()> {
        let cannot = || "cannot keep the objects of a merge";
        let (store, mut buffer) = (self.store(repo), Vec::new());
        for id in store.iter() {
            let id = id.or_code(Code::Io, cannot)?;
            let object = store.try_find(&id, &mut buffer);
            if let Some(object) = object.or_code(Code::Io, cannot)? {
                let written = repo.inner.objects.write_buf(object.kind, object.data);
                written.or_code(Code::Io, cannot)?;
            }
        }
        Ok(())
    }
}

impl Repo {
    /// Writes the objects in memory into a quarantine, which is empty if there are none.
    pub fn quarantine(&self, world: &World) -> Result<Quarantine> {
        let quarantine = Quarantine::new(world)?;
        let store = quarantine.store(self);
        let objects = self.inner.clone().objects.take_object_memory();
        for (kind, data) in objects.iter().flat_map(|objects| objects.values()) {
            let written = store.write_buf(*kind, data);
            written.or_code(Code::Io, || "cannot pass the objects in memory to git")?;
        }
        Ok(quarantine)
    }

    /// Has git create the blob of a file, and reads it into memory; `run` runs `hash-object` and
    /// reads its answer.
    pub(in crate::git) fn store_in_memory(
        &self,
        world: &World,
        path: &RepoPath,
        run: impl Fn(&mut Git) -> Result<Oid>,
    ) -> Result<Oid> {
        let quarantine = Quarantine::new(world)?;
        let git = || {
            let mut git = self.git(world);
            quarantine.collect_from(self, &mut git);
            git
        };
        let id = run(git().args(["hash-object", "-w", "--"]).arg(path.as_path()))?;
        // git puts a large blob into a pack.
        let mut read = git();
        read.args(["cat-file", "blob"]).arg(id.to_string());
        self.write_blob(&read.run_checked("read back a file")?)
    }
}
