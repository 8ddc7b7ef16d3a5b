//! Writes one file of the working tree, as a person would with an editor: nothing is staged or committed. It is an
//! operation: the replaced file is moved aside, and undo restores it.

use crate::git::{TreeEntry, plain_file};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation};

use super::commit::scaffold;
use super::worktree::{place, refuse_in_progress, tell_late};

/// The new content of a file.
pub struct FileEdit {
    /// A short summary of the operation, for people.
    pub summary: String,
    /// The file.
    pub path: RepoPath,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Writes a file; returns `None` if there is nothing to do, and in a dry run.
///
/// `plan` is called under the lock: another process may have changed the file since an earlier plan.
pub fn write(
    session: &Session,
    kind: Kind,
    plan: impl FnOnce() -> Result<Option<FileEdit>>,
) -> Result<Option<OperationId>> {
    refuse_in_progress(session, kind.as_str())?;
    let touches = Touches::Worktree;
    let operation = Operation::begin(session, Intent { kind, touches })?;
    refuse_in_progress(session, kind.as_str())?;
    let Some(edit) = plan()? else {
        return Ok(None);
    };
    scaffold::require_directories(session, [&edit.path])?;
    let repo = &session.repo;
    let now = repo.look_at_index()?;
    // The bytes as they are: no filter may change what the user has written.
    let entry = TreeEntry::file(repo.write_blob(&edit.bytes)?);
    let entries = [(edit.path.clone(), entry)];
    let tree = repo.edit_tree(repo.tree_of(None)?, [(&edit.path, Some(entry))])?;
    if operation.is_planned() {
        return Ok(None);
    }
    let files = place(session, &operation, tree, &entries)?;
    let staged = plain_file::read(edit.path.under(&operation.stage()));
    if staged.ok().as_ref() != Some(&edit.bytes) {
        let message = format!("git's settings would change the bytes of '{}'", edit.path);
        return Err(Error::new(Code::FilterFailed, message).unchanged());
    }
    let done = operation.commit(Plan {
        summary: edit.summary,
        head: now.head,
        refs: Vec::new(),
        index_before: (now.index, now.tree),
        index: None,
        files,
        snapshot: None,
        inverts: None,
    })?;
    tell_late(session, &done.late);
    Ok(Some(done.record.op))
}
