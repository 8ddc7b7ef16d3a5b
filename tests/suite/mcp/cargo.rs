//! cargo for agents: never without the leave of the user, and then as data.

use serde_json::{Value, json};

use super::{call_at, conversation, result, serve_at};
use crate::support::{Sandbox, View};

const ACTIONS: [&str; 6] = [
    "run_tests",
    "check_workspace",
    "test_all",
    "build_crate",
    "lint_crate",
    "coverage_report",
];

/// A package, and a stand-in for cargo that records its environment and its arguments, and then runs a script.
fn package(script: &str) -> (Sandbox, View) {
    let sandbox = Sandbox::new();
    sandbox.write(
        "Cargo.toml",
        "[package]\nname = \"one\"\n\n[workspace]\nmembers = [\"crates/two\"]\n",
    );
    sandbox.write("crates/two/Cargo.toml", "[package]\nname = \"second\"\n");
    sandbox.write("src/lib.rs", "fn a() {}\n");
    let ran = sandbox.outside().join("ran");
    let script = format!(
        "{{ pwd; echo \"$@\"; env; }} > '{}'\n{script}\nexit 0",
        ran.display()
    );
    let view = sandbox
        .stand_in("cargo", &script)
        .with("GITHUB_TOKEN", "secret-token");
    (sandbox, view)
}

fn tools(view: &View, sandbox: &Sandbox, options: &[&str]) -> Vec<String> {
    let ask = json!({ "jsonrpc": "2.0", "id": "tools", "method": "tools/list" });
    let input = conversation(&[]) + &format!("{ask}\n");
    let messages = serve_at(sandbox, view.world(), options, input);
    let tools = result(&messages, "tools")["tools"]
        .as_array()
        .unwrap()
        .iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn cargo_never_runs_without_the_leave_of_the_user() {
    let (sandbox, view) = package("");
    let ran = sandbox.outside().join("ran");
    // Nothing that a repository has allows it.
    sandbox.write(".colony/colony.toml", "[tools]\ncargo = true\n");
    sandbox.write("build.rs", "fn main() {}\n");
    for words in [
        &["test"][..],
        &["test-all"],
        &["check"],
        &["build"],
        &["lint"],
        &["coverage"],
    ] {
        assert_eq!(
            view.error(&[&["cargo"], words].concat()),
            "cargo-not-allowed",
            "{words:?}"
        );
    }
    let offered = tools(&view, &sandbox, &[]);
    for action in ACTIONS {
        let told = call_at(&sandbox, view.world(), action, &json!({}));
        assert_eq!(told["code"], "cargo-not-allowed", "{action}");
        assert!(!offered.iter().any(|name| name == action), "{action}");
        let messages = serve_at(
            &sandbox,
            view.world(),
            &[],
            conversation(&[(action, json!({}))]),
        );
        assert!(
            !messages.last().unwrap()["error"].is_null(),
            "{messages:#?}"
        );
    }
    let planned = view.json(&["cargo", "check", "-n"]);
    assert_eq!(planned["passed"], Value::Null);
    assert!(!ran.exists());
    // And then never for a server that only reads.
    view.git(&["config", "colony.tools.cargo", "true"]);
    for options in [
        &["--read-only"][..],
        &["--read-only", "--only", "repository"],
    ] {
        let offered = tools(&view, &sandbox, options);
        assert!(
            !offered.iter().any(|name| ACTIONS.contains(&name.as_str())),
            "{offered:?}"
        );
    }
    assert_eq!(view.run(&["mcp", "--read-only", "--allow-cargo"]).code, 129);
    assert!(!ran.exists());
}

#[test]
fn cargo_runs_where_the_user_allows_it() {
    let (sandbox, view) = package("");
    let offered = tools(&view, &sandbox, &["--allow-cargo"]);
    assert!(
        ACTIONS
            .iter()
            .all(|action| offered.iter().any(|name| name == action))
    );
    let calls = conversation(&[("check_workspace", json!({}))]);
    let messages = serve_at(&sandbox, view.world(), &["--allow-cargo"], calls);
    assert_eq!(
        result(&messages, 0)["structuredContent"]["passed"],
        true,
        "{messages:#?}"
    );
    let ran = std::fs::read_to_string(sandbox.outside().join("ran")).unwrap();
    let mut lines = ran.lines();
    assert_eq!(lines.next(), sandbox.root.to_str(), "it runs at the root");
    assert_eq!(
        lines.next(),
        Some("check --all-targets --message-format=json --workspace")
    );
    assert!(
        !ran.contains("secret-token") && !ran.contains("COLONY_TOOLS"),
        "{ran}"
    );
}

#[test]
fn each_task_has_its_command_line() {
    let (sandbox, view) = package("");
    view.git(&["config", "colony.tools.cargo", "true"]);
    for (words, command) in [
        (
            &["test", "second"][..],
            "test --no-fail-fast --message-format=json --package=second",
        ),
        (
            &["build", "crates/two/"],
            "build --message-format=json --package=second",
        ),
        (
            &["lint", "one"],
            "clippy --all-targets --message-format=json --package=one",
        ),
        (
            &["test-all"],
            "test --no-fail-fast --message-format=json --workspace",
        ),
        (&["coverage"], "llvm-cov --summary-only"),
    ] {
        let answer = view
            .at(sandbox.path("src"))
            .json(&[&["cargo"], words].concat());
        assert_eq!(answer["ok"], true, "{answer}");
        let ran = std::fs::read_to_string(sandbox.outside().join("ran")).unwrap();
        assert_eq!(ran.lines().nth(1), Some(command));
    }
    let lint = view.json(&["cargo", "lint"]);
    assert_eq!(
        lint["stubs"],
        json!([{ "path": "src/lib.rs", "line": 1, "kind": "empty_body" }])
    );
    for name in ["nobody", "--config=x", "two"] {
        assert_eq!(
            view.error(&["cargo", "test", "--", name]),
            "invalid-value",
            "{name}"
        );
    }
}

#[test]
fn a_failing_run_is_data() {
    let message = r#"{"reason":"compiler-message","message":{"level":"error","code":{"code":"E0308"},"message":"mismatched types","spans":[{"is_primary":true,"file_name":"src/lib.rs","line_start":3,"column_start":7}]}}"#;
    let (_sandbox, view) = package(&format!(
        "echo '{message}'; echo 'test a ... FAILED'; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; echo told >&2; exit 101"
    ));
    view.git(&["config", "colony.tools.cargo", "true"]);
    let answer = view.json(&["cargo", "test"]);
    assert_eq!(
        (&answer["ok"], &answer["passed"], &answer["exit_code"]),
        (&json!(false), &json!(false), &json!(101))
    );
    assert_eq!(answer["diagnostics"][0]["path"], "src/lib.rs");
    assert_eq!(
        answer["tests"],
        json!({ "passed": 1, "failed": 1, "ignored": 0, "failures": ["a"] })
    );
    assert!(
        answer["output_tail"]
            .as_str()
            .unwrap()
            .starts_with("told\n")
    );
    assert_eq!(view.run(&["cargo", "test"]).code, 1);
}

#[test]
fn what_cargo_needs_is_named() {
    let (sandbox, view) = package("echo 'error: no such command: `llvm-cov`' >&2; exit 101");
    view.git(&["config", "colony.tools.cargo", "true"]);
    assert_eq!(view.error(&["cargo", "coverage"]), "tool-missing");
    assert_eq!(
        view.with("PATH", "/nonexistent").error(&["cargo", "check"]),
        "tool-missing"
    );
    sandbox.remove("Cargo.toml");
    assert_eq!(view.error(&["cargo", "check"]), "not-a-cargo-package");
    sandbox.write("crates/two/src/x", "");
    assert_eq!(
        view.at(sandbox.path("crates/two"))
            .error(&["cargo", "check"]),
        "not-a-cargo-package"
    );
}
