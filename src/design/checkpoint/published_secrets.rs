//! Finds the history whose publication would publish a likely secret: the rules of a checkpoint,
//! applied to commits.
//!
//! The tag of a checkpoint that was allowed to include a secret says so. The commits after it hold
//! the secret in their history, and plain git may have committed one as well. So each commit that
//! no remote has yet is examined once for new files. The results are remembered as derived data: by
//! commit while the remotes keep what they had, and by blob without limit. A file in a commit that
//! any remote has is published already, wherever else it occurs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::git::history::unshared::{CommitRange, UnsharedCommit};
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::progress::{PartMeter, Unit};
use crate::model::{RepoPath, Result, World};
use crate::store::Session;
use crate::store::cache::Cache;

use super::secret_file_names::{SEARCHED_BYTES, contains_secret, is_named_as_secret};
use super::tag_message::TagMessage;

/// A new file above this size is judged by its name alone.
const MAX_BYTES: u64 = 64 * SEARCHED_BYTES;

/// The cache file: the history that was searched and the blobs that hold secrets, with the version
/// of the rules.
const FILE: &str = "secrets-1.json";
const BLOBS: &str = "secret-blobs-1.json";

/// With more tips than this the cache starts from scratch.
const MAX_TIPS: usize = 2000;

/// With more blobs than this the cache starts from scratch.
const MAX_BLOBS: usize = 400_000;

/// The objects that are about to be published.
#[derive(Clone, Copy)]
pub struct Publication<'a> {
    /// Commits and annotated tags.
    pub ids: &'a [Oid],
    /// Commits that any remote has, with everything reachable from them.
    pub published: &'a [Oid],
    /// Paths that may be published although they look like secrets, with everything below them.
    pub allowed: &'a [RepoPath],
}

/// A file that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Find {
    /// The commit that adds it.
    commit: Oid,
    path: RepoPath,
    blob: Oid,
}

/// The history that was searched: everything reachable from `tips` and not from `published`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Searched {
    tips: Vec<Oid>,
    published: Vec<Oid>,
    /// The files found there that are not published.
    finds: Vec<Find>,
    /// The finds that each tip of the last search brings, by index.
    brought: BTreeMap<Oid, Vec<usize>>,
}

/// Returns the likely secrets that publishing each object would publish, by path; objects without
/// one are absent.
///
/// Costs one walk over the commits since the last search, and if something was found another one
/// over all that the remotes lack, unless nothing has changed since.
pub fn find(session: &Session, wanted: &Publication<'_>) -> Result<BTreeMap<Oid, Vec<RepoPath>>> {
    let repo = &session.repo;
    let commit_of = |id: &Oid| Some((*id, repo.peel_to_commit(*id)?));
    let commits: BTreeMap<Oid, Oid> = wanted.ids.iter().filter_map(commit_of).collect();
    let tips: Vec<Oid> = commits.values().copied().collect();
    if tips.is_empty() {
        return Ok(BTreeMap::new());
    }
    let said: Vec<Find> = commits
        .iter()
        .map(|(id, commit)| said_by(repo, *id, *commit))
        .collect::<Result<Vec<_>>>()?
        .concat();
    let searched = search(session, &tips, said, wanted.published)?;
    let is_allowed = |find: &Find| {
        let mut allowed = wanted.allowed.iter();
        allowed.any(|path| find.path.is_at_or_below(path))
    };
    let paths_of = |(id, commit): (&Oid, &Oid)| {
        let finds = searched
            .brought
            .get(commit)?
            .iter()
            .filter_map(|&number| searched.finds.get(number))
            .filter(|find| !is_allowed(find));
        let mut paths: Vec<RepoPath> = finds.map(|find| find.path.clone()).collect();
        paths.sort();
        paths.dedup();
        (!paths.is_empty()).then_some((*id, paths))
    };
    Ok(commits.iter().filter_map(paths_of).collect())
}

/// Returns the finds in the history of each commit that brings one, parents first.
fn brought_by(lacking: &[UnsharedCommit], finds: &[Find]) -> HashMap<Oid, Rc<Vec<usize>>> {
    let mut own: HashMap<Oid, Vec<usize>> = HashMap::new();
    for (number, find) in finds.iter().enumerate() {
        own.entry(find.commit).or_default().push(number);
    }
    let mut brought: HashMap<Oid, Rc<Vec<usize>>> = HashMap::new();
    for commit in lacking {
        let mut of_parents = commit.parents.iter().filter_map(|id| brought.get(id));
        let first = of_parents.next();
        let others: Vec<_> = of_parents.filter(|other| Some(*other) != first).collect();
        let own = own.get(&commit.id);
        let all = match (first, own) {
            // Long chains of commits share one list.
            (Some(first), None) if others.is_empty() => Rc::clone(first),
            (None, None) => continue,
            _ => {
                let lists = first.into_iter().chain(others).flat_map(|list| list.iter());
                let mut all: Vec<usize> = lists.chain(own.into_iter().flatten()).copied().collect();
                all.sort_unstable();
                all.dedup();
                Rc::new(all)
            }
        };
        brought.insert(commit.id, all);
    }
    brought
}

/// Returns the secrets that tags record for their commits.
fn said_by(repo: &Repo, id: Oid, commit: Oid) -> Result<Vec<Find>> {
    let Some(tag) = repo.find_tag(id) else {
        return Ok(Vec::new());
    };
    let tree = repo.tree_of(Some(commit))?;
    let said = TagMessage::read(&String::from_utf8_lossy(&tag.message)).secrets;
    let mut finds = Vec::new();
    for path in said {
        if let Some(entry) = repo.leaf_in(tree, &path)? {
            let blob = entry.id;
            finds.push(Find { commit, path, blob });
        }
    }
    Ok(finds)
}

/// Searches the commits that no search has seen, and returns all known finds, including those that
/// tags record.
fn search(session: &Session, tips: &[Oid], said: Vec<Find>, published: &[Oid]) -> Result<Searched> {
    let (repo, world) = (&session.repo, &session.world);
    let cache = Cache::of(repo, FILE);
    let before = remembered(session, &cache, published)?;
    let hidden = [published, &before.tips].concat();
    let new = repo.lacking(world, tips, &hidden)?;
    let mut secret_search = SecretSearch::begin(session);
    let finds = secret_search.at_all(world, &new);
    // Also when interrupted: the next search continues from there.
    secret_search.end();
    let mut finds = finds?;
    for find in said {
        if !finds.contains(&find) && !before.finds.contains(&find) {
            finds.push(find);
        }
    }
    let mut finds = unpublished(session, finds, CommitRange { tips: published, hidden: &[] })?;
    // Finds that were unpublished then may be published now.
    let since = CommitRange { tips: published, hidden: &before.published };
    finds.extend(unpublished(session, before.finds.clone(), since)?);
    let mut all = before.tips.clone();
    all.extend(tips.iter().filter(|tip| !before.tips.contains(tip)));
    if all.len() > MAX_TIPS {
        all = tips.to_vec();
    }
    let is_known = before.published == published
        && before.finds == finds
        && tips.iter().all(|tip| before.brought.contains_key(tip));
    let brought = if finds.is_empty() {
        BTreeMap::new()
    } else if is_known {
        before.brought.clone()
    } else {
        let lacking = repo.lacking(world, tips, published)?;
        let brought = brought_by(&lacking, &finds);
        let of = |tip: &Oid| brought.get(tip).map(|list| list.to_vec());
        tips.iter().map(|tip| (*tip, of(tip).unwrap_or_default())).collect()
    };
    let after = Searched { tips: all, published: published.to_vec(), finds, brought };
    if after != before && !repo.is_shallow() {
        cache.write(&after);
    }
    Ok(after)
}

/// Returns the cached search if it is still valid: not if the remotes have lost something since,
/// nor in a shallow history, which may grow.
fn remembered(session: &Session, cache: &Cache, published: &[Oid]) -> Result<Searched> {
    let repo = &session.repo;
    if repo.is_shallow() {
        return Ok(Searched::default());
    }
    let searched: Searched = cache.read();
    let is_here = |id: &Oid| repo.object_size(*id).is_some();
    let counts = searched.tips.iter().chain(&searched.published).all(is_here)
        && repo.is_covered(&session.world, &searched.published, published)?;
    Ok(if counts { searched } else { Searched::default() })
}

/// Drops the finds in the commits of a range, which are published.
fn unpublished(
    session: &Session,
    mut finds: Vec<Find>,
    published: CommitRange<'_>,
) -> Result<Vec<Find>> {
    let (repo, world) = (&session.repo, &session.world);
    if finds.is_empty() || published.tips == published.hidden {
        return Ok(finds);
    }
    let files: HashSet<_> = finds.iter().map(|find| (find.path.clone(), find.blob)).collect();
    let public = repo.files_in_range(world, &files, published)?;
    finds.retain(|find| !public.contains(&(find.path.clone(), find.blob)));
    Ok(finds)
}

/// The blobs that hold a secret and those that do not.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Blobs {
    secret: BTreeSet<Oid>,
    clean: BTreeSet<Oid>,
}

/// Searches commits, and each blob once.
struct SecretSearch<'a> {
    repo: &'a Repo,
    cache: Cache,
    /// The cached results, once they are needed.
    blobs: Option<Blobs>,
    has_read: bool,
}

impl<'a> SecretSearch<'a> {
    fn begin(session: &'a Session) -> SecretSearch<'a> {
        SecretSearch {
            repo: &session.repo,
            cache: Cache::of(&session.repo, BLOBS),
            blobs: None,
            has_read: false,
        }
    }

    fn at_all(&mut self, world: &World, commits: &[UnsharedCommit]) -> Result<Vec<Find>> {
        let meter = PartMeter::begin(&world.progress, Unit::Commits);
        let mut finds = Vec::new();
        for (number, commit) in commits.iter().enumerate() {
            world.interrupt.check()?;
            meter.tell("search for secrets", (number as u64, commits.len() as u64));
            finds.extend(self.at(commit.id)?);
        }
        Ok(finds)
    }

    /// Searches the files that are in a commit and in none of its parents.
    fn at(&mut self, commit: Oid) -> Result<Vec<Find>> {
        let past = self.repo.read_past(commit)?;
        // The index commit of a checkpoint off the branch: its stage 0 is the tree.
        let staged = self.repo.tree_in(past.tree, "0")?;
        let is_index = past.message.trim_end() == "index as it was";
        let tree = staged.filter(|_| is_index).unwrap_or(past.tree);
        let mut parents = past.parents.iter();
        let first = self.repo.tree_of(parents.next().copied())?;
        let others: Vec<Oid> =
            parents.map(|parent| self.repo.tree_of(Some(*parent))).collect::<Result<_>>()?;
        let mut finds = Vec::new();
        for (path, new) in self.repo.new_files(first, tree)? {
            let came_along = |tree: &Oid| {
                let there = self.repo.leaf_in(*tree, &path);
                there.ok().flatten().is_some_and(|there| there.id == new.id)
            };
            if others.iter().any(came_along) || !new.is_file() {
                continue;
            }
            if is_named_as_secret(&path) || self.holds_secret(&new) {
                let blob = new.id;
                finds.push(Find { commit, path, blob });
            }
        }
        Ok(finds)
    }

    fn holds_secret(&mut self, file: &TreeEntry) -> bool {
        let blobs = self.blobs.get_or_insert_with(|| self.cache.read());
        if blobs.secret.contains(&file.id) {
            return true;
        }
        if blobs.clean.contains(&file.id) {
            return false;
        }
        self.has_read = true;
        let is_secret = holds_secret(self.repo, file.id);
        let known = if is_secret { &mut blobs.secret } else { &mut blobs.clean };
        known.insert(file.id);
        is_secret
    }

    /// Saves the results of this search.
    fn end(self) {
        let Some(blobs) = self.blobs.filter(|_| self.has_read) else {
            return;
        };
        if blobs.secret.len() + blobs.clean.len() > MAX_BLOBS {
            self.cache.write(&Blobs::default());
        } else {
            self.cache.write(&blobs);
        }
    }
}

/// A missing blob (in a partial clone) was published by another repository.
fn holds_secret(repo: &Repo, blob: Oid) -> bool {
    let size = repo.object_size(blob);
    if size.is_none_or(|size| size > MAX_BYTES) {
        return false;
    }
    // One that is here and cannot be read is not published either.
    let Ok(bytes) = repo.read_blob(blob) else {
        return true;
    };
    let searched = usize::try_from(SEARCHED_BYTES).unwrap_or(usize::MAX);
    contains_secret(bytes.get(..searched).unwrap_or(&bytes))
}
