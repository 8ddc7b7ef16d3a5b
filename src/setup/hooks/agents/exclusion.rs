//! Leaves the files of an agent's set-up out of everybody's commits: a line for each in `info/exclude`.
//!
//! A tracked file gets no line, since git would not heed it. All worktrees of a repository share the lines, so one
//! stays until the last of them that has the file is uninstalled.

use std::fs;
use std::path::PathBuf;

use crate::git::Repo;
use crate::model::{RepoPath, Result};
use crate::setup::hooks::action::HookChange;
use crate::setup::info_file::{self, InfoFile};
use crate::store::Session;
use crate::store::files::text_diff;

use super::part::Part;

/// The plan for the lines.
pub(super) struct ExclusionPlan {
    file: InfoFile,
    /// The path in diffs and steps: from the root of the working tree, if it is below that.
    shown: String,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    /// The files that are tracked.
    tracked: Vec<&'static str>,
}

impl ExclusionPlan {
    /// Plans to add or remove the lines of these parts; changes nothing.
    pub(super) fn make(
        session: &Session,
        parts: &[Part],
        act: HookChange,
    ) -> Result<ExclusionPlan> {
        let repo = &session.repo;
        let file = InfoFile::exclude(repo);
        let before = match file.read() {
            // It never had lines of ours: they are added through no link.
            Err(_) if act == HookChange::Uninstall => None,
            read => read?,
        };
        let mut lines = info_file::lines_of(before.as_deref().unwrap_or_default());
        let mut tracked = Vec::new();
        for part in parts {
            let line = line_of(*part);
            match act {
                HookChange::Install if repo.is_tracked(&RepoPath::from(part.path()))? => {
                    tracked.push(part.path());
                }
                HookChange::Install if !lines.contains(&line) => lines.push(line),
                HookChange::Uninstall if !is_needed_elsewhere(repo, *part) => {
                    lines.retain(|other| *other != line);
                }
                HookChange::Install | HookChange::Uninstall => {}
            }
        }
        let after = info_file::with_lines(before.as_deref(), &lines);
        Ok(ExclusionPlan { shown: shown(repo, &file), file, before, after, tracked })
    }

    /// Returns `true` if there is anything to do.
    pub(super) fn changes(&self) -> bool {
        self.before != self.after
    }

    /// Returns the change as a unified diff; empty without a change.
    pub(super) fn diff(&self) -> String {
        let text = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        };
        let (before, after) = (text(&self.before), text(&self.after));
        text_diff::unified(&self.shown, before.as_deref(), after.as_deref())
    }

    /// Describes the step; `None` if there is nothing to do.
    pub(super) fn step(&self) -> Option<String> {
        let verb = if self.after.is_some() { "write" } else { "remove" };
        self.changes().then(|| format!("{verb} '{}'", self.shown))
    }

    /// Returns the note about files that are tracked; `None` without any.
    pub(super) fn note(&self) -> Option<String> {
        let quoted: Vec<_> = self.tracked.iter().map(|path| format!("'{path}'")).collect();
        let (are, their) = if quoted.len() == 1 { ("is", "its") } else { ("are", "their") };
        let paths = quoted.join(" and ");
        (!quoted.is_empty())
            .then(|| format!("{paths} {are} tracked, so the next commit has {their} changes"))
    }

    /// Carries out the plan.
    pub(super) fn apply(&self, session: &Session) -> Result<()> {
        if !self.changes() {
            return Ok(());
        }
        self.file.write(self.after.as_deref())?;
        session.world.reach("hooks-excluded")
    }
}

/// Returns `true` if `info/exclude` has a line of ours that no other worktree needs.
pub(super) fn is_left(repo: &Repo, part: Part) -> bool {
    let bytes = InfoFile::exclude(repo).read().ok().flatten().unwrap_or_default();
    info_file::lines_of(&bytes).contains(&line_of(part)) && !is_needed_elsewhere(repo, part)
}

/// Returns the line for a file: it has no character with a meaning in a pattern.
fn line_of(part: Part) -> String {
    format!("/{}", part.path())
}

/// Returns `true` if another worktree of the repository has the file from us.
fn is_needed_elsewhere(repo: &Repo, part: Part) -> bool {
    let own = part.record(repo);
    let Some(name) = own.file_name() else {
        return false;
    };
    let linked = fs::read_dir(repo.common_dir().join("worktrees")).into_iter().flatten().flatten();
    let git_dirs = linked.map(|entry| entry.path()).chain([repo.common_dir().to_owned()]);
    let mut records = git_dirs.map(|git_dir: PathBuf| git_dir.join("colony").join(name));
    records.any(|record| record != own && record.exists())
}

fn shown(repo: &Repo, file: &InfoFile) -> String {
    let path = file.path();
    path.strip_prefix(repo.workdir()).unwrap_or(path).display().to_string()
}
