//! Running hooks of the repository, as git would.

use std::path::Path;

use crate::model::{Result, World};

use super::{OPERATION_VARIABLE, Output};

/// A hook that runs before a commit is made.
pub struct CommitHook<'a> {
    /// Its name.
    pub name: &'a str,
    /// The arguments that git passes.
    pub args: &'a [String],
    /// The index that it sees and may add to.
    pub index: &'a Path,
}

/// Runs a hook for a new commit, if the repository has it; the user sees its output.
pub fn run_commit_hook(
    repo: &crate::git::Repo,
    world: &World,
    hook: &CommitHook<'_>,
) -> Result<Output> {
    let mut git = repo.git_with_monitor(world);
    git.env(OPERATION_VARIABLE, hook.name);
    git.env("GIT_INDEX_FILE", hook.index);
    // The message is given, so no editor is needed.
    git.env("GIT_EDITOR", ":");
    git.args(["hook", "run", "--ignore-missing", hook.name, "--"]);
    let output = git.args(hook.args).run()?;
    for line in output.stderr.lines() {
        (world.narrate)(line);
    }
    Ok(output)
}

/// Runs a hook of the repository as git would, if there is one.
///
/// The user sees its output; its exit code is returned, not judged.
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
    let mut git = repo.git_with_monitor(world);
    git.env(OPERATION_VARIABLE, name);
    git.args(["hook", "run", "--ignore-missing", name, "--"]).args(args);
    let output = git.run()?;
    for line in output.stderr.lines() {
        (world.narrate)(line);
    }
    Ok(output.code)
}
