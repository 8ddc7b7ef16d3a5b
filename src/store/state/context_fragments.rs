//! The tiers of the projects of a checkout: fragments of files, for each agent.
//!
//! A fragment names a file and its content; the text stays where it is, in the working tree or in git. Its tier is not
//! stored, but follows from the order of use (`tier_view`).

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row, params};

use crate::model::RepoPath;
use crate::store::cache::database::Unusable;

use super::State;
use super::tier_view::{Fragment, FragmentName, NewFragment, Tier, TierLine, TierView};

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

impl State {
    /// Lists the fragments in the tiers of a project from the first tier to `last`, by name; without one also those for
    /// which no tier has room.
    pub fn fragments(
        &mut self,
        owner: TierOwner<'_>,
        last: Option<Tier>,
        view: TierView,
    ) -> Result<Vec<Fragment>, Unusable> {
        self.read(|connection| fragments(connection, owner, last, view))
    }

    /// Makes the fragments of a project those of the files that were found, the best first: new content counts as used
    /// now, and all others are deleted. Returns all as they are then, by name, and the number of those with new content.
    pub fn hydrate_tiers(
        &mut self,
        owner: TierOwner<'_>,
        files: &[NewFragment],
        view: TierView,
    ) -> Result<(Vec<Fragment>, usize), Unusable> {
        self.update(|connection| {
            let mut turn = last_turn(connection, owner)?;
            forget(connection, owner, view)?;
            let known = fragments(connection, owner, None, view)?;
            let found: BTreeSet<&FragmentName> = files.iter().map(|file| &file.name).collect();
            let gone = known
                .iter()
                .map(|fragment| &fragment.file.name)
                .filter(|name| !found.contains(name));
            delete(connection, owner, gone)?;
            let known: BTreeMap<_, _> =
                known.iter().map(|fragment| (&fragment.file.name, fragment)).collect();
            let mut changed = 0;
            // The best is used last.
            for file in files.iter().rev() {
                let before = known.get(&file.name);
                if before.is_some_and(|before| before.file.hash == file.hash) {
                    continue;
                }
                turn += 1;
                changed += 1;
                let accesses = before.map_or(0, |before| before.accesses);
                let fragment =
                    Fragment { file: file.clone(), tier: None, used_at: view.now, accesses };
                put(connection, owner, &fragment, turn)?;
            }
            // Read here: a dry run takes all back.
            Ok((fragments(connection, owner, None, view)?, changed))
        })
    }

    /// Counts an access of fragments, in this order: the last is used last.
    pub fn use_fragments(
        &mut self,
        owner: TierOwner<'_>,
        names: &[FragmentName],
        now: i64,
    ) -> Result<(), Unusable> {
        self.update(|connection| {
            let first = last_turn(connection, owner)? + 1;
            let sql = "UPDATE context_fragments
                SET used = ?6, used_at = ?7, accesses = accesses + 1
                WHERE repository = ?1 AND agent = ?2 AND project = ?3
                AND resource = ?4 AND path = ?5";
            let mut statement = connection.prepare_cached(sql)?;
            let [repository, agent, project] = key(owner);
            for (turn, name) in (first..).zip(names) {
                let path = name.path.as_bytes();
                let values = params![repository, agent, project, name.resource, path, turn, now];
                statement.execute(values)?;
            }
            Ok(())
        })
    }

    /// Deletes the fragments that nothing has used for so long that they are in no tier; returns their number.
    pub fn forget_fragments(
        &mut self,
        owner: TierOwner<'_>,
        view: TierView,
    ) -> Result<usize, Unusable> {
        self.update(|connection| forget(connection, owner, view))
    }

    /// Lists the projects of a checkout and agent that have fragments.
    pub fn hydrated_projects(
        &mut self,
        repository: &str,
        agent: &str,
    ) -> Result<Vec<String>, Unusable> {
        self.read(|connection| {
            let sql = "SELECT DISTINCT project FROM context_fragments
                WHERE repository = ?1 AND agent = ?2 ORDER BY project";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([repository, agent], |row| row.get(0))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Deletes the fragments of a project; returns their number.
    pub fn flush_tiers(&mut self, owner: TierOwner<'_>) -> Result<usize, Unusable> {
        self.update(|connection| {
            let sql = "DELETE FROM readings WHERE repository = ?1 AND project = ?2";
            connection.execute(sql, [owner.repository, owner.project])?;
            let sql = "DELETE FROM context_fragments
                WHERE repository = ?1 AND agent = ?2 AND project = ?3";
            Ok(connection.execute(sql, key(owner))?)
        })
    }
}

fn key(owner: TierOwner<'_>) -> [&str; 3] {
    [owner.repository, owner.agent, owner.project]
}

/// Returns the number of the last use in a project.
fn last_turn(connection: &Connection, owner: TierOwner<'_>) -> Result<i64, Unusable> {
    let sql = "SELECT max(used) FROM context_fragments
        WHERE repository = ?1 AND agent = ?2 AND project = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let last: Option<i64> = statement.query_row(key(owner), |row| row.get(0))?;
    Ok(last.unwrap_or_default())
}

/// Reads no more than can be in the tiers that are wanted: those without one may be many more.
fn fragments(
    connection: &Connection,
    owner: TierOwner<'_>,
    last: Option<Tier>,
    view: TierView,
) -> Result<Vec<Fragment>, Unusable> {
    let sql = "SELECT resource, path, hash, tokens, bytes, used_at, accesses
        FROM context_fragments INDEXED BY fragments_by_use
        WHERE repository = ?1 AND agent = ?2 AND project = ?3 ORDER BY used DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(key(owner))?;
    let mut line = TierLine::new(view);
    let mut fragments = Vec::new();
    while let Some(row) = rows.next()? {
        let mut fragment = fragment(row)?;
        if fragment.used_at <= view.oldest() {
            continue;
        }
        fragment.tier = line.next(fragment.file.tokens, fragment.used_at);
        if last.is_none_or(|last| fragment.tier.is_some_and(|tier| tier <= last)) {
            fragments.push(fragment);
        }
        if last.is_some_and(|last| line.is_full(last)) {
            break;
        }
    }
    fragments.sort_by(|fragment, other| fragment.file.name.cmp(&other.file.name));
    Ok(fragments)
}

fn fragment(row: &Row<'_>) -> rusqlite::Result<Fragment> {
    let number = |at| row.get::<_, i64>(at).map(i64::unsigned_abs);
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
        tier: None,
        used_at: row.get(5)?,
        accesses: number(6)?,
    })
}

fn forget(
    connection: &Connection,
    owner: TierOwner<'_>,
    view: TierView,
) -> Result<usize, Unusable> {
    let sql = "DELETE FROM context_fragments
        WHERE repository = ?1 AND agent = ?2 AND project = ?3 AND used_at <= ?4";
    let [repository, agent, project] = key(owner);
    Ok(connection.execute(sql, params![repository, agent, project, view.oldest()])?)
}

fn delete<'a>(
    connection: &Connection,
    owner: TierOwner<'_>,
    names: impl Iterator<Item = &'a FragmentName>,
) -> Result<(), Unusable> {
    let sql = "DELETE FROM context_fragments WHERE repository = ?1 AND agent = ?2 AND project = ?3
        AND resource = ?4 AND path = ?5";
    let mut statement = connection.prepare_cached(sql)?;
    let [repository, agent, project] = key(owner);
    for name in names {
        let path = name.path.as_bytes();
        statement.execute(params![repository, agent, project, name.resource, path])?;
    }
    Ok(())
}

fn put(
    connection: &Connection,
    owner: TierOwner<'_>,
    fragment: &Fragment,
    turn: i64,
) -> Result<(), Unusable> {
    let [repository, agent, project] = key(owner);
    let sql = "INSERT OR REPLACE INTO context_fragments
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    connection.prepare_cached(sql)?.execute(params![
        repository,
        agent,
        project,
        fragment.file.name.resource,
        fragment.file.name.path.as_bytes(),
        fragment.file.hash,
        signed(fragment.file.tokens),
        signed(fragment.file.bytes),
        turn,
        fragment.used_at,
        signed(fragment.accesses),
    ])?;
    Ok(())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
