//! Finds the clones of a hub on the disk, without a list.

use std::path::{Path, PathBuf};

use crate::model::{Code, Error, Result};
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::{Membership, Role};

use super::clone_folders::{folders, membership_at};
use super::damaged;

/// A clone of ours.
#[derive(Clone, Debug)]
pub struct FoundClone {
    /// Its working tree.
    pub path: PathBuf,
    /// Its record.
    pub member: Membership,
}

impl FoundClone {
    /// Returns its git directory.
    pub fn git_dir(&self) -> PathBuf {
        self.path.join(".git")
    }
}

/// Lists the clones below the shared root, of one hub or of all: first those of agents, then the others, by
/// name.
pub fn clones(root: &SharedRoot, hub: Option<&Path>) -> Vec<FoundClone> {
    let agents = folders(&root.agents());
    let places = agents
        .iter()
        .flat_map(|agent| folders(&agent.join("clones")))
        .chain(folders(&root.shared_clones()));
    let clones = places.filter_map(|path| {
        let member = membership_at(&path)?;
        let wanted = hub.is_none_or(|hub| member.hub == hub);
        (wanted && member.role != Role::Desk).then_some(FoundClone { path, member })
    });
    clones.collect()
}

/// Returns `true` if a clone borrows from a hub, even one whose record cannot be read.
pub fn are_of(root: &SharedRoot, hub: &Path) -> bool {
    !clones(root, Some(hub)).is_empty() || !damaged::clones(root, Some(hub)).is_empty()
}

/// Finds a clone, of one hub or of all, by its id or the beginning of it, its agent, or its path.
pub fn find(root: &SharedRoot, hub: Option<&Path>, name: &str) -> Result<FoundClone> {
    let all = clones(root, hub);
    let exact = |clone: &&FoundClone| {
        clone.member.agent.as_deref() == Some(name) || clone.path.as_path() == Path::new(name)
    };
    let mut fitting: Vec<_> = all.iter().filter(exact).collect();
    if fitting.is_empty() && name.len() >= 4 {
        let begins = |clone: &&FoundClone| clone.member.id.starts_with(name);
        fitting = all.iter().filter(begins).collect();
    }
    match fitting.as_slice() {
        [clone] => Ok((*clone).clone()),
        [] => Err(damaged::named(root, hub, name).unwrap_or_else(|| {
            Error::new(
                Code::CloneNotFound,
                match hub {
                    Some(_) => format!("no agent or clone of this repository is named '{name}'"),
                    None => format!("no agent or clone is named '{name}'"),
                },
            )
            .hint("git colony clones")
        })),
        many => {
            let ids: Vec<_> = many.iter().map(|clone| clone.member.id.as_str()).collect();
            Err(Error::new(
                Code::NameAmbiguous,
                format!("'{name}' has {} clones: name one by its id", many.len()),
            )
            .detail("ids", ids)
            .hint("git colony clones"))
        }
    }
}
