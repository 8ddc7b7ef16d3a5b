//! A checkpoint does not take in a home directory by accident: a limit for new files.

use crate::git::worktree::scan::{Scan, UntrackedKind};
use crate::model::{Code, Error, Result};
use crate::store::Session;

/// Refuses new files that are more than `colony.maxNewFiles`, or that `status.showUntrackedFiles=no` hides, as where
/// `$HOME` is a working tree.
pub(in crate::design) fn require(session: &Session, scan: &Scan) -> Result<()> {
    let is_file = |kind| matches!(kind, UntrackedKind::File);
    let files = scan.untracked.iter().filter(|found| is_file(found.kind)).count();
    let shown = session.repo.config("status.showUntrackedFiles");
    let is_hidden = shown.is_some_and(|value| ["no", "false"].contains(&value.as_str()));
    let limit = session.settings.max_new_files;
    if files == 0 || files as u64 <= limit && !is_hidden {
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
        .hint("git colony checkpoint --all-untracked   # or list them in .gitignore"))
}
