//! Trains: who lands, who is left out and why, what is tested, and one undo.

use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::support::{Sandbox, View};

/// Fails with BAD in any file, and with both ONE and TWO in two files.
const CHECK: &str = "echo checked >> checks.log
grep -l BAD *.txt && exit 3
grep -q ONE *.txt && grep -q TWO *.txt && exit 4
exit 0
";

/// Makes a checkout with a test of its own, which counts its runs in an ignored file.
pub(crate) fn desk() -> Sandbox {
    let desk = Sandbox::new();
    fs::write(desk.path("check.sh"), CHECK).unwrap();
    fs::write(desk.path(".gitignore"), "*.log\n").unwrap();
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "a test"]);
    desk.git(&["config", "colony.test.run", "sh check.sh"]);
    desk
}

/// Makes an agent that is done with one file.
pub(crate) fn done(desk: &Sandbox, name: &str, content: &str) -> View {
    let clone = agent(desk, name);
    commit(&clone, &format!("{name}.txt"), content);
    clone.colony(&["agents", "done"]);
    clone
}

fn names(list: &Value) -> Vec<&str> {
    let all = list.as_array().unwrap_or_else(|| panic!("{list:#}"));
    all.iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// Returns why each was left out.
fn reasons(report: &Value) -> Vec<(&str, &str)> {
    let left_out = report["left_out"].as_array().unwrap().iter();
    left_out.map(|one| (one["name"].as_str().unwrap(), one["why"].as_str().unwrap())).collect()
}

/// Answers with exit code 1.
fn partly(view: &View, args: &[&str]) -> Value {
    let run = view.run(&[&["--json"], args].concat());
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    serde_json::from_str(&run.stdout).unwrap()
}

/// How often the tests have run.
fn checks(desk: &Sandbox) -> usize {
    let tries = desk.outside().join("home/.local/share/git-colony/try");
    let place = fs::read_dir(tries).unwrap().next().unwrap().unwrap().path();
    fs::read_to_string(place.join("tree/checks.log")).unwrap().lines().count()
}

#[test]
fn who_is_done_lands_in_one_run_and_goes_by_one_undo() {
    let desk = desk();
    for name in ["ada", "bob", "cleo"] {
        done(&desk, name, "good\n");
    }
    commit(&agent(&desk, "dan"), "dan.txt", "not done\n");
    let before = desk.git(&["rev-parse", "HEAD"]);
    let planned = desk.json(&["land", "-n"]);
    assert_eq!(planned["ok"], true, "{planned:#}");
    assert_eq!(names(&planned["landed"]), ["ada", "bob", "cleo"]);
    assert_eq!((&planned["commit"], &planned["dry_run"]), (&Value::Null, &json!(true)));
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), before);
    let landed = desk.json(&["land"]);
    assert_eq!(
        (&landed["outcome"], &landed["runs"][0]["passed"]),
        (&json!("landed"), &json!(true))
    );
    assert_eq!((names(&landed["landed"]), checks(&desk)), (vec!["ada", "bob", "cleo"], 1));
    let tip = desk.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(landed["runs"][0]["tree"], tip.trim());
    // Each has a merge commit of its own, which 'git revert -m 1' takes.
    let merges = desk.git(&["rev-list", "--count", "--merges", "--first-parent", "HEAD"]);
    assert_eq!(merges.trim(), "3");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    desk.git(&["fsck", "--strict", "--no-dangling"]);
    let ops = desk.json(&["ops"]);
    assert_eq!(ops["ops"][0]["kind"], "land", "{ops:#}");
    desk.colony(&["undo"]);
    assert_eq!(desk.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    // The tree is known, so nothing runs.
    let again = desk.json(&["land"]);
    assert_eq!((&again["op"], checks(&desk)), (&json!("op-3"), 1));
    assert!(again["runs"][0]["cached_seconds"].is_number());
    let nothing = desk.run(&["land"]);
    assert_eq!(nothing.code, 128);
    assert!(nothing.stderr.contains("no agent is done"), "{}", nothing.stderr);
}

#[test]
fn who_fails_alone_or_in_a_pair_is_left_out_and_hears_of_it() {
    let desk = desk();
    let contents = [("ada", "ONE\n"), ("bob", "TWO\n"), ("cleo", "BAD\n"), ("dan", "good\n")];
    for (name, content) in contents {
        done(&desk, name, content);
    }
    let report = partly(&desk, &["land"]);
    assert_eq!(report["outcome"], "partly");
    assert_eq!(names(&report["landed"]), ["ada", "dan"]);
    assert_eq!(reasons(&report), [("bob", "failed"), ("cleo", "failed")]);
    let cleo = &report["left_out"][1];
    assert_eq!((&cleo["exit_code"], &cleo["output_tail"]), (&json!(3), &json!("cleo.txt")));
    assert_eq!(cleo["command"], "sh check.sh");
    let log = cleo["log"].as_str().unwrap();
    assert_eq!(fs::read_to_string(log).unwrap(), "cleo.txt\n");
    let clone = desk.colony(&["agents", "path", "cleo"]);
    let clone = desk.at(clone.trim().into());
    let events = clone.json(&["events", "--key", "train_left_out:cleo"]);
    assert_eq!(events["events"][0]["value"]["exit_code"], 3, "{events:#}");
    assert_eq!(events["events"][0]["value"]["why"], "failed");
    let landed = clone.json(&["events", "--key", "train_landed:main"]);
    assert_eq!(landed["events"][0]["value"]["landed"], json!(["ada", "dan"]));
    let told = clone.colony(&["events", "--key", "train_*"]);
    assert!(
        told.contains("left the work of 'cleo' out on 'main', the tests fail with it"),
        "{told}"
    );
    // They are not taken again until something has changed, and the desk says so.
    let shown = desk.colony(&["fleet"]);
    assert!(shown.contains("tests failed"), "{shown}");
    assert_eq!(desk.run(&["land"]).code, 128);
    fs::write(clone.path("cleo.txt"), "good\n").unwrap();
    clone.colony(&["commit", "-m", "mended", "--all"]);
    clone.colony(&["agents", "done"]);
    let report = desk.json(&["land"]);
    assert_eq!((names(&report["landed"]), &report["outcome"]), (vec!["cleo"], &json!("landed")));
}

#[test]
fn work_that_conflicts_is_left_out_and_goes_first_later() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let bob = agent(&desk, "bob");
    commit(&bob, "ada.txt", "of bob\n");
    bob.colony(&["agents", "done"]);
    let report = partly(&desk, &["land"]);
    assert_eq!(names(&report["landed"]), ["ada"]);
    assert_eq!(reasons(&report), [("bob", "conflicts")]);
    assert_eq!(report["left_out"][0]["with"], json!(["ada"]));
    assert_eq!(report["left_out"][0]["paths"], json!(["ada.txt"]));
    bob.colony(&["merge", "main", "--ours", "."]);
    bob.colony(&["agents", "done"]);
    done(&desk, "abe", "good\n");
    let report = desk.json(&["land"]);
    assert_eq!(names(&report["landed"]), ["bob", "abe"]);
}

#[test]
fn who_conflicts_with_one_that_fails_has_its_turn() {
    let desk = desk();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    commit(&ada, "same.txt", "BAD\n");
    commit(&bob, "same.txt", "good\n");
    ada.colony(&["agents", "done"]);
    bob.colony(&["agents", "done"]);
    let report = partly(&desk, &["land"]);
    assert_eq!(
        (names(&report["landed"]), reasons(&report)),
        (vec!["bob"], vec![("ada", "failed")])
    );
    assert_eq!(desk.read("same.txt"), "good\n");
}

#[test]
fn who_has_commits_of_one_left_out_is_left_out_too() {
    let desk = desk();
    let (ada, bob, cleo) = (agent(&desk, "ada"), agent(&desk, "bob"), agent(&desk, "cleo"));
    commit(&ada, "ada.txt", "BAD\n");
    bob.colony(&["merge", "ada"]);
    commit(&bob, "bob.txt", "good\n");
    commit(&cleo, "cleo.txt", "good\n");
    for clone in [&ada, &bob, &cleo] {
        clone.colony(&["agents", "done"]);
    }
    let report = partly(&desk, &["land"]);
    assert_eq!(names(&report["landed"]), ["cleo"]);
    assert_eq!(reasons(&report), [("ada", "failed"), ("bob", "contains")]);
    desk.colony(&["agents", "hold", "ada", "-m", "not yet"]);
    let report = partly(&desk, &["land", "ada", "bob"]);
    assert_eq!(reasons(&report), [("ada", "held"), ("bob", "contains")]);
}

#[test]
fn who_is_done_and_not_taken_is_named_with_the_reason() {
    let desk = desk();
    let (ada, bob) = (done(&desk, "ada", "good\n"), done(&desk, "bob", "good\n"));
    done(&desk, "cleo", "BAD\n");
    partly(&desk, &["land", "--except", "bob"]);
    desk.colony(&["revert", "ada"]);
    desk.colony(&["agents", "hold", "bob"]);
    partly(&desk, &["land", "cleo"]);
    let nobody = desk.run(&["land"]);
    assert!(nobody.stderr.contains("git colony land cleo"), "{}", nobody.stderr);
    done(&desk, "dan", "good\n");
    // What somebody has decided is no failure.
    let planned = desk.json(&["land", "-n"]);
    assert_eq!(names(&planned["landed"]), ["dan"], "{planned:#}");
    let over = planned["passed_over"].as_array().unwrap().iter();
    let over: Vec<_> = over.map(|one| (one["name"].clone(), one["why"].clone())).collect();
    let wanted = [("ada", "reverted"), ("bob", "held"), ("cleo", "failed_before")];
    assert_eq!(over, wanted.map(|(name, why)| (json!(name), json!(why))));
    let text = desk.colony(&["land"]);
    assert!(text.contains("  bob   not taken: it is held back\n"), "{text}");
    commit(&ada, "ada.txt", "better\n");
    ada.colony(&["agents", "done"]);
    bob.colony(&["agents", "done"]);
    assert_eq!(names(&desk.json(&["land"])["landed"]), ["ada"]);
}

#[test]
fn who_was_merged_by_one_left_out_is_not_at_fault() {
    let desk = desk();
    let (ada, bob) = (done(&desk, "ada", "good\n"), done(&desk, "bob", "BAD\n"));
    bob.colony(&["merge", "ada"]);
    bob.colony(&["agents", "done"]);
    let planned = desk.json(&["land", "bob", "-n"]);
    assert_eq!(planned["landed"][0]["brings"], json!(["ada"]));
    let report = partly(&desk, &["land", "bob", "ada"]);
    assert_eq!(
        (names(&report["landed"]), reasons(&report)),
        (vec!["ada"], vec![("bob", "failed")])
    );
    desk.colony(&["undo"]);
    desk.colony(&["agents", "hold", "bob"]);
    let planned = desk.json(&["land", "ada", "-n"]);
    assert_eq!(names(&planned["landed"]), ["ada"], "{planned:#}");
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
}

#[test]
fn who_has_uncommitted_files_is_named_and_one_can_be_excepted() {
    let desk = desk();
    let ada = done(&desk, "ada", "good\n");
    done(&desk, "bob", "good\n");
    done(&desk, "cleo", "good\n");
    fs::write(ada.path("more.txt"), "not committed\n").unwrap();
    assert_eq!(desk.json(&["fleet"])["next"]["clean"], json!(["bob", "cleo"]));
    let report = partly(&desk, &["land", "--except", "cleo"]);
    assert_eq!(
        (names(&report["landed"]), reasons(&report)),
        (vec!["bob"], vec![("ada", "uncommitted")])
    );
}

#[test]
fn each_configured_command_tests_and_shows_in_the_agent() {
    let desk = desk();
    desk.git(&["config", "--add", "colony.test.run", "test ! -e ada.txt"]);
    done(&desk, "ada", "good\n");
    let report = partly(&desk, &["land"]);
    assert_eq!(report["tests"]["commands"], json!(["sh check.sh", "test ! -e ada.txt"]));
    let shown = desk.colony(&["agents", "show", "ada"]);
    assert!(shown.contains("exit code 1: test ! -e ada.txt"), "{shown}");
}

#[test]
fn a_branch_that_fails_by_itself_takes_nobody() {
    let desk = desk();
    fs::write(desk.path("main.txt"), "BAD\n").unwrap();
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "broken"]);
    done(&desk, "ada", "good\n");
    let report = partly(&desk, &["land"]);
    assert_eq!((&report["outcome"], &report["op"]), (&json!("base_failing"), &Value::Null));
    // Who repairs it lands.
    let bob = agent(&desk, "bob");
    commit(&bob, "main.txt", "good\n");
    bob.colony(&["agents", "done"]);
    let report = desk.json(&["land"]);
    assert_eq!(names(&report["landed"]), ["ada", "bob"]);
}

#[test]
fn a_flaky_run_throws_nobody_out() {
    let desk = desk();
    let once = "test -e seen.log && exit 0; grep -q good *.txt && touch seen.log && exit 5; exit 0";
    for name in ["ada", "bob"] {
        done(&desk, name, "good\n");
    }
    let report = desk.json(&["land", "--test", once]);
    assert_eq!((&report["outcome"], &report["flaky"]), (&json!("landed"), &json!(["bob"])));
    let passed: Vec<_> =
        report["runs"].as_array().unwrap().iter().map(|run| run["passed"] == true).collect();
    assert!(!passed[0] && passed[1..].iter().all(|passed| *passed), "{report:#}");
}

#[test]
fn a_batch_merges_without_tests_where_that_is_asked() {
    let desk = desk();
    done(&desk, "ada", "BAD\n");
    done(&desk, "bob", "good\n");
    let report = desk.json(&["land", "--no-test", "--squash"]);
    assert_eq!((names(&report["landed"]), &report["tests"]), (vec!["ada", "bob"], &Value::Null));
    let merges = desk.git(&["rev-list", "--count", "--merges", "HEAD"]);
    assert_eq!(merges.trim(), "0");
    let fleet = desk.json(&["fleet"]);
    let work = fleet["agents"].as_array().unwrap().iter().map(|row| row["work"].clone());
    assert_eq!(work.collect::<Vec<_>>(), ["merged", "merged"]);
}

#[test]
fn another_branch_is_moved_without_its_files() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    desk.git(&["switch", "-q", "-c", "elsewhere"]);
    fs::write(desk.path("ada.txt"), "an edit here\n").unwrap();
    let report = desk.json(&["land", "ada", "--into", "main"]);
    assert_eq!(report["branch"], "main");
    assert_eq!(desk.git(&["show", "main:ada.txt"]), "good");
    assert_eq!(desk.read("ada.txt"), "an edit here\n");
    assert_eq!(desk.git(&["rev-parse", "--abbrev-ref", "HEAD"]).trim(), "elsewhere");
}

#[test]
fn an_edit_in_the_way_is_refused_before_the_first_run() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    done(&desk, "bob", "good\n");
    fs::write(desk.path("ada.txt"), "an edit\n").unwrap();
    let refused = desk.run(&["land"]);
    assert_eq!(refused.code, 128, "{}", refused.stdout);
    assert!(refused.stderr.contains("ada.txt"), "{}", refused.stderr);
    assert!(!refused.stderr.contains("run 1"), "{}", refused.stderr);
    // Edits elsewhere stay.
    fs::remove_file(desk.path("ada.txt")).unwrap();
    fs::write(desk.path("a.txt"), "an edit\n").unwrap();
    desk.colony(&["land"]);
    assert_eq!(desk.read("a.txt"), "an edit\n");
}

#[test]
fn tests_without_a_command_and_forks_without_agents() {
    let desk = Sandbox::new();
    desk.colony(&["fork", "idea"]);
    commit(&desk.at(desk.root.clone()), "idea.txt", "an idea\n");
    desk.git(&["switch", "-q", "main"]);
    let refused = desk.run(&["land", "idea"]);
    assert!(refused.stderr.contains("git config colony.test.run"), "{}", refused.stderr);
    let planned = desk.json(&["land", "idea", "-n"]);
    assert_eq!(names(&planned["landed"]), ["fork/idea"]);
    let report = desk.json(&["land", "idea", "--test", "test -e idea.txt"]);
    assert_eq!(names(&report["landed"]), ["fork/idea"]);
    let report = desk.json(&["land", "idea", "--test", "true"]);
    assert_eq!(
        (&report["outcome"], &report["up_to_date"]),
        (&json!("nothing"), &json!(["fork/idea"]))
    );
}

#[test]
fn a_try_names_the_first_that_breaks_and_moves_nothing() {
    let desk = desk();
    for (name, content) in [("ada", "good\n"), ("bob", "BAD\n"), ("cleo", "good\n")] {
        done(&desk, name, content);
    }
    desk.colony(&["fleet"]);
    let before = desk.visible_state();
    let report = partly(&desk, &["try"]);
    assert_eq!(
        (&report["outcome"], &report["breaks"]["names"]),
        (&json!("failed"), &json!(["bob"]))
    );
    assert_eq!(report["breaks"]["with"], json!(["ada"]));
    assert_eq!(report["names"], json!(["ada", "bob", "cleo"]));
    let tree = desk.at(report["path"].as_str().unwrap().into());
    assert_eq!((tree.read("bob.txt"), tree.read("cleo.txt")), ("BAD\n".into(), "good\n".into()));
    assert_eq!(desk.visible_state(), before);
    let few = desk.run(&["try", "--retest", "--max-runs", "1"]);
    assert_eq!(few.code, 128);
    assert!(few.stderr.contains("stopped after 1 run"), "{}", few.stderr);
    let passed = desk.json(&["try", "ada", "cleo"]);
    assert_eq!(passed["outcome"], "passed");
    let typed = partly(&desk, &["try", "ada", "--", "test", "-e", "not there"]);
    assert_eq!(typed["breaks"]["names"], json!([]));
}

#[test]
fn build_files_stay_between_runs_and_nothing_else_does() {
    let desk = desk();
    desk.git(&[
        "config",
        "colony.test.run",
        "echo junk > junk.txt; echo more >> a.txt; echo x >> b.log",
    ]);
    done(&desk, "ada", "good\n");
    let first = desk.json(&["land"]);
    assert_eq!(first["runs"][0]["fresh"], true);
    assert_eq!(first["dirtied"], json!(["a.txt", "junk.txt"]));
    done(&desk, "bob", "good\n");
    let second = desk.json(&["land"]);
    assert_eq!(second["runs"][0]["fresh"], false);
    let tries = desk.outside().join("home/.local/share/git-colony/try");
    let tree = fs::read_dir(tries).unwrap().next().unwrap().unwrap().path().join("tree");
    assert_eq!(fs::read_to_string(tree.join("b.log")).unwrap(), "x\nx\n");
    assert_eq!(desk.read("a.txt"), fs::read_to_string(tree.join("a.txt")).unwrap());
    done(&desk, "cleo", "good\n");
    let fresh = desk.json(&["land", "--fresh"]);
    assert_eq!(fresh["runs"][0]["fresh"], true);
    assert_eq!(fs::read_to_string(tree.join("b.log")).unwrap(), "x\n");
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    let swept = desk.json(&["clones", "gc", "--force"]);
    assert_eq!(swept["tests"].as_array().unwrap().len(), 1, "{swept:#}");
    assert!(!tree.exists());
}

#[test]
fn an_agent_integrates_in_its_own_clone() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let bob = agent(&desk, "bob");
    let report = bob.json(&["land", "ada", "--test", "test -e ada.txt"]);
    assert_eq!((&report["branch"], names(&report["landed"])), (&json!("fork/bob"), vec!["ada"]));
    assert_eq!(bob.read("ada.txt"), "good\n");
    desk.git(&["config", "colony.protectedBranches", "main"]);
}

#[test]
fn a_landing_is_reverted_whole_or_in_part_later() {
    let desk = desk();
    let (ada, bob) = (done(&desk, "ada", "good\n"), done(&desk, "bob", "good\n"));
    let landed = desk.json(&["land"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    desk.colony(&["revert", "ada"]);
    assert_eq!((desk.path("ada.txt").exists(), desk.read("bob.txt")), (false, "good\n".into()));
    // It is not taken again by itself, only when it is named, or has more commits.
    assert_eq!(desk.run(&["land"]).code, 128);
    ada.colony(&["merge", "main"]);
    assert_eq!(ada.read("ada.txt"), "good\n");
    let again = desk.json(&["land", "ada"]);
    assert_eq!(names(&again["landed"]), ["ada"]);
    assert_eq!(desk.read("ada.txt"), "good\n");
    let op = landed["op"].as_str().unwrap();
    let whole = desk.json(&["revert", op]);
    assert_eq!(whole["ok"], true, "{whole:#}");
    assert!(!desk.path("bob.txt").exists());
    bob.colony(&["merge", "main"]);
    assert_eq!(bob.read("bob.txt"), "good\n");
    desk.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn next_is_to_land_where_tests_are_known() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    done(&desk, "bob", "good\n");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["next"]["command"], "git colony land");
    desk.git(&["config", "--unset", "colony.test.run"]);
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["next"]["command"], "git colony merge ada");
}
