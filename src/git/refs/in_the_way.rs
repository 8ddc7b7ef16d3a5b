//! Refs that are in the way of a new one: where a ref is named `a`, none can be named `a/b`, and under the new name itself
//! there may be a symbolic or broken ref, which lists of refs with their objects leave out.

use crate::git::{BareRepo, RefName, Repo};
use crate::model::Result;

use super::damaged_refs::{self, DamagedRef};
use super::{find_ref, ref_listing, symbolic_target};

/// A ref that is in the way of a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTheWay {
    /// Its name.
    pub name: RefName,
    /// What it holds.
    pub content: RefContent,
}

/// What a ref holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefContent {
    /// An object id.
    Object,
    /// The name of another ref.
    Symbolic(RefName),
    /// Neither.
    Broken(DamagedRef),
}

impl Repo {
    /// Finds the ref that is in the way of a new one. A ref of the new name that holds an object is not: it only moves.
    pub fn find_in_the_way(&self, new: &RefName) -> Result<Option<InTheWay>> {
        in_the_way(&self.inner, new)
    }

    /// Finds the ref of a name that lists of refs leave out: a symbolic or broken one.
    pub fn find_unlisted(&self, name: &RefName) -> Option<InTheWay> {
        unlisted(&self.inner, name)
    }
}

impl BareRepo {
    /// Does the same as [`Repo::find_in_the_way`].
    pub fn find_in_the_way(&self, new: &RefName) -> Result<Option<InTheWay>> {
        in_the_way(self.inner(), new)
    }
}

/// Returns the names that would have to be folders: `refs/a/b/c` has `refs/a` and `refs/a/b`.
pub fn folders_of(name: &RefName) -> impl Iterator<Item = RefName> {
    let bytes = name.as_bytes();
    let ends = (0..bytes.len()).filter(move |&at| bytes.get(at) == Some(&b'/'));
    let folders = ends.skip(1).filter_map(move |end| bytes.get(..end));
    folders.map(RefName::new)
}

fn in_the_way(repo: &gix::Repository, new: &RefName) -> Result<Option<InTheWay>> {
    for name in folders_of(new) {
        if let Some(obstacle) = find(repo, name)? {
            return Ok(Some(obstacle));
        }
    }
    if let Some(obstacle) = unlisted(repo, new) {
        return Ok(Some(obstacle));
    }
    for name in ref_listing::names_below(repo, &format!("{new}/")) {
        if let Some(obstacle) = find(repo, name)? {
            return Ok(Some(obstacle));
        }
    }
    Ok(None)
}

fn find(repo: &gix::Repository, name: RefName) -> Result<Option<InTheWay>> {
    if let Some(obstacle) = unlisted(repo, &name) {
        return Ok(Some(obstacle));
    }
    let is_there = find_ref(repo, &name)?.is_some();
    Ok(is_there.then_some(InTheWay { name, content: RefContent::Object }))
}

fn unlisted(repo: &gix::Repository, name: &RefName) -> Option<InTheWay> {
    let symbolic = symbolic_target(repo, name).map(RefContent::Symbolic);
    let broken = || damaged_refs::find(repo, name.clone()).map(RefContent::Broken);
    Some(InTheWay { content: symbolic.or_else(broken)?, name: name.clone() })
}
