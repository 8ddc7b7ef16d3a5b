//! Reading and writing objects: blobs, trees, commits, annotated tags.

pub mod empty_objects;
pub mod message;
pub mod message_trailers;
pub(crate) mod odd_commits;
pub(crate) mod peel;
pub mod picked_commit;
pub(crate) mod quarantine;
pub mod reader;
pub(crate) mod rewrite;
pub mod sign;
pub mod tag;
pub mod transfer;
pub(crate) mod tree;
pub mod word_matches;

use std::borrow::Cow;
use std::fmt;

use gix::bstr::BStr;
use serde::{Deserialize, Serialize};

use crate::model::time::Moment;
use crate::model::{Code, Error, Result, ResultExt as _, time};

use super::Repo;

/// An object id, in hex wherever it is shown or stored.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub(super) gix::ObjectId);

impl Oid {
    /// Reads full hex.
    pub fn parse(hex: &str) -> Option<Oid> {
        gix::ObjectId::from_hex(hex.as_bytes()).ok().map(Oid)
    }

    /// Returns the first 8 hex digits.
    pub fn short(&self) -> String {
        self.0.to_hex_with_len(8).to_string()
    }
}

impl From<gix::ObjectId> for Oid {
    fn from(id: gix::ObjectId) -> Self {
        Oid(id)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Serialize for Oid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Oid::parse(&text).ok_or_else(|| serde::de::Error::custom("not an object id"))
    }
}

impl schemars::JsonSchema for Oid {
    fn schema_name() -> Cow<'static, str> {
        "ObjectId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The full id of an object, SHA-1 or SHA-256.",
            "type": "string",
            "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$",
        })
    }
}

/// A name, an address and a time, as commits and tags hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// Seconds since the epoch.
    pub seconds: i64,
    /// Seconds east of UTC.
    pub offset_seconds: i32,
}

impl Signature {
    /// Returns the time, if it is a valid one.
    pub fn moment(&self) -> Option<Moment> {
        time::from_git(self.seconds, self.offset_seconds)
    }

    pub(super) fn to_gix(&self) -> gix::actor::Signature {
        gix::actor::Signature {
            name: self.name.as_str().into(),
            email: self.email.as_str().into(),
            time: gix::date::Time { seconds: self.seconds, offset: self.offset_seconds },
        }
    }

    pub(super) fn from_gix(signature: &gix::actor::SignatureRef<'_>) -> Signature {
        Signature::encoded(signature, None)
    }

    /// Reads one of a commit with this encoding.
    pub(super) fn encoded(
        signature: &gix::actor::SignatureRef<'_>,
        encoding: Option<&BStr>,
    ) -> Signature {
        let time = signature.time().unwrap_or_default();
        Signature {
            name: message::decoded(signature.name, encoding),
            email: message::decoded(signature.email, encoding),
            seconds: time.seconds,
            offset_seconds: time.offset,
        }
    }
}

/// One entry to put into a tree: a mode as git prints it and the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    pub(super) kind: gix::objs::tree::EntryKind,
    /// The object.
    pub id: Oid,
}

impl TreeEntry {
    /// Returns an entry for an ordinary file.
    pub fn file(id: Oid) -> TreeEntry {
        TreeEntry { kind: gix::objs::tree::EntryKind::Blob, id }
    }

    /// Returns an entry for a directory.
    pub fn directory(id: Oid) -> TreeEntry {
        TreeEntry { kind: gix::objs::tree::EntryKind::Tree, id }
    }

    /// Returns `true` for a regular file that is not executable.
    pub fn is_plain_file(&self) -> bool {
        self.kind == gix::objs::tree::EntryKind::Blob
    }

    /// Returns the same mode with another object.
    #[must_use]
    pub fn with(self, id: Oid) -> TreeEntry {
        TreeEntry { id, ..self }
    }

    /// Returns `true` for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind == gix::objs::tree::EntryKind::Tree
    }

    /// Returns `true` for a symlink.
    pub fn is_link(&self) -> bool {
        self.kind == gix::objs::tree::EntryKind::Link
    }

    /// Returns `true` if both entries have the same mode.
    pub fn has_mode_of(&self, other: &TreeEntry) -> bool {
        self.kind == other.kind
    }

    /// Returns `true` for a regular file, executable or not.
    pub fn is_file(&self) -> bool {
        let executable = gix::objs::tree::EntryKind::BlobExecutable;
        self.is_plain_file() || self.kind == executable
    }

    /// Returns `true` for the commit of a submodule.
    pub fn is_submodule(&self) -> bool {
        self.kind == gix::objs::tree::EntryKind::Commit
    }
}

/// Who has made a commit.
pub struct Signatures {
    /// The author, and the time of the change.
    pub author: Signature,
    /// The committer, and the time of the commit.
    pub committer: Signature,
}

/// A commit to write.
pub struct NewCommit<'a> {
    /// Its tree.
    pub tree: Oid,
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// The committer; the author as well, if no other is named.
    pub signature: &'a Signature,
    /// The message; a final newline is added.
    pub message: String,
}

/// A commit that was read.
pub struct Commit {
    /// Its tree.
    pub tree: Oid,
    /// Its parents.
    pub parents: Vec<Oid>,
    /// The committer and the time.
    pub committer: Signature,
    /// The first line of the message.
    pub subject: String,
}

impl Repo {
    /// Returns the id of the tree without entries; it need not exist.
    pub fn empty_tree(&self) -> Oid {
        Oid(gix::ObjectId::empty_tree(self.inner.object_hash()))
    }

    /// Writes a blob unless it exists.
    pub fn write_blob(&self, bytes: &[u8]) -> Result<Oid> {
        let id = self.inner.write_blob(bytes).or_code(Code::Io, || "cannot write a blob")?;
        Ok(id.detach().into())
    }

    /// Reads a whole blob.
    pub fn read_blob(&self, id: Oid) -> Result<Vec<u8>> {
        let mut blob = self
            .inner
            .find_blob(id.0)
            .or_code(Code::ObjectMissing, || format!("cannot read blob {id}"))?;
        Ok(blob.take_data())
    }

    /// Returns the size of an object in bytes; `None` when it is missing.
    pub fn object_size(&self, id: Oid) -> Option<u64> {
        self.inner.try_find_header(id.0).ok().flatten().map(|header| header.size())
    }

    /// Returns `true` if an object is certainly missing; `false` if the store could not be read.
    pub fn is_gone(&self, id: Oid) -> bool {
        let is_missing = || matches!(self.inner.try_find_header(id.0), Ok(None));
        // A file that could not be read once, as on a failing disk, is not missing.
        id != self.empty_tree() && is_missing() && self.has_no_loose_file(id) && is_missing()
    }

    /// Returns `true` if every object folder reports that it has no loose file for an object.
    fn has_no_loose_file(&self, id: Oid) -> bool {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        let store = self.inner.objects.store_ref();
        let Ok(borrowed) = store.alternate_db_paths() else {
            return false;
        };
        let hex = id.to_string();
        let (folder, file) = hex.split_at(2);
        let mut all = borrowed.into_iter().chain([store.path().to_owned()]);
        all.all(|objects| {
            let metadata = objects.join(folder).join(file).symlink_metadata();
            metadata.is_err_and(|e| matches!(e.kind(), NotFound | NotADirectory))
        })
    }

    /// Hashes bytes as a blob without writing them.
    pub fn hash_blob(&self, bytes: &[u8]) -> Result<Oid> {
        gix::objs::compute_hash(self.inner.object_hash(), gix::objs::Kind::Blob, bytes)
            .map(Oid)
            .or_code(Code::RepositoryBroken, || "cannot hash a file")
    }

    /// Writes a commit that no ref points to yet.
    pub fn write_commit(&self, commit: NewCommit<'_>) -> Result<Oid> {
        let author = commit.signature;
        self.write_authored_commit(commit, author)
    }

    /// Writes a commit with an author of its own that no ref points to yet.
    pub fn write_authored_commit(&self, commit: NewCommit<'_>, author: &Signature) -> Result<Oid> {
        let message = with_newline(commit.message);
        let object = gix::objs::Commit {
            tree: commit.tree.0,
            parents: commit.parents.iter().map(|parent| parent.0).collect(),
            author: author.to_gix(),
            committer: commit.signature.to_gix(),
            encoding: None,
            message: message.into(),
            extra_headers: Vec::new(),
        };
        self.write_object(&object, "a commit")
    }

    /// Writes an object; `what` names it in the error.
    fn write_object(&self, object: &impl gix::objs::WriteTo, what: &str) -> Result<Oid> {
        let written = self.inner.write_object(object);
        let id = written.or_code(Code::Io, || format!("cannot write {what}"))?;
        Ok(id.detach().into())
    }

    /// Reads a commit.
    pub fn read_commit(&self, id: Oid) -> Result<Commit> {
        let missing = || format!("cannot read commit {id}");
        let commit = self.inner.find_commit(id.0).or_code(Code::ObjectMissing, missing)?;
        let decoded = commit.decode().or_code(Code::RepositoryBroken, missing)?;
        let committer = decoded.committer().or_code(Code::RepositoryBroken, missing)?;
        let encoding = message::encoding_of(&decoded);
        let message = message::decoded(decoded.message, encoding);
        Ok(Commit {
            tree: decoded.tree().into(),
            parents: decoded.parents().map(Oid::from).collect(),
            committer: Signature::encoded(&committer, encoding),
            subject: message.lines().next().unwrap_or_default().to_owned(),
        })
    }
}

/// Returns the error for an object that should be a record of git-colony but is not.
pub(crate) fn not_a_record(id: Oid) -> Error {
    Error::new(Code::RepositoryBroken, format!("{id} is not a record of git-colony"))
}

pub(super) fn with_newline(mut message: String) -> String {
    if !message.ends_with('\n') {
        message.push('\n');
    }
    message
}
