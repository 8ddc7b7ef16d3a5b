//! What is under way, or was cut off: an operation, or a lock of git.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Check;
use crate::clones::hub;
use crate::flow::migrate::{self, Stage, WAY_BACK};
use crate::model::{Result, text};
use crate::store::Session;
use crate::store::operation::recover;
use crate::store::places::Places;

/// What is at the top of a git directory and holds no refs; our own folder is looked at as an operation.
const BESIDE_REFS: [&str; 6] = [
    "objects",
    "lfs",
    "colony",
    "colony-kept",
    "worktrees",
    "modules",
];

/// A lock of a hub that is younger is in use.
const STALE_SECONDS: u64 = 60;

/// Looks for lock files: whose, and how old. They are reported, never removed.
pub(super) fn locks(session: &Session) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    if let Some(places) = Places::find(&session.repo)?
        && let Some(pending) = recover::pending(&places)?
    {
        checks.push(Check::ill(
            "pending-operation",
            format!(
                "{} is under way since {}, or was cut off",
                pending.op, pending.started_at
            ),
            "git colony checkpoint --auto",
        ));
    }
    let mut found = Vec::new();
    collect_locks(session.repo.git_dir(), &BESIDE_REFS, &mut found);
    if session.repo.common_dir() != session.repo.git_dir() {
        collect_locks(session.repo.common_dir(), &BESIDE_REFS, &mut found);
    }
    if let Some(member) = &session.membership {
        checks.extend(hub_check(session, &member.hub)?);
        let mut of_hub = Vec::new();
        collect_locks(&member.hub, &BESIDE_REFS, &mut of_hub);
        // Others publish there all the time.
        of_hub.retain(|path| age_seconds(session, path).is_some_and(|age| age >= STALE_SECONDS));
        found.extend(of_hub);
    }
    for path in found {
        let shown = path.display();
        checks.push(Check::ill(
            "lock",
            format!("'{shown}' {}", owner_and_age(session, &path)),
            format!(
                "ps aux | grep git   # if nothing is at work: rm {}",
                text::shell_word(&path.to_string_lossy())
            ),
        ));
    }
    if checks.is_empty() {
        checks.push(Check::well("lock", "none"));
    }
    Ok(checks)
}

/// Looks for a migration to git-lfs that has not ended.
pub(super) fn migration(session: &Session) -> Result<Option<Check>> {
    let found = migrate::under_way(&session.repo)?;
    Ok(found.map(|found| {
        let ways = format!("{}   # or: {WAY_BACK}", found.way_on);
        match found.stage {
            Stage::CutOff | Stage::NotPublished if found.needs_attention => {
                Check::ill("migration", found.detail, ways)
            }
            _ => Check::well("migration", found.detail),
        }
    }))
}

/// Looks for the hub that this repository takes part in.
fn hub_check(session: &Session, path: &Path) -> Result<Option<Check>> {
    if !hub::is_missed(session, path)? {
        return Ok(None);
    }
    let missing = hub::Hub::open(path).err();
    Ok(missing.map(|error| {
        let way = error.hint_text().unwrap_or("git colony clones gc");
        Check::ill("hub", error.message(), way)
    }))
}

/// Collects lock files below a git directory, except for folders at its top that hold no refs.
fn collect_locks(folder: &Path, skipped: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            if !skipped.iter().any(|skipped| name == *skipped) {
                collect_locks(&path, &[], found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            found.push(path);
        }
    }
}

fn age_seconds(session: &Session, path: &Path) -> Option<u64> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let now = SystemTime::from(session.world.now());
    let age = now.duration_since(metadata.modified().ok()?).ok()?;
    Some(age.as_secs())
}

fn owner_and_age(session: &Session, path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return "is gone again".to_owned();
    };
    let age = age_seconds(session, path);
    let age = age.map_or("an unknown time".to_owned(), |age| format!("{age} seconds"));
    format!("belongs to user {}, {age} old", metadata.uid())
}
