//! The index: read fresh, changed in memory, written into a lock that is already held.
//!
//! This is the only index writer. It writes a cache-tree extension only for a tree that the index
//! is known to equal, because a stale one would corrupt later commits. It dates the file to the
//! moment before the working tree was read: git checks every entry again that is not older than the
//! index, and git builds that compare whole seconds would otherwise miss an edit made while
//! git-colony was running.

mod cache_tree;
mod fingerprint;
mod index_edit;
pub(super) mod index_file;
pub mod index_state;
mod staged;

use std::fs::{File, Metadata};
use std::io::Write as _;
use std::path::Path;
use std::time::SystemTime;

use gix::bstr::{BStr, ByteSlice as _};
use gix::index::entry::{Flags, Mode, Stage, Stat};

use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::worktree::tracked::is_too_young;
use super::{Oid, Repo, TreeEntry};
use index_file::SharedIndex;

/// The flags that the user sets on an entry; the others are bookkeeping.
pub(super) const MEANINGFUL: Flags =
    Flags::INTENT_TO_ADD.union(Flags::SKIP_WORKTREE).union(Flags::ASSUME_VALID);

/// An index in memory.
#[derive(Clone)]
pub struct Index {
    pub(super) file: SharedIndex,
    /// The cache-tree to write, if any.
    cache: Option<gix::index::extension::Tree>,
}

impl Index {
    pub(super) fn new(file: impl Into<SharedIndex>) -> Index {
        Index { file: file.into(), cache: None }
    }

    /// Iterates over the regular files without a conflict: path and blob.
    pub fn plain_files(&self) -> impl Iterator<Item = (&[u8], Oid)> {
        let paths = self.file.path_backing();
        let entries = self.file.entries().iter();
        let plain = entries.filter(|entry| {
            matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE)
                && entry.stage() == Stage::Unconflicted
        });
        plain.map(|entry| (entry.path_in(paths).as_bytes(), entry.id.into()))
    }

    /// Returns `true` if a path is in conflict.
    pub fn has_conflicts(&self) -> bool {
        let mut entries = self.file.entries().iter();
        entries.any(|entry| entry.stage() != Stage::Unconflicted)
    }
}

impl Repo {
    /// Reads the index from disk, or returns an empty one.
    pub fn load_index(&self) -> Result<Index> {
        Ok(Index::new(self.shared_index()?))
    }

    /// Reads the index as the base of a newer one that is written without checking the files.
    /// Clears the stat data of entries that are too young to trust: the newer index would vouch for
    /// them.
    pub fn load_trusted_index(&self) -> Result<Index> {
        let mut index = self.load_index()?;
        let written = index.file.timestamp();
        for entry in index.file.entries_mut() {
            if is_too_young(&entry.stat, &entry.stat, written) {
                entry.stat = Stat::default();
            }
        }
        Ok(index)
    }

    /// Returns the index, or an empty one if there is none; parses the same file once.
    pub(super) fn shared_index(&self) -> Result<SharedIndex> {
        let metadata = match std::fs::metadata(self.index_path()) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(self.empty_index().into());
            }
            Err(e) => return Err(Error::io("cannot look at the index", e)),
        };
        let stamp = stat_of(&metadata);
        let known = self.read_index.borrow().clone();
        if let Some((_, index)) = known.filter(|(known, _)| *known == stamp) {
            return Ok(index);
        }
        let mut file = self.open_index_file()?;
        self.count_what_is_there(&mut file)?;
        let index = SharedIndex::from(file);
        self.read_index.replace(Some((stamp, index.clone())));
        Ok(index)
    }

    /// Returns every path of the index.
    pub fn paths_of_index(&self) -> Result<std::collections::HashSet<RepoPath>> {
        let index = self.shared_index()?;
        let paths = index.path_backing();
        let entries = index.entries().iter();
        let path = |entry: &gix::index::Entry| RepoPath::from(entry.path_in(paths).as_bytes());
        Ok(entries.map(path).collect())
    }

    /// Returns `true` if the index has a path, at any stage.
    pub fn is_tracked(&self, path: &RepoPath) -> Result<bool> {
        let index = self.shared_index()?;
        Ok(index.entry_range(path.as_bytes().into()).is_some())
    }

    /// Returns `true` if git keeps part of an index in a shared file.
    pub fn index_is_split(&self) -> bool {
        let entries = std::fs::read_dir(self.git_dir()).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name()).any(|name| {
            std::os::unix::ffi::OsStrExt::as_bytes(name.as_os_str()).starts_with(b"sharedindex.")
        })
    }

    /// Reads an index file at another path.
    pub fn load_index_at(&self, path: &Path) -> Result<Index> {
        let file = gix::index::File::at(
            path,
            self.inner.object_hash(),
            false,
            gix::index::decode::Options::default(),
        )
        .or_code(Code::RepositoryBroken, || "cannot read a kept index")?;
        Ok(Index::new(file))
    }

    /// Has git write stage 0 of an index file as a tree; other programs may have added entries to
    /// it.
    pub fn write_tree_of(&self, world: &World, path: &Path) -> Result<Oid> {
        let mut git = self.git(world);
        git.env("GIT_INDEX_FILE", path).arg("write-tree");
        let printed = git.run_checked("write the tree that hooks left")?;
        let id = Oid::parse(String::from_utf8_lossy(&printed).trim());
        id.ok_or_else(|| Error::new(Code::GitFailed, "git write-tree named no tree"))
    }

    pub(super) fn empty_index(&self) -> gix::index::File {
        let state = gix::index::State::new(self.inner.object_hash());
        gix::index::File::from_state(state, self.index_path())
    }

    /// Builds the index of a tree; takes flags and stat data of unchanged entries from `before`.
    pub fn index_of_tree(&self, tree: Oid, before: &Index) -> Result<Index> {
        let mut file = self.plain_index_of_tree(tree)?;
        carry(&mut file, &before.file, Carry::StatAndFlags);
        let mut index = Index::new(file);
        index.set_tree(self, tree, before)?;
        Ok(index)
    }

    pub(super) fn plain_index_of_tree(&self, tree: Oid) -> Result<gix::index::File> {
        if tree == self.empty_tree() {
            return Ok(self.empty_index());
        }
        self.require_comparable(self.empty_tree(), tree)?;
        self.inner
            .index_from_tree(&tree.0)
            .or_code(Code::Unsupported, || format!("cannot use tree {tree} as a working tree"))
    }
}

/// The data that entries take over from an older index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Carry {
    /// Stat data of entries with the same path, mode and blob.
    Stat,
    /// The stat data, and the flags that the user set on the path.
    StatAndFlags,
}

/// Walks two sorted lists of entries side by side.
pub(super) fn carry(target: &mut gix::index::File, before: &gix::index::File, what: Carry) {
    let old_paths = before.path_backing();
    let mut old = before.entries().iter().peekable();
    let (entries, paths) = target.entries_mut_and_pathbacking();
    for entry in entries {
        let path = entry.path_in(paths);
        while old.next_if(|old| old.path_in(old_paths) < path).is_some() {}
        let Some(known) = old.peek() else { break };
        if known.path_in(old_paths) != path || known.stage() != entry.stage() {
            continue;
        }
        if known.id == entry.id && known.mode == entry.mode {
            entry.stat = known.stat;
        }
        if what == Carry::StatAndFlags {
            let kept = known.flags & (Flags::SKIP_WORKTREE | Flags::ASSUME_VALID);
            entry.flags.insert(kept);
            if kept.contains(Flags::SKIP_WORKTREE) {
                entry.flags.insert(Flags::EXTENDED);
            }
        }
    }
}

impl Index {
    /// Sets the stat data of files that were just written.
    ///
    /// A file whose blob differs from the index stays unknown.
    pub fn refresh(&mut self, placed: &[(RepoPath, Oid)], workdir: &Path) {
        for (path, id) in placed {
            let name = BStr::new(path.as_bytes());
            let entry = self.file.entry_mut_by_path_and_stage(name, Stage::Unconflicted);
            let Some(entry) = entry.filter(|entry| Oid::from(entry.id) == *id) else {
                continue;
            };
            let metadata = std::fs::symlink_metadata(path.under(workdir));
            entry.stat = metadata.map(|metadata| stat_of(&metadata)).unwrap_or_default();
        }
    }

    /// Clears the stat data of paths whose files may have changed.
    pub fn forget<'a>(&mut self, paths: impl IntoIterator<Item = &'a RepoPath>) {
        for path in paths {
            let name = BStr::new(path.as_bytes());
            if let Some(entry) = self.file.entry_mut_by_path_and_stage(name, Stage::Unconflicted) {
                entry.stat = Stat::default();
            }
        }
    }

    /// Records that the index equals `tree`, so that readers need not compare; takes unchanged
    /// directories from the older index `before`.
    pub fn set_tree(&mut self, repo: &Repo, tree: Oid, before: &Index) -> Result<()> {
        let cache = repo.cache_tree(tree, before.file.tree())?;
        // Trees do not contain intent-to-add entries and conflicts.
        let entries = self.file.entries().len();
        let whole = cache.num_entries.is_some_and(|count| usize::try_from(count) == Ok(entries));
        self.cache = whole.then_some(cache);
        Ok(())
    }

    /// Returns the submodules of the index, sorted.
    pub fn submodules(&self) -> Vec<RepoPath> {
        let paths = self.file.path_backing();
        let is_submodule = |entry: &&gix::index::Entry| entry.mode == Mode::COMMIT;
        let links = self.file.entries().iter().filter(is_submodule);
        links.map(|entry| RepoPath::from(entry.path_in(paths).as_bytes())).collect()
    }

    /// Finds two paths that collide on a file system that folds names.
    pub fn folded_collision(&self) -> Option<(RepoPath, RepoPath)> {
        let paths = self.file.path_backing();
        let mut seen = std::collections::HashMap::<Vec<u8>, &BStr>::new();
        for entry in self.file.entries() {
            let path = entry.path_in(paths);
            let mut prefixes: Vec<_> =
                path.find_iter("/").filter_map(|at| path.get(..at)).map(BStr::new).collect();
            prefixes.push(path);
            for prefix in prefixes {
                let folded = String::from_utf8_lossy(prefix).to_lowercase().into_bytes();
                let first = *seen.entry(folded).or_insert(prefix);
                if first != prefix {
                    return Some((first.as_bytes().into(), prefix.as_bytes().into()));
                }
            }
        }
        None
    }

    /// Writes the index into `file` from its start and sets its time to `read_at`, the moment
    /// before the working tree was read.
    pub fn write_into(&self, file: &mut File, read_at: SystemTime) -> Result<()> {
        let cannot = |e| Error::io("cannot write the index", e);
        let mut bytes = Vec::with_capacity(128 * self.file.entries().len() + 1024);
        let options = gix::index::write::Options {
            extensions: gix::index::write::Extensions::None,
            skip_hash: false,
        };
        let state: &gix::index::State = &self.file;
        state.write_to(&mut bytes, options).or_code(Code::Io, || "cannot write the index")?;
        if let Some(cache) = &self.cache {
            cache.write_to(&mut bytes).map_err(cannot)?;
        }
        let mut checksum = Checksum::of(self.file.object_hash());
        checksum.update(&bytes);
        let checksum = checksum.finish();
        bytes.extend(checksum.ok_or_else(|| Error::new(Code::Io, "cannot hash the index"))?);
        file.set_len(0).map_err(cannot)?;
        std::io::Seek::rewind(file).map_err(cannot)?;
        file.write_all(&bytes).map_err(cannot)?;
        file.set_modified(read_at).map_err(cannot)
    }
}

/// The trailing checksum of an index. It guards against damage, not attacks, so plain SHA-1 with the processor's
/// instructions suffices; gix would look for collisions.
enum Checksum {
    Sha1(sha1::Sha1),
    Other(gix::hash::Hasher),
}

impl Checksum {
    fn of(kind: gix::hash::Kind) -> Checksum {
        match kind {
            gix::hash::Kind::Sha1 => Checksum::Sha1(sha1::Sha1::default()),
            _ => Checksum::Other(gix::hash::hasher(kind)),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        use sha1::Digest as _;
        match self {
            Checksum::Sha1(hasher) => hasher.update(bytes),
            Checksum::Other(hasher) => hasher.update(bytes),
        }
    }

    /// Returns the checksum; `None` if it cannot be computed.
    fn finish(self) -> Option<Vec<u8>> {
        use sha1::Digest as _;
        match self {
            Checksum::Sha1(hasher) => Some(hasher.finalize().to_vec()),
            Checksum::Other(hasher) => Some(hasher.try_finalize().ok()?.as_slice().to_vec()),
        }
    }
}

pub(super) fn mode_of(entry: TreeEntry) -> Mode {
    Mode::from(gix::objs::tree::EntryMode::from(entry.kind))
}

pub(super) fn stat_of(metadata: &Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt as _;
    let time = |seconds: i64, nanos: i64| gix::index::entry::stat::Time {
        // git keeps the low 32 bits too.
        secs: u32::try_from(seconds & 0xffff_ffff).expect("the mask leaves 32 bits"),
        nsecs: u32::try_from(nanos).unwrap_or_default(),
    };
    let low = |value: u64| u32::try_from(value & 0xffff_ffff).expect("the mask leaves 32 bits");
    Stat {
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        dev: low(metadata.dev()),
        ino: low(metadata.ino()),
        uid: metadata.uid(),
        gid: metadata.gid(),
        size: low(metadata.len()),
    }
}
