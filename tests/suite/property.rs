//! Thirty random commands, with plain git and careless edits between them, against a shadow model.
//!
//! What holds for every sequence: undo straight after a command gives back refs, HEAD, the index
//! file and the worktree byte for byte, times and modes included; after plain git changed HEAD or
//! the index it refuses and changes nothing; and no garbage collection loses an operation.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use proptest::prelude::*;
use proptest::sample::select;

use super::support::{Sandbox, State};

/// Paths that are each other's parents, ignored, tracked or not.
const PATHS: [&str; 8] = [
    "a.txt",
    "dir",
    "dir/b.txt",
    "dir/c/d",
    "ignored.log",
    "dir/c",
    "x y\u{e9}",
    "run.sh",
];

#[derive(Clone, Debug)]
enum Step {
    Write(&'static str, u8),
    Link(&'static str),
    Remove(&'static str),
    Mode(&'static str, u32),
    GitAdd(&'static str),
    GitCommit,
    GitRemove(&'static str),
    GitRefresh,
    Checkpoint,
    OffBranch,
    Automatic,
    Tag,
    Restore(usize),
    RestoreFiles(usize),
    Undo,
    Redo,
}

fn step() -> impl Strategy<Value = Step> {
    let path = || select(&PATHS[..]);
    prop_oneof![
        6 => (path(), 0_u8..4).prop_map(|(path, content)| Step::Write(path, content)),
        1 => path().prop_map(Step::Link),
        2 => path().prop_map(Step::Remove),
        1 => (path(), select(&[0o600, 0o644, 0o755, 0o444][..])).prop_map(|(p, m)| Step::Mode(p, m)),
        2 => path().prop_map(Step::GitAdd),
        1 => Just(Step::GitCommit),
        1 => path().prop_map(Step::GitRemove),
        1 => Just(Step::GitRefresh),
        3 => Just(Step::Checkpoint),
        2 => Just(Step::OffBranch),
        1 => Just(Step::Automatic),
        1 => Just(Step::Tag),
        4 => (0_usize..6).prop_map(Step::Restore),
        2 => (0_usize..6).prop_map(Step::RestoreFiles),
        5 => Just(Step::Undo),
        3 => Just(Step::Redo),
    ]
}

/// What an operation changed, as git shows it.
#[derive(Clone)]
struct Change {
    before: Side,
    after: Side,
}

/// What undo compares and gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    head: String,
    refs: String,
    index: String,
}

impl From<State> for Side {
    fn from(state: State) -> Self {
        Side {
            head: state.head,
            refs: state.refs,
            index: state.index,
        }
    }
}

struct Machine {
    sandbox: Sandbox,
    done: Vec<Change>,
    undone: Vec<Change>,
}

impl Machine {
    fn new() -> Machine {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "*.log\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "ignore"]);
        Machine {
            sandbox,
            done: Vec::new(),
            undone: Vec::new(),
        }
    }

    fn take(&mut self, step: &Step) {
        let sandbox = &self.sandbox;
        match step {
            Step::Write(path, content) => self.edit(path, |sandbox, path| {
                sandbox.write(
                    path,
                    format!("{content}\n").repeat(usize::from(*content) + 1),
                );
            }),
            Step::Link(path) => self.edit(path, |sandbox, path| {
                let link = sandbox.path(path);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink("../elsewhere", link).unwrap();
            }),
            Step::Remove(path) => self.edit(path, |_, _| {}),
            Step::Mode(path, mode) => {
                if fs::symlink_metadata(sandbox.path(path)).is_ok_and(|m| m.is_file()) {
                    sandbox.set_mode(path, *mode);
                }
            }
            Step::GitAdd(path) => drop(sandbox.try_git(&["add", "--", path])),
            Step::GitRemove(path) => drop(sandbox.try_git(&["rm", "-qrf", "--cached", "--", path])),
            Step::GitCommit => drop(sandbox.try_git(&["commit", "-qm", "plain", "--allow-empty"])),
            Step::GitRefresh => drop(sandbox.try_git(&["status", "--porcelain"])),
            Step::Checkpoint => self.operate(&["checkpoint", "-m", "c"]),
            Step::OffBranch => self.operate(&["checkpoint", "--off-branch", "-m", "o"]),
            Step::Automatic => drop(sandbox.automatic_checkpoint()),
            Step::Tag => self.operate(&["tag", "-m", "t"]),
            Step::Restore(back) => self.operate(&["restore", "--force", &position(*back)]),
            Step::RestoreFiles(back) => {
                self.operate(&["restore", "--mode", "files", &position(*back)]);
            }
            Step::Undo => self.step_back(),
            Step::Redo => self.step_forward(),
        }
    }

    /// Clears the path, and what stands where its parents go, then acts on it.
    fn edit(&self, path: &str, act: impl Fn(&Sandbox, &str)) {
        for (at, _) in path.match_indices('/') {
            let parent = &path[..at];
            if fs::symlink_metadata(self.sandbox.path(parent)).is_ok_and(|m| !m.is_dir()) {
                self.sandbox.remove(parent);
            }
        }
        self.sandbox.remove(path);
        act(&self.sandbox, path);
    }

    /// Runs a changing command; if it was an operation, undoes and redoes it on the spot.
    fn operate(&mut self, args: &[&str]) {
        let before = self.sandbox.visible_state();
        let bytes_before = bytes(&self.sandbox);
        let count = self.operations();
        let run = self.sandbox.run(args);
        let after = self.sandbox.visible_state();
        if run.code != 0 {
            assert_eq!(
                before, after,
                "{args:?} failed and changed something: {}",
                run.stderr
            );
            return;
        }
        if self.operations() == count {
            assert_eq!(
                before, after,
                "{args:?} made no operation and changed something"
            );
            return;
        }
        let bytes_after = bytes(&self.sandbox);
        self.sandbox.colony(&["undo"]);
        assert_eq!(self.sandbox.visible_state(), before, "undo of {args:?}");
        assert_eq!(
            bytes(&self.sandbox),
            bytes_before,
            "undo of {args:?}, byte for byte"
        );
        self.sandbox.colony(&["redo"]);
        assert_eq!(self.sandbox.visible_state(), after, "redo of {args:?}");
        assert_eq!(
            bytes(&self.sandbox),
            bytes_after,
            "redo of {args:?}, byte for byte"
        );
        self.done.push(Change {
            before: before.into(),
            after: after.into(),
        });
        self.undone.clear();
    }

    fn step_back(&mut self) {
        let Some(change) = self.done.pop() else {
            assert_eq!(self.sandbox.error(&["undo"]), "nothing-to-undo");
            return;
        };
        if self.turn("undo", &change.after, &change.before) {
            self.undone.push(change);
        } else {
            self.done.push(change);
        }
    }

    fn step_forward(&mut self) {
        let Some(change) = self.undone.pop() else {
            assert_eq!(self.sandbox.error(&["redo"]), "nothing-to-undo");
            return;
        };
        if self.turn("redo", &change.before, &change.after) {
            self.done.push(change);
        } else {
            self.undone.push(change);
        }
    }

    /// Goes from one side to the other, or is refused because plain git moved something.
    fn turn(&mut self, command: &str, from: &Side, to: &Side) -> bool {
        let before = self.sandbox.visible_state();
        if Side::from(before.clone()) == *from {
            self.sandbox.colony(&[command]);
            assert_eq!(Side::from(self.sandbox.visible_state()), *to, "{command}");
            true
        } else {
            assert_eq!(self.sandbox.error(&[command]), "external-change");
            assert_eq!(
                self.sandbox.visible_state(),
                before,
                "{command} was refused"
            );
            false
        }
    }

    fn operations(&self) -> u64 {
        self.sandbox.json(&["ops"])["count"].as_u64().unwrap()
    }
}

fn position(back: usize) -> String {
    format!("@{{{back}}}")
}

/// The index file and every other file: bytes, modes, times.
fn bytes(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let mut found = sandbox.worktree();
    for (name, described) in &mut found {
        if described.starts_with("file") {
            let unescaped = name.replace("\\xc3\\xa9", "\u{e9}");
            let metadata = fs::symlink_metadata(sandbox.path(&unescaped)).unwrap();
            write!(
                described,
                " at {}.{}",
                metadata.mtime(),
                metadata.mtime_nsec()
            )
            .unwrap();
        }
    }
    let index = sandbox.path(".git/index");
    let metadata = fs::metadata(&index).unwrap();
    let time = format!("{}.{}", metadata.mtime(), metadata.mtime_nsec());
    let content = fs::read(&index).unwrap();
    found.insert(
        ".git/index".to_owned(),
        format!("{time} {}", content.escape_ascii()),
    );
    found
}

fn cases() -> u32 {
    if std::env::var_os("COLONY_TEST_LONG").is_some() {
        256
    } else {
        24
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_step_can_be_taken_back(steps in proptest::collection::vec(step(), 30)) {
        let mut machine = Machine::new();
        for step in &steps {
            machine.take(step);
        }
        let count = machine.operations();
        machine.sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
        machine.sandbox.git(&["gc", "-q", "--prune=now"]);
        machine.sandbox.check_invariants();
        prop_assert_eq!(machine.operations(), count, "gc lost an operation");
        for _ in 0..machine.done.len() {
            machine.step_back();
        }
        machine.sandbox.check_invariants();
    }
}
