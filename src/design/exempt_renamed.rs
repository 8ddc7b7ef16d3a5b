//! Files that stay in git by a line of their own and have another name now: where the line does not go along,
//! git-lfs would get them.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::exempt_lines;
use crate::git::lfs_objects::digest_of;
use crate::git::objects::Objects;
use crate::git::{Oid, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::Session;

/// A file with another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// What it is called in HEAD.
    pub from: RepoPath,
    /// What it is called now.
    pub to: RepoPath,
    /// What it holds in HEAD.
    pub blob: Oid,
}

/// Finds those among what is staged, as they are or as a pointer of git-lfs by now. Costs reading
/// `.gitattributes` where no such file is gone.
///
/// # Errors
/// `repository-broken`, `object-missing`.
pub fn staged(session: &Session) -> Result<Vec<Renamed>> {
    let repo = &session.repo;
    let index = repo.load_index()?;
    let staged: BTreeMap<&[u8], Oid> = index.plain_files().collect();
    let Some(attributes) = staged.get(&b".gitattributes"[..]) else {
        return Ok(Vec::new());
    };
    let attributes = repo.read_blob(*attributes)?;
    let head = repo.tree_of(repo.head()?.commit())?;
    let is_gone = |path: &RepoPath| !staged.contains_key(path.as_bytes());
    let new: Vec<_> = staged.iter().map(|(path, id)| (*path, *id)).collect();
    find(&repo.objects(), (head, &attributes), is_gone, &new)
}

/// Finds those between HEAD's tree and another one; `attributes` is the attributes file at their roots.
///
/// # Errors
/// `repository-broken`, `object-missing`.
pub fn between(
    session: &Session,
    attributes: &[u8],
    (head, tree): (Oid, Oid),
) -> Result<Vec<Renamed>> {
    let changes = session.repo.diff_trees(head, tree)?;
    let gone = changes.iter().filter(|change| change.new.is_none());
    let gone: BTreeSet<&RepoPath> = gone.map(|change| &change.path).collect();
    let new = changes.iter().filter_map(|change| {
        let entry = change.new.filter(TreeEntry::is_file)?;
        Some((change.path.as_bytes(), entry.id))
    });
    let new: Vec<_> = new.collect();
    let is_gone = |path: &RepoPath| gone.contains(path);
    find(&session.repo.objects(), (head, attributes), is_gone, &new)
}

fn find(
    objects: &Objects,
    (head, attributes): (Oid, &[u8]),
    is_gone: impl Fn(&RepoPath) -> bool,
    new: &[(&[u8], Oid)],
) -> Result<Vec<Renamed>> {
    let exempt = exempt_lines::take_apart(attributes).exempt;
    let exempt = exempt.map(|exempt| exempt.files).unwrap_or_default();
    let mut found = Vec::new();
    let mut taken = BTreeSet::new();
    for from in exempt.into_iter().filter(is_gone) {
        let Some(entry) = objects.at(head, &from)?.filter(TreeEntry::is_file) else {
            continue;
        };
        let is_it = |path: &[u8], id: Oid| -> Result<bool> {
            let is_new = objects.at(head, &RepoPath::new(path))?.is_none();
            Ok(is_new && (id == entry.id || holds(objects, id, entry.id)?))
        };
        for (path, id) in new {
            if extension(path) == extension(from.as_bytes())
                && !taken.contains(path)
                && is_it(path, *id)?
            {
                taken.insert(*path);
                found.push(Renamed {
                    from,
                    to: RepoPath::new(*path),
                    blob: entry.id,
                });
                break;
            }
        }
    }
    Ok(found)
}

fn extension(path: &[u8]) -> Option<&[u8]> {
    let dot = path.iter().rposition(|&byte| byte == b'.')?;
    path.get(dot..)
}

/// Tells whether a blob is the pointer of what another one holds.
fn holds(objects: &Objects, pointer: Oid, blob: Oid) -> Result<bool> {
    let Some(pointer) = objects.lfs_pointer(pointer) else {
        return Ok(false);
    };
    if objects.size(blob) != Some(pointer.size_bytes) {
        return Ok(false);
    }
    let digest = digest_of(&objects.blob(blob)?);
    Ok(digest.as_deref() == Some(pointer.oid.as_str()))
}
