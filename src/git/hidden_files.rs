//! Files that git was told not to look at, `assume-unchanged` or `skip-worktree`, and that are there all the
//! same: an edit of one is seen by nobody.

use gix::index::entry::{Flags, Stage};

use crate::model::{RepoPath, Result, World};

use super::Repo;

impl Repo {
    /// Has git look at every tracked file that is there again; returns how many it did not look at. For a
    /// clone that goes: what was set up in it on purpose is lost by this.
    ///
    /// # Errors
    /// `repository-broken`, `git-failed`.
    pub fn look_at_hidden_files(&self, world: &World) -> Result<usize> {
        let index = self.read_index()?;
        let paths = index.path_backing();
        let hidden = index.entries().iter().filter(|entry| {
            let flags = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
            entry.flags.intersects(flags) && entry.stage() == Stage::Unconflicted
        });
        let hidden = hidden.map(|entry| RepoPath::new(entry.path_in(paths).to_vec()));
        let is_there = |path: &RepoPath| {
            path.is_safe() && std::fs::symlink_metadata(path.under(self.workdir())).is_ok()
        };
        let there: Vec<_> = hidden.filter(is_there).collect();
        if there.is_empty() {
            return Ok(0);
        }
        let list = there.iter().flat_map(|path| [path.as_bytes(), b"\0"]);
        let list: Vec<u8> = list.flatten().copied().collect();
        // git takes one of them at a time.
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            let mut git = self.git(world);
            git.args(["-c", "core.fsmonitor=false", "update-index", flag]);
            git.args(["-z", "--stdin"]).input(list.clone());
            git.run_checked("look at the files of a clone that goes")?;
        }
        Ok(there.len())
    }
}
