//! The tiers of the projects of a checkout: fragments of files, for each agent.
//!
//! A fragment names a file and its content; the text stays where it is, in the working tree or in git.

use rusqlite::{Connection, Row, params};

use crate::model::RepoPath;
use crate::store::cache::database::Unusable;

use super::State;
use super::tier_set::{
    Fragment, FragmentName, NewFragment, Tier, TierChanges, TierLimits, TierSet, TierTotals,
    are_at_rest,
};

/// Whose tiers they are.
#[derive(Clone, Copy, Debug)]
pub struct TierOwner<'a> {
    /// The id of the checkout.
    pub repository: &'a str,
    /// The agent; empty for the user.
    pub agent: &'a str,
    /// The project.
    pub project: &'a str,
}

/// What happened in the tiers of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierCounters {
    /// Accesses of fragments.
    pub hits: u64,
    /// Moves to a higher tier.
    pub promotions: u64,
    /// Moves to a lower tier.
    pub demotions: u64,
    /// Fragments that left the last tier, or whose file is gone.
    pub evictions: u64,
}

/// A step in the tiers of a project.
#[derive(Clone, Copy, Debug)]
pub enum TierStep<'a> {
    /// The fragments become those of the files that were found, the best first.
    Hydrate(&'a [NewFragment]),
    /// Fragments are used.
    Access(&'a [FragmentName]),
    /// Only time has passed.
    Age,
}

impl State {
    /// Does a step in the tiers of a project: first what time alone has changed, and then the limits of the tiers. An
    /// access returns at least the fragments that it names and those that moved, the other steps all.
    pub fn tier_step(
        &mut self,
        owner: TierOwner<'_>,
        step: TierStep<'_>,
        limits: TierLimits,
        now: i64,
    ) -> Result<(Vec<Fragment>, TierChanges), Unusable> {
        self.update(|connection| {
            let (loaded, turn) = match step {
                TierStep::Access(names) => of_access(connection, owner, names, limits, now)?,
                TierStep::Hydrate(_) | TierStep::Age => {
                    let loaded = fragments(connection, owner, FragmentChoice::All)?;
                    let turn = loaded.iter().map(|it| it.used).max();
                    (loaded, turn.unwrap_or_default())
                }
            };
            let before = TierSet::new(loaded, turn);
            let mut after = before.clone();
            after.age(now);
            let mut hits = 0;
            match step {
                TierStep::Hydrate(fragments) => after.hydrate(fragments, now),
                TierStep::Access(names) => hits = after.access(names, now),
                TierStep::Age => {}
            }
            after.settle(limits, now);
            let changes = after.changes_since(&before);
            write(connection, owner, &before, &after)?;
            count(connection, owner, hits, &changes)?;
            let all = after.fragments().filter(|it| it.tier.is_some());
            Ok((all.cloned().collect(), changes))
        })
    }

    /// Lists the fragments of a project, by name, as they were left, also those that are in no tier.
    pub fn fragments(&mut self, owner: TierOwner<'_>) -> Result<Vec<Fragment>, Unusable> {
        self.read(|connection| fragments(connection, owner, FragmentChoice::All))
    }

    /// Lists the fragments in the tiers of a project as they are by now, from the first tier to `last`; nothing is
    /// written.
    pub fn aged_fragments(
        &mut self,
        owner: TierOwner<'_>,
        last: Tier,
        limits: TierLimits,
        now: i64,
    ) -> Result<Vec<Fragment>, Unusable> {
        let mut loaded =
            self.read(|connection| fragments(connection, owner, FragmentChoice::To(last)))?;
        // Time moves nothing up: those of lower tiers do not matter.
        if are_at_rest(&loaded, limits, now) {
            loaded.sort_by(|one, other| one.file.name.cmp(&other.file.name));
            return Ok(loaded);
        }
        let mut tiers = TierSet::new(loaded, 0);
        tiers.age(now);
        tiers.settle(limits, now);
        let all = tiers.into_fragments();
        Ok(all.filter(|it| it.tier.is_some_and(|tier| tier <= last)).collect())
    }

    /// Lists the projects of a checkout and agent that have fragments.
    pub fn hydrated_projects(
        &mut self,
        repository: &str,
        agent: &str,
    ) -> Result<Vec<String>, Unusable> {
        self.read(|connection| {
            let sql = "SELECT DISTINCT project FROM fragments
                WHERE repository = ?1 AND agent = ?2 ORDER BY project";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([repository, agent], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the counters of a project.
    pub fn tier_counters(&mut self, owner: TierOwner<'_>) -> Result<TierCounters, Unusable> {
        self.read(|connection| {
            let sql = "SELECT hits, promotions, demotions, evictions FROM tier_counters
                WHERE repository = ?1 AND agent = ?2 AND project = ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query(key(owner))?;
            let Some(row) = rows.next()? else {
                return Ok(TierCounters::default());
            };
            let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
            Ok(TierCounters {
                hits: number(0)?,
                promotions: number(1)?,
                demotions: number(2)?,
                evictions: number(3)?,
            })
        })
    }

    /// Deletes the fragments and counters of a project; returns the number of fragments that were in a tier.
    pub fn flush_tiers(&mut self, owner: TierOwner<'_>) -> Result<usize, Unusable> {
        self.update(|connection| {
            let all: usize = totals(connection, owner)?.iter().map(|it| it.count).sum();
            let sql = "DELETE FROM readings WHERE repository = ?1 AND project = ?2";
            connection.execute(sql, [owner.repository, owner.project])?;
            for table in ["fragments", "tier_counters"] {
                let sql = format!(
                    "DELETE FROM {table} WHERE repository = ?1 AND agent = ?2 AND project = ?3"
                );
                connection.execute(&sql, key(owner))?;
            }
            Ok(all)
        })
    }
}

fn key(owner: TierOwner<'_>) -> [&str; 3] {
    [owner.repository, owner.agent, owner.project]
}

/// The fragments to load: those without a tier may be many more than the others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FragmentChoice {
    All,
    /// Those from the first tier to this one.
    To(Tier),
}

const COLUMNS: &str = "resource, path, hash, tokens, bytes, tier, since, used, used_at, accesses";

fn fragments(
    connection: &Connection,
    owner: TierOwner<'_>,
    which: FragmentChoice,
) -> Result<Vec<Fragment>, Unusable> {
    let (from, last, order) = match which {
        FragmentChoice::All => ("fragments WHERE ?4 IS NULL", None, "ORDER BY resource, path"),
        FragmentChoice::To(last) => {
            ("fragments INDEXED BY fragments_in_tiers WHERE tier <= ?4", Some(last as u8), "")
        }
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM {from} AND repository = ?1 AND agent = ?2 AND project = ?3 {order}"
    );
    let [repository, agent, project] = key(owner);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params![repository, agent, project, last], fragment)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the fragments that an access can change, and the number of the last use of any in a tier. These are those
/// that it names, unless one of them, or time, moves others as well.
fn of_access(
    connection: &Connection,
    owner: TierOwner<'_>,
    names: &[FragmentName],
    limits: TierLimits,
    now: i64,
) -> Result<(Vec<Fragment>, i64), Unusable> {
    let totals = totals(connection, owner)?;
    let turn = totals.iter().map(|it| it.last_used).max().unwrap_or_default();
    if totals.iter().all(|it| it.is_at_rest(limits, now)) {
        let before = TierSet::new(named(connection, owner, names)?, turn);
        let mut after = before.clone();
        after.access(names, now);
        if after.changes_since(&before).promoted.is_empty() {
            return Ok((before.into_fragments().collect(), turn));
        }
    }
    // A fragment in no tier cannot be used.
    Ok((fragments(connection, owner, FragmentChoice::To(Tier::Cold))?, turn))
}

/// Returns the fragments of these names that are in a tier.
fn named(
    connection: &Connection,
    owner: TierOwner<'_>,
    names: &[FragmentName],
) -> Result<Vec<Fragment>, Unusable> {
    let sql = format!(
        "SELECT {COLUMNS} FROM fragments WHERE repository = ?1 AND agent = ?2 AND project = ?3
            AND resource = ?4 AND path = ?5 AND tier IS NOT NULL"
    );
    let [repository, agent, project] = key(owner);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut fragments = Vec::new();
    for name in names {
        let path = name.path.as_bytes();
        let wanted = params![repository, agent, project, name.resource, path];
        let rows = statement.query_map(wanted, fragment)?;
        fragments.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(fragments)
}

/// Sums up each tier that has fragments, without reading them.
fn totals(connection: &Connection, owner: TierOwner<'_>) -> Result<Vec<TierTotals>, Unusable> {
    let sql = "SELECT tier, count(*), sum(tokens), min(since), max(used) FROM fragments
        INDEXED BY fragments_in_tiers WHERE repository = ?1 AND agent = ?2 AND project = ?3
        AND tier IS NOT NULL GROUP BY tier";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(key(owner), |row| {
        let tier: u8 = row.get(0)?;
        let count: i64 = row.get(1)?;
        let tier = Tier::ALL.get(usize::from(tier)).copied();
        Ok(TierTotals {
            tier: tier.unwrap_or(Tier::Cold),
            count: usize::try_from(count).unwrap_or(usize::MAX),
            tokens: row.get::<_, i64>(2)?.unsigned_abs(),
            oldest: row.get(3)?,
            last_used: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn fragment(row: &Row<'_>) -> rusqlite::Result<Fragment> {
    let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
    let tier: Option<u8> = row.get(5)?;
    Ok(Fragment {
        file: NewFragment {
            name: FragmentName {
                resource: row.get(0)?,
                path: RepoPath::new(row.get::<_, Vec<u8>>(1)?),
            },
            hash: row.get(2)?,
            tokens: number(3)?,
            bytes: number(4)?,
        },
        tier: tier.and_then(|tier| Tier::ALL.get(usize::from(tier)).copied()),
        since: row.get(6)?,
        used: row.get(7)?,
        used_at: row.get(8)?,
        accesses: number(9)?,
    })
}

/// Writes what differs.
fn write(
    connection: &Connection,
    owner: TierOwner<'_>,
    before: &TierSet,
    after: &TierSet,
) -> Result<(), Unusable> {
    let known: std::collections::BTreeMap<_, _> =
        before.fragments().map(|it| (&it.file.name, it)).collect();
    let kept: std::collections::BTreeSet<_> = after.fragments().map(|it| &it.file.name).collect();
    let [repository, agent, project] = key(owner);
    let sql = "DELETE FROM fragments WHERE repository = ?1 AND agent = ?2 AND project = ?3
        AND resource = ?4 AND path = ?5";
    let mut delete = connection.prepare_cached(sql)?;
    for name in known.keys().filter(|name| !kept.contains(*name)) {
        let path = name.path.as_bytes();
        delete.execute(params![repository, agent, project, name.resource, path])?;
    }
    let sql = "INSERT OR REPLACE INTO fragments
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    let mut insert = connection.prepare_cached(sql)?;
    let is_new = |it: &&Fragment| known.get(&it.file.name) != Some(it);
    for it in after.fragments().filter(is_new) {
        let tier = it.tier.map(|tier| tier as u8);
        insert.execute(params![
            repository,
            agent,
            project,
            it.file.name.resource,
            it.file.name.path.as_bytes(),
            it.file.hash,
            signed(it.file.tokens),
            signed(it.file.bytes),
            tier,
            it.since,
            it.used,
            it.used_at,
            signed(it.accesses),
        ])?;
    }
    Ok(())
}

fn count(
    connection: &Connection,
    owner: TierOwner<'_>,
    hits: u64,
    changes: &TierChanges,
) -> Result<(), Unusable> {
    let [repository, agent, project] = key(owner);
    let length = |names: &[FragmentName]| signed(names.len() as u64);
    let sql = "INSERT INTO tier_counters VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT DO UPDATE SET hits = hits + ?4, promotions = promotions + ?5,
            demotions = demotions + ?6, evictions = evictions + ?7";
    connection.prepare_cached(sql)?.execute(params![
        repository,
        agent,
        project,
        signed(hits),
        length(&changes.promoted),
        length(&changes.demoted),
        length(&changes.evicted),
    ])?;
    Ok(())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
