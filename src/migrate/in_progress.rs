//! A migration that has not ended, or is not published: its state, and the next commands. Reads
//! only, without the network.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{RefName, Repo};
use crate::model::Result;
use crate::store::migration;

use super::publication::PUBLISH;
use super::{REMOTE, replaced, start_note};

/// The progress of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A process is running it now.
    AtWork,
    /// It was interrupted before any ref moved.
    CutOff,
    /// Every ref has moved here, and the remote has the old history, as last fetched.
    NotPublished,
}

/// A migration to git-lfs that has not ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnderWay {
    /// Its progress.
    pub stage: Stage,
    /// All of that as text, with the next commands.
    pub detail: String,
    /// The command that completes it.
    #[serde(skip)]
    pub next_command: &'static str,
}

/// The command that starts a migration again.
const AGAIN: &str = "git colony lfs migrate";

/// Finds a migration that has not ended.
pub fn under_way(repo: &Repo) -> Result<Option<UnderWay>> {
    if migration::is_at_work(repo) {
        let detail = "a migration to git-lfs is running".to_owned();
        return Ok(Some(UnderWay { stage: Stage::AtWork, detail, next_command: AGAIN }));
    }
    if start_note::was_cut_off(repo)? {
        let detail = format!(
            "a migration to git-lfs was interrupted before it moved anything: {AGAIN} runs it again"
        );
        return Ok(Some(UnderWay { stage: Stage::CutOff, detail, next_command: AGAIN }));
    }
    let old = replaced::old_branches(repo, REMOTE)?;
    if old.is_empty() {
        return Ok(None);
    }
    let names: Vec<_> = old.iter().map(RefName::short).collect();
    let detail = format!(
        "'{REMOTE}' has the history from before the rewrite for git-lfs, on {}: {PUBLISH} \
        publishes the new one",
        names.join(", ")
    );
    Ok(Some(UnderWay { stage: Stage::NotPublished, detail, next_command: PUBLISH }))
}
