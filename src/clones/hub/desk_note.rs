//! Notes in the hub which git directory belongs to the id of a user's checkout: its path and its identity.
//!
//! A copy of a checkout has the record of the original, and with it its id; another repository may later be
//! at the same path. The notes keep one from passing for the other.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::git::plain_file;
use crate::model::text::shell_word;
use crate::model::{Code, Result, ResultExt as _, World};
use crate::store::files::atomic;
use crate::store::lock::FileIdentity;
use crate::store::membership::{Membership, Role};

/// The git directory of a checkout, in `<hub>/colony-desks/<id>.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DeskNote {
    /// Its last known path.
    git_dir: PathBuf,
    /// The identity of the folder.
    #[serde(flatten)]
    identity: FileIdentity,
}

impl DeskNote {
    fn of(git_dir: &Path) -> Option<DeskNote> {
        Some(DeskNote { git_dir: git_dir.to_owned(), identity: FileIdentity::of(git_dir)? })
    }

    fn read(path: &Path) -> Option<DeskNote> {
        serde_json::from_slice(&plain_file::read(path).ok()?).ok()
    }

    /// Returns `true` if the folder is still there.
    fn exists(&self) -> bool {
        FileIdentity::of(&self.git_dir) == Some(self.identity)
    }
}

/// Records that a user's checkout is the one with its id. A copy of an existing checkout gets an id of its
/// own, with a message. Returns its record.
pub(in crate::clones) fn settle(
    world: &World,
    repo: &Repo,
    member: &Membership,
) -> Result<Membership> {
    let Some(here) = DeskNote::of(repo.common_dir()).filter(|_| member.role == Role::Desk) else {
        return Ok(member.clone());
    };
    let known = DeskNote::read(&path_in(&member.hub, &member.id));
    if known.as_ref() == Some(&here) {
        return Ok(member.clone());
    }
    let mut member = member.clone();
    let other = known.filter(|known| known.identity != here.identity && known.exists());
    if let Some(other) = other {
        member.id = format!("{:016x}", (world.entropy)());
        (world.narrate)(&format!(
            "this is a copy of the checkout with '{}': it has an id of its own now",
            other.git_dir.display()
        ));
        member.write(repo.common_dir())?;
    }
    let path = path_in(&member.hub, &member.id);
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    let json = serde_json::to_vec_pretty(&here)
        .or_code(Code::Io, || "cannot record the id of this checkout")?;
    atomic::write_quickly(&path, &json)?;
    Ok(member)
}

/// Returns `true` if the hub of a checkout has seen it.
pub(in crate::clones) fn is_known(member: &Membership) -> bool {
    path_in(&member.hub, &member.id).exists()
}

/// Returns `true` if a hub that is named after the path of a repository was made for an earlier repository at
/// that path; `git_dir` is the current one. Without a note, nothing is known.
pub(in crate::clones) fn is_of_another(hub: &Path, git_dir: &Path) -> bool {
    let here = FileIdentity::of(git_dir);
    let entries = fs::read_dir(folder_in(hub)).into_iter().flatten().flatten();
    let mut notes = entries.filter_map(|entry| DeskNote::read(&entry.path())).peekable();
    notes.peek().is_some() && notes.all(|note| Some(note.identity) != here)
}

/// Returns the id that a checkout had in a hub before its record was deleted.
pub(in crate::clones) fn id_of(hub: &Path, git_dir: &Path) -> Option<String> {
    let here = DeskNote::of(git_dir)?;
    let entries = fs::read_dir(folder_in(hub)).into_iter().flatten().flatten();
    let mut notes =
        entries.map(|entry| entry.path()).filter(|path| DeskNote::read(path) == Some(here.clone()));
    let id = notes.next()?.file_stem()?.to_str()?.to_owned();
    (id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

/// Returns `true` if the checkout with an id is another one than that with this git directory: this is a copy of it.
pub fn is_copy(member: &Membership, git_dir: &Path) -> bool {
    let known = DeskNote::read(&path_in(&member.hub, &member.id));
    let here = FileIdentity::of(git_dir);
    known.is_some_and(|known| Some(known.identity) != here && known.exists())
}

/// Deletes the note of a checkout that leaves the colony.
pub(in crate::clones) fn forget(hub: &Path, id: &str) -> Result<()> {
    atomic::remove_file(&path_in(hub, id))
}

/// Lists the git directories of the users' checkouts that share a hub and are at their last known paths, by
/// path.
pub fn standing(hub: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder_in(hub)).into_iter().flatten().flatten();
    let notes = entries.filter_map(|entry| DeskNote::read(&entry.path()));
    let standing = notes.filter(DeskNote::exists);
    let mut folders: Vec<_> = standing.map(|note| note.git_dir).collect();
    folders.sort();
    folders
}

/// Returns the option with which a command outside of a repository runs in a checkout of that of a hub, and a space; nothing
/// where none is known.
pub fn way_in(hub: &Path) -> String {
    let mut known = standing(hub).into_iter().filter(|git_dir| git_dir.ends_with(".git"));
    let folder = known.find_map(|git_dir| git_dir.parent().map(Path::to_owned));
    folder.map_or_else(String::new, |path| format!("-C {} ", shell_word(&path.to_string_lossy())))
}

fn folder_in(hub: &Path) -> PathBuf {
    hub.join("colony-desks")
}

fn path_in(hub: &Path, id: &str) -> PathBuf {
    folder_in(hub).join(format!("{id}.json"))
}
