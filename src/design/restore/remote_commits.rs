//! The commits that leave a branch and that its remote has. That is a note and never a refusal: moving a branch
//! publishes nothing.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefChange, Repo};
use crate::model::text;

use super::abandoned_commits::MAX_COUNTED;

/// Commits that leave a branch and that its remote has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemoteCommits {
    /// The remote-tracking branch, as in `origin/main`.
    pub branch: String,
    /// Their number (at most 1,000).
    pub count: usize,
    /// Whether they are of the history on the other side of a rewrite, which a pull would join with this one.
    #[serde(skip)]
    pub is_rewritten: bool,
}

impl RemoteCommits {
    /// Finds them for the first moved branch that has some. A deleted branch is not pushed, and history that cannot
    /// be walked is not reported.
    pub(in crate::design) fn find(repo: &Repo, moves: &[RefChange]) -> Option<RemoteCommits> {
        let tracking = repo.remote_branches().ok()?;
        let moved = |change: &RefChange| Some((change.name.clone(), change.old?, change.new?));
        let branches = moves.iter().filter_map(moved);
        for (name, old, new) in branches {
            if !name.as_bytes().starts_with(b"refs/heads/") {
                continue;
            }
            let (name, lost) = (name.short(), commits(repo, old, &[new]));
            for remote_branch in &tracking {
                let full = remote_branch.name.to_string();
                let branch = full.strip_prefix("refs/remotes/").unwrap_or(&full).to_owned();
                let Some(tip) = repo.peel_to_commit(remote_branch.id) else { continue };
                if branch.split_once('/').is_none_or(|(_, short)| short != name) {
                    continue;
                }
                let count = lost.saturating_sub(commits(repo, old, &[new, tip]));
                if count > 0 {
                    return Some(RemoteCommits { branch, count, is_rewritten: false });
                }
            }
        }
        None
    }

    /// Returns the note about them.
    pub fn sentence(&self) -> String {
        let are = if self.count == 1 { "is" } else { "are" };
        let commits = text::count(self.count, "commit");
        let next = if self.is_rewritten {
            "git pull would join both histories"
        } else {
            "the next push is refused; git pull brings them back"
        };
        format!("{commits} {are} on {}: {next}", self.branch)
    }
}

fn commits(repo: &Repo, tip: Oid, hidden: &[Oid]) -> usize {
    repo.commits_between(tip, hidden, MAX_COUNTED).map_or(0, |all| all.len())
}
