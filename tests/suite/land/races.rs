//! What others do while tests run: commits on the branch, commits of agents, removals, a second landing, kills.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::Duration;

use git_colony::testing::World;
use serde_json::{Value, json};

use crate::agents::new_and_merge::commit;
use crate::support::Sandbox;

use super::landing::{desk, done};

/// A test that waits until a file is there, once its own is.
pub(crate) fn waits(desk: &Sandbox) -> (String, PathBuf, PathBuf) {
    let (begun, go_on) = (desk.outside().join("begun"), desk.outside().join("go-on"));
    let test = format!(
        "touch '{}'; while ! test -e '{}'; do sleep 0.05; done; sh check.sh",
        begun.display(),
        go_on.display()
    );
    (test, begun, go_on)
}

pub(crate) fn wait_for(path: &std::path::Path) {
    for _ in 0..1_200 {
        if path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} does not come", path.display());
}

/// Lands in a thread, does something while the tests run, and returns the answer.
fn meanwhile(desk: &Sandbox, args: &[&str], act: impl FnOnce()) -> (u8, String) {
    let (test, begun, go_on) = waits(desk);
    let args = [&["--json", "land", "--test", &test], args].concat();
    std::thread::scope(|scope| {
        let landing = scope.spawn(|| desk.run(&args));
        wait_for(&begun);
        let acted = catch_unwind(AssertUnwindSafe(act));
        fs::write(&go_on, "").unwrap();
        acted.unwrap_or_else(|cause| resume_unwind(cause));
        let run = landing.join().unwrap();
        (run.code, format!("{}{}", run.stdout, run.stderr))
    })
}

/// The processes of tests that run, as folders of `/proc`.
pub(crate) fn processes_of_tests(desk: &Sandbox) -> Vec<PathBuf> {
    let mark = format!("COLONY_TRY={}", desk.outside().display());
    let is_of_test = |process: &PathBuf| {
        let environ = fs::read(process.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains(&mark)
    };
    let all = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    all.filter(is_of_test).collect()
}

#[test]
fn a_commit_on_the_branch_is_taken_in_and_tested() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let (code, said) = meanwhile(&desk, &[], || {
        desk.git(&["commit", "-q", "--allow-empty", "-m", "meanwhile"]);
        fs::write(desk.path("own.txt"), "own\n").unwrap();
        desk.git(&["add", "own.txt"]);
        desk.git(&["commit", "-qm", "own"]);
    });
    assert_eq!(code, 0, "{said}");
    let subjects = desk.git(&["log", "--format=%s", "--first-parent", "-3"]);
    assert_eq!(subjects, "Merge branch 'fork/ada'\nown\nmeanwhile");
    assert_eq!((desk.read("own.txt"), desk.read("ada.txt")), ("own\n".into(), "good\n".into()));
}

#[test]
fn a_switch_to_another_branch_meanwhile_changes_no_target() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    desk.git(&["branch", "release"]);
    let (code, said) = meanwhile(&desk, &[], || drop(desk.git(&["switch", "-q", "release"])));
    assert_eq!(code, 0, "{said}");
    assert_eq!(desk.git(&["show", "main:ada.txt"]), "good");
    assert_eq!(desk.git(&["log", "--format=%s", "-1", "release"]), "a test");
    assert!(!desk.path("ada.txt").exists());
}

#[test]
fn a_commit_of_an_agent_comes_later() {
    let desk = desk();
    let ada = done(&desk, "ada", "good\n");
    let (code, said) = meanwhile(&desk, &[], || {
        commit(&ada, "ada.txt", "BAD\n");
    });
    assert_eq!(code, 0, "{said}");
    assert_eq!(desk.read("ada.txt"), "good\n");
    assert_eq!(desk.json(&["fleet"])["agents"][0]["commits"], 1);
}

#[test]
fn an_edit_meanwhile_stops_the_move_and_stays() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let before = desk.git(&["rev-parse", "HEAD"]);
    let (code, said) = meanwhile(&desk, &[], || {
        fs::write(desk.path("ada.txt"), "typed meanwhile\n").unwrap();
    });
    assert_eq!(code, 128, "{said}");
    assert_eq!(
        (desk.git(&["rev-parse", "HEAD"]), desk.read("ada.txt")),
        (before, "typed meanwhile\n".into())
    );
    // What passed is known.
    fs::remove_file(desk.path("ada.txt")).unwrap();
    let (test, ..) = waits(&desk);
    let again = desk.json(&["land", "--test", &test]);
    assert!(again["runs"][0]["cached_seconds"].is_number(), "{again:#}");
}

#[test]
fn an_agent_may_be_removed_meanwhile() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    done(&desk, "bob", "good\n");
    let (code, said) = meanwhile(&desk, &[], || {
        desk.colony(&["agents", "remove", "ada"]);
    });
    assert_eq!(code, 0, "{said}");
    assert_eq!(desk.read("ada.txt"), "good\n");
}

#[test]
fn two_landings_have_their_turns() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let bob = done(&desk, "bob", "good\n");
    let (code, said) = meanwhile(&desk, &["ada"], || {
        let other = desk.run(&["--timeout", "1", "land", "bob", "--test", "true"]);
        assert_eq!(other.code, 128, "{}", other.stdout);
        assert!(other.stderr.contains("another git-colony command holds"), "{}", other.stderr);
    });
    assert_eq!(code, 0, "{said}");
    let next = desk.json(&["land", "bob", "--test", "sh check.sh"]);
    assert_eq!(next["outcome"], "landed");
    assert_eq!(bob.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_killed_landing_has_moved_nothing_and_goes_on() {
    let desk = desk();
    for name in ["ada", "bob", "cleo"] {
        done(&desk, name, "good\n");
    }
    desk.colony(&["fleet"]);
    let before = desk.visible_state();
    let (test, begun, go_on) = waits(&desk);
    let mut landing = desk.program();
    landing.args(["land", "--test", &test]);
    let mut landing = landing.stdout(std::process::Stdio::null()).spawn().unwrap();
    wait_for(&begun);
    landing.kill().unwrap();
    landing.wait().unwrap();
    assert_eq!(desk.visible_state(), before);
    fs::write(&go_on, "").unwrap();
    let landed = desk.json(&["land", "--test", &test]);
    assert_eq!(landed["outcome"], "landed");
    assert_eq!(processes_of_tests(&desk), Vec::<PathBuf>::new());
    assert_eq!(landed["landed"].as_array().unwrap().len(), 3, "{}", json!(landed));
}

#[test]
fn a_dry_run_foresees_the_runs() {
    let desk = desk();
    for name in ["ada", "bob", "cleo"] {
        done(&desk, name, "good\n");
    }
    let unknown = desk.json(&["land", "-n"])["forecast"].clone();
    assert_eq!((&unknown["passed"], &unknown["seconds_per_run"]), (&Value::Null, &Value::Null));
    assert_eq!((&unknown["runs"], &unknown["runs_if_one_fails"]), (&json!(1), &json!(6)));
    let text = desk.colony(&["land", "-n"]);
    assert!(text.contains("\ntests: 1 run; if one fails, at most 6 runs\n"), "{text}");
    desk.colony(&["try", "ada", "bob"]);
    let told = desk.json(&["land", "-n"])["forecast"].clone();
    assert_eq!((&told["passed"], told["seconds_per_run"].is_number()), (&Value::Null, true));
    let text = desk.colony(&["land", "-n"]);
    assert!(text.contains("\ntests: 1 run, about 0."), "{text}");
    desk.colony(&["try"]);
    let known = desk.json(&["land", "-n"])["forecast"].clone();
    assert_eq!((&known["passed"], &known["runs"]), (&json!(true), &json!(0)));
    assert_eq!(desk.json(&["land", "-n", "--no-test"]).get("forecast"), None);
    let text = desk.colony(&["land", "-n"]);
    assert!(text.contains("\ntests: passed with these files "), "{text}");
}

#[test]
fn a_landing_that_was_cut_off_is_completed_by_the_next() {
    for (step, has_landed) in [("prepared", false), ("committed", true), ("refs-moved", true)] {
        let desk = desk();
        done(&desk, "ada", "good\n");
        done(&desk, "bob", "BAD\n");
        let world = World { die_at: Some(step), ..desk.world() };
        assert_ne!(desk.run_in(world, &["land", "ada"]).code, 0, "{step}");
        // Nothing of it is left to land, or all of it.
        let next: Value = serde_json::from_str(&desk.run(&["--json", "land"]).stdout).unwrap();
        assert_eq!(next["outcome"], if has_landed { "nothing" } else { "partly" }, "{next:#}");
        assert_eq!(desk.read("ada.txt"), "good\n", "{step}");
        assert_eq!(desk.git(&["status", "--porcelain"]), "", "{step}");
        assert!(!desk.path(".git/index.lock").exists(), "{step}");
        assert_eq!(desk.json(&["ops"])["ops"].as_array().unwrap().len(), 1, "{step}");
        desk.git(&["fsck", "--strict", "--no-dangling"]);
    }
}
