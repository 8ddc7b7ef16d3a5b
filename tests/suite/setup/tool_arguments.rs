//! `tools new --file`, `--var` and `--target`.

use std::os::unix::fs::symlink;

use crate::support::Sandbox;

const TOOL: &str = "tools/signal/low-pass";
const TARGET: &str = "subdir_in_monorepo:tools/signal/low-pass";

/// Asks for a tool of a template, with these arguments.
fn new<'a>(template: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["tools", "new", "--template", template, "--license", "MIT"];
    let capability = ["--capability", "filter signals"];
    [&fixed[..], &capability, args].concat()
}

#[test]
fn given_files_are_in_the_one_commit_of_the_tool() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    let args = [
        "--target",
        TARGET,
        "--file",
        "README.md=mine {{name}}",
        "--file",
        "data/empty=",
        "--file",
        "data/a b.txt=x = y\n",
    ];
    let planned = sandbox.json(&[&new("rust_crate", &args)[..], &["-n"]].concat());
    assert_eq!(sandbox.visible_state(), before);
    let answer = sandbox.json(&new("rust_crate", &args));
    assert_eq!(answer["files_created"], planned["files_created"]);
    assert_eq!(answer["target"], TARGET);
    assert_eq!(sandbox.read("tools/signal/low-pass/README.md"), "mine {{name}}");
    assert_eq!(sandbox.read("tools/signal/low-pass/data/empty"), "");
    assert_eq!(sandbox.read("tools/signal/low-pass/data/a b.txt"), "x = y\n");
    let tracked = sandbox.git(&["ls-files", TOOL]);
    assert_eq!(tracked.lines().count(), 8, "{tracked}");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "2");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.check_invariants();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn files_that_lead_elsewhere_are_refused_before_any_change() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    for file in [
        "/tmp/x=a",
        "../../x=a",
        "src/../../x=a",
        ".git/hooks/post-commit=a",
        "src/.GIT/x=a",
        "git~1/x=a",
        "src=a",
        "Cargo.toml/x=a",
        "readme.md=a",
        "no text",
    ] {
        let args = new("rust_crate", &["--target", TARGET, "--file", file]);
        let answer = sandbox.json(&args);
        assert_eq!(answer["code"], "invalid-value", "{file}");
        assert_eq!(answer["untouched"], "nothing has changed", "{file}");
        let path = file.split('=').next().unwrap();
        let named = answer["message"].as_str().unwrap().contains(path);
        assert!(named || path == "Cargo.toml/x", "{answer:#}");
    }
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_given_file_does_not_go_through_a_symlink() {
    let sandbox = Sandbox::new();
    let outside = sandbox.outside().join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(sandbox.path("tools")).unwrap();
    symlink(&outside, sandbox.path("tools/signal")).unwrap();
    let args = new("rust_crate", &["--target", TARGET, "--file", "a=b"]);
    assert_eq!(sandbox.error(&args), "path-in-the-way");
    assert_eq!(outside.read_dir().unwrap().count(), 0);
}

#[test]
fn variables_are_in_the_files_of_each_template() {
    for (template, variable, path, line) in [
        ("rust_crate", "edition=2024", "Cargo.toml", "edition = \"2024\""),
        ("python_lib", "python=3.12", "pyproject.toml", "requires-python = \">=3.12\""),
        ("julia_module", "julia=1.10", "Project.toml", "julia = \"1.10\""),
        ("c_library", "standard=11", "CMakeLists.txt", "c_std_11)"),
        ("cmake_project", "standard=20", "CMakeLists.txt", "cxx_std_20)"),
    ] {
        let sandbox = Sandbox::new();
        let args = ["--target", TARGET, "--var", variable, "--var", "version=2.3.4"];
        let author = ["--var", "author=Ada \"L\" <ada@example.org>"];
        let answer = sandbox.json(&new(template, &[&args[..], &author].concat()));
        assert_eq!(answer["tool_entry"]["version"], "2.3.4", "{answer:#}");
        let text = sandbox.read(&format!("{TOOL}/{path}"));
        assert!(text.contains(line) && text.contains("2.3.4"), "{text}");
        let readme = sandbox.read(&format!("{TOOL}/README.md"));
        assert!(readme.contains("- author: Ada \"L\" \\<ada@example.org\\>\n"), "{readme}");
        let has_author = text.contains("Ada \\\"L\\\" <ada@example.org>");
        assert_eq!(has_author, path != "CMakeLists.txt", "{text}");
    }
}

#[test]
fn unknown_variables_are_refused_with_those_that_are_known() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    let args = new("python_lib", &["--target", TARGET, "--var", "edition=2021"]);
    let answer = sandbox.json(&args);
    assert_eq!(answer["code"], "invalid-value");
    assert_eq!(
        answer["message"],
        "a python_lib has no variable 'edition', expected 'author', 'python' or 'version'; nothing has changed"
    );
    assert_eq!(answer["detail"]["known"], serde_json::json!(["author", "python", "version"]));
    let args = new("python_lib", &["--target", TARGET, "--var", "version=1"]);
    assert_eq!(sandbox.error(&args), "invalid-value");
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_target_agrees_with_purpose_and_name_or_is_refused() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    for (target, code) in [
        ("branch_in_existing:main", "unsupported"),
        ("new_standalone:https://example.org/x", "unsupported"),
        ("subdir_in_monorepo:lib/signal/low-pass", "invalid-value"),
        ("subdir_in_monorepo:tools/signal", "invalid-value"),
        ("subdir_in_monorepo:tools/../low-pass", "invalid-value"),
        ("subdir_in_monorepo:tools/signal/a/b", "invalid-value"),
        ("tools/signal/low-pass", "invalid-value"),
    ] {
        assert_eq!(sandbox.error(&new("rust_crate", &["--target", target])), code, "{target}");
    }
    let other = new("rust_crate", &["--target", TARGET, "--name", "other"]);
    assert_eq!(sandbox.error(&other), "invalid-value");
    let nothing = new("rust_crate", &["--name", "other"]);
    assert_eq!(sandbox.run(&nothing).code, 129);
    assert_eq!(sandbox.visible_state(), before);
    let same = ["--target", TARGET, "--name", "low-pass", "--purpose", "signal"];
    assert_eq!(sandbox.json(&new("rust_crate", &same))["ok"], true);
}
