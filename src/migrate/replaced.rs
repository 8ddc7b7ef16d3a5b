//! What a push of the rewritten history would replace on a remote, as last fetched. No network.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::remote::Remote;
use crate::git::{RefName, Repo};
use crate::model::{Result, text};
use crate::store::{Session, migration};

use super::REMOTE;

/// The maximum number of commits that are counted.
const MAX_COMMITS: usize = 10_000;

/// A branch of a remote that has the history from before the rewrite.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Replaced {
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// The remote.
    pub remote: String,
    /// Its push URL, without credentials.
    pub url: String,
    /// The number of commits that would leave it (at most 10,000); `None` before the rewrite.
    pub commits: Option<usize>,
}

impl Replaced {
    /// Describes it, as in 'main on origin (URL): 3 commits replaced'.
    pub fn to_text(&self) -> String {
        let place = format!("{} on {} ({})", self.branch, self.remote, self.url);
        match self.commits {
            Some(count) => format!("{place}: {} replaced", text::count(count, "commit")),
            None => format!("{place}: its commits replaced"),
        }
    }
}

/// Lists the branches of a remote, as last fetched, that have the history from before a migration.
pub(super) fn old_branches(repo: &Repo, remote: &str) -> Result<Vec<RefName>> {
    let map = migration::known(repo)?;
    let mut old = Vec::new();
    if map.is_empty() {
        return Ok(old);
    }
    let prefix = format!("refs/remotes/{remote}/");
    for branch in repo.refs_below(&prefix)? {
        let is_commit = repo.peel_to_commit(branch.id) == Some(branch.id);
        let rest = branch.name.as_bytes().strip_prefix(prefix.as_bytes());
        if let Some(rest) = rest.filter(|rest| is_commit && *rest != b"HEAD")
            && migration::is_old(repo, &map, branch.id)?
        {
            old.push(RefName::new([b"refs/heads/", rest].concat()));
        }
    }
    Ok(old)
}

/// Lists what a push would replace, after the rewrite.
pub(super) fn by_push(session: &Session) -> Result<Vec<Replaced>> {
    let repo = &session.repo;
    let Ok(remote) = Remote::find(repo, &session.world, REMOTE) else {
        return Ok(Vec::new());
    };
    let mut replaced = Vec::new();
    for name in old_branches(repo, REMOTE)? {
        let seen = RefName::from(format!("refs/remotes/{REMOTE}/{}", name.short()).as_str());
        let sides = repo.find_ref(&seen)?.zip(repo.find_ref(&name)?);
        if let Some((theirs, ours)) = sides {
            let leaving = repo.commits_between(theirs, &[ours], MAX_COMMITS)?.len();
            replaced.push(of(&remote, &name, Some(leaving)));
        }
    }
    Ok(replaced)
}

/// Lists the branches that a push could replace, before the rewrite: those that both sides have.
pub(super) fn before(session: &Session) -> Result<Vec<Replaced>> {
    let repo = &session.repo;
    let Ok(remote) = Remote::find(repo, &session.world, REMOTE) else {
        return Ok(Vec::new());
    };
    let mut replaced = Vec::new();
    for branch in repo.refs_below("refs/heads/")? {
        let name = format!("refs/remotes/{REMOTE}/{}", branch.name.short());
        if repo.find_ref(&RefName::from(name.as_str()))?.is_some() {
            replaced.push(of(&remote, &branch.name, None));
        }
    }
    Ok(replaced)
}

fn of(remote: &Remote<'_>, name: &RefName, commits: Option<usize>) -> Replaced {
    Replaced {
        branch: name.short(),
        remote: remote.name().to_owned(),
        url: remote.push_url(),
        commits,
    }
}
