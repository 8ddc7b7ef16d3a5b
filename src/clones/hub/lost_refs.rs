//! Refs of a repository that were lost, not deleted by git: their published copies stay.
//!
//! git deletes the log of a branch with the branch, so the log of one that is gone tells that another program has deleted
//! its files, as `rm -rf .git/refs` does.

use std::collections::BTreeMap;

use crate::git::refs::reflog::ReflogEntry;
use crate::git::{Head, Oid, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};

/// What a publication must not delete.
pub(super) struct LostRefs {
    any: bool,
    /// The prefixes of branches, tags and records of forks in the hub.
    kinds: [String; 3],
}

impl LostRefs {
    /// Returns `true` for a published ref that may have been lost.
    pub(super) fn keeps(&self, name: &RefName) -> bool {
        let name = name.as_bytes();
        self.any && self.kinds.iter().any(|kind| name.starts_with(kind.as_bytes()))
    }
}

/// Looks for lost branches among those that were published; fails where one has begun again without its history, as a
/// commit does on a lost branch.
pub(super) fn find(
    repo: &Repo,
    published: &BTreeMap<RefName, Oid>,
    wanted: &BTreeMap<RefName, Oid>,
    below: &str,
) -> Result<LostRefs> {
    let kinds = ["heads/", "tags/", "forks/"].map(|kind| format!("{below}{kind}"));
    let mut lost = LostRefs { any: false, kinds };
    let [branches, ..] = &lost.kinds;
    // Where the logs are gone too, a published branch without a commit tells it.
    if let Head::Unborn { name } = repo.head()? {
        let published_as = RefName::from(format!("{branches}{}", name.short()).as_str());
        lost.any = published.contains_key(&published_as);
    }
    for (name, old) in published {
        let Some(branch) = name.as_bytes().strip_prefix(branches.as_bytes()) else {
            continue;
        };
        let branch = RefName::new([b"refs/heads/", branch].concat());
        match wanted.get(name) {
            None => lost.any |= !repo.reflog_of(&branch).is_empty(),
            Some(new) if new != old && has_begun_again(repo, &branch, (*old, *new)) => {
                return Err(begun_again(repo, &branch, *old));
            }
            Some(_) => {}
        }
    }
    Ok(lost)
}

/// Returns `true` if a branch has begun again, as its log says, and has none of its published history. Without a log it
/// may have.
fn has_begun_again(repo: &Repo, branch: &RefName, (old, new): (Oid, Oid)) -> bool {
    let log = repo.reflog_of(branch);
    let is_first = |entry: &ReflogEntry| entry.old.is_none();
    // Another branch that was given the name by 'git branch -M' was meant to take its place.
    let is_renamed = |entry: &ReflogEntry| entry.message.starts_with("Branch: renamed");
    let since = log.iter().rposition(is_first).and_then(|at| log.get(at..));
    let began = log.is_empty() || since.is_some_and(|since| !since.iter().any(is_renamed));
    // Where the old commit is gone too, there is nothing in common.
    began && repo.merge_bases(old, new).map_or(true, |bases| bases.is_empty())
}

fn begun_again(repo: &Repo, branch: &RefName, old: Oid) -> Error {
    let (name, at) = (branch.short(), old.short());
    let root = shell_word(&repo.workdir().to_string_lossy());
    let message = format!("branch '{name}' has lost its commits up to {at}, and has begun again");
    Error::new(Code::RepositoryBroken, message)
        .hint(format!("git -C {root} reset --soft {old}   # your files stay as they are"))
}
