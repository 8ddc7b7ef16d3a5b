//! Which checkout of a person an id in the hub stands for, and which repository a path stood for: the hub notes
//! the git directory, where it is and which one.
//!
//! A copy of a checkout has the record of the first, and with it its id; another repository may come to stand
//! where one was before. Neither may go for the other.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::Repo;
use crate::model::{Code, Result, ResultExt as _, World};
use crate::store::files::atomic;
use crate::store::lock::FileIdentity;
use crate::store::membership::{Membership, Role};

/// The git directory of a checkout, in `<hub>/colony-desks/<id>.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct DeskNote {
    /// Where it was when it was last heard of.
    git_dir: PathBuf,
    /// Which folder it is.
    #[serde(flatten)]
    identity: FileIdentity,
}

impl DeskNote {
    fn of(git_dir: &Path) -> Option<DeskNote> {
        Some(DeskNote {
            git_dir: git_dir.to_owned(),
            identity: FileIdentity::of(git_dir)?,
        })
    }

    fn read(path: &Path) -> Option<DeskNote> {
        serde_json::from_slice(&atomic::read_file(path).ok()?).ok()
    }

    /// Tells whether the folder is still there.
    fn stands(&self) -> bool {
        FileIdentity::of(&self.git_dir) == Some(self.identity)
    }
}

/// Notes that a checkout of a person is the one of its id; a copy of the one that is gets an id of its own,
/// and that is said. Returns its record.
///
/// # Errors
/// `no-space`, `io`.
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
    let other = known.filter(|known| known.identity != here.identity && known.stands());
    if let Some(other) = other {
        member.id = format!("{:016x}", (world.entropy)());
        (world.narrate)(&format!(
            "this is a copy of the checkout with '{}': from here on it has an id of its own among the others",
            other.git_dir.display()
        ));
        member.write(repo.common_dir())?;
    }
    let path = path_in(&member.hub, &member.id);
    if let Some(folder) = path.parent() {
        atomic::make_directory(folder)?;
    }
    let json = serde_json::to_vec_pretty(&here);
    let json = json.or_code(Code::Io, || "cannot note which checkout this is")?;
    atomic::write_quickly(&path, &json)?;
    Ok(member)
}

/// Tells whether a hub that is known by the path of a repository was made for another one, which stood there
/// before: `git_dir` is the one that stands there now. Without a note nothing is known.
pub(in crate::clones) fn is_of_another(hub: &Path, git_dir: &Path) -> bool {
    let here = FileIdentity::of(git_dir);
    let entries = fs::read_dir(folder_in(hub)).into_iter().flatten().flatten();
    let mut notes = entries
        .filter_map(|entry| DeskNote::read(&entry.path()))
        .peekable();
    notes.peek().is_some() && notes.all(|note| Some(note.identity) != here)
}

/// Forgets a checkout that takes part no more.
///
/// # Errors
/// `io`.
pub(in crate::clones) fn forget(hub: &Path, id: &str) -> Result<()> {
    atomic::remove_file(&path_in(hub, id))
}

/// Lists the git directories of the checkouts of people that take part in a hub and stand where they were
/// last heard of, by path.
pub fn standing(hub: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder_in(hub)).into_iter().flatten().flatten();
    let notes = entries.filter_map(|entry| DeskNote::read(&entry.path()));
    let standing = notes.filter(DeskNote::stands);
    let mut folders: Vec<_> = standing.map(|note| note.git_dir).collect();
    folders.sort();
    folders
}

fn folder_in(hub: &Path) -> PathBuf {
    hub.join("colony-desks")
}

fn path_in(hub: &Path, id: &str) -> PathBuf {
    folder_in(hub).join(format!("{id}.json"))
}
