//! `query text`: the lines of files that match.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;

use super::target::{Listed, ListedFile, Reader, Target};
use super::{Answered, Asked, Query, QueryKind, ResultOf};
use crate::design::checkpoint::secrets::{contains_secret, is_named_as_secret};
use crate::git::worktree::safe_open::Fault;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::text::line_query::{Case, LineQuery, Reading};
use crate::workspace::catalog::resolve::Workspace;

/// The stack of a thread that lists a repository: directories may be as deep as a path is long.
const STACK_BYTES: usize = 16 << 20;

/// The number of files that a thread searches before it looks whether enough was found.
const FILES_AT_ONCE: usize = 256;

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
    pub asked: Asked,
    /// The limits of each repository.
    pub limits: TextLimits,
}

/// Limits for each repository.
#[derive(Clone, Copy, Debug)]
pub struct TextLimits {
    /// The number of lines.
    pub matches: usize,
    /// The number of files.
    pub files: usize,
    /// The size of a file in bytes; larger ones are not searched.
    pub file_bytes: u64,
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

/// Files that were not searched, by reason. What ignore files hide does not count: it is not shown at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotSearched {
    /// Their number.
    pub count: usize,
    /// Those that look like secrets.
    pub secret: usize,
    /// Those that are larger than the limit.
    pub too_large: usize,
    /// Those that are not UTF-8.
    pub not_text: usize,
    /// Symlinks, and whatever else is not a plain file.
    pub not_a_file: usize,
    /// Those that cannot be read.
    pub unreadable: usize,
}

impl NotSearched {
    fn add(&mut self, other: NotSearched) {
        self.count += other.count;
        self.secret += other.secret;
        self.too_large += other.too_large;
        self.not_text += other.not_text;
        self.not_a_file += other.not_a_file;
        self.unreadable += other.unreadable;
    }

    fn note(&mut self, fault: &Fault) {
        let number = match fault {
            Fault::TooLarge(_) => &mut self.too_large,
            Fault::Link | Fault::NoPlainFile => &mut self.not_a_file,
            Fault::Unreadable(_) => &mut self.unreadable,
            // The whole query ends.
            Fault::Interrupted(_) => return,
        };
        *number += 1;
        self.count += 1;
    }
}

/// What one repository has.
#[derive(Default)]
struct Found {
    hits: Vec<TextHit>,
    not_searched: NotSearched,
    is_cut: bool,
}

/// What some of its files have.
#[derive(Default)]
struct FoundIn {
    hits: Vec<TextHit>,
    not_searched: NotSearched,
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
    let mut found = search.all(&query.targets).into_iter();
    let found = query.each(|_| found.next().unwrap_or_else(|| Ok(Found::default())))?;
    let is_cut = found.iter().any(|found| found.is_cut);
    let mut files_not_searched = NotSearched::default();
    for one in &found {
        files_not_searched.add(one.not_searched);
    }
    let hits: Vec<TextHit> = found.into_iter().flat_map(|found| found.hits).collect();
    Ok(QueryTextReport {
        answered: query.end(hits.len(), is_cut),
        count: hits.len(),
        hits,
        files_not_searched,
    })
}

#[derive(Clone, Copy)]
struct Search<'a> {
    world: &'a World,
    lines: &'a LineQuery,
    limits: TextLimits,
}

impl Search<'_> {
    /// Searches repositories on all processors: several at once, or the files of one.
    fn all(self, targets: &[Target]) -> Vec<Result<Found>> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let at_once = processors.min(targets.len());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(target) = targets.get(at) else { break };
                let one = self.one(target, processors / at_once.max(1));
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.push((at, one));
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
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, one)| one).collect()
    }

    /// Searches one repository.
    fn one(self, target: &Target, threads: usize) -> Result<Found> {
        let content = target.content(self.world)?;
        let Listed { mut files, is_cut } = content.list(self.world, self.limits.files)?;
        let mut hidden = content.hidden(&self.world.interrupt);
        files.retain(|file| !hidden.hides(&file.path));
        let shown = files.len();
        files.retain(|file| !is_named_as_secret(&file.path));
        let secret = shown - files.len();
        let mut found = Found {
            hits: Vec::new(),
            not_searched: NotSearched { count: secret, secret, ..NotSearched::default() },
            is_cut,
        };
        for files in files.chunks(FILES_AT_ONCE * threads.max(1)) {
            self.world.interrupt.check()?;
            let parts = std::thread::scope(|scope| {
                let parts = files.chunks(FILES_AT_ONCE);
                let running: Vec<_> = parts
                    .map(|part| {
                        let reader = content.reader();
                        scope.spawn(move || self.files(target, &reader, part))
                    })
                    .collect();
                let ended = running
                    .into_iter()
                    .map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic)));
                ended.collect::<Vec<_>>()
            });
            for part in parts {
                found.hits.extend(part.hits);
                found.not_searched.add(part.not_searched);
            }
            if found.hits.len() > self.limits.matches {
                found.hits.truncate(self.limits.matches);
                found.is_cut = true;
                break;
            }
        }
        Ok(found)
    }

    /// Searches some files, for one line more than wanted.
    fn files(self, target: &Target, reader: &Reader, files: &[ListedFile]) -> FoundIn {
        let mut all = FoundIn::default();
        for file in files {
            let left = (self.limits.matches + 1).saturating_sub(all.hits.len());
            if left == 0 || self.world.interrupt.check().is_err() {
                break;
            }
            let bytes = match reader.read(&self.world.interrupt, file, self.limits.file_bytes) {
                Ok(Some(bytes)) => bytes,
                // It is gone.
                Ok(None) => continue,
                Err(fault) => {
                    all.not_searched.note(&fault);
                    continue;
                }
            };
            let Ok(text) = String::from_utf8(bytes) else {
                all.not_searched.not_text += 1;
                all.not_searched.count += 1;
                continue;
            };
            let found = self.lines.lines(&text, left);
            if found.is_empty() {
                continue;
            }
            if contains_secret(text.as_bytes()) {
                all.not_searched.secret += 1;
                all.not_searched.count += 1;
                continue;
            }
            all.hits.extend(found.into_iter().map(|line| TextHit {
                of: target.result_of(),
                path: file.path.clone(),
                line_number: Some(line.number),
                line_text: line.text,
            }));
        }
        all
    }
}
