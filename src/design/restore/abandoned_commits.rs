//! Commits that leave a branch when it moves: their number, and the newest by subject.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefChange, Repo};
use crate::store::operation::operation_record::HeadRecord;
use crate::store::operation::{Kind, Record};

/// The maximum number of commits that are read and named; the others are only counted.
const MAX_NAMED: usize = 5;

/// The maximum number of commits that are counted.
pub(in crate::design) const MAX_COUNTED: usize = 1_000;

/// A commit with its subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NamedCommit {
    /// The commit.
    pub sha: Oid,
    /// The first line of its message.
    pub subject: String,
}

/// The commits that leave a branch; the operation keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeavingCommits {
    /// The branch, by its short name.
    pub branch: String,
    /// Their number (at most 1,000).
    pub count: usize,
    /// The newest of them, newest first.
    pub newest: Vec<NamedCommit>,
}

impl LeavingCommits {
    /// Reads the newest of some commits; `None` if there are none.
    pub(in crate::design) fn of(
        repo: &Repo,
        branch: String,
        all: &[Oid],
    ) -> Option<LeavingCommits> {
        let newest = all
            .iter()
            .take(MAX_NAMED)
            .map(|sha| NamedCommit { sha: *sha, subject: subject(repo, *sha) });
        (!all.is_empty()).then(|| LeavingCommits {
            branch,
            count: all.len(),
            newest: newest.collect(),
        })
    }
}

/// Lists the commits that leave the branches that an undo or redo of an operation moves. A
/// migration moves all branches to another history, so no commit leaves. History that cannot be
/// walked is not reported, since it does not stop an undo.
pub(in crate::design) fn by_moves(
    repo: &Repo,
    origin: &Record,
    head_after: &HeadRecord,
    moves: &[RefChange],
) -> Vec<LeavingCommits> {
    let mut leaving = Vec::new();
    let branches = moves.iter().filter(|change| {
        origin.kind != Kind::LfsMigrate && change.name.as_bytes().starts_with(b"refs/heads/")
    });
    for change in branches {
        let Some(tip) = change.old else { continue };
        // If a whole branch is deleted, the commits of HEAD afterward do not leave.
        let staying: Vec<Oid> = change.new.or(head_after.commit).into_iter().collect();
        let all = repo.commits_between(tip, &staying, MAX_COUNTED).unwrap_or_default();
        leaving.extend(LeavingCommits::of(repo, change.name.short(), &all));
    }
    leaving
}

/// Returns the first line of a message; an empty text for an unreadable commit.
fn subject(repo: &Repo, commit: Oid) -> String {
    let past = repo.read_past(commit);
    past.map_or_else(|_| String::new(), |past| past.subject().to_owned())
}
