//! Sixteen commands at once from one desk: each succeeds or waits, and nothing is lost.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::agents::new_and_merge::commit;
use crate::support::{Sandbox, View};

/// How many commands run at once.
const AT_ONCE: usize = 16;

fn start(desk: &Sandbox, args: &[String]) -> Child {
    desk.program()
        .args(["--timeout", "600"])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs commands at once and returns what those said that did not succeed.
fn at_once(desk: &Sandbox, commands: impl IntoIterator<Item = String>) -> Vec<String> {
    let commands = commands.into_iter().map(|line| {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let child = start(desk, &args);
        (line, child)
    });
    let running: Vec<_> = commands.collect();
    let mut failed = Vec::new();
    for (line, child) in running {
        let output = child.wait_with_output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            failed.push(format!("{line}: {said}"));
        }
    }
    failed
}

fn clone_of(desk: &Sandbox, name: &str) -> View {
    let path = desk.json(&["agents", "path", name])["path"].clone();
    desk.at(PathBuf::from(path.as_str().unwrap()))
}

fn round(desk: &Sandbox, number: usize) {
    let all = |what: &str| (0..AT_ONCE).map(|at| format!("{what}{at}")).collect::<Vec<_>>();
    assert_eq!(at_once(desk, all("agents new p")), Vec::<String>::new());
    for at in 0..AT_ONCE {
        let file = format!("round-{number}-{at}.txt");
        commit(&clone_of(desk, &format!("p{at}")), &file, "work\n");
    }
    assert_eq!(at_once(desk, all("merge p")), Vec::<String>::new());
    for at in 0..AT_ONCE {
        desk.write(&format!("beside/{at}.txt"), format!("{number}\n"));
    }
    let label = format!("checkpoint --off-branch -m {number}-");
    assert_eq!(at_once(desk, all(&label)), Vec::<String>::new());
    // Some go while others come, and what goes is tidied up by those that come.
    let half = AT_ONCE / 2;
    let going = (0..half).map(|at| format!("agents remove p{at}"));
    let coming = (0..half).map(|at| format!("agents new q{at}"));
    let mixed = going.zip(coming).flat_map(|(one, other)| [one, other]);
    assert_eq!(at_once(desk, mixed), Vec::<String>::new());
    let rest = (half..AT_ONCE).map(|at| format!("agents remove p{at}"));
    let others = (0..half).map(|at| format!("agents remove q{at}"));
    assert_eq!(at_once(desk, rest.chain(others)), Vec::<String>::new());
}

#[test]
fn sixteen_commands_at_once_all_succeed_and_lose_nothing() {
    let is_long = std::env::var_os("COLONY_TEST_LONG").is_some();
    let rounds = if is_long { 64 } else { 2 };
    let desk = Sandbox::new();
    for number in 0..rounds {
        round(&desk, number);
    }
    let merged = fs::read_dir(&desk.root).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("round-")
    });
    assert_eq!(merged.count(), rounds * AT_ONCE);
    let checkpoints = desk.json(&["checkpoints"]);
    assert_eq!(checkpoints["count"], rounds * AT_ONCE, "{checkpoints:#}");
    let left = desk.json(&["agents"]);
    assert_eq!(left["count"], 0, "{left:#}");
    desk.check_invariants_of_git();
}
