//! How far a migration to git-lfs got.
//!
//! The journal at `refs/colony-local/migration` says what the remote had before anything was done, so that
//! a push moves nothing that somebody else has moved since. It never leaves the repository.

use serde::{Deserialize, Serialize};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};
use crate::store::refs::ref_names;

use super::{FORMAT, pretty};

const JOURNAL: &str = "journal.json";

/// How far a migration got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The format of the journal.
    pub format: u32,
    /// The worktree whose log has the operation.
    pub worktree: WorktreeKey,
    /// The operation.
    pub op: OperationId,
    /// The remote that is to get it; `None` where there was none.
    pub remote: Option<String>,
    /// What that remote had before anything was done.
    pub remote_refs: Vec<RemoteRef>,
    /// The patterns whose files git-lfs got.
    pub patterns: Vec<String>,
    /// How many commits are others now.
    pub commits: usize,
    /// Whether git-lfs was set up for it.
    #[serde(default)]
    pub set_up: bool,
    /// Whether it is one that another checkout has made, and that is for that one to publish.
    #[serde(default)]
    pub is_followed: bool,
    /// How many files of HEAD went to git-lfs.
    #[serde(default)]
    pub files: usize,
    /// When the remote had all of it, RFC 3339 UTC.
    #[serde(default)]
    pub published_at: Option<String>,
}

/// A ref of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRef {
    /// Its full name.
    pub name: RefName,
    /// What it held.
    pub id: Oid,
}

impl Journal {
    /// Writes it as a commit that no ref points to yet.
    ///
    /// # Errors
    /// `no-space`, `io`.
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

    /// Reads the journal of this repository with its commit; `None` where nothing was migrated.
    ///
    /// # Errors
    /// `newer-format`, `repository-broken`, `object-missing`.
    pub fn find(repo: &Repo) -> Result<Option<(Journal, Oid)>> {
        let Some(commit) = repo.find_ref(&RefName::from(ref_names::MIGRATION_JOURNAL))? else {
            return Ok(None);
        };
        let broken = || "cannot read the journal of the migration".to_owned();
        let tree = repo.tree_of(Some(commit))?;
        let blob = repo.entry_in(tree, JOURNAL)?;
        let blob = blob.ok_or_else(|| crate::git::object::not_a_record(commit))?;
        let value: serde_json::Value = serde_json::from_slice(&repo.read_blob(blob)?)
            .or_code(Code::RepositoryBroken, broken)?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        if format > Some(u64::from(FORMAT)) {
            return Err(Error::new(
                Code::NewerFormat,
                "a newer git-colony began the migration to git-lfs",
            )
            .hint("finish it with the version that began it"));
        }
        let journal = serde_json::from_value(value).or_code(Code::RepositoryBroken, broken)?;
        Ok(Some((journal, commit)))
    }

    /// Returns the format that this version writes.
    pub fn format() -> u32 {
        FORMAT
    }
}
