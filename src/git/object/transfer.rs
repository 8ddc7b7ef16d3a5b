//! Copies objects between repositories on the same file system by hard links.
//!
//! The objects below an object are linked before it, so that at every moment the other repository
//! is complete: if it has an object, it has everything below it.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gix::objs::Exists as _;

use crate::git::{BareRepo, Oid, Repo, process};
use crate::model::{Code, Error, Result, ResultExt as _};

/// One end of a transfer.
pub struct ObjectStore {
    repo: gix::Repository,
    objects: PathBuf,
}

impl Repo {
    /// Returns the objects of this repository as an end of a transfer.
    pub fn object_store(&self) -> ObjectStore {
        ObjectStore::of(&self.inner, self.common_dir())
    }
}

impl BareRepo {
    /// Returns the objects of this repository as an end of a transfer.
    pub fn object_store(&self) -> ObjectStore {
        ObjectStore::of(self.inner(), self.path())
    }
}

impl ObjectStore {
    fn of(repo: &gix::Repository, common_dir: &Path) -> ObjectStore {
        let mut repo = repo.clone();
        // Misses are the rule here: looking for new packs each time would cost more than the rest.
        repo.objects.refresh = gix::odb::store::RefreshMode::Never;
        ObjectStore { repo, objects: common_dir.join("objects") }
    }

    /// Returns `true` if the object is stored: gix knows the empty tree without storing it, git
    /// does not.
    fn has(&self, id: gix::ObjectId) -> bool {
        self.repo.objects.exists(&id)
    }

    fn loose(&self, id: gix::ObjectId) -> PathBuf {
        let hex = id.to_string();
        let (folder, file) = hex.split_at(2);
        self.objects.join(folder).join(file)
    }
}

/// The result of a transfer by hard links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linked {
    /// Everything is there now.
    All,
    /// Some objects are packed, or on another file system: git has to copy them.
    NotAll,
}

/// Links `tips` and everything below them into the other store.
pub fn link_objects(from: &ObjectStore, to: &ObjectStore, tips: &[Oid]) -> Result<Linked> {
    let mut transfer = Transfer { from, to, linked: HashSet::new() };
    for tip in tips {
        if transfer.history(tip.0)? == Linked::NotAll {
            return Ok(Linked::NotAll);
        }
    }
    Ok(Linked::All)
}

/// Has git copy what `tips` need and `known` does not have: one repository makes a pack and the
/// other writes it.
pub fn send_pack(
    mut from: process::Git,
    mut to: process::Git,
    tips: &[Oid],
    known: &[Oid],
) -> Result<()> {
    let wanted = tips.iter().map(|id| format!("{id}\n"));
    let hidden = known.iter().map(|id| format!("^{id}\n"));
    let revisions: String = wanted.chain(hidden).collect();
    from.env(process::OPERATION_VARIABLE, "transfer");
    from.args(["pack-objects", "-q", "--revs", "--stdout", "--thin"]);
    let pack =
        from.input(revisions.into_bytes()).run_checked("pack what another repository lacks")?;
    to.args(["index-pack", "--stdin", "--fix-thin", "--strict"]);
    to.input(pack).run_checked("take in objects").map(drop)
}

struct Transfer<'a> {
    from: &'a ObjectStore,
    to: &'a ObjectStore,
    linked: HashSet<gix::ObjectId>,
}

impl Transfer<'_> {
    fn is_there(&self, id: gix::ObjectId) -> bool {
        self.linked.contains(&id) || self.to.has(id)
    }

    /// Links commits and tags, oldest first, without recursion: histories are long.
    fn history(&mut self, tip: gix::ObjectId) -> Result<Linked> {
        let mut open = vec![tip];
        while let Some(&id) = open.last() {
            if self.is_there(id) {
                open.pop();
                continue;
            }
            let (parents, tree) = self.look(id)?;
            let before = open.len();
            open.extend(parents.into_iter().filter(|id| !self.is_there(*id)));
            if open.len() > before {
                continue;
            }
            let below = tree.map_or(Ok(Linked::All), |tree| self.tree(tree))?;
            if below == Linked::NotAll || self.link(id)? == Linked::NotAll {
                return Ok(Linked::NotAll);
            }
            open.pop();
        }
        Ok(Linked::All)
    }

    /// Returns the parents of a commit or the target of a tag, and the tree.
    fn look(&self, id: gix::ObjectId) -> Result<(Vec<gix::ObjectId>, Option<gix::ObjectId>)> {
        let missing = || format!("object {id} is missing here");
        let object = self.from.repo.find_object(id).or_code(Code::ObjectMissing, missing)?;
        Ok(match object.kind {
            gix::objs::Kind::Commit => {
                let commit = object.into_commit();
                let tree = commit.tree_id().or_code(Code::ObjectMissing, missing)?;
                let parents = commit.parent_ids().map(gix::Id::detach).collect();
                (parents, Some(tree.detach()))
            }
            gix::objs::Kind::Tag => {
                let tag = object.into_tag();
                let target = tag.target_id().or_code(Code::ObjectMissing, missing)?;
                (vec![target.detach()], None)
            }
            gix::objs::Kind::Tree => (Vec::new(), Some(id)),
            gix::objs::Kind::Blob => (Vec::new(), None),
        })
    }

    /// Links a tree after its contents; recurses as deep as its directories.
    fn tree(&mut self, id: gix::ObjectId) -> Result<Linked> {
        if self.is_there(id) {
            return Ok(Linked::All);
        }
        if id.is_empty_tree() {
            return self.write_empty_tree();
        }
        let missing = || format!("tree {id} is missing here");
        let tree = self.from.repo.find_tree(id).or_code(Code::ObjectMissing, missing)?;
        let entries: Vec<_> = tree
            .iter()
            .map(|entry| {
                let entry = entry.or_code(Code::RepositoryBroken, missing)?;
                Ok((entry.mode(), entry.object_id()))
            })
            .collect::<Result<_>>()?;
        for (mode, below) in entries {
            let linked = match mode.kind() {
                gix::objs::tree::EntryKind::Tree => self.tree(below)?,
                gix::objs::tree::EntryKind::Commit => Linked::All,
                _ if self.is_there(below) => Linked::All,
                _ => self.link(below)?,
            };
            if linked == Linked::NotAll {
                return Ok(Linked::NotAll);
            }
        }
        self.link(id)
    }

    /// Writes the empty tree: git reads it even where it is not stored.
    fn write_empty_tree(&mut self) -> Result<Linked> {
        let written = self.to.repo.write_object(gix::objs::Tree::empty());
        written.or_code(Code::Io, || "cannot store the empty tree")?;
        Ok(Linked::All)
    }

    fn link(&mut self, id: gix::ObjectId) -> Result<Linked> {
        let (from, to) = (self.from.loose(id), self.to.loose(id));
        let mut linked = std::fs::hard_link(&from, &to);
        if linked.as_ref().is_err_and(|e| e.kind() == ErrorKind::NotFound)
            && let Some(folder) = to.parent()
            && from.exists()
        {
            std::fs::create_dir_all(folder)
                .map_err(|e| Error::io("cannot make a folder for objects", e))?;
            linked = std::fs::hard_link(&from, &to);
        }
        match linked {
            Ok(()) => {}
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            Err(e) if e.kind() == ErrorKind::StorageFull => {
                return Err(Error::io("cannot publish objects", e));
            }
            // The object is packed, on another file system, or links are not allowed: git has to
            // copy it.
            Err(_) => return Ok(Linked::NotAll),
        }
        self.linked.insert(id);
        Ok(Linked::All)
    }
}
