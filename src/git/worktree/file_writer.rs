//! One file of the working tree as git would store it: cleaned, hashed, written or only compared.
//!
//! gix runs the filters; git itself handles files where gix would differ: other encodings, very
//! large files, and failing filters.

use std::fs::Metadata;

use gix::bstr::BStr;
use gix::objs::tree::EntryKind;

use crate::git::attributes::rule_files::{self, AttributesFiles, RuleFile};
use crate::git::foreign_repository::own_git_dir;
use crate::git::process::Git;
use crate::git::{ObjectWrites, Oid, Repo, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _, World};

use super::clean_filters::CleanFilters;
use super::safe_open::{self, Fault};
use super::scan::Scan;
use super::snapshot::WorktreeFile;

/// git itself hashes larger files, as a stream.
pub(in crate::git) const STREAM_ABOVE_BYTES: u64 = 512 * 1024 * 1024;

/// The entry at a path, as git would store it.
pub(in crate::git) enum Written {
    /// Byte for byte the indexed version, whatever the current filter would make of it.
    AsIndexed,
    /// No file, or one that git cannot store.
    Absent,
    /// A blob, symlink or submodule.
    File(Box<WorktreeFile>),
}

/// The result for one file.
enum Stored {
    File(Box<WorktreeFile>),
    /// The file is gone.
    Nothing,
    /// A filter is missing or fails.
    NotFiltered,
}

/// Writes files through the clean filters, one after the other.
pub(in crate::git) struct FileWriter<'a> {
    repo: &'a Repo,
    world: &'a World,
    scan: &'a Scan,
    filters: CleanFilters,
    attributes: gix::AttributeStack<'a>,
    rules: AttributesFiles,
    keeps_executable_bit: bool,
    has_symlinks: bool,
}

impl<'a> FileWriter<'a> {
    pub(in crate::git) fn new(repo: &'a Repo, world: &'a World, scan: &'a Scan) -> Result<Self> {
        rule_files::require_own(repo, RuleFile::Attributes)?;
        // The index is the one that was scanned: it is read once per command.
        let attributes = || {
            let source = gix::worktree::stack::state::attributes::Source::WorktreeThenIdMapping;
            let attributes = repo.inner.attributes_only(&scan.index, source);
            attributes.or_code(Code::RepositoryBroken, || "cannot read the attributes")
        };
        // Filters inherit our standard error.
        (world.listen)();
        let filters = CleanFilters::new(repo, world, attributes()?.detach())?;
        let attributes = attributes()?;
        Ok(FileWriter {
            attributes,
            rules: AttributesFiles::of(repo),
            repo,
            world,
            scan,
            filters,
            keeps_executable_bit: repo.config_bool("core.fileMode").unwrap_or(true),
            has_symlinks: repo.config_bool("core.symlinks").unwrap_or(true),
        })
    }

    pub(in crate::git) fn write(&mut self, path: &RepoPath) -> Result<Written> {
        self.rules.require(path.as_bytes())?;
        let indexed = self.scan.entry(path);
        let Some(metadata) = metadata_without_links(self.repo, path)? else {
            return Ok(Written::Absent);
        };
        if let Some(entry) = indexed
            && metadata.is_file()
            && self.equals_blob(entry, &metadata, path)?
        {
            let kind = self.kind(EntryKind::Blob, &metadata, indexed);
            if entry.mode.to_tree_entry_mode().is_some_and(|mode| mode.kind() == kind) {
                return Ok(Written::AsIndexed);
            }
            let entry = TreeEntry { kind, id: entry.id.into() };
            return Ok(Written::File(Box::new(WorktreeFile { entry, metadata })));
        }
        if metadata.is_file() && metadata.len() > STREAM_ABOVE_BYTES {
            return self.store_with_git(path, metadata, indexed);
        }
        if metadata.is_dir() && indexed.is_none_or(|entry| !entry.mode.is_submodule()) {
            return Ok(Written::Absent);
        }
        if metadata.is_file() && self.is_left_to_git(path)? {
            return self.store_with_git(path, metadata, indexed);
        }
        let on_disk = if metadata.is_file() {
            match self.store_file(path)? {
                Stored::File(file) => Some(*file),
                Stored::Nothing => None,
                // git decides what a missing or failing filter means for this file.
                Stored::NotFiltered => {
                    let stored = self.store_with_git(path, metadata, indexed);
                    let reason = || self.repo.clean_error(self.world, &self.scan.index, path);
                    return stored.map_err(|error| reason().unwrap_or(error));
                }
            }
        } else if metadata.is_symlink() {
            let link = safe_open::read_link(self.repo.workdir(), path)
                .map_err(|e| Error::io(format!("cannot read '{path}'"), e))?;
            let id = link.map(|target| self.repo.write_blob(&target)).transpose()?;
            let kind = EntryKind::Link;
            id.map(|id| WorktreeFile { entry: TreeEntry { kind, id }, metadata })
        } else {
            self.submodule(path)?
        };
        let Some(mut file) = on_disk else {
            return Ok(Written::Absent);
        };
        file.entry.kind = self.kind(file.entry.kind, &file.metadata, indexed);
        Ok(Written::File(Box::new(file)))
    }

    /// Cleans a file and writes it as a blob, from the one file that it opens.
    fn store_file(&mut self, path: &RepoPath) -> Result<Stored> {
        use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
        let cannot = |e| Error::io(format!("cannot read '{path}'"), e);
        let opened = safe_open::open_file(self.repo.workdir(), path).map_err(cannot)?;
        let Some(file) = opened else {
            return Ok(Stored::Nothing);
        };
        let metadata = file.metadata().map_err(cannot)?;
        let index: &gix::index::State = &self.scan.index;
        let odb = &self.repo.inner;
        let cleaned = self.filters.clean(self.repo, file, path.as_path(), index);
        let Ok(cleaned) = cleaned else {
            return Ok(Stored::NotFiltered);
        };
        let written = match cleaned {
            ToGitOutcome::Unchanged(mut file) => odb.write_blob_stream(&mut file),
            ToGitOutcome::Buffer(buffer) => odb.write_blob(buffer),
            ToGitOutcome::Process(mut output) => odb.write_blob_stream(&mut output),
        };
        Ok(written.map_or(Stored::NotFiltered, |id| {
            let entry = TreeEntry::file(id.detach().into());
            Stored::File(Box::new(WorktreeFile { entry, metadata }))
        }))
    }

    /// Reads the commit of a nested repository.
    fn submodule(&self, path: &RepoPath) -> Result<Option<WorktreeFile>> {
        own_git_dir(&path.under(self.repo.workdir()))?;
        let cannot = || format!("cannot store '{path}'");
        let name = BStr::new(path.as_bytes());
        let source = gix::worktree::stack::state::attributes::Source::IdMapping;
        let attributes = self
            .repo
            .inner
            .attributes_only(&self.scan.index, source)
            .or_code(Code::RepositoryBroken, cannot)?
            .detach();
        let mut pipeline = gix::filter::Pipeline::new(&self.repo.inner, attributes)
            .or_code(Code::RepositoryBroken, cannot)?;
        let object =
            pipeline.worktree_file_to_object(name, &self.scan.index).or_code(Code::Io, cannot)?;
        // A plain folder is not a submodule.
        let submodule = object.filter(|(_, kind, _)| *kind == EntryKind::Commit);
        Ok(submodule.map(|(id, kind, metadata)| WorktreeFile {
            entry: TreeEntry { kind, id: id.into() },
            metadata,
        }))
    }

    /// Returns `true` if a file, cleaned as git would store it, differs from the index; writes
    /// nothing.
    pub(in crate::git) fn differs(&mut self, path: &RepoPath) -> Result<bool> {
        let Some(entry) = self.scan.entry(path) else {
            return Ok(true);
        };
        self.rules.require(path.as_bytes())?;
        let disk_path = path.under(self.repo.workdir());
        let cannot = |e| Error::io(format!("cannot read '{path}'"), e);
        let metadata = match std::fs::symlink_metadata(&disk_path) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(true),
            Err(e) => return Err(cannot(e)),
        };
        let indexed = Oid::from(entry.id);
        if metadata.is_symlink() {
            let target = std::fs::read_link(&disk_path).map_err(cannot)?;
            let bytes = std::os::unix::ffi::OsStrExt::as_bytes(target.as_os_str());
            return Ok(self.repo.hash_blob(bytes)? != indexed);
        }
        if metadata.len() > STREAM_ABOVE_BYTES {
            return Ok(true);
        }
        // A file that cannot be read is not known to be the same.
        let bytes = match self.repo.read_file(path, STREAM_ABOVE_BYTES) {
            Ok(Some(bytes)) => bytes,
            Err(Fault::Interrupted(error)) => return Err(error),
            Ok(None) | Err(_) => return Ok(true),
        };
        if self.repo.hash_blob(&bytes)? == indexed {
            return Ok(false);
        }
        let cleaned = if self.is_left_to_git(path)? { None } else { self.clean(path, &bytes) };
        // Storing the file reports why it cannot be cleaned; a comparison does not fail.
        let stored = cleaned.or_else(|| self.hash_with_git(path, &[]).ok());
        Ok(stored != Some(indexed))
    }

    /// Cleans bytes and hashes the result; `None` when a filter fails.
    fn clean(&mut self, path: &RepoPath, bytes: &[u8]) -> Option<Oid> {
        use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
        let index: &gix::index::State = &self.scan.index;
        let cleaned = self.filters.clean(self.repo, bytes, path.as_path(), index);
        match cleaned.ok()? {
            ToGitOutcome::Unchanged(_) => self.repo.hash_blob(bytes).ok(),
            ToGitOutcome::Buffer(buffer) => self.repo.hash_blob(buffer).ok(),
            ToGitOutcome::Process(mut output) => {
                let mut buffer = Vec::new();
                std::io::Read::read_to_end(&mut output, &mut buffer).ok()?;
                self.repo.hash_blob(&buffer).ok()
            }
        }
    }

    /// Compares raw bytes with the indexed blob: an unedited file is not converted because a new
    /// attribute (an LFS pattern, say) would clean it now.
    fn equals_blob(
        &self,
        entry: &gix::index::Entry,
        metadata: &Metadata,
        path: &RepoPath,
    ) -> Result<bool> {
        let is_file = entry.mode == gix::index::entry::Mode::FILE
            || entry.mode == gix::index::entry::Mode::FILE_EXECUTABLE;
        let id = Oid::from(entry.id);
        if !is_file
            || entry.flags.contains(gix::index::entry::Flags::INTENT_TO_ADD)
            || metadata.len() > STREAM_ABOVE_BYTES
            || self.repo.object_size(id) != Some(metadata.len())
        {
            return Ok(false);
        }
        match self.repo.read_file(path, STREAM_ABOVE_BYTES) {
            Ok(Some(bytes)) => Ok(self.repo.hash_blob(&bytes)? == id),
            Err(Fault::Unreadable(e)) => Err(Error::io(format!("cannot read '{path}'"), e)),
            Err(Fault::Interrupted(error)) => Err(error),
            // The file has been replaced meanwhile.
            Ok(None) | Err(_) => Ok(false),
        }
    }

    /// Returns the mode that git would record on a file system without modes or symlinks.
    fn kind(
        &self,
        on_disk: EntryKind,
        metadata: &Metadata,
        indexed: Option<&gix::index::Entry>,
    ) -> EntryKind {
        use std::os::unix::fs::PermissionsExt as _;
        let indexed = indexed.and_then(|entry| entry.mode.to_tree_entry_mode()).map(|m| m.kind());
        match on_disk {
            EntryKind::Blob | EntryKind::BlobExecutable => match indexed {
                Some(EntryKind::Link) if !self.has_symlinks => EntryKind::Link,
                Some(kind @ (EntryKind::Blob | EntryKind::BlobExecutable))
                    if !self.keeps_executable_bit =>
                {
                    kind
                }
                _ if !self.keeps_executable_bit => EntryKind::Blob,
                _ if metadata.permissions().mode() & 0o100 != 0 => EntryKind::BlobExecutable,
                _ => EntryKind::Blob,
            },
            other => other,
        }
    }

    fn store_with_git(
        &self,
        path: &RepoPath,
        metadata: Metadata,
        indexed: Option<&gix::index::Entry>,
    ) -> Result<Written> {
        let id = match self.repo.writes() {
            ObjectWrites::Durable => self.hash_with_git(path, &["-w"])?,
            ObjectWrites::InMemory => {
                let git = |git: &mut Git| read_id(path, git);
                self.repo.store_in_memory(self.world, path, git)?
            }
        };
        let kind = self.kind(EntryKind::Blob, &metadata, indexed);
        let entry = TreeEntry { kind, id };
        Ok(Written::File(Box::new(WorktreeFile { entry, metadata })))
    }

    /// Lets git clean and hash a file, in a stream.
    fn hash_with_git(&self, path: &RepoPath, options: &[&str]) -> Result<Oid> {
        let mut git = self.repo.git(self.world);
        self.repo.direct_large_files(&mut git);
        git.arg("hash-object").args(options).arg("--").arg(path.as_path());
        read_id(path, &mut git)
    }

    /// Returns `true` if only git converts the file as git does.
    fn is_left_to_git(&mut self, path: &RepoPath) -> Result<bool> {
        Ok(left_to_git(&mut self.attributes, path)?.is_some())
    }
}

/// Has git compute the blob id of a file.
fn read_id(path: &RepoPath, git: &mut Git) -> Result<Oid> {
    let output = git.run()?;
    let hex = String::from_utf8_lossy(&output.stdout);
    let id = Oid::parse(hex.trim()).filter(|_| output.success());
    id.ok_or_else(|| {
        let said = output.stderr.lines().last().unwrap_or_default().to_owned();
        Error::new(Code::FilterFailed, format!("cannot store '{path}': {said}"))
            .hint("fix the file or its filter, or add it to .gitignore")
    })
}

/// A conversion in which gix differs from git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::git) enum LeftToGit {
    /// `working-tree-encoding`: gix follows the tables of the web, which never write UTF-16.
    Encoding,
    /// `ident`: gix leaves out a space, and does not replace ids that are there.
    Ident,
}

impl LeftToGit {
    /// The attributes.
    pub(in crate::git) const ATTRIBUTES: [&str; 2] = ["working-tree-encoding", "ident"];
}

/// Returns the conversion of a path that only git does as git does, if it has one.
pub(in crate::git) fn left_to_git(
    attributes: &mut gix::AttributeStack<'_>,
    path: &RepoPath,
) -> Result<Option<LeftToGit>> {
    use gix::attrs::StateRef;
    let mut outcome = attributes.selected_attribute_matches(LeftToGit::ATTRIBUTES);
    let name = BStr::new(path.as_bytes());
    let platform = attributes
        .at_entry(name, Some(gix::index::entry::Mode::FILE))
        .or_code(Code::Io, || format!("cannot read the attributes of '{path}'"))?;
    platform.matching_attributes(&mut outcome);
    let [encoding, ident] = LeftToGit::ATTRIBUTES;
    let has = |attribute: &str, counts: fn(StateRef<'_>) -> bool| {
        let mut matches = outcome.iter_selected().map(|outcome| outcome.assignment);
        matches.any(|assignment| assignment.name.as_str() == attribute && counts(assignment.state))
    };
    Ok(if has(encoding, |state| matches!(state, StateRef::Value(_))) {
        Some(LeftToGit::Encoding)
    } else {
        has(ident, |state| state == StateRef::Set).then_some(LeftToGit::Ident)
    })
}

/// Reads the metadata of a path; `None` if it does not exist, or only behind a symlink.
pub(in crate::git) fn metadata_without_links(
    repo: &Repo,
    path: &RepoPath,
) -> Result<Option<Metadata>> {
    for parent in path.ancestors() {
        match std::fs::symlink_metadata(parent.under(repo.workdir())) {
            Ok(metadata) if metadata.is_dir() => {}
            Err(e) if !is_gone(&e) => return Err(Error::io(format!("cannot read '{path}'"), e)),
            _ => return Ok(None),
        }
    }
    match std::fs::symlink_metadata(path.under(repo.workdir())) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e) if is_gone(&e) => Ok(None),
        Err(e) => Err(Error::io(format!("cannot read '{path}'"), e)),
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}
