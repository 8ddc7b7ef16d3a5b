//! The folders of clones below the shared root, and the records in them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::git::quoted_path::alternates_of;
use crate::git::{BareRepo, git_directory, plain_file};
use crate::model::Error;
use crate::model::text::shell_word;
use crate::store::key;
use crate::store::membership::{self, Membership, Role};

/// Lists the subfolders with encoded names.
pub(super) fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| key::decode(name).is_some()) && path.is_dir()
        })
        .collect();
    folders.sort();
    folders
}

/// Reads the record of the clone at `place`, if it exists and is its own, and git works there.
pub fn membership_at(place: &Path) -> Option<Membership> {
    let git_dir = place.join(".git");
    let member = Membership::read(&membership::path_in(&git_dir)).ok().flatten()?;
    let is_agent = member.role == Role::Agent;
    let is_usable = !is_agent || (lost_git_dir(&git_dir).is_none() && fault_of(&git_dir).is_none());
    (is_usable && !member.is_misplaced_at(place)).then_some(member)
}

/// Returns why the git directory of a clone has to be made again; `None` where git works there.
pub fn lost_git_dir(git_dir: &Path) -> Option<&'static str> {
    if moved_git_dir(git_dir).is_some() {
        return None;
    }
    if git_dir.is_symlink() {
        return Some("is a symlink to another repository");
    }
    let damage = git_directory::damage(git_dir);
    damage.or_else(|| {
        let is_lost = hub_of(git_dir).is_none() && !has_all_objects(git_dir);
        is_lost.then_some("borrows from no hub")
    })
}

/// What one command repairs in a clone of ours.
pub(super) struct Fault {
    /// The fault, as a sentence.
    pub(super) reason: String,
    /// The command.
    pub(super) command: String,
    /// The git directory, wherever it is.
    pub(super) git_dir: PathBuf,
}

/// Finds what keeps git from working in a clone, where its git directory itself is whole.
pub(super) fn fault_of(git_dir: &Path) -> Option<Fault> {
    let word = |path: &Path| shell_word(&path.to_string_lossy());
    if let Some(moved) = moved_git_dir(git_dir) {
        let (at, from) = (word(git_dir), word(&moved));
        return Some(Fault {
            reason: "its git directory is not at '.git'".to_owned(),
            command: format!("rm {at} && mv {from} {at}   # its place in a clone"),
            git_dir: moved,
        });
    }
    let (key, arguments) = git_directory::refused_setting(git_dir)?;
    let config = word(&git_dir.join("config"));
    membership::path_in(git_dir).exists().then(|| Fault {
        reason: format!("git does not work there because of the setting '{key}'"),
        command: format!("git config --file {config} {arguments}"),
        git_dir: git_dir.to_owned(),
    })
}

/// Returns where the git directory of a clone of ours is which has a file or a symlink in place of it, as
/// `git init --separate-git-dir` leaves it: a removal renames the folder only.
fn moved_git_dir(git_dir: &Path) -> Option<PathBuf> {
    let place = git_dir.parent()?;
    let named = if let Ok(target) = git_dir.read_link() {
        target
    } else {
        let bytes = plain_file::read(git_dir).ok()?;
        OsStr::from_bytes(bytes.strip_prefix(b"gitdir:")?.trim_ascii()).into()
    };
    let moved = place.join(named).canonicalize().ok()?;
    let member = Membership::read(&membership::path_in(&moved)).ok().flatten()?;
    (!member.is_misplaced_at(place)).then_some(moved)
}

/// Returns `true` for a clone of ours that has copied what it borrowed, as by `git repack -a`: a clone begins with a commit
/// of its hub, so each has a ref to an object that it has not made.
fn has_all_objects(git_dir: &Path) -> bool {
    let has_all = || {
        let repo = BareRepo::open(git_dir)?;
        Ok::<_, Error>(repo.refs_below("refs/")?.iter().all(|reference| repo.has(reference.id)))
    };
    membership::path_in(git_dir).exists() && has_all().unwrap_or(false)
}

/// Reads the hub of a clone from its alternates: a folder `<name>.git` in one of hubs.
pub(super) fn hub_of(git_dir: &Path) -> Option<PathBuf> {
    let is_hub = |hub: &PathBuf| {
        hub.extension().is_some_and(|end| end == "git")
            && hub.parent().is_some_and(|above| above.ends_with("hubs"))
    };
    let objects = alternates_of(&git_dir.join("objects"))
        .into_iter()
        .filter(|path| path.ends_with("objects"));
    objects.filter_map(|path| path.parent().map(Path::to_owned)).find(is_hub)
}
