//! The files that others have locked on the git-lfs server, from the server's last answer.
//!
//! A screen that warns of locks must neither wait for a network nor hang on it, so it reads a note. Commands
//! that use the network anyway ask the server and replace the note (`lfs::locks`). The note is derived data
//! and may be deleted at any time; the clones of a colony share the one in their hub, because they have one
//! server. The server is not trusted: paths that no worktree can hold are dropped, texts are cut.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{RepoPath, time};
use crate::store::Session;
use crate::store::cache::Cache;

/// The name and format of the note; another format is another file.
const NOTE: &str = "lfs-locks-1.json";

/// Further locks are not recorded.
const MAX_LOCKS: usize = 10_000;

/// Longer names of owners and ids are cut.
const MAX_CHARACTERS: usize = 200;

/// A lock of another user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Its id, for `git lfs unlock --id`.
    pub id: String,
    /// The file.
    pub path: RepoPath,
    /// The owner's name on the server; `None` where the server gives none.
    pub owner: Option<String>,
    /// The time of locking, as the server writes it.
    pub locked_at: Option<String>,
}

/// The locks of others, from the last answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLocks {
    /// The time of the answer, RFC 3339 UTC; `None` where the server was never asked.
    pub asked_at: Option<String>,
    /// The locks, by path.
    pub locks: Vec<Lock>,
}

/// A file that another user has locked and that is changed here or in a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LockedPath {
    /// The file.
    pub path: RepoPath,
    /// The id of the lock.
    pub id: String,
    /// The owner's name on the server; `None` where the server gives none.
    pub locked_by: Option<String>,
    /// The time of locking, as the server writes it.
    pub locked_at: Option<String>,
    /// The branches that change it, committed or not.
    pub changed_in: Vec<String>,
}

impl KnownLocks {
    /// Reads the note, without asking the server.
    pub fn load(session: &Session) -> KnownLocks {
        note_of(session).read()
    }

    /// Parses the answer of git-lfs: `{"ours": [...], "theirs": [...]}`. Returns `None` for anything else.
    pub fn parse(json: &[u8], asked_at: String) -> Option<KnownLocks> {
        let answer: Answer = serde_json::from_slice(json).ok()?;
        let theirs = answer.theirs.unwrap_or_default().into_iter();
        let mut locks: Vec<Lock> = theirs.filter_map(Lock::of_answer).take(MAX_LOCKS).collect();
        locks.sort_by(|a, b| (&a.path, &a.id).cmp(&(&b.path, &b.id)));
        Some(KnownLocks { asked_at: Some(asked_at), locks })
    }

    /// Records the locks for every clone of the colony, or without a colony for this repository.
    pub fn write(&self, session: &Session) {
        note_of(session).write(self);
    }

    /// Returns those of `paths` that are locked.
    pub fn among(&self, paths: impl Iterator<Item = RepoPath>) -> BTreeSet<RepoPath> {
        if self.locks.is_empty() {
            return BTreeSet::new();
        }
        let locked: BTreeSet<&RepoPath> = self.locks.iter().map(|lock| &lock.path).collect();
        paths.filter(|path| locked.contains(path)).collect()
    }

    /// Returns the locks of files that are changed somewhere: `changed` lists branches, each with the locked
    /// files that it changes.
    pub fn meeting(&self, changed: &[(String, BTreeSet<RepoPath>)]) -> Vec<LockedPath> {
        let locked = self.locks.iter().filter_map(|lock| {
            let here = changed.iter().filter(|(_, paths)| paths.contains(&lock.path));
            let branches: BTreeSet<&String> = here.map(|(branch, _)| branch).collect();
            (!branches.is_empty()).then(|| LockedPath {
                path: lock.path.clone(),
                id: lock.id.clone(),
                locked_by: lock.owner.clone(),
                locked_at: lock.locked_at.clone(),
                changed_in: branches.into_iter().cloned().collect(),
            })
        });
        locked.collect()
    }
}

fn note_of(session: &Session) -> Cache {
    let hub = session.membership.as_ref().map(|member| &member.hub);
    // A deleted hub must not come back as a folder with a note in it.
    match hub.filter(|hub| hub.is_dir()) {
        Some(hub) => Cache::of_hub(&session.repo, hub, NOTE),
        None => Cache::of(&session.repo, NOTE),
    }
}

/// The answer of git-lfs. Only the locks of others matter.
#[derive(Deserialize)]
struct Answer {
    theirs: Option<Vec<LockAnswer>>,
}

#[derive(Deserialize)]
struct LockAnswer {
    id: String,
    path: String,
    owner: Option<Owner>,
    locked_at: Option<String>,
}

#[derive(Deserialize)]
struct Owner {
    name: Option<String>,
}

impl Lock {
    fn of_answer(answer: LockAnswer) -> Option<Lock> {
        let path = RepoPath::from(answer.path.as_str());
        let owner = answer.owner.and_then(|owner| owner.name);
        // git-lfs writes the earliest possible time where the server gave none.
        let since = answer
            .locked_at
            .as_deref()
            .and_then(time::parse_rfc3339)
            .filter(|since| since.timestamp() > 0);
        path.is_safe().then(|| Lock {
            id: cut(&answer.id),
            path,
            owner: owner.map(|name| cut(&name)).filter(|name| !name.is_empty()),
            locked_at: since.as_ref().map(time::rfc3339),
        })
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_untrusted_and_paths_outside_are_dropped() {
        let json = br#"{"ours": [{"id": "1", "path": "own.bin"}], "theirs": [
            {"id": "2", "path": "b.bin", "locked_at": "0001-01-01T00:00:00Z", "owner": {"name": ""}},
            {"id": "3", "path": "a.bin", "locked_at": "2026-01-01T01:00:00+01:00", "owner": {"name": "Eve\u001b[31m\n"}},
            {"id": "4", "path": "../out"}, {"id": "5", "path": "/etc/passwd"}, {"id": "6", "path": ".git/config"},
            {"id": "7", "path": ""}, {"id": "8", "path": "a\u0000b"}]}"#;
        let known = KnownLocks::parse(json, "now".to_owned()).unwrap();
        let said: Vec<_> =
            known.locks.iter().map(|lock| (lock.id.as_str(), lock.path.to_string())).collect();
        assert_eq!(said, [("3", "a.bin".to_owned()), ("2", "b.bin".to_owned())]);
        let [eve, nobody] = known.locks.as_slice() else {
            panic!("{known:?}");
        };
        assert_eq!(eve.owner.as_deref(), Some("Eve\u{1b}[31m\n"));
        assert_eq!(eve.locked_at.as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!((&nobody.owner, &nobody.locked_at), (&None, &None));
        for none in [&b""[..], b"[]", b"{\"theirs\": 7}", b"{\"theirs\": [{}]}"] {
            assert_eq!(KnownLocks::parse(none, String::new()), None);
        }
        let empty = KnownLocks::parse(br#"{"ours": null, "theirs": null}"#, String::new());
        assert_eq!(empty.unwrap().locks, []);
    }
}
