//! Marks on the work of agents: an agent is done with it, or a person holds it back.
//!
//! Both are keys of a blackboard of their own, so that all clones of a hub see them, `sync` takes them along and undo
//! takes them back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::{Oid, Repo};
use crate::model::{Code, Result, ResultExt as _};
use crate::store::Session;

use super::board::Board;
use super::change::{self, Change, Changed};
use super::entry::{Entry, Place};

/// The blackboard, which only the commands for agents write.
pub const BOARD: &str = "colony.agents";

/// The maximum length of the text of a mark, in characters.
pub const MAX_TEXT: usize = 500;

/// The kind of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// The agent is done with its work.
    Done,
    /// A person holds it back.
    Held,
}

impl MarkKind {
    fn key_of(self, agent: &str) -> String {
        match self {
            MarkKind::Done => format!("done:{agent}"),
            MarkKind::Held => format!("held:{agent}"),
        }
    }
}

/// A mark on the work of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mark {
    /// The commit that the agent had then.
    pub sha: Oid,
    /// The reason, or a summary of the work, in the words of the author.
    pub text: Option<String>,
    /// Its author, `name <email>`.
    pub by: String,
    /// When, RFC 3339 UTC.
    pub at: String,
}

/// The value of a key, as JSON.
#[derive(Serialize, Deserialize)]
struct StoredMark {
    sha: Oid,
    text: Option<String>,
}

/// All marks, by agent.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// The agents that are done.
    pub done: BTreeMap<String, Mark>,
    /// The agents whose work is held back.
    pub held: BTreeMap<String, Mark>,
}

impl Marks {
    /// Reads the marks of a repository. One that cannot be read counts as none.
    pub fn read(repo: &Repo) -> Result<Marks> {
        let (entries, _) = Board::open(repo, BOARD)?.read(repo)?;
        let mut marks = Marks::default();
        for entry in &entries {
            let Some((kind, agent)) = entry.key.split_once(':') else {
                continue;
            };
            let of_kind = match kind {
                "done" => &mut marks.done,
                "held" => &mut marks.held,
                _ => continue,
            };
            of_kind.extend(mark_of(entry).map(|mark| (agent.to_owned(), mark)));
        }
        Ok(marks)
    }
}

/// Returns the newest mark of a key.
fn mark_of(entry: &Entry) -> Option<Mark> {
    let newest = entry.values.last()?;
    let stored: StoredMark = serde_json::from_str(&newest.value).ok()?;
    let text = stored.text.map(|text| text.chars().take(MAX_TEXT).collect());
    Some(Mark { sha: stored.sha, text, by: newest.author.clone(), at: newest.updated_at.clone() })
}

/// Marks the work of an agent.
pub fn put(
    session: &Session,
    kind: MarkKind,
    agent: &str,
    sha: Oid,
    text: Option<&str>,
) -> Result<Changed> {
    let stored = StoredMark { sha, text: text.map(str::to_owned) };
    let value = serde_json::to_string(&stored).or_code(Code::Io, || "cannot write a mark")?;
    change(session, &kind.key_of(agent), Some(&value))
}

/// Returns the summary of an operation that makes or deletes the mark of a key.
pub(super) fn summary(key: &str, is_made: bool) -> String {
    let (kind, agent) = key.split_once(':').unwrap_or_default();
    match (kind, is_made) {
        ("held", true) => format!("hold '{agent}' back"),
        ("held", false) => format!("release '{agent}'"),
        (_, true) => format!("'{agent}' is done"),
        (_, false) => format!("'{agent}' is not done"),
    }
}

/// Deletes a mark.
pub fn delete(session: &Session, kind: MarkKind, agent: &str) -> Result<Changed> {
    change(session, &kind.key_of(agent), None)
}

fn change(session: &Session, key: &str, value: Option<&str>) -> Result<Changed> {
    let place = Place { scope: BOARD, key };
    let found = Board::open(&session.repo, BOARD)?.find(&session.repo, key).ok().flatten();
    // Where two clones have written a mark at once, the new one replaces both.
    let version = found.as_ref().filter(|entry| entry.is_in_conflict()).map(Entry::version);
    change::apply(session, Change { place, value, if_version: version.as_deref() })
}
