//! `commit`: exactly the chosen paths, the hooks of the repository, undo; git is the referee.

use serde_json::{Value, json};

use crate::support::Sandbox;

/// What the newest commit changes, as git tells it.
fn committed(sandbox: &Sandbox) -> String {
    sandbox.git(&["show", "--format=%s", "--name-status", "--no-renames", "HEAD"])
}

fn hook(sandbox: &Sandbox, name: &str, script: &str) {
    let path = format!(".git/hooks/{name}");
    sandbox.write_program(&path, format!("#!/bin/sh\n{script}"));
}

#[test]
fn only_the_named_paths_are_committed_and_what_is_staged_stays() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "staged\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.write("dir/b.txt", "changed\n");
    sandbox.write("dir/new", "new\n");
    sandbox.write("else", "not named\n");
    let answer = sandbox.json(&["commit", "-m", "the directory", "dir"]);
    assert_eq!(answer["sha"], sandbox.git(&["rev-parse", "HEAD"]));
    insta::assert_snapshot!(committed(&sandbox), @r"
    the directory

    M	dir/b.txt
    A	dir/new
    ");
    assert_eq!(sandbox.git(&["status", "--short"]), "M  a.txt\n?? else");
    sandbox.check_invariants();
    // A staged file whose name is given is committed as it is on disk.
    sandbox.write("a.txt", "on disk\n");
    sandbox.colony(&["commit", "-m", "the file", "a.txt"]);
    assert_eq!(sandbox.git(&["show", "HEAD:a.txt"]), "on disk");
    assert_eq!(sandbox.git(&["status", "--short"]), "?? else");
}

#[test]
fn deletions_links_modes_and_staged_removals_are_committed() {
    let sandbox = Sandbox::new();
    sandbox.write("script", "x\n");
    sandbox.write("cached", "x\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.remove("dir/b.txt");
    sandbox.set_mode("script", 0o755);
    std::os::unix::fs::symlink("a.txt", sandbox.path("link")).unwrap();
    sandbox.remove("a.txt");
    sandbox.write("a.txt/inside", "a directory now\n");
    sandbox.git(&["rm", "-q", "--cached", "cached"]);
    sandbox.write(".gitignore", "cached\n");
    let paths = ["dir", "script", "link", "a.txt/inside", "cached"];
    let args = [&["commit", "-m", "all kinds"][..], &paths].concat();
    sandbox.colony(&args);
    insta::assert_snapshot!(sandbox.git(&["show", "--format=%s", "--raw", "--abbrev=7", "--no-renames"]), @r"
    all kinds

    :100644 000000 5626abf 0000000 D	a.txt
    :000000 100644 0000000 9e5d955 A	a.txt/inside
    :100644 000000 587be6b 0000000 D	cached
    :100644 000000 af9c6fd 0000000 D	dir/b.txt
    :000000 120000 0000000 8d14cbf A	link
    :100644 100755 587be6b 587be6b M	script
    ");
    assert_eq!(sandbox.git(&["status", "--short"]), "?? .gitignore");
    sandbox.check_invariants();
}

#[test]
fn all_takes_what_a_checkpoint_takes() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "changed\n");
    sandbox.write("new", "new\n");
    sandbox.write("ignored", "x\n");
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write(".env", "TOKEN=1\n");
    sandbox.write("deep/id_rsa", "key\n");
    let before = sandbox.visible_state();
    let dry = sandbox.json(&["commit", "-n", "--all", "-m", "everything"]);
    assert_eq!(sandbox.visible_state(), before);
    assert!(!sandbox.path(".git/colony").exists());
    assert_eq!((&dry["sha"], &dry["files_changed"]), (&Value::Null, &json!(3)));
    insta::assert_snapshot!(sandbox.colony(&["commit", "--all", "-m", "everything", "-m", "and why"]), @r"
    committed 'everything' with 3 changed paths, on 'main': 4e9b65e0
    left out: .env (looks like a secret; naming the file itself includes it)
    left out: deep/id_rsa (looks like a secret; naming the file itself includes it)
    to undo: git colony undo   (op-1)
    ");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%B"]), "everything\n\nand why");
    assert_eq!(sandbox.git(&["status", "--short"]), "?? .env\n?? deep/");
    // The file itself named, it is taken.
    let answer = sandbox.json(&["commit", "-m", "on purpose", ".env", "deep"]);
    assert_eq!(answer["left_out"], json!([{"path": "deep/id_rsa", "reason": "secret"}]));
    assert_eq!(sandbox.git(&["status", "--short"]), "?? deep/");
}

#[test]
fn nothing_to_commit_is_said_and_is_no_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("else", "x\n");
    hook(&sandbox, "pre-commit", "exit 1\n");
    let answer = sandbox.json(&["commit", "-m", "nothing", "a.txt"]);
    assert_eq!((&answer["ok"], &answer["changed"]), (&json!(true), &json!(false)));
    assert_eq!(answer["sha"], sandbox.git(&["rev-parse", "HEAD"]));
    assert!(answer["op"].is_null());
    assert_eq!(
        sandbox.colony(&["commit", "-m", "nothing", "a.txt"]),
        "nothing to commit on 'main'\n"
    );
    sandbox.check_invariants();
    let unborn = Sandbox::unborn();
    let answer = unborn.json(&["commit", "-m", "nothing", "--all"]);
    assert_eq!((&answer["sha"], &answer["changed"]), (&Value::Null, &json!(false)));
    unborn.write("first", "x\n");
    let answer = unborn.json(&["commit", "-m", "first", "--all"]);
    assert_eq!(answer["sha"], unborn.git(&["rev-parse", "HEAD"]));
}

#[test]
fn hooks_run_in_gits_order_and_see_the_commit_to_be() {
    let sandbox = Sandbox::new();
    let seen = sandbox.outside().join("seen");
    let seen = seen.to_str().unwrap();
    hook(&sandbox, "pre-commit", &format!("echo pre $(git diff --cached --name-only) >> {seen}\n"));
    hook(&sandbox, "prepare-commit-msg", &format!("echo prepare $2 >> {seen}\n"));
    hook(
        &sandbox,
        "commit-msg",
        &format!("echo msg $(cat $1) >> {seen}; echo 'Signed-off-by: A' >> $1\n"),
    );
    hook(&sandbox, "post-commit", &format!("echo post $(git log -1 --format=%s) >> {seen}\n"));
    sandbox.write("staged", "x\n");
    sandbox.git(&["add", "staged"]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["commit", "-m", "subject", "a.txt"]);
    let ours = std::fs::read_to_string(seen).unwrap();
    insta::assert_snapshot!(ours, @r"
    pre a.txt
    prepare message
    msg subject
    post subject Signed-off-by: A
    ");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%B"]), "subject\nSigned-off-by: A");
    // git itself runs the same.
    std::fs::remove_file(seen).unwrap();
    sandbox.git(&["reset", "-q", "--soft", "HEAD~1"]);
    sandbox.git(&["commit", "-qm", "subject", "--", "a.txt"]);
    assert_eq!(std::fs::read_to_string(seen).unwrap(), ours);
}

#[test]
fn what_a_hook_adds_is_committed_and_nothing_is_left_staged() {
    let sandbox = Sandbox::new();
    hook(
        &sandbox,
        "pre-commit",
        "echo formatted > a.txt; echo made > made; git add a.txt made; git rm -q --cached dir/b.txt\n",
    );
    sandbox.write("staged", "x\n");
    sandbox.git(&["add", "staged"]);
    sandbox.write("a.txt", "two\n");
    let answer = sandbox.json(&["commit", "-m", "formatted", "a.txt"]);
    assert_eq!(answer["files_changed"], 3);
    assert_eq!(sandbox.git(&["show", "HEAD:a.txt"]), "formatted");
    assert_eq!(sandbox.git(&["status", "--short"]), "A  staged\n?? dir/");
    sandbox.check_invariants();
}

#[test]
fn a_hook_that_refuses_leaves_all_as_it_was() {
    for name in ["pre-commit", "prepare-commit-msg", "commit-msg"] {
        let sandbox = Sandbox::new();
        hook(&sandbox, name, "echo 'not like this' >&2; exit 3\n");
        sandbox.write("a.txt", "two\n");
        sandbox.write("new", "new\n");
        let before = sandbox.visible_state();
        let run = sandbox.run(&["commit", "-m", "no", "a.txt", "new"]);
        assert_eq!(run.code, 128);
        assert!(run.stderr.contains("not like this"), "{}", run.stderr);
        assert!(
            run.stderr.contains(&format!("the {name} hook exited with 3; nothing was committed"))
        );
        assert_eq!(sandbox.error(&["commit", "-m", "no", "a.txt"]), "hook-refused");
        assert_eq!(sandbox.visible_state(), before);
        sandbox.check_invariants();
    }
}

#[test]
fn a_hook_that_empties_the_message_or_commits_itself_refuses() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    hook(&sandbox, "commit-msg", ": > $1\n");
    assert_eq!(sandbox.error(&["commit", "-m", "x", "a.txt"]), "invalid-value");
    hook(
        &sandbox,
        "commit-msg",
        "git update-ref refs/heads/main $(git commit-tree -m sneaked HEAD^{tree} -p HEAD)\n",
    );
    assert_eq!(sandbox.error(&["commit", "-m", "x", "a.txt"]), "ref-moved");
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "sneaked");
    assert_eq!(sandbox.git(&["status", "--short"]), " M a.txt");
    sandbox.check_invariants();
}

#[test]
fn undo_takes_a_commit_back_and_redo_makes_it_again() {
    let sandbox = Sandbox::new();
    sandbox.write("staged", "x\n");
    sandbox.git(&["add", "staged"]);
    sandbox.write("a.txt", "two\n");
    sandbox.write("new", "new\n");
    let before = sandbox.visible_state();
    sandbox.colony(&["commit", "-m", "work", "a.txt", "new"]);
    let after = sandbox.visible_state();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.visible_state(), after);
    assert_eq!(sandbox.json(&["ops"])["ops"][0]["kind"], "commit");
    sandbox.check_invariants();
}

#[test]
fn what_cannot_be_committed_is_refused_by_name() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("ignored", "x\n");
    let refusals: [(&[&str], &str); 7] = [
        (&["commit", "-m", "x", "none"], "path-not-found"),
        (&["commit", "-m", "x", "a.txt/none"], "path-not-found"),
        (&["commit", "-m", "x", "ignored"], "path-not-found"),
        (&["commit", "-m", "x", "../else"], "path-outside"),
        (&["commit", "-m", " \n", "--all"], "invalid-value"),
        (&["commit", "-m", "x"], "usage"),
        (&["commit", "-m", "x", "--all", "a.txt"], "usage"),
    ];
    let before = sandbox.visible_state();
    for (args, code) in refusals {
        assert_eq!(sandbox.error(args), code, "{args:?}");
    }
    assert_eq!(sandbox.visible_state(), before);
    // Else git takes the name from the system.
    sandbox.git(&["config", "user.useConfigOnly", "true"]);
    sandbox.git(&["config", "--unset", "user.name"]);
    assert_eq!(sandbox.error(&["commit", "-m", "x", "--all"]), "identity-unknown");
    let agent = sandbox.json(&["--agent", "ada", "commit", "-m", "x", "--all"]);
    assert_eq!(agent["changed"], true);
    let author = "agent:ada:agent <ada@external.agent.colony.local>";
    assert_eq!(sandbox.git(&["log", "-1", "--format=%an <%ae>"]), author);
}

#[test]
fn the_middle_of_a_merge_and_paths_in_conflict_are_left_alone() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "other"]);
    sandbox.write("a.txt", "theirs\n");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write("a.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    assert!(!sandbox.try_git(&["merge", "other"]));
    assert_eq!(sandbox.error(&["commit", "-m", "x", "--all"]), "operation-in-progress");
    // A stash that does not apply leaves a conflict without a merge.
    sandbox.git(&["merge", "--quit"]);
    sandbox.write("dir/b.txt", "mine\n");
    assert_eq!(sandbox.error(&["commit", "-m", "x", "--all"]), "unmerged-paths");
    sandbox.colony(&["commit", "-m", "beside the conflict", "dir"]);
    assert_eq!(sandbox.git(&["status", "--short"]), "UU a.txt");
    assert_eq!(sandbox.git(&["ls-files", "-u"]).lines().count(), 3);
}
