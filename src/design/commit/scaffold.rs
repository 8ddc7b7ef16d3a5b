//! Commits given files, and nothing else: other staged or changed files stay as they are.

use crate::design::worktree::{place, refuse_in_progress, tell_late, write_commit};
use crate::git::index::Index;
use crate::git::object::NewCommit;
use crate::git::worktree::scan::Scan;
use crate::git::{Head, Oid, RefChange, TreeEntry};
use crate::model::id::OperationId;
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::files::places::Places;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{Kind, Operation, recover};

/// The form of the bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// As in the working tree: the clean filters are applied.
    Worktree,
    /// As git stores them.
    Stored,
}

/// The files to commit.
pub struct Request {
    /// A short summary of the operation, for people.
    pub summary: String,
    /// The message of the commit.
    pub message: String,
    /// The files with their bytes. A file at one of these paths is moved aside: the caller has made
    /// sure that it may be.
    pub files: Vec<(RepoPath, Vec<u8>)>,
    /// The form of their bytes.
    pub form: FileForm,
}

/// The files that were committed.
pub struct Committed {
    /// The commit.
    pub commit: Oid,
    /// The operation.
    pub op: OperationId,
}

/// Refuses, before anything happens, whatever would stop [`commit_files`].
pub fn check<'a>(
    session: &Session,
    command: &str,
    files: impl IntoIterator<Item = &'a RepoPath>,
) -> Result<()> {
    refuse_in_progress(session, command)?;
    protected_branches::require(session, [&session.repo.head()?.moving_ref()])?;
    session.signatures()?;
    require_directories(session, files)
}

/// Refuses a path that leads through something other than a directory.
pub fn require_directories<'a>(
    session: &Session,
    files: impl IntoIterator<Item = &'a RepoPath>,
) -> Result<()> {
    for path in files {
        for directory in path.ancestors() {
            let standing = std::fs::symlink_metadata(directory.under(session.repo.workdir()));
            if standing.is_ok_and(|metadata| !metadata.is_dir()) {
                return Err(Error::new(
                    Code::PathInTheWay,
                    format!("'{directory}' is not a directory, and '{path}' goes below it"),
                )
                .detail("path", directory));
            }
        }
    }
    Ok(())
}

/// Writes files into the working tree and commits them, and only them, on the current branch.
///
/// `plan` is called under the lock: another process may have done by then part of an earlier plan.
/// Returns `None` if there is nothing to do, and in a dry run.
pub fn commit_files(
    session: &Session,
    kind: Kind,
    plan: impl FnOnce() -> Result<Option<Request>>,
) -> Result<Option<Committed>> {
    let by = session.signatures()?;
    let operation = Operation::begin(session, Intent { kind, touches: Touches::Worktree })?;
    let Some(request) = &plan()? else {
        return Ok(None);
    };
    check(session, kind.as_str(), request.files.iter().map(|(path, _)| path))?;
    let repo = &session.repo;
    let scan = repo.scan(&session.world)?;
    let entries = write_blobs(session, request, scan.head_tree)?;
    let index_tree = repo.write_index_tree(&scan)?;
    let tree = edit(session, scan.head_tree, &entries)?;
    let head = scan.head.commit();
    let commit = write_commit(
        session,
        NewCommit {
            tree,
            parents: head.into_iter().collect(),
            signature: &by.committer,
            message: session.with_trailers(request.message.clone()),
        },
        &by.author,
    )?;
    let before = scan.index();
    let mut after = before.clone();
    after.set_files(&entries);
    let state = repo.write_index_state(&after, edit(session, index_tree, &entries)?)?;
    if operation.is_planned() {
        return Ok(None);
    }
    operation.share_large_files()?;
    let files = place(session, &operation, tree, &entries)?;
    let done = operation.commit(Plan {
        summary: request.summary.clone(),
        head: scan.head.clone(),
        refs: vec![branch_change(&scan.head, commit)],
        index_before: (before, index_tree),
        index: Some(NewIndex { target: IndexTarget::State { state }, index: after }),
        files,
        snapshot: None,
        inverts: None,
    })?;
    tell_late(session, &done.late);
    Ok(Some(Committed { commit, op: done.record.op }))
}

/// Completes or cancels an operation that was left unfinished, so that its files do not count as edits of the user; not
/// in a dry run.
pub fn recover_first(session: &Session, kind: Kind) -> Result<()> {
    let pending = Places::find(&session.repo)?.map(|places| recover::pending(&places));
    if !session.is_dry() && pending.transpose()?.flatten().is_some() {
        commit_files(session, kind, || Ok(None))?;
    }
    Ok(())
}

/// Refuses to change a file that has uncommitted edits: they would be committed, too.
pub fn refuse_uncommitted(session: &Session, scan: &Scan, path: &RepoPath) -> Result<()> {
    let staged = scan.staged.iter().map(|change| &change.path);
    let mut changed = staged.chain(&scan.unstaged).chain(&scan.conflicts);
    let is_committed = session.repo.leaf_in(scan.head_tree, path)?.is_some();
    let is_there = || std::fs::symlink_metadata(path.under(session.repo.workdir())).is_ok();
    let is_untracked = !is_committed && is_there();
    let word = shell_word(&path.to_string());
    if !is_untracked && !changed.any(|changed| changed == path) {
        let (repo, world) = (&session.repo, &session.world);
        if repo.hidden_edits(world, scan, |hidden| hidden == path)?.is_empty() {
            return Ok(());
        }
        let message = format!(
            "cannot change '{path}': it has edits that 'assume-unchanged' or 'skip-worktree' hides from git"
        );
        return Err(Error::new(Code::UncommittedEdits, message)
            .hint(format!(
                "git update-index --no-assume-unchanged {word} && git update-index --no-skip-worktree {word}"
            ))
            .detail("path", path)
            .unchanged());
    }
    let message = format!("cannot change '{path}': it has uncommitted edits");
    Err(Error::new(Code::UncommittedEdits, message)
        .hint(format!("git add -A -- {word} && git commit -m 'Edit {path}' -- {word}"))
        .detail("path", path)
        .unchanged())
}

/// Returns the index as it would become, for checks beforehand. Writes blobs only if objects go to
/// memory.
pub fn preview_index(session: &Session, request: &Request) -> Result<Index> {
    let mut index = session.repo.load_index()?;
    let head_tree = session.repo.tree_of(session.repo.head()?.commit())?;
    index.set_files(&write_blobs(session, request, head_tree)?);
    Ok(index)
}

/// Writes the files. One that HEAD has stays executable.
fn write_blobs(
    session: &Session,
    request: &Request,
    head_tree: Oid,
) -> Result<Vec<(RepoPath, TreeEntry)>> {
    let repo = &session.repo;
    let files = request.files.iter();
    files
        .map(|(path, bytes)| {
            let id = match request.form {
                FileForm::Worktree => repo.write_cleaned(&session.world, path, bytes)?,
                FileForm::Stored => repo.write_blob(bytes)?,
            };
            let known = repo.leaf_in(head_tree, path)?.filter(TreeEntry::is_file);
            let entry = known.map_or(TreeEntry::file(id), |known| known.with(id));
            Ok((path.clone(), entry))
        })
        .collect()
}

fn edit(session: &Session, tree: Oid, entries: &[(RepoPath, TreeEntry)]) -> Result<Oid> {
    let edits = entries.iter().map(|(path, entry)| (path, Some(*entry)));
    session.repo.edit_tree(tree, edits)
}

fn branch_change(head: &Head, commit: Oid) -> RefChange {
    RefChange { name: head.moving_ref(), old: head.commit(), new: Some(commit) }
}
