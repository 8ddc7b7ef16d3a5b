//! Whether a clone runs only what it was made with: then a command of the checkout may work in it as its agent does.
//!
//! The agent can write all of its git directory. Commands of the user that only look into it read no configuration
//! (`Repo::open_foreign`); one that works there needs filters and hooks, so these have to be those of the checkout.

use std::path::Path;

use crate::clones::found::FoundClone;
use crate::git::inherited::{self, Inherited};
use crate::git::plain_file::{self, Symlinks};
use crate::model::{Code, Error, Result};
use crate::setup::hooks::CheckoutHooks;
use crate::store::Session;

use super::checkout_settings;

/// No configuration of a clone is longer.
const MAX_BYTES: u64 = 1 << 20;

/// Fails if a clone may run something that its checkout does not have.
///
/// # Errors
/// `agent-config-refused` with the setting or the hook.
pub(crate) fn require(checkout: &Session, clone: &FoundClone) -> Result<()> {
    let git_dir = clone.git_dir();
    // It leads git to another configuration and other hooks.
    if git_dir.join("commondir").symlink_metadata().is_ok() {
        return Err(refused(clone, "has a git directory that leads to another one"));
    }
    for name in ["config", "config.worktree"] {
        let text = read(&git_dir.join(name))?;
        if let Some(setting) = inherited::running_setting(&text)? {
            return Err(refused(clone, &format!("sets '{setting}'")));
        }
    }
    let expected = Inherited::of(&checkout.world, &checkout.repo, checkout.settings.clone_signing);
    let has_them =
        || Ok(read(&git_dir.join(inherited::CONFIG_FILE))? == expected.config.as_bytes());
    // They may be older than the checkout has them now.
    if !(has_them()? || checkout_settings::renew(checkout, clone)? && has_them()?) {
        return Err(refused(clone, "does not have the settings of this checkout"));
    }
    let hooks = CheckoutHooks::of(&checkout.world, &checkout.repo)?;
    let own = checkout.repo.common_dir().join("hooks");
    let folder = git_dir.join("hooks");
    let other_hook = hooks.first_other_in(&folder, &own).map_err(|error| {
        Error::io(format!("cannot list the hooks in '{}'", folder.display()), error).unchanged()
    });
    match other_hook? {
        Some(hook) => Err(refused(clone, &format!("has a hook of its own, '{hook}'"))),
        None => Ok(()),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let cannot = |fault: plain_file::Fault| {
        Error::new(Code::PathInTheWay, format!("cannot read '{}': {fault}", path.display()))
    };
    let content = plain_file::find(path, Symlinks::Refused, MAX_BYTES).map_err(cannot)?;
    Ok(content.unwrap_or_default())
}

fn refused(clone: &FoundClone, why: &str) -> Error {
    let agent = clone.member.agent.as_deref().unwrap_or_default();
    Error::new(Code::AgentConfigRefused, format!("the clone of agent '{agent}' {why}"))
        .unchanged()
        .detail("agent", agent)
        .hint("a server that is started in the clone works there")
}
