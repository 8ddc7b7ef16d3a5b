//! The submodule that a row names: where it comes from and which commit is pinned, or why there is none.

use crate::git::remote::submodules::{FILE, RefusedSubmodule, Submodules};
use crate::git::{Oid, RemoteUrl, Repo};
use crate::model::{Code, Error, RepoPath, Result};

/// More submodules are not named where a row names another.
const MOST_NAMED: usize = 5;

/// A submodule that a row stands for.
#[derive(Debug)]
pub struct Pin<'a> {
    /// Its name in `.gitmodules`.
    pub name: &'a str,
    /// Where it comes from.
    pub url: RemoteUrl,
    /// The branch that it follows.
    pub branch: Option<String>,
    /// The commit that the tree pins.
    pub commit: Oid,
}

/// Finds the submodule at a path. What the content of a repository may not name, the user may have: as git
/// does, an URL in the user's configuration counts where that of the tree is missing or refused.
///
/// # Errors
/// `submodule-not-found`, which says what of it is missing; `url-refused`.
pub fn find<'a>(repo: &Repo, submodules: &'a Submodules, path: &RepoPath) -> Result<Pin<'a>> {
    if let Some(found) = submodules.found.iter().find(|found| found.path == *path) {
        return Ok(Pin {
            name: &found.name,
            url: found.url.clone(),
            branch: found.branch.clone().filter(|branch| branch != "."),
            commit: found.commit,
        });
    }
    let is_it = |refused: &&RefusedSubmodule| refused.path.as_ref() == Some(path);
    let Some(refused) = submodules.refused.iter().find(is_it) else {
        return Err(none(path, &undeclared(submodules)));
    };
    let own = refused
        .pinned
        .map(|commit| Ok((repo.submodule_url(&refused.name)?, commit)));
    match own.transpose()? {
        Some((Some(url), commit)) => Ok(Pin {
            name: &refused.name,
            url,
            branch: None,
            commit,
        }),
        Some((None, _)) | None => Err(none(
            path,
            &format!("'{FILE}' names it, but {}", refused.reason),
        )),
    }
}

/// Says that a path is that of no submodule of the tree.
fn undeclared(submodules: &Submodules) -> String {
    if !submodules.has_file {
        return format!("there is no '{FILE}'");
    }
    let found = submodules.found.iter().map(|found| &found.path);
    let refused = submodules
        .refused
        .iter()
        .filter_map(|one| one.path.as_ref());
    let all: Vec<String> = found.chain(refused).map(RepoPath::to_string).collect();
    let named = all.get(..MOST_NAMED).unwrap_or(&all).join(", ");
    match all.len().saturating_sub(MOST_NAMED) {
        _ if all.is_empty() => format!("'{FILE}' names no submodule"),
        0 => format!("'{FILE}' does not name it, but: {named}"),
        more => format!("'{FILE}' does not name it, but: {named} and {more} more"),
    }
}

fn none(path: &RepoPath, why: &str) -> Error {
    let message = format!("no submodule can be used at '{path}': {why}");
    Error::new(Code::SubmoduleNotFound, message).hint("git submodule status")
}
