//! The attributes that the `.gitattributes` files of a tree give to its paths: the same on every
//! machine.
//!
//! The working tree, `info/attributes` and the user's configuration are ignored. Each tree on the
//! way to a path is read once, regardless of the number and depth of the paths.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::BStr;

use crate::git::{Objects, Oid};
use crate::model::{Code, RepoPath, Result, ResultExt as _};

const NAME: &str = ".gitattributes";

/// The maximum number of bytes of attributes on the way to a path; a file that exceeds it is
/// skipped.
const MAX_BYTES: u64 = 1 << 20;

/// One attribute, looked up in a tree. Look up the files of a directory one after the other: that
/// is cheapest.
pub struct TreeAttribute<'a> {
    objects: &'a Objects,
    tree: Oid,
    attribute: &'static str,
    /// The directories that were read.
    directories: BTreeMap<RepoPath, Directory>,
    /// The attributes files that apply to the previous path, outermost first.
    files: Vec<Rc<File>>,
    /// The rules of these files.
    search: Search,
    names: MetadataCollection,
    outcome: Outcome,
    /// The numbers of trees read and of files added: a measure of the cost.
    #[cfg(test)]
    read: std::cell::Cell<usize>,
    #[cfg(test)]
    added: usize,
}

/// A directory of the tree.
#[derive(Clone, Default)]
struct Directory {
    /// The subdirectories, by name.
    below: BTreeMap<Vec<u8>, Oid>,
    /// The nearest attributes file: its own, or one of a parent directory.
    nearest: Option<Rc<File>>,
}

/// An attributes file.
struct File {
    /// The directory that contains it.
    directory: RepoPath,
    bytes: Vec<u8>,
    /// The total size of the files from the root down to this one.
    bytes_so_far: u64,
    /// The number of files above it.
    depth: usize,
    /// The next attributes file above.
    above: Option<Rc<File>>,
}

impl<'a> TreeAttribute<'a> {
    /// Looks the attribute up in the tree.
    pub fn new(objects: &'a Objects, tree: Oid, attribute: &'static str) -> TreeAttribute<'a> {
        TreeAttribute {
            objects,
            tree,
            attribute,
            directories: BTreeMap::new(),
            files: Vec::new(),
            search: Search::default(),
            names: MetadataCollection::default(),
            outcome: Outcome::default(),
            #[cfg(test)]
            read: std::cell::Cell::default(),
            #[cfg(test)]
            added: 0,
        }
    }

    /// Returns `true` if a file has the attribute, either set or as `=true`.
    pub fn is_set(&mut self, path: &RepoPath) -> Result<bool> {
        self.is_in_state(path, |state| match state {
            StateRef::Set => true,
            StateRef::Value(value) => value.as_bstr() == "true",
            StateRef::Unset | StateRef::Unspecified => false,
        })
    }

    /// Returns `true` if a file has the attribute with a value.
    pub fn has_value(&mut self, path: &RepoPath, wanted: &str) -> Result<bool> {
        self.is_in_state(
            path,
            |state| matches!(state, StateRef::Value(value) if value.as_bstr() == wanted),
        )
    }

    fn is_in_state(
        &mut self,
        path: &RepoPath,
        is_it: impl Fn(StateRef<'_>) -> bool,
    ) -> Result<bool> {
        let directory = path.parent().unwrap_or_default();
        let nearest = self.directory(&directory)?.nearest.clone();
        self.go_to(nearest)?;
        self.outcome.reset();
        let path = BStr::new(path.as_bytes());
        let case = gix::glob::pattern::Case::Sensitive;
        let outcome = &mut self.outcome;
        self.search.pattern_matching_relative_path(path, case, Some(false), outcome);
        let mut selected = self.outcome.iter_selected();
        Ok(selected.any(|selection| is_it(selection.assignment.state)))
    }

    /// Loads the rules of a file and of those above it; keeps the rules of the previous path that
    /// still apply.
    fn go_to(&mut self, nearest: Option<Rc<File>>) -> Result<()> {
        let mut stays = nearest.as_ref().map_or(0, |file| file.depth + 1);
        let (mut new, mut at) = (Vec::new(), nearest);
        while let Some(file) = at.take() {
            let same = |known: &Rc<File>| Rc::ptr_eq(known, &file);
            if self.files.get(file.depth).is_some_and(same) {
                break;
            }
            stays = file.depth;
            at.clone_from(&file.above);
            new.push(file);
        }
        if new.is_empty() && stays == self.files.len() {
            return Ok(());
        }
        for _ in self.files.drain(stays..) {
            self.search.pop_pattern_list();
        }
        for file in new.into_iter().rev() {
            self.add(&file)?;
            self.files.push(file);
        }
        let names = &self.names;
        self.outcome = Outcome::default();
        self.outcome.initialize_with_selection(names, [self.attribute]);
        Ok(())
    }

    fn add(&mut self, file: &File) -> Result<()> {
        let directory = &file.directory;
        #[cfg(test)]
        {
            self.added += 1;
        }
        let cannot = || format!("cannot read the attributes of '{directory}'");
        let source = Path::new("/").join(directory.as_path()).join(NAME);
        let base = Some(Path::new("/"));
        // As in git, only the root file may define macros.
        let is_root = directory.as_bytes().is_empty();
        let (search, names) = (&mut self.search, &mut self.names);
        let added = search.add_patterns_buffer(&file.bytes, source, base, names, is_root);
        added.or_code(Code::RepositoryBroken, cannot)
    }

    /// Reads a directory and those of its parents that are not known yet, from the top down.
    fn directory(&mut self, path: &RepoPath) -> Result<&Directory> {
        let mut unknown = Vec::new();
        let mut at = Some(path.clone());
        while let Some(path) = at.filter(|path| !self.directories.contains_key(path)) {
            at = Self::above(&path);
            unknown.push(path);
        }
        while let Some(path) = unknown.pop() {
            let above = Self::above(&path).and_then(|above| self.directories.get(&above));
            let (tree, nearest) = match above {
                None => (Some(self.tree), None),
                Some(above) => (above.below.get(path.name()).copied(), above.nearest.clone()),
            };
            let directory = match tree {
                Some(tree) => self.read(&path, tree, nearest)?,
                None => Directory { nearest, ..Directory::default() },
            };
            self.directories.insert(path, directory);
        }
        Ok(self.directories.entry(path.clone()).or_default())
    }

    /// Returns the parent directory; `None` for the root.
    fn above(path: &RepoPath) -> Option<RepoPath> {
        let is_root = path.as_bytes().is_empty();
        (!is_root).then(|| path.parent().unwrap_or_default())
    }

    fn read(&self, path: &RepoPath, tree: Oid, nearest: Option<Rc<File>>) -> Result<Directory> {
        let mut directory = Directory { below: BTreeMap::new(), nearest };
        #[cfg(test)]
        self.read.set(self.read.get() + 1);
        for named in self.objects.list(tree)? {
            let entry = named.entry;
            if entry.is_directory() {
                directory.below.insert(named.name, entry.id);
            } else if named.name == NAME.as_bytes() && entry.is_file() {
                let above = directory.nearest.as_ref();
                let so_far = above.map_or(0, |above| above.bytes_so_far);
                let size = self.objects.size(entry.id).unwrap_or(u64::MAX);
                let bytes_so_far = so_far.saturating_add(size);
                if bytes_so_far <= MAX_BYTES {
                    directory.nearest = Some(Rc::new(File {
                        directory: path.clone(),
                        bytes: self.objects.blob(entry.id)?,
                        bytes_so_far,
                        depth: above.map_or(0, |above| above.depth + 1),
                        above: directory.nearest.take(),
                    }));
                }
            }
        }
        Ok(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::objs::tree::{Entry, EntryKind};

    fn entry(kind: EntryKind, name: &str, oid: gix::ObjectId) -> Entry {
        Entry { mode: kind.into(), filename: name.into(), oid }
    }

    #[test]
    fn each_tree_is_read_once_however_deep_or_often_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let repository = gix::init_bare(folder.path()).unwrap();
        let blob = |text: &str| repository.write_blob(text).unwrap().detach();
        let (given, taken) = (blob("* made\n"), blob("f -made\n"));
        let mut tree = repository.empty_tree().id;
        let depth = 1500;
        for level in (0..depth).rev() {
            let mut entries = Vec::new();
            // Every tenth file excludes what every other tenth includes.
            match level % 20 {
                0 => entries.push(entry(EntryKind::Blob, NAME, given)),
                10 => entries.push(entry(EntryKind::Blob, NAME, taken)),
                _ => {}
            }
            entries.push(entry(EntryKind::Tree, "d", tree));
            entries.push(entry(EntryKind::Blob, "f", given));
            let written = repository.write_object(gix::objs::Tree { entries });
            tree = written.unwrap().detach();
        }
        let objects = Objects::of(repository);
        let mut attribute = TreeAttribute::new(&objects, tree.into(), "made");
        for again in 0..2 {
            for level in (0..depth).rev() {
                let path = RepoPath::new("d/".repeat(level) + "f");
                let is_set = attribute.is_set(&path).unwrap();
                assert_eq!(is_set, level % 20 < 10, "{level} {again}");
            }
        }
        assert_eq!(attribute.read.get(), depth);
        // On the way up each file is dropped once; on the way down each is added once more at most.
        assert!(attribute.added <= 4 * depth / 10, "{}", attribute.added);
        let nowhere = RepoPath::new("d/x/y/z/f");
        assert!(attribute.is_set(&nowhere).unwrap());
    }
}
