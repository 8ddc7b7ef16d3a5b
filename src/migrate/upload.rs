//! Uploads the large files of a publication: found by one walk, sent before the refs that need
//! them, and verified after those.

use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::LfsOid;
use crate::git::lfs::lfs_upload::Uploads;
use crate::git::remote::{PushPermit, Remote};
use crate::git::{Oid, RefChange, RefName};
use crate::model::Result;
use crate::setup::hooks;
use crate::store::Session;

use super::publication::is_history;

/// The large files of histories.
pub(super) struct LargeFiles {
    /// All of them, if all are here.
    oids: Option<Vec<LfsOid>>,
    /// If some are missing, git-lfs asks the server for them as it walks each history.
    refs: Vec<RefName>,
}

impl LargeFiles {
    /// Finds those of the published refs.
    pub(super) fn find(session: &Session, changes: &[RefChange]) -> Result<LargeFiles> {
        // Records have the commits they are about as parents, too.
        let tips: Vec<Oid> = changes.iter().filter_map(|change| change.new).collect();
        let refs: Vec<RefName> =
            changes.iter().map(|change| change.name.clone()).filter(is_history).collect();
        let pointers = session.repo.pointers_below(&session.world, &tips)?;
        let here = LfsObjects::of(&session.repo);
        // git-lfs does not ask a server for an empty file.
        let mut needed = pointers.iter().filter(|pointer| pointer.size_bytes > 0);
        let is_here = needed.clone().all(|pointer| here.has(pointer));
        let oids = is_here.then(|| needed.by_ref().map(|pointer| pointer.oid.clone()));
        Ok(LargeFiles { oids: oids.map(Iterator::collect), refs })
    }

    /// Sends the missing ones to the server. Succeeds only if the server has all of them.
    pub(super) fn bring(&self, remote: &Remote<'_>, permit: &PushPermit) -> Result<()> {
        match &self.oids {
            Some(oids) => remote.upload_objects(permit, oids),
            None => remote.upload_large_files(permit, &self.refs),
        }
    }

    /// Returns the remaining uploads for the git-lfs hook.
    pub(super) fn uploads(&self, session: &Session) -> Result<Uploads> {
        let is_spared = || hooks::push_only_uploads(&session.repo, &session.world);
        Ok(if self.oids.is_some() && is_spared()? { Uploads::Done } else { Uploads::ByHook })
    }
}
