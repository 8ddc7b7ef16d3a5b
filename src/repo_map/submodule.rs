//! The submodule that a row names: its URL and its pinned commit, or the reason why there is none.

use crate::git::remote::submodules::{FILE, RefusedSubmodule, Submodules};
use crate::git::{Oid, RemoteUrl, Repo};
use crate::model::{Code, Error, RepoPath, Result};

/// The maximum number of submodules that a message lists.
const MAX_NAMED: usize = 5;

/// The submodule of a row.
#[derive(Debug)]
pub struct Pin<'a> {
    /// Its name in `.gitmodules`.
    pub name: &'a str,
    /// Its URL.
    pub url: RemoteUrl,
    /// The branch that it follows.
    pub branch: Option<String>,
    /// The commit that the tree pins.
    pub commit: Oid,
}

/// Finds the submodule at a path. A URL that repository content must not name may come from the
/// user: as in git, a URL in the user's configuration applies if that of the tree is missing or
/// refused.
pub fn find<'a>(repo: &Repo, submodules: &'a Submodules, path: &RepoPath) -> Result<Pin<'a>> {
    if let Some(submodule) = submodules.list.iter().find(|submodule| submodule.path == *path) {
        return Ok(Pin {
            name: &submodule.name,
            url: submodule.url.clone(),
            branch: submodule.branch.clone().filter(|branch| branch != "."),
            commit: submodule.commit,
        });
    }
    let is_it = |refused: &&RefusedSubmodule| refused.path.as_ref() == Some(path);
    let Some(refused) = submodules.refused.iter().find(is_it) else {
        return Err(none(path, &undeclared(submodules)));
    };
    let own = refused.pinned.map(|commit| Ok((repo.submodule_url(&refused.name)?, commit)));
    match own.transpose()? {
        Some((Some(url), commit)) => Ok(Pin { name: &refused.name, url, branch: None, commit }),
        Some((None, _)) | None => {
            Err(none(path, &format!("'{FILE}' lists it, but {}", refused.reason)))
        }
    }
}

/// Returns the reason why a path is not a submodule of the tree.
fn undeclared(submodules: &Submodules) -> String {
    if !submodules.has_file {
        return format!("there is no '{FILE}'");
    }
    let declared = submodules.list.iter().map(|submodule| &submodule.path);
    let refused = submodules.refused.iter().filter_map(|submodule| submodule.path.as_ref());
    let all: Vec<String> = declared.chain(refused).map(RepoPath::to_string).collect();
    let named = all.get(..MAX_NAMED).unwrap_or(&all).join(", ");
    match all.len().saturating_sub(MAX_NAMED) {
        _ if all.is_empty() => format!("'{FILE}' does not list any submodules"),
        0 => format!("'{FILE}' does not list it, but: {named}"),
        more => format!("'{FILE}' does not list it, but: {named} and {more} more"),
    }
}

fn none(path: &RepoPath, why: &str) -> Error {
    let message = format!("no submodule can be used at '{path}': {why}");
    Error::new(Code::SubmoduleNotFound, message).hint("git submodule status")
}
