//! Tests are code of agents: which of them run, with what, and what is left of them.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::support::Sandbox;

use super::landing::{desk, done};

fn tree_of(desk: &Sandbox) -> std::path::PathBuf {
    let tries = desk.outside().join("home/.local/share/git-colony/try");
    fs::read_dir(tries).unwrap().next().unwrap().unwrap().path().join("tree")
}

/// Writes the tests of the repository.
fn name_tests(text: &str) -> String {
    format!("[test]\nrun = [\"{text}\"]\n")
}

#[test]
fn tests_of_the_repository_wait_for_approval_of_their_text() {
    let desk = Sandbox::new();
    fs::create_dir_all(desk.path(".colony")).unwrap();
    fs::write(desk.path(".colony/colony.toml"), name_tests("echo of main > ran.txt")).unwrap();
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "tests"]);
    // The tests of the work itself do not count.
    let ada = agent(&desk, "ada");
    fs::write(ada.path(".colony/colony.toml"), name_tests("touch /tmp/never")).unwrap();
    ada.colony(&["commit", "-m", "other tests", "--all"]);
    ada.colony(&["agents", "done"]);
    let refused = desk.run(&["land", "--json"]);
    let answer: Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!((refused.code, &answer["code"]), (128, &json!("approval-needed")), "{answer:#}");
    assert_eq!(answer["detail"]["commands"], json!(["echo of main > ran.txt"]));
    let hint = answer["hint"].as_str().unwrap();
    let approve: Vec<&str> = hint.split(' ').skip(2).collect();
    // Agents cannot approve.
    let bob = agent(&desk, "bob");
    let by_agent = bob.run(&[&["-C", desk.root.to_str().unwrap()], approve.as_slice()].concat());
    assert!(by_agent.stderr.contains("may not approve tests"), "{}", by_agent.stderr);
    let wrong = desk.run(&["land", "--approve", "0123"]);
    assert_eq!(wrong.code, 128, "{}", wrong.stderr);
    let landed = desk.json(&approve);
    assert_eq!(
        (&landed["outcome"], &landed["tests"]["from"]),
        (&json!("landed"), &json!("repository"))
    );
    // The branch has other tests now: they wait again.
    done(&desk, "cleo", "good\n");
    let refused = desk.run(&["land"]);
    assert!(refused.stderr.contains("touch /tmp/never"), "{}", refused.stderr);
}

#[test]
fn tests_have_no_tokens_and_nothing_of_them_is_left() {
    let desk = desk();
    let person = desk.with("GITHUB_TOKEN", "secret-token").with("GIT_DIR_X", "kept");
    let test =
        "env > env.log; (setsid sh -c 'echo $$ > left.log; exec sleep 300' &) ; sleep 0.2; exit 0";
    desk.git(&["config", "colony.test.run", test]);
    done(&desk, "ada", "good\n");
    person.colony(&["land"]);
    let tree = tree_of(&desk);
    let seen = fs::read_to_string(tree.join("env.log")).unwrap();
    assert!(!seen.contains("secret-token") && seen.contains("GIT_DIR_X=kept"), "{seen}");
    let left = fs::read_to_string(tree.join("left.log")).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}/stat", left.trim()));
    for _ in 0..100 {
        let stat = fs::read_to_string(&process).unwrap_or_default();
        if stat.is_empty() || stat.contains(") Z ") {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("'sleep' of the test is still there");
}

#[test]
fn a_tree_that_a_test_has_ruined_is_made_anew() {
    let desk = desk();
    let ruins = [
        "rm -rf .git",
        "echo x > .git/HEAD; exit 0",
        "rm -rf .git/objects",
        "echo broken > .git/index",
        "touch .git/index.lock .git/HEAD.lock",
        "chmod -R a-w .; exit 0",
        "rm -rf ../tree/*; mkdir -p a.txt/b",
        "git config core.worktree /; git config core.bare true",
        "git checkout -q --orphan x; git rm -qrf . ; exit 0",
        "echo '[core' > .git/config",
        "mkfifo .git/index.lock; mkfifo pipe",
        "ln -sfn / .git/objects/info/alternates; git worktree add -q ../other HEAD; exit 0",
    ];
    for (at, ruin) in ruins.iter().enumerate() {
        let name = format!("agent{at}");
        done(&desk, &name, "good\n");
        let ruined = desk.run(&["land", "--test", &format!("{ruin}; exit 0")]);
        assert_eq!(ruined.code, 0, "{ruin}: {}{}", ruined.stdout, ruined.stderr);
        done(&desk, &format!("{name}x"), "good\n");
        let next = desk.json(&["land", "--test", &format!("test -e {name}x.txt && test -f a.txt")]);
        assert_eq!(next["outcome"], "landed", "{ruin}: {next:#}");
        desk.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn loud_and_slow_tests_are_bounded() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    let loud = "head -c 30000000 /dev/zero | tr '\\0' x; printf '\\033[31mred\\n'; exit 7";
    let run = desk.run(&["land", "--test", &format!("test -e ada.txt || exit 0; {loud}")]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(!run.stdout.contains('\u{1b}'), "an escape code is shown");
    assert!(run.stdout.len() < 20_000, "{}", run.stdout.len());
    desk.git(&["config", "colony.test.time", "1"]);
    let slow = "test -e ada.txt || exit 0; trap '' TERM; sleep 30";
    let report = desk.run(&["--json", "land", "ada", "--test", slow]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["left_out"][0]["exit_code"], Value::Null, "{report:#}");
    assert!(report["left_out"][0]["output_tail"].as_str().unwrap().contains("colony.test.time"));
}

#[test]
fn what_tests_would_lack_is_refused_before_they_fail() {
    let desk = desk();
    desk.git(&["config", "protocol.file.allow", "always"]);
    let inner = Sandbox::new();
    let ada = agent(&desk, "ada");
    let url = inner.root.to_str().unwrap();
    ada.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "sub"]);
    ada.git(&["commit", "-qm", "a submodule"]);
    ada.colony(&["agents", "done"]);
    let refused = desk.run(&["land"]);
    assert!(refused.stderr.contains("'sub' is a submodule"), "{}", refused.stderr);
    desk.colony(&["land", "--no-test", "ada"]);
}

#[test]
fn tests_get_copies_of_ignored_files_and_a_set_up() {
    let desk = desk();
    fs::write(desk.path("made.log"), "of the checkout\n").unwrap();
    desk.git(&["config", "colony.clone.link", "made.log"]);
    desk.git(&["config", "colony.clone.run", "echo set up > ready.log"]);
    let ada = agent(&desk, "ada");
    commit(&ada, "ada.txt", "good\n");
    ada.colony(&["agents", "done"]);
    let report = desk.json(&["land", "--test", "test -e ready.log && echo changed > made.log"]);
    assert_eq!(report["outcome"], "landed", "{report:#}");
    assert_eq!(desk.read("made.log"), "of the checkout\n");
}

/// Lands work whose tests do something, then work that must not pass: the tree is the commit, whatever was done in it.
#[test]
fn what_a_test_does_to_its_git_hides_nothing_later() {
    let tricks = [
        "git sparse-checkout set --no-cone check.sh; true",
        "git update-index --skip-worktree a.txt; echo local > a.txt; true",
        "git update-index --assume-unchanged a.txt; echo local > a.txt; true",
        "git config core.worktree ..; true",
        "echo '*.txt' >> .git/info/exclude; echo x > x.txt; true",
        "git config core.autocrlf true; true",
        "touch .git/index.lock; true",
    ];
    for (at, trick) in tricks.iter().enumerate() {
        let desk = desk();
        done(&desk, "ada", "good\n");
        let first = desk.json(&["land", "--test", trick]);
        assert_eq!(first["outcome"], "landed", "{trick}: {first:#}");
        let bob = agent(&desk, "bob");
        fs::write(bob.path("a.txt"), format!("BAD {at}\n")).unwrap();
        bob.colony(&["commit", "-m", "worse", "--all"]);
        bob.colony(&["agents", "done"]);
        let second = desk.run(&["land"]);
        assert_eq!(second.code, 1, "{trick}: {}{}", second.stdout, second.stderr);
        assert_eq!(desk.read("a.txt"), "one\n", "{trick}");
        done(&desk, "cleo", "good\n");
        let third = desk.json(&["land", "--test", "test ! -e x.txt && sh check.sh"]);
        assert_eq!(third["outcome"], "landed", "{trick}: {third:#}");
    }
}

#[test]
fn no_link_in_its_place_leads_to_files_of_a_person() {
    let desk = desk();
    done(&desk, "ada", "good\n");
    desk.colony(&["try"]);
    let other = desk.copy("other");
    fs::write(other.path("a.txt"), "an edit\n").unwrap();
    fs::write(other.path("new.txt"), "untracked\n").unwrap();
    let before = other.visible_state();
    let tree = tree_of(&desk);
    let gitdir = format!("rm -rf .git; echo 'gitdir: {}/.git' > .git", other.root.display());
    let worktree = format!("git config core.worktree '{}'", other.root.display());
    for trick in [gitdir.as_str(), &worktree] {
        drop(desk.run(&["try", "--retest", "--", &format!("{trick}; true")]));
        desk.json(&["try", "--retest"]);
        assert_eq!(other.visible_state(), before, "{trick}");
    }
    for folder in ["tree", "own", "results", "logs"] {
        let place = tree.with_file_name(folder);
        fs::remove_dir_all(&place).ok();
        std::os::unix::fs::symlink(&other.root, &place).unwrap();
        drop(desk.run(&["try", "--retest"]));
        assert_eq!(other.visible_state().worktree.get("new.txt"), before.worktree.get("new.txt"));
        assert_eq!(other.read("a.txt"), "an edit\n", "{folder}");
        fs::remove_file(&place).ok();
    }
}

#[test]
fn leftovers_that_only_one_agent_ignores_trouble_no_other() {
    let desk = desk();
    let test = "if test -e gen.sh; then sh gen.sh; fi; test ! -e bad.txt && test ! -e gen/x || test -e gen.sh";
    desk.git(&["config", "colony.test.run", test]);
    let ada = agent(&desk, "ada");
    fs::write(ada.path(".gitignore"), "*.log\ngen/\n").unwrap();
    fs::write(ada.path("gen.sh"), "mkdir -p gen; echo x > gen/x\n").unwrap();
    ada.colony(&["commit", "-m", "generates", "--all"]);
    ada.colony(&["agents", "done"]);
    desk.colony(&["try"]);
    done(&desk, "bob", "good\n");
    let report = desk.json(&["land", "bob"]);
    assert_eq!(report["outcome"], "landed", "{report:#}");
}

#[test]
fn files_of_the_set_up_stay_between_runs() {
    let desk = desk();
    desk.git(&[
        "config",
        "colony.clone.run",
        "mkdir -p 'made here'; echo x > 'made here/[x]'; echo y > made.txt",
    ]);
    let ada = agent(&desk, "ada");
    fs::remove_file(ada.path("made.txt")).unwrap();
    fs::remove_dir_all(ada.path("made here")).unwrap();
    commit(&ada, "ada.txt", "good\n");
    ada.colony(&["agents", "done"]);
    let test = "test -e 'made here/[x]' && test -e made.txt";
    for _ in 0..2 {
        assert_eq!(desk.json(&["try", "--retest", "--", test])["outcome"], "passed");
    }
}

#[test]
fn an_empty_command_and_another_name_of_held_work_pass_nothing() {
    let desk = desk();
    let ada = done(&desk, "ada", "good\n");
    let refused = desk.run(&["land", "--test", " "]);
    assert!(refused.stderr.contains("is empty"), "{}", refused.stderr);
    desk.colony(&["agents", "hold", "ada"]);
    let tip = ada.git(&["rev-parse", "HEAD"]);
    for name in ["ada", "fork/ada", tip.trim()] {
        let held = desk.run(&["land", name, "--no-test"]);
        assert_eq!(held.code, 1, "{name}: {}{}", held.stdout, held.stderr);
    }
    desk.colony(&["agents", "hold", "--release", "ada"]);
    // What an agent has found with variables of its own does not count for a person.
    desk.git(&["config", "colony.test.run", "test -n \"$FEATURE\""]);
    let bob = agent(&desk, "bob").with("FEATURE", "1");
    bob.git(&["config", "colony.test.run", "test -n \"$FEATURE\""]);
    let tried = bob.json(&["try", "ada"]);
    assert_eq!(tried["outcome"], "passed", "{tried:#}");
    assert_eq!(desk.run(&["land", "ada"]).code, 1);
}

/// A test that keeps its result beside the file that it reads, by size and second, as Python keeps bytecode.
#[cfg(target_os = "linux")]
const WITH_CACHE: &str = "key=$(stat -c '%s %Y' a.txt)
test \"$(head -1 cache.log)\" = \"$key\" || { echo \"$key\"; cat a.txt; } >cache.log
grep -q BAD cache.log && exit 3
exit 0
";

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_the_same_size_is_another_one_to_tests() {
    let desk = desk();
    desk.write("a.txt", "fine\n");
    desk.write("check.sh", WITH_CACHE);
    desk.git(&["commit", "-qam", "a test that keeps its result"]);
    for (name, content) in [("ada", "BAD.\n"), ("bob", "good\n")] {
        let clone = agent(&desk, name);
        commit(&clone, "a.txt", content);
        clone.colony(&["agents", "done"]);
    }
    for _ in 0..3 {
        for (name, outcome) in [("ada", "failed"), ("bob", "passed")] {
            let tried = desk.run(&["--json", "try", "--retest", name]);
            let tried: Value = serde_json::from_str(&tried.stdout).unwrap();
            assert_eq!(tried["outcome"], outcome, "{tried:#}");
            if outcome == "failed" {
                assert_eq!(tried["breaks"]["names"], json!(["ada"]));
            }
        }
    }
}
