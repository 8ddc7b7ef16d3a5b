//! Joins two versions of a shared record, key by key: every repository makes the very same commit.
//!
//! What only one side has was added there, or deleted on the other. It was deleted where a version that both were made
//! from has it, or, for a blackboard, where the other's history has seen it. So any number of versions can be joined,
//! in any order. Of a key itself, a deletion loses against a change. Two changes are joined by the rule of the kind: the
//! later mapping of a scope counts, and of knowledge and blackboards everything stays; of two knowledge records of one
//! name, which differ in who read the document and when, one. Where nothing shows what both were made from,
//! everything of both sides is kept.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::git::object::NewCommit;
use crate::git::{Oid, RefName, Repo, Signature, TreeEntry};
use crate::model::Result;
use crate::records::rules::Sides;
use crate::records::scopes;
use crate::store::refs::record_history::{Histories, Values, values_in};
use crate::store::refs::shared_record::{Age, Joint, Keys};
use crate::store::refs::{ref_names, shared_record, superseded};

/// How deep directories are joined; a deeper one is one value.
const MAX_DEPTH: usize = 8;

/// Joins versions of one record.
pub(crate) struct RecordJoin<'a> {
    repo: &'a Repo,
    name: &'a RefName,
    /// The histories of a blackboard, which several joins read.
    histories: RefCell<Histories<'a>>,
}

impl<'a> RecordJoin<'a> {
    /// Joins versions of this record.
    pub(crate) fn new(repo: &'a Repo, name: &'a RefName) -> RecordJoin<'a> {
        RecordJoin { repo, name, histories: RefCell::new(Histories::new(repo)) }
    }

    /// Joins two commits into one; `base` is the commit that both last agreed on, as far as it is noted. A side that
    /// has changed nothing since follows the other. Returns `None` if there are too many keys to read, or one of the two
    /// is missing.
    pub(crate) fn join(&self, sides: &Sides<Oid>) -> Result<Option<Oid>> {
        let Some((ours, theirs)) = sides.ours.zip(sides.theirs) else {
            return Ok(None);
        };
        let (repo, name) = (self.repo, self.name);
        let bases = agreed(repo, sides.base, (ours, theirs))?;
        if bases.contains(&ours) {
            return Ok(Some(theirs));
        }
        if bases.contains(&theirs) {
            return Ok(Some(ours));
        }
        let here = shared_record::keys(repo, name, Some(ours))?;
        let there = shared_record::keys(repo, name, Some(theirs))?;
        let new = there.keys().filter(|key| !here.contains_key(*key)).count();
        if here.len() + new > shared_record::MAX_KEYS {
            return Ok(None);
        }
        let keys_of = |base: &Oid| shared_record::keys(repo, name, Some(*base));
        let before = bases.iter().map(keys_of).collect::<Result<Vec<_>>>()?;
        let pasts = if shared_record::is_blackboard(name) {
            Pasts::read(repo, &mut self.histories.borrow_mut(), (ours, theirs))?
        } else {
            Pasts::unknown((ours, theirs))
        };
        let tree = Join { repo, name, pasts: &pasts, known: RefCell::default() }
            .tree(&before, &here, &there)?;
        if let Some(side) = pasts.find_whole(repo, tree)? {
            return Ok(Some(side));
        }
        let committed = |commit| Ok(repo.read_commit(commit)?.committer.seconds);
        let commit = NewCommit {
            tree,
            parents: pasts.parents(),
            signature: &Signature {
                name: "git-colony".to_owned(),
                email: "git-colony@localhost".to_owned(),
                seconds: committed(ours)?.max(committed(theirs)?),
                offset_seconds: 0,
            },
            message: format!("merge {}", kind_of(name)),
        };
        let joint = Joint { removed: pasts.unlinked(repo, tree)?, commits: pasts.commits };
        shared_record::write_joint(repo, name, commit, &joint).map(Some)
    }
}

/// What both sides of a blackboard know, beyond the versions that both were made from.
struct Pasts {
    ours: Past,
    theirs: Past,
    /// The number of commits of the longer history.
    commits: usize,
}

/// What one side knows.
struct Past {
    commit: Oid,
    /// How often its history was cut off.
    era: u64,
    /// The values that it once had and has no more, as far as its commits that the other side lacks show them.
    gone: Values,
    /// All that it ever had: known where the two histories begin with different commits.
    seen: Option<Values>,
}

impl Pasts {
    /// Two versions whose common history shows all.
    fn unknown((ours, theirs): (Oid, Oid)) -> Pasts {
        let past = |commit| Past { commit, era: 0, gone: Values::default(), seen: None };
        Pasts { ours: past(ours), theirs: past(theirs), commits: 0 }
    }

    fn read(
        repo: &Repo,
        histories: &mut Histories<'_>,
        (ours, theirs): (Oid, Oid),
    ) -> Result<Pasts> {
        let (here, there) = (histories.commits(ours)?, histories.commits(theirs)?);
        let is_one = histories.roots(&here)? == histories.roots(&there)?;
        let mut past = |commit: Oid, own: &[Oid], other: &[Oid]| -> Result<Past> {
            let era = Age::of(repo, commit)?.era;
            let now = values_in(repo, repo.tree_of(Some(commit))?)?;
            let others: BTreeSet<&Oid> = other.iter().filter(|_| is_one).collect();
            let own: Vec<Oid> = own.iter().filter(|id| !others.contains(id)).copied().collect();
            let seen = histories.seen(&own)?;
            let gone = seen.without(&now);
            Ok(Past { commit, era, gone, seen: (!is_one).then_some(seen) })
        };
        Ok(Pasts {
            ours: past(ours, &here, &there)?,
            theirs: past(theirs, &there, &here)?,
            commits: here.len().max(there.len()),
        })
    }

    /// Returns the side to which nothing that the other did is new, so that the joint values are its own.
    fn find_whole(&self, repo: &Repo, tree: Oid) -> Result<Option<Oid>> {
        let (Some(ours), Some(theirs)) = (&self.ours.seen, &self.theirs.seen) else {
            return Ok(None);
        };
        let joint = values_in(repo, tree)?;
        let is_whole = |side: &Past, own: &Values, others: &Values| {
            let now = own.without(&side.gone);
            own.include(others) && now.include(&joint) && joint.include(&now)
        };
        if is_whole(&self.ours, ours, theirs) {
            return Ok(Some(self.ours.commit));
        }
        Ok(is_whole(&self.theirs, theirs, ours).then_some(self.theirs.commit))
    }

    /// Returns the parents of the joint version: of two eras only the newer, or the old history would come back.
    fn parents(&self) -> Vec<Oid> {
        let (ours, theirs) = (&self.ours, &self.theirs);
        let mut parents = match ours.era.cmp(&theirs.era) {
            std::cmp::Ordering::Less => vec![theirs.commit],
            std::cmp::Ordering::Equal => vec![ours.commit, theirs.commit],
            std::cmp::Ordering::Greater => vec![ours.commit],
        };
        parents.sort();
        parents
    }

    /// Returns what the joint version has to list as deleted, because the history that shows it is not a parent.
    fn unlinked(&self, repo: &Repo, tree: Oid) -> Result<Values> {
        let (ours, theirs) = (&self.ours, &self.theirs);
        let (newer, older) = if ours.era > theirs.era { (ours, theirs) } else { (theirs, ours) };
        match (&newer.seen, &older.seen) {
            (Some(newer_saw), Some(older_saw)) if newer.era > older.era => {
                let mut list = older_saw.without(newer_saw);
                // What the older side deleted, the newer one may still have.
                list.extend(&newer_saw.without(&newer.gone));
                Ok(list.without(&values_in(repo, tree)?))
            }
            _ => Ok(Values::default()),
        }
    }
}

/// Returns the word for the kind of a record.
fn kind_of(name: &RefName) -> &'static str {
    match name.as_bytes() {
        bytes if bytes == ref_names::SCOPES.as_bytes() => "scopes",
        bytes if bytes == ref_names::KNOWLEDGE.as_bytes() => "knowledge",
        _ => "blackboard",
    }
}

/// Returns the versions that both sides were made from: the best common ones, and the noted one where it is not in
/// their history. A note counts only where both sides were made from it: a remote may have been reset to an older state.
fn agreed(repo: &Repo, noted: Option<Oid>, (ours, theirs): (Oid, Oid)) -> Result<Vec<Oid>> {
    let mut bases = repo.merge_bases(ours, theirs)?;
    let Some(noted) = noted.filter(|id| repo.read_commit(*id).is_ok()) else {
        return Ok(bases);
    };
    if !(is_made_from(repo, ours, noted)? && is_made_from(repo, theirs, noted)?) {
        return Ok(bases);
    }
    for base in &bases {
        if !repo.has_more(noted, *base)? {
            return Ok(bases);
        }
    }
    bases.push(noted);
    Ok(bases)
}

/// Returns `true` if a commit has another one in its history, or its history was cut off and shows nothing.
fn is_made_from(repo: &Repo, commit: Oid, older: Oid) -> Result<bool> {
    let common = repo.merge_bases(older, commit)?;
    Ok(common.is_empty() || common.contains(&older))
}

/// One join: what decides about each entry.
struct Join<'a> {
    repo: &'a Repo,
    name: &'a RefName,
    pasts: &'a Pasts,
    /// The joint directories, by depth and sides: a forged tree may name one a thousand times.
    known: RefCell<BTreeMap<FolderPlace, Option<TreeEntry>>>,
}

/// The depth of a directory, and its trees: here, there, and in the versions that both were made from.
type FolderPlace = (usize, Vec<Option<Oid>>);

/// The entries of a directory that is being joined.
#[derive(Default)]
struct Joined {
    entries: Keys,
    /// Entries that another one of the same name has replaced.
    replaced: Vec<TreeEntry>,
}

impl Join<'_> {
    /// Writes the joint tree of two versions, from the versions that both were made from.
    fn tree(&self, bases: &[Keys], here: &Keys, there: &Keys) -> Result<Oid> {
        // A record of the knowledge base is of one clone: its chunks fit its description.
        let is_knowledge = self.name.as_bytes() == ref_names::KNOWLEDGE.as_bytes();
        let depth = if is_knowledge { 0 } else { MAX_DEPTH };
        let mut joined = self.folder(bases, here, there, depth)?;
        if is_knowledge {
            joined.replaced.clear();
        }
        Ok(joined.write(self.repo)?.unwrap_or_else(|| self.repo.empty_tree()))
    }

    /// Joins two directories.
    fn folder(&self, bases: &[Keys], here: &Keys, there: &Keys, depth: usize) -> Result<Joined> {
        let mut joined = Joined::default();
        for name in here.keys().chain(there.keys()).collect::<BTreeSet<_>>() {
            let bases: Vec<Option<TreeEntry>> =
                bases.iter().map(|base| base.get(name).copied()).collect();
            let sides = (here.get(name).copied(), there.get(name).copied());
            let entry = if self.name.as_bytes() == ref_names::SCOPES.as_bytes() {
                scopes::join_one(self.repo, &Join::sides(&bases, sides))?
            } else {
                self.entry(&bases, sides, depth, &mut joined.replaced)?
            };
            joined.entries.extend(entry.map(|entry| (name.clone(), entry)));
        }
        Ok(joined)
    }

    /// Returns both sides of one name, and the entry that one of them has left as it was.
    fn sides(
        bases: &[Option<TreeEntry>],
        (ours, theirs): (Option<TreeEntry>, Option<TreeEntry>),
    ) -> Sides<TreeEntry> {
        let is_old = |entry: Option<TreeEntry>| entry.is_some() && bases.contains(&entry);
        let base = match (is_old(ours), is_old(theirs)) {
            (true, false) => ours,
            (false, true) => theirs,
            _ => None,
        };
        Sides { base, ours, theirs }
    }

    /// Joins one name: everything that both sides have, without what one of them has deleted.
    fn entry(
        &self,
        bases: &[Option<TreeEntry>],
        (ours, theirs): (Option<TreeEntry>, Option<TreeEntry>),
        depth: usize,
        replaced: &mut Vec<TreeEntry>,
    ) -> Result<Option<TreeEntry>> {
        if ours == theirs {
            return Ok(ours);
        }
        let is_folder = |entry: &Option<TreeEntry>| entry.is_none_or(|entry| entry.is_directory());
        if depth > 0 && is_folder(&ours) && is_folder(&theirs) {
            let folders = bases.iter().map(|base| base.filter(TreeEntry::is_directory));
            let sides = [ours, theirs].into_iter().chain(folders);
            let place = (depth, sides.map(|side| side.map(|entry| entry.id)).collect());
            if let Some(known) = self.known.borrow().get(&place) {
                return Ok(*known);
            }
            let entries = |entry: TreeEntry| -> Result<Keys> {
                Ok(self.repo.entries_of(entry.id)?.into_iter().collect())
            };
            let below = |side: Option<TreeEntry>| side.map_or_else(|| Ok(Keys::new()), entries);
            // A version without the name, or with a file, has nothing below.
            let folders = bases.iter().map(|base| base.filter(TreeEntry::is_directory));
            let bases = folders.map(below).collect::<Result<Vec<_>>>()?;
            let tree = self.folder(&bases, &below(ours)?, &below(theirs)?, depth - 1)?;
            let joint = tree.write(self.repo)?.map(TreeEntry::directory);
            self.known.borrow_mut().insert(place, joint);
            return Ok(joint);
        }
        let sides = Join::sides(bases, (ours, theirs));
        let left = |entry: Option<TreeEntry>, other: &Past| {
            entry.filter(|entry| sides.base != Some(*entry) && !other.gone.has(entry.id))
        };
        Ok(match (left(ours, &self.pasts.theirs), left(theirs, &self.pasts.ours)) {
            (Some(ours), Some(theirs)) => {
                let (stays, goes) =
                    if ours.id > theirs.id { (ours, theirs) } else { (theirs, ours) };
                replaced.push(goes);
                Some(stays)
            }
            (ours, theirs) => ours.or(theirs),
        })
    }
}

impl Joined {
    fn write(&self, repo: &Repo) -> Result<Option<Oid>> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        let replaced = self.replaced.iter().map(|entry| {
            let place = superseded::place_of(entry.id);
            (place, *entry)
        });
        let replaced: Vec<_> = replaced.collect();
        let entries = self.entries.iter().chain(replaced.iter().map(|(name, entry)| (name, entry)));
        let edits = entries.map(|(name, entry)| (name, Some(*entry)));
        repo.edit_tree(repo.empty_tree(), edits).map(Some)
    }
}
