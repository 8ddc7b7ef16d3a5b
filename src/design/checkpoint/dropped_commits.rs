//! The commits that prune makes unreachable: branches and tags once pointed to them, and nothing
//! keeps them once the operations are deleted.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::history::reachable_only::Keeping;
use crate::git::{Oid, RefName};
use crate::model::Result;
use crate::store::Session;
use crate::store::operation::LogEntry;
use crate::store::refs::ref_names;

/// A commit that git may delete afterward.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DroppedCommit {
    /// The commit.
    pub sha: Oid,
    /// The first line of its message.
    pub subject: String,
}

/// These commits.
#[derive(Clone, Debug, Default)]
pub struct DroppedCommits {
    /// The newest of them.
    pub named: Vec<DroppedCommit>,
    /// Their number.
    pub count: usize,
}

/// The maximum number of commits that are named.
const MAX_NAMED: usize = 20;

/// The refs that prune may delete.
const PRUNED: [&str; 3] = [ref_names::OPERATIONS, ref_names::BACKUPS, ref_names::AUTOMATIC];

/// Finds the commits that nothing keeps once the operations and `refs` are deleted.
pub fn find(
    session: &Session,
    operations: &[&LogEntry],
    refs: &[(RefName, Oid)],
) -> Result<DroppedCommits> {
    let repo = &session.repo;
    let commits = left_by_refs(session, operations);
    let named =
        operations.iter().map(|entry| ref_names::operation(&entry.worktree, entry.record.op));
    let mut gone: BTreeSet<RefName> = named.collect();
    gone.extend(refs.iter().map(|(name, _)| name.clone()));
    let mut also = Vec::new();
    for prefix in PRUNED {
        let refs = repo.refs_below(prefix)?.into_iter();
        also.extend(
            refs.filter(|reference| !gone.contains(&reference.name)).map(|reference| reference.id),
        );
    }
    let keeping = Keeping { except_below: &PRUNED, also: &also };
    let dropped = repo.kept_by_nothing(&session.world, &commits, keeping)?;
    let named = dropped.iter().take(MAX_NAMED).map(|&sha| {
        let subject = repo.read_commit(sha)?.subject;
        Ok(DroppedCommit { sha, subject })
    });
    Ok(DroppedCommits { named: named.collect::<Result<_>>()?, count: dropped.len() })
}

/// Lists the commits that branches, tags and HEAD moved from or to, each once.
fn left_by_refs(session: &Session, operations: &[&LogEntry]) -> Vec<Oid> {
    let is_of_user = |name: &RefName| {
        let name = name.as_bytes();
        name == b"HEAD" || name.starts_with(b"refs/heads/") || name.starts_with(b"refs/tags/")
    };
    let moves = operations
        .iter()
        .flat_map(|entry| &entry.record.refs)
        .filter(|change| is_of_user(&change.name));
    let ids: BTreeSet<Oid> = moves.flat_map(|change| [change.old, change.new]).flatten().collect();
    let commits = ids.into_iter().filter_map(|id| session.repo.peel_to_commit(id));
    commits.collect::<BTreeSet<_>>().into_iter().collect()
}
