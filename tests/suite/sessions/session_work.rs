//! What the commands of a session are recorded as.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::events::heard::Full;
use crate::sessions::session_files::{begin, block, lines};
use crate::support::{Sandbox, View};

fn trailer(sandbox: &View, revision: &str) -> String {
    let format = "--format=%(trailers:key=Colony-Session,valueonly)";
    sandbox.git(&["log", "-1", format, revision])
}

#[test]
fn work_names_its_session_and_the_session_its_work() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let here = sandbox.with("COLONY_SESSION", &*id);
    sandbox.write("a.txt", "two\n");
    let checkpoint = here.json(&["checkpoint", "-m", "kept"]);
    assert_eq!(trailer(&sandbox, "HEAD"), id);
    sandbox.write("b.txt", "bee\n");
    here.json(&["commit", "-m", "by hand", "--all"]);
    assert_eq!(trailer(&sandbox, "HEAD"), id);
    sandbox.write("a.txt", "three\n");
    here.json(&["decide", "-m", "it is so", "a.txt"]);
    assert_eq!(trailer(&sandbox, "HEAD"), id);
    here.colony(&["fork", "try"]);
    sandbox.write("c.txt", "sea\n");
    here.json(&["checkpoint", "-m", "tried"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("d.txt", "dee\n");
    here.json(&["commit", "-m", "other", "--all"]);
    here.json(&["merge", "try"]);
    assert_eq!(trailer(&sandbox, "HEAD"), id);
    let shown = here.json(&["session", "show"]);
    assert_eq!(shown["checkpoints"][0]["checkpoint_id"], checkpoint["checkpoint_id"]);
    assert_eq!(shown["checkpoints"][0]["label"], "kept");
    assert_eq!(shown["decisions"][0]["decision_id"], "it-is-so");
    assert_eq!(shown["merges"][0]["into"], "main");
    let patch = here.json(&["session", "show", "--diff"]);
    let patch = patch["raw_unified_diff"].as_str().unwrap();
    assert!(patch.contains("+three") && patch.contains("+sea"), "{patch}");
    insta::assert_snapshot!(here.colony(&["session", "show"]), @r"
    session 20260102T030405Z-00000001, active: 2 checkpoints, 5 commits, 1 decision, 5 changed paths, +14 -1
    plan   default
    began  2026-01-02T03:04:05Z
    turns  0 (0 tokens)
    checkpoint  checkpoint/20260102T030505Z-00000004  kept
    checkpoint  checkpoint/20260102T030905Z-00000005  tried
    commit  2ef41279  checkpoint: kept
    commit  455791be  by hand
    commit  c16f02bd  decide: it is so
    commit  06c9af76  checkpoint: tried
    commit  dc9b26e6  other
    decision  it-is-so
    merge  9a94c1d6  into main: Merge branch 'fork/try'
      +1 -1   a.txt
      +1 -0   b.txt
      +1 -0   c.txt
      +1 -0   d.txt
      +10 -0  design/decisions/it-is-so.json
    ");
}

#[test]
fn work_without_a_session_is_recorded_in_none() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    assert_eq!(trailer(&sandbox, "HEAD"), "");
    let elsewhere = sandbox.with("COLONY_SESSION", "another");
    sandbox.write("a.txt", "three\n");
    elsewhere.colony(&["checkpoint", "-m", "again"]);
    assert_eq!(trailer(&sandbox, "HEAD"), "another");
    assert_eq!(lines(&sandbox, &id).len(), 1);
    let listed = sandbox.json(&["session", "list"]);
    assert_eq!(listed["count"], 1);
}

#[test]
fn a_session_that_cannot_be_written_stops_no_work() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    std::fs::OpenOptions::new()
        .write(true)
        .open(path.as_str().unwrap())
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let here = sandbox.with("COLONY_SESSION", &*id);
    sandbox.write("a.txt", "two\n");
    let run = here.run(&["checkpoint", "-m", "kept"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("warning: cannot record 'checkpoint'"), "{}", run.stderr);
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 1);
}

#[test]
fn what_was_undone_is_listed_and_the_rest_compared() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let here = sandbox.with("COLONY_SESSION", &*id);
    sandbox.write("a.txt", "two\n");
    here.colony(&["checkpoint", "-m", "kept"]);
    here.colony(&["undo"]);
    let shown = here.json(&["session", "show"]);
    assert_eq!(shown["checkpoints"][0]["exists"], false);
    assert_eq!(shown["checkpoints"][0]["label"], Value::Null);
    assert_eq!(shown["operations"], json!(["op-1", "op-2"]));
    // The operation log keeps the commit, which is no work any more.
    assert_eq!(shown["commits"][0]["exists"], false);
    assert_eq!(shown["entries"], json!([]));
    let text = here.colony(&["session", "show"]);
    assert!(text.contains(": 0 checkpoints, 0 commits, "), "{text}");
    assert!(text.contains("checkpoint: kept  (undone)"), "{text}");
    here.colony(&["redo"]);
    let shown = here.json(&["session", "show"]);
    assert_eq!(shown["commits"][0]["exists"], true);
    assert_eq!(shown["entries"][0]["path"], "a.txt");
}

#[test]
fn events_of_another_repository_claim_no_operation() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "of the user"]);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    let mut file = std::fs::OpenOptions::new();
    let mut file = file.append(true).open(path.as_str().unwrap()).unwrap();
    let other = sandbox.git(&["rev-parse", "HEAD~1"]);
    for sha in ["", &other] {
        let event = json!({ "type": "commit", "op": "op-1", "sha": sha });
        writeln!(file, "{event}").unwrap();
    }
    let undo = ["undo", "--session", &id, "-n"];
    assert_eq!(sandbox.error(&undo), "nothing-to-undo");
    let own = sandbox.git(&["rev-parse", "HEAD"]);
    writeln!(file, "{}", json!({ "type": "commit", "op": "op-1", "sha": own })).unwrap();
    assert_eq!(sandbox.json(&undo)["operations"], json!(["op-1"]));
}

#[test]
fn work_that_no_private_file_records_is_told() {
    for kind in ["symlink", "pipe", "directory", "folder", "readable", "tracked"] {
        let sandbox = Sandbox::new();
        let id = begin(&sandbox);
        let path = sandbox.json(&["session", "show", &id])["path"].clone();
        let path = std::path::Path::new(path.as_str().unwrap());
        match kind {
            "readable" => {
                std::fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
            }
            "tracked" => drop(sandbox.git(&["add", "-f", path.to_str().unwrap()])),
            "folder" => {
                let folder = path.parent().unwrap();
                std::fs::remove_dir_all(folder).unwrap();
                std::fs::write(folder, "").unwrap();
            }
            _ => {
                std::fs::remove_file(path).unwrap();
                block(path, kind);
            }
        }
        let here = sandbox.with("COLONY_SESSION", &*id);
        if ["readable", "tracked"].contains(&kind) {
            for change in [&["note", "x"][..], &["end"]] {
                let args = [&["session"], change].concat();
                assert_eq!(here.error(&args), "path-in-the-way");
            }
        } else {
            assert_eq!(here.error(&["session", "new"]), "path-in-the-way", "{kind}");
        }
        sandbox.write("a.txt", "two\n");
        let run = here.run(&["checkpoint", "-m", "kept"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let told = "warning: cannot record 'checkpoint'";
        assert!(run.stderr.contains(told), "{kind} {}", run.stderr);
    }
}

#[test]
fn the_checkpoints_of_a_session_are_listed_alone() {
    let sandbox = Sandbox::new();
    let here = sandbox.with("COLONY_SESSION", "s-1");
    sandbox.write("a.txt", "two\n");
    here.colony(&["checkpoint", "-m", "kept"]);
    sandbox.write("a.txt", "three\n");
    sandbox.colony(&["checkpoint", "-m", "of the user"]);
    sandbox.write("a.txt", "four\n");
    here.automatic_checkpoint();
    let listed = sandbox.json(&["checkpoints", "--session", "s-1"]);
    assert_eq!(listed["count"], 2);
    assert_eq!(listed["checkpoints"][0]["label"], "kept");
    assert_eq!(listed["checkpoints"][1]["mode"], "auto");
    assert_eq!(sandbox.json(&["checkpoints", "--session", "s"])["count"], 2);
    assert_eq!(sandbox.json(&["checkpoints", "--session", "x"])["count"], 0);
}

#[test]
fn the_undo_of_a_session_names_the_work_of_others() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let here = sandbox.with("COLONY_SESSION", &*id);
    assert_eq!(sandbox.error(&["undo", "--session", &id, "-n"]), "nothing-to-undo");
    sandbox.write("a.txt", "two\n");
    here.colony(&["checkpoint", "-m", "kept"]);
    sandbox.write("a.txt", "three\n");
    sandbox.colony(&["checkpoint", "-m", "of the user"]);
    sandbox.write("a.txt", "four\n");
    here.colony(&["checkpoint", "-m", "again"]);
    sandbox.write("a.txt", "five\n");
    sandbox.colony(&["checkpoint", "-m", "of the user, later"]);
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    let answer = sandbox.json(&["undo", "--session", &id, "-n"]);
    assert_eq!(answer["steps"], 4);
    assert_eq!(answer["operations"], json!(["op-3", "op-1"]));
    assert_eq!(answer["others"][1]["op"], "op-2");
    assert_eq!(answer["command"], "git colony undo 4");
    assert_eq!(answer["refused_as"], Value::Null);
    let text = sandbox.colony(&["undo", "--session", &id, "-n"]);
    let told: Vec<_> = text.lines().take(4).collect();
    assert_eq!(
        told,
        [
            &*format!(
                "would undo the work of the session {id}: 4 steps, 2 of them not of this session; git colony undo 4"
            ),
            "not of this session: op-4: checkpoint 'of the user, later'",
            "not of this session: op-2: checkpoint 'of the user'",
            "op-4: checkpoint 'of the user, later'",
        ]
    );
    assert_eq!(sandbox.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(sandbox.run(&["undo", "--session", &id]).code, 129);
}

#[test]
fn a_session_in_the_clone_of_an_agent_begins_there_when_asked() {
    let sandbox = Sandbox::new();
    let usage = sandbox.json(&["session", "new", "--clone"]);
    assert_eq!(usage["code"], "usage");
    let new = ["--agent", "ada", "session", "new", "--clone"];
    let dry = sandbox.json(&[&new[..], &["-n"]].concat());
    assert!(dry["root"].as_str().unwrap().ends_with("agents/ada/clones/main"));
    assert!(!std::path::Path::new(dry["root"].as_str().unwrap()).exists());
    let begun = sandbox.json(&new);
    assert_eq!((&begun["agent"], &begun["root"]), (&json!("ada"), &dry["root"]));
    assert_eq!(sandbox.json(&["session", "list"])["count"], 0);
    let clone = sandbox.at(begun["root"].as_str().unwrap().into());
    let id = begun["session_id"].as_str().unwrap();
    assert_eq!(clone.json(&["session", "list"])["count"], 1);
    assert_eq!(lines(&clone, id)[0]["branch"], "fork/ada");
    // The clone that exists is taken.
    let again = sandbox.json(&new);
    assert_eq!(again["root"], begun["root"]);
    assert_eq!(clone.json(&["session", "list"])["count"], 2);
}

#[test]
fn a_session_of_an_agent_without_a_repository_is_in_its_clone() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["colony", "set", sandbox.root.to_str().unwrap()]);
    let folder = sandbox.outside().join("plain");
    std::fs::create_dir(&folder).unwrap();
    let outside = sandbox.at(folder.clone());
    let refused = outside.json(&["--agent", "ada", "session", "new"]);
    assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
    let planned = outside.json(&["--agent", "ada", "session", "new", "--clone", "-n"]);
    assert_eq!(planned["code"], "clone-not-found", "a dry run makes none: {planned:#}");
    let begun = outside.json(&["--agent", "ada", "session", "new", "--clone"]);
    assert_eq!(begun["agent"], "ada");
    assert_eq!(outside.json(&["--agent", "ada", "session", "new"])["root"], begun["root"]);
    assert_eq!(begun["colony"]["name"], "default");
    assert!(begun["root"].as_str().unwrap().contains("agents/ada/clones"));
    assert!(!folder.join(".colony").exists());
}

#[test]
fn a_full_or_read_only_folder_of_sessions_fails_no_work() {
    let sandbox = Sandbox::new();
    let full = Full::at(sandbox.path(".colony/sessions"));
    assert_eq!(sandbox.error(&["session", "new"]), "no-space");
    assert_eq!(sandbox.json(&["session", "list", "--all"])["count"], 0);
    sandbox.remove(".colony/sessions/filler");
    let id = begin(&sandbox);
    full.make_read_only();
    assert_eq!(sandbox.error(&["session", "note", "x"]), "io");
    assert_eq!(sandbox.error(&["session", "new"]), "io");
    let here = sandbox.with("COLONY_SESSION", &*id);
    sandbox.write("a.txt", "two\n");
    let run = here.run(&["checkpoint", "-m", "kept"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("cannot record 'checkpoint'"), "{}", run.stderr);
    assert_eq!(sandbox.json(&["session", "show", &id])["event_count"], 1);
    assert_eq!(sandbox.json(&["checkpoints"])["count"], 1);
}

#[test]
fn picked_commits_name_the_session_that_picks_them() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "side"]);
    for name in ["one.txt", "two.txt"] {
        sandbox.write(name, "new\n");
        sandbox.git(&["add", name]);
        sandbox.git(&["commit", "-qm", name]);
    }
    sandbox.git(&["switch", "-q", "main"]);
    let id = begin(&sandbox);
    let here = sandbox.with("COLONY_SESSION", &*id);
    here.json(&["cherry-pick", "side~2..side"]);
    assert_eq!(trailer(&sandbox, "HEAD"), id);
    assert_eq!(trailer(&sandbox, "HEAD~1"), id);
    assert_eq!(trailer(&sandbox, "side"), "");
    let shown = here.json(&["session", "show"]);
    assert_eq!(shown["commits"].as_array().unwrap().len(), 2);
    // A commit of the session does not name it twice.
    sandbox.write("three.txt", "new\n");
    here.json(&["commit", "-m", "three", "--all"]);
    sandbox.git(&["switch", "-q", "side"]);
    here.json(&["cherry-pick", "main"]);
    assert_eq!(trailer(&sandbox, "HEAD"), id);
}

#[test]
fn a_token_in_place_of_an_id_is_in_no_trailer() {
    let sandbox = Sandbox::new();
    let token = format!("ghp_{}", "a1".repeat(18));
    let here = sandbox.with("COLONY_SESSION", &*token);
    sandbox.write("a.txt", "two\n");
    here.json(&["checkpoint", "-m", "kept"]);
    assert_eq!(trailer(&sandbox, "HEAD"), "");
    let new = here.json(&["session", "new"]);
    assert!(!new["session_id"].as_str().unwrap().contains("ghp_"), "{new}");
}
