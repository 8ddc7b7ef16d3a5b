//! The refs that a migration moves, and their new targets: commits by the map, rewritten annotated
//! tags, records and notes with the new ids in them.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::refs::FoundRef;
use crate::git::{CommitRewrite, Head, Oid, RefChange, RefName, Repo, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::migration::ObjectMap;
use crate::store::refs::ref_names;

/// The kind of content of a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    /// History: a commit, or a tag of one.
    History,
    /// A checkpoint: the same, and its message contains ids.
    Checkpoint,
    /// Notes: the names in the tree are ids of commits.
    Notes,
    /// Records of ours: the texts in the tree contain ids, and the parents are the commits they are
    /// about.
    Records,
}

/// The refs that a migration examines; every other one stays as it is.
const KINDS: &[(&str, Holds)] = &[
    ("refs/heads/", Holds::History),
    (ref_names::CHECKPOINTS, Holds::Checkpoint),
    (ref_names::CHECKPOINT_TAGS, Holds::Checkpoint),
    ("refs/tags/", Holds::History),
    (ref_names::AUTOMATIC, Holds::Checkpoint),
    ("refs/notes/", Holds::Notes),
    (ref_names::FORK_RECORDS, Holds::Records),
    (ref_names::SCOPES, Holds::Records),
    (ref_names::LOCAL_SCOPES, Holds::Records),
    ("refs/colony/knowledge", Holds::Records),
    ("refs/colony/blackboard/", Holds::Records),
];

/// A longer blob is not a record of ours.
const MAX_BYTES: u64 = 16 << 20;

fn kind_of(name: &RefName) -> Option<Holds> {
    let bytes = name.as_bytes();
    if bytes == b"HEAD" {
        return Some(Holds::History);
    }
    let row = KINDS.iter().find(|(prefix, _)| {
        let fits = bytes.starts_with(prefix.as_bytes());
        fits && (prefix.ends_with('/') || bytes.len() == prefix.len())
    });
    row.map(|(_, holds)| *holds)
}

/// Lists the refs that a migration may move, by name, and HEAD if it is detached.
pub fn movable(repo: &Repo) -> Result<Vec<FoundRef>> {
    let mut refs = repo.refs_below("refs/")?;
    refs.retain(|reference| kind_of(&reference.name).is_some());
    if let Head::Detached { commit } = repo.head()? {
        refs.push(FoundRef { name: RefName::from("HEAD"), id: commit });
    }
    Ok(refs)
}

/// Returns the commits of branches, tags and checkpoints: large files in their history are a reason
/// to rewrite it.
pub fn histories(repo: &Repo, refs: &[FoundRef]) -> Vec<Oid> {
    let is_history = |reference: &&FoundRef| {
        let kind = kind_of(&reference.name);
        matches!(kind, Some(Holds::History | Holds::Checkpoint))
    };
    let commits = refs.iter().filter(is_history);
    commits.filter_map(|reference| repo.peel_to_commit(reference.id)).collect()
}

/// Returns the tips of the history that must be rewritten.
pub fn tips(repo: &Repo, refs: &[FoundRef]) -> Result<Vec<Oid>> {
    let mut tips = BTreeSet::new();
    for reference in refs {
        match kind_of(&reference.name) {
            Some(Holds::History | Holds::Checkpoint) => {
                tips.extend(repo.peel_to_commit(reference.id));
            }
            Some(Holds::Records) => {
                // A record may be about a commit that no branch has any more.
                for (_, text) in texts(repo, repo.tree_of(Some(reference.id))?)? {
                    let ids = ObjectMap::ids_in(&text, repo.hex_len()).into_iter();
                    let commits = ids.filter(|id| repo.peel_to_commit(*id) == Some(*id));
                    tips.extend(commits);
                }
            }
            Some(Holds::Notes) | None => {}
        }
    }
    Ok(tips.into_iter().collect())
}

/// Plans the new targets of the refs; refs that stay are left out.
pub(super) fn plan(repo: &Repo, map: &ObjectMap, refs: &[FoundRef]) -> Result<Vec<RefChange>> {
    let mut changes = Vec::new();
    for reference in refs {
        let new = match kind_of(&reference.name) {
            Some(Holds::History) => history(repo, map, reference.id, &<[u8]>::to_vec)?,
            Some(Holds::Checkpoint) => {
                history(repo, map, reference.id, &|message| map.translate(message))?
            }
            Some(Holds::Notes) => notes(repo, map, reference.id)?,
            Some(Holds::Records) => records(repo, map, reference.id)?,
            None => continue,
        };
        if new != reference.id {
            changes.push(RefChange {
                name: reference.name.clone(),
                old: Some(reference.id),
                new: Some(new),
            });
        }
    }
    Ok(changes)
}

/// Maps a commit, or the tags that lead to it; a tag of another object stays.
fn history(
    repo: &Repo,
    map: &ObjectMap,
    id: Oid,
    message: &dyn Fn(&[u8]) -> Vec<u8>,
) -> Result<Oid> {
    let Some(target) = repo.tag_target(id) else {
        return Ok(map.get(id).unwrap_or(id));
    };
    let new = history(repo, map, target, message)?;
    if new == target {
        return Ok(id);
    }
    repo.write_tag_again(id, new, message)
}

/// Rewrites notes under the new names of their commits, on top of the old notes.
fn notes(repo: &Repo, map: &ObjectMap, tip: Oid) -> Result<Oid> {
    let tree = repo.tree_of(Some(tip))?;
    let mut edits: BTreeMap<RepoPath, Option<TreeEntry>> = BTreeMap::new();
    for file in repo.list_tree(tree)? {
        let Some((new, entry)) = renamed(map, &file.path).zip(file.new) else {
            continue;
        };
        edits.entry(file.path).or_insert(None);
        edits.insert(new, Some(entry));
    }
    if edits.is_empty() {
        return Ok(tip);
    }
    let tree = repo.edit_tree(tree, edits.iter().map(|(path, entry)| (path, *entry)))?;
    let again = CommitRewrite { original: tip, tree, parents: &[tip] };
    repo.write_commit_again(&again, |_| {
        b"Notes of rewritten commits under their new names\n".to_vec()
    })
}

/// Returns the new name of a note if its commit has a new id; the slashes stay in their places.
fn renamed(map: &ObjectMap, path: &RepoPath) -> Option<RepoPath> {
    let bytes = path.as_bytes();
    let hex: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != b'/').collect();
    let new = map.get(Oid::parse(std::str::from_utf8(&hex).ok()?)?)?.to_string();
    let mut digits = new.bytes();
    let place = |byte: &u8| match byte {
        b'/' => Some(b'/'),
        _ => digits.next(),
    };
    let name: Option<Vec<u8>> = bytes.iter().map(place).collect();
    name.map(RepoPath::new)
}

/// Rewrites records with the new ids in them, on the commits that they are about.
fn records(repo: &Repo, map: &ObjectMap, tip: Oid) -> Result<Oid> {
    let before = repo.tree_of(Some(tip))?;
    let mut edits: BTreeMap<RepoPath, Option<TreeEntry>> = BTreeMap::new();
    for (path, text) in texts(repo, before)? {
        let new = map.translate(&text);
        // A scope without another name is named by the root commit of its history.
        let new_path = RepoPath::new(map.translate(path.as_bytes()));
        if new_path == path && new == text {
            continue;
        }
        let entry = TreeEntry::file(repo.write_blob(&new)?);
        edits.entry(path).or_insert(None);
        edits.insert(new_path, Some(entry));
    }
    let tree = repo.edit_tree(before, edits.iter().map(|(path, entry)| (path, *entry)))?;
    let (parents, is_about_history) = commits_below(repo, map, tip)?;
    if tree == before && !is_about_history {
        return Ok(tip);
    }
    let again = CommitRewrite { original: tip, tree, parents: &parents };
    repo.write_commit_again(&again, |message| map.translate(message))
}

/// Returns the new ids of the commits that a chain of records is based on, and whether there were
/// any: the chain itself would keep the old history.
fn commits_below(repo: &Repo, map: &ObjectMap, tip: Oid) -> Result<(Vec<Oid>, bool)> {
    /// A longer chain is cut: its newest tree names the commits it is about.
    const MAX_RECORDS: usize = 10_000;
    let mut commits = Vec::new();
    let mut seen = BTreeSet::from([tip]);
    let mut open = vec![tip];
    while let Some(commit) = open.pop().filter(|_| seen.len() < MAX_RECORDS) {
        for parent in repo.read_commit(commit)?.parents {
            if let Some(new) = map.get(parent) {
                if !commits.contains(&new) {
                    commits.push(new);
                }
            } else if seen.insert(parent) {
                open.push(parent);
            }
        }
    }
    let any = !commits.is_empty();
    Ok((commits, any))
}

/// Lists the files of records with their bytes.
fn texts(repo: &Repo, tree: Oid) -> Result<Vec<(RepoPath, Vec<u8>)>> {
    let mut texts = Vec::new();
    for file in repo.list_tree(tree)? {
        let Some(entry) = file.new.filter(TreeEntry::is_file) else {
            continue;
        };
        if repo.object_size(entry.id).is_some_and(|size| size <= MAX_BYTES) {
            texts.push((file.path, repo.read_blob(entry.id)?));
        }
    }
    Ok(texts)
}
