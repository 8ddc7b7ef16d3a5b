//! Large files that git-lfs does not know to be in use: those of checkpoints, and where they come back
//! from.
//!
//! `git lfs prune` looks at branches and tags of git, and at no ref of ours, so that it takes what only a
//! checkpoint has. Each automatic one has second names of its large files in a folder of the kept files
//! for as long as its ref stands. All named ones share a folder, for a file is in most of them: it holds
//! what any of them has, or one that an undo could bring back. A file that is brought back finds them
//! there, or in the hub.

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

/// Gives what was stored for an automatic checkpoint, whose id is `name`, its names; the folder that it
/// was stored in goes.
///
/// # Errors
/// `no-space`, `io`.
pub fn keep(session: &Session, places: &Places, name: &str) -> Result<()> {
    let folder = places.new_large_files();
    if !folder.exists() {
        return Ok(());
    }
    large_files::put_back(session, &folder)?;
    let (store, kept) = (
        LfsObjects::of(&session.repo),
        places.automatic_large_files(name),
    );
    for made in large_files::all_in(&folder) {
        // One file twice named, where the store had it already.
        made.link_from_into(&store, &kept)?;
    }
    atomic::remove_folder(&folder)
}

/// Gives the large files of named checkpoints, whose trees these are, names that no `git lfs prune` takes
/// away. `made` is the folder that the clean filters stored in; what was never here stays away.
///
/// Costs a comparison with the tree that was held last.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn hold(session: &Session, made: Option<&Path>, trees: &[Oid]) -> Result<()> {
    if session.repo.has_filter("lfs") {
        hold_always(session, made, trees)?;
    }
    Ok(())
}

/// Does what [`hold`] does for checkpoints that are there, given their tags or commits: for their files, and
/// for the index that was kept beside them.
///
/// # Errors
/// As [`hold`].
pub fn hold_checkpoints(session: &Session, tags: &[Oid]) -> Result<()> {
    if !session.repo.has_filter("lfs") {
        return Ok(());
    }
    for tag in tags {
        hold_always(session, None, &trees_of(&session.repo, *tag)?)?;
    }
    Ok(())
}

/// Does what [`hold`] does also before git-lfs is set up.
///
/// # Errors
/// As [`hold`].
pub fn hold_always(session: &Session, made: Option<&Path>, trees: &[Oid]) -> Result<()> {
    let repo = &session.repo;
    let pool = pool_of(repo);
    for folder in folders(session, LARGE_OF_NAMED) {
        // Where earlier versions kept them, by checkpoint.
        LfsObjects::in_folder(folder.clone()).link_all_into(&pool)?;
        atomic::remove_folder(&folder)?;
    }
    let made = made.map(large_files::all_in).into_iter().flatten();
    let sources: Vec<LfsObjects> = [LfsObjects::of(repo)].into_iter().chain(made).collect();
    let note = Cache::of(repo, HELD);
    let known: Held = note.read();
    let known = known.tree.filter(|_| pool.is_dir());
    let mut before = known.filter(|tree| repo.object_size(*tree).is_some());
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

/// The tree of a checkpoint all of whose large files are held.
#[derive(Default, Serialize, Deserialize)]
struct Held {
    tree: Option<Oid>,
}

/// The file that notes it.
const HELD: &str = "held-large-files-1.json";

/// Lists the pointers that a tree has and the one before has not; all of them where there is none.
fn added(repo: &Repo, before: Option<Oid>, tree: Oid) -> Result<Vec<Pointer>> {
    let changes = match before {
        Some(before) => repo.diff_trees(before, tree)?,
        None => repo.list_tree(tree)?,
    };
    let files = changes
        .into_iter()
        .filter_map(|change| change.new.filter(TreeEntry::is_file));
    Ok(files
        .filter_map(|entry| Pointer::of_blob(repo, entry.id))
        .collect())
}

/// Returns the folder of the large files of named checkpoints: among the kept files, or beside the store of
/// git-lfs where that is on another file system, since files are linked, not copied.
pub fn pool_of(repo: &Repo) -> PathBuf {
    let kept = pool_in(repo.common_dir());
    let store = LfsObjects::of(repo);
    if large_files::is_on_one_device(repo.common_dir(), store.folder()) {
        return kept;
    }
    let common_dir = repo.common_dir().as_os_str().as_encoded_bytes();
    let whose = blake3::hash(common_dir).to_hex();
    let beside = store.folder().with_file_name("colony-held");
    beside.join(whose.get(..16).unwrap_or_default())
}

/// Returns the folder among the kept files; no key of a worktree is called that.
pub fn pool_in(common_dir: &Path) -> PathBuf {
    Places::kept_in(common_dir).join("large-files")
}

/// Removes the names of automatic checkpoints that are gone, of all worktrees.
///
/// # Errors
/// `repository-broken` when refs cannot be listed, `io`.
pub fn forget_unheld(session: &Session) -> Result<()> {
    let held: BTreeSet<RefName> = session
        .repo
        .refs_below(ref_names::AUTOMATIC)?
        .into_iter()
        .map(|found| found.name)
        .collect();
    for folder in folders(session, LARGE) {
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

/// Lets go of large files that no named checkpoint holds, nor one that an operation could bring back.
/// Returns how many bytes that frees where nothing else names the files.
///
/// # Errors
/// `repository-broken` when refs cannot be listed, `object-missing`, `io`.
pub fn forget_unheld_named(session: &Session, run: Prune) -> Result<u64> {
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
        // A link that is young may be of a checkpoint whose ref is about to be made.
        let linked = DateTime::from_timestamp(metadata.ctime(), 0);
        let is_young = linked.is_none_or(|at| at > session.world.now() - Duration::days(1));
        if is_young || file.file_name().is_none_or(is_held) {
            continue;
        }
        if metadata.nlink() == 1 {
            freed += metadata.len();
        }
        if run == Prune::ForReal {
            // What is gone from here is not held any more.
            Cache::of(repo, HELD).write(&Held::default());
            atomic::remove_file(&file)?;
        }
    }
    Ok(freed)
}

/// Whether files go, or are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prune {
    /// They go.
    ForReal,
    /// They are counted.
    Dry,
}

/// Lists the tags of named checkpoints, and of those that an operation could bring back; `None` where that
/// cannot be told.
fn known_tags(repo: &Repo) -> Result<Option<Vec<Oid>>> {
    let mut tags = BTreeSet::new();
    for place in ref_names::CHECKPOINT_PLACES {
        tags.extend(repo.refs_below(place)?.into_iter().map(|found| found.id));
    }
    for operation in repo.refs_below(ref_names::OPERATIONS)? {
        let Ok(record) = Record::read(repo, operation.id) else {
            return Ok(None);
        };
        let of_checkpoints = record
            .refs
            .iter()
            .filter(|change| ref_names::parse_checkpoint(&change.name).is_some());
        tags.extend(
            of_checkpoints
                .flat_map(|change| [change.old, change.new])
                .flatten(),
        );
    }
    let is_there = |tag: &Oid| repo.peel_to_commit(*tag).is_some();
    Ok(tags
        .iter()
        .all(is_there)
        .then(|| tags.into_iter().collect()))
}

/// Returns the trees of a checkpoint: of its files, and of its index where that was kept beside them.
///
/// # Errors
/// `repository-broken`, `object-missing`.
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

/// Where earlier versions had those of named ones.
const LARGE_OF_NAMED: &str = "large-named";

/// Lists `<common dir>/colony-kept/<key>/<kind>/<checkpoint>`.
fn folders(session: &Session, kind: &str) -> Vec<PathBuf> {
    let below = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    below(Places::kept_in(session.repo.common_dir()))
        .flat_map(|worktree| below(worktree.join(kind)))
        .collect()
}

/// Writes files as [`crate::git::Repo::stage_files`] does, after large files that the store of git-lfs
/// lacks were linked into it from where they are kept.
///
/// # Errors
/// As [`crate::git::Repo::stage_files`].
pub fn stage(
    session: &Session,
    tree: Oid,
    wanted: &BTreeSet<RepoPath>,
    folder: &Path,
) -> Result<()> {
    bring(session, tree, wanted)?;
    let repo = &session.repo;
    repo.stage_files(&session.world, tree, wanted, folder)
}

/// Links large files that the store of git-lfs lacks into it from where they are kept: those of an index
/// that comes back, where it has others than the files do.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn bring_of_index(session: &Session, files: Oid, index: Oid) -> Result<()> {
    let changes = session.repo.diff_trees(files, index)?;
    let paths = changes.into_iter().filter(|change| change.new.is_some());
    bring(session, index, &paths.map(|change| change.path).collect())
}

/// Links one large file into the store of git-lfs from where it is kept, also in a clone that was made without
/// them; returns whether it is there now.
///
/// # Errors
/// `no-space`, `io`.
pub fn bring_asked(session: &Session, pointer: &Pointer) -> Result<bool> {
    let store = LfsObjects::of(&session.repo);
    let sources = sources(session).into_iter().chain(of_hub(session));
    if let Some(source) = sources.into_iter().find(|source| source.has(pointer)) {
        source.link_into(pointer, store.folder())?;
    }
    Ok(store.has(pointer))
}

/// Returns where large files are kept in this repository.
fn sources(session: &Session) -> Vec<LfsObjects> {
    let kept = [LARGE, LARGE_OF_NAMED].map(|kind| folders(session, kind));
    let kept = kept.into_iter().flatten().chain([pool_of(&session.repo)]);
    kept.map(LfsObjects::in_folder).collect()
}

fn of_hub(session: &Session) -> Option<LfsObjects> {
    let member = session.membership.as_ref()?;
    Some(LfsObjects::in_folder(
        member.hub.join("lfs").join("objects"),
    ))
}

fn bring(session: &Session, tree: Oid, wanted: &BTreeSet<RepoPath>) -> Result<()> {
    let repo = &session.repo;
    if wanted.is_empty() || !repo.has_filter("lfs") {
        return Ok(());
    }
    let mut sources = sources(session);
    // A clone that is to have no large files brings none over.
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
