//! What is under way, or was cut off: an operation, or a lock of git.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Check;
use crate::model::{Result, text};
use crate::store::Session;
use crate::store::operation::recover;
use crate::store::places::Places;

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
    collect_locks(session.repo.git_dir(), 6, &mut found);
    if session.repo.common_dir() != session.repo.git_dir() {
        collect_locks(session.repo.common_dir(), 6, &mut found);
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

fn collect_locks(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    // Objects have no locks of this sort; our own folder is looked at as an operation.
    const SKIPPED: [&str; 6] = [
        "objects",
        "lfs",
        "colony",
        "colony-kept",
        "worktrees",
        "modules",
    ];
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            let skipped = SKIPPED.iter().any(|skipped| name == *skipped);
            if depth > 0 && !skipped {
                collect_locks(&path, depth - 1, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            found.push(path);
        }
    }
}

fn owner_and_age(session: &Session, path: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return "is gone again".to_owned();
    };
    let age = metadata.modified().ok().and_then(|modified| {
        SystemTime::from(session.world.now())
            .duration_since(modified)
            .ok()
    });
    let age = age.map_or("an unknown time".to_owned(), |age| {
        format!("{} seconds", age.as_secs())
    });
    format!("belongs to user {}, {age} old", metadata.uid())
}
