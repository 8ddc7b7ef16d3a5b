//! Running hooks of the repository, as git would.

use std::path::Path;

use crate::model::{Result, World};

use super::{OPERATION_VARIABLE, Output};

/// A hook that runs before a commit is made.
pub struct CommitHook<'a> {
    /// Its name.
    pub name: &'a str,
    /// What git gives it.
    pub args: &'a [String],
    /// The index it sees and may add to.
    pub index: &'a Path,
}

/// Runs a hook of a commit to be, if there is one; its output goes to the person.
///
/// # Errors
/// `git-failed` when git cannot be started.
pub fn run_commit_hook(
    repo: &crate::git::Repo,
    world: &World,
    hook: &CommitHook<'_>,
) -> Result<Output> {
    let mut git = repo.git(world);
    git.env(OPERATION_VARIABLE, hook.name);
    git.env("GIT_INDEX_FILE", hook.index);
    // The message is given: no editor comes up.
    git.env("GIT_EDITOR", ":");
    git.args(["hook", "run", "--ignore-missing", hook.name, "--"]);
    let output = git.args(hook.args).run()?;
    for line in output.stderr.lines() {
        (world.narrate)(line);
    }
    Ok(output)
}

/// Runs a hook of the repository, if there is one, as git would.
///
/// Its output goes to the person; its exit code is returned, not judged.
///
/// # Errors
/// `git-failed` when git cannot be started.
pub fn run_hook(
    repo: &crate::git::Repo,
    world: &World,
    name: &str,
    args: &[String],
) -> Result<Option<i32>> {
    let folder = repo.config("core.hooksPath").map_or_else(
        || repo.common_dir().join("hooks"),
        |configured| repo.workdir().join(configured),
    );
    if !folder.join(name).exists() {
        return Ok(None);
    }
    let mut git = repo.git(world);
    git.env(OPERATION_VARIABLE, name);
    git.args(["hook", "run", "--ignore-missing", name, "--"])
        .args(args);
    let output = git.run()?;
    for line in output.stderr.lines() {
        (world.narrate)(line);
    }
    Ok(output.code)
}
