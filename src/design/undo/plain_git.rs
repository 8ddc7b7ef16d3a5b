//! Changes by plain git as steps of the operation log: recorded from git's hooks, refused by undo,
//! undone with `--force`.
//!
//! Undoing one moves HEAD, its branch and the index back. Files follow only if git had moved them
//! too (`checkout`, `merge`, `reset --hard`, ...); after `commit` or `add` they stay and are
//! uncommitted changes again. A file that is in the way is moved aside, as always.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::meaning;
use crate::design::merge::tree_moves;
use crate::git::{Oid, RefChange, Repo, process};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::operation::external_changes::{self, Unrecorded};
use crate::store::operation::operation_record::{ExternalChange, HeadRecord};
use crate::store::operation::{FileMoves, Kind, Log, LogEntry, Record, Tail, recover};
use crate::store::session_log::operation_events;

use super::Direction;
use super::undo_refs::changes_only_records;

/// How long a hook waits for another command of ours: git waits with it.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);

/// The hook of git that recorded a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitHook {
    /// A commit was made.
    PostCommit,
    /// HEAD or files were switched.
    PostCheckout,
    /// A merge has ended; git may still report it as in progress.
    PostMerge,
    /// Commits were amended or a rebase has ended; git may still report it as in progress.
    PostRewrite,
}

impl GitHook {
    fn ended(self) -> Option<&'static str> {
        match self {
            GitHook::PostCommit | GitHook::PostCheckout => None,
            GitHook::PostMerge => Some("merge"),
            GitHook::PostRewrite => Some("rebase"),
        }
    }
}

/// Records the last change by git as a step of its own; returns the operation.
///
/// Hardly waits for others. Does nothing inside an operation of ours, beside a running or
/// interrupted one, during a rebase, and before the first operation. Failures do not concern git:
/// the next changing command records the same change.
pub fn record(session: &Session, hook: GitHook) -> Option<OperationId> {
    let world = &session.world;
    if world.variable(process::OPERATION_VARIABLE).is_some() {
        return None;
    }
    let places = Places::find(&session.repo).ok()??;
    let _lock = WorktreeLock::take(world, &session.repo, WaitLimit::AtMost(LOCK_TIMEOUT)).ok()?;
    if recover::pending(&places).ok()?.is_some() {
        return None;
    }
    let tail = Tail::read(&session.repo, &places).ok()?;
    let settled = tail.settled.as_ref()?;
    let unrecorded = external_changes::find(session, &settled.record, hook.ended()).ok()??;
    let entry = external_changes::record(session, &places, tail.next, unrecorded).ok()?;
    // The hook runs in the environment of the command that made the change.
    operation_events::note_operation(session, &entry.record);
    Some(entry.record.op)
}

/// Finds an unrecorded change that stops an undo, or a redo.
///
/// Usually that is any change since the newest operation. For an undo it is also a change since the
/// step that it would undo: commits added to a branch while HEAD was elsewhere. A redo is not affected
/// by those, and a step that is undone alone by none.
pub(in crate::design) fn unrecorded<'a>(
    session: &Session,
    log: &'a Log,
    direction: Direction,
) -> Result<Option<Unrecorded<'a>>> {
    if let Direction::Alone(_) = direction {
        return Ok(None);
    }
    let newest = log.newest_settled();
    let next = log
        .next_undo()
        .filter(|entry| direction != Direction::Redo && !entry.record.leaves_head_and_index());
    for entry in newest.into_iter().chain(next) {
        if let Some(change) = external_changes::find(session, &entry.record, None)? {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

/// Makes the refusal of an undo or redo because of an unrecorded change.
pub(in crate::design) fn refuse_unrecorded(
    session: &Session,
    unrecorded: &Unrecorded<'_>,
    kind: Kind,
) -> Result<Error> {
    let since = unrecorded.since;
    let trees = IndexTrees {
        before: since.index_tree_after(&session.repo)?,
        after: unrecorded.index_tree,
        head: unrecorded.after.head.commit,
    };
    let words = ChangeWords {
        summary: &unrecorded.summary,
        refs: &unrecorded.refs,
        heads: (&since.after.head, &unrecorded.after.head),
        change: &unrecorded.change,
        files: followed(&session.repo, &trees, &unrecorded.change)?.len(),
    };
    let start = format!("something else changed the repository since {}", since.op);
    let hint = match kind {
        Kind::Redo if since.snapshot.is_none() => {
            "git colony ops   # lists the operations".to_owned()
        }
        Kind::Redo => {
            let name = meaning::operation_name(&session.repo, since.op);
            format!("git colony restore {name}   # restores the state before that operation")
        }
        _ if changes_only_records(since) => {
            format!("git colony undo --force   # or git colony undo {}, that one alone", since.op)
        }
        _ => format!("git colony undo --force{}", or_restore(&session.repo, since)),
    };
    Ok(words.refusal(&start).detail("op", since.op).hint(hint))
}

/// Refuses to undo a change by plain git. `origin` is the operation that a redo made again, else `record` itself.
pub(super) fn require_own(
    session: &Session,
    record: &Record,
    origin: &Record,
    direction: Direction,
) -> Result<()> {
    if origin.kind != Kind::External || direction == Direction::Redo {
        return Ok(());
    }
    let unknown = ExternalChange::default();
    let change = record.external.as_ref().unwrap_or(&unknown);
    let words = ChangeWords {
        summary: own_summary(record),
        refs: &record.refs,
        heads: (&record.before.head, &record.after.head),
        change,
        files: followed(&session.repo, &IndexTrees::of(&session.repo, record)?, change)?.len(),
    };
    let start = match record.kind {
        Kind::Redo => {
            format!("the newest step, {}, redid a change by plain git", record.op)
        }
        _ => format!("the newest step, {}, is not of git-colony", record.op),
    };
    let hint = format!("git colony undo --force{}", or_restore(&session.repo, record));
    Err(words.refusal(&start).detail("op", record.op).hint(hint))
}

/// Returns the summary of a change, also where a redo made it again.
fn own_summary(record: &Record) -> &str {
    let redone = record.summary.strip_prefix("redo ");
    let inner = redone.filter(|_| record.kind == Kind::Redo).and_then(|rest| {
        let (_, summary) = rest.split_once(" (")?;
        summary.strip_suffix(')')
    });
    inner.unwrap_or(&record.summary)
}

/// Formats the alternative in a hint of undo, if the operation has a state to restore.
pub(in crate::design) fn or_restore(repo: &Repo, record: &Record) -> String {
    match record.snapshot {
        Some(_) => {
            let name = meaning::operation_name(repo, record.op);
            // The name of a ref fills the line.
            let remark = if name.starts_with("refs/") { "" } else { ", as before it" };
            format!("   # or git colony restore {name}{remark}")
        }
        None => String::new(),
    }
}

/// The description of a change.
struct ChangeWords<'a> {
    summary: &'a str,
    refs: &'a [RefChange],
    heads: (&'a HeadRecord, &'a HeadRecord),
    change: &'a ExternalChange,
    files: usize,
}

impl ChangeWords<'_> {
    fn refusal(&self, start: &str) -> Error {
        let changes = self.changes();
        // What it consists of is too long for a line.
        let message = format!("{start}: '{}'", self.summary.replace('\'', ""));
        Error::new(Code::ExternalChange, message)
            .detail("changes", &changes)
            .detail("summary", self.summary)
            .detail("refs", self.refs)
            .detail("index_paths", self.change.paths)
            .detail("files", self.files)
    }

    fn changes(&self) -> Vec<String> {
        let mut changes = Vec::new();
        let (before, after) = self.heads;
        if before.name != after.name {
            let name = |head: &HeadRecord| match head.name.as_bytes() {
                b"HEAD" => "(detached)".to_owned(),
                _ => format!("'{}'", head.name.short()),
            };
            changes.push(format!("HEAD {} -> {}", name(before), name(after)));
        }
        let short = |id: Option<Oid>| id.map_or_else(|| "(none)".to_owned(), |id| id.short());
        for change in self.refs {
            let (old, new) = (short(change.old), short(change.new));
            changes.push(format!("'{}' {old} -> {new}", change.name.short()));
        }
        if self.change.paths > 0 {
            let paths = text::count(self.change.paths, "path");
            changes.push(format!("{paths} of the index"));
        }
        if self.files > 0 {
            changes.push(text::count(self.files, "file"));
        }
        changes
    }
}

/// The trees of the index before and after an operation, and the commit of HEAD after it.
struct IndexTrees {
    before: Oid,
    after: Oid,
    head: Option<Oid>,
}

impl IndexTrees {
    fn of(repo: &Repo, record: &Record) -> Result<IndexTrees> {
        Ok(IndexTrees {
            before: repo.state_tree(record.index_before)?,
            after: record.index_tree_after(repo)?,
            head: record.after.head.commit,
        })
    }
}

/// Returns the paths whose files git moved along with the index.
fn followed(
    repo: &Repo,
    trees: &IndexTrees,
    change: &ExternalChange,
) -> Result<BTreeSet<RepoPath>> {
    let mut followed = BTreeSet::new();
    if !change.overwrote && change.switched.is_empty() {
        return Ok(followed);
    }
    let mut all = repo.diff_trees(trees.before, trees.after)?;
    if change.overwrote {
        // A file that neither the index nor a commit had existed before it was added to the index.
        let head = repo.tree_of(trees.head)?;
        let committed: BTreeSet<_> =
            repo.list_tree(head)?.into_iter().map(|change| change.path).collect();
        all.retain(|change| change.old.is_some() || committed.contains(&change.path));
    }
    let all: BTreeSet<_> = all.into_iter().map(|change| change.path).collect();
    if change.overwrote {
        return Ok(all);
    }
    for (old, new) in &change.switched {
        let (Ok(old), Ok(new)) = (repo.tree_of(*old), repo.tree_of(*new)) else {
            // A commit in between is gone: then it is only known that git moved files.
            return Ok(all);
        };
        let changed = repo.diff_trees(old, new)?.into_iter();
        followed.extend(changed.map(|change| change.path));
    }
    followed.retain(|path| all.contains(path));
    Ok(followed)
}

/// Lists the paths in conflict in a state of the index.
pub(in crate::design) fn conflicted_in(repo: &Repo, state: Oid) -> Result<BTreeSet<RepoPath>> {
    let mut paths = BTreeSet::new();
    for stage in ["1", "2", "3"] {
        if let Some(tree) = repo.entry_in(state, stage)? {
            let listed = repo.list_tree(tree)?.into_iter();
            paths.extend(listed.map(|change| change.path));
        }
    }
    Ok(paths)
}

/// Plans how the files that git had moved are restored, from the tree of the snapshot.
pub(in crate::design) fn plan_files(
    session: &Session,
    record: &Record,
    kept: &Kept,
) -> Result<FileMoves> {
    let repo = &session.repo;
    let unknown = ExternalChange::default();
    let change = record.external.as_ref().unwrap_or(&unknown);
    let trees = IndexTrees::of(repo, record)?;
    let followed = followed(repo, &trees, change)?;
    let mut changes = repo.diff_trees(kept.snapshot.worktree_tree, trees.before)?;
    // A path that becomes conflicted again has no version to make its file from.
    let conflicted = conflicted_in(repo, record.index_before)?;
    changes.retain(|change| {
        followed.contains(&change.path)
            && !kept.scan.is_skipped(&change.path)
            && !(change.new.is_none() && conflicted.contains(&change.path))
    });
    tree_moves::plan_moves(session, &changes)
}

/// Refuses to move a branch, or to put HEAD on it, if another worktree has it checked out.
pub(in crate::design) fn refuse_branch_in_use(
    repo: &Repo,
    record: &Record,
    refs: &[RefChange],
) -> Result<()> {
    let switched = record.switches_head().then_some(&record.before.head.name);
    let here = repo.head()?.moving_ref();
    for name in refs.iter().map(|change| &change.name).chain(switched) {
        if *name == here || name.as_bytes() == b"HEAD" {
            continue;
        }
        if let Some(other) = repo.other_worktree_on(name) {
            return Err(Error::new(
                Code::BranchInUse,
                format!(
                    "'{}' is checked out in another worktree ('{}')",
                    name.short(),
                    other.display()
                ),
            )
            .detail("branch", name));
        }
    }
    Ok(())
}

/// Returns the entry for an unrecorded change without writing it, for a dry run.
pub(in crate::design) fn rehearse(
    session: &Session,
    places: &Places,
    unrecorded: Unrecorded<'_>,
) -> Result<LogEntry> {
    let next = Tail::read(&session.repo, places)?.next;
    external_changes::write(session, places, next, unrecorded)
}
