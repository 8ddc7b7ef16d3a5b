//! What plain git did, as a step of the log: recorded from git's hooks, refused by undo, taken back
//! by force.
//!
//! Taking back moves HEAD, the branch it was on and the index to where they were. Files follow only
//! where git had moved them too (`checkout`, `merge`, `reset --hard`, ...); after `commit` or `add`
//! they stay and are uncommitted changes again. Whatever stands where a file comes back is moved
//! aside, as always.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::merge::tree_moves;
use crate::git::{Oid, RefChange, Repo, process};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::operation::external_changes::{self, Unrecorded};
use crate::store::operation::operation_record::{ExternalChange, HeadRecord};
use crate::store::operation::{FileMoves, Kind, Log, LogEntry, Record, Tail, recover};

use super::Direction;

/// How long a hook waits for a command of ours that is at work: git waits with it.
const PATIENCE: Duration = Duration::from_millis(300);

/// The hook of git that a change is recorded from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitHook {
    /// A commit was made.
    PostCommit,
    /// HEAD or files were switched.
    PostCheckout,
    /// A merge has ended; git may still say that it is in progress.
    PostMerge,
    /// Commits were amended or a rebase has ended; git may still say that it is in progress.
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

/// Records what git has just done, so that it is a step of its own; returns the operation.
///
/// Hardly waits for others and does nothing inside an operation of ours, beside one at work or cut off, in
/// the middle of a rebase, and where no operation was ever made. What goes wrong is of no concern to
/// git: the next changing command records the same.
pub fn record(session: &Session, hook: GitHook) -> Option<OperationId> {
    let world = &session.world;
    if world.variable(process::OPERATION_VARIABLE).is_some() {
        return None;
    }
    let places = Places::find(&session.repo).ok()??;
    let _lock = WorktreeLock::take(world, &session.repo, PATIENCE).ok()?;
    if recover::pending(&places).ok()?.is_some() {
        return None;
    }
    let tail = Tail::read(&session.repo, &places).ok()?;
    let settled = tail.settled.as_ref()?;
    let found = external_changes::find(session, &settled.record, hook.ended()).ok()??;
    let entry = external_changes::record(session, &places, tail.next, found).ok()?;
    Some(entry.record.op)
}

/// Finds what is in no record yet and stands in the way of an undo, or of a redo.
///
/// Usually that is whatever came after the newest operation. To an undo it is also what came after the step
/// that it would take back: commits that have come to a branch while HEAD was elsewhere, or a gap in a log of
/// an older version. A redo goes the other way, and meets none of that.
pub(in crate::design) fn unrecorded<'a>(
    session: &Session,
    log: &'a Log,
    direction: Direction,
) -> Result<Option<Unrecorded<'a>>> {
    let newest = log.newest_settled();
    let next = log
        .next_undo()
        .filter(|entry| direction != Direction::Redo && !entry.record.leaves_head_and_index());
    for entry in newest.into_iter().chain(next) {
        if let Some(found) = external_changes::find(session, &entry.record, None)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Makes the refusal of an undo or redo for a change that is in no record yet.
pub(in crate::design) fn refuse_unrecorded(
    session: &Session,
    found: &Unrecorded<'_>,
    kind: Kind,
) -> Result<Error> {
    let since = found.since;
    let told = ChangeWords {
        summary: &found.summary,
        refs: &found.refs,
        heads: (&since.after.head, &found.after.head),
        change: &found.change,
        files: followed(
            &session.repo,
            (
                since.index_tree_after(&session.repo)?,
                found.index_tree,
                found.after.head.commit,
            ),
            &found.change,
        )?
        .len(),
    };
    let start = format!(
        "something else changed the repository since {} ({})",
        since.op, since.summary
    );
    let hint = match kind {
        Kind::Redo if since.snapshot.is_none() => {
            "git colony ops   # lists what was done".to_owned()
        }
        Kind::Redo => format!(
            "git colony restore {}   # brings back the state before that operation",
            since.op
        ),
        _ => format!(
            "git colony undo --force   # takes it back{}",
            or_restore(since, "goes back further")
        ),
    };
    Ok(told.refusal(&start).detail("op", since.op).hint(hint))
}

/// Refuses to take back a change by plain git without being forced.
pub(in crate::design) fn refuse_recorded(session: &Session, record: &Record) -> Result<Error> {
    let unknown = ExternalChange::default();
    let change = record.external.as_ref().unwrap_or(&unknown);
    let told = ChangeWords {
        summary: &record.summary,
        refs: &record.refs,
        heads: (&record.before.head, &record.after.head),
        change,
        files: followed(&session.repo, trees(&session.repo, record)?, change)?.len(),
    };
    let start = format!("the newest step, {}, is not one of git-colony", record.op);
    let hint = format!(
        "git colony undo --force   # takes it back{}",
        or_restore(record, "does so for all since")
    );
    Ok(told.refusal(&start).detail("op", record.op).hint(hint))
}

/// Words the other way that a hint of undo names, where the operation has a state to restore.
pub(in crate::design) fn or_restore(record: &Record, what: &str) -> String {
    match record.snapshot {
        Some(_) => format!("; git colony restore {} {what}", record.op),
        None => String::new(),
    }
}

/// What is said of a change.
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
        let listed = if changes.is_empty() {
            String::new()
        } else {
            format!(" ({})", changes.join(", "))
        };
        let message = format!("{start}: {}{listed}; nothing was done", self.summary);
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
            let (old, new) = (before.name.short(), after.name.short());
            changes.push(format!("HEAD '{old}' -> '{new}'"));
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

/// Returns the trees of the index before and after, and the commit of HEAD after.
fn trees(repo: &Repo, record: &Record) -> Result<(Oid, Oid, Option<Oid>)> {
    let before = repo.state_tree(record.index_before)?;
    let after = record.index_tree_after(repo)?;
    Ok((before, after, record.after.head.commit))
}

/// Returns the paths whose files git moved along with the index.
fn followed(
    repo: &Repo,
    (before, after, head): (Oid, Oid, Option<Oid>),
    change: &ExternalChange,
) -> Result<BTreeSet<RepoPath>> {
    let mut followed = BTreeSet::new();
    if !change.overwrote && change.switched.is_empty() {
        return Ok(followed);
    }
    let mut all = repo.diff_trees(before, after)?;
    if change.overwrote {
        // What neither the index nor a commit had was a file already when it was added to the index.
        let head = repo.tree_of(head)?;
        let committed = repo.list_tree(head)?.into_iter();
        let committed: BTreeSet<_> = committed.map(|change| change.path).collect();
        all.retain(|change| change.old.is_some() || committed.contains(&change.path));
    }
    let all: BTreeSet<_> = all.into_iter().map(|change| change.path).collect();
    if change.overwrote {
        return Ok(all);
    }
    for (old, new) in &change.switched {
        let (Ok(old), Ok(new)) = (repo.tree_of(*old), repo.tree_of(*new)) else {
            // A commit in between is gone: then nothing is known but that git moved files.
            return Ok(all);
        };
        let changed = repo.diff_trees(old, new)?.into_iter();
        followed.extend(changed.map(|change| change.path));
    }
    followed.retain(|path| all.contains(path));
    Ok(followed)
}

/// Lists the paths that a state of the index has in conflict.
pub(in crate::design) fn conflicted_in(repo: &Repo, state: Oid) -> Result<BTreeSet<RepoPath>> {
    let mut found = BTreeSet::new();
    for stage in ["1", "2", "3"] {
        if let Some(tree) = repo.entry_in(state, stage)? {
            let listed = repo.list_tree(tree)?.into_iter();
            found.extend(listed.map(|change| change.path));
        }
    }
    Ok(found)
}

/// Plans how the files that git had moved come back; the tree they are in is that of the snapshot.
pub(in crate::design) fn plan_files(
    session: &Session,
    record: &Record,
    kept: &Kept,
) -> Result<FileMoves> {
    let repo = &session.repo;
    let unknown = ExternalChange::default();
    let change = record.external.as_ref().unwrap_or(&unknown);
    let trees = trees(repo, record)?;
    let before = trees.0;
    let followed = followed(repo, trees, change)?;
    let mut changes = repo.diff_trees(kept.snapshot.worktree_tree, before)?;
    // A path that comes back in conflict has no version that its file could be made from.
    let conflicted = conflicted_in(repo, record.index_before)?;
    changes.retain(|change| {
        followed.contains(&change.path)
            && !kept.scan.is_skipped(&change.path)
            && !(change.new.is_none() && conflicted.contains(&change.path))
    });
    tree_moves::plan_moves(session, &changes)
}

/// Refuses to move a branch, or to put HEAD on it, that another worktree works on.
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
                    "'{}' is checked out in another worktree ('{}'); nothing was done",
                    name.short(),
                    other.display()
                ),
            )
            .detail("branch", name)
            .hint("git worktree list   # put that worktree on another branch, then run it again"));
        }
    }
    Ok(())
}

/// Returns the entry for a change that no record has, written down nowhere yet, for a dry run.
pub(in crate::design) fn rehearse(
    session: &Session,
    places: &Places,
    found: Unrecorded<'_>,
) -> Result<LogEntry> {
    let next = Tail::read(&session.repo, places)?.next;
    external_changes::write(session, places, next, found)
}
