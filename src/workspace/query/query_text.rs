//! `query text`: the lines of files that match.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use super::line_search::LineSearch;
pub use super::line_search::{NotSearched, TextLimits};
use super::target::Target;
use super::{Answered, Query, QueryKind, QueryRequest, ResultOf};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::text::line_query::{Case, LineQuery, Reading};
use crate::workspace::checkout::catalog::resolve::Workspace;

/// The stack of a thread that lists a repository: directories may be as deep as a path is long.
const STACK_BYTES: usize = 16 << 20;

/// The lines to find.
#[derive(Clone, Debug)]
pub struct TextRequest {
    /// The query.
    pub query: String,
    /// How it is read.
    pub reading: Reading,
    /// Whether case matters.
    pub case: Case,
    /// The repositories.
    pub asked: QueryRequest,
    /// The limits of each repository.
    pub limits: TextLimits,
}

/// A line that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TextHit {
    /// Its repository.
    #[serde(flatten)]
    pub of: ResultOf,
    /// Its file, from the root of the repository.
    pub path: RepoPath,
    /// Its number, from 1; null in a document whose lines are not lines of a file.
    pub line_number: Option<usize>,
    /// Its text, the part around the match if it is long.
    pub line_text: String,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct QueryTextReport {
    /// About the query.
    #[serde(flatten)]
    pub answered: Answered,
    /// The lines, by repository in the order of the catalog, path and number.
    pub hits: Vec<TextHit>,
    /// Their number.
    pub count: usize,
    /// The files that were not searched.
    pub files_not_searched: NotSearched,
}

/// Finds lines in the files of repositories.
pub fn query_text(workspace: Workspace<'_>, request: &TextRequest) -> Result<QueryTextReport> {
    let world = workspace.world;
    let lines = LineQuery::parse(&request.query, request.reading, request.case).map_err(|why| {
        let message = format!("cannot search for '{}': {why}", request.query);
        Error::new(Code::InvalidValue, message)
    })?;
    let kind = QueryKind::Text;
    let mut query = Query::begin(workspace, &request.asked, kind)?;
    let search = Search { world, lines: &lines, limits: request.limits };
    let mut answers = search.all(&query.targets).into_iter();
    let answers = query.each(|_| answers.next().unwrap_or_else(|| Ok(Answer::default())))?;
    let is_cut = answers.iter().any(|answer| answer.is_cut);
    let mut files_not_searched = NotSearched::default();
    for answer in &answers {
        files_not_searched.add(answer.not_searched);
    }
    let hits: Vec<TextHit> = answers.into_iter().flat_map(|answer| answer.hits).collect();
    Ok(QueryTextReport {
        answered: query.end(hits.len(), is_cut),
        count: hits.len(),
        hits,
        files_not_searched,
    })
}

/// What one repository has.
#[derive(Default)]
struct Answer {
    hits: Vec<TextHit>,
    not_searched: NotSearched,
    is_cut: bool,
}

#[derive(Clone, Copy)]
struct Search<'a> {
    world: &'a World,
    lines: &'a LineQuery,
    limits: TextLimits,
}

impl Search<'_> {
    /// Searches repositories on all processors: several at once, or the files of one.
    fn all(self, targets: &[Target]) -> Vec<Result<Answer>> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let at_once = processors.min(targets.len());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(target) = targets.get(at) else { break };
                let answer = self.search_repository(target, processors / at_once.max(1));
                let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
                answers.push((at, answer));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..at_once {
                let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
                if thread.spawn_scoped(scope, work).is_err() {
                    work();
                }
            }
        });
        let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        answers.sort_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Searches one repository.
    fn search_repository(self, target: &Target, threads: usize) -> Result<Answer> {
        let search =
            LineSearch { world: self.world, lines: self.lines, globs: None, limits: self.limits };
        let result = search.run(&target.content(self.world)?, threads)?;
        let hits = result.hits.into_iter().map(|hit| TextHit {
            of: target.result_of(),
            path: hit.path,
            line_number: Some(hit.line.number),
            line_text: hit.line.text,
        });
        Ok(Answer {
            hits: hits.collect(),
            not_searched: result.not_searched,
            is_cut: result.is_cut,
        })
    }
}
