//! The mapped scopes: the records of this repository, shared ones and those of this worktree.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::design::default_branch;
use crate::git::{Oid, Repo};
use crate::map_rows;
use crate::map_rows::scope_base::manifest_of;
use crate::model::{Code, Error, RepoPath, Result};
use crate::records;
use crate::repo_map::scope_record::{
    self, ScopeConfig, ScopeRecord, Scopes, UnreadableRecord, WantedRevision,
};
use crate::store::Session;
use crate::store::key;
use crate::store::refs::shared_record;
use crate::store::state::event_log;

use super::page_stats::{self, ScopeStats};

/// The most scopes that the message about an ambiguous word names.
const MAX_NAMED: usize = 10;

/// The owner of a mapping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SystemContext {
    /// The owner of the colony, if the repository has a manifest.
    pub tenant: Option<String>,
    /// The colony, if the repository has a manifest.
    pub colony: Option<String>,
    /// Whether it is shared with every clone; else it belongs to this worktree.
    pub shared: bool,
}

/// One scope in the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Mapping {
    /// The scope.
    pub scope_id: String,
    /// Its owner.
    pub syscontext: SystemContext,
    /// The type of its source.
    pub source_type: String,
    /// The branch it follows.
    pub branch: Option<String>,
    /// Whether it is made from the files of the working tree, committed or not.
    pub worktree: bool,
    /// The commit of the pages here; null if there are none.
    pub mapped_commit: Option<String>,
    /// Whether the revision has moved since; null if there are no pages.
    pub stale: Option<bool>,
}

/// The scopes that are mapped.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScopesReport {
    /// Each, by id; one that is mapped on the default branch and on another one is listed twice.
    pub mappings: Vec<Mapping>,
    /// Their number.
    pub count: usize,
    /// Unreadable records.
    pub unreadable: Vec<UnreadableRecord>,
}

/// One scope.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScopeReport {
    /// The scope.
    pub scope_id: String,
    /// Its owner.
    pub syscontext: SystemContext,
    /// The row that defines it.
    pub row: crate::repo_map::row::SourceRow,
    /// The limits in effect.
    pub config: ScopeConfig,
    /// The revision it follows, by name.
    pub revision: WantedRevision,
    /// The commit it stays at, if its row is static.
    pub frozen: Option<Oid>,
    /// Whether it is made from the files of the working tree, committed or not.
    pub worktree: bool,
    /// When it was first mapped.
    pub created_at: String,
    /// When its mapping last changed.
    pub updated_at: String,
    /// Whether its pages are here.
    pub materialized_locally: bool,
    /// The commit of the pages here; null if there are none.
    pub mapped_commit: Option<String>,
    /// The number of its pages, if they are here.
    pub page_count: Option<u64>,
    /// The number of their records.
    pub tracked_records: Option<u64>,
    /// Whether the revision has moved since the pages were made; unknown without pages.
    pub stale: Option<bool>,
}

/// Whether a scope is mapped.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MappedReport {
    /// The scope.
    pub scope_id: String,
    /// Whether it is, by exactly this id.
    pub mapped: bool,
    /// The scopes that the word stands for in `scopes show` and `scopes unmap`: by the name of the
    /// row, or a prefix of the id.
    pub meant: Vec<String>,
}

/// Returns the statistics of a scope's pages; `None` if there are none, or they cannot be read.
fn page_facts(session: &Session, record: &ScopeRecord) -> Option<ScopeStats> {
    let (_, stats) = page_stats::sizes(session).ok()?;
    stats.into_iter().find(|stats| stats.scope_id == record.scope_id)
}

/// Lists the scopes that are mapped.
pub fn list(session: &Session) -> Result<ScopesReport> {
    records::refresh(session);
    // Without readable pages their state is unknown.
    let stats = page_stats::sizes(session).map(|(_, stats)| stats).unwrap_or_default();
    let facts = |id: &str| stats.iter().find(|stats| stats.scope_id == id);
    let mut mappings = Vec::new();
    let mut unreadable = Vec::new();
    for (scopes, shared) in all(session)? {
        let context = context(session, shared);
        mappings.extend(scopes.records.into_values().map(|record| Mapping {
            syscontext: context.clone(),
            source_type: record.row.kind.name().to_owned(),
            branch: record.wanted.branch,
            worktree: record.worktree,
            mapped_commit: facts(&record.scope_id).map(|facts| facts.commit.clone()),
            stale: facts(&record.scope_id).map(|facts| facts.stale),
            scope_id: record.scope_id,
        }));
        unreadable.extend(scopes.unreadable);
    }
    mappings.sort_by(|a, b| a.scope_id.cmp(&b.scope_id));
    Ok(ScopesReport { count: mappings.len(), mappings, unreadable })
}

/// Returns the ids of mapped scopes and their types, for completion; unreadable ones are left out.
pub(crate) fn mapped_ids(repo: &Repo) -> BTreeMap<String, String> {
    let all = Scopes::all(repo).unwrap_or_default().into_iter();
    let records = all.flat_map(|(scopes, _)| scopes.records.into_values());
    records.map(|record| (record.scope_id, record.row.kind.name().to_owned())).collect()
}

/// Returns the records of this worktree, and the shared ones.
pub(super) fn records(session: &Session) -> Result<Vec<ScopeRecord>> {
    let all = all(session)?.into_iter();
    Ok(all.flat_map(|(scopes, _)| scopes.records.into_values()).collect())
}

/// Returns the names of the sources of mapped scopes, by id: the row, the URL, the path of the submodule.
pub(super) fn sources(session: &Session) -> Result<BTreeMap<String, Vec<String>>> {
    let mut sources: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (scopes, _) in all(session)? {
        for (id, record) in scopes.records {
            let submodule = record.row.submodule.map(|path| path.to_string());
            let urls = [record.wanted.origin_url, record.row.origin_url];
            let names = [Some(record.row.name), submodule].into_iter().chain(urls);
            sources.entry(id).or_default().extend(names.flatten());
        }
    }
    Ok(sources)
}

/// Returns the names of the rows that scopes are of, by id: those of the map at HEAD, and those of mapped scopes. A
/// name that several scopes have is not returned.
pub(crate) fn row_names(session: &Session) -> BTreeMap<String, String> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (scopes, _) in all(session).unwrap_or_default() {
        let records = scopes.records.into_iter();
        names.extend(records.map(|(id, record)| match scope_record::committed(&id) {
            Some(committed) => (committed.to_owned(), record.row.name),
            None => (id, record.row.name),
        }));
    }
    names.extend(map_rows::scopes_of_rows(session, |_| true));
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names.values() {
        *counts.entry(name.clone()).or_default() += 1;
    }
    names.retain(|_, name| counts.get(name) == Some(&1));
    names
}

/// Returns the name of the row that a scope is of, as people see it; the files of the working tree are marked.
pub(crate) fn row_name(names: &BTreeMap<String, String>, scope: &str) -> Option<String> {
    let committed = scope_record::committed(scope);
    let name = names.get(committed.unwrap_or(scope))?;
    Some(committed.map_or_else(|| name.clone(), |_| scope_record::of_worktree(name)))
}

/// Returns the scopes whose pages never leave a resident set: those that this worktree's mapping pins, and
/// the shared ones.
pub(in crate::map) fn pinned(session: &Session) -> Result<BTreeSet<String>> {
    let records = all(session)?.into_iter().flat_map(|(scopes, _)| scopes.records);
    let pinned = records.filter(|(_, record)| record.config.pinned);
    Ok(pinned.map(|(id, _)| id).collect())
}

/// Returns one scope, by its id, the name of its row, or a prefix of the id.
pub fn show(session: &Session, id: &str) -> Result<ScopeReport> {
    records::refresh(session);
    let (record, shared) = find(session, id)?;
    let mapped = page_facts(session, &record);
    let facts = mapped.as_ref();
    Ok(ScopeReport {
        syscontext: context(session, shared),
        materialized_locally: facts.is_some(),
        mapped_commit: facts.map(|facts| facts.commit.clone()),
        page_count: facts.map(|facts| facts.pages),
        tracked_records: facts.map(|facts| facts.records),
        stale: facts.map(|facts| facts.stale),
        scope_id: record.scope_id,
        row: record.row,
        config: record.config,
        revision: record.wanted,
        frozen: record.frozen,
        worktree: record.worktree,
        created_at: record.created_at,
        updated_at: record.updated_at,
    })
}

/// Checks whether a scope is mapped. Only a full id counts, so that a script that asks for a scope
/// gets no answer about another one; the answer adds the scopes that [`show`] would find.
pub fn mapped(session: &Session, id: &str) -> Result<MappedReport> {
    records::refresh(session);
    let ids = Scopes::recorded_ids(&session.repo)?;
    Ok(MappedReport {
        scope_id: id.to_owned(),
        mapped: ids.contains(id),
        meant: meant(session, &ids.iter().map(String::as_str), id),
    })
}

/// Announces that a scope is no longer mapped.
pub(in crate::map) fn announce_unmapped(session: &Session, scope_id: &str) {
    let value = json!({ "scope_id": scope_id });
    event_log::announce(session, format!("unmapped:{scope_id}"), value);
}

/// Returns the records of this worktree, if it has its own, and the shared ones; `true` marks the
/// shared ones.
pub(super) fn all(session: &Session) -> Result<Vec<(Scopes, bool)>> {
    Scopes::all(&session.repo)
}

/// Keeps the ids of scopes that have a record, readable or not; `id` returns that of one. One tree is read for
/// each place of records.
pub(super) fn retain_recorded<T>(
    repo: &Repo,
    scopes: &mut Vec<T>,
    id: impl Fn(&T) -> &str,
) -> Result<()> {
    let mut names = BTreeSet::new();
    for (name, _) in Scopes::places(repo)? {
        names.extend(shared_record::keys(repo, &name, repo.find_ref(&name)?)?.into_keys());
    }
    scopes.retain(|scope| names.contains(&RepoPath::from(key::encode(id(scope)).as_str())));
    Ok(())
}

/// Finds the record in effect on the current branch.
fn find(session: &Session, id: &str) -> Result<(ScopeRecord, bool)> {
    let mut all = all(session)?;
    let default = default_branch::find(&session.repo)?.map(|(name, _)| name);
    if default.is_some_and(|name| session.repo.head().is_ok_and(|head| head.moving_ref() == name)) {
        all.reverse();
    }
    let ids = all.iter().flat_map(|(scopes, _)| scopes.records.keys());
    let meant = meant(session, &ids.map(String::as_str), id);
    let [scope_id] = meant.as_slice() else {
        return Err(not_one(id, &meant));
    };
    let record = all
        .iter_mut()
        .find_map(|(scopes, shared)| Some((scopes.records.remove(scope_id)?, *shared)));
    record.ok_or_else(|| not_one(id, &[]))
}

/// Finds those of some scopes that a word stands for, as [`scope_record::meant`] does with the rows of the map at
/// HEAD.
pub(crate) fn meant<'a>(
    session: &Session,
    ids: &(impl Iterator<Item = &'a str> + Clone),
    word: &str,
) -> Vec<String> {
    scope_record::meant(ids, word, || map_rows::scope_of_row(session, word))
}

/// Makes the error for a word that stands for no scope, or for several.
pub(crate) fn not_one(word: &str, meant: &[String]) -> Error {
    if meant.is_empty() {
        let message = format!("no scope '{word}' is mapped");
        return Error::new(Code::ScopeNotFound, message).hint("git colony map scopes");
    }
    let named: Vec<String> = meant.iter().take(MAX_NAMED).cloned().collect();
    let more = match meant.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message =
        format!("'{word}' may be any of {} scopes: {}{more}", meant.len(), named.join(", "));
    Error::new(Code::NameAmbiguous, message)
        .detail("scopes", meant)
        .hint("git colony map scopes   # then use a full id")
}

fn context(session: &Session, shared: bool) -> SystemContext {
    let commit = session.repo.head().ok().and_then(|head| head.commit());
    // `doctor` reports a manifest that cannot be read.
    let manifest = commit.and_then(|commit| manifest_of(session, commit).ok().flatten());
    let (tenant, colony) = manifest.map(|manifest| (manifest.tenant, manifest.colony)).unzip();
    SystemContext { tenant, colony, shared }
}
