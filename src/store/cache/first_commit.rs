//! The first commit of a history, kept where it takes long to walk to.

use crate::git::{Oid, Repo};
use crate::model::Result;

use super::Cache;

/// The file, in [`Cache::of`].
pub const FILE: &str = "first-commit-2.json";

/// A walk of fewer commits takes about as long as reading the file.
const MANY: usize = 100;

/// Returns the root commit on the first-parent chain of `tip`, and caches that of a long one: history only grows.
pub fn find(repo: &Repo, tip: Oid, cache: &Cache) -> Result<Oid> {
    // The end of a shallow history is not its root, and moves.
    if repo.is_shallow() {
        return Ok(repo.first_commit(tip, None)?.id);
    }
    let first = repo.first_commit(tip, cache.read())?;
    if first.passed > MANY {
        cache.write(&(tip, first.id));
    }
    Ok(first.id)
}
