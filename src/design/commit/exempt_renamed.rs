//! Finds files that a line of their own keeps in git and whose content has another name now: unless
//! the line moves along, git-lfs would get them.

use std::collections::{BTreeMap, HashMap};

use crate::git::lfs::exempt_lines;
use crate::git::lfs::lfs_attributes::Filters;
use crate::git::lfs::lfs_objects::digest_of;
use crate::git::object::reader::Objects;
use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::Session;

/// No pointer is larger, so larger files need not be read.
const MAX_POINTER_BYTES: u64 = 1_024;

/// A renamed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Its name in HEAD.
    pub from: RepoPath,
    /// Its name now.
    pub to: RepoPath,
    /// Its blob in HEAD.
    pub blob: Oid,
}

impl Renamed {
    /// Returns the warning that nothing moves the line.
    pub fn attention(&self) -> String {
        let Renamed { from, to, .. } = self;
        let line = exempt_lines::line_of(to);
        format!(
            "attention: '{from}' stays in git by its line in .gitattributes, and '{to}' has none: git-lfs gets it. To keep it in git, \
             write this line in the place of the other, and stage both files: {line}"
        )
    }
}

/// Finds those among the staged files, as they are or already as a pointer of git-lfs. Costs
/// reading the index and `.gitattributes` if no such file is gone.
pub fn staged(session: &Session) -> Result<Vec<Renamed>> {
    let repo = &session.repo;
    let index = repo.load_index()?;
    let staged: BTreeMap<&[u8], Oid> = index.plain_files().collect();
    let Some(attributes) = staged.get(&b".gitattributes"[..]) else {
        return Ok(Vec::new());
    };
    let attributes = repo.read_blob(*attributes)?;
    let head = repo.tree_of(repo.head()?.commit())?;
    let search = RenameSearch { session, objects: repo.objects(), head };
    let now = |path: &RepoPath| Ok(staged.get(path.as_bytes()).copied());
    let all = staged.iter().map(|(path, id)| (RepoPath::new(*path), *id));
    search.find(&attributes, now, all)
}

/// Finds those between HEAD's tree and another one; `attributes` is the attributes file at their
/// roots. A path that is not in `index` any more counts as gone, too.
pub fn between(
    session: &Session,
    attributes: &[u8],
    head: Oid,
    index: Oid,
    tree: Oid,
) -> Result<Vec<Renamed>> {
    let search = RenameSearch { session, objects: session.repo.objects(), head };
    let changes = session.repo.diff_trees(head, tree)?.into_iter();
    let new = changes.filter_map(|change| {
        let entry = change.new.filter(TreeEntry::is_file)?;
        Some((change.path, entry.id))
    });
    let now = |path: &RepoPath| {
        let id = |entry: TreeEntry| entry.id;
        let staged = search.objects.at(index, path)?;
        let in_tree = search.objects.at(tree, path)?;
        Ok(staged.and(in_tree).map(id))
    };
    search.find(attributes, now, new)
}

struct RenameSearch<'a> {
    session: &'a Session,
    objects: Objects,
    head: Oid,
}

impl RenameSearch<'_> {
    /// Finds among `new` files the content of files that have a line in HEAD and that `now` does
    /// not have.
    fn find(
        &self,
        attributes: &[u8],
        now: impl Fn(&RepoPath) -> Result<Option<Oid>>,
        new: impl Iterator<Item = (RepoPath, Oid)>,
    ) -> Result<Vec<Renamed>> {
        let exempt = exempt_lines::take_apart(attributes).exempt;
        let mut left = DeletedFiles::default();
        for from in exempt.map(|exempt| exempt.files).unwrap_or_default() {
            let entry = self.objects.at(self.head, &from)?;
            if let Some(entry) = entry.filter(TreeEntry::is_file)
                && now(&from)? != Some(entry.id)
            {
                left.by_blob.entry(entry.id).or_insert(from);
            }
        }
        let mut renamed = Vec::new();
        if left.by_blob.is_empty() {
            return Ok(renamed);
        }
        let mut filters = Filters::of(attributes)?;
        for (to, id) in new {
            self.session.world.interrupt.check()?;
            // A file with a line of its own, or that no pattern matches, is left alone.
            if !filters.give_to_lfs(&to) || self.is_in_head(&to, id)? {
                continue;
            }
            let Some(blob) = left.holding(&self.objects, id)? else {
                continue;
            };
            if let Some(from) = left.by_blob.remove(&blob) {
                renamed.push(Renamed { from, to, blob });
            }
        }
        Ok(renamed)
    }

    fn is_in_head(&self, path: &RepoPath, id: Oid) -> Result<bool> {
        let entry = self.objects.at(self.head, path)?;
        Ok(entry.is_some_and(|entry| entry.id == id))
    }
}

/// The files that are gone.
#[derive(Default)]
struct DeletedFiles {
    by_blob: HashMap<Oid, RepoPath>,
    /// The same by the digest in their pointer: computed for the first pointer.
    by_digest: Option<HashMap<String, Oid>>,
}

impl DeletedFiles {
    /// Returns the blob in HEAD whose content a blob holds, itself or as a pointer.
    fn holding(&mut self, objects: &Objects, id: Oid) -> Result<Option<Oid>> {
        if self.by_blob.contains_key(&id) {
            return Ok(Some(id));
        }
        if objects.size(id).is_none_or(|size| size > MAX_POINTER_BYTES) {
            return Ok(None);
        }
        let Some(pointer) = objects.lfs_pointer(id) else {
            return Ok(None);
        };
        if self.by_digest.is_none() {
            let mut digests = HashMap::new();
            for blob in self.by_blob.keys() {
                digests.extend(digest_of(&objects.blob(*blob)?).map(|digest| (digest, *blob)));
            }
            self.by_digest = Some(digests);
        }
        let digests = self.by_digest.as_ref();
        Ok(digests.and_then(|digests| digests.get(pointer.oid.as_str()).copied()))
    }
}
