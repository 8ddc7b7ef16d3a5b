//! The record of a rewritten history: the old and the new id of each commit, and the progress.
//!
//! `refs/colony/migrations` is pushed and fetched: the tree of its commit has a folder per migration with
//! `migration.json` and `map`, a line with the old and the new id for each commit. The operation that moves
//! the refs creates and undoes it, together with the journal (`migration_journal.rs`).

pub mod migration_children;
pub mod migration_journal;
pub mod object_map;
mod published_migrations;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::git::object::NewCommit;
use crate::git::refs::ReflogReason;
use crate::git::{Oid, RefChange, RefName, Repo, Signature, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};
use crate::store::lock::wait::WaitLimit;

use super::Session;
use super::files::atomic;
use super::lock::WorktreeLock;
use super::refs::{own_refs, ref_names};

pub use object_map::ObjectMap;
pub use published_migrations::{explain, known_here};

/// The format that this version reads and writes.
pub const FORMAT: u32 = 1;

const ABOUT: &str = "migration.json";
/// The file of a migration with its map.
pub const MAP: &str = "map";

/// Some five million commits; a longer map is not read.
pub const MAX_BYTES: u64 = 512 << 20;

/// The limit for `migration.json`.
const MAX_BYTES_ABOUT: u64 = 1 << 20;

/// The folder below `<common dir>/colony` that a new history is written in.
pub const FOLDER: &str = "migration";

/// The lock beside that folder; it is never deleted.
const LOCK: &str = "migration-lock";

/// Returns the folder that a new history is written in.
pub fn folder(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony").join(FOLDER)
}

/// Takes the lock that a migration holds from its first scan to its last push.
pub fn lock(session: &Session, limit: WaitLimit) -> Result<WorktreeLock> {
    let path = folder(&session.repo).with_file_name(LOCK);
    let waiting = "waiting for another migration in this repository";
    WorktreeLock::take_at(&session.world, &path, limit, waiting)
}

/// Returns `true` if a process holds that lock; does not create it.
pub fn is_at_work(repo: &Repo) -> bool {
    WorktreeLock::is_held(&folder(repo).with_file_name(LOCK))
}

/// Removes the folder that a dead migration left.
pub(super) fn sweep(session: &Session) -> Result<()> {
    match lock(session, WaitLimit::AtMost(Duration::ZERO)) {
        Ok(_lock) if !migration_children::are_left(&session.repo) => {
            atomic::remove_folder(&folder(&session.repo))
        }
        // A migration runs, or a process still writes for a dead one.
        _ => Ok(()),
    }
}

/// The data of a migration beside its map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The format of the record.
    pub format: u32,
    /// The time, RFC 3339 UTC.
    pub created_at: String,
    /// The author, `name <email>`.
    pub author: String,
    /// The patterns of the files that moved to git-lfs.
    pub patterns: Vec<String>,
    /// The patterns of files that stayed in git although one above matches.
    pub exclude: Vec<String>,
    /// The attribute lines that say so.
    pub taken: Vec<String>,
}

/// The data that a new migration records.
#[derive(Clone, Copy)]
pub struct MigrationNotice<'a> {
    /// The old and new ids of the commits.
    pub map: &'a ObjectMap,
    /// The patterns of the files that moved to git-lfs.
    pub include: &'a [String],
    /// The patterns of files that stayed in git although one above matches.
    pub exclude: &'a [String],
    /// The attribute lines that say so.
    pub taken: &'a [String],
}

/// Writes the commit of `refs/colony/migrations` with one more migration; no ref points to it yet.
pub fn add(
    repo: &Repo,
    name: &str,
    notice: MigrationNotice<'_>,
    who: &Signature,
    now: String,
) -> Result<Oid> {
    let tip = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    let about = About {
        format: FORMAT,
        created_at: now,
        author: format!("{} <{}>", who.name, who.email),
        patterns: notice.include.to_vec(),
        exclude: notice.exclude.to_vec(),
        taken: notice.taken.to_vec(),
    };
    let json = pretty(&about, "cannot write the record of a migration")?;
    let parts = [(ABOUT, json), (MAP, notice.map.write())];
    let mut entries = Vec::new();
    for (file, bytes) in parts {
        let path = RepoPath::from(format!("{name}/{file}").as_str());
        entries.push((path, TreeEntry::file(repo.write_blob(&bytes)?)));
    }
    let edits = entries.iter().map(|(path, entry)| (path, Some(*entry)));
    repo.write_commit(NewCommit {
        tree: repo.edit_tree(repo.tree_of(tip)?, edits)?,
        parents: tip.into_iter().collect(),
        signature: who,
        message: format!("lfs migrate: {} rewritten commits", notice.map.len()),
    })
}

/// A recorded migration.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Its data.
    pub about: About,
    /// Its map.
    pub map: ObjectMap,
}

/// Reads the migrations that this repository knows, oldest first.
pub fn recorded(repo: &Repo) -> Result<Vec<Recorded>> {
    let broken = || "cannot read the record of a migration".to_owned();
    let tip = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    let mut migrations = Vec::new();
    for (_, entry) in repo.entries_of(repo.tree_of(tip)?)? {
        if !entry.is_directory() {
            continue;
        }
        let Some(blob) = repo.entry_in(entry.id, ABOUT)? else {
            continue;
        };
        let about: About = serde_json::from_slice(&repo.read_blob(blob)?)
            .or_code(Code::RepositoryBroken, broken)?;
        if about.format > FORMAT {
            return Err(Error::new(
                Code::NewerFormat,
                "history was rewritten by a newer git-colony",
            )
            .unchanged());
        }
        let mut map = ObjectMap::new(HashMap::new(), repo);
        read_map(repo, entry.id, &mut map)?;
        migrations.push(Recorded { about, map });
    }
    migrations.sort_by(|migration, other| migration.about.created_at.cmp(&other.about.created_at));
    Ok(migrations)
}

/// Returns `true` if a history is from before a migration: its commits have other ids now.
pub fn is_old(repo: &Repo, map: &ObjectMap, tip: Oid) -> Result<bool> {
    if map.is_empty() {
        return Ok(false);
    }
    let new: HashSet<Oid> = map.new_ids().collect();
    let (mut open, mut seen) = (vec![tip], HashSet::from([tip]));
    while let Some(commit) = open.pop() {
        if map.get(commit).is_some() {
            return Ok(true);
        }
        // All ancestors of a commit of the new history belong to the new history.
        if new.contains(&commit) {
            continue;
        }
        let parents = repo.read_commit(commit)?.parents.into_iter();
        open.extend(parents.filter(|parent| seen.insert(*parent)));
    }
    Ok(false)
}

/// Returns `true` if a migration has made this history.
pub fn is_new(repo: &Repo, map: &ObjectMap, tip: Oid) -> Result<bool> {
    let new: HashSet<Oid> = map.new_ids().collect();
    let (mut open, mut seen) = (vec![tip], HashSet::from([tip]));
    while let Some(commit) = open.pop() {
        if new.contains(&commit) {
            return Ok(true);
        }
        // All ancestors of a commit of the old history belong to the old history.
        if map.get(commit).is_some() {
            continue;
        }
        let parents = repo.read_commit(commit)?.parents.into_iter();
        open.extend(parents.filter(|parent| seen.insert(*parent)));
    }
    Ok(false)
}

/// Fails for a history from before a migration.
pub fn refuse_old(repo: &Repo, tip: Oid, what: &str) -> Result<()> {
    if !is_old(repo, &known(repo)?, tip)? {
        return Ok(());
    }
    Err(Error::new(
        Code::HistoryRewritten,
        format!("{what} is from before history was rewritten for git-lfs"),
    )
    .hint(format!("git colony merge {}   # rewrites its commits, and merges them", tip.short())))
}

/// Reads every migration that a commit of `refs/colony/migrations` holds, as one map. Unreadable ones are
/// left out.
pub fn load(repo: &Repo, commit: Oid) -> Result<ObjectMap> {
    let mut all = ObjectMap::new(HashMap::new(), repo);
    for (_, entry) in repo.entries_of(repo.tree_of(Some(commit))?)? {
        if entry.is_directory() {
            read_map(repo, entry.id, &mut all)?;
        }
    }
    Ok(all)
}

fn read_map(repo: &Repo, folder: Oid, into: &mut ObjectMap) -> Result<()> {
    if let Some(blob) = repo.entry_in(folder, MAP)?
        && repo.object_size(blob).is_some_and(|size| size <= MAX_BYTES)
    {
        into.read_into(&repo.read_blob(blob)?);
    }
    Ok(())
}

/// Returns the first flaw in the migrations at a commit that others wrote; `None` if they are well formed.
/// Only the form of the maps is checked, for their content cannot be.
pub fn flaw(repo: &Repo, commit: Oid) -> Result<Option<String>> {
    let entries = repo.entries_of(repo.tree_of(Some(commit))?)?;
    if entries.is_empty() {
        return Ok(Some("it contains no migration".to_owned()));
    }
    for (name, entry) in entries {
        let folder = entry.is_directory().then_some(entry.id);
        let of = |file| folder.map(|folder| repo.entry_in(folder, file)).transpose();
        let (about, map) = (of(ABOUT)?.flatten(), of(MAP)?.flatten());
        let Some((about, map)) = about.zip(map) else {
            return Ok(Some(format!("'{name}' is not a migration: it lacks '{ABOUT}' or '{MAP}'")));
        };
        let is_small = |blob, most| repo.object_size(blob).is_some_and(|size| size <= most);
        let about = is_small(about, MAX_BYTES_ABOUT).then(|| repo.read_blob(about)).transpose()?;
        if about.is_none_or(|json| !is_about(&json)) {
            return Ok(Some(format!("'{name}' is not a migration: '{ABOUT}' cannot be read")));
        }
        let map = is_small(map, MAX_BYTES).then(|| repo.read_blob(map)).transpose()?;
        if map.is_none_or(|map| !is_map(&map, repo.hex_len())) {
            return Ok(Some(format!(
                "'{name}' is not a migration: '{MAP}' is not a list of commits"
            )));
        }
    }
    Ok(None)
}

fn is_about(json: &[u8]) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_slice(json).ok();
    let format = value.as_ref().and_then(|value| value.get("format")?.as_u64());
    // One of a newer git-colony is refused where it is needed.
    format > Some(u64::from(FORMAT)) || serde_json::from_slice::<About>(json).is_ok()
}

fn is_map(text: &[u8], hex_len: usize) -> bool {
    let is_id = |id: &[u8]| id.len() == hex_len && id.iter().all(u8::is_ascii_hexdigit);
    let mut lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.all(|line| {
        let (old, new) = line.split_at(line.len().min(hex_len));
        is_id(old) && new.strip_prefix(b" ").is_some_and(is_id)
    })
}

/// Reads the migrations that this repository knows, and the commits that were rewritten since; empty where it
/// knows none, or where git has removed them.
pub fn known(repo: &Repo) -> Result<ObjectMap> {
    let mut all = match standing(repo, ref_names::MIGRATIONS)? {
        Some(commit) => load(repo, commit)?,
        None => return Ok(ObjectMap::default()),
    };
    if let Some(commit) = standing(repo, ref_names::REWRITTEN)? {
        all.extend(load(repo, commit)?);
    }
    Ok(all)
}

fn standing(repo: &Repo, name: &str) -> Result<Option<Oid>> {
    let tip = repo.find_ref(&RefName::from(name))?;
    Ok(tip.filter(|commit| !repo.is_gone(*commit)))
}

/// Adds commits that a merge has rewritten since a migration.
pub fn add_rewritten(session: &Session, map: ObjectMap) -> Result<()> {
    let repo = &session.repo;
    let name = RefName::from(ref_names::REWRITTEN);
    let old = repo.find_ref(&name)?;
    let mut all = match standing(repo, ref_names::REWRITTEN)? {
        Some(commit) => load(repo, commit)?,
        None => ObjectMap::default(),
    };
    all.extend(map);
    let who = session.record_signature();
    let path = RepoPath::from(format!("rewritten/{MAP}").as_str());
    let entry = TreeEntry::file(repo.write_blob(&all.write())?);
    let new = repo.write_commit(NewCommit {
        tree: repo.edit_tree(repo.empty_tree(), [(&path, Some(entry))])?,
        parents: Vec::new(),
        signature: &who,
        message: format!("merge: {} rewritten commits", all.len()),
    })?;
    let why = ReflogReason { text: "colony: merge", who: &who, operation: "merge" };
    own_refs::move_refs(session, &[RefChange { name, old, new: Some(new) }], &why)
}

/// Resolves a revision that was recorded at some time, for example in a file: a commit from before a
/// migration resolves to its rewritten one.
pub fn resolve(repo: &Repo, revision: &str) -> Result<Oid> {
    let resolved = repo.resolve_commit(revision);
    let map = known(repo)?;
    match resolved {
        // A name moves with its ref; only an id can be out of date.
        Ok(commit) if commit.to_string().starts_with(&revision.to_ascii_lowercase()) => {
            Ok(map.current(repo, commit))
        }
        Ok(commit) => Ok(commit),
        Err(error) => {
            let old = map.beginning(revision);
            let new = old.map(|old| (old, map.current(repo, old)));
            new.filter(|(old, new)| old != new).map(|(_, new)| new).ok_or(error)
        }
    }
}

pub(super) fn pretty(value: &impl Serialize, cannot: &str) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(value).or_code(Code::Io, || cannot.to_owned())?;
    json.push(b'\n');
    Ok(json)
}
