//! Files with `assume-unchanged` or `skip-worktree` that exist all the same: git does not notice
//! their edits.

use gix::index::Entry;
use gix::index::entry::{Flags, Stage};

use crate::git::Repo;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::model::{RepoPath, Result, World};

use super::file_writer::STREAM_ABOVE_BYTES;
use super::scan::Scan;

impl Repo {
    /// Lists those of the wanted ones that are stored in git, not in git-lfs, and differ from the
    /// index.
    pub fn hidden_edits(
        &self,
        world: &World,
        scan: &Scan,
        mut wanted: impl FnMut(&RepoPath) -> bool,
    ) -> Result<Vec<RepoPath>> {
        let index: &gix::index::File = &scan.index;
        let mut unclear = Vec::new();
        for (path, entry) in hidden(index) {
            let is_whole = Pointer::of_blob(self, entry.id.into()).is_none();
            let there = std::fs::symlink_metadata(path.under(self.workdir()));
            let is_open = there.is_ok_and(|there| there.is_file() && !is_as_noted(entry, &there));
            if is_whole && is_open && path.is_safe() && wanted(&path) {
                unclear.push(path);
            }
        }
        self.changed_by_content(world, scan, &unclear)
    }

    /// Has git check files whose times differ from the index, and record the times of those that
    /// are unchanged. If git cannot do that now, a later git command does.
    pub fn refresh_index(&self, world: &World) -> Result<()> {
        let mut git = self.git(world);
        git.args(["update-index", "-q"]);
        git.arg("--refresh").run().map(drop)
    }

    /// Has git check every hidden file that exists; returns how many were hidden. For a clone that
    /// is being removed: the flags are lost.
    pub fn look_at_hidden_files(&self, world: &World) -> Result<usize> {
        let index = self.read_index()?;
        let hidden = hidden(&index).map(|(path, _)| path);
        let is_there = |path: &RepoPath| {
            path.is_safe() && std::fs::symlink_metadata(path.under(self.workdir())).is_ok()
        };
        let there: Vec<_> = hidden.filter(is_there).collect();
        if there.is_empty() {
            return Ok(0);
        }
        let list: Vec<u8> =
            there.iter().flat_map(|path| [path.as_bytes(), b"\0"]).flatten().copied().collect();
        // git accepts one of them at a time.
        for flag in ["--no-assume-unchanged", "--no-skip-worktree"] {
            let mut git = self.git(world);
            git.args(["update-index", flag]);
            git.args(["-z", "--stdin"]).input(list.clone());
            git.run_checked("check the files of a clone that is being removed")?;
        }
        Ok(there.len())
    }
}

/// Returns `true` if a file that is too large to read has the size and time that the index records.
fn is_as_noted(entry: &Entry, there: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let noted = (i64::from(entry.stat.mtime.secs), i64::from(entry.stat.mtime.nsecs));
    // The index holds the low 32 bits of a size.
    there.len() > STREAM_ABOVE_BYTES
        && u64::from(entry.stat.size) == there.len() & u64::from(u32::MAX)
        && noted == (there.mtime(), there.mtime_nsec())
}

/// Lists the entries with one of these flags.
fn hidden(index: &gix::index::File) -> impl Iterator<Item = (RepoPath, &Entry)> {
    let hidden = index.entries().iter().filter(|entry| {
        let flags = Flags::SKIP_WORKTREE | Flags::ASSUME_VALID;
        entry.flags.intersects(flags) && entry.stage() == Stage::Unconflicted
    });
    let paths = index.path_backing();
    hidden.map(move |entry| (RepoPath::new(entry.path_in(paths).to_vec()), entry))
}
