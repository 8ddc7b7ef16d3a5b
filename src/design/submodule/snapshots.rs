//! Keeps the states of submodules with edits inside, as a checkpoint keeps that of the repository around them.
//!
//! HEAD, branch, index and files of a submodule stay as they are. The refs are created before anything names their
//! commits: a kill leaves refs that nothing names, and prune deletes them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::left_out::{Allowances, LeaveOutReason, LeftOut};
use crate::design::checkpoint::new_file_count;
use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::git::Oid;
use crate::git::attributes::AttributesOf;
use crate::git::worktree::snapshot::Unstorable;
use crate::model::id::WorktreeKey;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::operation::SubmoduleSnapshot;
use crate::store::operation::object_check::{self, NewRef, Written};
use crate::store::refs::ref_names;
use crate::store::settings::SubmoduleEdits;

use super::{AbsenceReason, Submodule, is_final};

/// The maximum number of submodules whose states one command keeps.
const MAX_SUBMODULES: usize = 64;

/// A submodule whose edits a checkpoint keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SubmoduleReport {
    /// Its path.
    pub path: RepoPath,
    /// The commit of its files, in its own repository; `None` in a dry run.
    pub sha: Option<Oid>,
    /// The number of paths that differ from its HEAD.
    pub files_changed: usize,
}

/// The state of one submodule.
pub(in crate::design) struct SubmoduleState {
    pub(in crate::design) submodule: Submodule,
    pub(in crate::design) kept: Kept,
    /// The commit of it.
    pub(in crate::design) snapshot: Oid,
}

impl SubmoduleState {
    /// Writes the commit of a state; `None` if it has no edits.
    pub(in crate::design) fn write(
        session: &Session,
        submodule: Submodule,
        kept: Kept,
    ) -> Result<Option<SubmoduleState>> {
        let head_tree = kept.scan.head_tree;
        let trees = [kept.snapshot.worktree_tree, kept.snapshot.index_tree];
        if trees == [head_tree; 2] && kept.scan.conflicts.is_empty() {
            return Ok(None);
        }
        let message = format!("edits inside the submodule '{}'", submodule.path);
        let signature = session.record_signature();
        let snapshot = kept.commit_beside(&submodule.session, &signature, message)?;
        Ok(Some(SubmoduleState { submodule, kept, snapshot }))
    }

    /// Has a ref of its repository hold the commit, for the worktree of `key`.
    pub(in crate::design) fn hold(&self, key: &WorktreeKey) -> Result<()> {
        let inside = &self.submodule.session;
        let repo = &inside.repo;
        let name = ref_names::state_of_parent(key, self.snapshot);
        if repo.find_ref(&name)? == Some(self.snapshot) {
            return Ok(());
        }
        // New refs are written here first.
        atomic::make_directory(&repo.git_dir().join("colony"))?;
        let base = self.kept.scan.head.commit();
        let mut records = repo.read_commit(self.snapshot)?.parents;
        records.retain(|parent| Some(*parent) != base);
        let written = Written {
            what: &self.submodule.path,
            base: self.kept.scan.head_tree,
            // The index.
            records,
            files: vec![self.snapshot],
            others: Vec::new(),
        };
        let durable = &repo.make_durable(&[])?;
        let new = NewRef { name, id: self.snapshot, durable };
        object_check::create_ref(inside, &Places::planned(repo)?, new, &written)
    }

    /// Returns it as records name it.
    pub(in crate::design) fn named(&self) -> SubmoduleSnapshot {
        SubmoduleSnapshot { path: self.submodule.path.clone(), snapshot: self.snapshot }
    }

    fn report(&self) -> Result<SubmoduleReport> {
        let repo = &self.submodule.session.repo;
        let (before, after) = (self.kept.scan.head_tree, self.kept.snapshot.worktree_tree);
        Ok(SubmoduleReport {
            path: self.submodule.path.clone(),
            sha: repo.keeps_objects().then_some(self.snapshot),
            files_changed: repo.diff_trees(before, after)?.len(),
        })
    }

    /// Returns `true` if another commit of the submodule has the same files.
    fn equals(&self, snapshot: Oid) -> bool {
        let commit = self.submodule.session.repo.read_commit(snapshot);
        commit.is_ok_and(|commit| commit.tree == self.kept.snapshot.worktree_tree)
    }
}

/// The states of submodules, and what they leave out.
#[derive(Default)]
pub(in crate::design) struct SubmoduleStates {
    pub(in crate::design) all: Vec<SubmoduleState>,
    left_out: Vec<LeftOut>,
}

impl SubmoduleStates {
    /// Writes the states of submodules with edits, and of their own submodules, as commits that no ref holds yet. One
    /// whose edits cannot be kept is left out. Costs nothing where none has edits.
    pub(in crate::design) fn scan(
        session: &Session,
        edited: &[RepoPath],
        allowances: &Allowances,
    ) -> Result<SubmoduleStates> {
        let mut states = SubmoduleStates::default();
        let mut open: Vec<RepoPath> = edited.iter().rev().cloned().collect();
        // Their own repositories go with the clone that is looked at.
        let is_wanted =
            session.settings.submodule_edits == SubmoduleEdits::Kept && !session.repo.is_foreign();
        while let Some(path) = open.pop() {
            session.world.interrupt.check()?;
            let has_room = is_wanted && states.all.len() < MAX_SUBMODULES;
            if !has_room {
                states.leave_out(path, LeaveOutReason::EditedSubmodule);
                continue;
            }
            match look_into(session, &path, allowances) {
                Ok(Ok((submodule, kept))) => states.add(session, submodule, kept, &mut open)?,
                Ok(Err(AbsenceReason::NotItsOwn)) => {
                    states.leave_out(path, LeaveOutReason::ForeignSubmodule);
                }
                Ok(Err(_)) => states.leave_out(path, LeaveOutReason::EditedSubmodule),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => {
                    (session.world.narrate)(&format!("warning: '{path}': {}", error.message()));
                    states.leave_out(path, LeaveOutReason::EditedSubmodule);
                }
            }
        }
        Ok(states)
    }

    fn leave_out(&mut self, path: RepoPath, reason: LeaveOutReason) {
        self.left_out.push(LeftOut { path, reason });
    }

    fn add(
        &mut self,
        session: &Session,
        submodule: Submodule,
        kept: Kept,
        open: &mut Vec<RepoPath>,
    ) -> Result<()> {
        let nested = &kept.scan.edited_submodules;
        open.extend(nested.iter().map(|path| submodule.at(path)));
        let left_out = kept.left_out.iter().filter(|left| !nested.contains(&left.path));
        let at = |left: &LeftOut| LeftOut { path: submodule.at(&left.path), reason: left.reason };
        self.left_out.extend(left_out.map(at));
        self.all.extend(SubmoduleState::write(session, submodule, kept)?);
        Ok(())
    }

    /// Has refs hold the states; one that cannot be held is left out.
    pub(in crate::design) fn hold(&mut self, session: &Session, key: &WorktreeKey) -> Result<()> {
        for state in std::mem::take(&mut self.all) {
            match state.hold(key) {
                Ok(()) => self.all.push(state),
                Err(error) if is_final(&error) || session.world.is_dead() => return Err(error),
                Err(error) => {
                    let path = state.submodule.path;
                    (session.world.narrate)(&format!("warning: '{path}': {}", error.message()));
                    self.leave_out(path, LeaveOutReason::EditedSubmodule);
                }
            }
        }
        Ok(())
    }

    /// Returns the states as records name them.
    pub(in crate::design) fn named(&self) -> Vec<SubmoduleSnapshot> {
        self.all.iter().map(SubmoduleState::named).collect()
    }

    /// Returns the states as a report names them.
    pub(in crate::design) fn reports(&self) -> Result<Vec<SubmoduleReport>> {
        self.all.iter().map(SubmoduleState::report).collect()
    }

    /// Replaces the edited submodules among the paths that a checkpoint leaves out by what these states leave out.
    pub(in crate::design) fn note_left_out(&self, left_out: &mut Vec<LeftOut>) {
        left_out.retain(|left| left.reason != LeaveOutReason::EditedSubmodule);
        left_out.extend(self.left_out.iter().cloned());
        left_out.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Returns `true` if these are the states that were kept before.
    pub(in crate::design) fn equal(&self, before: &[SubmoduleSnapshot]) -> bool {
        let is_known = |state: &SubmoduleState| {
            let same = before.iter().find(|known| known.path == state.submodule.path);
            same.is_some_and(|known| state.equals(known.snapshot))
        };
        self.all.len() == before.len() && self.all.iter().all(is_known)
    }
}

/// A submodule with its files, or why it is left out.
type ReadSubmodule = std::result::Result<(Submodule, Kept), AbsenceReason>;

/// Reads a submodule as a checkpoint reads the repository around it.
fn look_into(session: &Session, path: &RepoPath, allowances: &Allowances) -> Result<ReadSubmodule> {
    let submodule = match Submodule::open(session, path) {
        Ok(submodule) => submodule,
        Err(reason) => return Ok(Err(reason)),
    };
    let inside = &submodule.session;
    let scan = inside.repo.scan(&inside.world)?;
    if !allowances.untracked {
        new_file_count::require(inside, &scan.untracked, &[])?;
    }
    let allowances = below(allowances, path);
    let kept = Kept::of(inside, scan, &allowances, Unstorable::NameUnreadable, &[])?;
    // Nothing would keep its large files from 'git lfs prune'.
    let has_large = !large_files(inside, &kept)?.is_empty();
    Ok(if has_large { Err(AbsenceReason::NotItsOwn) } else { Ok((submodule, kept)) })
}

/// Returns the allowances below a path.
fn below(allowances: &Allowances, path: &RepoPath) -> Allowances {
    let inside = |allowed: &RepoPath| {
        let whole = path.is_at_or_below(allowed).then(|| RepoPath::new(Vec::new()));
        whole.or_else(|| allowed.below(path).map(RepoPath::new))
    };
    let secrets = allowances.secrets.iter().filter_map(inside).collect();
    Allowances { secrets, ..allowances.clone() }
}

/// Lists the changed files whose content git-lfs has stored.
fn large_files(inside: &Session, kept: &Kept) -> Result<Vec<RepoPath>> {
    let (repo, changes) = (&inside.repo, &kept.snapshot.changes);
    if changes.is_empty() || !repo.has_filter("lfs") {
        return Ok(Vec::new());
    }
    let mut index = kept.scan.index();
    index.add_snapshot(&kept.snapshot);
    let changed = |path: &[u8]| changes.contains_key(&RepoPath::new(path.to_vec()));
    let files = repo.filtered_among(&index, "lfs", AttributesOf::Worktree, &changed)?;
    Ok(files.into_iter().map(|file| file.path).collect())
}
