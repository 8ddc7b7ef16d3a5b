//! The note that a migration has begun: the previous configuration of git-lfs, so that an
//! interrupted migration is recognized, and an abort leaves no filters behind.
//!
//! It is written before anything is configured and deleted once the migration has ended, either
//! way. The folder of the rewrite cannot serve for this: the next changing command deletes it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::git::{Oid, RefName, Repo};
use crate::lfs::uninstall::LfsSetup;
use crate::model::{Code, Result, ResultExt as _};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::migration::folder;
use crate::store::refs::ref_names;

/// The state when a migration began.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct StartState {
    /// The configuration of git-lfs.
    pub(super) standing: LfsSetup,
    /// The journal of the previous migration: once it has changed, this one has moved its refs.
    journal: Option<Oid>,
}

fn path(repo: &Repo) -> PathBuf {
    folder(repo).with_file_name("migration-begun")
}

fn journal(repo: &Repo) -> Result<Option<Oid>> {
    repo.find_ref(&RefName::from(ref_names::MIGRATION_JOURNAL))
}

impl StartState {
    /// Records the current configuration; after an interrupted migration, that before it.
    pub(super) fn note(session: &Session) -> Result<StartState> {
        if let Some(begun) = StartState::find(&session.repo)? {
            return Ok(begun);
        }
        let begun = StartState {
            standing: LfsSetup::find(&session.repo),
            journal: journal(&session.repo)?,
        };
        let json = serde_json::to_vec(&begun)
            .or_code(Code::Io, || "cannot record the start of a migration".to_owned())?;
        let path = path(&session.repo);
        atomic::make_directory(path.parent().unwrap_or(&path))?;
        atomic::write_durably(&path, &json)?;
        Ok(begun)
    }

    /// Finds the note of a migration that has not moved its refs; an invalid note counts as absent.
    pub(super) fn find(repo: &Repo) -> Result<Option<StartState>> {
        let bytes = plain_file::read(path(repo)).unwrap_or_default();
        let begun: Option<StartState> = serde_json::from_slice(&bytes).ok();
        let journal = journal(repo)?;
        Ok(begun.filter(|begun| begun.journal == journal))
    }

    /// Records that the migration has ended.
    pub(super) fn forget(repo: &Repo) -> Result<()> {
        atomic::remove_file(&path(repo))
    }
}

/// Returns `true` if a migration has begun, and has not moved any ref.
pub(super) fn was_cut_off(repo: &Repo) -> Result<bool> {
    Ok(StartState::find(repo)?.is_some())
}
