//! `diff`: what it compares, true counts, the patch and its limit; git is the referee.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::Sandbox;

/// A repository with every kind of change between `HEAD~1` and `HEAD`.
fn changed() -> Sandbox {
    let sandbox = Sandbox::new();
    let long: String = (0..40).fold(String::new(), |mut text, number| {
        writeln!(text, "line {number}").unwrap();
        text
    });
    sandbox.write("long.txt", &long);
    sandbox.write("copied from.txt", long.replace("line", "row"));
    sandbox.write("binary", b"\0\x01\x02");
    sandbox.write("gone", "gone\n");
    sandbox.write("kind", "a file\n");
    sandbox.write("t\tab", "odd name\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "before"]);
    sandbox.git(&["mv", "long.txt", "renamed.txt"]);
    sandbox.write("renamed.txt", long.replace("line 7\n", "seven\n7\n"));
    sandbox.write("copied from.txt", format!("{}more\n", long.replace("line", "row")));
    sandbox.write("copy", long.replace("line", "row"));
    sandbox.write("binary", b"\0\x01\x03");
    sandbox.remove("gone");
    sandbox.remove("kind");
    std::os::unix::fs::symlink("a.txt", sandbox.path("kind")).unwrap();
    sandbox.write("t\tab", "odd name\nand more\n");
    sandbox.set_mode("a.txt", 0o755);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "after"]);
    sandbox
}

/// The entries as git's `--raw --numstat` would tell them.
fn lines(answer: &Value) -> Vec<String> {
    let entries = answer["entries"].as_array().unwrap();
    let line = |entry: &Value| {
        format!(
            "{} {} {} {} {}",
            entry["change_type"].as_str().unwrap(),
            entry["path"].as_str().unwrap(),
            entry["old_path"].as_str().unwrap_or("-"),
            entry["insertions"],
            entry["deletions"],
        )
    };
    entries.iter().map(line).collect()
}

#[test]
fn every_kind_of_change_is_told_with_true_counts() {
    let sandbox = changed();
    let answer = sandbox.json(&["diff", "HEAD~1", "HEAD"]);
    insta::assert_snapshot!(lines(&answer).join("\n"), @r"
    modified a.txt - 0 0
    modified binary - 0 0
    modified copied from.txt - 1 0
    copied copy copied from.txt 0 0
    deleted gone - 0 1
    type_changed kind - 1 1
    renamed renamed.txt long.txt 2 1
    modified t	ab - 1 0
    ");
    let binary = &answer["entries"][1];
    assert_eq!((&binary["path"], &binary["binary"]), (&"binary".into(), &true.into()));
    insta::assert_snapshot!(sandbox.colony(&["diff", "HEAD~1", "HEAD"]), @r"
    from 'HEAD~1' to 'HEAD': 8 changed paths, +5 -3
    M  +x      a.txt
    M  binary  binary
    M  +1 -0   copied from.txt
    C  +0 -0   copied from.txt -> copy
    D  +0 -1   gone
    T  +1 -1   kind
    R  +2 -1   long.txt -> renamed.txt
    M  +1 -0   t\tab
    ");
}

#[test]
fn the_patch_is_what_git_would_apply() {
    let sandbox = changed();
    // What the user has set changes the patch of 'git diff', not ours.
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("diff.context", "0"),
        ("color.ui", "always"),
        ("diff.renames", "false"),
    ] {
        sandbox.git(&["config", key, value]);
    }
    sandbox.git(&["config", "diff.odd.textconv", "false"]);
    sandbox.write(".git/info/attributes", "*.txt diff=odd\n");
    let plain = sandbox.json(&["diff", "HEAD~1", "HEAD"]);
    assert_eq!(plain["raw_unified_diff"], Value::Null);
    let answer = sandbox.json(&["diff", "HEAD~1", "HEAD", "--patch"]);
    assert_eq!(answer["truncated"], false);
    let patch = answer["raw_unified_diff"].as_str().unwrap();
    assert!(patch.contains("Binary files a/binary and b/binary differ"));
    // All but the binary file can be applied.
    let files = patch.split("diff --git ").skip(1);
    let text = files.filter(|file| !file.starts_with("a/binary "));
    let text = text.fold(String::new(), |all, file| all + "diff --git " + file);
    let binary = sandbox.git(&["rev-parse", "HEAD:binary"]);
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    sandbox.git(&["read-tree", "HEAD~1"]);
    sandbox.write(".git/patch", &text);
    sandbox.git(&["apply", "--cached", ".git/patch"]);
    let cache = format!("100644,{binary},binary");
    sandbox.git(&["update-index", "--cacheinfo", &cache]);
    assert_eq!(sandbox.git(&["write-tree"]), tree);
}

#[test]
fn a_diff_without_names_shows_the_worktree_and_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "one\ntwo\n");
    sandbox.write("new", "new\n");
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("ignored", "ignored\n");
    sandbox.write(".env", "TOKEN=1\n");
    sandbox.remove("dir/b.txt");
    let objects = sandbox.git(&["count-objects", "-v"]);
    let state = sandbox.visible_state();
    let answer = sandbox.json(&["diff", "--patch"]);
    assert_eq!(
        lines(&answer),
        [
            "added .gitignore - 1 0",
            "modified a.txt - 1 0",
            "deleted dir/b.txt - 0 1",
            "added new - 1 0"
        ]
    );
    assert_eq!((&answer["ref_a"], &answer["ref_b"]), (&"HEAD".into(), &"worktree".into()));
    assert_eq!(answer["commit_b"], Value::Null);
    assert_eq!(answer["left_out"][0]["path"], ".env");
    let patch = answer["raw_unified_diff"].as_str().unwrap();
    assert!(patch.contains("+two\n") && !patch.contains("TOKEN"), "{patch}");
    assert_eq!(sandbox.git(&["count-objects", "-v"]), objects);
    assert_eq!(sandbox.visible_state(), state);
    assert!(!sandbox.path(".git/colony").exists());
    // The checkpoint after it says the same.
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    let after = sandbox.json(&["diff", "HEAD~1", "HEAD", "--patch"]);
    assert_eq!(
        (&after["entries"], &after["raw_unified_diff"]),
        (&answer["entries"], &answer["raw_unified_diff"])
    );
    let nothing = sandbox.json(&["diff"]);
    assert_eq!(nothing["entries"], serde_json::json!([]));
}

#[test]
fn an_unborn_branch_has_an_empty_side() {
    let sandbox = Sandbox::unborn();
    sandbox.write("new", "new\n");
    let answer = sandbox.json(&["diff"]);
    assert_eq!(lines(&answer), ["added new - 1 0"]);
    assert_eq!(answer["commit_a"], Value::Null);
    assert_eq!(sandbox.error(&["diff", "nothing"]), "revision-not-found");
}

#[test]
fn states_are_found_by_any_of_their_names() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "a label"]);
    sandbox.git(&["branch", "fork/idea"]);
    sandbox.write("a.txt", "later\n");
    sandbox.colony(&["checkpoint", "-m", "later"]);
    let wanted = ["modified a.txt - 1 1"];
    for name in ["a label", "@{1}", "fork/idea", "idea", "main~1", "HEAD~1"] {
        let answer = sandbox.json(&["diff", name]);
        assert_eq!(lines(&answer), wanted, "{name}");
        assert_eq!(lines(&sandbox.json(&["diff", name, "main"])), wanted, "{name}");
    }
    let answer = sandbox.json(&["diff", "--checkpoint", "a label"]);
    assert_eq!(lines(&answer), wanted);
    assert!(answer["ref_a"].as_str().unwrap().starts_with("checkpoint/"));
    // The state before the second checkpoint: the same files, uncommitted.
    let before = sandbox.json(&["diff", "--checkpoint", "op-2", "--worktree"]);
    assert_eq!(lines(&before), Vec::<String>::new());
    assert_eq!(sandbox.error(&["diff", "--checkpoint", "none"]), "checkpoint-not-found");
    assert_eq!(sandbox.error(&["diff", "no such thing"]), "revision-not-found");
    assert_eq!(sandbox.error(&["diff", "-x"]), "usage");
    assert_eq!(sandbox.error(&["diff", "main", "--checkpoint", "later"]), "usage");
}

#[test]
fn what_is_printed_can_be_applied_and_is_safe_on_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("Makefile", "all:\n\techo one\n");
    sandbox.write("dos.txt", "one\r\n");
    sandbox.write("odd.txt", "one \x1b[31mred \x0c\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "before"]);
    sandbox.write("Makefile", "all:\n\techo two\n");
    sandbox.write("dos.txt", "two\r\n");
    sandbox.write("odd.txt", "two \x1b[31mred \x0c\n");
    sandbox.git(&["commit", "-qam", "after"]);
    let printed = sandbox.colony(&["diff", "HEAD~1", "HEAD", "--patch"]);
    sandbox.write(".git/patch", printed);
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    sandbox.git(&["apply", "--index", ".git/patch"]);
    assert_eq!(sandbox.git(&["write-tree"]), sandbox.git(&["rev-parse", "ORIG_HEAD^{tree}"]));
    let mut world = sandbox.world();
    world.stdout_is_terminal = true;
    let args = ["diff", "HEAD", "ORIG_HEAD", "--patch"];
    let shown = sandbox.run_in(world, &args).stdout;
    assert!(shown.contains("+\techo two\n"), "{shown}");
    assert!(shown.contains("+two \\x1b[31mred \\x0c\n"), "{shown}");
    assert!(shown.contains("+two\\r\n"), "{shown}");
}

#[test]
fn a_long_patch_is_cut_between_files_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("b", "short\n");
    sandbox.write("c", "x".repeat(99).as_str().to_owned() + "\n");
    sandbox.write("d", "long line\n".repeat(30_000));
    sandbox.write("e", "after\n");
    let answer = sandbox.json(&["diff", "--patch"]);
    assert_eq!(answer["truncated"], true);
    let patch = answer["raw_unified_diff"].as_str().unwrap();
    assert!(patch.ends_with("x\n") && patch.len() < 256 * 1024, "{patch}");
    assert_eq!(answer["entries"].as_array().unwrap().len(), 4);
    assert!(sandbox.colony(&["diff", "--patch"]).contains("is cut at 256 KiB"));
    sandbox.remove("d");
    assert_eq!(sandbox.json(&["diff", "--patch"])["truncated"], false);
}

#[test]
fn files_that_only_git_can_store_are_compared_too() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "wide working-tree-encoding=UTF-16LE\n");
    sandbox.write("wide", b"a\0\n\0");
    let answer = sandbox.json(&["diff", "--patch"]);
    assert_eq!(lines(&answer), ["added .gitattributes - 1 0", "added wide - 1 0"]);
    assert!(answer["raw_unified_diff"].as_str().unwrap().contains("+a\n"));
}

#[test]
fn names_that_are_not_utf8_and_submodules_are_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let sandbox = Sandbox::new();
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9");
    std::fs::write(sandbox.root.join(odd), "x\n").unwrap();
    let commit = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["update-index", "--add", "--cacheinfo", "160000", &commit, "sub"]);
    std::fs::create_dir(sandbox.path("sub")).unwrap();
    let answer = sandbox.json(&["diff"]);
    assert_eq!(answer["entries"][0]["path"]["path"], r"caf\xe9");
    assert_eq!(answer["entries"].as_array().unwrap().len(), 2, "{answer:#}");
}

#[test]
fn a_mode_that_changed_is_shown_as_one() {
    let sandbox = Sandbox::new();
    sandbox.set_mode("a.txt", 0o755);
    sandbox.git(&["commit", "-qam", "executable"]);
    sandbox.set_mode("a.txt", 0o644);
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "both"]);
    let first = sandbox.json(&["diff", "HEAD~2", "HEAD~1"]);
    assert_eq!(first["entries"][0]["new_mode"], "100755");
    let text = sandbox.colony(&["diff", "HEAD~2", "HEAD~1"]);
    assert!(text.contains("M  +x  a.txt"), "{text}");
    let text = sandbox.colony(&["diff", "HEAD~1", "HEAD"]);
    assert!(text.contains("M  +1 -1  a.txt"), "{text}");
    assert!(sandbox.json(&["diff", "HEAD~2", "HEAD"])["entries"][0]["new_mode"].is_null());
}
