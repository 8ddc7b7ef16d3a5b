//! The sizes of scopes, and what the state of the colony says of their pages.

use schemars::JsonSchema;
use serde::Serialize;

use super::no_pages::NoPages;
use super::{Freshness, Opened, delete_damaged, open};
use crate::flow::residency::{PageState, ResidencyStats};
use crate::model::Result;
use crate::page::listing::unusable;
use crate::page::mapping::read_pages;
use crate::store::Session;
use crate::store::cache::page_table::{PageTable, ScopeRow};

/// The size of a scope.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ScopeStats {
    /// The scope; empty for the sum over all of them.
    pub scope_id: String,
    /// The commit that was mapped; empty for the sum.
    pub commit: String,
    /// The number of pages.
    pub pages: u64,
    /// The number of records.
    pub records: u64,
    /// The number of tokens, the sum over the records.
    pub tokens: u64,
    /// The bytes of the files that the records cover.
    pub bytes: u64,
    /// Whether the branch, or the working tree, has changed since it was mapped.
    pub stale: bool,
    /// What the state of the colony says of its pages; null if that cannot be read.
    pub stats: Option<ResidencyStats>,
}

/// The sizes of scopes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageStatsReport {
    /// Each scope.
    pub scopes: Vec<ScopeStats>,
    /// Their sum.
    pub total: ScopeStats,
    /// What the state of the colony says of all pages; null if that cannot be read.
    pub stats: Option<ResidencyStats>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Why there is no page; null if there is one.
    pub nothing: Option<NoPages>,
}

/// Counts pages.
///
/// # Errors
/// `cache-unusable`.
pub fn stats(session: &Session) -> Result<PageStatsReport> {
    let (opened, mut scopes) = sizes(session)?;
    let state = PageState::of(session);
    for (row, scope) in opened.scopes.iter().zip(&mut scopes) {
        let held = Held::of(&opened.table, row)?;
        scope.bytes = held.bytes;
        scope.stats = state.stats(&scope.scope_id, &held.pages);
    }
    let total = scopes.iter().fold(ScopeStats::default(), sum);
    Ok(PageStatsReport {
        nothing: (total.pages == 0).then(|| NoPages::of(session, &opened.scopes)),
        stats: state
            .problem
            .is_none()
            .then(|| total.stats.unwrap_or_default()),
        problem: state.problem,
        scopes,
        total,
    })
}

/// Returns the totals of the scopes, which need no page to be read: without bytes, and without the state.
///
/// # Errors
/// `cache-unusable`.
pub(super) fn sizes(session: &Session) -> Result<(Opened, Vec<ScopeStats>)> {
    let opened = delete_damaged(session, open(session, None))?;
    delete_damaged(session, opened.adds_up())?;
    let freshness = Freshness::of(session);
    let one = |scope: &ScopeRow| ScopeStats {
        scope_id: scope.scope.clone(),
        commit: scope.revision.clone(),
        pages: scope.totals.pages,
        records: scope.totals.records,
        tokens: scope.totals.tokens,
        stale: freshness.is_stale(scope),
        ..ScopeStats::default()
    };
    let scopes = opened.scopes.iter().map(one).collect();
    Ok((opened, scopes))
}

fn sum(total: ScopeStats, scope: &ScopeStats) -> ScopeStats {
    let mut stats = total.stats.unwrap_or_default();
    stats += scope.stats.unwrap_or_default();
    ScopeStats {
        pages: total.pages + scope.pages,
        records: total.records + scope.records,
        tokens: total.tokens + scope.tokens,
        bytes: total.bytes + scope.bytes,
        stale: total.stale || scope.stale,
        stats: scope.stats.map(|_| stats),
        ..total
    }
}

/// The pages of a scope.
#[derive(Default)]
struct Held {
    pages: Vec<[u8; 16]>,
    bytes: u64,
}

impl Held {
    fn of(table: &PageTable, scope: &ScopeRow) -> Result<Held> {
        let (mut held, mut damage) = (Held::default(), None);
        let read = table.each_directory(scope, |row| {
            match read_pages(&row) {
                Ok(pages) => {
                    let records = pages.iter().flat_map(|page| &page.records);
                    held.bytes += records.map(|record| record.end - record.start).sum::<u64>();
                    held.pages.extend(pages.iter().map(|page| page.id.0));
                }
                Err(error) => damage = Some(error),
            }
            damage.is_none()
        });
        read.map_err(unusable)?;
        damage.map_or(Ok(held), Err)
    }
}
