//! The journal of a migration to git-lfs: what its undo has to know.
//!
//! The journal at `refs/colony-local/migration` moves with the operation, so an undo takes it back. It never
//! leaves the repository.

use serde::{Deserialize, Serialize};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::record_format;
use crate::store::refs::ref_names;

use super::{FORMAT, pretty};

const JOURNAL: &str = "journal.json";

/// The facts about the migration in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The format of the journal.
    pub format: u32,
    /// The worktree whose operation log has the operation.
    pub worktree: WorktreeKey,
    /// The operation.
    pub op: OperationId,
    /// The patterns of the files that moved to git-lfs.
    pub patterns: Vec<String>,
    /// The number of rewritten commits.
    pub commits: usize,
    /// Whether the migration set up git-lfs.
    pub set_up: bool,
    /// The number of files in HEAD that moved to git-lfs.
    pub files: usize,
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
