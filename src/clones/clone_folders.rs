//! The folders of clones below the shared root, and the records in them.

use std::path::{Path, PathBuf};

use crate::git::{git_directory, plain_file};
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
    let is_usable = !is_agent || lost_git_dir(&git_dir).is_none();
    (is_usable && !member.is_misplaced_at(place)).then_some(member)
}

/// Returns why the git directory of a clone has to be made again; `None` where git works there.
pub fn lost_git_dir(git_dir: &Path) -> Option<&'static str> {
    let damage = git_directory::damage(git_dir);
    damage.or_else(|| {
        let is_lost = hub_of(git_dir).is_none() && !has_all_objects(git_dir);
        is_lost.then_some("borrows from no hub")
    })
}

/// Returns `true` for a clone of ours that may have copied what it borrowed, as by `git repack -a`.
fn has_all_objects(git_dir: &Path) -> bool {
    let entries = std::fs::read_dir(git_dir.join("objects/pack")).into_iter().flatten().flatten();
    let mut packs =
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack"));
    membership::path_in(git_dir).exists() && packs.next().is_some()
}

/// Reads the hub of a clone from its alternates: a folder `<name>.git` in one of hubs.
pub(super) fn hub_of(git_dir: &Path) -> Option<PathBuf> {
    let alternates = git_dir.join("objects/info/alternates");
    let lines = String::from_utf8(plain_file::read(&alternates).ok()?).ok()?;
    let hubs = lines
        .lines()
        .filter_map(|line| Path::new(line).parent().filter(|_| line.ends_with("/objects")));
    let is_hub = |hub: &&Path| {
        hub.extension().is_some_and(|end| end == "git")
            && hub.parent().is_some_and(|above| above.ends_with("hubs"))
    };
    hubs.filter(is_hub).map(Path::to_owned).next()
}
