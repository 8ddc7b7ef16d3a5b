//! Blackboards read and written.

use schemars::JsonSchema;
use serde::Serialize;

use crate::blackboard::agent_marks;
use crate::blackboard::board::{self, Board, UnreadableKey};
use crate::blackboard::change::{self, Change, Changed};
use crate::blackboard::entry::{Entry, NO_VERSION, Value};
use crate::model::id::OperationId;
use crate::model::text::words_after_options;
use crate::model::{Code, Error, Result};
use crate::records::{self, ShareWarning};
use crate::store::Session;

/// The result of a change of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// It was written, or would be.
    Written,
    /// It was deleted, or would be.
    Deleted,
    /// It was so already.
    Unchanged,
}

/// A key that was written or deleted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ChangeReport {
    /// The result.
    pub status: ChangeStatus,
    /// The blackboard.
    pub scope: String,
    /// The key.
    pub key: String,
    /// Its version now; `0` if it has no value.
    pub version: String,
    /// Its version before.
    pub previous_version: String,
    /// The operation; `None` if nothing had to change, or in a dry run.
    pub op: Option<OperationId>,
    /// Reasons why it, or another record, is not shared with the other clones.
    pub warnings: Vec<ShareWarning>,
    /// True if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// A key with its value.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeyReport {
    /// The blackboard.
    pub scope: String,
    /// The key.
    pub key: String,
    /// Its version, for `--if-version`.
    pub version: String,
    /// Its value; null if it has several.
    pub value: Option<String>,
    /// Its values; more than one if clones have written it without knowledge of each other.
    pub values: Vec<Value>,
    /// Whether it has more than one value: a write that names this version settles it.
    pub conflict: bool,
    /// Reasons why it, or another record, may differ from that of the other clones.
    pub warnings: Vec<ShareWarning>,
}

/// A blackboard in the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlackboardRow {
    /// The blackboard.
    pub scope: String,
    /// The number of its keys.
    pub key_count: usize,
}

/// A key in the list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KeyRow {
    /// The key.
    pub key: String,
    /// Its version.
    pub version: String,
    /// The size of its values in bytes.
    pub size_bytes: usize,
    /// Whether it has more than one value.
    pub conflict: bool,
    /// When it was last written, RFC 3339 UTC.
    pub updated_at: String,
    /// Who last wrote it.
    pub author: String,
}

/// The blackboards, or the keys of one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct BlackboardReport {
    /// The blackboard whose keys are listed; null lists the blackboards.
    pub scope: Option<String>,
    /// The blackboards, by name.
    pub blackboards: Vec<BlackboardRow>,
    /// The keys, by name.
    pub keys: Vec<KeyRow>,
    /// The number of keys, or of blackboards.
    pub count: usize,
    /// Entries that cannot be read; in the list of blackboards, refs.
    pub unreadable: Vec<UnreadableKey>,
    /// Reasons why these, or other records, may differ from those of the other clones.
    pub warnings: Vec<ShareWarning>,
}

/// Writes or deletes a key; in a dry run, says what it would do.
pub fn change(session: &Session, change: Change<'_>) -> Result<ChangeReport> {
    if change.place.scope == agent_marks::BOARD {
        let board = agent_marks::BOARD;
        let message = format!("'{board}' is written by 'agents done' and 'agents hold' alone");
        return Err(Error::new(Code::InvalidValue, message)
            .unchanged()
            .hint("git colony agents hold NAME   # --release ends it"));
    }
    let _lock = records::lock(session)?;
    records::refresh(session);
    let Changed { before, now, op } = change::apply(session, change)?;
    let warnings = records::refresh(session);
    let version = |entry: &Option<Entry>| {
        let version = entry.as_ref().map(Entry::version);
        version.unwrap_or_else(|| NO_VERSION.to_owned())
    };
    let is_changed = op.is_some() || version(&before) != version(&now);
    Ok(ChangeReport {
        status: match (&now, is_changed) {
            (_, false) => ChangeStatus::Unchanged,
            (Some(_), true) => ChangeStatus::Written,
            (None, true) => ChangeStatus::Deleted,
        },
        scope: change.place.scope.to_owned(),
        key: change.place.key.to_owned(),
        version: version(&now),
        previous_version: version(&before),
        op,
        warnings,
        dry_run: session.is_dry(),
    })
}

/// Returns a key with its value.
pub fn get(session: &Session, scope: &str, key: &str) -> Result<KeyReport> {
    let warnings = records::refresh(session);
    let entry = Board::open(&session.repo, scope)?.find(&session.repo, key)?;
    let Some(entry) = entry else {
        let message = format!("blackboard '{scope}' has no key '{key}'");
        let hint = format!("git colony blackboard list {}", words_after_options(&[scope]));
        return Err(Error::new(Code::KeyNotFound, message).hint(hint));
    };
    let conflict = entry.is_in_conflict();
    let only = entry.values.first().filter(|_| !conflict);
    Ok(KeyReport {
        scope: scope.to_owned(),
        version: entry.version(),
        value: only.map(|value| value.value.clone()),
        conflict,
        key: entry.key,
        values: entry.values,
        warnings,
    })
}

/// Lists the keys of a blackboard, or the blackboards.
pub fn list(session: &Session, scope: Option<&str>) -> Result<BlackboardReport> {
    let warnings = records::refresh(session);
    let repo = &session.repo;
    let Some(scope) = scope else {
        let (boards, unreadable) = board::list(repo)?;
        let row = |board: Board| BlackboardRow { key_count: board.key_count(), scope: board.scope };
        return Ok(BlackboardReport {
            scope: None,
            count: boards.len(),
            blackboards: boards.into_iter().map(row).collect(),
            keys: Vec::new(),
            unreadable,
            warnings,
        });
    };
    let (entries, unreadable) = Board::open(repo, scope)?.read(repo)?;
    Ok(BlackboardReport {
        scope: Some(scope.to_owned()),
        blackboards: Vec::new(),
        count: entries.len(),
        keys: entries.iter().map(key_row).collect(),
        unreadable,
        warnings,
    })
}

fn key_row(entry: &Entry) -> KeyRow {
    let newest = entry.values.last();
    KeyRow {
        key: entry.key.clone(),
        version: entry.version(),
        size_bytes: entry.values.iter().map(|value| value.value.len()).sum(),
        conflict: entry.is_in_conflict(),
        updated_at: newest.map(|value| value.updated_at.clone()).unwrap_or_default(),
        author: newest.map(|value| value.author.clone()).unwrap_or_default(),
    }
}
