//! Finds out whether any history has a file that git-lfs should store and that is stored in git: only then is
//! history rewritten.

use std::collections::{HashMap, HashSet};

use crate::git::attributes::attribute_patterns::AttributePatterns;
use crate::git::object::reader::Objects;
use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::patterns::Patterns;

/// A file that is stored in git, not in git-lfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unconverted {
    /// A commit that has it.
    pub commit: Oid,
    /// Its path.
    pub path: RepoPath,
}

/// Finds such a file in the histories of `tips`; `None` if git-lfs stores everything that the patterns match.
/// Each directory is read once, however many commits have it.
pub fn find(session: &Session, tips: &[Oid], patterns: &Patterns) -> Result<Option<Unconverted>> {
    let mut search = UnconvertedSearch {
        objects: session.repo.objects(),
        patterns: AttributePatterns::new(&patterns.include, &patterns.exclude)?,
        trees: HashSet::new(),
        blobs: HashMap::new(),
    };
    let mut seen: HashSet<Oid> = tips.iter().copied().collect();
    let mut open: Vec<Oid> = seen.iter().copied().collect();
    while let Some(commit) = open.pop() {
        session.world.interrupt.check()?;
        let read = session.repo.read_commit(commit)?;
        if let Some(path) = search.whole_file(read.tree)? {
            return Ok(Some(Unconverted { commit, path }));
        }
        let parents = read.parents.into_iter();
        open.extend(parents.filter(|parent| seen.insert(*parent)));
    }
    Ok(None)
}

/// Counts the files of one tree that are stored in git although the patterns give them to git-lfs.
pub fn count(session: &Session, tree: Oid, patterns: &Patterns) -> Result<usize> {
    let repo = &session.repo;
    let mut given = AttributePatterns::new(&patterns.include, &patterns.exclude)?;
    let objects = repo.objects();
    let mut files = 0;
    for file in repo.list_tree(tree)? {
        let entry = file.new.filter(TreeEntry::is_file);
        let is_given = file.path.name() != b".gitattributes" && given.give(file.path.as_bytes());
        files += usize::from(entry.is_some_and(|entry| is_given && is_whole(&objects, entry.id)));
    }
    Ok(files)
}

/// Returns `true` if git-lfs would store a blob; it leaves empty ones as they are.
fn is_whole(objects: &Objects, blob: Oid) -> bool {
    objects.size(blob) != Some(0) && objects.lfs_pointer(blob).is_none()
}

struct UnconvertedSearch {
    objects: Objects,
    patterns: AttributePatterns,
    /// The directories that were read, with their paths, because patterns depend on them.
    trees: HashSet<(Oid, RepoPath)>,
    /// Whether git-lfs would store a blob.
    blobs: HashMap<Oid, bool>,
}

impl UnconvertedSearch {
    fn whole_file(&mut self, root: Oid) -> Result<Option<RepoPath>> {
        let mut open = vec![(root, RepoPath::new(Vec::new()))];
        while let Some((tree, directory)) = open.pop() {
            if !self.trees.insert((tree, directory.clone())) {
                continue;
            }
            for named in self.objects.list(tree)? {
                let path = directory.join(&RepoPath::new(named.name.as_slice()));
                if named.entry.is_directory() {
                    open.push((named.entry.id, path));
                } else if named.entry.is_file()
                    && named.name != b".gitattributes"
                    && self.patterns.give(path.as_bytes())
                    && self.is_whole(named.entry.id)
                {
                    return Ok(Some(path));
                }
            }
        }
        Ok(None)
    }

    fn is_whole(&mut self, blob: Oid) -> bool {
        let objects = &self.objects;
        let blobs = &mut self.blobs;
        *blobs.entry(blob).or_insert_with(|| is_whole(objects, blob))
    }
}
