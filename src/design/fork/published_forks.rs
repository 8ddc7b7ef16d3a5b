//! Branches that others have published in the hub: copies of their refs below
//! `refs/colony-local/agents/` and `refs/colony-local/desks/`.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::{Head, Oid, RefName, Repo};
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result};
use crate::store::key;
use crate::store::membership::{Membership, Role, mirror_of};
use crate::store::refs::ref_names;

use super::fork_record::ForkRecord;
use super::machines;

/// A published branch.
#[derive(Clone, Debug)]
pub struct Published {
    /// The agent that has it in its clone; `None` for the checkout of a person.
    pub agent: Option<String>,
    /// The branch, without `refs/heads/`.
    pub branch: String,
    /// Its tip.
    pub commit: Oid,
    /// Whether it is checked out there.
    pub(in crate::design) is_checked_out: bool,
    /// The record, if the branch is a fork.
    pub(in crate::design) record: Option<ForkRecord>,
    /// The ref of the copy in this repository: its full name.
    pub(in crate::design) copy: String,
}

impl Published {
    /// Returns a name that stands for nothing else than it.
    pub(in crate::design) fn spelled_out(&self, repo: &Repo) -> Result<String> {
        Ok(spelled_out(repo, &copies(repo)?, self.agent.as_deref(), &self.branch, &self.copy))
    }

    /// Returns the commit that it was created at, if it is a fork.
    pub fn base(&self) -> Option<Oid> {
        self.record.as_ref().map(|record| record.base)
    }

    /// Returns the branch that it was created from, if it is a fork and was created from a branch.
    pub fn base_branch(&self) -> Option<String> {
        self.record.as_ref()?.base_branch.clone()
    }
}

/// A copy of a published ref: its publisher and name.
struct Copy {
    prefix: String,
    agent: Option<String>,
    rest: String,
    id: Oid,
}

impl Copy {
    fn full_name(&self) -> String {
        format!("{}{}", self.prefix, self.rest)
    }
}

/// Lists the forks that others have published, by publisher and name.
pub fn forks(repo: &Repo) -> Result<Vec<Published>> {
    let copies = copies(repo)?;
    let on: BTreeSet<_> = copies
        .iter()
        .filter(|copy| is_checked_out(copy))
        .filter_map(|copy| Some((copy.prefix.as_str(), branch_of(copy)?)))
        .collect();
    let forks = copies.iter().filter_map(|copy| {
        let branch = copy.rest.strip_prefix("heads/")?.to_owned();
        let is_fork = branch.starts_with("fork/");
        let mut fork = is_fork.then(|| describe(repo, copy, branch.clone()))??;
        fork.is_checked_out = on.contains(&(copy.prefix.as_str(), branch));
        Some(fork)
    });
    Ok(forks.collect())
}

/// Returns the tips of the branches that others have published.
pub(in crate::design) fn tips(repo: &Repo) -> Result<Vec<Oid>> {
    let copies = copies(repo)?.into_iter();
    let heads = copies.filter(|copy| copy.rest.starts_with("heads/"));
    Ok(heads.map(|copy| copy.id).collect())
}

/// Returns the commits that each agent has published.
pub(in crate::design) fn work_of_agents(repo: &Repo) -> Result<BTreeMap<String, Vec<Oid>>> {
    let mut work: BTreeMap<String, Vec<Oid>> = BTreeMap::new();
    for copy in copies(repo)? {
        if let Some((agent, commit)) = copy.agent.zip(repo.peel_to_commit(copy.id)) {
            work.entry(agent).or_default().push(commit);
        }
    }
    Ok(work)
}

/// Returns the branches that other checkouts of persons have published, with their tips.
pub(in crate::design) fn branches_of_desks(repo: &Repo) -> Result<Vec<(String, Oid)>> {
    let copies = copies(repo)?.into_iter().filter(|copy| copy.agent.is_none());
    let branch = |copy: Copy| Some((copy.rest.strip_prefix("heads/")?.to_owned(), copy.id));
    Ok(copies.filter_map(branch).collect())
}

/// Lists the checkouts in the clones of agents that are not forks, by agent: other branches, or a
/// detached HEAD.
pub(in crate::design) fn checked_out(repo: &Repo) -> Result<Vec<Published>> {
    let lines = copies(repo)?.into_iter().filter_map(|copy| {
        let branch = branch_of(&copy).filter(|_| is_checked_out(&copy))?;
        let is_fork = branch.starts_with("fork/");
        (!is_fork && copy.agent.is_some()).then(|| describe(repo, &copy, branch))?
    });
    Ok(lines.collect())
}

/// Lists the agents that have published anything.
pub(in crate::design) fn agents(repo: &Repo) -> Result<BTreeSet<String>> {
    let copies = copies(repo)?.into_iter();
    Ok(copies.filter_map(|copy| copy.agent).collect())
}

/// Finds the branch that an agent has checked out in its clone.
pub(in crate::design) fn of_agent(repo: &Repo, agent: &str) -> Result<Option<Published>> {
    let copies = copies(repo)?;
    let is_it = |copy: &&Copy| copy.agent.as_deref() == Some(agent) && is_checked_out(copy);
    let fitting: Vec<_> = copies.iter().filter(is_it).collect();
    one_of(repo, agent, &fitting)
}

/// Returns a name for the work of an agent that stands for nothing else; `None` where the agent's own name does.
pub fn clear_name_of_agent(repo: &Repo, agent: &str) -> Option<String> {
    if !is_ref(repo, agent) {
        return None;
    }
    of_agent(repo, agent).ok()??.spelled_out(repo).ok()
}

/// Returns the ref of a fork of this repository; `None` where its label stands for nothing else.
pub fn clear_name_of_fork(repo: &Repo, label: &str) -> Option<String> {
    let own = format!("{}{}", ref_names::FORKS, label.strip_prefix("fork/").unwrap_or(label));
    let clear = clear_or(repo, label.to_owned(), own);
    (clear != label).then_some(clear)
}

/// Finds what a clone has checked out, as published.
pub fn of_member(repo: &Repo, clone: &Membership) -> Result<Option<Published>> {
    let prefix = RefName::from(clone.published_below().trim_end_matches('/'));
    let Some(prefix) = mirror_of(&prefix) else {
        return Ok(None);
    };
    let prefix = format!("{prefix}/");
    let copies = copies(repo)?;
    let copy = copies.iter().find(|copy| copy.prefix == prefix && is_checked_out(copy));
    Ok(copy.and_then(|copy| describe(repo, copy, branch_of(copy)?)))
}

/// Returns `true` if this is the clone of an agent.
pub(in crate::design) fn is_agents_clone(repo: &Repo) -> Result<bool> {
    let member = Membership::find(repo)?;
    Ok(member.is_some_and(|member| member.role == Role::Agent))
}

/// Returns `true` if a checkout of a person has published a branch.
pub(in crate::design) fn has_desk(repo: &Repo, branch: &str) -> Result<bool> {
    let wanted = format!("heads/{branch}");
    let mut copies = copies(repo)?.into_iter();
    Ok(copies.any(|copy| copy.agent.is_none() && copy.rest == wanted))
}

/// Finds a branch that a checkout of a person has published, in the clone of an agent; `None` in
/// any other repository. If several checkouts have it, the one that contains all others counts.
pub(in crate::design) fn of_desk(repo: &Repo, branch: &str) -> Result<Option<Published>> {
    if !is_agents_clone(repo)? {
        return Ok(None);
    }
    let wanted = format!("heads/{branch}");
    let mut copies = copies(repo)?;
    copies.retain(|copy| copy.agent.is_none() && copy.rest == wanted);
    let tips: Vec<Oid> = copies.iter().map(|copy| copy.id).collect();
    for copy in &copies {
        let others = tips.iter().filter(|tip| **tip != copy.id);
        let mut has_all = true;
        for other in others {
            has_all &= repo.commits_between(*other, &[copy.id], 1)?.is_empty();
        }
        if has_all {
            return Ok(describe(repo, copy, branch.to_owned()));
        }
    }
    let all: Vec<_> = copies.iter().collect();
    one_of(repo, branch, &all)
}

/// Returns the name by which the clone of an agent merges a branch of this checkout: the name of the branch, or the ref of
/// its copy there if that name may stand for anything else.
pub fn name_in_clone(repo: &Repo, here: &Membership, clone: &Repo, branch: &str) -> String {
    let copy = RefName::from(format!("{}heads/{branch}", here.published_below()).as_str());
    match mirror_of(&copy) {
        // What cannot be read here may be anything.
        Some(copy) if !is_clear_in_clone(repo, clone, branch).unwrap_or(false) => copy.to_string(),
        _ => branch.to_owned(),
    }
}

/// Returns `true` if a branch of this checkout contains everything else that its name may stand for in a clone, by the
/// rules of `find_line`.
fn is_clear_in_clone(repo: &Repo, clone: &Repo, branch: &str) -> Result<bool> {
    let own = RefName::from(format!("refs/heads/{branch}").as_str());
    let Some(tip) = repo.find_ref(&own)? else {
        return Ok(false);
    };
    let current = clone.head()?.moving_ref();
    let mut others = Vec::new();
    for name in [own, ref_names::fork_branch(branch)] {
        if name == current {
            return Ok(false);
        }
        others.extend(clone.find_ref(&name)?);
    }
    let published = format!("heads/{branch}");
    for copy in copies(repo)? {
        if copy.agent.as_deref() == Some(branch) {
            return Ok(false);
        }
        others.extend((copy.agent.is_none() && copy.rest == published).then_some(copy.id));
    }
    for other in others {
        if !repo.commits_between(other, &[tip], 1)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Finds published work by the ref of its copy here.
pub(in crate::design) fn of_copy(repo: &Repo, name: &str) -> Result<Option<Published>> {
    let folders = [ref_names::AGENTS, ref_names::DESKS];
    if !folders.iter().any(|folder| name.starts_with(folder)) {
        return Ok(None);
    }
    let is_it = |copy: &&Copy| name.strip_prefix(&*copy.prefix) == Some(&*copy.rest);
    let copies = copies(repo)?;
    let copy = copies.iter().find(is_it);
    Ok(copy.and_then(|copy| describe(repo, copy, branch_of(copy)?)))
}

/// Finds published work by name: an agent's current branch by the agent's name, `<agent>/<branch>`,
/// or a fork that only one publisher has.
pub(in crate::design) fn find(repo: &Repo, typed: &str) -> Result<Option<Published>> {
    let copies = copies(repo)?;
    let is_on = |copy: &&Copy| copy.agent.as_deref() == Some(typed) && is_checked_out(copy);
    let fork = typed.strip_prefix("fork/").unwrap_or(typed);
    let fork = format!("heads/fork/{fork}");
    let of_agent = typed.split_once('/').map(|(agent, branch)| {
        let is_it = move |copy: &&Copy| {
            copy.agent.as_deref() == Some(agent) && copy.rest.strip_prefix("heads/") == Some(branch)
        };
        copies.iter().filter(is_it).collect::<Vec<_>>()
    });
    let by_fork = || copies.iter().filter(|copy| copy.rest == fork).collect();
    let ways = [copies.iter().filter(is_on).collect(), of_agent.unwrap_or_default(), by_fork()];
    let fitting: Vec<&Copy> = ways.into_iter().find(|way| !way.is_empty()).unwrap_or_default();
    one_of(repo, typed, &fitting)
}

fn is_checked_out(copy: &Copy) -> bool {
    copy.rest.starts_with("on/") || copy.rest == "detached"
}

fn one_of(repo: &Repo, typed: &str, fitting: &[&Copy]) -> Result<Option<Published>> {
    match fitting {
        [] => Ok(None),
        [copy] => Ok(branch_of(copy).and_then(|branch| describe(repo, copy, branch))),
        many => {
            let copies = copies(repo)?;
            let name = |copy: &&Copy| {
                let branch = branch_of(copy).unwrap_or_default();
                spelled_out(repo, &copies, copy.agent.as_deref(), &branch, &copy.full_name())
            };
            let names: Vec<_> = many.iter().map(name).collect();
            Err(ambiguous(typed, &format!("any of {} that others have", names.len()), &names))
        }
    }
}

/// Returns `<agent>/<branch>` for a published branch; its full name where that may be anything else, too.
fn spelled_out(
    repo: &Repo,
    copies: &[Copy],
    agent: Option<&str>,
    branch: &str,
    full_name: &str,
) -> String {
    let head = format!("heads/{branch}");
    let same = |copy: &&Copy| copy.agent.as_deref() == agent && copy.rest == head;
    match agent {
        Some(agent) if copies.iter().filter(same).count() == 1 => {
            let name = format!("{agent}/{branch}");
            // A machine may have the name of the agent, and an agent there that of the branch.
            match machines::of_whole_name(repo, &name) {
                Ok(None) => clear_or(repo, name, full_name.to_owned()),
                _ => full_name.to_owned(),
            }
        }
        _ => full_name.to_owned(),
    }
}

/// Returns the refs that a name may stand for.
fn refs_of_name(name: &str) -> impl Iterator<Item = String> {
    let places = ["refs/", "refs/tags/", "refs/heads/", ref_names::FORKS, "refs/remotes/"];
    let of_remote = format!("refs/remotes/{name}/HEAD");
    places.into_iter().map(move |place| format!("{place}{name}")).chain([of_remote])
}

/// Returns a name unless a ref other than the one with the full name has it; else the full name.
pub(in crate::design) fn clear_or(repo: &Repo, name: String, full_name: String) -> String {
    let hides = |other: String| other != full_name && has_ref(repo, &other);
    if refs_of_name(&name).any(hides) { full_name } else { name }
}

/// Returns `true` if a name is that of a branch, a tag or another ref, or the label of a fork.
pub fn is_ref(repo: &Repo, name: &str) -> bool {
    refs_of_name(name).any(|name| has_ref(repo, &name))
}

/// Returns `true` if there is a ref with this full name.
pub(in crate::design) fn has_ref(repo: &Repo, full_name: &str) -> bool {
    let name = RefName::from(full_name);
    name.is_valid() && repo.find_ref(&name).is_ok_and(|id| id.is_some())
}

/// Makes the error for a name with several meanings, each of which has a name of its own.
pub(in crate::design) fn ambiguous(typed: &str, what: &str, names: &[String]) -> Error {
    let two: Vec<_> = names.iter().take(2).map(|name| shell_word(name)).collect();
    Error::new(Code::NameAmbiguous, format!("'{typed}' may be {what}"))
        .detail("names", names)
        .hint(format!("git colony diff {}   # type one of them", two.join(" ")))
}

fn branch_of(copy: &Copy) -> Option<String> {
    if copy.rest == "detached" {
        return Some(Head::Detached { commit: copy.id }.label());
    }
    match copy.rest.split_once('/')? {
        ("on", encoded) => key::decode(encoded),
        ("heads", branch) => Some(branch.to_owned()),
        _ => None,
    }
}

fn describe(repo: &Repo, copy: &Copy, branch: String) -> Option<Published> {
    let label = branch.strip_prefix("fork/");
    let record = label.and_then(|label| {
        let name = RefName::from(format!("{}forks/{label}", copy.prefix).as_str());
        // The branch matters more than its record.
        ForkRecord::find_at(repo, &name, label).ok().flatten()
    });
    Some(Published {
        agent: copy.agent.clone(),
        branch,
        commit: repo.peel_to_commit(copy.id)?,
        is_checked_out: is_checked_out(copy),
        record,
        copy: copy.full_name(),
    })
}

/// Returns the newest automatic checkpoint that the clones of an agent have published.
pub fn last_automatic(repo: &Repo, agent: &str) -> Result<Option<Oid>> {
    let is_it = |copy: &Copy| copy.agent.as_deref() == Some(agent) && copy.rest == "auto";
    let automatic = copies(repo)?.into_iter().filter(is_it);
    let commits = automatic.filter_map(|copy| repo.peel_to_commit(copy.id));
    let dated = commits.map(|commit| Ok((repo.read_commit(commit)?.committer.seconds, commit)));
    let newest = dated.collect::<Result<Vec<_>>>()?.into_iter().max();
    Ok(newest.map(|(_, commit)| commit))
}

fn copies(repo: &Repo) -> Result<Vec<Copy>> {
    let mut copies = Vec::new();
    for reference in repo.refs_below(ref_names::AGENTS)? {
        let name = reference.name.to_string();
        let parts = name.strip_prefix(ref_names::AGENTS).and_then(|rest| {
            let (agent, rest) = rest.split_once('/')?;
            let (scope, rest) = rest.split_once('/')?;
            Some((agent, scope, rest))
        });
        let Some((agent, scope, rest)) = parts else {
            continue;
        };
        copies.push(Copy {
            prefix: format!("{}{agent}/{scope}/", ref_names::AGENTS),
            agent: key::decode(agent),
            rest: rest.to_owned(),
            id: reference.id,
        });
    }
    for reference in repo.refs_below(ref_names::DESKS)? {
        let name = reference.name.to_string();
        let rest = name.strip_prefix(ref_names::DESKS);
        if let Some((id, rest)) = rest.and_then(|rest| rest.split_once('/')) {
            copies.push(Copy {
                prefix: format!("{}{id}/", ref_names::DESKS),
                agent: None,
                rest: rest.to_owned(),
                id: reference.id,
            });
        }
    }
    Ok(copies)
}
