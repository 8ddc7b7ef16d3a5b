//! The profile 'hydration' of listing files: those of a directory on disk, by git or by a walk, in byte order.
//!
//! git lists what it tracks and what it would track. The walk is for directories that git does not know: it leaves out
//! hidden directories and those that tools fill. No symlink is followed, and nothing is read.

use std::path::Path;
use std::time::Duration;

use crate::git::process::Git;
use crate::git::worktree::filled_directories::WalkFor;
use crate::git::worktree::safe_open::{self, EntryKind};
use crate::model::{Code, Error, RepoPath, Result, World};

/// The maximum size of what git prints.
const MAX_OUTPUT_BYTES: u64 = 512 << 20;

/// The maximum time for it: an ignore file may be a pipe.
pub const LIST_TIMEOUT: Duration = Duration::from_mins(1);

/// The maximum depth of directories.
const MAX_DEPTH: usize = 2_000;

/// Lists the files below a directory that git tracks or would track, relative to it, each once.
///
/// An entry that is a directory is a repository of its own. Deleted files are listed as well. git is killed after `timeout`.
pub fn of_git(
    world: &World,
    folder: &Path,
    most_entries: usize,
    timeout: Duration,
) -> Result<Vec<RepoPath>> {
    let inside = world.standing_in(folder);
    let mut git = Git::new(&inside);
    git.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]);
    // A repository may name a program that watches it.
    git.config("core.fsmonitor", "false");
    git.limit_time(timeout).limit_output(MAX_OUTPUT_BYTES);
    let output = git.run_checked(&format!("list the files of '{}'", folder.display()))?;
    let names = output.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut paths: Vec<RepoPath> =
        names.map(|name| RepoPath::new(name.strip_suffix(b"/").unwrap_or(name))).collect();
    paths.sort();
    paths.dedup();
    within(paths, most_entries)
}

/// Lists the files below a directory by a walk, relative to it.
pub fn walked(world: &World, folder: &Path, most_entries: usize) -> Result<Vec<RepoPath>> {
    let mut paths = Vec::new();
    let mut waiting = vec![(RepoPath::default(), 0)];
    let mut entries = 0;
    while let Some((directory, depth)) = waiting.pop() {
        world.interrupt.check()?;
        let listed = match safe_open::entries_below(folder, &directory) {
            Err(error) if depth == 0 => {
                let what = format!("cannot list '{}'", folder.display());
                return Err(Error::io(what, error));
            }
            listed => listed.unwrap_or_default(),
        };
        entries += listed.len();
        if entries > most_entries {
            return within(paths, 0);
        }
        for (path, kind) in listed {
            if kind != EntryKind::Directory {
                paths.push(path);
            } else if depth < MAX_DEPTH && !WalkFor::Hydration.leaves_out(path.name()) {
                waiting.push((path, depth + 1));
            }
        }
    }
    paths.sort();
    Ok(paths)
}

fn within(paths: Vec<RepoPath>, most_entries: usize) -> Result<Vec<RepoPath>> {
    if paths.len() <= most_entries {
        return Ok(paths);
    }
    let message = "the resource has more files and directories than 'colony.map.maxEntries' allows";
    Err(Error::new(Code::TreeTooLarge, message).hint("git config colony.map.maxEntries 16000000"))
}
