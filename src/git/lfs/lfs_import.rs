//! Runs git-lfs to rewrite histories, in a private bare repository that borrows the objects.
//!
//! `git lfs migrate` moves refs, checks files out and, if told to continue, discards edits. In this
//! repository it can do no harm: there is one branch for every tip to rewrite, and no working tree.
//! The new objects stay there, and the large files in a folder beside it, until the migration takes
//! them over.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::git::plain_file::{self, Symlinks};
use crate::git::process::{Git, Output};
use crate::git::refs::FoundRef;
use crate::git::{BareRepo, Oid, RefChange, Repo, quoted_path};
use crate::model::{Code, Error, Result, ResultExt as _, World};

use super::{lfs_progress, lfs_repair};

/// The histories to rewrite, and the folder for the result.
pub struct Import<'a> {
    /// A folder of git-colony that does not exist yet.
    pub folder: &'a Path,
    /// The rewriting steps, in order.
    pub steps: &'a [ImportStep],
    /// The commits to rewrite, with all their ancestors.
    pub tips: &'a [Oid],
    /// A file that git-lfs and all its child processes keep open.
    pub kept_open: &'a File,
}

/// One rewriting.
#[derive(Clone, Debug)]
pub struct ImportStep {
    /// Patterns of the files that git-lfs gets, one per entry.
    pub include: Vec<String>,
    /// Patterns of files that it does not get although an `include` pattern matches.
    pub exclude: Vec<String>,
    /// The attributes lines that exclude files.
    pub taken: Vec<String>,
}

/// The result of an import.
pub struct Imported {
    /// For each step, the rewritten commits by the id they had before.
    pub maps: Vec<HashMap<Oid, Oid>>,
    /// The repository that holds the new objects.
    pub repository: BareRepo,
    /// The folder of the large files, as git-lfs names them.
    pub large_files: PathBuf,
}

impl Imported {
    /// Returns `true` if git-lfs got any file that it did not have before.
    pub fn has_large_files(&self) -> bool {
        let listed = std::fs::read_dir(&self.large_files);
        listed.is_ok_and(|mut listed| listed.next().is_some())
    }
}

impl Import<'_> {
    fn path(&self) -> PathBuf {
        self.folder.join("repository.git")
    }

    fn storage(&self) -> PathBuf {
        self.folder.join("lfs")
    }
}

impl Repo {
    /// Rewrites histories. Does not change this repository.
    pub fn import_for_lfs(&self, world: &World, import: &Import<'_>) -> Result<Imported> {
        self.make_private(world, import)?;
        let mut maps = Vec::new();
        for (number, step) in import.steps.iter().enumerate() {
            let map = import.folder.join(format!("object-map-{number}"));
            let made = rewrite(world, import, step, &map)?;
            let repository = BareRepo::open(&import.path())?;
            let mended = lfs_repair::mend(world, &repository, &made, &step.taken)?;
            if number + 1 < import.steps.len() {
                move_branches(world, &repository, (&made, &mended))?;
            }
            maps.push(mended);
        }
        Ok(Imported {
            maps,
            repository: BareRepo::open(&import.path())?,
            large_files: import.storage().join("objects"),
        })
    }

    /// Creates the repository, with a branch for every tip.
    fn make_private(&self, world: &World, import: &Import<'_>) -> Result<()> {
        let path = import.path();
        let cannot = |e| Error::io(format!("cannot make '{}'", path.display()), e);
        let mut git = Git::new(world);
        git.env("GIT_DEFAULT_REF_FORMAT", "files");
        git.args(["init", "-q", "--bare", "--template="]);
        git.arg("--initial-branch=scratch");
        let format = crate::git::bare::object_format(&self.inner);
        git.arg(format!("--object-format={format}")).arg(&path);
        git.run_checked("make a repository to rewrite history in")?;
        let mut refs = String::from("# pack-refs with: sorted \n");
        let width = import.tips.len().to_string().len();
        for (number, tip) in import.tips.iter().enumerate() {
            writeln!(refs, "{tip} refs/heads/{number:0width$}").ok();
        }
        write(&path.join("packed-refs"), refs.as_bytes()).map_err(cannot)?;
        write(&path.join("objects/info/alternates"), &self.borrowed()).map_err(cannot)
    }

    /// Lists all object folders that this repository reads: git-lfs does not follow alternates of
    /// alternates.
    fn borrowed(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut open = vec![self.common_dir().join("objects")];
        let mut seen = Vec::new();
        while let Some(folder) = open.pop().filter(|_| seen.len() < 16) {
            if seen.contains(&folder) {
                continue;
            }
            lines.extend_from_slice(quoted_path::listed(&folder).as_encoded_bytes());
            lines.push(b'\n');
            open.extend(quoted_path::alternates_of(&folder));
            seen.push(folder);
        }
        lines
    }
}

/// Has git-lfs rewrite every branch of the repository; returns the new id of each commit.
fn rewrite(
    world: &World,
    import: &Import<'_>,
    step: &ImportStep,
    map: &Path,
) -> Result<HashMap<Oid, Oid>> {
    let path = import.path();
    let mut git = Git::new(world);
    git.env("GIT_DIR", &path).current_dir(&path);
    git.config("lfs.storage", import.storage());
    // git-lfs installs hooks wherever it runs; keep it away from hooks that the user shares between
    // repositories.
    git.config("core.hooksPath", path.join("hooks"));
    git.args(["lfs", "migrate", "import", "--everything", "--yes"]);
    for (flag, patterns) in [("--include", &step.include), ("--exclude", &step.exclude)] {
        if !patterns.is_empty() {
            git.arg(format!("{flag}={}", patterns.join(",")));
        }
    }
    git.arg("--object-map").arg(map);
    git.keep_open(import.kept_open)?;
    lfs_progress::report_commits(&mut git, world);
    let output = git.run();
    // Dropping the command ends its progress meter.
    drop(git);
    let output = output?;
    if !output.success() {
        return Err(failed(&output));
    }
    let cannot_read = || format!("cannot read '{}'", map.display());
    // Without a commit to rewrite git-lfs writes no map; the one of a long history is large.
    let printed = plain_file::find(map, Symlinks::Refused, u64::MAX)
        .map_err(std::io::Error::from)
        .or_code(Code::Io, cannot_read)?
        .unwrap_or_default();
    let printed = String::from_utf8(printed).or_code(Code::Io, cannot_read)?;
    let pair = |line: &str| {
        let (old, new) = line.split_once(',')?;
        let pair = Oid::parse(old.trim()).zip(Oid::parse(new.trim()));
        pair.filter(|(old, new)| old != new)
    };
    Ok(printed.lines().filter_map(pair).collect())
}

/// Moves the branches to the rewritten commits.
fn move_branches(
    world: &World,
    repository: &BareRepo,
    (made, mended): (&HashMap<Oid, Oid>, &HashMap<Oid, Oid>),
) -> Result<()> {
    let last = |(old, new): (&Oid, &Oid)| (*new, mended.get(old).copied().unwrap_or(*old));
    let became: HashMap<Oid, Oid> = made.iter().map(last).collect();
    let branches = repository.refs_below("refs/heads/")?.into_iter();
    let change = |branch: FoundRef| {
        let new = became.get(&branch.id).filter(|new| **new != branch.id)?;
        Some(RefChange { name: branch.name, old: Some(branch.id), new: Some(*new) })
    };
    let changes: Vec<RefChange> = branches.filter_map(change).collect();
    repository.move_refs_unshared(world, &changes)
}

fn failed(output: &Output) -> Error {
    // Progress reports overwrite each other on one terminal line.
    let mut lines = output
        .stderr
        .split(['\r', '\n'])
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("migrate: "));
    let said =
        lines.next_back().or(output.stderr.lines().last()).unwrap_or("git-lfs gave no reason");
    Error::new(Code::GitFailed, format!("cannot rewrite history for git-lfs: {said}"))
        .unchanged()
        .detail("stderr", &output.stderr)
        .hint("git fsck   # names objects that are missing or damaged")
}

#[expect(
    clippy::disallowed_methods,
    reason = "in a private folder that no other process knows yet"
)]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, bytes)
}
