//! The directories in which a change concerns a working tree.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::design::uncommitted::WorktreeStat;
use crate::model::{RepoPath, Result};
use crate::store::Session;

/// Returns the directories of tracked files and of those that `worktree` has, and those of git that change with HEAD
/// and the index. Without `worktree`, also all others in which a new file would count: whichever are created later have
/// events.
pub(super) fn directories(
    session: &Session,
    worktree: Option<&WorktreeStat>,
) -> Result<BTreeSet<PathBuf>> {
    let repo = &session.repo;
    let tracked = repo.paths_of_index()?;
    let mut below: BTreeSet<RepoPath> = BTreeSet::new();
    for path in tracked.iter().chain(worktree.into_iter().flat_map(WorktreeStat::files)) {
        let mut next = path.parent();
        while let Some(directory) = next {
            next = directory.parent();
            if !below.insert(directory) {
                break;
            }
        }
    }
    let mut all: BTreeSet<PathBuf> = below.iter().map(|path| path.under(repo.workdir())).collect();
    if worktree.is_none() {
        let listed = repo.listed_directories()?;
        all.extend(listed.iter().map(|path| path.under(repo.workdir())));
    }
    all.insert(repo.workdir().to_owned());
    all.insert(repo.git_dir().to_owned());
    Ok(all)
}
