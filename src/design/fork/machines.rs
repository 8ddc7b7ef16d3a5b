//! The agents of other machines, as `sync` has fetched them: each checkout of a person publishes the committed work of its
//! agents as one commit, which has their commits as its parents.
//!
//! `refs/colony/machines/<writer>` is rewritten by each sync of that checkout, and by no other. What it says is data of
//! another machine: names are checked, and a commit counts only if it is one of the parents.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::identity::Identity;
use crate::git::object::{self, NewCommit};
use crate::git::refs::FoundRef;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _, time};
use crate::store::files::writer_name;
use crate::store::record_format;
use crate::store::refs::ref_names;

use super::fork_record::{self, ForkRecord};

/// The format that this version reads and writes.
const FORMAT: u32 = 1;

/// The file of a record.
const FILE: &str = "machine.json";

/// A longer file is not a record.
const MAX_BYTES: u64 = 1 << 20;

/// The maximum number of agents of one machine.
const MAX_AGENTS: usize = 1_000;

/// The maximum length of a task, in characters.
const MAX_TASK: usize = 500;

/// The agents of one checkout, with what each has committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineRecord {
    format: u32,
    /// The name of the machine.
    machine: String,
    /// By name, each once.
    agents: Vec<AgentWork>,
}

/// The committed work of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentWork {
    /// The agent.
    pub agent: String,
    /// The id of its clone.
    pub clone: String,
    /// The branch that it has checked out, or `detached:<8 hex>`.
    pub branch: String,
    /// Its commit.
    pub commit: Oid,
    /// The commit that its fork was created at.
    pub base: Option<Oid>,
    /// The branch that its fork was created from.
    pub base_branch: Option<String>,
    /// When its clone was created, RFC 3339 UTC.
    pub created_at: String,
    /// Its task, in the words of who made it.
    pub task: Option<String>,
}

/// Where the agent of a row or a fork works, if that is another machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Elsewhere {
    /// The machine.
    pub machine: String,
    /// The name of the agent there.
    pub agent: String,
    /// The id of its clone.
    pub clone: String,
    /// The branch that it has checked out there.
    pub branch: String,
    /// When that machine published this, RFC 3339 UTC.
    pub known_at: Option<String>,
}

/// The work of an agent of another machine.
#[derive(Clone, Debug)]
pub struct RemoteAgent {
    /// `<machine>/<agent>`: the name that commands take.
    pub name: String,
    /// `refs/colony/machines/<id>/<agent>`: the name that stands for nothing else. No ref has it: the record is in the way.
    pub full_name: String,
    /// Its commit, and how it came about.
    pub work: AgentWork,
    /// Where it is.
    pub place: Elsewhere,
}

impl MachineRecord {
    /// Makes a record; agents of which the machine has too many are left out.
    pub fn new(machine: String, mut agents: Vec<AgentWork>) -> MachineRecord {
        agents.sort_by(|a, b| a.agent.cmp(&b.agent));
        agents.dedup_by(|a, b| a.agent == b.agent);
        agents.truncate(MAX_AGENTS);
        MachineRecord { format: FORMAT, machine, agents }
    }

    /// Returns the commits of its agents, each once.
    fn commits(&self) -> Vec<Oid> {
        let commits: BTreeSet<Oid> = self.agents.iter().map(|work| work.commit).collect();
        commits.into_iter().collect()
    }

    /// Writes it as an unreferenced commit, unless `known` has the same content: then returns that.
    pub fn write(&self, repo: &Repo, who: &Signature, known: Option<Oid>) -> Result<Oid> {
        let mut json = serde_json::to_vec_pretty(self)
            .or_code(Code::Io, || "cannot write the record of this machine")?;
        json.push(b'\n');
        let path = RepoPath::from(FILE);
        let entry = TreeEntry::file(repo.write_blob(&json)?);
        let tree = repo.edit_tree(repo.empty_tree(), [(&path, Some(entry))])?;
        let parents = self.commits();
        let same = known.and_then(|known| Some((known, repo.read_commit(known).ok()?)));
        if let Some((known, commit)) = same
            && commit.tree == tree
            && commit.parents == parents
        {
            return Ok(known);
        }
        let message = format!("agents of {}", self.machine);
        repo.write_commit(NewCommit { tree, parents, signature: who, message })
    }

    /// Reads and checks a record.
    fn read(repo: &Repo, id: Oid) -> Result<(MachineRecord, Option<String>)> {
        let commit = repo.read_commit(id)?;
        let blob = repo.entry_in(commit.tree, FILE)?.ok_or_else(|| object::not_a_record(id))?;
        if repo.object_size(blob).is_none_or(|size| size > MAX_BYTES) {
            return Err(object::not_a_record(id));
        }
        let record: MachineRecord = record_format::parse(
            &repo.read_blob(blob)?,
            FORMAT,
            |_| "the record of a machine was written by a newer git-colony".to_owned(),
            || "cannot read the record of a machine".to_owned(),
        )?;
        let names: BTreeSet<&str> = record.agents.iter().map(|work| work.agent.as_str()).collect();
        let are_unique = names.len() == record.agents.len() && names.len() <= MAX_AGENTS;
        let is_sound = |work: &AgentWork| work.is_sound() && commit.parents.contains(&work.commit);
        if are_unique && is_machine_name(&record.machine) && record.agents.iter().all(is_sound) {
            let at = commit.committer.moment().map(|at| time::rfc3339(&at));
            return Ok((record, at));
        }
        Err(object::not_a_record(id))
    }
}

impl AgentWork {
    fn is_sound(&self) -> bool {
        let branch = |name: &str| RefName::from(format!("refs/heads/{name}").as_str()).is_valid();
        let is_plain = |text: &str| !text.contains(char::is_control);
        let is_branch = branch(&self.branch) || self.branch.starts_with("detached:");
        Identity::of_agent(&self.agent).is_ok()
            && is_id(&self.clone)
            && is_branch
            && is_plain(&self.branch)
            && self.base_branch.as_deref().is_none_or(|name| branch(name) && is_plain(name))
            && time::parse_rfc3339(&self.created_at).is_some()
            && self.task.as_ref().is_none_or(|task| task.chars().count() <= MAX_TASK)
    }
}

impl RemoteAgent {
    /// Returns its fork as if its record were here; `None` where the commit that it was created at is not.
    pub(in crate::design) fn record(&self, repo: &Repo) -> Option<ForkRecord> {
        let base = self.work.base.filter(|base| repo.peel_to_commit(*base) == Some(*base))?;
        let label = self.work.branch.strip_prefix("fork/")?;
        let owner = Identity::of_agent(&self.work.agent).ok()?;
        Some(ForkRecord {
            format: fork_record::FORMAT,
            label: label.to_owned(),
            base,
            base_branch: self.work.base_branch.clone(),
            owner: format!("{} <{}>", owner.name, owner.email),
            created_at: self.work.created_at.clone(),
            updated_at: self.work.created_at.clone(),
        })
    }
}

/// Cuts a task to what a record may have.
pub fn short_task(task: &str) -> String {
    task.chars().take(MAX_TASK).collect()
}

/// Returns the problem with a record of a remote.
pub fn flaw(repo: &Repo, name: &RefName, id: Oid) -> Option<String> {
    let text = name.to_string();
    if !text.strip_prefix(ref_names::MACHINES).is_some_and(is_id) {
        return Some("its name is not that of a machine".to_owned());
    }
    MachineRecord::read(repo, id).err().map(|error| error.message())
}

/// Returns `true` if a text can be the name of a machine: by the rules for agents, since it is the first part of a name
/// that commands take.
pub fn is_machine_name(name: &str) -> bool {
    Identity::of_agent(name).is_ok()
}

fn is_id(text: &str) -> bool {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 16 && text.bytes().all(is_hex)
}

/// Lists the agents of other machines, as last synced, by name. A record that cannot be read counts as none.
pub fn list(repo: &Repo) -> Result<Vec<RemoteAgent>> {
    Ok(read_all(repo, &refs(repo)?))
}

/// Lists the refs of all machines, without reading what they hold.
pub fn refs(repo: &Repo) -> Result<Vec<FoundRef>> {
    repo.refs_below(ref_names::MACHINES)
}

fn read_all(repo: &Repo, refs: &[FoundRef]) -> Vec<RemoteAgent> {
    let own = writer_name::read(repo);
    let mut known = Vec::new();
    for found in refs {
        let name = found.name.to_string();
        let id = name.strip_prefix(ref_names::MACHINES).filter(|id| is_id(id));
        let Some(id) = id.filter(|id| own.as_deref() != Some(*id)) else {
            continue;
        };
        if let Ok((record, at)) = MachineRecord::read(repo, found.id) {
            known.push((at, record, id.to_owned()));
        }
    }
    known.sort_by(|(a, _, id), (b, _, other)| b.cmp(a).then_with(|| id.cmp(other)));
    let mut agents = Vec::new();
    let mut clones = BTreeSet::new();
    for (at, record, id) in &known {
        let same = known.iter().filter(|(_, other, _)| other.machine == record.machine).count();
        let begin = id.get(..4).filter(|_| same > 1).map(|id| format!("-{id}"));
        let machine = format!("{}{}", record.machine, begin.unwrap_or_default());
        // Where a repository was copied, two records may have one clone: the newer counts.
        let is_new = |work: &&AgentWork| clones.insert(work.clone.clone());
        agents.extend(record.agents.iter().filter(is_new).map(|work| RemoteAgent {
            name: format!("{machine}/{}", work.agent),
            full_name: format!("{}{id}/{}", ref_names::MACHINES, work.agent),
            place: Elsewhere {
                machine: machine.clone(),
                agent: work.agent.clone(),
                clone: work.clone.clone(),
                branch: work.branch.clone(),
                known_at: at.clone(),
            },
            work: work.clone(),
        }));
    }
    agents.sort_by(|a, b| a.name.cmp(&b.name));
    agents
}

/// Returns the commits of the agents of other machines, by their names, as these refs have them.
pub fn tips(repo: &Repo, refs: &[FoundRef]) -> BTreeMap<String, Oid> {
    let agents = read_all(repo, refs).into_iter();
    agents.map(|agent| (agent.name, agent.work.commit)).collect()
}

/// Lists the agents of other machines that a name may stand for: `<machine>/<agent>`, or else the agent's own name.
pub(in crate::design) fn fitting(repo: &Repo, typed: &str) -> Result<Vec<RemoteAgent>> {
    let all = list(repo)?;
    Ok(match all.iter().find(|agent| agent.name == typed) {
        Some(exact) => vec![exact.clone()],
        None => all.into_iter().filter(|agent| agent.work.agent == typed).collect(),
    })
}

/// Finds an agent of another machine by `<machine>/<agent>`.
pub(in crate::design) fn of_whole_name(repo: &Repo, typed: &str) -> Result<Option<RemoteAgent>> {
    let is_pair = typed.split('/').count() == 2;
    let mut all = if is_pair { list(repo)? } else { Vec::new() }.into_iter();
    Ok(all.find(|agent| agent.name == typed))
}

/// Finds an agent of another machine by its full name.
pub(in crate::design) fn of_full_name(repo: &Repo, typed: &str) -> Result<Option<RemoteAgent>> {
    if !typed.starts_with(ref_names::MACHINES) {
        return Ok(None);
    }
    Ok(list(repo)?.into_iter().find(|agent| agent.full_name == typed))
}
