//! Prunes expired operations and checkpoints, and useless refs of ours: here, and from a checkout
//! of a person also removed clones whose days are over, and their logs in the hub. Old sessions of this checkout, too.
//!
//! `store::operation::prune`, `design::checkpoint::retention` and `sessions::expired_sessions` decide about age.

use std::collections::BTreeSet;

use crate::agents::kept_clones::{self, Keeping};
use crate::clones::hub::Hub;
use crate::clones::removal::removed_log::{self, Limits};
use crate::design::checkpoint::retention::{self, PruneReport, Scope};
use crate::git::refs::ReflogReason;
use crate::git::{RefChange, RefName};
use crate::model::id::SessionId;
use crate::model::{Code, Result};
use crate::records::exchanged_refs;
use crate::sessions::expired_sessions;
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Role;
use crate::store::refs::{lost_refs, own_refs};

/// What to prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PruneScope {
    /// Operations, automatic checkpoints, old sessions, and refs of ours that are damaged or whose
    /// objects are missing.
    Everything,
    /// Operations only.
    Operations,
}

/// Does the same as [`retention::prune`], deletes the refs with missing objects (the next sync
/// fetches those that remotes have), and deletes operations of removed clones. In a dry run, only
/// lists them.
pub fn prune(session: &Session, what: PruneScope, keep_days: Option<u64>) -> Result<PruneReport> {
    let scope = match what {
        PruneScope::Operations => Scope::Operations,
        PruneScope::Everything => {
            let lost = lost_refs::find(&session.repo)?;
            let damaged = lost_refs::find_damaged(&session.repo).ours;
            if !session.is_dry() {
                let gone = lost
                    .iter()
                    .map(|lost| &lost.name)
                    .chain(damaged.iter().map(|damaged| &damaged.name));
                forget_agreement(session, gone)?;
            }
            Scope::Everything { lost, damaged }
        }
    };
    let mut report = retention::prune(session, scope, keep_days)?;
    let days = keep_days.unwrap_or(session.settings.keep_days);
    if what == PruneScope::Everything {
        report.sessions_removed = prune_sessions(session, days)?;
    }
    let member = session.membership.as_ref();
    let hub = member.filter(|member| member.role == Role::Desk && member.hub.is_dir());
    if let Some(member) = hub {
        let settings = &session.settings;
        let limits = Limits {
            days,
            operations: settings.keep_operations,
            automatic_days: settings.keep_auto_days,
        };
        if what == PruneScope::Everything {
            let root = SharedRoot::of(&session.world)?;
            let here = Some((member.hub.as_path(), Keeping::of(settings)));
            let swept = kept_clones::sweep(&session.world, &root, here, session.is_dry());
            report.freed += swept.deleted.iter().map(|folder| folder.size).sum::<u64>();
            report.removed_clones = swept.deleted.len();
        }
        let hub = Hub::open(&member.hub)?;
        let pruned = removed_log::prune(session, &hub, limits)?;
        report.freed += pruned.freed;
        report.automatic_removed += pruned.automatic;
        report.of_removed_clones = pruned.amount.operations;
        report.files_of_removed_clones = pruned.amount.files;
    }
    Ok(report)
}

/// Deletes old sessions. Where their folder cannot be used, that is a warning: all else is done.
fn prune_sessions(session: &Session, keep_days: u64) -> Result<Vec<SessionId>> {
    match expired_sessions::prune(session, keep_days) {
        Err(error) if error.code() != Code::Interrupted => {
            (session.world.narrate)(&format!(
                "warning: no old session is deleted: {}",
                error.message()
            ));
            Ok(Vec::new())
        }
        done => done,
    }
}

/// Deletes the record that remotes had them: otherwise sync would take the missing refs for deleted
/// ones.
fn forget_agreement<'a>(session: &Session, gone: impl Iterator<Item = &'a RefName>) -> Result<()> {
    let remotes = session.repo.remote_names();
    let notes = gone.flat_map(|name| {
        let note = |remote: &String| exchanged_refs::note_of(remote, name);
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
    let why = ReflogReason { text: "colony: prune", who: &who, operation: "prune" };
    own_refs::move_refs(session, &changes, &why)
}
