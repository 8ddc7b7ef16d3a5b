//! Copies the objects of what a repository publishes into its hub.

use crate::git::object::transfer::{Linked, Whole, link_objects, send_pack};
use crate::git::{Oid, RefChange, Repo};
use crate::model::{Result, World};
use crate::store::refs::ref_names;

use super::Hub;

/// Copies the objects of the new tips into the hub, by hard links where possible, else with git.
pub(in crate::clones) fn copy_objects(
    world: &World,
    repo: &Repo,
    hub: &Hub,
    changes: &[RefChange],
) -> Result<()> {
    let tips: Vec<Oid> = changes.iter().filter_map(|change| change.new).collect();
    let (from, to) = (repo.object_store(), hub.store.object_store());
    let all =
        || Ok(hub.store.refs_below("refs/")?.into_iter().map(|reference| reference.id).collect());
    let near = near(hub, changes)?;
    if link_objects(&from, &to, &tips, &Whole { near, all: &all })? == Linked::All {
        return Ok(());
    }
    let mut known: Vec<Oid> = all()?;
    known.sort_unstable();
    known.dedup();
    known.retain(|id| repo.object_size(*id).is_some());
    send_pack(repo.git(world), hub.store.git(world), &tips, &known)
}

/// Returns what the changes probably grew from: the refs that move, what the remote has, and what the hub was made from.
fn near(hub: &Hub, changes: &[RefChange]) -> Result<Vec<Oid>> {
    let mut near: Vec<Oid> = changes.iter().filter_map(|change| change.old).collect();
    for prefix in ["refs/remotes/", ref_names::MADE_FROM] {
        near.extend(hub.store.refs_below(prefix)?.into_iter().map(|reference| reference.id));
    }
    Ok(near)
}
