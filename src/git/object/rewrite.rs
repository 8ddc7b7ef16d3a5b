//! Rewrites commits and annotated tags with other ids in them. Author, times and message stay; a
//! signature is dropped, since it would not match.

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};

/// A commit to rewrite.
pub struct Again<'a> {
    /// The original commit.
    pub original: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: &'a [Oid],
}

impl Repo {
    /// Rewrites a commit; `message` computes its message from the old one.
    pub fn write_commit_again(
        &self,
        again: &Again<'_>,
        message: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Oid> {
        let missing = || format!("cannot read commit {}", again.original);
        let found =
            self.inner.find_commit(again.original.0).or_code(Code::ObjectMissing, missing)?;
        let decoded = found.decode().or_code(Code::RepositoryBroken, missing)?;
        let author = decoded.author().or_code(Code::RepositoryBroken, missing)?;
        let committer = decoded.committer().or_code(Code::RepositoryBroken, missing)?;
        let object = gix::objs::Commit {
            tree: again.tree.0,
            parents: again.parents.iter().map(|parent| parent.0).collect(),
            author: author.to_owned().or_code(Code::RepositoryBroken, missing)?,
            committer: committer.to_owned().or_code(Code::RepositoryBroken, missing)?,
            encoding: decoded.encoding.map(ToOwned::to_owned),
            message: message(decoded.message).into(),
            extra_headers: Vec::new(),
        };
        self.write_object(&object, "a commit")
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
