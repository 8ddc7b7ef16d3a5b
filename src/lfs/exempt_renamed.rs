//! Files that stay in git by a line of their own and have another name now: the line does not go along, so
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
    /// What it is called in the index.
    pub to: RepoPath,
}

/// Finds those among what is staged, as they are or as a pointer of git-lfs by now. Costs reading
/// `.gitattributes` where no such file is gone.
///
/// # Errors
/// `repository-broken`, `object-missing`.
pub fn staged(session: &Session) -> Result<Vec<Renamed>> {
    let repo = &session.repo;
    let parts = exempt_lines::take_apart(repo.root_attributes().as_bytes());
    let Some(exempt) = parts.exempt.filter(|exempt| !exempt.files.is_empty()) else {
        return Ok(Vec::new());
    };
    let index = repo.load_index()?;
    let staged: BTreeMap<&[u8], Oid> = index.plain_files().collect();
    let head = repo.tree_of(repo.head()?.commit())?;
    let objects = repo.objects();
    let mut gone = Vec::new();
    for from in exempt.files {
        if !staged.contains_key(from.as_bytes())
            && let Some(entry) = objects.at(head, &from)?.filter(TreeEntry::is_file)
        {
            gone.push((from, entry.id));
        }
    }
    if gone.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut taken = BTreeSet::new();
    for (from, blob) in gone {
        let is_it = |path: &[u8], id: Oid| -> Result<bool> {
            let is_new = objects.at(head, &RepoPath::new(path))?.is_none();
            Ok(is_new && (id == blob || holds(&objects, id, blob)?))
        };
        for (path, id) in &staged {
            if extension(path) == extension(from.as_bytes())
                && !taken.contains(path)
                && is_it(path, *id)?
            {
                taken.insert(*path);
                let to = RepoPath::new(*path);
                found.push(Renamed { from, to });
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
