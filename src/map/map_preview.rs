//! Previews `map`, row by row, with every argument in effect. Nothing is fetched or written.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::map_rows::{self, Request};
use crate::model::{Error, RepoPath, Result};
use crate::repo_map::resolved::{ResolvedRow, RowOutcome};
use crate::repo_map::row::SourceKind;
use crate::source::selection::BinaryPolicy;
use crate::store::Session;

/// The resolved rows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PreviewReport {
    /// The beginning of scope ids.
    pub base_scope_id: String,
    /// The remote of the repository, without credentials.
    pub origin_url: Option<String>,
    /// The branch that is mapped.
    pub branch: Option<String>,
    /// The commit that is mapped.
    pub commit: Oid,
    /// Each row, in the order of the map.
    pub rows: Vec<PreviewRow>,
    /// The number of rows.
    pub count: usize,
    /// Whether the map exists only on disk: HEAD has none, and its whole tree is one source.
    pub map_uncommitted: bool,
    /// Whether the file on disk differs from that of HEAD, which is used.
    pub map_edited: bool,
}

/// One row.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PreviewRow {
    /// Its name.
    pub name: String,
    /// The scope that it becomes.
    pub scope_id: String,
    /// The arguments it is mapped with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mmap_kwargs: Option<MapArguments>,
    /// Why it cannot be mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The code of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// The next command to try, if it cannot be mapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Every argument of a row; `None` if it has no meaning for the type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MapArguments {
    /// The scope.
    pub scope_id: String,
    /// The type of the source.
    pub source_type: SourceKind,
    /// The repository, without credentials.
    pub origin_url: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Oid,
    /// The directory; empty for the root.
    pub start_dir: RepoPath,
    /// The files that are included; `None` includes everything.
    pub include_globs: Option<Vec<String>>,
    /// The files that are excluded.
    pub exclude_globs: Vec<String>,
    /// The treatment of files that are not text.
    pub binary_policy: BinaryPolicy,
    /// Whether it stays at this commit.
    #[serde(rename = "static")]
    pub is_static: bool,
    /// The target size of a chunk of prose, in tokens.
    pub chunk_target_tokens: Option<u32>,
    /// The tokens that two adjacent chunks share.
    pub chunk_overlap_tokens: Option<u32>,
    /// The maximum number of records in a page.
    pub flush_threshold: u32,
    /// The maximum number of tokens in a page.
    pub flush_token_budget: u32,
    /// Whether its pages are never evicted.
    pub pinned: bool,
    /// How tokens are counted.
    pub tokenizer: String,
    /// Whether `.gitignore` files of the tree count.
    pub gitignore: bool,
}

/// Returns the rows as they would be mapped.
pub fn preview(session: &Session, request: &Request) -> Result<PreviewReport> {
    let resolved = map_rows::resolve(session, request)?;
    let tokenizer = &resolved.settings.tokenizer;
    let rows: Vec<_> =
        resolved.outcomes.into_iter().map(|outcome| row(outcome, tokenizer)).collect();
    Ok(PreviewReport {
        base_scope_id: resolved.base,
        origin_url: resolved.origin_url,
        branch: resolved.branch,
        commit: resolved.commit,
        count: rows.len(),
        rows,
        map_uncommitted: request.is_uncommitted(session)?,
        map_edited: request.is_edited(session)?,
    })
}

fn row(outcome: RowOutcome, tokenizer: &str) -> PreviewRow {
    let (arguments, error) = match outcome.resolved {
        Ok(row) => (Some(arguments(row, tokenizer)), None),
        Err(error) => (None, Some(error)),
    };
    PreviewRow {
        name: outcome.row.name,
        scope_id: outcome.scope_id,
        mmap_kwargs: arguments,
        code: error.as_ref().map(|error| error.code().as_str()),
        hint: error.as_ref().and_then(Error::hint_text).map(str::to_owned),
        error: error.map(|error| error.message()),
    }
}

fn arguments(row: ResolvedRow, tokenizer: &str) -> MapArguments {
    let prose = row.kind == SourceKind::Literature;
    let selection = row.selection;
    MapArguments {
        scope_id: row.scope_id,
        source_type: row.kind,
        origin_url: row.origin_url,
        branch: row.branch,
        commit: row.commit,
        start_dir: row.custom.map_or(selection.start_dir, |custom| custom.start_dir),
        include_globs: selection.include.map(|globs| globs.texts().to_vec()),
        exclude_globs: selection.exclude.texts().to_vec(),
        binary_policy: selection.binary,
        is_static: row.frozen,
        chunk_target_tokens: prose.then_some(row.chunk.target),
        chunk_overlap_tokens: prose.then_some(row.chunk.overlap),
        flush_threshold: row.limits.records,
        flush_token_budget: row.limits.tokens,
        pinned: row.pinned,
        tokenizer: tokenizer.to_owned(),
        gitignore: selection.gitignore,
    }
}
