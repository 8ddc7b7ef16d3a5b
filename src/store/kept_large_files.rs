//! Large files that git-lfs does not know to be in use: those of checkpoints beside the branch, and where
//! they come back from.
//!
//! `git lfs prune` looks at no ref of ours, so that it takes what only an automatic checkpoint has; and at
//! no change that a merge alone brings along, which is what the commit of a named one looks like: it has
//! the index as a second parent. Each of these has second names of its large files in a folder of the kept
//! files: an automatic one for as long as its ref stands, a named one also for as long as an undo of it may
//! be undone. A file that is brought back finds them there, or in the hub.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Duration, Utc};

use crate::git::lfs_objects::Objects;
use crate::git::lfs_pointer::Pointer;
use crate::git::{Oid, RefName, TreeEntry};
use crate::model::{RepoPath, Result};

use super::places::{LARGE_OF_NAMED, Places};
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

/// Gives the large files that `after` has and `before` has not, both being trees, the names of a named
/// checkpoint beside the branch. `new` is the folder that the clean filters stored in; what was never here
/// stays away.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn keep_named(
    session: &Session,
    kept: &Path,
    new: &Path,
    (before, after): (Oid, Oid),
) -> Result<()> {
    let repo = &session.repo;
    if before == after || !repo.has_filter("lfs") {
        return Ok(());
    }
    let [cleaned, staged] = large_files::all_in(new);
    let sources = [Objects::of(repo), cleaned, staged];
    for change in repo.diff_trees(before, after)? {
        let entry = change.new.filter(TreeEntry::is_file);
        if let Some(pointer) = entry.and_then(|entry| Pointer::of_blob(repo, entry.id))
            && let Some(source) = sources.iter().find(|source| source.has(&pointer))
        {
            source.link_into(&pointer, kept)?;
        }
    }
    Ok(())
}

/// Removes the names of checkpoints that are gone, of all worktrees: of automatic ones at once, of named
/// ones once they are as old as an operation may get.
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
    forget_named(session)?;
    for folder in folders(session, LARGE) {
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

fn forget_named(session: &Session) -> Result<()> {
    let days = i64::try_from(session.settings.keep_days).unwrap_or(i64::MAX);
    let oldest = session.world.now() - Duration::days(days.min(36_500));
    let is_old = |folder: &Path| {
        let changed = folder.metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| DateTime::<Utc>::from(changed) <= oldest)
    };
    for folder in folders(session, LARGE_OF_NAMED) {
        let Some(name) = folder.file_name().and_then(OsStr::to_str) else {
            continue;
        };
        let tag = RefName::from(format!("{}{name}", ref_names::CHECKPOINTS).as_str());
        if is_old(&folder) && session.repo.find_ref(&tag)?.is_none() {
            atomic::remove_folder(&folder)?;
        }
    }
    Ok(())
}

/// The folder of large files of automatic checkpoints, below that of a worktree.
const LARGE: &str = "large";

/// Lists `<common dir>/colony-kept/<key>/<kind>/<checkpoint>`.
fn folders(session: &Session, kind: &str) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    below(Places::kept_in(session.repo.common_dir()))
        .flat_map(|worktree| below(worktree.join(kind)))
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
    let kept = [LARGE, LARGE_OF_NAMED].map(|kind| folders(session, kind));
    let mut sources: Vec<Objects> = kept.into_iter().flatten().map(Objects::in_folder).collect();
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
