//! `validate`: whether a file can be read by its format.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use crate::support::Sandbox;

#[test]
fn a_file_is_checked_by_its_format() {
    let sandbox = Sandbox::new();
    let mut told = String::new();
    for (path, text) in [
        ("a.json", "{\"a\": [1, 2]}\n"),
        ("b.json", "{\"a\": 1,\n \"b\" 2}\n"),
        ("a.toml", "a = 1\n"),
        ("b.toml", "a = 1\nb = \n"),
        ("a.yaml", "a: [1]\n"),
        ("b.yml", "a: 1\na: 2\n"),
        ("notes", "anything {\n"),
        (".colony/repo_map.yaml", "schema_version: 1\nsorces: []\n"),
        (".colony/repositories.yaml", "schema_version: 2\n"),
    ] {
        sandbox.write(path, text);
        let answer = sandbox.json(&["validate", path]);
        assert_eq!(answer["ok"], answer["valid"], "{path}");
        write!(told, "{path} {} {}", answer["checked_as"].as_str().unwrap(), answer["valid"])
            .unwrap();
        for problem in answer["problems"].as_array().unwrap() {
            let message = problem["message"].as_str().unwrap();
            write!(told, " | {}:{} {message}", problem["line"], problem["column"]).unwrap();
        }
        told.push('\n');
    }
    insta::assert_snapshot!(told, @r"
    a.json json true
    b.json json false | 2:6 expected `:`
    a.toml toml true
    b.toml toml false | 2:5 string values must be quoted, expected literal string
    a.yaml yaml true
    b.yml yaml false | 2:1 duplicate mapping key: a
    notes text true
    .colony/repo_map.yaml repo_map false | 1:1 the map has no 'sources' | 2:1 'sorces' is not a key of the map: the nearest is 'sources'
    .colony/repositories.yaml catalog false | 1:1 the catalog has no 'repositories' | 1:17 'schema_version' is 2, expected 1
    ");
    sandbox.write("c.txt", b"ok\n\xff");
    let answer = sandbox.json(&["validate", "c.txt"]);
    assert_eq!(answer["problems"][0]["message"], "it is not UTF-8");
    assert_eq!(sandbox.run(&["validate", "b.json"]).code, 1);
}

#[test]
fn rust_is_parsed_by_rustfmt_where_it_is_installed() {
    let sandbox = Sandbox::new();
    sandbox.write("good.rs", "fn   a( ) { }\n");
    sandbox.write("bad.rs", "fn a() {\n    let = 1;\n}\n");
    sandbox.write("rustfmt.toml", "not toml at all [\n");
    let fake = sandbox.stand_in("rustfmt", "while [ \"$1\" != --config-path ]; do shift; done; test -d \"$2\" && exit 1; if grep -q 'let ='; then echo 'error: expected pattern' >&2; echo ' --> <stdin>:2:9' >&2; exit 1; fi; exit 0");
    let good = fake.json(&["validate", "good.rs"]);
    assert_eq!((&good["valid"], &good["checked_as"]), (&true.into(), &"rust".into()));
    let bad = fake.json(&["validate", "bad.rs"]);
    assert_eq!(bad["problems"][0]["line"], 2);
    assert_eq!(bad["problems"][0]["message"], "expected pattern");
    let none = sandbox.with("PATH", "/nonexistent");
    let unchecked = none.json(&["validate", "bad.rs"]);
    assert_eq!(unchecked["checked_as"], "text");
    let told = "'bad.rs' was not checked as Rust: rustfmt is not installed, or does not run";
    assert_eq!(unchecked["warnings"][0], told);
    let run = none.run(&["validate", "bad.rs"]);
    assert_eq!(run.stderr, format!("warning: {told}\n"));
}

#[test]
fn only_files_inside_are_checked() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.outside().join("secret.json"), "{").unwrap();
    symlink(sandbox.outside().join("secret.json"), sandbox.path("out.json")).unwrap();
    symlink("a.txt", sandbox.path("in.json")).unwrap();
    assert_eq!(sandbox.error(&["validate", "out.json"]), "path-outside");
    assert_eq!(sandbox.error(&["validate", "../secret.json"]), "path-outside");
    assert_eq!(sandbox.error(&["validate", "missing.json"]), "path-not-found");
    assert_eq!(sandbox.error(&["validate", "dir"]), "invalid-value");
    let answer = sandbox.json(&["validate", "in.json"]);
    assert_eq!((&answer["valid"], &answer["problems"][0]["line"]), (&false.into(), &1.into()));
}
