//! Writes an agent's name and address into the configuration of its clone, for plain git. Which they are:
//! `store::agent_policy::agent_identity`.

use crate::git::identity::Identity;
use crate::model::Result;
use crate::store::Session;
use crate::store::agent_policy::agent_identity;
use crate::store::files::config_file::ConfigFile;
use crate::store::lock::WorktreeLock;

/// Sets `user.name` and `user.email` of a clone to the identity of its agent, which the manifest decides. Values that
/// are not the agent's come from the user, and stay.
pub(crate) fn follow_manifest(inside: &Session) -> Result<()> {
    let (repo, world) = (&inside.repo, &inside.world);
    let member = inside.membership.as_ref();
    let Some(agent) = member.and_then(|member| member.agent.as_deref()) else {
        return Ok(());
    };
    let wanted = agent_identity::of(world, repo, agent)?;
    let now = Identity {
        name: repo.config("user.name").unwrap_or_default(),
        email: repo.config("user.email").unwrap_or_default(),
    };
    if now == wanted || now.agent() != Some(agent) {
        return Ok(());
    }
    // The lock of the worktree proves that a leftover of a killed process is stale.
    let _lock = WorktreeLock::take(world, repo, inside.wait_limit())?;
    let file = ConfigFile::of_repository(repo);
    for (key, value) in [("user.name", &wanted.name), ("user.email", &wanted.email)] {
        file.change(repo, world, &["--replace-all", key, value])?;
    }
    Ok(())
}
