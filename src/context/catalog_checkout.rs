//! A repository of the catalog as the place of a resource: one that resolves on this machine, within reach of the caller,
//! and whose row allows to list and to read its files.

use crate::git::Checkout;
use crate::model::world::Plane;
use crate::model::{RepoPath, Result};
use crate::store::Session;
use crate::workspace::catalog;
use crate::workspace::checkout::catalog::Capability;
use crate::workspace::checkout::catalog::load;
use crate::workspace::checkout::catalog::resolve::{Reach, Workspace, resolve};

/// What a row has to allow.
const NEEDED: [Capability; 2] = [Capability::ListFiles, Capability::ReadFile];

/// Finds the root of the repository with an id, found or declared; `None` if the catalog has none that may be read.
pub(super) fn root_of(session: &Session, id: &str) -> Result<Option<RepoPath>> {
    let checkout = Checkout::find(&session.world)?;
    let files = catalog::files(&session.world, &checkout);
    let Some(loaded) = load::find(files) else {
        return Ok(None);
    };
    let reach = match session.world.plane {
        Plane::Cli => Reach::Anywhere,
        Plane::Mcp | Plane::Web => Reach::Below(session.settings.catalog_roots.clone()),
    };
    let workspace = Workspace { world: &session.world, checkout: &checkout, reach: &reach };
    let repositories = resolve(workspace, &loaded.manifest()?)?;
    let repository = repositories.into_iter().find(|repository| {
        let allows = |needed: &Capability| repository.access.capabilities.contains(needed);
        repository.is_here()
            && repository.git_root.is_some()
            && repository.has_id(id)
            && NEEDED.iter().all(allows)
    });
    Ok(repository.and_then(|repository| repository.resolved_root))
}
