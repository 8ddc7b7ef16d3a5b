//! What is kept of a history that was written again: which commit became which, and how far it got.
//!
//! `refs/colony/migrations` travels: the tree of its commit has a folder per migration with
//! `migration.json` and `map`, a line with the old and the new id for each commit. It comes and goes with
//! the operation that moves the refs, and so does the journal (`migration_journal.rs`).

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

use super::lock::WorktreeLock;
use super::{Session, atomic, ref_names};

/// The format this version writes and the newest it reads.
pub(super) const FORMAT: u32 = 1;

const ABOUT: &str = "migration.json";
const MAP: &str = "map";

/// The folder below `<common dir>/colony` that a new history is written in.
pub const FOLDER: &str = "migration";

/// Returns the folder that a new history is written in.
pub fn folder(repo: &Repo) -> PathBuf {
    repo.common_dir().join("colony").join(FOLDER)
}

/// Takes the lock that is held from the first look to the last push, waiting up to `patience`.
///
/// # Errors
/// `locked`, `interrupted`, `io`.
pub fn lock(session: &Session, patience: Duration) -> Result<WorktreeLock> {
    let path = folder(&session.repo).with_file_name("migration-lock");
    let waiting = "waiting for another migration in this repository";
    WorktreeLock::take_at(&session.world, &path, (patience, waiting))
}

/// Removes the folder that a dead migration left.
///
/// # Errors
/// `io`.
pub(super) fn sweep(session: &Session) -> Result<()> {
    match lock(session, Duration::ZERO) {
        Ok(_lock) => atomic::remove_folder(&folder(&session.repo)),
        // One is at work.
        Err(_) => Ok(()),
    }
}

/// Which commit became which.
#[derive(Clone, Debug, Default)]
pub struct ObjectMap {
    ids: HashMap<Oid, Oid>,
    hex_len: usize,
}

impl ObjectMap {
    /// Takes a map over.
    pub fn new(ids: HashMap<Oid, Oid>, repo: &Repo) -> ObjectMap {
        let hex_len = repo.hex_len();
        ObjectMap { ids, hex_len }
    }

    /// Returns what a commit became; `None` where it is none that was rewritten.
    pub fn get(&self, id: Oid) -> Option<Oid> {
        self.ids.get(&id).copied()
    }

    /// Returns what a commit is now, through as many migrations as there were.
    pub fn newest(&self, id: Oid) -> Option<Oid> {
        let mut found = self.get(id)?;
        // A cycle would be nobody's honest map.
        for _ in 0..64 {
            let Some(next) = self.get(found) else { break };
            found = next;
        }
        Some(found)
    }

    /// Says what a commit became.
    pub fn insert(&mut self, old: Oid, new: Oid) {
        self.ids.insert(old, new);
    }

    /// Forgets a commit, and returns what it became.
    pub fn take(&mut self, id: Oid) -> Option<Oid> {
        self.ids.remove(&id)
    }

    /// Tells whether another map leads elsewhere from a commit that both know.
    pub fn contradicts(&self, other: &ObjectMap) -> bool {
        let differs = |(old, new): (&Oid, &Oid)| other.get(*old).is_some_and(|other| other != *new);
        self.ids.iter().any(differs)
    }

    /// Tells whether nothing was rewritten.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Returns how many commits were rewritten.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Replaces every full id of a rewritten commit in a text.
    pub fn translate(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let plain = rest.iter().position(u8::is_ascii_hexdigit);
            let (before, from) = rest.split_at(plain.unwrap_or(rest.len()));
            out.extend_from_slice(before);
            let digits = from.iter().position(|byte| !byte.is_ascii_hexdigit());
            let (word, after) = from.split_at(digits.unwrap_or(from.len()));
            match self.of_word(word) {
                Some(new) => out.extend_from_slice(new.to_string().as_bytes()),
                None => out.extend_from_slice(word),
            }
            rest = after;
        }
        out
    }

    fn of_word(&self, word: &[u8]) -> Option<Oid> {
        let text = std::str::from_utf8(word).ok();
        let text = text.filter(|text| text.len() == self.hex_len)?;
        self.get(Oid::parse(text)?)
    }

    /// Lists the full ids that stand in a text, whatever they are of.
    pub fn ids_in(text: &[u8], hex_len: usize) -> Vec<Oid> {
        let words = text.split(|byte| !byte.is_ascii_hexdigit());
        let words = words.filter(|word| word.len() == hex_len);
        words
            .filter_map(|word| Oid::parse(std::str::from_utf8(word).ok()?))
            .collect()
    }

    fn write(&self) -> Vec<u8> {
        let mut pairs: Vec<_> = self.ids.iter().collect();
        pairs.sort();
        let mut text = String::with_capacity(pairs.len() * (2 * self.hex_len + 2));
        for (old, new) in pairs {
            writeln!(text, "{old} {new}").ok();
        }
        text.into_bytes()
    }

    fn read_into(&mut self, text: &[u8]) {
        let lines = text.split(|&byte| byte == b'\n');
        let pair = |line: &[u8]| {
            let (old, new) = std::str::from_utf8(line).ok()?.split_once(' ')?;
            Oid::parse(old).zip(Oid::parse(new))
        };
        self.ids.extend(lines.filter_map(pair));
    }
}

/// What is known of a migration beside its map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The format of the record.
    pub format: u32,
    /// When, RFC 3339 UTC.
    pub created_at: String,
    /// Who, `name <email>`.
    pub author: String,
    /// The patterns whose files git-lfs got.
    pub patterns: Vec<String>,
    /// The patterns of files that it did not get although one above matches.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// Writes the commit of `refs/colony/migrations` with one more migration; no ref points to it yet.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn add(
    repo: &Repo,
    name: &str,
    (map, include, exclude): (&ObjectMap, &[String], &[String]),
    who: &Signature,
    now: String,
) -> Result<Oid> {
    let tip = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    let about = About {
        format: FORMAT,
        created_at: now,
        author: format!("{} <{}>", who.name, who.email),
        patterns: include.to_vec(),
        exclude: exclude.to_vec(),
    };
    let json = pretty(&about, "cannot write the record of a migration")?;
    let parts = [(ABOUT, json), (MAP, map.write())];
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
        message: format!("lfs migrate: {} rewritten commits", map.len()),
    })
}

/// Reads what is known of the newest migration that a commit of `refs/colony/migrations` holds.
///
/// # Errors
/// `newer-format`, `repository-broken`, `object-missing`.
pub fn newest(repo: &Repo, commit: Oid) -> Result<About> {
    let broken = || "cannot read the record of a migration".to_owned();
    let mut found: Option<About> = None;
    for (_, entry) in repo.entries_of(repo.tree_of(Some(commit))?)? {
        let folder = entry.is_directory().then_some(entry.id);
        let about = folder
            .map(|folder| repo.entry_in(folder, ABOUT))
            .transpose()?;
        let Some(blob) = about.flatten() else {
            continue;
        };
        let about: About = serde_json::from_slice(&repo.read_blob(blob)?)
            .or_code(Code::RepositoryBroken, broken)?;
        if found
            .as_ref()
            .is_none_or(|known| known.created_at < about.created_at)
        {
            found = Some(about);
        }
    }
    let about = found.ok_or_else(|| crate::git::object::not_a_record(commit))?;
    if about.format > FORMAT {
        return Err(Error::new(
            Code::NewerFormat,
            "history was rewritten by a newer git-colony; nothing has changed",
        )
        .hint("install a newer git-colony"));
    }
    Ok(about)
}

/// Tells whether a history is one from before a migration: its commits have other ids now.
///
/// # Errors
/// `object-missing`.
pub fn is_old(repo: &Repo, map: &ObjectMap, tip: Oid) -> Result<bool> {
    if map.is_empty() {
        return Ok(false);
    }
    let new: HashSet<Oid> = map.ids.values().copied().collect();
    let (mut open, mut seen) = (vec![tip], HashSet::from([tip]));
    while let Some(commit) = open.pop() {
        if map.get(commit).is_some() {
            return Ok(true);
        }
        // What is below a commit of the new history is the new history.
        if new.contains(&commit) {
            continue;
        }
        let parents = repo.read_commit(commit)?.parents.into_iter();
        open.extend(parents.filter(|parent| seen.insert(*parent)));
    }
    Ok(false)
}

/// Refuses what would go on with a history from before a migration.
///
/// # Errors
/// `history-rewritten`; `object-missing`, `repository-broken`.
pub fn refuse_old(repo: &Repo, tip: Oid, what: &str) -> Result<()> {
    if !is_old(repo, &known(repo)?, tip)? {
        return Ok(());
    }
    Err(Error::new(
        Code::HistoryRewritten,
        format!("{what} is from before history was rewritten for git-lfs; nothing has changed"),
    )
    .hint(
        "git colony lfs migrate   # in the clone it comes from: it follows, own commits come along",
    ))
}

/// Reads every migration that a commit of `refs/colony/migrations` holds, as one map. What cannot be
/// read is left out.
///
/// # Errors
/// `object-missing`, `repository-broken`.
pub fn load(repo: &Repo, commit: Oid) -> Result<ObjectMap> {
    /// Some five million commits.
    const MOST_BYTES: u64 = 512 << 20;
    let mut all = ObjectMap {
        ids: HashMap::new(),
        hex_len: repo.hex_len(),
    };
    let tree = repo.tree_of(Some(commit))?;
    for (name, entry) in repo.entries_of(tree)? {
        let folder = entry.is_directory().then_some(entry.id);
        let map = folder
            .map(|folder| repo.entry_in(folder, MAP))
            .transpose()?;
        let Some(blob) = map.flatten() else { continue };
        drop(name);
        if repo
            .object_size(blob)
            .is_some_and(|size| size <= MOST_BYTES)
        {
            all.read_into(&repo.read_blob(blob)?);
        }
    }
    Ok(all)
}

/// Reads the migrations that this repository knows of; empty where it knows of none.
///
/// # Errors
/// As [`load`].
pub fn known(repo: &Repo) -> Result<ObjectMap> {
    match repo.find_ref(&RefName::from(ref_names::MIGRATIONS))? {
        Some(commit) => load(repo, commit),
        None => Ok(ObjectMap::default()),
    }
}

pub(super) fn pretty(value: &impl Serialize, cannot: &str) -> Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(value).or_code(Code::Io, || cannot.to_owned())?;
    json.push(b'\n');
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oid(digit: char) -> Oid {
        Oid::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn map() -> ObjectMap {
        ObjectMap {
            ids: [(oid('a'), oid('b')), (oid('b'), oid('c'))].into(),
            hex_len: 40,
        }
    }

    #[test]
    fn only_whole_ids_are_replaced() {
        let (old, new) = (oid('a').to_string(), oid('b').to_string());
        let text = format!("{old}, \"{old}\" {old}f x{old} {}\n", &old[..39]);
        let wanted = format!("{new}, \"{new}\" {old}f x{new} {}\n", &old[..39]);
        assert_eq!(map().translate(text.as_bytes()), wanted.as_bytes());
        assert_eq!(map().newest(oid('a')), Some(oid('c')));
    }

    #[test]
    fn a_map_is_read_back() {
        let mut read = ObjectMap::default();
        read.read_into(&map().write());
        assert_eq!(read.ids, map().ids);
    }
}
