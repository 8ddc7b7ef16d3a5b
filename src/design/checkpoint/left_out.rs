//! The paths that a checkpoint leaves out: too large (`colony.maxNewFileSize`), secret, nested, and so on.
//!
//! Only untracked paths are left out: large files, likely secrets, nested repositories, names that
//! git refuses, paths that a restore un-ignored, and unreadable ones; and edits inside submodules. Tracked files in a directory
//! that cannot be searched are kept as the index has them. The report and the tag name the paths
//! that were left out, and a restore does not touch them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::git::worktree::scan::{Scan, Untracked, UntrackedKind};
use crate::model::RepoPath;

use super::secret_file_names::{SEARCHED_BYTES, contains_secret, is_named_as_secret};

/// Why a path was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeaveOutReason {
    /// A nested repository: git would record a link to a commit that nobody else has.
    NestedRepository,
    /// Larger than `colony.maxNewFileSize`; `--allow-large` includes it.
    Large,
    /// Looks like a secret; `--allow-secret PATH` includes it.
    Secret,
    /// git refuses such a name in a tree: it stands for `.git` on some file system.
    RefusedName,
    /// Was ignored until a restore; `--include-unignored` includes it, with everything below it.
    Unignored,
    /// A submodule with edits inside that are not kept: a checkpoint has at most the commit that it is at.
    EditedSubmodule,
    /// A submodule with edits inside that are not kept: its repository is not one that git made for it here, or has
    /// filters of its own, as that of git-lfs.
    ForeignSubmodule,
    /// Cannot be read: a file or directory without the permission, or a path that is too long.
    /// Tracked files in such a directory are kept as the index has them.
    Unreadable,
}

/// A path that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The path.
    pub path: RepoPath,
    /// The reason.
    pub reason: LeaveOutReason,
}

/// The paths that are included despite the rules.
#[derive(Clone, Debug, Default)]
pub struct Allowances {
    /// Include large files.
    pub large: bool,
    /// Include these paths although they look like secrets.
    pub secrets: Vec<RepoPath>,
    /// Include the paths that a restore un-ignored.
    pub unignored: bool,
    /// Include untracked files however many they are, and whatever git shows of them.
    pub untracked: bool,
}

/// The untracked paths of a scan, sorted into those that are kept and those that are not.
#[derive(Default)]
pub struct Split<'a> {
    /// The paths that a checkpoint includes.
    pub taken: Vec<&'a Untracked>,
    /// Those of them that look like secrets, and were allowed.
    pub secrets: Vec<RepoPath>,
    /// The paths that it leaves out.
    pub left_out: Vec<LeftOut>,
}

/// Splits the untracked paths of a scan into those a checkpoint includes and those it leaves out.
pub fn split<'a>(
    repo: &Repo,
    scan: &'a Scan,
    max_new_file_size_bytes: u64,
    allowances: &Allowances,
    unignored: &[RepoPath],
) -> Split<'a> {
    let mut unignored: BTreeMap<_, _> =
        unignored.iter().filter(|_| !allowances.unignored).map(|path| (path, false)).collect();
    let mut split = Split::default();
    let reason = LeaveOutReason::EditedSubmodule;
    let edited = scan.edited_submodules.iter().cloned();
    split.left_out.extend(edited.map(|path| LeftOut { path, reason }));
    for untracked in &scan.untracked {
        if let Some(top) = entry_above(&unignored, &untracked.path) {
            let was_reported = unignored.insert(top, true);
            split.left_out.extend(
                (was_reported == Some(false))
                    .then(|| LeftOut { path: top.clone(), reason: LeaveOutReason::Unignored }),
            );
            continue;
        }
        let allowed = allowances.secrets.iter().any(|path| untracked.path.is_at_or_below(path));
        let reason = if untracked.kind == UntrackedKind::Refused {
            Some(LeaveOutReason::RefusedName)
        } else if untracked.kind == UntrackedKind::Repository {
            Some(LeaveOutReason::NestedRepository)
        } else if untracked.kind == UntrackedKind::Unreadable {
            Some(LeaveOutReason::Unreadable)
        } else if untracked.size_bytes > max_new_file_size_bytes && !allowances.large {
            Some(LeaveOutReason::Large)
        } else if looks_secret(repo, untracked) {
            split.secrets.extend(allowed.then(|| untracked.path.clone()));
            (!allowed).then_some(LeaveOutReason::Secret)
        } else {
            None
        };
        match reason {
            Some(reason) => split.left_out.push(LeftOut { path: untracked.path.clone(), reason }),
            None => split.taken.push(untracked),
        }
    }
    split
}

/// Finds the entry of the list that a path is at or below.
fn entry_above<'a>(list: &BTreeMap<&'a RepoPath, bool>, path: &RepoPath) -> Option<&'a RepoPath> {
    if list.is_empty() {
        return None;
    }
    let find = |path: &RepoPath| list.get_key_value(path).map(|(entry, _)| *entry);
    find(path).or_else(|| path.ancestors().find_map(|above| find(&above)))
}

fn looks_secret(repo: &Repo, untracked: &Untracked) -> bool {
    is_named_as_secret(&untracked.path) || holds_secret(repo, untracked)
}

fn holds_secret(repo: &Repo, untracked: &Untracked) -> bool {
    // An unreadable file fails later, with its name, when it is stored.
    let read = repo.read_beginning(&untracked.path, SEARCHED_BYTES);
    let bytes = read.ok().flatten();
    bytes.is_some_and(|bytes| contains_secret(&bytes))
}
