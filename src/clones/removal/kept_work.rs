//! Keeps the work of a removed clone, and the commits that a clone for reading drops, in the hub, with what the clone does
//! not publish: tags, stashes, refs of the user.

use std::collections::{BTreeMap, HashSet};

use crate::clones::hub::kept_refs::{AGAIN, creations, keep_in_new_folder, refs_in, whose};
use crate::clones::hub::object_copies::copy_objects;
use crate::clones::hub::publish::{leave_to_team, link_large_objects, wanted};
use crate::clones::hub::{Hub, tag_list};
use crate::git::plain_file;
use crate::git::refs::{FoundRef, lost_race};
use crate::git::{Oid, RefName, Repo};
use crate::model::{Result, World};
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

/// The files in which git records the commit of an autostash while it works.
const AUTOSTASHES: [&str; 3] =
    ["rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH"];

/// Keeps the commits that a clone for reading drops when it follows its remote: those that only its branch or
/// a detached HEAD has. Returns the prefix of their refs, if any; commits that are kept already are not kept
/// twice.
pub fn keep_own(world: &World, repo: &Repo, member: &Membership) -> Result<Option<String>> {
    let hub = Hub::open(&member.hub)?;
    let branch = member.branch.as_ref().map(|name| format!("heads/{name}"));
    let mut wanted = beside_remote(repo, wanted(repo)?)?;
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
    copy_all_objects(world, repo, &hub, &below, &wanted)?;
    keep_in_new_folder(world, &hub, &below, &wanted).map(Some)
}

/// Keeps the refs of a repository that are not kept yet, below a prefix that no clone owns: beside the
/// existing ones, in a folder of their own. Tags and stashes that no other repository has are kept, too.
/// Returns the number of refs that were created.
pub(in crate::clones) fn keep_beside(
    world: &World,
    repo: &Repo,
    member: &Membership,
    below: &str,
) -> Result<usize> {
    let hub = Hub::open(&member.hub)?;
    lost_race::retried(|| attempt_beside(world, repo, &hub, member, below))
}

fn attempt_beside(
    world: &World,
    repo: &Repo,
    hub: &Hub,
    member: &Membership,
    below: &str,
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
    let prefix =
        if kept.is_empty() { below.to_owned() } else { format!("{below}{AGAIN}{}/", rounds + 1) };
    copy_all_objects(world, repo, hub, &prefix, &wanted)?;
    hub.move_refs(world, &creations(&prefix, &wanted))?;
    Ok(wanted.len())
}

/// Returns the refs that belong to a clone.
fn own(repo: &Repo, member: &Membership, hub: &Hub) -> Result<BTreeMap<RefName, Oid>> {
    let mut refs = wanted(repo)?;
    if member.role != Role::Desk {
        leave_to_team(hub, "", &mut refs)?;
    }
    if member.role == Role::Reader {
        refs = beside_remote(repo, refs)?;
    }
    for (name, id) in unpublished(repo, hub)? {
        refs.entry(name).or_insert(id);
    }
    Ok(refs)
}

/// Returns the refs whose commits no branch of the remote has, as far as this repository knows.
fn beside_remote(repo: &Repo, refs: BTreeMap<RefName, Oid>) -> Result<BTreeMap<RefName, Oid>> {
    let remote_refs = repo.remote_branches()?.into_iter();
    let remote = commits(repo, remote_refs.map(|reference| reference.id));
    let mut own = BTreeMap::new();
    for (name, id) in refs {
        if !is_reached(repo, id, &remote)? {
            own.insert(name, id);
        }
    }
    Ok(own)
}

/// Returns what only this repository has and does not publish: tags that no other repository has, and
/// stashes.
fn unpublished(repo: &Repo, hub: &Hub) -> Result<Vec<(RefName, Oid)>> {
    let mut refs = Vec::new();
    let tags = repo.refs_below("refs/tags/")?;
    if !tags.is_empty() {
        let known = KnownTags::of(hub)?;
        for tag in tags.iter().filter(|tag| !known.have(repo, tag)) {
            if let Some(rest) = tag.name.as_bytes().strip_prefix(b"refs/") {
                refs.push((RefName::new(rest.to_owned()), tag.id));
            }
        }
    }
    refs.extend(beside_branches(repo)?);
    // All stashes but the newest are only in its reflog.
    let path = repo.common_dir().join("logs/refs/stash");
    let log = plain_file::read_text(path).unwrap_or_default();
    let ids = log.lines().filter_map(|line| line.split(' ').nth(1)).filter_map(Oid::parse);
    let stashed = ids.filter(|id| repo.object_size(*id).is_some());
    refs.extend(stashed.enumerate().map(|(at, id)| {
        let name = format!("stash/{}", at + 1);
        (RefName::from(name.as_str()), id)
    }));
    Ok(refs)
}

/// What a hub holds by the names of its remote and of the users' checkouts. A tag in the work of an earlier removal
/// belongs to that.
struct KnownTags {
    ids: HashSet<Oid>,
    /// The ids of tags with their names, from `tags/` on.
    named: HashSet<(Oid, String)>,
}

impl KnownTags {
    fn of(hub: &Hub) -> Result<KnownTags> {
        let mut known = tag_list::of_all(hub)?;
        for prefix in ["refs/remotes/", "refs/tags/", ref_names::PUBLISHED_DESKS] {
            known.extend(hub.store.refs_below(prefix)?);
        }
        let named = known.iter().filter_map(|reference| {
            let name = reference.name.to_string();
            let at = name.find("/tags/")?;
            Some((reference.id, name.get(at..)?.to_owned()))
        });
        Ok(KnownTags {
            named: named.collect(),
            ids: known.iter().map(|reference| reference.id).collect(),
        })
    }

    /// Returns `true` if another name holds the object of a tag. A branch may hold the commit of a lightweight tag, but does
    /// not keep its name.
    fn have(&self, repo: &Repo, tag: &FoundRef) -> bool {
        // The hub may have the object of a ref that was published once, and no ref that holds it now.
        let name = tag.name.to_string().trim_start_matches("refs").to_owned();
        self.named.contains(&(tag.id, name))
            || (self.ids.contains(&tag.id) && repo.peel_to_commit(tag.id) != Some(tag.id))
    }
}

/// Returns refs that belong to the user alone, such as notes, and the autostash of a rebase or merge in
/// progress.
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
    let mut refs = Vec::new();
    for own in repo.refs_below("refs/")? {
        let rest = own.name.as_bytes().strip_prefix(b"refs/").unwrap_or_default();
        if !KNOWN.iter().any(|known| rest.starts_with(known.as_bytes())) {
            refs.push((RefName::new([b"other/", rest].concat()), own.id));
        }
    }
    for (at, name) in AUTOSTASHES.iter().enumerate() {
        let text = plain_file::read_text(repo.git_dir().join(name)).unwrap_or_default();
        let id = Oid::parse(text.trim());
        if let Some(id) = id.filter(|id| repo.object_size(*id).is_some()) {
            refs.push((RefName::from(format!("autostash/{}", at + 1).as_str()), id));
        }
    }
    Ok(refs)
}

/// Returns the commits of refs, as far as they exist here.
fn commits(repo: &Repo, ids: impl Iterator<Item = Oid>) -> Vec<Oid> {
    let mut commits: Vec<_> = ids.filter_map(|id| repo.peel_to_commit(id)).collect();
    commits.sort_unstable();
    commits.dedup();
    commits
}

/// Returns `true` if a commit is in the history of one of the tips.
fn is_reached(repo: &Repo, id: Oid, tips: &[Oid]) -> Result<bool> {
    let Some(commit) = repo.peel_to_commit(id) else {
        return Ok(false);
    };
    Ok(tips.contains(&commit) || repo.commits_between(commit, tips, 1)?.is_empty())
}

fn copy_all_objects(
    world: &World,
    repo: &Repo,
    hub: &Hub,
    prefix: &str,
    refs: &BTreeMap<RefName, Oid>,
) -> Result<()> {
    copy_objects(world, repo, hub, &creations(prefix, refs))?;
    link_large_objects(repo, hub)
}
