//! Where the restore of an agent is asked for: in a checkout of its repository, or outside of any.

use std::path::{Path, PathBuf};

use crate::clones::damaged;
use crate::clones::hub::{Hub, desk_note, joining, locate};
use crate::clones::removal::removed_work;
use crate::git::inherited::{Inherited, Signing};
use crate::model::text::typed_word;
use crate::model::{Code, Error, Result, World};
use crate::store::Session;
use crate::store::files::shared_root::SharedRoot;
use crate::store::membership::Membership;

use super::colony::checkout_settings;

/// A checkout of the agent's repository, or outside of one the hub that keeps its work.
pub struct RestorePlace<'a> {
    pub(super) world: &'a World,
    pub(super) checkout: Option<&'a Session>,
    hub: PathBuf,
    pub(super) is_dry: bool,
}

impl<'a> RestorePlace<'a> {
    /// Returns the place of a command in a checkout.
    pub fn in_checkout(session: &'a Session) -> Result<RestorePlace<'a>> {
        let world = &session.world;
        let hub = locate::place_of(session, &SharedRoot::of(world)?)?;
        Ok(RestorePlace { world, checkout: Some(session), hub, is_dry: session.is_dry() })
    }

    /// Finds the only hub with an agent that can be restored. What a clone has of a checkout is read there: where there is
    /// one, it is named.
    pub fn outside(world: &'a World, agent: &str, is_dry: bool) -> Result<RestorePlace<'a>> {
        let root = SharedRoot::of(world)?;
        let mut hubs = removed_work::hubs_with(&root, None, agent);
        for hub in locate::all(&root) {
            if !hubs.contains(&hub) && damaged::is_damaged(&root, &hub, agent) {
                hubs.push(hub);
            }
        }
        let name = typed_word(agent);
        let hub = match hubs.as_slice() {
            [hub] => hub.clone(),
            [] => {
                let message = format!("no hub keeps work of a removed agent '{agent}'");
                let error = Error::new(Code::CloneNotFound, message).unchanged();
                return Err(error.hint("git colony clones"));
            }
            several => {
                let message = format!("{} repositories had an agent '{agent}'", several.len());
                let hint = format!("git colony -C DIR agents restore {name}   # in a checkout");
                return Err(Error::new(Code::NameAmbiguous, message).unchanged().hint(hint));
            }
        };
        let way_in = desk_note::way_in(&hub);
        if !way_in.is_empty() {
            let message = format!("agent '{agent}' is restored in a checkout of its repository");
            let hint = format!("git colony {way_in}agents restore {name}");
            return Err(Error::new(Code::NotARepository, message).unchanged().hint(hint));
        }
        Ok(RestorePlace { world, checkout: None, hub, is_dry })
    }

    pub(super) fn hub(&self) -> &Path {
        &self.hub
    }

    pub(super) fn refuse_reader(&self) -> Result<()> {
        self.checkout.map_or(Ok(()), Session::refuse_reader)
    }

    /// Opens the hub; a checkout becomes a member first.
    pub(super) fn join(&self) -> Result<(Option<Membership>, Hub)> {
        let Some(session) = self.checkout else {
            return Ok((None, Hub::open(&self.hub)?));
        };
        let (member, hub) = joining::join(session)?;
        Ok((Some(member), hub))
    }

    /// Returns the origin of a new clone, and its push URL where that is another one.
    pub(super) fn urls(&self, hub: &Hub) -> Result<(Option<String>, Option<String>)> {
        let Some(session) = self.checkout else {
            return Ok((hub.store.config("remote.origin.url"), None));
        };
        let url = locate::origin_of(session)?.map(|url| url.in_full());
        let here = || session.repo.common_dir().display().to_string();
        Ok((Some(url.unwrap_or_else(here)), locate::push_url_of_clone(session)?))
    }

    pub(super) fn inherited(&self) -> Inherited {
        let of_nothing = || Inherited::of_nothing(Signing::Off);
        self.checkout.map_or_else(of_nothing, checkout_settings::of)
    }
}
