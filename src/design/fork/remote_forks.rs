//! Forks on remotes, as last fetched: `origin/fork/<label>`.

use crate::git::{Oid, Repo};
use crate::model::Result;

/// A fork on a remote.
pub(in crate::design) struct RemoteFork {
    /// The remote.
    pub(in crate::design) remote: String,
    /// The label, the same on every remote.
    pub(in crate::design) label: String,
    /// Its tip.
    pub(in crate::design) tip: Oid,
}

impl RemoteFork {
    /// Returns its name in git, which commands accept.
    pub(in crate::design) fn name(&self) -> String {
        format!("{}/fork/{}", self.remote, self.label)
    }

    /// Returns the name of its ref.
    pub(in crate::design) fn full_name(&self) -> String {
        format!("refs/remotes/{}", self.name())
    }
}

/// Lists the forks of all remotes, by remote and label.
pub(in crate::design) fn list(repo: &Repo) -> Result<Vec<RemoteFork>> {
    let mut forks = Vec::new();
    for remote in repo.remote_names() {
        let prefix = format!("refs/remotes/{remote}/fork/");
        for reference in repo.refs_below(&prefix)? {
            let name = reference.name.to_string();
            let label = name.strip_prefix(&prefix).map(str::to_owned);
            let fork = label.zip(repo.peel_to_commit(reference.id));
            forks.extend(fork.map(|(label, tip)| RemoteFork {
                remote: remote.clone(),
                label,
                tip,
            }));
        }
    }
    Ok(forks)
}

/// Finds a fork by its [`RemoteFork::name`].
pub(in crate::design) fn find(repo: &Repo, name: &str) -> Result<Option<RemoteFork>> {
    if !name.contains("/fork/") {
        return Ok(None);
    }
    let mut all = list(repo)?.into_iter();
    Ok(all.find(|fork| fork.name() == name))
}
