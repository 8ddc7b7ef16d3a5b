//! What the state of the colony says of pages, for lists and counts. Looking creates no state.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{now, owner, written};
use crate::flow::pages::scopes;
use crate::page::listing::PageEntry;
use crate::page::pages::PageId;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{Counters, PageKey, PageLock, Resident, State};

/// Numbers of the resident set of the agent that asks, for a scope or for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResidencyStats {
    /// Its resident pages.
    pub resident: u64,
    /// Pages of pinned scopes, which never leave a resident set.
    pub pinned: u64,
    /// Pages that an agent or the user has locked.
    pub locked: u64,
    /// Requests of pages that were resident.
    pub hits: u64,
    /// Requests of pages that were not.
    pub faults: u64,
    /// Pages that left for others.
    pub evictions: u64,
}

/// What the state says of the pages of a session.
pub(in crate::flow) struct PageState {
    residents: BTreeMap<PageKey, Resident>,
    locks: Vec<PageLock>,
    counters: BTreeMap<String, Counters>,
    pinned: BTreeSet<String>,
    /// Why the state cannot be read.
    pub(in crate::flow) problem: Option<String>,
}

impl PageState {
    /// Reads the state; one that cannot be read counts as empty, and says so.
    pub(in crate::flow) fn of(session: &Session) -> PageState {
        let mut empty = PageState {
            residents: BTreeMap::new(),
            locks: Vec::new(),
            counters: BTreeMap::new(),
            pinned: scopes::pinned(session).unwrap_or_default(),
            problem: None,
        };
        match read(session) {
            Ok(None) => empty,
            Ok(Some((residents, locks, counters))) => PageState {
                residents: residents.into_iter().map(|page| (page.id, page)).collect(),
                locks,
                counters,
                ..empty
            },
            Err(why) => {
                empty.problem = Some(format!("cannot use the state of the colony: {why}"));
                empty
            }
        }
    }

    /// Fills in what the state says of pages.
    pub(in crate::flow) fn mark(&self, pages: &mut [PageEntry]) {
        for page in pages {
            page.resident = self.residents.contains_key(&page.page_id.0);
            page.pinned = self.pinned.contains(&page.scope_id);
            page.locked_until = self.locked_until(page.page_id.0).map(written);
        }
    }

    /// Returns the resident pages.
    pub(in crate::flow) fn resident_pages(&self) -> impl Iterator<Item = PageId> {
        self.residents.keys().copied().map(PageId)
    }

    /// Returns the latest end of the locks on a page.
    fn locked_until(&self, page: PageKey) -> Option<i64> {
        let locks = self.locks.iter().filter(|lock| lock.page == page);
        locks.map(|lock| lock.until).max()
    }

    fn is_pinned(&self, scope: &str) -> bool {
        self.pinned.contains(scope)
    }

    /// Counts the pages of a scope; `None` if the state cannot be read.
    pub(in crate::flow) fn stats(&self, scope: &str, pages: &[PageKey]) -> Option<ResidencyStats> {
        if self.problem.is_some() {
            return None;
        }
        let locked: BTreeSet<PageKey> = self.locks.iter().map(|lock| lock.page).collect();
        let counters = self.counters.get(scope).copied().unwrap_or_default();
        let count = |wanted: &dyn Fn(&PageKey) -> bool| {
            pages.iter().filter(|page| wanted(page)).count() as u64
        };
        Some(ResidencyStats {
            resident: count(&|page| self.residents.contains_key(page)),
            pinned: count(&|_| self.is_pinned(scope)),
            locked: count(&|page| locked.contains(page)),
            hits: counters.hits,
            faults: counters.faults,
            evictions: counters.evictions,
        })
    }
}

type Read = (Vec<Resident>, Vec<PageLock>, BTreeMap<String, Counters>);

fn read(session: &Session) -> Result<Option<Read>, Unusable> {
    let Some(mut state) = State::find(session)? else {
        return Ok(None);
    };
    let agent = owner(session);
    let residents = state.residents(&agent)?;
    let locks = state.locks(now(session))?;
    Ok(Some((residents, locks, state.counters(&agent)?)))
}

impl std::ops::AddAssign for ResidencyStats {
    fn add_assign(&mut self, other: Self) {
        self.resident += other.resident;
        self.pinned += other.pinned;
        self.locked += other.locked;
        self.hits += other.hits;
        self.faults += other.faults;
        self.evictions += other.evictions;
    }
}
