//! What the state of the colony says of pages, for lists and counts. Looking creates no state.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::pages::{Freshness, Opened, scopes};
use crate::model::Result;
use crate::page::listing::{LockEntry, PageEntry};
use crate::page::pages::PageId;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{Counters, PageKey, PageLock, Resident, State};

use super::{is_stale, now, owner, written};

/// Numbers of the resident set of the agent that asks, for a scope or for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResidencyStats {
    /// Its resident pages, with the stale ones.
    pub resident: u64,
    /// Those of them that the mapping no longer has.
    pub stale: u64,
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
pub(crate) struct PageState {
    residents: BTreeMap<PageKey, Resident>,
    locks: Vec<PageLock>,
    counters: BTreeMap<String, Counters>,
    pinned: BTreeSet<String>,
    /// Why the state cannot be read.
    pub(in crate::map) problem: Option<String>,
}

impl PageState {
    /// Reads the state; one that cannot be read counts as empty, and says so.
    pub(crate) fn of(session: &Session) -> PageState {
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
    pub(in crate::map) fn mark(&self, pages: &mut [PageEntry]) {
        for page in pages {
            page.resident = self.residents.contains_key(&page.page_id.0);
            page.pinned = self.pinned.contains(&page.scope_id);
            page.locked_until = self.locked_until(page.page_id.0).map(written);
            let locks = self.locks.iter().filter(|lock| lock.page == page.page_id.0);
            page.locks = locks.map(LockEntry::from).collect();
        }
    }

    /// Returns the resident pages.
    pub(crate) fn resident_pages(&self) -> impl Iterator<Item = PageId> {
        self.residents.keys().copied().map(PageId)
    }

    /// Returns the latest end of the locks on a page.
    fn locked_until(&self, page: PageKey) -> Option<i64> {
        let locks = self.locks.iter().filter(|lock| lock.page == page);
        locks.map(|lock| lock.until).max()
    }

    /// Returns the resident pages that the mapping no longer has.
    pub(in crate::map) fn stale(
        &self,
        session: &Session,
        opened: &Opened,
    ) -> Result<BTreeSet<PageKey>> {
        let freshness = Freshness::of(session);
        let mut stale = BTreeSet::new();
        for page in self.residents.values() {
            if is_stale(opened, &freshness, page)? == Some(true) {
                stale.insert(page.id);
            }
        }
        Ok(stale)
    }

    /// Counts the pages of a scope; `stale` are the resident pages that the mapping no longer has.
    pub(in crate::map) fn tally(
        &self,
        scope: &str,
        pages: &[PageKey],
        stale: &BTreeSet<PageKey>,
    ) -> Tally {
        let left: BTreeSet<PageKey> = self
            .residents
            .values()
            .filter(|page| page.scope == scope && stale.contains(&page.id))
            .map(|page| page.id)
            .collect();
        let is_resident = |page: &&PageKey| self.residents.contains_key(*page);
        let is_locked = |page: &&PageKey| self.locks.iter().any(|lock| lock.page == **page);
        let pinned: &[PageKey] = if self.pinned.contains(scope) { pages } else { &[] };
        Tally {
            resident: pages.iter().filter(is_resident).chain(&left).copied().collect(),
            locked: pages.iter().chain(&left).filter(is_locked).copied().collect(),
            pinned: pinned.iter().copied().collect(),
            stale: left,
            counters: self.counters.get(scope).copied().unwrap_or_default(),
        }
    }

    /// Counts the resident pages, whatever scope they belong to.
    pub(in crate::map) fn tally_residents(&self, stale: &BTreeSet<PageKey>) -> Tally {
        Tally {
            resident: self.residents.keys().copied().collect(),
            stale: stale.clone(),
            ..Tally::default()
        }
    }
}

/// The pages of scopes, each counted once: HEAD and the working tree have the same pages for the same files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    resident: BTreeSet<PageKey>,
    stale: BTreeSet<PageKey>,
    pinned: BTreeSet<PageKey>,
    locked: BTreeSet<PageKey>,
    counters: Counters,
}

impl Tally {
    /// Adds the pages of another scope.
    pub(in crate::map) fn add(&mut self, other: Tally) {
        self.resident.extend(other.resident);
        self.stale.extend(other.stale);
        self.pinned.extend(other.pinned);
        self.locked.extend(other.locked);
        self.counters.hits += other.counters.hits;
        self.counters.faults += other.counters.faults;
        self.counters.evictions += other.counters.evictions;
    }

    /// Returns the numbers.
    pub(in crate::map) fn stats(&self) -> ResidencyStats {
        ResidencyStats {
            resident: self.resident.len() as u64,
            stale: self.stale.len() as u64,
            pinned: self.pinned.len() as u64,
            locked: self.locked.len() as u64,
            hits: self.counters.hits,
            faults: self.counters.faults,
            evictions: self.counters.evictions,
        }
    }
}

type Read = (Vec<Resident>, Vec<PageLock>, BTreeMap<String, Counters>);

fn read(session: &Session) -> std::result::Result<Option<Read>, Unusable> {
    let Some(mut state) = State::find(session)? else {
        return Ok(None);
    };
    let agent = owner(session);
    let residents = state.residents(&agent)?;
    let locks = state.locks(now(session))?;
    Ok(Some((residents, locks, state.counters(&agent)?)))
}
