//! Queries over the repositories of a catalog; without a catalog, of this one. Each answer says which repositories were
//! asked, which were not and why, and when. Reads only; paths stay those of their repository. One that is elsewhere is
//! answered from its mirror on this machine.

pub(in crate::workspace) mod line_search;
pub mod mirror;
pub mod query_file;
pub mod query_indexed;
pub mod query_list;
pub mod query_log;
pub mod query_text;
pub(in crate::workspace) mod target;

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::time::{Moment, rfc3339};
use crate::model::world::Plane;
use crate::model::{Code, RepoPath, Result, World};
use crate::workspace::checkout::catalog::load;
use crate::workspace::checkout::catalog::manifest::Manifest;
use crate::workspace::checkout::catalog::resolve::{Workspace, resolve};
use crate::workspace::checkout::catalog::{AccessMode, Capability, CatalogRepository};

use super::catalog::files;
use super::catalog_edit::not_in_catalog;
use mirror::Fetching;
use target::Target;

/// What every query has.
#[derive(Clone, Debug, Default)]
pub struct QueryRequest {
    /// The ids, names or paths of the repositories to ask; all if there is none.
    pub repositories: Vec<String>,
    /// The conversation that the query is part of.
    pub conversation_id: Option<String>,
    /// The revision to ask; without one the working tree, or in a mirror the revision of its row.
    pub revision: Option<String>,
    /// Whether mirrors are fetched first.
    pub fetching: Fetching,
}

/// The kind of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum QueryKind {
    /// Lines that match.
    #[serde(rename = "query_text")]
    Text,
    /// Passages that the search index finds.
    #[serde(rename = "query_text_indexed")]
    Indexed,
    /// A file.
    #[serde(rename = "query_file")]
    File,
    /// The paths of files.
    #[serde(rename = "query_list")]
    List,
    /// Commits.
    #[serde(rename = "query_log")]
    Log,
}

impl QueryKind {
    fn backend(self, targets: &[Target]) -> QueryBackend {
        let is_of_commits = |target: &Target| target.commit().is_some();
        match self {
            QueryKind::Log => QueryBackend::GitLog,
            QueryKind::Indexed => QueryBackend::SearchIndex,
            _ if !targets.is_empty() && targets.iter().all(is_of_commits) => QueryBackend::Commit,
            _ => QueryBackend::WorkingTree,
        }
    }

    /// Returns what a repository has to allow.
    fn capability(self) -> Capability {
        match self {
            QueryKind::Text | QueryKind::Indexed => Capability::TextSearch,
            QueryKind::File => Capability::ReadFile,
            QueryKind::List => Capability::ListFiles,
            QueryKind::Log => Capability::HistorySearch,
        }
    }
}

/// What answers a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueryBackend {
    /// The files of working trees; of a repository without a checkout those of a commit.
    WorkingTree,
    /// The files of commits alone.
    Commit,
    /// The indexes of 'git colony search'.
    SearchIndex,
    /// The history that git shows.
    GitLog,
}

/// Who asked what, and when.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trace {
    /// A name for this query.
    pub trace_id: String,
    /// The same for all that belongs to it.
    pub correlation_id: String,
    /// The conversation that it is part of.
    pub conversation_id: Option<String>,
    /// The id of the workspace.
    pub workspace_repository_id: String,
    /// The ids of the repositories that were asked.
    pub target_repository_ids: Vec<String>,
    /// Where it comes from.
    pub source_plane: Plane,
    /// What answered it.
    pub query_backend: QueryBackend,
    /// Its kind.
    pub query_kind: QueryKind,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub completed_at: String,
    /// The time between, in milliseconds.
    pub latency_ms: u64,
}

/// A repository that was not asked, or could not answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Skipped {
    /// Its name.
    pub display_name: String,
    /// Its id, if it is known.
    pub repository_id: Option<String>,
    /// How it is reached.
    pub access_mode: AccessMode,
    /// Why.
    pub reason: String,
}

/// What every answer has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answered {
    /// Who asked what, and when.
    pub trace: Trace,
    /// The number of repositories that were meant.
    pub repositories_considered: usize,
    /// The number of those that were asked.
    pub repositories_queried: usize,
    /// The number of results.
    pub result_count: usize,
    /// Whether a limit has cut the answer.
    pub truncated: bool,
    /// The repositories that were not asked, or could not answer.
    pub skipped: Vec<Skipped>,
}

/// The repository of a result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResultOf {
    /// Its id.
    pub repository_id: Option<String>,
    /// Its name.
    pub display_name: String,
    /// Its root; null for a mirror.
    pub root: Option<RepoPath>,
    /// The commit that was asked; null for a working tree.
    pub at_commit: Option<String>,
}

/// A query that is being answered.
pub(super) struct Query<'a> {
    world: &'a World,
    started: Moment,
    trace: Trace,
    considered: usize,
    targets: Vec<Target>,
    skipped: Vec<Skipped>,
}

impl<'a> Query<'a> {
    /// Chooses the repositories to ask.
    fn begin(workspace: Workspace<'a>, asked: &QueryRequest, kind: QueryKind) -> Result<Query<'a>> {
        let world = workspace.world;
        let started = world.now();
        let known = repositories(workspace)?;
        for name in &asked.repositories {
            if !known.iter().any(|repository| repository.is_called(name)) {
                return Err(not_in_catalog(name));
            }
        }
        let is_meant = |repository: &CatalogRepository| {
            let mut names = asked.repositories.iter();
            asked.repositories.is_empty() || names.any(|name| repository.is_called(name))
        };
        let id = world.nonce8() + &world.nonce8();
        let mut query = Query {
            world,
            started,
            trace: Trace {
                trace_id: format!("query-{id}"),
                correlation_id: format!("query-{id}"),
                conversation_id: asked.conversation_id.clone(),
                workspace_repository_id: workspace.checkout.repository_id(),
                target_repository_ids: Vec::new(),
                source_plane: world.plane,
                query_backend: kind.backend(&[]),
                query_kind: kind,
                started_at: rfc3339(&started),
                completed_at: rfc3339(&started),
                latency_ms: 0,
            },
            considered: 0,
            targets: Vec::new(),
            skipped: Vec::new(),
        };
        for repository in known.into_iter().filter(is_meant) {
            query.considered += 1;
            if let Some(reason) = refusal(&repository, kind.capability()) {
                query.skip(&repository, reason);
                continue;
            }
            world.interrupt.check()?;
            match Target::find(world, &repository, asked) {
                Ok(target) => query.targets.push(target),
                Err(error) if error.code() == Code::Interrupted => return Err(error),
                Err(error) => query.skip(&repository, error.message()),
            }
        }
        query.trace.query_backend = kind.backend(&query.targets);
        let ids = query.targets.iter().filter_map(|target| target.repository.repository_id.clone());
        query.trace.target_repository_ids = ids.collect();
        Ok(query)
    }

    fn skip(&mut self, repository: &CatalogRepository, reason: impl Into<String>) {
        self.skipped.push(Skipped {
            display_name: repository.display_name.clone(),
            repository_id: repository.repository_id.clone(),
            access_mode: repository.access.access_mode,
            reason: reason.into(),
        });
    }

    /// Asks each repository, in order; one that cannot answer is skipped, with the reason.
    fn each<T>(&mut self, mut ask: impl FnMut(&Target) -> Result<T>) -> Result<Vec<T>> {
        let (mut answers, mut queried) = (Vec::new(), Vec::new());
        for target in std::mem::take(&mut self.targets) {
            self.world.interrupt.check()?;
            match ask(&target) {
                Ok(answer) => {
                    answers.push(answer);
                    queried.push(target);
                }
                Err(error) if error.code() == Code::Interrupted => return Err(error),
                Err(error) => self.skip(&target.repository, error.message()),
            }
        }
        self.targets = queried;
        Ok(answers)
    }

    /// Ends the query.
    fn end(mut self, result_count: usize, truncated: bool) -> Answered {
        let now = self.world.now();
        let latency = now.signed_duration_since(self.started).num_milliseconds();
        self.trace.completed_at = rfc3339(&now);
        self.trace.latency_ms = u64::try_from(latency).unwrap_or(0);
        Answered {
            trace: self.trace,
            repositories_considered: self.considered,
            repositories_queried: self.targets.len(),
            result_count,
            truncated,
            skipped: self.skipped,
        }
    }
}

/// Returns the repositories of the catalog; without one, this alone.
fn repositories(workspace: Workspace<'_>) -> Result<Vec<CatalogRepository>> {
    let manifest = match load::find(files(workspace.world, workspace.checkout)) {
        Some(loaded) => loaded.manifest()?,
        None => Manifest::of_workspace(),
    };
    resolve(workspace, &manifest)
}

/// Says why a repository is not asked.
fn refusal(repository: &CatalogRepository, capability: Capability) -> Option<String> {
    match repository.access.access_mode {
        AccessMode::Local => {
            if let Some(error) = &repository.resolution_error {
                return Some(error.clone());
            }
        }
        AccessMode::RemoteGitHost => {}
        AccessMode::RemoteMcp | AccessMode::RemoteSearchService => {
            let mode = repository.access.access_mode.as_str();
            return Some(format!(
                "it is elsewhere ({mode}), and queries ask checkouts and mirrors on this machine"
            ));
        }
    }
    let has = repository.access.capabilities.contains(&capability);
    (!has).then(|| format!("its row does not have the capability '{}'", capability.as_str()))
}
