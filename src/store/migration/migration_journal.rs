//! The journal of a migration to git-lfs: its progress.
//!
//! The journal at `refs/colony-local/migration` records what the remote had before the migration, so that a
//! push moves nothing that another user has moved since. It never leaves the repository.

use serde::{Deserialize, Serialize};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::record_format;
use crate::store::refs::ref_names;

use super::{FORMAT, pretty};

const JOURNAL: &str = "journal.json";

/// The progress of a migration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The format of the journal.
    pub format: u32,
    /// The worktree whose operation log has the operation.
    pub worktree: WorktreeKey,
    /// The operation.
    pub op: OperationId,
    /// The remote to publish to; `None` where there was none.
    pub remote: Option<String>,
    /// The refs of that remote before the migration.
    pub remote_refs: Vec<RemoteRef>,
    /// The patterns of the files that moved to git-lfs.
    pub patterns: Vec<String>,
    /// The number of rewritten commits.
    pub commits: usize,
    /// Whether the migration set up git-lfs.
    pub set_up: bool,
    /// Whether another checkout made the migration and will publish it.
    pub is_followed: bool,
    /// The number of files in HEAD that moved to git-lfs.
    pub files: usize,
    /// The time when the remote had all of it, RFC 3339 UTC.
    pub published_at: Option<String>,
}

/// A ref of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRef {
    /// Its full name.
    pub name: RefName,
    /// The id it had.
    pub id: Oid,
}

impl Journal {
    /// Writes the journal as a commit that no ref points to yet.
    pub fn write(&self, repo: &Repo, who: &Signature) -> Result<Oid> {
        let json = pretty(self, "cannot write the journal of a migration")?;
        let path = RepoPath::from(JOURNAL);
        let entry = TreeEntry::file(repo.write_blob(&json)?);
        repo.write_commit(NewCommit {
            tree: repo.edit_tree(repo.empty_tree(), [(&path, Some(entry))])?,
            parents: Vec::new(),
            signature: who,
            message: format!("lfs migrate: {}", self.op),
        })
    }

    /// Reads the journal of this repository with its commit; `None` without a migration.
    pub fn find(repo: &Repo) -> Result<Option<(Journal, Oid)>> {
        let Some(commit) = repo.find_ref(&RefName::from(ref_names::MIGRATION_JOURNAL))? else {
            return Ok(None);
        };
        let tree = repo.tree_of(Some(commit))?;
        let blob = repo
            .entry_in(tree, JOURNAL)?
            .ok_or_else(|| crate::git::object::not_a_record(commit))?;
        let journal = record_format::parse(
            &repo.read_blob(blob)?,
            FORMAT,
            |_| "a newer git-colony started the migration to git-lfs".to_owned(),
            || "cannot read the journal of the migration".to_owned(),
        );
        let with_way_out = |error: Error| match error.code() {
            Code::NewerFormat => error.hint("finish it with the version that started it"),
            _ => error,
        };
        Ok(Some((journal.map_err(with_way_out)?, commit)))
    }

    /// Returns the format that this version writes.
    pub fn format() -> u32 {
        FORMAT
    }
}
