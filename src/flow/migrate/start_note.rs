//! The note of a migration that has begun: what of git-lfs was there before, so that one that was cut off
//! is known as such, and taking it back leaves no filters behind.
//!
//! It is written before anything is set up and goes once the migration has ended, either way. The folder
//! that history is rewritten in cannot stand for it: the next changing command removes that.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::git::{Oid, RefName, Repo};
use crate::lfs::install::LfsSetup;
use crate::model::{Code, Result, ResultExt as _};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::migration::folder;
use crate::store::refs::ref_names;

/// What was there when a migration began.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Begun {
    /// What of git-lfs was there.
    pub(super) standing: LfsSetup,
    /// The journal of the migration before: once it is another, this one has moved its refs.
    journal: Option<Oid>,
}

fn path(repo: &Repo) -> PathBuf {
    folder(repo).with_file_name("migration-begun")
}

fn journal(repo: &Repo) -> Result<Option<Oid>> {
    repo.find_ref(&RefName::from(ref_names::MIGRATION_JOURNAL))
}

impl Begun {
    /// Writes down what is there now; where a migration was cut off, what was there before that one.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub(super) fn note(session: &Session) -> Result<Begun> {
        if let Some(begun) = Begun::find(&session.repo)? {
            return Ok(begun);
        }
        let begun = Begun {
            standing: LfsSetup::look(&session.repo),
            journal: journal(&session.repo)?,
        };
        let json = serde_json::to_vec(&begun);
        let json = json.or_code(Code::Io, || {
            "cannot note that a migration begins".to_owned()
        })?;
        let path = path(&session.repo);
        atomic::make_directory(path.parent().unwrap_or(&path))?;
        atomic::write_durably(&path, &json)?;
        Ok(begun)
    }

    /// Finds the note of a migration that has not moved its refs; one that makes no sense is none.
    pub(super) fn find(repo: &Repo) -> Result<Option<Begun>> {
        let bytes = atomic::read_file(&path(repo)).unwrap_or_default();
        let begun: Option<Begun> = serde_json::from_slice(&bytes).ok();
        let journal = journal(repo)?;
        Ok(begun.filter(|begun| begun.journal == journal))
    }

    /// Says that the migration has ended.
    ///
    /// # Errors
    /// `io`.
    pub(super) fn forget(repo: &Repo) -> Result<()> {
        atomic::remove_file(&path(repo))
    }
}

/// Tells whether a migration has begun, and did not get as far as to move a ref.
pub(super) fn was_cut_off(repo: &Repo) -> Result<bool> {
    // Also what is left of one by a version that wrote no note.
    Ok(Begun::find(repo)?.is_some() || (folder(repo).exists() && !path(repo).exists()))
}
