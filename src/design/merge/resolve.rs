//! Conflicts opened in git's own state: open, continue, abort.
//!
//! Opening is an operation like any other: index and files show the conflicts, `MERGE_HEAD` and its
//! companions inform git, and undo reverts all of it. `git commit` may conclude it as well.

use crate::design::allowed_paths::path_gate;
use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::fork::forks::MergeOutcome;
use crate::design::fork::published_forks;
use crate::design::pick;
use crate::design::undo::undo_next::origin_of;
use crate::design::undo::undo_report::UndoReport;
use crate::design::undo::{self, Direction};
use crate::design::worktree::{opened_by_us, snapshot_commit, write_commit};
use crate::git::object::NewCommit;
use crate::git::{Oid, RefChange, Repo};
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::agent_policy::protected_branches;
use crate::store::files::places::Places;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{FileMoves, Kind, Log, Operation, StateFile, StateName};

use super::MergeReport;
use super::conflicts::Conflict;
use super::switch::refuse_unmerged;

/// Plans the files that tell git of a merge in progress.
pub(in crate::design) fn begin_merge(
    session: &Session,
    theirs: Oid,
    message: &str,
    conflicts: &[Conflict],
) -> Result<Vec<StateFile>> {
    let repo = &session.repo;
    let mut text = format!("{}\n\n# Conflicts:\n", message.trim_end()).into_bytes();
    for conflict in conflicts {
        text.extend(b"#\t");
        let path = conflict.path.as_bytes();
        // A newline in a name would begin a line of the message.
        text.extend(path.iter().map(|&b| if b == b'\n' { b' ' } else { b }));
        text.push(b'\n');
    }
    let head = format!("{theirs}\n");
    Ok(vec![
        StateFile::becoming(repo, StateName::MergeMsg, Some(&text))?,
        StateFile::becoming(repo, StateName::MergeMode, Some(b"no-ff"))?,
        StateFile::becoming(repo, StateName::MergeHead, Some(head.as_bytes()))?,
    ])
}

/// Commits a merge whose conflicts are settled in the index; in a dry run, says what it would commit.
pub fn continue_merge(session: &Session) -> Result<MergeReport> {
    let repo = &session.repo;
    if repo.in_progress() != Some("merge") {
        return Err(nothing("merge"));
    }
    let intent = Intent { kind: Kind::Merge, touches: Touches::Worktree };
    let mut operation = Operation::begin(session, intent)?;
    let (kept, merge) = scan(session)?;
    protected_branches::require(session, [&kept.scan.head.moving_ref()])?;
    if operation.is_planned() {
        let mut report = report(&kept, &merge, None);
        report.dry_run = true;
        return Ok(report);
    }
    let by = session.signatures()?;
    let parents = [merge.head].into_iter().chain(merge.theirs.iter().copied());
    let new = NewCommit {
        tree: kept.snapshot.index_tree,
        parents: parents.collect(),
        signature: &by.committer,
        message: merge.message.clone(),
    };
    let commit = write_commit(session, new, &by.author)?;
    let names = [StateName::MergeHead, StateName::MergeMode, StateName::MergeMsg];
    let gone = names.map(|name| StateFile::becoming(repo, name, None));
    operation.state_files = gone.into_iter().collect::<Result<_>>()?;
    let head = kept.scan.head.clone();
    let summary = format!("conclude the merge into '{}'", head.label());
    let snapshot = snapshot_commit(session, &kept, &summary)?;
    let done = operation.commit(Plan {
        summary,
        refs: vec![RefChange { name: head.moving_ref(), old: Some(merge.head), new: Some(commit) }],
        head,
        index_before: (kept.scan.index(), kept.snapshot.index_tree),
        index: None,
        files: FileMoves::default(),
        snapshot: Some(snapshot),
        inverts: None,
    })?;
    let mut report = report(&kept, &merge, Some(commit));
    report.op = done.op;
    Ok(report)
}

/// A merge in progress, as git recorded it.
struct UnderWay {
    head: Oid,
    theirs: Vec<Oid>,
    /// The names of the commits: branches of this repository or of others, else ids.
    names: Vec<String>,
    message: String,
    changed: usize,
}

fn scan(session: &Session) -> Result<(Kept, UnderWay)> {
    use crate::git::worktree::snapshot::Unstorable;
    let repo = &session.repo;
    let kept = Kept::scan(session, &Allowances::default(), Unstorable::LeaveOut, &[])?;
    refuse_unmerged(&kept)?;
    let read = |name: StateName| name.read(repo).map(Option::unwrap_or_default);
    let heads = String::from_utf8_lossy(&read(StateName::MergeHead)?).into_owned();
    let theirs: Vec<_> = heads.lines().filter_map(Oid::parse).collect();
    let head = kept.scan.head.commit().filter(|_| !theirs.is_empty());
    let Some(head) = head else {
        return Err(nothing("merge"));
    };
    let mut git = repo.git(&session.world);
    git.args(["stripspace", "--strip-comments"]);
    git.input(read(StateName::MergeMsg)?);
    let printed = git.run_checked("read the message of the merge")?;
    let mut message = String::from_utf8_lossy(&printed).into_owned();
    if message.trim().is_empty() {
        let shown: Vec<_> = theirs.iter().map(Oid::short).collect();
        message = format!("Merge commit '{}'\n", shown.join("', '"));
    }
    let (before, after) = (kept.scan.head_tree, kept.snapshot.index_tree);
    path_gate::require_settled(session, before, after, &theirs)?;
    let changes = repo.diff_trees(before, after)?;
    let changed = changes.len();
    let names = theirs.iter().map(|id| name_of(repo, *id));
    let merge = UnderWay { head, names: names.collect::<Result<_>>()?, theirs, message, changed };
    Ok((kept, merge))
}

/// Names a merged commit by its branch; a fork comes before other branches.
fn name_of(repo: &Repo, id: Oid) -> Result<String> {
    let mut names = Vec::new();
    for branch in repo.refs_below("refs/heads/")? {
        if branch.id == id {
            names.push(branch.name.short());
        }
    }
    let others = published_forks::forks(repo)?.into_iter();
    names.extend(others.filter(|fork| fork.commit == id).map(|fork| fork.branch));
    names.sort_by_key(|name| !name.starts_with("fork/"));
    Ok(names.into_iter().next().unwrap_or_else(|| id.short()))
}

fn report(kept: &Kept, merge: &UnderWay, commit: Option<Oid>) -> MergeReport {
    MergeReport {
        outcome: MergeOutcome::Merged,
        source: merge.names.join(", "),
        into: kept.scan.head.label(),
        commit,
        files_changed: merge.changed,
        is_here: true,
        checked_out: kept.scan.head.label(),
        ..MergeReport::default()
    }
}

/// Aborts a merge or pick that an operation of ours opened: HEAD, index and files are restored;
/// files edited since are moved aside. Refs made or moved since stay. A dry run says what would come back first.
pub fn abort(session: &Session, what: &str) -> Result<UndoReport> {
    let repo = &session.repo;
    if repo.in_progress() != Some(what) {
        return Err(nothing(what));
    }
    let ours = opened_by_us(session)?;
    if !ours && pick::is_committed_by_git(session) {
        return Err(Error::new(
            Code::OperationInProgress,
            "git has already committed the resolution",
        )
        .hint("git cherry-pick --quit   # then: git colony undo --force"));
    }
    if !ours || !is_next_to_go(session)? {
        return Err(Error::new(
            Code::OperationInProgress,
            format!("git itself started this {what}"),
        )
        .hint(format!("git {what} --abort")));
    }
    // Each conflict of a pick was opened by an operation of its own.
    loop {
        let report = undo::run(session, Direction::Abort, false)?;
        if session.is_dry() || repo.in_progress() != Some(what) {
            return Ok(report);
        }
    }
}

/// Returns `true` if the next abort would reach the opening, and not a later change by plain git.
fn is_next_to_go(session: &Session) -> Result<bool> {
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(false);
    };
    let log = Log::read(&session.repo, &places)?;
    let next = log.next_abort();
    Ok(next.is_some_and(|entry| origin_of(&log, &entry.record).kind != Kind::External))
}

/// Makes the error for continuing something that is not in progress.
pub(in crate::design) fn nothing(what: &str) -> Error {
    Error::new(Code::NothingToResolve, format!("no {what} is in progress here"))
        .hint("git colony status")
}
