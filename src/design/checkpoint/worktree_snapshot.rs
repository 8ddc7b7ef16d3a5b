//! Scans the working tree, and writes what a checkpoint keeps of it.

use crate::git::attributes::AttributesOf;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::object::NewCommit;
use crate::git::worktree::scan::{IndexLook, Scan};
use crate::git::worktree::snapshot::{Snapshot, Unstorable};
use crate::git::{Oid, Signature};
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::left_out::{self, Allowances, LeaveOutReason, LeftOut};

/// The scan of the working tree, and the trees that are kept.
pub(in crate::design) struct Kept {
    pub(in crate::design) scan: Scan,
    pub(in crate::design) snapshot: Snapshot,
    pub(in crate::design) left_out: Vec<LeftOut>,
    /// The kept paths that look like secrets.
    pub(in crate::design) secrets: Vec<RepoPath>,
    pub(in crate::design) new_files: usize,
}

impl Kept {
    /// Scans the working tree and writes the content of a checkpoint as unreferenced objects,
    /// without the untracked paths of `unignored`.
    pub(in crate::design) fn scan(
        session: &Session,
        allowances: &Allowances,
        unstorable: Unstorable,
        unignored: &[RepoPath],
    ) -> Result<Kept> {
        let scan = session.repo.scan(&session.world)?;
        Kept::of(session, scan, allowances, unstorable, unignored)
    }

    /// Does the same from an existing scan.
    pub(in crate::design) fn of(
        session: &Session,
        scan: Scan,
        allowances: &Allowances,
        unstorable: Unstorable,
        unignored: &[RepoPath],
    ) -> Result<Kept> {
        let limit = session.settings.max_new_file_size_bytes;
        let split = left_out::split(&session.repo, &scan, limit, allowances, unignored);
        let snapshot =
            session.repo.write_snapshot(&session.world, &scan, &split.taken, unstorable)?;
        let new_files = split.taken.len() - snapshot.unreadable.len();
        let (mut left_out, secrets) = (split.left_out, split.secrets);
        let unreadable = snapshot.unreadable.iter().cloned();
        left_out
            .extend(unreadable.map(|path| LeftOut { path, reason: LeaveOutReason::Unreadable }));
        left_out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Kept { scan, snapshot, left_out, secrets, new_files })
    }

    /// Returns the state of HEAD and the index that it found.
    pub(in crate::design) fn index_look(&self) -> IndexLook {
        IndexLook {
            head: self.scan.head.clone(),
            index: self.scan.index(),
            tree: self.snapshot.index_tree,
        }
    }

    pub(in crate::design) fn differs_from_head(&self) -> bool {
        self.scan.head.commit().is_none() || self.snapshot.worktree_tree != self.scan.head_tree
    }

    /// Lists changed files that are stored in git although git-lfs should get them.
    pub(in crate::design) fn without_filter(&self, session: &Session) -> Result<Vec<RepoPath>> {
        let (repo, changes) = (&session.repo, &self.snapshot.changes);
        if changes.is_empty() || !repo.lacks_filter("lfs") {
            return Ok(Vec::new());
        }
        let mut index = self.scan.index();
        index.add_snapshot(&self.snapshot);
        let changed = |path: &[u8]| changes.contains_key(&RepoPath::new(path.to_vec()));
        let files = repo.filtered_among(&index, "lfs", AttributesOf::Worktree, &changed)?;
        // git-lfs keeps empty files as they are, and a pointer stays a pointer.
        let whole = files.into_iter().filter(|file| {
            repo.object_size(file.id) != Some(0) && Pointer::of_blob(repo, file.id).is_none()
        });
        Ok(whole.map(|file| file.path).collect())
    }

    /// Writes a private commit beside the branch; it is never signed.
    pub(in crate::design) fn commit_beside(
        &self,
        session: &Session,
        signature: &Signature,
        message: String,
    ) -> Result<Oid> {
        let commit = self.beside(session, signature, message)?;
        session.repo.write_commit(commit)
    }

    /// Returns a commit beside the branch: the files, on HEAD, with the index as second parent.
    pub(in crate::design) fn beside<'a>(
        &self,
        session: &Session,
        signature: &'a Signature,
        message: String,
    ) -> Result<NewCommit<'a>> {
        let repo = &session.repo;
        let base = self.scan.head.commit();
        let mut parents: Vec<Oid> = base.into_iter().collect();
        let index = self.scan.index();
        let plain = repo.index_is_plain(&index);
        if !plain || self.snapshot.index_tree != self.scan.head_tree {
            let tree = repo.write_index_state(&index, self.snapshot.index_tree)?;
            let message = "index as it was".to_owned();
            let commit = NewCommit { tree, parents: parents.clone(), signature, message };
            parents.push(repo.write_commit(commit)?);
        }
        let tree = self.snapshot.worktree_tree;
        Ok(NewCommit { tree, parents, signature, message })
    }
}
