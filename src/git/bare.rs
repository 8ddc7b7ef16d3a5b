//! A bare repository: the hub from which clones borrow objects.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::model::interrupt::Interrupt;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::durable::{self, DurableChanges};
use super::object::{odd_commits, peel};
use super::refs::{self, FoundRef};
use super::scratch::own_user;
use super::{ObjectWrites, Oid, RefChange, RefName, Repo, process};

/// A repository that holds only objects and refs.
pub struct BareRepo {
    inner: gix::Repository,
    path: PathBuf,
}

/// Makes the error for a repository that is not of the user who runs this; `None` for one that is.
fn of_another_user(path: &Path) -> Option<Error> {
    let owner = path.metadata().ok()?.uid();
    let message = format!("'{}' belongs to user {owner}", path.display());
    (owner != own_user()).then(|| {
        Error::new(Code::UntrustedRepository, message)
            .detail("owner", owner)
            .hint(format!("sudo -u '#{owner}' git colony"))
    })
}

impl BareRepo {
    /// Opens the repository at `path`, regardless of git's environment variables.
    pub fn open(path: &Path) -> Result<BareRepo> {
        let options = gix::open::Options::isolated().bail_if_untrusted(true);
        let opened = gix::open_opts(path, options).or_code(Code::RepositoryBroken, || {
            format!("cannot open the repository at '{}'", path.display())
        });
        let mut inner = opened.map_err(|error| of_another_user(path).unwrap_or(error))?;
        odd_commits::understand(&mut inner);
        Ok(BareRepo { inner, path: path.to_owned() })
    }

    /// Returns the same repository for reading records, like one with a working tree. Objects
    /// written through it are in memory only.
    pub fn to_read(&self) -> Result<Repo> {
        let mut inner = self.inner.clone().with_object_memory();
        inner.set_workdir(self.path.clone()).or_code(Code::RepositoryBroken, || {
            format!("cannot read from '{}'", self.path.display())
        })?;
        // There is no working tree to read, so an interrupt has nothing to stop.
        Repo::from_inner(inner, ObjectWrites::InMemory, &Interrupt::default())
    }

    pub(super) fn inner(&self) -> &gix::Repository {
        &self.inner
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the object format, by git's name.
    pub fn object_format(&self) -> &'static str {
        object_format(&self.inner)
    }

    /// Reads a value of its own configuration.
    pub fn config(&self, key: &str) -> Option<String> {
        let value = self.inner.config_snapshot().string(key)?;
        Some(value.to_string())
    }

    /// Lists the refs below a prefix that ends with `/`, sorted by name.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<FoundRef>> {
        refs::refs_below(&self.inner, prefix)
    }

    /// Returns the unpeeled target of a ref; `None` if it does not exist.
    pub fn find_ref(&self, name: &RefName) -> Result<Option<Oid>> {
        refs::find_ref(&self.inner, name)
    }

    /// Returns the target of a symbolic ref; `None` if it is not symbolic.
    pub fn symbolic_target(&self, name: &RefName) -> Option<RefName> {
        refs::symbolic_target(&self.inner, name)
    }

    /// Records the default branch of the remote, as HEAD of a bare clone names it.
    pub fn follow_remote_head(&self, world: &World) -> Result<()> {
        let Some(branch) = self.symbolic_target(&RefName::from("HEAD")) else {
            return Ok(());
        };
        let target = format!("refs/remotes/origin/{}", branch.short());
        if self.find_ref(&RefName::from(target.as_str()))?.is_none() {
            return Ok(());
        }
        let mut git = self.git(world);
        git.args(["symbolic-ref", "refs/remotes/origin/HEAD", &target]);
        git.run_checked("note the default branch of the remote").map(drop)
    }

    /// Returns `true` if the object exists here.
    pub fn has(&self, id: Oid) -> bool {
        self.inner.has_object(id.0)
    }

    /// Returns the id that a file's content would have here.
    pub fn blob_id(&self, bytes: &[u8]) -> Result<Oid> {
        let id = gix::objs::compute_hash(self.inner.object_hash(), gix::objs::Kind::Blob, bytes);
        Ok(id.or_code(Code::Io, || "cannot compute the id of a file")?.into())
    }

    /// Writes the content of a file.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        let cannot = || format!("cannot write to '{}'", self.path.display());
        Ok(self.inner.write_blob(bytes).or_code(Code::Io, cannot)?.detach().into())
    }

    /// Resolves a revision to a commit.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        peel::resolve(&self.inner, revision, || {
            let message = format!("no commit is named '{revision}' there");
            Error::new(Code::RevisionNotFound, message)
        })
    }

    /// Returns the branch that HEAD names, with its commit if it has one, or the commit of a
    /// detached HEAD.
    pub fn head(&self) -> Result<(Option<String>, Option<Oid>)> {
        let head = RefName::from("HEAD");
        match self.symbolic_target(&head) {
            Some(branch) => Ok((Some(branch.short()), self.find_ref(&branch)?)),
            None => Ok((None, self.find_ref(&head)?)),
        }
    }

    /// Returns the root commit of a history, along first parents.
    pub fn first_commit(&self, tip: Oid) -> Result<Oid> {
        Ok(super::object::tree::first_commit(&self.inner, tip, None)?.id)
    }

    /// Returns `true` if the tree of a commit contains a directory.
    pub fn has_directory(&self, commit: Oid, path: &RepoPath) -> Result<bool> {
        let cannot = || format!("cannot read commit {commit}");
        let commit_object =
            self.inner.find_commit(commit.0).or_code(Code::ObjectMissing, cannot)?;
        let tree = commit_object.tree().or_code(Code::ObjectMissing, cannot)?;
        let entry =
            tree.lookup_entry_by_path(path.as_path()).or_code(Code::ObjectMissing, cannot)?;
        Ok(entry.is_some_and(|entry| entry.mode().is_tree()))
    }

    /// Starts a git command that acts on this repository and no other.
    pub fn git(&self, world: &World) -> process::Git {
        git_at(world, &self.path)
    }

    /// Updates refs in one git transaction, in a repository that no other process knows yet. Runs
    /// no hook.
    pub fn move_refs_unshared(&self, world: &World, changes: &[RefChange]) -> Result<()> {
        self.move_refs_with(world, changes, self.git(world))
    }

    /// Updates refs in a shared repository: git keeps `lock` open while it runs.
    pub fn move_refs_under(&self, world: &World, changes: &[RefChange], lock: &File) -> Result<()> {
        let mut git = self.git(world);
        git.keep_open(lock)?;
        self.move_refs_with(world, changes, git)
    }

    fn move_refs_with(
        &self,
        world: &World,
        changes: &[RefChange],
        mut git: process::Git,
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let changes = DurableChanges::below(&self.path.join("objects"), changes)?;
        durable::write_refs_out(&mut git);
        git.args(["-c", "core.hooksPath=/dev/null"]);
        git.args(["update-ref", "--no-deref", "--stdin", "-z"]);
        let hex_len = self.inner.object_hash().len_in_hex();
        let child = git.converse()?;
        let commands = refs::commands(changes.all(), hex_len);
        refs::PreparedRefs::prepare(child, world.interrupt.clone(), &commands)?.commit()
    }
}

/// Starts a git command on the bare repository at `path`.
pub(super) fn git_at(world: &World, path: &Path) -> process::Git {
    let mut git = process::Git::new(world);
    git.env("GIT_DIR", path).current_dir(path);
    git
}

pub(super) fn object_format(repo: &gix::Repository) -> &'static str {
    match repo.object_hash() {
        gix::hash::Kind::Sha256 => "sha256",
        _ => "sha1",
    }
}
