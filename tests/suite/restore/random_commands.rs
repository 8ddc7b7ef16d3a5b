//! Thirty random commands, with plain git and careless edits between them, against a shadow model.
//!
//! What holds for every sequence: undo straight after a command gives back refs, HEAD, the index
//! file and the worktree byte for byte, times and modes included. Straight after plain git it steps
//! over what does not matter, refuses and changes nothing, or takes it back by force and brings it
//! back by redo; no content of a file is lost on the way. No garbage collection loses an operation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{Sandbox, State};

/// Paths that are each other's parents, ignored, tracked or not.
const PATHS: [&str; 8] =
    ["a.txt", "dir", "dir/b.txt", "dir/c/d", "ignored.log", "dir/c", "x y\u{e9}", "run.sh"];

#[derive(Clone, Debug)]
enum Step {
    Write(&'static str, u8),
    Link(&'static str),
    Remove(&'static str),
    Mode(&'static str, u32),
    Git(Plain, Look),
    GitRefresh,
    Checkpoint,
    OffBranch,
    Automatic,
    Tag,
    Restore(usize),
    RestoreFiles(usize),
    RestoreFork(usize),
    Fork(&'static str),
    DeleteFork(&'static str),
    Merge(&'static str, &'static [&'static str]),
    Pick(&'static str),
    Undo,
    ForceUndo,
    Redo,
}

/// What plain git does.
#[derive(Clone, Copy, Debug)]
enum Plain {
    Add(&'static str),
    Remove(&'static str),
    Commit,
    CommitAll,
    Amend,
    NewBranch(&'static str),
    Switch(&'static str),
    Merge(&'static str),
    Reset(&'static str, u8),
    Stash,
    MoveOther(&'static str),
    Tag,
}

/// Whether it is taken back on the spot, or added to what comes next.
#[derive(Clone, Copy, Debug)]
enum Look {
    Now,
    Later,
}

/// What taking it back does to the files of paths that the index has otherwise than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    /// Nothing.
    Stay,
    /// They are what the index says.
    Follow,
    /// One or the other.
    Either,
}

impl Plain {
    /// Runs it, and says what is to be expected of taking it back.
    fn run(self, sandbox: &Sandbox) -> Files {
        let files = self.files(sandbox);
        let commit = ["commit", "-qm", "plain", "--allow-empty"];
        let back;
        let args: &[&str] = match self {
            Plain::Add(path) => &["add", "--", path],
            Plain::Remove(path) => &["rm", "-qrf", "--cached", "--", path],
            Plain::Commit => &commit,
            Plain::CommitAll => &["commit", "-qam", "plain, all"],
            Plain::Amend => &["commit", "-q", "--amend", "-m", "amended"],
            Plain::NewBranch(name) => &["checkout", "-qb", name],
            Plain::Switch(name) => &["switch", "-q", name],
            Plain::Merge(name) => &["merge", "-q", "--no-edit", name],
            Plain::Reset(mode, count) => {
                back = format!("HEAD~{count}");
                &["reset", "-q", mode, &back]
            }
            Plain::Stash => &["stash", "push", "-q"],
            Plain::MoveOther(name) => &["branch", "-f", name, "HEAD~1"],
            Plain::Tag => &["tag", "-f", "plain"],
        };
        if !sandbox.try_git(args) && matches!(self, Plain::Merge(_)) {
            sandbox.try_git(&["merge", "--abort"]);
        }
        files
    }

    /// Says what is to be expected, before it runs.
    fn files(self, sandbox: &Sandbox) -> Files {
        let removes = |path: &str| !sandbox.git(&["ls-files", "--deleted", "--", path]).is_empty();
        match self {
            // Whether the user or git has removed a file that is no longer in the index, nobody can tell.
            Plain::Add(path) if removes(path) => Files::Either,
            Plain::CommitAll if removes(".") => Files::Either,
            Plain::Switch(_) | Plain::Merge(_) | Plain::Reset("--hard", _) | Plain::Stash => {
                Files::Follow
            }
            // Files may happen to be what the commit holds that it goes back to.
            Plain::Reset("--mixed", _) => Files::Either,
            _ => Files::Stay,
        }
    }
}

fn plain() -> impl Strategy<Value = Plain> {
    let path = || select(&PATHS[..]);
    let branch = || select(&["main", "b0", "b1"][..]);
    let mode = || select(&["--soft", "--mixed", "--hard"][..]);
    prop_oneof![
        3 => path().prop_map(Plain::Add),
        1 => path().prop_map(Plain::Remove),
        1 => Just(Plain::Commit),
        2 => Just(Plain::CommitAll),
        1 => Just(Plain::Amend),
        2 => branch().prop_map(Plain::NewBranch),
        3 => branch().prop_map(Plain::Switch),
        2 => branch().prop_map(Plain::Merge),
        3 => (mode(), 0_u8..3).prop_map(|(mode, count)| Plain::Reset(mode, count)),
        1 => Just(Plain::Stash),
        1 => branch().prop_map(Plain::MoveOther),
        1 => Just(Plain::Tag),
    ]
}

/// How a conflict is met.
const MERGES: &[&[&str]] = &[&[], &["--squash"], &["--ours", "."], &["--both", "."]];

fn line() -> impl Strategy<Value = &'static str> {
    select(&["main", "b0", "b1", "fork/f0", "fork/f1"][..])
}

fn step() -> impl Strategy<Value = Step> {
    let path = || select(&PATHS[..]);
    let look = || select(&[Look::Now, Look::Now, Look::Later][..]);
    prop_oneof![
        8 => (path(), 0_u8..4).prop_map(|(path, content)| Step::Write(path, content)),
        1 => path().prop_map(Step::Link),
        2 => path().prop_map(Step::Remove),
        1 => (path(), select(&[0o600, 0o644, 0o755, 0o444][..])).prop_map(|(p, m)| Step::Mode(p, m)),
        9 => (plain(), look()).prop_map(|(plain, look)| Step::Git(plain, look)),
        1 => Just(Step::GitRefresh),
        3 => Just(Step::Checkpoint),
        2 => Just(Step::OffBranch),
        1 => Just(Step::Automatic),
        1 => Just(Step::Tag),
        4 => (0_usize..6).prop_map(Step::Restore),
        2 => (0_usize..6).prop_map(Step::RestoreFiles),
        1 => (0_usize..6).prop_map(Step::RestoreFork),
        2 => select(&["f0", "f1"][..]).prop_map(Step::Fork),
        1 => select(&["f0", "f1"][..]).prop_map(Step::DeleteFork),
        3 => (line(), select(MERGES)).prop_map(|(name, options)| Step::Merge(name, options)),
        2 => line().prop_map(Step::Pick),
        4 => Just(Step::Undo),
        2 => Just(Step::ForceUndo),
        3 => Just(Step::Redo),
    ]
}

/// What an operation changed, as git shows it.
#[derive(Clone)]
struct Change {
    before: Side,
    after: Side,
    /// What taking it back does to files, if plain git did it.
    external: Option<Files>,
    /// The worktree before redo did again what plain git had done: what redo moved aside comes back.
    redone: Option<BTreeMap<String, String>>,
}

/// What undo compares and gives back.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    head: String,
    commit: String,
    index: String,
}

impl Side {
    fn of(sandbox: &Sandbox) -> Side {
        let state = sandbox.visible_state();
        Side { head: state.head, commit: sandbox.head_commit(), index: state.index }
    }
}

struct Machine {
    sandbox: Sandbox,
    done: Vec<Change>,
    undone: Vec<Change>,
    /// What the newest operation left.
    left: Option<Side>,
    /// What plain git did since does to files.
    since: Vec<Files>,
}

impl Machine {
    fn new() -> Machine {
        let sandbox = Sandbox::new();
        sandbox.write(".gitignore", "*.log\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", "ignore"]);
        Machine { sandbox, done: Vec::new(), undone: Vec::new(), left: None, since: Vec::new() }
    }

    fn take(&mut self, step: &Step) {
        if !matches!(step, Step::Git(..)) {
            // After edits one can no longer tell a hard reset from a mixed one.
            for files in self.since.iter_mut().filter(|files| **files == Files::Follow) {
                *files = Files::Either;
            }
        }
        let sandbox = &self.sandbox;
        match step {
            Step::Write(path, content) => self.edit(path, |sandbox, path| {
                sandbox.write(path, format!("{content}\n").repeat(usize::from(*content) + 1));
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
            Step::Git(plain, look) => {
                self.since.push(plain.run(sandbox));
                if !self.strayed() {
                    self.since.clear();
                }
                if matches!(look, Look::Now) {
                    self.look();
                }
            }
            Step::GitRefresh => drop(sandbox.try_git(&["status", "--porcelain"])),
            Step::Checkpoint => self.operate(&["checkpoint", "-m", "c"]),
            Step::OffBranch => self.operate(&["checkpoint", "--off-branch", "-m", "o"]),
            Step::Automatic => drop(sandbox.automatic_checkpoint()),
            Step::Tag => self.operate(&["tag", "-m", "t"]),
            Step::Restore(back) => self.operate(&["restore", "--force", &position(*back)]),
            Step::RestoreFiles(back) => {
                self.operate(&["restore", "--mode", "files", &position(*back)]);
            }
            Step::RestoreFork(back) => {
                self.operate(&["restore", "--mode", "fork", &position(*back)]);
            }
            Step::Fork(label) => self.operate(&["fork", label]),
            Step::DeleteFork(label) => self.operate(&["forks", "delete", label, "--force"]),
            Step::Merge(name, options) => {
                self.operate(&[&["merge", name, "--into", "HEAD"], *options].concat());
            }
            Step::Pick(name) => self.operate(&["cherry-pick", name]),
            Step::Undo => self.step_back(),
            Step::ForceUndo => drop(self.force_back()),
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

    /// Tells whether something changed that the newest operation does not know.
    fn strayed(&self) -> bool {
        let left = self.left.as_ref();
        left.is_some_and(|left| *left != Side::of(&self.sandbox))
    }

    /// Tells whether HEAD is back at a branch that got commits elsewhere: to an undo they are a step, once it
    /// comes to what was done on that branch before.
    fn has_gap(&self) -> bool {
        let next = self.done.last().filter(|next| next.before != next.after);
        next.is_some_and(|next| !self.strayed() && next.after != Side::of(&self.sandbox))
    }

    /// Straight after plain git: an undo steps over what it did, or refuses until it is forced.
    fn look(&mut self) {
        if !self.strayed() {
            if self
                .done
                .last()
                // One whose branch has moved is refused: then there is nothing to bring back.
                .is_some_and(|change| change.external.is_none() && !self.home_moved(change))
                && !self.has_gap()
            {
                let (state, bytes_now) = (self.sandbox.visible_state(), bytes(&self.sandbox));
                self.step_back();
                self.step_forward();
                assert_eq!(self.sandbox.visible_state(), state, "stepped over");
                assert_eq!(bytes(&self.sandbox), bytes_now, "stepped over, byte for byte");
            }
            return;
        }
        self.refused("undo");
        let (state, bytes_now) = (self.sandbox.visible_state(), bytes(&self.sandbox));
        if !self.force_back() {
            return;
        }
        self.step_forward();
        assert_eq!(self.sandbox.visible_state(), state, "redo of plain git");
        assert_eq!(bytes(&self.sandbox), bytes_now, "redo of plain git, byte for byte");
    }

    fn refused(&self, command: &str) {
        let (before, bytes_before) = (self.sandbox.visible_state(), bytes(&self.sandbox));
        let count = self.operations();
        assert_eq!(self.sandbox.error(&[command]), "external-change");
        assert_eq!(self.sandbox.visible_state(), before, "{command} was refused");
        assert_eq!(bytes(&self.sandbox), bytes_before, "{command} was refused");
        assert_eq!(self.operations(), count, "{command} was refused");
    }

    /// Runs a changing command; if it was an operation, undoes and redoes it on the spot.
    fn operate(&mut self, args: &[&str]) {
        let before = self.sandbox.visible_state();
        let side_before = Side::of(&self.sandbox);
        let bytes_before = bytes(&self.sandbox);
        let (strayed, count) = (self.strayed(), self.operations());
        let run = self.sandbox.run(args);
        let after = self.sandbox.visible_state();
        let mut made = self.operations() - count;
        if made > 0 && strayed {
            made -= 1;
            let recorded = Change {
                before: self.left.replace(side_before.clone()).unwrap(),
                after: side_before.clone(),
                external: Some(self.files_since()),
                redone: None,
            };
            self.done.push(recorded);
            self.undone.clear();
            self.since.clear();
        }
        assert!(made <= 1, "{args:?} recorded a change that there was not");
        if run.code != 0 || made == 0 {
            assert_eq!(before, after, "{args:?} changed something: {}", run.stderr);
            return;
        }
        let bytes_after = bytes(&self.sandbox);
        let side_after = Side::of(&self.sandbox);
        self.sandbox.colony(&["undo"]);
        assert_eq!(self.sandbox.visible_state(), before, "undo of {args:?}");
        assert_eq!(bytes(&self.sandbox), bytes_before, "undo of {args:?}, byte for byte");
        self.sandbox.colony(&["redo"]);
        assert_eq!(self.sandbox.visible_state(), after, "redo of {args:?}");
        assert_eq!(bytes(&self.sandbox), bytes_after, "redo of {args:?}, byte for byte");
        self.done.push(Change {
            before: side_before,
            after: side_after.clone(),
            external: None,
            redone: None,
        });
        self.undone.clear();
        self.left = Some(side_after);
        self.since.clear();
    }

    fn step_back(&mut self) {
        let external = self.done.last().is_some_and(|change| change.external.is_some());
        if self.strayed() || external || self.has_gap() {
            self.refused("undo");
            return;
        }
        let Some(change) = self.done.pop() else {
            assert_eq!(self.sandbox.error(&["undo"]), "nothing-to-undo");
            return;
        };
        if self.home_moved(&change) {
            self.done.push(change);
            self.refused("undo");
            return;
        }
        self.turn(&["undo"], &change.before);
        self.undone.push(change);
    }

    /// Tells whether the branch that HEAD would come back to is no longer where it was left.
    fn home_moved(&self, change: &Change) -> bool {
        let home = change.before.head.trim().strip_prefix("ref: ");
        let stays = change.before.head == change.after.head;
        home.filter(|_| !stays).is_some_and(|home| {
            let now = self.sandbox.git_any(&["rev-parse", "--verify", "-q", home]);
            now.trim() != change.before.commit
        })
    }

    /// Tells whether the branch that HEAD would come back to got commits elsewhere since the newest
    /// operation left it: they stay.
    fn home_grew(&self, change: &Change) -> bool {
        let Some(home) = change.before.head.trim().strip_prefix("ref: ") else {
            return false;
        };
        if change.before.head == change.after.head || !self.home_moved(change) {
            return false;
        }
        let more = format!("{}..{home}", change.before.commit.trim());
        let grew = self.sandbox.git_any(&["rev-list", "-1", &more]);
        // What plain git did to it before HEAD left it is part of the change.
        let planned = self.sandbox.json(&["undo", "--force", "--dry-run"]);
        let moves = planned["refs"].as_array().into_iter().flatten();
        !grew.trim().is_empty() && !moves.into_iter().any(|moved| moved["name"] == home)
    }

    /// Takes back what plain git did, or the newest operation; returns whether that was done.
    fn force_back(&mut self) -> bool {
        let unrecorded = if self.strayed() {
            self.left.clone().map(|left| (left, self.files_since()))
        } else {
            let next = self.done.last().filter(|_| self.has_gap());
            next.map(|next| (next.after.clone(), Files::Either))
        };
        if let Some((before, files)) = unrecorded {
            self.done.push(Change {
                before,
                after: Side::of(&self.sandbox),
                external: Some(files),
                redone: None,
            });
            self.undone.clear();
        }
        let Some(change) = self.done.pop() else {
            assert_eq!(self.sandbox.error(&["undo", "--force"]), "nothing-to-undo");
            return false;
        };
        if self.home_grew(&change) {
            return self.switch_home(change);
        }
        let (before, other_refs) = (self.sandbox.visible_state(), self.other_refs(&change));
        self.turn(&["undo", "--force"], &change.before);
        if let Some(files) = change.external {
            assert_eq!(self.other_refs(&change), other_refs, "refs of others");
            self.check_files(&change, &before, files);
        }
        self.undone.push(change);
        true
    }

    /// Goes back to a branch that got commits elsewhere: as `git switch` does, or not at all.
    fn switch_home(&mut self, mut change: Change) -> bool {
        let (before, refs) = (self.sandbox.visible_state(), self.sandbox.refs());
        let staged = |sandbox: &Sandbox| -> BTreeSet<String> {
            let listed = sandbox.git(&["diff", "--cached", "--name-only", "--no-renames"]);
            listed.lines().map(str::to_owned).collect()
        };
        let (had, staged_before) = (contents(&before.worktree), staged(&self.sandbox));
        let run = self.sandbox.run(&["undo", "--force"]);
        if run.code != 0 {
            assert_eq!(self.sandbox.visible_state(), before, "{}", run.stderr);
            self.done.push(change);
            return false;
        }
        let side = Side::of(&self.sandbox);
        assert_eq!(side.head, change.before.head, "HEAD comes back");
        assert_eq!(self.sandbox.refs(), refs, "commits of others stay");
        assert!(staged(&self.sandbox).is_subset(&staged_before));
        self.nothing_is_lost(&had, "undo --force");
        change.before = side.clone();
        self.left = Some(side);
        self.since.clear();
        self.undone.push(change);
        true
    }

    fn files_since(&self) -> Files {
        match &self.since[..] {
            [one] => *one,
            _ => Files::Either,
        }
    }

    fn step_forward(&mut self) {
        if !self.undone.is_empty() && self.strayed() {
            self.refused("redo");
            return;
        }
        // The branch that HEAD would go on to is no longer where it was left; one that the undo has
        // taken away comes back.
        if self.undone.last().is_some_and(|change| {
            let branch = change.after.head.trim().trim_start_matches("ref: ");
            let there = self.sandbox.try_git(&["rev-parse", "--verify", "-q", branch]);
            let back = Change {
                before: change.after.clone(),
                after: change.before.clone(),
                external: None,
                redone: None,
            };
            there && self.home_moved(&back)
        }) {
            self.refused("redo");
            return;
        }
        let Some(mut change) = self.undone.pop() else {
            let error = self.sandbox.error(&["redo"]);
            let known = ["nothing-to-undo", "external-change"];
            assert!(known.contains(&error.as_str()), "{error}");
            return;
        };
        change.redone = Some(self.sandbox.worktree());
        self.turn(&["redo"], &change.after);
        self.done.push(change);
    }

    /// Goes to one side of a change, and loses nothing on the way.
    fn turn(&mut self, command: &[&str], to: &Side) {
        let had = contents(&self.sandbox.worktree());
        let refused = self.sandbox.json(command)["code"].as_str().map(str::to_owned);
        if let Some(code) = refused {
            // Plain git has deleted or reset what only this checkpoint has.
            assert_eq!(code, "checkpoint-needed", "{command:?}");
            self.sandbox.colony(&[command, &["--force"]].concat());
        }
        assert_eq!(Side::of(&self.sandbox), *to, "{command:?}");
        self.nothing_is_lost(&had, &command.join(" "));
        self.left = Some(to.clone());
        self.since.clear();
    }

    /// Every content that there was is in the worktree, or kept.
    fn nothing_is_lost(&self, had: &BTreeSet<String>, command: &str) {
        let mut has = contents(&self.sandbox.worktree());
        has.extend(contents(&crate::support::worktree_of(&self.sandbox.path(".git/colony-kept"))));
        let lost: Vec<_> = had.difference(&has).collect();
        assert!(lost.is_empty(), "{command} lost {lost:?}");
    }

    /// Every ref but the branch that HEAD was on, and what operations do to tags.
    fn other_refs(&self, change: &Change) -> Vec<String> {
        let branch = change.before.head.trim().trim_start_matches("ref: ");
        let refs = self.sandbox.refs();
        let others = refs.lines().filter(|line| line.split(' ').next() != Some(branch));
        others.map(str::to_owned).collect()
    }

    /// Compares the files after plain git was taken back with what they were before that.
    fn check_files(&self, change: &Change, before: &State, files: Files) {
        let now = self.sandbox.worktree();
        if files == Files::Stay {
            assert_eq!(now, before.worktree, "no file moves");
            return;
        }
        let differs = |path: &str| {
            let entry = |index: &str| {
                let wanted = format!("\t{path}");
                let found = index.lines().find(|line| line.ends_with(&wanted));
                found.map(str::to_owned)
            };
            entry(&change.before.index) != entry(&change.after.index)
        };
        let unlike = self.unlike_the_index();
        for path in PATHS {
            let known = if path.is_ascii() { path } else { "\"x y\\303\\251\"" };
            let name = path.replace('\u{e9}', "\\xc3\\xa9");
            let stayed = files_at(&now, &name) == files_at(&before.worktree, &name);
            if !differs(known) {
                assert!(
                    stayed || now.keys().any(|other| is_above_or_below(other, &name)),
                    "{path} is none of its business"
                );
                continue;
            }
            let tracked = change.before.index.contains(&format!("\t{known}"));
            let followed = if tracked {
                !unlike.iter().any(|line| line == known)
            } else {
                now.get(&name).is_none_or(|found| found.starts_with("directory"))
            };
            let came_back = change
                .redone
                .as_ref()
                .is_some_and(|redone| files_at(&now, &name) == files_at(redone, &name));
            assert!(
                followed || came_back || (stayed && files == Files::Either),
                "{path}: {:?} -> {:?}",
                before.worktree.get(&name),
                now.get(&name)
            );
        }
    }

    /// Lists the tracked paths whose files are not what the index says. Unlike `git diff`, it leaves
    /// the index file alone.
    fn unlike_the_index(&self) -> Vec<String> {
        let status = self.sandbox.git(&[
            "--no-optional-locks",
            "status",
            "--porcelain",
            "--no-renames",
            "--untracked-files=no",
        ]);
        let lines = status.lines().filter(|line| !line[1..].starts_with(' '));
        lines.map(|line| line[3..].to_owned()).collect()
    }

    fn operations(&self) -> u64 {
        self.sandbox.json(&["ops"])["count"].as_u64().unwrap()
    }
}

fn is_above_or_below(one: &str, other: &str) -> bool {
    one.starts_with(&format!("{other}/")) || other.starts_with(&format!("{one}/"))
}

/// What stands at a path if it is no directory.
fn files_at<'a>(worktree: &'a BTreeMap<String, String>, path: &str) -> Option<&'a String> {
    let found = worktree.get(path);
    found.filter(|found| !found.starts_with("directory"))
}

/// The contents of all files, whatever their names.
fn contents(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let files = files.values().filter(|found| found.starts_with("file"));
    let content = |found: &String| found.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
    files.map(content).collect()
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
            write!(described, " at {}.{}", metadata.mtime(), metadata.mtime_nsec()).unwrap();
        }
    }
    let index = sandbox.path(".git/index");
    let metadata = fs::metadata(&index).unwrap();
    let time = format!("{}.{}", metadata.mtime(), metadata.mtime_nsec());
    let content = fs::read(&index).unwrap();
    found.insert(".git/index".to_owned(), format!("{time} {}", content.escape_ascii()));
    found
}

fn cases() -> u32 {
    if std::env::var_os("COLONY_TEST_LONG").is_some() { 256 } else { 24 }
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
        while machine.strayed() || !machine.done.is_empty() {
            if !machine.force_back() {
                break;
            }
        }
        machine.sandbox.check_invariants();
    }
}
