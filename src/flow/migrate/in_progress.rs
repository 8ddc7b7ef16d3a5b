//! A migration that has not ended: its state, and the next commands. Reads only.

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Repo;
use crate::model::Result;
use crate::model::id::OperationId;
use crate::model::text::shell_word;
use crate::store::migration;
use crate::store::migration::migration_journal::Journal;

use super::{REMOTE, start_note};

/// The progress of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A process is running it now.
    AtWork,
    /// It was interrupted before any ref moved.
    CutOff,
    /// Every ref has moved here, and the remote is not known to have it.
    NotPublished,
}

/// A migration to git-lfs that has not ended.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct UnderWay {
    /// Its progress.
    pub stage: Stage,
    /// The operation that moved the refs.
    pub op: Option<OperationId>,
    /// The number of rewritten commits.
    pub commits: usize,
    /// All of that as text, with the next commands.
    pub detail: String,
    /// The command that completes it.
    #[serde(skip)]
    pub way_on: String,
    /// Whether the user has to act: not without a remote.
    #[serde(skip)]
    pub needs_attention: bool,
}

/// The command that completes a migration.
const WAY_ON: &str = "git colony lfs migrate --continue";
/// The command that aborts it.
pub const WAY_BACK: &str = "git colony lfs migrate --abort";

/// Finds a migration that has not ended.
pub fn under_way(repo: &Repo) -> Result<Option<UnderWay>> {
    if migration::is_at_work(repo) {
        return Ok(Some(UnderWay {
            stage: Stage::AtWork,
            op: None,
            commits: 0,
            detail: "a migration to git-lfs is running".to_owned(),
            way_on: WAY_ON.to_owned(),
            needs_attention: true,
        }));
    }
    let journal = Journal::find(repo)?.map(|(journal, _)| journal);
    if let Some(journal) = journal.filter(|journal| journal.published_at.is_none()) {
        return Ok(Some(not_published(repo, &journal)));
    }
    if !start_note::was_cut_off(repo)? {
        return Ok(None);
    }
    Ok(Some(UnderWay {
        stage: Stage::CutOff,
        op: None,
        commits: 0,
        detail: format!(
            "a migration to git-lfs was interrupted before it moved anything: {WAY_ON} completes \
            it, {WAY_BACK} reverts its configuration"
        ),
        way_on: WAY_ON.to_owned(),
        needs_attention: true,
    }))
}

fn not_published(repo: &Repo, journal: &Journal) -> UnderWay {
    let op = journal.op;
    if journal.is_followed {
        return UnderWay {
            stage: Stage::NotPublished,
            op: Some(op),
            commits: journal.commits,
            detail: format!(
                "{op}: history here follows a migration to git-lfs that is not known to be \
                published: {WAY_ON} finds out, {WAY_BACK} reverts it here"
            ),
            way_on: WAY_ON.to_owned(),
            needs_attention: migration::was_undone(repo).unwrap_or(false),
        };
    }
    let is_here = format!("{op}: history is rewritten for git-lfs and not published");
    let others = other_remotes(repo);
    let has_remote = repo.remote_names().iter().any(|name| name == REMOTE);
    let other = others.first().filter(|_| !has_remote);
    let way_on =
        other.map_or_else(|| WAY_ON.to_owned(), |other| format!("{} && {WAY_ON}", rename(other)));
    let detail = match other {
        _ if has_remote => {
            format!("{is_here}: {way_on} publishes it, {WAY_BACK} reverts it")
        }
        Some(_) => format!(
            "{is_here}, as no remote is named '{REMOTE}': {way_on} publishes it, {WAY_BACK} \
            reverts it"
        ),
        None => format!("{is_here}, as there is no remote: {WAY_BACK} reverts it"),
    };
    UnderWay {
        stage: Stage::NotPublished,
        op: Some(op),
        commits: journal.commits,
        detail,
        way_on,
        needs_attention: has_remote || !others.is_empty(),
    }
}

/// Lists the remotes that a migration is not published to.
pub(super) fn other_remotes(repo: &Repo) -> Vec<String> {
    let mut names = repo.remote_names();
    names.retain(|name| name != REMOTE);
    names
}

/// Returns the command that makes another remote the one that is published to.
pub(super) fn rename(other: &str) -> String {
    format!("git remote rename {} {REMOTE}", shell_word(other))
}
