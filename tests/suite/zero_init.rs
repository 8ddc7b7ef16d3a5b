//! In a repository that has never heard of us every command works, and leaves tree, config, hooks
//! and attributes as they are.

use std::fs;

use super::support::Sandbox;

#[test]
fn no_command_leaves_a_trace_in_tree_config_or_hooks() {
    let commands: [&[&str]; 12] = [
        &["status"],
        &["checkpoint", "--off-branch", "-m", "a"],
        &["checkpoint", "--auto"],
        &["tag", "-m", "b"],
        &["checkpoints"],
        &["restore", "a"],
        &["undo"],
        &["redo"],
        &["ops"],
        &["config"],
        &["prune"],
        &["version"],
    ];
    for command in commands {
        let sandbox = Sandbox::new();
        sandbox.write("a.txt", "two\n");
        sandbox.write("new.txt", "new\n");
        let of_git =
            |name: &str| super::support::worktree_of(&sandbox.path(&format!(".git/{name}")));
        fs::create_dir_all(sandbox.path(".git/hooks")).unwrap();
        fs::create_dir_all(sandbox.path(".git/info")).unwrap();
        let before = (
            sandbox.worktree(),
            sandbox.read(".git/config"),
            of_git("hooks"),
            of_git("info"),
        );
        let _ = sandbox.run(command).code;
        let after = (
            sandbox.worktree(),
            sandbox.read(".git/config"),
            of_git("hooks"),
            of_git("info"),
        );
        assert_eq!(before, after, "{command:?}");
        assert_eq!(
            sandbox.git(&["status", "--porcelain"]),
            " M a.txt\n?? new.txt",
            "{command:?}"
        );
    }
}

#[test]
fn looking_creates_nothing_at_all() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let everything = || super::support::worktree_of(&sandbox.path(".git"));
    let before = everything();
    let looks: [&[&str]; 12] = [
        &["status"],
        &["checkpoints"],
        &["checkpoints", "--auto"],
        &["ops"],
        &["ops", "--all-worktrees"],
        &["config"],
        &["version"],
        &["checkpoint", "-n"],
        &["checkpoint", "--auto", "-n"],
        &["tag", "-m", "x", "-n"],
        &["prune", "-n"],
        &["undo", "-n"],
    ];
    for look in looks {
        let _ = sandbox.run(look).code;
        assert_eq!(everything(), before, "{look:?}");
    }
    assert_eq!(sandbox.error(&["undo"]), "nothing-to-undo");
    assert_eq!(everything(), before);
}

#[test]
fn the_tour_changes_nothing_but_its_clone() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "pointer.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
    );
    sandbox.write(".gitattributes", "*.bin filter=lfs\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    let everything = || {
        (
            super::support::worktree_of(&sandbox.path(".git")),
            sandbox.worktree(),
        )
    };
    let before = everything();
    let temporary = sandbox.outside().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut world = sandbox.world();
    world
        .variables
        .insert("TMPDIR".into(), temporary.clone().into());
    let run = sandbox.run_in(world, &["tour", "--json"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(everything(), before);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let clone = report["clone"].as_str().unwrap();
    assert!(clone.starts_with(temporary.to_str().unwrap()));
    let steps = report["steps"].as_array().unwrap();
    let commands: Vec<_> = steps
        .iter()
        .map(|step| step["command"].as_str().unwrap())
        .collect();
    assert!(
        commands.contains(&"git colony restore 'before the risky change'"),
        "{commands:?}"
    );
    assert!(
        steps
            .iter()
            .all(|s| s["command"].as_str().unwrap().starts_with("git colony")
                != s["output"].as_array().unwrap().is_empty())
    );
    let pointer = fs::read_to_string(std::path::Path::new(clone).join("pointer.bin")).unwrap();
    assert!(
        pointer.starts_with("version https://git-lfs"),
        "pointers stay as they are"
    );
}
