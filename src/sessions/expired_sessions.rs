//! Old sessions: `prune` deletes the file of one that has long been archived or ended. Nothing else does.

use crate::git::worktree::safe_open;
use crate::model::id::SessionId;
use crate::model::time;
use crate::model::{Code, Result};
use crate::store::Session;
use crate::store::lease::lease_holder::session_of;
use crate::store::session_log::file_name;
use crate::store::session_log::session_history::{ARCHIVE_SECONDS, SessionState};

use super::{KnownSession, SessionPlace};

const SECONDS_PER_DAY: i64 = 86_400;

/// In a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// Deletes the sessions of this checkout whose last event is more than `keep_days` ago, and returns their ids; in a dry
/// run, only lists them. One whose age is not certain stays, and so does one that git tracks or that is just written to.
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
        // It may have been resumed meanwhile, or noted in.
        let is_still = || match place.read(id.clone()) {
            Ok(known) => Ok(is_expired(&place, &known, keep_days)),
            Err(error) if error.code() == Code::SessionNotFound => Ok(false),
            Err(error) => Err(error),
        };
        match folder.remove_growing(&file_name(&id), is_still) {
            Ok(true) => deleted.push(id),
            Ok(false) => {}
            Err(error) if error.code() == Code::Interrupted => return Err(error),
            Err(error) => (place.world.narrate)(&format!(
                "warning: the session {} is not deleted: {}",
                id.as_str(),
                error.message()
            )),
        }
    }
    Ok(deleted)
}

fn is_expired(place: &SessionPlace<'_>, known: &KnownSession, keep_days: u64) -> bool {
    let now = place.world.now();
    let last = known.history.last_at.as_deref();
    let (Some(last), Some(written)) = (last.and_then(time::parse_rfc3339), written(place, known))
    else {
        return false;
    };
    // The clock may have been wrong when the event was written.
    let age = now.timestamp().saturating_sub(written.max(last.timestamp()));
    let days = i64::try_from(keep_days).unwrap_or(i64::MAX);
    let kept = days.saturating_mul(SECONDS_PER_DAY).max(ARCHIVE_SECONDS);
    let state = known.history.state(&now);
    let is_in_use = session_of(place.world).as_ref() == Some(&known.id);
    !is_in_use && matches!(state, SessionState::Archived | SessionState::Ended) && age >= kept
}

/// Returns when the file of a session was written last, in seconds since 1970.
fn written(place: &SessionPlace<'_>, known: &KnownSession) -> Option<i64> {
    let path = place.logs.path_below(&known.id);
    let stat = safe_open::stat_below(place.root(), &path).ok()??;
    Some(stat.modified.div_euclid(NANOSECONDS))
}

fn is_tracked(place: &SessionPlace<'_>, id: &SessionId) -> bool {
    let path = place.logs.path_below(id);
    let repo = place.session.map(|session| &session.repo);
    // What cannot be determined stays.
    repo.is_some_and(|repo| repo.tracks(&path).unwrap_or(true))
}
