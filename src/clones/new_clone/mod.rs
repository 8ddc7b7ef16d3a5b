//! Creates a clone: what it gets, in which order (`staged`: its folder until then).

pub mod clone_large_files;
pub mod copy_files;
pub mod rewritten_start;
mod staged;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::git::identity::Identity;
use crate::git::inherited::Inherited;
use crate::git::new_repository::{ConfigEntry, NewRepository};
use crate::git::plain_file;
use crate::git::refs::FoundRef;
use crate::git::{ObjectWrites, Oid, RefName, Repo};
use crate::model::{Code, Error, Result, World};
use crate::store::files::shared_root::SharedRoot;
use crate::store::files::{atomic, mount_points};
use crate::store::key;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::clone_folders::membership_at;
use super::damaged;
use super::hub::publish::{large_objects_of, of_team};
use super::hub::tag_list::tags_of;
use super::hub::{Hub, hub_remote};
use clone_large_files::{LargeFiles, Store};
pub use staged::Staged;
use staged::{refuse_taken, sweep};

/// The branch and commit that a clone starts at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The branch it is on, without `refs/heads/`.
    pub branch: String,
    /// The tip of that branch.
    pub commit: Oid,
}

/// The directories of a cone; none for the whole tree.
#[derive(Clone)]
pub enum Sparse {
    /// These directories.
    Known(Vec<String>),
    /// The directories that this function returns for the tree, once the configuration of the clone can be
    /// read.
    Said(fn(&World, &Repo, Oid) -> Result<Vec<String>>),
}

/// The description of a new clone.
pub struct WantedClone<'a> {
    /// The root of everything shared.
    pub root: &'a SharedRoot,
    /// The hub it borrows from.
    pub hub: &'a Hub,
    /// The agent of the clone; `None` for a clone for reading.
    pub agent: Option<&'a str>,
    /// The branch in the path of the clone; `None` for the branch of `start`.
    pub scope: Option<&'a str>,
    /// Its first branch and commit.
    pub start: Start,
    /// Further refs; they have precedence over those of the hub.
    pub refs: Vec<FoundRef>,
    /// The checkout that it is made from, if any: it gets the tags of that.
    pub desk: Option<&'a Membership>,
    /// Whether it gives its git directory to the folder at its path, which has lost its own.
    pub around_files: bool,
    /// The task of its agent.
    pub task: Option<&'a str>,
    /// What it has of the checkout that it is made from.
    pub inherited: Inherited,
    /// Its large files.
    pub large_files: LargeFiles,
    /// Returns the place of a tree's large files.
    pub store: fn(&World, &Repo, Oid) -> Store,
    /// Its origin, which may hold credentials that are never recorded.
    pub url: Option<String>,
    /// Its push URL, where that is another one or none.
    pub push_url: Option<String>,
    /// The prefix of the hub's refs that become its remote branches.
    pub remote: String,
    /// Whether files are checked out.
    pub check_out: bool,
    /// The directories of its cone.
    pub sparse: Sparse,
}

impl WantedClone<'_> {
    /// Returns the future path of the clone, and its branch component.
    pub fn place(&self) -> Result<(PathBuf, String)> {
        let (hub, branch) = (self.hub.store.path(), &self.start.branch);
        if self.around_files {
            let scope = self.scope.unwrap_or(branch).to_owned();
            let place = folder_of(self.root, self.agent).join(key::encode(&scope));
            return Ok((place, scope));
        }
        place_in(self.root, hub, self.agent, self.scope, branch)
    }

    /// Finds the existing clone for reading at this path, if it has the same repository, component and
    /// branch.
    pub fn shared(&self) -> Option<(PathBuf, Membership)> {
        let hub = self.hub.store.path();
        let scope = self.scope.unwrap_or(&self.start.branch);
        let name = hub.file_stem().unwrap_or_default().to_string_lossy();
        let beside = format!("{scope}@{}", name.get(..8).unwrap_or(&name));
        let mut scopes = [scope, beside.as_str()].into_iter();
        scopes.find_map(|scope| {
            let place = self.root.shared_clones().join(key::encode(scope));
            let member = membership_at(&place)?;
            let is_same = self.agent.is_none()
                && member.role == Role::Reader
                && member.hub == hub
                && member.branch.as_ref() == Some(&self.start.branch);
            is_same.then_some((place, member))
        })
    }

    /// Creates the clone beside its path.
    pub fn stage(&self, world: &World, now: String) -> Result<Staged> {
        let (place, scope) = self.place()?;
        refuse_apart(self.root, &place)?;
        let staging = self.root.path().join("staging");
        atomic::make_directory(&staging)?;
        let waiting = "waiting for another git-colony that creates a clone";
        let turn_path = self.root.path().join("staging.lock");
        let turn =
            WorktreeLock::take_at(world, &turn_path, WaitLimit::for_lock(world.timeout), waiting)?;
        sweep(&staging);
        let nonce = format!("{:016x}", (world.entropy)());
        let folder = staging.join(&nonce);
        let lock_path = staging.join(format!("{nonce}.lock"));
        let lock = atomic::create_new(&lock_path)
            .and_then(|file| file.try_lock().map(|()| file).map_err(Into::into))
            .map_err(|e| Error::io("cannot lock the folder of a new clone", e))?;
        drop(turn);
        let desk =
            Membership::of_desk(nonce, self.hub.store.path().to_owned(), self.url.clone(), now);
        let agent = self.agent.map(str::to_owned);
        let branch = self.start.branch.clone();
        let mut staged = Staged {
            place,
            folder,
            lock_path,
            _lock: lock,
            done: false,
            keep: world.die_at.is_some(),
            member: Membership {
                desk: self.desk.and_then(Membership::desk).map(str::to_owned),
                task: self.task.map(str::to_owned),
                ..Membership::of_clone(desk, agent, scope, branch)
            },
            uses_lfs: false,
            sparse: Vec::new(),
        };
        self.fill(world, &mut staged)?;
        world.reach("clone-staged")?;
        Ok(staged)
    }

    fn fill(&self, world: &World, staged: &mut Staged) -> Result<()> {
        let branch = RefName::from(format!("refs/heads/{}", self.start.branch).as_str());
        let elsewhere = world.standing_in(&staged.folder);
        NewRepository {
            workdir: &staged.folder,
            objects: &self.hub.store.path().join("objects"),
            object_format: self.hub.store.object_format(),
            head: &branch,
            refs: self.refs(&branch)?,
            symbolic: self.remote_head(),
            inherited: &self.inherited,
            config: self.config(&staged.member)?,
        }
        .make(&world.standing_in(self.root.path()))?;
        staged.member.write(&staged.folder.join(".git"))?;
        let mut repo = Repo::open(&elsewhere, ObjectWrites::Durable)?;
        let tree = repo.tree_of(Some(self.start.commit))?;
        let store = (self.store)(&elsewhere, &repo, tree);
        staged.uses_lfs = clone_large_files::are_wanted(&elsewhere, &repo, tree, &store)?;
        let mut missing = BTreeSet::new();
        if staged.uses_lfs {
            let hub = large_objects_of(self.hub.store.path());
            missing = clone_large_files::link(&hub, &repo, tree, &self.large_files)?;
            let config = clone_large_files::config(&store);
            append_config(&repo.git_dir().join("config"), &config)?;
            repo = Repo::open(&elsewhere, ObjectWrites::Durable)?;
        }
        staged.sparse = match &self.sparse {
            Sparse::Known(directories) => directories.clone(),
            Sparse::Said(say) => say(&elsewhere, &repo, tree)?,
        };
        if !staged.sparse.is_empty() {
            repo.set_cone(&elsewhere, &staged.sparse)?;
            repo = Repo::open(&elsewhere, ObjectWrites::Durable)?;
        }
        if self.check_out {
            clone_large_files::download(&elsewhere, &repo, self.start.commit, &missing)?;
            repo.check_out_first(&elsewhere, tree)?;
        }
        Ok(())
    }

    /// Returns the first refs of a clone: its branch, its remote-tracking branches, tags, and the checkpoints
    /// of the team.
    fn refs(&self, branch: &RefName) -> Result<Vec<FoundRef>> {
        let own = FoundRef { name: branch.clone(), id: self.start.commit };
        let published = self
            .agent
            .map(|_| FoundRef { name: hub_remote::tracking(branch), id: self.start.commit });
        let mut refs: Vec<FoundRef> = [own].into_iter().chain(published).collect();
        refs.extend(self.refs.iter().cloned());
        for reference in self.hub.store.refs_below(&self.remote)? {
            let name = reference.name.to_string();
            let rest = name.strip_prefix(&self.remote).unwrap_or(&name);
            if rest != "HEAD" && remote(rest).is_valid() {
                refs.push(FoundRef { name: remote(rest), id: reference.id });
            }
        }
        if let Some(desk) = self.desk {
            refs.extend(tags_of(self.hub, desk)?);
        }
        refs.extend(self.hub.store.refs_below("refs/tags/")?);
        let checkpoints = of_team(self.hub)?.into_iter();
        refs.extend(
            checkpoints.map(|(name, id)| FoundRef { name: ref_names::checkpoint(&name), id }),
        );
        let mut known = BTreeSet::new();
        refs.retain(|reference| known.insert(reference.name.clone()));
        Ok(refs)
    }

    /// Returns HEAD of the remote, as a symbolic ref of the clone.
    fn remote_head(&self) -> Vec<(RefName, RefName)> {
        let head = RefName::from(format!("{}HEAD", self.remote).as_str());
        let target = self.hub.store.symbolic_target(&head);
        target.map(|target| (remote("HEAD"), target)).into_iter().collect()
    }

    /// Returns the branches that track those of the remote: all but forks, which belong to this clone.
    fn branches(&self) -> Vec<String> {
        let further = self.refs.iter().filter_map(|reference| {
            let name = reference.name.to_string();
            Some(name.strip_prefix("refs/heads/")?.to_owned())
        });
        let mut all = vec![self.start.branch.clone()];
        all.extend(further.filter(|name| *name != self.start.branch));
        all.retain(|name| !name.starts_with("fork/"));
        all
    }

    fn config(&self, member: &Membership) -> Result<Vec<ConfigEntry>> {
        let mut config = Vec::new();
        if let Some(url) = &self.url {
            let of_origin = |name, value: &str| ConfigEntry::sub("remote", "origin", name, value);
            let fetch = "+refs/heads/*:refs/remotes/origin/*";
            config.push(of_origin("url", url.as_str()));
            config.push(of_origin("fetch", fetch));
            if let Some(url) = &self.push_url {
                config.push(of_origin("pushurl", url.as_str()));
            }
            for name in self.branches() {
                let merge = format!("refs/heads/{name}");
                config.push(ConfigEntry::sub("branch", &name, "remote", "origin"));
                config.push(ConfigEntry::sub("branch", &name, "merge", merge));
            }
        }
        if let Some(agent) = self.agent {
            let who = Identity::of_agent(agent)?;
            config.push(ConfigEntry::plain("user", "name", who.name));
            config.push(ConfigEntry::plain("user", "email", who.email));
            config.extend(hub_remote::config(member));
        }
        match &self.large_files {
            LargeFiles::All => {}
            LargeFiles::None => config.push(ConfigEntry::plain("lfs", "fetchexclude", "*")),
            LargeFiles::Paths(paths) => {
                config.push(ConfigEntry::plain("lfs", "fetchinclude", paths.join(",")));
            }
        }
        Ok(config)
    }
}

fn folder_of(root: &SharedRoot, agent: Option<&str>) -> PathBuf {
    match agent {
        Some(agent) => root.clones_of(agent),
        None => root.shared_clones(),
    }
}

/// Returns the free path of a clone of a hub, and its branch component: a scope that was named, else the branch.
pub fn place_in(
    root: &SharedRoot,
    hub: &Path,
    agent: Option<&str>,
    named: Option<&str>,
    branch: &str,
) -> Result<(PathBuf, String)> {
    let (place, scope) = place_of(root, hub, agent, named, branch);
    refuse_taken(&place, agent)?;
    Ok((place, scope))
}

/// The same, also where something is at the path.
pub fn place_of(
    root: &SharedRoot,
    hub: &Path,
    agent: Option<&str>,
    named: Option<&str>,
    branch: &str,
) -> (PathBuf, String) {
    let scope = named.unwrap_or(branch).to_owned();
    let folder = folder_of(root, agent);
    let place = folder.join(key::encode(&scope));
    let is_of_another = match membership_at(&place) {
        Some(other) => other.hub != hub,
        None => damaged::is_at(root, &place),
    };
    if named.is_some() || !is_of_another {
        return (place, scope);
    }
    // A clone of another repository has the same branch there.
    let name = hub.file_stem().unwrap_or_default().to_string_lossy();
    let scope = format!("{scope}@{}", name.get(..8).unwrap_or(&name));
    (folder.join(key::encode(&scope)), scope)
}

/// Refuses a place on another file system than the folder in which clones are made: nothing could be renamed there.
fn refuse_apart(root: &SharedRoot, place: &Path) -> Result<()> {
    let above = place.parent().unwrap_or(place);
    if !mount_points::are_apart(root.path(), above) {
        return Ok(());
    }
    let [shown, beside] = [above, root.path()].map(|path| path.display().to_string());
    let message = format!("'{shown}' is on another file system than '{beside}'");
    Err(Error::new(Code::Unsupported, message)
        .unchanged()
        .detail("path", &shown)
        .hint("move it there: a new clone is renamed to its place"))
}

/// Returns the name of a remote-tracking branch.
fn remote(rest: &str) -> RefName {
    RefName::from(format!("refs/remotes/origin/{rest}").as_str())
}

pub(in crate::clones) fn append_config(path: &Path, entries: &[ConfigEntry]) -> Result<()> {
    let cannot = |e| Error::io("cannot configure the new clone", e);
    let mut text = plain_file::read_text(path).map_err(cannot)?;
    text.extend(entries.iter().map(ConfigEntry::line));
    atomic::write_plainly(path, text.as_bytes())
}

/// Returns the prefix of the hub's refs that a clone uses as remote-tracking branches.
pub fn remote_prefix(hub: &Hub, desk: Option<&Membership>) -> Result<String> {
    let has_remote = !hub.remote_branches()?.is_empty();
    Ok(match desk.filter(|_| !has_remote) {
        Some(desk) => format!("{}heads/", desk.published_below()),
        None => "refs/remotes/origin/".to_owned(),
    })
}
