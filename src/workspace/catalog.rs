//! The catalog of a workspace: its repositories as they are now, or as they were when it was refreshed last.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Checkout;
use crate::model::time::rfc3339;
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::session::refuse_reading_checkout;
use crate::store::yaml_problem::{YamlProblem, in_order};
use crate::workspace::checkout::catalog::load::{self, Loaded};
use crate::workspace::checkout::catalog::manifest::Manifest;
use crate::workspace::checkout::catalog::resolve::{LastKnown, Workspace, resolve};
use crate::workspace::checkout::catalog::{AccessMode, CatalogRepository};
use crate::workspace::checkout::root_files::RootFiles;

use super::kept_answer::Kept;

/// The catalog as it was resolved last.
pub(super) const SNAPSHOT: Kept = Kept { name: "repo_catalog_snapshot.json", max_bytes: 16 << 20 };

/// The repositories of a catalog.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogReport {
    /// The format of the file.
    pub schema_version: u32,
    /// The file.
    pub manifest_path: RepoPath,
    /// The repository that is meant first: the declared one, else the workspace.
    pub primary_repository_id: String,
    /// Its root, if it is on this machine.
    pub primary_resolved_root: Option<RepoPath>,
    /// The repositories, in the order of the file.
    pub repositories: Vec<CatalogRepository>,
    /// Their number.
    pub count: usize,
    /// When they were resolved.
    pub resolved_at: String,
    /// A digest of the file as it was then.
    pub manifest_digest: String,
    /// Whether this is the answer of the last refresh.
    pub cached: bool,
    /// Whether the file has changed since.
    pub stale: bool,
    /// Where the answer was written, by a refresh.
    pub snapshot_path: Option<RepoPath>,
}

/// The state of a catalog to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogState {
    /// As its repositories are now.
    Now,
    /// As they were when it was refreshed last.
    Cached,
}

/// Lists the repositories.
pub fn list(workspace: Workspace<'_>, state: CatalogState) -> Result<CatalogReport> {
    let Workspace { world, checkout, .. } = workspace;
    let (loaded, manifest) = load::require(files(world, checkout))?;
    let digest = digest_of(&loaded.text);
    let snapshot = snapshot(workspace);
    match (state, snapshot) {
        (CatalogState::Cached, Some(snapshot)) => Ok(CatalogReport {
            cached: true,
            stale: snapshot.manifest_digest != digest,
            ..snapshot
        }),
        (CatalogState::Cached, None) => {
            let message = "the catalog has not been refreshed here yet";
            Err(Error::new(Code::CatalogMissing, message).hint("git colony catalog refresh"))
        }
        (CatalogState::Now, snapshot) => {
            let mut report = resolved(workspace, &loaded, &manifest)?;
            if let Some(snapshot) = snapshot {
                report.recall(&snapshot);
            }
            Ok(report)
        }
    }
}

/// Resolves the repositories and keeps the answer for [`CatalogState::Cached`].
pub fn refresh(workspace: Workspace<'_>) -> Result<CatalogReport> {
    let Workspace { world, checkout, .. } = workspace;
    refuse_reading_checkout(checkout)?;
    let (loaded, manifest) = load::require(files(world, checkout))?;
    let mut report = resolved(workspace, &loaded, &manifest)?;
    let place = SNAPSHOT.place(world, checkout)?;
    report.snapshot_path = Some(place.path());
    place.write(&report)?;
    Ok(report)
}

/// Returns the reader of the files at the root of a checkout.
pub(crate) fn files<'a>(world: &'a World, checkout: &'a Checkout) -> RootFiles<'a> {
    RootFiles { root: &checkout.root, interrupt: &world.interrupt }
}

fn resolved(
    workspace: Workspace<'_>,
    loaded: &Loaded,
    manifest: &Manifest,
) -> Result<CatalogReport> {
    let Workspace { world, checkout, .. } = workspace;
    let repositories = resolve(workspace, manifest)?;
    let declared = manifest.primary_repository_id.clone();
    let primary = declared.unwrap_or_else(|| checkout.repository_id());
    let is_primary =
        |repository: &&CatalogRepository| repository.is_here() && repository.has_id(&primary);
    let root = repositories.iter().find(is_primary);
    Ok(CatalogReport {
        schema_version: 1,
        manifest_path: RepoPath::from(&*loaded.full_path),
        primary_resolved_root: root.and_then(|primary_row| primary_row.resolved_root.clone()),
        primary_repository_id: primary,
        count: repositories.len(),
        repositories,
        resolved_at: rfc3339(&world.now()),
        manifest_digest: digest_of(&loaded.text),
        cached: false,
        stale: false,
        snapshot_path: None,
    })
}

fn digest_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Reads the answer of the last refresh, as far as it may be reached now: the user may have refreshed it, and an agent
/// asks. One that cannot be read counts as absent.
fn snapshot(workspace: Workspace<'_>) -> Option<CatalogReport> {
    let Workspace { world, checkout, .. } = workspace;
    let mut report = SNAPSHOT.read::<CatalogReport>(world, checkout)?;
    let reaches = |root: &RepoPath| {
        let root = root.as_path();
        workspace.reaches(root.canonicalize().as_deref().unwrap_or(root))
    };
    let is_reached = |repository: &CatalogRepository| {
        let known = repository.last_known.as_ref();
        let recalled = known.and_then(|known| known.resolved_root.as_ref());
        let mut roots = [repository.resolved_root.as_ref(), recalled].into_iter().flatten();
        roots.all(reaches)
    };
    let known = report.repositories.into_iter().map(|repository| {
        if is_reached(&repository) { repository } else { repository.out_of_reach() }
    });
    report.repositories = known.collect();
    report.primary_resolved_root = report.primary_resolved_root.filter(reaches);
    Some(report)
}

impl CatalogReport {
    /// Adds to repositories that cannot be resolved what they were at the last refresh.
    fn recall(&mut self, snapshot: &CatalogReport) {
        let lost = |repository: &&mut CatalogRepository| {
            repository.access.access_mode == AccessMode::Local
                && !repository.is_here()
                && repository.access.root_path.is_some()
        };
        for repository in self.repositories.iter_mut().filter(lost) {
            let known = snapshot.repositories.iter().find(|known| {
                known.is_here() && known.access.root_path == repository.access.root_path
            });
            repository.last_known = known.map(|known| LastKnown {
                repository_id: known.repository_id.clone(),
                resolved_root: known.resolved_root.clone(),
                origin_url: known.access.origin_url.clone(),
                resolved_at: snapshot.resolved_at.clone(),
            });
        }
    }
}

/// The problems of a catalog.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CatalogCheckReport {
    /// The file.
    pub manifest_path: RepoPath,
    /// The number of repositories; null if the file cannot be used.
    pub repositories: Option<usize>,
    /// The problems, in the order of the file.
    pub problems: Vec<YamlProblem>,
    /// Their number.
    pub count: usize,
}

/// Reports every problem of the file, and each repository that cannot be resolved.
pub fn check(workspace: Workspace<'_>) -> Result<CatalogCheckReport> {
    let Workspace { world, checkout, .. } = workspace;
    let files = files(world, checkout);
    let loaded = match load::find(files) {
        Some(loaded) => loaded,
        None => load::require(files)?.0,
    };
    let (repositories, problems) = match &loaded.read {
        Err(problems) => (None, problems.clone()),
        Ok(manifest) => {
            let report = resolved(workspace, &loaded, manifest)?;
            (Some(report.count), problems_of(&report, manifest))
        }
    };
    Ok(CatalogCheckReport {
        manifest_path: RepoPath::from(&*loaded.full_path),
        repositories,
        count: problems.len(),
        problems,
    })
}

fn problems_of(report: &CatalogReport, manifest: &Manifest) -> Vec<YamlProblem> {
    let mut problems = Vec::new();
    let rows = report.repositories.iter().zip(&manifest.repositories);
    for (repository, row) in rows {
        let error = repository.resolution_error.iter();
        problems.extend(error.map(|error| YamlProblem::at(row.at, error)));
        if repository.repository_id_mismatch == Some(true) {
            let id = repository.repository_id.as_deref().unwrap_or_default();
            let message = format!(
                "'repository_id' is '{}', and the checkout is '{id}'",
                row.repository_id.as_deref().unwrap_or_default()
            );
            problems.push(YamlProblem::at(row.at, message));
        }
    }
    let primary = manifest.primary_repository_id.as_deref();
    let is_known = |id: &str| report.repositories.iter().any(|listed| listed.has_id(id));
    if let Some(primary) = primary.filter(|primary| !is_known(primary)) {
        let message = format!("'primary_repository_id' is '{primary}', the id of no repository");
        let at = manifest.primary_at.map(|at| YamlProblem::at(at, &message));
        problems.push(at.unwrap_or_else(|| YamlProblem::of_file(message)));
    }
    in_order(problems)
}
