//! The set-up of an agent is in nobody's commit: git ignores its files, as long as they are there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

/// Each agent with its two files.
const AGENTS: [(&str, [&str; 2]); 3] = [
    ("claude-code", [".claude/settings.local.json", ".mcp.json"]),
    ("codex", [".codex/hooks.json", ".codex/config.toml"]),
    ("cursor", [".cursor/hooks.json", ".cursor/mcp.json"]),
];

const EXCLUDE: &str = ".git/info/exclude";

fn install(agent: &str) -> [&str; 4] {
    ["hooks", "install", "--for", agent]
}

fn uninstall(agent: &str) -> [&str; 4] {
    ["hooks", "uninstall", "--for", agent]
}

fn new_agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

/// Returns `info/exclude`; `None` where there is none.
fn exclude(view: &View) -> Option<String> {
    fs::read_to_string(view.path(EXCLUDE)).ok()
}

#[test]
fn git_ignores_the_files_until_they_are_uninstalled() {
    let desk = Sandbox::new();
    let clone = new_agent(&desk, "ada");
    drop(fs::remove_dir_all(clone.path(".git/info")));
    for view in [&clone, &*desk] {
        if view.root == desk.root {
            assert!(!clone.path(".git/info").exists());
            desk.write(EXCLUDE, "*.log");
        }
        for (agent, files) in AGENTS {
            let before = (exclude(view), view.worktree());
            let plan = view.json(&[&install(agent)[..], &["-n"]].concat());
            assert_eq!((exclude(view), view.worktree()), before);
            assert_eq!(plan["steps"][0], json!("write '.git/info/exclude'"));
            let diff = plan["diff"].as_str().unwrap();
            assert!(files.iter().all(|file| diff.contains(&format!("+/{file}\n"))), "{diff}");
            let made = view.json(&install(agent));
            assert_eq!(made["diff"], plan["diff"]);
            assert_eq!(view.git(&["status", "--porcelain"]), "", "{agent}");
            assert_eq!(view.json(&install(agent))["changed"], json!(false));
        }
        view.colony(&["checkpoint", "-m", "kept"]);
        assert!(!view.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("hooks.json"));
        for (agent, _) in AGENTS {
            let gone = view.json(&uninstall(agent));
            assert_eq!(gone["steps"].as_array().unwrap().last(), gone["steps"].get(2));
        }
    }
    // An unfinished last line keeps the newline that it got.
    assert_eq!(exclude(&desk).as_deref(), Some("*.log\n"));
}

#[test]
fn agents_do_not_clash_on_their_set_up() {
    let desk = Sandbox::new();
    for name in ["ada", "bob"] {
        let clone = new_agent(&desk, name);
        clone.colony(&install("claude-code"));
        clone.write(name, "work\n");
        clone.colony(&["checkpoint", "-m", name]);
        let changed = clone.git(&["diff", "--name-only", "main", "HEAD"]);
        assert_eq!(changed.trim(), name);
    }
    let fleet = desk.json(&["fleet"]);
    assert!(!fleet.to_string().contains("settings.local.json"), "{fleet}");
    desk.colony(&["merge", "ada"]);
    desk.colony(&["merge", "bob"]);
    assert!(desk.path("bob").exists() && !desk.path(".mcp.json").exists());
}

#[test]
fn a_tracked_file_is_named_and_not_excluded() {
    let sandbox = Sandbox::new();
    sandbox.write(".mcp.json", "{}\n");
    sandbox.colony(&["commit", "-m", "servers", ".mcp.json"]);
    let before = exclude(&sandbox);
    let made = sandbox.json(&install("claude-code"));
    let note = "'.mcp.json' is tracked, so the next commit has its changes";
    assert_eq!(made["note"], note);
    let lines = exclude(&sandbox).unwrap();
    assert!(lines.contains("/.claude/settings.local.json\n") && !lines.contains("mcp"), "{lines}");
    sandbox.colony(&uninstall("claude-code"));
    assert_eq!(exclude(&sandbox), before);
}

#[test]
fn lines_of_the_user_stay_wherever_they_are_written() {
    let sandbox = Sandbox::new();
    sandbox.colony(&install("codex"));
    let edited = format!("first\n{}last\n", exclude(&sandbox).unwrap());
    sandbox.write(EXCLUDE, edited.replace("/.codex/hooks.json\n", "/.codex/hooks.json\nmine\n"));
    sandbox.colony(&uninstall("codex"));
    let rest = exclude(&sandbox).unwrap();
    assert!(!rest.contains(".codex"), "{rest}");
    assert!(["first\n", "mine\n", "last\n"].iter().all(|line| rest.contains(line)), "{rest}");
}

#[test]
fn no_line_is_added_through_a_link() {
    let sandbox = Sandbox::new();
    let target = sandbox.outside().join("elsewhere");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("exclude"), "theirs\n").unwrap();
    let before = sandbox.worktree();
    for (link, to) in [(EXCLUDE, target.join("exclude")), (".git/info", target.clone())] {
        drop(fs::remove_file(sandbox.path(link)));
        drop(fs::remove_dir_all(sandbox.path(link)));
        fs::create_dir_all(sandbox.path(link).parent().unwrap()).unwrap();
        symlink(to, sandbox.path(link)).unwrap();
        assert_eq!(sandbox.error(&install("claude-code")), "path-in-the-way", "{link}");
        assert_eq!(sandbox.json(&uninstall("claude-code"))["changed"], json!(false));
        assert_eq!(fs::read_to_string(target.join("exclude")).unwrap(), "theirs\n");
        assert_eq!(sandbox.worktree(), before);
    }
}

#[test]
fn lines_stay_for_the_worktree_that_needs_them() {
    let desk = Sandbox::new();
    let before = exclude(&desk);
    desk.git(&["worktree", "add", "-q", "../linked"]);
    let linked = desk.at(desk.root.parent().unwrap().join("linked"));
    desk.colony(&install("cursor"));
    linked.colony(&install("cursor"));
    desk.colony(&uninstall("cursor"));
    assert_eq!(linked.git(&["status", "--porcelain"]), "");
    linked.colony(&uninstall("cursor"));
    assert_eq!(exclude(&desk), before);
}

#[test]
fn a_kill_beside_the_lines_is_mended_by_the_next_run() {
    for step in ["hooks-excluded", "hooks-written", "hooks-removed"] {
        let sandbox = Sandbox::new();
        let before = (exclude(&sandbox), sandbox.worktree());
        let die = |args: &[&str]| {
            let mut world = sandbox.world();
            world.die_at = Some(step);
            sandbox.run_in(world, args).code
        };
        if die(&install("codex")) != 0 {
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{step}");
            sandbox.colony(&["deinit"]);
            assert_eq!((exclude(&sandbox), sandbox.worktree()), before, "{step}");
        }
        sandbox.colony(&install("codex"));
        die(&uninstall("codex"));
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{step}");
        sandbox.colony(&uninstall("codex"));
        assert_eq!((exclude(&sandbox), sandbox.worktree()), before, "{step}");
    }
}

/// Returns the reports about the entries of an agent.
fn states(view: &View, agent: &str) -> Vec<Value> {
    let status = view.json(&["hooks", "status"]);
    let rows = status["hooks"].as_array().unwrap().iter();
    rows.filter(|row| row["for"] == agent).map(|row| row["state"].clone()).collect()
}

#[test]
fn a_clone_ignores_what_its_checkout_ignores() {
    let desk = Sandbox::new();
    desk.colony(&install("codex"));
    let clone = new_agent(&desk, "ada");
    clone.colony(&install("codex"));
    desk.colony(&uninstall("codex"));
    clone.colony(&["checkpoint", "--off-branch", "-m", "renewed"]);
    // The lines of the checkout have gone, those of the clone stand for themselves.
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert_eq!(states(&clone, "codex"), ["installed", "installed", "installed"]);
}
