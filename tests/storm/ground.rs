//! What the storm goes over: a checkout with files of git-lfs, a linked worktree, an agent's clone, the
//! hub between them, and a remote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use super::repository;

/// Where a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The checkout of a person.
    Checkout,
    /// A linked worktree of it.
    Linked,
    /// The clone of the agent `ada`.
    Clone,
}

/// A repository with objects and refs of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Home {
    /// That of the checkout and its linked worktree.
    Checkout,
    /// That of the agent's clone.
    Clone,
    /// The hub between them.
    Hub,
}

impl Place {
    /// The repository of a worktree.
    pub(crate) fn home(self) -> Home {
        match self {
            Place::Checkout | Place::Linked => Home::Checkout,
            Place::Clone => Home::Clone,
        }
    }
}

/// The repositories, gone when dropped.
pub(crate) struct Ground {
    folder: TempDir,
}

impl Ground {
    /// Makes everything that the storm goes over.
    pub(crate) fn new() -> Ground {
        let ground = Ground { folder: repository::temporary_folder() };
        for name in ["checkout", "shared", "home", "tmp"] {
            fs::create_dir(ground.path().join(name)).expect("the folder is empty");
        }
        let git = |args: &[&str]| ground.require_git(Place::Checkout, args);
        git(&["init", "-q", "--initial-branch=main", "--template="]);
        for (name, value) in [
            ("user.name", "Ada"),
            ("user.email", "ada@example.com"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
        ] {
            git(&["config", name, value]);
        }
        let checkout = ground.root(Place::Checkout);
        fs::write(checkout.join(".gitignore"), "*.ignored\n").expect("the folder is empty");
        fs::write(checkout.join("a.txt"), "the first\n").expect("the folder is empty");
        git(&["add", "-A"]);
        git(&["commit", "-qm", "first"]);
        ground.require_colony(Place::Checkout, &["init"]);
        let remote = ground.path().join("remote.git");
        let remote = remote.to_str().expect("our names are UTF-8");
        git(&["init", "-q", "--bare", "--initial-branch=main", remote]);
        // No kill of a command here reaches the server of a remote, and its maintenance.
        for name in ["gc.auto", "maintenance.auto", "receive.autogc"] {
            git(&["-C", remote, "config", name, "0"]);
        }
        git(&["remote", "add", "origin", &format!("file://{remote}")]);
        // A person consents: later on this tree of processes works in a clone of an agent.
        ground.require_colony(Place::Checkout, &["sync", "--push"]);
        let linked = ground.root(Place::Linked);
        let linked = linked.to_str().expect("our names are UTF-8");
        git(&["worktree", "add", "-q", "-b", "side", linked]);
        ground.require_colony(Place::Checkout, &["agents", "new", "ada"]);
        for place in ground.places() {
            ground.require_colony(place, &["checkpoint", "--auto"]);
        }
        ground
    }

    /// The folder that all of it is in.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The worktrees that are there.
    pub(crate) fn places(&self) -> Vec<Place> {
        let all = [Place::Checkout, Place::Linked, Place::Clone];
        let there = |place: &Place| self.root(*place).join(".git").exists();
        all.into_iter().filter(there).collect()
    }

    /// The folder of a worktree, whether it is there or not.
    pub(crate) fn root(&self, place: Place) -> PathBuf {
        match place {
            Place::Checkout => self.path().join("checkout"),
            Place::Linked => self.path().join("linked"),
            Place::Clone => {
                let clones = self.path().join("shared/agents/ada/clones");
                let mut found = fs::read_dir(&clones).into_iter().flatten().flatten();
                // The branch that it was made on is its name.
                let name = found.next().map(|entry| entry.file_name());
                clones.join(name.unwrap_or_else(|| "none".into()))
            }
        }
    }

    /// The git directory of a worktree.
    pub(crate) fn git_dir(&self, place: Place) -> PathBuf {
        match place {
            Place::Checkout => self.path().join("checkout/.git"),
            Place::Linked => self.path().join("checkout/.git/worktrees/linked"),
            Place::Clone => self.root(place).join(".git"),
        }
    }

    /// The repositories that are there.
    pub(crate) fn repositories(&self) -> Vec<(Home, PathBuf)> {
        let all = [Home::Checkout, Home::Clone, Home::Hub];
        let all = all.map(|home| (home, self.repository(home)));
        let there = all.into_iter().filter(|(_, path)| path.join("HEAD").exists());
        there.collect()
    }

    /// The git directory of a repository, whether it is there or not.
    pub(crate) fn repository(&self, home: Home) -> PathBuf {
        match home {
            Home::Checkout => self.git_dir(Place::Checkout),
            Home::Clone => self.git_dir(Place::Clone),
            Home::Hub => {
                let hubs = self.path().join("shared/hubs");
                let found = fs::read_dir(&hubs).into_iter().flatten().flatten();
                let mut found = found.map(|entry| entry.path());
                let hub = found.find(|path| path.extension().is_some_and(|end| end == "git"));
                hub.unwrap_or_else(|| hubs.join("none"))
            }
        }
    }

    /// The folders of removed clones.
    pub(crate) fn removed_clones(&self) -> Vec<PathBuf> {
        let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let agents = below(self.path().join("shared/agents"));
        let removed = agents.flat_map(|agent| below(agent.path().join("removed")));
        removed.map(|folder| folder.path()).collect()
    }

    /// The repository that is pushed to.
    pub(crate) fn remote(&self) -> PathBuf {
        self.path().join("remote.git")
    }

    /// Prepares a program.
    pub(crate) fn command(&self, program: &str, directory: &Path) -> Command {
        let program = match program {
            "git-colony" => env!("CARGO_BIN_EXE_git-colony"),
            other => other,
        };
        let mut command = repository::command(program, directory);
        command.env("HOME", self.path().join("home"));
        command.env("TMPDIR", self.path().join("tmp"));
        command.env("COLONY_SHARED_ROOT", self.path().join("shared"));
        // The hooks of a repository start what is on the path.
        let own = Path::new(env!("CARGO_BIN_EXE_git-colony")).parent();
        let mut path = own.unwrap_or(Path::new("/")).as_os_str().to_owned();
        path.push(":");
        path.push(repository::search_path());
        command.env("PATH", path);
        command
    }

    pub(crate) fn colony(&self, place: Place, args: &[&str]) -> Output {
        let mut command = self.command("git-colony", &self.root(place));
        repository::run(command.arg("--json").args(args))
    }

    pub(crate) fn git(&self, directory: &Path, args: &[&str]) -> Result<String, String> {
        let output = repository::run(self.command("git", directory).args(args));
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = repository::words(&output);
        Err(format!("git {args:?} ended with {}: {said}", output.status))
    }

    fn require_git(&self, place: Place, args: &[&str]) {
        let done = self.git(&self.root(place), args);
        done.unwrap_or_else(|problem| panic!("{problem}"));
    }

    pub(crate) fn require_colony(&self, place: Place, args: &[&str]) {
        let output = self.colony(place, args);
        let said = repository::words(&output);
        assert!(output.status.success(), "{args:?} {said}");
    }

    /// Leaves everything where it is, and returns where that is.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}
