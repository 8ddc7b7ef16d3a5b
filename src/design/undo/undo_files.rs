//! The files that an undo moves, and the source of each. One that was edited since is moved aside like any other
//! (`store::operation::moves`).

use std::collections::{BTreeMap, BTreeSet};

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::merge::switch::Switch;
use crate::design::worktree::{cwd_in_worktree, open_worktree};
use crate::git::Oid;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::files::worktree_files::PathState;
use crate::store::operation::operation_record::{FilePlacement, Source};
use crate::store::operation::plan::NewIndex;
use crate::store::operation::{FileMoves, Kind, LateFile, Record, late_files, moves};

use super::undo_settled::settled_since;
use super::{Direction, plain_git};

/// How the files come back.
#[derive(Default)]
pub(in crate::design) struct FilesBack {
    pub(in crate::design) moves: FileMoves,
    /// Files that are restored from blobs: their kept copy is gone, or there was none.
    pub(in crate::design) restaged: BTreeSet<RepoPath>,
    /// The tree with these blobs.
    pub(in crate::design) tree: Option<Oid>,
    /// Files that another process wrote while the operation moved files, and that are not restored.
    pub(in crate::design) kept_late: Vec<LateFile>,
}

impl FilesBack {
    /// Plans the moves that undo an operation.
    pub(in crate::design) fn plan(
        session: &Session,
        places: &Places,
        record: &Record,
        kept: &Kept,
        direction: Direction,
    ) -> Result<FilesBack> {
        let tree = match record.snapshot {
            Some(_) => Some(session.repo.tree_of(record.snapshot)?),
            None => None,
        };
        if record.kind == Kind::External {
            let moves = plain_git::plan_files(session, record, kept)?;
            let staged = moves.place.iter().map(|place| place.path.clone()).collect();
            return Ok(FilesBack { moves, restaged: staged, tree, kept_late: Vec::new() });
        }
        let files = open_worktree(session)?;
        let cwd = cwd_in_worktree(session);
        let written = late_files::list(&session.repo, places, record);
        let further = match direction {
            Direction::Undo | Direction::Alone(_) | Direction::Abort => {
                settled_since(session, record, kept)?
            }
            Direction::Redo => BTreeMap::new(),
        };
        let mut moves = moves::plan_inverse(&files, record, &written, further, cwd.as_ref())?;
        replace_lost_sources(session, places, record, &mut moves)?;
        let from_blobs =
            moves.place.iter().filter(|place| matches!(place.source, Source::Staged { .. }));
        let restaged = from_blobs.map(|place| place.path.clone()).collect();
        let mut kept_late = written;
        kept_late.retain(|late| !late.is_placed_by(&moves));
        Ok(FilesBack { moves, restaged, tree, kept_late })
    }
}

/// Switches to a branch that has changed since an operation switched away from it: as with `git
/// switch`, local edits are carried along or stop it. Ignored files that were moved aside are
/// restored where the branch has no file.
pub(in crate::design) fn back_to_branch(
    session: &Session,
    places: &Places,
    (record, origin): (&Record, &Record),
    kept: &Kept,
    tip: Oid,
) -> Result<(FilesBack, Option<NewIndex>)> {
    let repo = &session.repo;
    let home = &record.before.head;
    if !matches!(origin.kind, Kind::Fork | Kind::External) {
        let name = home.name.short();
        return Err(Error::new(
            Code::ExternalChange,
            format!(
                "cannot restore the files: before {} ({}) they differed from '{name}', which has moved since",
                record.op, record.summary
            ),
        )
        .detail("op", record.op)
        .hint(format!("git switch {}", text::shell_word(&name))));
    }
    let tree = repo.tree_of(Some(tip))?;
    let way = (kept.scan.head_tree, tree);
    let switch = Switch::plan(session, kept, way, &BTreeMap::new())?;
    let restaged = switch.staged();
    let mut moves = switch.moves;
    let files = open_worktree(session)?;
    let old = repo.tree_of(home.commit)?;
    for (number, path) in record.files.aside.iter().enumerate() {
        let is_gits = [old, tree]
            .map(|tree| repo.entry_in(tree, path.as_path()))
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
        let stands = files.state(path).map_err(|e| Error::io("cannot read", e))?;
        let is_free = stands == PathState::Nothing || moves.aside.contains(path);
        let at = places.kept_by(record.op).join(number.to_string());
        if is_gits.iter().all(Option::is_none) && is_free && at.symlink_metadata().is_ok() {
            let operation = record.op;
            moves.place.push(FilePlacement {
                path: path.clone(),
                source: Source::Kept { operation, number },
            });
        }
    }
    let back = FilesBack {
        moves,
        restaged,
        tree: Some(tree),
        kept_late: late_files::list(repo, places, record),
    };
    Ok((back, switch.index))
}

/// If a kept file is gone, takes its content from the snapshot of the operation.
fn replace_lost_sources(
    session: &Session,
    places: &Places,
    record: &Record,
    moves: &mut FileMoves,
) -> Result<()> {
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
                format!("'{}' was kept at '{}' and is gone", place.path, kept.display()),
            )
            .unchanged()
            .detail("path", &place.path));
        };
        place.source = Source::Staged { id };
    }
    Ok(())
}
