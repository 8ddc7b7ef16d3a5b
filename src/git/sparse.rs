//! Which paths sparse checkout leaves out of the worktree. Git alone reads its rules.

use std::collections::BTreeSet;

use gix::bstr::BStr;
use gix::index::entry::{Flags, Stage};

use crate::model::{RepoPath, Result, World};

use super::Repo;
use super::index::Index;

impl Repo {
    /// Keeps those of `paths` that sparse checkout leaves out of the worktree. One process, where the
    /// checkout is sparse at all.
    ///
    /// A git that cannot be asked (before 2.41) leaves out none: a file too many in the worktree is one
    /// that git takes as well.
    ///
    /// # Errors
    /// `git-failed` when git cannot be started.
    pub fn outside_sparse_checkout(
        &self,
        world: &World,
        mut paths: BTreeSet<RepoPath>,
    ) -> Result<BTreeSet<RepoPath>> {
        if paths.is_empty() || self.config_bool("core.sparseCheckout") != Some(true) {
            return Ok(BTreeSet::new());
        }
        let mut git = self.git(world);
        git.args(["sparse-checkout", "check-rules", "-z"]);
        let list = paths.iter().flat_map(|path| [path.as_bytes(), b"\0"]);
        git.input(list.collect::<Vec<_>>().concat());
        let output = git.run()?;
        if !output.success() {
            return Ok(BTreeSet::new());
        }
        for inside in output.stdout.split(|&byte| byte == 0) {
            paths.remove(&RepoPath::from(inside));
        }
        Ok(paths)
    }
}

impl Index {
    /// Marks entries as left out of the worktree.
    pub fn skip_worktree(&mut self, paths: &BTreeSet<RepoPath>) {
        for path in paths {
            let name = BStr::new(path.as_bytes());
            let entry = self
                .file
                .entry_mut_by_path_and_stage(name, Stage::Unconflicted);
            if let Some(entry) = entry {
                entry.flags.insert(Flags::SKIP_WORKTREE | Flags::EXTENDED);
            }
        }
    }
}
