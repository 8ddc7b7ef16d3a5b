//! Merges of trees that have only one possible result, so that git need not run.
//!
//! git looks for renames among the deleted and the added files of a side; a side that did not both
//! delete and add has no renamed file or directory. Then each path is merged by itself: a change of
//! one side is taken, an equal change of both as well, and a text that both changed may be certain
//! by its lines (`trivial_lines`). All other cases are left to git: renames, binary files,
//! submodules or symlinks changed twice, a file and a directory, merge drivers, several merge
//! bases.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::git::attributes::{AttributeLookup, AttributesOf};
use crate::git::compare::tree_diff::TreeChange;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result, World};

use super::merge_tree::{MergeNote, Merged, Stages};
use super::trivial_lines::{self, Meeting};

/// Performs the merges that are certain; compares each pair of trees once.
pub struct CertainMerges<'a> {
    repo: &'a Repo,
    /// Whether any merge in this repository can be certain.
    is_plain: bool,
    changes: HashMap<(Oid, Oid), Rc<Changes>>,
    attributes: Option<AttributeLookup<'a>>,
}

/// The changes of one side, by path.
type Changes = BTreeMap<RepoPath, TreeChange>;

/// A merge that is certain.
#[derive(Debug, Default)]
pub struct CertainMerge {
    /// The changes of their side only.
    edits: Vec<TreeChange>,
    /// The files with the changes of both sides.
    texts: Vec<MergedText>,
    /// The entries of each path in conflict.
    pub stages: BTreeMap<RepoPath, Stages>,
}

/// A file with the changes of both sides.
#[derive(Debug)]
struct MergedText {
    path: RepoPath,
    ours: TreeEntry,
    bytes: Vec<u8>,
}

impl CertainMerge {
    /// Returns `true` if there are no conflicts.
    pub fn is_clean(&self) -> bool {
        self.stages.is_empty()
    }

    /// Lists the changes that a clean merge makes to our tree; writes nothing.
    pub fn changes(&self, repo: &Repo) -> Result<Vec<TreeChange>> {
        let mut changes = self.edits.clone();
        for text in &self.texts {
            changes.push(TreeChange {
                path: text.path.clone(),
                old: Some(text.ours),
                new: Some(text.ours.with(repo.hash_blob(&text.bytes)?)),
            });
        }
        changes.sort_by(|change, other| change.path.cmp(&other.path));
        Ok(changes)
    }

    /// Describes the conflicts as git words them.
    pub fn notes(&self) -> Vec<MergeNote> {
        let note = |path: &RepoPath| MergeNote {
            paths: vec![path.clone()],
            kind: "CONFLICT (contents)".to_owned(),
        };
        self.stages.keys().map(note).collect()
    }

    /// Writes the tree of a clean merge, based on our tree.
    pub fn write(self, repo: &Repo, ours: Oid) -> Result<Merged> {
        let mut texts = Vec::new();
        for text in self.texts {
            let written = repo.write_blob(&text.bytes)?;
            texts.push((text.path, Some(text.ours.with(written))));
        }
        let texts = texts.iter().map(|(path, entry)| (path, *entry));
        let edits = self.edits.iter().map(|change| (&change.path, change.new));
        Ok(Merged::clean(repo.edit_tree(ours, edits.chain(texts))?))
    }
}

impl Repo {
    /// Prepares certain merges. Reads no objects yet.
    pub fn certain_merges(&self, world: &World) -> CertainMerges<'_> {
        let unset = |key| self.config(key).is_none();
        // Settings that influence git's merge: attributes, drivers, replaced parents.
        let is_plain = unset("merge.default")
            && unset("attr.tree")
            && self.config_bool("merge.renormalize") != Some(true)
            && world.variable("GIT_ATTR_SOURCE").is_none()
            && !self.common_dir().join("info/grafts").exists();
        CertainMerges { repo: self, is_plain, changes: HashMap::new(), attributes: None }
    }
}

impl CertainMerges<'_> {
    /// Merges two commits with the given merge bases; `None` if git has to do it.
    pub fn commits(&mut self, bases: &[Oid], (ours, theirs): (Oid, Oid)) -> Option<CertainMerge> {
        let [base] = bases else {
            return None;
        };
        let tree = |commit| self.repo.tree_of(Some(commit)).ok();
        let (base, ours, theirs) = (tree(*base)?, tree(ours)?, tree(theirs)?);
        self.compare_at_once(base, [ours, theirs]);
        self.trees(base, (ours, theirs))
    }

    /// Merges two trees that began as `base`; `None` if git has to do it, also when an object
    /// cannot be read here.
    pub fn trees(&mut self, base: Oid, (ours, theirs): (Oid, Oid)) -> Option<CertainMerge> {
        if !self.is_plain {
            return None;
        }
        let (ours, theirs) = (self.changed(base, ours)?, self.changed(base, theirs)?);
        if may_rename(&ours) || may_rename(&theirs) {
            return None;
        }
        if is_in_the_way(&ours, &theirs) || is_in_the_way(&theirs, &ours) {
            return None;
        }
        let mut certain = CertainMerge::default();
        for (path, their) in theirs.iter() {
            match ours.get(path) {
                None => certain.edits.push(their.clone()),
                Some(our) if our.new == their.new => {}
                Some(our) => self.meet(path, (our, their), &mut certain)?,
            }
        }
        Some(certain)
    }

    /// Drops the comparisons so far.
    pub(super) fn forget(&mut self) {
        self.changes.clear();
    }

    /// Compares both sides with their base, one on another thread.
    fn compare_at_once(&mut self, base: Oid, sides: [Oid; 2]) {
        if !self.is_plain || sides.iter().any(|side| self.changes.contains_key(&(base, *side))) {
            return;
        }
        let [ours, theirs] = sides;
        let Ok(other) = self.repo.for_thread() else {
            return;
        };
        // If an object cannot be read the merge is not certain; git then reports the problem.
        let changes = std::thread::scope(|scope| {
            let theirs = scope.spawn(move || other.diff_trees(base, theirs));
            self.changed(base, ours);
            theirs.join().ok()?.ok()
        });
        if let Some(changes) = changes {
            self.changes.insert((base, theirs), by_path(changes));
        }
    }

    fn changed(&mut self, base: Oid, side: Oid) -> Option<Rc<Changes>> {
        if let Some(known) = self.changes.get(&(base, side)) {
            return Some(Rc::clone(known));
        }
        let changes = by_path(self.repo.diff_trees(base, side).ok()?);
        self.changes.insert((base, side), Rc::clone(&changes));
        Some(changes)
    }

    /// Merges a file that both sides changed.
    fn meet(
        &mut self,
        path: &RepoPath,
        (our, their): (&TreeChange, &TreeChange),
        certain: &mut CertainMerge,
    ) -> Option<()> {
        let (base, ours, theirs) = (our.old?, our.new?, their.new?);
        let plain = base.is_file() && base.has_mode_of(&ours) && base.has_mode_of(&theirs);
        if !plain || self.has_driver(path) {
            return None;
        }
        let read = |entry: TreeEntry| self.repo.read_blob(entry.id).ok();
        match trivial_lines::merge(&read(base)?, &read(ours)?, &read(theirs)?)? {
            Meeting::Clean(bytes) => {
                certain.texts.push(MergedText { path: path.clone(), ours, bytes });
            }
            Meeting::Conflict => {
                let stages = [Some(base), Some(ours), Some(theirs)];
                certain.stages.insert(path.clone(), stages);
            }
        }
        Some(())
    }

    /// Returns `true` if an attribute determines how the file is merged, or if that cannot be found
    /// out.
    fn has_driver(&mut self, path: &RepoPath) -> bool {
        if self.attributes.is_none() {
            // git reads the attributes files of the working tree, and not those that are only in
            // the index.
            let none = gix::index::State::new(self.repo.inner.object_hash());
            let of = AttributesOf::Worktree;
            self.attributes = self.repo.attribute_lookup(&none, "merge", of).ok();
        }
        let Some(attributes) = self.attributes.as_mut() else {
            return true;
        };
        match attributes.find(path.as_bytes(), gix::index::entry::Mode::FILE) {
            Ok(selection) => {
                selection.is_some_and(|selection| !selection.assignment.state.is_unspecified())
            }
            Err(_) => true,
        }
    }
}

fn by_path(changes: Vec<TreeChange>) -> Rc<Changes> {
    let changes = changes.into_iter();
    Rc::new(changes.map(|change| (change.path.clone(), change)).collect())
}

/// Returns `true` if git would look for renames: some paths were deleted and some added.
fn may_rename(changes: &Changes) -> bool {
    let any = |test: fn(&TreeChange) -> bool| changes.values().any(test);
    any(|change| change.old.is_none()) && any(|change| change.new.is_none())
}

/// Returns `true` if one side has a file where the other added something below it.
fn is_in_the_way(changes: &Changes, other: &Changes) -> bool {
    let mut new = other.values().filter(|change| change.old.is_none());
    new.any(|change| {
        let mut above = change.path.ancestors();
        above.any(|path| changes.get(&path).is_some_and(|change| change.new.is_some()))
    })
}
