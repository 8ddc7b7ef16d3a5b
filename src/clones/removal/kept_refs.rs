//! What the hub keeps of a clone that goes, or that moves on: refs below `refs/colony/kept/`, in a folder
//! that nobody else writes to. They are only ever made: none is moved, whoever does the same meanwhile.

use std::collections::BTreeMap;

use crate::clones::hub::Hub;
use crate::clones::hub::publish::{bring_objects, link_large_objects, wanted};
use crate::git::refs::FoundRef;
use crate::git::{Oid, RefChange, RefName, Repo};
use crate::model::{Code, Error, Result, World, time};
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

/// What was kept later stands below this, one numbered folder for each time.
pub(in crate::clones) const AGAIN: &str = "again/";

/// The commit that holds what was uncommitted in the clone.
pub(in crate::clones) const UNCOMMITTED: &str = "uncommitted";

/// How many clones of one name may go within a second.
const FOLDERS: usize = 1_000;

/// How often refs are compared anew because somebody else kept something meanwhile.
const TRIES: usize = 5;

/// Where git notes the commit of what it sets aside while it works.
const AUTOSTASHES: [&str; 3] = [
    "rebase-merge/autostash",
    "rebase-apply/autostash",
    "MERGE_AUTOSTASH",
];

/// Gives what a clone has published second names that no clone owns; returns their prefix, and whether
/// there are any. The commit that holds what was uncommitted in it, if anything was, gets a name of its own.
///
/// # Errors
/// `repository-broken`, `locked`, `ref-moved`.
pub(in crate::clones) fn keep_published(
    world: &World,
    hub: &Hub,
    (below, uncommitted): (&str, Option<Oid>),
) -> Result<(String, bool)> {
    let mut refs = refs_in(hub, below)?;
    refs.extend(uncommitted.map(|state| (RefName::from(UNCOMMITTED), state)));
    let prefix = keep_in_new_folder(world, hub, (below, &refs))?;
    Ok((prefix, !refs.is_empty()))
}

/// Tells whether all that a clone has published has second names already.
///
/// # Errors
/// `repository-broken`.
pub(in crate::clones) fn is_kept(hub: &Hub, below: &str) -> Result<bool> {
    let refs = refs_in(hub, below)?;
    let mut folders: BTreeMap<String, BTreeMap<RefName, Oid>> = BTreeMap::new();
    for (name, id) in refs_in(hub, &whose(below))? {
        let name = name.to_string();
        if let Some((folder, rest)) = name.split_once('/') {
            let folder = folders.entry(folder.to_owned()).or_default();
            folder.insert(RefName::from(rest), id);
        }
    }
    let has_all = |kept: &BTreeMap<_, _>| refs.iter().all(|(name, id)| kept.get(name) == Some(id));
    Ok(folders.values().any(has_all))
}

/// Keeps what a clone for reading lets go of when it follows its remote: commits that only its branch or
/// a HEAD on none has. Returns the prefix of those refs, if any; what is kept already is not kept twice.
///
/// # Errors
/// As [`crate::clones::hub::publish::publish`].
pub fn keep_own(world: &World, repo: &Repo, member: &Membership) -> Result<Option<String>> {
    let hub = Hub::open(&member.hub)?;
    let branch = member.branch.as_ref().map(|name| format!("heads/{name}"));
    let mut wanted = beside_remote(repo, wanted(repo, member)?)?;
    wanted.retain(|name, _| {
        let name = name.to_string();
        name == "detached" || Some(name) == branch
    });
    if wanted.is_empty() {
        return Ok(None);
    }
    let below = member.published_below();
    let folders = whose(&below);
    for (name, _) in refs_in(&hub, &folders)? {
        let name = name.to_string();
        let folder = format!("{folders}{}/", name.split('/').next().unwrap_or_default());
        if refs_in(&hub, &folder)? == wanted {
            return Ok(Some(folder));
        }
    }
    bring(world, (repo, &hub), &below, &wanted)?;
    keep_in_new_folder(world, &hub, (&below, &wanted)).map(Some)
}

/// Keeps below a prefix that no clone owns what a repository has and what is not there yet: beside what
/// is there, in a folder of its own. Tags and what is stashed are kept, too, where nobody else has them.
/// Returns how many refs were made.
///
/// # Errors
/// As [`crate::clones::hub::publish::publish`].
pub(in crate::clones) fn keep_beside(
    world: &World,
    repo: &Repo,
    (member, below): (&Membership, &str),
) -> Result<usize> {
    let hub = Hub::open(&member.hub)?;
    let mut tries = 1;
    loop {
        match attempt_beside(world, (repo, &hub), (member, below)) {
            Err(e) if e.code() == Code::RefMoved && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

fn attempt_beside(
    world: &World,
    (repo, hub): (&Repo, &Hub),
    (member, below): (&Membership, &str),
) -> Result<usize> {
    let kept = refs_in(hub, below)?;
    let mut wanted = own(repo, member, hub)?;
    let mut rounds = 0;
    for (name, id) in &kept {
        let mut rest = name.clone();
        let text = name.to_string();
        if let Some(again) = text.strip_prefix(AGAIN) {
            let (round, inside) = again.split_once('/').unwrap_or((again, ""));
            rounds = rounds.max(round.parse().unwrap_or(0));
            rest = RefName::from(inside);
        }
        if wanted.get(&rest) == Some(id) {
            wanted.remove(&rest);
        }
    }
    if wanted.is_empty() {
        return Ok(0);
    }
    let prefix = if kept.is_empty() {
        below.to_owned()
    } else {
        format!("{below}{AGAIN}{}/", rounds + 1)
    };
    bring(world, (repo, hub), &prefix, &wanted)?;
    hub.move_refs(world, &creations(&prefix, &wanted))?;
    Ok(wanted.len())
}

/// Returns what a clone has of its own.
fn own(repo: &Repo, member: &Membership, hub: &Hub) -> Result<BTreeMap<RefName, Oid>> {
    let mut found = wanted(repo, member)?;
    if member.role == Role::Reader {
        found = beside_remote(repo, found)?;
    }
    for (name, id) in unpublished(repo, hub)? {
        found.entry(name).or_insert(id);
    }
    Ok(found)
}

/// Leaves those refs whose commits no branch of the remote has, as far as this repository knows it.
fn beside_remote(repo: &Repo, refs: BTreeMap<RefName, Oid>) -> Result<BTreeMap<RefName, Oid>> {
    let remote = repo.refs_below("refs/remotes/")?.into_iter();
    let remote = commits(repo, remote.map(|found| found.id));
    let mut own = BTreeMap::new();
    for (name, id) in refs {
        if !is_reached(repo, id, &remote)? {
            own.insert(name, id);
        }
    }
    Ok(own)
}

/// Returns what only this repository has and does not publish: tags that nobody else has, and what is stashed.
fn unpublished(repo: &Repo, hub: &Hub) -> Result<Vec<(RefName, Oid)>> {
    let mut found = Vec::new();
    let tags = repo.refs_below("refs/tags/")?;
    if !tags.is_empty() {
        let mut known = hub.store.refs_below("refs/remotes/")?;
        for prefix in [
            "refs/tags/",
            ref_names::PUBLISHED_DESKS,
            ref_names::KEPT_WORK,
        ] {
            known.extend(hub.store.refs_below(prefix)?);
        }
        for tag in tags {
            // The hub may have the object of what it published once, and no ref that holds it now.
            let is_commit = repo.peel_to_commit(tag.id) == Some(tag.id);
            let name = tag.name.to_string();
            // A branch may hold the commit of a tag that is no object, and does not tell its name.
            let is_it = |found: &FoundRef| {
                let is_same_name = || {
                    found
                        .name
                        .to_string()
                        .ends_with(name.trim_start_matches("refs"))
                };
                found.id == tag.id && (!is_commit || is_same_name())
            };
            if known.iter().any(is_it) {
                continue;
            }
            if let Some(rest) = tag.name.as_bytes().strip_prefix(b"refs/") {
                found.push((RefName::new(rest.to_owned()), tag.id));
            }
        }
    }
    found.extend(beside_branches(repo)?);
    // All but the newest are in its reflog only.
    let log = repo.common_dir().join("logs/refs/stash");
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let ids = log.lines().filter_map(|line| line.split(' ').nth(1));
    let ids = ids.filter_map(Oid::parse);
    let stashed = ids.filter(|id| repo.object_size(*id).is_some());
    found.extend(stashed.enumerate().map(|(at, id)| {
        let name = format!("stash/{}", at + 1);
        (RefName::from(name.as_str()), id)
    }));
    Ok(found)
}

/// Returns refs that are nobody's but the user's, notes for example, and what a rebase or merge that is
/// under way has set aside.
fn beside_branches(repo: &Repo) -> Result<Vec<(RefName, Oid)>> {
    const KNOWN: [&str; 9] = [
        "heads/",
        "tags/",
        "remotes/",
        "stash",
        "bisect/",
        "prefetch/",
        "worktree/",
        "colony/",
        "colony-local/",
    ];
    let mut found = Vec::new();
    for own in repo.refs_below("refs/")? {
        let rest = own.name.as_bytes().strip_prefix(b"refs/");
        let rest = rest.unwrap_or_default();
        if !KNOWN.iter().any(|known| rest.starts_with(known.as_bytes())) {
            found.push((RefName::new([b"other/", rest].concat()), own.id));
        }
    }
    for (at, name) in AUTOSTASHES.iter().enumerate() {
        let text = std::fs::read_to_string(repo.git_dir().join(name)).unwrap_or_default();
        let id = Oid::parse(text.trim());
        if let Some(id) = id.filter(|id| repo.object_size(*id).is_some()) {
            found.push((RefName::from(format!("autostash/{}", at + 1).as_str()), id));
        }
    }
    Ok(found)
}

/// Returns the commits that refs hold, as far as they are here.
fn commits(repo: &Repo, ids: impl Iterator<Item = Oid>) -> Vec<Oid> {
    let mut commits: Vec<_> = ids.filter_map(|id| repo.peel_to_commit(id)).collect();
    commits.sort_unstable();
    commits.dedup();
    commits
}

/// Tells whether one of the tips has a commit in its history.
fn is_reached(repo: &Repo, id: Oid, tips: &[Oid]) -> Result<bool> {
    let Some(commit) = repo.peel_to_commit(id) else {
        return Ok(false);
    };
    Ok(tips.contains(&commit) || repo.commits_between(commit, tips, 1)?.is_empty())
}

/// Makes refs in a folder that is new, or that holds the very same already; returns its prefix.
fn keep_in_new_folder(
    world: &World,
    hub: &Hub,
    (below, refs): (&str, &BTreeMap<RefName, Oid>),
) -> Result<String> {
    let stamp = format!("{}{}", whose(below), time::compact(&world.now()));
    for number in 1..=FOLDERS {
        let prefix = match number {
            1 => format!("{stamp}/"),
            _ => format!("{stamp}-{number}/"),
        };
        let there = refs_in(hub, &prefix)?;
        if there == *refs {
            return Ok(prefix);
        }
        if !there.is_empty() {
            continue;
        }
        match hub.move_refs(world, &creations(&prefix, refs)) {
            Ok(()) => return Ok(prefix),
            // Somebody else was faster.
            Err(e) if matches!(e.code(), Code::RefMoved | Code::Locked) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        Code::RefMoved,
        format!("cannot keep anything below '{stamp}': its folders are taken; nothing has changed"),
    )
    .hint("run it again in a second"))
}

/// Returns the prefix of all that is kept of one clone, whose published refs are below `below`.
fn whose(below: &str) -> String {
    let agent = below.strip_prefix(ref_names::PUBLISHED_AGENTS);
    let reader = below.strip_prefix(ref_names::PUBLISHED_DESKS);
    match (agent, reader) {
        (Some(agent), _) => format!("{}{agent}", ref_names::KEPT_WORK),
        (None, reader) => {
            let id = reader.unwrap_or_default();
            format!("{}clone/{id}", ref_names::KEPT_WORK)
        }
    }
}

/// Lists the refs below a prefix by what follows it.
pub(in crate::clones) fn refs_in(hub: &Hub, prefix: &str) -> Result<BTreeMap<RefName, Oid>> {
    let refs = hub.store.refs_below(prefix)?.into_iter();
    let refs = refs.filter_map(|found| {
        let rest = found.name.as_bytes().get(prefix.len()..)?;
        Some((RefName::new(rest.to_owned()), found.id))
    });
    Ok(refs.collect())
}

fn creations(prefix: &str, refs: &BTreeMap<RefName, Oid>) -> Vec<RefChange> {
    let created = refs.iter().map(|(name, id)| RefChange {
        name: RefName::new([prefix.as_bytes(), name.as_bytes()].concat()),
        old: None,
        new: Some(*id),
    });
    created.collect()
}

fn bring(
    world: &World,
    (repo, hub): (&Repo, &Hub),
    prefix: &str,
    refs: &BTreeMap<RefName, Oid>,
) -> Result<()> {
    bring_objects(world, repo, hub, &creations(prefix, refs))?;
    link_large_objects(repo, hub)
}
