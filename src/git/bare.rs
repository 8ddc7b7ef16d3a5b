//! A repository without a worktree: the hub that clones borrow objects from.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::model::world::Interrupt;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::object::peel;
use super::refs::{self, FoundRef};
use super::{ObjectWrites, Oid, RefChange, RefName, Repo, process};

/// A repository that is only a store of objects and refs.
pub struct BareRepo {
    inner: gix::Repository,
    path: PathBuf,
}

impl BareRepo {
    /// Opens the repository at `path`, whatever the variables of git say.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn open(path: &Path) -> Result<BareRepo> {
        let options = gix::open::Options::isolated().bail_if_untrusted(true);
        let inner = gix::open_opts(path, options).or_code(Code::RepositoryBroken, || {
            format!("cannot open the repository at '{}'", path.display())
        })?;
        Ok(BareRepo {
            inner,
            path: path.to_owned(),
        })
    }

    /// Returns the same repository to read records from, as one with a worktree is read. What is written
    /// there is forgotten with it.
    ///
    /// # Errors
    /// `repository-broken`, `io`.
    pub fn to_read(&self) -> Result<Repo> {
        let mut inner = self.inner.clone().with_object_memory();
        inner
            .set_workdir(self.path.clone())
            .or_code(Code::RepositoryBroken, || {
                format!("cannot read from '{}'", self.path.display())
            })?;
        // Its folder has no files of a worktree, which is what an interrupt would stop the reading of.
        Repo::from_inner(inner, ObjectWrites::InMemory, &Interrupt::default())
    }

    pub(super) fn inner(&self) -> &gix::Repository {
        &self.inner
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of its object format, as git has it.
    pub fn object_format(&self) -> &'static str {
        object_format(&self.inner)
    }

    /// Reads a value of its own configuration.
    pub fn config(&self, key: &str) -> Option<String> {
        let value = self.inner.config_snapshot().string(key)?;
        Some(value.to_string())
    }

    /// Lists the refs below a prefix that ends with `/`, sorted by name.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<FoundRef>> {
        refs::refs_below(&self.inner, prefix)
    }

    /// Returns what a ref holds, unpeeled; `None` when it does not exist.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn find_ref(&self, name: &RefName) -> Result<Option<Oid>> {
        refs::find_ref(&self.inner, name)
    }

    /// Returns what a symbolic ref points to; `None` when it is none.
    pub fn symbolic_target(&self, name: &RefName) -> Option<RefName> {
        refs::symbolic_target(&self.inner, name)
    }

    /// Notes which branch the remote calls its HEAD, as HEAD of a bare clone says it.
    ///
    /// # Errors
    /// `git-failed`.
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
        git.run_checked("note the default branch of the remote")
            .map(drop)
    }

    /// Tells whether an object is here.
    pub fn has(&self, id: Oid) -> bool {
        self.inner.has_object(id.0)
    }

    /// Resolves a revision to a commit.
    ///
    /// # Errors
    /// `revision-not-found`; `repository-broken` for a tag that leads to nothing.
    pub fn resolve_commit(&self, revision: &str) -> Result<Oid> {
        peel::resolve(&self.inner, revision, || {
            let message = format!("no commit is named '{revision}' there");
            Error::new(Code::RevisionNotFound, message)
        })
    }

    /// Returns the branch that its HEAD names, or the commit that HEAD is at; a branch that has no commit
    /// comes without.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn head(&self) -> Result<(Option<String>, Option<Oid>)> {
        let head = RefName::from("HEAD");
        match self.symbolic_target(&head) {
            Some(branch) => Ok((Some(branch.short()), self.find_ref(&branch)?)),
            None => Ok((None, self.find_ref(&head)?)),
        }
    }

    /// Returns where the history of a commit begins, by first parents.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn first_commit(&self, tip: Oid) -> Result<Oid> {
        super::object::tree::first_commit(&self.inner, tip, None)
    }

    /// Tells whether a directory is in the tree of a commit.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn has_directory(&self, commit: Oid, path: &RepoPath) -> Result<bool> {
        let cannot = || format!("cannot read commit {commit}");
        let found = self.inner.find_commit(commit.0);
        let found = found.or_code(Code::ObjectMissing, cannot)?;
        let tree = found.tree().or_code(Code::ObjectMissing, cannot)?;
        let entry = tree.lookup_entry_by_path(path.as_path());
        let entry = entry.or_code(Code::ObjectMissing, cannot)?;
        Ok(entry.is_some_and(|entry| entry.mode().is_tree()))
    }

    /// Starts a git command that acts on this repository and no other.
    pub fn git(&self, world: &World) -> process::Git {
        git_at(world, &self.path)
    }

    /// Moves refs in one transaction of git's, in a repository that nobody else knows of yet. No hook runs.
    ///
    /// # Errors
    /// `ref-moved` when one is not at its old value, `locked`.
    pub fn move_refs_unshared(&self, world: &World, changes: &[RefChange]) -> Result<()> {
        self.move_refs_with(world, changes, self.git(world))
    }

    /// Does that anywhere: git keeps `lock` open as long as it lives.
    ///
    /// # Errors
    /// As [`BareRepo::move_refs_unshared`].
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
        git.args(["-c", "core.hooksPath=/dev/null"]);
        git.args(["update-ref", "--no-deref", "--stdin", "-z"]);
        let hex_len = self.inner.object_hash().len_in_hex();
        let child = git.converse()?;
        let commands = refs::commands(changes, hex_len);
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
