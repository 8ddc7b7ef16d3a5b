//! `id` as people and programs read it, for a checkout of each shape.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::support::{Sandbox, View};

/// The files at the root of a project of each stack, beside a repository of their own.
const STACKS: [(&str, &[(&str, &str)]); 7] = [
    (
        "cargo",
        &[
            ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/no\"]\n"),
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            ("crates/no/Cargo.toml", "[package]\nname = \"no\"\n"),
        ],
    ),
    (
        "node",
        &[
            (
                "package.json",
                r#"{"name": "@acme/web", "workspaces": ["packages/*", "!packages/no"]}"#,
            ),
            ("packages/a/package.json", "{}"),
            ("packages/no/package.json", "{}"),
        ],
    ),
    (
        "pnpm",
        &[
            ("package.json", "{}"),
            ("pnpm-workspace.yaml", "packages:\n  - 'apps/*'\n"),
            ("apps/one/package.json", "{}"),
        ],
    ),
    ("python", &[("pyproject.toml", "[project]\nname = \"x\"\n")]),
    ("go", &[("go.mod", "module example.com/foo/v2\n")]),
    ("broken", &[("Cargo.toml", "[workspace\n"), ("package.json", "{")]),
    ("nothing", &[("a.txt", "a\n")]),
];

fn committed(sandbox: &Sandbox, name: &str, files: &[(&str, &str)]) -> View {
    let root = sandbox.outside().join(name);
    fs::create_dir(&root).unwrap();
    let view = sandbox.at(root);
    view.git(&["init", "-q", "-b", "main"]);
    for (path, text) in files {
        view.write(path, text);
    }
    view.git(&["add", "-A"]);
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    view.git(&["commit", "-qm", "one", "--date", "2020-01-01T00:00:00Z"]);
    view
}

/// Appends both answers, without what differs between runs.
fn show(sandbox: &Sandbox, all: &mut String, shape: &str, root: PathBuf) {
    let view = sandbox.at(root);
    let json = view.json(&["id"]);
    let id = json["repository_id"].as_str().unwrap().to_owned();
    let outside = sandbox.outside();
    let plain = |text: String| {
        let text = text.replace(outside.to_str().unwrap(), "<outside>");
        text.replace(&id, "<id>")
    };
    let json = plain(serde_json::to_string_pretty(&json).unwrap());
    let text = plain(view.colony(&["id"]));
    writeln!(all, "## {shape}\n\n{text}\n{json}\n").unwrap();
}

#[test]
fn every_shape_has_an_answer_for_people_and_programs() {
    let sandbox = Sandbox::new();
    let mut all = String::new();
    for (name, files) in STACKS {
        let view = committed(&sandbox, name, files);
        show(&sandbox, &mut all, name, view.root.clone());
    }
    let python = sandbox.at(sandbox.outside().join("python"));
    python.git(&["init", "-q", "-b", "main", "nested"]);
    show(&sandbox, &mut all, "nested, unborn", python.path("nested"));
    let linked = sandbox.outside().join("linked");
    python.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    show(&sandbox, &mut all, "linked worktree", linked);
    let go = sandbox.outside().join("go");
    let url = go.to_str().unwrap();
    python.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url,
        "deep/sub",
    ]);
    show(&sandbox, &mut all, "submodule", python.path("deep/sub"));
    let bare = sandbox.outside().join("bare.git");
    sandbox.git(&["clone", "-q", "--bare", url, bare.to_str().unwrap()]);
    show(&sandbox, &mut all, "bare", bare);
    let none = sandbox.outside().join("none");
    fs::create_dir(&none).unwrap();
    show(&sandbox, &mut all, "no repository", none);
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("id_shapes", all);
    });
}
