//! Squashed work: the commit on the branch names the tip that it squashed, so that everything below
//! that tip counts as merged, although no parent says so.
//!
//! The trailer is trusted, as the parents of a commit are: the author of a commit is responsible
//! for its content.

use std::collections::HashMap;

use crate::design::decision::trailers;
use crate::git::{Oid, Repo};
use crate::model::Result;

/// The trailer of a commit that squashes others.
pub(in crate::design) const TRAILER: &str = "Colony-Squashed";

/// The maximum number of commits, counted from the newest, that are searched on a branch.
const MAX_COMMITS: usize = 2_000;

/// The tips that commits squash, each commit read once.
#[derive(Default)]
pub struct Squashes {
    known: HashMap<Oid, Vec<Oid>>,
}

impl Squashes {
    /// Returns the newest commits in the history of `tip` that were squashed into `target` and not
    /// merged otherwise; mostly none or one.
    pub fn merged(&mut self, repo: &Repo, target: Oid, tip: Oid) -> Result<Vec<Oid>> {
        let mut found: Vec<Oid> = Vec::new();
        for commit in repo.commits_between(target, &[tip], MAX_COMMITS)? {
            for squashed in self.of_commit(repo, commit)? {
                let is_below = |of: Oid| is_in(repo, squashed, of);
                if !found.contains(&squashed) && is_below(tip)? && !is_below(target)? {
                    found.push(squashed);
                }
            }
        }
        let mut newest = Vec::new();
        for commit in &found {
            let others = found.iter().filter(|other| *other != commit);
            let mut is_older = false;
            for other in others {
                is_older |= is_in(repo, *commit, *other)?;
            }
            if !is_older {
                newest.push(*commit);
            }
        }
        Ok(newest)
    }

    /// Returns the tips that a commit squashes.
    pub fn of_commit(&mut self, repo: &Repo, commit: Oid) -> Result<Vec<Oid>> {
        if let Some(known) = self.known.get(&commit) {
            return Ok(known.clone());
        }
        let squashed: Vec<Oid> = trailers(&repo.read_past(commit)?.message, TRAILER)
            .iter()
            .filter_map(|hex| repo.peel_to_commit(Oid::parse(hex)?))
            .collect();
        self.known.insert(commit, squashed.clone());
        Ok(squashed)
    }
}

/// Returns `true` if a commit is another one or an ancestor of it.
fn is_in(repo: &Repo, commit: Oid, tip: Oid) -> Result<bool> {
    Ok(repo.commits_between(commit, &[tip], 1)?.is_empty())
}
