//! Commits that leave a branch when it moves: how many, and the newest by subject.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefChange, Repo};
use crate::store::operation::operation_record::HeadRecord;
use crate::store::operation::{Kind, Record};

/// So many are read and told of; the others are counted.
const TOLD: usize = 5;

/// More than this are not counted.
pub(in crate::design) const MOST: usize = 1_000;

/// A commit by what people know it by.
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
    /// The branch, as people see it.
    pub branch: String,
    /// How many they are (at most 1,000).
    pub count: usize,
    /// The newest of them, newest first.
    pub newest: Vec<NamedCommit>,
}

impl LeavingCommits {
    /// Reads the newest of some commits; `None` where there are none.
    pub(in crate::design) fn of(
        repo: &Repo,
        branch: String,
        all: &[Oid],
    ) -> Option<LeavingCommits> {
        let newest = all.iter().take(TOLD).map(|sha| NamedCommit {
            sha: *sha,
            subject: subject(repo, *sha),
        });
        (!all.is_empty()).then(|| LeavingCommits {
            branch,
            count: all.len(),
            newest: newest.collect(),
        })
    }
}

/// Lists what leaves the branches that an undo or redo of an operation moves. A migration moves all of them to
/// another history: nothing leaves by that. History that cannot be walked is not told of, since that stops no undo.
pub(in crate::design) fn by_moves(
    repo: &Repo,
    (origin, head_after): (&Record, &HeadRecord),
    moves: &[RefChange],
) -> Vec<LeavingCommits> {
    let mut found = Vec::new();
    let branches = moves.iter().filter(|change| {
        origin.kind != Kind::LfsMigrate && change.name.as_bytes().starts_with(b"refs/heads/")
    });
    for change in branches {
        let Some(tip) = change.old else { continue };
        // Of a branch that goes as a whole, what HEAD has then does not leave.
        let staying: Vec<Oid> = change.new.or(head_after.commit).into_iter().collect();
        let all = repo
            .commits_between(tip, &staying, MOST)
            .unwrap_or_default();
        found.extend(LeavingCommits::of(repo, change.name.short(), &all));
    }
    found
}

/// Returns the first line of a message; nothing of a commit that cannot be read.
fn subject(repo: &Repo, commit: Oid) -> String {
    let past = repo.read_past(commit);
    past.map_or_else(|_| String::new(), |past| past.subject().to_owned())
}
