//! Git's own list of the remaining commits of a pick in progress.
//!
//! With it `git status` reports them, `git commit` does not end the pick, `git cherry-pick
//! --continue` picks the rest, and nothing else begins before they are picked or given up.

use std::fmt::Write as _;

use crate::design::merge::resolve::nothing;
use crate::design::worktree::opened_by_us;
use crate::git::{Oid, Repo};
use crate::model::{Code, Error, Result, ResultExt as _, text};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::operation::{Record, StateFile, StateName, Tail};

use super::computed::Stuck;
use super::continue_pick::{FORMAT, PickNote};

/// A pick in progress.
pub(super) struct UnderWay {
    pub(super) note: PickNote,
    /// Whether git has committed the one that was in conflict.
    pub(super) is_committed: bool,
}

/// Plans the files that list the commits after a conflict for git.
pub(super) fn files(session: &Session, tip: Oid, stuck: &Stuck) -> Result<Vec<StateFile>> {
    if stuck.rest.is_empty() {
        return none(session);
    }
    let repo = &session.repo;
    let mut todo = String::new();
    for pick in [&stuck.at].into_iter().chain(&stuck.rest) {
        let subject = repo.read_commit(pick.commit)?.subject.replace(char::is_control, " ");
        // Writing to a string cannot fail.
        writeln!(todo, "pick {} {subject}", pick.commit).ok();
    }
    let tip = format!("{tip}\n");
    Ok(vec![
        StateFile::becoming(repo, StateName::SequencerHead, Some(tip.as_bytes()))?,
        StateFile::becoming(
            repo,
            StateName::SequencerOpts,
            Some(b"[options]\n\trecord-origin = true\n"),
        )?,
        StateFile::becoming(repo, StateName::SequencerAbortSafety, Some(tip.as_bytes()))?,
        StateFile::becoming(repo, StateName::SequencerTodo, Some(todo.as_bytes()))?,
    ])
}

/// Plans to delete git's list.
pub(super) fn none(session: &Session) -> Result<Vec<StateFile>> {
    let names = [
        StateName::SequencerTodo,
        StateName::SequencerAbortSafety,
        StateName::SequencerOpts,
        StateName::SequencerHead,
    ];
    let gone = names.map(|name| StateFile::becoming(&session.repo, name, None));
    gone.into_iter().collect()
}

/// Reads the pick in progress.
pub(super) fn read(session: &Session) -> Result<UnderWay> {
    if session.repo.in_progress() != Some("cherry-pick") {
        return Err(nothing("cherry-pick"));
    }
    find(session)?.ok_or_else(begun_by_git)
}

fn find(session: &Session) -> Result<Option<UnderWay>> {
    let repo = &session.repo;
    let Some(note) = read_note(repo)? else {
        return Ok(None);
    };
    let head = StateName::CherryPickHead.read(repo)?;
    let is_committed = head.is_none();
    let head = head.and_then(|bytes| Oid::parse(String::from_utf8_lossy(&bytes).trim()));
    let ours = if is_committed {
        newest(session)?.is_some_and(|record| left_by(repo, &record))
    } else {
        head == Some(note.at.commit) && opened_by_us(session)?
    };
    Ok(ours.then_some(UnderWay { note, is_committed }))
}

fn read_note(repo: &Repo) -> Result<Option<PickNote>> {
    let Some(bytes) = StateName::ColonyResolve.read(repo)? else {
        return Ok(None);
    };
    let note: PickNote = serde_json::from_slice(&bytes)
        .or_code(Code::RepositoryBroken, || "cannot read the state of the pick")?;
    Ok(Some(note).filter(|note| note.format == FORMAT))
}

fn newest(session: &Session) -> Result<Option<Record>> {
    let places = Places::find(&session.repo)?;
    let tail = places.map(|places| Tail::read(&session.repo, &places));
    let settled = tail.transpose()?.and_then(|tail| tail.settled);
    Ok(settled.map(|entry| entry.record))
}

/// Returns `true` if note and list are as an operation left them.
fn left_by(repo: &Repo, record: &Record) -> bool {
    let stands = |name: StateName| {
        let file = record.state_files.iter().find(|file| file.name == name);
        file.is_some_and(|file| {
            file.after.is_some() && file.is_at(repo, file.after).unwrap_or(false)
        })
    };
    stands(StateName::ColonyResolve) && stands(StateName::SequencerTodo)
}

/// Describes the remaining commits of a pick in progress; `None` if git's own list is complete.
pub fn left(session: &Session) -> Option<String> {
    if session.repo.in_progress() != Some("cherry-pick") {
        return None;
    }
    // An unreadable pick is not ours.
    let under_way = find(session).ok()??;
    let rest = &under_way.note.rest;
    if rest.is_empty() {
        return None;
    }
    let count = text::count(rest.len(), "commit");
    let ids: Vec<_> = rest.iter().take(5).map(|pick| pick.commit.short()).collect();
    let more = if rest.len() > ids.len() { ", ..." } else { "" };
    let verb = if rest.len() == 1 { "is" } else { "are" };
    Some(format!("{count} {verb} left ({}{more})", ids.join(", ")))
}

/// Returns `true` if git has committed the resolved conflict, so that only the rest remains.
pub fn is_committed_by_git(session: &Session) -> bool {
    let pick = find(session).ok().flatten();
    pick.is_some_and(|under_way| under_way.is_committed)
}

fn begun_by_git() -> Error {
    Error::new(Code::OperationInProgress, "git itself continues this cherry-pick")
        .hint("git cherry-pick --continue")
}

pub(super) fn branch_moved() -> Error {
    Error::new(Code::OperationInProgress, "the branch has moved since the pick began")
        .hint("git colony cherry-pick --abort")
}

pub(super) fn dropped_by_git(note: &PickNote) -> Error {
    let ids: Vec<_> = note.rest.iter().map(|pick| pick.commit).collect();
    Error::new(
        Code::OperationInProgress,
        format!(
            "{} was dropped, not committed, and {} after it",
            note.at.commit.short(),
            text::count(ids.len(), "commit"),
        ),
    )
    .detail("left", ids)
    .hint("git cherry-pick --continue   # picks those after it; --quit drops them")
}
