//! `git find`: the lines of this repository that contain a text.

use std::num::NonZero;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::{Code, Error, RepoPath, Result};
use crate::source::globs::Globs;
use crate::store::Session;
use crate::text::line_query::{Case, LineQuery, Reading};
use crate::workspace::query::line_search::{LineSearch, NotSearched, TextLimits};

use super::State;

/// The most files that are searched.
const MAX_FILES: usize = 200_000;

/// The most bytes of a file that is searched.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// The lines to find.
#[derive(Clone, Debug)]
pub struct FindRequest {
    /// The text.
    pub query: String,
    /// How it is read.
    pub reading: Reading,
    /// Whether case matters.
    pub case: Case,
    /// The globs of the files; all files if there is none. A directory stands for the files below it.
    pub globs: Vec<String>,
    /// The name of a state; `None` for the working tree.
    pub revision: Option<String>,
    /// The most lines.
    pub limit: usize,
}

/// A line that was found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FoundText {
    /// Its file.
    pub path: RepoPath,
    /// Its number, from 1.
    pub line_number: usize,
    /// Its text, the part around the match if it is long.
    pub line_text: String,
}

/// The answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FoundLinesReport {
    /// The lines, by path and number.
    pub hits: Vec<FoundText>,
    /// Their number.
    pub count: usize,
    /// Whether there may be more.
    pub truncated: bool,
    /// The commit that was searched; null for the working tree.
    pub at_commit: Option<String>,
    /// The files that were not searched.
    pub files_not_searched: NotSearched,
}

/// Finds lines in the files of a state.
pub fn find(session: &Session, request: &FindRequest) -> Result<FoundLinesReport> {
    let refused = |text: &str, why: &str| {
        let message = format!("cannot search for '{text}': {why}");
        Error::new(Code::InvalidValue, message).unchanged()
    };
    let lines = LineQuery::parse(&request.query, request.reading, request.case)
        .map_err(|why| refused(&request.query, &why))?;
    let parsed = (!request.globs.is_empty()).then(|| Globs::parse(&request.globs)).transpose();
    let globs = parsed.map_err(|fault| {
        let glob = request.globs.get(fault.index).map(String::as_str).unwrap_or_default();
        let message = format!("'{glob}' {}", fault.message);
        Error::new(Code::InvalidValue, message).unchanged()
    })?;
    let state = State::find(session, request.revision.as_deref())?;
    let limits =
        TextLimits { matches: request.limit, files: MAX_FILES, file_bytes: MAX_FILE_BYTES };
    let search = LineSearch { world: state.world, lines: &lines, globs: globs.as_ref(), limits };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let result = search.run(&state.content()?, threads)?;
    let hits: Vec<_> = result
        .hits
        .into_iter()
        .map(|hit| FoundText {
            path: hit.path,
            line_number: hit.line.number,
            line_text: hit.line.text,
        })
        .collect();
    Ok(FoundLinesReport {
        count: hits.len(),
        hits,
        truncated: result.is_cut,
        at_commit: state.commit.map(|commit| commit.to_string()),
        files_not_searched: result.not_searched,
    })
}
