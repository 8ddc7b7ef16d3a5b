//! What is kept of a history that was written again: which commit became which, and how far it got.
//!
//! `refs/colony/migrations` travels: the tree of its commit has a folder per migration with
//! `migration.json` and `map`, a line with the old and the new id for each commit. The journal at
//! `refs/colony-local/migration` stays here: it says what the remote had before, so that a push moves
//! nothing that somebody else has moved since. Both come and go with the operation that moves the refs.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::id::{OperationId, WorktreeKey};
use crate::model::{Code, Error, RepoPath, Result, ResultExt as _};

use super::ref_names;

/// The format this version writes and the newest it reads.
const FORMAT: u32 = 1;

const ABOUT: &str = "migration.json";
const MAP: &str = "map";
const JOURNAL: &str = "journal.json";

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
}

/// Writes the commit of `refs/colony/migrations` with one more migration; no ref points to it yet.
///
/// # Errors
/// `object-missing`, `no-space`, `io`.
pub fn add(
    repo: &Repo,
    name: &str,
    (map, patterns): (&ObjectMap, &[String]),
    who: &Signature,
    now: String,
) -> Result<Oid> {
    let tip = repo.find_ref(&RefName::from(ref_names::MIGRATIONS))?;
    let about = About {
        format: FORMAT,
        created_at: now,
        author: format!("{} <{}>", who.name, who.email),
        patterns: patterns.to_vec(),
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

/// How far a migration got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The format of the journal.
    pub format: u32,
    /// The worktree whose log has the operation.
    pub worktree: WorktreeKey,
    /// The operation.
    pub op: OperationId,
    /// The remote that is to get it; `None` where there was none.
    pub remote: Option<String>,
    /// What that remote had before anything was done.
    pub remote_refs: Vec<RemoteRef>,
    /// The patterns whose files git-lfs got.
    pub patterns: Vec<String>,
    /// How many commits are others now.
    pub commits: usize,
    /// Whether git-lfs was set up for it.
    #[serde(default)]
    pub set_up: bool,
    /// When the remote had all of it, RFC 3339 UTC.
    #[serde(default)]
    pub published_at: Option<String>,
}

/// A ref of a remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRef {
    /// Its full name.
    pub name: RefName,
    /// What it held.
    pub id: Oid,
}

impl Journal {
    /// Writes it as a commit that no ref points to yet.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn write(&self, repo: &Repo, who: &Signature) -> Result<Oid> {
        let json = pretty(self, "cannot write the journal of a migration")?;
        let path = RepoPath::from(JOURNAL);
        let entry = TreeEntry::file(repo.write_blob(&json)?);
        repo.write_commit(NewCommit {
            tree: repo.edit_tree(repo.empty_tree(), [(&path, Some(entry))])?,
            parents: Vec::new(),
            signature: who,
            message: format!("lfs migrate: {}", self.op),
        })
    }

    /// Reads the journal of this repository with its commit; `None` where nothing was migrated.
    ///
    /// # Errors
    /// `newer-format`, `repository-broken`, `object-missing`.
    pub fn find(repo: &Repo) -> Result<Option<(Journal, Oid)>> {
        let Some(commit) = repo.find_ref(&RefName::from(ref_names::MIGRATION_JOURNAL))? else {
            return Ok(None);
        };
        let broken = || "cannot read the journal of the migration".to_owned();
        let tree = repo.tree_of(Some(commit))?;
        let blob = repo.entry_in(tree, JOURNAL)?;
        let blob = blob.ok_or_else(|| crate::git::object::not_a_record(commit))?;
        let value: serde_json::Value = serde_json::from_slice(&repo.read_blob(blob)?)
            .or_code(Code::RepositoryBroken, broken)?;
        let format = value.get("format").and_then(serde_json::Value::as_u64);
        if format > Some(u64::from(FORMAT)) {
            return Err(Error::new(
                Code::NewerFormat,
                "a newer git-colony began the migration to git-lfs",
            )
            .hint("finish it with the version that began it"));
        }
        let journal = serde_json::from_value(value).or_code(Code::RepositoryBroken, broken)?;
        Ok(Some((journal, commit)))
    }

    /// Returns the format that this version writes.
    pub fn format() -> u32 {
        FORMAT
    }
}

fn pretty(value: &impl Serialize, cannot: &str) -> Result<Vec<u8>> {
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
