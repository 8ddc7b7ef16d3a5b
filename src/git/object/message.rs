//! The message of a commit.

use gix::bstr::{BStr, ByteSlice as _};
use gix::filter::plumbing::worktree::encode_to_git::RoundTripCheck;
use gix::filter::plumbing::worktree::{encode_to_git, encoding};

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

impl Repo {
    /// Reads the message of a commit, in its encoding; bytes that are not text in it are replaced.
    pub fn message_of(&self, commit: Oid) -> Result<String> {
        let missing = || format!("cannot read commit {commit}");
        let commit_object =
            self.inner.find_commit(commit.0).or_code(Code::ObjectMissing, missing)?;
        let commit = commit_object.decode().or_code(Code::RepositoryBroken, missing)?;
        Ok(decoded(commit.message, encoding_of(&commit)))
    }
}

/// Returns the encoding that a commit names, wherever it does.
pub(in crate::git) fn encoding_of<'a>(commit: &'a gix::objs::CommitRef<'_>) -> Option<&'a BStr> {
    let mut others = commit.extra_headers.iter();
    let other = || others.find(|(name, _)| *name == "encoding").map(|(_, value)| value.as_ref());
    commit.encoding.or_else(other)
}

/// Returns a text of a commit as UTF-8. As in git, bytes stay as they are if its encoding is unknown or they are
/// not text in it; then those that are not UTF-8 are replaced.
pub(in crate::git) fn decoded(text: &[u8], name: Option<&BStr>) -> String {
    let named = name.and_then(|name| encoding::for_label(name).ok());
    let mut utf8 = Vec::new();
    let done = named.map(|named| encode_to_git(text, named, &mut utf8, RoundTripCheck::Skip));
    let text = if matches!(done, Some(Ok(()))) { &utf8 } else { text };
    text.to_str_lossy().into_owned()
}
