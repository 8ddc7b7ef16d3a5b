//! cargo for agents: never without the leave of the user, and then as data.

use git_colony::testing::World;
use serde_json::{Value, json};

use super::{call_at, conversation, result, serve_at};
use crate::support::{Sandbox, View};

const ACTIONS: [&str; 6] =
    ["run_tests", "check_workspace", "test_all", "build_crate", "lint_crate", "coverage_report"];

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
    let script = format!("{{ pwd; echo \"$@\"; env; }} > '{}'\n{script}\nexit 0", ran.display());
    let view = sandbox.stand_in("cargo", &script).with("GITHUB_TOKEN", "secret-token");
    (sandbox, view)
}

/// Runs a command where a server was allowed to run cargo; returns its answer.
fn allowed(view: &View, words: &[&str]) -> Value {
    let world = World { allows_cargo: true, ..view.world() };
    let run = view.run_in(world, &[&["--json", "cargo"], words].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
}

/// Runs the program with a file of the user's own configuration.
fn with_global(sandbox: &Sandbox, view: &View, text: &str) -> Value {
    let global = sandbox.outside().join("global");
    std::fs::write(&global, text).unwrap();
    let view = view.with("GIT_CONFIG_GLOBAL", global.to_str().unwrap());
    let ran = view.program().args(["--json", "cargo", "check"]).output();
    serde_json::from_slice(&ran.unwrap().stdout).unwrap()
}

fn tools(view: &View, sandbox: &Sandbox, options: &[&str]) -> Vec<String> {
    let ask = json!({ "jsonrpc": "2.0", "id": "tools", "method": "tools/list" });
    let input = conversation(&[]) + &format!("{ask}\n");
    let messages = serve_at(sandbox, view.world(), options, input);
    let tools = result(&messages, "tools")["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn cargo_never_runs_without_the_leave_of_the_user() {
    let (sandbox, view) = package("");
    let ran = sandbox.outside().join("ran");
    // Nothing that a repository has allows it.
    sandbox.write(".colony/colony.toml", "[tools]\ncargo = true\n");
    sandbox.write("build.rs", "fn main() {}\n");
    // Nor anything that an agent in it can write.
    view.git(&["config", "colony.tools.cargo", "true"]);
    view.git(&["config", "extensions.worktreeConfig", "true"]);
    view.git(&["config", "--worktree", "colony.tools.cargo", "true"]);
    let view = view
        .with("COLONY_TOOLS_CARGO", "true")
        .with("GIT_CONFIG_COUNT", "1")
        .with("GIT_CONFIG_KEY_0", "colony.tools.cargo")
        .with("GIT_CONFIG_VALUE_0", "true");
    for words in [&["test"][..], &["test-all"], &["check"], &["build"], &["lint"], &["coverage"]] {
        assert_eq!(view.error(&[&["cargo"], words].concat()), "cargo-not-allowed", "{words:?}");
    }
    let offered = tools(&view, &sandbox, &[]);
    for action in ACTIONS {
        let told = call_at(&sandbox, view.world(), action, &json!({}));
        assert_eq!(told["code"], "cargo-not-allowed", "{action}");
        assert!(!offered.iter().any(|name| name == action), "{action}");
        let messages = serve_at(&sandbox, view.world(), &[], conversation(&[(action, json!({}))]));
        assert!(!messages.last().unwrap()["error"].is_null(), "{messages:#?}");
    }
    let planned = view.json(&["cargo", "check", "-n"]);
    assert_eq!(planned["passed"], Value::Null);
    assert!(!ran.exists());
    // And then never for a server that only reads.
    for options in [&["--read-only"][..], &["--read-only", "--only", "repository"]] {
        let offered = tools(&view, &sandbox, options);
        assert!(!offered.iter().any(|name| ACTIONS.contains(&name.as_str())), "{offered:?}");
    }
    assert_eq!(view.run(&["mcp", "--read-only", "--allow-cargo"]).code, 129);
    assert!(!ran.exists());
}

#[test]
fn cargo_runs_where_the_user_allows_it() {
    let (sandbox, view) = package("");
    let offered = tools(&view, &sandbox, &["--allow-cargo"]);
    assert!(ACTIONS.iter().all(|action| offered.iter().any(|name| name == action)));
    let calls = conversation(&[("check_workspace", json!({}))]);
    let messages = serve_at(&sandbox, view.world(), &["--allow-cargo"], calls);
    assert_eq!(result(&messages, 0)["structuredContent"]["passed"], true, "{messages:#?}");
    let ran = std::fs::read_to_string(sandbox.outside().join("ran")).unwrap();
    let mut lines = ran.lines();
    assert_eq!(lines.next(), sandbox.root.to_str(), "it runs at the root");
    assert_eq!(lines.next(), Some("check --all-targets --message-format=json --workspace"));
    assert!(!ran.contains("secret-token") && !ran.contains("COLONY_TOOLS"), "{ran}");
}

#[test]
fn each_task_has_its_command_line() {
    let (sandbox, view) = package("");
    for (words, command) in [
        (&["test", "second"][..], "test --no-fail-fast --message-format=json --package=second"),
        (&["build", "crates/two/"], "build --message-format=json --package=second"),
        (&["lint", "one"], "clippy --all-targets --message-format=json --package=one"),
        (&["test-all"], "test --no-fail-fast --message-format=json --workspace"),
        (&["coverage"], "llvm-cov --summary-only"),
    ] {
        let answer = allowed(&view.at(sandbox.path("src")), words);
        assert_eq!(answer["ok"], true, "{answer}");
        let ran = std::fs::read_to_string(sandbox.outside().join("ran")).unwrap();
        assert_eq!(ran.lines().nth(1), Some(command));
    }
    let lint = allowed(&view, &["lint"]);
    assert_eq!(lint["stubs"], json!([{ "path": "src/lib.rs", "line": 1, "kind": "empty_body" }]));
    for name in ["nobody", "--config=x", "two"] {
        let refused = allowed(&view, &["test", "--", name]);
        assert_eq!(refused["code"], "invalid-value", "{name}");
    }
}

#[test]
fn a_failing_run_is_data() {
    let message = r#"{"reason":"compiler-message","message":{"level":"error","code":{"code":"E0308"},"message":"mismatched types","spans":[{"is_primary":true,"file_name":"src/lib.rs","line_start":3,"column_start":7}]}}"#;
    let (_sandbox, view) = package(&format!(
        "echo '{message}'; echo 'test a ... FAILED'; echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; echo told >&2; exit 101"
    ));
    let answer = allowed(&view, &["test"]);
    assert_eq!(
        (&answer["ok"], &answer["passed"], &answer["exit_code"]),
        (&json!(false), &json!(false), &json!(101))
    );
    assert_eq!(answer["diagnostics"][0]["path"], "src/lib.rs");
    assert_eq!(
        answer["tests"],
        json!({ "passed": 1, "failed": 1, "ignored": 0, "failures": ["a"] })
    );
    assert!(answer["output_tail"].as_str().unwrap().starts_with("told\n"));
}

#[test]
fn what_cargo_needs_is_named() {
    let (sandbox, view) = package("echo 'error: no such command: `llvm-cov`' >&2; exit 101");
    let code = |view: &View, words: &[&str]| allowed(view, words)["code"].clone();
    assert_eq!(code(&view, &["coverage"]), "tool-missing");
    assert_eq!(code(&view.with("PATH", "/nonexistent"), &["check"]), "tool-missing");
    sandbox.remove("Cargo.toml");
    assert_eq!(code(&view, &["check"]), "not-a-cargo-package");
    sandbox.write("crates/two/src/x", "");
    assert_eq!(code(&view.at(sandbox.path("crates/two")), &["check"]), "not-a-cargo-package");
}

#[test]
fn a_cargo_that_is_ended_says_by_what() {
    let (_sandbox, view) = package("kill -9 $$");
    let killed = allowed(&view, &["check"]);
    assert_eq!(killed["ended_early"], "signal 9 ended it", "{killed:#}");
    assert_eq!(killed["timed_out"], false);
    let (_sandbox, view) = package("exec yes");
    let loud = allowed(&view, &["check"]);
    let said = loud["message"].as_str().unwrap();
    assert_eq!(loud["ended_early"], "it printed more than 32 MiB", "{said}");
    let wanted = "did not end by itself: it printed more than 32 MiB";
    assert!(said.ends_with(wanted), "{said}");
}

#[test]
fn cargo_runs_by_the_users_own_configuration_alone() {
    let (sandbox, view) = package("");
    view.git(&["config", "colony.tools.cargo", "true"]);
    let refused = with_global(&sandbox, &view, "");
    assert_eq!(refused["code"], "cargo-not-allowed", "{refused:#}");
    assert!(refused["hint"].as_str().unwrap().contains("--global"));
    // And the repository cannot forbid what the user allows.
    view.git(&["config", "colony.tools.cargo", "false"]);
    let text = "[colony \"tools\"]\n\tcargo = true\n";
    let ran = with_global(&sandbox, &view, text);
    assert_eq!(ran["passed"], true, "{ran:#}");
}
