//! The refs of removed clones, and of commits that a clone for reading drops, in the hub: below
//! `refs/colony/kept/`, each in a folder that no other process writes to. They are only created, never moved,
//! even when several processes keep the same work.

use std::collections::BTreeMap;

use crate::git::refs::lost_race;
use crate::git::{Oid, RefChange, RefName};
use crate::model::{Code, Error, Result, World, time};
use crate::store::refs::ref_names;

use super::Hub;

/// Work that was kept later is below this, in one numbered folder for each time.
pub(in crate::clones) const AGAIN: &str = "again/";

/// The commit with the uncommitted work of the clone.
pub(in crate::clones) const UNCOMMITTED: &str = "uncommitted";

/// The number of clones of one name that can be removed within a second.
const FOLDERS: usize = 1_000;

/// Copies the published refs of a clone to names that no clone owns; returns their prefix, and whether there
/// are any. The commit with the uncommitted work of the clone, if any, gets a name of its own.
pub(in crate::clones) fn keep_published(
    world: &World,
    hub: &Hub,
    below: &str,
    uncommitted: Option<Oid>,
) -> Result<(String, bool)> {
    let mut refs = refs_in(hub, below)?;
    refs.extend(uncommitted.map(|state| (RefName::from(UNCOMMITTED), state)));
    let prefix = keep_in_new_folder(world, hub, below, &refs)?;
    Ok((prefix, !refs.is_empty()))
}

/// Returns `true` if all published refs of a clone are kept already.
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

/// Creates refs in a new folder, or finds a folder with exactly these; returns its prefix.
pub(in crate::clones) fn keep_in_new_folder(
    world: &World,
    hub: &Hub,
    below: &str,
    refs: &BTreeMap<RefName, Oid>,
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
            // Another process was faster.
            Err(error) if lost_race::is_lost_race(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(
        Code::RefMoved,
        format!("cannot keep anything below '{stamp}': its folders are taken"),
    )
    .unchanged()
    .hint("run it again in a second"))
}

/// Returns the prefix of everything that is kept of one clone, whose published refs are below `below`.
pub(in crate::clones) fn whose(below: &str) -> String {
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
    let refs = hub.store.refs_below(prefix)?.into_iter().filter_map(|reference| {
        let rest = reference.name.as_bytes().get(prefix.len()..)?;
        Some((RefName::new(rest.to_owned()), reference.id))
    });
    Ok(refs.collect())
}

pub(in crate::clones) fn creations(prefix: &str, refs: &BTreeMap<RefName, Oid>) -> Vec<RefChange> {
    let created = refs.iter().map(|(name, id)| RefChange {
        name: RefName::new([prefix.as_bytes(), name.as_bytes()].concat()),
        old: None,
        new: Some(*id),
    });
    created.collect()
}
