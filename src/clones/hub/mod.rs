//! The hub: one bare repository per repository and user, whose objects all clones borrow.
//!
//! It never drops an object (`extensions.preciousObjects`), so that no clone loses what it borrows. It
//! is made in a folder beside its place and renamed when it is whole.

pub mod colonies;
pub mod desk_note;
pub mod gather;
mod hub_creation;
pub mod hub_folder;
mod hub_rebuild;
pub mod maintenance;
pub mod publish;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::refs::{FoundRef, usual_default_branches};
use crate::git::remote::network::Network;
use crate::git::remote::url::{Provenance, RemoteUrl};
use crate::git::{BareRepo, Oid, RefChange, RefName};
use crate::model::{Code, Error, Result, World, time};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lock::FileIdentity;
use crate::store::membership::{Membership, Role};
use crate::store::refs::{own_refs, ref_names};

use super::found;
use super::removal::removal_steps;
use super::removal::removed_log::{self, Amount};
use hub_creation::{make_from_repository, make_from_url};
use hub_folder::{Place, SET_ASIDE};

/// How often refs are deleted anew because somebody else moved one meanwhile.
const TRIES: usize = 20;

/// What a hub fetches of the branches of the remote.
const REMOTE_BRANCHES: &str = "+refs/heads/*:refs/remotes/origin/*";

/// What it fetches of the checkpoints that people have published there.
pub(super) const REMOTE_CHECKPOINTS: &str = "+refs/colony/checkpoints/*:refs/colony/checkpoints/*";

/// A hub, open.
pub struct Hub {
    /// The repository.
    pub store: BareRepo,
}

impl Hub {
    /// Opens the hub at `path`.
    ///
    /// # Errors
    /// `hub-missing`, `repository-broken`.
    pub fn open(path: &Path) -> Result<Hub> {
        if !path.is_dir() {
            let hint = if path.with_extension(SET_ASIDE).is_dir() {
                "git colony clones gc   # brings back what an interrupted one has set aside"
            } else {
                "git colony agents new NAME   # makes it anew, from the checkout of a person; better is \
                 the folder from a backup: clones borrow their objects from it"
            };
            return Err(Error::new(
                Code::HubMissing,
                format!("the hub '{}' is gone; nothing has changed", path.display()),
            )
            .hint(hint));
        }
        Ok(Hub {
            store: BareRepo::open(path)?,
        })
    }

    /// Finds the hub that a repository belongs to, or makes it from the repository itself.
    ///
    /// # Errors
    /// `unsupported` for a shallow or partial repository, `locked`, `git-failed`, `no-space`.
    pub fn of_repository(session: &Session, root: &SharedRoot) -> Result<Hub> {
        let place = place_here(session, root)?;
        place.require(session, || make_from_repository(session, &place.new))?;
        Hub::open(&place.path)
    }

    /// Finds the hub of a repository elsewhere, or makes it from there.
    ///
    /// # Errors
    /// `locked`, `git-failed` and what the network says, `no-space`.
    pub fn of_url(
        world: &World,
        timeout: Option<Duration>,
        root: &SharedRoot,
        url: &RemoteUrl,
    ) -> Result<Hub> {
        let place = Place::of(root, &url.normalized());
        place.require_in(world, timeout, || make_from_url(world, url, &place.new))?;
        Hub::open(&place.path)
    }

    /// Returns the branches of the remote as they were last fetched: short names and tips.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn remote_branches(&self) -> Result<Vec<FoundRef>> {
        self.store.refs_below("refs/remotes/origin/")
    }

    /// Brings branches and tags of the remote up to date.
    ///
    /// # Errors
    /// What the network says; `url-refused`, `locked`.
    pub fn fetch(&self, world: &World) -> Result<()> {
        let what = ["--prune", "origin", REMOTE_BRANCHES, REMOTE_CHECKPOINTS];
        self.fetch_refs(world, &what, "bring the hub up to date")
    }

    /// Fetches from the remote, which has to be configured.
    pub(super) fn fetch_refs(&self, world: &World, args: &[&str], wanted: &str) -> Result<()> {
        let url = self.store.config("remote.origin.url").unwrap_or_default();
        let url = RemoteUrl::parse(&url, Provenance::User, self.store.path())?;
        own_refs::in_hub(world, self.store.path(), |lock| {
            let mut network = Network::new(world, self.store.git(world), Some(&url))?;
            let git = network.git().keep_open(lock)?;
            git.args([
                "fetch",
                "-q",
                "--no-write-fetch-head",
                "--no-auto-maintenance",
            ]);
            git.args(args);
            network.run_checked(wanted).map(drop)
        })
    }

    /// Moves refs in one transaction; what a killed git has left locked is no obstacle.
    ///
    /// # Errors
    /// `ref-moved` when one is not at its old value, `locked`.
    pub fn move_refs(&self, world: &World, changes: &[RefChange]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        own_refs::in_hub(world, self.store.path(), |lock| {
            self.store.move_refs_under(world, changes, lock)
        })
    }

    /// Deletes the refs that are below a prefix now. Others may do the same at the same time; what is made or
    /// moved meanwhile stays.
    ///
    /// # Errors
    /// `locked`, `repository-broken`.
    pub fn delete_refs_below(&self, world: &World, prefix: &str) -> Result<()> {
        let mut gone = self.store.refs_below(prefix)?;
        let mut tries = 1;
        loop {
            let changes = gone.iter().map(|found| RefChange {
                name: found.name.clone(),
                old: Some(found.id),
                new: None,
            });
            match self.move_refs(world, &changes.collect::<Vec<_>>()) {
                Err(e) if matches!(e.code(), Code::RefMoved | Code::Locked) && tries < TRIES => {
                    tries += 1;
                    let there = self.store.refs_below(prefix)?;
                    let is_there = |found: &FoundRef| {
                        there
                            .iter()
                            .any(|now| (&now.name, now.id) == (&found.name, found.id))
                    };
                    gone.retain(is_there);
                }
                done => return done,
            }
        }
    }

    /// Tells whether the repository has a remote.
    pub fn has_remote(&self) -> bool {
        self.store.config("remote.origin.url").is_some()
    }

    /// Returns the branch that the remote calls its HEAD, or the usual one.
    ///
    /// # Errors
    /// `revision-not-found`, `repository-broken`.
    pub fn default_branch(&self) -> Result<String> {
        let head = RefName::from("refs/remotes/origin/HEAD");
        let of_remote = self.store.symbolic_target(&head);
        let configured = self.store.config("init.defaultBranch");
        for branch in usual_default_branches(of_remote, configured) {
            if self
                .find_ref(&format!("refs/remotes/origin/{branch}"))?
                .is_some()
            {
                return Ok(branch);
            }
        }
        Err(Error::new(
            Code::RevisionNotFound,
            "the remote has no branch to begin on; nothing has changed",
        )
        .hint("git colony clone URL --branch BRANCH"))
    }

    /// Tells whether it holds work of clones that were removed, or a log of theirs.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn holds_kept_work(&self) -> Result<bool> {
        let holds_refs = !self.store.refs_below(ref_names::KEPT_WORK)?.is_empty();
        Ok(holds_refs || removed_log::amount(self)? != Amount::default())
    }

    /// Returns the commit that a ref of the hub holds.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn find_ref(&self, name: &str) -> Result<Option<Oid>> {
        self.store.find_ref(&RefName::from(name))
    }
}

/// Returns what a repository is known by: its origin, else its own path.
///
/// # Errors
/// `url-refused`.
pub fn address_of(session: &Session) -> Result<String> {
    match origin_of(session)? {
        Some(url) => Ok(url.normalized()),
        None => Ok(session.repo.common_dir().display().to_string()),
    }
}

/// Returns the origin of a repository, if it has one.
///
/// # Errors
/// `url-refused`.
pub fn origin_of(session: &Session) -> Result<Option<RemoteUrl>> {
    let configured = session.repo.config("remote.origin.url");
    let configured = configured.filter(|url| !url.is_empty());
    let base = session.repo.workdir();
    configured
        .map(|url| RemoteUrl::parse(&url, Provenance::User, base))
        .transpose()
}

/// Returns where a repository pushes to, without credentials, where its configuration names that: maybe
/// nowhere, so that nothing is pushed.
pub fn push_url_of(session: &Session) -> Option<String> {
    let configured = session.repo.config("remote.origin.pushurl");
    let configured = configured.filter(|url| !url.is_empty())?;
    let base = session.repo.workdir();
    let parsed = RemoteUrl::parse(&configured, Provenance::User, base);
    // What we would not go to stands there as a guard.
    Some(match parsed {
        Ok(url) => url.without_credentials(),
        Err(_) => crate::git::remote::url::redact_refused(&configured),
    })
}

/// Returns where the hub of a repository is or would be.
///
/// # Errors
/// `url-refused`.
pub fn place_of(session: &Session, root: &SharedRoot) -> Result<PathBuf> {
    match &session.membership {
        Some(member) => Ok(member.hub.clone()),
        None => Ok(place_here(session, root)?.path),
    }
}

/// Returns where a repository would find its hub that did not know which it takes part in.
///
/// # Errors
/// As [`place_of`].
pub fn place_without_record(session: &Session, root: &SharedRoot) -> Result<PathBuf> {
    Ok(place_here(session, root)?.path)
}

/// Returns where the hub of a repository that takes part in none is, or will be. A path alone is no name:
/// where another repository had a hub from there, this one gets another.
fn place_here(session: &Session, root: &SharedRoot) -> Result<Place> {
    let address = address_of(session)?;
    let place = Place::of(root, &address);
    let git_dir = session.repo.common_dir();
    if origin_of(session)?.is_some() || !desk_note::is_of_another(&place.path, git_dir) {
        return Ok(place);
    }
    let identity = FileIdentity::of(git_dir);
    let identity = identity.map(|one| format!("{}:{}", one.device, one.inode));
    let address = format!("{address} {}", identity.unwrap_or_default());
    Ok(Place::of(root, &address))
}

/// Returns where the hub of a repository elsewhere is or would be.
pub fn place_of_url(root: &SharedRoot, url: &RemoteUrl) -> PathBuf {
    Place::of(root, &url.normalized()).path
}

/// Tells whether clones borrow from a hub that is not there: one goes by itself only with its last clone.
///
/// # Errors
/// `invalid-value`.
pub fn is_missed(session: &Session, hub: &Path) -> Result<bool> {
    if hub.is_dir() {
        return Ok(false);
    }
    let root = SharedRoot::of(&session.world)?;
    let is_leaving = || removal_steps::hubs(&root).iter().any(|of| of == hub);
    Ok(found::are_of(&root, hub) || is_leaving())
}

/// Lists all hubs, by name.
pub fn all(root: &SharedRoot) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.hubs())
        .into_iter()
        .flatten()
        .flatten();
    let mut hubs: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|end| end == "git"))
        .collect();
    hubs.sort();
    hubs
}

/// Makes a checkout of the user's take part, if it does not yet; returns its record and the hub.
///
/// # Errors
/// As [`Hub::of_repository`].
pub fn join(session: &Session) -> Result<(Membership, Hub)> {
    let known = session.membership.as_ref();
    if let Some(member) = known.filter(|member| member.role != Role::Desk || member.hub.is_dir()) {
        let hub = Hub::open(&member.hub)?;
        let member = desk_note::settle(&session.world, &session.repo, member)?;
        return Ok((member, hub));
    }
    if let Some(member) = known
        && is_missed(session, &member.hub)?
    {
        let hub = hub_rebuild::make(session, member)?;
        let member = desk_note::settle(&session.world, &session.repo, member)?;
        return Ok((member, hub));
    }
    let (repo, world) = (&session.repo, &session.world);
    let root = SharedRoot::of(world)?;
    let hub = Hub::of_repository(session, &root)?;
    if origin_of(session)?.is_none()
        && hub.store.path() != Place::of(&root, &address_of(session)?).path
    {
        (world.narrate)(
            "another repository that stood here has a hub of this path: this one gets one of its own",
        );
    }
    let member = Membership::of_desk(
        format!("{:016x}", (world.entropy)()),
        hub.store.path().to_owned(),
        origin_of(session)?.map(|url| url.in_full()),
        time::rfc3339(&world.now()),
    );
    member.write(repo.common_dir())?;
    let member = desk_note::settle(world, repo, &member)?;
    Ok((member, hub))
}
