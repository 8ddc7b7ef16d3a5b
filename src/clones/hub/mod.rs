//! The hub: one bare repository per repository and user, whose objects all clones borrow.
//!
//! It never deletes an object (`extensions.preciousObjects`), so that no clone loses an object it borrows. It
//! is created in a folder beside its path and renamed when it is complete.

pub mod colonies;
pub mod desk_note;
pub mod gather;
mod hub_creation;
pub mod hub_folder;
mod hub_rebuild;
pub mod hub_remote;
pub mod joining;
pub mod kept_refs;
pub mod locate;
mod lost_refs;
pub mod maintenance;
pub(super) mod maker_note;
pub mod object_copies;
pub mod publish;
mod settled;
pub mod shared_refs;
pub mod tag_list;

use std::path::Path;

use crate::git::refs::{FoundRef, lost_race, usual_default_branches};
use crate::git::remote::network::Network;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{BareRepo, Oid, RefChange, RefName, durable};
use crate::model::{Code, Error, Result, World};
use crate::store::refs::own_refs;

use hub_folder::MOVED_ASIDE;

/// The refspec for the branches of the remote.
const REMOTE_BRANCHES: &str = "+refs/heads/*:refs/remotes/origin/*";

/// The refspec for the checkpoints that users have published there.
pub(super) const REMOTE_CHECKPOINTS: &str = "+refs/colony/checkpoints/*:refs/colony/checkpoints/*";

/// An open hub.
pub struct Hub {
    /// The repository.
    pub store: BareRepo,
}

impl Hub {
    /// Opens the hub at `path`.
    pub fn open(path: &Path) -> Result<Hub> {
        if !path.is_dir() {
            let hint = if path.with_extension(MOVED_ASIDE).is_dir() {
                "git colony clones gc   # restores what an interrupted one moved aside"
            } else {
                "git colony agents new NAME   # rebuilds it; a restored backup is better"
            };
            return Err(Error::new(
                Code::HubMissing,
                format!("the hub '{}' is gone", path.display()),
            )
            .hint(hint));
        }
        Ok(Hub { store: BareRepo::open(path)? })
    }

    /// Returns the branches of the remote as last fetched: short names and tips.
    pub fn remote_branches(&self) -> Result<Vec<FoundRef>> {
        self.store.refs_below("refs/remotes/origin/")
    }

    /// Fetches branches and tags of the remote.
    pub fn fetch(&self, world: &World) -> Result<()> {
        let what = ["--prune", "origin", REMOTE_BRANCHES, REMOTE_CHECKPOINTS];
        self.fetch_refs(world, &what, "bring the hub up to date")
    }

    /// Fetches from the remote, which must be configured.
    pub(super) fn fetch_refs(&self, world: &World, args: &[&str], wanted: &str) -> Result<()> {
        let url = self.store.config("remote.origin.url").unwrap_or_default();
        let url = RemoteUrl::parse(&url, Provenance::User, self.store.path())?;
        own_refs::in_hub(world, self.store.path(), |lock| {
            let mut network = Network::new(world, self.store.git(world), Some(&url))?;
            durable::store_durably(network.git());
            let git = network.git().keep_open(lock)?;
            git.args(["fetch", "-q", "--no-write-fetch-head", "--no-auto-maintenance"]);
            git.args(args);
            network.run_checked(wanted).map(drop)
        })
    }

    /// Moves refs in one transaction; deletes locks of a killed git.
    pub fn move_refs(&self, world: &World, changes: &[RefChange]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        own_refs::in_hub(world, self.store.path(), |lock| {
            self.store.move_refs_under(world, changes, lock)
        })
    }

    /// Deletes the current refs below a prefix. Other processes may do the same at the same time; refs that
    /// are created or moved meanwhile stay.
    pub fn delete_refs_below(&self, world: &World, prefix: &str) -> Result<()> {
        let wanted = self.store.refs_below(prefix)?;
        lost_race::retried(|| {
            let there = self.store.refs_below(prefix)?;
            let is_there = |reference: &&FoundRef| {
                let mut there = there.iter();
                there.any(|now| (&now.name, now.id) == (&reference.name, reference.id))
            };
            let changes = wanted.iter().filter(is_there).map(|reference| RefChange {
                name: reference.name.clone(),
                old: Some(reference.id),
                new: None,
            });
            self.move_refs(world, &changes.collect::<Vec<_>>())
        })
    }

    /// Returns `true` if the repository has a remote.
    pub fn has_remote(&self) -> bool {
        self.store.config("remote.origin.url").is_some()
    }

    /// Returns the branch that HEAD of the remote names, or a usual one.
    pub fn default_branch(&self) -> Result<String> {
        let head = RefName::from("refs/remotes/origin/HEAD");
        let of_remote = self.store.symbolic_target(&head);
        let configured = self.store.config("init.defaultBranch");
        for branch in usual_default_branches(of_remote, configured) {
            if self.find_ref(&format!("refs/remotes/origin/{branch}"))?.is_some() {
                return Ok(branch);
            }
        }
        Err(Error::new(Code::RevisionNotFound, "the remote has no branch to start on")
            .unchanged()
            .hint("git colony clones new URL --branch BRANCH"))
    }

    /// Returns the commit of a ref of the hub.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        self.store.find_ref(&RefName::from(name))
    }
}
