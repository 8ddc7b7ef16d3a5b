//! `git find`, `git read`, `git history`: what they say is what git says, and what is hidden stays hidden.

use serde_json::Value;

use crate::support::Sandbox;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// A repository with a history, an agent, and files that are not for everybody.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("src/one.rs", "fn first() {}\nfn second() {}\nfn Third() {}\n");
    sandbox.write("src/deep/two.rs", "// first of two\nfn fourth() {}\n");
    sandbox.write("notes.md", "first and a.b\nfirst and axb\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "Begin"]);
    sandbox.write("src/one.rs", "fn first() {}\nfn second() -> u8 { 2 }\nfn Third() {}\n");
    sandbox.git(&["commit", "-qam", "Give second a value\n\nA body of two\nlines."]);
    sandbox.write("src/deep/two.rs", "// first of two\nfn fifth() {}\n");
    sandbox.git(&["commit", "-qam", "Rename fourth"]);
    sandbox
}

fn lines(report: &Value) -> Vec<String> {
    let hits = report["hits"].as_array().unwrap_or_else(|| panic!("{report:#}"));
    let line = |hit: &Value| {
        let text = |member: &str| hit[member].as_str().unwrap().to_owned();
        format!("{}:{}:{}", text("path"), hit["line_number"], text("line_text"))
    };
    hits.iter().map(line).collect()
}

#[test]
fn the_lines_that_are_found_are_those_of_git_grep() {
    let sandbox = sandbox();
    sandbox.write("new.txt", "first, and untracked\n");
    sandbox.write("ignored.log", "first, and ignored\n");
    sandbox.write(".gitignore", "*.log\n");
    let grep = |args: &[&str]| -> Vec<String> {
        let all = [&["grep", "-n", "-I", "--untracked"][..], args].concat();
        sandbox.git(&all).lines().map(str::to_owned).collect()
    };
    let found = |args: &[&str]| lines(&sandbox.json(&[&["git", "find"][..], args].concat()));
    assert_eq!(found(&["first"]), grep(&["-F", "first"]));
    assert_eq!(found(&["a.b"]), grep(&["-F", "a.b"]));
    assert_eq!(found(&["--regex", "a.b"]), grep(&["-E", "a.b"]));
    assert_eq!(found(&["-i", "third"]), grep(&["-i", "third"]));
    assert_eq!(found(&["first", "--path", "src"]), grep(&["-F", "first", "--", "src"]));
    assert_eq!(found(&["first", "--path", "*.md"]), grep(&["-F", "first", "--", "*.md"]));
    assert_eq!(found(&["first", "--limit", "1"]).len(), 1);
    let report = sandbox.json(&["git", "find", "first", "--limit", "1"]);
    assert_eq!(report["truncated"], true, "{report:#}");
    let earlier = lines(&sandbox.json(&["git", "find", "fourth", "--ref", "HEAD~1"]));
    assert_eq!(earlier, ["src/deep/two.rs:2:fn fourth() {}"]);
    assert_eq!(found(&["fourth"]), Vec::<String>::new());
    let refused = sandbox.json(&["git", "find", "--regex", "("]);
    assert_eq!(refused["code"], "invalid-value", "{refused:#}");
}

#[test]
fn lines_of_binary_files_are_in_no_answer() {
    let sandbox = Sandbox::new();
    sandbox.write("data/blob.txt", "zebra\0\nzebra of the blob\n");
    sandbox.write("data/late.txt", [&vec![b'.'; 7000][..], b"\0\nzebra of the blob\n"].concat());
    sandbox.write("data/wide.md", b"\xff\xfez\0e\0b\0r\0a\0 \0o\0f\0 \0b\0l\0o\0b\0");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "data"]);
    assert!(!sandbox.try_git(&["grep", "-I", "zebra"]));
    let revision = ["git", "find", "zebra", "--ref", "HEAD"];
    for args in [
        &["git", "find", "zebra"][..],
        &revision,
        &["query", "text", "zebra"],
        &["query", "text", "--indexed", "zebra"],
        &["query", "file", "data/blob.txt"],
        &["query", "file", "data/late.txt"],
        &["git", "read", "data/blob.txt", "data/late.txt", "data/wide.md"],
        &["search", "zebra"],
        &["context", "zebra"],
        &["context", "--all"],
        &["context", "--", "data"],
        &["pages", "show", "--path", "data/blob.txt"],
    ] {
        let run = sandbox.run(args);
        assert!(!run.stdout.contains("of the blob"), "{args:?}: {}", run.stdout);
    }
    let searched = sandbox.json(&["query", "text", "zebra"]);
    assert_eq!(searched["files_not_searched"]["not_text"], 3, "{searched:#}");
}

#[test]
fn files_are_read_whole_and_in_part_at_any_state() {
    let sandbox = sandbox();
    let read = |args: &[&str]| sandbox.json(&[&["git", "read"][..], args].concat());
    let whole = read(&["src/one.rs", "./src/deep/two.rs:2"]);
    assert_eq!(whole["files"][0]["content"], sandbox.read("src/one.rs"));
    assert_eq!(whole["files"][1]["content"], "fn fifth() {}\n");
    assert_eq!(
        (&whole["files"][1]["first_line"], &whole["files"][1]["lines"]),
        (&2.into(), &2.into())
    );
    let part = read(&["src/one.rs:2-9", "--ref", "HEAD~2"]);
    assert_eq!(part["files"][0]["content"], "fn second() {}\nfn Third() {}\n");
    sandbox.write("odd:7", "a colon\n");
    assert_eq!(read(&["odd:7"])["files"][0]["content"], "a colon\n");
    let some = read(&["none", "notes.md"]);
    assert_eq!((&some["ok"], &some["count"]), (&true.into(), &1.into()), "{some:#}");
    assert_eq!(some["not_read"][0]["path"], "none");
    for (path, code) in [
        ("none", "path-not-found"),
        ("../outside", "path-outside"),
        ("/etc/passwd", "path-outside"),
        ("src", "path-not-found"),
    ] {
        assert_eq!(read(&[path])["code"], code, "{path}");
    }
    sandbox.write("binary", b"\0\x01");
    assert_eq!(read(&["binary"])["code"], "path-not-found");
    // The fork of an agent is a state as well.
    let ada = sandbox.json(&["agents", "new", "ada"]);
    let clone = sandbox.at(ada["path"].as_str().unwrap().into());
    clone.write("notes.md", "of ada\n");
    clone.json(&["checkpoint", "-m", "notes"]);
    assert_eq!(read(&["notes.md", "--ref", "ada"])["files"][0]["content"], "of ada\n");
}

#[test]
fn a_file_of_any_size_is_read_part_by_part() {
    let sandbox = Sandbox::new();
    let lines: Vec<_> = (1..=60_000).map(|n| format!("line {n} of a long file\n")).collect();
    let text = lines.concat();
    sandbox.write("long.txt", &text);
    let (mut next, mut read, mut parts) = ("long.txt".to_owned(), String::new(), 0);
    loop {
        let report = sandbox.json(&["git", "read", &next]);
        read.push_str(report["files"][0]["content"].as_str().unwrap());
        parts += 1;
        match report["next"].as_str() {
            Some(following) => next = following.to_owned(),
            None => break,
        }
    }
    assert!(read == text && parts > 1, "{parts} parts");
}

#[test]
fn history_is_that_of_git_log() {
    let sandbox = sandbox();
    let subjects = |args: &[&str]| -> Vec<String> {
        let report = sandbox.json(&[&["git", "history"][..], args].concat());
        let commits = report["commits"].as_array().unwrap_or_else(|| panic!("{report:#}"));
        commits.iter().map(|commit| commit["summary"].as_str().unwrap().to_owned()).collect()
    };
    let log = |args: &[&str]| -> Vec<String> {
        let all = [&["log", "--format=%s"][..], args].concat();
        sandbox.git(&all).lines().map(str::to_owned).filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(subjects(&[]), log(&[]));
    assert_eq!(subjects(&["--path", "src/deep"]), log(&["--", "src/deep"]));
    assert_eq!(subjects(&["--text", "fourth"]), log(&["-Sfourth"]));
    assert_eq!(subjects(&["--text", "fou.th", "--regex"]), log(&["-Sfou.th", "--pickaxe-regex"]));
    let lines = ["-L2,2:src/one.rs", "--no-patch"];
    assert_eq!(subjects(&["--path", "src/one.rs", "--lines", "2"]), log(&lines));
    assert_eq!(subjects(&["--path", "src/one.rs", "--lines", "1-1"]), ["Begin"]);
    assert_eq!(subjects(&["--ref", "HEAD~1", "-n", "1"]), ["Give second a value"]);
    let one = sandbox.json(&["git", "history", "HEAD~1"]);
    assert_eq!(one["commit_message"], "Give second a value\n\nA body of two\nlines.");
    let shown = sandbox.git(&["show", "--format=", "HEAD~1"]);
    assert_eq!(one["patch"].as_str().unwrap().trim_end(), shown.trim_end());
    for args in [
        &["--lines", "2"][..],
        &["--path", "src/one.rs", "--lines", "x"],
        &["--path", "src", "--lines", "1"],
        &["--text", ""],
        &["--text", "fou\\dth", "--regex"],
        &["--text", "(?i)fourth", "--regex"],
        &["--text", "(", "--regex"],
    ] {
        let refused = sandbox.json(&[&["git", "history"][..], args].concat());
        assert_eq!(refused["ok"], false, "{refused:#}");
    }
}

#[test]
fn nothing_hidden_is_found_read_or_in_a_patch() {
    let sandbox = sandbox();
    sandbox.write(".colonyignore", "hidden/\n");
    sandbox.write("hidden/a.txt", "first, hidden\n");
    sandbox.write(".env", "first=secret\n");
    sandbox.write("token.txt", format!("first {TOKEN}\n"));
    sandbox.git(&["add", "-f", "."]);
    sandbox.git(&["commit", "-qm", "Hide"]);
    for state in [&[][..], &["--ref", "HEAD"]] {
        let found = sandbox.json(&[&["git", "find", "first"][..], state].concat());
        let text = found.to_string();
        assert!(!text.contains("hidden/") && !text.contains("secret\\n"), "{found:#}");
        assert!(!text.contains(TOKEN) && !text.contains(".env"), "{found:#}");
        for path in ["hidden/a.txt", ".env", "token.txt"] {
            let read = sandbox.json(&[&["git", "read", path][..], state].concat());
            assert_eq!(read["code"], "path-not-found", "{path} {read:#}");
        }
    }
    let patch = sandbox.json(&["git", "history", "HEAD"]);
    let text = patch.to_string();
    assert!(!text.contains(TOKEN) && !text.contains("first, hidden"), "{patch:#}");
    assert!(!text.contains("first=secret"), "{patch:#}");
    assert_eq!(patch["hidden"], 3, "{patch:#}");
    // Nor does the number of commits tell what is in a hidden file.
    for (text, commits) in [("hidden/", 1), ("first, hid", 0), ("first=s", 0), ("first ghp_1", 0)] {
        let told = sandbox.json(&["git", "history", "--text", text]);
        assert_eq!(told["count"], commits, "{text} {told:#}");
    }
    // A hunk in the middle of a key does not show that it is one.
    let line = |n| format!("{}{n}\n", "Ab1+".repeat(15));
    let mut key: Vec<String> = (10..40).map(line).collect();
    let write = |key: &[String]| {
        let text = key.concat();
        let text =
            format!("-----BEGIN RSA PRIVATE KEY-----\n{text}-----END RSA PRIVATE KEY-----\n");
        sandbox.write("conf.txt", text);
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("Key {TOKEN}")]);
    };
    write(&key);
    key[15] = line(99);
    write(&key);
    let hunk = sandbox.json(&["git", "history", "HEAD"]);
    assert!(!hunk.to_string().contains("Ab1+Ab1+"), "{hunk:#}");
    let path = sandbox.json(&["git", "history", "--path", "hidden/a.txt"]);
    assert_eq!(path["code"], "path-not-found", "{path:#}");
}
