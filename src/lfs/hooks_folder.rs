//! The folder that git takes hooks from, as git-lfs sees it, and the files under the names of its hooks.
//!
//! The folder may be in the working tree, or shared by others: it is read and never trusted.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::Repo;
use crate::git::plain_file::{self, Symlinks};
use crate::model::Result;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::HookPlaces;

/// The number of bytes read to classify a hook.
const MAX_HOOK_BYTES: u64 = 1 << 20;

const HOOKS_PATH: &str = "core.hooksPath";

/// The state of a hook's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Absent,
    /// The empty file of a git-lfs that was interrupted between creating it and writing it.
    Empty,
    GitLfs,
    Ours,
    Foreign,
}

pub(super) fn state(folder: &Path, name: &str) -> State {
    let path = folder.join(name);
    if std::fs::symlink_metadata(&path).is_err() {
        return State::Absent;
    }
    if !path.is_file() {
        return State::Foreign;
    }
    let text = read_hook(&path);
    if text.is_empty() && path.is_file() {
        State::Empty
    } else if text.contains(&format!("git-colony hook {name}")) {
        State::Ours
    } else if text.contains(&format!("git lfs {name}")) {
        State::GitLfs
    } else {
        State::Foreign
    }
}

/// Reads the beginning of a hook; empty for anything but a file. The folder may be in the working tree.
pub(super) fn read_hook(path: &Path) -> String {
    // A hook that cannot be read counts as empty.
    let beginning = plain_file::find_beginning(path, Symlinks::Followed, MAX_HOOK_BYTES);
    let bytes = beginning.ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns `true` if a folder of hooks is inside the git directory, with symlinks resolved; a missing one
/// would be created there.
pub(super) fn is_own(repo: &Repo, folder: &Path) -> bool {
    match folder.canonicalize() {
        Ok(real) => real.starts_with(repo.common_dir()),
        Err(_) => folder.symlink_metadata().is_err() && folder.starts_with(repo.common_dir()),
    }
}

/// Returns the folder that git takes hooks from, as git resolves it.
pub(super) fn hooks_folder(session: &Session) -> PathBuf {
    let repo = &session.repo;
    if repo.is_foreign() {
        // Its owner may name any folder of the machine, and hooks are written there.
        let ours = HookPlaces::of(repo).forwarders();
        return if ours.is_dir() { ours } else { repo.common_dir().join("hooks") };
    }
    let mut git = repo.git(&session.world);
    git.args(["config", "-z", "--type=path", "--get", HOOKS_PATH]);
    let configured = match git.run() {
        Ok(output) if output.success() => {
            let value = output.stdout.strip_suffix(b"\0").unwrap_or_default();
            Some(PathBuf::from(OsStr::from_bytes(value)))
        }
        // `~nobody/hooks` cannot be resolved; taken literally, it is a missing folder.
        _ => repo.config(HOOKS_PATH).map(PathBuf::from),
    };
    // An empty value means the root of the working tree: git-lfs would write there.
    configured.map_or_else(|| repo.common_dir().join("hooks"), |folder| repo.workdir().join(folder))
}

/// Removes a hook that git-lfs has just created.
pub(super) fn remove_if_git_lfs(folder: &Path, name: &str) -> Result<()> {
    if !matches!(state(folder, name), State::GitLfs | State::Empty) {
        return Ok(());
    }
    let path = folder.join(name);
    let text = read_hook(&path);
    // A hook that does more than call git-lfs belongs to the user.
    if text.lines().count() > 4 {
        return Ok(());
    }
    atomic::remove_file(&path)
}
