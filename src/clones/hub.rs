//! The hub: one bare repository per repository and user, whose objects all clones borrow.
//!
//! It never drops an object (`extensions.preciousObjects`), so that no clone loses what it borrows. It
//! is made in a folder beside its place and renamed when it is whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::network::Network;
use crate::git::refs::FoundRef;
use crate::git::url::{Provenance, RemoteUrl};
use crate::git::{BareRepo, Oid, RefChange, RefName, Repo, process};
use crate::model::{Code, Error, Result, World, time};
use crate::store::membership::{Membership, Role};
use crate::store::shared_root::SharedRoot;
use crate::store::{Session, atomic, ref_names};

use super::hub_place::{Place, SET_ASIDE};
use super::{found, hub_anew, leaving};

/// What a hub is configured with, beyond what git writes.
const CONFIG: &str = "\
[extensions]
	preciousObjects = true
[gc]
	auto = 0
[receive]
	autogc = false
[maintenance]
	auto = false
[core]
	logAllRefUpdates = false
";

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
        let place = Place::of(root, &address_of(session)?);
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
    /// What the network says; `url-refused`.
    pub fn fetch(&self, world: &World) -> Result<()> {
        let url = self.store.config("remote.origin.url").unwrap_or_default();
        let url = RemoteUrl::parse(&url, Provenance::User, self.store.path())?;
        let mut network = Network::new(world, self.store.git(world), Some(&url))?;
        network
            .git()
            .args(["fetch", "-q", "--prune", "--no-write-fetch-head"]);
        network.git().args(["--no-auto-maintenance", "origin"]);
        network.run_checked("bring the hub up to date").map(drop)?;
        Ok(())
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
        let target = self.store.symbolic_target(&head);
        let of_remote = target.and_then(|name| {
            let name = name.to_string();
            name.strip_prefix("refs/remotes/origin/").map(str::to_owned)
        });
        for branch in of_remote
            .into_iter()
            .chain(["main", "master"].map(str::to_owned))
        {
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

    /// Tells whether it holds work of clones that were removed.
    ///
    /// # Errors
    /// `repository-broken`.
    pub fn holds_kept_work(&self) -> Result<bool> {
        Ok(!self.store.refs_below(ref_names::KEPT_WORK)?.is_empty())
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
        Err(_) => crate::git::url::redact_refused(&configured),
    })
}

/// Returns where the hub of a repository is or would be.
///
/// # Errors
/// `url-refused`.
pub fn place_of(session: &Session, root: &SharedRoot) -> Result<PathBuf> {
    match &session.membership {
        Some(member) => Ok(member.hub.clone()),
        None => Ok(Place::of(root, &address_of(session)?).path),
    }
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
    let is_leaving = || leaving::hubs(&root).iter().any(|of| of == hub);
    Ok(!found::clones(&root, Some(hub)).is_empty() || is_leaving())
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
        return Ok((member.clone(), Hub::open(&member.hub)?));
    }
    if let Some(member) = known
        && is_missed(session, &member.hub)?
    {
        return Ok((member.clone(), hub_anew::make(session, member)?));
    }
    let (repo, world) = (&session.repo, &session.world);
    let hub = Hub::of_repository(session, &SharedRoot::of(world)?)?;
    let member = Membership::of_desk(
        format!("{:016x}", (world.entropy)()),
        hub.store.path().to_owned(),
        origin_of(session)?.map(|url| url.in_full()),
        time::rfc3339(&world.now()),
    );
    member.write(repo.common_dir())?;
    Ok((member, hub))
}

pub(super) fn make_from_repository(session: &Session, new: &Path) -> Result<()> {
    let (repo, world) = (&session.repo, &session.world);
    refuse_incomplete(repo)?;
    let mut git = process::Git::new(world);
    git.env("GIT_DEFAULT_REF_FORMAT", "files");
    // Without --local: that would fail on another file system, where git copies of itself.
    git.args(["clone", "-q", "--bare", "--no-tags", "--template="]);
    // A path of this machine, never taken for anything else.
    git.arg("--").arg(repo.common_dir()).arg(new);
    git.run_checked("make the hub from this repository")?;
    own_all_objects(world, new)?;
    let remote = repo.refs_below("refs/remotes/origin/")?;
    let url = origin_of(session)?.map(|url| url.in_full());
    let store = configure(new, url.as_deref())?;
    let mut changes = gone(&store)?;
    let known = remote.into_iter().filter(|found| store.has(found.id));
    changes.extend(known.map(|found| RefChange {
        name: found.name,
        old: None,
        new: Some(found.id),
    }));
    store.move_refs(world, &changes)
}

/// Refuses a repository that has not all of its own history.
fn refuse_incomplete(repo: &Repo) -> Result<()> {
    let (what, hint) = if repo.is_shallow() {
        ("shallow", "git fetch --unshallow")
    } else if repo.config("extensions.partialClone").is_some() {
        ("partial", "git clone URL   # a whole clone can have agents")
    } else {
        return Ok(());
    };
    Err(Error::new(
        Code::Unsupported,
        format!("this clone is {what}: a hub needs the whole history; nothing has changed"),
    )
    .hint(hint))
}

/// A hub that was made from a repository which borrows itself takes what it needs.
fn own_all_objects(world: &World, new: &Path) -> Result<()> {
    let alternates = new.join("objects/info/alternates");
    if !alternates.exists() {
        return Ok(());
    }
    let store = BareRepo::open(new)?;
    let mut git = store.git(world);
    git.args(["repack", "-a", "-d", "-q"]);
    git.run_checked("copy the objects that this repository borrows")?;
    atomic::remove_file(&alternates)
}

fn make_from_url(world: &World, url: &RemoteUrl, new: &Path) -> Result<()> {
    let mut git = process::Git::new(world);
    git.env("GIT_DEFAULT_REF_FORMAT", "files");
    let mut network = Network::new(world, git, Some(url))?;
    network
        .git()
        .args(["clone", "-q", "--bare", "--template=", "--"]);
    network.git().arg(url.for_git()).arg(new);
    network.run_checked("make the hub from the remote")?;
    own_all_objects(world, new)?;
    let store = configure(new, Some(&url.in_full()))?;
    let heads = store.refs_below("refs/heads/")?;
    let mut changes = gone(&store)?;
    changes.extend(heads.into_iter().map(|found| RefChange {
        name: RefName::from(format!("refs/remotes/origin/{}", found.name.short()).as_str()),
        old: None,
        new: Some(found.id),
    }));
    store.move_refs(world, &changes)?;
    store.follow_remote_head(world)
}

/// Returns the changes that take away the branches git made.
fn gone(store: &BareRepo) -> Result<Vec<RefChange>> {
    let heads = store.refs_below("refs/heads/")?.into_iter();
    Ok(heads
        .map(|found| RefChange {
            name: found.name,
            old: Some(found.id),
            new: None,
        })
        .collect())
}

fn configure(new: &Path, url: Option<&str>) -> Result<BareRepo> {
    let cannot = |e| Error::io("cannot configure the hub", e);
    let path = new.join("config");
    let written = std::fs::read_to_string(&path).map_err(cannot)?;
    // What git wrote of the repository it was made from may hold credentials.
    let own = written.lines().scan(false, |skip, line| {
        if line.starts_with('[') {
            *skip = line.starts_with("[remote");
        }
        Some((!*skip).then(|| format!("{line}\n")))
    });
    let mut text: String = own.flatten().collect();
    text = text.replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    text.push_str(CONFIG);
    if let Some(url) = url {
        text.push_str(&crate::git::new_repository::remote_section(url));
    }
    atomic::write_durably(&path, text.as_bytes())?;
    BareRepo::open(new)
}
