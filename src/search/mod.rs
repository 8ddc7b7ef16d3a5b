//! `search`: the passages of mapped files that a query is about.
//!
//! The index is made by the first search, and kept up to date by each one and by `map`: mapping alone costs no more
//! than before for those who never search. A search maps what it needs in the cache, and records nothing. In a large
//! repository a process in the background does that, and a search that does not wait for it is answered in part.

mod candidates;
pub mod context;
mod context_text;
pub(super) mod documents;
mod documents_of_answer;
pub(crate) mod file_ranks;
mod first_question;
mod history;
mod hits;
pub mod index;
mod indexing;
pub(super) mod known_documents;
mod named;
mod partly;
mod parts;
pub(crate) mod passage_choice;
mod question_ranks;
mod section_names;
mod segments;
mod uncommitted_files;

use schemars::JsonSchema;
use serde::Serialize;

use crate::map::pages::no_pages::NoPages;
use crate::map::{self, map_worktree};
use crate::map_rows;
use crate::model::Result;
use crate::page::listing::Work;
use crate::page::pages::PageId;
use crate::repo_map::show::MapState;
use crate::search::index::query::{Query, Syntax};
use crate::store::Session;
use crate::store::cache::search_index::SearchIndex;

use first_question::Partial;
pub use first_question::build;
use indexing::IndexKept;
pub use indexing::keep_up_to_date;
use partly::Wanted;

/// The passages to find.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The query.
    pub query: String,
    /// How it is read.
    pub syntax: Syntax,
    /// The files.
    pub files: SearchedFiles,
    /// The maximum number of hits.
    pub limit: usize,
}

/// The files that are searched.
#[derive(Clone, Debug, Default)]
pub struct SearchedFiles {
    /// Only of this scope.
    pub scope: Option<String>,
    /// Committed, or as in the working tree.
    pub work: Work,
    /// Mapped files, documents of the knowledge base, or both.
    pub origin: SearchedOrigin,
    /// Only documents of the knowledge base of this kind.
    pub data_type: Option<String>,
    /// Only those that match one of these globs; all if there is none.
    pub globs: Vec<String>,
    /// Whether files of HEAD that differ in the working tree are searched as they are there, with its new files.
    pub shows_uncommitted: bool,
}

/// Where passages are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchedOrigin {
    /// Mapped files and the knowledge base.
    #[default]
    All,
    /// Mapped files.
    Pages,
    /// Documents of the knowledge base.
    Knowledge,
}

impl SearchedFiles {
    fn has_pages(&self) -> bool {
        self.origin != SearchedOrigin::Knowledge && self.data_type.is_none()
    }

    fn has_knowledge(&self) -> bool {
        self.origin != SearchedOrigin::Pages && self.scope.is_none()
    }
}

/// The origin of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitSource {
    /// A mapped file.
    Pages,
    /// A document of the knowledge base.
    Knowledge,
}

/// A passage that was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// How well it matches: comparable within one answer only.
    pub score: f64,
    /// The file, from the root of its repository.
    pub path: crate::model::RepoPath,
    /// Whether it is of a mapped file or of the knowledge base.
    pub source: HitSource,
    /// The name of the document in the knowledge base, `repo:<path>`; null for a mapped file.
    pub source_uri: Option<String>,
    /// The line that matches best, from 1; null where lines of the text are not lines of the file.
    pub line: Option<usize>,
    /// The first line of the passage, from 1.
    pub start_line: Option<usize>,
    /// The last line of the passage.
    pub end_line: Option<usize>,
    /// The page of the document, from 1; null if it has no pages.
    pub page: Option<usize>,
    /// The heading or definition that the line belongs to; null if there is none above it.
    pub section: Option<String>,
    /// Where it is, as one writes it: path and line, or path and page.
    pub citation: String,
    /// The scope; null for a document of the knowledge base.
    pub scope_id: Option<String>,
    /// The page of the scope that has the line; null if it has none.
    #[schemars(with = "Option<String>")]
    pub page_id: Option<PageId>,
    /// Whether the file is not committed as it is: it is shown as in the working tree.
    pub uncommitted: bool,
    /// The tokens of the passage.
    pub tokens: usize,
    /// The line that matches best, and the next ones.
    pub snippet: String,
}

/// The result of a search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchReport {
    /// The query.
    pub query: String,
    /// The passages, the best first.
    pub hits: Vec<Hit>,
    /// Their number.
    pub count: usize,
    /// The number of passages that match.
    pub total: usize,
    /// The number of files that this search has added to the index.
    pub indexed: usize,
    /// Whether files have changed since they were mapped: the answer is about them as they were.
    pub stale: bool,
    /// The scopes of these files.
    pub stale_scopes: Vec<String>,
    /// Whether only the files whose paths and lines match best by `git grep` were searched: the index is not there yet.
    pub partial: bool,
    /// Whether the index is being built: the same question again will be complete.
    pub building: bool,
    /// Why there is nothing to search; null if there is.
    pub nothing: Option<NoPages>,
    /// The identifier that the query consists of, if no searched file has it: the hits are only similar.
    pub absent: Option<String>,
}

/// Says that no searched file has an identifier.
pub fn absence(name: &str) -> String {
    format!("'{name}' occurs in no searched file")
}

/// Maps files that have changed: those of HEAD, or of the working tree.
pub fn refresh(session: &Session, work: Work) -> Result<()> {
    let request =
        |state: MapState| map_rows::Request { ingest: true, ..map_rows::Request::offline(state) };
    match work {
        Work::Committed => map::map(session, &request(MapState::Head))?,
        Work::Worktree => map_worktree::map(session, &request(MapState::Worktree))?,
    };
    Ok(())
}

/// Returns `true` if a repository has an index. Looking for one does not create it.
pub fn has_index(session: &Session) -> bool {
    SearchIndex::exists(session)
}

/// Searches mapped files.
pub fn search(session: &Session, request: &SearchRequest) -> Result<SearchReport> {
    indexing::again_if_unusable(session, |kept| search_once(session, request, kept))
}

fn search_once(
    session: &Session,
    request: &SearchRequest,
    kept: IndexKept,
) -> Result<SearchReport> {
    let query = Query::parse(&request.query, request.syntax);
    let searched = candidates::open(session, &request.files, kept, Wanted::Question(&query))?;
    let (mut ranked, total) = searched.rank(&query, request.limit)?;
    if request.syntax == Syntax::Data {
        ranked = searched.named_first(&request.query, &query, ranked)?;
    }
    let best = ranked.iter().take(request.limit);
    let hits: Vec<Hit> = best
        .map(|passage| searched.hit(&query, &searched.candidate(passage)?))
        .collect::<Result<_>>()?;
    let absent = searched.absent_name(&request.query)?;
    Ok(SearchReport {
        query: request.query.clone(),
        count: hits.len(),
        hits,
        total,
        indexed: searched.indexed,
        stale: !searched.stale_scopes.is_empty(),
        stale_scopes: searched.stale_scopes,
        partial: searched.partial.is_some(),
        building: searched.partial == Some(Partial::Building),
        nothing: searched.nothing,
        absent,
    })
}
