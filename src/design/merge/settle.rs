//! Settles conflicts path by path, on trees: ours, theirs, or both.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::drivers::Driver;
use crate::git::attributes::AttributesOf;
use crate::git::merge::merge_tree::{Merged, Stages};
use crate::git::{Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, text};
use crate::store::Session;
use crate::store::data_tree::format::Format;

use super::conflicts::{self, Conflict, ConflictKind};

/// How a conflict at a path is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// With the version of the target branch.
    Ours,
    /// With the version of the source.
    Theirs,
    /// With the lines of both, or with both files under two names.
    Both,
}

/// How the conflicts at or below a path are settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The path, relative to the current directory.
    pub path: RepoPath,
    /// The same path relative to the root, as answers print paths, if it may mean that.
    pub from_top: Option<RepoPath>,
    /// How they are settled.
    pub how: Settle,
}

/// A merge whose conflicts are being settled.
pub(in crate::design) struct Settling<'a> {
    pub(in crate::design) session: &'a Session,
    /// The trees of the two sides.
    pub(in crate::design) ours: Oid,
    pub(in crate::design) theirs: Oid,
    /// The name for their version when both stay.
    pub(in crate::design) name: &'a str,
}

/// A merge after some of its conflicts were settled.
pub(in crate::design) struct Settled {
    pub(in crate::design) tree: Oid,
    /// The remaining conflicts, with their stages.
    pub(in crate::design) open: Vec<Conflict>,
    pub(in crate::design) stages: BTreeMap<RepoPath, Stages>,
    /// The paths that were settled.
    pub(in crate::design) paths: Vec<RepoPath>,
}

impl Settling<'_> {
    /// Settles conflicts as chosen.
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
            // The last match counts: a directory comes before the files in it.
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

    /// Puts our version of every git-lfs pointer that is still in conflict into the tree: a pointer
    /// with conflict markers in it would be useless.
    pub(in crate::design) fn choose_pointers(&self, mut left: Settled) -> Result<Settled> {
        let pointers =
            left.open.iter().filter(|conflict| conflict.kind == ConflictKind::LfsPointer);
        let ours = pointers.filter_map(|conflict| {
            let stages = left.stages.get(&conflict.path)?;
            Some((&conflict.path, stages[1]))
        });
        left.tree = self.session.repo.edit_tree(left.tree, ours)?;
        Ok(left)
    }

    /// Gives every path of a conflict its state on one side.
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
                // A file replaces everything that the merge put below its name.
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

    /// Keeps both versions: the lines of both, or two files.
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
            // Only one exists, or both are under their own names already.
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
            // The lines of both would contain the same key twice.
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
            self.refuse_invalid(path, &bytes, [ours, theirs])?;
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

    /// Refuses the lines of both where they make invalid data of valid versions.
    fn refuse_invalid(&self, path: &RepoPath, both: &[u8], sides: [TreeEntry; 2]) -> Result<()> {
        let Some(format) = Format::of(&path.to_string()) else {
            return Ok(());
        };
        let fault_in = |bytes: &[u8]| format.fault_in(std::str::from_utf8(bytes).ok()?);
        let Some(fault) = fault_in(both) else {
            return Ok(());
        };
        for side in sides {
            if fault_in(&self.session.repo.read_blob(side.id)?).is_some() {
                return Ok(());
            }
        }
        let line = fault.position.map(|at| format!(", line {}", at.line)).unwrap_or_default();
        let name = format.name();
        Err(Error::new(
            Code::InvalidValue,
            format!("the lines of both make '{path}' invalid {name}{line}"),
        )
        .unchanged()
        .detail("path", path)
        .hint(ONE_SIDE))
    }

    /// Returns `true` if one of our drivers merges the file, entry by entry.
    fn is_record(&self, path: &RepoPath) -> Result<bool> {
        let repo = &self.session.repo;
        let index = repo.load_index()?;
        let driver = repo.attribute(&index, "merge", AttributesOf::Worktree, path)?;
        Ok(driver.is_some_and(|name| Driver::named(&name).is_some()))
    }

    /// Refuses to put a file that a filter handles, a git-lfs pointer, under a name that it does
    /// not handle.
    fn refuse_lost_filter(&self, tree: Oid, path: &RepoPath, beside: &RepoPath) -> Result<()> {
        let repo = &self.session.repo;
        let index = repo.index_of_tree(tree, &repo.load_index()?)?;
        let filter = |path| repo.attribute(&index, "filter", AttributesOf::Index, path);
        if filter(path)? == filter(beside)? {
            return Ok(());
        }
        Err(Error::new(
            Code::InvalidValue,
            format!("cannot keep both: filters differ for '{path}' and '{beside}'"),
        )
        .unchanged()
        .detail("path", path)
        .hint(ONE_SIDE))
    }

    /// Finds a free name beside `path` for their version; it keeps the extension, which attributes
    /// match.
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
        Err(Error::new(Code::InvalidValue, format!("there is no free name beside '{path}'"))
            .unchanged())
    }
}

/// The hint where both versions cannot stay.
const ONE_SIDE: &str = "choose one with --ours or --theirs";

fn not_both(path: &RepoPath, what: &str) -> Error {
    Error::new(Code::InvalidValue, format!("cannot keep both versions of '{path}' ({what})"))
        .unchanged()
        .detail("path", path)
        .hint(ONE_SIDE)
}

/// Returns where the extension of a file name begins, `.tar.gz` as a whole; the length if there is
/// none.
fn ending_of(path: &[u8]) -> usize {
    let name = path.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
    // A leading dot does not begin an extension.
    let dot = path.iter().skip(name + 1).position(|&b| b == b'.');
    dot.map_or(path.len(), |at| name + 1 + at)
}

fn meets(conflict: &Conflict, path: &RepoPath) -> bool {
    let root = path.as_bytes().is_empty();
    root || conflict.paths.iter().any(|p| p.is_at_or_below(path))
}

/// Refuses choices where nothing is merged: a branch that is fast-forwarded, or has everything already.
pub(super) fn refuse_choices(choices: &[Choice]) -> Result<()> {
    let first = choices.first().map(|choice| unmet(&[], choice));
    first.map_or(Ok(()), Err)
}

/// Resolves each choice to a path: relative to the current directory, or to the root. Sorts the
/// most specific one last.
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
        format!("both match: '{from_top}' from the root, '{here}' from here"),
    )
    .unchanged()
    .detail("paths", [from_top, here])
    .hint("./PATH is relative to the current directory, :/PATH to the root")
}

fn unmet(conflicts: &[Conflict], choice: &Choice) -> Error {
    let path = &choice.path;
    let shown = if path.as_bytes().is_empty() { ".".to_owned() } else { path.to_string() };
    let paths: BTreeSet<_> = conflicts.iter().map(|conflict| &conflict.path).collect();
    let count = text::count(paths.len(), "path");
    let are = if paths.len() == 1 { "is" } else { "are" };
    let conflicts_met = paths.first().map_or_else(
        || "this merge has no conflict".to_owned(),
        |first| format!("{count} {are}, the first '{first}'"),
    );
    let message = format!("'{shown}' is not in conflict; {conflicts_met}");
    let has_none = paths.is_empty();
    let error =
        Error::new(Code::PathNotFound, message).detail("path", path).detail("conflicts", paths);
    if has_none {
        return error.hint("git colony merge SOURCE   # without --ours, --theirs and --both");
    }
    error.hint("./PATH is from here, :/PATH from the root; '.' is everything below")
}
