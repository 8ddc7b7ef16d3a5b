//! Checks that a push runs no hook but those of git-lfs and ours.

use std::path::Path;

use crate::git::Repo;
use crate::git::plain_file;
use crate::model::{Result, World};

use super::beside;
use super::folder::HooksFolder;
use super::script::{Content, HookName, classify};

/// Returns `true` if the hook that git runs before a push only lets git-lfs upload, or does not exist. A
/// script that does more may push elsewhere, and would pass on its input.
pub fn push_only_uploads(repo: &Repo, world: &World) -> Result<bool> {
    let folder = HooksFolder::find(repo, world)?;
    if !folder.is_inside_git_dir() {
        return Ok(false);
    }
    let hook = HookName::PrePush;
    let standing = folder.path.join(hook.as_str());
    let script = plain_file::read(&standing).unwrap_or_default();
    let is_ours = classify(&script, hook.as_str()) == Content::Ours;
    let former = beside::former(&folder.path, hook);
    Ok(only_uploads(&standing) || (is_ours && only_uploads(&former)))
}

/// Returns `true` if every line of a script is one that `git lfs install` writes.
fn only_uploads(path: &Path) -> bool {
    if path.symlink_metadata().is_err() {
        return true;
    }
    let Ok(script) = plain_file::read_text(path) else {
        return false;
    };
    let lines = script.lines().map(str::trim);
    let mut code = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let looks = |line: &str| {
        line.starts_with("command -v git-lfs >/dev/null 2>&1 || { ") && line.ends_with("exit 2; }")
    };
    code.all(|line| line == r#"git lfs pre-push "$@""# || looks(line))
}
