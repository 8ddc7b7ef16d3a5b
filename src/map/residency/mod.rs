//! Virtual context memory: the pages that an agent has in its context, and what keeps them there.
//!
//! An agent is who `--agent`, `COLONY_AGENT` or the clone names; the user is an agent of no name. All members
//! of a hub name one resident set for an agent. A request is an access; looking at a page is none.

pub mod page_locks;
pub mod page_request;
mod page_state;
pub mod resident_pages;
mod wanted_pages;

use std::collections::BTreeSet;

use crate::clones::found::FoundClone;
use crate::map::pages::{self, Freshness, Opened, scopes};
use crate::model::time::{self, Moment};
use crate::model::{Code, Error, Result};
use crate::page::listing::LockEntry;
use crate::page::pages::{Page, PageId};
use crate::repo_map::scope_record;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{MAX_LOCK_SECONDS, PageLock, Resident, State, StoredPage};

pub use page_state::ResidencyStats;
pub(crate) use page_state::{PageState, Tally};
pub(crate) use resident_pages::{find_kept, successors_of};

/// The longest reason for a lock.
const MAX_REASON_BYTES: usize = 1_000;

impl From<&PageLock> for LockEntry {
    fn from(lock: &PageLock) -> Self {
        LockEntry {
            owner: Some(lock.owner.clone()).filter(|owner| !owner.is_empty()),
            locked_until: written(lock.until),
            reason: lock.reason.clone(),
        }
    }
}

/// Forgets the resident set and the locks of an agent whose last clone is removed. Where that fails, the locks
/// end with their time.
pub(crate) fn forget_with_clone(inside: &Session, clone: &FoundClone) {
    let Some(agent) = &clone.member.agent else {
        return;
    };
    let others = clone.path.parent().and_then(|clones| std::fs::read_dir(clones).ok());
    let is_last = others.is_none_or(|clones| clones.flatten().count() <= 1);
    if let Ok(Some(mut state)) = State::find(inside)
        && is_last
    {
        drop(state.forget(agent));
    }
}

/// Warns where the pinned pages of this worktree, which never leave, take more than half of the budget.
pub fn warn_of_pins(session: &Session) -> Result<()> {
    let pinned = scopes::pinned(session)?;
    if pinned.is_empty() {
        return Ok(());
    }
    let opened = pages::open_mapped(session)?;
    let rows = opened.scopes.iter().filter(|row| pinned.contains(&row.scope));
    let tokens: u64 = rows.map(|row| row.totals.tokens).sum();
    let budget = session.settings.context_budget_tokens;
    if tokens > budget / 2 {
        (session.world.narrate)(&format!(
            "warning: pinned pages have {tokens} tokens, more than half of the {budget} that \
             'colony.context.budgetTokens' allows"
        ));
    }
    Ok(())
}

/// Lists the locks that are held now.
pub(crate) fn locks(session: &Session) -> std::result::Result<Vec<LockEntry>, Unusable> {
    let Some(mut state) = State::find(session)? else {
        return Ok(Vec::new());
    };
    let locks = state.locks(now(session))?;
    Ok(locks.iter().map(LockEntry::from).collect())
}

/// Returns who acts, as the state names it.
fn owner(session: &Session) -> String {
    session.settings.agent.clone().unwrap_or_default()
}

fn now(session: &Session) -> i64 {
    session.world.now().timestamp_millis()
}

/// Returns a time of the state as reports have it.
pub(crate) fn written(milliseconds: i64) -> String {
    let moment = chrono::DateTime::from_timestamp_millis(milliseconds);
    moment.map_or_else(String::new, |moment| {
        let moment: Moment = moment.fixed_offset();
        time::rfc3339(&moment)
    })
}

/// Returns those of the resident pages that never leave: pages of pinned scopes, while the mapping has them.
fn pinned_pages(session: &Session, residents: &[Resident]) -> Result<BTreeSet<[u8; 16]>> {
    let scopes = scopes::pinned(session)?;
    let mut pinned: Vec<&Resident> = residents.iter().collect();
    pinned.retain(|page| scopes.contains(&page.scope));
    if pinned.is_empty() {
        return Ok(BTreeSet::new());
    }
    let opened = pages::open_mapped(session)?;
    let freshness = Freshness::of(session);
    let mut ids = BTreeSet::new();
    for page in pinned {
        if is_stale(&opened, &freshness, page)? != Some(true) {
            ids.insert(page.id);
        }
    }
    Ok(ids)
}

/// Returns `true` if the mapping of a page's scope no longer has it; `None` if the scope has no pages here. HEAD and
/// the working tree have the same pages for the same files: a page that the other one has is not stale either, while
/// that mapping is up to date.
fn is_stale(opened: &Opened, freshness: &Freshness<'_>, page: &Resident) -> Result<Option<bool>> {
    let row = |scope: &str| opened.scopes.iter().find(|row| row.scope == scope);
    let Some(own) = row(&page.scope) else {
        return Ok(None);
    };
    let id = PageId(page.id);
    if opened.has(own, id)? {
        return Ok(Some(false));
    }
    let other = match scope_record::committed(&page.scope) {
        Some(committed) => row(committed),
        None => row(&scope_record::of_worktree(&page.scope)),
    };
    let has_other =
        other.map_or(Ok(false), |other| Ok(opened.has(other, id)? && !freshness.is_stale(other)));
    has_other.map(|has| Some(!has))
}

/// Returns a page that the state has stored.
fn unpack(page: &StoredPage) -> Option<Page> {
    serde_json::from_slice(&page.packed).ok()
}

/// Refuses a reason that is too long to be one.
fn check_reason(reason: &str) -> Result<()> {
    if reason.len() <= MAX_REASON_BYTES {
        return Ok(());
    }
    let message =
        format!("the reason has {} bytes; at most {MAX_REASON_BYTES} are stored", reason.len());
    Err(Error::new(Code::InvalidValue, message).unchanged())
}

/// Converts seconds to milliseconds, or says why they cannot be the time of a lock.
fn milliseconds(seconds: f64, name: &str) -> std::result::Result<i64, String> {
    if seconds.is_nan() || seconds <= 0.0 {
        return Err(format!("{name} must be positive"));
    }
    if seconds > f64::from(MAX_LOCK_SECONDS) {
        return Err(format!("{name} is at most {MAX_LOCK_SECONDS}"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the number is between 0 and 31,536,000,000"
    )]
    let whole = (seconds * 1_000.0).ceil() as i64;
    Ok(whole)
}

fn ids(keys: impl IntoIterator<Item = [u8; 16]>) -> Vec<PageId> {
    keys.into_iter().map(PageId).collect()
}
