//! Answers questions about the pages of a worktree.

pub mod no_pages;
pub mod page_graph;
pub(crate) mod page_labels;
pub mod page_show;
pub mod page_stats;
pub mod scopes;
pub mod unmap;
mod wanted_scopes;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::uncommitted::WorktreeState;
use crate::git::{Oid, scratch};
use crate::map::{self, map_in_memory, map_worktree, mapping};
use crate::model::{Code, Error, Result};
use crate::page::listing::{self, Filter, PageEntry, Work, unusable};
use crate::page::pages::{Page, PageId};
use crate::repo_map::scope_record::{self, ScopeRecord};
use crate::repo_map::show;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{PageTable, ScopeRow};
use crate::store::files::places::Places;

use super::residency::PageState;
use no_pages::NoPages;
use wanted_scopes::{retain_meant, retain_source, retain_wanted};

/// The pages of scopes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PagesReport {
    /// The pages, in the order of scopes and paths.
    pub pages: Vec<PageEntry>,
    /// Their number.
    pub count: usize,
    /// The total number.
    pub total: usize,
    /// Whether the pages of the working tree were requested; else those of the commit, unless the
    /// scope was named.
    pub worktree: bool,
    /// Whether the branch, or the working tree, has changed since one of the scopes was mapped.
    pub stale: bool,
    /// Those scopes.
    pub stale_scopes: Vec<String>,
    /// Why there is no page; null if there is one.
    pub nothing: Option<NoPages>,
}

/// The page table of a worktree, opened for reading.
pub(crate) struct Opened {
    /// The table.
    pub(crate) table: PageTable,
    worktree: String,
    /// Its scopes, by name.
    pub(crate) scopes: Vec<ScopeRow>,
}

impl Opened {
    /// Finds a page of the scopes by its id or an abbreviation.
    pub(in crate::map) fn find(&self, id: &str) -> Result<(ScopeRow, Page)> {
        listing::find(&self.table, &self.scopes, id)
    }

    /// Returns `true` if one of the scopes has a page.
    pub(in crate::map) fn has(&self, scope: &ScopeRow, page: PageId) -> Result<bool> {
        let scope = std::slice::from_ref(scope);
        let pages = self.table.find_pages(scope, page.0, page.0);
        Ok(!pages.map_err(unusable)?.is_empty())
    }

    /// Compares the totals of the scopes with the rows of the table.
    fn adds_up(&self) -> Result<()> {
        for scope in &self.scopes {
            if !self.table.adds_up(scope).map_err(unusable)? {
                return Err(unusable(Unusable::because("its totals do not match its pages")));
            }
        }
        Ok(())
    }
}

/// Does some work with the pages; if their table is damaged, maps them again and does the work once more: they are
/// derived data.
pub(in crate::map) fn again_if_damaged<T>(
    session: &Session,
    work: impl Fn() -> Result<T>,
) -> Result<T> {
    let done = work();
    let is_damage = |error: &Error| error.code() == Code::CacheUnusable;
    // Where the table cannot be made again, the error says enough.
    if !done.as_ref().is_err_and(is_damage) || PageTable::recreate(session).is_err() {
        return done;
    }
    map_in_memory::kept_table(session, &worktree_key(session)?, None)?;
    work()
}

fn worktree_key(session: &Session) -> Result<String> {
    let places = Places::find(&session.repo)?;
    Ok(map::worktree_name(places.as_ref()))
}

fn table(session: &Session) -> std::result::Result<PageTable, Unusable> {
    if PageTable::exists(&session.repo) { PageTable::open(session) } else { PageTable::in_memory() }
}

/// Marks scopes of this worktree as stale, with those of their uncommitted files.
pub(crate) fn invalidate(session: &Session, scopes: &[String]) -> Result<()> {
    if !PageTable::exists(&session.repo) {
        return Ok(());
    }
    let worktree = worktree_key(session)?;
    let mut table = PageTable::open(session).map_err(unusable)?;
    for scope in scopes {
        for scope in [scope, &scope_record::of_worktree(scope)] {
            table.invalidate(&worktree, scope).map_err(unusable)?;
        }
    }
    Ok(())
}

/// Opens the page table for its stored pages; an unusable one counts as empty.
pub(crate) fn open_kept(session: &Session) -> Result<Opened> {
    let table = match table(session) {
        Err(why) if !why.is_busy() => PageTable::in_memory(),
        opened => opened,
    };
    let worktree = worktree_key(session)?;
    let table = table.map_err(unusable)?;
    let scopes = table.scopes(&worktree).map_err(unusable)?;
    Ok(Opened { table, worktree, scopes })
}

/// Does the same for scopes that are still recorded.
pub(in crate::map) fn open_mapped(session: &Session) -> Result<Opened> {
    let mut opened = open_kept(session)?;
    retain_recorded(session, &mut opened.scopes);
    Ok(opened)
}

/// Returns the scopes of commits that are mapped here, recorded or not: a question records none.
pub(crate) fn kept_scopes(session: &Session) -> Result<Vec<ScopeRow>> {
    let mut scopes = open_kept(session)?.scopes;
    scopes.retain(|scope| scope_record::committed(&scope.scope).is_none());
    Ok(scopes)
}

/// Leaves out scopes without a record: undo has undone their mapping, or another clone has unmapped them. Their
/// pages here wait for a redo, or are deleted by the next mapping.
fn retain_recorded(session: &Session, scopes: &mut Vec<ScopeRow>) {
    // Records that cannot be read do not prove that there is none.
    scopes::retain_recorded(&session.repo, scopes, |row| &row.scope).ok();
}

/// Opens the page table, for one recorded scope or all of them; if it is unusable, computes its content for
/// this command.
pub(in crate::map) fn open(session: &Session, wanted: Option<&str>) -> Result<Opened> {
    let worktree = worktree_key(session)?;
    let (table, is_kept) = match table(session) {
        Err(why) if !why.is_busy() => {
            mapping::warn_unusable(session, &why);
            (map_in_memory::table(session, &worktree)?, false)
        }
        opened => (opened.map_err(unusable)?, true),
    };
    let mut scopes = table.scopes(&worktree).map_err(unusable)?;
    if is_kept {
        retain_recorded(session, &mut scopes);
    }
    if let Some(wanted) = wanted {
        retain_meant(session, &mut scopes, wanted)?;
    }
    Ok(Opened { table, worktree, scopes })
}

/// Opens the page table for the scopes of a state of the files, or one of them. If there is none, returns why.
pub(crate) fn open_wanted(
    session: &Session,
    scope: Option<&str>,
    work: Work,
) -> Result<(Opened, Option<NoPages>)> {
    let mut opened = open(session, None)?;
    let filter = Filter { scope: scope.map(str::to_owned), work, ..Filter::default() };
    let nothing = retain_wanted(session, &mut opened.scopes, &filter)?.or_else(|| {
        let is_empty = opened.scopes.is_empty();
        is_empty.then(|| NoPages::of(session, &opened.scopes))
    });
    Ok((opened, nothing))
}

/// Brings the pages that a question is about up to date. What nobody has mapped as it is at HEAD is mapped for it: in the
/// cache, or in memory where that cannot be used. Nothing is recorded.
pub(crate) fn bring_up_to_date(
    session: &Session,
    scope: Option<&str>,
    work: Work,
    opened: Opened,
    nothing: Option<NoPages>,
) -> Result<(Opened, Option<NoPages>)> {
    if work != Work::Committed {
        return Ok((opened, nothing));
    }
    if let Some(note) = show::note_on_disk(&session.repo)? {
        (session.world.narrate)(&note);
    }
    let is_unmapped = matches!(nothing, Some(NoPages::NotMapped | NoPages::NotHere));
    let changed: BTreeSet<String> =
        Freshness::of(session).stale(&opened.scopes).into_iter().collect();
    let has_commit = session.repo.head()?.commit().is_some();
    if !has_commit || (changed.is_empty() && !(is_unmapped && scope.is_none())) {
        return Ok((opened, nothing));
    }
    let only = (!is_unmapped).then_some(&changed);
    let Some(now) = open_mapped_now(session, scope, only)? else {
        return Ok((opened, nothing));
    };
    let has_pages = now.scopes.iter().any(|scope| scope.totals.pages > 0);
    Ok((now, (!has_pages).then_some(NoPages::Empty)))
}

/// Returns `false` in the repository of another user: a question writes nothing there, as its files would be in the way of
/// the owner.
pub(crate) fn is_own(session: &Session) -> bool {
    let owner = session.repo.common_dir().metadata().map(|metadata| metadata.uid());
    owner.is_ok_and(|owner| owner == scratch::own_user())
}

/// Maps scopes as they are at HEAD, all or only some, and opens them; `None` if some cannot be kept.
fn open_mapped_now(
    session: &Session,
    scope: Option<&str>,
    only: Option<&BTreeSet<String>>,
) -> Result<Option<Opened>> {
    // Where nothing can be written, a worktree without places has none.
    let find = || map::places(session, session.is_dry()).unwrap_or_default();
    let places = is_own(session).then(find).flatten();
    let worktree = map::worktree_name(places.as_ref());
    let table = match places {
        Some(_) if session.repo.keeps_objects() => {
            map_in_memory::kept_table(session, &worktree, only)?
        }
        _ if only.is_some() => return Ok(None),
        _ => map_in_memory::table(session, &worktree)?,
    };
    let mut scopes = table.scopes(&worktree).map_err(unusable)?;
    if only.is_some() {
        retain_recorded(session, &mut scopes);
    }
    let filter = Filter { scope: scope.map(str::to_owned), ..Filter::default() };
    retain_wanted(session, &mut scopes, &filter)?;
    Ok(Some(Opened { table, worktree, scopes }))
}

/// Returns `true` if the branch, or the working tree, has changed since a scope was mapped.
pub(in crate::map) fn is_stale(session: &Session, scope: &ScopeRow) -> bool {
    Freshness::of(session).is_stale(scope)
}

/// The state that scopes are compared with; the working tree is scanned once, and only if a scope
/// follows it.
pub(crate) struct Freshness<'a> {
    session: &'a Session,
    worktree: OnceCell<Option<WorktreeState>>,
    records: OnceCell<Vec<ScopeRecord>>,
}

impl<'a> Freshness<'a> {
    /// Begins with nothing read.
    pub(crate) fn of(session: &'a Session) -> Freshness<'a> {
        Freshness { session, worktree: OnceCell::new(), records: OnceCell::new() }
    }

    /// Returns `true` if the branch, or the working tree, has changed since a scope was mapped.
    pub(in crate::map) fn is_stale(&self, scope: &ScopeRow) -> bool {
        if scope.is_invalidated() {
            return true;
        }
        let Some(follows) = scope.follows.as_deref() else {
            return self.is_recorded_elsewhere(scope);
        };
        if let Some(fingerprint) = follows.strip_prefix(map_worktree::FOLLOWS) {
            let now = self.worktree.get_or_init(|| WorktreeState::of(self.session).ok());
            let commit = Oid::parse(&scope.revision);
            // A working tree that cannot be scanned counts as changed.
            return now.as_ref().is_none_or(|now| now.differs(self.session, commit, fingerprint));
        }
        let now = self.session.repo.resolve_commit(follows).ok();
        now.is_some_and(|now| now.to_string() != scope.revision)
    }

    /// Returns `true` if the records name another commit for a scope that stays at one: undo has restored an
    /// earlier record.
    fn is_recorded_elsewhere(&self, scope: &ScopeRow) -> bool {
        let read = || scopes::records(self.session).unwrap_or_default();
        let records = self.records.get_or_init(read).iter();
        let of_scope = records.filter(|record| record.scope_id == scope.scope);
        let mut commits = of_scope.map(ScopeRecord::fixed_commit).peekable();
        let revision = Oid::parse(&scope.revision);
        commits.peek().is_some() && commits.all(|commit| commit.is_some() && commit != revision)
    }

    /// Returns the names of the stale scopes.
    pub(crate) fn stale(&self, scopes: &[ScopeRow]) -> Vec<String> {
        let stale = scopes.iter().filter(|scope| self.is_stale(scope));
        stale.map(|scope| scope.scope.clone()).collect()
    }
}

/// Lists pages.
pub fn list(session: &Session, filter: &Filter) -> Result<PagesReport> {
    again_if_damaged(session, || list_once(session, filter))
}

fn list_once(session: &Session, filter: &Filter) -> Result<PagesReport> {
    let mut opened = open(session, None)?;
    let nothing = retain_wanted(session, &mut opened.scopes, filter)?.or(retain_source(
        session,
        &mut opened.scopes,
        filter,
    )?);
    opened.adds_up()?;
    let (mut pages, total) = listing::list(&opened.table, &opened.scopes, filter)?;
    for scope in &opened.scopes {
        let is_own = |page: &&mut PageEntry| page.scope_id == scope.scope;
        let mut own = pages.iter_mut().filter(is_own).peekable();
        if own.peek().is_some() {
            let records = own.flat_map(|page| &mut page.records);
            page_labels::label_of_scope(session, scope, records)?;
        }
    }
    PageState::of(session).mark(&mut pages);
    let stale_scopes = Freshness::of(session).stale(&opened.scopes);
    Ok(PagesReport {
        count: pages.len(),
        pages,
        total,
        nothing: (total == 0)
            .then(|| nothing.unwrap_or_else(|| NoPages::of(session, &opened.scopes))),
        worktree: filter.work == Work::Worktree,
        stale: !stale_scopes.is_empty(),
        stale_scopes,
    })
}

/// Deletes the pages of a scope; returns `true` if there were any.
pub fn forget(session: &Session, scope_id: &str) -> Result<bool> {
    let Opened { mut table, worktree, scopes } = open_kept(session)?;
    if scopes.iter().all(|scope| scope.scope != scope_id) {
        return Ok(false);
    }
    table.forget(&worktree, scope_id).map_err(unusable)
}
