//! The commands that change something, and the repositories they are cut off in.

use super::fault::{Blow, Fault};
use super::repository::Repository;

/// A command with the repository it runs in.
pub(crate) struct ChangingCommand {
    /// What the table calls it.
    pub(crate) name: &'static str,
    /// Its command line.
    pub(crate) args: &'static [&'static str],
    /// What was done before it.
    pub(crate) scene: Scene,
    /// What it does to what is kept for undo.
    pub(crate) history: History,
}

/// What a command does to operations, to kept files and to automatic checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// It is an operation: it goes into the log, or did not happen.
    Operation,
    /// The same, and before it goes into the log, what plain git did goes there.
    Recording,
    /// It makes an automatic checkpoint and is no operation.
    Automatic,
    /// It lets go of operations with what they kept: of all, or of some if it is cut off.
    Pruning,
}

/// What was done to a repository before the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scene {
    /// Two checkpoints on the branch, one beside it, and uncommitted work of every kind.
    Worked,
    /// Then all of it was kept: nothing differs from HEAD.
    Kept,
    /// Instead, the first checkpoint was restored.
    Restored,
    /// Then that was undone.
    Undone,
    /// All of it was kept, and then plain git switched to a branch with other files.
    Switched,
    /// The restore of the first checkpoint was killed when half of the files had moved.
    CutOff,
    /// The same, and then plain git moved the branch elsewhere.
    Overtaken,
}

pub(crate) const CHECKPOINT: ChangingCommand = ChangingCommand {
    name: "checkpoint",
    args: &["checkpoint", "-m", "new"],
    scene: Scene::Worked,
    history: History::Operation,
};

pub(crate) const CHECKPOINT_OFF_BRANCH: ChangingCommand = ChangingCommand {
    name: "checkpoint --off-branch",
    args: &["checkpoint", "--off-branch", "-m", "new"],
    ..CHECKPOINT
};

pub(crate) const CHECKPOINT_AUTO: ChangingCommand = ChangingCommand {
    name: "checkpoint --auto",
    args: &["checkpoint", "--auto"],
    scene: Scene::Worked,
    history: History::Automatic,
};

/// Only a tag is made.
pub(crate) const CHECKPOINT_OF_A_CLEAN_STATE: ChangingCommand = ChangingCommand {
    name: "checkpoint of a clean state",
    scene: Scene::Kept,
    ..CHECKPOINT
};

pub(crate) const TAG: ChangingCommand = ChangingCommand {
    name: "tag",
    args: &["tag", "-m", "new"],
    ..CHECKPOINT
};

pub(crate) const RESTORE: ChangingCommand = ChangingCommand {
    name: "restore",
    args: &["restore", "first"],
    ..CHECKPOINT
};

pub(crate) const RESTORE_FILES: ChangingCommand = ChangingCommand {
    name: "restore --mode files",
    args: &["restore", "first", "--mode", "files"],
    ..CHECKPOINT
};

/// The checkpoint was made off the branch: the index comes back as it was.
pub(crate) const RESTORE_OFF_BRANCH: ChangingCommand = ChangingCommand {
    name: "restore of one off the branch",
    args: &["restore", "beside"],
    ..CHECKPOINT
};

pub(crate) const UNDO: ChangingCommand = ChangingCommand {
    name: "undo",
    args: &["undo"],
    scene: Scene::Restored,
    history: History::Operation,
};

pub(crate) const REDO: ChangingCommand = ChangingCommand {
    name: "redo",
    args: &["redo"],
    scene: Scene::Undone,
    history: History::Operation,
};

/// HEAD, index and files go back to the branch that plain git left.
pub(crate) const UNDO_OF_PLAIN_GIT: ChangingCommand = ChangingCommand {
    name: "undo --force of a switch",
    args: &["undo", "--force"],
    scene: Scene::Switched,
    history: History::Recording,
};

pub(crate) const TAG_AFTER_PLAIN_GIT: ChangingCommand = ChangingCommand {
    name: "tag after a switch",
    args: &["tag", "-m", "new"],
    ..UNDO_OF_PLAIN_GIT
};

pub(crate) const PRUNE: ChangingCommand = ChangingCommand {
    name: "prune",
    args: &["prune", "--keep", "0"],
    scene: Scene::Restored,
    history: History::Pruning,
};

/// The command finds a dead one before it and has to complete it.
pub(crate) const RECOVERY: ChangingCommand = ChangingCommand {
    name: "recovery that completes",
    args: &["checkpoint", "--auto"],
    scene: Scene::CutOff,
    history: History::Operation,
};

/// The command finds a dead one before it and has to take it back.
pub(crate) const RECOVERY_BACKWARDS: ChangingCommand = ChangingCommand {
    name: "recovery that takes back",
    scene: Scene::Overtaken,
    ..RECOVERY
};

impl Scene {
    /// Builds a repository to make copies of.
    pub(crate) fn build(self) -> Repository {
        let repository = worked();
        if matches!(self, Scene::Kept | Scene::Switched) {
            repository.colony(&["checkpoint", "-m", "kept"]);
        }
        if self == Scene::Switched {
            repository.git(&["branch", "elsewhere", "HEAD~1"]);
            repository.git(&["switch", "--quiet", "elsewhere"]);
        }
        if matches!(self, Scene::Restored | Scene::Undone) {
            repository.colony(&["restore", "first"]);
        }
        if self == Scene::Undone {
            repository.colony(&["undo"]);
        }
        repository
    }

    /// Does to a copy what cannot be copied: a dead command is known by inodes.
    pub(crate) fn complete(self, copy: &Repository) {
        if matches!(self, Scene::CutOff | Scene::Overtaken) {
            let struck = HALF_OF_THE_FILES_MOVED.strike(copy, &RESTORE);
            assert!(struck.happened, "it moves more files than that");
        }
        if self == Scene::Overtaken {
            let elsewhere = copy.git(&["commit-tree", "-m", "elsewhere", "HEAD^{tree}"]);
            copy.git(&["update-ref", "refs/heads/main", elsewhere.trim_end()]);
        }
    }
}

const HALF_OF_THE_FILES_MOVED: Fault = Fault {
    blow: Blow::Kill,
    call: "renameat2",
    at: 12,
};

/// Every file has a content of its own, so that it can be told whether a content was lost.
fn worked() -> Repository {
    let repository = Repository::new();
    make_first_state(&repository);
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "-m", "first"]);
    repository.colony(&["checkpoint", "-m", "first"]);
    make_second_state(&repository);
    repository.colony(&["checkpoint", "-m", "second"]);
    repository.write("edited", "edited and staged\n");
    repository.git(&["add", "edited"]);
    repository.write("edited", "edited since it was staged\n");
    repository.colony(&["checkpoint", "--off-branch", "-m", "beside"]);
    repository.write("edited", "edited since it was kept\n");
    repository.write("new", "new and staged\n");
    repository.git(&["add", "new"]);
    repository.write("untracked", "untracked\n");
    repository.remove("steady");
    // It records what plain git did so far: the commands after it have only their own operation.
    repository.colony(&["tag", "-m", "recorded", "HEAD"]);
    repository
}

fn make_first_state(repository: &Repository) {
    repository.write("edited", "edited, first\n");
    repository.write("steady", "steady\n");
    repository.write("private", "private, first\n");
    repository.write("removed/deep/file", "removed later\n");
    repository.write("turns", "a file, later a folder\n");
    repository.write("shrinks/leaf", "in a folder, later a file\n");
    repository.write("output.log", "tracked, later ignored\n");
    repository.write("script", "script\n");
    repository.link("link", "edited");
}

fn make_second_state(repository: &Repository) {
    repository.write(".gitignore", "*.log\n");
    repository.write("edited", "edited, second\n");
    repository.write("private", "private, second\n");
    repository.set_mode("private", 0o600);
    repository.remove("removed");
    repository.remove("turns");
    repository.write("turns/inside", "in a folder that was a file\n");
    repository.remove("shrinks");
    repository.write("shrinks", "a file that was a folder\n");
    repository.git(&["rm", "--quiet", "--cached", "output.log"]);
    repository.write("output.log", "ignored, and in the way of a restore\n");
    repository.write("quiet.log", "ignored, and in nobody's way\n");
    repository.set_mode("script", 0o755);
    repository.link("link", "steady");
}
