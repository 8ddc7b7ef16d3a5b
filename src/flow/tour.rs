//! The ground of the tour: a temporary clone of the current repository.
//!
//! Objects are borrowed, nothing is fetched, filters of large files are off in the clone, and the
//! repository itself is only read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::git::object::NewCommit;
use crate::git::process::Git;
use crate::git::{ObjectWrites, Oid, Repo};
use crate::model::{Error, RepoPath, Result, World};
use crate::store::files::atomic;

/// The maximum number of files in the clone.
const MAX_FILES: usize = 2_000;
/// The maximum number of bytes in the clone.
const MAX_BYTES: u64 = 64 << 20;

/// The clone for the tour.
pub struct Ground {
    /// Its path.
    pub path: PathBuf,
    /// A text file that the tour may damage.
    pub victim: String,
    /// The number of its files.
    pub files: usize,
}

/// Makes the clone below `folder`.
///
/// # Errors
/// `not-a-repository`, `git-failed`, `no-space`.
pub fn prepare(world: &World, folder: &Path) -> Result<Ground> {
    let source = Repo::open(world, ObjectWrites::InMemory)?;
    let path = folder.join("clone");
    git_in(world, folder)
        .args(["init", "--quiet", "--template="])
        .arg(&path)
        .run_checked("make a clone")?;
    let objects = source.common_dir().join("objects");
    let mut line = std::os::unix::ffi::OsStrExt::as_bytes(objects.as_os_str()).to_vec();
    line.push(b'\n');
    atomic::write_plainly(&path.join(".git/objects/info/alternates"), &line)?;
    configure(world, &path)?;
    let inside = World {
        cwd: path.clone(),
        variables: without_git_dir(world),
        ..world.clone()
    };
    let clone = Repo::open(&inside, ObjectWrites::Durable)?;
    let files = chosen_files(&source)?;
    let head = clone.head()?.moving_ref();
    let commit = first_commit(&inside, &clone, &source, &files)?;
    let name = head.to_string();
    clone
        .git(&inside)
        .args(["update-ref", &name, &commit.to_string()])
        .run_checked("make a branch")?;
    let write = ["read-tree", "-m", "-u", &name];
    clone
        .git(&inside)
        .args(write)
        .run_checked("write the files")?;
    let victim = victim(&files).unwrap_or_else(|| "NOTES.md".to_owned());
    Ok(Ground {
        path,
        victim,
        files: files.len(),
    })
}

fn git_in(world: &World, folder: &Path) -> Git {
    let mut git = Git::new(world);
    git.current_dir(folder);
    git
}

/// Turns off everything that could run programs or use the network; without filters, git-lfs
/// pointers stay as they are.
fn configure(world: &World, path: &Path) -> Result<()> {
    let settings = [
        ("user.name", "Tour"),
        ("user.email", "tour@localhost"),
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("commit.gpgSign", "false"),
        ("tag.gpgSign", "false"),
    ];
    for (key, value) in settings {
        git_in(world, path)
            .args(["config", key, value])
            .run_checked("configure the clone")?;
    }
    let info = path.join(".git/info");
    atomic::make_directory(&info)?;
    atomic::write_plainly(&info.join("attributes"), b"* -filter\n")
}

/// Takes files of HEAD until the clone is large enough.
fn chosen_files(source: &Repo) -> Result<BTreeMap<RepoPath, (crate::git::TreeEntry, u64)>> {
    let tree = source.tree_of(source.head()?.commit())?;
    let mut chosen = BTreeMap::new();
    let mut bytes = 0;
    for change in source.list_tree(tree)? {
        let Some(entry) = change.new.filter(|entry| !entry.is_submodule()) else {
            continue;
        };
        let Some(size) = source.object_size(entry.id) else {
            continue;
        };
        if chosen.len() == MAX_FILES || bytes + size > MAX_BYTES {
            break;
        }
        bytes += size;
        chosen.insert(change.path, (entry, size));
    }
    Ok(chosen)
}

/// Uses the source's own commit if it fits, else a commit of the chosen files.
fn first_commit(
    world: &World,
    clone: &Repo,
    source: &Repo,
    files: &BTreeMap<RepoPath, (crate::git::TreeEntry, u64)>,
) -> Result<Oid> {
    let head = source.head()?.commit();
    let tree = clone.edit_tree(
        clone.empty_tree(),
        files.iter().map(|(path, (entry, _))| (path, Some(*entry))),
    )?;
    if let Some(head) = head
        && source.tree_of(Some(head))? == tree
    {
        return Ok(head);
    }
    let mut edits = Vec::new();
    let notes = RepoPath::from("NOTES.md");
    if files.is_empty() {
        let blob = clone.write_blob(b"A first line.\n")?;
        edits.push((&notes, Some(crate::git::TreeEntry::file(blob))));
    }
    let tree = clone.edit_tree(tree, edits)?;
    let identity = crate::git::identity::Identity::of_program();
    let signature = identity.at(world);
    let message = "A part of the repository, for the tour".to_owned();
    clone.write_commit(NewCommit {
        tree,
        parents: Vec::new(),
        signature: &signature,
        message,
    })
}

/// Picks a text file with visible content: a README, else the first small file.
fn victim(files: &BTreeMap<RepoPath, (crate::git::TreeEntry, u64)>) -> Option<String> {
    let names: Vec<_> = files
        .iter()
        .filter(|(_, (entry, size))| *size > 0 && *size < 1 << 20 && entry.is_plain_file())
        .filter_map(|(path, _)| std::str::from_utf8(path.as_bytes()).ok())
        .filter(|name| name.chars().all(|c| c.is_ascii_graphic()))
        .collect();
    let readme = names
        .iter()
        .find(|name| name.to_lowercase().starts_with("readme"));
    readme.or(names.first()).map(|name| (*name).to_owned())
}

fn without_git_dir(
    world: &World,
) -> std::collections::BTreeMap<std::ffi::OsString, std::ffi::OsString> {
    let bound = [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
    ];
    let is_bound = |name: &std::ffi::OsStr| bound.iter().any(|known| name == *known);
    world
        .variables
        .iter()
        .filter(|(name, _)| !is_bound(name))
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}

/// Damages the clone as careless work does; returns the changes as shell lines.
///
/// # Errors
/// `io`.
pub fn wreck(ground: &Ground) -> Result<Vec<String>> {
    let cannot = |e| Error::io("cannot change the clone", e);
    let victim = ground.path.join(&ground.victim);
    let folder = ground.path.join("scratch");
    std::fs::remove_file(&victim).map_err(cannot)?;
    std::fs::create_dir_all(&folder).map_err(cannot)?;
    atomic::write_plainly(&folder.join("idea.txt"), b"half an idea\n")?;
    Ok(vec![
        format!("rm {}", ground.victim),
        "mkdir scratch && echo 'half an idea' > scratch/idea.txt".to_owned(),
    ])
}
