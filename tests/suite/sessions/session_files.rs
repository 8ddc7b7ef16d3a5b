//! The files of sessions: their form, their rights, their limits, and who else may be in them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

pub(super) fn begin(sandbox: &View) -> String {
    let answer = sandbox.json(&["session", "new"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer["session_id"].as_str().unwrap().to_owned()
}

/// The lines of a session's file.
pub(super) fn lines(sandbox: &View, id: &str) -> Vec<Value> {
    let path = sandbox.json(&["session", "show", id])["path"].clone();
    let text = fs::read_to_string(path.as_str().unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_session_is_begun_noted_in_ended_and_resumed() {
    let sandbox = Sandbox::new();
    sandbox.git(&["remote", "add", "origin", "https://ada:x@example.com/p.git"]);
    sandbox.colony(&["colony", "set", "https://ada:x@example.com/p.git"]);
    let answer = sandbox.json(&["session", "new"]);
    assert_eq!(answer["colony"]["origin_url"], "https://example.com/p.git");
    assert_eq!(answer["branch"], "main");
    assert_eq!(answer["plan"], "default");
    let id = answer["session_id"].as_str().unwrap();
    let here = sandbox.with("COLONY_SESSION", id);
    here.colony(&["session", "note", "the parser first"]);
    assert_eq!(here.json(&["session", "end"])["state"], "ended");
    assert_eq!(here.error(&["session", "note", "more"]), "session-ended");
    assert_eq!(here.json(&["session", "end"])["event"], Value::Null);
    assert_eq!(here.json(&["session", "resume"])["state"], "active");
    let names: Vec<_> =
        lines(&sandbox, id).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["created", "turn_added", "state_changed", "state_changed"]);
    insta::assert_snapshot!(here.colony(&["session", "show"]), @r"
    session 20260102T030505Z-00000002, active: 0 checkpoints, 0 commits, 0 decisions, 0 changed paths, +0 -0
    plan   default
    began  2026-01-02T03:05:05Z
    turns  1 (3 tokens)
    2026-01-02T03:06:05Z  turn_added  user: the parser first
    2026-01-02T03:07:05Z  state_changed  ended
    2026-01-02T03:10:05Z  state_changed  active
    ");
    insta::assert_snapshot!(sandbox.colony(&["session", "list"]), @r"
    1 session, 1 of at most 16 active
    20260102T030505Z-00000002  active    default  4 events  3 minutes ago
    ");
}

#[test]
fn git_and_checkpoints_never_see_a_session() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    assert_eq!(sandbox.git(&["status", "--porcelain", "-uall"]), "");
    sandbox.write("new.txt", "new\n");
    let kept = sandbox.json(&["checkpoint", "-m", "a", "--include-unignored"]);
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", kept["sha"].as_str().unwrap()]);
    assert_eq!(files, "a.txt\ndir/b.txt\nnew.txt");
    sandbox.colony(&["undo"]);
    assert_eq!(lines(&sandbox, &id).len(), 1);
}

#[test]
fn only_the_owner_reads_a_session() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    let mode = fs::metadata(path.as_str().unwrap()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn a_torn_line_is_passed_over_and_the_next_stays_whole() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    let path = path.as_str().unwrap();
    let torn = fs::read_to_string(path).unwrap() + "{\"type\":\"turn_ad";
    fs::write(path, torn).unwrap();
    sandbox.colony(&["session", "note", "after"]);
    let shown = sandbox.json(&["session", "show", &id]);
    assert_eq!(shown["damaged_lines"], 1);
    assert_eq!(shown["event_count"], 2);
    assert_eq!(shown["events"][1]["data"]["content"], "after");
}

#[test]
fn events_of_other_programs_are_kept_and_shown() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    let path = path.as_str().unwrap();
    let more = "{\"type\":\"thought\",\"x\":\"\\u001b[31m\"}\n{\"event\":\"reset\"}\n";
    fs::write(path, fs::read_to_string(path).unwrap() + more).unwrap();
    let shown = sandbox.json(&["session", "show", &id]);
    assert_eq!(shown["events"][1]["type"], "thought");
    assert_eq!(shown["events"][1]["known"], false);
    assert_eq!(shown["events"][2]["known"], true);
    let text = sandbox.colony(&["session", "show", &id]);
    assert!(text.contains("thought (unknown type)"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
    sandbox.colony(&["session", "note", "more"]);
    assert!(fs::read_to_string(path).unwrap().contains(more));
}

#[test]
fn no_session_holds_a_secret() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let token = format!("ghp_{}", "a1".repeat(18));
    let answer = sandbox.json(&["session", "note", &format!("use\n{token} here")]);
    assert_eq!(answer["event"]["data"]["content"], "use\n[redacted] here");
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
    sandbox.colony(&["session", "note", "--", key]);
    sandbox.colony(&["session", "note", "at https://ada:pw@host/x"]);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    let text = fs::read_to_string(path.as_str().unwrap()).unwrap();
    for secret in ["ghp_", "MIIE", "pw@"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn sixteen_sessions_may_be_active() {
    let sandbox = Sandbox::new();
    let world = || sandbox.world_at(0);
    let new = || sandbox.run_in(world(), &["--json", "session", "new"]);
    let ids: Vec<Value> = (0..16).map(|_| serde_json::from_str(&new().stdout).unwrap()).collect();
    assert!(new().stdout.contains("too-many-sessions"));
    let last = ids[15]["session_id"].as_str().unwrap();
    assert_eq!(sandbox.run_in(world(), &["session", "end", last]).code, 0);
    assert_eq!(new().code, 0);
    let resume = ["--json", "session", "resume", last];
    let resumed = sandbox.run_in(world(), &resume);
    assert!(resumed.stdout.contains("too-many-sessions"));
    // Idle ones do not count.
    let later = sandbox.run_in(sandbox.world_at(1_800), &resume);
    assert_eq!(later.code, 0, "{}", later.stderr);
}

#[test]
fn a_session_becomes_idle_and_archived_by_the_clock() {
    let sandbox = Sandbox::new();
    let begun = sandbox.run_in(sandbox.world_at(0), &["session", "new"]);
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    let listed = |seconds| {
        let world = sandbox.world_at(seconds);
        let run = sandbox.run_in(world, &["--json", "session", "list", "--all"]);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        answer["sessions"][0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(listed(1_799), "active");
    assert_eq!(listed(1_800), "idle");
    assert_eq!(listed(86_400), "archived");
    let run = sandbox.run_in(sandbox.world_at(86_400), &["--json", "session", "list"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&answer["count"], &answer["hidden"]), (&0.into(), &1.into()));
}

#[test]
fn a_symlink_in_place_of_the_folder_is_refused() {
    for link in [".colony", ".colony/sessions"] {
        let sandbox = Sandbox::new();
        let elsewhere = sandbox.outside().join("elsewhere");
        fs::create_dir_all(elsewhere.join("sessions")).unwrap();
        if link != ".colony" {
            fs::create_dir(sandbox.path(".colony")).unwrap();
        }
        symlink(&elsewhere, sandbox.path(link)).unwrap();
        assert_eq!(sandbox.error(&["session", "new"]), "path-in-the-way");
        assert_eq!(sandbox.error(&["session", "list"]), "path-in-the-way");
        let found = fs::read_dir(&elsewhere).unwrap().count();
        assert_eq!(found, 1, "{link}");
    }
}

#[test]
fn a_session_file_that_is_a_symlink_is_never_written() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let path = sandbox.json(&["session", "show", &id])["path"].clone();
    let path = path.as_str().unwrap();
    let target = sandbox.outside().join("target");
    fs::write(&target, "theirs\n").unwrap();
    fs::remove_file(path).unwrap();
    symlink(&target, path).unwrap();
    assert_eq!(sandbox.error(&["session", "note", "x", "--session", &id]), "session-not-found");
    assert_eq!(fs::read_to_string(&target).unwrap(), "theirs\n");
}

#[test]
fn an_id_that_is_not_plain_names_no_session_and_no_file() {
    let sandbox = Sandbox::new();
    begin(&sandbox);
    for id in ["../x", "..", "a\nb", "--output", "-x", "a/b", ".hidden", ""] {
        let here = sandbox.with("COLONY_SESSION", id);
        sandbox.write("a.txt", format!("{id}\n"));
        let made = here.json(&["checkpoint", "-m", "a"]);
        assert_eq!(made["ok"], true, "{made:#}");
        let message = sandbox.git(&["log", "-1", "--format=%B"]);
        assert!(!message.contains("Colony-Session"), "{id} {message}");
        let named = sandbox.json(&["session", "show", "--", id]);
        assert_eq!(named["code"], "session-not-found", "{id}");
    }
    assert_eq!(sandbox.git(&["status", "--porcelain", "-uall"]), "");
}

#[test]
fn sessions_work_without_a_commit_and_without_git() {
    let unborn = Sandbox::unborn();
    let id = begin(&unborn);
    assert_eq!(unborn.json(&["session", "show", &id])["commits"], Value::Array(vec![]));
    let folder = unborn.outside().join("plain");
    fs::create_dir(&folder).unwrap();
    let plain = unborn.at(folder);
    let id = begin(&plain);
    plain.colony(&["session", "note", "x"]);
    assert_eq!(plain.json(&["session", "show", &id])["turns"], 1);
    let bare = Sandbox::init(&["--bare"]);
    assert_eq!(bare.error(&["session", "new"]), "bare-repository");
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["session", "new", "-n"])["dry_run"], true);
    assert!(!sandbox.path(".colony").exists());
    let id = begin(&sandbox);
    sandbox.colony(&["session", "note", "x", "-n"]);
    sandbox.colony(&["session", "end", "-n"]);
    assert_eq!(lines(&sandbox, &id).len(), 1);
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let long = "x".repeat(1 << 20);
    assert_eq!(sandbox.error(&["session", "note", &long]), "value-too-large");
    assert_eq!(lines(&sandbox, &id).len(), 1);
}

#[test]
fn sixteen_processes_lose_no_line_of_one_session() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    let note = |number: usize| {
        let mut command = sandbox.program();
        let text = format!("{number} {}", "x".repeat(20_000));
        command.args(["session", "note", "--session", &id, &text]);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    for round in 0..4 {
        let children: Vec<_> = (0..16).map(|at| note(round * 16 + at)).collect();
        for child in children {
            assert!(child.wait_with_output().unwrap().status.success());
        }
    }
    let lines = lines(&sandbox, &id);
    let mut numbers: Vec<usize> = lines
        .iter()
        .filter_map(|line| line["content"].as_str()?.split(' ').next()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..64).collect::<Vec<_>>());
    assert_eq!(lines.len(), 65);
}

#[test]
fn the_session_of_a_command_is_named_or_the_only_one() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.error(&["session", "note", "x"]), "session-not-found");
    let first = begin(&sandbox);
    assert_eq!(sandbox.json(&["session", "note", "x"])["session_id"], *first);
    let second = begin(&sandbox);
    let answer = sandbox.json(&["session", "note", "x"]);
    assert_eq!(answer["code"], "session-not-found");
    assert_eq!(answer["hint"], "git colony session list   # then give the id of one of them");
    assert_eq!(sandbox.json(&["session", "show", "20"])["code"], "name-ambiguous");
    let here = sandbox.with("COLONY_SESSION", &*second);
    assert_eq!(here.json(&["session", "note", "x"])["session_id"], *second);
}

#[test]
fn no_ignore_file_shows_private_files() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "!*\n");
    for folder in [".colony/sessions", ".colony/cache"] {
        sandbox.write(&format!("{folder}/.gitignore"), "!*\n");
        sandbox.git(&["add", "-f", folder]);
    }
    sandbox.git(&["commit", "-q", "-m", "hostile"]);
    begin(&sandbox);
    sandbox.colony(&["memory", "add", "private"]);
    for folder in [".colony/sessions", ".colony/cache"] {
        assert_eq!(sandbox.read(&format!("{folder}/.gitignore")), "*\n");
        let names = std::fs::read_dir(sandbox.path(folder)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let kept = names.into_iter().find(|name| name.starts_with("replaced-"));
        let kept = sandbox.read(&format!("{folder}/{}", kept.expect("the file is kept")));
        assert_eq!(kept, "!*\n");
    }
    // Not even where the ignore files come back.
    sandbox.git(&["restore", ".colony"]);
    let seen = sandbox.git(&["status", "--porcelain", "-uall"]);
    assert!(seen.contains(".colony/sessions/"), "{seen}");
    sandbox.write("new.txt", "new\n");
    sandbox.write(".colony/sessions/.gitignore", "!*\n# tracked\n");
    let kept = sandbox.json(&["checkpoint", "-m", "a", "--include-unignored"]);
    let sha = kept["sha"].as_str().unwrap();
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", sha]);
    let tracked = ".colony/cache/.gitignore\n.colony/sessions/.gitignore\n.gitignore\na.txt\ndir/b.txt\nnew.txt";
    assert_eq!(files, tracked);
    // A change of a tracked file stays one.
    let text = sandbox.git(&["show", &format!("{sha}:.colony/sessions/.gitignore")]);
    assert_eq!(text, "!*\n# tracked");
    sandbox.write("more.txt", "more\n");
    sandbox.json(&["commit", "-m", "b", "--all"]);
    let files = sandbox.git(&["ls-files"]);
    assert_eq!(files, tracked.replace("new.txt", "more.txt\nnew.txt"));
}

#[test]
fn a_folder_that_cannot_hide_itself_gets_no_private_file() {
    for (folder, command) in [
        (".colony/sessions", ["session", "new"].as_slice()),
        (".colony/cache", &["memory", "add", "private"]),
    ] {
        for kind in ["symlink", "pipe", "directory"] {
            let sandbox = Sandbox::new();
            fs::create_dir_all(sandbox.path(folder)).unwrap();
            block(&sandbox.path(&format!("{folder}/.gitignore")), kind);
            assert_eq!(sandbox.error(command), "path-in-the-way", "{folder} {kind}");
            assert_eq!(fs::read_dir(sandbox.path(folder)).unwrap().count(), 1);
        }
    }
}

/// Puts something at a path that is no plain file.
pub(super) fn block(path: &Path, kind: &str) {
    match kind {
        "symlink" => symlink("/dev/null", path).unwrap(),
        "directory" => fs::create_dir(path).unwrap(),
        _ => {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_stops_no_other_session() {
    let sandbox = Sandbox::new();
    let first = begin(&sandbox);
    let path = sandbox.json(&["session", "show", &first])["path"].clone();
    let file = fs::OpenOptions::new().write(true).open(path.as_str().unwrap());
    file.unwrap().set_len((64 << 20) + 1).unwrap();
    let second = begin(&sandbox);
    let run = sandbox.run(&["--json", "session", "list"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let told = format!("warning: the session {first} is left out: ");
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(answer["count"], 1);
    assert_eq!(answer["sessions"][0]["event_count"], 1);
    assert_eq!(sandbox.json(&["session", "note", "x"])["session_id"], *second);
    assert_eq!(sandbox.error(&["session", "show", &first]), "value-too-large");
}

/// Sets when the file of a session was written last: the clock of a sandbox is not that of the system.
fn set_written(view: &View, id: &str, seconds: u64) {
    let path = view.json(&["session", "show", id])["path"].clone();
    let file = fs::File::options().append(true).open(path.as_str().unwrap());
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    file.unwrap().set_modified(time).unwrap();
}

/// The beginning of 2026, when the clock of a sandbox begins, and that of 2027.
const YEARS: [u64; 2] = [1_767_225_600, 1_798_761_600];

#[test]
fn a_session_that_was_written_lately_stays_whatever_its_clock() {
    let sandbox = Sandbox::new();
    let id = begin(&sandbox);
    sandbox.json(&["session", "end", &id]);
    sandbox.pass_years(1);
    let removed = || sandbox.json(&["prune", "-n"])["sessions_removed"].clone();
    set_written(&sandbox, &id, YEARS[1]);
    assert_eq!(removed(), json!([]));
    set_written(&sandbox, &id, YEARS[0]);
    assert_eq!(removed(), json!([id]));
    assert_eq!(sandbox.json(&["prune"])["sessions_removed"], json!([id]));
}

#[test]
fn prune_deletes_sessions_that_are_long_archived() {
    let sandbox = Sandbox::new();
    let [old, ended] = [begin(&sandbox), begin(&sandbox)];
    sandbox.json(&["session", "end", &ended]);
    for id in [&old, &ended] {
        set_written(&sandbox, id, YEARS[0]);
    }
    assert_eq!(sandbox.json(&["prune", "--keep", "0"])["sessions_removed"], json!([]));
    sandbox.pass_years(1);
    let young = begin(&sandbox);
    let planned = sandbox.json(&["prune", "-n"]);
    assert_eq!(planned["sessions_removed"], json!([old, ended]));
    assert_eq!(sandbox.json(&["session", "list", "--all"])["count"], 3);
    let pruned = sandbox.colony(&["prune"]);
    assert!(pruned.contains(", 2 sessions"), "{pruned}");
    let left = sandbox.json(&["session", "list", "--all"]);
    assert_eq!((&left["count"], &left["sessions"][0]["session_id"]), (&json!(1), &json!(young)));
    // One whose age is not known stays.
    let path = left["sessions"][0]["path"].as_str().unwrap();
    fs::write(path, "{\"type\":\"created\",\"at\":\"soon\"}\n").unwrap();
    set_written(&sandbox, &young, YEARS[0]);
    sandbox.pass_years(1);
    assert_eq!(sandbox.json(&["prune"])["sessions_removed"], json!([]));
    assert!(Path::new(path).exists());
}
