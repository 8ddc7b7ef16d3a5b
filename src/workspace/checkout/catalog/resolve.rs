//! Resolves the rows of a catalog: which checkout each one is, on this machine and now.
//!
//! A local row is the root of a repository that git opens for this user: not a directory in one, not a repository of
//! another user. Only below a workspace without git it may be a directory without git. A relative path stays below
//! the root of the workspace, also by way of symlinks; an absolute path may lead anywhere.

use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Checkout;
use crate::model::{RepoPath, Result, World};

use super::manifest::Manifest;
use super::row::{Access, AccessMode, ManifestRow};

/// How the resolution of a row ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionStatus {
    /// It is this checkout.
    ResolvedLocal,
    /// The row names no path.
    LocalMissingRootPath,
    /// Nothing exists at the path.
    LocalMissing,
    /// A directory exists at the path, and is not the root of a repository.
    LocalNotARoot,
    /// The path cannot be used, or the repository cannot be opened.
    LocalResolutionFailed,
    /// It is elsewhere.
    CatalogOnlyRemote,
    /// It is elsewhere, and the row declares no id.
    RemoteMissingRepositoryId,
}

/// A repository of the catalog.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CatalogRepository {
    /// Its id: as found, else as declared.
    pub repository_id: Option<String>,
    /// The id that the row declares.
    pub declared_repository_id: Option<String>,
    /// Whether both exist and differ; null if the row declares none or nothing was found.
    pub repository_id_mismatch: Option<bool>,
    /// Its name.
    pub display_name: String,
    /// Where it is, and how it is reached.
    #[serde(flatten)]
    pub access: Access,
    /// Its root on this machine.
    pub resolved_root: Option<RepoPath>,
    /// The root of git's working tree; null without git, and in a bare repository.
    pub git_root: Option<RepoPath>,
    /// How the resolution ended.
    pub resolution_status: ResolutionStatus,
    /// Why it has no root or id.
    pub resolution_error: Option<String>,
    /// What it was when the catalog was refreshed last, if it cannot be resolved now.
    pub last_known: Option<LastKnown>,
    /// The line of the row.
    pub line: usize,
}

/// A repository as it was found once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LastKnown {
    /// Its id.
    pub repository_id: Option<String>,
    /// Its root.
    pub resolved_root: Option<RepoPath>,
    /// Its origin, without credentials.
    pub origin_url: Option<String>,
    /// When it was found.
    pub resolved_at: String,
}

/// The places that rows may lead to.
#[derive(Clone, Debug)]
pub enum Reach {
    /// Any repository of the user.
    Anywhere,
    /// The workspace, and repositories below these directories: for an agent, which could write the catalog itself.
    Below(Vec<String>),
}

/// The workspace that has the catalog.
#[derive(Clone, Copy)]
pub struct Workspace<'a> {
    /// Its surroundings.
    pub world: &'a World,
    /// Its checkout.
    pub checkout: &'a Checkout,
    /// The places that its rows may lead to.
    pub reach: &'a Reach,
}

/// Why a row has no checkout.
struct NotFound {
    status: ResolutionStatus,
    error: String,
}

fn not_found(status: ResolutionStatus, error: impl Into<String>) -> NotFound {
    NotFound { status, error: error.into() }
}

/// Resolves every row, in order.
///
/// Opens each local repository; reads nothing of its files.
pub fn resolve(workspace: Workspace<'_>, manifest: &Manifest) -> Result<Vec<CatalogRepository>> {
    let mut repositories: Vec<CatalogRepository> = Vec::new();
    for row in &manifest.repositories {
        workspace.world.interrupt.check()?;
        let mut repository = workspace.resolved(row);
        let same = repository.resolved_root.as_ref().and_then(|root| {
            let mut others = repositories.iter();
            others.find(|other| other.resolved_root.as_ref() == Some(root))
        });
        if let Some(same) = same {
            // Its files would be found twice.
            let error = format!("it is the repository of line {} as well", same.line);
            repository.resolution_status = ResolutionStatus::LocalResolutionFailed;
            repository.resolution_error = Some(error);
            repository.resolved_root = None;
            repository.git_root = None;
        }
        repositories.push(repository);
    }
    Ok(repositories)
}

impl Workspace<'_> {
    fn resolved(self, row: &ManifestRow) -> CatalogRepository {
        let base = CatalogRepository::declared(row);
        if row.access.access_mode != AccessMode::Local {
            return match row.repository_id {
                Some(_) => base,
                None => CatalogRepository {
                    resolution_status: ResolutionStatus::RemoteMissingRepositoryId,
                    resolution_error: Some("the row has no 'repository_id'".to_owned()),
                    ..base
                },
            };
        }
        match self.local(row.access.root_path.as_deref()) {
            Ok(checkout) => {
                let id = checkout.repository_id();
                CatalogRepository {
                    repository_id_mismatch: row.repository_id.as_ref().map(|known| *known != id),
                    repository_id: Some(id),
                    resolved_root: Some(RepoPath::from(&*checkout.root)),
                    git_root: checkout.git_root.as_deref().map(RepoPath::from),
                    access: Access {
                        origin_url: checkout.origin_url().or(base.access.origin_url),
                        provider: base
                            .access
                            .provider
                            .or_else(|| Some(checkout.provider()?.as_str().to_owned())),
                        ..base.access
                    },
                    resolution_status: ResolutionStatus::ResolvedLocal,
                    ..base
                }
            }
            Err(NotFound { status, error }) => CatalogRepository {
                resolution_status: status,
                resolution_error: Some(error),
                ..base
            },
        }
    }

    /// Finds the checkout at a path of a row.
    fn local(self, path: Option<&str>) -> Result<Checkout, NotFound> {
        use ResolutionStatus as Status;
        let Some(path) = path else {
            let error = "the row has no 'root_path'";
            return Err(not_found(Status::LocalMissingRootPath, error));
        };
        let typed = Path::new(path);
        if typed.components().any(|part| part == Component::ParentDir) {
            let error = format!("'{path}' has '..': a path that leaves the workspace is absolute");
            return Err(not_found(Status::LocalResolutionFailed, error));
        }
        let joined = self.checkout.root.join(typed);
        let canonical = joined.canonicalize();
        // What exists elsewhere stays unknown to an agent.
        if !self.reaches(canonical.as_ref().unwrap_or(&joined)) {
            return Err(not_found(Status::LocalResolutionFailed, out_of_reach(path)));
        }
        let root = match canonical {
            Ok(root) => root,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(not_found(Status::LocalMissing, format!("nothing exists at '{path}'")));
            }
            Err(error) => {
                let error = format!("cannot resolve '{path}': {error}");
                return Err(not_found(Status::LocalResolutionFailed, error));
            }
        };
        if typed.is_relative() && !root.starts_with(&self.checkout.root) {
            let error = format!("a symlink in '{path}' leads out of the workspace");
            return Err(not_found(Status::LocalResolutionFailed, error));
        }
        if !root.is_dir() {
            let error = format!("'{path}' is not a directory");
            return Err(not_found(Status::LocalNotARoot, error));
        }
        self.checkout_at(path, &root)
    }

    /// Returns `true` if rows may lead to a path.
    pub fn reaches(self, path: &Path) -> bool {
        let Reach::Below(roots) = self.reach else {
            return true;
        };
        let holds = |root: &String| {
            let root = Path::new(root).canonicalize();
            root.is_ok_and(|root| path.starts_with(root))
        };
        path.starts_with(&self.checkout.root) || roots.iter().any(holds)
    }

    fn checkout_at(self, path: &str, root: &PathBuf) -> Result<Checkout, NotFound> {
        let checkout = Checkout::find(&self.world.standing_in(root)).map_err(|error| {
            let error = format!("cannot open '{path}': {}", error.message());
            not_found(ResolutionStatus::LocalResolutionFailed, error)
        })?;
        let is_plain = !checkout.has_git()
            && !self.checkout.has_git()
            && root.starts_with(&self.checkout.root);
        if checkout.root == *root && (checkout.has_git() || is_plain) {
            return Ok(checkout);
        }
        let error = if checkout.has_git() {
            let around = checkout.root.display();
            format!("'{path}' is a directory in the repository '{around}', not its root")
        } else {
            format!("'{path}' is not a repository of git")
        };
        Err(not_found(ResolutionStatus::LocalNotARoot, error))
    }
}

fn out_of_reach(path: &str) -> String {
    format!(
        "'{path}' is outside of the workspace, and the user's 'colony.catalog.roots' does not allow agents to reach it"
    )
}

impl CatalogRepository {
    /// Returns what remains of a repository that was found once, for those who may not reach it.
    #[must_use]
    pub fn out_of_reach(self) -> CatalogRepository {
        let path = self.access.root_path.as_deref().unwrap_or_default();
        CatalogRepository {
            resolution_status: ResolutionStatus::LocalResolutionFailed,
            resolution_error: Some(out_of_reach(path)),
            repository_id: self.declared_repository_id.clone(),
            repository_id_mismatch: None,
            resolved_root: None,
            git_root: None,
            // These may be what was found there.
            access: Access { origin_url: None, provider: None, ..self.access },
            last_known: None,
            ..self
        }
    }

    /// Returns what a row declares, as a repository that is elsewhere.
    fn declared(row: &ManifestRow) -> CatalogRepository {
        CatalogRepository {
            repository_id: row.repository_id.clone(),
            declared_repository_id: row.repository_id.clone(),
            repository_id_mismatch: None,
            display_name: row.name(),
            access: row.access.clone(),
            resolved_root: None,
            git_root: None,
            resolution_status: ResolutionStatus::CatalogOnlyRemote,
            resolution_error: None,
            last_known: None,
            line: row.at.line,
        }
    }

    /// Returns `true` if it is a checkout on this machine.
    pub fn is_here(&self) -> bool {
        self.resolution_status == ResolutionStatus::ResolvedLocal
    }

    /// Returns `true` if this is its id, found or declared.
    pub fn has_id(&self, id: &str) -> bool {
        let ids = [&self.repository_id, &self.declared_repository_id];
        ids.into_iter().flatten().any(|known| known == id)
    }

    /// Returns `true` if a name means it: an id, found or declared, or its beginning; its display name; its path.
    pub fn is_called(&self, name: &str) -> bool {
        let ids = [&self.repository_id, &self.declared_repository_id];
        let is_id = ids
            .into_iter()
            .flatten()
            .any(|id| id == name || name.len() >= MIN_PREFIX && id.starts_with(name));
        is_id || self.display_name == name || self.access.root_path.as_deref() == Some(name)
    }
}

/// The minimum length of the beginning of an id that stands for it.
const MIN_PREFIX: usize = 4;
