//! Files that are ignored now, and that the ignore files of another tree would no longer ignore.
//!
//! The ignore files are read from the tree, so the answer is known before any file moves. A
//! directory that its own ignore file hides completely, as tools create them, stays hidden.

use gix::bstr::BStr;

use crate::git::attributes::ignore_stack::{IgnoreFilesOf, IgnoreStack};
use crate::git::attributes::rule_files;
use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result, World};

use super::is_private;
use super::safe_open::MAX_RULES_BYTES;
use super::scan::Scan;
use super::untracked::{self, is_repository};

/// A directory with more entries below it counts as visible as a whole, unread.
const MAX_READ: usize = 5_000;

impl Repo {
    /// Lists the ignored paths, sorted; an ignored directory is listed without its contents.
    pub fn ignored(&self, world: &World, scan: &Scan) -> Result<Vec<RepoPath>> {
        untracked::ignored(world, self, &scan.index)
    }

    /// Lists the paths that are ignored now but not by the ignore files of `tree`, sorted; a
    /// directory that becomes visible as a whole is listed without its contents.
    pub fn unignored_by(&self, world: &World, scan: &Scan, tree: Oid) -> Result<Vec<RepoPath>> {
        let ignored = untracked::ignored(world, self, &scan.index)?;
        let index = self.plain_index_of_tree(tree)?;
        let mut rules = Rules::of(self, world, &index)?;
        let mut visible = Vec::new();
        for path in ignored {
            rules.read = 0;
            match rules.classify(&path)? {
                IgnoredPath::Ignored | IgnoredPath::Nothing => {}
                IgnoredPath::Whole => visible.push(path),
                IgnoredPath::Parts(parts) => visible.extend(parts),
            }
        }
        Ok(visible)
    }

    /// Keeps those of `paths` that the ignore files of `tree` do not ignore.
    pub fn retain_visible(
        &self,
        world: &World,
        tree: Oid,
        paths: &[RepoPath],
    ) -> Result<Vec<RepoPath>> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let index = self.plain_index_of_tree(tree)?;
        let mut rules = Rules::of(self, world, &index)?;
        let mut visible = Vec::new();
        for path in paths {
            let metadata = std::fs::symlink_metadata(path.under(self.workdir()));
            let is_directory = metadata.is_ok_and(|metadata| metadata.is_dir());
            if !rules.ignores(path, is_directory)? {
                visible.push(path.clone());
            }
        }
        Ok(visible)
    }
}

/// The result for an ignored path.
enum IgnoredPath {
    /// It contains nothing that git would show.
    Nothing,
    /// It stays ignored.
    Ignored,
    /// All of it becomes visible.
    Whole,
    /// These paths below it become visible.
    Parts(Vec<RepoPath>),
}

struct Rules<'a> {
    world: &'a World,
    repo: &'a Repo,
    index: &'a gix::index::File,
    ignores: IgnoreStack<'a>,
    /// The number of paths visited below the top.
    read: usize,
}

impl<'a> Rules<'a> {
    fn of(repo: &'a Repo, world: &'a World, index: &'a gix::index::File) -> Result<Rules<'a>> {
        let ignores = repo.ignore_stack(index, IgnoreFilesOf::Index)?;
        Ok(Rules { world, repo, index, ignores, read: 0 })
    }

    fn ignores(&mut self, path: &RepoPath, is_directory: bool) -> Result<bool> {
        if is_private(path.as_bytes(), self.repo.folds_case()) {
            return Ok(true);
        }
        self.ignores.ignores(path.as_bytes(), is_directory)
    }

    fn classify(&mut self, path: &RepoPath) -> Result<IgnoredPath> {
        self.world.interrupt.check()?;
        let on_disk = path.under(self.repo.workdir());
        let Ok(metadata) = std::fs::symlink_metadata(&on_disk) else {
            return Ok(IgnoredPath::Nothing);
        };
        let kind = metadata.file_type();
        if !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
            return Ok(IgnoredPath::Nothing);
        }
        if self.ignores(path, kind.is_dir())? {
            return Ok(IgnoredPath::Ignored);
        }
        if !kind.is_dir() {
            let tracked = self.index.entry_by_path(BStr::new(path.as_bytes()));
            // The tree's file at the path replaces it.
            return Ok(if tracked.is_some() { IgnoredPath::Nothing } else { IgnoredPath::Whole });
        }
        if is_repository(&on_disk) || self.read > MAX_READ {
            return Ok(IgnoredPath::Whole);
        }
        if self.hides_itself(path)? {
            return Ok(IgnoredPath::Ignored);
        }
        self.directory(path)
    }

    fn directory(&mut self, path: &RepoPath) -> Result<IgnoredPath> {
        use std::os::unix::ffi::OsStrExt as _;
        let mut names: Vec<_> = std::fs::read_dir(path.under(self.repo.workdir()))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        names.sort();
        self.read += names.len();
        let (mut parts, mut all) = (Vec::new(), true);
        for name in names {
            let mut below = path.as_bytes().to_vec();
            below.push(b'/');
            below.extend_from_slice(name.as_bytes());
            let below = RepoPath::new(below);
            match self.classify(&below)? {
                IgnoredPath::Nothing => {}
                IgnoredPath::Ignored => all = false,
                IgnoredPath::Whole => parts.push(below),
                IgnoredPath::Parts(some) => {
                    all = false;
                    parts.extend(some);
                }
            }
        }
        Ok(match (parts.is_empty(), all) {
            (true, true) => IgnoredPath::Nothing,
            (true, false) => IgnoredPath::Ignored,
            (false, true) => IgnoredPath::Whole,
            (false, false) => IgnoredPath::Parts(parts),
        })
    }

    /// Returns `true` if an ignore file in the directory, not from the tree, hides all of it.
    fn hides_itself(&self, path: &RepoPath) -> Result<bool> {
        let mut name = path.as_bytes().to_vec();
        name.extend_from_slice(b"/.gitignore");
        if self.index.entry_by_path(BStr::new(&name)).is_some() {
            return Ok(false);
        }
        let path = RepoPath::new(name);
        let read = self.repo.read_file(&path, MAX_RULES_BYTES);
        let text = rule_files::content(&path.to_string(), read)?;
        let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        Ok(lines.any(|line| line == b"*"))
    }
}
