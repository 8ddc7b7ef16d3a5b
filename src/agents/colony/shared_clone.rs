//! An existing clone for reading: equal requests share it.

use crate::clones::new_clone::WantedClone;
use crate::git::{ObjectWrites, Repo};
use crate::model::{Result, World};

use super::clone::{CloneReport, CloneStatus, Request};
use super::cone::Cone;

/// Finds the clone for reading of the same repository, branch and directories.
pub(in crate::agents) fn find(
    world: &World,
    wanted: &WantedClone<'_>,
    request: &Request,
) -> Result<Option<CloneReport>> {
    let Some((path, member)) = wanted.shared() else {
        return Ok(None);
    };
    let repo = Repo::open_foreign(world, &path, ObjectWrites::Durable)?;
    let sparse = repo.cone(&world.standing_in(&path))?;
    let is_same = match &request.sparse {
        Cone::Of(typed) => *typed == sparse,
        Cone::Whole => sparse.is_empty(),
        Cone::Configured => true,
    };
    let head = repo.head()?;
    Ok(is_same.then(|| CloneReport {
        path,
        status: CloneStatus::Exists,
        id: Some(member.id),
        read_only: true,
        agent: None,
        scope: member.scope.unwrap_or_default(),
        url: member.url,
        branch: member.branch,
        commit: head.commit(),
        hub: member.hub,
        sparse,
        setup: Vec::new(),
        commands: Vec::new(),
        dry_run: false,
    }))
}
