//! What a sync reports: each ref and how it ended, and the branches that moved.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::{Oid, RefName};
use crate::model::text::count;
use crate::records::consent::Consent;
use crate::records::exchanged_refs::{self, Kind};

use super::unpublished::{BranchAhead, Waiting};

/// The side on which a ref moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Here.
    Fetch,
    /// On the remote.
    Push,
    /// On both sides.
    Both,
    /// Nowhere.
    None,
}

/// The result for a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncResult {
    /// Both sides had the same.
    UpToDate,
    /// It was fetched from the remote.
    Fetched,
    /// The remote was fast-forwarded to the local value.
    Pushed,
    /// The remote has it now.
    Created,
    /// It was deleted, as on the other side.
    Deleted,
    /// Both sides had changed it and have a joint version now.
    Merged,
    /// The remote has the version from here in an outbox, because others are writing the same record: the next sync of
    /// anybody joins the two.
    Queued,
    /// The remote has more.
    Behind,
    /// The remote has another ref with that name: it was not pushed.
    Rejected,
    /// The server rejects it.
    RefusedByServer,
    /// It would be created, moved or deleted on the remote, but there is no consent.
    Unpublished,
    /// It would publish a likely secret: it was not pushed.
    KeptHome,
    /// Its owner has to push it.
    NotOwned,
    /// It was deleted on the remote, and stays here.
    KeptHere,
    /// Both sides have changed it and no rule decides, or another name here or on the remote is in its way.
    Conflict,
    /// The remote has an object of the wrong kind under that name.
    Invalid,
}

/// The result for a ref.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncedRef {
    /// Its full name.
    pub name: RefName,
    /// The side on which it moved.
    pub direction: Direction,
    /// The old value, if it moved.
    pub old: Option<Oid>,
    /// The current value.
    pub new: Option<Oid>,
    /// The result.
    pub result: SyncResult,
    /// The reason, if it is not obvious.
    pub reason: Option<String>,
    /// The next command to try.
    pub hint: Option<String>,
}

/// A remote branch that moved.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangedBranch {
    /// Its short name, as in `origin/main`.
    pub name: String,
    /// The old value.
    pub old: Option<Oid>,
    /// The new value; `None` if it was deleted.
    pub new: Option<Oid>,
}

/// The report of a sync.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SyncReport {
    /// The remote.
    pub remote: String,
    /// Its URL, without credentials.
    pub url: String,
    /// Its push URL, without credentials.
    pub push_url: String,
    /// The refs that sync covers, by name.
    pub refs: Vec<SyncedRef>,
    /// The refspecs of the remote that are left to 'git fetch': they move more than remote-tracking refs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refspecs_left: Vec<String>,
    /// The remote branches that moved.
    pub branch_changed: Vec<ChangedBranch>,
    /// The agents of other machines whose work moved, by `<machine>/<agent>`.
    pub agent_changed: Vec<ChangedBranch>,
    /// Whether publishing there is permitted.
    pub consent: Consent,
    /// The refs that wait for consent; `None` if there are none.
    pub waiting: Option<Waiting>,
    /// The branch that is checked out, if 'git push' has to push commits of it.
    pub branch_ahead: Option<BranchAhead>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// How many records of each kind moved to one side.
#[derive(Clone, Debug, Default)]
pub struct Moved {
    /// The labels of forks.
    forks: BTreeSet<String>,
    checkpoints: usize,
    /// Checkouts whose agents have other commits now.
    machines: usize,
    records: usize,
    /// Forks and refs that were deleted, and are not counted above.
    deleted: BTreeSet<String>,
    queued: usize,
}

impl SyncReport {
    /// Counts the refs that moved to a side.
    pub fn moved(&self, side: Direction) -> Moved {
        let mut moved = Moved::default();
        let is_there = |row: &&SyncedRef| row.direction == side || row.direction == Direction::Both;
        for row in self.refs.iter().filter(is_there) {
            moved.queued +=
                usize::from(row.result == SyncResult::Queued && side == Direction::Push);
            let label = exchanged_refs::label_of(&row.name);
            if row.result == SyncResult::Deleted {
                moved.deleted.insert(label.unwrap_or_else(|| row.name.to_string()));
                continue;
            }
            match (label, exchanged_refs::kind_of(&row.name)) {
                (Some(label), _) => drop(moved.forks.insert(label)),
                (None, Some(Kind::Checkpoint | Kind::CheckpointTag)) => moved.checkpoints += 1,
                // Where agents have other commits, those are counted.
                (None, Some(Kind::Machine)) => {
                    let counts = side == Direction::Push || self.agent_changed.is_empty();
                    moved.machines += usize::from(counts);
                }
                _ => moved.records += 1,
            }
        }
        moved
    }
}

impl Moved {
    /// Describes them, as in `2 forks (x, y)` and `1 checkpoint`.
    pub fn to_texts(&self) -> Vec<String> {
        const MAX_NAMED: usize = 3;
        let mut texts = Vec::new();
        if !self.forks.is_empty() {
            let mut named: Vec<&str> =
                self.forks.iter().map(String::as_str).take(MAX_NAMED).collect();
            if self.forks.len() > MAX_NAMED {
                named.push("...");
            }
            texts.push(format!("{} ({})", count(self.forks.len(), "fork"), named.join(", ")));
        }
        let counts = [
            (self.checkpoints, "checkpoint"),
            (self.records, "record"),
            (self.deleted.len(), "deletion"),
        ];
        for (number, noun) in counts {
            texts.extend((number > 0).then(|| count(number, noun)));
        }
        if self.machines > 0 {
            texts.push(format!("the agents of {}", count(self.machines, "machine")));
        }
        if let Some(last) = texts.last_mut().filter(|_| self.queued > 0) {
            *last = format!("{last} ({} to be joined by the next sync)", self.queued);
        }
        texts
    }
}
