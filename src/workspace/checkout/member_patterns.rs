//! The directories that the member patterns of a workspace name: `crates/*`, `packages/foo-?`, `apps/**`.
//!
//! `*`, `?` and `[]` match within one name, `**` any number of directories. A directory counts if it holds the
//! manifest of its kind. `**` does not enter directories whose name begins with a dot, `node_modules` and `target`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::git::PathPattern;
use crate::git::worktree::filled_directories::WalkFor;
use crate::model::RepoPath;

use super::root_files::RootFiles;

/// The maximum number of directories that are listed for one workspace.
const MAX_LISTED: usize = 10_000;

/// Finds members by patterns.
pub(super) struct MemberSearch<'a> {
    files: RootFiles<'a>,
    /// The file that a member holds.
    manifest: &'static str,
    listed: usize,
}

impl<'a> MemberSearch<'a> {
    pub(super) fn new(files: RootFiles<'a>, manifest: &'static str) -> MemberSearch<'a> {
        MemberSearch { files, manifest, listed: 0 }
    }

    /// Returns the path of the manifest at the root.
    pub(super) fn manifest_of_root(&self) -> PathBuf {
        self.files.root.join(self.manifest)
    }

    /// Returns `true` if not everything was looked at.
    pub(super) fn is_cut(&self) -> bool {
        self.listed >= MAX_LISTED
    }

    /// Finds the members that `included` names and `excluded` does not, sorted. An exclusion includes everything below it.
    pub(super) fn find(&mut self, included: &[String], excluded: &[String]) -> Vec<RepoPath> {
        let mut members = BTreeSet::new();
        for pattern in included {
            members.extend(self.matching(pattern));
        }
        let excluded: Vec<PathPattern> = excluded
            .iter()
            .filter_map(|pattern| {
                let parts = parts(pattern)?.join("/");
                PathPattern::parse(&format!("/{parts}")).ok()
            })
            .collect();
        let is_in = |path: &RepoPath| !excluded.iter().any(|out| out.matches(path, true));
        members.retain(is_in);
        members.into_iter().collect()
    }

    fn matching(&mut self, pattern: &str) -> Vec<RepoPath> {
        let Some(parts) = parts(pattern) else {
            return Vec::new();
        };
        let mut directories = vec![RepoPath::default()];
        for part in parts {
            directories = if part == "**" {
                self.all_below(directories)
            } else if part.contains(['*', '?', '[']) {
                let Ok(pattern) = PathPattern::parse(part) else {
                    return Vec::new();
                };
                let mut children = Vec::new();
                for directory in directories {
                    children.extend(self.children(&directory));
                }
                children.retain(|child| pattern.matches(&RepoPath::from(child.name()), true));
                children
            } else {
                let part = RepoPath::from(part);
                let join = |directory: &RepoPath| directory.join(&part);
                directories.iter().map(join).collect()
            };
        }
        directories.retain(|path| self.files.holds(path, self.manifest));
        directories
    }

    /// Returns directories and everything below them.
    fn all_below(&mut self, mut open: Vec<RepoPath>) -> Vec<RepoPath> {
        let mut directories = Vec::new();
        while let Some(directory) = open.pop() {
            let children = self.children(&directory).into_iter();
            open.extend(children.filter(|child| !WalkFor::Members.leaves_out(child.name())));
            directories.push(directory);
        }
        directories
    }

    fn children(&mut self, directory: &RepoPath) -> Vec<RepoPath> {
        if self.is_cut() {
            return Vec::new();
        }
        self.listed += 1;
        self.files.directories(directory)
    }
}

/// Returns the components of a pattern; `None` if it leaves the root.
fn parts(pattern: &str) -> Option<Vec<&str>> {
    let separators = ['/', '\\'];
    if pattern.is_empty() || pattern.starts_with(separators) || pattern.contains('\0') {
        return None;
    }
    let parts: Vec<&str> =
        pattern.split(separators).filter(|part| !matches!(*part, "" | ".")).collect();
    (!parts.contains(&"..")).then_some(parts)
}
