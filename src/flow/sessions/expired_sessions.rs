//! Old sessions: `prune` deletes the file of one that has long been archived or ended. Nothing else does.

use crate::model::id::SessionId;
use crate::model::time;
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::lease::lease_holder::session_of;
use crate::store::session_log::file_name;
use crate::store::session_log::session_history::{ARCHIVE_SECONDS, SessionState};

use super::{KnownSession, SessionPlace};

const SECONDS_PER_DAY: i64 = 86_400;

/// Deletes the sessions of this checkout whose last event is more than `keep_days` ago, and returns their ids; in a dry
/// run, only lists them. One whose age is not certain stays, and so does one that git tracks.
///
/// # Errors
/// `path-in-the-way`, `io`, `interrupted`.
pub fn prune(session: &Session, keep_days: u64) -> Result<Vec<SessionId>> {
    let place = SessionPlace::find(&session.world, Some(session), session.is_dry())?;
    let mut expired: Vec<SessionId> = Vec::new();
    for known in place.read_all()? {
        if is_expired(&place, &known, keep_days) && !is_tracked(&place, &known.id) {
            expired.push(known.id);
        }
    }
    if place.is_dry || expired.is_empty() {
        return Ok(expired);
    }
    let folder = place.logs.folder()?;
    let _lock = folder.lock()?;
    let mut deleted = Vec::new();
    for id in expired {
        // It may have been resumed meanwhile.
        match place.read(id.clone()) {
            Ok(known) if is_expired(&place, &known, keep_days) => {
                folder.remove(&file_name(&id))?;
                deleted.push(id);
            }
            Err(error) if error.code() != Code::SessionNotFound => return Err(error),
            _ => {}
        }
    }
    Ok(deleted)
}

fn is_expired(place: &SessionPlace<'_>, known: &KnownSession, keep_days: u64) -> bool {
    let now = place.world.now();
    let last = known.history.last_at.as_deref();
    let Some(last) = last.and_then(time::parse_rfc3339) else {
        return false;
    };
    let age = now.signed_duration_since(last).num_seconds();
    let days = i64::try_from(keep_days).unwrap_or(i64::MAX);
    let kept = days.saturating_mul(SECONDS_PER_DAY).max(ARCHIVE_SECONDS);
    let state = known.history.state(&now);
    let is_in_use = session_of(place.world).as_ref() == Some(&known.id);
    !is_in_use && matches!(state, SessionState::Archived | SessionState::Ended) && age >= kept
}

fn is_tracked(place: &SessionPlace<'_>, id: &SessionId) -> bool {
    let path = place.logs.path_below(id);
    let repo = place.session.map(|session| &session.repo);
    // What cannot be determined stays.
    repo.is_some_and(|repo| repo.tracks(&path).unwrap_or(true))
}
