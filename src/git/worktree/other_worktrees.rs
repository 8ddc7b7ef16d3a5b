//! The other worktrees of a repository, and which of them uses a branch.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::plain_file;
use crate::git::{Oid, RefName, Repo};

/// Another worktree.
#[derive(Clone, Debug)]
pub struct OtherWorktree {
    /// The path of its files, even if they are gone.
    pub root: PathBuf,
    /// Its kind.
    pub sort: WorktreeSort,
}

/// The kind of a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeSort {
    /// The main one: it cannot be removed.
    Main,
    /// A linked one.
    Linked,
    /// A linked one whose files are gone.
    Gone,
    /// A linked one whose files are gone, locked with `git worktree lock`.
    GoneAndLocked,
}

impl Repo {
    /// Returns the root of another worktree that has the branch checked out or rebases it; for one
    /// whose files are gone, its git directory.
    pub fn other_worktree_on(&self, branch: &RefName) -> Option<PathBuf> {
        let mut others = self.other_git_dirs();
        let git_dir = others.find(|git_dir| self.is_worked_on_in(git_dir, branch))?;
        Some(self.root_of(&git_dir).unwrap_or(git_dir))
    }

    /// Lists the other worktrees, by their roots.
    pub fn other_worktrees(&self) -> Vec<OtherWorktree> {
        let others = self.other_git_dirs();
        let mut worktrees: Vec<_> = others.map(|git_dir| self.describe(git_dir)).collect();
        worktrees.sort_by(|worktree, other| worktree.root.cmp(&other.root));
        worktrees
    }

    /// Returns the commits of the other worktrees whose HEAD is detached.
    pub fn detached_heads_of_others(&self) -> Vec<Oid> {
        let heads = self.other_git_dirs().filter_map(|git_dir| {
            let head = plain_file::read_text(git_dir.join("HEAD")).ok()?;
            Oid::parse(head.trim())
        });
        heads.collect()
    }

    fn other_git_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let linked = std::fs::read_dir(self.common_dir().join("worktrees"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        // A bare repository has a HEAD but nothing checked out.
        let is_bare = self.config_bool("core.bare") == Some(true);
        let main = (!is_bare).then(|| self.common_dir().to_owned());
        linked.chain(main).filter(|git_dir| git_dir != self.git_dir())
    }

    fn describe(&self, git_dir: PathBuf) -> OtherWorktree {
        if git_dir == self.common_dir() {
            return OtherWorktree {
                root: self.root_of(&git_dir).unwrap_or(git_dir),
                sort: WorktreeSort::Main,
            };
        }
        if let Some(root) = self.root_of(&git_dir) {
            let sort = WorktreeSort::Linked;
            return OtherWorktree { root, sort };
        }
        let noted = noted_root(&git_dir);
        let sort = if git_dir.join("locked").exists() {
            WorktreeSort::GoneAndLocked
        } else {
            WorktreeSort::Gone
        };
        OtherWorktree { root: noted.unwrap_or(git_dir), sort }
    }

    /// Returns `true` if a worktree has a branch checked out, also by way of symbolic refs, or rebases it.
    fn is_worked_on_in(&self, git_dir: &Path, branch: &RefName) -> bool {
        let places = [
            ("HEAD", &b"ref: "[..]),
            ("rebase-merge/head-name", b""),
            ("rebase-apply/head-name", b""),
        ];
        places.iter().any(|(file, start)| {
            let bytes = plain_file::read(git_dir.join(file)).unwrap_or_default();
            let typed = bytes.strip_prefix(*start).map(<[u8]>::trim_ascii);
            let name = typed.filter(|name| !name.is_empty()).map(RefName::new);
            name.is_some_and(|name| {
                name == *branch || self.end_of(&name).is_ok_and(|end| end == *branch)
            })
        })
    }

    fn root_of(&self, git_dir: &Path) -> Option<PathBuf> {
        if git_dir == self.common_dir() {
            let is_usual = git_dir.file_name().is_some_and(|name| name == ".git");
            return git_dir.parent().filter(|_| is_usual).map(Path::to_owned);
        }
        noted_root(git_dir)?.canonicalize().ok()
    }
}

/// Returns the recorded path of a linked worktree.
/// Returns the root of a linked worktree of a repository, the first by name; `None` if none has files.
pub(in crate::git) fn first_linked(common_dir: &Path) -> Option<PathBuf> {
    let linked = std::fs::read_dir(common_dir.join("worktrees")).ok()?.flatten();
    let roots = linked.filter_map(|entry| noted_root(&entry.path()));
    roots.filter(|root| root.join(".git").exists()).min()
}

fn noted_root(git_dir: &Path) -> Option<PathBuf> {
    let bytes = plain_file::read(git_dir.join("gitdir")).ok()?;
    let file = Path::new(std::ffi::OsStr::from_bytes(bytes.trim_ascii_end()));
    git_dir.join(file).parent().map(Path::to_owned)
}
