//! What a repository looks like to its user, free of times and random ids, so that two runs of one
//! command can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::repository::Repository;

/// Facts by name: HEAD, refs, index, each path of the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State(BTreeMap<String, String>);

/// The fact that lists the operations.
pub(crate) const OPERATIONS: &str = "operations";
/// The fact that lists the automatic checkpoints.
pub(crate) const AUTOMATIC: &str = "automatic checkpoints";

impl State {
    /// Looks at everything a user can see.
    pub(crate) fn of(repository: &Repository) -> State {
        let git = |args: &[&str]| repository.git(args);
        let mut facts = BTreeMap::from([
            ("HEAD".to_owned(), read(&repository.root.join(".git/HEAD"))),
            ("index".to_owned(), git(&["ls-files", "--stage", "-v"])),
            // Differs where the index claims to know a file and is wrong.
            ("status".to_owned(), git(STATUS)),
        ]);
        let refs = git(REFS);
        add_refs(&refs, &mut facts);
        // A process is a tenth of what a moment takes: none is started for what is known to be missing.
        if refs.lines().any(|line| line.split('\t').next() == Some(SHARED_SCOPES)) {
            let files = git(&["ls-tree", "-r", "--name-only", SHARED_SCOPES]);
            facts.insert("scopes".to_owned(), files);
        }
        if repository.root.join(".git/modules/sub").exists() {
            add_submodule(repository, &refs, &mut facts);
        }
        add_progress(repository, &mut facts);
        add_files(&repository.root, &repository.root, &mut facts);
        State(facts)
    }

    /// Looks at what git reads besides: configuration, hooks, attributes and patterns of its own.
    pub(crate) fn of_settings(repository: &Repository) -> State {
        State::of_git_folder(repository, &["colony", "colony-kept"])
    }

    /// The same, with every file of git-colony; there is none before its first command.
    pub(crate) fn of_settings_and_ours(repository: &Repository) -> State {
        State::of_git_folder(repository, &[])
    }

    fn of_git_folder(repository: &Repository, passed_over: &[&str]) -> State {
        let git = repository.root.join(".git");
        let mut facts = BTreeMap::new();
        for path in entries(&git) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if CONTENT_OF_GIT.contains(&&*name) || passed_over.contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                add_files(&git, &path, &mut facts);
            } else {
                let mode = fs::metadata(&path).expect("nobody removes it").permissions();
                facts.insert(name.into_owned(), format!("{:o} {}", mode.mode(), read(&path)));
            }
        }
        // Git does not tell an empty folder from none.
        facts.retain(|_, what| !what.starts_with("folder "));
        State(facts)
    }

    /// Sorts the lines of the configuration: git-lfs writes its own in any order.
    pub(crate) fn with_sorted_configuration(mut self) -> State {
        if let Some(text) = self.0.get_mut("config") {
            let mut lines: Vec<_> = text.lines().collect();
            lines.sort_unstable();
            *text = lines.join("\n");
        }
        self
    }

    /// Tells fact by fact which lines another state lacks, and which it has instead; some facts may
    /// differ.
    pub(crate) fn differences(&self, found: &State, free: &[&str]) -> Vec<String> {
        let names: BTreeSet<_> = self.0.keys().chain(found.0.keys()).collect();
        let mut told = Vec::new();
        for name in names {
            if free.contains(&name.as_str()) || self.0.get(name) == found.0.get(name) {
                continue;
            }
            let (wanted, found) = (self.lines(name), found.lines(name));
            let missing = wanted.difference(&found).map(|line| format!("- {line}"));
            let added = found.difference(&wanted).map(|line| format!("+ {line}"));
            // Without any, the same lines are there in another number.
            let lines: Vec<_> = missing.chain(added).collect();
            told.push(format!("{name}: {}", lines.join("; ")));
        }
        told
    }

    fn lines(&self, name: &str) -> BTreeSet<&str> {
        self.0.get(name).into_iter().flat_map(|text| text.lines()).collect()
    }
}

/// Records that hold the time.
const TIMED: &[&str] = &["refs/colony/forks/", "refs/colony/blackboard/", "refs/colony/knowledge"];

/// The records of scopes hold the time, and their subjects are longer than a word.
const SCOPES: &[&str] = &[SHARED_SCOPES, "refs/colony-local/scopes/"];

const SHARED_SCOPES: &str = "refs/colony/scopes";

/// What tells of a migration holds the time.
const MIGRATION: &[&str] = &["refs/colony/migrations", "refs/colony-local/migration"];

/// Takes no lock, and so changes no index.
const STATUS: &[&str] = &["--no-optional-locks", "status", "--short", "-uall", "--ignored"];

/// What of the git folder is told by other facts, or is written along.
const CONTENT_OF_GIT: &[&str] = &[
    "COMMIT_EDITMSG",
    "HEAD",
    "ORIG_HEAD",
    "index",
    "lfs",
    "logs",
    "objects",
    "packed-refs",
    "refs",
];

/// A commit is told by its tree, its number of parents and its subject.
const REFS: &[&str] = &[
    "for-each-ref",
    "--format=%(refname)%09%(objecttype) %(tree)%(*tree) %(numparent)%(*numparent) %(subject)",
];

fn add_refs(listed: &str, facts: &mut BTreeMap<String, String>) {
    let mut lines = BTreeMap::<&str, Vec<&str>>::new();
    for line in listed.lines() {
        let (name, what) = line.split_once('\t').expect("the format has a tab");
        let (fact, line) = if name.starts_with("refs/colony-local/ops/") {
            // Its tree holds the time, and its subject begins with its number.
            let subject = what.split_once(": ").expect("the format has a subject").1;
            (OPERATIONS, subject)
        } else if name.starts_with("refs/colony-local/auto/") {
            let tree = what.split(' ').nth(1).expect("the format has a tree");
            (AUTOMATIC, tree)
        } else if TIMED.iter().any(|place| name.starts_with(place)) || MIGRATION.contains(&name) {
            // Its tree holds the time.
            (name, what.rsplit(' ').next().unwrap_or_default())
        } else if SCOPES.iter().any(|place| name.starts_with(place)) {
            (name, what.splitn(3, ' ').last().unwrap_or_default())
        } else if name.starts_with("refs/colony/checkpoints/") {
            // Its name holds the time and chance.
            ("refs", what)
        } else {
            ("refs", line)
        };
        lines.entry(fact).or_default().push(line);
    }
    for (fact, mut lines) in lines {
        lines.sort_unstable();
        if fact == AUTOMATIC {
            // Two of one state are as good as one.
            lines.dedup();
        }
        facts.insert(fact.to_owned(), lines.join("\n"));
    }
}

/// Tells HEAD, branch and index of a submodule, and which of its states are named and missing.
fn add_submodule(repository: &Repository, refs: &str, facts: &mut BTreeMap<String, String>) {
    let inside = |args: &[&str]| repository.git(&[&["-C", "sub"], args].concat());
    let said = [
        inside(&["symbolic-ref", "HEAD"]),
        inside(&["log", "-1", "--format=%H %s"]),
        inside(&["ls-files", "--stage", "-v"]),
        inside(&["fsck", "--strict", "--no-dangling"]),
    ];
    facts.insert("submodule".to_owned(), said.concat());
    let operations = refs.lines().filter_map(|line| line.split('\t').next());
    let operations = operations.filter(|name| name.starts_with("refs/colony-local/ops/"));
    let records = operations.map(|name| repository.git(&["show", &format!("{name}:op.json")]));
    let tags = repository.git(&["for-each-ref", "--format=%(contents)", "refs/colony/"]);
    let named: String = records.chain([tags]).collect();
    let states = named.split("\"snapshot\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let held = inside(&["for-each-ref", "--format=%(objectname)"]);
    let is_here = |id: &str| repository.try_git(&["cat-file", "-e", id]).is_ok();
    let missing: Vec<_> = states.filter(|id| !held.contains(id) && !is_here(id)).collect();
    facts.insert("missing states of the submodule".to_owned(), missing.join("\n"));
}

/// Tells what git, and we, say to be in the middle of.
fn add_progress(repository: &Repository, facts: &mut BTreeMap<String, String>) {
    let git = repository.root.join(".git");
    for name in [
        "MERGE_HEAD",
        "MERGE_MODE",
        "MERGE_MSG",
        "CHERRY_PICK_HEAD",
        "sequencer/todo",
        "sequencer/head",
        "sequencer/opts",
        "sequencer/abort-safety",
        "colony/resolve",
    ] {
        if let Ok(text) = fs::read_to_string(git.join(name)) {
            facts.insert(name.to_owned(), without_ids(repository, &text));
        }
    }
}

/// Puts tree and subject in place of every commit: its id depends on the time.
fn without_ids(repository: &Repository, text: &str) -> String {
    let is_hex = |c: char| c.is_ascii_hexdigit();
    let words = text.split_inclusive(|c: char| !is_hex(c)).map(|word| {
        let id = word.trim_end_matches(|c: char| !is_hex(c));
        if id.len() != 40 {
            return word.to_owned();
        }
        let said = repository.git(&["log", "-1", "--format=%T %s", id]);
        word.replace(id, said.trim_end())
    });
    words.collect()
}

/// Leaves the label of our side out of a conflict: it may be a commit that was just made.
fn without_label(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let lines = lines.map(|line| match line.strip_prefix("<<<<<<< ") {
        Some(_) => "<<<<<<<\n",
        None => line,
    });
    lines.collect()
}

fn add_files(root: &Path, folder: &Path, facts: &mut BTreeMap<String, String>) {
    for path in entries(folder) {
        if path == root.join(".git") {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).expect("nobody removes it");
        let mode = metadata.permissions().mode();
        let what = if metadata.is_symlink() {
            let target = fs::read_link(&path).expect("it is a link");
            format!("link to {}", target.display())
        } else if metadata.is_dir() {
            add_files(root, &path, facts);
            format!("folder {mode:o}")
        } else {
            format!("{mode:o} {}", without_label(&read(&path)))
        };
        let name = path.strip_prefix(root).expect("it is below the root");
        facts.insert(format!("file {}", name.display()), what);
    }
}

/// Contents that may not get lost, by their blob ids.
pub(crate) struct Treasures(BTreeMap<String, String>);

impl Treasures {
    /// Takes in the content of every file of the worktree.
    pub(crate) fn of_worktree(repository: &Repository) -> Treasures {
        Treasures::of_files(repository, &worktree_files(repository))
    }

    /// Takes in the content of every file of the worktree, and of every kept file.
    pub(crate) fn of_worktree_and_kept_files(repository: &Repository) -> Treasures {
        let mut files = kept_files(repository);
        // The index file as it was is no content of a user.
        files.retain(|path| !path.ends_with("index"));
        files.extend(worktree_files(repository));
        Treasures::of_files(repository, &files)
    }

    fn of_files(repository: &Repository, files: &[PathBuf]) -> Treasures {
        let hash = |path: &Path| {
            let path = path.to_str().expect("our names are UTF-8");
            let id = repository.git(&["hash-object", "--no-filters", "--", path]);
            id.trim_end().to_owned()
        };
        // What an agent's set-up consists of is ours, and in no checkpoint.
        let ours = [".claude/settings.local.json", ".mcp.json"];
        let files = files.iter().filter(|path| !ours.iter().any(|name| path.ends_with(name)));
        Treasures(files.map(|path| (hash(path), read(path))).collect())
    }

    /// Names the contents that are neither in a file, nor kept, nor reachable from a ref.
    pub(crate) fn missing(&self, repository: &Repository) -> Vec<&str> {
        let objects = repository.git(&["rev-list", "--objects", "--all"]);
        let ids = objects.lines().filter_map(|line| line.split(' ').next());
        let reachable: BTreeSet<_> = ids.collect();
        let mut files = worktree_files(repository);
        files.extend(kept_files(repository));
        let on_disk: BTreeSet<_> = files.iter().map(|path| read(path)).collect();
        let lost = self.0.iter().filter(|(id, content)| {
            !reachable.contains(id.as_str()) && !on_disk.contains(content.as_str())
        });
        lost.map(|(_, content)| content.as_str()).collect()
    }
}

/// Names the hook that git-lfs lacks to upload what its filters put aside.
pub(crate) fn hook_that_filters_lack(repository: &Repository) -> Option<&'static str> {
    let set = |key| repository.try_git(&["config", key]).is_ok();
    let path = repository.git(&["rev-parse", "--git-path", "hooks/pre-push"]);
    let hook = fs::read_to_string(repository.root.join(path.trim_end())).unwrap_or_default();
    let uploads = hook.contains("git lfs pre-push")
        || (hook.contains("git-colony hook pre-push") && set("colony.lfsHooks"));
    (set("filter.lfs.clean") && !uploads).then_some("pre-push")
}

/// Names locks, and files of ours, that no command at rest leaves behind.
pub(crate) fn leftovers(repository: &Repository) -> Vec<String> {
    let git = repository.root.join(".git");
    let is_left = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let passing = [".stage", ".index", ".locks", ".done"];
        let ours = path.parent() == Some(&git.join("colony"));
        name.ends_with(".lock")
            || name == "packed-refs.new"
            || (path.parent() == Some(&git) && name.starts_with("tmp-"))
            || (ours && (name == "pending" || name == "migration" || name.starts_with("tmp-")))
            || (ours && passing.iter().any(|ending| name.ends_with(ending)))
    };
    let mut paths = files_below(&git);
    // What is staged is a folder, and may be an empty one.
    paths.extend(entries(&git.join("colony")));
    let left: BTreeSet<_> = paths.iter().filter(is_left).collect();
    left.into_iter()
        .map(|path| path.strip_prefix(&git).unwrap_or(path))
        .map(|path| path.display().to_string())
        .collect()
}

/// Removes the locks on refs that a killed git left, as git's own message advises.
pub(crate) fn remove_locks_on_refs(repository: &Repository) {
    let git = repository.root.join(".git");
    for path in files_below(&git) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".lock") && name != "index.lock" {
            std::fs::remove_file(path).expect("the lock can be removed");
        }
    }
}

fn worktree_files(repository: &Repository) -> Vec<PathBuf> {
    let mut files = files_below(&repository.root);
    files.retain(|path| !path.starts_with(repository.root.join(".git")));
    files
}

fn kept_files(repository: &Repository) -> Vec<PathBuf> {
    files_below(&repository.root.join(".git/colony-kept"))
}

/// Lists regular files at any depth.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in entries(folder) {
        let metadata = fs::symlink_metadata(&path).expect("nobody removes it");
        if metadata.is_dir() {
            files.extend(files_below(&path));
        } else if metadata.is_file() {
            files.push(path);
        }
    }
    files
}

/// Lists what is in a folder, in order; a folder that is missing is empty.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> =
        listed.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).expect("the file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
