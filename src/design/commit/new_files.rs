//! New files from outside of the repository: what may not be committed is refused before anything is written.

use crate::design::allowed_paths::path_gate;
use crate::design::checkpoint::secret_file_names::{
    SEARCHED_BYTES, contains_secret, is_named_as_secret,
};
use crate::git::TreeEntry;
use crate::git::worktree::safe_path;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

/// Refuses files that look like secrets, whose names git refuses, and whose paths this process may not change.
pub fn check(session: &Session, files: &[(RepoPath, Vec<u8>)]) -> Result<()> {
    let refused = |path: &RepoPath, why: &str| {
        let message = format!("cannot commit '{path}': {why}");
        let error = Error::new(Code::InvalidValue, message).unchanged();
        Err(error.detail("path", path))
    };
    for (path, bytes) in files {
        let name = String::from_utf8_lossy(path.as_bytes());
        if let Some(why) = safe_path::refusal(&name) {
            return refused(path, &format!("its name {why}"));
        }
        let searched = usize::try_from(SEARCHED_BYTES).unwrap_or(usize::MAX);
        let beginning = bytes.get(..searched).unwrap_or(bytes);
        if is_named_as_secret(path) || contains_secret(beginning) {
            return refused(path, "it looks like a secret").map_err(|error| {
                error.hint("move it out of the folder, then run the command again")
            });
        }
    }
    let paths: Vec<RepoPath> = files.iter().map(|(path, _)| path.clone()).collect();
    check_allowed(session, &paths)
}

/// Refuses files whose paths this process may not change.
pub fn check_allowed(session: &Session, paths: &[RepoPath]) -> Result<()> {
    let repo = &session.repo;
    let before = repo.tree_of(repo.head()?.commit())?;
    // Only the paths count.
    let empty = TreeEntry::file(repo.write_blob(b"")?);
    let edits = paths.iter().map(|path| (path, Some(empty)));
    let after = repo.edit_tree(before, edits)?;
    path_gate::require_step(session, before, after)
}
