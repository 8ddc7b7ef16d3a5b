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
    /// What it exits with when it is done: 1 where its answer is no.
    pub(crate) exit_code: i32,
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
    /// It is an operation, and sets up around it what is none: configuration, hooks.
    SettingUp,
    /// It is no operation: what was cut off is completed by running it again.
    TakingOut,
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
    /// It was mapped, and then limited to smaller pages.
    Mapped,
    /// A document was committed.
    Documented,
    /// Then it was ingested.
    Ingested,
    /// A checkpoint was made, and then git packed all refs.
    Packed,
    /// Then that was undone.
    Undone,
    /// All of it was kept, and then plain git switched to a branch with other files.
    Switched,
    /// The restore of the first checkpoint was killed when half of the files had moved.
    CutOff,
    /// The same, and then plain git moved the branch elsewhere.
    Overtaken,
    /// Large files were committed by way of git-lfs, and are pointers in the worktree.
    Pointers,
    /// Large files were committed to git, and the patterns for git-lfs came later.
    Large,
    /// Then history was rewritten.
    Migrated,
    /// Files were committed that patterns of git-lfs match, before there were any, and somebody has a hook
    /// `pre-push`.
    Exempt,
    /// Then git-colony was set up, and one of the files has another name.
    Renamed,
    /// git-colony was set up by itself, with git-lfs, and used.
    SetUp,
    /// It was set up beside hooks and attributes of somebody, and moved files aside.
    SetUpBeside,
    /// It was set up where somebody's hooks are in a folder of the tree.
    Redirected,
    /// Two lines of work that merge cleanly, and uncommitted work that is not in their way.
    Lines,
    /// Then one was merged into the other.
    Merged,
    /// The same, and they change one file differently.
    Clashing,
    /// A merge of these was opened, and its conflict settled.
    MergeOpen,
    /// A pick of three commits was opened at the second, and its conflict settled.
    PickOpen,
    /// A checkpoint has edits inside a submodule, and its files were edited again since.
    Submodule,
    /// Then that checkpoint was restored.
    SubmoduleRestored,
}

pub(crate) const CHECKPOINT: ChangingCommand = ChangingCommand {
    name: "checkpoint",
    args: &["checkpoint", "-m", "new"],
    scene: Scene::Worked,
    history: History::Operation,
    exit_code: 0,
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
    exit_code: 0,
};

/// A line of attributes goes along with the file.
pub(crate) const CHECKPOINT_OF_A_RENAMED_FILE: ChangingCommand =
    ChangingCommand { name: "checkpoint of a renamed file", scene: Scene::Renamed, ..CHECKPOINT };

/// The edits of a submodule are kept in its own repository.
pub(crate) const CHECKPOINT_OF_A_SUBMODULE: ChangingCommand = ChangingCommand {
    name: "checkpoint of edits in a submodule",
    scene: Scene::Submodule,
    ..CHECKPOINT
};

/// Files of a submodule go along.
pub(crate) const RESTORE_OF_A_SUBMODULE: ChangingCommand = ChangingCommand {
    name: "restore of edits in a submodule",
    args: &["restore", "inside"],
    ..CHECKPOINT_OF_A_SUBMODULE
};

/// And come back.
pub(crate) const UNDO_OF_A_SUBMODULE: ChangingCommand = ChangingCommand {
    name: "undo of edits in a submodule",
    args: &["undo"],
    scene: Scene::SubmoduleRestored,
    ..CHECKPOINT_OF_A_SUBMODULE
};

/// Only a tag is made.
pub(crate) const CHECKPOINT_OF_A_CLEAN_STATE: ChangingCommand =
    ChangingCommand { name: "checkpoint of a clean state", scene: Scene::Kept, ..CHECKPOINT };

pub(crate) const TAG: ChangingCommand =
    ChangingCommand { name: "tag", args: &["tag", "-m", "new"], ..CHECKPOINT };

/// A key of a blackboard that does not exist yet.
pub(crate) const BLACKBOARD_PUT: ChangingCommand = ChangingCommand {
    name: "blackboard put",
    args: &["blackboard", "put", "plan", "owner", "ada"],
    ..CHECKPOINT
};

/// A document that has no record yet.
pub(crate) const INGEST: ChangingCommand = ChangingCommand {
    name: "ingest",
    args: &["ingest", "--profile", "note", "notes.md"],
    scene: Scene::Documented,
    ..CHECKPOINT
};

/// The only record.
pub(crate) const KNOWLEDGE_CLEAR: ChangingCommand = ChangingCommand {
    name: "knowledge clear",
    args: &["knowledge", "clear", "notes.md"],
    scene: Scene::Ingested,
    ..CHECKPOINT
};

/// The map routes nothing yet, and has one source.
pub(crate) const PROMOTE: ChangingCommand = ChangingCommand {
    name: "promote",
    args: &["promote", "notes.md"],
    scene: Scene::Documented,
    ..CHECKPOINT
};

/// There is no catalog yet.
pub(crate) const CATALOG_ADD: ChangingCommand =
    ChangingCommand { name: "catalog add", args: &["catalog", "add", "."], ..CHECKPOINT };

/// The projects of the repository change.
pub(crate) const PROJECTS_ADD: ChangingCommand = ChangingCommand {
    name: "projects add",
    args: &["projects", "add", "notes", "notes"],
    ..CHECKPOINT
};

/// No scope is recorded yet.
pub(crate) const MAP: ChangingCommand =
    ChangingCommand { name: "map", args: &["map", "--base-scope", "shelf"], ..CHECKPOINT };

/// The record of a scope changes.
pub(crate) const MAP_AGAIN: ChangingCommand =
    ChangingCommand { name: "map with other limits", scene: Scene::Mapped, ..MAP };

/// The only scope.
pub(crate) const UNMAP: ChangingCommand =
    ChangingCommand { name: "scopes unmap", args: &["scopes", "unmap", "shelf"], ..MAP_AGAIN };

pub(crate) const RESTORE: ChangingCommand =
    ChangingCommand { name: "restore", args: &["restore", "first"], ..CHECKPOINT };

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
    exit_code: 0,
};

pub(crate) const REDO: ChangingCommand = ChangingCommand {
    name: "redo",
    args: &["redo"],
    scene: Scene::Undone,
    history: History::Operation,
    exit_code: 0,
};

/// Refs go that are packed, so that git writes the packed ones anew.
pub(crate) const UNDO_PACKED: ChangingCommand =
    ChangingCommand { name: "undo of packed refs", scene: Scene::Packed, ..UNDO };

/// What it lets go of is packed.
pub(crate) const PRUNE_PACKED: ChangingCommand =
    ChangingCommand { name: "prune of packed refs", scene: Scene::Packed, ..PRUNE };

/// HEAD, index and files go back to the branch that plain git left.
pub(crate) const UNDO_OF_PLAIN_GIT: ChangingCommand = ChangingCommand {
    name: "undo --force of a switch",
    args: &["undo", "--force"],
    scene: Scene::Switched,
    history: History::Recording,
    exit_code: 0,
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
    exit_code: 0,
};

/// With git-lfs, in a repository that knows neither.
pub(crate) const INIT: ChangingCommand = ChangingCommand {
    name: "init",
    args: &["init"],
    scene: Scene::Kept,
    history: History::SettingUp,
    exit_code: 0,
};

/// Committed files have lines of their own, and hooks of ours keep the one of somebody.
pub(crate) const INIT_BESIDE: ChangingCommand =
    ChangingCommand { name: "init beside a hook and large files", scene: Scene::Exempt, ..INIT };

pub(crate) const HYDRATE: ChangingCommand = ChangingCommand {
    name: "lfs hydrate",
    args: &["lfs", "hydrate", "."],
    scene: Scene::Pointers,
    history: History::Operation,
    exit_code: 0,
};

pub(crate) const LFS_MIGRATE: ChangingCommand = ChangingCommand {
    name: "lfs migrate",
    args: &["lfs", "migrate"],
    scene: Scene::Large,
    history: History::Operation,
    exit_code: 0,
};

pub(crate) const UNDO_LFS_MIGRATE: ChangingCommand = ChangingCommand {
    name: "undo of lfs migrate",
    args: &["undo"],
    scene: Scene::Migrated,
    ..LFS_MIGRATE
};

pub(crate) const DEINIT: ChangingCommand = ChangingCommand {
    name: "deinit",
    args: &["deinit"],
    scene: Scene::SetUp,
    history: History::TakingOut,
    exit_code: 0,
};

pub(crate) const DEINIT_PURGE: ChangingCommand = ChangingCommand {
    name: "deinit --purge",
    args: &["deinit", "--purge", "--force"],
    scene: Scene::SetUpBeside,
    history: History::TakingOut,
    exit_code: 0,
};

pub(crate) const DEINIT_OF_A_REDIRECT: ChangingCommand = ChangingCommand {
    name: "deinit of core.hooksPath",
    args: &["deinit"],
    scene: Scene::Redirected,
    history: History::TakingOut,
    exit_code: 0,
};

/// The command finds a dead one before it and has to complete it.
pub(crate) const RECOVERY: ChangingCommand = ChangingCommand {
    name: "recovery that completes",
    args: &["checkpoint", "--auto"],
    scene: Scene::CutOff,
    history: History::Operation,
    exit_code: 0,
};

/// The command finds a dead one before it and has to take it back.
pub(crate) const RECOVERY_BACKWARDS: ChangingCommand =
    ChangingCommand { name: "recovery that reverts", scene: Scene::Overtaken, ..RECOVERY };

/// Some of what is pending is committed, the rest stays pending.
pub(crate) const COMMIT: ChangingCommand = ChangingCommand {
    name: "commit",
    args: &["commit", "-m", "new", "edited", "untracked", "steady"],
    ..CHECKPOINT
};

pub(crate) const DECIDE: ChangingCommand = ChangingCommand {
    name: "decide",
    args: &["decide", "-m", "Take the new", "--id", "new", "new", "steady"],
    ..CHECKPOINT
};

/// Files of ours and a registry are committed beside what is staged and changed.
pub(crate) const TOOLS_NEW: ChangingCommand = ChangingCommand {
    name: "tools new",
    args: &[
        "tools",
        "new",
        "--template=rust_crate",
        "--purpose=signal",
        "--name=low-pass",
        "--capability=filter",
        "--license=MIT",
    ],
    ..CHECKPOINT
};

pub(crate) const FORK: ChangingCommand = ChangingCommand {
    name: "fork",
    args: &["fork", "new", "--from", "fork/other"],
    scene: Scene::Lines,
    ..CHECKPOINT
};

pub(crate) const FORK_WITHOUT_A_SWITCH: ChangingCommand =
    ChangingCommand { name: "fork --no-switch", args: &["fork", "new", "--no-switch"], ..FORK };

pub(crate) const CHECKPOINTS_DELETE: ChangingCommand = ChangingCommand {
    name: "checkpoints delete",
    args: &["checkpoints", "delete", "first", "beside"],
    ..CHECKPOINT
};

pub(crate) const FORKS_DELETE: ChangingCommand = ChangingCommand {
    name: "forks delete --force",
    args: &["forks", "delete", "other", "--force"],
    ..FORK
};

pub(crate) const RESTORE_FORK: ChangingCommand = ChangingCommand {
    name: "restore --mode fork",
    args: &["restore", "first", "--mode", "fork"],
    ..CHECKPOINT
};

pub(crate) const MERGE: ChangingCommand =
    ChangingCommand { name: "merge", args: &["merge", "fork/other"], ..FORK };

/// The train is merged in memory; its tests run elsewhere, before anything here changes.
pub(crate) const LAND: ChangingCommand =
    ChangingCommand { name: "land", args: &["land", "fork/other", "--no-test"], ..FORK };

/// Only a ref moves.
pub(crate) const MERGE_ELSEWHERE: ChangingCommand = ChangingCommand {
    name: "merge --into",
    args: &["merge", "fork/other", "--into", "aside"],
    ..FORK
};

pub(crate) const MERGE_RESOLVE: ChangingCommand = ChangingCommand {
    name: "merge --resolve",
    args: &["merge", "fork/other", "--resolve"],
    scene: Scene::Clashing,
    exit_code: 1,
    ..FORK
};

pub(crate) const MERGE_CONTINUE: ChangingCommand = ChangingCommand {
    name: "merge --continue",
    args: &["merge", "--continue"],
    scene: Scene::MergeOpen,
    ..FORK
};

pub(crate) const MERGE_ABORT: ChangingCommand =
    ChangingCommand { name: "merge --abort", args: &["merge", "--abort"], ..MERGE_CONTINUE };

pub(crate) const PICK: ChangingCommand = ChangingCommand {
    name: "cherry-pick",
    args: &["cherry-pick", "fork/other~3..fork/other"],
    ..FORK
};

/// One commit is picked, one is in conflict, one is to come.
pub(crate) const PICK_RESOLVE: ChangingCommand = ChangingCommand {
    name: "cherry-pick --resolve",
    args: &["cherry-pick", "fork/other~3..fork/other", "--resolve"],
    ..MERGE_RESOLVE
};

pub(crate) const PICK_CONTINUE: ChangingCommand = ChangingCommand {
    name: "cherry-pick --continue",
    args: &["cherry-pick", "--continue"],
    scene: Scene::PickOpen,
    ..FORK
};

pub(crate) const PICK_ABORT: ChangingCommand = ChangingCommand {
    name: "cherry-pick --abort",
    args: &["cherry-pick", "--abort"],
    ..PICK_CONTINUE
};

pub(crate) const REVERT: ChangingCommand = ChangingCommand {
    name: "revert",
    args: &["revert", "fork/other"],
    scene: Scene::Merged,
    ..FORK
};

impl Scene {
    /// Builds a repository to make copies of.
    pub(crate) fn build(self) -> Repository {
        match self {
            Scene::Pointers => pointers(),
            Scene::Large | Scene::Migrated => large(self),
            Scene::SetUp => set_up(self.before_colony()),
            Scene::SetUpBeside => set_up_beside(self.before_colony()),
            Scene::Redirected => redirected(self.before_colony()),
            Scene::Exempt | Scene::Renamed => exempt(self),
            Scene::Lines | Scene::Clashing => lines(self),
            Scene::Merged => merged(),
            Scene::MergeOpen => open(&MERGE_RESOLVE),
            Scene::PickOpen => open(&PICK_RESOLVE),
            Scene::Submodule | Scene::SubmoduleRestored => submodule(self),
            _ => self.build_worked(),
        }
    }

    /// Builds what there was before git-colony set anything up.
    pub(crate) fn before_colony(self) -> Repository {
        let repository = Repository::new();
        make_first_state(&repository);
        if self == Scene::SetUpBeside {
            repository.write(".gitattributes", "*.txt text\n");
            for hook in ["pre-push", "post-commit", "pre-commit"] {
                let path = format!(".git/hooks/{hook}");
                repository.write_program(&path, &format!("#!/bin/sh\ntest {hook} = {hook}\n"));
            }
            repository.write(".git/info/attributes", "*.dat -text\n");
        }
        if matches!(self, Scene::Exempt | Scene::Renamed) {
            repository.write("archive.gz", "archive\n");
            repository.write("deep/er/paper.pdf", "paper\n");
            repository.write_program(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
        }
        if self == Scene::Redirected {
            repository.write_program(".hooks/pre-commit", "#!/bin/sh\n");
            repository.git(&["config", "core.hooksPath", ".hooks"]);
        }
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "-m", "first"]);
        repository
    }

    fn build_worked(self) -> Repository {
        let repository = worked();
        if matches!(self, Scene::Kept | Scene::Switched | Scene::Packed) {
            repository.colony(&["checkpoint", "-m", "kept"]);
        }
        if self == Scene::Mapped {
            repository.colony(MAP.args);
            repository.git(&["config", "colony.map.flushThreshold", "7"]);
        }
        if matches!(self, Scene::Documented | Scene::Ingested) {
            repository.write("notes.md", "# Notes\n\nSome words.\n");
            let map = "schema_version: 1\nsources:\n  - name: all\n    type: git_repo\n";
            repository.write(".colony/repo_map.yaml", map);
            let paths = ["notes.md", ".colony/repo_map.yaml"];
            repository.git(&[&["add"], &paths[..]].concat());
            let commit = ["commit", "--quiet", "-m", "notes", "--"];
            repository.git(&[&commit, &paths[..]].concat());
            repository.colony(&["tag", "-m", "documented", "HEAD"]);
        }
        if self == Scene::Ingested {
            repository.colony(INGEST.args);
        }
        if self == Scene::Packed {
            repository.git(&["pack-refs", "--all"]);
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

const HALF_OF_THE_FILES_MOVED: Fault = Fault { blow: Blow::Kill, call: "renameat2", at: 12 };

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

fn merged() -> Repository {
    let repository = lines(Scene::Lines);
    repository.colony(MERGE.args);
    repository
}

/// A submodule with edits that a checkpoint has, and later ones.
fn submodule(scene: Scene) -> Repository {
    let repository = Repository::new();
    make_first_state(&repository);
    repository.write("sub/file", "inside, first\n");
    repository.write("sub/gone", "inside, later gone\n");
    let inside = |args: &[&str]| repository.git(&[&["-C", "sub"], args].concat());
    inside(&["init", "--quiet", "--initial-branch=main", "--template="]);
    inside(&["add", "--all"]);
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    inside(&[&who[..], &["commit", "--quiet", "-m", "inside"]].concat());
    repository.git(&["submodule", "--quiet", "add", "./sub", "sub"]);
    repository.git(&["submodule", "--quiet", "absorbgitdirs"]);
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "-m", "first"]);
    repository.write("sub/file", "inside, kept\n");
    repository.write("sub/new", "inside, new and kept\n");
    repository.colony(&["checkpoint", "-m", "inside"]);
    repository.write("sub/file", "inside, edited since\n");
    repository.write("sub/newer", "inside, newer\n");
    inside(&["add", "newer"]);
    repository.remove("sub/gone");
    repository.write("edited", "edited since\n");
    repository.colony(&["tag", "-m", "recorded", "HEAD"]);
    if scene == Scene::SubmoduleRestored {
        repository.colony(RESTORE_OF_A_SUBMODULE.args);
    }
    repository
}

/// Two large files of git-lfs that nobody has brought in.
fn pointers() -> Repository {
    let repository = worked();
    repository.git(&["lfs", "install", "--local"]);
    let attributes = "*.pdf filter=lfs diff=lfs merge=lfs -text\n";
    repository.write(".gitattributes", attributes);
    repository.write("paper.pdf", "a large file\n");
    repository.write("deep/er/book.pdf", "a larger file\n");
    let large = ["paper.pdf", "deep/er/book.pdf"];
    repository.git(&["add", ".gitattributes", large[0], large[1]]);
    repository.git(&["commit", "--quiet", "-m", "large files"]);
    for path in large {
        let pointer = repository.git(&["cat-file", "blob", &format!("HEAD:{path}")]);
        repository.write(path, &pointer);
    }
    repository.colony(&["tag", "-m", "recorded", "HEAD"]);
    repository
}

/// Two commits of a large file, a tag, a note and a fork in git; then the patterns.
fn large(scene: Scene) -> Repository {
    let repository = Repository::new();
    repository.git(&["lfs", "install", "--local"]);
    let commit = |message: &str| {
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "-m", message]);
    };
    repository.write("paper.pdf", "a large file, first\n");
    repository.write("exempt.pdf", "a large file that stays in git until then\n");
    repository.write("steady", "steady\n");
    commit("first");
    repository.git(&["tag", "-a", "-m", "annotated", "v1"]);
    repository.git(&["notes", "add", "-m", "a note"]);
    repository.colony(&["fork", "other", "--no-switch"]);
    repository.write("paper.pdf", "a large file, second\n");
    commit("second");
    let attributes = [
        "*.pdf filter=lfs diff=lfs merge=lfs -text",
        "# >>> git-colony: files that stay in git >>>",
        "/exempt.pdf !filter !diff !merge !text",
        "# <<< git-colony: files that stay in git <<<\n",
    ];
    repository.write(".gitattributes", &attributes.join("\n"));
    repository.git(&["add", ".gitattributes"]);
    repository.git(&["commit", "--quiet", "-m", "patterns"]);
    // Nothing is left to keep: an automatic checkpoint of who recovers would be migrated, too.
    repository.colony(&["tag", "-m", "recorded", "HEAD"]);
    if scene == Scene::Migrated {
        repository.colony(LFS_MIGRATE.args);
    }
    repository
}

fn set_up(repository: Repository) -> Repository {
    repository.colony(&["init"]);
    repository.git(&["config", "colony.lock-timeout", "7"]);
    make_second_state(&repository);
    repository.colony(&["checkpoint", "-m", "second"]);
    repository.write("untracked", "untracked\n");
    repository
}

/// The hooks of git-lfs are ours to call, and lines of ours are in `info/attributes`.
fn set_up_beside(repository: Repository) -> Repository {
    repository.colony(&["hooks", "install"]);
    repository.colony(&["hooks", "install", "--for", "claude-code"]);
    repository.colony(&["init"]);
    repository.colony(&["checkpoint", "-m", "first"]);
    make_second_state(&repository);
    repository.colony(&["checkpoint", "-m", "second"]);
    repository.write("untracked", "untracked\n");
    repository.colony(&["checkpoint", "--off-branch", "-m", "beside"]);
    repository.colony(&["restore", "first"]);
    repository
}

fn exempt(scene: Scene) -> Repository {
    let repository = scene.before_colony();
    make_second_state(&repository);
    repository.colony(&["checkpoint", "-m", "second"]);
    repository.write("untracked", "untracked\n");
    if scene == Scene::Renamed {
        repository.colony(&["init"]);
        repository.remove("archive.gz");
        repository.write("moved.gz", "archive\n");
    }
    repository
}

fn redirected(repository: Repository) -> Repository {
    repository.colony(&["hooks", "install"]);
    repository.colony(&["init"]);
    repository
}

/// A fork with three commits of its own, a branch beside, and work on the branch.
fn lines(scene: Scene) -> Repository {
    let repository = Repository::new();
    make_first_state(&repository);
    repository.write("common", "the same on every line of work\n");
    let commit = |message: &str| {
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "-m", message]);
    };
    commit("first");
    repository.colony(&["checkpoint", "-m", "first"]);
    repository.colony(&["fork", "other"]);
    repository.write("added", "added by the other\n");
    commit("one");
    make_second_state(&repository);
    commit("two");
    repository.write("added", "added by the other, and changed\n");
    // A rename is never certain: git is asked what becomes of it.
    repository.git(&["mv", "script", "moved"]);
    commit("three");
    repository.git(&["switch", "--quiet", "main"]);
    repository.write("ours", "added on the branch\n");
    if scene == Scene::Clashing {
        repository.write("edited", "edited, on the branch\n");
    }
    repository.git(&["add", "ours", "edited"]);
    repository.git(&["commit", "--quiet", "-m", "ours"]);
    repository.git(&["branch", "aside"]);
    repository.write("common", "edited since it was committed\n");
    repository.write("new", "new, and staged where that is no obstacle\n");
    // What is staged would become part of a merge that is opened: that is refused.
    if scene == Scene::Lines {
        repository.git(&["add", "new"]);
    }
    repository.write("untracked", "untracked\n");
    repository.remove("steady");
    repository.colony(&["tag", "-m", "recorded", "HEAD"]);
    repository
}

fn open(command: &ChangingCommand) -> Repository {
    let repository = command.scene.build();
    let done = repository.try_to_end(command.args, command.exit_code);
    done.unwrap_or_else(|problem| panic!("{problem}"));
    repository.write("edited", "edited, settled\n");
    repository.git(&["add", "edited"]);
    repository.write("untracked", "untracked, edited since\n");
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
