//! Commits with all they say, and walks through them.

use gix::bstr::ByteSlice as _;
use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::git::{Oid, Repo, Signature};
use crate::model::{Code, Result, ResultExt as _};

/// A commit with its author and its message.
#[derive(Clone, Debug)]
pub struct Past {
    /// Its id.
    pub id: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents, in order; those that are not there (a shallow clone) are left out.
    pub parents: Vec<Oid>,
    /// Who wrote it, and when.
    pub author: Signature,
    /// The whole message; what is not UTF-8 is replaced.
    pub message: String,
}

impl Past {
    /// Returns the first line of the message.
    pub fn subject(&self) -> &str {
        self.message.trim_start().lines().next().unwrap_or_default()
    }
}

impl Repo {
    /// Reads a commit with author and message.
    ///
    /// # Errors
    /// `object-missing`, `repository-broken`.
    pub fn read_past(&self, id: Oid) -> Result<Past> {
        let cannot = || format!("cannot read commit {id}");
        let commit = self.inner.find_commit(id.0);
        let commit = commit.or_code(Code::ObjectMissing, cannot)?;
        let decoded = commit.decode().or_code(Code::RepositoryBroken, cannot)?;
        let author = decoded.author().or_code(Code::RepositoryBroken, cannot)?;
        let there = |id: &Oid| self.inner.has_object(id.0);
        Ok(Past {
            id,
            tree: decoded.tree().into(),
            parents: decoded.parents().map(Oid::from).filter(there).collect(),
            author: Signature::from_gix(&author),
            message: decoded.message.to_str_lossy().into_owned(),
        })
    }

    /// Returns every commit that can be reached from `tip` and from none of `hidden`, newest first by the
    /// committers' clocks.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn history_beyond(&self, tip: Oid, hidden: &[Oid]) -> Result<Vec<Oid>> {
        self.newest_beyond(tip, hidden, usize::MAX)
    }

    /// Returns at most the `limit` newest of the commits of [`Repo::history_beyond`].
    ///
    /// # Errors
    /// `object-missing`.
    pub fn newest_beyond(&self, tip: Oid, hidden: &[Oid], limit: usize) -> Result<Vec<Oid>> {
        let cannot = || "cannot walk the history";
        let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self.inner.rev_walk([tip.0]).sorting(order);
        let walk = walk.with_hidden(hidden.iter().map(|id| id.0)).all();
        let walk = walk.or_code(Code::ObjectMissing, cannot)?;
        walk.take(limit)
            .map(|info| Ok(info.or_code(Code::ObjectMissing, cannot)?.id.into()))
            .collect()
    }
}
