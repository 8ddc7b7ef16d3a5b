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

/// The trailer of a commit that reverts a merge, a squash, or all commits of a range `A..B`.
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

/// The claims of one commit.
#[derive(Debug, Default)]
pub struct Claim {
    /// The tips that it squashes.
    pub squashed: Vec<Oid>,
    /// The merges that it reverts.
    pub reverted: Vec<Range>,
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
                .filter_map(|text| range(repo, text))
                .collect(),
            restored: named(RESTORED),
            undoes: reverts(&message).into_iter().filter_map(read).collect(),
        });
        self.known.insert(commit, Rc::clone(&claim));
        Ok(claim)
    }
}

/// Reads a merge, or a range `A..B`.
fn range(repo: &Repo, text: &str) -> Option<Range> {
    let read = |hex: &str| repo.peel_to_commit(Oid::parse(hex)?);
    if let Some((from, to)) = text.split_once("..") {
        return Some(Range { from: read(from)?, to: read(to)? });
    }
    let to = read(text)?;
    let from = repo.read_commit(to).ok()?.parents.first().copied()?;
    Some(Range { from, to })
}
