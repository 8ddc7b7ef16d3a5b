//! The sizes of scopes, and what the state of the colony says of their pages.

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::residency::{PageState, ResidencyStats, Tally};
use crate::model::Result;
use crate::page::listing::unusable;
use crate::page::mapping::read_pages;
use crate::repo_map::scope_record;
use crate::store::Session;
use crate::store::cache::page_table::{PageTable, ScopeRow};

use super::no_pages::NoPages;
use super::wanted_scopes::retain_meant;
use super::{Freshness, Opened, again_if_damaged, open};

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
    /// The sum over those of commits.
    pub total: ScopeStats,
    /// The sum over those of the working tree, which have most pages of the commit, too; null if there are none.
    pub worktree_total: Option<ScopeStats>,
    /// What the state of the colony says of all pages, each counted once; without a scope of all resident pages. Null
    /// if that cannot be read.
    pub stats: Option<ResidencyStats>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Why there is no page; null if there is one.
    pub nothing: Option<NoPages>,
}

/// Counts the pages of a scope, or of all.
pub fn stats(session: &Session, wanted: Option<&str>) -> Result<PageStatsReport> {
    again_if_damaged(session, || stats_once(session, wanted))
}

fn stats_once(session: &Session, wanted: Option<&str>) -> Result<PageStatsReport> {
    let (opened, sizes) = sizes(session)?;
    let state = PageState::of(session);
    let stale = state.stale(session, &opened)?;
    let mut rows = opened.scopes.clone();
    if let Some(word) = wanted {
        retain_meant(session, &mut rows, word)?;
    }
    let mut all = wanted.map_or_else(|| state.tally_residents(&stale), |_| Tally::default());
    let (mut scopes, mut committed, mut private) = (Vec::new(), Sum::default(), Sum::default());
    let is_wanted = |scope: &ScopeStats| rows.iter().any(|row| row.scope == scope.scope_id);
    let sized = opened.scopes.iter().zip(sizes);
    for (row, scope) in sized.filter(|(_, scope)| is_wanted(scope)) {
        let held = Held::of(&opened.table, row)?;
        let tally = state.tally(&row.scope, &held.pages, &stale);
        let scope = ScopeStats {
            bytes: held.bytes,
            stats: state.problem.is_none().then(|| tally.stats()),
            ..scope
        };
        all.add(tally.clone());
        match scope_record::committed(&row.scope) {
            Some(_) => private.add(&scope, tally),
            None => committed.add(&scope, tally),
        }
        scopes.push(scope);
    }
    let problem = state.problem;
    let has_pages = scopes.iter().any(|scope| scope.pages > 0);
    Ok(PageStatsReport {
        nothing: (!has_pages).then(|| NoPages::of(session, &rows)),
        total: committed.total(problem.as_ref()),
        worktree_total: private.has_some.then(|| private.total(problem.as_ref())),
        stats: problem.is_none().then(|| all.stats()),
        problem,
        scopes,
    })
}

/// Returns the totals of the scopes, which need no page to be read: without bytes, and without the state.
pub(super) fn sizes(session: &Session) -> Result<(Opened, Vec<ScopeStats>)> {
    again_if_damaged(session, || sizes_once(session))
}

fn sizes_once(session: &Session) -> Result<(Opened, Vec<ScopeStats>)> {
    let opened = open(session, None)?;
    opened.adds_up()?;
    let freshness = Freshness::of(session);
    let stats_of = |scope: &ScopeRow| ScopeStats {
        scope_id: scope.scope.clone(),
        commit: scope.revision.clone(),
        pages: scope.totals.pages,
        records: scope.totals.records,
        tokens: scope.totals.tokens,
        stale: freshness.is_stale(scope),
        ..ScopeStats::default()
    };
    let scopes = opened.scopes.iter().map(stats_of).collect();
    Ok((opened, scopes))
}

/// The sum over scopes.
#[derive(Default)]
struct Sum {
    sizes: ScopeStats,
    tally: Tally,
    has_some: bool,
}

impl Sum {
    fn add(&mut self, scope: &ScopeStats, tally: Tally) {
        self.has_some = true;
        self.sizes.pages += scope.pages;
        self.sizes.records += scope.records;
        self.sizes.tokens += scope.tokens;
        self.sizes.bytes += scope.bytes;
        self.sizes.stale |= scope.stale;
        self.tally.add(tally);
    }

    /// Returns the sum; without what the state says if that cannot be read.
    fn total(self, problem: Option<&String>) -> ScopeStats {
        ScopeStats { stats: problem.is_none().then(|| self.tally.stats()), ..self.sizes }
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
