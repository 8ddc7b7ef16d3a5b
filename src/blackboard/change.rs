//! Changes of a blackboard: a key is written or deleted, by one operation, which undo can undo.
//!
//! Another worktree may move the ref at the same time; then everything is read again, so that a version that
//! the caller has seen is compared with the present one.

use crate::git::object::NewCommit;
use crate::git::refs::lost_race;
use crate::git::{RefChange, TreeEntry};
use crate::model::id::OperationId;
use crate::model::text::words_after_options;
use crate::model::{Code, Error, RepoPath, Result, time};
use crate::store::Session;
use crate::store::operation::plan::{Intent, Plan, Touches};
use crate::store::operation::{Kind, Operation};
use crate::store::refs::{shared_record, stored_name};

use super::agent_marks;
use super::board::{Board, MAX_KEYS};
use super::entry::{self, Entry, MAX_VALUE, NO_VERSION, Place, Value};

/// A change of one key.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The key.
    pub place: Place<'a>,
    /// The new value; `None` deletes the key.
    pub value: Option<&'a str>,
    /// The version that the key must have.
    pub if_version: Option<&'a str>,
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The key before.
    pub before: Option<Entry>,
    /// The key now.
    pub now: Option<Entry>,
    /// The operation; `None` if nothing had to change, or in a dry run.
    pub op: Option<OperationId>,
}

impl Changed {
    /// Returns the report of a change that is there already.
    fn nothing(planned: Planned) -> Changed {
        Changed { now: planned.before.clone(), before: planned.before, op: None }
    }
}

/// Makes a change; in a dry run, says what it would do. A key that has the value already is left alone.
pub fn apply(session: &Session, change: Change<'_>) -> Result<Changed> {
    if let Some(size) = change.value.map(str::len).filter(|size| *size > MAX_VALUE) {
        let message = format!("a value has at most {MAX_VALUE} bytes, this one has {size}");
        return Err(Error::new(Code::ValueTooLarge, message).unchanged());
    }
    session.refuse_reader()?;
    lost_race::retried(|| apply_once(session, change))
}

fn apply_once(session: &Session, change: Change<'_>) -> Result<Changed> {
    // A refusal, or a key that has the value already, needs no operation.
    let planned = Planned::make(session, change)?;
    if planned.is_still() {
        return Ok(Changed::nothing(planned));
    }
    let intent = Intent {
        kind: match change.value {
            Some(_) => Kind::BlackboardPut,
            None => Kind::BlackboardDelete,
        },
        touches: Touches::Refs,
    };
    let operation = Operation::begin(session, intent)?;
    // Before the lock was taken, another command may have changed the key.
    let planned = Planned::make(session, change)?;
    let Some(moved) = planned.write(session, change)? else {
        return Ok(Changed::nothing(planned));
    };
    let summary = summary(change);
    let done = operation.commit(Plan::of_refs(session, summary, vec![moved])?)?;
    Ok(Changed { before: planned.before, now: planned.now, op: done.op })
}

fn summary(change: Change<'_>) -> String {
    let Place { scope, key } = change.place;
    if scope == agent_marks::BOARD {
        return agent_marks::summary(key, change.value.is_some());
    }
    let verb = change.value.map_or("delete", |_| "put");
    format!("{verb} '{key}' on blackboard '{scope}'")
}

/// A change as it would be made now.
struct Planned {
    board: Board,
    /// The name under which the key is stored.
    name: RepoPath,
    before: Option<Entry>,
    now: Option<Entry>,
}

impl Planned {
    fn make(session: &Session, change: Change<'_>) -> Result<Planned> {
        let Place { scope, key } = change.place;
        let board = Board::open(&session.repo, scope)?;
        let before = match board.find(&session.repo, key) {
            // An entry that cannot be read can be deleted, but not by its version.
            Err(error)
                if error.code() == Code::RepositoryBroken
                    && change.value.is_none()
                    && change.if_version.is_none() =>
            {
                None
            }
            result => result?,
        };
        require_version(change, before.as_ref())?;
        let who = session.record_signature();
        let value = change.value.map(|value| Value {
            value: value.to_owned(),
            writes: before.as_ref().map_or(0, Entry::writes).saturating_add(1),
            author: format!("{} <{}>", who.name, who.email),
            updated_at: time::rfc3339(&session.world.now()),
        });
        let name = RepoPath::from(stored_name::of(key).as_str());
        if value.is_some() && !board.has(&name) && board.key_count() >= MAX_KEYS {
            let message = format!("blackboard '{scope}' has no room for more than {MAX_KEYS} keys");
            return Err(Error::new(Code::ValueTooLarge, message).unchanged());
        }
        let now = value.map(|value| Entry { key: key.to_owned(), values: vec![value] });
        Ok(Planned { board, name, before, now })
    }

    /// Returns `true` if the key is as it is wanted.
    fn is_still(&self) -> bool {
        let Some(now) = &self.now else {
            return !self.board.has(&self.name);
        };
        let texts = |entry: &Entry| -> Vec<String> {
            entry.values.iter().map(|value| value.value.clone()).collect()
        };
        self.before.as_ref().is_some_and(|before| texts(before) == texts(now))
    }

    /// Writes the new version of the blackboard; `None` if nothing has to change.
    fn write(&self, session: &Session, change: Change<'_>) -> Result<Option<RefChange>> {
        if self.is_still() {
            return Ok(None);
        }
        let repo = &session.repo;
        let value = self.now.as_ref().and_then(|now| now.values.first());
        let entry = value
            .map(|value| entry::write(repo, change.place, value, self.board.tip))
            .transpose()?
            .map(TreeEntry::directory);
        let who = session.record_signature();
        let commit = NewCommit {
            tree: self.board.with(repo, &self.name, entry)?,
            parents: self.board.tip.into_iter().collect(),
            signature: &who,
            message: summary(change),
        };
        Ok(Some(RefChange {
            name: self.board.name.clone(),
            old: self.board.tip,
            new: Some(shared_record::write(repo, &self.board.name, commit)?),
        }))
    }
}

/// Compares the version of a key with the wanted one. Two values at once are replaced only by who names the
/// version of both.
fn require_version(change: Change<'_>, before: Option<&Entry>) -> Result<()> {
    let Place { scope, key } = change.place;
    let version = before.map_or_else(|| NO_VERSION.to_owned(), Entry::version);
    let message = match change.if_version {
        Some(wanted) if wanted == version => return Ok(()),
        Some(wanted) => format!("'{key}' is at version {version}, not at '{wanted}'"),
        None if before.is_some_and(Entry::is_in_conflict) => {
            let count = before.map_or(0, |entry| entry.values.len());
            format!("'{key}' has {count} values, written without knowledge of each other")
        }
        None => return Ok(()),
    };
    let words = words_after_options(&[scope, key]);
    Err(Error::new(Code::VersionMismatch, message)
        .unchanged()
        .detail("version", version)
        .hint(format!(
            "git colony blackboard get {words}   # shows it; then name its version with '--if-version'"
        )))
}
