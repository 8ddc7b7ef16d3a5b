//! The report of `git colony status`; its fields are the JSON answer. `cli/commands/team/status` prints it, `status_line`
//! is the line for a prompt.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::design::checkpoint::checkpoints::{self, Checkpoint, CheckpointKind};
use crate::design::checkpoint::damaged_checkpoint::DamagedCheckpoint;
use crate::design::fork::clashes::{self, TouchedBy};
use crate::design::undo::undo_preview::{self, UndoStep};
use crate::design::{default_branch, pick, worktree};
use crate::git::worktree::safe_open::MAX_RECORD_BYTES;
use crate::git::worktree::scan::{Scan, Untracked};
use crate::git::{Head, Oid, Repo};
use crate::lfs::install;
use crate::migrate::{self, UnderWay};
use crate::model::{RepoPath, Result};
use crate::setup::tool_entry::ToolEntry;
use crate::setup::tool_registry;
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lock::IndexLock;
use crate::store::operation::PendingOperation;
use crate::store::operation::commit_point::Pending;
use crate::store::operation::{Log, recover};
use crate::store::refs::ref_names;

/// The state of the repository.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StatusReport {
    /// Whether exactly one commit is reachable from HEAD.
    pub is_fresh: bool,
    /// The branch, or `detached:<8 hex>`.
    pub current_branch: String,
    /// HEAD's commit; `None` on an unborn branch.
    pub current_sha: Option<Oid>,
    /// The number of commits here that the default branch does not have.
    pub ahead_of_main_by: usize,
    /// The number of commits of the default branch that are not here.
    pub behind_main_by: usize,
    /// Checkpoints made on request, oldest first.
    pub checkpoints: Vec<Checkpoint>,
    /// Fork branches, `fork/<label>`.
    pub forks: Vec<String>,
    /// Tools in the registry of the repository.
    pub tools: Vec<ToolEntry>,
    /// When the newest automatic checkpoint was made.
    pub last_quiescence_at: Option<String>,
    /// Whether anything is uncommitted, untracked files included.
    pub uncommitted_changes: bool,
    /// Git remotes that tools are imported from.
    pub imported_tooling_remotes: Vec<Value>,
    /// The numbers of staged, changed, untracked and conflicted paths.
    pub changes: ChangeCounts,
    /// The first submodules with edits inside.
    pub edited_submodules: Vec<RepoPath>,
    /// The git operation in progress.
    pub in_progress: Option<&'static str>,
    /// An operation of a running or dead process.
    pub pending_operation: Option<PendingOperation>,
    /// A migration to git-lfs that has not ended.
    pub migration: Option<UnderWay>,
    /// The operation that undo would undo.
    pub undo: Option<UndoStep>,
    /// Forks that change files which are changed here.
    pub touched_by_others: Vec<TouchedBy>,
    /// Problems that need attention.
    pub health: Vec<Health>,
}

/// The maximum number of submodules that are named.
const FEW: usize = 10;

/// The numbers of paths that differ, by kind.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ChangeCounts {
    /// Staged against HEAD.
    pub staged: usize,
    /// Changed against the index.
    pub changed: usize,
    /// Not tracked and not ignored.
    pub untracked: usize,
    /// In conflict.
    pub conflicts: usize,
    /// Submodules with edits inside, which no checkpoint has.
    pub in_submodules: usize,
    /// Untracked since a restore of older ignore files, and out of checkpoints: not a change.
    pub unignored: usize,
}

/// A problem that needs attention.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Health {
    /// A stable name.
    pub name: &'static str,
    /// Always false: only problems are listed.
    pub ok: bool,
    /// Its description.
    pub detail: String,
}

/// Examines everything, changes nothing.
pub fn status(session: &Session) -> Result<StatusReport> {
    let repo = &session.repo;
    let scan = repo.scan(&session.world)?;
    let places = Places::find(repo)?;
    let pending = places.as_ref().map(recover::pending).transpose()?.flatten();
    let log = places.as_ref().map(|places| Log::read(repo, places)).transpose()?;
    let undo = log.as_ref().map(|log| undo_preview::outlook(session, log, &scan));
    let newest = log.as_ref().and_then(|log| log.entries.last());
    let changes = count(&scan, newest.map_or(&[], |e| &e.record.after.unignored));
    let head = &scan.head;
    let (ahead, behind) = compare_with_main(repo, head)?;
    let automatic = checkpoints::list(repo, CheckpointKind::Automatic)?;
    let named = checkpoints::list(repo, CheckpointKind::Named)?;
    let forks = repo.refs_below(ref_names::FORKS)?;
    let migration = migrate::under_way(repo)?;
    let mut health = health(session, pending.as_ref(), migration.as_ref());
    health.extend(damaged(&named.damaged, &automatic.damaged));
    let touching = clashes::touched_by_others(session, &scan)?;
    health.extend(touching.unknown.iter().map(|(fork, problem)| Health {
        name: "fork-problem",
        ok: false,
        detail: format!("'{fork}' cannot be compared: {}", problem.reason),
    }));
    Ok(StatusReport {
        is_fresh: is_fresh(repo, head)?,
        current_branch: head.label(),
        current_sha: head.commit(),
        ahead_of_main_by: ahead,
        behind_main_by: behind,
        checkpoints: named.sound,
        forks: forks.iter().map(|line| line.name.short()).collect(),
        // An invalid registry is reported below.
        tools: tool_registry::read(repo).unwrap_or_default(),
        last_quiescence_at: automatic.sound.last().map(|newest| newest.created_at.clone()),
        uncommitted_changes: changes.staged
            + changes.changed
            + changes.untracked
            + changes.conflicts
            + changes.in_submodules
            > 0,
        imported_tooling_remotes: imported_tooling(repo),
        changes,
        edited_submodules: scan.edited_submodules.iter().take(FEW).cloned().collect(),
        in_progress: repo.in_progress(),
        pending_operation: pending.clone().map(PendingOperation::from),
        undo: undo.transpose()?.flatten(),
        touched_by_others: touching.others,
        health,
        migration,
    })
}

fn count(scan: &Scan, unignored: &[RepoPath]) -> ChangeCounts {
    let below =
        |untracked: &&Untracked| unignored.iter().any(|top| untracked.path.is_at_or_below(top));
    let unignored = scan.untracked.iter().filter(below).count();
    ChangeCounts {
        staged: scan.staged.len(),
        changed: scan.unstaged.len(),
        untracked: scan.untracked.len() - unignored,
        conflicts: scan.conflicts.len(),
        in_submodules: scan.edited_submodules.len(),
        unignored,
    }
}

fn is_fresh(repo: &Repo, head: &Head) -> Result<bool> {
    match head.commit() {
        Some(tip) => Ok(repo.commits_between(tip, &[], 2)?.len() == 1),
        None => Ok(false),
    }
}

/// Counts commits against the default branch.
fn compare_with_main(repo: &Repo, head: &Head) -> Result<(usize, usize)> {
    const LIMIT: usize = 10_000;
    let Some(tip) = head.commit() else {
        return Ok((0, 0));
    };
    match default_branch::find(repo)? {
        Some((branch, main)) if branch != head.moving_ref() => {
            let ahead = repo.commits_between(tip, &[main], LIMIT)?.len();
            Ok((ahead, repo.commits_between(main, &[tip], LIMIT)?.len()))
        }
        _ => Ok((0, 0)),
    }
}

/// Reads a JSON object below `.colony/`; a malformed one counts as absent here.
pub(in crate::desk) fn registry(repo: &Repo, name: &str) -> Option<Value> {
    let path = RepoPath::from(format!(".colony/{name}").as_str());
    let bytes = repo.read_file(&path, MAX_RECORD_BYTES).ok()??;
    serde_json::from_slice(&bytes).ok()
}

fn imported_tooling(repo: &Repo) -> Vec<Value> {
    let registered = registry(repo, "manifest.json");
    registered
        .and_then(|object| object.get("imports_tooling_from")?.as_array().cloned())
        .unwrap_or_default()
}

/// Names the first damaged checkpoint, and the command that lists the others.
fn damaged(named: &[DamagedCheckpoint], automatic: &[DamagedCheckpoint]) -> Option<Health> {
    let first = named.first().or(automatic.first())?;
    let list = |count: usize, how: &str| {
        (count > 1).then(|| format!("; {count} in 'git colony checkpoints{how}'"))
    };
    let more = [list(named.len(), ""), list(automatic.len(), " --auto")];
    Some(Health {
        name: "checkpoint-damaged",
        ok: false,
        detail: first.to_text() + &more.into_iter().flatten().collect::<String>(),
    })
}

fn health(
    session: &Session,
    pending: Option<&Pending>,
    migration: Option<&UnderWay>,
) -> Vec<Health> {
    let repo = &session.repo;
    let mut health = Vec::new();
    let mut add = |name, detail| {
        health.push(Health { name, ok: false, detail });
    };
    if let Some(pending) = pending {
        let detail = "running, or interrupted: the next changing command completes or cancels it";
        add("pending-operation", format!("{} {detail}", pending.op));
    }
    let lock = IndexLock::path_in(repo);
    if lock.exists() && pending.is_none() {
        add("index-lock", format!("'{}' exists: git is running, or was killed", lock.display()));
    }
    if let Some(what) = repo.in_progress() {
        add("in-progress", in_progress(session, what));
    }
    if let Some(migration) = migration {
        add("migration", migration.detail.clone());
    }
    for problem in &session.settings.repository_problems {
        add("settings", problem.sentence());
    }
    if repo.lacks_filter("lfs") {
        let detail = "'.gitattributes' gives files to git-lfs, but its filters are not configured \
        here: such files would be committed to git; git colony init configures them";
        add("git-lfs-filters", detail.to_owned());
    } else if repo.has_half_filter("lfs") {
        let detail = install::HALF_A_FILTER;
        add("git-lfs-filters", format!("{detail}; git colony init sets up the rest"));
    }
    if let Err(error) = tool_registry::read(repo) {
        add("tool-registry", error.message());
    }
    health
}

/// Says which operation is in progress, and how it ends.
fn in_progress(session: &Session, what: &str) -> String {
    let mut sentence = format!("a {what} is in progress");
    if let Some(left) = pick::left(session) {
        sentence = format!("{sentence}: {left}");
    }
    // Without a record of ours that can be read, git has the commands.
    let Ok(ends) = worktree::ends_of(session, what) else {
        return sentence;
    };
    match ends.completion {
        Some(completion) => {
            let command = completion.split(" --").next().unwrap_or_default();
            let abort =
                ends.abort.strip_prefix(command).map_or(ends.abort.as_str(), str::trim_start);
            format!("{sentence}: {completion}, or {abort}")
        }
        None => format!("{sentence}: {}", ends.abort),
    }
}
