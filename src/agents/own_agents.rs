//! Which agents are those of this checkout: made from it, or from that of the agent whose clone this is. A clone of which
//! nobody knows who made it counts as this checkout's.

use std::collections::BTreeSet;

use crate::clones::damaged::DamagedClone;
use crate::clones::found::FoundClone;
use crate::clones::hub::{desk_note, locate};
use crate::clones::removal::kept_clone;
use crate::clones::removal::removed_work::RemovedWork;
use crate::model::Result;
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::{Membership, Role};

use super::agent_places;

/// What belongs to this checkout, and the names of the agents of others.
pub type OwnAndOthers<T> = (Vec<T>, BTreeSet<String>);

/// The checkout of a person that agents are compared with.
struct Checkout<'a> {
    /// Its id, if it has joined a colony.
    id: Option<&'a str>,
    /// Whether it is a copy, which has the record of another, and with it the id: the agents are those of the other.
    is_copy: bool,
}

impl Checkout<'_> {
    fn of(session: &Session) -> Checkout<'_> {
        let member = session.membership.as_ref();
        let is_desk = member.filter(|member| member.role == Role::Desk);
        let is_copy =
            is_desk.is_some_and(|member| desk_note::is_copy(member, session.repo.common_dir()));
        Checkout { id: member.and_then(Membership::desk), is_copy }
    }

    fn has(&self, made_by: Option<&str>) -> bool {
        let ids = self.id.zip(made_by);
        ids.is_none_or(|(own, made_by)| own == made_by && !self.is_copy)
    }
}

/// Returns the clones of the agents of this checkout.
pub fn clones(session: &Session) -> Result<OwnAndOthers<FoundClone>> {
    let checkout = Checkout::of(session);
    let all = agent_places::of_agents(session)?.into_iter();
    let (own, others): (Vec<_>, Vec<_>) = all.partition(|clone| checkout.has(clone.member.desk()));
    Ok((own, others.into_iter().filter_map(|clone| clone.member.agent).collect()))
}

/// Returns the damaged clones of this checkout's agents, and all for reading.
pub fn damaged(session: &Session) -> Result<OwnAndOthers<DamagedClone>> {
    let hub = locate::place_of(session, &SharedRoot::of(&session.world)?)?;
    let checkout = Checkout::of(session);
    let all = agent_places::damaged_here(session)?.into_iter();
    let (own, others): (Vec<_>, Vec<_>) = all
        .partition(|clone| clone.agent.is_none() || checkout.has(clone.made_by(&hub).as_deref()));
    Ok((own, others.into_iter().filter_map(|clone| clone.agent).collect()))
}

/// Takes the work of this checkout's agents out of that of all removed ones.
pub fn removed(session: &Session, all: Vec<RemovedWork>) -> Result<OwnAndOthers<RemovedWork>> {
    if all.is_empty() {
        return Ok((all, BTreeSet::new()));
    }
    let root = SharedRoot::of(&session.world)?;
    let hub = locate::place_of(session, &root)?;
    let (checkout, kept) = (Checkout::of(session), kept_clone::list(&root, Some(&hub)));
    let made_by = |work: &RemovedWork| {
        let folder = kept.iter().find(|clone| clone.kept == work.kept_as);
        folder.and_then(|clone| clone.member.desk.clone()).or_else(|| work.last_made_by(&hub))
    };
    let (own, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|work| checkout.has(made_by(work).as_deref()));
    Ok((own, others.into_iter().map(|work| work.agent).collect()))
}
