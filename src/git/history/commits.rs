//! Commits with author and message, and walks through them.

use gix::revision::walk::Sorting;
use gix::traverse::commit::simple::CommitTimeOrder;

use crate::git::object::message;
use crate::git::{Oid, Repo, Signature};
use crate::model::{Code, Result, ResultExt as _};

/// A commit with its author and its message.
#[derive(Clone, Debug)]
pub struct Past {
    /// Its id.
    pub id: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents, in order, without those that are missing (shallow clone).
    pub parents: Vec<Oid>,
    /// The author and the time.
    pub author: Signature,
    /// The whole message; bytes that are not text in its encoding are replaced.
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
    pub fn read_past(&self, id: Oid) -> Result<Past> {
        let cannot = || format!("cannot read commit {id}");
        let commit = self.inner.find_commit(id.0).or_code(Code::ObjectMissing, cannot)?;
        let decoded = commit.decode().or_code(Code::RepositoryBroken, cannot)?;
        let author = decoded.author().or_code(Code::RepositoryBroken, cannot)?;
        let encoding = message::encoding_of(&decoded);
        let there = |id: &Oid| self.inner.has_object(id.0);
        Ok(Past {
            id,
            tree: decoded.tree().into(),
            parents: decoded.parents().map(Oid::from).filter(there).collect(),
            author: Signature::encoded(&author, encoding),
            message: message::decoded(decoded.message, encoding),
        })
    }

    /// Returns every commit that is reachable from `tip` but not from `hidden`, newest first by
    /// committer date.
    pub fn history_beyond(&self, tip: Oid, hidden: &[Oid]) -> Result<Vec<Oid>> {
        self.newest_beyond(tip, hidden, usize::MAX)
    }

    /// Returns the newest commits of [`Repo::history_beyond`], at most `limit`.
    pub fn newest_beyond(&self, tip: Oid, hidden: &[Oid], limit: usize) -> Result<Vec<Oid>> {
        let cannot = || "cannot walk the history";
        let order = Sorting::ByCommitTime(CommitTimeOrder::NewestFirst);
        let walk = self
            .inner
            .rev_walk([tip.0])
            .sorting(order)
            .with_hidden(hidden.iter().map(|id| id.0))
            .all()
            .or_code(Code::ObjectMissing, cannot)?;
        walk.take(limit)
            .map(|info| Ok(info.or_code(Code::ObjectMissing, cannot)?.id.into()))
            .collect()
    }
}
