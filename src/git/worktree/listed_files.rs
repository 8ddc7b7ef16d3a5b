//! The files of a working tree that git would commit: tracked ones, and untracked ones that are not ignored. No
//! symlink and no file of a nested repository is among them. Nothing is compared, and no filter runs.

use gix::bstr::BStr;
use gix::index::entry::{Flags, Mode};

use crate::git::Repo;
use crate::git::attributes::ignore_stack::IgnoreFilesOf;
use crate::model::{RepoPath, Result, World};

use super::is_private;
use super::safe_open::{self, directories_below};
use super::scan::UntrackedKind;
use super::untracked::{self, is_repository};

/// The length of the header of an index, which ends with the number of its entries.
const HEADER_BYTES: u64 = 12;

impl Repo {
    /// Lists these files, sorted by path. A tracked one may be gone from the disk.
    pub fn listed_files(&self, world: &World) -> Result<Vec<RepoPath>> {
        let index = self.read_index()?;
        let backing = index.path_backing();
        let is_file = |entry: &&gix::index::Entry| {
            matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
                && !entry.flags.contains(Flags::SKIP_WORKTREE)
        };
        let tracked = index.entries().iter().filter(is_file);
        let mut files: Vec<RepoPath> =
            tracked.map(|entry| RepoPath::new(entry.path_in(backing).to_vec())).collect();
        let untracked = untracked::find(world, self, &index)?;
        let new = untracked.into_iter().filter(|entry| entry.kind == UntrackedKind::File);
        files.extend(new.map(|entry| entry.path));
        files.sort();
        // A path in conflict has several entries.
        files.dedup();
        Ok(files)
    }

    /// Lists the directories in which a new file would be listed, also empty ones. Not the root, ignored directories,
    /// those of nested repositories, and those that cannot be read.
    pub fn listed_directories(&self) -> Result<Vec<RepoPath>> {
        let index = self.read_index()?;
        let mut ignores = self.ignore_stack(&index, IgnoreFilesOf::Worktree)?;
        let mut open = vec![RepoPath::default()];
        let mut all = Vec::new();
        while let Some(directory) = open.pop() {
            let below = directories_below(self.workdir(), &directory).unwrap_or_default();
            for path in below {
                let is_of_git = path.as_bytes() == b".git"
                    || is_private(path.as_bytes(), self.folds_case())
                    || is_repository(&path.under(self.workdir()));
                if !is_of_git && !ignores.ignores(path.as_bytes(), true)? {
                    open.push(path.clone());
                    all.push(path);
                }
            }
        }
        Ok(all)
    }

    /// Returns the number of tracked files, as the header of the index has it, without reading them; 0 if it cannot be
    /// read.
    pub fn tracked_count(&self, world: &World) -> usize {
        let path = RepoPath::from("index");
        let read = safe_open::beginning(&world.interrupt, self.git_dir(), &path, HEADER_BYTES);
        let header = read.ok().flatten().unwrap_or_default();
        let count = header.last_chunk::<4>().filter(|_| header.len() as u64 == HEADER_BYTES);
        count.map_or(0, |count| u32::from_be_bytes(*count) as usize)
    }

    /// Returns `true` if the index has a file at this path.
    pub fn tracks(&self, path: &RepoPath) -> Result<bool> {
        let name = BStr::new(path.as_bytes());
        Ok(self.read_index()?.entry_range(name).is_some())
    }

    /// Returns `true` if [`Repo::listed_files`] would list a file at this path.
    pub fn lists_file(&self, path: &RepoPath) -> Result<bool> {
        let index = self.read_index()?;
        let name = BStr::new(path.as_bytes());
        if index.entry_range(name).is_some() {
            return Ok(true);
        }
        if is_private(path.as_bytes(), self.folds_case()) || self.repository_around(path).is_some()
        {
            return Ok(false);
        }
        let mut ignores = self.ignore_stack(&index, IgnoreFilesOf::Worktree)?;
        Ok(!ignores.ignores(path.as_bytes(), false)?)
    }
}
