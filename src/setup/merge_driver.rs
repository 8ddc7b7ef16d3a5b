//! The merge driver that git runs: reads three files, and replaces ours with the merged one.
//!
//! The file is replaced as a whole or not at all: after a failure ours is unchanged. A file that is
//! not understood is merged as text by git. Writes nothing else, except the note that a page graph
//! is stale, in our own folder.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::design::drivers::{self, Driver, DriverOutcome, Marks};
use crate::git::ObjectWrites;
use crate::git::plain_file;
use crate::git::process::{Git, PREVIEW_VARIABLE};
use crate::model::{Error, RepoPath, Result, World};
use crate::store::Session;
use crate::store::files::atomic;
use crate::store::files::places::stale_page_graphs;
use crate::store::settings::Flags;

/// The request of git.
#[derive(Clone, Debug)]
pub struct Request {
    /// The driver.
    pub driver: Driver,
    /// The file with our version (`%A`), which is replaced.
    pub ours: PathBuf,
    /// The file with the base version (`%O`); empty if there was none.
    pub base: PathBuf,
    /// The file with their version (`%B`).
    pub theirs: PathBuf,
    /// The path of the file in the tree (`%P`).
    pub path: RepoPath,
    /// The labels of conflict markers (`%X`, `%Y`), and their length (`%L`).
    pub marks: Marks,
    /// The same for the base (`%S`).
    pub base_label: String,
}

/// The new content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The merge.
    Clean,
    /// Conflicts for a person to settle.
    Conflicted,
}

/// Merges one file in place.
pub fn run(world: &World, flags: &Flags, request: &Request) -> Result<Settled> {
    let read = |path: &Path| {
        plain_file::read(path)
            .map_err(|e| Error::io(format!("cannot read '{}'", path.display()), e))
    };
    let ours = read(&request.ours)?;
    let base = read(&request.base)?;
    let theirs = read(&request.theirs)?;
    if request.driver == Driver::PageGraph {
        let kept = drivers::valid_page_graph(&ours, &theirs);
        replace(&request.ours, &ours, kept)?;
        if let Err(error) = mark_stale(world, flags, &request.path) {
            (world.narrate)(&format!("'{}' is stale: {}", request.path, error.message()));
        }
        return Ok(Settled::Clean);
    }
    let merge = || {
        let Request { driver, path, .. } = request;
        driver.merge(path, Some(&base), &ours, &theirs)
    };
    // A bug in our driver must not leave a file unmerged.
    let outcome = catch_unwind(AssertUnwindSafe(merge)).unwrap_or(DriverOutcome::NotUnderstood);
    match outcome {
        DriverOutcome::Clean(bytes) => {
            replace(&request.ours, &ours, &bytes).map(|()| Settled::Clean)
        }
        DriverOutcome::Conflicted(conflicted) => {
            for conflict in &conflicted.conflicts {
                let (at, why) = (&conflict.at, conflict.clash.sentence());
                let at = if at.is_empty() { "the whole file" } else { at };
                (world.narrate)(&format!("'{}': {at}: {why}", request.path));
            }
            replace(&request.ours, &ours, &conflicted.marked(&request.marks))?;
            Ok(Settled::Conflicted)
        }
        DriverOutcome::NotUnderstood => merge_as_text(world, request, &ours),
    }
}

fn replace(path: &Path, before: &[u8], bytes: &[u8]) -> Result<()> {
    if before == bytes {
        return Ok(());
    }
    atomic::write_quickly(path, bytes)
}

/// Has git merge the three files by lines, in its configured style.
fn merge_as_text(world: &World, request: &Request, ours: &[u8]) -> Result<Settled> {
    let marks = &request.marks;
    let mut git = Git::new(world);
    git.args(["merge-file", "-p"])
        .arg(format!("--marker-size={}", marks.length))
        .args(["-L", &marks.ours, "-L", &request.base_label])
        .args(["-L", &marks.theirs, "--"])
        .args([&request.ours, &request.base, &request.theirs]);
    let output = git.run()?;
    match output.code {
        Some(0) => replace(&request.ours, ours, &output.stdout).map(|()| Settled::Clean),
        // The exit code is the number of conflicts.
        Some(1..=127) => {
            replace(&request.ours, ours, &output.stdout)?;
            Ok(Settled::Conflicted)
        }
        // Binary files: as with git, ours stays and is in conflict.
        _ => {
            (world.narrate)(&format!("'{}': {}", request.path, output.stderr));
            Ok(Settled::Conflicted)
        }
    }
}

/// Records that a page graph must be made again; not in a trial merge.
fn mark_stale(world: &World, flags: &Flags, path: &RepoPath) -> Result<()> {
    if world.variable(PREVIEW_VARIABLE).is_some() {
        return Ok(());
    }
    let session = Session::open(world.clone(), flags, ObjectWrites::InMemory)?;
    let folder = stale_page_graphs(&session.repo);
    atomic::make_directory(&folder)?;
    let digest = blake3::hash(path.as_bytes()).to_hex();
    let name = digest.as_str().get(..16).expect("a digest has 64 digits");
    atomic::write_durably(&folder.join(name), path.as_bytes())
}

/// Lists the page graphs of the repository that a merge made stale, sorted.
pub fn stale(session: &Session) -> Vec<RepoPath> {
    let entries = std::fs::read_dir(stale_page_graphs(&session.repo));
    let files = entries.into_iter().flatten().flatten();
    let mut paths: Vec<RepoPath> =
        files.filter_map(|file| plain_file::read(file.path()).ok()).map(RepoPath::new).collect();
    paths.sort();
    paths
}
