//! The configuration outside the tree before a repository is set up: an init that fails restores it.

use crate::lfs::store_url::{self, StoreUrl};
use crate::lfs::uninstall::LfsSetup;
use crate::setup::hooks::{self, Target};
use crate::setup::{info_attributes, merge_drivers};
use crate::store::Session;
use crate::store::lock::WorktreeLock;

use super::{Plan, Request, side_effects};

/// The configuration outside the tree before anything is done.
pub(super) struct BeforeInit {
    lfs: LfsSetup,
    has_lines: bool,
    has_drivers: bool,
    has_hooks: bool,
    store_url: Option<StoreUrl>,
}

impl BeforeInit {
    pub(super) fn read(session: &Session) -> BeforeInit {
        BeforeInit {
            lfs: LfsSetup::find(&session.repo),
            has_lines: info_attributes::is_there(&session.repo),
            has_drivers: merge_drivers::installed(session).map_or(true, |names| !names.is_empty()),
            has_hooks: hooks::install::is_recorded(session, Target::Git),
            store_url: StoreUrl::read(session).ok(),
        }
    }

    /// Removes the configuration added since, unless another process has set the repository up
    /// meanwhile.
    pub(super) fn restore(&self, session: &Session, request: &Request) {
        let is_wanted = Plan::make(session, request).map(|plan| plan.commit.is_none());
        if session.world.is_dead() || is_wanted.unwrap_or(false) {
            return;
        }
        // An interrupted user waits for this; without the lock it is tried nevertheless.
        let undisturbed = session.world.undisturbed();
        let lock = WorktreeLock::take(&undisturbed, &session.repo, session.wait_limit()).ok();
        let lines = if self.has_lines { Ok(()) } else { info_attributes::remove(&session.repo) };
        let drivers = if self.has_drivers { Ok(()) } else { merge_drivers::remove(session) };
        let lfs = self.lfs.restore(session);
        let store_url = match &self.store_url {
            Some(StoreUrl::Unset) => store_url::follow(session, None),
            Some(StoreUrl::Ours(url)) => store_url::follow(session, Some(url)),
            Some(StoreUrl::Theirs(_)) | None => Ok(false),
        };
        drop(lock);
        let hooks =
            if self.has_hooks { Ok(()) } else { side_effects::take_hooks_out(&undisturbed) };
        for undone in [lines, drivers, lfs, store_url.map(drop), hooks] {
            if let Err(error) = undone {
                (session.world.narrate)(&format!("cannot revert: {}", error.message()));
            }
        }
    }
}
