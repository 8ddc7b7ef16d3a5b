//! The entry of our MCP server in the configuration of agents: nothing of the user's changed, all of ours gone.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::Sandbox;

/// Each agent with the file of its servers, and a text of the user that has one already.
const AGENTS: [(&str, &str, &str); 3] = [
    ("claude-code", ".mcp.json", JSON),
    ("codex", ".codex/config.toml", TOML),
    ("cursor", ".cursor/mcp.json", JSON),
];

const JSON: &str =
    "{\n\t\"mcpServers\": {\n\t\t\"db\": {\"command\": \"db\", \"n\": 1.0e3}\n\t}\n}";

const TOML: &str =
    "# mine\nmodel = 'x'   # keep\n\n[mcp_servers.db]\r\ncommand = \"db\"\nargs = [ ]\n";

fn install(agent: &str) -> [&str; 4] {
    ["hooks", "install", "--for", agent]
}

fn uninstall(agent: &str) -> [&str; 4] {
    ["hooks", "uninstall", "--for", agent]
}

fn state(sandbox: &Sandbox, agent: &str) -> Value {
    let status = sandbox.json(&["hooks", "status"]);
    let all = status["hooks"].as_array().unwrap();
    let mut rows = all.iter();
    let row = rows.find(|row| row["for"] == agent && row["name"] == "mcp");
    row.unwrap()["state"].clone()
}

#[test]
fn a_server_is_entered_beside_others_and_goes_again() {
    for (agent, path, theirs) in AGENTS {
        let sandbox = Sandbox::new();
        sandbox.write(path, theirs);
        let before = sandbox.worktree();
        let plan = sandbox.json(&[&install(agent)[..], &["-n"]].concat());
        assert_eq!(sandbox.worktree(), before, "{agent}");
        assert_eq!(state(&sandbox, agent), "not_installed");
        let diff = plan["diff"].as_str().unwrap();
        assert!(diff.contains(&format!("--- a/{path}\n+++ b/{path}")), "{diff}");
        assert_eq!(plan["steps"].as_array().unwrap().len(), 3);
        let made = sandbox.json(&install(agent));
        assert_eq!((&made["changed"], &made["left"]), (&json!(true), &json!([])));
        assert_eq!(made["diff"], plan["diff"]);
        assert_eq!(state(&sandbox, agent), "installed");
        let after = sandbox.read(path);
        assert!(after.contains("git-colony"), "{after}");
        assert_eq!(sandbox.json(&install(agent))["changed"], json!(false));
        // Another change of the file stays, ours is removed from it.
        sandbox.write(path, after.replace("\"db\"", "\"other\""));
        sandbox.colony(&uninstall(agent));
        assert_eq!(sandbox.read(path), theirs.replace("\"db\"", "\"other\""), "{agent}");
        sandbox.write(path, theirs);
        sandbox.colony(&install(agent));
        sandbox.colony(&uninstall(agent));
        assert_eq!(sandbox.worktree(), before, "{agent}");
        assert_eq!(state(&sandbox, agent), "not_installed");
    }
}

#[test]
fn an_entry_of_the_user_with_our_name_stays_and_is_reported() {
    let own = [
        (
            ".mcp.json",
            "{\"mcpServers\": {\"git-colony\": {\"command\": \"git-colony\", \"args\": [\"mcp\", \"--read-only\"]}}}",
        ),
        (
            ".codex/config.toml",
            "[mcp_servers]\ngit-colony = { command = \"git-colony\", args = [\"mcp\"] }\n",
        ),
        (".cursor/mcp.json", "{\"mcpServers\": {\"git-colony\": {\"url\": \"http://localhost\"}}}"),
    ];
    for ((agent, ..), (path, text)) in AGENTS.into_iter().zip(own) {
        let sandbox = Sandbox::new();
        sandbox.write(path, text);
        let is_ours = agent != "cursor";
        let installed = sandbox.run(&["--json", "hooks", "install", "--for", agent]);
        let report: Value = serde_json::from_str(&installed.stdout).unwrap();
        assert_eq!(installed.code, u8::from(!is_ours), "{report}");
        let removed = sandbox.json(&uninstall(agent));
        for report in [report, removed] {
            let left = report["left"][0].as_str().unwrap_or_else(|| panic!("{report}"));
            assert!(left.contains(path), "{left}");
        }
        assert_eq!(sandbox.read(path), text, "{agent}");
        let wanted = if is_ours { "edited" } else { "not_installed" };
        assert_eq!(state(&sandbox, agent), wanted, "{agent}");
        let before = sandbox.worktree();
        sandbox.colony(&["deinit"]);
        assert_eq!(sandbox.worktree(), before);
    }
}

#[test]
fn a_file_of_servers_that_does_not_parse_stops_it_before() {
    let broken = [
        ["{ // a comment\n}", "[]", "{\"mcpServers\": []}"],
        ["[mcp_servers", "mcp_servers = 1", "mcp_servers = { db = {} }"],
        ["{,}", "1", "{\"mcpServers\": null}"],
    ];
    for ((agent, path, _), texts) in AGENTS.into_iter().zip(broken) {
        let sandbox = Sandbox::new();
        for text in texts {
            sandbox.write(path, text);
            let before = sandbox.worktree();
            let refused = sandbox.json(&install(agent));
            assert_eq!(refused["code"], "agent-config-refused", "{text}");
            assert!(refused["hint"].as_str().unwrap().contains("git-colony"));
            assert!(refused["detail"]["by_hand"].to_string().contains("git-colony"));
            assert_eq!(sandbox.worktree(), before, "{text}");
        }
        // It was never ours, and is in the way of nothing else.
        let removed = sandbox.json(&uninstall(agent));
        assert_eq!(removed["changed"], json!(false), "{removed}");
    }
}

#[test]
fn a_file_of_servers_is_not_written_through_a_symlink() {
    for (agent, path, theirs) in AGENTS {
        let sandbox = Sandbox::new();
        let target = sandbox.outside().join("elsewhere");
        fs::write(&target, theirs).unwrap();
        sandbox.write(path, "");
        sandbox.remove(path);
        symlink(&target, sandbox.path(path)).unwrap();
        let before = sandbox.worktree();
        assert_eq!(sandbox.error(&install(agent)), "agent-config-refused");
        assert_eq!(sandbox.worktree(), before, "{agent}");
        assert_eq!(fs::read_to_string(&target).unwrap(), theirs);
        assert_eq!(state(&sandbox, agent), "not_installed");
    }
}

#[test]
fn a_kill_between_the_two_files_is_completed_or_undone() {
    for (agent, path, theirs) in AGENTS {
        for step in ["hooks-remembered", "hooks-written", "hooks-removed"] {
            let sandbox = Sandbox::new();
            sandbox.write(path, theirs);
            let before = sandbox.worktree();
            let die = |args: &[&str]| {
                let mut world = sandbox.world();
                world.die_at = Some(step);
                sandbox.run_in(world, args).code
            };
            if die(&install(agent)) != 0 {
                sandbox.colony(&uninstall(agent));
                assert_eq!(sandbox.worktree(), before, "{agent} {step}");
                die(&install(agent));
            }
            sandbox.colony(&install(agent));
            assert_eq!(state(&sandbox, agent), "installed", "{agent} {step}");
            die(&uninstall(agent));
            sandbox.colony(&uninstall(agent));
            assert_eq!(sandbox.worktree(), before, "{agent} {step}");
        }
    }
}

#[test]
fn deinit_and_doctor_know_the_server() {
    let sandbox = Sandbox::new();
    let before = sandbox.worktree();
    for (agent, ..) in AGENTS {
        sandbox.colony(&install(agent));
    }
    let checks = sandbox.colony(&["doctor"]);
    for (agent, ..) in AGENTS {
        let line = format!("MCP server in the configuration of {agent}");
        assert!(checks.contains(&line), "{checks}");
    }
    sandbox.colony(&["deinit"]);
    assert_eq!(sandbox.worktree(), before);
}
