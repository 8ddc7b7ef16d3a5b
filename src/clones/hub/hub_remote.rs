//! The hub as a remote of an agent's clone, so that other programs see commits that are published there as pushed.
//!
//! It is for fetching: a push by plain git is refused with the command that publishes. No branch has it as its upstream,
//! since git-lfs looks for large files where the upstream of a branch is, and the hub need not have them.

use std::collections::BTreeMap;
use std::path::Path;

use crate::git::new_repository::ConfigEntry;
use crate::git::refs::ReflogReason;
use crate::git::remote::HUB_REMOTE;
use crate::git::{Oid, RefChange, RefName};
use crate::model::Result;
use crate::store::Session;
use crate::store::membership::{Membership, Role};
use crate::store::refs::own_refs;

use super::locate::NO_PUSH;

/// Returns the settings of the remote.
pub fn config(member: &Membership) -> Vec<ConfigEntry> {
    let entry = |name, value: &str| ConfigEntry::sub("remote", HUB_REMOTE, name, value);
    let fetch = format!("+{}heads/*:{}*", member.published_below(), below());
    vec![
        entry("url", &member.hub.to_string_lossy()),
        entry("fetch", &fetch),
        entry("pushurl", NO_PUSH),
        entry("tagOpt", "--no-tags"),
    ]
}

/// Returns the remote-tracking branch of a branch.
pub fn tracking(branch: &RefName) -> RefName {
    RefName::from(format!("{}{}", below(), branch.short()).as_str())
}

/// Moves the remote-tracking branches of a clone to what it has published.
pub(super) fn follow(session: &Session, member: &Membership) -> Result<()> {
    let repo = &session.repo;
    if member.role != Role::Agent {
        return Ok(());
    }
    let known: BTreeMap<RefName, Oid> = repo
        .refs_below(&below())?
        .into_iter()
        .map(|reference| (reference.name, reference.id))
        .collect();
    // The configuration of a clone is not read from elsewhere. A remote of this name that is not the hub is the user's.
    let url = repo.config(&format!("remote.{HUB_REMOTE}.url"));
    let is_ours = url.map_or(!known.is_empty(), |url| Path::new(&url) == member.hub);
    if !is_ours {
        return Ok(());
    }
    let branches = repo.refs_below("refs/heads/")?.into_iter();
    let wanted: BTreeMap<RefName, Oid> =
        branches.map(|reference| (tracking(&reference.name), reference.id)).collect();
    let names = wanted.keys().chain(known.keys().filter(|name| !wanted.contains_key(name)));
    let changes: Vec<RefChange> = names
        .map(|name| RefChange {
            name: name.clone(),
            old: known.get(name).copied(),
            new: wanted.get(name).copied(),
        })
        .filter(|change| change.old != change.new)
        .collect();
    let who = session.record_signature();
    let why = ReflogReason { text: "colony: published", who: &who, operation: "publish" };
    // A name may become a folder of names.
    let (gone, rest): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|change| change.new.is_none());
    own_refs::move_copies(session, &gone, &why)?;
    own_refs::move_copies(session, &rest, &why)
}

fn below() -> String {
    format!("refs/remotes/{HUB_REMOTE}/")
}
