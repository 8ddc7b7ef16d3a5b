//! Many processes, one repository.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use git_colony::testing::atomic;

use crate::support::{LIST_NEW_OBJECTS, Sandbox, View, write_program};

fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    sandbox
        .program()
        .args(["--timeout", "600"])
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn sixteen_processes_make_sixteen_checkpoints() {
    let sandbox = Sandbox::new();
    let children: Vec<_> = (0..16)
        .map(|number| {
            sandbox.write(&format!("work/{number}.txt"), format!("{number}\n"));
            start(&sandbox, &["checkpoint", "-m", &format!("from {number}")])
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 16);
    assert_eq!(sandbox.json(&["ops"])["count"], 16);
    assert_eq!(sandbox.git(&["ls-files", "work"]).lines().count(), 16);
    sandbox.check_invariants();
}

#[test]
fn plain_git_beside_us_makes_neither_lose_anything() {
    let sandbox = Sandbox::new();
    let mut children = Vec::new();
    for number in 0..6 {
        sandbox.write(&format!("ours/{number}"), "x\n");
        children.push(start(&sandbox, &["checkpoint", "--off-branch", "-m", &format!("{number}")]));
        sandbox.try_git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
        sandbox.git(&["pack-refs", "--all"]);
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 6);
    sandbox.check_invariants();
}

/// One agent of several in a repository, in a worktree of its own.
struct Agent {
    number: usize,
    view: View,
}

impl Agent {
    /// Begins a fork of the shared branch, commits to it and merges it back, time after time; returns
    /// the commits.
    fn work(&self, rounds: usize) -> Vec<String> {
        let mut commits = Vec::new();
        for round in 0..rounds {
            let label = format!("agent-{}/{round}", self.number);
            self.insist(&["fork", &label, "--from", "shared"]);
            let path = format!("agent-{}-{round}.txt", self.number);
            self.view.write(&path, &label);
            self.insist(&["checkpoint", "-m", &label]);
            commits.push(self.view.git(&["rev-parse", "HEAD"]));
            let fork = format!("fork/{label}");
            self.insist(&["merge", &fork, "--into", "shared"]);
        }
        commits
    }

    /// The kinds of the operations in its worktree.
    fn kinds_of_operations(&self) -> BTreeSet<String> {
        let ops = self.view.json_apart(&["ops"]);
        let kind = |op: &serde_json::Value| op["kind"].as_str().unwrap().to_owned();
        ops["ops"].as_array().unwrap().iter().map(kind).collect()
    }

    /// Runs the program until nobody else is in its way, and lets no other failure pass.
    fn insist(&self, args: &[&str]) {
        const ENOUGH: usize = 500;
        for _ in 0..ENOUGH {
            let answer = self.view.json_apart(&[&["--timeout", "600"], args].concat());
            if answer["ok"] == true {
                return;
            }
            let code = answer["code"].as_str().unwrap_or_default();
            assert!(matches!(code, "ref-moved" | "locked"), "{args:?} {answer:#}");
        }
        panic!("{args:?} did not get its turn in {ENOUGH} runs");
    }
}

#[test]
fn agents_that_fork_commit_and_merge_at_once_lose_nothing() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let (count, rounds) = if is_long { (16, 50) } else { (4, 10) };
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "shared"]);
    let agents = (0..count).map(|number| {
        let root = sandbox.outside().join(format!("agent-{number}"));
        let path = root.to_str().unwrap();
        sandbox.git(&["worktree", "add", "-q", "--detach", path, "shared"]);
        let view = sandbox.at(root);
        Agent { number, view }
    });
    let agents: Vec<_> = agents.collect();
    let made: Vec<Vec<String>> = std::thread::scope(|scope| {
        let started: Vec<_> =
            agents.iter().map(|agent| scope.spawn(move || agent.work(rounds))).collect();
        started.into_iter().map(|one| one.join().unwrap()).collect()
    });
    // Not one merge was taken for done that another one had overwritten.
    let reachable = sandbox.git(&["rev-list", "shared"]);
    let reachable: BTreeSet<_> = reachable.lines().collect();
    let made = made.iter().flatten();
    let lost: Vec<_> = made.filter(|id| !reachable.contains(id.as_str())).collect();
    assert_eq!(lost, Vec::<&String>::new());
    let files = sandbox.git(&["ls-tree", "--name-only", "shared"]);
    let files = files.lines().filter(|name| name.starts_with("agent-"));
    assert_eq!(files.count(), count * rounds);
    let forks = sandbox.git(&["for-each-ref", "refs/heads/fork/"]);
    assert_eq!(forks.lines().count(), count * rounds);
    for agent in &agents {
        assert_eq!(agent.view.git(&["status", "--porcelain"]), "");
    }
    sandbox.check_invariants();
}

/// Two worktrees of one repository with branches to switch between and branches to merge.
struct Pair {
    sandbox: Sandbox,
    rounds: usize,
}

impl Pair {
    fn new(rounds: usize) -> Pair {
        let sandbox = Sandbox::new();
        for side in ["left", "right"] {
            sandbox.git(&["switch", "-q", "-c", side, "main"]);
            for path in ["a.txt", "dir/b.txt"] {
                sandbox.write(path, format!("{side}\n"));
            }
            sandbox.write(&format!("{side}.txt"), "only here\n");
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-qm", side]);
        }
        for number in 0..rounds {
            let name = format!("feature-{number}");
            sandbox.git(&["switch", "-q", "-c", &name, "main"]);
            sandbox.write(&format!("{name}.txt"), &name);
            sandbox.git(&["add", "-A"]);
            sandbox.git(&["commit", "-qm", &name]);
        }
        sandbox.git(&["switch", "-q", "main"]);
        Pair { sandbox, rounds }
    }

    /// Adds a worktree on a branch.
    fn agent(&self, number: usize, branch: &str) -> Agent {
        let root = self.sandbox.outside().join(format!("agent-{number}"));
        let path = root.to_str().unwrap();
        self.sandbox.git(&["worktree", "add", "-q", path, branch]);
        let view = self.sandbox.at(root);
        Agent { number, view }
    }

    /// Where each branch is and was that nobody is to move.
    fn standing(&self) -> Vec<String> {
        let features = (0..self.rounds).map(|number| format!("feature-{number}"));
        let names = ["main", "left", "right"].map(str::to_owned);
        let names = names.into_iter().chain(features);
        names.map(|name| self.sandbox.git(&["reflog", "show", "--format=%H %gs", &name])).collect()
    }
}

/// Row 8 of the attacks: an agent switches branches while another one, in another worktree, merges.
#[test]
fn switches_and_merges_in_two_worktrees_do_not_interfere() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let pair = Pair::new(if is_long { 100 } else { 24 });
    pair.sandbox.git(&["branch", "goal", "main"]);
    let (switches, merges) = (pair.agent(0, "left"), pair.agent(1, "goal"));
    let before = pair.standing();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..pair.rounds {
                // By git and by us in turn: there and back again.
                match round % 4 {
                    0 => drop(switches.view.git(&["switch", "-q", "right"])),
                    1 => switches.insist(&["fork", &format!("round-{round}"), "--from", "left"]),
                    2 => drop(switches.view.git(&["switch", "-q", "left"])),
                    _ => switches.insist(&["fork", &format!("round-{round}"), "--from", "right"]),
                }
                assert_eq!(switches.view.git(&["status", "--porcelain"]), "");
            }
        });
        scope.spawn(|| {
            for round in 0..pair.rounds {
                merges.insist(&["merge", &format!("feature-{round}")]);
                assert_eq!(merges.view.git(&["status", "--porcelain"]), "");
            }
        });
    });
    assert_eq!(pair.standing(), before, "a branch of somebody else has moved");
    // Whoever switches has stood on what it switched to, and nowhere else.
    let ends: BTreeSet<String> =
        ["left", "right"].map(|side| switches.view.git(&["rev-parse", side])).into();
    let stood = switches.view.git(&["reflog", "show", "--format=%H", "HEAD"]);
    let stood: Vec<&str> = stood.lines().collect();
    assert!(stood.iter().all(|id| ends.contains(*id)), "{stood:?}");
    assert!(stood.len() >= pair.rounds, "{stood:?}");
    // Each merge stands on the one before.
    let moves = merges.view.git(&["reflog", "show", "--format=%H", "goal"]);
    let moves: Vec<&str> = moves.lines().collect();
    assert_eq!(moves.len(), pair.rounds + 1);
    for step in moves.windows(2) {
        let first = merges.view.git(&["rev-parse", &format!("{}^", step[0])]);
        assert_eq!(first, step[1]);
    }
    let files = merges.view.git(&["ls-tree", "--name-only", "goal"]);
    let files = files.lines().filter(|name| name.starts_with("feature-"));
    assert_eq!(files.count(), pair.rounds);
    for (agent, own) in [(&switches, "fork"), (&merges, "merge")] {
        let kinds = agent.kinds_of_operations();
        let foreign = kinds.iter().find(|kind| ![own, "external"].contains(&kind.as_str()));
        assert_eq!(foreign, None);
    }
    pair.sandbox.check_invariants();
}

/// A `git gc` that has looked before anything pointed to what a command wrote, and deletes it once the
/// operation's ref does.
fn late_gc() -> String {
    format!(
        "echo \"$$ here\" >.git/gc.pid\n\
         {LIST_NEW_OBJECTS} >.git/doomed\n\
         touch .git/looked\n\
         until ls .git/refs/colony-local/ops/*/0000000001; do :; done\n\
         xargs rm -f <.git/doomed\n\
         rm .git/gc.pid\n"
    )
}

#[test]
fn a_gc_that_has_looked_before_and_deletes_late_is_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.list_kept_objects();
    let script = sandbox.outside().join("late-gc");
    fs::write(&script, late_gc()).unwrap();
    let root = sandbox.root.display();
    let script = script.display();
    sandbox.write_program(
        ".git/hooks/reference-transaction",
        format!(
            "#!/bin/sh\ncd '{root}' || exit 1\n[ \"$1\" = prepared ] && [ ! -e .git/looked ] || exit 0\n\
             sh '{script}' >/dev/null 2>&1 &\n\
             until [ -e .git/looked ]; do :; done\n"
        ),
    );
    sandbox.write("new.txt", "new\n");
    let before = sandbox.visible_state();
    let args = ["commit", "-m", "new", "--all"];
    assert_eq!(sandbox.error(&args), "object-missing");
    assert_eq!(sandbox.visible_state(), before);
    fs::remove_file(sandbox.path(".git/hooks/reference-transaction")).unwrap();
    sandbox.colony(&args);
    sandbox.check_invariants();
}

#[test]
fn a_program_just_written_runs_while_others_are_started() {
    let sandbox = Sandbox::new();
    let over = AtomicBool::new(false);
    let starts_others = || {
        for _ in (0..10_000).take_while(|_| !over.load(Ordering::Relaxed)) {
            sandbox.process("true").status().unwrap();
        }
    };
    let failed: Vec<_> = std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(starts_others);
        }
        let text = "#!/bin/sh\nexit 0\n";
        let by = |writer: &str, number: usize| {
            let program = sandbox.outside().join(format!("{writer}-{number}"));
            match writer {
                "ours" => atomic::write_program(&program, text.as_bytes()).unwrap(),
                _ => write_program(&program, text),
            }
            sandbox.process(program).status().err().map(|error| format!("{writer}: {error}"))
        };
        let failed =
            (0..300).flat_map(|number| [by("ours", number), by("of the tests", number)]).flatten();
        let failed = failed.collect();
        over.store(true, Ordering::Relaxed);
        failed
    });
    assert_eq!(failed, Vec::<String>::new());
}
