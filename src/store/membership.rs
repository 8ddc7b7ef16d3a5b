//! The record of a repository's membership in a colony: its hub and its role.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::git::{RefName, Repo};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, ResultExt as _};

use super::files::atomic;
use super::files::shared_root::AgentPlace;
use super::key;
use super::record_format;
use super::refs::ref_names;

/// The format that this version reads and writes.
pub const FORMAT: u32 = 2;

/// The role of a repository in its colony.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user's own checkout: never removed by us.
    Desk,
    /// A clone that we created for an agent.
    Agent,
    /// A clone that we created for reading.
    Reader,
}

/// The record of a member, in `<common dir>/colony/membership.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The format of the record.
    pub format: u32,
    /// 16 random hex digits: the clone's id.
    pub id: String,
    /// Its role.
    pub role: Role,
    /// The hub.
    pub hub: PathBuf,
    /// The agent whose clone it is.
    pub agent: Option<String>,
    /// The branch of a clone of ours, as in its path.
    pub scope: Option<String>,
    /// The URL that the repository was cloned from, without credentials.
    pub url: Option<String>,
    /// The branch that was checked out first.
    pub branch: Option<String>,
    /// The time it joined, RFC 3339 UTC.
    pub created_at: String,
    /// The id of the checkout of a person from which a clone was made, also by one of its agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desk: Option<String>,
    /// The task of the agent, in the words of who made its clone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl Membership {
    /// Makes the record of the user's checkout.
    pub fn of_desk(id: String, hub: PathBuf, url: Option<String>, now: String) -> Membership {
        Membership {
            format: FORMAT,
            id,
            role: Role::Desk,
            hub,
            agent: None,
            scope: None,
            url,
            branch: None,
            created_at: now,
            desk: None,
            task: None,
        }
    }

    /// Returns the id of the checkout of a person that this is, or was made from; `None` if it is not known.
    pub fn desk(&self) -> Option<&str> {
        match self.role {
            Role::Desk => Some(&self.id),
            Role::Agent | Role::Reader => self.desk.as_deref(),
        }
    }

    /// Returns the shared root that the hub is in; `None` if the hub is elsewhere.
    pub fn root(&self) -> Option<&Path> {
        self.hub.parent().filter(|hubs| hubs.ends_with("hubs"))?.parent()
    }

    /// Makes the record of a clone; a clone without an agent is for reading.
    pub fn of_clone(
        desk: Membership,
        agent: Option<String>,
        scope: String,
        branch: String,
    ) -> Membership {
        let role = agent.as_ref().map_or(Role::Reader, |_| Role::Agent);
        Membership { role, agent, scope: Some(scope), branch: Some(branch), ..desk }
    }

    /// Reads the record of a repository; `None` if it is not a member. The clone of an agent is one by its place: there
    /// a record that is gone, or that names another agent or hub, counts as damaged.
    pub fn find(repo: &Repo) -> Result<Option<Membership>> {
        let record = path_in(repo.common_dir());
        let membership = Membership::read(&record)?;
        let is_root = |place: &AgentPlace| {
            place.clone == repo.workdir() || place.clone.join(".git") == repo.common_dir()
        };
        let mut places =
            [repo.workdir(), repo.common_dir()].into_iter().filter_map(AgentPlace::find);
        match places.find(is_root) {
            Some(place)
                if !membership.as_ref().is_some_and(|membership| membership.fits(&place)) =>
            {
                Err(misplaced(&record, &place))
            }
            _ => Ok(membership),
        }
    }

    /// Returns `true` if a clone at this path is of another agent or hub.
    pub fn is_misplaced_at(&self, clone: &Path) -> bool {
        let real = clone.canonicalize();
        let place = AgentPlace::find(real.as_deref().unwrap_or(clone));
        place.is_some_and(|place| !self.fits(&place))
    }

    /// Returns `true` if this is the record of the clone at a place.
    fn fits(&self, place: &AgentPlace) -> bool {
        let hubs = self.hub.parent().map(|hubs| (hubs, hubs.canonicalize()));
        let is_beside =
            hubs.is_some_and(|(hubs, real)| real.as_deref().unwrap_or(hubs) == place.hubs);
        self.role == Role::Agent && self.agent.as_ref() == Some(&place.agent) && is_beside
    }

    /// Reads the record at `path`.
    pub fn read(path: &Path) -> Result<Option<Membership>> {
        let broken = || format!("cannot read '{}'", path.display());
        let cannot = |e| Error::io(broken(), e);
        let Some(bytes) = plain_file::find_own(path).map_err(cannot)? else {
            return Ok(None);
        };
        let newer = |_| format!("'{}' was written by a newer git-colony", path.display());
        let membership: Membership = record_format::parse(&bytes, FORMAT, newer, broken)?;
        // An agent writes the record of its clone, and ids become names of files.
        let is_id =
            membership.id.len() == 16 && membership.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(Error::new(Code::RepositoryBroken, broken()).detail("id", &membership.id));
        }
        Ok(Some(membership))
    }

    /// Writes the record below a common git directory.
    pub fn write(&self, common_dir: &Path) -> Result<()> {
        let path = path_in(common_dir);
        if let Some(folder) = path.parent() {
            atomic::make_directory(folder)?;
        }
        let mut json = serde_json::to_vec_pretty(self)
            .or_code(Code::Io, || "cannot write the record of a clone")?;
        json.push(b'\n');
        atomic::write_durably(&path, &json)
    }

    /// Returns the prefix of the refs that this repository publishes in the hub.
    pub fn published_below(&self) -> String {
        match (&self.agent, &self.scope) {
            (Some(agent), Some(scope)) => format!(
                "{}{}/{}/",
                ref_names::PUBLISHED_AGENTS,
                key::encode(agent),
                key::encode(scope)
            ),
            _ => format!("{}{}/", ref_names::PUBLISHED_DESKS, self.id),
        }
    }
}

fn misplaced(record: &Path, place: &AgentPlace) -> Error {
    let AgentPlace { agent, clone, .. } = place;
    let message =
        format!("this clone of agent '{agent}' has no record of its own in '{}'", record.display());
    Error::new(Code::RepositoryBroken, message)
        .unchanged()
        .detail("path", clone.display().to_string())
        .detail("agent", agent)
        .hint(format!(
            "git colony clones refresh {}   # run by the user, in the checkout",
            typed_word(agent)
        ))
}

/// Returns the path of the record below a common git directory.
pub fn path_in(common_dir: &Path) -> PathBuf {
    common_dir.join("colony").join("membership.json")
}

/// Returns the name under which other repositories keep a ref that was published in the hub.
pub fn mirror_of(published: &RefName) -> Option<RefName> {
    let name = published.to_string();
    let rest = name.strip_prefix(ref_names::PUBLISHED)?;
    Some(RefName::from(format!("{}{rest}", ref_names::PRIVATE).as_str()))
}
