//! Switches the working tree from HEAD's tree to another one, as `git switch` and `git merge` do:
//! local changes stay if the path is the same in both trees, and stop the command if it is not.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::checkpoint::worktree_snapshot::Kept;
use crate::design::worktree::snapshot_commit;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::merge::merge_tree::Stages;
use crate::git::worktree::scan::IndexLook;
use crate::git::{Oid, RefChange, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::large_files::retained_objects;
use crate::store::operation::operation_record::IndexTarget;
use crate::store::operation::plan::{NewIndex, Plan};
use crate::store::operation::{Done, FileMoves, Operation};

use super::tree_moves::{outside_sparse, plan_known_moves};

/// The changes to index and files.
pub(in crate::design) struct Switch {
    pub(in crate::design) tree: Oid,
    pub(in crate::design) moves: FileMoves,
    pub(in crate::design) index: Option<NewIndex>,
    /// Ignored files that are moved aside.
    pub(in crate::design) ignored_kept: Vec<RepoPath>,
    /// The number of paths that differ between the trees.
    pub(in crate::design) files_changed: usize,
}

impl Switch {
    /// Plans the switch from one tree, that of HEAD or of the index, to another; `conflicts` get
    /// their stages in the index.
    pub(in crate::design) fn plan(
        session: &Session,
        kept: &Kept,
        (from, tree): (Oid, Oid),
        conflicts: &BTreeMap<RepoPath, Stages>,
    ) -> Result<Switch> {
        refuse_unmerged(kept)?;
        let repo = &session.repo;
        let changes = repo.diff_trees(from, tree)?;
        let edits = Edits::find(session, kept, from)?;
        let edited = changes.iter().map(|change| &change.path).chain(conflicts.keys());
        let in_the_way = edits.among(edited, &changes);
        let mut outside = outside_sparse(session, &changes)?;
        outside.retain(|path| !conflicts.contains_key(path));
        let moving: Vec<_> = changes
            .iter()
            .filter(|change| {
                let there_already = edits.in_files.get(&change.path) == Some(&change.new);
                // A path in conflict has to be visible, even outside the sparse checkout.
                let skipped = kept.scan.is_skipped(&change.path) || outside.contains(&change.path);
                !there_already && (!skipped || conflicts.contains_key(&change.path))
            })
            .cloned()
            .collect();
        let moves = plan_known_moves(session, &moving, kept)?;
        let (ignored_kept, untracked) = aside(&moves, &moving, kept);
        let stops: BTreeSet<_> = in_the_way.into_iter().chain(untracked).collect();
        let (edited, untracked): (BTreeSet<_>, BTreeSet<_>) =
            stops.into_iter().partition(|path| kept.scan.is_tracked(path));
        refuse_edits(&edited)?;
        refuse_untracked(&untracked)?;
        Ok(Switch {
            tree,
            moves,
            index: new_index(
                session,
                kept,
                &Staging { from, tree, changes: &changes, conflicts, outside: &outside },
            )?,
            ignored_kept,
            files_changed: changes.len(),
        })
    }

    /// Returns the files that must be written before the commit point.
    pub(in crate::design) fn staged(&self) -> BTreeSet<RepoPath> {
        let place = self.moves.place.iter();
        place.map(|place| place.path.clone()).collect()
    }
}

/// Returns `true` if the switch from HEAD's tree to another touches only files that are as in HEAD,
/// and the index equals HEAD: then no edit can stop it and nothing is moved aside. Examines only
/// the paths of the switch; if one is unclear, the whole working tree must be scanned.
pub(in crate::design) fn meets_only_clean_files(
    session: &Session,
    from: Oid,
    to: Oid,
) -> Result<bool> {
    let changes = session.repo.diff_trees(from, to)?;
    session.repo.are_surely_clean(from, &changes)
}

/// A change of a branch: its summary and the refs that move.
pub(in crate::design) struct Step {
    pub(in crate::design) summary: String,
    pub(in crate::design) refs: Vec<RefChange>,
}

/// Applies a step as one operation; with a switch, index and files change as well.
pub(in crate::design) fn carry_out(
    session: &Session,
    operation: Operation<'_>,
    before: IndexLook,
    switch: Option<(Switch, &Kept)>,
    step: Step,
) -> Result<Done> {
    let mut plan = Plan {
        summary: step.summary,
        head: before.head,
        refs: step.refs,
        index_before: (before.index, before.tree),
        index: None,
        files: FileMoves::default(),
        snapshot: None,
        inverts: None,
    };
    if let Some((switch, kept)) = switch {
        let (staged, stage) = (switch.staged(), operation.stage());
        retained_objects::stage(session, switch.tree, &staged, &stage)?;
        plan.snapshot = Some(snapshot_commit(session, kept, &plan.summary)?);
        plan.index = switch.index;
        plan.files = switch.moves;
    }
    operation.commit(plan)
}

/// The paths of index and files that differ from a tree.
struct Edits {
    in_files: BTreeMap<RepoPath, Option<TreeEntry>>,
    in_index: BTreeMap<RepoPath, Option<TreeEntry>>,
}

impl Edits {
    fn find(session: &Session, kept: &Kept, from: Oid) -> Result<Edits> {
        let edits_of = |tree, counts: fn(&TreeChange) -> bool| -> Result<BTreeMap<_, _>> {
            let changes = session.repo.diff_trees(from, tree)?.into_iter().filter(counts);
            Ok(changes.map(|change| (change.path, change.new)).collect())
        };
        Ok(Edits {
            // The commit that a submodule has checked out is left alone.
            in_files: edits_of(kept.snapshot.worktree_tree, |change| {
                !(is_submodule(change.old) && is_submodule(change.new))
            })?,
            in_index: edits_of(kept.snapshot.index_tree, |_| true)?,
        })
    }

    /// Lists those of `paths` that are edited to something else than their new state.
    fn among<'a>(
        &self,
        paths: impl Iterator<Item = &'a RepoPath>,
        changes: &[TreeChange],
    ) -> BTreeSet<RepoPath> {
        let new_entries: BTreeMap<_, _> = changes.iter().map(|c| (&c.path, c.new)).collect();
        let differs = |edits: &BTreeMap<RepoPath, Option<TreeEntry>>, path: &RepoPath| {
            let edited = edits.get(path);
            edited.is_some_and(|edited| new_entries.get(path) != Some(edited))
        };
        let stops =
            |path: &&RepoPath| differs(&self.in_files, path) || differs(&self.in_index, path);
        paths.filter(stops).cloned().collect()
    }
}

fn is_submodule(entry: Option<TreeEntry>) -> bool {
    entry.is_some_and(|entry| entry.is_submodule())
}

/// Refuses to open conflicts while other changes are staged: they would become part of the commit.
pub(in crate::design) fn refuse_staged(kept: &Kept) -> Result<()> {
    let staged: Vec<_> = kept.scan.staged.iter().map(|change| &change.path).collect();
    let Some(first) = staged.first() else {
        return Ok(());
    };
    Err(Error::new(
        Code::UncommittedEdits,
        format!("'{first}' is staged and would become part of the commit"),
    )
    .detail("paths", &staged)
    .hint("git colony checkpoint   # or git restore --staged PATH; then run it again"))
}

/// Refuses while paths of the index are in conflict.
pub(in crate::design) fn refuse_unmerged(kept: &Kept) -> Result<()> {
    let Some(first) = kept.scan.conflicts.first() else {
        return Ok(());
    };
    let count = text::count(kept.scan.conflicts.len(), "path");
    Err(Error::new(
        Code::UnmergedPaths,
        format!("{count} with unresolved conflicts, the first '{first}'"),
    )
    .detail("paths", &kept.scan.conflicts)
    .hint("resolve them, then: git add PATH"))
}

/// Splits the paths that are moved aside although HEAD does not have them into ignored files and
/// all others.
fn aside(moves: &FileMoves, changes: &[TreeChange], kept: &Kept) -> (Vec<RepoPath>, Vec<RepoPath>) {
    let known: BTreeSet<_> =
        changes.iter().filter(|change| change.old.is_some()).map(|change| &change.path).collect();
    let foreign = moves.aside.iter().filter(|path| !known.contains(path));
    foreign.cloned().partition(|path| {
        let untracked =
            |untracked: &crate::git::worktree::scan::Untracked| untracked.path.cmp(path);
        !kept.scan.is_tracked(path) && kept.scan.untracked.binary_search_by(untracked).is_err()
    })
}

fn refuse_untracked(paths: &BTreeSet<RepoPath>) -> Result<()> {
    let Some(first) = paths.first() else {
        return Ok(());
    };
    let others = match paths.len() {
        1 => String::new(),
        more => format!(" and {}", text::count(more - 1, "other path")),
    };
    let word = text::shell_word(&first.to_string());
    Err(Error::new(
        Code::UncommittedEdits,
        format!("'{first}'{others} is untracked here and in the way"),
    )
    .detail("paths", paths)
    .hint(format!("mv {word} ..   # or any other place; then run it again")))
}

fn refuse_edits(paths: &BTreeSet<RepoPath>) -> Result<()> {
    let Some(first) = paths.first() else {
        return Ok(());
    };
    let others = match paths.len() {
        1 => String::new(),
        more => format!(" and {}", text::count(more - 1, "other path")),
    };
    Err(Error::new(
        Code::UncommittedEdits,
        format!("'{first}'{others} has local changes that would be overwritten"),
    )
    .detail("paths", paths)
    .hint("git colony checkpoint   # commits them; then run it again"))
}

/// What the index changes from and to.
struct Staging<'a> {
    from: Oid,
    tree: Oid,
    /// The difference of the two trees.
    changes: &'a [TreeChange],
    conflicts: &'a BTreeMap<RepoPath, Stages>,
    /// The paths outside the sparse checkout.
    outside: &'a BTreeSet<RepoPath>,
}

fn new_index(session: &Session, kept: &Kept, staging: &Staging<'_>) -> Result<Option<NewIndex>> {
    let Staging { from, tree, changes, conflicts, outside } = *staging;
    if changes.is_empty() && conflicts.is_empty() {
        return Ok(None);
    }
    let repo = &session.repo;
    let before = kept.scan.index();
    let mut index = before.clone();
    index.set_entries(changes.iter().map(|change| (&change.path, change.new)));
    index.skip_worktree(outside);
    index.set_conflicts(conflicts);
    if repo.config_bool("core.ignoreCase") == Some(true)
        && let Some((path, other)) = index.folded_collision()
    {
        return Err(Error::new(
            Code::PathCollision,
            format!("'{path}' and '{other}' collide on this file system"),
        )
        .detail("paths", [path, other]));
    }
    let untouched = kept.snapshot.index_tree == from && repo.index_is_plain(&before);
    let target = if untouched && conflicts.is_empty() && outside.is_empty() {
        index.set_tree(repo, tree, &before)?;
        IndexTarget::Tree { tree }
    } else {
        let changed = changes.iter().map(|change| (&change.path, change.new));
        let stage0 = repo.edit_tree(kept.snapshot.index_tree, changed)?;
        let conflicted = conflicts.keys().map(|path| (path, None));
        let stage0 = repo.edit_tree(stage0, conflicted)?;
        let state = repo.write_index_state(&index, stage0)?;
        IndexTarget::State { state }
    };
    Ok(Some(NewIndex { target, index }))
}
