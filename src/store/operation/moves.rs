//! Plans the file moves in the working tree: which files are moved aside, and which replace them.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Code, Error, RepoPath, Result};
use crate::store::files::worktree_files::{PathState, WorktreeFiles};

use super::late_files::LateFile;
use super::operation_record::{Directory, FileMoves, FilePlacement, Record, Source};

/// The wanted state of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathTarget {
    /// Nothing.
    Nothing,
    /// A file or symlink from `Source`.
    File(Source),
    /// A directory, for a submodule.
    Directory,
}

/// The directories that may be removed once they are empty.
pub enum Emptied<'a> {
    /// Every directory that a move empties, as git does.
    All,
    /// Only these.
    Only(&'a BTreeSet<RepoPath>),
}

/// Plans the moves after which the working tree holds `wants`; other paths stay as they are.
///
/// `cwd` is the caller's directory in the working tree; it and its parents are not removed.
pub fn plan(
    files: &WorktreeFiles,
    wants: &BTreeMap<RepoPath, PathTarget>,
    emptied: &Emptied<'_>,
    cwd: Option<&RepoPath>,
) -> Result<FileMoves> {
    let mut planner = Planner { files, aside: BTreeSet::new(), moves: FileMoves::default() };
    for (path, want) in wants {
        planner.make_room(path, want)?;
    }
    let needed = needed_directories(wants);
    planner.find_new_directories(&needed)?;
    for (path, want) in wants {
        match want {
            PathTarget::Nothing => {}
            PathTarget::Directory => {
                let directory = Directory { path: path.clone(), mode: None };
                planner.moves.make_directories.push(directory);
            }
            PathTarget::File(source) => {
                let place = FilePlacement { path: path.clone(), source: source.clone() };
                planner.moves.place.push(place);
            }
        }
    }
    planner.find_emptied(emptied, &needed, cwd)?;
    planner.moves.aside = planner.aside.into_iter().collect();
    Ok(planner.moves)
}

/// Plans the moves that undo an operation, and moves for `further` paths that it did not touch. Late files
/// are restored as well, in place of the files that the operation had moved aside there before.
pub fn plan_inverse(
    files: &WorktreeFiles,
    record: &Record,
    late: &[LateFile],
    further: BTreeMap<RepoPath, PathTarget>,
    cwd: Option<&RepoPath>,
) -> Result<FileMoves> {
    let mut wants = further;
    for place in &record.files.place {
        wants.insert(place.path.clone(), PathTarget::Nothing);
    }
    for (number, path) in record.files.aside.iter().enumerate() {
        let source = Source::Kept { operation: record.op, number };
        wants.insert(path.clone(), PathTarget::File(source));
    }
    for late in late {
        if fits_beside(&wants, &late.path) {
            let source = Source::Late { operation: record.op, name: late.name.clone() };
            wants.insert(late.path.clone(), PathTarget::File(source));
        }
    }
    let made = record.files.make_directories.iter().map(|directory| &directory.path);
    let made: BTreeSet<_> = record.files.new_directories.iter().chain(made).cloned().collect();
    let mut moves = plan(files, &wants, &Emptied::Only(&made), cwd)?;
    for directory in record.files.remove_directories.iter().rev() {
        let stands = files.state(&directory.path).map_err(|e| cannot_read(&directory.path, e))?;
        let returns_as_file = record.files.aside.contains(&directory.path);
        if !matches!(stands, PathState::Directory(_)) && !returns_as_file {
            moves.make_directories.push(directory.clone());
        }
    }
    Ok(moves)
}

/// Returns `true` if a file can be at a path: no other wanted file is above or below it.
fn fits_beside(wants: &BTreeMap<RepoPath, PathTarget>, path: &RepoPath) -> bool {
    let clashes = |(other, want): (&RepoPath, &PathTarget)| {
        let apart = !other.is_at_or_below(path) && !path.is_at_or_below(other);
        *want != PathTarget::Nothing && other != path && !apart
    };
    !wants.iter().any(clashes)
}

struct Planner<'a> {
    files: &'a WorktreeFiles,
    aside: BTreeSet<RepoPath>,
    moves: FileMoves,
}

impl Planner<'_> {
    fn make_room(&mut self, path: &RepoPath, want: &PathTarget) -> Result<()> {
        let needs_parents = !matches!(want, PathTarget::Nothing);
        for parent in path.ancestors() {
            match self.state(&parent)? {
                PathState::Directory(_) => {}
                PathState::Nothing => return Ok(()),
                PathState::Other => {
                    if needs_parents {
                        self.aside.insert(parent);
                    }
                    return Ok(());
                }
            }
        }
        match (self.state(path)?, want) {
            (PathState::Nothing, _)
            | (PathState::Directory(_), PathTarget::Nothing | PathTarget::Directory) => {}
            (PathState::Other, _) => drop(self.aside.insert(path.clone())),
            (PathState::Directory(mode), PathTarget::File(_)) => {
                self.empty_directory(path, mode)?;
            }
        }
        Ok(())
    }

    fn empty_directory(&mut self, path: &RepoPath, mode: u32) -> Result<()> {
        let walk = self.files.walk(path).map_err(|e| cannot_read(path, e))?;
        if let Some(repository) = walk.repositories.first() {
            return Err(Error::new(
                Code::NestedRepository,
                format!("the repository at '{repository}' is in the way of '{path}'"),
            )
            .detail("path", path)
            .hint("move that repository elsewhere, then run the command again"));
        }
        self.aside.extend(walk.files);
        let below = walk.directories.into_iter().map(|(path, mode)| (path, Some(mode)));
        let all =
            below.chain([(path.clone(), Some(mode))]).map(|(path, mode)| Directory { path, mode });
        self.moves.remove_directories.extend(all);
        Ok(())
    }

    fn find_new_directories(&mut self, needed: &BTreeSet<RepoPath>) -> Result<()> {
        for directory in needed {
            if !matches!(self.state(directory)?, PathState::Directory(_)) {
                self.moves.new_directories.push(directory.clone());
            }
        }
        Ok(())
    }

    fn find_emptied(
        &mut self,
        emptied: &Emptied<'_>,
        needed: &BTreeSet<RepoPath>,
        cwd: Option<&RepoPath>,
    ) -> Result<()> {
        let mut candidates: BTreeSet<RepoPath> =
            self.aside.iter().flat_map(RepoPath::ancestors).collect();
        if let Emptied::Only(allowed) = emptied {
            candidates.clone_from(allowed);
        }
        let forced: BTreeSet<_> =
            self.moves.remove_directories.iter().map(|directory| directory.path.clone()).collect();
        let mut directories = Vec::new();
        // Deepest first: a longer path sorts after the directory it is in.
        for path in candidates.into_iter().rev() {
            let is_cwd = cwd.is_some_and(|cwd| cwd.is_at_or_below(&path));
            if is_cwd || needed.contains(&path) || forced.contains(&path) {
                continue;
            }
            if let PathState::Directory(mode) = self.state(&path)? {
                directories.push(Directory { path, mode: Some(mode) });
            }
        }
        self.moves.remove_directories.extend(directories);
        let deepest_first = |directory: &Directory| std::cmp::Reverse(directory.path.clone());
        self.moves.remove_directories.sort_by_key(deepest_first);
        Ok(())
    }

    fn state(&self, path: &RepoPath) -> Result<PathState> {
        self.files.state(path).map_err(|e| cannot_read(path, e))
    }
}

fn needed_directories(wants: &BTreeMap<RepoPath, PathTarget>) -> BTreeSet<RepoPath> {
    let mut needed = BTreeSet::new();
    for (path, want) in wants {
        if !matches!(want, PathTarget::Nothing) {
            needed.extend(path.ancestors());
        }
        if matches!(want, PathTarget::Directory) {
            needed.insert(path.clone());
        }
    }
    needed
}

fn cannot_read(path: &RepoPath, error: std::io::Error) -> Error {
    Error::io(format!("cannot read the state of '{path}'"), error).unchanged()
}
