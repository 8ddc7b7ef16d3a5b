//! Large files that no branch or tag holds: those of automatic checkpoints, and where they come back from.
//!
//! `git lfs prune` looks at no ref of ours, so that it takes what only an automatic checkpoint has. Each
//! of these has second names of its large files in a folder of the kept files, for as long as its ref
//! stands. A file that is brought back finds them there, or in the hub.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::lfs_objects::Objects;
use crate::git::{Oid, RefName};
use crate::model::{RepoPath, Result};

use super::places::Places;
use super::{Session, atomic, large_files, ref_names};

/// Gives what was stored for an automatic checkpoint, whose id is `name`, its names; the folder that it
/// was stored in goes.
///
/// # Errors
/// `no-space`, `io`.
pub fn keep(session: &Session, places: &Places, name: &str) -> Result<()> {
    let folder = places.new_large_files();
    if !folder.exists() {
        return Ok(());
    }
    large_files::put_back(session, &folder)?;
    let (store, kept) = (
        Objects::of(&session.repo),
        places.automatic_large_files(name),
    );
    for made in large_files::all_in(&folder) {
        // One file twice named, where the store had it already.
        made.link_from_into(&store, &kept)?;
    }
    atomic::remove_folder(&folder)
}

/// Removes the names that automatic checkpoints had which are gone, of all worktrees.
///
/// # Errors
/// `repository-broken` when refs cannot be listed, `io`.
pub fn forget_unheld(session: &Session) -> Result<()> {
    let held: BTreeSet<RefName> = session
        .repo
        .refs_below(ref_names::AUTOMATIC)?
        .into_iter()
        .map(|found| found.name)
        .collect();
    for folder in folders(session) {
        let name = |folder: &Path| folder.file_name()?.to_str().map(str::to_owned);
        let worktree = folder.ancestors().nth(2).and_then(name);
        let Some((worktree, checkpoint)) = worktree.zip(name(&folder)) else {
            continue;
        };
        let of = format!("{}{worktree}/{checkpoint}", ref_names::AUTOMATIC);
        if !held.contains(&RefName::from(of.as_str())) {
            atomic::remove_folder(&folder)?;
        }
    }
    Ok(())
}

/// Lists `<common dir>/colony-kept/<key>/large/<checkpoint>`.
fn folders(session: &Session) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    below(session.repo.common_dir().join("colony-kept"))
        .flat_map(|worktree| below(worktree.join("large")))
        .collect()
}

/// Writes files as [`crate::git::Repo::stage_files`] does, after large files that the store of git-lfs
/// lacks were linked into it from where they are kept.
///
/// # Errors
/// As [`crate::git::Repo::stage_files`].
pub fn stage(
    session: &Session,
    tree: Oid,
    wanted: &BTreeSet<RepoPath>,
    folder: &Path,
) -> Result<()> {
    bring(session, tree, wanted)?;
    let repo = &session.repo;
    repo.stage_files(&session.world, tree, wanted, folder)
}

fn bring(session: &Session, tree: Oid, wanted: &BTreeSet<RepoPath>) -> Result<()> {
    let repo = &session.repo;
    if wanted.is_empty() || !repo.has_filter("lfs") {
        return Ok(());
    }
    let mut sources: Vec<Objects> = folders(session)
        .into_iter()
        .map(Objects::in_folder)
        .collect();
    // A clone that is to have no large files brings none over.
    if let Some(member) = &session.membership
        && repo.config("lfs.fetchexclude").as_deref() != Some("*")
    {
        sources.push(Objects::in_folder(member.hub.join("lfs").join("objects")));
    }
    if sources.is_empty() {
        return Ok(());
    }
    let store = Objects::of(repo);
    for pointer in repo.missing_large_files(tree, wanted)? {
        if let Some(source) = sources.iter().find(|source| source.has(&pointer)) {
            source.link_into(&pointer, store.folder())?;
        }
    }
    Ok(())
}
