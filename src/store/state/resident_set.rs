//! The pages that an agent has in its context: which enter, and which leave at the budget of tokens.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use crate::store::cache::database::Unusable;

use super::page_locks::{self, PageLock};
use super::{PageKey, State, StoredPage, drop_unused, stored_pages};

/// A page of a resident set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Its id.
    pub id: PageKey,
    /// Its scope.
    pub scope: String,
    /// Its tokens.
    pub tokens: u64,
    /// The priority of the request that used it last; a page of lower priority leaves first.
    pub priority: i64,
    /// When it was loaded, as a number that only grows: the order in a prompt.
    pub loaded: i64,
    /// When a request used it last, as a number that only grows.
    pub used: i64,
    /// The time it was loaded.
    pub loaded_at: i64,
    /// The time a request used it last.
    pub used_at: i64,
}

/// A page that a request names.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Its id.
    pub id: PageKey,
    /// The page; `None` if it was resident or locked when the caller looked.
    pub page: Option<StoredPage>,
}

/// A lock to be taken.
#[derive(Clone, Copy, Debug)]
pub struct NewLock<'a> {
    /// When it ends.
    pub until: i64,
    /// The reason for it.
    pub reason: &'a str,
}

/// Returns those of some resident pages that never leave.
pub type Pinned<'a> = dyn Fn(&[Resident]) -> Result<BTreeSet<PageKey>, Unusable> + 'a;

/// A request for pages.
pub struct Request<'a> {
    /// The agent; empty for the user.
    pub agent: &'a str,
    /// The pages, each once.
    pub wanted: &'a [Wanted],
    /// See [`Resident::priority`].
    pub priority: i64,
    /// The maximum tokens of the agent's resident set.
    pub budget: u64,
    /// A lock on all of them.
    pub lock: Option<NewLock<'a>>,
    /// The time.
    pub now: i64,
    /// Returns those of the resident pages that never leave, since their scope is pinned; asked only if pages
    /// have to leave, and outside of a transaction.
    pub pinned: &'a Pinned<'a>,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// All pages are resident now.
    Loaded {
        /// Those that were resident already.
        hits: Vec<PageKey>,
        /// Those that were loaded.
        faults: Vec<PageKey>,
        /// Those that left.
        evicted: Vec<PageKey>,
        /// The tokens of the resident set.
        used_tokens: u64,
    },
    /// They do not fit, and nothing has changed.
    DoesNotFit {
        /// The tokens of the requested pages.
        wanted_tokens: u64,
        /// The resident pages that cannot leave, the largest first.
        held: Vec<Held>,
    },
    /// The content of a page that was resident is needed: it has left meanwhile. Nothing has changed.
    Gone(Vec<PageKey>),
}

/// A resident page that cannot leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The page.
    pub id: PageKey,
    /// Its tokens.
    pub tokens: u64,
    /// What holds it.
    pub by: Holding,
}

/// What holds a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// A lock of the agent.
    Lock(PageLock),
    /// Its scope is pinned.
    Pin,
}

/// What happened to the pages of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests of pages that were resident.
    pub hits: u64,
    /// Requests of pages that were not.
    pub faults: u64,
    /// Pages that left for others.
    pub evictions: u64,
}

/// Which resident pages are pinned, as far as that was asked.
#[derive(Default)]
struct Pins {
    known: BTreeSet<PageKey>,
    pinned: BTreeSet<PageKey>,
}

/// The result of one transaction.
enum Step {
    Done(Requested),
    /// Pages have to leave, and it is not known which of these may. Nothing has changed.
    LacksPins(Vec<Resident>),
}

impl State {
    /// Makes pages resident, and lets others leave where the budget requires it: those of the lowest priority
    /// first, of these the least recently used.
    ///
    /// Which pages are pinned is asked between two transactions: that may take long, and start programs.
    pub fn request(&mut self, request: &Request<'_>) -> Result<Requested, Unusable> {
        let mut pins = Pins::default();
        loop {
            match self.update(|connection| run(connection, request, &pins))? {
                Step::Done(requested) => return Ok(requested),
                Step::LacksPins(residents) => {
                    pins.pinned.extend((request.pinned)(&residents)?);
                    pins.known.extend(residents.iter().map(|page| page.id));
                }
            }
        }
    }

    /// Lists the resident pages of an agent in the order in which they were loaded: what stays longest is
    /// first, so that a prompt made of them keeps its beginning.
    pub fn residents(&mut self, agent: &str) -> Result<Vec<Resident>, Unusable> {
        self.read(|connection| residents(connection, agent))
    }

    /// Returns the counters of an agent, by scope.
    pub fn counters(&mut self, agent: &str) -> Result<BTreeMap<String, Counters>, Unusable> {
        self.read(|connection| {
            let sql = "SELECT scope, hits, faults, evictions FROM counters WHERE agent = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([agent], |row| {
                let counters = Counters {
                    hits: row.get::<_, i64>(1)?.unsigned_abs(),
                    faults: row.get::<_, i64>(2)?.unsigned_abs(),
                    evictions: row.get::<_, i64>(3)?.unsigned_abs(),
                };
                Ok((row.get(0)?, counters))
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

fn run(connection: &Connection, request: &Request<'_>, pins: &Pins) -> Result<Step, Unusable> {
    let residents = residents(connection, request.agent)?;
    let resident: BTreeMap<PageKey, &Resident> =
        residents.iter().map(|page| (page.id, page)).collect();
    let (hits, faults): (Vec<&Wanted>, Vec<&Wanted>) =
        request.wanted.iter().partition(|wanted| resident.contains_key(&wanted.id));
    let loaded = match load(connection, &faults)? {
        Ok(pages) => pages,
        Err(gone) => return Ok(Step::Done(Requested::Gone(gone))),
    };
    let added: u64 = loaded.iter().map(|page| page.tokens).sum();
    let held: u64 = residents.iter().map(|page| page.tokens).sum();
    let mut used_tokens = held.saturating_add(added);
    let mut evicted = Vec::new();
    if used_tokens > request.budget {
        if residents.iter().any(|page| !pins.known.contains(&page.id)) {
            return Ok(Step::LacksPins(residents));
        }
        let excess = used_tokens - request.budget;
        match leaving(connection, request, &residents, pins, excess)? {
            Ok(pages) => evicted = pages,
            Err(held) => {
                let hits = hits.iter().filter_map(|hit| resident.get(&hit.id));
                let wanted_tokens = added + hits.map(|page| page.tokens).sum::<u64>();
                return Ok(Step::Done(Requested::DoesNotFit { wanted_tokens, held }));
            }
        }
        used_tokens -= evicted.iter().map(|page| page.tokens).sum::<u64>();
    }
    apply(connection, request, &loaded, &evicted)?;
    let of_hits = hits.iter().filter_map(|hit| resident.get(&hit.id));
    let scopes = of_hits.map(|page| page.scope.as_str());
    count(connection, request.agent, scopes, "hits")?;
    Ok(Step::Done(Requested::Loaded {
        hits: hits.iter().map(|page| page.id).collect(),
        faults: faults.iter().map(|page| page.id).collect(),
        evicted: evicted.iter().map(|page| page.id).collect(),
        used_tokens,
    }))
}

/// Returns the content of the pages to be loaded, or the ids of those that nobody has any more.
fn load(
    connection: &Connection,
    faults: &[&Wanted],
) -> Result<Result<Vec<StoredPage>, Vec<PageKey>>, Unusable> {
    let (mut pages, mut gone) = (Vec::new(), Vec::new());
    for wanted in faults {
        let page = match &wanted.page {
            Some(page) => Some(page.clone()),
            None => stored_pages::find(connection, wanted.id)?,
        };
        match page {
            Some(page) => pages.push(page),
            None => gone.push(wanted.id),
        }
    }
    Ok(if gone.is_empty() { Ok(pages) } else { Err(gone) })
}

/// Chooses the pages that leave, or returns those that cannot where too few can.
fn leaving(
    connection: &Connection,
    request: &Request<'_>,
    residents: &[Resident],
    pins: &Pins,
    excess: u64,
) -> Result<Result<Vec<Resident>, Vec<Held>>, Unusable> {
    let wanted: BTreeSet<PageKey> = request.wanted.iter().map(|page| page.id).collect();
    let locks = page_locks::of_owner(connection, request.agent, request.now)?;
    let (mut free, mut held) = (Vec::new(), Vec::new());
    for page in residents.iter().filter(|page| !wanted.contains(&page.id)) {
        let lock = locks.iter().find(|lock| lock.page == page.id);
        let by = match lock {
            Some(lock) => Some(Holding::Lock(lock.clone())),
            None => pins.pinned.contains(&page.id).then_some(Holding::Pin),
        };
        let (id, tokens) = (page.id, page.tokens);
        match by {
            Some(by) => held.push(Held { id, tokens, by }),
            None => free.push(page),
        }
    }
    free.sort_by_key(|page| (page.priority, page.used, page.id));
    let mut freed = 0;
    let mut leaving = Vec::new();
    for page in free {
        if freed >= excess {
            break;
        }
        freed += page.tokens;
        leaving.push(page.clone());
    }
    if freed >= excess {
        return Ok(Ok(leaving));
    }
    held.sort_by_key(|page| (std::cmp::Reverse(page.tokens), page.id));
    Ok(Err(held))
}

fn apply(
    connection: &Connection,
    request: &Request<'_>,
    loaded: &[StoredPage],
    evicted: &[Resident],
) -> Result<(), Unusable> {
    let agent = request.agent;
    for page in evicted {
        let sql = "DELETE FROM residents WHERE agent = ?1 AND page = ?2";
        connection.prepare_cached(sql)?.execute(params![agent, page.id.as_slice()])?;
    }
    for page in loaded {
        stored_pages::keep(connection, page)?;
    }
    let left = evicted.iter().map(|page| page.scope.as_str());
    count(connection, agent, left, "evictions")?;
    let came = loaded.iter().map(|page| page.scope.as_str());
    count(connection, agent, came, "faults")?;
    let sql = "SELECT coalesce(max(used), 0) FROM residents";
    let mut turn: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    for wanted in request.wanted {
        turn += 1;
        let sql = "INSERT INTO residents (agent, page, priority, loaded, used, loaded_at, used_at)
            VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?5)
            ON CONFLICT DO UPDATE SET priority = ?3, used = ?4, used_at = ?5";
        let values = params![agent, wanted.id.as_slice(), request.priority, turn, request.now];
        connection.prepare_cached(sql)?.execute(values)?;
        if let Some(lock) = request.lock {
            page_locks::take(connection, agent, wanted.id, lock, request.now)?;
        }
    }
    page_locks::sweep(connection, request.now)?;
    if !evicted.is_empty() {
        drop_unused(connection)?;
    }
    Ok(())
}

fn residents(connection: &Connection, agent: &str) -> Result<Vec<Resident>, Unusable> {
    let sql = "SELECT page, scope, tokens, priority, loaded, used, loaded_at, used_at
        FROM residents JOIN pages ON pages.id = page WHERE agent = ?1 ORDER BY loaded, page";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([agent], |row| {
        Ok(Resident {
            id: row.get(0)?,
            scope: row.get(1)?,
            tokens: row.get::<_, i64>(2)?.unsigned_abs(),
            priority: row.get(3)?,
            loaded: row.get(4)?,
            used: row.get(5)?,
            loaded_at: row.get(6)?,
            used_at: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Adds to a counter of an agent: one for each page of a scope.
fn count<'a>(
    connection: &Connection,
    agent: &str,
    scopes: impl Iterator<Item = &'a str>,
    column: &'static str,
) -> Result<(), Unusable> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for scope in scopes {
        *counts.entry(scope).or_default() += 1;
    }
    for (scope, pages) in counts {
        let values = ["hits", "faults", "evictions"]
            .map(|counter| if counter == column { "?3" } else { "0" });
        let sql = format!(
            "INSERT INTO counters (agent, scope, hits, faults, evictions) VALUES (?1, ?2, {})
                ON CONFLICT DO UPDATE SET {column} = {column} + ?3",
            values.join(", ")
        );
        connection.prepare_cached(&sql)?.execute(params![agent, scope, pages])?;
    }
    Ok(())
}
