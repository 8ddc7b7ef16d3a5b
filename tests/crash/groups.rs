//! Program and git are killed together as they move refs of a hub, or the copies of these in a clone: no
//! lock that they leave stands in anybody's way.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::desk::{Desk, Whom};
use super::fault::{self, Fault};
use super::matrix::stride_of_a_group;
use super::travel::locks_on_refs;
use super::{repository, table};

/// Where a command runs, and which one.
struct Stage {
    desk: Desk,
    directory: PathBuf,
    args: &'static [&'static str],
}

/// Kills a command at the moments of its gits, on a fresh stage each time.
fn kill_group(name: &'static str, set: impl Fn() -> Stage, judge: impl Fn(&Stage, &Fault)) {
    fault::require_strace();
    let watched = set();
    let logs = watched.desk.strike_group(&watched.directory, watched.args, None);
    let moments = fault::moments_in(&logs);
    assert!(!moments.is_empty(), "'{name}' moves nothing");
    let stride = stride_of_a_group(moments.len());
    let mut struck = BTreeMap::<_, usize>::new();
    for fault in moments.iter().step_by(stride) {
        let stage = set();
        let logs = stage.desk.strike_group(&stage.directory, stage.args, Some(fault));
        *struck.entry(fault.call).or_default() += usize::from(logs.contains("killed by SIGKILL"));
        judge(&stage, fault);
        let hub = stage.desk.hub().expect("it was made");
        for git_dir in [&hub, &stage.desk.repository.root.join(".git")] {
            assert_eq!(left_in(git_dir), [] as [PathBuf; 0], "{fault}");
        }
        Desk::git_in(&hub, &["fsck", "--strict", "--connectivity-only"]);
    }
    assert!(struck.values().sum::<usize>() > 3, "{struck:?}");
    for (call, points) in struck {
        table::note_beside((name, Whom::Group, call), (stride, points));
    }
}

/// Lists what a git leaves that was killed while it moved refs.
fn left_in(git_dir: &Path) -> Vec<PathBuf> {
    let top = ["HEAD.lock", "packed-refs.lock", "packed-refs.new"];
    let mut left: Vec<_> = top.iter().map(|name| git_dir.join(name)).collect();
    left.retain(|path| path.exists());
    left.extend(locks_on_refs(git_dir));
    left
}

/// A clone of an agent with a commit that is published, one that is not, and a branch that is gone since
/// it was published and packed.
fn apart() -> (Desk, PathBuf) {
    let desk = Desk::new();
    let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
    Desk::git_in(&clone, &["branch", "extra"]);
    fs::write(clone.join("a.txt"), "published\n").expect("it is there");
    desk.colony_in(&clone, &["commit", "-m", "published", "--all"]);
    desk.colony(&["fleet"]);
    let hub = desk.hub().expect("it was made");
    for place in [&hub, &desk.repository.root] {
        Desk::git_in(place, &["pack-refs", "--all"]);
    }
    Desk::git_in(&clone, &["branch", "-q", "-D", "extra"]);
    fs::write(clone.join("a.txt"), "of ada\n").expect("it is there");
    let no_hooks = "core.hooksPath=/dev/null";
    Desk::git_in(&clone, &["-c", no_hooks, "commit", "-qam", "of ada"]);
    (desk, clone)
}

/// Runs a command that has to succeed and say nothing of a lock.
fn goes_on(stage: &Stage, directory: &Path, args: &[&str], fault: &Fault) {
    let output = stage.desk.run_in(directory, args);
    let said = repository::words(&output);
    assert!(output.status.success(), "{fault}: {args:?} {said}");
    assert!(!said.contains("warning"), "{fault}: {args:?} {said}");
}

#[test]
fn a_group_killed_in_a_publication_is_in_nobodys_way() {
    let set = || {
        let (desk, directory) = apart();
        let args = &["hook", "post-commit"];
        Stage { desk, directory, args }
    };
    kill_group("publication", set, |stage, fault| {
        goes_on(stage, &stage.directory, &["tag", "-m", "next"], fault);
        let hub = stage.desk.hub().expect("it was made");
        let tip = Desk::git_in(&stage.directory, &["rev-parse", "HEAD"]);
        let of_ada = "refs/colony/agents/ada/main/heads/fork/ada";
        let refs = Desk::git_in(&hub, &["for-each-ref", "--format=%(objectname)", of_ada]);
        assert_eq!(refs, tip, "{fault}");
    });
}

#[test]
fn a_group_killed_in_agents_new_is_in_nobodys_way() {
    let set = || {
        let (desk, _) = apart();
        let directory = desk.repository.root.clone();
        let args = &["agents", "new", "bob"];
        Stage { desk, directory, args }
    };
    kill_group("agents new beside others", set, |stage, fault| {
        let said = repository::words(&stage.desk.run_in(&stage.directory, stage.args));
        assert!(said.contains("bob"), "{fault}: {said}");
        goes_on(stage, &stage.directory, &["agents", "new", "eve"], fault);
        let clone = PathBuf::from(stage.desk.colony(&["agents", "path", "bob"]));
        // What it had not published it does now.
        goes_on(stage, &clone, &["checkpoint", "-m", "next"], fault);
        Desk::git_in(&clone, &["fsck", "--strict", "--no-dangling"]);
    });
}

#[test]
fn a_group_killed_while_it_copies_published_work_blocks_nothing() {
    let set = || {
        let (desk, clone) = apart();
        desk.colony_in(&clone, &["hook", "post-commit"]);
        let directory = desk.repository.root.clone();
        let args = &["fleet"];
        Stage { desk, directory, args }
    };
    kill_group("fleet", set, |stage, fault| {
        goes_on(stage, &stage.directory, &["merge", "ada"], fault);
        let merged = fs::read_to_string(stage.directory.join("a.txt"));
        assert_eq!(merged.expect("it is there"), "of ada\n", "{fault}");
    });
}
