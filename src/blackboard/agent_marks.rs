//! Marks on the work of agents: an agent is done with it, or a person holds it back.
//!
//! Both are keys of a blackboard of their own, so that all clones of a hub see them, `sync` takes them along and undo
//! takes them back.

use std::collections::{BTreeMap, BTreeSet};

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
    /// Returns the name of the event of a mark that is made or deleted.
    pub fn event(self, is_made: bool) -> &'static str {
        match (self, is_made) {
            (MarkKind::Done, true) => "agent_done",
            (MarkKind::Done, false) => "agent_not_done",
            (MarkKind::Held, true) => "agent_held",
            (MarkKind::Held, false) => "agent_released",
        }
    }
}

/// The work that is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkedWork<'a> {
    /// The agent, or the fork.
    pub name: &'a str,
    /// The id of its clone; `None` for a fork without one. An agent of another machine may have its name.
    pub clone: Option<&'a str>,
    /// Its commit.
    pub sha: Oid,
    /// Where its own work begins: the last commit that it shared with the branch that it goes to; `None` if unknown.
    pub base: Option<Oid>,
}

impl MarkedWork<'_> {
    fn key(self, kind: MarkKind) -> String {
        let kind = match kind {
            MarkKind::Done => "done",
            MarkKind::Held => "held",
        };
        match self.clone {
            Some(clone) => format!("{kind}:{}:{clone}", self.name),
            None => format!("{kind}:{}", self.name),
        }
    }
}

/// A mark on the work of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mark {
    /// The commit that the agent had then.
    pub sha: Oid,
    /// The commit below its own ones, as of then.
    #[serde(skip)]
    pub base: Option<Oid>,
    /// The reason, or a summary of the work, in the words of the author.
    pub text: Option<String>,
    /// Its author, `name <email>`.
    pub by: String,
    /// When, RFC 3339 UTC.
    pub at: String,
}

/// A mark that was made, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedMark {
    /// Its kind.
    pub kind: MarkKind,
    /// The agent, or the fork.
    pub name: String,
    /// The id of its clone; `None` for a fork without one.
    pub clone: Option<String>,
    /// Whether there is a mark now.
    pub is_made: bool,
    /// The mark, or the one that was deleted.
    pub mark: Mark,
}

/// The value of a key, as JSON.
#[derive(Serialize, Deserialize)]
struct StoredMark {
    sha: Oid,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<Oid>,
    text: Option<String>,
}

/// All marks, by agent.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// What agents have said that they are done with, by the ids of their clones.
    pub done: BTreeMap<String, Mark>,
    /// The work that is held back: the name of the agent or fork, and the id of its clone.
    held: BTreeMap<(String, Option<String>), Mark>,
}

impl Marks {
    /// Reads the marks of a repository. One that cannot be read counts as none.
    pub fn read(repo: &Repo) -> Result<Marks> {
        let (entries, _) = Board::open(repo, BOARD)?.read(repo)?;
        let mut marks = Marks::default();
        for entry in &entries {
            let Some((work, mark)) = work_of(&entry.key).zip(mark_of(entry)) else {
                continue;
            };
            match work {
                (MarkKind::Done, _, clone) => {
                    clone.and_then(|clone| marks.done.insert(clone.to_owned(), mark));
                }
                (MarkKind::Held, name, clone) => {
                    marks.held.insert((name.to_owned(), clone.map(str::to_owned)), mark);
                }
            }
        }
        Ok(marks)
    }

    /// Returns `true` if no work is held back.
    pub fn hold_nothing(&self) -> bool {
        self.held.is_empty()
    }

    /// Lists the work that is held back: the names, and the marks.
    pub fn held(&self) -> impl Iterator<Item = (&str, &Mark)> {
        self.held.iter().map(|((name, _), mark)| (name.as_str(), mark))
    }

    /// Finds the mark on the work of an agent or fork, with the id of the clone that the mark is on, if any: one on that
    /// clone, else one without a clone. Without a clone, any of that name counts.
    pub fn find_held(&self, name: &str, clone: Option<&str>) -> Option<(Option<&str>, &Mark)> {
        let of_name = || self.held.iter().filter(|((other, _), _)| other == name);
        let exact = of_name().find(|((_, of), _)| of.as_deref() == clone);
        let fits = |of: &Option<String>| clone.is_none() || of.is_none();
        let ((_, of), mark) = exact.or_else(|| of_name().find(|((_, of), _)| fits(of)))?;
        Some((of.as_deref(), mark))
    }
}

/// Opens the blackboard of the marks; nothing of them is read yet.
pub fn board(repo: &Repo) -> Result<Board> {
    Board::open(repo, BOARD)
}

/// Lists the marks that differ between two versions of the blackboard. One that cannot be read counts as none.
pub fn changed(repo: &Repo, before: &Board, now: &Board) -> Result<Vec<ChangedMark>> {
    let mut changed = Vec::new();
    for stored in before.keys.keys().chain(now.keys.keys()).collect::<BTreeSet<_>>() {
        let (old, new) = (before.keys.get(stored), now.keys.get(stored));
        let Some(found) = new.or(old).filter(|_| old != new) else {
            continue;
        };
        let Ok(entry) = Entry::read(repo, BOARD, stored, found)? else {
            continue;
        };
        let work = work_of(&entry.key).zip(mark_of(&entry));
        changed.extend(work.map(|((kind, name, clone), mark)| ChangedMark {
            kind,
            name: name.to_owned(),
            clone: clone.map(str::to_owned),
            is_made: new.is_some(),
            mark,
        }));
    }
    Ok(changed)
}

/// Reads what the mark of a key is on: its kind, the name of the agent or fork, and the id of its clone.
fn work_of(key: &str) -> Option<(MarkKind, &str, Option<&str>)> {
    let (kind, work) = key.split_once(':')?;
    let of_clone = work.split_once(':');
    let (name, clone) = of_clone.map_or((work, None), |(name, clone)| (name, Some(clone)));
    match kind {
        "done" => clone.map(|clone| (MarkKind::Done, name, Some(clone))),
        "held" => Some((MarkKind::Held, name, clone)),
        _ => None,
    }
}

/// Returns the name of marked work.
fn name_of(work: &str) -> &str {
    work.split(':').next().unwrap_or(work)
}

/// Returns the newest mark of a key.
fn mark_of(entry: &Entry) -> Option<Mark> {
    let newest = entry.values.last()?;
    let stored: StoredMark = serde_json::from_str(&newest.value).ok()?;
    let text = stored.text.map(|text| text.chars().take(MAX_TEXT).collect());
    Some(Mark {
        sha: stored.sha,
        base: stored.base,
        text,
        by: newest.author.clone(),
        at: newest.updated_at.clone(),
    })
}

/// Marks the work of an agent.
pub fn put(
    session: &Session,
    kind: MarkKind,
    work: MarkedWork<'_>,
    text: Option<&str>,
) -> Result<Changed> {
    let stored = StoredMark { sha: work.sha, base: work.base, text: text.map(str::to_owned) };
    let value = serde_json::to_string(&stored).or_code(Code::Io, || "cannot write a mark")?;
    change(session, &work.key(kind), Some(&value))
}

/// Returns the summary of an operation that makes or deletes the mark of a key.
pub(super) fn summary(key: &str, is_made: bool) -> String {
    let (kind, work) = key.split_once(':').unwrap_or_default();
    let agent = name_of(work);
    match (kind, is_made) {
        ("held", true) => format!("hold '{agent}' back"),
        ("held", false) => format!("release '{agent}'"),
        (_, true) => format!("'{agent}' is done"),
        (_, false) => format!("'{agent}' is not done"),
    }
}

/// Deletes a mark.
pub fn delete(session: &Session, kind: MarkKind, work: MarkedWork<'_>) -> Result<Changed> {
    change(session, &work.key(kind), None)
}

fn change(session: &Session, key: &str, value: Option<&str>) -> Result<Changed> {
    let place = Place { scope: BOARD, key };
    let entry = Board::open(&session.repo, BOARD)?.find(&session.repo, key).ok().flatten();
    // Where two clones have written a mark at once, the new one replaces both.
    let version = entry.as_ref().filter(|entry| entry.is_in_conflict()).map(Entry::version);
    change::apply(session, Change { place, value, if_version: version.as_deref() })
}
