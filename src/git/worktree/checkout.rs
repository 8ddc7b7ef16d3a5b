//! Writes files of a tree into an empty private folder, through the smudge filters.
//!
//! A restore stages every file before its commit point, so that a failing filter, a missing object
//! or a full disk is found while nothing has changed; afterwards it only renames. The folder is
//! empty: this is the only mode of gix's checkout that cannot touch the user's files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use gix::bstr::ByteSlice as _;
use gix::index::entry::Flags;
use gix::progress::Count;
use serde_json::json;

use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{Oid, Repo, full_disk};
use crate::model::progress::Progress;
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::file_writer::{LeftToGit, left_to_git};
use super::filter_drivers;

/// The interval between reports of the number of files written.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Files of a tree that gix has written into a folder.
#[derive(Clone, Copy)]
pub(in crate::git) struct WrittenFiles<'a> {
    pub(in crate::git) tree: Oid,
    /// The index of that tree.
    pub(in crate::git) index: &'a gix::index::File,
    pub(in crate::git) wanted: &'a BTreeSet<RepoPath>,
    pub(in crate::git) folder: &'a Path,
}

/// Counts the files that gix has processed.
#[derive(Default)]
struct Written(Arc<AtomicUsize>);

impl Count for Written {
    fn set(&self, step: usize) {
        self.0.store(step, Ordering::Relaxed);
    }

    fn step(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn inc_by(&self, step: usize) {
        self.0.fetch_add(step, Ordering::Relaxed);
    }

    fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }
}

impl Written {
    /// Reports progress while `act` runs. gix also counts the files that it skips, so at most
    /// `wanted` is reported.
    fn reporting<T>(&self, progress: &Progress, wanted: usize, act: impl FnOnce() -> T) -> T {
        if !progress.is_heard() {
            return act();
        }
        let (ended, end) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while end.recv_timeout(PROGRESS_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    progress.tell_files("write files", self.step().min(wanted));
                }
            });
            let done = act();
            drop(ended);
            progress.tell_files("write files", self.step().min(wanted));
            done
        })
    }
}

impl Repo {
    /// Writes the files `wanted` of `tree` below `folder`, which must be empty or absent.
    ///
    /// Submodules are not written. Attributes are those of `tree`.
    pub fn stage_files(
        &self,
        world: &World,
        tree: Oid,
        wanted: &BTreeSet<RepoPath>,
        folder: &Path,
    ) -> Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(folder)
            .map_err(|e| Error::io("cannot make a folder for new files", e))?;
        let mut index = self.plain_index_of_tree(tree)?;
        let (entries, paths) = index.entries_mut_and_pathbacking();
        for entry in entries {
            let path = RepoPath::new(entry.path_in(paths).to_vec());
            if !wanted.contains(&path) {
                entry.flags.insert(Flags::SKIP_WORKTREE);
            }
        }
        let needed = index.entries().iter().filter(|entry| {
            !entry.flags.contains(Flags::SKIP_WORKTREE) && !entry.mode.is_submodule()
        });
        self.fetch_missing(world, needed.map(|entry| entry.id.into()))?;
        let cannot = || "cannot write the files of the checkpoint";
        let mut options = self
            .inner
            .checkout_options(gix::worktree::stack::state::attributes::Source::IdMapping)
            .or_code(Code::RepositoryBroken, cannot)
            .map_err(Error::unchanged)?;
        filter_drivers::follow_git(self, &mut options.filters);
        // 'core.fileMode' is about what git reads from files: it writes the bit whatever that says.
        options.fs.executable_bit = true;
        options.destination_is_initially_empty = true;
        options.overwrite_existing = false;
        let objects = self.inner.objects.clone().into_arc().or_code(Code::Io, cannot)?;
        let written = Written::default();
        let outcome = written
            .reporting(&world.progress, wanted.len(), || {
                gix::worktree::state::checkout(
                    &mut index,
                    folder,
                    objects,
                    &written,
                    &gix::progress::Discard,
                    &world.interrupt.flag,
                    options,
                )
            })
            .or_code(Code::FilterFailed, cannot)
            .map_err(Error::unchanged)
            .and_then(|outcome| refuse_incomplete(&outcome));
        // Ends the progress line of a filter.
        world.progress.end();
        world.interrupt.check()?;
        outcome
            .map_err(|error| self.missing_large_objects(&index, wanted).unwrap_or(error))
            .map_err(|error| self.smudge_error(world, &index, error))
            .map_err(|error| full_disk::explained(error, folder))?;
        let files = WrittenFiles { tree, index: &index, wanted, folder };
        self.restage_by_git(world, &files).map(drop)
    }

    /// Checks whether a filter failed because git-lfs lacks objects, and names them.
    fn missing_large_objects(
        &self,
        index: &gix::index::File,
        wanted: &BTreeSet<RepoPath>,
    ) -> Option<Error> {
        let objects = LfsObjects::of(self);
        let missing: Vec<_> = wanted
            .iter()
            .filter_map(|path| {
                let entry = index.entry_by_path(gix::bstr::BStr::new(path.as_bytes()))?;
                let pointer = Pointer::of_blob(self, entry.id.into())?;
                let missing = !objects.has(&pointer);
                missing
                    .then(|| json!({"path": path, "oid": pointer.oid, "size": pointer.size_bytes}))
            })
            .collect();
        let first = missing.first()?.get("path")?.clone();
        let others = match missing.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        Some(
            Error::new(
                Code::LfsMissing,
                format!("git-lfs has not got {first}{others} and cannot download it"),
            )
            .unchanged()
            .detail("missing", missing)
            .hint("git lfs fetch --all   # or set GIT_LFS_SKIP_SMUDGE=1 to get pointers"),
        )
    }

    /// Lists the pointers among `wanted` whose object is not in the store of git-lfs.
    pub fn missing_large_files(
        &self,
        tree: Oid,
        wanted: &BTreeSet<RepoPath>,
    ) -> Result<Vec<Pointer>> {
        let (index, objects) = (self.plain_index_of_tree(tree)?, LfsObjects::of(self));
        let pointers = wanted.iter().filter_map(|path| {
            let entry = index.entry_by_path(gix::bstr::BStr::new(path.as_bytes()))?;
            Pointer::of_blob(self, entry.id.into())
        });
        Ok(pointers.filter(|pointer| !objects.has(pointer)).collect())
    }

    /// Rewrites files that only git converts as git does; returns those that it has rewritten, with their blobs.
    pub(in crate::git) fn restage_by_git(
        &self,
        world: &World,
        files: &WrittenFiles<'_>,
    ) -> Result<Vec<(RepoPath, Oid)>> {
        let WrittenFiles { tree, index, wanted, folder } = *files;
        let cannot = || "cannot write the files of the checkpoint";
        let source = gix::worktree::stack::state::attributes::Source::IdMapping;
        let mut attributes =
            self.inner.attributes_only(index, source).or_code(Code::RepositoryBroken, cannot)?;
        let mut rewritten = Vec::new();
        for path in wanted {
            let Some(entry) = index.entry_by_path(gix::bstr::BStr::new(path.as_bytes())) else {
                continue;
            };
            let is_file = matches!(
                entry.mode,
                gix::index::entry::Mode::FILE | gix::index::entry::Mode::FILE_EXECUTABLE
            );
            let left = if is_file { left_to_git(&mut attributes, path)? } else { None };
            let by_git = match left {
                None => false,
                Some(LeftToGit::Encoding) => true,
                Some(LeftToGit::Ident) => self.read_blob(entry.id.into())?.contains_str("$Id"),
            };
            if !by_git {
                continue;
            }
            let bytes = self.smudge_with_git(world, tree, path, entry.id.into())?;
            let file = std::fs::File::options().write(true).truncate(true).open(path.under(folder));
            file.and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
                .map_err(|e| Error::io(cannot(), e).unchanged())?;
            rewritten.push((path.clone(), entry.id.into()));
        }
        Ok(rewritten)
    }

    fn smudge_with_git(
        &self,
        world: &World,
        tree: Oid,
        path: &RepoPath,
        id: Oid,
    ) -> Result<Vec<u8>> {
        let mut name = std::ffi::OsString::from("--path=");
        name.push(path.as_path());
        // Older versions of git take the attributes of the working tree instead.
        for source in [Some(format!("--attr-source={tree}")), None] {
            let mut git = self.git(world);
            git.args(source.iter()).args(["cat-file", "--filters"]).arg(&name).arg(id.to_string());
            let output = git.run()?;
            if output.success() {
                return Ok(output.stdout);
            }
            if source.is_none() {
                return Err(Error::new(
                    Code::FilterFailed,
                    format!("git cannot write '{path}': {}", output.stderr),
                )
                .unchanged());
            }
        }
        Ok(Vec::new())
    }
}

pub(in crate::git) fn refuse_incomplete(
    outcome: &gix::worktree::state::checkout::Outcome,
) -> Result<()> {
    if let Some(collision) = outcome.collisions.first() {
        return Err(Error::new(
            Code::PathCollision,
            format!(
                "'{}' collides with another path: this file system does not distinguish their names",
                collision.path
            ),
        ));
    }
    let delayed = outcome.delayed_paths_unprocessed.first();
    if let Some(path) = delayed.or(outcome.delayed_paths_unknown.first()) {
        return Err(
            Error::new(Code::FilterFailed, format!("a filter did not return '{path}'")).unchanged()
        );
    }
    match outcome.errors.first() {
        Some(record) => Err(Error::new(
            Code::FilterFailed,
            format!("cannot write '{}': {}", record.path, record.error),
        )
        .unchanged()),
        None => Ok(()),
    }
}
