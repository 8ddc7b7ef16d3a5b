//! Checks that all new objects still exist once a ref holds them.
//!
//! Before that, nothing points to them, and a `git gc --prune=now` in another process may delete them, even
//! later if it has scanned before. So a running gc is waited for, within a time limit. A gc that scans after
//! the ref was created keeps them. If some are gone, the ref is deleted again.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;
use std::time::Duration;

use crate::git::durable::Durable;
use crate::git::index::index_state::STAGE_0;
use crate::git::plain_file;
use crate::git::refs::ReflogReason;
use crate::git::{Oid, RefChange, RefName, Repo, TreeEntry};
use crate::model::text::shell_word;
use crate::model::{Code, Error, RepoPath, Result};
use crate::store::Session;
use crate::store::files::places::Places;
use crate::store::lease::processes;
use crate::store::refs::{own_refs, ref_names};

use super::operation_record::Record;
use super::recover;

/// How long to wait for a gc to end.
const GC_TIMEOUT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Objects that were written for a ref to hold.
pub struct Written<'a> {
    /// Their name in messages.
    pub what: &'a dyn fmt::Display,
    /// A tree that existed before: its objects are not checked again.
    pub base: Oid,
    /// Records of ours, with everything below their trees.
    pub records: Vec<Oid>,
    /// Commits of files, or tags of them, with everything below their trees.
    pub files: Vec<Oid>,
    /// Objects that are checked without what they refer to.
    pub others: Vec<Oid>,
}

impl Written<'_> {
    /// Returns the objects of an operation, whose record is in `commit`.
    pub fn of_record<'a>(repo: &Repo, commit: Oid, record: &'a Record) -> Result<Written<'a>> {
        let is_record = |name: &RefName| {
            let places = [ref_names::PUBLISHED, ref_names::LOCAL_SCOPES];
            places.iter().any(|place| name.as_bytes().starts_with(place.as_bytes()))
        };
        let mut written = Written {
            what: &record.op,
            base: repo.tree_of(record.before.head.commit)?,
            records: vec![commit],
            files: [record.snapshot, record.after.head.commit].into_iter().flatten().collect(),
            others: Vec::new(),
        };
        for change in &record.refs {
            match change.new {
                Some(new) if is_record(&change.name) => written.records.push(new),
                // It existed before, or is among the files.
                Some(new) => written.others.push(new),
                None => {}
            }
        }
        Ok(written)
    }
}

/// A private ref to create, and the proof that its objects are on disk.
pub struct NewRef<'a> {
    /// Its name.
    pub name: RefName,
    /// The object it names.
    pub id: Oid,
    /// The proof.
    pub durable: &'a Durable,
}

/// Creates a private ref for objects that were just written; deletes it again if some of them are gone.
pub fn create_ref(
    session: &Session,
    places: &Places,
    new: NewRef<'_>,
    written: &Written<'_>,
) -> Result<()> {
    session.repo.create_private_ref(&new.name, new.id, new.durable)?;
    require(session, written).or_else(|error| {
        recover::delete_refs(session, places, &[(new.name, new.id)], "cancel")?;
        Err(error)
    })
}

/// Moves a ref of ours to objects that were just written; moves it back if some of them are gone.
pub fn move_ref(
    session: &Session,
    change: &RefChange,
    why: &ReflogReason<'_>,
    written: &Written<'_>,
) -> Result<()> {
    own_refs::move_refs(session, std::slice::from_ref(change), why)?;
    require(session, written).or_else(|error| {
        own_refs::move_refs(session, &[change.inverse()], why)?;
        Err(error)
    })
}

/// Checks that everything exists. In a partial clone, which never has everything, checks only the named
/// objects.
pub fn require(session: &Session, written: &Written<'_>) -> Result<()> {
    wait_for_gc(session);
    let mut walk = Walk {
        repo: &session.repo,
        what: written.what,
        base: written.base,
        looks_below: !session.repo.is_partial(),
        seen: HashSet::new(),
        waiting: Vec::new(),
    };
    for id in &written.others {
        walk.require(*id, None)?;
    }
    for id in &written.records {
        walk.object(*id, None)?;
    }
    let root = RepoPath::new(Vec::new());
    let mut files = written.files.iter();
    files.try_for_each(|id| walk.object(*id, Some(&root)))
}

/// Returns `true` if the objects of an operation exist, including its record in `commit`.
pub(super) fn has_all_objects(session: &Session, commit: Oid, record: &Record) -> bool {
    let written = Written::of_record(&session.repo, commit, record);
    let result = written.and_then(|written| require(session, &written));
    !matches!(result, Err(error) if error.code() == Code::ObjectMissing)
}

/// Looks for objects in the store itself: objects that were read before are cached, even if they are gone.
struct Walk<'a> {
    repo: &'a Repo,
    what: &'a dyn fmt::Display,
    base: Oid,
    looks_below: bool,
    /// Pairs of compared trees.
    seen: HashSet<(Oid, Oid)>,
    /// Pairs of trees, with the path of the second in messages.
    waiting: Vec<(Oid, Oid, Option<RepoPath>)>,
}

impl Walk<'_> {
    /// Looks for a commit or tag with everything below its tree; `root` is the tree's path in messages.
    fn object(&mut self, mut id: Oid, root: Option<&RepoPath>) -> Result<()> {
        self.require(id, root)?;
        while let Some(tag) = self.repo.find_tag(id) {
            id = tag.target;
            self.require(id, root)?;
        }
        if let Ok(commit) = self.repo.read_commit(id)
            && self.looks_below
        {
            self.waiting.push((self.base, commit.tree, root.cloned()));
        }
        // It may be gone by now, and anything but a commit has nothing below it.
        self.require(id, root)?;
        while let Some((old, new, at)) = self.waiting.pop() {
            if old != new && new != self.repo.empty_tree() && self.seen.insert((old, new)) {
                self.tree((old, new), at.as_ref())?;
            }
        }
        Ok(())
    }

    /// Looks for a tree, and for its objects that the earlier tree at its place lacks.
    fn tree(&mut self, (old, new): (Oid, Oid), at: Option<&RepoPath>) -> Result<()> {
        self.require(new, at)?;
        let entries = self.repo.entries_of(new).map_err(|_| self.gone(at))?;
        let before: BTreeMap<RepoPath, TreeEntry> =
            self.repo.entries_of(old).unwrap_or_default().into_iter().collect();
        for (name, entry) in entries {
            let path = at.map(|at| at.join(&name));
            let there = before.get(&name).copied();
            if there.is_some_and(|there| there.id == entry.id) || entry.is_submodule() {
                continue;
            }
            if !entry.is_directory() {
                self.require(entry.id, path.as_ref())?;
            } else if at.is_none() && name.as_bytes() == STAGE_0.as_bytes() {
                // Most of the index equals the files.
                let root = RepoPath::new(Vec::new());
                self.waiting.push((self.base, entry.id, Some(root)));
            } else {
                let there = there
                    .filter(TreeEntry::is_directory)
                    .map_or(self.repo.empty_tree(), |there| there.id);
                self.waiting.push((there, entry.id, path));
            }
        }
        Ok(())
    }

    fn require(&self, id: Oid, at: Option<&RepoPath>) -> Result<()> {
        if self.repo.object_size(id).is_some() {
            return Ok(());
        }
        Err(self.repo.empty_file_of(id).map_or_else(|| self.gone(at), |file| empty(id, &file)))
    }

    fn gone(&self, at: Option<&RepoPath>) -> Error {
        match at.filter(|path| !path.as_bytes().is_empty()) {
            Some(path) => removed(path),
            None => removed(self.what),
        }
    }
}

fn removed(what: &dyn fmt::Display) -> Error {
    Error::new(Code::ObjectMissing, format!("git deleted '{what}' while it was being kept"))
        .unchanged()
        .hint("run the command again once git gc has ended")
}

/// Makes the error for an object that counts as stored and cannot be read.
fn empty(id: Oid, file: &Path) -> Error {
    let objects = file.parent().and_then(Path::parent).unwrap_or(file);
    let objects = shell_word(&objects.to_string_lossy());
    Error::new(
        Code::ObjectMissing,
        format!("object {id} is an empty file: a power cut has lost its content"),
    )
    .unchanged()
    .hint(format!("find {objects} -type f -empty -delete   # then run it again"))
}

/// Waits while a gc that git has recorded still runs, as far as the system shows.
fn wait_for_gc(session: &Session) {
    let note = session.repo.common_dir().join("gc.pid");
    let is_at_work = || {
        let text = plain_file::read_text(&note).ok()?;
        processes::find(text.split_whitespace().next()?.parse().ok()?)
    };
    let mut waited = Duration::ZERO;
    while waited < GC_TIMEOUT && is_at_work().is_some() {
        if session.world.interrupt.check().is_err() {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
        waited += POLL_INTERVAL;
    }
}
