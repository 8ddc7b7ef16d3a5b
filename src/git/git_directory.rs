//! Checks that a git directory consists of plain files and directories of sane size, as git creates
//! it.
//!
//! A directory that another user controls may have a pipe in place of a file, which a reader would
//! wait for forever, or a symlink to a file that the reader must not disclose.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, World};

use super::refs::FoundRef;
use super::refs::reflog::reflog_in;
use super::{Oid, RefName, discovery, plain_file};

/// The files that are read to open a repository, and the maximum size of each.
const FILES: [(&str, u64); 9] = [
    ("HEAD", 1 << 16),
    ("index", 1 << 33),
    ("commondir", 1 << 16),
    ("config", 1 << 24),
    ("config.worktree", 1 << 24),
    ("packed-refs", 1 << 30),
    ("shallow", 1 << 30),
    ("objects/info/alternates", 1 << 24),
    ("info/grafts", 1 << 24),
];

/// The maximum size of a ref file.
const MAX_REF_BYTES: u64 = 1 << 16;

/// The maximum depth of directories of refs.
const MAX_DEPTH: usize = 64;

/// Finds the git directory of a world's current directory, and the one shared by its worktrees, also where git cannot use it.
pub fn nearest(world: &World) -> Option<(PathBuf, PathBuf)> {
    let git_path = discovery::find_git_dir(world)?;
    let named = discovery::target_of_git_file(&git_path);
    let git_dir = named.map_or_else(|| git_path.clone(), |named| git_path.with_file_name(named));
    let common = plain_file::read_text(git_dir.join("commondir")).unwrap_or_default();
    let common_dir = git_dir.join(common.trim_end());
    Some((git_dir, common_dir))
}

/// Refuses a git directory that has anything but files where git keeps files.
///
/// Costs one `stat` per ref file.
pub(super) fn require(git_dir: &Path) -> Result<()> {
    for (name, most_bytes) in FILES {
        let path = git_dir.join(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if !metadata.is_file() || metadata.len() > most_bytes => {
                return Err(is_odd(&path));
            }
            _ => {}
        }
    }
    let mut open = vec![(git_dir.join("refs"), 0)];
    while let Some((folder, depth)) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match fs::symlink_metadata(&path) {
                Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH => {
                    open.push((path, depth + 1));
                }
                Ok(metadata) if !metadata.is_file() || metadata.len() > MAX_REF_BYTES => {
                    return Err(is_odd(&path));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

pub(super) fn is_odd(path: &Path) -> Error {
    let message = format!("'{}' is not a file as git makes it", path.display());
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    let target = fs::read_link(path).ok().filter(|target| target.starts_with("refs"));
    if let Some((target, git_dir)) = target.filter(|_| path.ends_with("HEAD")).zip(path.parent()) {
        let (git, target) = (format!("git --git-dir={}", word(git_dir)), word(&target));
        return Error::new(Code::RepositoryBroken, message).hint(format!(
            "{git} config core.preferSymlinkRefs false && {git} symbolic-ref HEAD {target}"
        ));
    }
    let aside = path.file_name().unwrap_or_default().to_string_lossy();
    // Not among the refs, where it would be found again.
    let git_dir = path.ancestors().skip(1).find(|above| above.join("objects").is_dir());
    let beside = git_dir.or(path.parent()).unwrap_or(path).join(format!("{aside}.odd"));
    let (from, to) = (word(path), word(&beside));
    Error::new(Code::RepositoryBroken, message).hint(format!("mv {from} {to}   # puts it aside"))
}

/// Returns why git cannot use the git directory of a clone of ours, as the end of a sentence that begins with its path;
/// `None` where it can. Of files that are not as git makes them, [`require`] says more; of a branch or an index that
/// cannot be read, the error has the command that repairs it.
pub fn damage(git_dir: &Path) -> Option<&'static str> {
    let Ok(metadata) = fs::metadata(git_dir) else {
        return Some("is gone");
    };
    if !metadata.is_dir() {
        return Some("is not a directory");
    }
    for (name, damage) in [("objects", "has no objects"), ("refs", "has no refs")] {
        if !git_dir.join(name).is_dir() {
            return Some(damage);
        }
    }
    let is_odd =
        |name| fs::symlink_metadata(git_dir.join(name)).is_ok_and(|entry| !entry.is_file());
    let head = plain_file::read(git_dir.join("HEAD"));
    if !is_odd("HEAD") && !head.is_ok_and(|head| names_a_commit(&head)) {
        return Some("has no valid HEAD");
    }
    let config = plain_file::read(git_dir.join("config"));
    if !is_odd("config") && !config.is_ok_and(|config| !config.is_empty() && is_config(&config)) {
        return Some("has no valid config");
    }
    let packed = plain_file::find_own(git_dir.join("packed-refs"));
    if !is_odd("packed-refs")
        && !packed.is_ok_and(|packed| packed.is_none_or(|content| are_refs(&content)))
    {
        return Some("has no valid packed-refs");
    }
    None
}

/// What a git directory has beside files, as far as it can be read.
pub struct GitDirContent {
    /// The number of its stashes.
    pub stashes: usize,
    /// The operation in progress, with its article.
    pub operation: Option<&'static str>,
    /// Its branches, at the last commit of their logs.
    pub branches: Vec<FoundRef>,
    /// Its tags that are not packed.
    pub tags: Vec<FoundRef>,
    /// Its linked worktrees.
    pub worktrees: Vec<LinkedWorktree>,
}

/// A linked worktree of a git directory.
pub struct LinkedWorktree {
    /// Its root.
    pub path: PathBuf,
    /// The branch it is on.
    pub branch: Option<RefName>,
}

/// Reads what a git directory has that git cannot use.
pub fn remains(git_dir: &Path) -> GitDirContent {
    let operations = [
        ("MERGE_HEAD", "a merge"),
        ("rebase-merge", "a rebase"),
        ("rebase-apply", "a rebase"),
        ("CHERRY_PICK_HEAD", "a cherry-pick"),
        ("REVERT_HEAD", "a revert"),
        ("BISECT_LOG", "a bisect"),
    ];
    let mut open = operations.into_iter().filter(|(file, _)| git_dir.join(file).exists());
    let logged = |name: RefName| {
        let last = reflog_in(git_dir, &name).into_iter().rev().find_map(|entry| entry.new);
        last.map(|id| FoundRef { name, id })
    };
    let loose = |name: RefName| {
        let text = plain_file::read_text(name.under(git_dir)).ok()?;
        Oid::parse(text.trim()).map(|id| FoundRef { name, id })
    };
    GitDirContent {
        stashes: reflog_in(git_dir, &RefName::from("refs/stash")).len(),
        operation: open.next().map(|(_, operation)| operation),
        branches: names_below(&git_dir.join("logs"), "refs/heads")
            .into_iter()
            .filter_map(logged)
            .collect(),
        tags: names_below(git_dir, "refs/tags").into_iter().filter_map(loose).collect(),
        worktrees: worktrees(git_dir),
    }
}

/// Lists the linked worktrees of a git directory.
pub fn worktrees(git_dir: &Path) -> Vec<LinkedWorktree> {
    let folders = fs::read_dir(git_dir.join("worktrees")).into_iter().flatten().flatten();
    let read = |folder: fs::DirEntry| {
        let link = plain_file::read_text(folder.path().join("gitdir")).ok()?;
        let path = Path::new(link.trim()).parent()?.to_owned();
        Some(LinkedWorktree { path, branch: branch_of(&folder.path()) })
    };
    folders.filter_map(read).collect()
}

/// Returns the branch that HEAD of a git directory names.
pub fn branch_of(git_dir: &Path) -> Option<RefName> {
    let head = plain_file::read(git_dir.join("HEAD")).ok()?;
    let name = RefName::new(head.trim_ascii().strip_prefix(b"ref:")?.trim_ascii_start());
    (name.as_bytes().starts_with(b"refs/heads/") && name.is_valid()).then_some(name)
}

/// Lists the files below a folder, as names of refs.
fn names_below(root: &Path, folder: &str) -> Vec<RefName> {
    let (mut names, mut open) = (Vec::new(), vec![(PathBuf::from(folder), 0)]);
    while let Some((below, depth)) = open.pop() {
        for entry in fs::read_dir(root.join(&below)).into_iter().flatten().flatten() {
            let path = below.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => open.push((path, depth + 1)),
                Ok(kind) if kind.is_file() => names.push(RefName::new(path.as_os_str().as_bytes())),
                _ => {}
            }
        }
    }
    names.sort();
    names
}

/// Returns `true` for lines as git writes them into packed-refs: comments, refs with ids, and what a tag points to.
fn are_refs(packed: &[u8]) -> bool {
    let lines = packed.strip_suffix(b"\n").map(|lines| lines.split(|byte| *byte == b'\n'));
    let is_id = |id: &[u8]| matches!(id.len(), 40 | 64) && id.iter().all(u8::is_ascii_hexdigit);
    let is_line = |line: &[u8]| match line.first() {
        Some(b'#') => true,
        Some(b'^') => line.get(1..).is_some_and(is_id),
        _ => {
            let at = line.iter().position(|byte| *byte == b' ').unwrap_or(0);
            let (id, name) = line.split_at_checked(at).unwrap_or_default();
            is_id(id) && name.starts_with(b" refs/")
        }
    };
    packed.is_empty() || lines.is_some_and(|mut lines| lines.all(is_line))
}

/// Returns `true` for a ref or an object id, as git requires it of a HEAD.
fn names_a_commit(head: &[u8]) -> bool {
    let head = head.trim_ascii();
    match head.strip_prefix(b"ref:") {
        Some(name) => {
            let name = name.trim_ascii_start();
            name.starts_with(b"refs/") && RefName::new(name).is_valid()
        }
        None => matches!(head.len(), 40 | 64) && head.iter().all(u8::is_ascii_hexdigit),
    }
}

fn is_config(bytes: &[u8]) -> bool {
    parsed(bytes).is_some()
}

fn parsed(bytes: &[u8]) -> Option<gix::config::File> {
    let own = gix::config::file::Metadata::api();
    let options = gix::config::file::init::Options::default();
    gix::config::File::from_bytes_no_includes(bytes, own, options).ok()
}

/// The extensions of a repository that git knows, beside that of how refs are stored.
const EXTENSIONS: [&str; 7] = [
    "noop",
    "preciousobjects",
    "partialclone",
    "worktreeconfig",
    "objectformat",
    "compatobjectformat",
    "relativeworktrees",
];

/// Returns `true` if the working tree is not around the git directory.
fn leads_elsewhere(git_dir: &Path, config: &gix::config::File) -> bool {
    let named = config.string("core.worktree").map(|path| git_dir.join(path.to_string()));
    named.is_some_and(|named| named.canonicalize().ok().as_deref() != git_dir.parent())
}

/// Returns a setting of a git directory with which git does not work in the directory around it, and the arguments of
/// `git config` that correct it.
pub fn refused_setting(git_dir: &Path) -> Option<(String, String)> {
    let config = parsed(&plain_file::read(git_dir.join("config")).ok()?)?;
    let version = config.integer("core.repositoryFormatVersion").ok().flatten();
    let extensions = config.sections_by_name("extensions").into_iter().flatten();
    let names: Vec<String> = extensions
        .flat_map(|section| section.body().value_names().collect::<Vec<_>>())
        .map(|name| name.to_ascii_lowercase())
        .collect();
    let unknown = names.iter().find(|name| !EXTENSIONS.contains(&name.as_str()));
    let needs_version = names.iter().any(|name| name == "objectformat");
    let (key, value) = match version.unwrap_or(0) {
        _ if config.boolean("core.bare").ok().flatten() == Some(true) => {
            ("core.bare".to_owned(), "false")
        }
        _ if leads_elsewhere(git_dir, &config) => ("core.worktree".to_owned(), ""),
        0 if needs_version => ("core.repositoryFormatVersion".to_owned(), "1"),
        0 | 1 => (format!("extensions.{}", unknown.filter(|_| version == Some(1))?), ""),
        _ if needs_version => ("core.repositoryFormatVersion".to_owned(), "1"),
        _ => ("core.repositoryFormatVersion".to_owned(), "0"),
    };
    let arguments =
        if value.is_empty() { format!("--unset {key}") } else { format!("{key} {value}") };
    Some((key, arguments))
}
