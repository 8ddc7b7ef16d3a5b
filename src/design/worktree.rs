//! Shared by restore and undo: git's operations in progress, the caller's directory, the hook
//! afterward.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::object::NewCommit;
use crate::git::{Oid, Signature, TreeEntry, process};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::files::worktree_files::WorktreeFiles;
use crate::store::operation::moves::{self, Emptied, PathTarget};
use crate::store::operation::operation_record::Source;
use crate::store::operation::{FileMoves, LateFile, Operation, Record, Tail};

use super::checkpoint::worktree_snapshot::Kept;
use super::pick;

/// Writes the working tree as a commit that only the operation keeps alive.
pub(super) fn snapshot_commit(session: &Session, kept: &Kept, label: &str) -> Result<Oid> {
    let clean = kept.snapshot.worktree_tree == kept.scan.head_tree
        && kept.snapshot.index_tree == kept.scan.head_tree;
    if let Some(head) = kept.scan.head.commit().filter(|_| clean) {
        return Ok(head);
    }
    let signature = session.record_signature();
    kept.commit_beside(session, &signature, format!("working tree before restoring '{label}'"))
}

/// Writes a commit for the user's history, signed if git is configured to.
pub(super) fn write_commit(
    session: &Session,
    commit: NewCommit<'_>,
    author: &Signature,
) -> Result<Oid> {
    let repo = &session.repo;
    // In a dry run there is no object that git could sign.
    if repo.keeps_objects() && repo.signs_commits()? {
        return repo.write_signed_commit(&session.world, commit, author);
    }
    repo.write_authored_commit(commit, author)
}

/// Returns `true` if an operation of ours opened the merge or pick in progress.
pub(super) fn opened_by_us(session: &Session) -> Result<bool> {
    let places = Places::find(&session.repo)?;
    let tail = places.map(|places| Tail::read(&session.repo, &places));
    // A checkpoint off the branch, made in between, does not record a state to compare with.
    match tail.transpose()?.and_then(|tail| tail.settled) {
        Some(entry) if entry.record.opens_state() => entry.record.state_files_match(&session.repo),
        _ => Ok(false),
    }
}

/// The commands that end an operation in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ends {
    /// Completes it, once no path is in conflict; null for a bisect.
    #[serde(rename = "continue")]
    pub completion: Option<String>,
    /// Gives it up.
    pub abort: String,
}

/// Returns the commands that end the operation in progress: those of git-colony if one of them opened it.
pub fn ends_of(session: &Session, what: &str) -> Result<Ends> {
    let ends = |completion: &str, abort: &str| Ends {
        completion: Some(completion.to_owned()),
        abort: abort.to_owned(),
    };
    if what == "bisect" {
        return Ok(Ends { completion: None, abort: "git bisect reset".to_owned() });
    }
    if what == "cherry-pick" && pick::is_committed_by_git(session) {
        return Ok(ends("git colony cherry-pick --continue", "git cherry-pick --quit"));
    }
    let program = if opened_by_us(session)? { "git colony" } else { "git" };
    Ok(ends(&format!("{program} {what} --continue"), &format!("{program} {what} --abort")))
}

/// Refuses while git has something in progress that owns the branch or the index.
pub(super) fn refuse_in_progress(session: &Session, command: &str) -> Result<()> {
    let Some(what) = session.repo.in_progress() else {
        return Ok(());
    };
    // A settled conflict can be continued. With an open one, only an abort works at once, so that
    // comes first.
    let is_open = what != "am" && session.repo.load_index()?.has_conflicts();
    let is_ours = opened_by_us(session)?;
    let program = if is_ours { "git colony" } else { "git" };
    let end = match what {
        // Undo brings back what our own abort discards.
        other if is_open && is_ours => {
            format!("git colony {other} --abort   # or settle the paths, then --continue")
        }
        other if is_open => {
            format!("git {other} --abort   # loses resolved paths; --continue keeps")
        }
        "cherry-pick" if !is_ours && pick::is_committed_by_git(session) => {
            "git colony cherry-pick --continue   # picks the remaining commits".to_owned()
        }
        "bisect" => "git bisect reset".to_owned(),
        "am" => format!("{program} am --abort"),
        other if is_ours => format!("git colony {other} --continue   # or --abort"),
        other => format!("git {other} --continue   # or --abort: loses resolved paths"),
    };
    Err(Error::new(
        Code::OperationInProgress,
        format!("cannot {command} while a {what} is in progress"),
    )
    .hint(end))
}

/// Reports the files that were written while files moved, if the report has no field for it.
pub(super) fn tell_late(session: &Session, late: &[LateFile]) {
    for late in late {
        (session.world.narrate)(&late.sentence());
    }
}

/// Returns the caller's directory inside the worktree.
pub(super) fn cwd_in_worktree(session: &Session) -> Option<RepoPath> {
    use std::os::unix::ffi::OsStrExt as _;
    let cwd = session.world.cwd.canonicalize().ok()?;
    let below = cwd.strip_prefix(session.repo.workdir()).ok()?;
    Some(RepoPath::from(below.as_os_str().as_bytes()))
}

/// Opens the worktree for moving files.
pub(super) fn open_worktree(session: &Session) -> Result<WorktreeFiles> {
    WorktreeFiles::open(session.repo.workdir())
        .map_err(|e| Error::io("cannot open the worktree", e))
}

/// Stages files of a tree and plans their moves into the working tree; files in the way are moved
/// aside.
pub(super) fn place(
    session: &Session,
    operation: &Operation<'_>,
    tree: Oid,
    entries: &[(RepoPath, TreeEntry)],
) -> Result<FileMoves> {
    if entries.is_empty() {
        return Ok(FileMoves::default());
    }
    let wanted = entries.iter().map(|(path, _)| path.clone()).collect();
    let stage = operation.stage();
    session.repo.stage_files(&session.world, tree, &wanted, &stage)?;
    let want = |entry: &TreeEntry| PathTarget::File(Source::Staged { id: entry.id });
    let wants = entries.iter().map(|(path, entry)| (path.clone(), want(entry))).collect();
    let files = open_worktree(session)?;
    let cwd = cwd_in_worktree(session);
    moves::plan(&files, &wants, &Emptied::All, cwd.as_ref())
}

/// Calls the repository's post-checkout hook, as git does after it changed files.
pub(super) fn run_post_checkout(
    session: &Session,
    record: &Record,
    old: Option<Oid>,
    new: Option<Oid>,
) {
    if record.files.is_empty() && old == new && !record.switches_head() {
        return;
    }
    let zero = "0".repeat(session.repo.hex_len());
    let hex = |id: Option<Oid>| id.map_or_else(|| zero.clone(), |id| id.to_string());
    let stays = record.refs.is_empty() && !record.switches_head();
    let flag = if stays { "0" } else { "1" };
    let args = [hex(old).as_str(), hex(new).as_str(), flag].map(str::to_owned);
    let say = |text: &str| (session.world.narrate)(text);
    // The command is done: a hook that fails is only reported.
    match process::run_hook(&session.repo, &session.world, "post-checkout", &args) {
        Ok(Some(0) | None) => {}
        Ok(Some(code)) => say(&format!("the post-checkout hook exited with {code}")),
        Err(error) if error.code() == Code::Interrupted => {
            say("the post-checkout hook was stopped; the command itself is done");
        }
        Err(error) => say(&format!("post-checkout: {}", error.message())),
    }
}
