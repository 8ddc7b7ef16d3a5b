//! The recorded first commit for clones of a colony: if history was rewritten since, the rewritten commit.
//! The record itself belongs to the user, and stays.

use crate::clones::hub::Hub;
use crate::clones::hub::colonies::Colony;
use crate::git::object::reader::Objects;
use crate::git::{Oid, RefName};
use crate::model::{RepoPath, Result, World};
use crate::store::migration::{self, ObjectMap};
use crate::store::refs::ref_names;

/// The migrations that the remote publishes, in the hub.
const FETCHED: &str = "refs/colony/fetched/";

/// Returns the current form of the commit that a colony records; `None` if it records none, or the hub lacks
/// it. Asks the remote whether history was rewritten.
pub fn noted(world: &World, hub: &Hub, colony: Option<&Colony>) -> Result<Option<Oid>> {
    let noted = colony.and_then(|colony| colony.commit.as_deref());
    let Some(noted) = noted.and_then(Oid::parse) else {
        return Ok(None);
    };
    world.interrupt.check()?;
    // If the remote is unreachable, the migrations known before count.
    fetch(world, hub).ok();
    let objects = hub.store.objects();
    let mut map = ObjectMap::default();
    for commit in migrations(hub)? {
        read(&objects, commit, &mut map)?;
    }
    let newest = [map.newest(noted), Some(noted)].into_iter().flatten();
    Ok(newest.into_iter().find(|id| hub.store.has(*id)))
}

/// Lists the migrations that the remote and the checkouts with this hub publish.
fn migrations(hub: &Hub) -> Result<Vec<Oid>> {
    let mut refs = hub.store.refs_below(FETCHED)?;
    let end = format!("/{}", ref_names::PUBLISHED_MIGRATIONS);
    let desk_refs = hub.store.refs_below(ref_names::PUBLISHED_DESKS)?;
    let is_told = |name: &RefName| name.as_bytes().ends_with(end.as_bytes());
    refs.extend(desk_refs.into_iter().filter(|reference| is_told(&reference.name)));
    Ok(refs.into_iter().map(|reference| reference.id).collect())
}

fn fetch(world: &World, hub: &Hub) -> Result<()> {
    if !hub.has_remote() {
        return Ok(());
    }
    // With a star, it is not an error if none exists.
    let migrations = format!("+{}*:{FETCHED}migrations*", ref_names::MIGRATIONS);
    let args = ["--no-tags", "--refmap=", "origin", &migrations];
    hub.fetch_refs(world, &args, "ask what was rewritten")
}

fn read(objects: &Objects, commit: Oid, into: &mut ObjectMap) -> Result<()> {
    for named in objects.list(objects.tree_of(commit)?)? {
        if !named.entry.is_directory() {
            continue;
        }
        let map = objects.at(named.entry.id, &RepoPath::from(migration::MAP))?.filter(|map| {
            let size = objects.size(map.id);
            map.is_file() && size.is_some_and(|size| size <= migration::MAX_BYTES)
        });
        if let Some(map) = map {
            into.read_into(&objects.blob(map.id)?);
        }
    }
    Ok(())
}
