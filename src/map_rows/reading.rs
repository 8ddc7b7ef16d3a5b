//! The repository whose files are mapped: this one, or another whose objects are known here.

use std::path::Path;

use crate::git::lfs::lfs_objects;
use crate::git::{BareRepo, Objects};
use crate::model::Result;
use crate::repo_map::resolved::{ResolvedRow, RowPlace};
use crate::source::literature::Library;
use crate::store::Session;

/// Returns the path of the repository with the files of a row; `None` for this one, which also has
/// the records of custom sources.
pub(crate) fn row_place(row: &ResolvedRow) -> Option<&Path> {
    match (&row.custom, &row.place) {
        (None, RowPlace::Hub(path)) => Some(path),
        (Some(_), _) | (None, RowPlace::This) => None,
    }
}

/// An open repository.
#[derive(Clone)]
pub(crate) struct Reading {
    /// Its objects.
    pub(crate) objects: Objects,
    large_files: lfs_objects::LfsObjects,
    is_dry: bool,
}

impl Reading {
    /// Opens the repository at a path; `None` is this one.
    pub(crate) fn of(session: &Session, place: Option<&Path>) -> Result<Reading> {
        Ok(match place {
            None => Reading {
                objects: session.repo.objects(),
                large_files: lfs_objects::LfsObjects::of(&session.repo),
                is_dry: session.is_dry(),
            },
            Some(path) => Reading {
                objects: BareRepo::open(path)?.objects(),
                large_files: lfs_objects::LfsObjects::in_folder(path.join("lfs/objects")),
                is_dry: session.is_dry(),
            },
        })
    }

    /// Returns what documents are read from.
    pub(crate) fn library(&self) -> Library<'_> {
        Library {
            objects: &self.objects,
            large_files: self.large_files.clone(),
            is_dry: self.is_dry,
        }
    }
}
