//! The message of a commit.

use gix::bstr::ByteSlice as _;

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

impl Repo {
    /// Reads the message of a commit; bytes that are not UTF-8 are replaced.
    pub fn message_of(&self, commit: Oid) -> Result<String> {
        let missing = || format!("cannot read commit {commit}");
        let found = self.inner.find_commit(commit.0).or_code(Code::ObjectMissing, missing)?;
        let message = found.message_raw().or_code(Code::RepositoryBroken, missing)?;
        Ok(message.to_str_lossy().into_owned())
    }
}
