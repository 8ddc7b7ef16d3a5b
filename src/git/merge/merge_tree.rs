//! Merging two commits as trees, by `git merge-tree`: git's own merge, without index and working
//! tree.

use std::collections::BTreeMap;

use crate::git::object::quarantine::Quarantine;
use crate::git::process::{self, Git};
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{RepoPath, Result, World};

use super::merge_tree_answer::{Tokens, unreadable};
use super::trivial_merge::CertainMerge;

/// The entries of a conflicted path: base, ours, theirs.
pub type Stages = [Option<TreeEntry>; 3];

/// The result of a merge.
#[derive(Debug)]
pub struct Merged {
    /// The merged tree; it holds conflicted files as git would write them, with markers.
    pub tree: Oid,
    /// Whether there are no conflicts.
    pub is_clean: bool,
    /// The paths in conflict, sorted.
    pub stages: BTreeMap<RepoPath, Stages>,
    /// git's messages about paths, in its order.
    pub notes: Vec<MergeNote>,
    /// Our commit, if markers show its id.
    pub ours: Option<Oid>,
    /// The objects that the merge created.
    pub(in crate::git) objects: Option<Quarantine>,
}

impl Merged {
    /// Returns a merge without conflicts.
    pub(in crate::git) fn clean(tree: Oid) -> Merged {
        Merged {
            tree,
            is_clean: true,
            stages: BTreeMap::new(),
            notes: Vec::new(),
            ours: None,
            objects: None,
        }
    }
}

/// The conflicts that a merge would have; its tree is unknown.
#[derive(Debug)]
pub struct Preview {
    /// Whether there are no conflicts.
    pub is_clean: bool,
    /// The paths in conflict, sorted.
    pub stages: BTreeMap<RepoPath, Stages>,
    /// git's messages about paths.
    pub notes: Vec<MergeNote>,
}

impl From<Merged> for Preview {
    fn from(merged: Merged) -> Preview {
        Preview { is_clean: merged.is_clean, stages: merged.stages, notes: merged.notes }
    }
}

impl From<CertainMerge> for Preview {
    fn from(certain: CertainMerge) -> Preview {
        Preview { is_clean: certain.is_clean(), notes: certain.notes(), stages: certain.stages }
    }
}

/// Two commits to be merged, with their merge bases.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The best common ancestors.
    pub bases: Vec<Oid>,
    /// Whether the first base replaces those that follow from the parents of commits.
    pub is_base_given: bool,
    /// Our commit.
    pub ours: Oid,
    /// Their commit.
    pub theirs: Oid,
}

/// A message of git about paths of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeNote {
    /// The paths that it concerns.
    pub paths: Vec<RepoPath>,
    /// The kind: `CONFLICT (contents)`, `Auto-merging`, ...
    pub kind: String,
}

/// One side of a merge.
#[derive(Clone, Debug)]
pub struct MergeSide {
    /// The commit.
    pub commit: Oid,
    /// The name to show in markers, if it resolves to the commit.
    pub name: String,
}

/// A merge with a known result, for git to verify.
#[derive(Clone, Copy, Debug)]
pub struct MergeCase {
    /// The merge base.
    pub base: Oid,
    /// Our commit.
    pub ours: Oid,
    /// Their commit.
    pub theirs: Oid,
    /// The expected tree.
    pub expected: Oid,
}

impl Repo {
    /// Merges `theirs` into `ours` as trees. The new objects are temporary until
    /// [`Repo::keep_objects_of`].
    pub fn merge_commits(
        &self,
        world: &World,
        ours: &MergeSide,
        theirs: &MergeSide,
    ) -> Result<Merged> {
        self.require_mergeable(ours.commit, theirs.commit)?;
        // git also sees the objects that are in memory: in a dry run of several merges, the merges before.
        let objects = self.quarantine(world)?;
        let mut git = self.git(world);
        objects.collect_from(self, &mut git);
        let (our_name, their_name) = (self.label(ours), self.label(theirs));
        git.args(["merge-tree", "--write-tree", "-z", "--messages", "--"]);
        git.arg(&our_name).arg(&their_name);
        run_merge(&mut git, objects)
    }

    /// Stores the objects that a merge created.
    pub fn keep_objects_of(&self, merged: &Merged) -> Result<()> {
        match &merged.objects {
            Some(objects) => objects.keep_in(self),
            None => Ok(()),
        }
    }

    /// Returns the conflicts that merging each pair would have, or why the pair cannot be merged;
    /// stores no objects. One git process, none if every merge is certain.
    pub fn preview_pairs(&self, world: &World, pairs: &[Pair]) -> Result<Vec<Result<Preview>>> {
        let mut merges = self.certain_merges(world);
        let mut open = Vec::new();
        let mut previews: Vec<Option<Result<Preview>>> = pairs.iter().map(|_| None).collect();
        // The changes since one base are enough to keep: with all of them, forks that build on each other would take
        // memory by the square of their number.
        let mut order: Vec<_> = pairs.iter().enumerate().collect();
        order.sort_by_key(|(_, pair)| &pair.bases);
        let mut last = None;
        for (at, pair) in order {
            if last.replace(&pair.bases) != Some(&pair.bases) {
                merges.forget();
            }
            let sides = (pair.ours, pair.theirs);
            let known = merges.commits(&pair.bases, sides);
            let known = match (known, pair.bases.first()) {
                (Some(certain), _) => Some(Ok(certain.into())),
                (None, Some(base)) if pair.is_base_given => {
                    Some(self.merge_from(world, *base, sides).map(Preview::from))
                }
                (None, _) => self.require_mergeable(sides.0, sides.1).err().map(Err),
            };
            match (known, previews.get_mut(at)) {
                (Some(known), Some(place)) => *place = Some(known),
                _ => open.push((at, sides)),
            }
        }
        // In the order of the pairs.
        open.sort_by_key(|(at, _)| *at);
        let open: Vec<_> = open.into_iter().map(|(_, sides)| sides).collect();
        let mut asked = self.preview_merges(world, &open)?.into_iter();
        let mut all = Vec::new();
        for known in previews {
            all.push(match known {
                Some(known) => known,
                None => Ok(asked.next().ok_or_else(unreadable)?.into()),
            });
        }
        Ok(all)
    }

    /// Merges many pairs in one process and stores no objects: for questions only.
    pub fn preview_merges(&self, world: &World, pairs: &[(Oid, Oid)]) -> Result<Vec<Merged>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let objects = Quarantine::new(world)?;
        let mut git = self.git(world);
        objects.collect_from(self, &mut git);
        git.env(process::PREVIEW_VARIABLE, "1");
        git.args(["merge-tree", "--write-tree", "-z", "--stdin"]);
        let lines = pairs.iter().map(|(ours, theirs)| format!("{ours} {theirs}\n"));
        git.input(lines.collect::<String>().into_bytes());
        let output = git.run()?;
        if !output.success() {
            return Err(process::failed("preview a merge", &output.stderr));
        }
        let mut tokens = Tokens::of(&output.stdout);
        let merges = pairs.iter().map(|_| {
            let is_clean = tokens.next()? == b"1";
            let merged = tokens.merged(is_clean)?;
            if is_clean {
                tokens.skip_end();
            }
            Ok(merged)
        });
        merges.collect()
    }

    /// Merges as [`Repo::merge_commits`] does, from a given base. git also sees the objects
    /// that are in memory.
    pub fn merge_from(
        &self,
        world: &World,
        base: Oid,
        (ours, theirs): (Oid, Oid),
    ) -> Result<Merged> {
        self.require_mergeable_from(base, (ours, theirs))?;
        let objects = self.quarantine(world)?;
        let mut git = self.git(world);
        objects.collect_from(self, &mut git);
        git.args(["merge-tree", "--write-tree", "-z", "--messages"]);
        git.arg(format!("--merge-base={base}"));
        git.arg(ours.to_string()).arg(theirs.to_string());
        let mut merged = run_merge(&mut git, objects)?;
        merged.ours = Some(ours);
        Ok(merged)
    }

    /// Asks git whether it merges each of `cases` cleanly to the expected tree; returns the first
    /// case where it does not. git also sees the objects that are in memory.
    pub fn first_disagreement(&self, world: &World, cases: &[MergeCase]) -> Result<Option<usize>> {
        if cases.is_empty() {
            return Ok(None);
        }
        self.require_cases(cases)?;
        let objects = self.quarantine(world)?;
        let mut git = self.git(world);
        objects.collect_from(self, &mut git);
        git.env(process::PREVIEW_VARIABLE, "1");
        git.args(["merge-tree", "--write-tree", "-z", "--stdin"]);
        let lines = cases.iter().map(|c| format!("{} -- {} {}\n", c.base, c.ours, c.theirs));
        git.input(lines.collect::<String>().into_bytes());
        let output = git.run()?;
        if !output.success() {
            return Err(process::failed("check a merge", &output.stderr));
        }
        let mut tokens = Tokens::of(&output.stdout);
        for (at, case) in cases.iter().enumerate() {
            let is_clean = tokens.next()? == b"1";
            let merged = tokens.merged(is_clean)?;
            if !is_clean || merged.tree != case.expected {
                return Ok(Some(at));
            }
            tokens.skip_end();
        }
        Ok(None)
    }

    /// Returns a name that resolves to the commit, for markers and for `path~name`.
    fn label(&self, side: &MergeSide) -> String {
        let plain = !side.name.starts_with('-') && !side.name.contains(char::is_control);
        let resolved = self.resolve_commit(&side.name);
        if plain && resolved.is_ok_and(|commit| commit == side.commit) {
            side.name.clone()
        } else {
            side.commit.to_string()
        }
    }
}

/// Runs `merge-tree` for one merge and reads its answer.
fn run_merge(git: &mut Git, objects: Quarantine) -> Result<Merged> {
    let output = git.run()?;
    let is_clean = match output.code {
        Some(0) => true,
        Some(1) => false,
        _ => return Err(process::failed("merge", &output.stderr)),
    };
    let mut merged = Tokens::of(&output.stdout).merged(is_clean)?;
    merged.objects = Some(objects);
    Ok(merged)
}
