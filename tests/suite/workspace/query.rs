//! `query`: text, files and commits of the repositories of a catalog, and nothing that is hidden or elsewhere.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::catalog::{FILE, repository};
use crate::support::{Sandbox, View, write_program};

/// A workspace whose catalog has two repositories beside it and one elsewhere.
fn workspace() -> (Sandbox, View, View) {
    let sandbox = Sandbox::new();
    let (one, two) = (repository(&sandbox, "one"), repository(&sandbox, "two"));
    sandbox.write(
        FILE,
        format!(
            "schema_version: 1\nrepositories:\n  - root_path: {}\n  - root_path: {}\n  - display_name: far\n    repository_id: far\n    access_mode: remote_git_host\n    origin_url: https://host/far.git\n",
            one.root.display(),
            two.root.display()
        ),
    );
    (sandbox, one, two)
}

/// One line for each hit.
fn hits(view: &View, words: &[&str]) -> String {
    let answer = view.json(&[&["query", "text"], words].concat());
    let mut told = String::new();
    for hit in answer["hits"].as_array().unwrap_or(&Vec::new()) {
        let text = |name: &str| hit[name].as_str().unwrap().to_owned();
        let (number, line) = (&hit["line_number"], text("line_text"));
        writeln!(told, "{} {}:{number} {line}", text("display_name"), text("path")).unwrap();
    }
    told
}

pub(super) fn reasons(answer: &Value) -> Vec<(String, String)> {
    let skipped = answer["skipped"].as_array().unwrap().iter();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap().to_owned();
    skipped.map(|one| (text(one, "display_name"), text(one, "reason"))).collect()
}

#[test]
fn lines_are_found_in_every_repository_in_order() {
    let (sandbox, one, two) = workspace();
    one.write("b.txt", "Needle\nnothing\nneedle two\n");
    one.write("a/new.txt", "untracked needle\n");
    two.write("z.txt", "a needle\r\n");
    assert_eq!(
        hits(&sandbox, &["NEEDLE"]),
        "one a/new.txt:1 untracked needle\none b.txt:1 Needle\none b.txt:3 needle two\ntwo z.txt:1 a needle\n"
    );
    assert_eq!(hits(&sandbox, &["Needle", "--case-sensitive"]), "one b.txt:1 Needle\n");
    assert_eq!(hits(&sandbox, &["^n.*e two$", "--regex"]), "one b.txt:3 needle two\n");
    assert_eq!(hits(&sandbox, &["^n.*e two$"]), "");
    assert_eq!(hits(&sandbox, &["needle", "--repo", "two"]), "two z.txt:1 a needle\n");
    let id = two.json(&["id"])["repository_id"].as_str().unwrap().to_owned();
    for name in [&id, &id[..6], two.root.to_str().unwrap()] {
        assert_eq!(hits(&sandbox, &["needle", "--repo", name]), "two z.txt:1 a needle\n");
    }
    let cut = sandbox.json(&["query", "text", "needle", "--max-matches", "1"]);
    assert_eq!((&cut["count"], &cut["truncated"]), (&json!(2), &json!(true)));
    assert_eq!(sandbox.json(&["query", "text", "needle"])["truncated"], false);
    let cut = sandbox.json(&["query", "text", "needle", "--max-files", "1"]);
    assert_eq!((&cut["count"], &cut["truncated"]), (&json!(1), &json!(true)));
    // A text that looks like an option is none.
    two.write("z.txt", "--output=x\n");
    assert_eq!(hits(&sandbox, &["--", "--output=x"]), "two z.txt:1 --output=x\n");
}

#[test]
fn an_answer_says_who_was_asked_and_who_was_not() {
    let (sandbox, one, _) = workspace();
    one.write("b.txt", "needle\n");
    let answer = sandbox.json(&["query", "text", "needle", "--conversation", "c-1"]);
    assert_eq!(answer["repositories_considered"], 3);
    assert_eq!(answer["repositories_queried"], 2);
    assert_eq!(answer["result_count"], 1);
    let trace = &answer["trace"];
    assert_eq!(trace["conversation_id"], "c-1");
    assert_eq!(trace["source_plane"], "cli");
    assert_eq!(trace["query_kind"], "query_text");
    assert_eq!(trace["query_backend"], "working_tree");
    assert_eq!(trace["workspace_repository_id"], sandbox.json(&["id"])["repository_id"]);
    assert_eq!(trace["target_repository_ids"][0], one.json(&["id"])["repository_id"]);
    assert_eq!(answer["skipped"][0]["access_mode"], "remote_git_host");
    assert_eq!(answer["skipped"][0]["repository_id"], "far");
    insta::assert_snapshot!(sandbox.colony(&["query", "text", "needle"]), @r"
    1 line in 2 repositories, 1 skipped
    one: b.txt:1: needle
    ");
    // Nothing found is an answer; a query that cannot be used is a refusal.
    assert_eq!(sandbox.run(&["query", "text", "nowhere"]).code, 1);
    assert_eq!(sandbox.error(&["query", "text", "(", "--regex"]), "invalid-value");
    assert_eq!(sandbox.error(&["query", "text", ""]), "invalid-value");
    assert_eq!(sandbox.error(&["query", "text", "x", "--repo", "nobody"]), "repository-not-found");
    assert_eq!(sandbox.run(&["query", "text", "x", "--repo", "nobody"]).code, 128);
    assert_eq!(sandbox.json(&["query", "text", "x", "--repo", "far"])["repositories_queried"], 0);
    sandbox.write(FILE, "schema_version: 7\n");
    assert_eq!(sandbox.error(&["query", "text", "x"]), "catalog-invalid");
}

#[test]
fn a_row_is_asked_only_for_what_it_has() {
    let (sandbox, one, _) = workspace();
    one.write("b.txt", "needle\n");
    let path = one.root.display();
    for (capability, allowed) in
        [("text_search", "text"), ("read_file", "file"), ("history_search", "log")]
    {
        sandbox.write(FILE, format!("schema_version: 1\nrepositories:\n  - root_path: {path}\n    capabilities: [{capability}]\n"));
        for (query, words) in [("text", &["needle"][..]), ("file", &["b.txt"]), ("log", &[])] {
            let answer = sandbox.json(&[&["query", query], words].concat());
            assert_eq!(answer["ok"], query == allowed, "{capability} {query} {answer}");
            assert_eq!(reasons(&answer).is_empty(), query == allowed);
        }
    }
}

/// Files that ignore files hide, or that look like a secret, and two that are neither.
fn write_hidden_files(one: &View) {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    for (path, text) in [
        (".gitignore", "ignored.txt\nbuilt/\n".to_owned()),
        (".voxignore", "secret/\n*.log\n".to_owned()),
        (".colonyignore", "!kept.log\n/top.txt\n".to_owned()),
        ("deep/.colonyignore", "here.txt\n".to_owned()),
        ("ignored.txt", "needle\n".to_owned()),
        ("built/x", "needle\n".to_owned()),
        ("secret/a.txt", "needle\n".to_owned()),
        ("a.log", "needle\n".to_owned()),
        ("kept.log", "needle\n".to_owned()),
        ("top.txt", "needle\n".to_owned()),
        ("deep/top.txt", "needle\n".to_owned()),
        ("deep/here.txt", "needle\n".to_owned()),
        (".env", "needle=1\n".to_owned()),
        ("id_rsa", "needle\n".to_owned()),
        ("token.txt", format!("needle {token}\n")),
    ] {
        one.write(path, text);
    }
}

#[test]
fn hidden_and_secret_files_are_in_no_answer() {
    let (sandbox, one, _) = workspace();
    write_hidden_files(&one);
    one.write("big.txt", format!("needle\n{}", "x".repeat(262_144)));
    one.write("binary", b"needle\n\xff\xfe");
    symlink("/etc/passwd", one.path("link")).unwrap();
    symlink(one.path("secret"), one.path("linked")).unwrap();
    one.git(&["add", "-f", "secret/a.txt", ".env", "id_rsa", "link"]);
    one.git(&["commit", "-qm", "all of it"]);
    assert_eq!(hits(&sandbox, &["needle"]), "one deep/top.txt:1 needle\none kept.log:1 needle\n");
    let mut told = String::new();
    for path in [
        "kept.log",
        "ignored.txt",
        "built/x",
        "secret/a.txt",
        "a.log",
        "top.txt",
        "deep/here.txt",
        ".env",
        "id_rsa",
        "token.txt",
        "binary",
        "link",
        "linked/a.txt",
        "nothing",
        "deep",
    ] {
        let answer = sandbox.json(&["query", "file", path, "--repo", "one"]);
        let reason = match reasons(&answer).first() {
            Some((_, reason)) => reason.clone(),
            None => answer["files"][0]["content"].as_str().unwrap().trim().to_owned(),
        };
        writeln!(told, "{path}: {reason}").unwrap();
    }
    insta::assert_snapshot!(told, @r"
    kept.log: needle
    ignored.txt: 'ignored.txt' is ignored by git, or of another repository
    built/x: 'built/x' is ignored by git, or of another repository
    secret/a.txt: its ignore files hide 'secret/a.txt'
    a.log: its ignore files hide 'a.log'
    top.txt: its ignore files hide 'top.txt'
    deep/here.txt: its ignore files hide 'deep/here.txt'
    .env: '.env' looks like a secret
    id_rsa: 'id_rsa' looks like a secret
    token.txt: 'token.txt' looks like a secret
    binary: 'binary' is not UTF-8
    link: cannot read 'link': it is reached through a symlink
    linked/a.txt: cannot read 'linked/a.txt': it is reached through a symlink
    nothing: it has no 'nothing'
    deep: cannot read 'deep': it is not a plain file
    ");
}

#[test]
fn a_file_is_read_in_each_repository_and_cut_at_a_character() {
    let (sandbox, one, two) = workspace();
    one.write("b.txt", "\u{e9}\u{e9}\u{e9}");
    let answer = sandbox.json(&["query", "file", "./own.txt"]);
    assert_eq!(answer["count"], 2);
    assert_eq!(answer["files"][1]["content"], "two\n");
    assert_eq!(answer["files"][1]["root"], two.root.to_str().unwrap());
    let answer = sandbox.json(&["query", "file", "b.txt", "--max-bytes", "3"]);
    let file = &answer["files"][0];
    assert_eq!(
        (&file["content"], &file["truncated"], &file["bytes_read"]),
        (&json!("\u{e9}"), &json!(true), &json!(2))
    );
    assert_eq!(answer["truncated"], true);
    let absolute = one.path("b.txt");
    let answer = sandbox.json(&["query", "file", absolute.to_str().unwrap()]);
    assert_eq!((&answer["count"], &answer["files"][0]["path"]), (&json!(1), &json!("b.txt")));
    let outside = sandbox.json(&["query", "file", "/etc/passwd"]);
    assert_eq!((&outside["ok"], outside["skipped"].as_array().unwrap().len()), (&json!(false), 3));
    for path in ["../two/own.txt", ".git/config", "a/../../x", ""] {
        assert_eq!(sandbox.error(&["query", "file", path]), "path-outside", "{path}");
    }
    let sneaky = format!("{}/../two/own.txt", one.root.display());
    assert_eq!(sandbox.json(&["query", "file", &sneaky])["count"], 0);
    assert_eq!(sandbox.run(&["query", "file", "none"]).code, 1);
}

#[test]
fn commits_are_those_that_git_shows_filtered_before_the_cut() {
    let (sandbox, one, two) = workspace();
    for (name, text) in [("x", "Fix (a.b"), ("y", "other"), ("x", "more"), ("y", "last")] {
        one.write(name, text);
        one.git(&["add", "-A"]);
        one.git(&["commit", "-qm", text]);
    }
    let summaries = |words: &[&str]| {
        let answer = sandbox.json(&[&["query", "log", "--repo", "one"], words].concat());
        let commits = answer["commits"].as_array().unwrap().iter();
        let found: Vec<_> =
            commits.map(|one| one["summary"].as_str().unwrap().to_owned()).collect();
        (found.join(" "), answer["truncated"].as_bool().unwrap())
    };
    assert_eq!(summaries(&[]), ("last more other Fix (a.b one".to_owned(), false));
    assert_eq!(summaries(&["-n", "2"]), ("last more".to_owned(), true));
    assert_eq!(summaries(&["Fix (a.b", "-n", "1"]), ("Fix (a.b".to_owned(), false));
    assert_eq!(summaries(&["fix"]), (String::new(), false));
    assert_eq!(summaries(&["--path", "x"]), ("more Fix (a.b".to_owned(), false));
    assert_eq!(summaries(&["--path", "*"]), (String::new(), false), "a path is no pattern");
    assert_eq!(summaries(&["--", "--all"]), (String::new(), false));
    let answer = sandbox.json(&["query", "log", "-n", "1"]);
    assert_eq!(answer["commits"][1]["commit"], two.git(&["rev-parse", "HEAD"]));
    assert_eq!(answer["commits"][1]["author"], "Ada");
    let empty = sandbox.at(sandbox.outside().join("two"));
    empty.git(&["checkout", "-q", "--orphan", "none"]);
    let answer = sandbox.json(&["query", "log"]);
    assert!(
        reasons(&answer).iter().any(|(name, why)| name == "two" && why == "it has no commit yet")
    );
}

#[test]
fn nothing_that_a_repository_configures_is_run() {
    let (sandbox, one, _) = workspace();
    let marker = sandbox.outside().join("ran");
    let script = sandbox.outside().join("evil");
    write_program(&script, format!("#!/bin/sh\ntouch {}\n", marker.display()));
    let evil = script.to_str().unwrap();
    for (key, value) in [
        ("core.fsmonitor", evil),
        ("core.pager", evil),
        ("gpg.program", evil),
        ("log.showSignature", "true"),
        ("diff.external", evil),
        ("filter.x.clean", evil),
        ("filter.x.smudge", evil),
        ("core.sshCommand", evil),
    ] {
        one.git(&["config", key, value]);
    }
    one.write(".gitattributes", "* filter=x diff=x\n");
    one.git(&["config", "diff.x.textconv", evil]);
    one.git(&["config", "diff.x.command", evil]);
    for words in
        [&["text", "one"][..], &["file", "own.txt"], &["log"], &["log", "--path", "own.txt"]]
    {
        let answer = sandbox.json(&[&["query"], words].concat());
        assert!(answer["count"].as_u64().unwrap() > 0, "{words:?} {answer}");
    }
    sandbox.colony(&["catalog", "refresh"]);
    assert!(!marker.exists());
}

#[test]
fn without_a_catalog_this_repository_is_asked() {
    let sandbox = Sandbox::new();
    sandbox.write("new.txt", "needle\n");
    let before = sandbox.visible_state();
    assert_eq!(hits(&sandbox, &["needle"]), "this repository new.txt:1 needle\n");
    assert_eq!(sandbox.json(&["query", "file", "new.txt"])["count"], 1);
    assert_eq!(sandbox.json(&["query", "log"])["count"], 1);
    assert_eq!(sandbox.visible_state(), before);
    let bare = Sandbox::init(&["--bare"]);
    let answer = bare.json(&["query", "text", "x"]);
    assert_eq!(reasons(&answer)[0].1, "it has no working tree");
}

#[test]
fn directories_of_programs_are_left_out_only_without_git() {
    let sandbox = Sandbox::new();
    let none = sandbox.at(sandbox.outside().join("build"));
    for path in ["a.txt", "vendor/x.txt", "src/target/x.txt", "src/b.txt", "node_modules"] {
        none.write(path, "needle\n");
    }
    symlink("/etc", none.path("etc")).unwrap();
    let found = hits(&none, &["needle"]);
    assert_eq!(
        found,
        "this repository a.txt:1 needle\nthis repository node_modules:1 needle\nthis repository src/b.txt:1 needle\n"
    );
    let answer = none.json(&["query", "file", "vendor/x.txt"]);
    assert_eq!(answer["count"], 0);
    sandbox.write("vendor/x.txt", "needle\n");
    assert_eq!(hits(&sandbox, &["needle"]), "this repository vendor/x.txt:1 needle\n");
}

#[test]
fn ignore_files_that_cannot_be_read_hide_their_directory() {
    let sandbox = Sandbox::new();
    sandbox.write("in/hidden.txt", "needle\n");
    sandbox.write("in/rules", "hidden.txt\n");
    std::os::unix::fs::symlink("rules", sandbox.root.join("in/.colonyignore")).unwrap();
    sandbox.write("shown.txt", "needle\n");
    assert_eq!(hits(&sandbox, &["needle"]), "this repository shown.txt:1 needle\n");
}

#[test]
fn directories_of_any_depth_are_listed() {
    let sandbox = Sandbox::new();
    let mut deep = sandbox.root.clone();
    deep.extend(std::iter::repeat_n("d", 1_500));
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("f"), "needle\n").unwrap();
    let found = hits(&sandbox, &["needle"]);
    assert!(found.ends_with("d/d/f:1 needle\n"), "{found}");
}

#[test]
fn files_that_are_not_searched_are_counted_by_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("found.txt", "needle\n");
    sandbox.write(".colonyignore", "hidden.txt\n");
    sandbox.write("hidden.txt", "needle\n");
    sandbox.write("large.txt", "needle\n".repeat(100));
    sandbox.write("binary.bin", b"needle\xff\n");
    sandbox.write("prod.tfvars", "needle\n");
    sandbox.write("key.txt", format!("needle ghp_{}\n", "a1".repeat(18)));
    symlink("found.txt", sandbox.path("link.txt")).unwrap();
    let words = ["query", "text", "needle", "--max-file-bytes", "200"];
    let answer = sandbox.json(&words);
    assert_eq!(answer["count"], 1, "{answer:#}");
    assert_eq!(
        answer["files_not_searched"],
        json!({ "count": 5, "secret": 2, "too_large": 1, "not_text": 1, "not_a_file": 1, "unreadable": 0 })
    );
    let said = sandbox.run(&words).stderr;
    assert!(
        said.contains(
            "not searched: 5 files (2 likely secret, 1 too large, 1 not UTF-8, 1 not a plain file)"
        ),
        "{said}"
    );
    let none = sandbox.json(&["query", "text", "needle", "--max-matches", "0"]);
    assert_eq!(none["truncated"], true, "{none:#}");
}

#[test]
fn a_commit_keeps_its_parts_whatever_is_in_them() {
    let sandbox = Sandbox::new();
    let who = ["-c", "user.name=A | B\tC", "-c", "user.email=a@x"];
    let message = "one\ttwo|three %H\n\nbody";
    sandbox.git(&[&who[..], &["commit", "-q", "--allow-empty", "-m", message]].concat());
    let commit = sandbox.json(&["query", "log", "-n", "1"])["commits"][0].clone();
    assert_eq!(commit["commit"], sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(commit["summary"], "one\ttwo|three %H");
    assert_eq!(commit["author"], "A | B\tC");
    assert_eq!(commit["authored_at"], sandbox.git(&["log", "-1", "--format=%aI"]));
}

#[test]
fn an_index_is_asked_where_there_is_one() {
    let (sandbox, one, two) = workspace();
    one.write("src/lib.rs", "fn parse_header() {}\n");
    one.write("src/.voxignore", "hidden.rs\n");
    one.write("src/hidden.rs", "fn parse_header_again() {}\n");
    one.git(&["add", "-A"]);
    one.git(&["commit", "-qm", "code"]);
    one.colony(&["init", "--no-push"]);
    one.colony(&["map"]);
    let asked = ["query", "text", "parse header", "--indexed"];
    let none = sandbox.json(&asked);
    assert_eq!(none["repositories_queried"], 0);
    for (name, reason) in reasons(&none) {
        let expected = if name == "far" {
            "its row does not have the capability 'text_search'"
        } else {
            "it has no search index; to make one: git -C "
        };
        assert!(reason.starts_with(expected), "{name}: {reason}");
    }
    one.colony(&["search", "header"]);
    let before = (one.visible_state(), two.visible_state());
    let found = sandbox.json(&asked);
    assert_eq!(
        (&found["repositories_queried"], &found["count"]),
        (&json!(1), &json!(1)),
        "{found}"
    );
    let hit = &found["hits"][0];
    assert_eq!(
        (&hit["path"], &hit["line_number"], &hit["line_text"]),
        (&json!("src/lib.rs"), &json!(1), &json!("fn parse_header() {}"))
    );
    assert_eq!(found["trace"]["query_backend"], "search_index");
    assert_eq!((one.visible_state(), two.visible_state()), before);
    insta::assert_snapshot!(sandbox.colony(&asked), @r"
    1 line in 1 repository, 2 skipped
    one: src/lib.rs:1: fn parse_header() {}
    ");
}
