//! Locks on pages, page by page: what fails for one does not stop the others.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Result;
use crate::page::listing::LockEntry;
use crate::page::pages::PageId;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{Extended, NewLock, Resident, State, Unlocked, Wanted};

use super::wanted_pages::{Finder, MissingPage};
use super::{check_reason, ids, milliseconds, now, owner, written};

/// The name of the time of a lock in messages: that of the action.
pub const LOCK_SECONDS: &str = "ttl_s";

/// The name of the time by which a lock is extended.
pub const ADDED_SECONDS: &str = "additional_s";

/// A page for which something failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedPage {
    /// The id as it was given.
    pub page_id: String,
    /// Why it failed.
    pub error: String,
}

impl From<MissingPage> for FailedPage {
    fn from(missing: MissingPage) -> Self {
        FailedPage { error: missing.why(), page_id: missing.page_id }
    }
}

/// The result of locking pages.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LockReport {
    /// The pages that are locked now.
    pub locked: Vec<LockedPage>,
    /// Those that are not.
    pub failed: Vec<FailedPage>,
    /// Whether nothing was changed since this was a dry run.
    pub dry_run: bool,
}

/// A page that is locked.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LockedPage {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// When the lock ends: no earlier than a lock that was held before.
    pub locked_until: String,
    /// Whether it is in the resident set of the agent that locks it: a lock holds a page there once a request has
    /// loaded it.
    pub resident: bool,
}

/// The result of unlocking pages.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct UnlockReport {
    /// The pages whose lock is deleted.
    #[schemars(with = "Vec<String>")]
    pub unlocked: Vec<PageId>,
    /// Those that were not locked.
    #[schemars(with = "Vec<String>")]
    pub already_unlocked: Vec<PageId>,
    /// Those that others have locked, and unknown ones.
    pub failed: Vec<FailedPage>,
    /// Whether nothing was changed since this was a dry run.
    pub dry_run: bool,
}

/// The result of extending a lock.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExtendReport {
    /// The page.
    pub page_id: String,
    /// Whether the lock was extended.
    pub extended: bool,
    /// When it ends now.
    pub locked_until: Option<String>,
    /// Why it was not extended.
    pub problem: Option<String>,
    /// Whether nothing was changed since this was a dry run.
    pub dry_run: bool,
}

/// Locks pages for some seconds.
pub fn lock(session: &Session, names: &[String], seconds: f64, reason: &str) -> Result<LockReport> {
    check_reason(reason)?;
    let mut report = LockReport { dry_run: session.is_dry(), ..LockReport::default() };
    let time = match milliseconds(seconds, LOCK_SECONDS) {
        Ok(time) => time,
        Err(why) => {
            report.failed = all_failed(names, &why);
            return Ok(report);
        }
    };
    let mut state = match State::open(session) {
        Ok(state) => state,
        Err(why) => {
            report.failed = all_failed(names, &unusable(&why));
            return Ok(report);
        }
    };
    let (wanted, missing) = Finder::new(session).find(&mut state, names)?;
    report.failed = missing.into_iter().map(FailedPage::from).collect();
    let (owner, now) = (owner(session), now(session));
    let new = NewLock { until: now + time, reason };
    let locked =
        state.lock(&owner, &wanted, new, now).and_then(|ends| Ok((ends, state.residents(&owner)?)));
    match locked {
        Ok((ends, residents)) => {
            wanted.iter().zip(ends).for_each(|(page, end)| report.add(page, end, &residents));
        }
        Err(why) => {
            let pages = wanted.iter().map(|page| PageId(page.id).to_string());
            let failed = all_failed(&pages.collect::<Vec<_>>(), &unusable(&why));
            report.failed.extend(failed);
        }
    }
    Ok(report)
}

impl LockReport {
    fn add(&mut self, page: &Wanted, end: Option<i64>, residents: &[Resident]) {
        let page_id = PageId(page.id);
        match end {
            Some(end) => self.locked.push(LockedPage {
                page_id,
                locked_until: written(end),
                resident: residents.iter().any(|resident| resident.id == page.id),
            }),
            None => self.failed.push(FailedPage {
                page_id: page_id.to_string(),
                error: "it has left meanwhile; try again".to_owned(),
            }),
        }
    }
}

/// Deletes one's own locks on pages.
pub fn unlock(session: &Session, names: &[String]) -> Result<UnlockReport> {
    let mut report = UnlockReport { dry_run: session.is_dry(), ..UnlockReport::default() };
    let mut state = match State::open(session) {
        Ok(state) => state,
        Err(why) => {
            report.failed = all_failed(names, &unusable(&why));
            return Ok(report);
        }
    };
    let (wanted, missing) = Finder::new(session).find(&mut state, names)?;
    report.failed = missing.into_iter().map(FailedPage::from).collect();
    let pages: Vec<[u8; 16]> = wanted.iter().map(|page| page.id).collect();
    match state.unlock(&owner(session), &pages, now(session)) {
        Ok(results) => pages
            .into_iter()
            .map(PageId)
            .zip(results)
            .for_each(|(page, result)| report.add(page, &result)),
        Err(why) => {
            let pages: Vec<String> = ids(pages).iter().map(ToString::to_string).collect();
            report.failed.extend(all_failed(&pages, &unusable(&why)));
        }
    }
    Ok(report)
}

impl UnlockReport {
    fn add(&mut self, page: PageId, result: &Unlocked) {
        match result {
            Unlocked::Deleted => self.unlocked.push(page),
            Unlocked::NotLocked => self.already_unlocked.push(page),
            Unlocked::OfOthers(locks) => {
                let owners = locks.iter().map(|lock| {
                    let owner = LockEntry::from(lock).owner;
                    owner.map_or("the user".to_owned(), |owner| format!("'{owner}'"))
                });
                let owners = owners.collect::<Vec<_>>().join(", ");
                self.failed.push(FailedPage {
                    page_id: page.to_string(),
                    error: format!("locked by {owners}"),
                });
            }
        }
    }
}

/// Extends one's own lock on a page that is still held.
pub fn extend(session: &Session, name: &str, seconds: f64) -> Result<ExtendReport> {
    let mut report = ExtendReport {
        page_id: name.to_owned(),
        extended: false,
        locked_until: None,
        problem: None,
        dry_run: session.is_dry(),
    };
    let time = match milliseconds(seconds, ADDED_SECONDS) {
        Ok(time) => time,
        Err(why) => {
            report.problem = Some(why);
            return Ok(report);
        }
    };
    let mut state = match State::open(session) {
        Ok(state) => state,
        Err(why) => {
            report.problem = Some(unusable(&why));
            return Ok(report);
        }
    };
    let (wanted, missing) = Finder::new(session).find(&mut state, &[name.to_owned()])?;
    let Some(page) = wanted.first().map(|page| page.id) else {
        report.problem = missing.first().map(MissingPage::why);
        return Ok(report);
    };
    report.page_id = PageId(page).to_string();
    match state.extend(&owner(session), page, time, now(session)) {
        Ok(Extended::Until(until)) => {
            report.extended = true;
            report.locked_until = Some(written(until));
        }
        Ok(Extended::NotLocked) => report.problem = Some("page was not locked".to_owned()),
        Err(why) => report.problem = Some(unusable(&why)),
    }
    Ok(report)
}

fn all_failed(names: &[String], error: &str) -> Vec<FailedPage> {
    let failed_page = |name: &String| FailedPage { page_id: name.clone(), error: error.to_owned() };
    names.iter().map(failed_page).collect()
}

fn unusable(why: &Unusable) -> String {
    if why.is_busy() {
        return "another process holds the state of the colony".to_owned();
    }
    format!("cannot use the state of the colony: {why}")
}
