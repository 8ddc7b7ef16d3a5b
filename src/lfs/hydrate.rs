//! Replaces pointers by their large files.
//!
//! It is one operation: the pointers are moved aside, and the content is staged by the filter of git-lfs and
//! renamed into place. Unavailable files are named and do not stop the rest.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::Oid;
use crate::git::attributes::AttributesOf;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::{self, Pointer};
use crate::git::plain_file::{self, Symlinks};
use crate::git::remote::network::{Direction, Network};
use crate::model::id::OperationId;
use crate::model::{Code, Error, RepoPath, Result, Untouched};
use crate::store::Session;
use crate::store::files::worktree_files::WorktreeFiles;
use crate::store::large_files::retained_objects;
use crate::store::operation::moves::{self, Emptied, PathTarget};
use crate::store::operation::operation_record::{IndexTarget, Source};
use crate::store::operation::plan::{Intent, NewIndex, Plan, Touches};
use crate::store::operation::{Kind, Operation};

use super::install;
use super::status::{MissingObject, is_pointer_in_worktree};

/// The result of a hydration.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HydrateReport {
    /// The files that have their content now.
    pub hydrated: Vec<RepoPath>,
    /// Their size in bytes.
    pub bytes: u64,
    /// Pointers whose object is not available; they stay.
    pub missing: Vec<MissingObject>,
    /// The reason for each of them, in the words of git-lfs.
    pub reasons: Vec<Option<String>>,
    /// The operation; `None` when nothing had to change, or in a dry run.
    pub op: Option<OperationId>,
    /// `true` if nothing was changed because of a dry run.
    pub dry_run: bool,
}

/// A pointer in the working tree.
struct Wanted {
    path: RepoPath,
    id: Oid,
    pointer: Pointer,
}

/// Replaces the pointers at and below `paths` by their content; downloads missing objects.
pub fn hydrate(session: &Session, paths: &[RepoPath]) -> Result<HydrateReport> {
    if install::version(session).is_none() {
        return Err(Error::new(
            Code::LfsNotInstalled,
            "cannot get large files: git-lfs is not installed",
        ));
    }
    if !install::is_configured(&session.repo) {
        return Err(Error::new(
            Code::FilterFailed,
            "cannot get large files: the filters of git-lfs are not set up here",
        )
        .unchanged()
        .hint("git colony init   # sets them up here"));
    }
    let wanted = pointers_below(session, paths)?;
    let mut reasons = BTreeMap::new();
    let objects = LfsObjects::of(&session.repo);
    if !session.is_dry() {
        for file in wanted.iter().filter(|file| !objects.has(&file.pointer)) {
            if retained_objects::link_one(session, &file.pointer)? {
                continue;
            }
            let fetched = fetch_object(session, file.id, &file.pointer, Fetch::AskedFor)?;
            if let Some(reason) = fetched {
                reasons.insert(file.path.clone(), reason);
            }
        }
    }
    let (here, missing): (Vec<Wanted>, Vec<Wanted>) =
        wanted.into_iter().partition(|file| objects.has(&file.pointer));
    let mut report = HydrateReport {
        hydrated: here.iter().map(|file| file.path.clone()).collect(),
        bytes: here.iter().map(|file| file.pointer.size_bytes).sum(),
        reasons: missing.iter().map(|file| reasons.remove(&file.path)).collect(),
        missing: missing.into_iter().map(missing_object).collect(),
        op: None,
        dry_run: session.is_dry(),
    };
    if !session.is_dry() && !here.is_empty() {
        report.op = Some(bring_in(session, &here)?);
    }
    Ok(report)
}

fn pointers_below(session: &Session, paths: &[RepoPath]) -> Result<Vec<Wanted>> {
    let index = session.repo.load_index()?;
    let mut files = session.repo.filtered_files(&index, "lfs", AttributesOf::Worktree)?;
    for root in paths {
        if !files.iter().any(|file| file.path.is_at_or_below(root)) {
            return Err(Error::new(
                Code::PathNotFound,
                format!("git-lfs tracks nothing at or below '{root}'"),
            )
            .detail("path", root)
            .hint("git colony lfs status"));
        }
    }
    files.retain(|file| paths.iter().any(|root| file.path.is_at_or_below(root)));
    let still = files.into_iter().filter(|file| is_pointer_in_worktree(session, &file.path));
    let read = still.filter_map(|file| {
        let pointer = Pointer::of_blob(&session.repo, file.id)?;
        Some(Wanted { path: file.path, id: file.id, pointer })
    });
    Ok(read.collect())
}

/// The objects to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// Those that the configuration does not exclude.
    AsConfigured,
    /// Any, because the user asked for this one.
    AskedFor,
}

/// Lets git-lfs fetch one object into its store, given the blob of its pointer; returns the reason if that
/// fails, in the words of git-lfs. Nothing else changes.
pub fn fetch_object(
    session: &Session,
    blob: Oid,
    pointer: &Pointer,
    which: Fetch,
) -> Result<Option<String>> {
    let git = session.repo.git(&session.world);
    // git-lfs finds its server by itself; a refused URL does not matter here.
    let url = session.repo.remote_url("origin", Direction::Fetch);
    let mut network = Network::new(&session.world, git, url.ok().flatten().as_ref())?;
    let smudge = network.once().git();
    smudge
        .env("GIT_LFS_SKIP_SMUDGE", "0")
        .args(["lfs", "smudge"])
        .input(session.repo.read_blob(blob)?)
        .discard_output();
    if which == Fetch::AskedFor {
        // A clone without large files excludes them with these settings.
        for key in ["lfs.fetchexclude", "lfs.fetchinclude"] {
            smudge.config(key, "");
        }
    }
    let output = network.run()?;
    if LfsObjects::of(&session.repo).has(pointer) {
        return Ok(None);
    }
    let lines = || output.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.to_ascii_lowercase().contains("error"));
    let said = error.or_else(|| lines().next_back()).unwrap_or("git-lfs gave no reason");
    let failure = network.failed("download it", &output);
    let hint = failure.hint_text().map(|hint| format!("; hint: {hint}"));
    Ok(Some(format!("{said}{}", hint.unwrap_or_default())))
}

fn missing_object(file: Wanted) -> MissingObject {
    MissingObject { path: file.path, oid: file.pointer.oid, size: file.pointer.size_bytes }
}

fn bring_in(session: &Session, files: &[Wanted]) -> Result<OperationId> {
    let intent = Intent { kind: Kind::Hydrate, touches: Touches::Worktree };
    let operation = Operation::begin(session, intent)?;
    let repo = &session.repo;
    let scan = repo.scan(&session.world)?;
    let index_tree = repo.write_index_tree(&scan)?;
    let paths: BTreeSet<RepoPath> = files.iter().map(|file| file.path.clone()).collect();
    retained_objects::stage(session, index_tree, &paths, &operation.stage())?;
    fill_staged_pointers(session, &operation, files)?;
    let wants: BTreeMap<RepoPath, PathTarget> = files
        .iter()
        .map(|file| (file.path.clone(), PathTarget::File(Source::Staged { id: file.id })))
        .collect();
    let worktree = WorktreeFiles::open(repo.workdir())
        .map_err(|e| Error::io("cannot open the worktree", e))?;
    let none = BTreeSet::new();
    let index = scan.index();
    let state = repo.write_index_state(&index, index_tree)?;
    let done = operation.commit(Plan {
        summary: format!("hydrate {}", crate::model::text::count(files.len(), "file")),
        head: scan.head.clone(),
        refs: Vec::new(),
        index_before: (index.clone(), index_tree),
        index: Some(NewIndex { target: IndexTarget::State { state }, index }),
        files: moves::plan(&worktree, &wants, &Emptied::Only(&none), None)?,
        snapshot: None,
        inverts: None,
    })?;
    for late in &done.late {
        (session.world.narrate)(&late.sentence());
    }
    Ok(done.record.op)
}

/// Fetches the content where the filter has returned a pointer, as it does for files that the configuration
/// excludes, and where it is disabled.
fn fill_staged_pointers(
    session: &Session,
    operation: &Operation<'_>,
    files: &[Wanted],
) -> Result<()> {
    let objects = LfsObjects::of(&session.repo);
    for file in files {
        let path = file.path.under(&operation.stage());
        let is_pointer = |bytes: Vec<u8>| Pointer::parse(&bytes).as_ref() == Some(&file.pointer);
        let read = plain_file::find(&path, Symlinks::Refused, lfs_pointer::MAX_BYTES);
        if !read.ok().flatten().is_some_and(is_pointer) {
            continue;
        }
        let damaged = || {
            Error::new(
                Code::FilterFailed,
                format!("the object of '{}' in the git-lfs store is damaged", file.path),
            )
            .untouched(Untouched::Only("no file of the working tree has changed"))
            .hint("git lfs fsck   # moves damaged objects aside; then run it again")
        };
        let into = std::fs::File::options()
            .write(true)
            .truncate(true)
            .open(&path)
            .map_err(|e| Error::io("cannot write a large file", e))?;
        if !objects.copy(&file.pointer, into)? {
            return Err(damaged());
        }
    }
    Ok(())
}
