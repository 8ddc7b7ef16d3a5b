//! Locks that a killed git has left on refs that nobody but us moves: the copies of what others publish.
//!
//! git drops its locks when we die, but not when it is killed itself. A lock below the folders of copies
//! is ours whoever took it, so that it goes once it is old and no git is left here that may hold it. All
//! other locks are reported, never removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::git::{RefName, Repo};
use crate::model::{Result, World};

use super::{atomic, processes, ref_names};

/// A lock on refs is held for moments.
const OLD: Duration = Duration::from_mins(1);

/// What git is called with while it locks single refs.
const LOCKING: [&str; 6] = [
    "update-ref",
    "pack-refs",
    "gc",
    "fetch",
    "push",
    "maintenance",
];

/// Removes what a dead git has left on the copies; returns how many locks that were.
///
/// # Errors
/// `io`.
pub fn clear_copies(world: &World, repo: &Repo) -> Result<usize> {
    let mut found = Vec::new();
    for prefix in [ref_names::AGENTS, ref_names::DESKS] {
        let folder = RefName::from(prefix).under(repo.common_dir());
        collect(&folder, &mut found);
    }
    found.retain(|path| age_of(world, path).is_some_and(|age| age >= OLD));
    if found.is_empty() || git_is_at_work(repo) {
        return Ok(0);
    }
    for path in &found {
        atomic::remove_file(path)?;
        (world.narrate)(&format!(
            "removed the lock that a killed git has left: {}",
            path.display()
        ));
    }
    Ok(found.len())
}

/// Returns how old a file is; `None` where it is gone or of the future.
fn age_of(world: &World, path: &Path) -> Option<Duration> {
    let metadata = fs::symlink_metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)?;
    let now = SystemTime::from(world.now());
    now.duration_since(metadata.modified().ok()?).ok()
}

fn git_is_at_work(repo: &Repo) -> bool {
    let own = [repo.workdir(), repo.git_dir(), repo.common_dir()];
    let folders = LOCKING
        .iter()
        .flat_map(|argument| processes::folders_of("git", argument));
    folders
        .into_iter()
        .any(|folder| own.iter().any(|own| folder.starts_with(own)))
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&path, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|end| end == "lock") => {
                found.push(path);
            }
            _ => {}
        }
    }
}
