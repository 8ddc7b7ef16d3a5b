//! The record of a removed clone, which each of its logs in the hub has.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::plain_file;
use crate::model::{Code, Error, Result};
use crate::store::files::atomic;

/// A removed clone, as recorded with each of its logs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedClone {
    /// The id of the clone.
    pub clone: String,
    /// Its agent; `None` for a clone for reading.
    pub agent: Option<String>,
    /// Its path.
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// The prefix of the refs in the hub that keep its work.
    pub kept_as: String,
    /// The time of its removal, RFC 3339 UTC.
    pub removed_at: String,
}

impl RemovedClone {
    /// Returns the name to find it by: its agent, or the beginning of its id.
    pub fn name(&self) -> String {
        let id = self.clone.get(..8).unwrap_or(&self.clone);
        self.agent.clone().unwrap_or_else(|| id.to_owned())
    }
}

/// The content of the note: whose worktree it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::clones) struct RemovedNote {
    /// The clone.
    #[serde(flatten)]
    pub(in crate::clones) clone: RemovedClone,
    /// Whether it is the main worktree.
    pub(in crate::clones) is_main: bool,
}

/// The name of the note in the folder of a worktree.
pub(super) const NOTE: &str = "removed.json";

impl RemovedNote {
    /// Records whose worktree it was in its folder of kept files, if that is not recorded yet.
    pub(in crate::clones) fn write_into(&self, worktree: &Path) -> Result<()> {
        let known = RemovedNote::read(worktree);
        if known.as_ref() == Some(self) {
            return Ok(());
        }
        atomic::make_directory(worktree)?;
        if worktree.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
            let message = format!("'{}' is a link in place of a folder", worktree.display());
            return Err(Error::new(Code::RepositoryBroken, message));
        }
        let json = serde_json::to_vec_pretty(self).map_err(|e| {
            Error::new(Code::Io, "cannot record the owner of the kept files").caused_by(e)
        })?;
        atomic::write_durably(&worktree.join(NOTE), &json)
    }

    pub(super) fn read(worktree: &Path) -> Option<RemovedNote> {
        serde_json::from_slice(&plain_file::read(worktree.join(NOTE)).ok()?).ok()
    }
}
