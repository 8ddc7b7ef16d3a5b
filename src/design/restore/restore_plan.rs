//! Plans a restore before its commit point, and refuses it if it cannot be done.

use std::collections::BTreeSet;

use crate::design::checkpoint::left_out::Allowances;
use crate::design::checkpoint::unignored;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::fork::Start;
use crate::design::merge::tree_moves::{
    changes_from_here, ignored_among, outside_sparse, plan_known_moves,
};
use crate::git::Oid;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::operation::FileMoves;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::NewIndex;
use crate::store::{Session, migration};

use super::restore_report::{RestoreReport, count, submodules_in};
use super::restore_target::Target;
use super::restored_submodules::{self, SubmoduleWork};
use super::{Request, RestoreMode, divergence};

/// Everything known before the commit point.
pub(in crate::design) struct Work<'a> {
    request: &'a Request,
    pub(in crate::design) target: Target,
    pub(in crate::design) kept: Kept,
    pub(in crate::design) moves: FileMoves,
    /// The files inside submodules.
    pub(in crate::design) submodules: Vec<SubmoduleWork>,
    pub(in crate::design) index: Option<NewIndex>,
    /// The paths that stay out of checkpoints afterward.
    pub(in crate::design) unignored: Vec<RepoPath>,
    /// The fork to create.
    pub(in crate::design) start: Option<Start>,
    pub(in crate::design) report: RestoreReport,
}

impl<'a> Work<'a> {
    /// Examines everything, and plans the restore.
    pub(in crate::design) fn plan(
        session: &Session,
        request: &'a Request,
        target: Target,
        unignored: &[RepoPath],
    ) -> Result<Work<'a>> {
        let allowances = Allowances::default();
        let kept = Kept::scan(session, &allowances, Unstorable::LeaveOut, unignored)?;
        let mut report = RestoreReport::of(&target, request, &kept);
        report.dry_run = session.is_dry();
        refuse_old_history(session, request, &target)?;
        if request.mode == RestoreMode::Replace {
            divergence::compare(session, request, &target, &kept.scan.head, &mut report)?;
        }
        let start = match request.mode {
            RestoreMode::Fork => {
                Some(Start::of_target(session, request.fork_label.as_deref(), &target)?)
            }
            RestoreMode::Replace | RestoreMode::Files => None,
        };
        if let Some(start) = &start {
            report.branch = start.branch.short();
        }
        let changes = changes_from_here(session, &kept, target.tree)?;
        let mut changes = select(changes, request, &kept);
        report.spare_left_out(&mut changes, &target);
        let outside = match request.mode {
            RestoreMode::Replace | RestoreMode::Fork => outside_sparse(session, &changes)?,
            RestoreMode::Files => BTreeSet::new(),
        };
        changes.retain(|change| !outside.contains(&change.path));
        if request.mode != RestoreMode::Files {
            target.refuse_unknown_progress()?;
            let now = target.in_progress.as_ref();
            report.in_progress = now.map(|now| now.what.clone());
        }
        refuse_unknown_paths(session, request, &target, &kept)?;
        report.files = count(&changes);
        report.submodules = submodules_in(&changes);
        let index = match request.mode {
            RestoreMode::Replace | RestoreMode::Fork => {
                Some(new_index(session, &target, &kept, &outside)?)
            }
            RestoreMode::Files => None,
        };
        refuse_collisions(session, &target)?;
        let moves = plan_known_moves(session, &changes, &kept)?;
        report.ignored_kept = ignored_among(&moves, &kept);
        let unignored = unignored::after_restore(session, &kept, &changes, unignored)?;
        report.unignored = unignored.new;
        report.left_alone.retain(|left| !report.ignored_kept.contains(&left.path));
        let submodules = restored_submodules::plan(session, request, &target, &mut report)?;
        restored_submodules::tell(&submodules, &mut report);
        let unignored = unignored.all;
        let work =
            Work { request, target, kept, moves, submodules, index, unignored, start, report };
        Ok(work)
    }

    /// Returns the tip of the branch afterward.
    pub(in crate::design) fn branch_after(&self) -> Option<Oid> {
        match self.request.mode {
            RestoreMode::Replace | RestoreMode::Fork => self.target.branch,
            RestoreMode::Files => self.kept.scan.head.commit(),
        }
    }

    /// Returns `true` if the state is here already.
    pub(in crate::design) fn changes_nothing(&self) -> bool {
        let index_stays = match &self.index {
            None => true,
            Some(new) => new.index.fingerprint() == self.kept.scan.index().fingerprint(),
        };
        if self.start.is_some() || self.report.in_progress.is_some() {
            return false;
        }
        let branch_stays = self.branch_after() == self.kept.scan.head.commit();
        let files_stay = self.moves.is_empty() && self.submodules.is_empty();
        files_stay && index_stays && branch_stays
    }

    /// Lists the paths of the files to write.
    pub(in crate::design) fn staged_paths(&self) -> BTreeSet<RepoPath> {
        self.moves.place.iter().map(|place| place.path.clone()).collect()
    }
}

/// Refuses to move the branch to the history from before a migration to git-lfs; files can be
/// restored from it.
fn refuse_old_history(session: &Session, request: &Request, target: &Target) -> Result<()> {
    match target.branch {
        Some(branch) if request.mode != RestoreMode::Files => {
            let what = format!("'{}'", target.label);
            migration::refuse_old(&session.repo, branch, &what).map_err(|error| {
                let id = text::shell_word(&target.id);
                match error.code() {
                    Code::HistoryRewritten => error.hint(format!(
                        "git colony restore {id} --mode files -- .   # restores only its files"
                    )),
                    _ => error,
                }
            })
        }
        _ => Ok(()),
    }
}

/// Keeps the requested changes of files that may be moved.
fn select(changes: Vec<TreeChange>, request: &Request, kept: &Kept) -> Vec<TreeChange> {
    let wanted = |change: &TreeChange| {
        let path = &change.path;
        let named =
            request.paths.is_empty() || request.paths.iter().any(|root| path.is_at_or_below(root));
        let spared = request.keep_untracked && change.new.is_none() && !kept.scan.is_tracked(path);
        named && !spared && !kept.scan.is_skipped(path)
    };
    changes.into_iter().filter(wanted).collect()
}

fn refuse_unknown_paths(
    session: &Session,
    request: &Request,
    target: &Target,
    kept: &Kept,
) -> Result<()> {
    for path in &request.paths {
        let in_target = path.as_bytes().is_empty()
            || session.repo.entry_in(target.tree, path.as_path())?.is_some();
        let here = session.repo.entry_in(kept.snapshot.worktree_tree, path.as_path())?;
        let in_submodule = target.submodules.iter().any(|state| path.is_at_or_below(&state.path));
        if !in_target && !in_submodule && here.is_none() {
            return Err(Error::new(
                Code::PathNotFound,
                format!("'{path}' is neither in '{}' nor in the working tree", target.label),
            )
            .detail("path", path));
        }
    }
    Ok(())
}

fn new_index(
    session: &Session,
    target: &Target,
    kept: &Kept,
    outside: &BTreeSet<RepoPath>,
) -> Result<NewIndex> {
    let before = kept.scan.index();
    let mut index = match &target.index {
        IndexTarget::Tree { tree } => session.repo.index_of_tree(*tree, &before)?,
        IndexTarget::State { state } | IndexTarget::File { state, .. } => {
            session.repo.index_of_state(*state, &before)?
        }
    };
    if outside.is_empty() {
        return Ok(NewIndex { target: target.index.clone(), index });
    }
    index.skip_worktree(outside);
    let stage0 = match &target.index {
        IndexTarget::Tree { tree } => *tree,
        IndexTarget::State { state } | IndexTarget::File { state, .. } => {
            session.repo.state_tree(*state)?
        }
    };
    let state = session.repo.write_index_state(&index, stage0)?;
    Ok(NewIndex { target: IndexTarget::State { state }, index })
}

fn refuse_collisions(session: &Session, target: &Target) -> Result<()> {
    if session.repo.config_bool("core.ignoreCase") != Some(true) {
        return Ok(());
    }
    let before = session.repo.load_index()?;
    let index = session.repo.index_of_tree(target.tree, &before)?;
    match index.folded_collision() {
        None => Ok(()),
        Some((path, other)) => Err(Error::new(
            Code::PathCollision,
            format!("'{path}' and '{other}' collide on this file system"),
        )
        .detail("paths", [path, other])),
    }
}
