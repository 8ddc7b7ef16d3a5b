//! Strikes one command at one call after the other until it gets through, and judges each time what
//! is left.

use std::collections::BTreeMap;

use super::command::{ChangingCommand, History};
use super::fault::{self, Blow, Fault, Struck};
use super::repository::Repository;
use super::state::{self, AUTOMATIC, OPERATIONS, State, Treasures};
use super::table;

/// The calls of the program by which it changes what others can see, or makes it last.
const CHANGING_CALLS: &[&str] = &[
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "fsync",
    "fdatasync",
    "syncfs",
    "mkdir",
    "mkdirat",
    "rmdir",
    "write",
    "ftruncate",
];

/// The calls by which the program opens, reads and lists.
const CALLS_OF_READING: &[&str] = &["openat", "read", "getdents64", "statx", "readlink"];

/// The calls at which git dies: as it reads `prepare` or `commit`, or waits for them, as it answers,
/// and at each step of taking, filling, using and removing its locks.
const CALLS_OF_GIT: &[&str] = &["read", "write", "openat", "rename", "unlink", "mkdir", "rmdir"];

/// The calls at which any git dies: as it changes something, as it answers, and as it ends.
const CALLS_OF_ANY_GIT: &[&str] =
    &["rename", "link", "unlink", "mkdir", "rmdir", "fsync", "write", "exit_group"];

/// The calls at which git-lfs dies: before a hook is there, and while it is empty.
const CALLS_OF_LFS: &[&str] = &["openat", "write"];

/// How many of the moments are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Every one.
    Every,
    /// Every third; in the long form every one.
    EveryThird,
    /// Every fifth; in the long form every one.
    EveryFifth,
    /// Hardly more than the first of each call; in the long form every fifth.
    Sampled,
}

/// Kills the program at every call that changes something.
pub(crate) fn kill(command: &ChangingCommand, depth: Depth) {
    run(command, Blow::Kill, CHANGING_CALLS, depth);
}

/// Kills the program at every such call, and its user goes on before anything recovers.
pub(crate) fn kill_and_work_on(command: &ChangingCommand, depth: Depth) {
    run(command, Blow::KillAndWorkOn, CHANGING_CALLS, depth);
}

/// Kills the program at every such call, and its user runs the very command again.
pub(crate) fn kill_and_repeat(command: &ChangingCommand, depth: Depth) {
    run(command, Blow::KillAndRepeat, CHANGING_CALLS, depth);
}

/// Kills the program at every such call, and its git with it.
pub(crate) fn kill_both(command: &ChangingCommand, depth: Depth) {
    run(command, Blow::KillBoth, CHANGING_CALLS, depth);
}

/// Kills the git that moves the refs.
pub(crate) fn kill_git(command: &ChangingCommand, depth: Depth) {
    run(command, Blow::KillGit, CALLS_OF_GIT, depth);
}

/// Kills each git that does not move the refs, one after the other.
pub(crate) fn kill_any_git(command: &ChangingCommand, depth: Depth) {
    run(command, Blow::KillAnyGit, CALLS_OF_ANY_GIT, depth);
}

/// How many moments of a command the short form tries with a whole group.
const MOST_IN_SHORT: usize = 10;

/// Kills the program and its git together, at the calls of each git that moves refs or HEAD.
pub(crate) fn kill_group(command: &ChangingCommand) {
    fault::require_strace();
    let stage = Stage::set(command);
    let moments = fault::moments_of_a_group(&stage.fresh(), command);
    assert!(!moments.is_empty(), "'{}' moves nothing", command.name);
    let (mut rows, mut problems) = (BTreeMap::<_, table::Row>::new(), Vec::new());
    for fault in moments.iter().step_by(stride_of_a_group(moments.len())) {
        let row = rows.entry(fault.call).or_default();
        stage.strike(fault, row, &mut problems);
    }
    for (call, row) in rows {
        table::note(command, Blow::KillGroup, call, row);
    }
    require_no_problems(command, &problems);
}

/// Spreads the moments that are tried over all there are.
pub(crate) fn stride_of_a_group(moments: usize) -> usize {
    if is_long() { 1 } else { moments.div_ceil(MOST_IN_SHORT) }
}

/// Kills the program at each of its writes, and its git with it.
pub(crate) fn kill_both_at_writes(command: &ChangingCommand) {
    run(command, Blow::KillBoth, &["write"], Depth::Every);
}

/// Kills git-lfs as it writes its hooks.
pub(crate) fn kill_lfs(command: &ChangingCommand) {
    run(command, Blow::KillLfs, CALLS_OF_LFS, Depth::Every);
}

/// Lets one call after the other fail.
pub(crate) fn fail(command: &ChangingCommand, error: &'static str, call: &'static str) {
    run(command, Blow::Fail(error), &[call], Depth::Every);
}

/// Lets the calls of every kind fail, one after the other: those that change something, and those that
/// open and list files.
pub(crate) fn fail_anywhere(command: &ChangingCommand, error: &'static str) {
    let calls = [CHANGING_CALLS, CALLS_OF_READING].concat();
    run(command, Blow::FailAnywhere(error), &calls, Depth::Sampled);
}

/// Lets the calls that read one file fail, one after the other.
pub(crate) fn fail_to_read(command: &ChangingCommand, file: &'static str) {
    run(command, Blow::FailOf(file), CALLS_OF_READING, Depth::Every);
}

fn run(command: &ChangingCommand, blow: Blow, calls: &[&'static str], depth: Depth) {
    fault::require_strace();
    let stage = Stage::set(command);
    let (mut total, mut problems) = (0, Vec::new());
    for call in fault::calls_made(&stage.fresh(), command, blow, calls) {
        let mut row = table::Row::default();
        for at in (1..).step_by(depth.stride()) {
            let fault = Fault { blow, call, at };
            if !stage.strike(&fault, &mut row, &mut problems) {
                break;
            }
            total += 1;
        }
        table::note(command, blow, call, row);
    }
    assert!(total > 0, "'{}' never made one of {calls:?}", command.name);
    require_no_problems(command, &problems);
}

fn require_no_problems(command: &ChangingCommand, problems: &[String]) {
    let (count, problems) = (problems.len(), problems.join("\n\n"));
    assert!(count == 0, "{count} problems with '{}'\n\n{problems}", command.name);
}

impl Depth {
    fn stride(self) -> usize {
        match self {
            Depth::EveryThird if !is_long() => 3,
            Depth::EveryFifth if !is_long() => 5,
            Depth::Sampled if is_long() => 5,
            Depth::Sampled => 40,
            Depth::Every | Depth::EveryThird | Depth::EveryFifth => 1,
        }
    }
}

/// Tells whether the long form was asked for, as `tests/run --long` does.
pub(crate) fn is_long() -> bool {
    std::env::var_os("COLONY_TEST_LONG").is_some_and(|value| value == "1")
}

/// Which of the two allowed ends a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// All is as before the command.
    Before,
    /// All is as after the command.
    After,
}

/// What recovers: the next changing command, whichever it is.
const RECOVER: &[&str] = &["checkpoint", "--auto"];

/// Returns the files that a command says it cannot read, and so leaves as they are.
fn left_out(said: &str) -> Vec<&str> {
    let warnings = said.lines().filter_map(|line| {
        let rest = line.strip_prefix("warning: cannot read '")?;
        Some(rest.split_once("', which is left out")?.0)
    });
    warnings.collect()
}

/// A command with the repository it is tried on, and what that has to look like at the end.
struct Stage<'a> {
    command: &'a ChangingCommand,
    template: Repository,
    before: State,
    after: State,
    /// What is around it when the command is done.
    settings: State,
    /// What was around it before git-colony.
    before_colony: State,
    treasures: Treasures,
}

impl<'a> Stage<'a> {
    fn set(command: &'a ChangingCommand) -> Stage<'a> {
        let template = command.scene.build();
        let (untouched, done) = (copy_of(&template, command), copy_of(&template, command));
        let end = done.try_to_end(command.args, command.exit_code);
        end.unwrap_or_else(|problem| panic!("{problem}"));
        Stage {
            command,
            before: State::of(&untouched),
            after: State::of(&done),
            settings: State::of_settings(&done).with_sorted_configuration(),
            before_colony: match command.history {
                History::TakingOut => State::of_settings(&command.scene.before_colony()),
                _ => State::of_settings(&untouched),
            },
            treasures: match command.history {
                History::Pruning | History::TakingOut => Treasures::of_worktree(&template),
                _ => Treasures::of_worktree_and_kept_files(&template),
            },
            template,
        }
    }

    fn fresh(&self) -> Repository {
        copy_of(&self.template, self.command)
    }

    /// Strikes a fresh repository once and judges it; tells whether it came to that.
    fn strike(&self, fault: &Fault, row: &mut table::Row, problems: &mut Vec<String>) -> bool {
        let repository = self.fresh();
        let struck = fault.strike(&repository, self.command);
        match self.judge(&repository, fault.blow, &struck) {
            Ok(side) if struck.happened => row.count(side),
            Ok(_) => {}
            Err(problem) => {
                problems.push(format!("{fault}: {problem}\n  it said: {}", struck.said));
            }
        }
        struck.happened
    }

    /// Recovers what was killed, then checks every promise.
    fn judge(&self, repository: &Repository, blow: Blow, struck: &Struck) -> Result<Side, String> {
        if struck.happened
            && blow == Blow::KillAndWorkOn
            && let Some(side) = self.judge_later_work(repository)?
        {
            return Ok(side);
        }
        if struck.happened && blow == Blow::KillAndRepeat {
            return self.judge_repetition(repository);
        }
        if struck.happened && struck.locks_unknown {
            // A git that moves refs of its own accord leaves its locks; nobody can prove whose they are,
            // so they are reported, and removed by hand.
            state::remove_locks_on_refs(repository);
        }
        if matches!(self.command.history, History::SettingUp | History::TakingOut) {
            let lacking = state::hook_that_filters_lack(repository);
            require_none("a push would leave objects out", lacking.as_slice())?;
        }
        if self.command.history == History::TakingOut {
            return self.judge_taking_out(repository, struck);
        }
        // What it says it cannot clean up the next command does, too; so it does what could not be seen.
        let is_left = struck.said.contains("cannot clean up")
            || matches!(blow, Blow::FailAnywhere(_) | Blow::FailOf(_));
        if struck.happened && (blow.kills_the_program() || is_left) {
            repository.try_colony(RECOVER)?;
        }
        repository.try_git(&["fsck", "--strict", "--no-dangling"])?;
        require_none("left behind", &state::leftovers(repository))?;
        let left = match blow {
            Blow::FailAnywhere(_) => left_out(&struck.said),
            _ => Vec::new(),
        };
        let side = self.side_but_for(&left, &State::of(repository))?;
        require_none("lost", &self.treasures.missing(repository))?;
        let done = self.command.exit_code;
        match struck.exit_code {
            Some(code) if code == done && side == Side::Before => {
                return Err("it claims success".to_owned());
            }
            Some(0) if self.command.history == History::SettingUp => {
                let found = State::of_settings(repository).with_sorted_configuration();
                let differences = self.settings.differences(&found, &[]);
                require_none("it claims success", &differences)?;
            }
            // With its git dead it may fail although it was not struck itself.
            Some(code) if code != done && !struck.happened && blow != Blow::KillBoth => {
                return Err("it fails all by itself".to_owned());
            }
            _ => {}
        }
        self.go_on(repository, side)?;
        Ok(side)
    }

    /// Commits by plain git, and checks that nothing of that is taken back.
    ///
    /// `None` when the lock of the dead command keeps git from taking half of its work for the
    /// whole: then the user removes that lock, as git advises.
    fn judge_later_work(&self, repository: &Repository) -> Result<Option<Side>, String> {
        let found = State::of(repository);
        let commit = ["commit", "--quiet", "--all", "--allow-empty", "-m", "later"];
        if repository.try_git(&commit).is_err() {
            repository.remove(".git/index.lock");
            return Ok(None);
        }
        let side = self.side(&found)?;
        let later = State::of(repository);
        repository.try_colony(RECOVER)?;
        let touched = later.differences(&State::of(repository), &[AUTOMATIC]);
        require_none("later work was touched", &touched)?;
        Ok(Some(side))
    }

    /// Runs the command again, which ends where one run does: it completes what was cut off, or begins anew,
    /// and takes no second step. Only what was whole already, but for its answer, is not run again: another
    /// command clears up.
    fn judge_repetition(&self, repository: &Repository) -> Result<Side, String> {
        let is_left = repository.root.join(".git/colony/pending").exists();
        if is_left || self.side(&State::of(repository))? == Side::Before {
            repository.try_to_end(self.command.args, self.command.exit_code)?;
        } else {
            repository.try_colony(RECOVER)?;
        }
        if self.side(&State::of(repository))? == Side::Before {
            return Err("run again, it does nothing".to_owned());
        }
        repository.try_git(&["fsck", "--strict", "--no-dangling"])?;
        require_none("left behind", &state::leftovers(repository))?;
        require_none("lost", &self.treasures.missing(repository))?;
        Ok(Side::After)
    }

    fn side(&self, found: &State) -> Result<Side, String> {
        self.side_but_for(&[], found)
    }

    /// A file that could not be read stays as it is, also where the rest is as after the command.
    fn side_but_for(&self, left: &[&str], found: &State) -> Result<Side, String> {
        let free: &[&str] = match self.command.history {
            // The next command, which recovers, makes one itself.
            History::Operation | History::SettingUp | History::TakingOut => &[AUTOMATIC],
            History::Automatic => &[],
            // Each may be there or gone.
            // So may what plain git did be recorded, and not yet taken back.
            History::Pruning | History::Recording => &[OPERATIONS, AUTOMATIC],
        };
        let before = self.before.differences(found, free);
        let mut after = self.after.differences(found, free);
        after.retain(|difference| {
            let stays = |path: &&str| {
                difference.starts_with(&format!("file {path}: + "))
                    || *difference == format!("status: + ?? {path}")
            };
            !left.iter().any(stays)
        });
        if after.is_empty() {
            return Ok(Side::After);
        }
        if before.is_empty() {
            return Ok(Side::Before);
        }
        let (before, after) = (before.join("\n    "), after.join("\n    "));
        Err(format!("neither as before\n    {before}\n  nor as after\n    {after}"))
    }

    /// What did not happen can be done again, and so can what happened in part; after the rest life
    /// goes on.
    fn go_on(&self, repository: &Repository, side: Side) -> Result<(), String> {
        let history = self.command.history;
        let is_repeatable = matches!(history, History::Pruning | History::SettingUp);
        if side == Side::After && !is_repeatable {
            return repository.try_colony(&["status"]);
        }
        repository.try_to_end(self.command.args, self.command.exit_code)?;
        let differences = self.after.differences(&State::of(repository), &[AUTOMATIC]);
        require_none("run again, it does something else", &differences)?;
        if history == History::SettingUp {
            let found = State::of_settings(repository).with_sorted_configuration();
            let differences = self.settings.differences(&found, &[]);
            require_none("run again, it sets something else up", &differences)?;
            repository.try_colony(&["deinit"])?;
            let found = State::of_settings(repository);
            let differences = self.before_colony.differences(&found, &[]);
            require_none("after deinit there is something else", &differences)?;
        }
        Ok(())
    }

    /// Runs the command again after it was cut off; then all is as before git-colony.
    fn judge_taking_out(&self, repository: &Repository, struck: &Struck) -> Result<Side, String> {
        let untouched = State::of_settings(&self.template);
        let differs = |found: &State, wanted: &State| !wanted.differences(found, &[]).is_empty();
        let begun = differs(&State::of(repository), &self.before)
            || differs(&State::of_settings(repository), &untouched);
        repository.try_git(&["fsck", "--strict", "--no-dangling"])?;
        require_none("lost", &self.treasures.missing(repository))?;
        if struck.exit_code == Some(0) {
            self.require_taken_out(repository)
                .map_err(|problem| format!("it claims success: {problem}"))?;
        } else if !struck.happened {
            return Err("it fails all by itself".to_owned());
        }
        // In between, people work.
        repository.try_colony(&["status"])?;
        repository.try_colony(self.command.args)?;
        self.require_taken_out(repository)?;
        require_none("left behind", &state::leftovers(repository))?;
        require_none("lost", &self.treasures.missing(repository))?;
        repository.try_git(&["fsck", "--strict", "--no-dangling"])?;
        Ok(if begun { Side::After } else { Side::Before })
    }

    fn require_taken_out(&self, repository: &Repository) -> Result<(), String> {
        let differences = self.after.differences(&State::of(repository), &[]);
        require_none("other refs or files", &differences)?;
        let found = match self.command.args {
            ["deinit"] => State::of_settings(repository),
            _ => State::of_settings_and_ours(repository),
        };
        let differences = self.before_colony.differences(&found, &[]);
        require_none("not as before git-colony", &differences)
    }
}

fn copy_of(template: &Repository, command: &ChangingCommand) -> Repository {
    let copy = template.copy();
    command.scene.complete(&copy);
    copy
}

fn require_none<T: AsRef<str>>(what: &str, found: &[T]) -> Result<(), String> {
    if found.is_empty() {
        return Ok(());
    }
    let found: Vec<_> = found.iter().map(AsRef::as_ref).collect();
    Err(format!("{what}: {}", found.join("\n    ")))
}
