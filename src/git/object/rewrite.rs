//! Rewrites commits and annotated tags with other ids in them. Author, times and message stay; a
//! signature is dropped, since it would not match.

use gix::bstr::BStr;
use gix::objs::CommitRef;

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

use super::message;

/// A commit to rewrite.
pub struct CommitRewrite<'a> {
    /// The original commit.
    pub original: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: &'a [Oid],
}

/// The parts of a rewritten commit that may differ from those of the original.
pub(super) struct Rewritten<'a> {
    pub(super) tree: Oid,
    pub(super) parents: &'a [Oid],
    /// The line, without its name.
    pub(super) committer: &'a BStr,
    pub(super) message: &'a [u8],
}

impl Repo {
    /// Writes a commit with the author and the encoding of another, as they are in it.
    pub(super) fn write_commit_like(
        &self,
        original: &CommitRef<'_>,
        rewritten: &Rewritten<'_>,
    ) -> Result<Oid> {
        let tree = rewritten.tree.to_string();
        let parents: Vec<_> = rewritten.parents.iter().map(ToString::to_string).collect();
        let object = CommitRef {
            tree: tree.as_str().into(),
            parents: parents.iter().map(|parent| parent.as_str().into()).collect(),
            author: original.author,
            committer: rewritten.committer,
            encoding: message::encoding_of(original),
            message: rewritten.message.into(),
            extra_headers: Vec::new(),
        };
        self.write_object(&object, "a commit")
    }

    /// Rewrites a commit; `message` computes its message from the old one.
    pub fn write_commit_again(
        &self,
        again: &CommitRewrite<'_>,
        message: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Oid> {
        let missing = || format!("cannot read commit {}", again.original);
        let original =
            self.inner.find_commit(again.original.0).or_code(Code::ObjectMissing, missing)?;
        let decoded = original.decode().or_code(Code::RepositoryBroken, missing)?;
        self.write_commit_like(
            &decoded,
            &Rewritten {
                tree: again.tree,
                parents: again.parents,
                committer: decoded.committer,
                message: &message(decoded.message),
            },
        )
    }

    /// Rewrites an annotated tag for another target of the same kind; `message` computes its
    /// message from the old one, which is passed without its signature.
    pub fn write_tag_again(
        &self,
        id: Oid,
        target: Oid,
        message: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Oid> {
        let broken = || format!("cannot read tag {id}");
        let raw = self.raw_tag(id).unwrap_or_default();
        let tag = gix::objs::TagRef::from_bytes(&raw, self.inner.object_hash())
            .or_code(Code::RepositoryBroken, broken)?;
        let tagger =
            tag.tagger().or_code(Code::RepositoryBroken, broken)?.map(|tagger| tagger.to_owned());
        let object = gix::objs::Tag {
            target: target.0,
            target_kind: tag.target_kind,
            name: tag.name.to_owned(),
            tagger: tagger.transpose().or_code(Code::RepositoryBroken, broken)?,
            message: message(super::tag::unsigned(tag.message)).into(),
            signature: None,
        };
        self.write_object(&object, "a tag")
    }

    /// Returns the target of an annotated tag; `None` for any other object.
    pub fn tag_target(&self, id: Oid) -> Option<Oid> {
        let raw = self.raw_tag(id)?;
        let tag = gix::objs::TagRef::from_bytes(&raw, self.inner.object_hash());
        Some(tag.ok()?.target().into())
    }
}
