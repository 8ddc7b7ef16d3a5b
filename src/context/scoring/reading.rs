//! One file of a resource, read by the rules of hydration: binary, large and secret files are skipped.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Repo;
use crate::git::lfs::lfs_objects::{Content, LfsObjects};
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::worktree::safe_open::{EntryKind, Fault, FileStat, FilesBelow};
use crate::model::interrupt::Interrupt;
use crate::model::{RepoPath, Result};

use super::binary_names::is_binary;

/// The maximum size of a file, in bytes: one of exactly that size is read.
pub const MAX_FILE_BYTES: u64 = 262_144;

/// The maximum size of all files of a project, in bytes.
pub const MAX_PROJECT_BYTES: u64 = 10_485_760;

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its name ends like that of a file that is not text, or it has a zero byte.
    Binary,
    /// It has more than 262,144 bytes.
    TooLarge,
    /// With it the files of the project would have more than 10,485,760 bytes: here the listing stops.
    ProjectFull,
    /// It is not UTF-8.
    NotUtf8,
    /// It looks like a secret; `--allow-secret PATH` reads it.
    Secret,
    /// Its content is in git-lfs, and not here.
    LfsMissing,
    /// git tracks it, and it does not exist.
    Missing,
    /// An ignore file of a repository of the catalog hides it.
    Hidden,
    /// It is a symlink, or behind one.
    Link,
    /// It is a submodule or another repository.
    Submodule,
    /// It is a pipe, a socket or a device.
    NotAFile,
    /// It cannot be read.
    Unreadable,
    /// The location of the resource does not exist.
    NoLocation,
}

impl SkipReason {
    /// Returns the text for people.
    pub fn as_str(self) -> &'static str {
        match self {
            SkipReason::Binary => "binary",
            SkipReason::TooLarge => "more than 256 KiB",
            SkipReason::ProjectFull => "the project has more than 10 MiB",
            SkipReason::NotUtf8 => "not UTF-8",
            SkipReason::Secret => "looks like a secret",
            SkipReason::LfsMissing => "its git-lfs content is not here",
            SkipReason::Missing => "missing",
            SkipReason::Hidden => "hidden by an ignore file",
            SkipReason::Link => "a symlink, or behind one",
            SkipReason::Submodule => "a submodule or another repository",
            SkipReason::NotAFile => "no plain file",
            SkipReason::Unreadable => "unreadable",
            SkipReason::NoLocation => "its location does not exist",
        }
    }
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct ReadFile {
    /// Its text.
    pub text: String,
    /// The id of the blob with the bytes of the file: of the pointer, where git-lfs has the text.
    pub hash: String,
    /// The time of its last change, in nanoseconds since 1970.
    pub modified: i64,
    /// What the system says of the file that has the text; `None` where the text is elsewhere.
    pub stat: Option<FileStat>,
}

/// The result of reading a file.
#[derive(Clone, Debug)]
pub enum FileReading {
    /// It was read.
    Read(ReadFile),
    /// It was not.
    Skipped(SkipReason),
}

/// Reads files by the rules.
pub struct FileReader<'a> {
    /// Checked while files are read.
    pub interrupt: &'a Interrupt,
    /// The repository, which hashes blobs and has the files of git-lfs.
    pub repo: &'a Repo,
    /// Returns `true` for a file that looks like a secret.
    pub is_secret: &'a dyn Fn(&RepoPath, &[u8]) -> bool,
}

impl FileReader<'_> {
    /// Reads a file; `room_bytes` is what the files of its project may still have.
    pub fn read(
        &self,
        files: &FilesBelow,
        path: &RepoPath,
        room_bytes: u64,
    ) -> Result<FileReading> {
        if is_binary(path) {
            return Ok(FileReading::Skipped(SkipReason::Binary));
        }
        let stat = match files.stat(path) {
            Ok(Some(stat)) => stat,
            Ok(None) => return Ok(FileReading::Skipped(SkipReason::Missing)),
            Err(fault) => return skipped(fault),
        };
        let other = match stat.kind {
            EntryKind::File => None,
            EntryKind::Symlink => Some(SkipReason::Link),
            EntryKind::Directory => Some(SkipReason::Submodule),
            EntryKind::Other => Some(SkipReason::NotAFile),
        };
        if let Some(reason) = other.or_else(|| too_much(stat.size_bytes, room_bytes)) {
            return Ok(FileReading::Skipped(reason));
        }
        let bytes = match files.read(self.interrupt, path, MAX_FILE_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(FileReading::Skipped(SkipReason::Missing)),
            Err(fault) => return skipped(fault),
        };
        let hash = self.repo.hash_blob(&bytes)?.to_string();
        let (bytes, known_by) = match Pointer::parse(&bytes) {
            None => (bytes, Some(stat)),
            Some(pointer) => match self.large_file(&pointer, room_bytes) {
                Ok(bytes) => (bytes, None),
                Err(reason) => return Ok(FileReading::Skipped(reason)),
            },
        };
        // It may have grown since its size was asked.
        let reason = if let Some(reason) = too_much(bytes.len() as u64, room_bytes) {
            Some(reason)
        } else if bytes.contains(&0) {
            Some(SkipReason::Binary)
        } else {
            (self.is_secret)(path, &bytes).then_some(SkipReason::Secret)
        };
        if let Some(reason) = reason {
            return Ok(FileReading::Skipped(reason));
        }
        Ok(match String::from_utf8(bytes) {
            Err(_) => FileReading::Skipped(SkipReason::NotUtf8),
            Ok(text) => {
                FileReading::Read(ReadFile { text, hash, modified: stat.modified, stat: known_by })
            }
        })
    }

    fn large_file(
        &self,
        pointer: &Pointer,
        room_bytes: u64,
    ) -> std::result::Result<Vec<u8>, SkipReason> {
        if let Some(reason) = too_much(pointer.size_bytes, room_bytes) {
            return Err(reason);
        }
        match LfsObjects::of(self.repo).read(pointer) {
            Content::Here(bytes) => Ok(bytes),
            Content::Missing | Content::Damaged => Err(SkipReason::LfsMissing),
        }
    }
}

fn too_much(bytes: u64, room_bytes: u64) -> Option<SkipReason> {
    if bytes > MAX_FILE_BYTES {
        return Some(SkipReason::TooLarge);
    }
    (bytes > room_bytes).then_some(SkipReason::ProjectFull)
}

fn skipped(fault: Fault) -> Result<FileReading> {
    Ok(FileReading::Skipped(match fault {
        Fault::Interrupted(error) => return Err(error),
        Fault::Link => SkipReason::Link,
        Fault::NoPlainFile => SkipReason::NotAFile,
        Fault::TooLarge(_) => SkipReason::TooLarge,
        Fault::Unreadable(_) => SkipReason::Unreadable,
    }))
}
