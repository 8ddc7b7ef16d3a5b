//! Claude Code asks for worktrees and gets clones of agents, through the entries that are installed.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Sandbox, View, program_path, write_program};

const INSTALL: [&str; 4] = ["hooks", "install", "--for", "claude-code"];

const SETTINGS: &str = ".claude/settings.local.json";

/// What a hook answered.
struct Told {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Told {
    fn path(&self) -> PathBuf {
        assert_eq!(self.code, 0, "{}", self.stderr);
        let line = self.stdout.strip_suffix('\n').unwrap();
        assert!(!line.contains('\n'), "{line}");
        PathBuf::from(line)
    }
}

/// Returns the command of an event in the configuration.
fn command_of(sandbox: &Sandbox, event: &str) -> Option<String> {
    let settings: Value = serde_json::from_str(&sandbox.read(SETTINGS)).unwrap();
    let command = &settings["hooks"][event][0]["hooks"][0]["command"];
    command.as_str().map(str::to_owned)
}

/// Runs the entry of an event as Claude Code does, in a shell.
fn run(sandbox: &Sandbox, event: &str, fields: &Value) -> Told {
    let view = sandbox.with_path(program_path().parent().unwrap());
    run_with(&view, &command_of(sandbox, event).unwrap(), &payload(sandbox, event, fields))
}

fn payload(sandbox: &Sandbox, event: &str, fields: &Value) -> String {
    let mut payload = json!({
        "session_id": "s-1",
        "transcript_path": "/nowhere/t.jsonl",
        "cwd": sandbox.root,
        "hook_event_name": event,
    });
    let more = fields.as_object().unwrap().clone();
    payload.as_object_mut().unwrap().extend(more);
    payload.to_string()
}

fn run_with(view: &View, command: &str, payload: &str) -> Told {
    let mut child = view
        .process("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdin.take().unwrap().write_all(payload.as_bytes()));
    let output = child.wait_with_output().unwrap();
    Told {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn remove(sandbox: &Sandbox, path: &Path) -> Told {
    run(sandbox, "WorktreeRemove", &json!({ "worktree_path": path }))
}

#[test]
fn a_worktree_is_a_clone_whose_work_outlives_it() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    let clone = run(&desk, "WorktreeCreate", &json!({ "name": "login" })).path();
    let agents = desk.json(&["agents"]);
    assert_eq!(agents["agents"][0]["agent"], "login");
    assert_eq!(agents["agents"][0]["path"], json!(clone));
    let branch = desk.at(clone.clone()).git(&["branch", "--show-current"]);
    assert_eq!(branch.trim(), "fork/login");
    // Asked again, the session continues there.
    let again = run(&desk, "WorktreeCreate", &json!({ "worktree_name": "login" })).path();
    assert_eq!(again, clone);
    fs::write(clone.join("new"), "uncommitted\n").unwrap();
    assert_eq!(desk.run(&["hooks"]).code, 0);
    let told = remove(&desk, &clone);
    assert_eq!((told.code, told.stdout.as_str()), (0, "{}\n"), "{}", told.stderr);
    assert!(!clone.exists());
    desk.colony(&["agents", "restore", "login"]);
    let text = fs::read_to_string(clone.join("new")).unwrap();
    assert_eq!(text, "uncommitted\n");
}

#[test]
fn the_clone_of_a_worktree_has_the_hooks_of_its_checkout() {
    let desk = Sandbox::new();
    let mine = "{\"permissions\": {\"allow\": [\"Bash(ls:*)\"]}}\n";
    desk.write(SETTINGS, mine);
    desk.colony(&INSTALL);
    let path = run(&desk, "WorktreeCreate", &json!({ "name": "login" })).path();
    let clone = desk.at(path.clone());
    assert!(clone.colony(&INSTALL).contains("installed already"));
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    // Only what an installation there would write.
    let settings: Value = serde_json::from_str(&clone.read(SETTINGS)).unwrap();
    assert_eq!(settings.as_object().unwrap().len(), 1, "{settings}");
    clone.write("new", "before\n");
    let fields = json!({ "cwd": path, "tool_name": "Bash" });
    let told = run(&desk, "PreToolUse", &fields);
    assert_eq!(told.code, 0, "{}", told.stderr);
    let kept = clone.json(&["checkpoints", "--auto"]);
    assert_eq!(kept["checkpoints"].as_array().unwrap().len(), 1, "{kept}");
    // One that is there gets them as well.
    let bob = PathBuf::from(desk.json(&["agents", "new", "bob"])["path"].as_str().unwrap());
    assert_eq!(run(&desk, "WorktreeCreate", &json!({ "name": "bob" })).path(), bob);
    assert!(bob.join(SETTINGS).exists() && bob.join(".mcp.json").exists());
}

#[test]
fn a_clone_gets_no_more_of_the_set_up_than_its_checkout_has() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    let command = command_of(&desk, "WorktreeCreate").unwrap();
    let create = |name: &str| {
        let view = desk.with_path(program_path().parent().unwrap());
        run_with(&view, &command, &payload(&desk, "WorktreeCreate", &json!({ "name": name })))
    };
    desk.remove(".mcp.json");
    let clone = create("one").path();
    assert!(clone.join(SETTINGS).exists() && !clone.join(".mcp.json").exists());
    // Another user may write to it.
    desk.set_mode(SETTINGS, 0o666);
    assert!(!create("two").path().join(".claude").exists());
    desk.colony(&["hooks", "uninstall", "--for", "claude-code"]);
    assert!(!create("three").path().join(".claude").exists());
}

#[test]
fn what_is_tracked_or_in_the_way_in_a_clone_stays_as_it_is() {
    let desk = Sandbox::new();
    desk.write(".mcp.json", "{}\n");
    desk.git(&["add", ".mcp.json"]);
    desk.git(&["commit", "-qm", "servers"]);
    desk.colony(&INSTALL);
    let told = run(&desk, "WorktreeCreate", &json!({ "name": "one" }));
    let clone = desk.at(told.path());
    let note = "note: the clone lacks hooks or tools of claude-code: .mcp.json is tracked there";
    assert!(told.stderr.contains(note), "{}", told.stderr);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    assert!(clone.path(SETTINGS).exists());
    // A link that the agent has made is not followed.
    let outside = desk.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::remove_dir_all(clone.path(".claude")).unwrap();
    std::os::unix::fs::symlink(&outside, clone.path(".claude")).unwrap();
    let told = run(&desk, "WorktreeCreate", &json!({ "name": "one" }));
    assert_eq!(told.path(), clone.root);
    assert!(told.stderr.contains("its folder is not a directory"), "{}", told.stderr);
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

#[test]
fn a_removal_from_inside_or_a_second_one_does_no_harm() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    let clone = run(&desk, "WorktreeCreate", &json!({ "name": "login" })).path();
    let fields = json!({ "worktree_path": clone, "cwd": clone });
    let told = run(&desk, "WorktreeRemove", &fields);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(!clone.exists());
    assert_eq!(remove(&desk, &clone).code, 0);
}

#[test]
fn a_name_that_no_agent_can_have_is_always_the_same_agent() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    let name = json!({ "name": "feature/log in" });
    let clone = run(&desk, "WorktreeCreate", &name).path();
    let agent = desk.json(&["agents"])["agents"][0]["agent"].clone();
    let agent = agent.as_str().unwrap();
    assert!(agent.starts_with("feature-log-in-"), "{agent}");
    assert_eq!(run(&desk, "WorktreeCreate", &name).path(), clone);
}

#[test]
fn a_worktree_that_cannot_be_created_is_a_failure() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    desk.git(&["branch", "taken"]);
    let before = desk.visible_state();
    for (fields, said) in [
        (json!({ "name": "taken" }), "'taken' is already the name of a branch here"),
        (json!({}), "the payload of this hook has no 'name'"),
        (json!({ "name": 7 }), "the payload of this hook has no 'name'"),
    ] {
        let told = run(&desk, "WorktreeCreate", &fields);
        assert_eq!((told.code, told.stdout.as_str()), (1, ""));
        assert!(told.stderr.contains(said), "{}", told.stderr);
    }
    assert_eq!(desk.visible_state(), before);
}

#[test]
fn nothing_but_the_clone_of_an_agent_is_removed() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    desk.git(&["worktree", "add", "-q", "../linked"]);
    let linked = desk.root.parent().unwrap().join("linked");
    let told = remove(&desk, &linked);
    assert_eq!((told.code, told.stdout.as_str()), (1, ""));
    assert!(told.stderr.contains("is not the clone of an agent"), "{}", told.stderr);
    assert!(linked.join(".git").exists());
    assert_eq!(remove(&desk, &desk.root).code, 1);
    assert_eq!(remove(&desk, Path::new("relative")).code, 1);
    // What no checkpoint includes keeps the clone.
    let clone = run(&desk, "WorktreeCreate", &json!({ "name": "login" })).path();
    desk.at(clone.clone()).git(&["worktree", "add", "-q", "../beside"]);
    let told = remove(&desk, &clone);
    assert_eq!(told.code, 1);
    assert!(told.stderr.contains("is another worktree of the clone"), "{}", told.stderr);
    assert!(clone.join(".git").exists());
}

#[test]
fn hooks_of_the_user_about_worktrees_stay_the_only_ones() {
    let desk = Sandbox::new();
    let theirs = "{\"hooks\": {\"WorktreeCreate\": [{\"hooks\": [{\"type\": \"command\", \
                  \"command\": \"mine\"}]}]}}\n";
    desk.write(SETTINGS, theirs);
    let run = desk.run(&[&["--json"][..], &INSTALL].concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1, "{report}");
    let left = report["left"][0].as_str().unwrap();
    assert_eq!(left, "the hook WorktreeCreate in '.claude/settings.local.json', which is not ours");
    assert_eq!(command_of(&desk, "WorktreeCreate").as_deref(), Some("mine"));
    assert_eq!(command_of(&desk, "WorktreeRemove"), None);
    assert!(command_of(&desk, "Stop").is_some());
    desk.colony(&["hooks", "uninstall", "--for", "claude-code"]);
    assert_eq!(desk.read(SETTINGS), theirs);
}

#[test]
fn a_clone_in_which_another_session_works_is_left_alone() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    let name = json!({ "name": "login" });
    let clone = run(&desk, "WorktreeCreate", &name).path();
    let of_other = desk.at(clone.clone()).with("COLONY_SESSION", "s-2");
    let args = ["checkpoint", "--off-branch", "-m", "mine"];
    assert!(of_other.program().args(args).status().unwrap().success());
    for told in [run(&desk, "WorktreeCreate", &name), remove(&desk, &clone)] {
        assert_eq!((told.code, told.stdout.as_str()), (1, ""));
        assert!(told.stderr.contains("session s-2"), "{}", told.stderr);
    }
    assert!(clone.join(".git").exists());
    let fields = json!({ "worktree_path": clone, "session_id": "s-2" });
    let told = run(&desk, "WorktreeRemove", &fields);
    assert_eq!(told.code, 0, "{}", told.stderr);
    assert!(!clone.exists());
}

#[test]
fn a_program_that_fails_creates_no_worktree() {
    let desk = Sandbox::new();
    desk.colony(&INSTALL);
    let folder = desk.outside().join("failing");
    write_program(&folder.join("git-colony"), "#!/bin/sh\nexit 7\n");
    let command = command_of(&desk, "WorktreeCreate").unwrap();
    let payload = payload(&desk, "WorktreeCreate", &json!({ "name": "login" }));
    let told = run_with(&desk.with_path(folder), &command, &payload);
    assert_eq!((told.code, told.stdout.as_str()), (7, ""));
}
