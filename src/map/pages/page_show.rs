//! `pages show`: pages with their text, by their ids or by a path.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::residency;
use crate::map_rows::reading::Reading;
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::page::listing::{self, Filter};
use crate::page::page_text::{PageTexts, Rendering, ShownPage};
use crate::page::pages::{Page, PageId};
use crate::page::part_numbers;
use crate::source::literature::Literature;
use crate::store::Session;
use crate::store::cache::page_table::{PageTable, ScopeRow};
use crate::store::state::StoredPage;
use crate::text::chunk::ChunkSize;
use crate::text::tokenizer::Tokenizer;

use super::no_pages::NoPages;
use super::wanted_scopes::retain_wanted;
use super::{Freshness, Opened, again_if_damaged, open, page_graph, page_labels};

/// The pages to show, and the format.
#[derive(Clone, Debug)]
pub struct ShowRequest {
    /// The pages.
    pub pages: ShownBy,
    /// The format of their text.
    pub rendering: Rendering,
    /// Whether related pages are named, too.
    pub neighbors: bool,
}

/// How the pages are named.
#[derive(Clone, Debug)]
pub enum ShownBy {
    /// By their ids.
    Ids(Vec<TypedId>),
    /// By a path, which the filter has.
    Path(Filter),
}

/// The id of a page as it was typed.
#[derive(Clone, Debug)]
pub struct TypedId {
    /// The id, or a unique prefix.
    pub id: String,
    /// The path that the same word names, for a hint.
    pub path: Option<RepoPath>,
}

/// Pages with their text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownPages {
    /// The pages: in the order of the ids, each once, or of the scopes and paths.
    pub pages: Vec<ShownPage>,
    /// Their number.
    pub count: usize,
    /// Their tokens, the sum over the pages.
    pub tokens: u64,
    /// The exact tokens of their text as it is printed without --json; as text never more than `tokens`.
    pub text_tokens: usize,
    /// Their text as it is printed.
    #[serde(skip)]
    pub printed: String,
}

/// A page that was found.
enum MatchedPage {
    /// In the mapping.
    Mapped(ScopeRow, Page),
    /// Only with an agent, or under a lock.
    Kept(StoredPage, Page),
}

impl MatchedPage {
    fn page(&self) -> &Page {
        let (MatchedPage::Mapped(_, page) | MatchedPage::Kept(_, page)) = self;
        page
    }

    fn scope_id(&self) -> &str {
        match self {
            MatchedPage::Mapped(row, _) => &row.scope,
            MatchedPage::Kept(stored, _) => &stored.scope,
        }
    }

    fn place(&self) -> Option<&Path> {
        match self {
            MatchedPage::Mapped(row, _) => row.place.as_deref(),
            MatchedPage::Kept(stored, _) => stored.place.as_deref(),
        }
    }

    /// Returns `true` if another page is read from the same place.
    fn is_beside(&self, other: &MatchedPage) -> bool {
        let is_mapped = |page: &MatchedPage| matches!(page, MatchedPage::Mapped(..));
        let of = |page: &MatchedPage| (is_mapped(page), page.scope_id().to_owned());
        of(self) == of(other) && self.place() == other.place()
    }
}

/// Reads pages.
pub fn show(session: &Session, request: &ShowRequest) -> Result<ShownPages> {
    again_if_damaged(session, || show_once(session, request))
}

fn show_once(session: &Session, request: &ShowRequest) -> Result<ShownPages> {
    let mut opened = open(session, None)?;
    let matched = match &request.pages {
        ShownBy::Ids(ids) => by_ids(session, &opened, ids)?,
        ShownBy::Path(filter) => by_path(session, &mut opened, filter)?,
    };
    let freshness = Freshness::of(session);
    let mut pages = Vec::new();
    for beside in matched.chunk_by(MatchedPage::is_beside) {
        let mut shown = read(session, beside, request.rendering)?;
        match beside.first() {
            Some(MatchedPage::Mapped(row, _)) => {
                let is_stale = freshness.is_stale(row);
                for page in &mut shown {
                    page.stale = is_stale;
                }
                describe(session, &opened.table, row, &mut shown)?;
                if request.neighbors {
                    add_neighbors(session, &opened.table, row, &mut shown)?;
                }
            }
            _ => {
                for (shown, matched_page) in shown.iter_mut().zip(beside) {
                    shown.stale = true;
                    let scope_id = matched_page.scope_id();
                    shown.successors =
                        residency::successors_of(&opened, scope_id, matched_page.page())?;
                }
            }
        }
        pages.extend(shown);
    }
    Ok(ShownPages {
        count: pages.len(),
        tokens: pages.iter().map(|page| u64::from(page.tokens)).sum(),
        text_tokens: pages.iter().map(|page| page.text_tokens).sum(),
        printed: pages.iter().map(|page| page.printed.as_str()).collect(),
        pages,
    })
}

fn by_ids(session: &Session, opened: &Opened, ids: &[TypedId]) -> Result<Vec<MatchedPage>> {
    let (mut pages, mut seen) = (Vec::new(), BTreeSet::new());
    for typed in ids {
        let matched_page = match opened.find(&typed.id) {
            Err(error)
                if error.code() == Code::PageNotFound
                    && !error.details().contains_key("begin_so") =>
            {
                let (stored, page) = residency::find_kept(session, &typed.id)
                    .ok_or_else(|| with_path_hint(session, typed, error))?;
                MatchedPage::Kept(stored, page)
            }
            mapped => {
                let (row, page) = mapped?;
                MatchedPage::Mapped(row, page)
            }
        };
        if seen.insert(matched_page.page().id) {
            pages.push(matched_page);
        }
    }
    Ok(pages)
}

/// Offers the pages of a file where its path was given as an id.
fn with_path_hint(session: &Session, typed: &TypedId, error: Error) -> Error {
    let is_there = |path: &RepoPath| {
        let head = session.repo.head().ok()?.commit();
        let tree = session.repo.tree_of(head).ok()?;
        session.repo.entry_in(tree, path.as_path()).ok()?
    };
    match &typed.path {
        Some(path) if is_there(path).is_some() => error.hint(format!(
            "git colony pages show --path {}   # the pages with its text",
            shell_word(&typed.id)
        )),
        _ => error,
    }
}

fn by_path(session: &Session, opened: &mut Opened, filter: &Filter) -> Result<Vec<MatchedPage>> {
    let nothing = retain_wanted(session, &mut opened.scopes, filter)?;
    opened.adds_up()?;
    let matched = listing::select(&opened.table, &opened.scopes, filter)?;
    if matched.is_empty() {
        let why = nothing.unwrap_or_else(|| NoPages::of(session, &opened.scopes));
        return Err(no_page_of(filter, why));
    }
    let matched = matched.into_iter();
    Ok(matched.map(|(row, page)| MatchedPage::Mapped(row, page)).collect())
}

fn no_page_of(filter: &Filter, why: NoPages) -> Error {
    let path = filter.path.clone().unwrap_or_default().to_string();
    let hint = match why {
        NoPages::NoCommit => "git colony checkpoint -m LABEL   # commits the files".to_owned(),
        NoPages::NotMapped | NoPages::NotHere => "git colony map".to_owned(),
        NoPages::NoWorktree => "git colony map --worktree".to_owned(),
        NoPages::OnlyWorktree => {
            format!("git colony pages show --worktree --path {}", shell_word(&path))
        }
        NoPages::Empty | NoPages::NoMatch => {
            "git colony map preview   # which files each row maps".to_owned()
        }
    };
    let message = format!("no page has text of '{path}'");
    Error::new(Code::PageNotFound, message).hint(hint)
}

/// Reads pages from one place.
fn read(session: &Session, beside: &[MatchedPage], rendering: Rendering) -> Result<Vec<ShownPage>> {
    let reading = Reading::of(session, beside.first().and_then(MatchedPage::place))?;
    let library = reading.library();
    // The size of chunks does not affect the text of which they are parts.
    let reader = Literature::new(&session.world, ChunkSize::default(), Tokenizer::default());
    let tokenizer = Tokenizer::named(&session.settings.map.tokenizer);
    let mut texts = PageTexts::new(&library, &reader, rendering, tokenizer);
    let shown = beside.iter().map(|page| texts.show(page.scope_id(), page.page()));
    shown.collect()
}

/// Adds labels and numbers of parts.
fn describe(
    session: &Session,
    table: &PageTable,
    row: &ScopeRow,
    shown: &mut [ShownPage],
) -> Result<()> {
    let records = shown.iter_mut().flat_map(|page| &mut page.records);
    page_labels::label_of_scope(session, row, records)?;
    let records = shown.iter_mut().flat_map(|page| &mut page.records);
    part_numbers::number_parts(table, row, records)
}

fn add_neighbors(
    session: &Session,
    table: &PageTable,
    row: &ScopeRow,
    shown: &mut [ShownPage],
) -> Result<()> {
    let ids: Vec<PageId> = shown.iter().map(|page| page.page_id).collect();
    let neighbors = page_graph::neighbors(session, table, row, &ids)?;
    for (page, neighbors) in shown.iter_mut().zip(neighbors) {
        page.neighbours = Some(neighbors);
    }
    Ok(())
}
