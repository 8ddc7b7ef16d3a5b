//! In a repository that has never heard of us every command works, and leaves tree, config, hooks
//! and attributes as they are.

use std::fs;

use crate::support::Sandbox;

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
            |name: &str| crate::support::worktree_of(&sandbox.path(&format!(".git/{name}")));
        fs::create_dir_all(sandbox.path(".git/hooks")).unwrap();
        fs::create_dir_all(sandbox.path(".git/info")).unwrap();
        let before =
            (sandbox.worktree(), sandbox.read(".git/config"), of_git("hooks"), of_git("info"));
        let _ = sandbox.run(command).code;
        let after =
            (sandbox.worktree(), sandbox.read(".git/config"), of_git("hooks"), of_git("info"));
        assert_eq!(before, after, "{command:?}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a.txt\n?? new.txt", "{command:?}");
    }
}

/// Every command, with arguments that make it do something where it can.
pub(crate) const COMMANDS: &[&[&str]] = &[
    &["checkpoint", "-m", "again"],
    &["checkpoint", "--off-branch", "-m", "beside"],
    &["checkpoint", "--auto"],
    &["call", "get_repo_state"],
    &["mcp"],
    &["checkpoints"],
    &["checkpoints", "show", "kept"],
    &["checkpoints", "delete", "kept"],
    &["tag", "-m", "named", "HEAD"],
    &["commit", "-m", "by hand", "--all"],
    &["decide", "-m", "it is so", "a.txt"],
    &["restore", "kept", "--force"],
    &["restore", "kept", "--mode", "fork", "--label", "back"],
    &["catalog", "add", "."],
    &["catalog"],
    &["query", "list"],
    &["query", "text", "a"],
    &["index"],
    &["git", "diff"],
    &["cargo", "check", "-n"],
    &["validate", "a.txt"],
    &["projects"],
    &["plans"],
    &["memory", "add", "a note"],
    &["memory", "show"],
    &["memory", "path"],
    &["context", "hydrate"],
    &["session", "new"],
    &["session", "note", "x"],
    &["session", "list"],
    &["undo"],
    &["redo"],
    &["fleet"],
    &["events"],
    &["agents"],
    &["agents", "new", "bob"],
    &["agents", "path", "ada"],
    &["agents", "remove", "ada"],
    &["agents", "check", "ada", "a.txt", "--allow-unscoped"],
    &["agents", "guide"],
    &["clone", "--read-only"],
    &["clones"],
    &["clones", "gc"],
    &["colony", "show"],
    &["fork", "other"],
    &["forks"],
    &["forks", "--conflicts"],
    &["forks", "delete", "try", "--force"],
    &["merge", "try"],
    &["merge", "try", "--squash"],
    &["land", "main", "--no-test"],
    &["try", "main", "--", "true"],
    &["revert", "try"],
    &["cherry-pick", "fork/try"],
    &["sync", "--push"],
    &["status"],
    &["ops"],
    &["diff", "kept", "HEAD"],
    &["log", "kept"],
    &["decisions"],
    &["topology"],
    &["tour"],
    &["hooks", "install"],
    &["hooks"],
    &["hooks", "uninstall"],
    &["lfs", "status"],
    &["lfs", "hydrate", "a.txt"],
    &["lfs", "migrate", "--no-push"],
    &["map"],
    &["map", "check"],
    &["map", "--worktree"],
    &["pages"],
    &["search", "x"],
    &["context", "x"],
    &["pages", "request"],
    &["pages", "lock", "0000"],
    &["pages", "resident"],
    &["scopes"],
    &["blackboard", "put", "plan", "owner", "ada"],
    &["blackboard", "get", "plan", "owner"],
    &["blackboard", "list"],
    &["ingest", "a.txt"],
    &["knowledge"],
    &["knowledge", "clear", "a.txt"],
    &["promote", "a.txt"],
    &["demote", "a.txt"],
    &["watch", "-n"],
    &["watches"],
    &["watches", "stop", "none"],
    &["map", "blackboard", "plan"],
    &["blackboard", "delete", "plan", "owner"],
    &["tools"],
    &[
        "tools",
        "new",
        "--template",
        "python_lib",
        "--purpose",
        "p",
        "--name",
        "n",
        "--capability",
        "c",
        "--license",
        "MIT",
    ],
    &["id"],
    &["paths"],
    &["groups", "a.txt"],
    &["config"],
    &["doctor"],
    &["prune", "--keep", "0"],
    &["schema"],
    &["version"],
    &["help"],
    &["completions", "bash"],
    &["init"],
    &["deinit"],
    &["deinit", "--purge", "--force"],
];

#[test]
fn the_list_of_commands_is_that_of_the_help() {
    let all = Sandbox::new().colony(&["help", "--all"]);
    let named = all.lines().filter_map(|line| line.strip_prefix("  "));
    // It serves until a signal comes; its own tests start it in repositories that were never set up.
    let ends = |name: &&str| *name != "dashboard";
    for name in named.filter_map(|line| line.split(' ').next()).filter(ends) {
        let is_run = |command: &&&[&str]| command[0] == name;
        assert!(COMMANDS.iter().any(|command| is_run(&command)), "{name}");
    }
}

#[test]
fn no_command_shows_in_what_git_says_of_tags() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside().join("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", sandbox.root.to_str().unwrap(), remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["config", "push.followTags", "true"]);
    sandbox.git(&["tag", "-am", "a version", "v1.0"]);
    sandbox.git(&["push", "-q", "origin", "main", "v1.0"]);
    sandbox.git(&["config", "colony.agent", ""]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    sandbox.colony(&["fork", "try"]);
    sandbox.write("new.txt", "new\n");
    sandbox.colony(&["checkpoint", "-m", "tried"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.colony(&["agents", "new", "ada"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let said = |of: &str| {
        // What a command has added to the branch counts as commits, not as a tag.
        let described = sandbox.git(&["describe", "--abbrev=0", of]);
        let by_version = ["describe", "--abbrev=0", "--tags", "--match", "*[0-9]*", of];
        let decorated = sandbox.git(&["log", "--decorate", "--format=%D", "-1", &tip]);
        let pushed = sandbox.git_any(&[
            "push",
            "-n",
            "--porcelain",
            "--follow-tags",
            "origin",
            &format!("{tip}:refs/heads/main"),
        ]);
        (
            described,
            sandbox.git(&by_version),
            sandbox.git(&["tag"]),
            decorated.contains("tag"),
            pushed.contains("refs/tags"),
        )
    };
    let expected = ("v1.0".to_owned(), "v1.0".to_owned(), "v1.0".to_owned(), false, false);
    assert_eq!(said("HEAD"), expected);
    for command in COMMANDS {
        sandbox.write("a.txt", format!("before {command:?}\n"));
        let run = sandbox.run(command);
        assert_ne!(run.code, 129, "{command:?}: {}", run.stderr);
        assert_eq!(said("HEAD"), expected, "{command:?}");
    }
}

#[test]
fn looking_creates_nothing_at_all() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let everything = || crate::support::worktree_of(&sandbox.path(".git"));
    let before = everything();
    let looks: [&[&str]; 15] = [
        &["status"],
        &["checkpoints"],
        &["checkpoints", "--auto"],
        &["ops"],
        &["ops", "--all-worktrees"],
        &["config"],
        &["version"],
        &["id"],
        &["paths"],
        &["groups", "--agents"],
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
