//! What an operation is going to change, before it changes anything.

use crate::git::index::Index;
use crate::git::{Head, Oid, RefChange};
use crate::model::Result;
use crate::model::id::OperationId;
use crate::store::Session;

use super::operation_kind::Kind;
use super::operation_record::{FileMoves, IndexTarget};

/// What a command declares about an operation before it runs.
pub struct Intent {
    /// The kind of operation.
    pub kind: Kind,
    /// Whether the index or files may change.
    pub touches: Touches,
}

/// What an operation may change besides refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touches {
    /// Only refs.
    Refs,
    /// The index, and perhaps files.
    Worktree,
}

/// The complete plan of an operation.
pub struct Plan {
    /// A summary for people.
    pub summary: String,
    /// HEAD before.
    pub head: Head,
    /// The refs that move.
    pub refs: Vec<RefChange>,
    /// The index before and its stage 0 tree.
    pub index_before: (Index, Oid),
    /// The new index, if it changes.
    pub index: Option<NewIndex>,
    /// The file moves in the working tree.
    pub files: FileMoves,
    /// A commit of the working tree before.
    pub snapshot: Option<Oid>,
    /// The operation that this one undoes.
    pub inverts: Option<OperationId>,
}

impl Plan {
    /// Plans an operation that moves refs and nothing else, on HEAD and the index as they are.
    pub fn of_refs(session: &Session, summary: String, refs: Vec<RefChange>) -> Result<Plan> {
        let now = session.repo.look_at_index()?;
        Ok(Plan {
            summary,
            head: now.head,
            refs,
            index_before: (now.index, now.tree),
            index: None,
            files: FileMoves::default(),
            snapshot: None,
            inverts: None,
        })
    }
}

/// The index after an operation.
pub struct NewIndex {
    /// How to create it again after a crash.
    pub target: IndexTarget,
    /// The entries; for a kept file only its content.
    pub index: Index,
}
