//! Annotated tags: written, read, and kept as raw bytes.

use crate::git::{Oid, Repo, Signature};
use crate::model::{Code, Result, ResultExt as _};

use super::with_newline;

/// A tag to write.
pub struct NewTag<'a> {
    /// Its name, without `refs/tags/`.
    pub name: &'a str,
    /// The commit it points to.
    pub target: Oid,
    /// The tagger and the time.
    pub tagger: &'a Signature,
    /// The message; a final newline is added.
    pub message: String,
}

/// An annotated tag that was read.
pub struct Tag {
    /// Its target.
    pub target: Oid,
    /// The tagger and the time.
    pub tagger: Option<Signature>,
    /// The message as bytes.
    pub message: Vec<u8>,
}

impl Repo {
    /// Writes an annotated tag object that no ref points to yet.
    pub fn write_tag(&self, tag: NewTag<'_>) -> Result<Oid> {
        let object = gix::objs::Tag {
            target: tag.target.0,
            target_kind: gix::objs::Kind::Commit,
            name: tag.name.into(),
            tagger: Some(tag.tagger.to_gix()),
            message: with_newline(tag.message).into(),
            signature: None,
        };
        self.write_object(&object, "a tag")
    }

    /// Returns the raw bytes of a tag object; `None` when `id` is another kind or is missing.
    pub fn raw_tag(&self, id: Oid) -> Option<Vec<u8>> {
        let object = self.inner.try_find_object(id.0).ok().flatten()?;
        (object.kind == gix::objs::Kind::Tag).then(|| object.detach().data)
    }

    /// Writes raw bytes back as a tag object.
    pub fn write_raw_tag(&self, bytes: &[u8]) -> Result<Oid> {
        use gix::objs::Write as _;
        let written = self.inner.objects.write_buf(gix::objs::Kind::Tag, bytes);
        Ok(Oid(written.or_code(Code::Io, || "cannot write a tag")?))
    }

    /// Reads a tag; `None` when `id` is not an annotated tag.
    pub fn find_tag(&self, id: Oid) -> Option<Tag> {
        let data = self.raw_tag(id)?;
        let tag = gix::objs::TagRef::from_bytes(&data, self.inner.object_hash()).ok()?;
        Some(Tag {
            target: tag.target().into(),
            tagger: tag.tagger().ok().flatten().map(|tagger| Signature::from_gix(&tagger)),
            message: unsigned(tag.message).to_vec(),
        })
    }
}

/// Returns the message of a tag without its signature, of any kind.
///
/// As in git, the signature extends from the last line that begins one to the end.
pub(in crate::git) fn unsigned(message: &[u8]) -> &[u8] {
    const BEGINNINGS: [&[u8]; 4] = [
        b"-----BEGIN PGP SIGNATURE-----",
        b"-----BEGIN PGP MESSAGE-----",
        b"-----BEGIN SSH SIGNATURE-----",
        b"-----BEGIN SIGNED MESSAGE-----",
    ];
    let mut end = message.len();
    let mut start = 0;
    for line in message.split_inclusive(|&byte| byte == b'\n') {
        if BEGINNINGS.iter().any(|begin| line.starts_with(begin)) {
            end = start;
        }
        start += line.len();
    }
    message.get(..end).unwrap_or(message)
}
