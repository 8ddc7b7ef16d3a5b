//! The files of the tree that git-lfs tracks: by pattern, with the objects missing here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::git::attributes::AttributesOf;
use crate::git::index::Index;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::{self, LfsOid, Pointer};
use crate::model::{RepoPath, Result};
use crate::store::Session;

use super::install;

/// The state of git-lfs in this repository.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct LfsStatus {
    /// The version of git-lfs; `None` when it is not installed.
    pub version: Option<String>,
    /// Whether the filters are configured here.
    pub installed: bool,
    /// The patterns in effect that match a tracked file, by bytes, largest first.
    pub patterns: Vec<PatternUse>,
    /// The number of tracked pointers.
    pub pointers: usize,
    /// The size of their files in bytes.
    pub bytes: u64,
    /// Pointers whose object is not here.
    pub missing: Vec<MissingObject>,
    /// Files of the working tree that are still pointers, although their object is here or may be available.
    pub not_hydrated: Vec<RepoPath>,
    /// The command that gets such a file, to be followed by its path: a clone for reading does not allow `lfs
    /// hydrate`.
    pub hydrate_by: &'static str,
    /// Tracked files that match a pattern but were committed before it: they stay as they are until the user
    /// edits or renormalizes them.
    pub would_dirty: Vec<RepoPath>,
    /// The price of storage on the host of `origin`, where known.
    pub quota: Option<&'static str>,
}

/// The files of one pattern.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PatternUse {
    /// The pattern, as written.
    pub pattern: String,
    /// The number of files it matches.
    pub files: usize,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A pointer whose object is not here.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MissingObject {
    /// The path of the pointer.
    pub path: RepoPath,
    /// The object.
    pub oid: LfsOid,
    /// Its size.
    pub size: u64,
}

const GITHUB_QUOTA: &str = "github.com: 1 GB of storage and 1 GB of bandwidth a month are free, \
    further data packs are paid by the owner";

/// Reads the index; changes nothing and reads no large file.
pub fn status(session: &Session) -> Result<LfsStatus> {
    let index = session.repo.load_index()?;
    let objects = LfsObjects::of(&session.repo);
    let mut report = LfsStatus {
        version: install::version(session),
        installed: install::is_configured(&session.repo),
        hydrate_by: match session.refuse_reader() {
            Ok(()) => "git colony lfs hydrate",
            Err(_) => "git -c lfs.fetchexclude= -c lfs.fetchinclude= lfs pull --include",
        },
        quota: quota(session),
        ..LfsStatus::default()
    };
    let mut patterns = BTreeMap::<String, (usize, u64)>::new();
    for file in session.repo.filtered_files(&index, "lfs", AttributesOf::Worktree)? {
        let pattern = patterns.entry(file.pattern).or_default();
        pattern.0 += 1;
        let Some(pointer) = Pointer::of_blob(&session.repo, file.id) else {
            pattern.1 += session.repo.object_size(file.id).unwrap_or(0);
            // git-lfs leaves empty files as they are.
            if session.repo.object_size(file.id) != Some(0) {
                report.would_dirty.push(file.path);
            }
            continue;
        };
        pattern.1 += pointer.size_bytes;
        report.pointers += 1;
        report.bytes += pointer.size_bytes;
        if is_pointer_in_worktree(session, &file.path) {
            report.not_hydrated.push(file.path.clone());
        }
        if !objects.has(&pointer) {
            report.missing.push(MissingObject {
                path: file.path,
                oid: pointer.oid,
                size: pointer.size_bytes,
            });
        }
    }
    report.patterns = by_bytes(patterns);
    Ok(report)
}

/// Lists the tracked files that match a pattern of git-lfs in `index` and are not pointers.
pub fn would_dirty(session: &Session, index: &Index, of: AttributesOf) -> Result<Vec<RepoPath>> {
    let files = session.repo.filtered_files(index, "lfs", of)?;
    let stays = |id| {
        Pointer::of_blob(&session.repo, id).is_some() || session.repo.object_size(id) == Some(0)
    };
    let converted = files.into_iter().filter(|file| !stays(file.id));
    Ok(converted.map(|file| file.path).collect())
}

/// Returns `true` if the file of the working tree is a pointer; a large file is not read.
pub(super) fn is_pointer_in_worktree(session: &Session, path: &RepoPath) -> bool {
    let read = session.repo.read_file(path, lfs_pointer::MAX_BYTES);
    let bytes = read.ok().flatten();
    bytes.is_some_and(|bytes| Pointer::parse(&bytes).is_some())
}

fn by_bytes(patterns: BTreeMap<String, (usize, u64)>) -> Vec<PatternUse> {
    let mut uses: Vec<PatternUse> = patterns
        .into_iter()
        .map(|(pattern, (files, bytes))| PatternUse { pattern, files, bytes })
        .collect();
    uses.sort_by(|pattern_use, other| {
        other.bytes.cmp(&pattern_use.bytes).then(pattern_use.pattern.cmp(&other.pattern))
    });
    uses
}

fn quota(session: &Session) -> Option<&'static str> {
    let url = session.repo.config("remote.origin.url")?;
    let host = url.split("://").last()?.split('/').next()?.rsplit('@').next()?.split(':').next()?;
    host.eq_ignore_ascii_case("github.com").then_some(GITHUB_QUOTA)
}
