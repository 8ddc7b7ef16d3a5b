//! An overview of the files of a checkout: their number, by extension and by what they seem to be for. Counted by a
//! bounded walk, without git; judged by paths below the root alone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Checkout;
use crate::git::worktree::filled_directories::WalkFor;
use crate::git::worktree::plain_walk::{WalkRules, WalkedFiles, files_below};
use crate::model::time::rfc3339;
use crate::model::{RepoPath, Result, World};
use crate::store::files::tree_folder::{CACHE, SESSIONS};
use crate::store::session::refuse_reading_checkout;

use super::kept_answer::Kept;

/// The overview as it is kept.
pub(super) const KEPT: Kept = Kept {
    name: "repo_index.json",
    max_bytes: 1 << 20,
};

/// The maximum number of files that are counted.
const MAX_FILES: usize = 50_000;

/// The maximum number of extensions that are listed.
const MAX_EXTENSIONS: usize = 24;

/// The overview.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IndexReport {
    /// The id of the checkout.
    pub repository_id: String,
    /// Its root.
    pub root: RepoPath,
    /// The number of files.
    pub files_scanned: usize,
    /// Whether there are more.
    pub stopped_at_cap: bool,
    /// The most frequent extensions with their numbers of files, at most 24; `(no ext)` for none.
    pub by_extension_top: Vec<(String, usize)>,
    /// Files below a directory `tests`, and those named as tests.
    pub tests_discovered: usize,
    /// Files below a directory `docs`.
    pub docs_discovered: usize,
    /// Files named `SKILL.md`.
    pub skills_discovered: usize,
    /// Files below a directory `workflows`.
    pub workflows_discovered: usize,
    /// Files below a directory `contracts`.
    pub contracts_discovered: usize,
    /// When they were counted.
    pub indexed_at: String,
    /// Whether they were counted by an earlier command.
    pub cached: bool,
    /// Whether HEAD, git's index or the entries of the root have changed since.
    pub stale: bool,
    /// Where the overview is kept, if a refresh wrote it.
    pub index_path: Option<RepoPath>,
    /// The state of the checkout that it is about.
    pub state: String,
}

/// Returns the kept overview; if there is none, counts and keeps nothing.
///
/// # Errors
/// `io`, `interrupted`.
pub fn status(world: &World, checkout: &Checkout) -> Result<IndexReport> {
    let Some(kept) = KEPT.read::<IndexReport>(world, checkout) else {
        return count(world, checkout);
    };
    let state = state_of(checkout);
    Ok(IndexReport {
        cached: true,
        stale: kept.state != state,
        ..kept
    })
}

/// Counts the files and keeps the overview.
///
/// # Errors
/// `read-only-clone`, `path-in-the-way`, `no-space`, `io`, `interrupted`.
pub fn refresh(world: &World, checkout: &Checkout) -> Result<IndexReport> {
    refuse_reading_checkout(checkout)?;
    // Its folder is an entry of the root, which the state of the checkout is about.
    let place = KEPT.place(world, checkout)?;
    let mut report = count(world, checkout)?;
    report.index_path = Some(place.path());
    place.write(&report)?;
    Ok(report)
}

fn count(world: &World, checkout: &Checkout) -> Result<IndexReport> {
    let state = state_of(checkout);
    let rules = WalkRules {
        skips: &is_skipped,
        most_files: MAX_FILES,
    };
    let WalkedFiles { files, is_cut } = files_below(&world.interrupt, &checkout.root, rules)?;
    let mut extensions: BTreeMap<String, usize> = BTreeMap::new();
    for path in &files {
        *extensions.entry(extension_of(path)).or_default() += 1;
    }
    let mut extensions: Vec<(String, usize)> = extensions.into_iter().collect();
    // Sorted by name already, which decides between equal numbers.
    extensions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    extensions.truncate(MAX_EXTENSIONS);
    let number =
        |is_one: &dyn Fn(&RepoPath) -> bool| files.iter().filter(|path| is_one(path)).count();
    Ok(IndexReport {
        repository_id: checkout.repository_id(),
        root: RepoPath::from(&*checkout.root),
        files_scanned: files.len(),
        stopped_at_cap: is_cut,
        by_extension_top: extensions,
        tests_discovered: number(&is_test),
        docs_discovered: number(&|path| is_below(path, "docs")),
        skills_discovered: number(&|path| path.name() == b"SKILL.md"),
        workflows_discovered: number(&|path| is_below(path, "workflows")),
        contracts_discovered: number(&|path| is_below(path, "contracts")),
        indexed_at: rfc3339(&world.now()),
        cached: false,
        stale: false,
        index_path: None,
        state,
    })
}

fn is_skipped(directory: &RepoPath) -> bool {
    [CACHE, SESSIONS].contains(&&*directory.to_string())
        || WalkFor::Overview.leaves_out(directory.name())
}

fn extension_of(path: &RepoPath) -> String {
    let name = RepoPath::new(path.name());
    let extension = name.as_path().extension();
    extension.map_or_else(
        || "(no ext)".to_owned(),
        |extension| format!(".{}", extension.to_string_lossy()),
    )
}

fn is_test(path: &RepoPath) -> bool {
    let name = String::from_utf8_lossy(path.name()).into_owned();
    is_below(path, "tests") || name.contains("_test.") || name.starts_with("test_")
}

fn is_below(path: &RepoPath, directory: &str) -> bool {
    let mut above = path.ancestors();
    above.any(|above| above.name() == directory.as_bytes())
}

/// Returns a digest of what changes when git adds or removes files, or at the root. Costs a few `stat`s.
fn state_of(checkout: &Checkout) -> String {
    let stat = |path: &Path| {
        let found = path.symlink_metadata();
        found.map_or_else(
            |_| "-".to_owned(),
            |found| {
                let (seconds, nanos) = (found.mtime(), found.mtime_nsec());
                format!("{}:{seconds}.{nanos}:{}", found.ino(), found.size())
            },
        )
    };
    let in_git = ["HEAD", "index", "logs/HEAD"].iter().filter_map(|name| {
        let git_dir = checkout.git_dir.as_ref()?;
        Some(stat(&git_dir.join(name)))
    });
    let all: Vec<String> = std::iter::once(stat(&checkout.root))
        .chain(in_git)
        .collect();
    let digest = blake3::hash(all.join(" ").as_bytes()).to_hex();
    digest.chars().take(16).collect()
}
