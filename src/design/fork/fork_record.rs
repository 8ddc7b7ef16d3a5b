//! The record of a fork: where it was created, by whom, when.
//!
//! A record is a commit at `refs/colony/forks/<label>` whose tree holds `fork.json`; its parent is
//! the commit the fork was created at, so that this commit stays whatever happens to the branch. If
//! two repositories have changed the record, a commit on both has the one that counts as
//! `fork.json` and the other as `superseded/<blob>.json`; every repository makes the very same
//! commit.

use serde::{Deserialize, Serialize};

use crate::git::object::{self, NewCommit};
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _};
use crate::store::record_format;
use crate::store::refs::{ref_names, superseded};

/// The format that this version reads and writes.
pub const FORMAT: u32 = 1;

/// The file of a record.
const FILE: &str = "fork.json";

/// A longer file is not a record.
const MAX_BYTES: u64 = 1 << 20;

/// The record of one fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkRecord {
    /// The format of the record.
    pub format: u32,
    /// The label, without `fork/`.
    pub label: String,
    /// The commit it was created at.
    pub base: Oid,
    /// The branch it was created from, without `refs/heads/`; `None` if HEAD was detached.
    pub base_branch: Option<String>,
    /// Who created it, `name <email>`.
    pub owner: String,
    /// When it was created, RFC 3339 UTC.
    pub created_at: String,
    /// When the record was last changed, RFC 3339 UTC.
    pub updated_at: String,
}

impl ForkRecord {
    /// Makes the record of a fork that is created now.
    pub(in crate::design) fn new(
        label: &str,
        base: Oid,
        base_branch: Option<String>,
        who: &Signature,
        now: String,
    ) -> ForkRecord {
        ForkRecord {
            format: FORMAT,
            label: label.to_owned(),
            base,
            base_branch,
            owner: format!("{} <{}>", who.name, who.email),
            created_at: now.clone(),
            updated_at: now,
        }
    }

    /// Writes it as an unreferenced commit.
    pub(in crate::design) fn write(&self, repo: &Repo, who: &Signature) -> Result<Oid> {
        let mut json = serde_json::to_vec_pretty(self)
            .or_code(Code::Io, || "cannot write the record of a fork")?;
        json.push(b'\n');
        let path = RepoPath::from(FILE);
        let entry = TreeEntry::file(repo.write_blob(&json)?);
        let tree = repo.edit_tree(repo.empty_tree(), [(&path, Some(entry))])?;
        repo.write_commit(NewCommit {
            tree,
            parents: vec![self.base],
            signature: who,
            message: format!("fork {}", self.label),
        })
    }

    /// Reads the record of a fork; `None` if there is none. The label is that of the ref, whatever
    /// the record contains.
    pub fn find(repo: &Repo, label: &str) -> Result<Option<ForkRecord>> {
        ForkRecord::find_at(repo, &ref_names::fork_record(label), label)
    }

    /// Reads the record that a ref holds.
    pub(in crate::design) fn find_at(
        repo: &Repo,
        name: &RefName,
        label: &str,
    ) -> Result<Option<ForkRecord>> {
        let Some(commit) = repo.find_ref(name)? else {
            return Ok(None);
        };
        ForkRecord::read(repo, commit, label).map(|(record, _)| Some(record))
    }

    /// Reads a record from its commit, and returns the blob that holds it, too.
    pub fn read(repo: &Repo, commit: Oid, label: &str) -> Result<(ForkRecord, Oid)> {
        let tree = repo.read_commit(commit)?.tree;
        let Some(blob) = repo.entry_in(tree, FILE)? else {
            return Err(object::not_a_record(commit));
        };
        if repo.object_size(blob).is_some_and(|size| size > MAX_BYTES) {
            return Err(object::not_a_record(commit));
        }
        let record: ForkRecord = record_format::parse(
            &repo.read_blob(blob)?,
            FORMAT,
            |_| format!("the record of fork '{label}' was written by a newer git-colony"),
            || format!("cannot read the record of fork '{label}'"),
        )?;
        let label = label.to_owned();
        Ok((ForkRecord { label, ..record }, blob))
    }
}

/// Joins two records: the first counts, the second stays beside it.
///
/// The commit has no author, place or time of its own, so that each repository makes the same one.
pub fn join(repo: &Repo, label: &str, counts: Oid, lost: Oid) -> Result<Oid> {
    let (kept, other) = (repo.read_commit(counts)?, repo.read_commit(lost)?);
    let lost_blob = ForkRecord::read(repo, lost, label)?.1;
    let mut beside = superseded::beside(repo, kept.tree)?;
    beside.extend(superseded::beside(repo, other.tree)?);
    beside.insert(lost_blob);
    let seconds = kept.committer.seconds.max(other.committer.seconds);
    repo.write_commit(NewCommit {
        tree: superseded::write(repo, kept.tree, &beside)?,
        parents: vec![counts, lost],
        signature: &Signature {
            name: "git-colony".to_owned(),
            email: "git-colony@localhost".to_owned(),
            seconds,
            offset_seconds: 0,
        },
        message: format!("fork {label}"),
    })
}

/// Finds the record of a fork; for one that git has renamed, under its old name.
///
/// An unreadable record counts as absent: the branch matters more than its record.
pub(in crate::design) fn of_branch(repo: &Repo, label: &str) -> Option<ForkRecord> {
    if let Ok(Some(record)) = ForkRecord::find(repo, label) {
        return Some(record);
    }
    let old = renamed_from(repo, label)?;
    let stands = repo.find_ref(&ref_names::fork_branch(&old)).ok()?.is_some();
    if stands {
        return None;
    }
    ForkRecord::find(repo, &old).ok().flatten()
}

/// Finds in the reflog of a fork the fork from which `git branch -m` made it.
fn renamed_from(repo: &Repo, label: &str) -> Option<String> {
    let branch = ref_names::fork_branch(label);
    let to = format!(" to {branch}");
    let messages = repo.reflog_messages(&branch);
    messages.into_iter().rev().find_map(|message| {
        let names = message.strip_prefix("Branch: renamed ")?;
        let from = names.strip_suffix(&to)?;
        from.strip_prefix(ref_names::FORKS).map(str::to_owned)
    })
}

/// Returns the ref of the record of a fork, under its old name if git has renamed it.
pub(in crate::design) fn ref_of(repo: &Repo, label: &str) -> Option<(RefName, Oid)> {
    let own = ref_names::fork_record(label);
    if let Ok(Some(id)) = repo.find_ref(&own) {
        return Some((own, id));
    }
    let record = of_branch(repo, label)?;
    drop(record);
    let old = ref_names::fork_record(&renamed_from(repo, label)?);
    let id = repo.find_ref(&old).ok()??;
    Some((old, id))
}
