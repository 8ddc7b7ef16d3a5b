//! Finds the committed files that new git-lfs patterns would match although they are stored in git.
//!
//! It examines the index and the tips of all branches, local and remote-tracking; not their histories. Each
//! tree is read once, however many branches and paths have it. Attributes files of directories are not read:
//! they have precedence over the lines decided here.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::lfs::exempt_lines;
use crate::git::object::reader::Objects;
use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::Session;

/// A pattern that matches more files is left out.
const MAX_FILES: usize = 100;

/// The longest path that a line of attributes can name.
const MAX_PATH_BYTES: usize = 2048;

/// The files that are exempt from the patterns, and the patterns that cannot be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exempt {
    /// The files that stay in git, sorted.
    pub files: Vec<RepoPath>,
    /// The patterns that are left out.
    pub left_out: Vec<LeftOut>,
}

/// A pattern that is left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The pattern.
    pub pattern: String,
    /// The reason.
    pub why: Why,
}

/// The reason why a pattern is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It matches more committed files than can be named one by one.
    TooManyFiles,
    /// git-lfs stores a file on one branch that is stored in git on another.
    InGitLfsElsewhere,
    /// A file or directory of a branch is not in this repository.
    NotHere,
    /// The name of a file is too long for a line of attributes.
    NameTooLong,
}

impl Why {
    /// Returns the reason as text.
    pub fn to_text(self) -> String {
        match self {
            Why::TooManyFiles => format!("more than {MAX_FILES} committed files match"),
            Why::InGitLfsElsewhere => "git-lfs has such a file on another branch".to_owned(),
            Why::NotHere => "such a file of another branch is not in this repository".to_owned(),
            Why::NameTooLong => "the name of such a file is too long for a line".to_owned(),
        }
    }
}

/// Finds the files with the endings that git-lfs will store, one pattern each. An ending counts in capitals,
/// too, because git matches it where names are case-insensitive.
pub fn find(session: &Session, endings: &[String]) -> Result<Exempt> {
    let mut search = PatternSearch::new(session, endings);
    let roots = search.roots()?;
    for root in &roots {
        search.learn(*root)?;
    }
    for root in &roots {
        search.list(*root)?;
    }
    let index = session.repo.load_index()?;
    for (path, id) in index.plain_files() {
        let patterns = search.patterns_of(path);
        if search.kind_of(id, patterns) == Kind::Whole {
            search.add(&RepoPath::new(path), patterns);
        }
    }
    let index: Vec<_> = index.plain_files().collect();
    search.refuse_pointers(&roots, &index)?;
    Ok(search.done())
}

/// Patterns by number, as bits.
type Patterns = u128;

/// The kind of a blob, for git-lfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file that it would store.
    Whole,
    /// A pointer of its own.
    Pointer,
    /// An empty file: it stays as it is.
    Empty,
    /// Its object is not here.
    Missing,
}

/// The content of a directory.
#[derive(Clone, Copy, Default)]
struct DirectoryContent {
    /// The patterns that match a file stored in git.
    whole: Patterns,
    has_pointers: bool,
}

struct PatternSearch<'a> {
    session: &'a Session,
    endings: &'a [String],
    objects: Objects,
    trees: HashMap<Oid, DirectoryContent>,
    blobs: HashMap<Oid, Kind>,
    /// The directories whose files are listed.
    listed: HashSet<(Oid, RepoPath)>,
    /// The files of each pattern.
    files: Vec<BTreeSet<RepoPath>>,
    left_out: BTreeMap<usize, Why>,
}

impl<'a> PatternSearch<'a> {
    fn new(session: &'a Session, endings: &'a [String]) -> PatternSearch<'a> {
        assert!(endings.len() <= 128, "each pattern has a bit");
        PatternSearch {
            session,
            endings,
            objects: session.repo.objects(),
            trees: HashMap::new(),
            blobs: HashMap::new(),
            listed: HashSet::new(),
            files: vec![BTreeSet::new(); endings.len()],
            left_out: BTreeMap::new(),
        }
    }

    /// Returns the trees of HEAD and of all branches, each once. A branch that leads to no commit is reported
    /// elsewhere.
    fn roots(&mut self) -> Result<Vec<Oid>> {
        let repo = &self.session.repo;
        let mut tips: BTreeSet<Oid> = repo.head()?.commit().into_iter().collect();
        for prefix in ["refs/heads/", "refs/remotes/"] {
            let refs = repo.refs_below(prefix)?.into_iter();
            tips.extend(refs.filter_map(|reference| repo.peel_to_commit(reference.id)));
        }
        let trees: Result<BTreeSet<Oid>> =
            tips.into_iter().map(|tip| repo.tree_of(Some(tip))).collect();
        Ok(trees?.into_iter().collect())
    }

    fn patterns_of(&self, name: &[u8]) -> Patterns {
        let ends = |ending: &String| {
            let from = name.len().checked_sub(ending.len());
            let end = from.and_then(|from| name.get(from..));
            end.is_some_and(|end| end.eq_ignore_ascii_case(ending.as_bytes()))
        };
        let numbered = self.endings.iter().enumerate();
        let matching = numbered.filter(|(_, ending)| ends(ending));
        matching.fold(0, |bits, (number, _)| bits | 1 << number)
    }

    /// Returns the kind of a blob that patterns match; a missing one causes these to be left out.
    fn kind_of(&mut self, blob: Oid, patterns: Patterns) -> Kind {
        if patterns == 0 {
            return Kind::Empty;
        }
        let objects = &self.objects;
        let read_kind = || match objects.size(blob) {
            None => Kind::Missing,
            Some(0) => Kind::Empty,
            Some(_) if objects.lfs_pointer(blob).is_some() => Kind::Pointer,
            Some(_) => Kind::Whole,
        };
        let kind = *self.blobs.entry(blob).or_insert_with(read_kind);
        if kind == Kind::Missing {
            self.leave_out(patterns, Why::NotHere);
        }
        kind
    }

    fn leave_out(&mut self, patterns: Patterns, why: Why) {
        for number in (0..self.endings.len()).filter(|number| patterns & (1 << number) != 0) {
            self.left_out.entry(number).or_insert(why);
            if let Some(files) = self.files.get_mut(number) {
                files.clear();
            }
        }
    }

    /// Returns the patterns that are not left out.
    fn in_use(&self) -> Patterns {
        let all = (0..self.endings.len()).filter(|number| !self.left_out.contains_key(number));
        all.fold(0, |bits, number| bits | 1 << number)
    }

    /// Examines a tree bottom up: the entries of each tree are read once.
    fn learn(&mut self, root: Oid) -> Result<()> {
        let mut open = vec![(root, false)];
        while let Some((tree, are_children_known)) = open.pop() {
            if self.trees.contains_key(&tree) {
                continue;
            }
            self.session.world.interrupt.check()?;
            let Ok(entries) = self.objects.list(tree) else {
                // In a partial clone, objects may be missing anywhere.
                self.leave_out(Patterns::MAX, Why::NotHere);
                self.trees.insert(tree, DirectoryContent::default());
                continue;
            };
            let directories = entries
                .iter()
                .filter(|child| child.entry.is_directory())
                .map(|child| child.entry.id);
            if !are_children_known {
                let mut unknown = directories.filter(|id| !self.trees.contains_key(id)).peekable();
                if unknown.peek().is_some() {
                    open.push((tree, true));
                    open.extend(unknown.map(|id| (id, false)));
                    continue;
                }
            }
            let mut below = DirectoryContent::default();
            for child in &entries {
                if child.entry.is_directory() {
                    let known = self.trees.get(&child.entry.id).copied().unwrap_or_default();
                    below.whole |= known.whole;
                    below.has_pointers |= known.has_pointers;
                } else if child.entry.is_file() {
                    let patterns = self.patterns_of(&child.name);
                    match self.kind_of(child.entry.id, patterns) {
                        Kind::Whole => below.whole |= patterns,
                        Kind::Pointer => below.has_pointers = true,
                        Kind::Empty | Kind::Missing => {}
                    }
                }
            }
            self.trees.insert(tree, below);
        }
        Ok(())
    }

    /// Lists the files of a tree that patterns in use match. Every directory it enters has one, so it ends
    /// soon: a pattern with too many is no longer in use.
    fn list(&mut self, root: Oid) -> Result<()> {
        let mut open = vec![(root, RepoPath::new(Vec::new()))];
        while let Some((tree, directory)) = open.pop() {
            self.session.world.interrupt.check()?;
            let below = self.trees.get(&tree).copied().unwrap_or_default();
            if below.whole & self.in_use() == 0 || !self.listed.insert((tree, directory.clone())) {
                continue;
            }
            if directory.as_bytes().len() > MAX_PATH_BYTES {
                self.leave_out(below.whole, Why::NameTooLong);
                continue;
            }
            for child in self.objects.list(tree)? {
                let path = directory.join(&RepoPath::new(child.name.as_slice()));
                if child.entry.is_directory() {
                    open.push((child.entry.id, path));
                } else if child.entry.is_file() {
                    let patterns = self.patterns_of(&child.name);
                    if self.kind_of(child.entry.id, patterns) == Kind::Whole {
                        self.add(&path, patterns);
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &RepoPath, patterns: Patterns) {
        let patterns = patterns & self.in_use();
        if patterns != 0 && !exempt_lines::has_room(path) {
            self.leave_out(patterns, Why::NameTooLong);
            return;
        }
        let mut too_many = 0;
        for (number, files) in self.files.iter_mut().enumerate() {
            if patterns & (1 << number) != 0 {
                files.insert(path.clone());
                too_many |= Patterns::from(files.len() > MAX_FILES) << number;
            }
        }
        self.leave_out(too_many, Why::TooManyFiles);
    }

    /// Leaves out patterns that match a pointer elsewhere: without the filter it would be checked out as a
    /// pointer.
    fn refuse_pointers(&mut self, roots: &[Oid], index: &[(&[u8], Oid)]) -> Result<()> {
        let all: BTreeSet<RepoPath> = self.files.iter().flatten().cloned().collect();
        for root in roots {
            if !self.trees.get(root).is_some_and(|below| below.has_pointers) {
                continue;
            }
            for path in &all {
                self.session.world.interrupt.check()?;
                let entry = self.objects.at(*root, path)?;
                if let Some(entry) = entry.filter(TreeEntry::is_file) {
                    self.refuse_pointer(path.as_bytes(), entry.id);
                }
            }
        }
        for (path, id) in index {
            if all.contains(&RepoPath::new(*path)) {
                self.refuse_pointer(path, *id);
            }
        }
        Ok(())
    }

    fn refuse_pointer(&mut self, path: &[u8], blob: Oid) {
        let patterns = self.patterns_of(path);
        if self.kind_of(blob, patterns) == Kind::Pointer {
            self.leave_out(patterns, Why::InGitLfsElsewhere);
        }
    }

    fn done(self) -> Exempt {
        let files: BTreeSet<RepoPath> = self.files.into_iter().flatten().collect();
        let left_out = self.left_out.into_iter().filter_map(|(number, why)| {
            let pattern = format!("*{}", self.endings.get(number)?);
            Some(LeftOut { pattern, why })
        });
        Exempt { files: files.into_iter().collect(), left_out: left_out.collect() }
    }
}
