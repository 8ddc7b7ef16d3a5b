//! An overview of the files of a checkout: their number, by extension and by what they seem to be for. Counted by a
//! bounded walk, without git; judged by paths below the root alone.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::git::Checkout;
use crate::git::worktree::filled_directories::WalkFor;
use crate::git::worktree::plain_walk::{WalkRules, each_file_below};
use crate::model::time::rfc3339;
use crate::model::{RepoPath, Result, World};
use crate::store::files::tree_folder::{CACHE, SESSIONS};
use crate::store::session::refuse_reading_checkout;

use super::kept_answer::Kept;

/// The overview as it is kept.
pub(super) const KEPT: Kept = Kept { name: "repo_index.json", max_bytes: 1 << 20 };

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
pub fn status(world: &World, checkout: &Checkout) -> Result<IndexReport> {
    let Some(kept) = KEPT.read::<IndexReport>(world, checkout) else {
        return count(world, checkout);
    };
    let state = state_of(checkout);
    Ok(IndexReport { cached: true, stale: kept.state != state, ..kept })
}

/// Counts the files and keeps the overview.
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
    let rules = WalkRules { skips: &is_skipped, most_files: MAX_FILES };
    let mut overview = Overview::default();
    let mut add = |directory: &RepoPath, name: &[u8]| overview.add(directory, name);
    let is_cut = each_file_below(&world.interrupt, &checkout.root, rules, &mut add)?;
    Ok(IndexReport {
        repository_id: checkout.repository_id(),
        root: RepoPath::from(&*checkout.root),
        files_scanned: overview.files,
        stopped_at_cap: is_cut,
        by_extension_top: overview.most_frequent_extensions(),
        tests_discovered: overview.tests,
        docs_discovered: overview.docs,
        skills_discovered: overview.skills,
        workflows_discovered: overview.workflows,
        contracts_discovered: overview.contracts,
        indexed_at: rfc3339(&world.now()),
        cached: false,
        stale: false,
        index_path: None,
        state,
    })
}

fn is_skipped(directory: &RepoPath) -> bool {
    [CACHE, SESSIONS].map(str::as_bytes).contains(&directory.as_bytes())
        || WalkFor::Overview.leaves_out(directory.name())
}

/// The files that were counted.
#[derive(Default)]
struct Overview {
    files: usize,
    extensions: HashMap<Vec<u8>, usize>,
    tests: usize,
    docs: usize,
    skills: usize,
    workflows: usize,
    contracts: usize,
    /// The directory of the last file, and what it says of its files: most files share it with the one before.
    directory: RepoPath,
    purposes: Purposes,
}

/// What the directories above a file say of it.
#[derive(Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a file may be for each of these")]
struct Purposes {
    tests: bool,
    docs: bool,
    workflows: bool,
    contracts: bool,
}

impl Purposes {
    fn of(directory: &RepoPath) -> Purposes {
        let has = |name: &str| {
            let mut names = directory.as_bytes().split(|byte| *byte == b'/');
            names.any(|file_name| file_name == name.as_bytes())
        };
        Purposes {
            tests: has("tests"),
            docs: has("docs"),
            workflows: has("workflows"),
            contracts: has("contracts"),
        }
    }
}

impl Overview {
    fn add(&mut self, directory: &RepoPath, name: &[u8]) {
        if self.directory != *directory {
            self.directory = directory.clone();
            self.purposes = Purposes::of(directory);
        }
        self.files += 1;
        let without_dot = Path::new(OsStr::from_bytes(name)).extension();
        let extension =
            without_dot.and_then(|own| name.get(name.len() - own.len() - 1..)).unwrap_or_default();
        match self.extensions.get_mut(extension) {
            Some(count) => *count += 1,
            None => drop(self.extensions.insert(extension.to_vec(), 1)),
        }
        let is_test = name.starts_with(b"test_") || name.windows(6).any(|part| part == b"_test.");
        self.tests += usize::from(self.purposes.tests || is_test);
        self.docs += usize::from(self.purposes.docs);
        self.skills += usize::from(name == b"SKILL.md");
        self.workflows += usize::from(self.purposes.workflows);
        self.contracts += usize::from(self.purposes.contracts);
    }

    fn most_frequent_extensions(&self) -> Vec<(String, usize)> {
        let mut named: BTreeMap<String, usize> = BTreeMap::new();
        for (extension, count) in &self.extensions {
            let name = match extension.as_slice() {
                b"" => "(no ext)".to_owned(),
                extension => String::from_utf8_lossy(extension).into_owned(),
            };
            *named.entry(name).or_default() += count;
        }
        let mut extensions: Vec<(String, usize)> = named.into_iter().collect();
        // Sorted by name already, which decides between equal numbers.
        extensions.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        extensions.truncate(MAX_EXTENSIONS);
        extensions
    }
}

/// Returns a digest of what changes when git adds or removes files, or at the root. Costs a few `stat`s.
fn state_of(checkout: &Checkout) -> String {
    let stat = |path: &Path| {
        let metadata = path.symlink_metadata();
        metadata.map_or_else(
            |_| "-".to_owned(),
            |metadata| {
                let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
                format!("{}:{seconds}.{nanos}:{}", metadata.ino(), metadata.size())
            },
        )
    };
    let in_git = ["HEAD", "index", "logs/HEAD"].iter().filter_map(|name| {
        let git_dir = checkout.git_dir.as_ref()?;
        Some(stat(&git_dir.join(name)))
    });
    let all: Vec<String> = std::iter::once(stat(&checkout.root)).chain(in_git).collect();
    let digest = blake3::hash(all.join(" ").as_bytes()).to_hex();
    digest.chars().take(16).collect()
}
