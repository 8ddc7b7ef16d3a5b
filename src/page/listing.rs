//! Listing pages, and looking one up.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::model::{Code, Error, RepoPath, Result};
use crate::source::record::Record;
use crate::store::cache::database::Unusable;
use crate::store::cache::page_table::{PageTable, ScopeRow};

use super::graph::RelationshipType;
use super::mapping::read_pages;
use super::pages::{self, Page, PageId};
use super::part_numbers::PartNumbers;

/// A record of a page, without its text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RecordEntry {
    /// The file, from the root of the repository.
    pub path: RepoPath,
    /// The part of the file; null for a whole file.
    pub part: Option<String>,
    /// The number of the part within its file in the scope, from 1; absent for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_number: Option<usize>,
    /// The number of parts of the file in the scope; absent for a whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_count: Option<usize>,
    /// The blob.
    pub blob: Oid,
    /// The start of the stretch, in bytes of the blob.
    pub start: u64,
    /// Its end.
    pub end: u64,
    /// The first line, from 1, where the text was read and has lines: in `pages show`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<usize>,
    /// The last line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    /// Its tokens, with the frame.
    pub tokens: u32,
    /// Whether the attributes of the mapped tree mark the file as `linguist-generated`; absent if
    /// that was not checked, or the tree no longer exists here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generated: Option<bool>,
    /// Its text, if it was asked for; null for a binary file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A lock on a page, as reports have it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LockEntry {
    /// Who has locked it; null for the user.
    pub owner: Option<String>,
    /// When it ends.
    pub locked_until: String,
    /// The reason that was given.
    pub reason: String,
}

/// A page in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PageEntry {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// The scope it belongs to.
    pub scope_id: String,
    /// Its tokens, the sum over its records.
    pub tokens: u32,
    /// Whether its scope is pinned: it never leaves a resident set.
    pub pinned: bool,
    /// When the last lock on it ends; null if there is none.
    pub locked_until: Option<String>,
    /// The locks on it; left out if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockEntry>,
    /// Whether it is in the resident set of the agent that asks.
    pub resident: bool,
    /// Its records; left out if they were not wanted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordEntry>,
}

/// The pages to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only of this scope.
    pub scope: Option<String>,
    /// Only of scopes whose source contains this text, in any case; the caller selects them.
    pub source: Option<String>,
    /// The state of the files, if no scope is given in full.
    pub work: Work,
    /// Only with a record at or below this path.
    pub path: Option<RepoPath>,
    /// The maximum number of pages.
    pub limit: usize,
    /// The number of pages to skip.
    pub offset: usize,
}

/// The state of the files that the pages show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// The committed state.
    #[default]
    Committed,
    /// The files of the working tree, committed or not.
    Worktree,
}

impl From<&Record> for RecordEntry {
    fn from(record: &Record) -> Self {
        RecordEntry {
            path: record.path.clone(),
            part: record.part.clone(),
            part_number: None,
            part_count: None,
            blob: record.blob,
            start: record.start,
            end: record.end,
            start_line: None,
            end_line: None,
            tokens: record.tokens,
            generated: None,
            text: None,
        }
    }
}

impl PageEntry {
    /// Describes a page of a scope; what the state of the colony says of it, the caller adds.
    pub(super) fn of(scope_id: &str, page: &Page) -> PageEntry {
        PageEntry {
            page_id: page.id,
            scope_id: scope_id.to_owned(),
            tokens: page.tokens,
            pinned: false,
            locked_until: None,
            locks: Vec::new(),
            resident: false,
            records: page.records.iter().map(RecordEntry::from).collect(),
        }
    }
}

/// Lists the pages of scopes in the order of the paths, with their total number. If a path is
/// given, the page's first record at or below it determines the order.
pub fn list(
    table: &PageTable,
    scopes: &[ScopeRow],
    filter: &Filter,
) -> Result<(Vec<PageEntry>, usize)> {
    let (mut entries, mut total) = (Vec::new(), 0);
    each_chosen(table, scopes, filter, |scope, pages, chosen| {
        let mut parts = None;
        for page in chosen {
            total += 1;
            if total > filter.offset && entries.len() < filter.limit {
                let parts = parts.get_or_insert_with(|| PartNumbers::of(pages));
                entries.push(parts.describe(&scope.scope, page));
            }
        }
    })?;
    Ok((entries, total))
}

/// Finds all pages of scopes that a filter selects, whatever its limit: with their scopes, in the order of [`list`].
pub fn select(
    table: &PageTable,
    scopes: &[ScopeRow],
    filter: &Filter,
) -> Result<Vec<(ScopeRow, Page)>> {
    let mut pages = Vec::new();
    each_chosen(table, scopes, filter, |scope, _, chosen| {
        pages.extend(chosen.into_iter().map(|page| (scope.clone(), page.clone())));
    })?;
    Ok(pages)
}

/// Calls a function with the scope, all pages and the selected pages of each directory.
fn each_chosen(
    table: &PageTable,
    scopes: &[ScopeRow],
    filter: &Filter,
    mut take: impl FnMut(&ScopeRow, &[Page], Vec<&Page>),
) -> Result<()> {
    for scope in scopes {
        let mut damage = None;
        let directories = table.each_directory(scope, |row| {
            let pages = read_pages(&row).unwrap_or_else(|error| {
                damage = Some(error);
                Vec::new()
            });
            take(scope, &pages, filter.chosen(&pages));
            damage.is_none()
        });
        directories.map_err(unusable)?;
        damage.map_or(Ok(()), Err)?;
    }
    Ok(())
}

impl Filter {
    /// Returns the selected pages of a directory, in the order of their matching records.
    fn chosen<'a>(&self, pages: &'a [Page]) -> Vec<&'a Page> {
        let place = |page: &'a Page| {
            let wanted = page.records.iter().filter(|record| self.takes(record));
            wanted.map(|record| (&record.path, record.start)).min()
        };
        let places = pages.iter().map(|page| (place(page), page));
        let mut chosen: Vec<_> = places.filter(|(place, _)| place.is_some()).collect();
        chosen.sort_by(|entry, other| entry.0.cmp(&other.0));
        chosen.into_iter().map(|(_, page)| page).collect()
    }

    fn takes(&self, record: &Record) -> bool {
        let within = |path: &RepoPath| record.path.is_at_or_below(path);
        self.path.as_ref().is_none_or(within)
    }
}

/// Finds a page of some scopes by its id or an abbreviation: the scope and the page.
pub fn find(table: &PageTable, scopes: &[ScopeRow], id: &str) -> Result<(ScopeRow, Page)> {
    let none = |why: &str| {
        Error::new(Code::PageNotFound, format!("no page of this worktree is '{id}'{why}"))
            .hint("git colony pages")
    };
    let Some((from, to)) = pages::range(id) else {
        return Err(none(": an id is of hex digits"));
    };
    let pages = table.find_pages(scopes, from, to).map_err(unusable)?;
    let mut ids: Vec<_> = pages.iter().map(|page| page.id).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() > 1 {
        let count = ids.len();
        return Err(none(&format!(" alone: {count} begin so")).detail("begin_so", count));
    }
    let Some(first) = pages.into_iter().next() else {
        return Err(none(""));
    };
    let row = table.directory(&first.scope, &first.directory).map_err(unusable)?;
    let pages = row.map_or(Ok(Vec::new()), |row| read_pages(&row))?;
    let page = pages.into_iter().find(|page| page.id.0 == first.id);
    page.map(|page| (first.scope, page)).ok_or_else(|| none(""))
}

/// Returns the error for an unusable page table.
#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub fn unusable(error: Unusable) -> Error {
    if let Some(waited) = error.waited("the page table") {
        return waited;
    }
    Error::new(
        Code::CacheUnusable,
        format!("cannot use the page table: {error}"),
    )
    .hint(
        "git colony map   # after removing whatever is in the way in .git/colony/cache, which may be deleted",
    )
}

/// A page that is related to another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Neighbor {
    /// Its id.
    #[schemars(with = "String")]
    pub page_id: PageId,
    /// Its files, in order.
    pub files: Vec<RepoPath>,
    /// How strongly they are related, from 0 to 1: the maximum of both directions.
    pub weight: f64,
    /// The confidence, from 0 to 1.
    pub confidence: f64,
    /// The reasons.
    pub relationship_types: Vec<RelationshipType>,
}
