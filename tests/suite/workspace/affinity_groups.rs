//! `groups`: named, detected, resolved, and who works in them.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Sandbox, View};

/// An empty directory without git.
fn directory(sandbox: &Sandbox, name: &str) -> View {
    let view = sandbox.at(sandbox.outside().join(name));
    view.write("keep", "");
    view
}

fn write_all(view: &View, files: &[(&str, &str)]) {
    for (path, text) in files {
        view.write(path, text);
    }
}

/// One line per group.
fn listed(view: &View) -> String {
    let answer = view.json(&["groups"]);
    let mut lines = String::new();
    for group in answer["groups"].as_array().unwrap() {
        let patterns = group["patterns"].as_array().unwrap().iter();
        let patterns: Vec<_> = patterns.map(|text| text.as_str().unwrap()).collect();
        let (name, source) = (group["name"].as_str().unwrap(), group["source"].as_str().unwrap());
        writeln!(lines, "{source} {name}: {}", patterns.join(" ")).unwrap();
    }
    lines
}

fn group_of(view: &View, path: &str) -> Value {
    view.json(&["groups", "--", path])["resolved"][0]["group"].clone()
}

#[test]
fn groups_are_those_that_the_repository_names() {
    let sandbox = Sandbox::new();
    let view = directory(&sandbox, "named");
    write_all(&view, &[("package.json", "{}"), ("custom/a", ""), ("src/extra/a/b.rs", "")]);
    view.write("Vox.toml", "[[affinity_groups]]\nname = \"theirs\"\npatterns = \"theirs/**\"\n");
    assert_eq!(listed(&view), "config theirs: theirs/**\n");
    view.write(
        ".colony/colony.toml",
        "agent = \"x\"\n[[affinity_groups]]\nname = \"one\"\npatterns = [\"custom/**\", \"./src/extra/*.rs\", \"!custom/no\"]\nother = 1\n\
         [[affinity_groups]]\nname = \"two\"\npatterns = \"custom/**\"\n",
    );
    assert_eq!(
        listed(&view),
        "config one: custom/** src/extra/*.rs !custom/no\nconfig two: custom/**\n"
    );
    for (path, group) in [
        ("custom/a", json!("one")),
        ("custom/no/x", json!("two")),
        ("src/extra/a.rs", json!("one")),
        ("src/extra/a/b.rs", Value::Null),
        ("custom", Value::Null),
        (".", Value::Null),
        ("else", Value::Null),
    ] {
        assert_eq!(group_of(&view, path), group, "{path}");
    }
    view.write(".colony/colony.toml", "agent = \"x\"\n");
    assert_eq!(listed(&view), "config theirs: theirs/**\n", "the key is absent");
    view.write(".colony/colony.toml", "affinity_groups = []\n");
    assert_eq!(listed(&view), "node node-named: **/*\n", "an empty list");
    // Only the file at the root counts.
    sandbox.write("dir/.colony/colony.toml", "[[affinity_groups]]\n");
    assert_eq!(group_of(&sandbox.at(sandbox.path("dir")), "b.txt"), "workspace");
}

#[test]
fn groups_that_cannot_be_used_are_never_guessed() {
    let sandbox = Sandbox::new();
    let view = directory(&sandbox, "invalid");
    let long = "#".repeat(64 * 1024 + 1);
    let mut told = String::new();
    for text in [
        "[[affinity_groups]]\npatterns = [\"a\"]\n",
        "[[affinity_groups]]\nname = \"a\"\n",
        "[[affinity_groups]]\nname = \"\"\npatterns = \"a\"\n",
        "[[affinity_groups]]\nname = \"a\\nb\"\npatterns = \"a\"\n",
        "[[affinity_groups]]\nname = 7\npatterns = \"a\"\n",
        "[[affinity_groups]]\nname = \"a\"\npatterns = []\n",
        "[[affinity_groups]]\nname = \"a\"\npatterns = 7\n",
        "[[affinity_groups]]\nname = \"a\"\npatterns = [\"x\", 7]\n",
        "[[affinity_groups]]\nname = \"a\"\npatterns = [\"x\",\n  \"[\"]\n",
        "[[affinity_groups]]\nname = \"a\"\npatterns = [\"../x\"]\n",
        "[[affinity_groups]]\nname = \"a\"\npatterns = \"x\"\n[[affinity_groups]]\nname = \"a\"\npatterns = \"y\"\n",
        "affinity_groups = [\"a\"]\n",
        "affinity_groups = \"a\"\n",
        "[affinity_groups\n",
        &long,
    ] {
        view.write(".colony/colony.toml", text);
        let answer = view.json(&["groups", "keep"]);
        assert_eq!(answer["code"], "groups-invalid", "{text}");
        assert!(answer["detail"]["path"].as_str().unwrap().ends_with("colony.toml"));
        let (line, column) = (&answer["detail"]["line"], &answer["detail"]["column"]);
        let message = answer["message"].as_str().unwrap();
        let (_, problem) = message.split_once("': ").unwrap();
        writeln!(told, "{line}:{column} {problem}").unwrap();
        assert_eq!(view.run(&["id"]).code, 0, "only groups need them");
    }
    insta::assert_snapshot!(told, @r"
    1:1 a group has no 'name'
    1:1 a group has no 'patterns'
    2:8 'name' is empty, has more than 256 bytes, or holds control characters
    2:8 'name' is empty, has more than 256 bytes, or holds control characters
    2:8 'name' is not a text
    3:12 'patterns' is empty
    3:12 'patterns' is not a text or a list of texts
    3:18 a pattern is not a text
    4:3 the pattern '[' cannot be used: a bracket or backslash in it is not ended
    3:13 the pattern '../x' cannot be used: no '.', '..', '//'
    4:1 another group has the name 'a'
    1:20 a group is not a table
    1:19 'affinity_groups' is not an array of tables
    1:17 unclosed table, expected `]`
    null:null it is larger than 64 KiB
    ");
    view.remove(".colony/colony.toml");
    view.write("real.toml", "");
    symlink(view.path("real.toml"), view.path("Vox.toml")).unwrap();
    assert_eq!(view.error(&["groups"]), "groups-invalid");
    // Settings do not know the key, and do not warn of it.
    sandbox.write(".colony/colony.toml", "[[affinity_groups]]\nname = 7\n");
    let status = sandbox.run(&["status"]);
    assert_eq!((status.code, &*status.stderr), (0, ""));
}

#[test]
fn the_first_stack_that_has_groups_counts() {
    let sandbox = Sandbox::new();
    let view = directory(&sandbox, "shapes");
    let mut told = String::new();
    let mut show =
        |title: &str, view: &View| writeln!(told, "- {title}\n{}", listed(view)).unwrap();
    show("nothing", &view);
    write_all(&view, &[("crates/beta/Cargo.toml", ""), ("crates/alpha/Cargo.toml", "")]);
    show("crates without a workspace", &view);
    view.write("go.mod", "// x\nmodule example.com/foo/v2 // y\n");
    show("Go", &view);
    view.write("go.mod", "go 1.22\n");
    show("Go without a module", &view);
    view.write("setup.py", "");
    show("Python", &view);
    view.write("package.json", "{\"name\": \"@acme/web app\"}");
    show("one package of Node", &view);
    write_all(
        &view,
        &[
            ("package.json", "{\"workspaces\": [\"packages/*\", \"apps/*\"]}"),
            ("packages/a/package.json", "{}"),
            ("packages/web/package.json", "{\"name\": \"@acme/web\"}"),
            ("apps/web/package.json", "{\"name\": \"acme-web\"}"),
            ("apps/-/package.json", "{\"name\": \"//\"}"),
        ],
    );
    show("Node", &view);
    view.write("Cargo.toml", "[package]\nname = \"x\"\n");
    show("a Cargo package is not a workspace", &view);
    view.write("Cargo.toml", "[workspace]\nmembers = [\"crates/*\", \"tools/beta\", \".\"]\n");
    view.write("tools/beta/Cargo.toml", "");
    show("Cargo", &view);
    insta::assert_snapshot!(told, @r"
    - nothing
    default workspace: **/*

    - crates without a workspace
    crates alpha-group: **/crates/alpha/** crates/alpha/**
    crates beta-group: **/crates/beta/** crates/beta/**

    - Go
    go foo-group: **/*

    - Go without a module
    go go-group: **/*

    - Python
    python shapes-group: **/*

    - one package of Node
    node node-acme-web-app: **/*

    - Node
    node node-package: apps/-/**
    node node-apps/web: apps/web/**
    node node-a: packages/a/**
    node node-packages/web: packages/web/**

    - a Cargo package is not a workspace
    node node-package: apps/-/**
    node node-apps/web: apps/web/**
    node node-a: packages/a/**
    node node-packages/web: packages/web/**

    - Cargo
    cargo alpha-group: **/crates/alpha/** crates/alpha/** **/alpha/** crates/alpha/**
    cargo crates/beta-group: crates/beta/**
    cargo tools/beta-group: tools/beta/**
    cargo shapes-group: **/*
    ");
    for (path, group) in [
        ("crates/alpha/src/lib.rs", "alpha-group"),
        ("vendor/crates/alpha/x", "alpha-group"),
        ("tools/beta/x", "tools/beta-group"),
        ("crates/beta/x", "crates/beta-group"),
        ("README", "shapes-group"),
    ] {
        assert_eq!(group_of(&view, path), group, "{path}");
    }
}

#[test]
fn paths_outside_are_refused() {
    let sandbox = Sandbox::new();
    for path in ["..", "../x", "/etc/passwd", "dir/../../x", ".git/config"] {
        assert_eq!(sandbox.error(&["groups", "--", path]), "path-outside", "{path}");
    }
    let answer = sandbox.at(sandbox.path("dir")).json(&["groups", "b.txt", "../a.txt"]);
    assert_eq!(answer["resolved"][0]["path"], "dir/b.txt");
    assert_eq!(answer["resolved"][1]["path"], "a.txt");
    assert_eq!(answer["resolved"][1]["group"], "workspace");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn spellings_of_a_path_are_in_one_group(path in "[a-c]{1,2}(/[a-c]{1,2}){0,3}") {
        let sandbox = Sandbox::unborn();
        sandbox.write(
            "Vox.toml",
            "[[affinity_groups]]\nname = \"x\"\npatterns = [\"a/**\", \"b\", \"c?/a\"]\n\
             [[affinity_groups]]\nname = \"rest\"\npatterns = \"c*\"\n",
        );
        let link = sandbox.outside().join("link");
        symlink(&sandbox.root, &link).unwrap();
        let absolute = sandbox.path(&path);
        let by_link = link.join(&path);
        let spellings = [
            path.clone(),
            format!("./{path}"),
            absolute.to_str().unwrap().to_owned(),
            by_link.to_str().unwrap().to_owned(),
            format!("./x/..//{path}"),
        ];
        let expected = group_of(&sandbox, &path);
        for spelling in &spellings {
            prop_assert_eq!(&group_of(&sandbox, spelling), &expected, "{}", spelling);
            prop_assert_eq!(&group_of(&sandbox.at(link.clone()), spelling), &expected, "{}", spelling);
        }
    }
}

#[test]
fn agents_are_in_the_groups_whose_files_they_change() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".colony/colony.toml",
        "[[affinity_groups]]\nname = \"texts\"\npatterns = \"*.txt\"\n\
         [[affinity_groups]]\nname = \"code\"\npatterns = \"src/**\"\n",
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "groups"]);
    for name in ["ada", "bob"] {
        let made = sandbox.json(&["agents", "new", name]);
        let clone = sandbox.at(made["path"].as_str().unwrap().into());
        clone.write("a.txt", format!("{name}\n"));
        if name == "ada" {
            clone.colony(&["checkpoint", "-m", "of ada"]);
            clone.write("dir/b.txt", "uncommitted\n");
            clone.write("src/new.rs", "");
            clone.write("other", "");
        }
    }
    let answer = sandbox.json(&["groups", "--agents"]);
    let agents = |at: usize| answer["groups"][at]["agents"].clone();
    let texts = json!([{ "agent": "ada", "files": 2 }, { "agent": "bob", "files": 1 }]);
    assert_eq!(agents(0), texts);
    assert_eq!(agents(1), json!([{ "agent": "ada", "files": 1 }]));
    assert_eq!(answer["outside"], json!([{ "agent": "ada", "files": 1 }]));
    insta::assert_snapshot!(sandbox.colony(&["groups", "--agents"]), @r"
    2 groups: named by the repository
    texts       ada (2 files), bob (1 file)
    code        ada (1 file)
    (no group)  ada (1 file)
    ");
    assert_eq!(sandbox.json(&["groups"])["groups"][0]["agents"], Value::Null);
    let none = directory(&sandbox, "none");
    assert_eq!(none.error(&["groups", "--agents"]), "not-a-repository");
}
