//! A remote: found, its refs listed and fetched by name.
//!
//! The output of a remote is hostile: invalid ref names are skipped, a symbolic ref counts only as
//! its target object, and fetched refs get private names until they are checked. No name can act as
//! an option.

pub mod credentials;
mod failure_reasons;
mod fetch;
pub mod network;
mod placement;
mod promised;
mod push;
pub mod submodules;
pub mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use crate::model::{Code, Error, Result, World};

use super::process::{Git, OPERATION_VARIABLE};
use super::refs::FoundRef;
use super::{Oid, RefName, RemoteUrl, Repo, durable};
use network::{Direction, Network};
use placement::Placement;
use url::{Provenance, Transport};

pub use fetch::{Fetch, Fetched, Tracked};
pub(super) use push::PUSHED_AT_ONCE;
pub use push::{PushPermit, PushResult, Pushed};

/// The maximum size of a list of refs: some 600,000 of them.
const MAX_LISTED_BYTES: u64 = 64 << 20;

/// The refs of a remote.
#[derive(Debug, Default)]
pub struct Listed {
    /// Their objects.
    pub refs: BTreeMap<RefName, Oid>,
    /// Those that are symbolic there, as far as the server tells: deleting one would delete the ref that it leads to.
    pub symbolic: BTreeSet<RefName>,
}

/// A remote in git's configuration.
pub struct Remote<'a> {
    pub(super) repo: &'a Repo,
    pub(super) world: &'a World,
    name: String,
    fetch_url: RemoteUrl,
    push_url: RemoteUrl,
    placement: Placement,
    kept_open: Option<&'a File>,
}

impl<'a> Remote<'a> {
    /// Finds a remote.
    pub fn find(repo: &'a Repo, world: &'a World, name: &str) -> Result<Remote<'a>> {
        let is_name = RefName::from(format!("refs/remotes/{name}/x").as_str()).is_valid();
        let plain = is_name && !name.starts_with('-') && !name.contains(char::is_control);
        let url = |direction| -> Result<Option<RemoteUrl>> {
            if plain { repo.remote_url(name, direction) } else { Ok(None) }
        };
        let urls = url(Direction::Fetch)?.zip(url(Direction::Push)?);
        let Some((fetch_url, push_url)) = urls else {
            return Err(Error::new(Code::RemoteNotFound, format!("no remote is named '{name}'"))
                .unchanged()
                .detail("remote", name)
                .hint("git remote -v   # lists them; 'git remote add NAME URL' adds one"));
        };
        let as_branches = repo.config(&format!("colony.sync.{name}.asBranches"));
        let placement = match as_branches.as_deref() {
            Some("true" | "yes" | "on" | "1") => Placement::AsBranches,
            _ => Placement::Own,
        };
        let name = name.to_owned();
        Ok(Remote { repo, world, name, fetch_url, push_url, placement, kept_open: None })
    }

    /// Has every command that changes the remote, and all its children, keep a file open.
    #[must_use]
    pub fn keeping_open(mut self, file: &'a File) -> Remote<'a> {
        self.kept_open = Some(file);
        self
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its fetch URL, without credentials.
    pub fn fetch_url(&self) -> String {
        self.fetch_url.without_credentials()
    }

    /// Returns `true` if it pushes to a repository on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.push_url.transport() == Transport::Local
    }

    /// Returns its push URL, without credentials.
    pub fn push_url(&self) -> String {
        self.push_url.without_credentials()
    }

    /// Asks git for all URLs of a push: a remote may have several, and the configuration may
    /// rewrite them. One process.
    pub fn push_targets(&self) -> Result<Vec<RemoteUrl>> {
        let mut git = self.repo.git(self.world);
        git.args(["remote", "get-url", "--push", "--all", "--", &self.name]);
        let output = git.run_checked(&format!("list the push URLs of '{}'", self.name))?;
        let printed = String::from_utf8_lossy(&output);
        let parse = |url| RemoteUrl::parse(url, Provenance::User, self.repo.workdir());
        let mut targets = printed.lines().map(parse).collect::<Result<Vec<_>>>()?;
        targets.dedup();
        Ok(targets)
    }

    /// Returns `true` if it has the refs of git-colony as branches and tags.
    pub fn has_ours_as_branches(&self) -> bool {
        self.placement == Placement::AsBranches
    }

    /// Returns the name that a ref has on it.
    pub fn name_there(&self, name: &RefName) -> RefName {
        self.placement.there(name)
    }

    /// Lists its refs that git and `wanted` accept, by name. One process, one connection.
    pub fn list(&self, wanted: impl Fn(&RefName) -> bool) -> Result<BTreeMap<RefName, Oid>> {
        let mut refs = self.list_all()?.refs;
        refs.retain(|name, _| wanted(name));
        Ok(refs)
    }

    /// Lists its refs that git accepts, and names the symbolic ones. One process, one connection.
    pub fn list_all(&self) -> Result<Listed> {
        let mut network = self.network(Direction::Fetch)?;
        let git = network.git();
        git.limit_output(MAX_LISTED_BYTES);
        git.args(["ls-remote", "--refs", "--symref", "--", &self.name]);
        let printed = network.run_checked(&format!("list the refs of '{}'", self.name))?;
        let mut listed = Listed::default();
        for line in printed.split(|&byte| byte == b'\n') {
            let Some(tab) = line.iter().position(|&byte| byte == b'\t') else {
                continue;
            };
            let (object, name) = line.split_at(tab);
            let name = self.placement.here(&RefName::new(name.get(1..).unwrap_or_default()));
            let Some(name) = name.filter(RefName::is_valid) else {
                continue;
            };
            if object.starts_with(b"ref: ") {
                listed.symbolic.insert(name);
            } else if let Some(id) = std::str::from_utf8(object).ok().and_then(Oid::parse) {
                listed.refs.insert(name, id);
            }
        }
        Ok(listed)
    }

    pub(super) fn network(&self, direction: Direction) -> Result<Network> {
        let url = match direction {
            Direction::Fetch => &self.fetch_url,
            Direction::Push => &self.push_url,
        };
        let mut git: Git = match direction {
            Direction::Fetch => self.repo.git(self.world),
            // The user's hooks see the environment of a normal push.
            Direction::Push => self.repo.git_of_user(self.world),
        };
        // git-colony's own hooks have nothing to do here.
        git.env(OPERATION_VARIABLE, "sync");
        // A mirror would refuse a list of refs.
        git.config(&format!("remote.{}.mirror", self.name), "false");
        match (direction, self.kept_open) {
            (Direction::Fetch, _) => durable::store_durably(&mut git),
            (Direction::Push, Some(file)) => drop(git.keep_open(file)?),
            (Direction::Push, None) => {}
        }
        self.hide_login(&mut git, direction, url);
        Network::new(self.world, git, Some(url))
    }

    /// Keeps the login of a configured URL out of the arguments of git's own children, which every user of the machine
    /// may see: git learns it from a credential helper, and another URL from a rule of this command. With several
    /// URLs for a push, each may have a login of its own; these are left to git.
    fn hide_login(&self, git: &mut Git, direction: Direction, url: &RemoteUrl) {
        let values = |name: &str| self.repo.config_values(&format!("remote.{}.{name}", self.name));
        let of_push = if direction == Direction::Push { values("pushurl") } else { Vec::new() };
        let has_push_url = !of_push.is_empty();
        let configured = if has_push_url { of_push } else { values("url") };
        let (Some(login), [configured]) = (url.web_login(), &configured[..]) else {
            return;
        };
        credentials::pass_login(git, &login);
        let plain = url.without_credentials();
        git.config(&format!("url.{plain}.insteadOf"), configured);
        // A rule of the user for pushes alone would win.
        if direction == Direction::Push && !has_push_url {
            git.config(&format!("url.{plain}.pushInsteadOf"), configured);
        }
    }
}

/// The name of the hub among the remotes of a clone. It only shows other programs that commits are published, on this
/// machine: git-colony never talks to it, and commits that it alone has are not elsewhere.
pub const HUB_REMOTE: &str = "colony-hub";

impl Repo {
    /// Returns the names of the configured remotes but the hub, sorted; skips those that are not UTF-8.
    pub fn remote_names(&self) -> Vec<String> {
        let names = self.inner.remote_names();
        let read = names.iter().filter_map(|name| std::str::from_utf8(name).ok());
        read.filter(|name| *name != HUB_REMOTE).map(str::to_owned).collect()
    }

    /// Returns the remote-tracking branches but those of the hub.
    pub fn remote_branches(&self) -> Result<Vec<FoundRef>> {
        let of_hub = format!("refs/remotes/{HUB_REMOTE}/");
        let mut branches = self.refs_below("refs/remotes/")?;
        branches.retain(|branch| !branch.name.as_bytes().starts_with(of_hub.as_bytes()));
        Ok(branches)
    }
}
