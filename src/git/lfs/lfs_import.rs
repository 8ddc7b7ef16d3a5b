//! Has git-lfs write histories again, in a bare repository of ours that borrows the objects.
//!
//! `git lfs migrate` moves refs, checks files out and, told to go on, throws edits away. There it finds
//! neither: the repository has one branch for every tip that is asked about and no worktree. New
//! objects stay in it, large files in a folder beside it, until somebody takes them over.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::git::process::{Git, Output};
use crate::git::refs::FoundRef;
use crate::git::{BareRepo, Oid, RefChange, Repo};
use crate::model::{Code, Error, Result, World};

use super::{lfs_progress, lfs_repair};

/// What is to be written again, and where.
pub struct Import<'a> {
    /// A folder of ours that is not there yet.
    pub folder: &'a Path,
    /// What is done, one after the other.
    pub steps: &'a [ImportStep],
    /// The commits, with all that is below them.
    pub tips: &'a [Oid],
    /// A file that git-lfs and all that it starts keep open.
    pub kept_open: &'a File,
}

/// One rewriting.
#[derive(Clone, Debug)]
pub struct ImportStep {
    /// Patterns of the files that git-lfs gets, one each.
    pub include: Vec<String>,
    /// Patterns of files that it does not get although a pattern above matches.
    pub exclude: Vec<String>,
    /// The lines by which attributes take these away; `None` where what git-lfs makes is left as it is, as
    /// it was done once.
    pub taken: Option<Vec<String>>,
    /// What becomes of our lines for files that stay in git.
    pub exempt: Exempt,
}

/// What becomes of the lines of ours by which files stay in git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exempt {
    /// They go, and git-lfs gets the files.
    Ends,
    /// They stay as any line does, as it was done once.
    Stays,
}

/// What was written.
pub struct Imported {
    /// Every commit that each step has made another of, by its id before that.
    pub maps: Vec<HashMap<Oid, Oid>>,
    /// The repository that has the new objects.
    pub repository: BareRepo,
    /// The folder of the large files, as git-lfs names them.
    pub large_files: PathBuf,
}

impl Imported {
    /// Tells whether any file was given to git-lfs that it did not have.
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
    /// Writes histories again. Nothing of this repository changes.
    ///
    /// # Errors
    /// `git-failed` with what git-lfs said, `no-space`, `io`, `interrupted`.
    pub fn import_for_lfs(&self, world: &World, import: &Import<'_>) -> Result<Imported> {
        self.make_private(world, import)?;
        let mut maps = Vec::new();
        for (number, step) in import.steps.iter().enumerate() {
            let map = import.folder.join(format!("object-map-{number}"));
            let made = rewrite(world, import, (step, &map))?;
            let Some(lines) = &step.taken else {
                maps.push(made);
                continue;
            };
            let repository = BareRepo::open(&import.path())?;
            let mended = lfs_repair::mend(world, &repository, &made, (lines, step.exempt))?;
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

    /// Makes the repository: it has a branch for every tip.
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

    /// Lists every folder of objects that this repository reads from: git-lfs looks no further than
    /// the ones it is told of.
    fn borrowed(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut open = vec![self.common_dir().join("objects")];
        let mut seen = Vec::new();
        while let Some(folder) = open.pop().filter(|_| seen.len() < 16) {
            if seen.contains(&folder) {
                continue;
            }
            lines.extend_from_slice(folder.as_os_str().as_encoded_bytes());
            lines.push(b'\n');
            let listed = std::fs::read(folder.join("info/alternates")).unwrap_or_default();
            let listed = listed
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty() && !line.starts_with(b"#"));
            for line in listed {
                let path = std::os::unix::ffi::OsStrExt::from_bytes(line);
                let path: &std::ffi::OsStr = path;
                open.push(folder.join(path));
            }
            seen.push(folder);
        }
        lines
    }
}

/// Has git-lfs rewrite every branch of the repository; returns which commit became which.
fn rewrite(
    world: &World,
    import: &Import<'_>,
    (step, map): (&ImportStep, &Path),
) -> Result<HashMap<Oid, Oid>> {
    let path = import.path();
    let mut git = Git::new(world);
    git.env("GIT_DIR", &path).current_dir(&path);
    git.config("lfs.storage", import.storage());
    // git-lfs sets hooks up wherever it works: not where a user has them for all repositories.
    git.config("core.hooksPath", path.join("hooks"));
    git.args(["lfs", "migrate", "import", "--everything", "--yes"]);
    for (flag, patterns) in [("--include", &step.include), ("--exclude", &step.exclude)] {
        if !patterns.is_empty() {
            git.arg(format!("{flag}={}", patterns.join(",")));
        }
    }
    git.arg("--object-map").arg(map);
    git.keep_open(import.kept_open)?;
    lfs_progress::tell_commits(&mut git, world);
    let output = git.run();
    // The meter goes with the command.
    drop(git);
    let output = output?;
    if !output.success() {
        return Err(failed(&output));
    }
    let printed = std::fs::read_to_string(map).unwrap_or_default();
    let pair = |line: &str| {
        let (old, new) = line.split_once(',')?;
        let pair = Oid::parse(old.trim()).zip(Oid::parse(new.trim()));
        pair.filter(|(old, new)| old != new)
    };
    Ok(printed.lines().filter_map(pair).collect())
}

/// Has the branches hold what the commits have become that git-lfs has put there.
fn move_branches(
    world: &World,
    repository: &BareRepo,
    (made, mended): (&HashMap<Oid, Oid>, &HashMap<Oid, Oid>),
) -> Result<()> {
    let became = |(old, new): (&Oid, &Oid)| (*new, mended.get(old).copied().unwrap_or(*old));
    let became: HashMap<Oid, Oid> = made.iter().map(became).collect();
    let branches = repository.refs_below("refs/heads/")?.into_iter();
    let change = |branch: FoundRef| {
        let new = became.get(&branch.id).filter(|new| **new != branch.id)?;
        Some(RefChange {
            name: branch.name,
            old: Some(branch.id),
            new: Some(*new),
        })
    };
    let changes: Vec<RefChange> = branches.filter_map(change).collect();
    repository.move_refs_unshared(world, &changes)
}

fn failed(output: &Output) -> Error {
    // How far it was stands on one line of a terminal in turn.
    let lines = output.stderr.split(['\r', '\n']).map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with("migrate: "));
    let said = lines.next_back().or(output.stderr.lines().last());
    let said = said.unwrap_or("git-lfs gave no reason");
    Error::new(
        Code::GitFailed,
        format!("cannot rewrite history for git-lfs: {said}; nothing has changed"),
    )
    .detail("stderr", &output.stderr)
    .hint("git fsck   # names objects that are missing or damaged")
}

#[expect(
    clippy::disallowed_methods,
    reason = "in a folder of ours that nobody else knows of yet"
)]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, bytes)
}
