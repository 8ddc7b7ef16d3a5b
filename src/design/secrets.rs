//! Which history would publish a likely secret: the rules of a checkpoint, asked of commits.
//!
//! A checkpoint that was allowed to take in a secret says so in its tag. What came after it holds the
//! secret in its history, and so does what plain git committed: therefore each commit that a remote
//! does not have yet is asked which files are new in it. Nothing is written.

use std::collections::HashMap;

use crate::git::{Oid, Repo};
use crate::model::{RepoPath, Result};

use super::left_out::{SEARCHED_BYTES, contains_secret, is_named_as_secret};
use super::tag_message::TagMessage;

/// A new file above this many bytes is judged by its name alone.
const MOST_BYTES: u64 = 64 * SEARCHED_BYTES;

/// A search that looks at each commit once.
pub struct Search<'a> {
    repo: &'a Repo,
    known: Vec<Oid>,
    seen: HashMap<Oid, Option<RepoPath>>,
}

impl<'a> Search<'a> {
    /// Begins a search; what can be reached from `known` is published already and not looked at.
    pub fn new(repo: &'a Repo, known: Vec<Oid>) -> Search<'a> {
        Search {
            repo,
            known,
            seen: HashMap::new(),
        }
    }

    /// Returns a likely secret that publishing an object would publish: a commit or an annotated tag.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn find(&mut self, id: Oid) -> Result<Option<RepoPath>> {
        if let Some(tag) = self.repo.find_tag(id) {
            let said = TagMessage::read(&String::from_utf8_lossy(&tag.message)).secrets;
            if let Some(path) = said.into_iter().next() {
                return Ok(Some(path));
            }
        }
        let Some(tip) = self.repo.peel_to_commit(id) else {
            return Ok(None);
        };
        for commit in self.repo.commits_between(tip, &self.known, usize::MAX)? {
            let found = match self.seen.get(&commit) {
                Some(found) => found.clone(),
                None => self.look(commit)?,
            };
            self.seen.insert(commit, found.clone());
            if found.is_some() {
                return Ok(found);
            }
        }
        // Nothing below it has to be looked at again.
        self.known.push(tip);
        Ok(None)
    }

    /// Looks at the files that are in a commit and in none of its parents.
    fn look(&self, commit: Oid) -> Result<Option<RepoPath>> {
        let past = self.repo.read_past(commit)?;
        // The index beside a checkpoint off the branch: its first stage stands for the tree.
        let staged = self.repo.tree_in(past.tree, "0")?;
        let is_index = past.message.trim_end() == "index as it was";
        let tree = staged.filter(|_| is_index).unwrap_or(past.tree);
        let mut parents = past.parents.iter();
        let first = self.repo.tree_of(parents.next().copied())?;
        let others: Vec<Oid> = parents
            .map(|parent| self.repo.tree_of(Some(*parent)))
            .collect::<Result<_>>()?;
        for (path, new) in self.repo.new_files(first, tree)? {
            let came_along = |tree: &Oid| {
                let there = self.repo.leaf_in(*tree, &path);
                there.ok().flatten().is_some_and(|there| there.id == new.id)
            };
            if others.iter().any(came_along) || !new.is_file() {
                continue;
            }
            if is_named_as_secret(&path) || self.holds_secret(new.id) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// A blob that is not here (a partial clone) has been published by somebody else.
    fn holds_secret(&self, blob: Oid) -> bool {
        let size = self.repo.object_size(blob);
        if size.is_none_or(|size| size > MOST_BYTES) {
            return false;
        }
        let bytes = self.repo.read_blob(blob).unwrap_or_default();
        let searched = usize::try_from(SEARCHED_BYTES).unwrap_or(usize::MAX);
        contains_secret(bytes.get(..searched).unwrap_or(&bytes))
    }
}
