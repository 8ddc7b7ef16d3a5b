//! What a row stands for, with nothing left to inherit or to look up.

use std::path::PathBuf;

use crate::git::Oid;
use crate::model::Result;
use crate::source::selection::Selection;

use super::row::{SourceKind, SourceRow};

/// Where the files of a row are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowPlace {
    /// In the repository whose map it is.
    This,
    /// In another, whose objects are at this path.
    Hub(PathBuf),
}

/// The most that a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Records.
    pub records: u32,
    /// Tokens.
    pub tokens: u32,
}

/// How prose is cut, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What a piece aims at.
    pub target: u32,
    /// What two pieces share.
    pub overlap: u32,
}

/// A row with nothing left to inherit or to look up.
#[derive(Clone, Debug)]
pub struct ResolvedRow {
    /// The name of the row.
    pub name: String,
    /// The scope that it becomes.
    pub scope_id: String,
    /// What it is.
    pub kind: SourceKind,
    /// Where the repository comes from, without credentials; `None` where it has no remote.
    pub origin_url: Option<String>,
    /// The branch; `None` where there is none to speak of.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Oid,
    /// Where its objects are.
    pub place: RowPlace,
    /// Which files it takes.
    pub selection: Selection,
    /// The most that a page holds.
    pub limits: Limits,
    /// How prose is cut.
    pub chunk: Chunk,
    /// Whether its pages are never evicted.
    pub pinned: bool,
    /// Whether it stays at this commit.
    pub frozen: bool,
}

/// What became of one row.
#[derive(Debug)]
pub struct RowOutcome {
    /// The row, as it is written.
    pub row: SourceRow,
    /// The scope that it is.
    pub scope_id: String,
    /// What it stands for, or why that cannot be said.
    pub resolved: Result<ResolvedRow>,
}
