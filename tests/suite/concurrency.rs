//! Many processes, one repository.

use std::process::{Child, Command, Stdio};

use super::support::Sandbox;

fn start(sandbox: &Sandbox, args: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("git-colony"))
        .env_clear()
        .envs(sandbox.variables())
        .current_dir(&sandbox.root)
        .args(["--timeout", "60"])
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
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
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
        children.push(start(
            &sandbox,
            &["checkpoint", "--off-branch", "-m", &format!("{number}")],
        ));
        sandbox.try_git(&["commit", "-q", "--allow-empty", "-m", "theirs"]);
        sandbox.git(&["pack-refs", "--all"]);
    }
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 6);
    sandbox.check_invariants();
}
