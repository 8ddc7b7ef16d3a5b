//! Brings files inside submodules back to the states that a checkpoint names.
//!
//! Their files move with those of the repository around them, in one operation: a file that is replaced is moved
//! aside, and one undo brings it back. HEAD, branch and index of a submodule stay. A submodule that cannot be
//! restored is named, and stops nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use crate::design::checkpoint::left_out::{Allowances, LeftOut};
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::merge::tree_moves::{changes_from_here, ignored_among, plan_known_moves};
use crate::design::submodule::snapshots::SubmoduleState;
use crate::design::submodule::{AbsenceReason, Submodule, is_final};
use crate::design::uncommitted::changed_paths;
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::{Error, RepoPath, Result};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::{FileMoves, Operation, SubmoduleSnapshot};
use crate::store::refs::ref_names;

use super::Request;
use super::restore_report::{RestoreReport, RestoredSubmodule, count};
use super::restore_target::Target;

/// The files of one submodule to restore.
pub(in crate::design) struct SubmoduleWork {
    submodule: Submodule,
    kept: Kept,
    tree: Oid,
    moves: FileMoves,
    report: RestoredSubmodule,
}

/// Plans the files of the submodules that the target names; the report names those that cannot be restored.
pub(super) fn plan(
    session: &Session,
    request: &Request,
    target: &Target,
    report: &mut RestoreReport,
) -> Result<Vec<SubmoduleWork>> {
    let mut all = Vec::new();
    for state in &target.submodules {
        session.world.interrupt.check()?;
        let is_about =
            |root: &RepoPath| state.path.is_at_or_below(root) || root.is_at_or_below(&state.path);
        if !request.paths.is_empty() && !request.paths.iter().any(is_about) {
            continue;
        }
        let planned = plan_one(session, request, &target.left_out, state);
        match unless_final(session, &state.path, planned)? {
            Ok(work) => all.push(work),
            Err(reason) => report.miss(state, reason),
        }
    }
    let read: BTreeSet<&RepoPath> = all.iter().map(|work| &work.submodule.path).collect();
    for work in &all {
        let left = work.kept.left_out.iter();
        report.left_alone.extend(left.map(|left| work.left_alone(left)));
        let ignored = ignored_among(&work.moves, &work.kept);
        report.ignored_kept.extend(ignored.iter().map(|path| work.submodule.at(path)));
    }
    report.left_alone.retain(|left| !read.contains(&left.path) && !is_done(session, left, &read));
    all.retain(|work| !work.moves.is_empty());
    Ok(all)
}

/// Returns `true` for a submodule whose only edits are inside its own submodules, which are all among `read`.
fn is_done(session: &Session, left: &LeftOut, read: &BTreeSet<&RepoPath>) -> bool {
    if !read.iter().any(|path| path.is_at_or_below(&left.path)) {
        return false;
    }
    let Ok(outer) = Submodule::open(session, &left.path) else {
        return false;
    };
    let inside = &outer.session;
    inside.repo.scan(&inside.world).is_ok_and(|scan| {
        changed_paths(&scan).is_empty()
            && scan.edited_submodules.iter().all(|path| read.contains(&outer.at(path)))
    })
}

/// Turns an error about one submodule into a warning, unless it stops the whole command.
fn unless_final<T>(
    session: &Session,
    path: &RepoPath,
    done: Result<std::result::Result<T, AbsenceReason>>,
) -> Result<std::result::Result<T, AbsenceReason>> {
    match done {
        Err(error) if is_final(&error) || session.world.is_dead() => Err(error),
        Err(error) => {
            warn(session, path, &error);
            Ok(Err(AbsenceReason::Failed))
        }
        done => done,
    }
}

fn warn(session: &Session, path: &RepoPath, error: &Error) {
    (session.world.narrate)(&format!("warning: '{path}': {}", error.message()));
}

fn plan_one(
    session: &Session,
    request: &Request,
    left_out: &[LeftOut],
    state: &SubmoduleSnapshot,
) -> Result<std::result::Result<SubmoduleWork, AbsenceReason>> {
    let submodule = match Submodule::open(session, &state.path) {
        Ok(submodule) => submodule,
        Err(reason) => return Ok(Err(reason)),
    };
    let inside = &submodule.session;
    if inside.repo.in_progress().is_some() {
        return Ok(Err(AbsenceReason::InProgress));
    }
    // Only a state that was kept here: anyone may have written the record of a checkpoint.
    let name = ref_names::state_of_parent(&Places::planned(&session.repo)?.key, state.snapshot);
    let is_held = inside.repo.find_ref(&name)? == Some(state.snapshot);
    let commit = inside.repo.read_commit(state.snapshot).ok().filter(|_| is_held);
    let Some(commit) = commit else {
        return Ok(Err(AbsenceReason::NoSnapshot));
    };
    let kept = Kept::scan(inside, &Allowances::default(), Unstorable::LeaveOut, &[])?;
    let is_wanted = |change: &TreeChange| {
        let path = submodule.at(&change.path);
        let is_named =
            request.paths.is_empty() || request.paths.iter().any(|root| path.is_at_or_below(root));
        let is_new = !kept.scan.is_tracked(&change.path);
        let is_spared = change.new.is_none()
            && (request.keep_untracked && is_new || left_out.iter().any(|left| left.path == path));
        is_named && !is_spared && !kept.scan.is_skipped(&change.path)
    };
    let mut changes = changes_from_here(inside, &kept, commit.tree)?;
    changes.retain(is_wanted);
    let moves = plan_known_moves(inside, &changes, &kept)?;
    let report = RestoredSubmodule {
        path: state.path.clone(),
        sha: state.snapshot,
        files: count(&changes),
        other_head: commit.parents.first().copied() != kept.scan.head.commit(),
    };
    Ok(Ok(SubmoduleWork { submodule, kept, tree: commit.tree, moves, report }))
}

/// Names the submodules that a restore plans to change.
pub(super) fn tell(work: &[SubmoduleWork], report: &mut RestoreReport) {
    report.submodules_restored =
        work.iter().map(|submodule_work| submodule_work.report.clone()).collect();
}

/// Writes the files of the submodules for an operation that is about to be committed, has its record name their present
/// states, and adds their moves to those of the repository around them.
pub(super) fn stage(
    session: &Session,
    work: Vec<SubmoduleWork>,
    operation: &mut Operation<'_>,
    moves: &mut FileMoves,
    report: &mut RestoreReport,
) -> Result<()> {
    let folder = operation.stage();
    for submodule_work in work {
        let state = SubmoduleSnapshot {
            path: submodule_work.report.path.clone(),
            snapshot: submodule_work.report.sha,
        };
        let staged = submodule_work.stage(&folder).map(Ok);
        match unless_final(session, &state.path, staged)? {
            Ok(()) => {}
            Err(reason) => {
                report.submodules_restored.retain(|restored| restored.path != state.path);
                report.miss(&state, reason);
                continue;
            }
        }
        moves.add_below(&state.path, submodule_work.moves);
        // Undo moves the files back and does not need this commit, but 'restore op-12' does.
        let Some(standing) =
            SubmoduleState::write(session, submodule_work.submodule, submodule_work.kept)?
        else {
            continue;
        };
        match standing.hold(&operation.places.key) {
            Ok(()) => operation.submodules.push(standing.named()),
            Err(error) if is_final(&error) || session.world.is_dead() => return Err(error),
            Err(error) => warn(session, &state.path, &error),
        }
    }
    Ok(())
}

impl SubmoduleWork {
    fn left_alone(&self, left: &LeftOut) -> LeftOut {
        LeftOut { path: self.submodule.at(&left.path), reason: left.reason }
    }

    /// Writes the new files below a folder.
    fn stage(&self, folder: &Path) -> Result<()> {
        let inside = &self.submodule.session;
        let wanted = self.moves.place.iter().map(|place| place.path.clone()).collect();
        inside.repo.stage_files(
            &inside.world,
            self.tree,
            &wanted,
            &self.submodule.path.under(folder),
        )
    }
}
