//! The resident set of an agent, listed and printed for a prompt.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::pages::{self, Freshness, Opened};
use crate::map_rows::reading::Reading;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::listing::{LockEntry, unusable};
use crate::page::mapping::read_pages;
use crate::page::page_text::{PageTexts, Rendering};
use crate::page::pages::{self as page_ids, Page, PageId};
use crate::source::literature::Literature;
use crate::store::Session;
use crate::store::cache::database::Unusable;
use crate::store::state::{PageLock, Resident, State, StoredPage};
use crate::text::chunk::ChunkSize;
use crate::text::tokenizer::Tokenizer;

use super::{is_stale, now, owner, pinned_pages, unpack, written};

/// The resident pages of an agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResidentReport {
    /// The agent; null for the user.
    pub agent: Option<String>,
    /// The pages, in the order in which they were loaded.
    pub pages: Vec<ResidentPage>,
    /// Their number.
    pub count: usize,
    /// Their tokens.
    pub used_tokens: u64,
    /// The maximum tokens of the resident set.
    pub budget_tokens: u64,
    /// The text of the pages, if it was asked for: at most the tokens of the budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The exact tokens of that text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_tokens: Option<usize>,
    /// The pages that are not in the text, and why.
    pub left_out: Vec<LeftOutPage>,
}

/// A resident page.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResidentPage {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// The scope it belongs to.
    pub scope_id: String,
    /// Its tokens.
    pub tokens: u64,
    /// Its files.
    pub files: Vec<RepoPath>,
    /// The priority of the request that used it last.
    pub priority: i64,
    /// Whether its scope is pinned: it never leaves.
    pub pinned: bool,
    /// When the last lock on it ends; null if there is none.
    pub locked_until: Option<String>,
    /// The locks on it; left out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockEntry>,
    /// Whether the mapping has other pages for its files now; null if the scope has no pages here.
    pub stale: Option<bool>,
    /// The pages that have its files now, if it is stale.
    #[schemars(with = "Vec<String>")]
    pub successors: Vec<PageId>,
    /// When it was loaded.
    pub loaded_at: String,
    /// When a request used it last.
    pub used_at: String,
}

/// A page that is not in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOutPage {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// Why not.
    pub reason: LeftOutReason,
}

/// Why a page is not in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// The text would have more tokens than the budget.
    OverBudget,
    /// An object of it is missing, or its repository is gone.
    ObjectMissing,
}

/// Lists the resident pages of the agent that asks; with a rendering also their text.
pub fn list(session: &Session, rendering: Option<Rendering>) -> Result<ResidentReport> {
    let budget_tokens = session.settings.context_budget_tokens;
    let mut report = ResidentReport {
        agent: session.settings.agent.clone(),
        pages: Vec::new(),
        count: 0,
        used_tokens: 0,
        budget_tokens,
        text: rendering.map(|_| String::new()),
        text_tokens: rendering.map(|_| 0),
        left_out: Vec::new(),
    };
    let Some(facts) = Facts::read(session)? else {
        return Ok(report);
    };
    let opened = pages::open_mapped(session)?;
    let residents: Vec<Resident> = facts.pages.iter().map(|(page, _)| page.clone()).collect();
    let pinned = pinned_pages(session, &residents)?;
    let freshness = Freshness::of(session);
    let mut kept = Vec::new();
    for (resident, stored) in &facts.pages {
        let Some(page) = unpack(stored) else {
            continue;
        };
        let is_pinned = pinned.contains(&resident.id);
        report.used_tokens += resident.tokens;
        report.pages.push(ResidentPage {
            pinned: is_pinned,
            locked_until: facts.locked_until(resident.id).map(written),
            locks: facts.locks_on(resident.id).map(LockEntry::from).collect(),
            ..describe(&opened, &freshness, resident, &page)?
        });
        kept.push(KeptPage {
            is_held: is_pinned || facts.is_locked(session, resident.id),
            resident,
            stored,
            page,
        });
    }
    report.count = report.pages.len();
    if let Some(rendering) = rendering {
        report.print(session, &kept, rendering)?;
    }
    Ok(report)
}

/// What the state has of an agent.
struct Facts {
    pages: Vec<(Resident, StoredPage)>,
    locks: Vec<PageLock>,
}

impl Facts {
    fn read(session: &Session) -> Result<Option<Facts>> {
        let read = || {
            let Some(mut state) = State::find(session)? else {
                return Ok(None);
            };
            let residents = state.residents(&owner(session))?;
            let ids: Vec<[u8; 16]> = residents.iter().map(|page| page.id).collect();
            let mut stored: BTreeMap<_, _> =
                state.pages(&ids)?.into_iter().map(|page| (page.id, page)).collect();
            let pages = residents
                .into_iter()
                .filter_map(|page| stored.remove(&page.id).map(|stored| (page, stored)))
                .collect();
            let locks = state.locks(now(session))?;
            Ok(Some(Facts { pages, locks }))
        };
        read().map_err(|why: Unusable| {
            if let Some(waited) = why.waited("the state of the colony") {
                return waited;
            }
            let message = format!("cannot use the state of the colony: {why}");
            Error::new(Code::StateUnusable, message).hint("git colony doctor")
        })
    }

    fn locks_on(&self, page: [u8; 16]) -> impl Iterator<Item = &PageLock> {
        self.locks.iter().filter(move |lock| lock.page == page)
    }

    fn locked_until(&self, page: [u8; 16]) -> Option<i64> {
        self.locks_on(page).map(|lock| lock.until).max()
    }

    fn is_locked(&self, session: &Session, page: [u8; 16]) -> bool {
        let owner = owner(session);
        let mut locks = self.locks.iter();
        locks.any(|lock| lock.page == page && lock.owner == owner)
    }
}

/// A resident page with its records.
struct KeptPage<'a> {
    resident: &'a Resident,
    stored: &'a StoredPage,
    page: Page,
    /// Whether a lock or a pin holds it.
    is_held: bool,
}

/// Describes a page; locks and pins, the caller adds.
fn describe(
    opened: &Opened,
    freshness: &Freshness<'_>,
    resident: &Resident,
    page: &Page,
) -> Result<ResidentPage> {
    let stale = is_stale(opened, freshness, resident)?;
    let successors = match stale {
        Some(true) => successors_of(opened, &resident.scope, page)?,
        _ => Vec::new(),
    };
    Ok(ResidentPage {
        page_id: page.id,
        scope_id: resident.scope.clone(),
        tokens: resident.tokens,
        files: files_of(page).into_iter().cloned().collect(),
        priority: resident.priority,
        pinned: false,
        locked_until: None,
        locks: Vec::new(),
        stale,
        successors,
        loaded_at: written(resident.loaded_at),
        used_at: written(resident.used_at),
    })
}

fn files_of(page: &Page) -> BTreeSet<&RepoPath> {
    page.records.iter().map(|record| &record.path).collect()
}

/// Returns the pages of a scope that have files of a page that the mapping no longer has.
pub(crate) fn successors_of(opened: &Opened, scope_id: &str, page: &Page) -> Result<Vec<PageId>> {
    let Some(scope) = opened.scopes.iter().find(|row| row.scope == scope_id) else {
        return Ok(Vec::new());
    };
    let files = files_of(page);
    let folders: BTreeSet<RepoPath> =
        files.iter().map(|file| file.parent().unwrap_or_default()).collect();
    let mut successors = Vec::new();
    for folder in &folders {
        let row = opened.table.directory(scope, folder).map_err(unusable)?;
        let pages = row.map_or(Ok(Vec::new()), |row| read_pages(&row))?;
        let has_one = |page: &Page| {
            let mut paths = page.records.iter().map(|record| &record.path);
            paths.any(|path| files.contains(path))
        };
        successors.extend(pages.iter().filter(|page| has_one(page)).map(|page| page.id));
    }
    Ok(successors)
}

/// Finds a page that the mapping no longer has, if an agent has it or it is locked.
pub(crate) fn find_kept(session: &Session, id: &str) -> Option<(StoredPage, Page)> {
    let (from, to) = page_ids::range(id)?;
    let mut state = State::find(session).ok()??;
    let pages = state.pages_between(from, to).ok()?;
    let [stored] = pages.as_slice() else {
        return None;
    };
    Some((stored.clone(), unpack(stored)?))
}

impl ResidentReport {
    /// Prints the pages in their order; where the text has more tokens than the budget, those that would
    /// leave first are not in it.
    fn print(
        &mut self,
        session: &Session,
        kept: &[KeptPage<'_>],
        rendering: Rendering,
    ) -> Result<()> {
        let mut texts = Vec::new();
        for kept_page in kept {
            match read(session, kept_page, rendering) {
                Ok(text) => texts.push((kept_page, text)),
                Err(error) if error.code() == Code::CacheUnusable => return Err(error),
                Err(_) => self.left_out.push(LeftOutPage {
                    page_id: kept_page.page.id,
                    reason: LeftOutReason::ObjectMissing,
                }),
            }
        }
        let tokenizer = Tokenizer::named(&session.settings.map.tokenizer);
        let budget = usize::try_from(self.budget_tokens).unwrap_or(usize::MAX);
        loop {
            let text: String = texts.iter().map(|(_, text)| text.as_str()).collect();
            let tokens = tokenizer.count(&text);
            let rank = |kept_page: &KeptPage<'_>| {
                (kept_page.is_held, kept_page.resident.priority, kept_page.resident.used)
            };
            let first = texts
                .iter()
                .enumerate()
                .min_by_key(|(_, (kept_page, _))| rank(kept_page))
                .map(|(at, _)| at);
            let Some(at) = first.filter(|_| tokens > budget) else {
                self.text = Some(text);
                self.text_tokens = Some(tokens);
                return Ok(());
            };
            let (kept_page, _) = texts.remove(at);
            self.left_out.push(LeftOutPage {
                page_id: kept_page.page.id,
                reason: LeftOutReason::OverBudget,
            });
        }
    }
}

/// Reads the text of a page as it is printed.
fn read(session: &Session, kept_page: &KeptPage<'_>, rendering: Rendering) -> Result<String> {
    let reading = Reading::of(session, kept_page.stored.place.as_deref())?;
    // The size of chunks does not affect the text of which they are parts.
    let reader = Literature::new(&session.world, ChunkSize::default(), Tokenizer::default());
    let library = reading.library();
    let tokenizer = Tokenizer::named(&session.settings.map.tokenizer);
    let shown = PageTexts::new(&library, &reader, rendering, tokenizer)
        .show(&kept_page.stored.scope, &kept_page.page)?;
    Ok(shown.printed)
}
