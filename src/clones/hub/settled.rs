//! Records a checkout in its hub, and notices that the hub is not the one that it has joined.

use crate::git::{RefChange, RefName};
use crate::model::Result;
use crate::store::Session;
use crate::store::membership::{Membership, Role};
use crate::store::refs::ref_names;

use super::object_copies::copy_objects;
use super::{Hub, desk_note};

/// Records a checkout in its hub. Where the hub does not know it, it is another one than the checkout has joined, at the
/// same path: what agents had published is put there again, as it was last seen here.
pub(in crate::clones) fn settle(session: &Session, member: &Membership) -> Result<Membership> {
    let is_desk = member.role == Role::Desk && !session.is_dry();
    if is_desk && !desk_note::is_known(member) {
        let hub = Hub::open(&member.hub)?;
        let changes = copies(session, &hub)?;
        if !changes.is_empty() {
            copy_objects(&session.world, &session.repo, &hub, &changes)?;
            hub.move_refs(&session.world, &changes)?;
            (session.world.narrate)(&format!(
                "warning: the hub '{}' is another one than before: what agents had published is put there again",
                member.hub.display()
            ));
        }
    }
    desk_note::settle(&session.world, &session.repo, member)
}

/// Lists what the hub lacks of the published refs of others.
pub(super) fn copies(session: &Session, hub: &Hub) -> Result<Vec<RefChange>> {
    let mut changes = Vec::new();
    for prefix in [ref_names::AGENTS, ref_names::DESKS] {
        for reference in session.repo.refs_below(prefix)? {
            let name = reference.name.to_string();
            let rest = name.strip_prefix(ref_names::PRIVATE);
            let in_hub =
                rest.map(|rest| RefName::from(format!("{}{rest}", ref_names::PUBLISHED).as_str()));
            let Some(name) = in_hub else { continue };
            if hub.store.find_ref(&name)?.is_none() {
                changes.push(RefChange { name, old: None, new: Some(reference.id) });
            }
        }
    }
    Ok(changes)
}
