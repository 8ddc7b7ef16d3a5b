//! Settling conflicts path by path, on trees: ours, theirs, or both.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::drivers::Driver;
use crate::git::attributes::AttributesOf;
use crate::git::merge::merge_tree::{Merged, Stages};
use crate::git::{Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;

use super::conflicts::{self, Conflict, ConflictKind};

/// How a path in conflict is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// As it is in the branch merged into.
    Ours,
    /// As it is in what is merged.
    Theirs,
    /// The lines of both, or both files under two names.
    Both,
}

/// How what conflicts at or below a path is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The path, from where it was typed.
    pub path: RepoPath,
    /// The same from the top, as answers name paths, where it may be meant like that.
    pub from_top: Option<RepoPath>,
    /// How.
    pub how: Settle,
}

/// A merge whose conflicts are being settled.
pub(in crate::design) struct Settling<'a> {
    pub(in crate::design) session: &'a Session,
    /// The trees of the two sides.
    pub(in crate::design) ours: Oid,
    pub(in crate::design) theirs: Oid,
    /// What to call their version where both stay.
    pub(in crate::design) name: &'a str,
}

/// A merge after some of its conflicts were settled.
pub(in crate::design) struct Settled {
    pub(in crate::design) tree: Oid,
    /// The conflicts that are left, with their stages.
    pub(in crate::design) open: Vec<Conflict>,
    pub(in crate::design) stages: BTreeMap<RepoPath, Stages>,
    /// What was settled.
    pub(in crate::design) paths: Vec<RepoPath>,
}

impl Settling<'_> {
    /// Settles what is asked for.
    ///
    /// # Errors
    /// `path-not-found` for a choice that meets no conflict; `invalid-value` where both cannot stay and
    /// for a path that may mean two.
    pub(in crate::design) fn settle(&self, merged: &Merged, choices: &[Choice]) -> Result<Settled> {
        let repo = &self.session.repo;
        let mut edits: BTreeMap<RepoPath, Option<TreeEntry>> = BTreeMap::new();
        let mut left = Settled {
            tree: merged.tree,
            open: Vec::new(),
            stages: merged.stages.clone(),
            paths: Vec::new(),
        };
        let conflicts = conflicts::list(repo, &merged.stages, &merged.notes);
        let choices = meant(&conflicts, choices)?;
        for conflict in conflicts {
            // The last choice counts: a directory first, then what differs in it.
            let met = choices.iter().rfind(|(path, _)| meets(&conflict, path));
            let Some((_, how)) = met else {
                left.open.push(conflict);
                continue;
            };
            match how {
                Settle::Ours => self.take(merged, self.ours, &conflict, &mut edits)?,
                Settle::Theirs => self.take(merged, self.theirs, &conflict, &mut edits)?,
                Settle::Both => self.keep_both(merged, &conflict, &mut edits)?,
            }
            for path in &conflict.paths {
                left.stages.remove(path);
            }
            left.paths.push(conflict.path);
        }
        let changed = edits.iter().map(|(path, entry)| (path, *entry));
        left.tree = repo.edit_tree(merged.tree, changed)?;
        Ok(left)
    }

    /// Puts our version of every pointer of git-lfs that is still in conflict into the tree: with
    /// markers in it, it would stand for no file at all.
    pub(in crate::design) fn choose_pointers(&self, mut left: Settled) -> Result<Settled> {
        let pointers = left.open.iter();
        let pointers = pointers.filter(|conflict| conflict.kind == ConflictKind::LfsPointer);
        let ours = pointers.filter_map(|conflict| {
            let stages = left.stages.get(&conflict.path)?;
            Some((&conflict.path, stages[1]))
        });
        left.tree = self.session.repo.edit_tree(left.tree, ours)?;
        Ok(left)
    }

    /// Makes every path of a conflict what it is on one side.
    fn take(
        &self,
        merged: &Merged,
        side: Oid,
        conflict: &Conflict,
        edits: &mut BTreeMap<RepoPath, Option<TreeEntry>>,
    ) -> Result<()> {
        let repo = &self.session.repo;
        for path in &conflict.paths {
            let entry = repo.leaf_in(side, path)?;
            if entry.is_some() {
                // A file takes the place of all that the merge put below its name.
                for below in self.below(merged.tree, path)? {
                    edits.insert(below, None);
                }
            }
            if entry.is_some() || repo.leaf_in(merged.tree, path)?.is_some() {
                edits.insert(path.clone(), entry);
            }
        }
        Ok(())
    }

    fn below(&self, tree: Oid, path: &RepoPath) -> Result<Vec<RepoPath>> {
        let repo = &self.session.repo;
        let directory = repo.entry_in(tree, path.as_path())?;
        let Some(directory) =
            directory.filter(|_| repo.leaf_in(tree, path).is_ok_and(|leaf| leaf.is_none()))
        else {
            return Ok(Vec::new());
        };
        let listed = repo.list_tree(directory)?.into_iter();
        Ok(listed.map(|change| path.join(&change.path)).collect())
    }

    /// Keeps what both sides have: the lines of both, or two files.
    fn keep_both(
        &self,
        merged: &Merged,
        conflict: &Conflict,
        edits: &mut BTreeMap<RepoPath, Option<TreeEntry>>,
    ) -> Result<()> {
        let (repo, path) = (&self.session.repo, &conflict.path);
        let stages = merged.stages.get(path).copied().unwrap_or_default();
        let [base, ours, theirs] = stages;
        match conflict.kind {
            // One of them is there, or both are under their own names already.
            ConflictKind::ModifyDelete
            | ConflictKind::RenameDelete
            | ConflictKind::DirectoryFile
            | ConflictKind::DirectoryRename => return Ok(()),
            ConflictKind::Submodule | ConflictKind::RenameRename => {
                return Err(not_both(path, conflict.kind.as_str()));
            }
            ConflictKind::Content
            | ConflictKind::AddAdd
            | ConflictKind::Mode
            | ConflictKind::Binary
            | ConflictKind::Symlink
            | ConflictKind::LfsPointer => {}
        }
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return Ok(());
        };
        if self.is_record(path)? {
            // The lines of both would say the same key twice.
            return Err(not_both(path, "a record"));
        }
        let is_text = matches!(conflict.kind, ConflictKind::Content | ConflictKind::AddAdd)
            && !ours.is_link()
            && !theirs.is_link();
        let united = if is_text {
            let (world, base) = (&self.session.world, base.map(|entry| entry.id));
            repo.merge_union(world, base, ours.id, theirs.id).ok()
        } else {
            None
        };
        if let Some(bytes) = united {
            let blob = repo.write_blob(&bytes)?;
            edits.insert(path.clone(), Some(ours.with(blob)));
        } else {
            let beside = self.free_name(merged.tree, path)?;
            self.refuse_lost_filter(merged.tree, path, &beside)?;
            edits.insert(path.clone(), Some(ours));
            edits.insert(beside, Some(theirs));
        }
        Ok(())
    }

    /// Tells whether one of our drivers merges the file, entry by entry.
    fn is_record(&self, path: &RepoPath) -> Result<bool> {
        let repo = &self.session.repo;
        let index = repo.load_index()?;
        let driver = repo.attribute(&index, "merge", AttributesOf::Worktree, path)?;
        Ok(driver.is_some_and(|name| Driver::named(&name).is_some()))
    }

    /// Refuses to put a file that a filter owns, a pointer of git-lfs, where none does.
    fn refuse_lost_filter(&self, tree: Oid, path: &RepoPath, beside: &RepoPath) -> Result<()> {
        let repo = &self.session.repo;
        let index = repo.index_of_tree(tree, &repo.load_index()?)?;
        let filter = |path| repo.attribute(&index, "filter", AttributesOf::Index, path);
        if filter(path)? == filter(beside)? {
            return Ok(());
        }
        Err(Error::new(
            Code::InvalidValue,
            format!("'{path}' and '{beside}' would be stored in different ways; nothing was done"),
        )
        .detail("path", path)
        .hint("choose one with --ours or --theirs"))
    }

    /// Finds a name beside `path` for their version; its ending stays, since attributes go by that.
    fn free_name(&self, tree: Oid, path: &RepoPath) -> Result<RepoPath> {
        let plain = self.name.replace('/', "_");
        for number in 0..1_000 {
            let mut suffix = format!("~{plain}");
            if number > 0 {
                suffix = format!("{suffix}_{number}");
            }
            let (stem, ending) = path.as_bytes().split_at(ending_of(path.as_bytes()));
            let name = RepoPath::new([stem, suffix.as_bytes(), ending].concat());
            if self.session.repo.entry_in(tree, name.as_path())?.is_none() {
                return Ok(name);
            }
        }
        Err(Error::new(
            Code::InvalidValue,
            format!("no name is free beside '{path}'; nothing was done"),
        ))
    }
}

fn not_both(path: &RepoPath, what: &str) -> Error {
    Error::new(
        Code::InvalidValue,
        format!("'{path}' ({what}) cannot be as on both sides; nothing was done"),
    )
    .detail("path", path)
    .hint("choose one with --ours or --theirs")
}

/// Returns where the ending of a file name begins, `.tar.gz` as a whole; its length where it has none.
fn ending_of(path: &[u8]) -> usize {
    let name = path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    // A name that begins with a dot does not begin with its ending.
    let dot = path.iter().skip(name + 1).position(|&b| b == b'.');
    dot.map_or(path.len(), |at| name + 1 + at)
}

fn meets(conflict: &Conflict, path: &RepoPath) -> bool {
    let root = path.as_bytes().is_empty();
    root || conflict.paths.iter().any(|p| p.is_at_or_below(path))
}

/// Finds out which path each choice means: the one from where it was typed, or the one from the top.
/// The most exact one comes last, whatever the order.
fn meant(conflicts: &[Conflict], choices: &[Choice]) -> Result<Vec<(RepoPath, Settle)>> {
    let met = |path: &RepoPath| -> BTreeSet<&RepoPath> {
        let met = conflicts.iter().filter(|conflict| meets(conflict, path));
        met.map(|conflict| &conflict.path).collect()
    };
    let mut paths = Vec::new();
    for choice in choices {
        let here = met(&choice.path);
        let from_top = choice.from_top.as_ref().map(|path| (path, met(path)));
        let path = match from_top.filter(|(_, met)| !met.is_empty()) {
            Some((path, _)) if here.is_empty() => path,
            Some((path, met)) if met != here => return Err(ambiguous(choice, path)),
            _ if here.is_empty() => return Err(unmet(conflicts, choice)),
            _ => &choice.path,
        };
        paths.push((path.clone(), choice.how));
    }
    paths.sort_by_key(|(path, _)| path.as_bytes().len());
    Ok(paths)
}

fn ambiguous(choice: &Choice, from_top: &RepoPath) -> Error {
    let here = &choice.path;
    Error::new(
        Code::InvalidValue,
        format!("'{from_top}' and '{here}' both conflict; nothing was done"),
    )
    .detail("paths", [from_top, here])
    .hint("./PATH counts from the current directory, :/PATH from the top")
}

fn unmet(conflicts: &[Conflict], choice: &Choice) -> Error {
    let path = &choice.path;
    let paths: BTreeSet<_> = conflicts.iter().map(|conflict| &conflict.path).collect();
    Error::new(
        Code::PathNotFound,
        format!("'{path}' is not in conflict; nothing was done"),
    )
    .detail("path", path)
    .detail("conflicts", paths)
    .hint("./PATH counts from the current directory, :/PATH from the top; '.' is all below it")
}
