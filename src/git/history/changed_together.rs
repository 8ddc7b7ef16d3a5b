//! The paths that recent commits touched: which files change together.

use gix::diff::tree::recorder::Change;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::git::compare::bounded_diff::changed_files;
use crate::git::compare::tree_cache::TreeCache;
use crate::git::object::message;
use crate::git::{Objects, Oid};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

/// Merges are walked but not counted. The walk ends after this multiple of the commits that are
/// wanted, for histories of little but merges.
const WALKED: usize = 4;

/// A commit of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecentCommit {
    /// Its id.
    pub id: Oid,
    /// Its age in seconds, relative to the tip; 0 for a commit that claims to be younger.
    pub age_seconds: u64,
}

impl Objects {
    /// Lists the newest commits that can be reached, without merges: at most `most`, none older than the
    /// tip by more than `seconds`.
    pub fn recent_commits(&self, tip: Oid, most: usize, seconds: u64) -> Result<Vec<RecentCommit>> {
        let cannot = || format!("cannot walk the history of commit {tip}");
        let repo = self.gix();
        let commit = repo.find_commit(tip.0).or_code(Code::ObjectMissing, cannot)?;
        let newest = commit.time().or_code(Code::RepositoryBroken, cannot)?;
        let order = CommitTimeOrder::NewestFirst;
        let bound = i64::try_from(seconds).unwrap_or(i64::MAX);
        let cutoff = newest.seconds.saturating_sub(bound);
        let sorting = Sorting::ByCommitTimeCutoff { seconds: cutoff, order };
        let walk =
            repo.rev_walk([tip.0]).sorting(sorting).all().or_code(Code::ObjectMissing, cannot)?;
        let mut recent = Vec::new();
        for info in walk.take(most.saturating_mul(WALKED)) {
            let info = info.or_code(Code::ObjectMissing, cannot)?;
            if info.parent_ids.len() > 1 {
                continue;
            }
            let age = newest.seconds.saturating_sub(info.commit_time());
            recent.push(RecentCommit {
                id: info.id.into(),
                age_seconds: u64::try_from(age).unwrap_or(0),
            });
            if recent.len() == most {
                break;
            }
        }
        Ok(recent)
    }

    /// Passes the commits that can be reached to `each` with their parents, in the order of `recent_commits`, until it
    /// returns `false`. The walk is as long as one that looks for `most` commits.
    pub fn each_commit(
        &self,
        tip: Oid,
        most: usize,
        mut each: impl FnMut(Oid, &[Oid]) -> Result<bool>,
    ) -> Result<()> {
        let cannot = || format!("cannot walk the history of commit {tip}");
        let repo = self.gix();
        let sorting = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk =
            repo.rev_walk([tip.0]).sorting(sorting).all().or_code(Code::ObjectMissing, cannot)?;
        for info in walk.take(most.saturating_mul(WALKED)) {
            let info = info.or_code(Code::ObjectMissing, cannot)?;
            let parents: Vec<Oid> = info.parent_ids.iter().map(|parent| (*parent).into()).collect();
            if !each(info.id.into(), &parents)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the message of a commit; bytes that are not text in its encoding are replaced.
    pub fn message(&self, commit: Oid) -> Result<String> {
        let cannot = || format!("cannot read commit {commit}");
        let commit_object =
            self.gix().find_commit(commit.0).or_code(Code::ObjectMissing, cannot)?;
        let decoded = commit_object.decode().or_code(Code::RepositoryBroken, cannot)?;
        Ok(message::decoded(decoded.message, message::encoding_of(&decoded)))
    }

    /// Lists the paths that a commit touched, without renames; empty for a merge, at the end of a
    /// shallow history, and above `most` paths.
    ///
    /// Reads the trees that differ, no blobs.
    pub fn touched(&self, commit: Oid, most: usize) -> Result<Vec<RepoPath>> {
        let cannot = || format!("cannot list the paths that commit {commit} touched");
        let repo = self.gix();
        let commit_object = repo.find_commit(commit.0).or_code(Code::ObjectMissing, cannot)?;
        let parents: Vec<_> = commit_object.parent_ids().map(gix::Id::detach).collect();
        let tree = |commit: &gix::Commit<'_>| {
            let tree = commit.tree_id().or_code(Code::ObjectMissing, cannot);
            Ok::<_, Error>(Oid(tree?.detach()))
        };
        let before = match parents.as_slice() {
            [] => Oid(gix::ObjectId::empty_tree(repo.object_hash())),
            [parent] if repo.has_object(parent) => {
                let parent = repo.find_commit(*parent);
                tree(&parent.or_code(Code::ObjectMissing, cannot)?)?
            }
            _ => return Ok(Vec::new()),
        };
        let cache = TreeCache::default();
        let changes = changed_files(repo, &cache, (before, tree(&commit_object)?), most)?
            .into_iter()
            .flatten();
        let mut paths: Vec<RepoPath> = changes
            .map(|change| match change {
                Change::Addition { path, .. }
                | Change::Deletion { path, .. }
                | Change::Modification { path, .. } => RepoPath::new(path),
            })
            .collect();
        paths.sort();
        // A file that became a symlink appears twice.
        paths.dedup();
        Ok(paths)
    }
}
