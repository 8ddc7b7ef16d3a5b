//! The working tree as a commit that no branch has: uncommitted work, for readers of commits.
//!
//! The commit holds the content of an automatic checkpoint, without author or time of its own: the
//! same files on the same HEAD are the same commit. It is written unreferenced; the caller keeps it
//! alive.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;

use crate::git::object::NewCommit;
use crate::git::worktree::scan::Scan;
use crate::git::worktree::snapshot::Unstorable;
use crate::git::{Head, Oid, Signature};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

use super::checkpoint::left_out::{Allowances, LeftOut};
use super::checkpoint::worktree_snapshot::Kept;
use super::checkpoint::{automatic, unignored};

/// The message of the commit.
const MESSAGE: &str = "uncommitted work";

/// A state of the working tree.
#[derive(Clone, Debug)]
pub struct Uncommitted {
    /// The commit; HEAD if no file differs from it.
    pub commit: Oid,
    /// The paths that a checkpoint leaves out, too.
    pub left_out: Vec<LeftOut>,
    /// The fingerprint of the files from outside; see [`WorktreeState`].
    pub fingerprint: String,
}

/// A state of a worktree, with its index.
#[derive(Clone, Debug)]
pub struct FoundWorktree {
    /// A commit of the files, on HEAD, with the index as second parent if it differs.
    pub commit: Oid,
    /// The branch, or the commit of a detached HEAD.
    pub head: Head,
    /// The paths that an automatic checkpoint leaves out, too.
    pub left_out: Vec<LeftOut>,
}

/// Scans a working tree as an automatic checkpoint does, without the paths of `unignored`, and
/// writes its content.
pub fn with_index(session: &Session, unignored: &[RepoPath]) -> Result<FoundWorktree> {
    let allowances = Allowances::default();
    let kept = Kept::scan(session, &allowances, Unstorable::NameUnreadable, unignored)?;
    automatic::refuse_flood(session, &kept)?;
    let head = kept.scan.head.clone();
    let signature = nobody(session, head.commit())?;
    let commit = kept.commit_beside(session, &signature, MESSAGE.to_owned())?;
    Ok(FoundWorktree { commit, head, left_out: kept.left_out })
}

/// Writes the files of a commit as one on `base` alone.
pub fn on_base(session: &Session, base: Oid, commit: Oid) -> Result<Oid> {
    write(session, base, session.repo.read_commit(commit)?.tree)
}

/// Scans the working tree and writes its content; in a dry run into memory.
pub fn scan(session: &Session) -> Result<Uncommitted> {
    let unignored = unignored::current(session)?;
    let allowances = Allowances::default();
    let scan = session.repo.scan(&session.world)?;
    // Before the files are read: a later change is detected the next time.
    let fingerprint = from_outside(session, &scan);
    let kept = Kept::of(session, scan, &allowances, Unstorable::NameUnreadable, &unignored)?;
    let Some(head) = kept.scan.head.commit() else {
        let branch = kept.scan.head.label();
        let message = format!("branch '{branch}' has no commit yet: nothing can be mapped");
        return Err(Error::new(Code::RevisionNotFound, message).hint("git colony checkpoint"));
    };
    let commit = if kept.differs_from_head() {
        write(session, head, kept.snapshot.worktree_tree)?
    } else {
        head
    };
    Ok(Uncommitted { commit, fingerprint, left_out: kept.left_out })
}

/// The state of the working tree from outside, without reading any file.
#[derive(Clone, Debug)]
pub struct WorktreeState {
    fingerprint: String,
    /// The tree of HEAD, if no file differs from it.
    head_tree: Option<Oid>,
}

impl WorktreeState {
    /// Scans the working tree. Costs a scan, and writes nothing.
    pub fn of(session: &Session) -> Result<WorktreeState> {
        let scan = session.repo.scan(&session.world)?;
        Ok(WorktreeState {
            fingerprint: from_outside(session, &scan),
            head_tree: changed_paths(&scan).is_empty().then_some(scan.head_tree),
        })
    }

    /// Returns `true` if it differs from `commit`, which was made when its fingerprint was `fingerprint`.
    /// A touched file counts as changed, whatever its content.
    pub fn differs(&self, session: &Session, commit: Option<Oid>, fingerprint: &str) -> bool {
        if self.fingerprint == fingerprint {
            return false;
        }
        // The uncommitted files may have been committed since.
        let tree = commit.and_then(|commit| session.repo.tree_of(Some(commit)).ok());
        tree.is_none() || tree != self.head_tree
    }
}

fn write(session: &Session, head: Oid, tree: Oid) -> Result<Oid> {
    session.repo.write_commit(NewCommit {
        tree,
        parents: vec![head],
        signature: &nobody(session, Some(head))?,
        message: MESSAGE.to_owned(),
    })
}

/// Signs with the time of HEAD: the same files give the same commit.
fn nobody(session: &Session, head: Option<Oid>) -> Result<Signature> {
    let head = head.map(|head| session.repo.read_commit(head)).transpose()?;
    Ok(Signature {
        name: "git-colony".to_owned(),
        email: "git-colony@localhost".to_owned(),
        seconds: head.map_or(0, |head| head.committer.seconds),
        offset_seconds: 0,
    })
}

/// Lists every file that may differ from HEAD.
pub(super) fn changed_paths(scan: &Scan) -> BTreeSet<&RepoPath> {
    let staged = scan.staged.iter().map(|change| &change.path);
    let rest = scan.unstaged.iter().chain(&scan.conflicts);
    let untracked = scan.untracked.iter().map(|untracked| &untracked.path);
    staged.chain(rest).chain(untracked).collect()
}

/// The stat data of a file; `None` if there is none at the path.
type Stat = Option<(u32, u64, (i64, i64), (i64, i64))>;

/// HEAD's tree, and each file that may differ from it with its stat data: what a later one differs in has changed.
#[derive(Clone, Debug)]
pub struct WorktreeStat {
    head_tree: Oid,
    files: BTreeMap<RepoPath, Stat>,
}

impl WorktreeStat {
    /// Scans the working tree; reads no file, and writes nothing.
    pub fn of(session: &Session) -> Result<WorktreeStat> {
        Ok(WorktreeStat::from(session, &session.repo.scan(&session.world)?))
    }

    fn from(session: &Session, scan: &Scan) -> WorktreeStat {
        let stat = |path: &RepoPath| {
            let metadata = std::fs::symlink_metadata(path.under(session.repo.workdir())).ok()?;
            let (mtime, ctime) = (metadata.mtime(), metadata.ctime());
            let nanos = (metadata.mtime_nsec(), metadata.ctime_nsec());
            Some((metadata.mode(), metadata.size(), (mtime, ctime), nanos))
        };
        let files = changed_paths(scan).into_iter();
        WorktreeStat {
            head_tree: scan.head_tree,
            files: files.map(|path| (path.clone(), stat(path))).collect(),
        }
    }

    /// Lists the paths whose file, or whose version in HEAD, is another than in an earlier one.
    pub fn changed_since(
        &self,
        session: &Session,
        before: &WorktreeStat,
    ) -> Result<BTreeSet<RepoPath>> {
        let trees = session.repo.diff_trees(before.head_tree, self.head_tree)?;
        let mut changed: BTreeSet<RepoPath> = trees.into_iter().map(|change| change.path).collect();
        let both = self.files.keys().chain(before.files.keys());
        let differs = |path: &&RepoPath| self.files.get(*path) != before.files.get(*path);
        changed.extend(both.filter(differs).cloned());
        Ok(changed)
    }

    /// Lists the files that may differ from HEAD.
    pub fn files(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    /// Returns a digest of it.
    fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.head_tree.to_string().as_bytes());
        for (path, stat) in &self.files {
            hasher.update(&(path.as_bytes().len() as u64).to_le_bytes());
            hasher.update(path.as_bytes());
            hasher.update(format!("{stat:?}").as_bytes());
        }
        let hex = hasher.finalize().to_hex();
        hex.as_str().chars().take(32).collect()
    }
}

/// Returns a digest of HEAD's tree and of the changed files with their stat data.
pub(super) fn from_outside(session: &Session, scan: &Scan) -> String {
    WorktreeStat::from(session, scan).digest()
}
