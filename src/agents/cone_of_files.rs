//! The cone of a sparse checkout, as the files of a clone that has lost its git directory show it.

use std::path::Path;

use crate::clones::hub::Hub;
use crate::git::{Oid, Repo};
use crate::model::Result;

/// Returns the directories of a commit that a folder has, as a sparse checkout names them; nothing if it has them all. What
/// its record said of that is lost, and a directory that was never there must not count as deleted.
pub(super) fn cone_of_files(hub: &Hub, commit: Oid, folder: &Path) -> Result<Vec<String>> {
    let repo = hub.store.to_read()?;
    let mut cone = Vec::new();
    let is_whole = add_cone(&repo, repo.tree_of(Some(commit))?, folder, "", &mut cone)?;
    Ok(if is_whole { Vec::new() } else { cone })
}

/// Adds the directories of a tree that are whole in a folder; returns `true` if none is missing.
fn add_cone(
    repo: &Repo,
    tree: Oid,
    folder: &Path,
    below: &str,
    cone: &mut Vec<String>,
) -> Result<bool> {
    let mut is_whole = true;
    for (name, entry) in repo.entries_of(tree)?.into_iter().filter(|(_, it)| it.is_directory()) {
        let path = format!("{below}{name}");
        if !name.under(folder).is_dir() {
            is_whole = false;
            continue;
        }
        let mut inner = Vec::new();
        if add_cone(repo, entry.id, &name.under(folder), &format!("{path}/"), &mut inner)? {
            cone.push(path);
        } else {
            is_whole = false;
            cone.extend(inner);
        }
    }
    Ok(is_whole)
}
