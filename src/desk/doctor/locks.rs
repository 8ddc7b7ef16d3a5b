//! Interrupted or running operations, and locks of git.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::agents::agent_places::clones_here;
use crate::agents::own_agents;
use crate::git::scratch;
use crate::map::residency;
use crate::migrate::{self, Stage};
use crate::model::{Result, text};
use crate::store::files::places::Places;
use crate::store::operation::recover;
use crate::store::{Session, lock, state};
use crate::watch::{self, watch_log};

use super::Check;

/// Entries of a git directory that hold no refs; our own folder is checked as an operation.
const BESIDE_REFS: [&str; 6] = ["objects", "lfs", "colony", "colony-kept", "worktrees", "modules"];

/// Says where the resident pages and page locks of the colony are, and names agents with locks that have no
/// clone.
pub(super) fn pages(session: &Session) -> Check {
    let path = state::path(session);
    let place = path.display();
    let locks = match residency::locks(session) {
        Ok(locks) => locks,
        Err(why) => {
            let fix = format!("rm {place}   # page locks end, and no page is resident");
            return Check::ill("page-state", format!("cannot use '{place}': {why}"), fix);
        }
    };
    let clones = clones_here(session).unwrap_or_default();
    let has_clone = |owner: &String| {
        let mut agents = clones.iter().filter_map(|clone| clone.member.agent.as_ref());
        agents.any(|agent| agent == owner)
    };
    let mut gone: Vec<String> = locks.iter().filter_map(|lock| lock.owner.clone()).collect();
    gone.retain(|owner| !has_clone(owner));
    gone.sort();
    gone.dedup();
    let mut detail = format!("{} in '{place}'", text::count(locks.len(), "page lock"));
    if !gone.is_empty() {
        write!(detail, "; of agents without a clone: {}", gone.join(", ")).ok();
    }
    Check::well("page-state", detail)
}

/// Names the watches of this working tree, and the log of a process in the background; `None` without a watch.
pub(super) fn watches(session: &Session) -> Option<Check> {
    // An unusable database is reported with the pages.
    let watches = watch::list(session).ok().filter(|list| list.count > 0)?;
    let count = text::count(watches.count, "watch");
    let log_file = watch_log::path(session);
    let log = log_file.display();
    let detail = if watches.running {
        format!("{count}; in the background, the log is '{log}'")
    } else {
        format!("{count}; no process is running; the last log is '{log}'")
    };
    let resume = "git colony watch --resume --detach";
    Some(Check {
        fix: (!watches.running).then(|| resume.to_owned()),
        ..Check::well("watches", detail)
    })
}

/// Finds lock files: their owner and age. They are reported, never deleted.
pub(super) fn locks(session: &Session) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    if let Some(places) = Places::find(&session.repo)?
        && let Some(pending) = recover::pending(&places)?
    {
        checks.push(Check::ill(
            "pending-operation",
            format!("{} is running since {}, or was interrupted", pending.op, pending.started_at),
            "git colony checkpoint --auto",
        ));
    }
    let mut locks = Vec::new();
    collect_locks(session.repo.git_dir(), &BESIDE_REFS, &mut locks);
    if session.repo.common_dir() != session.repo.git_dir() {
        collect_locks(session.repo.common_dir(), &BESIDE_REFS, &mut locks);
    }
    for folder in AMONG_OBJECTS {
        collect_here(&session.repo.common_dir().join(folder), &mut locks);
    }
    if let Some(member) = &session.membership {
        let mut of_others = Vec::new();
        collect_locks(&member.hub, &BESIDE_REFS, &mut of_others);
        for clone in own_agents::clones(session)?.0 {
            let is_own = clone.git_dir() == session.repo.common_dir();
            if !is_own {
                collect_locks(&clone.git_dir(), &BESIDE_REFS, &mut of_others);
            }
        }
        // Others publish and commit all the time.
        of_others.retain(|path| lock::is_stale(&session.world, path));
        locks.extend(of_others);
    }
    for path in locks {
        let shown = path.display();
        checks.push(Check::ill(
            "lock",
            format!("'{shown}' {}", owner_and_age(session, &path)),
            format!(
                "ps aux | grep git   # if nothing is running: rm {}",
                text::shell_word(&path.to_string_lossy())
            ),
        ));
    }
    if checks.is_empty() {
        checks.push(Check::well("lock", "none"));
    }
    Ok(checks)
}

/// Finds a migration to git-lfs that has not ended.
pub(super) fn migration(session: &Session) -> Result<Option<Check>> {
    let migration = migrate::under_way(&session.repo)?;
    Ok(migration.map(|migration| match migration.stage {
        Stage::CutOff | Stage::NotPublished => {
            Check::ill("migration", migration.detail, migration.next_command.to_owned())
        }
        Stage::AtWork => Check::well("migration", migration.detail),
    }))
}

/// The locks of git for all objects: a killed maintenance run blocks every later one.
const AMONG_OBJECTS: [&str; 4] =
    ["objects", "objects/info", "objects/info/commit-graphs", "objects/pack"];

/// Collects the lock files in one folder.
fn collect_here(folder: &Path, locks: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_lock(&entry.file_name().to_string_lossy()) {
            locks.push(entry.path());
        }
    }
}

/// Collects lock files below a git directory, except for folders at its top that hold no refs.
fn collect_locks(folder: &Path, skipped: &[&str], locks: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            if !skipped.iter().any(|skipped| name == *skipped) {
                collect_locks(&path, &[], locks);
            }
        } else if is_lock(&name.to_string_lossy()) {
            locks.push(path);
        }
    }
}

/// Returns `true` if git treats a file with that name as a lock; a file of ours does not block by
/// its existence.
fn is_lock(name: &str) -> bool {
    let lock = name.strip_suffix(".lock");
    name == "packed-refs.new" || lock.is_some_and(|of| !of.starts_with("colony-"))
}

fn owner_and_age(session: &Session, path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return "is gone again".to_owned();
    };
    let age = lock::age_seconds(&session.world, path);
    let old = match age {
        Some(seconds) => format!(
            "is {} old",
            text::count(usize::try_from(seconds).unwrap_or(usize::MAX), "second")
        ),
        None => "is of unknown age".to_owned(),
    };
    if metadata.uid() == scratch::own_user() {
        old
    } else {
        format!("{old} and belongs to the user with id {}", metadata.uid())
    }
}
