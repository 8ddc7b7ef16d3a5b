//! The kill storm: commands of ours and of plain git, one after the other as chance has it, are killed
//! after a moment that chance chooses, and nothing is lost and nothing stands still.
//!
//! The crash matrix strikes each command at each of its system calls, on a repository made for it. Here
//! the repository is one that has been worked in: with files of git-lfs, a linked worktree, the clone of an
//! agent, a hub and a remote. The whole process group is killed, or the program alone, or only what it has
//! started. After each kill the next command has to go on by itself.
//!
//! The short form is some fifty kills. `COLONY_TEST_LONG=1` makes it 10,000, and with
//! `COLONY_WRITE_KILL_STORM=1` writes `docs/kill-storm.md`. `COLONY_STORM_KILLS` sets another number,
//! `COLONY_STORM_SEED` another beginning, and `COLONY_STORM_KEEP=1` leaves the repositories of a
//! failure where they are. A seed repeats the commands; the moment of a kill depends on the machine.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start real processes and write files themselves"
)]
#![expect(clippy::panic, reason = "a test fails by panicking, with the words of a process")]

mod actions;
mod census;
mod chance;
mod edits;
mod ground;
mod judge;
mod look;
#[expect(dead_code, reason = "the crash matrix uses the rest")]
#[path = "../crash/repository.rs"]
mod repository;
mod rounds;
mod settled;
mod strike;
mod tally;

#[test]
fn nothing_is_lost_and_nothing_stands_still_in_a_storm_of_kills() {
    let plan = rounds::Plan::from_environment();
    let (tally, problems) = rounds::run(&plan);
    tally.print(&plan);
    tally.write_down(&plan);
    let count = problems.len();
    let shown: Vec<_> = problems.into_iter().take(12).collect();
    assert!(count == 0, "{count} problems\n\n{}", shown.join("\n\n"));
}
