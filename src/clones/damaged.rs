//! Clones whose record cannot be read, because it is broken or of a newer git-colony. They stay at their
//! paths, borrow from their hub, and are never pruned.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Error, Result, text};
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::key;
use crate::store::membership::{self, Membership};
use crate::store::refs::ref_names;

use super::clone_folders::{fault_of, folders, hub_of, lost_git_dir};
use super::hub::{Hub, desk_note, locate, maker_note};

/// A clone of ours whose record cannot be read.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DamagedClone {
    /// Its path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Its agent, from its path; `None` for a clone for reading.
    pub agent: Option<String>,
    /// The hub that it borrows objects from; `None` where that is unknown too.
    #[schemars(with = "Option<String>")]
    pub hub: Option<PathBuf>,
    /// The problem, as an error code.
    pub code: &'static str,
    /// The problem as text.
    pub reason: String,
    /// The command that repairs it, where its git directory is whole.
    #[serde(skip)]
    fix: Option<String>,
    /// Whether git cannot use its '.git': its files are there, and its work is in the hub as it was last published.
    #[serde(skip)]
    pub has_lost_git_dir: bool,
}

impl DamagedClone {
    fn at(path: PathBuf, agent: Option<String>) -> Option<DamagedClone> {
        let git_dir = path.join(".git");
        let record = membership::path_in(&git_dir);
        let lost = agent.as_ref().and_then(|_| lost_git_dir(&git_dir));
        let fault = agent.as_ref().and_then(|_| fault_of(&git_dir));
        let (code, reason) = match (Membership::read(&record), lost) {
            // A newer git-colony may keep its objects and refs in another way.
            (Err(error), _) if error.code() == Code::NewerFormat => (error.code(), error.message()),
            (_, Some(_)) if is_empty(&path) => return None,
            (_, None) if fault.is_some() => {
                (Code::RepositoryBroken, fault.iter().map(|fault| fault.reason.clone()).collect())
            }
            (_, Some(damage)) => (Code::RepositoryBroken, format!("its '.git' {damage}")),
            (Ok(Some(membership)), None) if !membership.is_misplaced_at(&path) => return None,
            (Ok(Some(_)), None) => {
                let reason = format!("'{}' names another agent or hub", record.display());
                (Code::RepositoryBroken, reason)
            }
            // Without a repository, it is not a clone of ours.
            (Ok(None), None) if !git_dir.is_dir() => return None,
            (Ok(None), None) => {
                let reason = format!("'{}' is gone", record.display());
                (Code::RepositoryBroken, reason)
            }
            (Err(error), None) => (error.code(), error.message()),
        };
        let has_lost_git_dir = lost.is_some() && code == Code::RepositoryBroken;
        let fault = fault.filter(|_| !has_lost_git_dir && code == Code::RepositoryBroken);
        let hub = hub_of(fault.as_ref().map_or(&git_dir, |fault| &fault.git_dir));
        let code = code.as_str();
        Some(DamagedClone {
            path,
            agent,
            hub,
            code,
            reason,
            fix: fault.map(|fault| fault.command),
            has_lost_git_dir,
        })
    }

    /// Returns `true` if a hub has work of a clone that has lost everything that tells its hub.
    fn has_work_in(&self, hub: &Path) -> bool {
        let Some((hub, published)) = Hub::open(hub).ok().zip(self.published_below()) else {
            return false;
        };
        // Where it was removed, the folder is of another process, which wrote at its old path.
        hub.store.refs_below(&published).is_ok_and(|refs| !refs.is_empty())
    }

    /// Returns `true` if git cannot work there: an agent's clone has a row of its own then.
    pub fn is_unusable(&self) -> bool {
        self.has_lost_git_dir || self.fix.is_some()
    }

    /// Returns the command that repairs it.
    pub fn repair_command(&self) -> String {
        let shown = self.path.to_string_lossy();
        let name = text::typed_word(self.agent.as_deref().unwrap_or(&shown));
        if let Some(fix) = &self.fix {
            return fix.clone();
        }
        if self.has_lost_git_dir {
            let agent = self.agent.as_deref().unwrap_or(&shown);
            return format!("{}   # its files stay, uncommitted", restore_command(agent));
        }
        format!("git colony clones refresh {name}   # by the user: restores the record")
    }

    /// Returns the id of the checkout that it was made from, by its record, else by what its hub knows.
    pub fn made_by(&self, hub: &Path) -> Option<String> {
        let record = Membership::read(&membership::path_in(&self.path.join(".git")));
        let own = record.ok().flatten().filter(|member| !member.is_misplaced_at(&self.path));
        own.and_then(|member| member.desk).or_else(|| {
            let folder = self.path.file_name()?.to_str()?;
            maker_note::find(hub, self.agent.as_deref()?, folder)
        })
    }

    /// Makes the error for a command that needs it; `name` is as it was typed.
    fn error(&self, name: &str) -> Error {
        let code = Code::ALL.iter().find(|code| code.as_str() == self.code);
        let code = *code.unwrap_or(&Code::RepositoryBroken);
        let error = Error::new(code, format!("the clone '{name}' is damaged: {}", self.reason))
            .unchanged()
            .detail("path", self.path.display().to_string());
        match code {
            Code::NewerFormat => error,
            _ => error.hint(self.repair_command()),
        }
    }

    /// Returns a line for people.
    pub fn to_text(&self) -> String {
        let path = text::shell_word(&self.path.to_string_lossy());
        let whose =
            self.agent.as_ref().map_or(String::new(), |agent| format!(" of agent '{agent}'"));
        format!("damaged, the clone{whose} in {path}: {}", self.reason)
    }

    /// Returns the prefix of the refs it publishes, from its path.
    pub(super) fn published_below(&self) -> Option<String> {
        let scope = self.path.file_name()?.to_str()?;
        let agent = key::encode(self.agent.as_ref()?);
        Some(format!("{}{agent}/{scope}/", ref_names::PUBLISHED_AGENTS))
    }
}

/// Lists the clones below the shared root whose records cannot be read: those of one hub and those whose hub
/// is unknown, or all.
pub fn clones(root: &SharedRoot, hub: Option<&Path>) -> Vec<DamagedClone> {
    let mut damaged = Vec::new();
    for folder in folders(&root.agents()) {
        let name = folder.file_name().and_then(|name| name.to_str());
        let agent = name.and_then(key::decode);
        let places = folders(&folder.join("clones")).into_iter();
        damaged.extend(places.filter_map(|path| DamagedClone::at(path, agent.clone())));
    }
    let readers = folders(&root.shared_clones()).into_iter();
    damaged.extend(readers.filter_map(|path| DamagedClone::at(path, None)));
    damaged.retain(|clone| match (hub, clone.hub.as_deref()) {
        (Some(hub), None) if clone.agent.is_some() => clone.has_work_in(hub),
        (None, _) | (_, None) => true,
        (hub, of) => of == hub,
    });
    damaged
}

/// Lists the clones that have published into a hub and whose folders are gone, as after `rm -rf`: a removal would have kept
/// their work elsewhere.
pub fn without_folder(root: &SharedRoot, hub: &Hub) -> Result<Vec<DamagedClone>> {
    let mut places = BTreeMap::new();
    for reference in hub.store.refs_below(ref_names::PUBLISHED_AGENTS)? {
        let name = reference.name.to_string();
        let mut words = name.strip_prefix(ref_names::PUBLISHED_AGENTS).unwrap_or("").splitn(3, '/');
        if let (Some(agent), Some(scope), Some(_)) = (words.next(), words.next(), words.next()) {
            let path = root.agents().join(agent).join("clones").join(scope);
            places.insert(path, key::decode(agent));
        }
    }
    places.retain(|path, agent| agent.is_some() && path.symlink_metadata().is_err());
    let clones = places.into_iter().map(|(path, agent)| DamagedClone {
        fix: agent.as_deref().map(restore_command),
        path,
        agent,
        hub: Some(hub.store.path().to_owned()),
        code: Code::RepositoryBroken.as_str(),
        reason: "its folder is gone".to_owned(),
        has_lost_git_dir: false,
    });
    Ok(clones.collect())
}

fn restore_command(agent: &str) -> String {
    format!("git colony agents restore {}", text::typed_word(agent))
}

/// Returns `true` if a folder is that of an agent's damaged clone, of any repository.
pub(super) fn is_at(root: &SharedRoot, place: &Path) -> bool {
    let agent = AgentPlace::find(place).map(|place| place.agent);
    let damaged = agent.and_then(|agent| DamagedClone::at(place.to_owned(), Some(agent)));
    damaged.is_some_and(|clone| match &clone.hub {
        Some(_) => true,
        None => locate::all(root).iter().any(|hub| clone.has_work_in(hub)),
    })
}

/// Returns `true` if the clone of an agent is damaged, or its folder is gone.
pub fn is_damaged(root: &SharedRoot, hub: &Path, agent: &str) -> bool {
    let mut all = with_those_gone(root, Some(hub)).into_iter();
    all.any(|clone| clone.agent.as_deref() == Some(agent))
}

/// Lists the damaged clones and those without a folder, of one hub or of all.
fn with_those_gone(root: &SharedRoot, hub: Option<&Path>) -> Vec<DamagedClone> {
    let hubs = hub.map_or_else(|| locate::all(root), |hub| vec![hub.to_owned()]);
    let of_hub = |hub: PathBuf| Hub::open(&hub).and_then(|hub| without_folder(root, &hub));
    let gone = hubs.into_iter().flat_map(|hub| of_hub(hub).unwrap_or_default());
    clones(root, hub).into_iter().chain(gone).collect()
}

/// Makes the error for the damaged clone of an agent, for who stands outside of a repository; also where its folder is gone.
pub fn outside(root: &SharedRoot, hub: Option<&Path>, agent: &str) -> Option<Error> {
    let mut all = with_those_gone(root, hub).into_iter();
    let clone = all.find(|clone| clone.agent.as_deref() == Some(agent))?;
    let error = clone.error(agent);
    if clone.code == Code::NewerFormat.as_str() {
        return Some(error);
    }
    let command = clone.repair_command();
    let of_work = || locate::all(root).into_iter().find(|hub| clone.has_work_in(hub));
    let known = clone.hub.clone().or_else(|| hub.map(Path::to_owned)).or_else(of_work);
    let way_in = known.map(|hub| desk_note::way_in(&hub)).unwrap_or_default();
    // A command of git names its folder.
    let there = command.replacen("git colony ", &format!("git colony {way_in}"), 1);
    Some(error.replace_hint(there))
}

/// Makes the error for a named clone that is damaged.
pub fn named(root: &SharedRoot, hub: Option<&Path>, name: &str) -> Option<Error> {
    let mut all = clones(root, hub).into_iter();
    let clone = all.find(|clone| {
        clone.agent.as_deref() == Some(name) || clone.path.as_path() == Path::new(name)
    })?;
    if let (None, Some(agent)) = (hub, &clone.agent) {
        return outside(root, None, agent);
    }
    Some(clone.error(name))
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
