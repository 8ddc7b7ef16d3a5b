//! The clones that are here: listed, brought up to date, taken away.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::damaged::{self, DamagedClone};
use crate::clones::found::{self, FoundClone};
use crate::clones::hub::{self, Hub};
use crate::clones::{hub_place, keeping, leaving, removal};
use crate::git::{ObjectWrites, Oid, RefChange, RefName};
use crate::lfs::locks;
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, World, text};
use crate::store::Session;
use crate::store::membership::Role;
use crate::store::settings::Flags;
use crate::store::shared_root::SharedRoot;

use super::agent_removal::{self, RemovedAgent};
use super::clone_leaving::{self, LeftBehind};
use super::{colony, migrate};

/// A clone as it is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Clone {
    /// Its id.
    pub id: String,
    /// Where it is.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Whose it is; `None` for one that is only read.
    pub agent: Option<String>,
    /// Its scope.
    pub scope: String,
    /// Whether it is for reading only.
    pub read_only: bool,
    /// Where the repository comes from, without credentials.
    pub url: Option<String>,
    /// The branch it was made on.
    pub branch: Option<String>,
    /// The commit HEAD holds now; `None` where that cannot be read.
    pub commit: Option<Oid>,
    /// The hub it borrows its objects from.
    #[schemars(with = "String")]
    pub hub: PathBuf,
    /// When it was made, RFC 3339 UTC.
    pub created_at: String,
}

/// Clones of one repository, or of all.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClonesReport {
    /// Those of agents first, by name.
    pub clones: Vec<Clone>,
    /// How many.
    pub count: usize,
    /// Those whose record cannot be read.
    pub damaged: Vec<DamagedClone>,
}

/// Lists the clones of the repository we stand in, or outside of one all there are.
///
/// # Errors
/// `url-refused`, `invalid-value`.
pub fn list(world: &World, session: Option<&Session>) -> Result<ClonesReport> {
    let root = SharedRoot::of(world)?;
    let hub = session.map(|session| hub::place_of(session, &root));
    let hub = hub.transpose()?;
    let found = found::clones(&root, hub.as_deref());
    let clones: Vec<_> = found
        .into_iter()
        .map(|clone| describe(world, clone))
        .collect();
    Ok(ClonesReport {
        count: clones.len(),
        clones,
        damaged: damaged::clones(&root, hub.as_deref()),
    })
}

fn describe(world: &World, clone: FoundClone) -> Clone {
    let inside = world.standing_in(&clone.path);
    let head = crate::git::Repo::open(&inside, ObjectWrites::InMemory);
    let head = head.and_then(|repo| repo.head()).ok();
    let member = clone.member;
    Clone {
        id: member.id,
        path: clone.path,
        read_only: member.role == Role::Reader,
        agent: member.agent,
        scope: member.scope.unwrap_or_default(),
        url: member.url,
        branch: member.branch,
        commit: head.and_then(|head| head.commit()),
        hub: member.hub,
        created_at: member.created_at,
    }
}

/// Finds a clone of the repository we stand in, or outside of one among all.
fn find(world: &World, session: Option<&Session>, name: &str) -> Result<FoundClone> {
    let root = SharedRoot::of(world)?;
    let hub = session.map(|session| hub::place_of(session, &root));
    found::find(&root, hub.transpose()?.as_deref(), name)
}

/// Takes a clone away; what an agent has in it stays in the hub.
///
/// # Errors
/// As [`agent_removal::remove`].
pub fn remove(
    world: &World,
    session: Option<&Session>,
    name: &str,
    (force, dry_run): (bool, bool),
) -> Result<RemovedAgent> {
    let root = SharedRoot::of(world)?;
    if !dry_run {
        clone_leaving::resume(world, &root);
    }
    let clone = find(world, session, name);
    if let (false, Err(_), Some(session)) = (dry_run, &clone, session) {
        // It may be gone already, and its work not yet where it is kept.
        let hub = hub::place_of(session, &root)?;
        if hub.is_dir() {
            removal::complete(world, &root, &hub)?;
        }
    }
    agent_removal::remove_clone(world, &clone?, (force, dry_run))
}

/// A clone that was brought up to date.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RefreshReport {
    /// Its id.
    pub id: String,
    /// Where it is.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Where the repository comes from now, without credentials, where that has changed.
    pub url_changed: Option<String>,
    /// Remote branches that moved.
    pub moved: Vec<String>,
    /// The commit that was checked out before.
    pub from: Option<Oid>,
    /// The operation that followed a rewritten history, own commits with it.
    pub followed: Option<OperationId>,
    /// The commit that is checked out now; it moves only in a clone that is only read.
    pub commit: Option<Oid>,
    /// The prefix of the refs in the hub that keep what a clone for reading had of its own; `None` where
    /// it had nothing.
    pub kept_as: Option<String>,
    /// The hub.
    #[schemars(with = "String")]
    pub hub: PathBuf,
}

/// Fetches from the remote into the hub, and from there what the clone takes for remote branches. A
/// clone that is only read goes to the new tip of its branch; one of an agent follows a history that was
/// rewritten for git-lfs, with what it has not published.
///
/// # Errors
/// What [`migrate::migrate`] refuses in a clone that has to follow;
/// `clone-not-found`, `hub-missing`, `uncommitted-edits` for a clone for reading with edits, and what
/// the network says.
pub fn refresh(world: &World, session: Option<&Session>, name: &str) -> Result<RefreshReport> {
    let clone = find(world, session, name)?;
    let url_changed = follow_origin(session, &clone)?;
    let hub = Hub::open(&clone.member.hub)?;
    if hub.has_remote() {
        hub.fetch(world)?;
    }
    let inside = Session::open(
        world.standing_in(&clone.path),
        &Flags::default(),
        ObjectWrites::Durable,
    )?;
    let repo = &inside.repo;
    let from = repo.head()?.commit();
    let is_read = clone.member.role == Role::Reader;
    // By what it knows of the remote yet: what was pushed over there is nothing of its own.
    let own = is_read.then(|| keeping::keep_own(&inside.world, repo, &clone.member));
    let kept_as = own.transpose()?.flatten();
    let mut changes = Vec::new();
    for found in hub.remote_branches()? {
        let old = repo.find_ref(&found.name)?;
        if old != Some(found.id) {
            changes.push(RefChange {
                name: found.name,
                old,
                new: Some(found.id),
            });
        }
    }
    let who = inside.record_signature();
    let why = crate::git::refs::Reason {
        text: "colony: refreshed",
        who: &who,
        operation: "refresh",
    };
    repo.move_refs(&inside.world, &changes, &why)?;
    let followed = if is_read {
        follow(&inside, &clone)?;
        None
    } else {
        let followed = migrate::follow(&inside)?;
        if followed.is_some() {
            colony::publish_session(&inside);
        }
        followed
    };
    locks::ask_beside(&inside, "origin");
    let prefix = "refs/remotes/";
    let short = |change: &RefChange| change.name.to_string().replacen(prefix, "", 1);
    Ok(RefreshReport {
        id: clone.member.id,
        path: clone.path,
        url_changed,
        moved: changes.iter().map(short).collect(),
        from,
        followed: followed.and_then(|report| report.op),
        commit: repo.head()?.commit(),
        kept_as,
        hub: clone.member.hub,
    })
}

/// Gives the hub and the clone the origin that the person's checkout has, which this is run in, and its
/// push URL; returns the URL where the clone had another.
fn follow_origin(session: Option<&Session>, clone: &FoundClone) -> Result<Option<String>> {
    let is_desk = |session: &&Session| {
        let member = session.membership.as_ref();
        member.is_some_and(|m| m.role == Role::Desk && m.hub == clone.member.hub)
    };
    let Some(desk) = session.filter(is_desk) else {
        return Ok(None);
    };
    let Some(url) = hub::origin_of(desk)?.map(|url| url.without_credentials()) else {
        return Ok(None);
    };
    let inside = desk.world.standing_in(&clone.path);
    let inside = crate::git::Repo::open(&inside, ObjectWrites::InMemory)?;
    let hub = Hub::open(&clone.member.hub)?;
    let key = "remote.origin.url";
    let fetch = ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
    let set = |mut git: crate::git::process::Git, (key, value): (&str, &str)| {
        git.args(["config", "--local", "--replace-all", key, value]);
        let done = git.run_checked("follow the origin of this checkout");
        done.map(drop)
    };
    if hub.store.config(key).as_ref() != Some(&url) {
        for entry in [(key, url.as_str()), fetch] {
            set(hub.store.git(&desk.world), entry)?;
        }
    }
    if let Some(push) = hub::push_url_of(desk)
        && inside.config("remote.origin.pushurl").as_ref() != Some(&push)
    {
        set(inside.git(&desk.world), ("remote.origin.pushurl", &push))?;
    }
    if inside.config(key).as_ref() == Some(&url) {
        return Ok(None);
    }
    for entry in [(key, url.as_str()), fetch] {
        set(inside.git(&desk.world), entry)?;
    }
    Ok(Some(url))
}

/// Puts a clone that is only read on the newest commit of its branch, by git, which refuses where
/// somebody has edited it.
fn follow(inside: &Session, clone: &FoundClone) -> Result<()> {
    let Some(branch) = &clone.member.branch else {
        return Ok(());
    };
    let remote = format!("refs/remotes/origin/{branch}");
    if inside
        .repo
        .find_ref(&RefName::from(remote.as_str()))?
        .is_none()
    {
        return Ok(());
    }
    let mut git = inside.repo.git(&inside.world);
    git.env(crate::git::process::OPERATION_VARIABLE, "refresh");
    // Ignored files of the user are no less his.
    git.args(["checkout", "-q", "--no-overwrite-ignore", "--no-track"]);
    git.args(["-B", branch, &remote, "--"]);
    let output = git.run()?;
    if output.success() {
        return Ok(());
    }
    Err(cannot_follow(clone, &output.stderr))
}

/// Words git's refusal: the paths it names, else what it says first.
fn cannot_follow(clone: &FoundClone, said: &str) -> Error {
    let paths = said.lines().filter_map(|line| line.strip_prefix('\t'));
    let paths: Vec<_> = paths.map(str::to_owned).collect();
    let why = match paths.as_slice() {
        [] => said.lines().next().unwrap_or_default().to_owned(),
        [one] => format!("'{one}' is edited there"),
        [first, rest @ ..] => format!("'{first}' and {} more are edited there", rest.len()),
    };
    let place = text::shell_word(&clone.path.to_string_lossy());
    let id = clone.member.id.get(..8).unwrap_or(&clone.member.id);
    Error::new(
        Code::UncommittedEdits,
        format!("the clone stays at the commit it is on: {why}; its files are as they were"),
    )
    .detail("paths", paths)
    .detail("path", clone.path.display().to_string())
    .hint(format!(
        "git -C {place} stash -u   # sets that aside; 'git colony clones remove {id} --force' lets go of it"
    ))
}

/// What was let go of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GcReport {
    /// The hubs that were removed, or would be.
    #[schemars(with = "Vec<String>")]
    pub removed: Vec<PathBuf>,
    /// Hubs without a clone that hold work of removed clones; they stay unless forced.
    #[schemars(with = "Vec<String>")]
    pub kept: Vec<PathBuf>,
    /// Folders of clones that were taken away and that could not be deleted yet.
    pub leaving: Vec<LeftBehind>,
    /// True when nothing was removed because a dry run was asked for.
    pub dry_run: bool,
}

/// Removes the hubs that no clone borrows from any more.
///
/// # Errors
/// `io`, `locked`, `repository-broken`.
pub fn gc(world: &World, force: bool, dry_run: bool) -> Result<GcReport> {
    let root = SharedRoot::of(world)?;
    let mut report = GcReport {
        removed: Vec::new(),
        kept: Vec::new(),
        leaving: Vec::new(),
        dry_run,
    };
    if !dry_run {
        hub_place::bring_back_all(world, &root)?;
        report.leaving = clone_leaving::resume(world, &root);
    }
    let standing = found::clones(&root, None).into_iter();
    let standing = standing.map(|clone| clone.member.hub);
    let used: Vec<PathBuf> = standing.chain(leaving::hubs(&root)).collect();
    for path in hub::all(&root) {
        if !dry_run {
            removal::complete(world, &root, &path)?;
        }
        if used.contains(&path) || found::are_of(&root, &path) {
            continue;
        }
        if Hub::open(&path)?.holds_kept_work()? && !force {
            report.kept.push(path);
            continue;
        }
        if !dry_run {
            removal::remove_hub(world, &root, &path)?;
        }
        report.removed.push(path);
    }
    Ok(report)
}
