//! The branch of a remote that the branch that is checked out follows.

use gix::remote::Direction;

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

impl Repo {
    /// Returns the name of that branch, such as `origin/main`, and its commit as it was last fetched; `None` if there is
    /// none here.
    pub fn upstream(&self) -> Result<Option<(String, Oid)>> {
        let cannot = || "cannot find the branch that this one follows";
        let head = self.inner.head_name().or_code(Code::RepositoryBroken, cannot)?;
        let follows = head.as_ref().and_then(|head| {
            self.inner.branch_remote_tracking_ref_name(head.as_ref(), Direction::Fetch)
        });
        let Some(name) = follows.transpose().or_code(Code::RepositoryBroken, cannot)? else {
            return Ok(None);
        };
        let reference =
            self.inner.try_find_reference(name.as_ref()).or_code(Code::RepositoryBroken, cannot)?;
        let commit = reference.and_then(|mut reference| reference.peel_to_commit().ok());
        Ok(commit.map(|commit| (name.as_ref().shorten().to_string(), commit.id.into())))
    }
}
