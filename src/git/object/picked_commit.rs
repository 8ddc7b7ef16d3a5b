//! A commit recreated elsewhere: with its author and message, another tree and parent.

use gix::bstr::ByteSlice as _;

use crate::git::{Oid, Repo, Signature};
use crate::model::{Code, Result, ResultExt as _, World};

use super::rewrite::Rewritten;
use super::{message, message_trailers};

/// A commit to create from another.
pub struct Pick<'a> {
    /// The original commit.
    pub original: Oid,
    /// Its tree.
    pub tree: Oid,
    /// Its parent.
    pub parent: Oid,
    /// The committer and the time; the author stays the same.
    pub committer: &'a Signature,
    /// A trailer to add to the message, if it does not have it.
    pub trailer: Option<&'a str>,
}

/// What a pick takes from the original commit.
pub(super) struct PickedText {
    pub(super) author: Signature,
    /// The name of the encoding of the message; UTF-8 if there is none.
    pub(super) encoding: Option<String>,
    pub(super) message: Vec<u8>,
}

/// Whether a commit is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    /// By git, as it is configured.
    Yes,
    /// The commit is not signed.
    No,
}

impl Repo {
    /// Writes a picked commit that no ref points to yet; a line at the end of its message names the
    /// original.
    pub fn write_pick(&self, world: &World, pick: &Pick<'_>, signed: Signed) -> Result<Oid> {
        let missing = || format!("cannot read commit {}", pick.original);
        let original =
            self.inner.find_commit(pick.original.0).or_code(Code::ObjectMissing, missing)?;
        let decoded = original.decode().or_code(Code::RepositoryBroken, missing)?;
        let author = decoded.author().or_code(Code::RepositoryBroken, missing)?;
        let encoding = message::encoding_of(&decoded);
        let text = with_origin(decoded.message, pick.original, pick.trailer);
        if signed == Signed::Yes {
            let picked = PickedText {
                author: Signature::encoded(&author, encoding),
                encoding: encoding.map(|name| name.to_str_lossy().into_owned()),
                message: text,
            };
            return self.write_signed_pick(world, pick, picked);
        }
        let mut committer = Vec::new();
        let by = pick.committer.to_gix();
        by.write_to(&mut committer).or_code(Code::InvalidValue, || "cannot write a commit")?;
        self.write_commit_like(
            &decoded,
            &Rewritten {
                tree: pick.tree,
                parents: &[pick.parent],
                committer: committer.as_bstr(),
                message: &text,
            },
        )
    }
}

/// Adds the line in which git records the origin of a pick, and a trailer that the message does not have.
fn with_origin(message: &[u8], original: Oid, trailer: Option<&str>) -> Vec<u8> {
    let mut text = message.trim_end().to_vec();
    text.extend_from_slice(message_trailers::gap_before_trailer(&text));
    text.extend(format!("(cherry picked from commit {original})\n").bytes());
    let is_new = |trailer: &&str| message.lines().all(|line| line != trailer.as_bytes());
    if let Some(trailer) = trailer.filter(is_new) {
        text.extend(format!("{trailer}\n").bytes());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_joins_the_trailers_that_are_there() {
        let id = Oid::parse(&"1".repeat(40)).unwrap();
        let added = |message: &str| {
            let text = String::from_utf8(with_origin(message.as_bytes(), id, None)).unwrap();
            text.strip_suffix(&format!("(cherry picked from commit {id})\n")).unwrap().to_owned()
        };
        assert_eq!(added("subject\n"), "subject\n\n");
        assert_eq!(added("a: b\n"), "a: b\n\n");
        assert_eq!(added("s\n\nbody\n"), "s\n\nbody\n\n");
        assert_eq!(added("s\n\nA-b: c\nD: e\n"), "s\n\nA-b: c\nD: e\n");
        assert_eq!(added("s\n\nA-b: c\nnot one\n"), "s\n\nA-b: c\nnot one\n\n");
    }

    #[test]
    fn a_trailer_follows_the_origin_once() {
        let id = Oid::parse(&"1".repeat(40)).unwrap();
        let added = |message: &str| {
            let text = with_origin(message.as_bytes(), id, Some("Session: s"));
            String::from_utf8(text).unwrap()
        };
        let origin = format!("(cherry picked from commit {id})\n");
        assert_eq!(added("s\n"), format!("s\n\n{origin}Session: s\n"));
        let there = "s\n\nSession: s\n";
        assert_eq!(added(there), format!("{there}{origin}"));
    }
}
