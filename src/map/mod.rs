//! `map`: resolves the rows of the repo map and makes pages of them; a failure stops no other row.

mod custom_source;
pub mod kept_files;
pub mod map_blackboard;
pub mod map_check;
pub mod map_diff;
pub mod map_in_memory;
mod map_overlaps;
pub mod map_preview;
pub mod map_repo;
pub mod map_retired;
pub mod map_show;
mod map_taken;
pub mod map_tree;
pub mod map_worktree;
pub mod mapping;
pub mod pages;
pub mod residency;
mod row_faults;

use schemars::JsonSchema;
use serde::Serialize;

use crate::design::checkpoint::left_out::LeftOut;
use crate::git::Oid;
use crate::knowledge::{self, RoutedReport, Rules};
use crate::map_rows::other_repositories::Network;
use crate::map_rows::{self, Request, Rows, follows};
use crate::model::id::OperationId;
use crate::model::{Code, Error, Result, time};
use crate::repo_map::resolved::RowOutcome;
use crate::repo_map::scope_record::ScopeRecord;
use crate::repo_map::scope_writing::{self, Change, RecordChanges, Recorded};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lock::WorktreeLock;
use crate::store::operation::Kind;
use crate::store::refs::ref_names;
use crate::text::tokenizer::Tokenizer;

use custom_source::Commands;
use map_retired::{RetiredScope, Retirement};
use map_taken::OthersScopes;
use mapping::{MapOptions, MapResult, Mapper};

/// The result of `map`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the published answer")]
pub struct MapReport {
    /// The commit that was mapped.
    pub commit: Oid,
    /// The branch, unless HEAD is detached.
    pub branch: Option<String>,
    /// The repository that was mapped by its own map, if it was named by its URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin_url: Option<String>,
    /// One result for each requested row, in the order of the map.
    pub results: Vec<MapResult>,
    /// The number of results.
    pub count: usize,
    /// Scopes of this worktree without a row in the map: their pages are deleted, or would be.
    pub retired: Vec<RetiredScope>,
    /// The documents that the map routes to the knowledge base: those that were ingested, retired or left out. Not with
    /// a part of the rows, another state than HEAD, or '--no-ingest'.
    #[serde(flatten)]
    pub knowledge: RoutedReport,
    /// Whether the map exists only in the working tree: the commit has none, and its whole tree is
    /// one source.
    pub map_uncommitted: bool,
    /// Whether the file on disk differs from that of HEAD, which is used.
    pub map_edited: bool,
    /// Whether the record of the mapped scopes changed.
    pub recorded: bool,
    /// The operation that changed records; null if none had to change, for the working tree, and in a dry run.
    pub op: Option<OperationId>,
    /// Whether the files of the working tree were mapped, which may differ from the commit.
    pub worktree: bool,
    /// New files of the working tree that are in no scope, as they are in no checkpoint.
    pub left_out: Vec<LeftOut>,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// Maps the rows.
pub fn map(session: &Session, request: &Request) -> Result<MapReport> {
    let mut rows = map_rows::resolve(session, request)?;
    let dry_run = !session.repo.keeps_objects();
    let places = places(session, dry_run)?;
    let worktree = worktree_name(places.as_ref());
    let how = MapOptions {
        session,
        tokenizer: Tokenizer::named(&rows.settings.tokenizer),
        network: request.network,
        commands: Commands::Run,
    };
    let taken = OthersScopes::by_others(session, request, &rows)?;
    // The rows are used up by mapping them.
    let rules = request.routes().then(|| Rules::of(session, &rows));
    let (mut results, changes) = map_each(how, request, &mut rows, &taken, &worktree)?;
    let mapped: Vec<String> = results.iter().map(|row| row.scope_id.clone()).collect();
    let retirement = Retirement::plan(session, request, &rows, &mapped)?;
    let recorded = record(session, &rows, places.as_ref(), changes, &retirement)?;
    for result in &mut results {
        result.note_record(&recorded.scopes);
    }
    let retired = retirement.carry_out(session)?;
    let knowledge = match rules {
        Some(rules) => knowledge::ingest_routed(session, &rows, rules, request.network)?,
        None => RoutedReport::default(),
    };
    Ok(MapReport {
        retired,
        knowledge,
        map_uncommitted: request.is_uncommitted(session)?,
        map_edited: request.is_edited(session)?,
        origin_url: rows.map_of.clone(),
        commit: rows.commit,
        branch: rows.branch.clone(),
        count: results.len(),
        results,
        recorded: !dry_run && !recorded.scopes.is_empty(),
        op: recorded.op,
        worktree: false,
        left_out: Vec::new(),
        dry_run,
    })
}

/// Maps the rows, which are used up, and returns the results and the changes of their records.
fn map_each(
    how: MapOptions<'_>,
    request: &Request,
    rows: &mut Rows,
    taken: &OthersScopes,
    worktree: &str,
) -> Result<(Vec<MapResult>, Vec<Change>)> {
    let session = how.session;
    let mut mapper = Mapper::open(how, worktree)?;
    let (mut results, mut changes) = (Vec::new(), Vec::new());
    let now = time::rfc3339(&session.world.now());
    for outcome in std::mem::take(&mut rows.outcomes) {
        let RowOutcome { row, scope_id, resolved } = outcome;
        let mapped = resolved.and_then(|resolved| {
            taken.refuse(&scope_id)?;
            let result = mapper.map(&resolved, follows(request, &row, &resolved).as_deref())?;
            let record = ScopeRecord {
                map_of: rows.map_of.clone(),
                ..ScopeRecord::of(&row, &resolved, &now)
            };
            changes.push(Change::Put(Box::new(record)));
            Ok(result)
        });
        match mapped {
            Err(error) if error.code() == Code::Interrupted => return Err(error),
            Err(error) if is_for_later(session, request, &error) => {
                results.push(MapResult::skipped(&row.name, &scope_id, &error.message()));
            }
            Err(error) => results.push(MapResult::failed(&row.name, &scope_id, &error)),
            Ok(result) => results.push(result),
        }
    }
    Ok((results, changes))
}

/// Returns `true` if a row cannot be read only because this is a dry run.
fn is_for_later(session: &Session, request: &Request, error: &Error) -> bool {
    let is_later = match error.code() {
        Code::Offline => request.network == Network::Used,
        code => code == Code::SourceNotRun,
    };
    is_later && !session.repo.keeps_objects()
}

/// Returns the name under which pages are stored; empty in a worktree without places.
pub(super) fn worktree_name(places: Option<&Places>) -> String {
    places.map_or_else(String::new, |places| places.key.to_string())
}

/// Returns the places of the worktree, which the first use creates. A dry run has none then.
pub(super) fn places(session: &Session, dry_run: bool) -> Result<Option<Places>> {
    if let Some(places) = Places::find(&session.repo)? {
        return Ok(Some(places));
    }
    if dry_run {
        return Ok(None);
    }
    let _lock = WorktreeLock::take(&session.world, &session.repo, session.wait_limit())?;
    Places::require(&session.repo, &session.world).map(Some)
}

/// Records the mapped scopes and those without a row, if they have changed.
fn record(
    session: &Session,
    rows: &Rows,
    places: Option<&Places>,
    changes: Vec<Change>,
    retirement: &Retirement,
) -> Result<Recorded> {
    let own = places.map(|places| ref_names::local_scopes(&places.key));
    let name = rows.records.clone().or(own);
    if !session.repo.keeps_objects() {
        return scope_writing::outlook(session, name.as_ref(), &changes);
    }
    let Some(name) = name else {
        return Ok(Recorded::default());
    };
    let mut records = vec![RecordChanges { name, changes }];
    match (&retirement.records, records.first_mut()) {
        (Some(gone), Some(first)) if gone.name == first.name => {
            first.changes.extend(gone.changes.iter().cloned());
        }
        (gone, _) => records.extend(gone.clone()),
    }
    scope_writing::record(session, Kind::Map, &records)
}

/// Records the only scope of a command in this worktree.
fn record_own(session: &Session, places: &Places, record: ScopeRecord) -> Result<Recorded> {
    let records = RecordChanges {
        name: ref_names::local_scopes(&places.key),
        changes: vec![Change::Put(Box::new(record))],
    };
    scope_writing::record(session, Kind::Map, &[records])
}
