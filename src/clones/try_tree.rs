//! The working tree in which merged work is tested: one for each hub, used by one process at a time. Ignored files stay
//! between tests, so that builds are incremental. All of it may be deleted at any time.
//!
//! What runs in it is code of agents, so nothing in it is trusted. The files are written and looked at by a git directory
//! of ours beside it, with an index of ours; the `.git` that tests see is rewritten for each step, without a remote and
//! without hooks. The processes of a test have [`MARK`] in their environment: what outlives its process group is found by
//! that.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::compare::tree_diff::TreeChange;
use crate::git::inherited::Inherited;
use crate::git::lfs::lfs_objects::LfsObjects;
use crate::git::lfs::lfs_pointer::{MAX_BYTES, Pointer};
use crate::git::new_repository::NewRepository;
use crate::git::process::shell_command::{self, Ending};
use crate::git::process::{self, Git};
use crate::git::{ObjectWrites, Oid, RefName, Repo, TreeEntry, plain_file};
use crate::model::{Code, Error, RepoPath, Result, World};
use crate::store::files::atomic;
use crate::store::files::shared_root::SharedRoot;
use crate::store::lease::processes;
use crate::store::lock::WorktreeLock;
use crate::store::lock::wait::WaitLimit;

use super::file_times::{FileTimes, Watched};
use super::hub::publish::large_objects_of;
use super::new_clone::clone_large_files::{self, Store};

/// The variable that all processes of a test have.
pub const MARK: &str = "COLONY_TRY";

/// A tree with the checkout that it serves.
pub struct TryTree<'a> {
    place: TryPlace,
    checkout: &'a Repo,
    hub: PathBuf,
    /// The repository of ours, which tests do not see.
    repo: Option<Repo>,
    /// The commit that the tree is known to be at, with nothing else in it.
    at: Option<Oid>,
    times: FileTimes,
    _lock: WorktreeLock,
}

/// The folder of everything about the tests of a hub.
#[derive(Clone, Debug)]
pub struct TryPlace(PathBuf);

/// What a new tree gets from its checkout.
pub struct Furnishing<'a> {
    /// Settings, ignore rules and attributes.
    pub inherited: &'a Inherited,
    /// Where large files are.
    pub store: fn(&World, &Repo, Oid) -> Store,
}

/// What a test has changed in the tree, beside ignored files.
#[derive(Clone, Debug, Default)]
pub struct TreeChanges {
    /// The number of paths.
    pub count: usize,
    /// The first of them.
    pub first: Vec<String>,
}

/// No wait.
const AT_ONCE: WaitLimit = WaitLimit::AtMost(Duration::ZERO);

/// The files that the git directory of tests has of ours.
const COPIED: [&str; 5] = [
    "config",
    "colony/checkout.config",
    "info/exclude",
    "info/attributes",
    "objects/info/alternates",
];

/// How often processes that are left are looked for.
const MAX_LOOKS: usize = 50;

/// The paths that are named.
const MAX_NAMED: usize = 10;

impl TryPlace {
    /// Returns the folder for a hub, which need not exist.
    pub fn of(root: &SharedRoot, hub: &Path) -> TryPlace {
        TryPlace(root.tries().join(hub.file_stem().unwrap_or_default()))
    }

    /// Returns the working tree.
    pub fn tree(&self) -> PathBuf {
        self.0.join("tree")
    }

    /// Returns the folder with the git directory of ours.
    fn own(&self) -> PathBuf {
        self.0.join("own")
    }

    /// Returns the folder of the results.
    pub fn results(&self) -> PathBuf {
        self.0.join("results")
    }

    /// Returns the folder of the verdicts.
    pub fn verdicts(&self) -> PathBuf {
        self.0.join("verdicts")
    }

    /// Returns the folder of the outputs of failed tests.
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// Returns the lock that a test holds.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// Returns the value of [`MARK`].
    fn mark(&self) -> String {
        self.0.display().to_string()
    }

    /// Ends every process of a test here that is left.
    fn end_processes(&self) {
        // One that is being started may have escaped the check before.
        for _ in 0..MAX_LOOKS {
            let left = processes::with_variable(MARK, &self.mark());
            if left.is_empty() {
                return;
            }
            process::kill(&left);
        }
    }
}

/// Deletes what belongs to tests of merged work that nobody has run for some days, or all of it with `--force`; returns the
/// folders. One in use stays.
pub fn sweep(
    world: &World,
    root: &SharedRoot,
    keep_days: u64,
    force: bool,
    dry_run: bool,
) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(root.tries()).into_iter().flatten().flatten();
    let now = u64::try_from(world.now().timestamp()).unwrap_or_default();
    let mut deleted = Vec::new();
    for place in entries.map(|entry| TryPlace(entry.path())) {
        let head = std::fs::metadata(place.tree().join(".git/HEAD"));
        let file = head.or_else(|_| std::fs::metadata(&place.0));
        let at = file.and_then(|file| file.modified()).ok();
        let used = at.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let age = now.saturating_sub(used.map_or(now, |used| used.as_secs()));
        if !(force || age > keep_days * 86_400) {
            continue;
        }
        let Ok(lock) = WorktreeLock::take_at(world, &place.lock(), AT_ONCE, "") else {
            continue;
        };
        if !dry_run {
            place.end_processes();
            atomic::remove_folder(&place.0)?;
        }
        drop(lock);
        deleted.push(place.0);
    }
    Ok(deleted)
}

impl<'a> TryTree<'a> {
    /// Takes the tree for this process. Waits for another one, and ends what a killed one has left running.
    pub fn take(
        world: &World,
        place: TryPlace,
        checkout: &'a Repo,
        hub: &Path,
        limit: WaitLimit,
    ) -> Result<TryTree<'a>> {
        let waiting = "waiting for another git-colony that tests merged work";
        let lock = WorktreeLock::take_at(world, &place.lock(), limit, waiting)?;
        place.end_processes();
        let (hub, times) = (hub.to_owned(), FileTimes::default());
        Ok(TryTree { place, checkout, hub, repo: None, at: None, times, _lock: lock })
    }

    /// Returns the working tree.
    pub fn path(&self) -> PathBuf {
        self.place.tree()
    }

    /// Deletes the tree, so that the next step makes it again.
    pub fn delete(&mut self) -> Result<()> {
        (self.repo, self.at) = (None, None);
        remove_anything(&self.place.tree())?;
        remove_anything(&self.place.own())
    }

    /// Checks out a commit; returns `true` if the tree was made again for it.
    ///
    /// Edits and untracked files of an earlier test go, ignored files stay. Refuses a commit of which something is
    /// missing here: a test would fail for that.
    pub fn step(&mut self, world: &World, commit: Oid, with: &Furnishing<'_>) -> Result<bool> {
        if self.at == Some(commit) {
            return Ok(false);
        }
        self.refuse_submodules(commit)?;
        if is_folder(&self.place.tree()) && is_folder(&self.place.own().join(".git")) {
            match self.step_on(world, commit) {
                Err(error) if !is_final(error.code()) => {}
                done => return done.map(|()| false),
            }
        }
        self.delete()?;
        self.make(world, commit, with)?;
        self.step_on(world, commit)?;
        Ok(true)
    }

    /// Moves the existing tree to another commit.
    fn step_on(&mut self, world: &World, commit: Oid) -> Result<()> {
        self.at = None;
        let opened = self.repo.take();
        let repo = opened.map_or_else(|| self.open_again(world), Ok)?;
        let before = repo.head()?.commit();
        let tree = repo.tree_of(Some(commit))?;
        let changes = match before {
            Some(before) => repo.diff_trees(repo.tree_of(Some(before))?, tree)?,
            None => repo.list_tree(tree)?,
        };
        self.bring_large_files(&repo, &changes)?;
        let (tree, probe) = (self.place.tree(), self.place.own().join(".git/colony-time"));
        let watched = Watched { tree: &tree, probe: &probe };
        self.times.wait(world, &repo, watched, &changes)?;
        let mut checkout = self.git(&repo, world);
        checkout.args(["checkout", "-q", "--force", "--detach", &commit.to_string()]);
        checkout.run_checked("check out merged work")?;
        // By the rules of the new commit other files are ignored.
        self.git(&repo, world).args(["clean", "-ffdq"]).run_checked("tidy the working tree")?;
        if before.is_some() {
            self.times.record(watched, &changes);
        }
        self.write_git_of_tests(&repo, commit)?;
        self.repo = Some(repo);
        self.at = Some(commit);
        Ok(())
    }

    /// Opens the git directory that another run has left, and deletes what a killed one may have left in the tree.
    fn open_again(&self, world: &World) -> Result<Repo> {
        let own = self.place.own();
        for lock in ["index.lock", "HEAD.lock"] {
            // Of a git that was killed: no other works here.
            atomic::remove_file(&own.join(".git").join(lock))?;
        }
        self.write_alternates(&own)?;
        let repo = Repo::open(&world.standing_in(&own), ObjectWrites::Durable)?;
        self.git(&repo, world).args(["clean", "-ffdq"]).run_checked("tidy the working tree")?;
        Ok(repo)
    }

    /// Makes an empty tree, and the git directory of ours.
    fn make(&mut self, world: &World, commit: Oid, with: &Furnishing<'_>) -> Result<()> {
        let new = self.place.0.join("new");
        remove_anything(&new)?;
        atomic::make_directory(&self.place.0)?;
        NewRepository {
            workdir: &new,
            objects: &self.checkout.common_dir().join("objects"),
            object_format: self.checkout.object_format(),
            head: &RefName::from("refs/heads/try"),
            refs: Vec::new(),
            symbolic: Vec::new(),
            inherited: with.inherited,
            config: Vec::new(),
        }
        .make(&world.standing_in(&self.place.0))?;
        self.write_alternates(&new)?;
        let inside = &world.standing_in(&new);
        let repo = Repo::open(inside, ObjectWrites::Durable)?;
        let tree = repo.tree_of(Some(commit))?;
        let store = (with.store)(inside, &repo, tree);
        if clone_large_files::are_wanted(inside, &repo, tree, &store)? {
            super::new_clone::append_config(
                &new.join(".git/config"),
                &clone_large_files::config(&store),
            )?;
        }
        atomic::make_directory(&self.place.tree())?;
        atomic::rename(&new, &self.place.own())
    }

    /// Starts a git command of ours in the tree: whatever `.git` in it is.
    fn git(&self, repo: &Repo, world: &World) -> Git {
        let tree = self.place.tree();
        let mut git = repo.git(&world.standing_in(&tree));
        git.current_dir(&tree);
        git.config("core.hooksPath", "/dev/null").config("submodule.recurse", "false");
        git.config("advice.detachedHead", "false");
        git.arg("--git-dir").arg(self.place.own().join(".git"));
        git.arg("--work-tree").arg(&tree);
        git
    }

    /// Writes the `.git` that tests see: at the commit, with the same index.
    fn write_git_of_tests(&self, repo: &Repo, commit: Oid) -> Result<()> {
        let (own, of_tests) = (self.place.own().join(".git"), self.place.tree().join(".git"));
        remove_anything(&of_tests)?;
        for folder in ["objects/info", "refs/heads", "info", "colony"] {
            atomic::make_directory(&of_tests.join(folder))?;
        }
        for file in COPIED {
            let cannot = |e| Error::io(format!("cannot copy '{file}' for tests"), e);
            if let Some(bytes) = plain_file::find_own(own.join(file)).map_err(cannot)? {
                atomic::write_plainly(&of_tests.join(file), &bytes)?;
            }
        }
        let index = std::fs::copy(repo.index_path(), of_tests.join("index"));
        index.map_err(|e| Error::io("cannot copy the index for tests", e))?;
        atomic::write_plainly(&of_tests.join("HEAD"), format!("{commit}\n").as_bytes())
    }

    /// Counts the untracked files that are there now as ignored ones: set-up commands have made them.
    pub fn keep_untracked(&self, world: &World) -> Result<()> {
        let Some(repo) = &self.repo else {
            return Ok(());
        };
        let mut list = self.git(repo, world);
        list.args(["ls-files", "-o", "--exclude-standard", "--directory", "-z"]);
        let listed = list.run_checked("list files of the set-up")?;
        let exclude = self.place.own().join(".git/info/exclude");
        let mut lines = plain_file::read(&exclude).unwrap_or_default();
        for path in listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
            lines.extend_from_slice(b"\n/");
            for byte in path {
                if b"\\*?[]! ".contains(byte) {
                    lines.push(b'\\');
                }
                lines.push(*byte);
            }
        }
        lines.push(b'\n');
        atomic::write_plainly(&exclude, &lines)
    }

    /// Has the tree borrow the objects of its checkout and of the hub.
    fn write_alternates(&self, own: &Path) -> Result<()> {
        let folders = [self.checkout.common_dir().join("objects"), self.hub.join("objects")];
        let mut lines = Vec::new();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            lines.extend_from_slice(folder.as_os_str().as_encoded_bytes());
            lines.push(b'\n');
        }
        atomic::write_plainly(&own.join(".git/objects/info/alternates"), &lines)
    }

    /// Links the large files of some changes from the hub and the checkout, and refuses one that neither has.
    fn bring_large_files(&self, repo: &Repo, changes: &[TreeChange]) -> Result<()> {
        let sources =
            [LfsObjects::in_folder(large_objects_of(&self.hub)), LfsObjects::of(self.checkout)];
        let own = LfsObjects::of(repo);
        let mut missing: BTreeSet<RepoPath> = BTreeSet::new();
        for change in changes {
            let entry = change.new.filter(TreeEntry::is_plain_file);
            let small = entry
                .filter(|entry| repo.object_size(entry.id).is_some_and(|size| size < MAX_BYTES));
            let Some(pointer) = small.and_then(|entry| Pointer::of_blob(repo, entry.id)) else {
                continue;
            };
            let mut is_there = own.has(&pointer);
            for source in &sources {
                // A copy: a test must not reach the objects of the checkout by a link.
                is_there = is_there || source.copy_into(&pointer, own.folder())?;
            }
            if !is_there {
                missing.insert(change.path.clone());
            }
        }
        missing.first().map_or(Ok(()), |path| {
            Err(incomplete(&format!("the content of '{path}' is not on this machine"))
                .detail("paths", &missing)
                .hint("git lfs fetch   # in the clone whose work has it; then run it again"))
        })
    }

    /// Refuses a commit with submodules: the tree would have empty folders in their place.
    fn refuse_submodules(&self, commit: Oid) -> Result<()> {
        let tree = self.checkout.tree_of(Some(commit))?;
        if self.checkout.leaf_in(tree, &RepoPath::from(".gitmodules"))?.is_none() {
            return Ok(());
        }
        let listed = self.checkout.list_tree(tree)?.into_iter();
        let mut submodules =
            listed.filter(|change| change.new.is_some_and(|entry| entry.is_submodule()));
        submodules.next().map_or(Ok(()), |change| {
            let path = change.path;
            Err(incomplete(&format!(
                "'{path}' is a submodule, which merged work is tested without"
            ))
            .detail("path", path)
            .hint("git colony land --no-test NAME...   # merges without tests"))
        })
    }

    /// Runs a command in the tree, and hands on its output. Nothing that it started outlives it.
    pub fn run(
        &mut self,
        world: &World,
        command: &str,
        limit: Option<Duration>,
        hear: &mut dyn FnMut(&[u8]),
    ) -> Result<Ending> {
        self.at = None;
        let mut inside = world.standing_in(&self.place.tree());
        inside.variables.insert(MARK.into(), self.place.mark().into());
        let ending = shell_command::run_shell_heard(&inside, command, limit, hear);
        self.place.end_processes();
        ending
    }

    /// Deletes what a test left beside ignored files, and puts tracked files back; returns what it was.
    pub fn tidy(&mut self, world: &World) -> Result<TreeChanges> {
        let Some(repo) = self.repo.as_ref().filter(|_| is_folder(&self.place.tree())) else {
            return Ok(TreeChanges::default());
        };
        let mut status = self.git(repo, world);
        status.args(["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"]);
        let listed = match status.run_checked("look at what a test has left") {
            // The next step makes the tree again.
            Err(error) if !is_final(error.code()) => {
                self.repo = None;
                return Ok(TreeChanges::default());
            }
            listed => listed?,
        };
        let entries = listed.split(|byte| *byte == 0).filter_map(|entry| entry.get(3..));
        let paths: Vec<String> =
            entries.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        if !paths.is_empty() {
            let mut back = self.git(repo, world);
            back.args(["checkout", "-q", "--force", "--detach", "HEAD"]).run()?;
            // Ignored files stay.
            self.git(repo, world).args(["clean", "-ffdq"]).run()?;
        }
        let first = paths.iter().take(MAX_NAMED).cloned().collect();
        Ok(TreeChanges { count: paths.len(), first })
    }
}

/// Returns `true` for a folder itself, not for a link to one.
fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Removes a file, a link or a folder with everything in it.
fn remove_anything(path: &Path) -> Result<()> {
    if is_folder(path) { atomic::remove_folder(path) } else { atomic::remove_file(path) }
}

fn incomplete(why: &str) -> Error {
    Error::new(Code::TryIncomplete, why.to_owned()).unchanged()
}

/// Returns `true` for an error that a new tree would have as well.
fn is_final(code: Code) -> bool {
    matches!(code, Code::TryIncomplete | Code::Interrupted | Code::NoSpace | Code::Locked)
}
