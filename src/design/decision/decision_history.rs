//! The history of decisions: which commit wrote the newest version of each, and which deleted one.
//!
//! The files at the tip are true; history only adds the dates. A merge that takes the version of
//! one side writes nothing. A record that moves to another file is not a new version.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::design::decision;
use crate::git::compare::tree_diff::TreeChange;
use crate::git::history::commits::Past;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result};
use crate::store::migration::{self, ObjectMap};

use super::{FOLDER, Item, Items, TRAILER, decision_walk};

/// The history of all decisions.
pub(in crate::design) struct DecisionHistory {
    pub(in crate::design) tip: Oid,
    /// The decisions at the tip: item and path.
    pub(in crate::design) present: BTreeMap<String, (Item, RepoPath)>,
    /// The unusable files at the tip, and why.
    pub(in crate::design) problems: Vec<(RepoPath, String)>,
    /// Unreadable files at the tip: their content is unknown.
    pub(in crate::design) unreadable: HashSet<RepoPath>,
    /// Every change of a decision, newest first.
    pub(in crate::design) changes: Vec<Change>,
    /// The commits that name a decision in a trailer, newest first.
    pub(in crate::design) named: BTreeMap<String, Vec<Oid>>,
    reverts: HashMap<Oid, Vec<Oid>>,
    /// The new ids of commits that a migration rewrote; records may name the old ones.
    pub(in crate::design) migrated: ObjectMap,
}

/// The field of a record that names commits.
pub(in crate::design) const IMPLEMENTS: &str = "implements";

/// A commit that changed a decision.
#[derive(Clone)]
pub(in crate::design) struct Change {
    pub(in crate::design) commit: Oid,
    pub(in crate::design) decision_id: String,
    /// The version it wrote and its path; `None` if it deleted the decision.
    pub(in crate::design) new: Option<(Item, RepoPath)>,
    /// Whether the decision continues under another id: the name of its file was its id.
    pub(in crate::design) renamed: bool,
}

impl DecisionHistory {
    /// Walks everything that can be reached from `tip`. The first time, costs reading each commit
    /// and the trees above the decisions; later only the new ones.
    pub(in crate::design) fn walk(repo: &Repo, tip: Oid) -> Result<DecisionHistory> {
        let mut reader = Reader::new(repo);
        let mut history = DecisionHistory {
            tip,
            present: BTreeMap::new(),
            problems: Vec::new(),
            unreadable: HashSet::new(),
            changes: Vec::new(),
            named: BTreeMap::new(),
            reverts: HashMap::new(),
            migrated: ObjectMap::default(),
        };
        history.read_tip(&mut reader, tip)?;
        for commit in decision_walk::commits(repo, &mut reader, tip)? {
            let past = repo.read_past(commit)?;
            for id in decision::trailers(&past.message, TRAILER) {
                history.named.entry(id).or_default().push(commit);
            }
            for hex in decision::reverts(&past.message) {
                if let Some(reverted) = Oid::parse(hex) {
                    history.reverts.entry(reverted).or_default().push(commit);
                }
            }
            history.changes.extend(reader.changes(&past)?);
        }
        history.follow_migrations(repo)?;
        Ok(history)
    }

    /// Replaces ids from before a migration to git-lfs, in messages and records, by the ids of the
    /// rewritten commits.
    fn follow_migrations(&mut self, repo: &Repo) -> Result<()> {
        let names_commits = |change: &Change| {
            let new = change.new.as_ref();
            new.is_some_and(|(item, _)| item.object.contains_key(IMPLEMENTS))
        };
        if self.reverts.is_empty() && !self.changes.iter().any(names_commits) {
            return Ok(());
        }
        self.migrated = migration::known(repo)?;
        for (reverted, by) in std::mem::take(&mut self.reverts) {
            let now = self.migrated.current(repo, reverted);
            self.reverts.entry(now).or_default().extend(by);
        }
        Ok(())
    }

    fn read_tip(&mut self, reader: &mut Reader<'_>, tip: Oid) -> Result<()> {
        let repo = reader.repo;
        let folder = reader.folder(tip)?;
        for TreeChange { path, new, .. } in repo.list_tree(folder)? {
            let Some(entry) = new.filter(|entry| decision::is_record(&path) && entry.is_file())
            else {
                continue;
            };
            let path = below_folder(&path);
            let items = match reader.items(&path, entry.id) {
                Ok((items, problems)) => {
                    let named = problems.into_iter().map(|what| (path.clone(), what));
                    self.problems.extend(named);
                    items
                }
                Err(problem) => {
                    self.unreadable.insert(path.clone());
                    self.problems.push((path, problem));
                    continue;
                }
            };
            for (id, item) in items {
                if let Some((_, other)) = self.present.get(&id) {
                    let problem = format!("holds decision '{id}', as '{other}' does");
                    self.problems.push((path.clone(), problem));
                } else {
                    self.present.insert(id, (item, path.clone()));
                }
            }
        }
        Ok(())
    }

    /// Returns `true` if `git revert` has reverted a commit, and that revert was not reverted in
    /// its turn.
    pub(in crate::design) fn is_reverted(&self, commit: Oid) -> bool {
        self.is_reverted_beyond(commit, &mut HashSet::new())
    }

    fn is_reverted_beyond(&self, commit: Oid, seen: &mut HashSet<Oid>) -> bool {
        // Messages are untrusted: two commits may claim to revert each other.
        seen.insert(commit)
            && self
                .reverts
                .get(&commit)
                .is_some_and(|by| by.iter().any(|by| !self.is_reverted_beyond(*by, seen)))
    }
}

/// Reads the decisions of commits, each tree once.
pub(in crate::design) struct Reader<'a> {
    repo: &'a Repo,
    folders: HashMap<Oid, Oid>,
}

impl<'a> Reader<'a> {
    pub(in crate::design) fn new(repo: &'a Repo) -> Reader<'a> {
        let folders = HashMap::new();
        Reader { repo, folders }
    }

    /// Returns the tree of the decisions in a commit; the empty tree if there is none.
    fn folder(&mut self, commit: Oid) -> Result<Oid> {
        if let Some(known) = self.folders.get(&commit) {
            return Ok(*known);
        }
        let root = self.repo.tree_of(Some(commit))?;
        self.folder_in(commit, root)
    }

    fn folder_in(&mut self, commit: Oid, root: Oid) -> Result<Oid> {
        if let Some(known) = self.folders.get(&commit) {
            return Ok(*known);
        }
        let tree = self.repo.tree_in(root, FOLDER)?;
        let folder = tree.unwrap_or_else(|| self.repo.empty_tree());
        self.folders.insert(commit, folder);
        Ok(folder)
    }

    /// Lists the changes of decisions in a commit, compared with all its parents.
    pub(in crate::design) fn changes(&mut self, past: &Past) -> Result<Vec<Change>> {
        let new = self.folder_in(past.id, past.tree)?;
        let mut parents = Vec::new();
        for parent in &past.parents {
            parents.push(self.folder(*parent)?);
        }
        if parents.is_empty() {
            parents.push(self.repo.empty_tree());
        }
        if parents.contains(&new) {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for old in parents {
            all.push(self.between(past.id, old, new)?);
        }
        let mut all = all.into_iter();
        let mut changes = all.next().unwrap_or_default();
        for other in all {
            changes.retain(|change| {
                let same = |candidate: &Change| candidate.decision_id == change.decision_id;
                other.iter().any(same)
            });
        }
        Ok(changes)
    }

    fn between(&mut self, commit: Oid, old: Oid, new: Oid) -> Result<Vec<Change>> {
        let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
        let mut unreadable = HashSet::new();
        for change in self.repo.diff_trees(old, new)? {
            if !decision::is_record(&change.path) {
                continue;
            }
            let path = below_folder(&change.path);
            for (side, entry) in [(&mut before, change.old), (&mut after, change.new)] {
                let Some(entry) = entry.filter(TreeEntry::is_file) else {
                    continue;
                };
                // A broken file is not a version, and deletes none.
                let Ok((items, _)) = self.items(&path, entry.id) else {
                    unreadable.insert(path.clone());
                    continue;
                };
                side.extend(items.into_iter().map(|(id, item)| (id, (item, path.clone()))));
            }
        }
        let mut changes = Vec::new();
        for (id, (item, path)) in &before {
            if !after.contains_key(id) && !unreadable.contains(path) {
                let goes_on = |(other, (new, _)): (&String, &(Item, RepoPath))| {
                    !before.contains_key(other) && new == item && !item.names_itself
                };
                changes.push(Change {
                    commit,
                    decision_id: id.clone(),
                    new: None,
                    renamed: after.iter().any(goes_on),
                });
            }
        }
        for (id, new) in after {
            if before.get(&id).is_none_or(|(old, _)| *old != new.0) {
                changes.push(Change { commit, decision_id: id, new: Some(new), renamed: false });
            }
        }
        Ok(changes)
    }

    fn items(&self, path: &RepoPath, blob: Oid) -> Result<(Items, BTreeSet<String>), String> {
        let bytes = self.repo.read_blob(blob).map_err(|error| error.message())?;
        decision::read_usable(path, &bytes)
    }
}

fn below_folder(path: &RepoPath) -> RepoPath {
    RepoPath::new([FOLDER.as_bytes(), b"/", path.as_bytes()].concat())
}
