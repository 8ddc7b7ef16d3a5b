//! What a migration to git-lfs makes of `.gitattributes`, and what it takes from there: the lines of the
//! user mean what they meant, in every commit.

use crate::support::Sandbox;

use super::rewrite::POINTER;

/// A repository with a large file, one that is taken away again, and attributes that came later.
fn with_attributes(attributes: &str) -> Sandbox {
    let sandbox = Sandbox::unborn();
    for number in 1..=2 {
        sandbox.write("model.bin", format!("model {number}\n"));
        sandbox.write("text/small.bin", format!("small {number}\n"));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("change {number}")]);
    }
    sandbox.write(".gitattributes", attributes);
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", "-A"]);
    sandbox.git(&["commit", "-qm", "attributes"]);
    sandbox
}

/// Checks what is a pointer, that nothing looks modified, and that diffs of what is no pointer are texts.
fn check(sandbox: &Sandbox) {
    for rev in ["main", "main~1", "main~2"] {
        let is_pointer = |path: &str| {
            let content = sandbox.git(&["show", &format!("{rev}:{path}")]);
            content.starts_with(POINTER)
        };
        assert!(is_pointer("model.bin"), "{rev}");
        assert!(!is_pointer("text/small.bin"), "{rev}");
    }
    for rev in ["main~2", "main~1", "main"] {
        sandbox.git(&["checkout", "-q", rev]);
        let of = |path: &str| sandbox.git(&["check-attr", "filter", "diff", "--", path]);
        assert!(of("model.bin").contains("filter: lfs"), "{rev}");
        let small = of("text/small.bin");
        assert!(!small.contains("filter: lfs"), "{rev}: {small}");
        assert!(!small.contains("diff: unset"), "{rev}: {small}");
        sandbox.write("text/small.bin", "edited\n");
        let diff = sandbox.git(&["diff"]);
        assert!(diff.contains("+edited"), "{rev}: {diff}");
        sandbox.git(&["checkout", "-q", "--", "."]);
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{rev}");
    }
    sandbox.check_invariants_of_git();
}

fn attributes(sandbox: &Sandbox, rev: &str) -> String {
    sandbox.git(&["show", &format!("{rev}:.gitattributes")]) + "\n"
}

const LARGE: &str = "*.bin filter=lfs diff=lfs merge=lfs -text\n";

#[test]
fn files_that_are_taken_away_from_git_lfs_stay_what_they_are() {
    for taken in [
        "text/*.bin !filter !diff !merge\n",
        "text/*.bin -filter\n",
        "text/** !filter !diff !merge !text\n",
    ] {
        let lines = format!("# large files\n{LARGE}\n{taken}");
        let sandbox = with_attributes(&lines);
        sandbox.colony(&["lfs", "migrate", "--push"]);
        assert_eq!(attributes(&sandbox, "main"), lines);
        assert_eq!(attributes(&sandbox, "main~2"), format!("{LARGE}{taken}"));
        check(&sandbox);
    }
}

#[test]
fn attributes_of_a_directory_take_away_in_older_commits_too() {
    let sandbox = with_attributes(LARGE);
    sandbox.write("text/.gitattributes", "*.bin !filter !diff !merge !text\n");
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", "-A"]);
    sandbox.git(&["commit", "-q", "--amend", "--no-edit"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    check(&sandbox);
}

#[test]
fn lines_that_are_there_twice_stay() {
    let lines = format!("{LARGE}*.txt text\r\n*.txt -text\n*.txt text\r\n\n\n# end\n# end");
    let sandbox = with_attributes(&lines);
    sandbox.write("text/small.bin", "");
    sandbox.git(&["-c", "filter.lfs.clean=cat", "commit", "-qam", "empty"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_eq!(attributes(&sandbox, "main"), format!("{lines}\n"));
    assert_eq!(attributes(&sandbox, "main~3"), LARGE);
    sandbox.check_invariants_of_git();
}

#[test]
fn macros_are_followed() {
    let lines = "[attr]large filter=lfs diff=lfs merge=lfs -text\n[attr]small !filter !diff !merge\n\
        *.bin large\ntext/*.bin small\n";
    let sandbox = with_attributes(lines);
    let dry = sandbox.json(&["lfs", "migrate", "-n"]);
    assert_eq!(dry["patterns"], serde_json::json!(["*.bin"]), "{dry:#}");
    assert_eq!(dry["files"], 1, "{dry:#}");
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert!(attributes(&sandbox, "main").starts_with(lines));
    check(&sandbox);
}

#[test]
fn what_git_lfs_cannot_be_told_is_refused() {
    let sandbox = with_attributes("*.bin -filter\nmodel.bin filter=lfs diff=lfs merge=lfs -text\n");
    let before = (sandbox.refs(), sandbox.visible_state());
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
        let answer = sandbox.json(args);
        assert_eq!(answer["code"], "unsupported", "{answer:#}");
        assert_eq!(answer["detail"]["pattern"], "model.bin", "{answer:#}");
        assert_eq!((sandbox.refs(), sandbox.visible_state()), before);
    }
}
