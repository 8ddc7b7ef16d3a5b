//! An open repository: its paths, its HEAD, and git's operation in progress.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::git::plain_file;
use crate::model::interrupt::Interrupt;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, ResultExt as _, World};

use super::compare::tree_cache::TreeCache;
use super::foreign_repository::StandIn;
use super::index::index_file::SharedIndex;
use super::object::odd_commits;
use super::refs::damaged_refs::{self, LostBranch};
use super::refs::{self, RefName};
use super::scratch::Scratch;
use super::worktree::other_worktrees::first_linked;
use super::{Oid, discovery, process};

/// A repository with a working tree, opened for one command.
pub struct Repo {
    pub(super) inner: gix::Repository,
    git_dir: PathBuf,
    common_dir: PathBuf,
    workdir: PathBuf,
    writes: ObjectWrites,
    /// Checked while files are read.
    pub(super) interrupt: Interrupt,
    /// The index as last read, with the stat data of its file.
    pub(super) read_index: RefCell<Option<ReadIndex>>,
    /// The trees that were compared.
    pub(super) tree_cache: TreeCache,
    /// The folder for large files from clean filters, if not git-lfs's own store.
    pub(super) large_files_in: RefCell<Option<PathBuf>>,
    /// Its git directory, if that is temporary.
    pub(super) scratch: Option<Arc<Scratch>>,
    /// What git processes use in place of its common directory, if others control it.
    pub(super) stand_in: Option<Arc<StandIn>>,
}

/// The paths of a repository, without symlinks.
pub(super) struct Places {
    /// The git directory of this worktree.
    pub(super) git_dir: PathBuf,
    /// The git directory shared by all worktrees.
    pub(super) common_dir: PathBuf,
    /// The root of the working tree; `None` if it is bare.
    pub(super) workdir: Option<PathBuf>,
}

impl Places {
    /// Resolves them: one look at each directory on the way to the root, and one at `.git` if that is where it usually is.
    pub(super) fn of(inner: &gix::Repository) -> Result<Places> {
        let own = inner.git_dir();
        let workdir = inner.workdir().map(canonical).transpose()?;
        let is_usual = |top: &Path| {
            let is_folder = || own.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
            own == top.join(".git") && is_folder()
        };
        let git_dir = match &workdir {
            Some(root) if inner.workdir().is_some_and(is_usual) => root.join(".git"),
            _ => canonical(own)?,
        };
        let common_dir = match inner.common_dir() {
            same if same == own => git_dir.clone(),
            other => canonical(other)?,
        };
        Ok(Places { git_dir, common_dir, workdir })
    }
}

pub(super) fn canonical(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|e| Error::io(format!("cannot resolve '{}'", path.display()), e))
}

/// The number of symbolic refs that git follows from HEAD.
const MAX_SYMBOLIC_REFS: usize = 5;

type ReadIndex = (gix::index::entry::Stat, SharedIndex);

/// The destination of new objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectWrites {
    /// To the object database.
    Durable,
    /// Memory only: they are gone with the repository. For dry runs.
    InMemory,
}

/// The target of HEAD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch with a commit.
    Branch {
        /// The full name of the branch.
        name: RefName,
        /// Its tip.
        commit: Oid,
    },
    /// A branch that has no commit yet.
    Unborn {
        /// The full name of the branch.
        name: RefName,
    },
    /// A commit.
    Detached {
        /// The commit.
        commit: Oid,
    },
}

impl Head {
    /// Returns the commit, unless the branch is unborn.
    pub fn commit(&self) -> Option<Oid> {
        match self {
            Head::Branch { commit, .. } | Head::Detached { commit } => Some(*commit),
            Head::Unborn { .. } => None,
        }
    }

    /// Returns the ref that moves with a new commit: the branch, or HEAD itself.
    pub fn moving_ref(&self) -> RefName {
        match self {
            Head::Branch { name, .. } | Head::Unborn { name } => name.clone(),
            Head::Detached { .. } => RefName::from("HEAD"),
        }
    }

    /// Returns the name to display: the branch, or `detached:<8 hex>`.
    pub fn label(&self) -> String {
        match self {
            Head::Branch { name, .. } | Head::Unborn { name } => name.short(),
            Head::Detached { commit } => format!("detached:{}", commit.short()),
        }
    }
}

impl Repo {
    /// Opens the repository of the current directory, by git's rules (`GIT_DIR`, `GIT_WORK_TREE`).
    pub fn open(world: &World, writes: ObjectWrites) -> Result<Repo> {
        let mut inner = discovery::open_by_git_rules(world)?;
        if writes == ObjectWrites::InMemory {
            inner = inner.with_object_memory();
        }
        Repo::from_inner(inner, writes, &world.interrupt)
    }

    pub(super) fn from_inner(
        inner: gix::Repository,
        writes: ObjectWrites,
        interrupt: &Interrupt,
    ) -> Result<Repo> {
        let places = Places::of(&inner)?;
        Repo::at(inner, places, writes, interrupt)
    }

    pub(super) fn at(
        inner: gix::Repository,
        places: Places,
        writes: ObjectWrites,
        interrupt: &Interrupt,
    ) -> Result<Repo> {
        if discovery::has_unreadable_refs(&inner) {
            return Err(discovery::no_reftable());
        }
        let Some(workdir) = places.workdir.clone() else {
            let hint = first_linked(&places.common_dir).map_or_else(
                || with_working_tree(&places.common_dir),
                |root| {
                    format!(
                        "cd {}   # its files are there",
                        shell_word(&root.display().to_string())
                    )
                },
            );
            return Err(
                Error::new(Code::BareRepository, "this repository has no working tree").hint(hint)
            );
        };
        Ok(Repo::unchecked(inner, places, workdir, writes, interrupt))
    }

    /// Returns the repository, whatever format its refs are in.
    pub(super) fn unchecked(
        mut inner: gix::Repository,
        places: Places,
        workdir: PathBuf,
        writes: ObjectWrites,
        interrupt: &Interrupt,
    ) -> Repo {
        odd_commits::understand(&mut inner);
        Repo {
            git_dir: places.git_dir,
            common_dir: places.common_dir,
            workdir,
            writes,
            interrupt: interrupt.clone(),
            read_index: RefCell::new(None),
            tree_cache: TreeCache::default(),
            large_files_in: RefCell::new(None),
            scratch: None,
            stand_in: None,
            inner,
        }
    }

    /// Returns the same repository for reading on another thread.
    pub(super) fn for_thread(&self) -> Result<Repo> {
        let places = Places {
            git_dir: self.git_dir.clone(),
            common_dir: self.common_dir.clone(),
            workdir: Some(self.workdir.clone()),
        };
        let mut repo = Repo::at(self.inner.clone(), places, self.writes, &self.interrupt)?;
        repo.scratch.clone_from(&self.scratch);
        repo.stand_in.clone_from(&self.stand_in);
        Ok(repo)
    }

    /// Returns the git directory of this worktree.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns `sha1` or `sha256`.
    pub fn object_format(&self) -> &'static str {
        super::bare::object_format(&self.inner)
    }

    /// Returns the git directory shared by all worktrees.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Returns the root of the working tree.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// Returns `true` if new objects are stored in the object database.
    pub fn keeps_objects(&self) -> bool {
        self.writes == ObjectWrites::Durable
    }

    pub(super) fn writes(&self) -> ObjectWrites {
        self.writes
    }

    /// Returns the path of the index file.
    pub fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    /// Returns the number of hex digits of an object id in this repository.
    pub fn hex_len(&self) -> usize {
        self.inner.object_hash().len_in_hex()
    }

    /// Reads HEAD.
    pub fn head(&self) -> Result<Head> {
        let read = self.inner.head().or_code(Code::RepositoryBroken, || "cannot read HEAD");
        let head = read.map_err(|error| damaged_refs::explain_head(&self.inner, error))?;
        if let Some(name) = head.referent_name() {
            let name = self.end_of(&RefName::new(name.as_bstr().to_vec()))?;
            return Ok(match refs::find_ref(&self.inner, &name)? {
                Some(commit) => Head::Branch { name, commit },
                None => self.unborn(name)?,
            });
        }
        let id = head.id().map(|id| Oid::from(id.detach()));
        let commit = id.ok_or_else(|| {
            let message = "HEAD does not name a branch or a commit";
            Error::new(Code::RepositoryBroken, message)
        })?;
        Ok(Head::Detached { commit })
    }

    /// Returns HEAD on a branch that has no commit yet; fails if its log has one.
    fn unborn(&self, name: RefName) -> Result<Head> {
        let lost = LostBranch::find(self.common_dir(), &name);
        // git writes the log of a first commit before the ref.
        match (lost, refs::find_ref(&self.inner, &name)?) {
            (_, Some(commit)) => Ok(Head::Branch { name, commit }),
            (Some(lost), None) => Err(lost.error()),
            (None, None) => Ok(Head::Unborn { name }),
        }
    }

    /// Follows a ref through all symbolic refs to the one that git moves for it; that one need not exist.
    pub fn end_of(&self, name: &RefName) -> Result<RefName> {
        let mut end = name.clone();
        for _ in 0..MAX_SYMBOLIC_REFS {
            match self.symbolic_target(&end) {
                Some(next) => end = next,
                None => return Ok(end),
            }
        }
        let message = format!("'{name}' leads through more than {MAX_SYMBOLIC_REFS} symbolic refs");
        Err(Error::new(Code::RepositoryBroken, message)
            .detail("ref", name)
            .hint("git switch BRANCH"))
    }

    /// Returns git's operation in progress, as git words it.
    pub fn in_progress(&self) -> Option<&'static str> {
        use gix::state::InProgress as P;
        // gix reports other states before a bisect; any state is enough here.
        let Some(state) = self.inner.state() else {
            return self.sequence();
        };
        Some(match state {
            P::ApplyMailbox | P::ApplyMailboxRebase => "am",
            P::Bisect => "bisect",
            P::CherryPick | P::CherryPickSequence => "cherry-pick",
            P::Merge => "merge",
            P::Rebase | P::RebaseInteractive => "rebase",
            P::Revert | P::RevertSequence => "revert",
        })
    }

    /// Returns the sequence of commits that git has stopped in.
    fn sequence(&self) -> Option<&'static str> {
        let todo = plain_file::read(self.git_dir.join("sequencer/todo")).ok()?;
        let mut lines = todo.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"))?;
        match first.split(|&byte| byte == b' ').next()? {
            b"pick" | b"p" => Some("cherry-pick"),
            b"revert" => Some("revert"),
            _ => None,
        }
    }

    /// Starts a git command that acts on this repository and no other. It asks no monitor of files, which is a program
    /// that the repository names.
    pub fn git(&self, world: &World) -> process::Git {
        let mut git = self.git_with_monitor(world);
        git.config("core.fsmonitor", "false");
        git
    }

    /// Does the same for what hooks of the user inherit.
    pub(super) fn git_with_monitor(&self, world: &World) -> process::Git {
        let mut git = process::Git::new(world);
        git.env("GIT_DIR", &self.git_dir);
        git.env("GIT_WORK_TREE", &self.workdir);
        git.current_dir(&self.workdir);
        if let Some(stand_in) = &self.stand_in {
            stand_in.impose(world, &mut git);
        }
        git
    }
}

impl Repo {
    /// Starts a git command that only reads: no hook, no pager, no program that checks signatures,
    /// nothing fetched or refreshed. A command that shows differences needs `--no-ext-diff --no-textconv` as well, and
    /// one that compares files runs the filters of those that have changed.
    pub fn reading_git(&self, world: &World) -> process::Git {
        let mut git = self.git(world);
        git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_NO_LAZY_FETCH", "1");
        for (key, value) in [
            ("core.hooksPath", "/dev/null"),
            ("core.pager", "cat"),
            ("log.showSignature", "false"),
            ("color.ui", "never"),
        ] {
            git.config(key, value);
        }
        git.arg("--no-pager");
        git
    }

    /// Starts a git command that acts on this repository and runs the user's hooks. If git finds
    /// the repository by itself, the hooks get the same variables as from a git that the user
    /// started.
    pub fn git_of_user(&self, world: &World) -> process::Git {
        let mut git = self.git_with_monitor(world);
        if self.stand_in.is_none() && self.workdir.join(".git") == self.git_dir {
            git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
        }
        git
    }
}
/// Returns what to do in a repository without a working tree: its directory may have had one.
fn with_working_tree(git_dir: &Path) -> String {
    if git_dir.ends_with(".git") {
        return "git config core.bare false   # it has a working tree around its '.git'".to_owned();
    }
    "run the command in a clone with a working tree".to_owned()
}
