//! Differences between two states: revisions, checkpoints, forks, the working tree.
//!
//! The working tree counts as a checkpoint would keep it, so that a diff and the checkpoint after
//! it agree. Nothing is written to the repository, however large the difference.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::compare::git_diff::{Compared, Comparison, Difference};
use crate::git::worktree::snapshot::Unstorable;
use crate::git::{Oid, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

use super::checkpoint::left_out::{Allowances, LeftOut};
use super::checkpoint::unignored;
use super::checkpoint::worktree_snapshot::Kept;
use super::meaning;
use super::restore::restore_target::Target;

/// The maximum size of a patch in an answer; files that do not fit are left out.
pub const PATCH_LIMIT_BYTES: usize = 256 * 1024;

/// The name of the working tree in an answer.
pub const WORKTREE: &str = "worktree";

/// The states to compare.
#[derive(Clone, Debug)]
pub struct Request {
    /// The first state.
    pub from: Named,
    /// The second state.
    pub to: Named,
    /// Whether it begins where the two parted.
    pub since: DiffBase,
    /// Only these paths and everything below them; empty for all.
    pub paths: Vec<RepoPath>,
    /// Whether the patch is wanted.
    pub patch: WithPatch,
}

/// A state as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// A revision, a fork or a checkpoint.
    Any(String),
    /// A checkpoint or an operation.
    Checkpoint(String),
    /// The files as they are now.
    Worktree,
    /// A known state.
    State(DiffSide),
}

/// What the second state is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffBase {
    /// The first state.
    First,
    /// The best common ancestor of both.
    MergeBase,
}

/// Whether a patch is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithPatch {
    /// With a patch.
    Yes,
    /// Without a patch.
    No,
}

/// The differences.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiffReport {
    /// The first state, as it was named; for 'A...B' the commit at which the two parted.
    pub ref_a: String,
    /// The second state, as the user named it; `worktree` for the files as they are now.
    pub ref_b: String,
    /// The commit of the first state; `None` for a branch without a commit.
    pub commit_a: Option<Oid>,
    /// The commit of the second state; `None` for the working tree.
    pub commit_b: Option<Oid>,
    /// The paths that differ, sorted.
    pub entries: Vec<DiffEntry>,
    /// The patch, if requested: at most 256 KiB of whole files.
    pub raw_unified_diff: Option<String>,
    /// Whether files did not fit into the patch.
    pub truncated: bool,
    /// The paths of the working tree that were not compared, as a checkpoint leaves them out.
    pub left_out: Vec<LeftOut>,
}

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeType {
    /// It is only in the second state.
    Added,
    /// Its content or its mode differs.
    Modified,
    /// It is only in the first state.
    Deleted,
    /// It had another name.
    Renamed,
    /// It is similar to another path that changed.
    Copied,
    /// It changed its type: symlink, file, submodule.
    TypeChanged,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DiffEntry {
    /// The path, in the second state if it exists there.
    pub path: RepoPath,
    /// The kind of change.
    pub change_type: ChangeType,
    /// The path in the first state, for a rename or a copy.
    pub old_path: Option<RepoPath>,
    /// The number of lines added; 0 for a binary file.
    pub insertions: u64,
    /// The number of lines deleted; 0 for a binary file.
    pub deletions: u64,
    /// Whether it is a binary file.
    pub binary: bool,
    /// Its new mode in octal, as in `100755`, if that changed; left out if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<String>,
}

/// Compares two states. Objects of the worktree stay in memory if the session's do.
pub fn diff(session: &Session, request: &Request) -> Result<DiffReport> {
    let first = DiffSide::find(session, &request.from)?;
    let b = DiffSide::find(session, &request.to)?;
    let (repo, world) = (&session.repo, &session.world);
    let a = match request.since {
        DiffBase::First => first,
        DiffBase::MergeBase => DiffSide::of_merge_base(repo, &first, &b)?,
    };
    let head = repo.head()?.commit();
    for commit in [a.commit, b.commit].into_iter().flatten() {
        repo.fetch_promised(world, &[commit], head.as_slice())?;
    }
    let quarantine =
        if a.tree == b.tree || repo.keeps_objects() { None } else { Some(repo.quarantine(world)?) };
    let comparison = Comparison {
        old: a.tree,
        new: b.tree,
        paths: &request.paths,
        quarantine: quarantine.as_ref(),
    };
    let entries = repo.compare(world, comparison)?;
    let patch = match request.patch {
        WithPatch::No => None,
        WithPatch::Yes => Some(repo.patch(world, comparison, PATCH_LIMIT_BYTES)?),
    };
    let left_out = [a.left_out, b.left_out].concat();
    Ok(DiffReport {
        ref_a: a.name,
        ref_b: b.name,
        commit_a: a.commit,
        commit_b: b.commit,
        entries: entries.into_iter().map(DiffEntry::from).collect(),
        truncated: patch.as_ref().is_some_and(|patch| patch.truncated),
        raw_unified_diff: patch.map(|patch| patch.text),
        left_out,
    })
}

/// Finds the commit and tree that a name stands for.
fn find_any(repo: &Repo, name: &str) -> Result<(Oid, Oid)> {
    let target = Target::of(repo, name, meaning::find(repo, name)?)?;
    Ok((target.sha, target.tree))
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffSide {
    /// Its name.
    pub name: String,
    /// The commit; `None` for uncommitted files.
    pub commit: Option<Oid>,
    /// The tree of the files.
    pub tree: Oid,
    /// The paths that were not compared.
    pub left_out: Vec<LeftOut>,
}

impl DiffSide {
    fn find(session: &Session, named: &Named) -> Result<DiffSide> {
        let repo = &session.repo;
        let (name, (commit, tree)) = match named {
            Named::Worktree => return DiffSide::of_worktree(session),
            Named::State(state) => return Ok(state.clone()),
            Named::Checkpoint(name) => {
                let target = Target::find(repo, name)?;
                (target.id, (Some(target.sha), target.tree))
            }
            Named::Any(name) if name == "HEAD" || name == "@" => {
                let commit = repo.head()?.commit();
                (name.clone(), (commit, repo.tree_of(commit)?))
            }
            Named::Any(name) => {
                let (commit, tree) = find_any(repo, name)?;
                (name.clone(), (Some(commit), tree))
            }
        };
        Ok(DiffSide { name, commit, tree, left_out: Vec::new() })
    }

    /// Finds where two states parted, as git does for `A...B`: one of the best, where there are several.
    fn of_merge_base(repo: &Repo, side: &DiffSide, other: &DiffSide) -> Result<DiffSide> {
        let parted = |code: Code, why: &str| {
            let message = format!("'{}' and '{}' {why}", side.name, other.name);
            Error::new(code, message).hint(format!(
                "git colony diff {} {}",
                shell_word(&side.name),
                shell_word(&other.name)
            ))
        };
        let Some((a, b)) = side.commit.zip(other.commit) else {
            return Err(parted(Code::RevisionNotFound, "are not both committed"));
        };
        let bases = repo.merge_bases(a, b)?;
        let Some(base) = bases.first().copied() else {
            return Err(parted(Code::UnrelatedHistories, "have no commit in common"));
        };
        Ok(DiffSide {
            name: base.to_string(),
            commit: Some(base),
            tree: repo.tree_of(Some(base))?,
            left_out: Vec::new(),
        })
    }

    fn of_worktree(session: &Session) -> Result<DiffSide> {
        let unignored = unignored::current(session)?;
        let allowances = Allowances::default();
        let kept = Kept::scan(session, &allowances, Unstorable::NameUnreadable, &unignored)?;
        Ok(DiffSide {
            name: WORKTREE.to_owned(),
            commit: None,
            tree: kept.snapshot.worktree_tree,
            left_out: kept.left_out,
        })
    }
}

impl From<Compared> for DiffEntry {
    fn from(compared: Compared) -> DiffEntry {
        let (insertions, deletions) = compared.lines.unwrap_or_default();
        DiffEntry {
            path: compared.path,
            change_type: match compared.difference {
                Difference::Added => ChangeType::Added,
                Difference::Modified => ChangeType::Modified,
                Difference::Deleted => ChangeType::Deleted,
                Difference::Renamed => ChangeType::Renamed,
                Difference::Copied => ChangeType::Copied,
                Difference::TypeChanged => ChangeType::TypeChanged,
            },
            old_path: compared.old_path,
            insertions,
            deletions,
            binary: compared.lines.is_none(),
            new_mode: compared.new_mode,
        }
    }
}
