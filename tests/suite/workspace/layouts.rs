//! The stacks and members of a root, whatever its manifests hold.

use std::fmt::Write as _;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

/// A directory without git, with files.
fn directory(sandbox: &Sandbox, name: &str, files: &[(&str, &str)]) -> View {
    let view = sandbox.at(sandbox.outside().join(name));
    view.write("keep", "");
    for (path, text) in files {
        view.write(path, text);
    }
    view
}

fn members(view: &View) -> Vec<String> {
    let answer = view.json(&["id"]);
    let members = answer["members"].as_array().unwrap().iter();
    let line = |member: &Value| {
        let kind = member["kind"].as_str().unwrap();
        format!("{kind} {}", member["path"].as_str().unwrap())
    };
    members.map(line).collect()
}

fn stacks(view: &View) -> Vec<String> {
    let answer = view.json(&["id"]);
    let found = answer["capabilities"].as_object().unwrap().iter();
    let found = found.filter(|(_, is_found)| **is_found == json!(true));
    found.map(|(name, _)| name.clone()).collect()
}

#[test]
fn stacks_are_found_by_the_files_at_the_root() {
    let sandbox = Sandbox::new();
    for (number, (file, text, stack)) in [
        ("Cargo.toml", "[workspace]\n", "cargo_workspace"),
        ("Cargo.toml", "[package]\nname = \"x\"\n", "cargo_package"),
        ("package.json", "{}", "node_workspace"),
        ("pnpm-workspace.yaml", "packages: []\n", "node_workspace"),
        ("pyproject.toml", "", "python_project"),
        ("setup.py", "", "python_project"),
        ("go.mod", "module x\n", "go_module"),
        ("Vox.toml", "", "colony_project"),
        (".colony/manifest.json", "{}", "colony_project"),
    ]
    .into_iter()
    .enumerate()
    {
        let view = directory(&sandbox, &number.to_string(), &[(file, text)]);
        assert_eq!(stacks(&view), [stack], "{file}");
    }
    assert_eq!(stacks(&directory(&sandbox, "none", &[])), [""; 0]);
}

#[test]
fn members_are_those_that_the_patterns_name() {
    let sandbox = Sandbox::new();
    let view = directory(&sandbox, "cargo", &[]);
    for path in ["crates/a", "crates/b", "crates/foo-x", "crates/foo-y", "deep/one/two", "out/c"] {
        view.write(&format!("{path}/Cargo.toml"), "[package]\n");
    }
    view.write("crates/no-manifest/src/lib.rs", "");
    let mut told = String::new();
    for (list, exclude) in [
        (r#"["crates/*"]"#, "[]"),
        (r#"["crates/foo-*"]"#, "[]"),
        (r#"["crates/[ab]", "crates/foo-?"]"#, "[]"),
        (r#"["**"]"#, r#"["crates"]"#),
        (r#"["crates/*", "crates/a/", "./out/c"]"#, r#"["crates/foo-x", "crates/a"]"#),
        (r#"["deep/*/two", "none/*", "missing"]"#, "[]"),
        (r#"["../cargo/out/c", "/etc", "crates\\a", 7]"#, "[]"),
        (r#"["[", "crates/[", ""]"#, "[]"),
    ] {
        let text = format!("[workspace]\nmembers = {list}\nexclude = {exclude}\n");
        view.write("Cargo.toml", text);
        writeln!(told, "{list} - {exclude}: {}", members(&view).join(", ")).unwrap();
    }
    insta::assert_snapshot!(told, @r#"
    ["crates/*"] - []: cargo crates/a, cargo crates/b, cargo crates/foo-x, cargo crates/foo-y
    ["crates/foo-*"] - []: cargo crates/foo-x, cargo crates/foo-y
    ["crates/[ab]", "crates/foo-?"] - []: cargo crates/a, cargo crates/b, cargo crates/foo-x, cargo crates/foo-y
    ["**"] - ["crates"]: cargo ., cargo deep/one/two, cargo out/c
    ["crates/*", "crates/a/", "./out/c"] - ["crates/foo-x", "crates/a"]: cargo crates/a, cargo crates/b, cargo crates/foo-y, cargo out/c
    ["deep/*/two", "none/*", "missing"] - []: cargo deep/one/two
    ["../cargo/out/c", "/etc", "crates\\a", 7] - []: cargo crates/a
    ["[", "crates/[", ""] - []: 
    "#);
}

#[test]
fn members_of_node_are_those_of_npm_and_pnpm() {
    let sandbox = Sandbox::new();
    let view = directory(&sandbox, "node", &[]);
    for path in ["packages/a", "packages/b", "apps/web", "apps/web/node_modules/x", "tools/t"] {
        view.write(&format!("{path}/package.json"), "{}");
    }
    view.write("package.json", r#"{"workspaces": ["packages/*", "!packages/b"]}"#);
    assert_eq!(members(&view), ["node packages/a"]);
    view.write("package.json", r#"{"workspaces": {"packages": ["apps/**"]}}"#);
    assert_eq!(members(&view), ["node apps/web"]);
    view.write("pnpm-workspace.yaml", "packages:\n  - tools/*\n  - '!apps/*'\n");
    assert_eq!(members(&view), ["node tools/t"]);
}

#[test]
fn manifests_that_cannot_be_used_are_warnings() {
    let sandbox = Sandbox::new();
    let long = "#".repeat((1 << 20) + 1);
    let deep = "[".repeat(5000);
    for (name, text, at) in [
        ("Cargo.toml", "[workspace", "Cargo.toml"),
        ("Cargo.toml", &*long, "Cargo.toml"),
        ("Cargo.toml", &format!("x = {deep}"), "Cargo.toml"),
        ("package.json", "{", "package.json"),
        ("package.json", &*deep, "package.json"),
        ("pnpm-workspace.yaml", "a: [", "pnpm-workspace.yaml"),
    ] {
        let view = directory(&sandbox, "broken", &[(name, text)]);
        let answer = view.json(&["id"]);
        let warnings = answer["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{name}: {warnings:?}");
        assert!(warnings[0]["path"].as_str().unwrap().ends_with(at));
        assert_eq!(answer["capabilities"]["cargo_workspace"], false);
        assert_eq!(answer["capabilities"]["cargo_package"], false);
        let run = view.run(&["id"]);
        assert_eq!(run.code, 0);
        assert!(run.stderr.contains(at), "{}", run.stderr);
        std::fs::remove_dir_all(&view.root).unwrap();
    }
}

#[test]
fn nothing_behind_a_symlink_is_read() {
    let sandbox = Sandbox::new();
    let secret =
        directory(&sandbox, "secret", &[("Cargo.toml", "[workspace]\n"), ("m/Cargo.toml", "")]);
    let view = directory(&sandbox, "linked", &[]);
    symlink(secret.path("Cargo.toml"), view.path("Cargo.toml")).unwrap();
    symlink(secret.path("m"), view.path("Vox.toml")).unwrap();
    let answer = view.json(&["id"]);
    assert_eq!(stacks(&view), [""; 0]);
    assert_eq!(answer["warnings"].as_array().unwrap().len(), 1);
    view.remove("Cargo.toml");
    view.write("Cargo.toml", "[workspace]\nmembers = [\"*\", \"out/*\", \"out/m\"]\n");
    symlink(&secret.root, view.path("out")).unwrap();
    assert_eq!(members(&view), [""; 0]);
    // A pipe would block a reader.
    view.remove("Cargo.toml");
    let made = view.process("mkfifo").arg("Cargo.toml").status().unwrap();
    assert!(made.success());
    assert_eq!(view.json(&["id"])["warnings"].as_array().unwrap().len(), 1);
}

#[test]
fn names_of_a_stranger_reach_no_terminal_as_they_are() {
    let sandbox = Sandbox::new();
    let view = directory(&sandbox, "\u{1b}[31mroot", &[]);
    view.write("Cargo.toml", "[workspace]\nmembers = [\"*\"]\n");
    view.write("\u{1b}[31mred/Cargo.toml", "");
    view.write("pnpm-workspace.yaml", "\u{7}: [");
    for command in [&["id"][..], &["groups"], &["groups", "\u{1b}[31mred/x"], &["paths"]] {
        let run = view.run(command);
        assert_eq!(run.code, 0, "{command:?} {}", run.stderr);
        let shown = run.stdout + &run.stderr;
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!shown.contains(is_control), "{command:?} {shown:?}");
    }
    let answer = view.json(&["groups", "\u{1b}[31mred/x"]);
    assert_eq!(answer["resolved"][0]["group"], "\u{1b}[31mred-group");
}
