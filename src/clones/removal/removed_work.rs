//! The work of agents whose clones were removed: found in the hub, and named as in a clone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::clones::hub::kept_refs::{AGAIN, UNCOMMITTED, refs_in};
use crate::clones::hub::publish::of_team;
use crate::clones::hub::{Hub, desk_note, locate, maker_note};
use crate::clones::new_clone::Start;
use crate::git::identity::Identity;
use crate::git::refs::FoundRef;
use crate::git::{Oid, RefName};
use crate::model::text::shell_word;
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result};
use crate::store::files::shared_root::{AgentPlace, SharedRoot};
use crate::store::key;
use crate::store::refs::ref_names;

use super::kept_clone;

/// The work of a removed clone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RemovedWork {
    /// The agent.
    pub agent: String,
    /// The branch in the path of its clone.
    pub scope: String,
    /// The prefix of the refs in the hub.
    pub kept_as: String,
    /// The time of its removal, RFC 3339 UTC; empty where unknown.
    pub removed_at: String,
    /// Whether it is the newest of its agent.
    #[serde(skip)]
    pub is_newest: bool,
}

/// The content of a removed clone, under the names that a new clone uses.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The branch that was checked out, with its tip; `None` if HEAD was detached.
    pub on: Option<Start>,
    /// HEAD, if it was detached.
    pub detached: Option<Oid>,
    /// Branches, tags, checkpoints, records of forks, and other refs of the user.
    pub refs: Vec<FoundRef>,
    /// The stashes, oldest first.
    pub stashed: Vec<Oid>,
    /// The commit with the uncommitted work.
    pub uncommitted: Option<Oid>,
    /// The checkpoints that were created after the clone had left its path, oldest first.
    pub late: Vec<Oid>,
}

/// Lists the work of removed agents' clones, by name, the newest of each last.
pub fn of_agents(hub: &Hub) -> Result<Vec<RemovedWork>> {
    let mut by_removal: BTreeMap<(String, String, String), RemovedWork> = BTreeMap::new();
    for (name, _) in refs_in(hub, ref_names::KEPT_WORK)? {
        let name = name.to_string();
        let mut parts = name.splitn(4, '/');
        let mut part = || parts.next().unwrap_or_default();
        let (agent, scope, stamp, rest) = (part(), part(), part(), part());
        // The work of clones for reading is there, too, by the id of the clone.
        let is_id = scope.len() == 16 && scope.bytes().all(|byte| byte.is_ascii_hexdigit());
        let known = key::decode(agent).zip(key::decode(scope));
        let Some((agent, scope)) = known.filter(|_| !(agent == "clone" && is_id)) else {
            continue;
        };
        let kept_as = name.strip_suffix(rest).unwrap_or_default();
        let kept_as = format!("{}{kept_as}", ref_names::KEPT_WORK);
        let moment = time::parse_compact(stamp.split('-').next().unwrap_or_default());
        let at = (agent.clone(), stamp.to_owned(), kept_as.clone());
        by_removal.entry(at).or_insert_with(|| RemovedWork {
            agent,
            scope,
            kept_as,
            removed_at: moment.as_ref().map(time::rfc3339).unwrap_or_default(),
            is_newest: false,
        });
    }
    let mut works: Vec<RemovedWork> = by_removal.into_values().collect();
    let agents: Vec<String> = works.iter().map(|work| work.agent.clone()).collect();
    for (at, work) in works.iter_mut().enumerate() {
        work.is_newest = agents.get(at + 1) != Some(&work.agent);
    }
    Ok(works)
}

/// Lists the newest work of each agent.
pub fn newest_of_agents(hub: &Hub) -> Result<Vec<RemovedWork>> {
    let mut works = of_agents(hub)?;
    works.retain(|work| work.is_newest);
    Ok(works)
}

/// Finds the work of an agent whose clone was removed: the newest, or that of the removal at a time, RFC 3339
/// UTC.
pub fn find(hub: &Hub, agent: &str, at: Option<&str>) -> Result<RemovedWork> {
    let all = of_agents(hub)?;
    let is_it = |work: &&RemovedWork| match at {
        Some(at) => work.agent == agent && work.removed_at == at,
        None => work.agent == agent && work.is_newest,
    };
    if let Some(work) = all.iter().rfind(is_it) {
        return Ok(work.clone());
    }
    let which = at.map(|at| format!(" of {at}")).unwrap_or_default();
    let mut names: Vec<_> = all.into_iter().map(|work| work.agent).collect();
    names.dedup();
    Err(Error::new(
        Code::CloneNotFound,
        format!("the hub keeps no work{which} of a removed agent '{agent}'"),
    )
    .unchanged()
    .detail("removed", names)
    .hint("git colony agents   # lists the removed ones, too"))
}

/// Returns the work that a clone has published which has lost its git directory; `None` if there is none.
pub fn published(hub: &Hub, place: &AgentPlace) -> Result<Option<RemovedWork>> {
    let (agent, scope) = (place.agent.clone(), place.scope());
    let below = ref_names::PUBLISHED_AGENTS;
    let kept_as = format!("{below}{}/{}/", key::encode(&agent), key::encode(&scope));
    let removed_at = String::new();
    let work = RemovedWork { agent, scope, kept_as, removed_at, is_newest: true };
    Ok((!refs_in(hub, &work.kept_as)?.is_empty()).then_some(work))
}

impl RemovedWork {
    /// Returns the id of the checkout that the last clone at its place was made from, as far as the hub knows.
    pub fn last_made_by(&self, hub: &Path) -> Option<String> {
        maker_note::find(hub, &self.agent, &key::encode(&self.scope))
    }

    /// Returns the command that restores it.
    pub fn command(&self) -> String {
        let newest = command(&self.agent);
        if self.is_newest {
            return newest;
        }
        format!("{newest} --at {}", self.removed_at)
    }

    /// Returns the time of its removal.
    pub fn moment(&self) -> Option<Moment> {
        time::parse_rfc3339(&self.removed_at)
    }

    /// Returns the branch of the clone itself among those of its worktrees: its own fork if that is one of them.
    fn own(&self, mut on: Vec<Start>) -> Option<Start> {
        let own = format!("fork/{}", self.agent);
        let at = on.iter().position(|start| start.branch == own);
        at.map(|at| on.swap_remove(at)).or_else(|| on.pop())
    }

    /// Reads the kept refs. A later one replaces an earlier one.
    pub fn held(&self, hub: &Hub) -> Result<Held> {
        let mut rounds: BTreeMap<u32, BTreeMap<String, Oid>> = BTreeMap::new();
        for (name, id) in refs_in(hub, &self.kept_as)? {
            let name = name.to_string();
            let again = name.strip_prefix(AGAIN).and_then(|name| name.split_once('/'));
            let round =
                again.and_then(|(round, rest)| Some((round.parse().ok()?, rest.to_owned())));
            let (round, rest) = round.unwrap_or((0, name));
            rounds.entry(round).or_default().insert(rest, id);
        }
        let mut held = Held::default();
        let mut refs: BTreeMap<RefName, Oid> = BTreeMap::new();
        let mut stashed: BTreeMap<(u8, u32), Oid> = BTreeMap::new();
        for (round, kept) in rounds {
            // Other worktrees of the clone have published theirs, too.
            let mut on: Vec<Start> = Vec::new();
            for (name, id) in kept {
                let (kind, rest) = name.split_once('/').unwrap_or((&name, ""));
                let number = || rest.parse().unwrap_or(u32::MAX);
                match kind {
                    UNCOMMITTED => held.uncommitted = Some(id),
                    "detached" => (held.detached, held.on) = (Some(id), None),
                    "on" => {
                        let branch = key::decode(rest);
                        on.extend(branch.map(|branch| Start { branch, commit: id }));
                        held.detached = None;
                    }
                    // It is restored with the log.
                    "auto" => {}
                    "autostash" => drop(stashed.insert((0, number()), id)),
                    "stash" => drop(stashed.insert((1, number()), id)),
                    _ => {
                        let name = name_in_clone(kind, rest);
                        if round > 0 && name.as_ref().is_some_and(is_checkpoint) {
                            held.late.push(id);
                        }
                        refs.extend(name.map(|name| (name, id)));
                    }
                }
            }
            held.on = self.own(on).or(held.on);
        }
        // Checkpoints that others have published are kept beside those of the clone, and are not late ones.
        let of_others: BTreeSet<Oid> = of_team(hub)?.into_values().collect();
        held.late.retain(|id| !of_others.contains(id));
        held.stashed = stashed.into_values().collect();
        held.refs = refs
            .into_iter()
            .filter(|(name, _)| name.is_valid())
            .map(|(name, id)| FoundRef { name, id })
            .collect();
        Ok(held)
    }
}

/// Returns the command that restores the work of an agent.
pub fn command(agent: &str) -> String {
    // The name may be any valid part of a ref.
    let is_plain = Identity::of_agent(agent).is_ok();
    let name = if is_plain { agent.to_owned() } else { shell_word(agent) };
    format!("git colony agents restore {name}")
}

/// Returns the same for who stands outside of a repository.
pub fn command_outside(hub: &Path, agent: &str) -> String {
    command(agent).replacen("git colony ", &format!("git colony {}", desk_note::way_in(hub)), 1)
}

/// Lists the hubs, all or only one, that keep the folder or the work of a removed agent.
pub fn hubs_with(root: &SharedRoot, hub: Option<&Path>, agent: &str) -> Vec<PathBuf> {
    let keeps = |hub: &PathBuf| {
        let mut folders = kept_clone::list(root, Some(hub)).into_iter();
        folders.any(|clone| clone.member.agent.as_deref() == Some(agent))
            || Hub::open(hub)
                .and_then(|hub| newest_of_agents(&hub))
                .is_ok_and(|works| works.iter().any(|work| work.agent == agent))
    };
    let mut hubs = locate::all(root);
    hubs.retain(|candidate| hub.is_none_or(|hub| candidate == hub) && keeps(candidate));
    hubs
}

fn is_checkpoint(name: &RefName) -> bool {
    ref_names::parse_checkpoint(name).is_some()
}

/// Returns the ref's name in the clone.
fn name_in_clone(kind: &str, rest: &str) -> Option<RefName> {
    let checkpoint = rest.strip_prefix("checkpoint/");
    let name = match (kind, checkpoint) {
        ("tags", Some(name)) => return Some(ref_names::checkpoint(name)),
        ("heads" | "tags", _) => format!("refs/{kind}/{rest}"),
        ("forks", _) => return Some(ref_names::fork_record(rest)),
        ("other", _) => format!("refs/{rest}"),
        (ref_names::PUBLISHED_MIGRATIONS, _) => ref_names::MIGRATIONS.to_owned(),
        _ => return None,
    };
    Some(RefName::from(name.as_str()))
}
