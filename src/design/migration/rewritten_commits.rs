//! Rewrites commits from before a migration as the migration did, so that they can be merged.
//!
//! The same rewrite of the same commits has the same result, so the commits that both sides know
//! get the ids that the map has; that is checked. Large files that only the old commits have become
//! files of git-lfs here.

use crate::git::Oid;
use crate::git::lfs::lfs_import::{Import, ImportStep, Imported};
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::model::{Code, Error, Result};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::lock::wait::WaitLimit;
use crate::store::migration::migration_children::{self, Children};
use crate::store::migration::{self, ObjectMap, Recorded};

/// Returns the commit that a commit from before a migration became; `None` for any other commit. One
/// that was made on the old history since is rewritten now, with all of its history: nothing points
/// to the result yet.
pub fn rewritten(session: &Session, commit: Oid) -> Result<Option<Oid>> {
    let repo = &session.repo;
    let map = migration::known(repo)?;
    if let Some(new) = map.newest(commit).filter(|new| repo.object_size(*new).is_some()) {
        return Ok(Some(new));
    }
    if !migration::is_old(repo, &map, commit)? {
        return Ok(None);
    }
    let limit = WaitLimit::for_long_work(session.settings.timeout);
    let _lock = migration::lock(session, limit)?;
    migration_children::settle(session)?;
    let children = Children::begin(repo)?;
    let folder = migration::folder(repo);
    atomic::remove_folder(&folder)?;
    atomic::make_directory(&folder)?;
    (session.world.narrate)("rewriting commits from before the migration to git-lfs");
    let new = rewrite(session, commit, &children);
    let removed = atomic::remove_folder(&folder);
    new.and_then(|new| removed.map(|()| Some(new)))
}

fn rewrite(session: &Session, commit: Oid, children: &Children) -> Result<Oid> {
    let repo = &session.repo;
    let recorded = migration::recorded(repo)?;
    let step = |record: &Recorded| ImportStep {
        include: record.about.patterns.clone(),
        exclude: record.about.exclude.clone(),
        taken: record.about.taken.clone(),
    };
    let steps: Vec<ImportStep> = recorded.iter().map(step).collect();
    let import = Import {
        folder: &migration::folder(repo),
        steps: &steps,
        tips: &[commit],
        kept_open: children.file()?,
    };
    let imported = repo.import_for_lfs(&session.world, &import)?;
    refuse_another(session, &imported, &recorded)?;
    let map = joined(session, &imported);
    let new = map.get(commit).unwrap_or(commit);
    super::link_history(session, &imported, &[new], &[commit])?;
    let made = LfsObjects::in_folder(imported.large_files.clone());
    made.link_all_into(LfsObjects::of(repo).folder())?;
    if !session.is_dry() {
        migration::add_rewritten(session, map)?;
    }
    Ok(new)
}

/// Joins the maps of the steps.
fn joined(session: &Session, imported: &Imported) -> ObjectMap {
    let mut map = ObjectMap::default();
    for (number, later) in imported.maps.iter().enumerate() {
        match number {
            0 => map = ObjectMap::new(later.clone(), &session.repo),
            _ => map.then(later),
        }
    }
    map
}

/// Refuses if the same rewrite has another result than the recorded one.
fn refuse_another(session: &Session, imported: &Imported, recorded: &[Recorded]) -> Result<()> {
    for (map, record) in imported.maps.iter().zip(recorded) {
        if ObjectMap::new(map.clone(), &session.repo).contradicts(&record.map) {
            let message = "git-lfs here does not produce the history that was recorded";
            return Err(Error::new(Code::HistoryRewritten, message)
                .unchanged()
                .hint("git format-patch   # and 'git am' on the new history"));
        }
    }
    Ok(())
}
