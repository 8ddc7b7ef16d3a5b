//! Letting go of what is past its time, and of refs of ours that hold nothing any more.

use std::collections::BTreeSet;

use crate::clones::sync::travelers;
use crate::design::retention::{self, PruneReport, Scope};
use crate::git::RefChange;
use crate::git::refs::Reason;
use crate::model::Result;
use crate::store::Session;
use crate::store::lost_refs::{self, LostRef};

/// Prunes everything that [`retention::prune`] does, and takes out the refs whose objects are gone: what
/// remotes have of them comes back with the next sync.
///
/// # Errors
/// `locked`, `ref-moved`, `io`.
pub fn prune(session: &Session, keep_days: Option<u64>, dry_run: bool) -> Result<PruneReport> {
    let lost = lost_refs::find(&session.repo)?;
    if !dry_run {
        forget_agreement(session, &lost)?;
    }
    retention::prune(session, Scope::Everything { lost }, keep_days, dry_run)
}

/// Forgets that remotes had them: sync would take what is not here any more for deleted.
fn forget_agreement(session: &Session, lost: &[LostRef]) -> Result<()> {
    let remotes = session.repo.remote_names();
    let notes = lost.iter().flat_map(|lost| {
        let note = |remote: &String| travelers::note_of(remote, &lost.name);
        remotes.iter().filter_map(note).collect::<Vec<_>>()
    });
    let mut changes = Vec::new();
    for name in notes.collect::<BTreeSet<_>>() {
        changes.extend(session.repo.find_ref(&name)?.map(|old| RefChange {
            name,
            old: Some(old),
            new: None,
        }));
    }
    let who = session.record_signature();
    let why = Reason {
        text: "colony: prune",
        who: &who,
        operation: "prune",
    };
    session.repo.move_refs(&session.world, &changes, &why)
}
