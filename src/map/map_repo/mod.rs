//! `map repo`: maps a repository without a row in the map as a scope of its own.
//!
//! It is read in place, or in its hub, and never changed. The mapping belongs to this worktree: its
//! record is not pushed.

mod find_repository;
mod request;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefName};
use crate::map;
use crate::map_rows::other_repositories::Network;
use crate::map_rows::scope_base::checked;
use crate::model::id::OperationId;
use crate::model::text::shell_word;
use crate::model::{Code, Error, Result, time};
use crate::page::mapping::UnmappedFile;
use crate::repo_map::resolved::{Limits, ResolvedRow, RowPlace};
use crate::repo_map::row::{SourceKind, SourceRow};
use crate::repo_map::scope_record::{ScopeRecord, Scopes};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::refs::ref_names;
use crate::text::tokenizer::Tokenizer;

use super::custom_source::Commands;
use super::map_tree::whole;
use super::mapping::{MapOptions, MapResult, MapStatus, Mapper, ScopeSize};
use find_repository::FoundRepository;

pub use request::{Origin, Request};

/// The result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MapRepoReport {
    /// The status.
    pub status: MapStatus,
    /// Its scope.
    pub scope_id: String,
    /// Its remote, without credentials; else its path.
    pub origin_url: String,
    /// The branch, if known.
    pub branch: Option<String>,
    /// The commit that was mapped.
    pub commit: Oid,
    /// Its pages.
    #[serde(flatten)]
    pub size: ScopeSize,
    /// Files without a record that should have one, whether or not anything has changed: at most a
    /// hundred.
    pub left_out: Vec<UnmappedFile>,
    /// Their total number.
    pub left_out_count: usize,
    /// The operation that recorded the scope; null if it was recorded already, and in a dry run.
    pub op: Option<OperationId>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Maps a repository.
pub fn map(session: &Session, request: &Request) -> Result<MapRepoReport> {
    let repository = match &request.origin {
        Origin::Url(url) => find_repository::at_remote(session, request, url)?,
        Origin::Path(path) => find_repository::in_directory(session, request, path)?,
    };
    let scope_id = request.scope_id.as_deref().unwrap_or(&repository.name);
    let scope_id = checked(scope_id, "--scope-id")?;
    refuse_ours(session, &scope_id)?;
    let row = resolved(session, request, &repository, &scope_id);
    let dry_run = !session.repo.keeps_objects();
    let places = map::places(session, dry_run)?;
    if let (None, Some(places)) = (&request.scope_id, &places) {
        refuse_another(session, places, &repository)?;
    }
    let worktree = map::worktree_name(places.as_ref());
    let how = MapOptions {
        session,
        tokenizer: Tokenizer::named(&session.settings.map.tokenizer),
        network: Network::Offline,
        commands: Commands::Known,
    };
    let result = Mapper::open(how, &worktree)?.map(&row, None)?;
    let mut op = None;
    if let Some(places) = places.filter(|_| !dry_run) {
        let now = time::rfc3339(&session.world.now());
        let record = ScopeRecord {
            place: place_of(&repository),
            ..ScopeRecord::of(&written(request, &row), &row, &now)
        };
        op = map::record_own(session, &places, record)?.op;
    }
    Ok(MapRepoReport { op, ..report(repository, result, dry_run) })
}

fn report(repository: FoundRepository, result: MapResult, dry_run: bool) -> MapRepoReport {
    MapRepoReport {
        status: result.status,
        scope_id: result.scope_id,
        origin_url: repository.origin_url,
        branch: repository.branch,
        commit: repository.commit,
        size: result.size,
        left_out: result.left_out,
        left_out_count: result.left_out_count,
        op: None,
        dry_run,
    }
}

/// A scope in the map of this repository is mapped by its row.
pub(super) fn refuse_ours(session: &Session, scope_id: &str) -> Result<()> {
    let shared = Scopes::load(&session.repo, &RefName::from(ref_names::SCOPES))?;
    if !shared.records.contains_key(scope_id) {
        return Ok(());
    }
    let message = format!("'{scope_id}' is a scope of the map of this repository");
    Err(Error::new(Code::InvalidValue, message)
        .unchanged()
        .hint("git colony map   # maps it; --scope-id gives another name"))
}

/// Two clones of one repository have the same name: the second must not silently replace the first.
/// A user who names the scope intends that, and a clone that is gone does not count.
fn refuse_another(session: &Session, places: &Places, repository: &FoundRepository) -> Result<()> {
    let own = Scopes::load(&session.repo, &ref_names::local_scopes(&places.key))?;
    let Some(known) = own.records.get(&repository.name) else {
        return Ok(());
    };
    let is_gone = |place: &String| !Path::new(place).exists();
    if known.place == place_of(repository) || known.place.as_ref().is_some_and(is_gone) {
        return Ok(());
    }
    let name = &repository.name;
    let url = known.wanted.origin_url.as_ref();
    let from = known.place.as_ref().or(url).unwrap_or(name);
    let message = format!("'{name}' is mapped from '{from}' already");
    let (option, place) = match &repository.directory {
        Some(directory) => ("--path", directory.display().to_string()),
        None => ("--url", repository.origin_url.clone()),
    };
    let last = place.trim_end_matches('/').rsplit('/').next();
    let [place, id] = [&place, last.unwrap_or(name)].map(shell_word);
    Err(Error::new(Code::InvalidValue, message)
        .unchanged()
        .detail("scope_id", name)
        .detail("mapped_from", from)
        .hint(format!(
            "git colony map repo {option} {place} --scope-id {id}   # a scope of its own"
        )))
}

/// Returns the form in which a record stores the given local repository.
fn place_of(repository: &FoundRepository) -> Option<String> {
    let directory = repository.directory.as_ref();
    directory.map(|_| repository.place.display().to_string())
}

fn resolved(
    session: &Session,
    request: &Request,
    repository: &FoundRepository,
    scope_id: &str,
) -> ResolvedRow {
    let usual = whole(&session.settings.map, repository.commit);
    ResolvedRow {
        name: scope_id.to_owned(),
        scope_id: scope_id.to_owned(),
        origin_url: Some(repository.origin_url.clone()),
        branch: repository.branch.clone(),
        place: RowPlace::Hub(repository.place.clone()),
        limits: Limits {
            records: request.flush_threshold.unwrap_or(usual.limits.records),
            tokens: request.flush_token_budget.unwrap_or(usual.limits.tokens),
        },
        pinned: request.pinned || usual.pinned,
        ..usual
    }
}

/// Returns the row as a map would contain it.
fn written(request: &Request, row: &ResolvedRow) -> SourceRow {
    SourceRow {
        origin_url: row.origin_url.clone(),
        branch: request.branch.clone(),
        commit: request.commit.clone(),
        flush_threshold: request.flush_threshold,
        flush_token_budget: request.flush_token_budget,
        pinned: request.pinned.then_some(true),
        ..SourceRow::new(&row.name, SourceKind::GitRepo)
    }
}
