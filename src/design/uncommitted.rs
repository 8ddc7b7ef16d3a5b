//! The worktree as a commit that no branch has: what is not committed yet, for those who read commits.
//!
//! The commit holds what an automatic checkpoint would, and says nothing of who made it or when: the same
//! files on the same HEAD are the same commit. It is written and nothing points to it; whoever uses it
//! keeps it alive.

use std::collections::BTreeSet;
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

/// What such a commit says.
const MESSAGE: &str = "uncommitted work";

/// The worktree as it was found.
#[derive(Clone, Debug)]
pub struct Uncommitted {
    /// The commit; HEAD where the files are as it has them.
    pub commit: Oid,
    /// What a checkpoint leaves out, too.
    pub left_out: Vec<LeftOut>,
    /// What the files looked like from outside; see [`Now`].
    pub look: String,
}

/// A worktree as it was found, with its index.
#[derive(Clone, Debug)]
pub struct FoundWorktree {
    /// A commit of the files, on HEAD, with the index as second parent where that says more.
    pub commit: Oid,
    /// The branch, or where HEAD is.
    pub head: Head,
    /// How many paths are uncommitted.
    pub changed: usize,
    /// What an automatic checkpoint leaves out, too.
    pub left_out: Vec<LeftOut>,
}

/// Looks at a worktree as an automatic checkpoint does, for which the paths of `unignored` do not count, and
/// writes what it holds.
///
/// # Errors
/// `too-many-new-files`, `filter-failed`, `no-space`, `io`, `interrupted`.
pub fn with_index(session: &Session, unignored: &[RepoPath]) -> Result<FoundWorktree> {
    let allowances = Allowances::default();
    let kept = Kept::look(session, &allowances, Unstorable::NameUnreadable, unignored)?;
    automatic::refuse_flood(session, &kept)?;
    let head = kept.scan.head.clone();
    let signature = nobody(session, head.commit())?;
    let commit = kept.commit_beside(session, &signature, MESSAGE.to_owned())?;
    Ok(FoundWorktree {
        commit,
        head,
        changed: changed_paths(&kept.scan).len(),
        left_out: kept.left_out,
    })
}

/// Writes the files of a commit as one on `base` alone.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn on_base(session: &Session, base: Oid, commit: Oid) -> Result<Oid> {
    write(session, base, session.repo.read_commit(commit)?.tree)
}

/// Looks at the worktree and writes what it holds; in a dry run into memory.
///
/// # Errors
/// `revision-not-found` on a branch without a commit; `filter-failed`, `no-space`, `io`, `interrupted`.
pub fn look(session: &Session) -> Result<Uncommitted> {
    let unignored = unignored::current(session)?;
    let allowances = Allowances::default();
    let scan = session.repo.scan(&session.world)?;
    // Before the files are read: what is written meanwhile is told later.
    let look = from_outside(session, &scan);
    let kept = Kept::of(
        session,
        scan,
        &allowances,
        Unstorable::NameUnreadable,
        &unignored,
    )?;
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
    Ok(Uncommitted {
        commit,
        look,
        left_out: kept.left_out,
    })
}

/// The worktree as it looks from outside: no file is read for it.
#[derive(Clone, Debug)]
pub struct Now {
    look: String,
    /// What it holds, where that is what HEAD has.
    head_tree: Option<Oid>,
}

impl Now {
    /// Looks at the worktree. Costs a scan, and writes nothing.
    ///
    /// # Errors
    /// As [`crate::git::Repo::scan`].
    pub fn of(session: &Session) -> Result<Now> {
        let scan = session.repo.scan(&session.world)?;
        Ok(Now {
            look: from_outside(session, &scan),
            head_tree: changed_paths(&scan).is_empty().then_some(scan.head_tree),
        })
    }

    /// Tells whether it holds something else than `commit`, which was made when it looked like `look`. A
    /// file that was touched counts as changed, whatever it holds.
    pub fn differs(&self, session: &Session, commit: Option<Oid>, look: &str) -> bool {
        if self.look == look {
            return false;
        }
        // What was uncommitted may have been committed since.
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

/// Signs with the time of HEAD: the same files are the same commit.
fn nobody(session: &Session, head: Option<Oid>) -> Result<Signature> {
    let head = head
        .map(|head| session.repo.read_commit(head))
        .transpose()?;
    Ok(Signature {
        name: "git-colony".to_owned(),
        email: "git-colony@localhost".to_owned(),
        seconds: head.map_or(0, |head| head.committer.seconds),
        offset_seconds: 0,
    })
}

/// Everything that may be another file than HEAD has.
pub(super) fn changed_paths(scan: &Scan) -> BTreeSet<&RepoPath> {
    let staged = scan.staged.iter().map(|change| &change.path);
    let rest = scan.unstaged.iter().chain(&scan.conflicts);
    let untracked = scan.untracked.iter().map(|untracked| &untracked.path);
    staged.chain(rest).chain(untracked).collect()
}

/// Digests HEAD's tree, and which files are changed with their stat data.
fn from_outside(session: &Session, scan: &Scan) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(scan.head_tree.to_string().as_bytes());
    for path in changed_paths(scan) {
        hasher.update(&(path.as_bytes().len() as u64).to_le_bytes());
        hasher.update(path.as_bytes());
        let found = std::fs::symlink_metadata(path.under(session.repo.workdir())).ok();
        let numbers = found.map(|found| {
            let (mtime, ctime) = (found.mtime(), found.ctime());
            let nanos = (found.mtime_nsec(), found.ctime_nsec());
            (found.mode(), found.size(), (mtime, ctime), nanos)
        });
        hasher.update(format!("{numbers:?}").as_bytes());
    }
    let hex = hasher.finalize().to_hex();
    hex.as_str().chars().take(32).collect()
}
