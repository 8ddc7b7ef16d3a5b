//! What the `.gitattributes` files of a tree say of its paths: the same on every machine.
//!
//! Neither the worktree, nor `info/attributes`, nor what the user has configured counts.

use std::collections::BTreeMap;
use std::path::Path;

use gix::attrs::search::{MetadataCollection, Outcome};
use gix::attrs::{Search, StateRef};
use gix::bstr::BStr;

use crate::model::{Code, RepoPath, Result, ResultExt as _};

use super::{Objects, Oid};

const NAME: &str = ".gitattributes";

/// A larger file is not read.
const MOST_BYTES: u64 = 1 << 20;

/// One attribute, looked up in a tree. The files of a directory are best asked for one after the other.
pub struct TreeAttribute<'a> {
    objects: &'a Objects,
    tree: Oid,
    attribute: &'static str,
    /// What the file of a directory says; `None` where it has none.
    files: BTreeMap<RepoPath, Option<Vec<u8>>>,
    /// The directory that was asked for last, and what is said of its files.
    last: Option<(RepoPath, Search, Outcome)>,
}

impl<'a> TreeAttribute<'a> {
    /// Looks the attribute up in the tree.
    pub fn new(objects: &'a Objects, tree: Oid, attribute: &'static str) -> TreeAttribute<'a> {
        TreeAttribute {
            objects,
            tree,
            attribute,
            files: BTreeMap::new(),
            last: None,
        }
    }

    /// Tells whether a file has the attribute, be it alone or as `=true`.
    ///
    /// # Errors
    /// `object-missing`.
    pub fn is_set(&mut self, path: &RepoPath) -> Result<bool> {
        let directory = path.parent().unwrap_or_default();
        let last = self.last.take().filter(|(last, ..)| *last == directory);
        let (directory, search, mut outcome) = match last {
            Some(last) => last,
            None => self.collect(directory)?,
        };
        outcome.reset();
        let path = BStr::new(path.as_bytes());
        let case = gix::glob::pattern::Case::Sensitive;
        search.pattern_matching_relative_path(path, case, Some(false), &mut outcome);
        let is_set = outcome
            .iter_selected()
            .any(|found| match found.assignment.state {
                StateRef::Set => true,
                StateRef::Value(value) => value.as_bstr() == "true",
                StateRef::Unset | StateRef::Unspecified => false,
            });
        self.last = Some((directory, search, outcome));
        Ok(is_set)
    }

    /// Puts together what the files from the root down to a directory say.
    fn collect(&mut self, directory: RepoPath) -> Result<(RepoPath, Search, Outcome)> {
        let cannot = || format!("cannot read the attributes of '{directory}'");
        let (mut search, mut names) = (Search::default(), MetadataCollection::default());
        let root = RepoPath::default();
        let is_root = directory.as_bytes().is_empty();
        let above: Vec<RepoPath> = directory.ancestors().collect();
        let own = (!is_root).then(|| directory.clone());
        for at in std::iter::once(root).chain(above).chain(own) {
            let is_root = at.as_bytes().is_empty();
            let Some(bytes) = self.file_of(&at)? else {
                continue;
            };
            let source = Path::new("/").join(at.as_path()).join(NAME);
            let base = Some(Path::new("/"));
            // As git has it, only the file at the root may name macros.
            let added = search.add_patterns_buffer(bytes, source, base, &mut names, is_root);
            added.or_code(Code::RepositoryBroken, cannot)?;
        }
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&names, [self.attribute]);
        Ok((directory, search, outcome))
    }

    fn file_of(&mut self, directory: &RepoPath) -> Result<Option<&[u8]>> {
        if !self.files.contains_key(directory) {
            let path = directory.join(&RepoPath::from(NAME));
            let entry = self.objects.at(self.tree, &path)?;
            let file = entry.filter(|entry| {
                let size = self.objects.size(entry.id);
                entry.is_file() && size.is_some_and(|size| size <= MOST_BYTES)
            });
            let bytes = file.map(|file| self.objects.blob(file.id)).transpose()?;
            self.files.insert(directory.clone(), bytes);
        }
        Ok(self.files.get(directory).and_then(Option::as_deref))
    }
}
