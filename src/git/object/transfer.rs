//! Copies objects between repositories on the same file system by hard links.
//!
//! The objects below an object are linked before it. That an object is in the other repository shows nothing of those
//! below it: a fetch or a push that was killed leaves commits without their files, and a copy of a repository takes
//! them along. So only what a ref of the other one holds counts as whole, as for git; the rest is compared object
//! by object.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use gix::objs::Exists as _;
use gix::objs::tree::EntryKind;

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

    /// Returns the commits that ids name, as far as they are here.
    fn commits(&self, ids: &[Oid]) -> Vec<gix::ObjectId> {
        let objects = ids.iter().filter_map(|id| self.repo.try_find_object(id.0).ok()?);
        objects.filter_map(|object| Some(object.peel_to_commit().ok()?.id)).collect()
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

/// The ids in the other store that are whole there: those of its refs.
pub struct Whole<'a> {
    /// Those that the tips probably grew from.
    pub near: Vec<Oid>,
    /// Lists all of them; read only where many commits are above the near ones.
    pub all: &'a dyn Fn() -> Result<Vec<Oid>>,
}

/// Links `tips` and everything below them into the other store.
pub fn link_objects(
    from: &ObjectStore,
    to: &ObjectStore,
    tips: &[Oid],
    whole: &Whole<'_>,
) -> Result<Linked> {
    let new = new_commits(from, tips, whole)?;
    let mut transfer = Transfer { from, to, new, done: HashSet::new() };
    for tip in tips {
        if transfer.history(tip.0)? == Linked::NotAll {
            return Ok(Linked::NotAll);
        }
    }
    Ok(Linked::All)
}

/// Returns the commits of `tips` that no ref of the other store holds.
fn new_commits(
    from: &ObjectStore,
    tips: &[Oid],
    whole: &Whole<'_>,
) -> Result<HashSet<gix::ObjectId>> {
    let tips = from.commits(tips);
    // A ref of the other store may name a commit that is here without those below it. Then all of the tips are compared.
    let above = |known: &[Oid], limit| {
        walk(from, &tips, from.commits(known), limit)
            .or_else(|_| walk(from, &tips, Vec::new(), usize::MAX))
    };
    let near = above(&whole.near, FEW + 1)?;
    if near.len() <= FEW {
        return Ok(near);
    }
    above(&(whole.all)()?, usize::MAX)
}

fn walk(
    from: &ObjectStore,
    commits: &[gix::ObjectId],
    hidden: Vec<gix::ObjectId>,
    limit: usize,
) -> Result<HashSet<gix::ObjectId>> {
    let cannot = || "cannot walk the history";
    let tips = commits.iter().copied();
    let all =
        from.repo.rev_walk(tips).with_hidden(hidden).all().or_code(Code::ObjectMissing, cannot)?;
    let ids = all.take(limit).map(|info| Ok(info.or_code(Code::ObjectMissing, cannot)?.id));
    ids.collect()
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

/// The number of commits that are walked before all refs of the other store are read.
const FEW: usize = 64;

struct Transfer<'a> {
    from: &'a ObjectStore,
    to: &'a ObjectStore,
    /// The commits that no ref of the other store holds.
    new: HashSet<gix::ObjectId>,
    /// The objects that are whole in the other store by now.
    done: HashSet<gix::ObjectId>,
}

impl Transfer<'_> {
    /// Links commits and tags, oldest first, without recursion: histories are long.
    fn history(&mut self, tip: gix::ObjectId) -> Result<Linked> {
        let mut open = vec![tip];
        while let Some(&id) = open.last() {
            if self.done.contains(&id) {
                open.pop();
                continue;
            }
            let (above, tree) = self.parents_and_tree(id)?;
            let before = open.len();
            let is_next = |id: &gix::ObjectId| !self.done.contains(id) && self.is_new(*id);
            open.extend(above.iter().copied().filter(is_next));
            if open.len() > before {
                continue;
            }
            let known = above.iter().filter_map(|id| self.parents_and_tree(*id).ok()?.1).collect();
            let below = tree.map_or(Ok(Linked::All), |tree| self.tree(tree, known))?;
            if below == Linked::NotAll || self.link(id)? == Linked::NotAll {
                return Ok(Linked::NotAll);
            }
            open.pop();
        }
        Ok(Linked::All)
    }

    /// Returns `false` for a commit that a ref of the other store holds. A tag is looked at each time.
    fn is_new(&self, id: gix::ObjectId) -> bool {
        let is_commit = || {
            let header = self.from.repo.find_header(id);
            header.is_ok_and(|header| header.kind() == gix::objs::Kind::Commit)
        };
        self.new.contains(&id) || !is_commit()
    }

    /// Returns the parents of a commit or the target of a tag, and the tree.
    fn parents_and_tree(
        &self,
        id: gix::ObjectId,
    ) -> Result<(Vec<gix::ObjectId>, Option<gix::ObjectId>)> {
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

    /// Links a tree after its contents; recurses as deep as its directories. The trees in `known`, those of the
    /// parents at the same path, are whole in the other store.
    fn tree(&mut self, id: gix::ObjectId, known: Vec<gix::ObjectId>) -> Result<Linked> {
        if self.done.contains(&id) || known.contains(&id) {
            return Ok(Linked::All);
        }
        if id.is_empty_tree() {
            return self.write_empty_tree();
        }
        let own = self.entries(id)?;
        let mut there = HashSet::new();
        let mut folders: HashMap<Vec<u8>, Vec<gix::ObjectId>> = HashMap::new();
        for known in known {
            for entry in self.entries(known)? {
                there.insert(entry.id);
                if entry.kind == EntryKind::Tree {
                    folders.entry(entry.name).or_default().push(entry.id);
                }
            }
        }
        for Entry { name, kind, id } in own {
            let linked = match kind {
                EntryKind::Commit => Linked::All,
                _ if there.contains(&id) => Linked::All,
                EntryKind::Tree => self.tree(id, folders.remove(&name).unwrap_or_default())?,
                _ => self.link(id)?,
            };
            if linked == Linked::NotAll {
                return Ok(Linked::NotAll);
            }
        }
        self.link(id)
    }

    fn entries(&self, id: gix::ObjectId) -> Result<Vec<Entry>> {
        if id.is_empty_tree() {
            return Ok(Vec::new());
        }
        let missing = || format!("tree {id} is missing here");
        let tree = self.from.repo.find_tree(id).or_code(Code::ObjectMissing, missing)?;
        let entries = tree.iter().map(|entry| {
            let entry = entry.or_code(Code::RepositoryBroken, missing)?;
            let name = entry.filename().to_vec();
            Ok(Entry { name, kind: entry.mode().kind(), id: entry.object_id() })
        });
        entries.collect()
    }

    /// Writes the empty tree: git reads it even where it is not stored.
    fn write_empty_tree(&mut self) -> Result<Linked> {
        let written = self.to.repo.write_object(gix::objs::Tree::empty());
        written.or_code(Code::Io, || "cannot store the empty tree")?;
        Ok(Linked::All)
    }

    /// Links an object, unless it is there. All below it is there already.
    fn link(&mut self, id: gix::ObjectId) -> Result<Linked> {
        if self.done.contains(&id) || self.to.has(id) {
            self.done.insert(id);
            return Ok(Linked::All);
        }
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
        self.done.insert(id);
        Ok(Linked::All)
    }
}

/// An entry of a tree.
struct Entry {
    name: Vec<u8>,
    kind: EntryKind,
    id: gix::ObjectId,
}
