//! The claims of commits about other work, which no parent says: that they squash it, revert a merge of it, or bring
//! reverted work again.
//!
//! A trailer is trusted, as the parents of a commit are: the author of a commit is responsible for its content.

use std::collections::HashMap;
use std::rc::Rc;

use crate::design::decision::{reverts, trailers};
use crate::git::{Oid, Repo};
use crate::model::Result;

/// The trailer of a commit that squashes others; it names the tip of these.
pub(in crate::design) const SQUASHED: &str = "Colony-Squashed";

/// The trailer of a commit that reverts a merge, a squash, or the commits `A..B` of a fork, as in `A..B of fork/ada`.
pub(in crate::design) const REVERTED: &str = "Colony-Reverted";

/// The trailer of a merge that brings the work of a reverted merge again; it names that merge.
pub(in crate::design) const RESTORED: &str = "Colony-Restored";

/// What a branch got at once: the state before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The commit before: for a merge its first parent.
    pub from: Oid,
    /// The commit after: the merge.
    pub to: Oid,
}

/// A merge that a commit reverts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertOf {
    /// The merge.
    pub range: Range,
    /// The fork that was merged, if the trailer names it.
    pub name: Option<String>,
}

/// The claims of one commit.
#[derive(Debug, Default)]
pub struct Claim {
    /// The tips that it squashes.
    pub squashed: Vec<Oid>,
    /// The merges that it reverts.
    pub reverted: Vec<RevertOf>,
    /// The reverted merges whose work it brings again.
    pub restored: Vec<Oid>,
    /// The commits that it reverts, in the words of git.
    pub undoes: Vec<Oid>,
}

/// The claims of commits, each commit read once.
#[derive(Default)]
pub struct Claims {
    known: HashMap<Oid, Rc<Claim>>,
}

impl Claims {
    /// Returns the claims of a commit.
    pub fn of(&mut self, repo: &Repo, commit: Oid) -> Result<Rc<Claim>> {
        if let Some(known) = self.known.get(&commit) {
            return Ok(Rc::clone(known));
        }
        let message = repo.read_past(commit)?.message;
        let read = |hex: &str| repo.peel_to_commit(Oid::parse(hex)?);
        let named = |key| trailers(&message, key).iter().filter_map(|hex| read(hex)).collect();
        let claim = Rc::new(Claim {
            squashed: named(SQUASHED),
            reverted: trailers(&message, REVERTED)
                .iter()
                .filter_map(|text| revert_of(repo, text))
                .collect(),
            restored: named(RESTORED),
            undoes: reverts(&message).into_iter().filter_map(read).collect(),
        });
        self.known.insert(commit, Rc::clone(&claim));
        Ok(claim)
    }
}

/// Reads a merge, or a range `A..B of NAME`.
fn revert_of(repo: &Repo, text: &str) -> Option<RevertOf> {
    let read = |hex: &str| repo.peel_to_commit(Oid::parse(hex)?);
    let (ids, name) = match text.split_once(" of ") {
        Some((ids, name)) => (ids, Some(name.to_owned())),
        None => (text, None),
    };
    if let Some((from, to)) = ids.split_once("..") {
        return Some(RevertOf { range: Range { from: read(from)?, to: read(to)? }, name });
    }
    let to = read(ids)?;
    let from = repo.read_commit(to).ok()?.parents.first().copied()?;
    Some(RevertOf { range: Range { from, to }, name })
}
