//! `map diff`: compares the pages of two revisions of a map.
//!
//! Both are mapped in memory, whatever is mapped here; nothing is fetched and nothing written
//! except the user's cache.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use super::map_rows::{self, Request};
use super::mapping::{self, How, row_place};
use crate::flow::pages::page_labels;
use crate::git::Oid;
use crate::map::resolved::ResolvedRow;
use crate::map::show::MapState;
use crate::model::{Code, Result};
use crate::page::listing::{PageEntry, unusable};
use crate::page::mapping::read_pages;
use crate::page::pages::{Page, PageId};
use crate::store::Session;
use crate::store::cache::page_table::PageTable;
use crate::store::cache::user_cache::{UserCache, UserCacheKind};

/// The differences between two revisions of a map.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapDiffReport {
    /// The first commit.
    pub commit_a: Oid,
    /// The second commit.
    pub commit_b: Oid,
    /// Pages that only the second has, in the order of scopes and paths.
    pub pages_added: Vec<PageEntry>,
    /// Pages that only the first has, in the same order.
    pub pages_removed: Vec<PageEntry>,
    /// The number of pages that both have.
    pub pages_kept: usize,
    /// Rows that could not be mapped: their scopes are not compared.
    pub failed: Vec<FailedRow>,
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
    scopes: BTreeMap<String, Mapped>,
    failed: Vec<FailedRow>,
}

/// The result for one row.
struct Mapped {
    place: Option<PathBuf>,
    commit: Oid,
    pages: Vec<Page>,
}

/// Compares two revisions of the map and of its sources.
///
/// # Errors
/// `revision-not-found`, `map-invalid`, `manifest-invalid`, `interrupted`, `cache-unusable`.
pub fn diff(session: &Session, a: &str, b: &str) -> Result<MapDiffReport> {
    let mut cuts = UserCache::open(&session.world, UserCacheKind::Cuts);
    let (mut a, mut b) = (side(session, a, &mut cuts)?, side(session, b, &mut cuts)?);
    let mut failed = std::mem::take(&mut a.failed);
    failed.append(&mut b.failed);
    for row in &failed {
        a.scopes.remove(&row.scope_id);
        b.scopes.remove(&row.scope_id);
    }
    let (only_a, only_b) = (a.beyond(session, &b)?, b.beyond(session, &a)?);
    let all: usize = b.scopes.values().map(|mapped| mapped.pages.len()).sum();
    Ok(MapDiffReport {
        commit_a: a.commit,
        commit_b: b.commit,
        pages_kept: all - only_b.len(),
        pages_added: only_b,
        pages_removed: only_a,
        failed,
    })
}

fn side(session: &Session, revision: &str, cuts: &mut UserCache) -> Result<Side> {
    let request = Request::offline(MapState::Revision(revision.to_owned()));
    let rows = map_rows::resolve(session, &request)?;
    let how = How::offline(session);
    let mut side = Side {
        commit: rows.commit,
        scopes: BTreeMap::new(),
        failed: Vec::new(),
    };
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

fn pages(how: How<'_>, row: &ResolvedRow, cuts: &mut UserCache) -> Result<Mapped> {
    let table = PageTable::in_memory().map_err(unusable)?;
    let outcome = mapping::with_job(how, row, |job| {
        crate::page::mapping::map(job, &table, None, cuts)
    })?;
    let mut rows = outcome.changes.packed;
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    let mut pages = Vec::new();
    for row in &rows {
        pages.extend(read_pages(row)?);
    }
    Ok(Mapped {
        place: row_place(row).map(Path::to_owned),
        commit: row.commit,
        pages,
    })
}

impl Side {
    /// Returns the pages that the other side does not have.
    fn beyond(&self, session: &Session, other: &Side) -> Result<Vec<PageEntry>> {
        let theirs = other.scopes.values().flat_map(|mapped| &mapped.pages);
        let known: BTreeSet<PageId> = theirs.map(|page| page.id).collect();
        let mut beyond = Vec::new();
        for (scope, mapped) in &self.scopes {
            let mut new: Vec<_> = mapped
                .pages
                .iter()
                .filter(|page| !known.contains(&page.id))
                .map(|page| PageEntry::of(scope, page))
                .collect();
            let records = new.iter_mut().flat_map(|page| &mut page.records);
            page_labels::label(
                session,
                mapped.place.as_deref(),
                Some(mapped.commit),
                records,
            )?;
            beyond.append(&mut new);
        }
        Ok(beyond)
    }
}
