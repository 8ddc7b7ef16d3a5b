//! A long map tells how far it is, and one that is stopped leaves what was mapped before as it was.

use std::sync::{Arc, Mutex};

use git_colony::testing::{Progress, Step};

use crate::pages::edited_repository::{commit, map, pages};
use crate::support::Sandbox;

/// More files than are cut before the first of them are packed.
const FILES: usize = 1100;

const SIGINT: i32 = 2;

fn repository() -> Sandbox {
    let sandbox = Sandbox::unborn();
    write(&sandbox, "first");
    sandbox
}

fn write(sandbox: &Sandbox, word: &str) {
    for number in 0..FILES {
        let text = format!("{word} {number}\n");
        sandbox.write(&format!("d{:02}/f{number:04}", number % 40), text);
    }
    commit(sandbox);
}

#[test]
fn a_map_that_is_stopped_leaves_the_old_one_whole() {
    let sandbox = repository();
    map(&sandbox);
    let before = (pages(&sandbox), sandbox.git(&["for-each-ref"]));
    write(&sandbox, "second");
    let tip = sandbox.git(&["for-each-ref", "refs/colony", "refs/colony-local"]);
    for stop_at in [1, FILES / 2, FILES] {
        let mut world = sandbox.world();
        let interrupt = world.interrupt.clone();
        world.progress = Progress::new(move |step| {
            if matches!(step, Step::Files { done, .. } if *done == stop_at) {
                interrupt.raise(SIGINT);
            }
        });
        // Texts that were cut before are known to the user's cache, and count all the same.
        let run = sandbox.run_in(world, &["--json", "map"]);
        assert_eq!(run.code, 130, "{}", run.stdout);
        assert!(run.stdout.contains("\"code\": \"interrupted\""), "{}", run.stdout);
        assert_eq!(pages(&sandbox), before.0);
        assert_eq!(sandbox.json(&["pages"])["stale"], true);
        let refs = ["for-each-ref", "refs/colony", "refs/colony-local"];
        assert_eq!(sandbox.git(&refs), tip);
    }
    let after = map(&sandbox);
    assert_eq!(after["pages_added"], after["pages"]);
    let mapped = pages(&sandbox);
    std::fs::remove_dir_all(sandbox.path(".git/colony/cache")).unwrap();
    std::fs::remove_dir_all(sandbox.outside().join("home")).unwrap();
    map(&sandbox);
    assert_eq!(pages(&sandbox), mapped, "what a stopped map remembered is right");
}

#[test]
fn each_file_counts_once_and_the_end_is_told() {
    let sandbox = repository();
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut world = sandbox.world();
    let heard = Arc::clone(&told);
    world.progress = Progress::new(move |step| {
        let done = match step {
            Step::Files { done, what } => {
                assert!(what.starts_with("map "), "{what}");
                Some(*done)
            }
            Step::Part { .. } | Step::Said(_) | Step::Ended => None,
        };
        heard.lock().unwrap().push(done);
    });
    assert_eq!(sandbox.run_in(world, &["map"]).code, 0);
    let mut told = told.lock().unwrap().clone();
    assert_eq!(told.pop(), Some(None));
    told.sort_unstable();
    assert_eq!(told, (1..=FILES).map(Some).collect::<Vec<_>>());
}

#[test]
fn who_wants_no_progress_is_told_none_and_all_the_rest() {
    let sandbox = repository();
    let told = |args: &[&str]| {
        let steps = Arc::new(Mutex::new(0));
        let count = Arc::clone(&steps);
        let mut world = sandbox.world();
        world.progress = Progress::new(move |_| *count.lock().unwrap() += 1);
        let run = sandbox.run_in(world, args);
        assert_eq!(run.code, 0, "{}", run.stdout);
        let steps = *steps.lock().unwrap();
        (steps > 0, run.stdout)
    };
    let (seen, first) = told(&["map", "--dry-run"]);
    let (unseen, second) = told(&["--no-progress", "map", "--dry-run"]);
    assert_eq!((seen, unseen), (true, false));
    assert_eq!(first, second);
    assert!(!told(&["map", "--no-progress"]).0);
}
