//! How many new files a command may keep, so that no home directory is committed by accident.

use crate::git::worktree::scan::{Untracked, UntrackedKind};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

/// Refuses new files that are more than `colony.maxNewFiles`, or that `status.showUntrackedFiles=no` hides, as where
/// `$HOME` is a working tree. A file that is named itself does not count, and below a named directory none is hidden.
pub(in crate::design) fn require(
    session: &Session,
    untracked: &[Untracked],
    named: &[RepoPath],
) -> Result<()> {
    let counts =
        |file: &&Untracked| matches!(file.kind, UntrackedKind::File) && !named.contains(&file.path);
    let new_files: Vec<_> = untracked.iter().filter(counts).collect();
    let files = new_files.len();
    let shown = session.repo.config("status.showUntrackedFiles");
    let hides = shown.is_some_and(|value| ["no", "false"].contains(&value.as_str()));
    let is_below = |path: &RepoPath| {
        let mut directories = named.iter().filter(|directory| !directory.as_bytes().is_empty());
        directories.any(|directory| path.is_at_or_below(directory))
    };
    let is_hidden = hides && new_files.iter().any(|file| !is_below(&file.path));
    let limit = session.settings.max_new_files;
    if files as u64 <= limit && !is_hidden {
        return Ok(());
    }
    let why = if is_hidden {
        "hidden by status.showUntrackedFiles".to_owned()
    } else {
        format!("more than {limit} (colony.maxNewFiles)")
    };
    Err(Error::new(Code::TooManyNewFiles, format!("it would commit new files: {files}, {why}"))
        .unchanged()
        .detail("new_files", files)
        .hint("run it again with --all-untracked, or list the files in .gitignore"))
}
