//! The one lister of files: the directories of a commit, with the files that a selection includes.
//!
//! It does not read the disk. `.colonyignore` files of the tree apply by git's rules for ignore
//! files, from the root down, and so do `.gitignore` files if the selection says so.

use std::collections::{HashMap, HashSet};

use crate::git::attributes::ignore_lists::IgnoreLists;
use crate::git::object::reader::NamedEntry;
use crate::git::{Objects, Oid, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, World};

use super::selection::Selection;

/// Changes whenever the same tree might be listed differently.
pub const VERSION: u32 = 2;

/// The maximum size of an ignore file.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;

/// The maximum depth of directories: git itself cannot check out deeper ones.
const MAX_DEPTH: usize = 2000;

/// After this many repeated directories, the remaining entries are counted in advance: a tree of a
/// few objects can expand to more files than there are atoms.
const MANY_AGAIN: usize = 500;

/// A tree, and the limit for listing it.
#[derive(Clone, Copy)]
pub struct Listed<'a> {
    /// Its objects.
    pub objects: &'a Objects,
    /// The tree.
    pub tree: Oid,
    /// The maximum number of files and directories.
    pub most_entries: usize,
}

/// A directory whose files have not been read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundDirectory {
    /// Its path from the root of the repository.
    pub path: RepoPath,
    /// Its tree.
    pub tree: Oid,
    /// A digest of the ignore files above it: together with the tree, it determines everything
    /// below.
    pub rules: [u8; 16],
}

/// A directory with its included files.
#[derive(Clone, Debug)]
pub struct Directory {
    /// The directory.
    pub folder: FoundDirectory,
    /// Its own files, in git's order.
    pub files: Vec<ListedFile>,
    /// Its subdirectories, whether or not they are included.
    pub children: Vec<RepoPath>,
}

/// A file of a commit.
#[derive(Clone, Debug)]
pub struct ListedFile {
    /// Its path from the root of the repository.
    pub path: RepoPath,
    /// Its blob, and whether it is executable.
    pub entry: TreeEntry,
}

/// The caller's choice for a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryChoice {
    /// List its files, and ask about its subdirectories.
    Files,
    /// Skip it and everything below: it is known already.
    Nothing,
}

/// The receiver of a listing.
pub trait Visitor {
    /// Chooses for each directory, from the top down.
    fn enter(&mut self, folder: &FoundDirectory) -> Result<DirectoryChoice>;

    /// Receives each directory whose files were wanted.
    fn directory(&mut self, directory: Directory) -> Result<()>;
}

/// Lists the files of a tree that a selection includes. A missing `start_dir` has no files.
///
/// Symlinks and submodules are never followed and never listed.
pub fn list(
    world: &World,
    listed: Listed<'_>,
    selection: &Selection,
    visitor: &mut dyn Visitor,
) -> Result<()> {
    let mut lister =
        Lister { world, objects: listed.objects, selection, visitor, tally: Tally::new(listed) };
    let Some((folder, rules)) = lister.start(listed.tree)? else {
        return Ok(());
    };
    lister.tally.tree = folder.tree;
    lister.walk(folder, &rules, 0)
}

struct Lister<'a> {
    world: &'a World,
    objects: &'a Objects,
    selection: &'a Selection,
    visitor: &'a mut dyn Visitor,
    tally: Tally<'a>,
}

/// Ignore files and their digest.
#[derive(Clone, Default)]
struct Rules {
    lists: IgnoreLists,
    digest: [u8; 16],
}

impl Lister<'_> {
    /// Finds the directory to start in, and reads the ignore files above it.
    fn start(&self, tree: Oid) -> Result<Option<(FoundDirectory, Rules)>> {
        let mut rules = Rules::default();
        let mut at = tree;
        let mut path = RepoPath::new("");
        for part in self.selection.start_dir.parts() {
            self.read_rules(&mut rules, &path, &self.objects.list(at)?)?;
            let below = path.join(&RepoPath::new(part));
            let entry = self.objects.at(at, &RepoPath::new(part))?;
            let directory =
                entry.filter(|entry| entry.is_directory() && !rules.lists.ignores(&below, true));
            let Some(directory) = directory else {
                return Ok(None);
            };
            at = directory.id;
            path = below;
        }
        let folder = FoundDirectory { path, tree: at, rules: rules.digest };
        Ok(Some((folder, rules)))
    }

    fn walk(&mut self, folder: FoundDirectory, above: &Rules, depth: usize) -> Result<()> {
        self.world.interrupt.check()?;
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        if self.visitor.enter(&folder)? == DirectoryChoice::Nothing {
            return Ok(());
        }
        self.tally.enter(folder.tree)?;
        let entries = self.objects.list(folder.tree)?;
        self.tally.add(entries.len())?;
        let mut rules = above.clone();
        self.read_rules(&mut rules, &folder.path, &entries)?;
        let mut files = Vec::new();
        let mut below = Vec::new();
        for NamedEntry { name, entry } in entries {
            let path = folder.path.join(&RepoPath::new(name));
            if rules.lists.ignores(&path, entry.is_directory()) {
                continue;
            }
            if entry.is_directory() {
                below.push(FoundDirectory { path, tree: entry.id, rules: rules.digest });
            } else if entry.is_file() && self.takes(&path) {
                files.push(ListedFile { path, entry });
            }
        }
        let children = below.iter().map(|folder| folder.path.clone()).collect();
        self.visitor.directory(Directory { folder, files, children })?;
        for folder in below {
            self.walk(folder, &rules, depth + 1)?;
        }
        Ok(())
    }

    fn takes(&self, path: &RepoPath) -> bool {
        let below = path.below(&self.selection.start_dir);
        below.is_some_and(|below| self.selection.takes(&RepoPath::new(below)))
    }

    /// Adds the ignore files of a directory.
    fn read_rules(&self, rules: &mut Rules, path: &RepoPath, entries: &[NamedEntry]) -> Result<()> {
        // In this order: `.colonyignore` has precedence.
        let names: &[&[u8]] = if self.selection.gitignore {
            &[b".gitignore", b".colonyignore"]
        } else {
            &[b".colonyignore"]
        };
        for &name in names {
            let named = entries.iter().find(|entry| entry.name == name);
            let Some(file) = named.filter(|named| named.entry.is_file()) else {
                continue;
            };
            if self.objects.size(file.entry.id) > Some(MAX_IGNORE_BYTES) {
                continue;
            }
            rules.lists.push(path, &self.objects.blob(file.entry.id)?);
            let mut hasher = blake3::Hasher::new();
            hasher.update(&rules.digest);
            hasher.update(path.as_bytes());
            hasher.update(b"\0");
            hasher.update(name);
            hasher.update(file.entry.id.to_string().as_bytes());
            hasher.finalize_xof().fill(&mut rules.digest);
        }
        Ok(())
    }
}

/// The number of listed entries.
struct Tally<'a> {
    objects: &'a Objects,
    /// The tree where the listing began.
    tree: Oid,
    most: usize,
    entries: usize,
    seen: HashSet<Oid>,
    /// The number of directories whose tree was seen before.
    again: usize,
}

impl<'a> Tally<'a> {
    fn new(listed: Listed<'a>) -> Tally<'a> {
        Tally {
            objects: listed.objects,
            tree: listed.tree,
            most: listed.most_entries,
            entries: 0,
            seen: HashSet::new(),
            again: 0,
        }
    }

    /// Counts the entries of a directory.
    fn add(&mut self, entries: usize) -> Result<()> {
        self.entries += entries;
        self.hold(self.entries as u64)
    }

    /// Records a tree. The count in advance covers everything below the start: each tree as often
    /// as it occurs, read once, and without regard to ignore files.
    fn enter(&mut self, tree: Oid) -> Result<()> {
        if self.seen.insert(tree) {
            return Ok(());
        }
        self.again += 1;
        if self.again != MANY_AGAIN {
            return Ok(());
        }
        let all = self.weigh(self.tree, &mut HashMap::new(), 0)?;
        self.hold(all)
    }

    fn weigh(&self, tree: Oid, known: &mut HashMap<Oid, u64>, depth: usize) -> Result<u64> {
        if let Some(&weight) = known.get(&tree) {
            return Ok(weight);
        }
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        let mut weight = 0_u64;
        // Missing objects are reported where they are needed.
        for NamedEntry { entry, .. } in self.objects.list(tree).unwrap_or_default() {
            let below =
                if entry.is_directory() { self.weigh(entry.id, known, depth + 1)? } else { 0 };
            weight = weight.saturating_add(below).saturating_add(1);
        }
        known.insert(tree, weight);
        Ok(weight)
    }

    fn hold(&self, entries: u64) -> Result<()> {
        if entries <= self.most as u64 {
            return Ok(());
        }
        let message = format!(
            "more than {} files and directories, the limit of 'colony.map.maxEntries' for a source",
            self.most
        );
        let more = self.most.saturating_mul(4).min(1_000_000_000);
        let hint = format!("git config colony.map.maxEntries {more}");
        Err(Error::new(Code::TreeTooLarge, message).hint(hint))
    }
}

fn too_deep() -> Error {
    let message = format!("more than {MAX_DEPTH} directories inside each other");
    Error::new(Code::InvalidValue, message).unchanged()
}
