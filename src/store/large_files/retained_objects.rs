//! The large files of checkpoints, which git-lfs does not know to be in use, and how they are restored.
//!
//! `git lfs prune` looks at branches and tags of git and at no ref of ours, so it deletes what only a
//! checkpoint has. Each automatic checkpoint has hard links to its large files in a folder among the kept
//! files, as long as its ref exists. All named ones share one folder, because most of them share most files:
//! it has the large files of every named checkpoint, and of those that an undo could restore. A restore finds
//! them there, or in the hub.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Duration};
use serde::{Deserialize, Serialize};

use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::Pointer;
use crate::git::{Oid, RefName, Repo, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::cache::Cache;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::operation::Record;
use crate::store::refs::ref_names;
use crate::store::{Session, large_files};

/// Keeps what was stored for the automatic checkpoint with the id `name`, and removes the folder it was
/// stored in.
pub fn keep(session: &Session, places: &Places, name: &str) -> Result<()> {
    let folder = places.new_large_files();
    if !folder.exists() {
        return Ok(());
    }
    large_files::restore_objects(session, &folder)?;
    let (store, kept) = (LfsObjects::of(&session.repo), places.automatic_large_files(name));
    for made in large_files::all_in(&folder) {
        // The store had it already: a second hard link to one file.
        made.link_from_into(&store, &kept)?;
    }
    atomic::remove_folder(&folder)
}

/// Keeps the large files of named checkpoints, given their trees, out of reach of `git lfs prune`. `made` is
/// the folder that the clean filters stored in; large files that were never here are not fetched.
///
/// Costs a comparison with the tree that was held last.
pub fn hold(session: &Session, made: Option<&Path>, trees: &[Oid]) -> Result<()> {
    if session.repo.has_filter("lfs") {
        hold_always(session, made, trees)?;
    }
    Ok(())
}

/// Does the same as [`hold`] for existing checkpoints, given their tags or commits: for their files and for
/// the index that was kept with them.
pub fn hold_checkpoints(session: &Session, tags: &[Oid]) -> Result<()> {
    if !session.repo.has_filter("lfs") {
        return Ok(());
    }
    for tag in tags {
        hold_always(session, None, &trees_of(&session.repo, *tag)?)?;
    }
    Ok(())
}

/// Does the same as [`hold`], also before git-lfs is set up.
pub fn hold_always(session: &Session, made: Option<&Path>, trees: &[Oid]) -> Result<()> {
    let repo = &session.repo;
    let pool = pool_of(repo);
    let made = made.map(large_files::all_in).into_iter().flatten();
    let sources: Vec<LfsObjects> = [LfsObjects::of(repo)].into_iter().chain(made).collect();
    let note = Cache::of(repo, HELD);
    let known: Held = note.read();
    let mut before = known.tree.filter(|tree| pool.is_dir() && repo.object_size(*tree).is_some());
    for tree in trees {
        for pointer in added(repo, before, *tree)? {
            if let Some(source) = sources.iter().find(|source| source.has(&pointer)) {
                source.link_into(&pointer, &pool)?;
            }
        }
        before = Some(*tree);
    }
    note.write(&Held { tree: before });
    Ok(())
}

/// The last tree whose large files are all held.
#[derive(Default, Serialize, Deserialize)]
struct Held {
    tree: Option<Oid>,
}

/// The file that records it.
const HELD: &str = "held-large-files-1.json";

/// Lists the pointers that a tree has and the one before does not; all of them without one before.
fn added(repo: &Repo, before: Option<Oid>, tree: Oid) -> Result<Vec<Pointer>> {
    let changes = match before {
        Some(before) => repo.diff_trees(before, tree)?,
        None => repo.list_tree(tree)?,
    };
    let files = changes.into_iter().filter_map(|change| change.new.filter(TreeEntry::is_file));
    Ok(files.filter_map(|entry| Pointer::of_blob(repo, entry.id)).collect())
}

/// Returns the folder of the large files of named checkpoints: among the kept files, or beside the git-lfs
/// store where that is on another file system, since files are hard linked, not copied.
pub fn pool_of(repo: &Repo) -> PathBuf {
    let kept = pool_in(repo.common_dir());
    let store = LfsObjects::of(repo);
    if large_files::is_on_one_device(repo.common_dir(), store.folder()) {
        return kept;
    }
    let common_dir = repo.common_dir().as_os_str().as_encoded_bytes();
    let whose = blake3::hash(common_dir).to_hex();
    let beside = store.folder().with_file_name("colony-held");
    beside.join(whose.get(..16).expect("a digest has 64 digits"))
}

/// Returns the folder among the kept files; no worktree has this key.
pub fn pool_in(common_dir: &Path) -> PathBuf {
    Places::kept_in(common_dir).join("large-files")
}

/// Removes the hard links of deleted automatic checkpoints, in all worktrees.
pub fn forget_unheld(session: &Session) -> Result<()> {
    let held: BTreeSet<RefName> = session
        .repo
        .refs_below(ref_names::AUTOMATIC)?
        .into_iter()
        .map(|reference| reference.name)
        .collect();
    for folder in folders(session) {
        let name = |folder: &Path| folder.file_name()?.to_str().map(str::to_owned);
        let worktree = folder.ancestors().nth(2).and_then(name);
        let Some((worktree, checkpoint)) = worktree.zip(name(&folder)) else {
            continue;
        };
        let of = format!("{}{worktree}/{checkpoint}", ref_names::AUTOMATIC);
        if !held.contains(&RefName::from(of.as_str())) {
            atomic::remove_folder(&folder)?;
        }
    }
    Ok(())
}

/// Deletes large files that no named checkpoint holds, nor one that an undo could restore; in a dry run, only
/// counts them. Returns the number of bytes this frees where nothing else links to the files.
pub fn forget_unheld_named(session: &Session) -> Result<u64> {
    let repo = &session.repo;
    let pool = pool_of(repo);
    if !pool.is_dir() {
        return Ok(0);
    }
    let Some(tags) = known_tags(repo)? else {
        return Ok(0);
    };
    let mut held = BTreeSet::new();
    let mut before = None;
    for tag in tags {
        for tree in trees_of(repo, tag)? {
            let oids = added(repo, before, tree)?.into_iter();
            held.extend(oids.map(|pointer| pointer.oid.as_str().to_owned()));
            before = Some(tree);
        }
    }
    let mut freed = 0;
    for file in LfsObjects::in_folder(pool).files() {
        let is_held = |name: &OsStr| name.to_str().is_none_or(|name| held.contains(name));
        let Ok(metadata) = file.symlink_metadata() else {
            continue;
        };
        // A recent link may belong to a checkpoint whose ref is about to be created.
        let linked = DateTime::from_timestamp(metadata.ctime(), 0);
        let is_young = linked.is_none_or(|at| at > session.world.now() - Duration::days(1));
        if is_young || file.file_name().is_none_or(is_held) {
            continue;
        }
        if metadata.nlink() == 1 {
            freed += metadata.len();
        }
        if !session.is_dry() {
            // What was deleted here is no longer held.
            Cache::of(repo, HELD).write(&Held::default());
            atomic::remove_file(&file)?;
        }
    }
    Ok(freed)
}

/// Lists the tags of named checkpoints, and of those that an undo could restore; `None` where that cannot be
/// determined.
fn known_tags(repo: &Repo) -> Result<Option<Vec<Oid>>> {
    let mut tags = BTreeSet::new();
    for place in ref_names::CHECKPOINT_PLACES {
        tags.extend(repo.refs_below(place)?.into_iter().map(|tag| tag.id));
    }
    for operation in repo.refs_below(ref_names::OPERATIONS)? {
        let Ok(record) = Record::read(repo, operation.id) else {
            return Ok(None);
        };
        let of_checkpoints =
            record.refs.iter().filter(|change| ref_names::parse_checkpoint(&change.name).is_some());
        tags.extend(of_checkpoints.flat_map(|change| [change.old, change.new]).flatten());
    }
    let is_there = |tag: &Oid| repo.peel_to_commit(*tag).is_some();
    Ok(tags.iter().all(is_there).then(|| tags.into_iter().collect()))
}

/// Returns the trees of a checkpoint: of its files, and of its index where that was kept too.
pub fn trees_of(repo: &Repo, tag: Oid) -> Result<Vec<Oid>> {
    let Some(commit) = repo.peel_to_commit(tag) else {
        return Ok(Vec::new());
    };
    let commit = repo.read_commit(commit)?;
    let states = commit.parents.iter().filter_map(|parent| {
        let tree = repo.read_commit(*parent).ok()?.tree;
        repo.state_tree(tree).ok()
    });
    Ok([commit.tree].into_iter().chain(states).collect())
}

/// The folder of large files of automatic checkpoints, below that of a worktree.
const LARGE: &str = "large";

/// Lists `<common dir>/colony-kept/<key>/large/<checkpoint>`.
fn folders(session: &Session) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    below(Places::kept_in(session.repo.common_dir()))
        .flat_map(|worktree| below(worktree.join(LARGE)))
        .collect()
}

/// Writes files like [`crate::git::Repo::stage_files`], after linking the large files that the git-lfs store
/// lacks from where they are kept.
pub fn stage(
    session: &Session,
    tree: Oid,
    wanted: &BTreeSet<RepoPath>,
    folder: &Path,
) -> Result<()> {
    link_wanted(session, tree, wanted)?;
    let repo = &session.repo;
    repo.stage_files(&session.world, tree, wanted, folder)
}

/// Links large files of a restored index into the git-lfs store from where they are kept, for pointers that
/// the files do not have.
pub fn link_for_index(session: &Session, files: Oid, index: Oid) -> Result<()> {
    let changes = session.repo.diff_trees(files, index)?;
    let paths = changes.into_iter().filter(|change| change.new.is_some());
    link_wanted(session, index, &paths.map(|change| change.path).collect())
}

/// Links one large file into the git-lfs store from where it is kept, even in a clone that was created
/// without large files; returns `true` if the store has it now.
pub fn link_one(session: &Session, pointer: &Pointer) -> Result<bool> {
    let store = LfsObjects::of(&session.repo);
    let sources = sources(session).into_iter().chain(of_hub(session));
    if let Some(source) = sources.into_iter().find(|source| source.has(pointer)) {
        source.link_into(pointer, store.folder())?;
    }
    Ok(store.has(pointer))
}

/// Returns the places where large files of this repository are kept.
fn sources(session: &Session) -> Vec<LfsObjects> {
    let kept = folders(session).into_iter().chain([pool_of(&session.repo)]);
    kept.map(LfsObjects::in_folder).collect()
}

fn of_hub(session: &Session) -> Option<LfsObjects> {
    let member = session.membership.as_ref()?;
    Some(LfsObjects::in_folder(member.hub.join("lfs").join("objects")))
}

fn link_wanted(session: &Session, tree: Oid, wanted: &BTreeSet<RepoPath>) -> Result<()> {
    let repo = &session.repo;
    if wanted.is_empty() || !repo.has_filter("lfs") {
        return Ok(());
    }
    let mut sources = sources(session);
    // A clone that is to have no large files copies none.
    if repo.config("lfs.fetchexclude").as_deref() != Some("*") {
        sources.extend(of_hub(session));
    }
    if sources.is_empty() {
        return Ok(());
    }
    let store = LfsObjects::of(repo);
    for pointer in repo.missing_large_files(tree, wanted)? {
        if let Some(source) = sources.iter().find(|source| source.has(&pointer)) {
            source.link_into(&pointer, store.folder())?;
        }
    }
    Ok(())
}
