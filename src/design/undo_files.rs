//! Which files an undo moves, and where each comes from.

use std::collections::BTreeSet;

use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::operation::record::Source;
use crate::store::operation::{FileMoves, Kind, LateFile, Record, late, moves};
use crate::store::places::Places;

use super::external;
use super::kept::Kept;
use super::worktree::{cwd_in_worktree, open_worktree};

/// How the files come back.
pub(super) struct FilesBack {
    pub(super) moves: FileMoves,
    /// Files that come from blobs: what was kept of them is gone, or nothing was.
    pub(super) restaged: BTreeSet<RepoPath>,
    /// What somebody wrote while the operation moved files, and that does not come back.
    pub(super) kept_late: Vec<LateFile>,
}

impl FilesBack {
    /// Plans the moves that take an operation back.
    ///
    /// # Errors
    /// `object-missing` for a kept file that is gone; `nested-repository-in-the-way`.
    pub(super) fn plan(
        session: &Session,
        places: &Places,
        record: &Record,
        kept: &Kept,
    ) -> Result<FilesBack> {
        if record.kind == Kind::External {
            let moves = external::plan_files(session, record, kept)?;
            let staged = moves.place.iter().map(|place| place.path.clone()).collect();
            return Ok(FilesBack {
                moves,
                restaged: staged,
                kept_late: Vec::new(),
            });
        }
        let files = open_worktree(session)?;
        let cwd = cwd_in_worktree(session);
        let written = late::list(&session.repo, places, record);
        let mut moves = moves::plan_inverse(&files, record, &written, cwd.as_ref())?;
        let restaged = replace_lost_sources(session, places, record, &mut moves)?;
        let mut kept_late = written;
        kept_late.retain(|late| !late.is_placed_by(&moves));
        Ok(FilesBack {
            moves,
            restaged,
            kept_late,
        })
    }
}

/// Where a kept file is gone, takes its content from the snapshot the operation made.
fn replace_lost_sources(
    session: &Session,
    places: &Places,
    record: &Record,
    moves: &mut FileMoves,
) -> Result<BTreeSet<RepoPath>> {
    let mut restaged = BTreeSet::new();
    let snapshot = session.repo.tree_of(record.snapshot)?;
    for place in &mut moves.place {
        let Source::Kept { operation, number } = &place.source else {
            continue;
        };
        let kept = places.kept_by(*operation).join(number.to_string());
        if std::fs::symlink_metadata(&kept).is_ok() {
            continue;
        }
        let Some(id) = session.repo.entry_in(snapshot, place.path.as_path())? else {
            return Err(Error::new(
                Code::ObjectMissing,
                format!(
                    "'{}' was kept at '{}' and is gone; nothing has changed",
                    place.path,
                    kept.display()
                ),
            )
            .detail("path", &place.path));
        };
        place.source = Source::Staged { id };
        restaged.insert(place.path.clone());
    }
    Ok(restaged)
}
