//! `decide` and `decisions`: one commit for record and work, ids that last, the newest version of each.

use serde_json::{Value, json};

use crate::support::Sandbox;

fn committed(sandbox: &Sandbox) -> String {
    sandbox.git(&["show", "--format=%B", "--name-status", "--no-renames", "HEAD"])
}

/// `id sha-subject status title` of every decision that is listed.
fn listed(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let answer = sandbox.json(&[&["decisions"], args].concat());
    assert_eq!(answer["ok"], true, "{answer:#}");
    let decisions = answer["decisions"].as_array().unwrap();
    assert_eq!(answer["count"], decisions.len());
    let text = |decision: &Value, key: &str| decision[key].as_str().unwrap().to_owned();
    let line = |decision: &Value| {
        let sha = text(decision, "sha");
        let subject = sandbox.git(&["log", "-1", "--format=%s", &sha]);
        let (id, status) = (text(decision, "decision_id"), text(decision, "status"));
        format!("{id} [{subject}] {status} {}", text(decision, "title"))
    };
    decisions.iter().map(line).collect()
}

fn commit_file(sandbox: &Sandbox, path: &str, content: &str, message: &str) -> String {
    sandbox.write(path, content);
    sandbox.git(&["add", path]);
    sandbox.git(&["commit", "-qm", message]);
    sandbox.git(&["rev-parse", "HEAD"])
}

/// A repository with work of which some is about a decision.
fn pending() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.write("dir/new", "new\n");
    sandbox.write("else", "not named\n");
    sandbox.write("staged", "staged\n");
    sandbox.git(&["add", "staged"]);
    sandbox
}

const ARGS: &[&str] = &[
    "decide",
    "-m",
    "Use two, not one",
    "--summary",
    "Two is more",
    "--rationale",
    "It was measured\nColony-Decision: forged",
    "--rejected",
    "one",
    "--rejected",
    "three",
    "a.txt",
    "dir",
];

#[test]
fn a_decision_is_one_commit_with_its_work() {
    let sandbox = pending();
    let before = sandbox.visible_state();
    let dry = sandbox.json(&[ARGS, &["-n"]].concat());
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!((&dry["sha"], &dry["files_changed"]), (&Value::Null, &json!(3)));
    let answer = sandbox.json(ARGS);
    assert_eq!(answer["sha"], sandbox.git(&["rev-parse", "HEAD"]));
    insta::assert_snapshot!(committed(&sandbox), @r"
    decide: Use two, not one

    Two is more

    It was measured
    > Colony-Decision: forged

    Colony-Decision: use-two-not-one


    M	a.txt
    A	design/decisions/use-two-not-one.json
    A	dir/new
    ");
    assert_eq!(sandbox.git(&["status", "--short"]), "A  staged\n?? else");
    let trailer = sandbox.git(&["log", "-1", "--format=%(trailers:key=Colony-Decision,valueonly)"]);
    assert_eq!(trailer.trim(), "use-two-not-one");
    sandbox.check_invariants();
    let after = sandbox.visible_state();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    sandbox.colony(&["redo"]);
    assert_eq!(sandbox.visible_state(), after);
    assert_eq!(sandbox.json(&["decisions"])["decisions"][0]["rejected"], json!(["one", "three"]));
}

#[test]
fn the_answer_and_the_record_say_the_same() {
    let sandbox = pending();
    sandbox.json(&[ARGS, &["-n"]].concat());
    let answer = sandbox.json(ARGS);
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer).unwrap(), @r#"
    {
      "ok": true,
      "message": "recorded 'use-two-not-one' on 'main', with 3 changed paths",
      "decision_id": "use-two-not-one",
      "sha": "5272b5a8ba5d96bdb43162fb95e6b758eb00ac1d",
      "title": "Use two, not one",
      "summary": "Two is more",
      "rationale": "It was measured\nColony-Decision: forged",
      "rejected": [
        "one",
        "three"
      ],
      "status": "active",
      "supersedes": null,
      "depends_on": [],
      "implements": [],
      "authored_at": "2026-01-02T03:05:05Z",
      "author": "Ada <ada@example.com>",
      "relative_path": "design/decisions/use-two-not-one.json",
      "commits": [
        "5272b5a8ba5d96bdb43162fb95e6b758eb00ac1d"
      ],
      "changed": true,
      "next_version": false,
      "reasons_only": false,
      "is_first": true,
      "branch": "main",
      "files_changed": 3,
      "left_out": [],
      "op": "op-1",
      "dry_run": false
    }
    "#);
    insta::assert_snapshot!(sandbox.read("design/decisions/use-two-not-one.json"), @r#"
    {
      "decision_id": "use-two-not-one",
      "title": "Use two, not one",
      "summary": "Two is more",
      "rationale": "It was measured\nColony-Decision: forged",
      "rejected": [
        "one",
        "three"
      ],
      "supersedes": null,
      "depends_on": [],
      "implements": []
    }
    "#);
}

#[test]
fn reasons_alone_are_recorded_and_said_to_be_alone() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.colony(&["decide", "-m", "Wait"]), @r"
    recorded 'wait' on 'main', only reasons were recorded
    name PATHs to commit their pending changes with it, or --implements COMMIT
    the first record here, a file of the branch: design/decisions/wait.json
    to undo: git colony undo   (op-1)
    ");
    let said = sandbox.colony(&["decide", "-m", "About it", "a.txt"]);
    assert!(said.contains("nothing is uncommitted below the named paths;"), "{said}");
    let dry = sandbox.colony(&["decide", "-m", "Later", "-n"]);
    assert!(dry.starts_with("would record 'later' on 'main', only the reasons\n"), "{dry}");
    let again = sandbox.colony(&["decide", "-m", "Wait", "-n"]);
    let told = "'wait' exists already: --id wait writes its next version\n";
    assert!(again.contains(told), "{again}");
    let absent =
        |name: &str| sandbox.json(&["decisions", "show", name])["detail"]["nearest"].clone();
    assert_eq!(absent("WAI"), "wait");
    assert_eq!(absent("xyz"), Value::Null);
    let first = sandbox.git(&["rev-parse", "HEAD~1"]);
    let answer = sandbox.json(&["decide", "-m", "Done before", "--implements", "HEAD~1"]);
    assert_eq!(answer["reasons_only"], false);
    assert_eq!(answer["implements"], json!([first]));
    let named = sandbox.json(&["decide", "-m", "Nothing new", "a.txt"]);
    assert_eq!(named["reasons_only"], true);
}

#[test]
fn every_kind_of_path_goes_with_a_decision() {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "lfs"]);
    sandbox.write("large.bin", "large\n");
    sandbox.write_program("tool", "#!/bin/sh\n");
    std::os::unix::fs::symlink("a.txt", sandbox.path("link")).unwrap();
    sandbox.remove("dir/b.txt");
    sandbox.colony(&["decide", "-m", "All kinds", "large.bin", "tool", "link", "dir"]);
    assert_eq!(sandbox.git(&["status", "--short"]), "");
    assert!(sandbox.git(&["show", "HEAD:large.bin"]).starts_with("version https://git-lfs"));
    insta::assert_snapshot!(sandbox.git(&["show", "--format=%s", "--raw", "--abbrev=7", "--no-renames"]), @r"
    decide: All kinds

    :000000 100644 0000000 c95419f A	design/decisions/all-kinds.json
    :100644 000000 af9c6fd 0000000 D	dir/b.txt
    :000000 100644 0000000 6385a36 A	large.bin
    :000000 120000 0000000 8d14cbf A	link
    :000000 100755 0000000 1a24852 A	tool
    ");
    sandbox.check_invariants();
}

#[test]
fn the_next_version_replaces_what_is_given_and_keeps_the_rest() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["decide", "-m", "First", "--id", "d-1", "--rationale", "why"]);
    let path = "design/decisions/d-1.json";
    let own = sandbox.read(path).replace("\"summary\"", "\"owner\": \"ada\",\n  \"summary\"");
    commit_file(&sandbox, path, &own, "an own field");
    let answer = sandbox.json(&["decide", "-m", "Second", "--id", "d-1", "--summary", "s"]);
    assert_eq!((&answer["next_version"], &answer["rationale"]), (&json!(true), &json!("why")));
    assert!(sandbox.read(path).contains("\"owner\": \"ada\""));
    assert_eq!(listed(&sandbox, &[]), ["d-1 [decide: Second] active Second"]);
    assert_eq!(
        sandbox.json(&["decisions"])["decisions"][0]["commits"].as_array().unwrap().len(),
        3
    );
    let again = sandbox.json(&["decide", "-m", "Second", "--id", "d-1", "--summary", "s"]);
    assert_eq!((&again["changed"], &again["op"]), (&json!(false), &Value::Null));
    // An edit of the record that is not committed is not lost.
    sandbox.write(path, "{}\n");
    assert_eq!(sandbox.error(&["decide", "-m", "Third", "--id", "d-1"]), "uncommitted-edits");
    assert_eq!(sandbox.read(path), "{}\n");
    sandbox.git(&["checkout", "-q", path]);
    // A record in a list stays in its list.
    let list =
        r#"[{"decision_id": "l-1", "title": "One"}, {"decision_id": "l-2", "title": "Two"}]"#;
    commit_file(&sandbox, "design/decisions/list.json", list, "a list");
    sandbox.colony(&["decide", "-m", "Two, again", "--id", "l-2"]);
    assert_eq!(
        listed(&sandbox, &[]),
        [
            "l-1 [a list] active One",
            "d-1 [decide: Second] active Second",
            "l-2 [decide: Two, again] active Two, again"
        ]
    );
    sandbox.check_invariants();
}

#[test]
fn ids_are_made_of_titles_and_do_not_clash() {
    let sandbox = Sandbox::new();
    let id = |args: &[&str]| {
        let answer = sandbox.json(&[&["decide", "-m"], args].concat());
        answer["decision_id"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    };
    assert_eq!(id(&["Same title"]), "same-title");
    let second = id(&["Same title"]);
    assert!(second.starts_with("same-title-") && second.len() > 12, "{second}");
    sandbox.write("design/decisions/in-the-way.json", "mine\n");
    assert_ne!(id(&["In the way"]), "in-the-way");
    assert_eq!(sandbox.read("design/decisions/in-the-way.json"), "mine\n");
    assert_eq!(sandbox.error(&["decide", "-m", "x", "--id", "in-the-way"]), "uncommitted-edits");
    assert_eq!(id(&["../../.git/config"]), "git-config");
    for bad in ["../x", ".hidden", "-x", "a/b", "a\nb", "", "x y"] {
        let flag = format!("--id={bad}");
        assert_eq!(sandbox.error(&["decide", "-m", "x", &flag]), "invalid-value", "{bad}");
    }
    for bad in ["", "two\nlines", "\u{1b}[31m"] {
        assert_eq!(sandbox.error(&["decide", "-m", bad]), "invalid-value", "{bad}");
    }
}

#[test]
fn what_a_decision_refers_to_has_to_exist() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["decide", "-m", "Use files", "--id", "use-files"]);
    let before = sandbox.visible_state();
    let run = sandbox.run(&["decide", "-m", "x", "--supersedes", "use-file5"]);
    assert_eq!(run.code, 128);
    insta::assert_snapshot!(run.stderr, @r"
    error: no decision is called 'use-file5'; the nearest is 'use-files'
    hint: git colony decisions --limit 1000
    ");
    let answer = sandbox.json(&["decide", "-m", "x", "--depends-on", "other"]);
    assert_eq!(
        (&answer["code"], &answer["detail"]["nearest"]),
        (&json!("decision-not-found"), &Value::Null)
    );
    assert_eq!(sandbox.error(&["decide", "-m", "x", "--implements", "none"]), "revision-not-found");
    assert_eq!(sandbox.error(&["decide", "-m", "x", "none.txt"]), "path-not-found");
    assert_eq!(sandbox.visible_state(), before);
    sandbox.check_invariants();
    // A unique beginning is enough, and the whole id is written down.
    sandbox.colony(&[
        "decide",
        "-m",
        "Use a database",
        "--supersedes",
        "use",
        "--depends-on",
        "use-f",
    ]);
    let record: Value =
        serde_json::from_str(&sandbox.read("design/decisions/use-a-database.json")).unwrap();
    assert_eq!(
        (&record["supersedes"], &record["depends_on"]),
        (&json!("use-files"), &json!(["use-files"]))
    );
    assert_eq!(
        listed(&sandbox, &[]),
        [
            "use-files [decide: Use files] superseded Use files",
            "use-a-database [decide: Use a database] active Use a database"
        ]
    );
    assert_eq!(sandbox.error(&["decide", "-m", "x", "--supersedes", "use-"]), "decision-not-found");
}

#[test]
fn the_newest_version_is_listed_and_the_limit_is_honest() {
    let sandbox = Sandbox::new();
    for (id, title) in [("a", "A1"), ("b", "B1"), ("a", "A2"), ("c", "C1"), ("a", "A3")] {
        sandbox.colony(&["decide", "-m", title, "--id", id]);
    }
    let all = ["b [decide: B1] active B1", "c [decide: C1] active C1", "a [decide: A3] active A3"];
    assert_eq!(listed(&sandbox, &[]), all);
    assert_eq!(listed(&sandbox, &["--limit", "2"]), all[1..]);
    assert_eq!(listed(&sandbox, &["--limit", "0"]), Vec::<String>::new());
    assert_eq!(sandbox.json(&["decisions", "--limit", "0"])["total"], 3);
    assert_eq!(listed(&sandbox, &["--since", "HEAD~2"]), all[1..]);
    assert_eq!(listed(&sandbox, &["--since", "HEAD"]), Vec::<String>::new());
    assert_eq!(sandbox.error(&["decisions", "--since", "none"]), "revision-not-found");
    assert_eq!(sandbox.error(&["decisions", "--limit", "-1"]), "usage");
    let text = sandbox.colony(&["decisions"]);
    insta::assert_snapshot!(text, @r"
    3 decisions
    b  12 minutes ago  15238043  active  B1
    c  10 minutes ago  c5411a92  active  C1
    a  9 minutes ago   d8fb7d93  active  A3
    ");
    let unborn = Sandbox::unborn();
    assert_eq!(listed(&unborn, &[]), Vec::<String>::new());
}

#[test]
fn deletions_renames_and_reverts_are_known() {
    let sandbox = Sandbox::new();
    for id in ["gone", "moved", "taken-back", "stays"] {
        sandbox.write("a.txt", format!("{id}\n"));
        sandbox.colony(&["decide", "-m", id, "--id", id, "a.txt"]);
    }
    commit_file(
        &sandbox,
        "design/decisions/by-name.json",
        r#"{"title": "Named by its file"}"#,
        "by name",
    );
    sandbox.git(&["rm", "-q", "design/decisions/gone.json"]);
    sandbox.git(&["commit", "-qm", "delete"]);
    sandbox.git(&["mv", "design/decisions/moved.json", "design/decisions/elsewhere.json"]);
    sandbox.git(&["mv", "design/decisions/by-name.json", "design/decisions/new-name.json"]);
    sandbox.git(&["commit", "-qm", "move"]);
    // Only the work is taken back, not the record.
    let taken_back = sandbox.git(&["log", "-1", "--format=%H", "--grep", "decide: taken-back"]);
    sandbox.write("a.txt", "as before\n");
    sandbox.git(&["commit", "-qam", &format!("Revert it\n\nThis reverts commit {taken_back}.")]);
    assert_eq!(
        listed(&sandbox, &[]),
        [
            "gone [decide: gone] reverted gone",
            "new-name [move] active Named by its file",
            "moved [decide: moved] active moved",
            "taken-back [decide: taken-back] reverted taken-back",
            "stays [decide: stays] active stays",
        ]
    );
    let answer = sandbox.json(&["decisions"]);
    assert_eq!(answer["decisions"][2]["relative_path"], "design/decisions/elsewhere.json");
    assert_eq!(answer["decisions"][0]["relative_path"], "design/decisions/gone.json");
    // A deletion since a commit is news since it.
    let since = sandbox.git(&["log", "-1", "--format=%H", "--grep", "by name"]);
    assert_eq!(listed(&sandbox, &["--since", &since]).len(), 2);
}

#[test]
fn a_revert_counts_until_it_is_reverted() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["decide", "-m", "kept", "--id", "kept"]);
    let taken_back = sandbox.git(&["rev-parse", "HEAD"]);
    let message = format!("Revert it\n\nThis reverts commit {taken_back}.");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", &message]);
    assert_eq!(listed(&sandbox, &[]), ["kept [decide: kept] reverted kept"]);
    let reverted = sandbox.git(&["rev-parse", "HEAD"]);
    // A revert that is reverted takes nothing back.
    sandbox.git(&[
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        &format!("Again\n\nThis reverts commit {reverted}."),
    ]);
    assert_eq!(listed(&sandbox, &[]), ["kept [decide: kept] active kept"]);
    sandbox.write("late.txt", "x\n");
    sandbox.colony(&["decide", "-m", "late", "--id", "late", "late.txt"]);
    sandbox.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(listed(&sandbox, &[])[1], "late [decide: late] reverted late");
}

#[test]
fn ids_last_through_squash_rebase_and_amend() {
    let sandbox = Sandbox::new();
    sandbox.git(&["checkout", "-q", "-b", "work"]);
    for (id, file) in [("one", "1.txt"), ("two", "2.txt")] {
        sandbox.write(file, "x\n");
        sandbox.colony(&["decide", "-m", id, "--id", id, file]);
    }
    let ids = |sandbox: &Sandbox| {
        let answer = sandbox.json(&["decisions", "--", "2.txt"]);
        answer["decisions"][0]["decision_id"].clone()
    };
    sandbox.git(&["commit", "-q", "--amend", "-m", "other words, no trailer"]);
    assert_eq!(ids(&sandbox), "two");
    sandbox.git(&["checkout", "-q", "main"]);
    commit_file(&sandbox, "main.txt", "x\n", "meanwhile");
    sandbox.git(&["checkout", "-q", "work"]);
    sandbox.git(&["rebase", "-q", "main"]);
    assert_eq!(ids(&sandbox), "two");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--squash", "work"]);
    sandbox.git(&["commit", "-qm", "squashed"]);
    let answer = sandbox.json(&["decisions", "--", "2.txt"]);
    let found = answer["decisions"].as_array().unwrap().iter();
    let found: Vec<_> = found.map(|one| one["decision_id"].as_str().unwrap()).collect();
    assert_eq!(found, ["one", "two"]);
}

#[test]
fn decisions_are_found_by_the_paths_their_commits_touched() {
    let sandbox = Sandbox::new();
    let earlier = commit_file(&sandbox, "src/earlier.txt", "x\n", "earlier work");
    sandbox.write("src/deep/file", "x\n");
    sandbox.colony(&["decide", "-m", "own", "src"]);
    sandbox.colony(&["decide", "-m", "before", "--implements", &earlier]);
    sandbox.colony(&["decide", "-m", "reasons"]);
    sandbox.write("later.txt", "x\n");
    sandbox.git(&["add", "later.txt"]);
    sandbox.git(&["commit", "-qm", "later\n\nColony-Decision: reasons"]);
    let ids = |paths: &[&str]| -> Vec<String> {
        let lines = listed(&sandbox, &[&["--"], paths].concat());
        lines.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&["src/deep/file"]), ["own"]);
    assert_eq!(ids(&["src"]), ["own", "before"]);
    assert_eq!(ids(&["later.txt"]), ["reasons"]);
    assert_eq!(ids(&["design/decisions/own.json", "later.txt"]), ["own", "reasons"]);
    assert_eq!(ids(&["none"]), Vec::<String>::new());
    assert_eq!(sandbox.error(&["decisions", "--", "../out"]), "path-outside");
}

#[test]
fn both_sides_of_a_merge_count_and_the_merge_writes_no_decision() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["decide", "-m", "base", "--id", "base"]);
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.colony(&["decide", "-m", "side", "--id", "side"]);
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.colony(&["decide", "-m", "base again", "--id", "base"]);
    sandbox.git(&["merge", "-q", "--no-edit", "side"]);
    let mut found = listed(&sandbox, &[]);
    found.sort();
    assert_eq!(
        found,
        ["base [decide: base again] active base again", "side [decide: side] active side"]
    );
}

#[test]
fn hostile_records_are_data_and_broken_ones_are_named() {
    let sandbox = Sandbox::new();
    let files = [
        ("broken.json", "{"),
        ("number.json", "7"),
        ("twin.json", r#"{"decision_id": "real", "title": "A twin"}"#),
        (
            "hostile.json",
            r#"{"decision_id": "../\u001b[31m\nx", "title": ["no"], "supersedes": 7, "depends_on": {}, "rejected": "one"}"#,
        ),
        ("loop.json", r#"{"decision_id": "loop", "supersedes": "loop"}"#),
        ("notes.md", "no record"),
        ("deep/under.json", r#"{"title": "Deep"}"#),
    ];
    sandbox.colony(&["decide", "-m", "real", "--id", "real"]);
    for (name, content) in files {
        sandbox.write(&format!("design/decisions/{name}"), content);
    }
    sandbox.write("design/decisions/nested.json", "[".repeat(100_000));
    sandbox.write(
        "design/decisions/large.json",
        format!("{{\"title\": \"{}\"}}", "x".repeat(1 << 20)),
    );
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("design/decisions/link.json")).unwrap();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "all at once"]);
    let answer = sandbox.json(&["decisions"]);
    let problems = answer["problems"].as_array().unwrap().iter();
    let problems: Vec<_> = problems.map(|one| one["path"].as_str().unwrap()).collect();
    assert_eq!(
        problems,
        ["broken.json", "large.json", "nested.json", "number.json", "twin.json"]
            .map(|name| format!("design/decisions/{name}"))
    );
    let text = sandbox.colony(&["decisions"]);
    assert!(
        text.contains("under") && text.contains("not used: design/decisions/broken.json"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}') && !text.contains("etc/passwd"), "{text}");
    let hostile = answer["decisions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["rejected"] == json!(["one"]));
    assert_eq!(hostile.unwrap()["supersedes"], Value::Null);
    // It can be superseded and does not end up in a trailer of its own.
    sandbox.colony(&["decide", "-m", "better", "--supersedes", "../"]);
    let trailers = sandbox.git(&["log", "-1", "--format=%(trailers:only)"]);
    assert_eq!(trailers.lines().count(), 2, "{trailers}");
}

#[test]
fn decide_refuses_where_it_could_do_harm() {
    let sandbox = Sandbox::new();
    sandbox.write("design/decisions", "a file\n");
    assert_eq!(sandbox.error(&["decide", "-m", "x"]), "path-in-the-way");
    sandbox.remove("design");
    std::os::unix::fs::symlink("dir", sandbox.path("design")).unwrap();
    assert_eq!(sandbox.error(&["decide", "-m", "x"]), "path-in-the-way");
    sandbox.remove("design");
    sandbox.git(&["bisect", "start"]);
    assert_eq!(sandbox.error(&["decide", "-m", "x"]), "operation-in-progress");
    sandbox.git(&["bisect", "reset"]);
    sandbox.git(&["config", "--unset", "user.email"]);
    assert_eq!(sandbox.error(&["decide", "-m", "x"]), "identity-unknown");
    sandbox.check_invariants();
    let unborn = Sandbox::unborn();
    unborn.colony(&["decide", "-m", "The first"]);
    assert_eq!(unborn.git(&["log", "--format=%s"]), "decide: The first");
    assert_eq!(unborn.git(&["status", "--short"]), "");
}

#[test]
fn a_record_that_does_not_read_takes_no_decision_away() {
    let sandbox = Sandbox::new();
    let put = |content: &str, message: &str| {
        sandbox.write("design/decisions/l.json", content);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", message]);
    };
    let (p, q) = (r#"{"decision_id":"p","title":"P"}"#, r#"{"decision_id":"q","title":"Q"}"#);
    put(&format!("[{p},{q}]"), "both");
    put(&format!(r#"[{p},{{"title":"draft"}},{q},{{"decision_id":"n","title":"N"}}]"#), "draft");
    let good = ["p [both] active P", "q [both] active Q"];
    let with_new = [good[0], good[1], "n [draft] active N"];
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    let mut expected = with_new.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(sorted(listed(&sandbox, &[])), expected);
    assert!(
        sandbox
            .colony(&["decisions"])
            .contains("not used: design/decisions/l.json holds a decision without 'decision_id'")
    );
    put(&format!("[{p},{q},{p}]"), "twice");
    assert_eq!(sorted(listed(&sandbox, &[])), ["n [draft] reverted N", good[0], good[1]]);
    put("[{", "broken");
    assert_eq!(sorted(listed(&sandbox, &[])), ["n [draft] reverted N", good[0], good[1]]);
    sandbox.remove("design/decisions/l.json");
    sandbox.git(&["commit", "-qam", "gone"]);
    assert!(listed(&sandbox, &[]).iter().all(|line| line.contains("reverted")));
}

#[test]
fn what_is_remembered_of_decisions_changes_no_answer() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["decide", "-m", "One"]);
    sandbox.git(&["switch", "-q", "-c", "side"]);
    sandbox.colony(&["decide", "-m", "Two"]);
    sandbox.colony(&["decide", "-m", "One, otherwise", "--id", "one"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.colony(&["decide", "-m", "Three"]);
    sandbox.git(&["revert", "-n", "HEAD"]);
    sandbox.git(&["commit", "-q", "-m", "Revert\n\nThis reverts commit 0."]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "later"]);
    sandbox.git(&["branch", "before"]);
    sandbox.git(&["merge", "-q", "--no-edit", "side"]);
    sandbox.git(&["branch", "after"]);
    let remembered = sandbox.path(".git/colony/cache/decisions-1.json");
    let anew = |revision: &str| {
        sandbox.git(&["checkout", "-q", revision]);
        std::fs::remove_file(&remembered).ok();
        let all = sandbox.json(&["decisions"]);
        assert!(remembered.exists());
        all
    };
    let revisions = ["before", "after", "side", "main~2", "side~1", "after"];
    let expected = revisions.map(anew);
    assert_eq!(expected[1]["total"], 3, "{:#}", expected[1]);
    for (revision, expected) in revisions.into_iter().zip(&expected) {
        sandbox.git(&["checkout", "-q", revision]);
        assert_eq!(sandbox.json(&["decisions"]), *expected, "{revision}");
        assert_eq!(sandbox.json(&["decisions"]), *expected, "{revision}, again");
    }
    // It is derived data: whatever it says, it can be made anew.
    std::fs::write(&remembered, "{\"tip\": 7}").unwrap();
    assert_eq!(sandbox.json(&["decisions"]), expected[5]);
}

#[test]
fn one_decision_is_shown_in_full() {
    let sandbox = pending();
    sandbox.json(ARGS);
    sandbox.json(&["decide", "-m", "Use one again", "--supersedes", "use-two-not-one", "else"]);
    let shown = sandbox.json(&["decisions", "show", "use-two"]);
    let listed = &sandbox.json(&["decisions"])["decisions"][0];
    for (field, value) in listed.as_object().unwrap() {
        assert_eq!(shown[field], *value, "{field}");
    }
    assert_eq!(shown["status"], "superseded");
    let text = sandbox.read("design/decisions/use-two-not-one.json");
    assert_eq!(shown["text"], text);
    insta::assert_snapshot!(sandbox.colony(&["decisions", "show", "use-two-not-one"]), @r"
    'Use two, not one' (use-two-not-one)
    status  superseded
    commit  2f5bfee3
    author  Ada <ada@example.com>
    date    2026-01-02T03:04:05Z
    record  design/decisions/use-two-not-one.json
    summary:
        Two is more
    rationale:
        It was measured
        Colony-Decision: forged
    rejected: one
    rejected: three
    ");
    assert_eq!(sandbox.error(&["decisions", "show", "use-"]), "decision-not-found");
    let answer = sandbox.json(&["decisions", "show", "use-tow-not-one"]);
    assert_eq!(answer["code"], "decision-not-found");
    assert_eq!(answer["detail"]["nearest"], "use-two-not-one");
    sandbox.git(&["rm", "-q", "design/decisions/use-two-not-one.json"]);
    sandbox.git(&["commit", "-qm", "drop it"]);
    let gone = sandbox.json(&["decisions", "show", "use-two-not-one"]);
    assert_eq!((&gone["status"], &gone["text"]), (&json!("reverted"), &json!(text)));
    let empty = Sandbox::unborn();
    assert_eq!(empty.error(&["decisions", "show", "x"]), "decision-not-found");
}

#[test]
fn the_first_decision_says_where_its_record_is() {
    let sandbox = Sandbox::new();
    let told = sandbox.colony(&["decide", "-m", "Use one", "--id", "one"]);
    let line = "the first record here, a file of the branch: design/decisions/one.json";
    assert!(told.lines().any(|told| told == line), "{told}");
    let next = sandbox.colony(&["decide", "-m", "Use two", "--id", "two"]);
    assert!(!next.contains("the first record"), "{next}");
}
