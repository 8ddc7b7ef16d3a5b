//! Merging two commits on trees, by `git merge-tree`: git's own merge, without index and worktree.

use std::collections::BTreeMap;
use std::path::Path;

use crate::git::process::{self, Git};
use crate::git::quoted_path::listed;
use crate::git::scratch::Scratch;
use crate::git::{Oid, Repo, TreeEntry};
use crate::model::{Code, RepoPath, Result, ResultExt as _, World};

use super::merge_tree_answer::{Tokens, unreadable};
use super::trivial_merge::Certain;

/// The entries of a conflicted path: base, ours, theirs.
pub type Stages = [Option<TreeEntry>; 3];

/// What a merge came to.
#[derive(Debug)]
pub struct Merged {
    /// The merged tree; files in conflict stand in it as git would write them, with markers.
    pub tree: Oid,
    /// Whether nothing is left to be settled.
    pub is_clean: bool,
    /// The paths in conflict, sorted.
    pub stages: BTreeMap<RepoPath, Stages>,
    /// What git says about paths, in its order.
    pub notes: Vec<MergeNote>,
    /// Our commit, where markers call it by its id.
    pub ours: Option<Oid>,
    /// Where the objects are that the merge made.
    pub(in crate::git) objects: Option<Scratch>,
}

impl Merged {
    /// Returns a merge that left nothing to be settled.
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

/// What a merge would leave to be settled; its tree is not known.
#[derive(Debug)]
pub struct Preview {
    /// Whether nothing is left to be settled.
    pub is_clean: bool,
    /// The paths in conflict, sorted.
    pub stages: BTreeMap<RepoPath, Stages>,
    /// What git says about paths.
    pub notes: Vec<MergeNote>,
}

impl From<Merged> for Preview {
    fn from(merged: Merged) -> Preview {
        Preview {
            is_clean: merged.is_clean,
            stages: merged.stages,
            notes: merged.notes,
        }
    }
}

impl From<Certain> for Preview {
    fn from(certain: Certain) -> Preview {
        Preview {
            is_clean: certain.is_clean(),
            notes: certain.notes(),
            stages: certain.stages,
        }
    }
}

/// Two commits to be merged, with their merge bases.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The best common ancestors.
    pub bases: Vec<Oid>,
    /// Whether the first of them takes the place of those that the parents of commits tell.
    pub is_base_given: bool,
    /// Our commit.
    pub ours: Oid,
    /// Their commit.
    pub theirs: Oid,
}

/// What git says about some paths of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeNote {
    /// The paths it is about.
    pub paths: Vec<RepoPath>,
    /// Of which kind: `CONFLICT (contents)`, `Auto-merging`, ...
    pub kind: String,
}

/// One side of a merge.
#[derive(Clone, Debug)]
pub struct MergeSide {
    /// The commit.
    pub commit: Oid,
    /// What to call it in markers, where that name stands for the commit.
    pub name: String,
}

/// A merge whose result is known, for git to be asked about.
#[derive(Clone, Copy, Debug)]
pub struct MergeCase {
    /// The commit both sides began with.
    pub base: Oid,
    /// Our commit.
    pub ours: Oid,
    /// Their commit.
    pub theirs: Oid,
    /// The tree it is merged to.
    pub expected: Oid,
}

impl Repo {
    /// Merges `theirs` into `ours` on trees. The objects it makes are kept apart until
    /// [`Repo::keep_objects_of`]; without that nothing stays.
    ///
    /// # Errors
    /// `git-failed`, `object-missing`, `tree-too-large`.
    pub fn merge_commits(
        &self,
        world: &World,
        ours: &MergeSide,
        theirs: &MergeSide,
    ) -> Result<Merged> {
        self.require_mergeable(ours.commit, theirs.commit)?;
        let folder = Scratch::new(world)?;
        let mut git = self.git(world);
        self.write_objects_to(folder.path(), &mut git);
        let (our_name, their_name) = (self.label(ours), self.label(theirs));
        git.args(["merge-tree", "--write-tree", "-z", "--messages", "--"]);
        git.arg(&our_name).arg(&their_name);
        let output = git.run()?;
        let is_clean = match output.code {
            Some(0) => true,
            Some(1) => false,
            _ => return Err(process::failed("merge", &output.stderr)),
        };
        let mut tokens = Tokens::of(&output.stdout);
        let mut merged = tokens.merged(is_clean)?;
        merged.objects = Some(folder);
        Ok(merged)
    }

    /// Takes the objects that a merge made into the object store.
    ///
    /// # Errors
    /// `no-space`, `io`.
    pub fn keep_objects_of(&self, merged: &Merged) -> Result<()> {
        use gix::objs::Write as _;
        let Some(folder) = &merged.objects else {
            return Ok(());
        };
        let cannot = || "cannot keep what a merge made";
        let hash = self.inner.object_hash();
        let store = gix::odb::loose::Store::at(folder.path().to_owned(), hash);
        let mut buffer = Vec::new();
        for id in store.iter() {
            let id = id.or_code(Code::Io, cannot)?;
            let object = store.try_find(&id, &mut buffer).or_code(Code::Io, cannot)?;
            if let Some(object) = object {
                let written = self.inner.objects.write_buf(object.kind, object.data);
                written.or_code(Code::Io, cannot)?;
            }
        }
        Ok(())
    }

    /// Tells what merging each pair would leave to be settled, and keeps no object; of a pair that cannot
    /// be merged, why. Costs one process of git, none where every merge is certain.
    ///
    /// # Errors
    /// `git-failed`.
    pub fn preview_pairs(&self, world: &World, pairs: &[Pair]) -> Result<Vec<Result<Preview>>> {
        let mut merges = self.certain_merges(world);
        let mut open = Vec::new();
        let mut found = Vec::new();
        for pair in pairs {
            let sides = (pair.ours, pair.theirs);
            let known = merges.commits(&pair.bases, sides);
            let known = match (known, pair.bases.first()) {
                (Some(certain), _) => Some(Ok(certain.into())),
                (None, Some(base)) if pair.is_base_given => {
                    Some(self.merge_from(world, *base, sides).map(Preview::from))
                }
                (None, _) => self.require_mergeable(sides.0, sides.1).err().map(Err),
            };
            if known.is_none() {
                open.push(sides);
            }
            found.push(known);
        }
        let mut asked = self.preview_merges(world, &open)?.into_iter();
        let mut all = Vec::new();
        for known in found {
            all.push(match known {
                Some(known) => known,
                None => Ok(asked.next().ok_or_else(unreadable)?.into()),
            });
        }
        Ok(all)
    }

    /// Merges many pairs in one process and keeps no object: for questions only.
    ///
    /// # Errors
    /// `git-failed`, `object-missing`; histories that are not related.
    pub fn preview_merges(&self, world: &World, pairs: &[(Oid, Oid)]) -> Result<Vec<Merged>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        let folder = Scratch::new(world)?;
        let mut git = self.git(world);
        self.write_objects_to(folder.path(), &mut git);
        git.env(process::PREVIEW_VARIABLE, "1");
        git.args(["merge-tree", "--write-tree", "-z", "--stdin"]);
        let lines = pairs
            .iter()
            .map(|(ours, theirs)| format!("{ours} {theirs}\n"));
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

    /// Merges as [`Repo::merge_commits`] does, from a base that is given. Git sees the objects
    /// that are in memory, too.
    ///
    /// # Errors
    /// `git-failed`, `tree-too-large`, `no-space`, `io`.
    pub fn merge_from(
        &self,
        world: &World,
        base: Oid,
        (ours, theirs): (Oid, Oid),
    ) -> Result<Merged> {
        self.require_mergeable_from(base, (ours, theirs))?;
        let folder = Scratch::new(world)?;
        self.export_memory(folder.path())?;
        let mut git = self.git(world);
        self.write_objects_to(folder.path(), &mut git);
        git.args(["merge-tree", "--write-tree", "-z", "--messages"]);
        git.arg(format!("--merge-base={base}"));
        git.arg(ours.to_string()).arg(theirs.to_string());
        let output = git.run()?;
        let is_clean = match output.code {
            Some(0) => true,
            Some(1) => false,
            _ => return Err(process::failed("merge", &output.stderr)),
        };
        let mut merged = Tokens::of(&output.stdout).merged(is_clean)?;
        merged.ours = Some(ours);
        merged.objects = Some(folder);
        Ok(merged)
    }

    /// Writes what is in memory as loose objects into a folder.
    fn export_memory(&self, folder: &Path) -> Result<()> {
        use gix::objs::Write as _;
        let mut inner = self.inner.clone();
        let Some(objects) = inner.objects.take_object_memory() else {
            return Ok(());
        };
        let hash = self.inner.object_hash();
        let store = gix::odb::loose::Store::at(folder.to_owned(), hash);
        for (kind, data) in objects.values() {
            let written = store.write_buf(*kind, data);
            written.or_code(Code::Io, || "cannot show git what is in memory")?;
        }
        Ok(())
    }

    /// Asks git whether it merges each of `cases` cleanly to the expected tree; returns the first that
    /// it does not. Git sees the objects that are in memory, too.
    ///
    /// # Errors
    /// `git-failed`, `tree-too-large`.
    pub fn first_disagreement(&self, world: &World, cases: &[MergeCase]) -> Result<Option<usize>> {
        if cases.is_empty() {
            return Ok(None);
        }
        self.require_cases(cases)?;
        let folder = Scratch::new(world)?;
        self.export_memory(folder.path())?;
        let mut git = self.git(world);
        self.write_objects_to(folder.path(), &mut git);
        git.env(process::PREVIEW_VARIABLE, "1");
        git.args(["merge-tree", "--write-tree", "-z", "--stdin"]);
        let lines = cases.iter();
        let lines = lines.map(|c| format!("{} -- {} {}\n", c.base, c.ours, c.theirs));
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

    /// Has a git command write its objects to `folder` and read all others from here.
    fn write_objects_to(&self, folder: &Path, git: &mut Git) {
        // They are read once, if at all: neither small nor durable.
        git.args(["-c", "core.looseCompression=0", "-c", "core.fsync=none"]);
        git.env("GIT_OBJECT_DIRECTORY", folder);
        let objects = listed(&self.common_dir().join("objects"));
        git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
    }

    /// Returns a name that stands for the commit, for markers and for `path~name`.
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
