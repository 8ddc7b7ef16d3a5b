//! `map diff`: compares the pages of two revisions of a map.
//!
//! Both are mapped in memory, whatever is mapped here; nothing is fetched and nothing written
//! except the user's cache.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::map::pages::page_labels;
use crate::map_rows::reading::row_place;
use crate::map_rows::{self, Request};
use crate::model::{Code, Result};
use crate::page::listing::{PageEntry, unusable};
use crate::page::mapping::read_pages;
use crate::page::pages::Page;
use crate::page::pairing;
use crate::page::part_numbers::PartNumbers;
use crate::repo_map::resolved::ResolvedRow;
use crate::repo_map::row_changes::{self, RowChange};
use crate::repo_map::schema::RepoMap;
use crate::repo_map::show::MapState;
use crate::store::Session;
use crate::store::cache::page_table::PageTable;
use crate::store::cache::user_cache::{UserCache, UserCacheKind};

use super::mapping::{self, MapOptions};

/// The differences between two revisions of a map.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapDiffReport {
    /// The first commit.
    pub commit_a: Oid,
    /// The second commit.
    pub commit_b: Oid,
    /// Pages of the first that the second has with other content: those of the same files, in the
    /// order of scopes and paths.
    pub pages_changed: Vec<PageChange>,
    /// Other pages that only the second has, in the same order.
    pub pages_added: Vec<PageEntry>,
    /// Other pages that only the first has, in the same order.
    pub pages_removed: Vec<PageEntry>,
    /// The number of pages that both have.
    pub pages_kept: usize,
    /// Rows of the map that differ: each commit is mapped by its own map, so their pages may differ
    /// where no file does.
    pub map_changes: Vec<RowChange>,
    /// Rows that could not be mapped: their scopes are not compared.
    pub failed: Vec<FailedRow>,
}

/// A page with other content.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageChange {
    /// The page of the first commit.
    pub before: PageEntry,
    /// The page of the second commit.
    pub after: PageEntry,
}

/// A row that could not be mapped.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct FailedRow {
    /// The scope.
    pub scope_id: String,
    /// The name of the row.
    pub name: String,
    /// The commit.
    pub commit: Oid,
    /// The code of the error.
    pub code: String,
    /// The reason.
    pub message: String,
}

/// The pages of a revision, by scope.
struct Side {
    commit: Oid,
    map: RepoMap,
    scopes: BTreeMap<String, Mapped>,
    failed: Vec<FailedRow>,
}

/// The result for one row.
#[derive(Default)]
struct Mapped {
    place: Option<PathBuf>,
    commit: Option<Oid>,
    pages: Vec<Page>,
}

/// Compares two revisions of the map and of its sources.
pub fn diff(session: &Session, a: &str, b: &str) -> Result<MapDiffReport> {
    let mut cuts = UserCache::open(&session.world, UserCacheKind::Cuts);
    let (mut a, mut b) = (side(session, a, &mut cuts)?, side(session, b, &mut cuts)?);
    let mut failed = std::mem::take(&mut a.failed);
    failed.append(&mut b.failed);
    for row in &failed {
        a.scopes.remove(&row.scope_id);
        b.scopes.remove(&row.scope_id);
    }
    let mut report = MapDiffReport {
        commit_a: a.commit,
        commit_b: b.commit,
        pages_changed: Vec::new(),
        pages_added: Vec::new(),
        pages_removed: Vec::new(),
        pages_kept: 0,
        map_changes: row_changes::compare(&a.map, &b.map),
        failed,
    };
    let scopes: BTreeSet<String> = a.scopes.keys().chain(b.scopes.keys()).cloned().collect();
    for scope in scopes {
        let take = |side: &mut Side| side.scopes.remove(&scope).unwrap_or_default();
        report.add(session, &scope, (&take(&mut a), &take(&mut b)))?;
    }
    Ok(report)
}

fn side(session: &Session, revision: &str, cuts: &mut UserCache) -> Result<Side> {
    let request = Request::offline(MapState::Revision(revision.to_owned()));
    let rows = map_rows::resolve(session, &request)?;
    let how = MapOptions::offline(session);
    let mut side =
        Side { commit: rows.commit, map: rows.map, scopes: BTreeMap::new(), failed: Vec::new() };
    for outcome in rows.outcomes {
        let pages = outcome.resolved.and_then(|row| pages(how, &row, cuts));
        match pages {
            Err(error) if error.code() == Code::Interrupted => return Err(error),
            Err(error) => side.failed.push(FailedRow {
                name: outcome.row.name,
                scope_id: outcome.scope_id,
                commit: rows.commit,
                code: error.code().as_str().to_owned(),
                message: error.message(),
            }),
            Ok(pages) => drop(side.scopes.insert(outcome.scope_id, pages)),
        }
    }
    Ok(side)
}

fn pages(how: MapOptions<'_>, row: &ResolvedRow, cuts: &mut UserCache) -> Result<Mapped> {
    let table = PageTable::in_memory().map_err(unusable)?;
    let outcome =
        mapping::with_job(how, row, |job| crate::page::mapping::map(job, &table, None, cuts))?;
    let mut rows = outcome.changes.packed;
    rows.sort_by(|row, other| row.path.cmp(&other.path));
    let mut pages = Vec::new();
    for row in &rows {
        pages.extend(read_pages(row)?);
    }
    Ok(Mapped { place: row_place(row).map(Path::to_owned), commit: Some(row.commit), pages })
}

impl MapDiffReport {
    /// Adds the differences between two states of a scope.
    fn add(
        &mut self,
        session: &Session,
        scope: &str,
        (before, after): (&Mapped, &Mapped),
    ) -> Result<()> {
        let compared = pairing::compare(&before.pages, &after.pages);
        self.pages_kept += after.pages.len() - compared.changed.len() - compared.added.len();
        let old = compared.changed.iter().map(|pair| pair.before);
        let new = compared.changed.iter().map(|pair| pair.after);
        let old = before.describe(session, scope, old)?;
        let new = after.describe(session, scope, new)?;
        let pairs = old.into_iter().zip(new);
        let changes = pairs.map(|(before, after)| PageChange { before, after });
        self.pages_changed.extend(changes);
        let added = after.describe(session, scope, compared.added.into_iter())?;
        self.pages_added.extend(added);
        let removed = before.describe(session, scope, compared.removed.into_iter())?;
        self.pages_removed.extend(removed);
        Ok(())
    }
}

impl Mapped {
    /// Describes some of the pages, with the numbers of parts and the labels of files.
    fn describe<'a>(
        &self,
        session: &Session,
        scope: &str,
        pages: impl Iterator<Item = &'a Page>,
    ) -> Result<Vec<PageEntry>> {
        let numbers = PartNumbers::of(&self.pages);
        let describe = |page| numbers.describe(scope, page);
        let mut entries: Vec<PageEntry> = pages.map(describe).collect();
        let records = entries.iter_mut().flat_map(|page| &mut page.records);
        page_labels::label(session, self.place.as_deref(), self.commit, records)?;
        Ok(entries)
    }
}
