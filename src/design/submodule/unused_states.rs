//! Deletes the states of submodules that no checkpoint and no operation of this worktree names any more. Only
//! `init remove --purge` deletes others.

use std::collections::BTreeSet;

use crate::design::checkpoint::tag_message::TagMessage;
use crate::git::{Oid, RefName, Repo};
use crate::model::Result;
use crate::model::id::OperationId;
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::operation::{Log, recover};
use crate::store::refs::ref_names;

use super::{Submodule, is_final};

/// The refs of a submodule to delete.
struct Unused {
    submodule: Submodule,
    refs: Vec<(RefName, Oid)>,
}

/// What prune deletes in the repository around the submodules; in a dry run it is all there still.
pub(in crate::design) struct PruneSet<'a> {
    pub(in crate::design) operations: &'a [OperationId],
    pub(in crate::design) refs: &'a [(RefName, Oid)],
}

/// Deletes the unused states in submodules that are set up here, and returns their number; in a dry run, only counts
/// them. The caller holds the lock of this worktree.
pub(in crate::design) fn prune(
    session: &Session,
    places: &Places,
    going: &PruneSet<'_>,
) -> Result<usize> {
    let held = holders(session, &ref_names::states_of_parent(&places.key))?;
    if held.is_empty() {
        return Ok(0);
    }
    let Some(named) = named(&session.repo, places, going)? else {
        return Ok(0);
    };
    let mut count = 0;
    for Unused { submodule, mut refs } in held {
        refs.retain(|(_, id)| !named.contains(id));
        match remove(&submodule, &refs) {
            Ok(()) => count += refs.len(),
            Err(error) if is_final(&error) || session.world.is_dead() => return Err(error),
            Err(error) => {
                let path = &submodule.path;
                (session.world.narrate)(&format!("warning: '{path}': {}", error.message()));
            }
        }
    }
    Ok(count)
}

/// Deletes all states of this worktree in submodules that are set up here, and the empty folder of git-colony there. The
/// caller holds the lock of this worktree.
pub fn forget_all(session: &Session) -> Result<()> {
    let Some(places) = Places::find(&session.repo)? else {
        return Ok(());
    };
    for Unused { submodule, refs } in holders(session, &ref_names::states_of_parent(&places.key))? {
        remove(&submodule, &refs)?;
        let repo = &submodule.session.repo;
        // With a key, the submodule has operations of its own.
        if Places::find(repo)?.is_none() {
            atomic::remove_folder(&repo.git_dir().join("colony"))?;
        }
    }
    Ok(())
}

/// Lists the submodules that hold states of this worktree, and those inside them.
fn holders(session: &Session, prefix: &str) -> Result<Vec<Unused>> {
    let mut held = Vec::new();
    let mut open = session.repo.load_index()?.submodules();
    while let Some(path) = open.pop() {
        session.world.interrupt.check()?;
        let Ok(submodule) = Submodule::open(session, &path) else {
            continue;
        };
        let repo = &submodule.session.repo;
        if let Ok(index) = repo.load_index() {
            open.extend(index.submodules().iter().map(|path| submodule.at(path)));
        }
        let below = repo.refs_below(prefix)?.into_iter();
        let refs: Vec<_> = below.map(|reference| (reference.name, reference.id)).collect();
        if !refs.is_empty() {
            held.push(Unused { submodule, refs });
        }
    }
    Ok(held)
}

fn remove(submodule: &Submodule, refs: &[(RefName, Oid)]) -> Result<()> {
    let inside = &submodule.session;
    if refs.is_empty() || inside.is_dry() {
        return Ok(());
    }
    let _lock = WorktreeLock::take(&inside.world, &inside.repo, inside.wait_limit())?;
    recover::delete_refs(inside, &Places::planned(&inside.repo)?, refs, "prune")
}

/// Lists the states that checkpoints and operations name; `None` if one of these cannot be read.
fn named(repo: &Repo, places: &Places, going: &PruneSet<'_>) -> Result<Option<BTreeSet<Oid>>> {
    let mut named = BTreeSet::new();
    let mut tags = BTreeSet::new();
    let automatic = ref_names::automatic_of(&places.key);
    for place in [&ref_names::CHECKPOINT_PLACES[..], &[automatic.as_str()]].concat() {
        let below = repo.refs_below(place)?.into_iter();
        let stays =
            below.filter(|reference| going.refs.iter().all(|(name, _)| *name != reference.name));
        tags.extend(stays.map(|reference| reference.id));
    }
    let log = Log::read(repo, places)?;
    if log.entries.len() != repo.refs_below(&ref_names::operations_of(&places.key))?.len() {
        return Ok(None);
    }
    for entry in log.entries.iter().filter(|entry| !going.operations.contains(&entry.record.op)) {
        let record = &entry.record;
        named.extend(record.submodules.iter().map(|state| state.snapshot));
        // An undo may bring back a checkpoint that was deleted.
        record.revive_tags(repo, entry.commit)?;
        tags.extend(record.refs.iter().flat_map(|change| [change.old, change.new]).flatten());
    }
    for tag in tags.into_iter().filter_map(|id| repo.find_tag(id)) {
        if TagMessage::is_of_other_format(&tag.message) {
            return Ok(None);
        }
        let message = TagMessage::of(&tag.message);
        named.extend(message.submodules.into_iter().map(|state| state.snapshot));
    }
    Ok(Some(named))
}
