//! A resolved row, with nothing left to inherit or to look up.

use std::path::PathBuf;

use crate::git::Oid;
use crate::model::{Code, Error, RepoPath, Result};
use crate::source::selection::Selection;
use crate::store::settings::SourceCommand;
use crate::text::chunk::ChunkSize;

use super::row::{SourceKind, SourceRow};

/// The number of tokens that are reserved for the frame of a chunk.
const CHUNK_FRAME: u32 = 160;

/// The repository of a row's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowPlace {
    /// The repository of the map.
    This,
    /// Another one, with its objects at this path.
    Hub(PathBuf),
}

/// The limits of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub records: u32,
    /// Tokens.
    pub tokens: u32,
}

/// The size of chunks of prose, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The target size.
    pub target: u32,
    /// The overlap of two chunks.
    pub overlap: u32,
}

/// A source that a command of the user makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomSource {
    /// The name of its type.
    pub type_name: String,
    /// The command.
    pub command: SourceCommand,
    /// The directory of the row, for the command; its records are at the root.
    pub start_dir: RepoPath,
}

/// A row with nothing left to inherit or to look up.
#[derive(Clone, Debug)]
pub struct ResolvedRow {
    /// The name of the row.
    pub name: String,
    /// Its scope.
    pub scope_id: String,
    /// Its kind.
    pub kind: SourceKind,
    /// How it is made, if the kind is a custom one.
    pub custom: Option<CustomSource>,
    /// The URL of the repository, without credentials; `None` without a remote.
    pub origin_url: Option<String>,
    /// The branch, if any.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Oid,
    /// The tree of its records, if that is not the tree of the commit.
    pub records: Option<Oid>,
    /// The location of its objects.
    pub place: RowPlace,
    /// Its files.
    pub selection: Selection,
    /// The limits of a page.
    pub limits: Limits,
    /// The size of chunks.
    pub chunk: Chunk,
    /// Whether its pages are never evicted.
    pub pinned: bool,
    /// Whether it stays at this commit.
    pub frozen: bool,
}

impl ResolvedRow {
    /// Returns the size of its chunks: at most what a page has room for.
    pub fn chunk_size(&self) -> Result<ChunkSize> {
        let room = self.limits.tokens.saturating_sub(CHUNK_FRAME) as usize;
        let target = (self.chunk.target as usize).min(room);
        let overlap = (self.chunk.overlap as usize).min(target / 2);
        ChunkSize::new(target, overlap).map_err(|_| {
            let message = format!(
                "pages of {} tokens have no room for chunks of prose: raise 'flush_token_budget' of the row",
                self.limits.tokens
            );
            Error::new(Code::MapInvalid, message).hint("git colony map preview")
        })
    }
}

/// The outcome of one row.
#[derive(Debug)]
pub struct RowOutcome {
    /// The row as written.
    pub row: SourceRow,
    /// Its scope.
    pub scope_id: String,
    /// The resolved row, or the reason why it cannot be resolved.
    pub resolved: Result<ResolvedRow>,
}
