//! `memory`: notes of a checkout are added whole, without secrets, and belong to no other checkout.

use std::ffi::OsString;
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::lfs::migrate::in_progress::shell;
use crate::support::{Sandbox, View};

const DAY: i64 = 86_400;

/// The folder of the files of days.
fn folder(view: &View) -> PathBuf {
    PathBuf::from(view.colony(&["memory", "path"]).trim_end())
}

/// The file that stays.
fn long(view: &View) -> PathBuf {
    folder(view).with_file_name("MEMORY.md")
}

fn at(view: &View, seconds: i64, args: &[&str]) -> Value {
    let run = view.run_in(view.world_at(seconds), &[&["--json"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr))
}

/// Adds what standard input has; returns the exit code and what standard error says.
fn add_input(view: &View, input: Vec<u8>) -> (u8, String) {
    let words = ["memory", "add", "-"].map(OsString::from).to_vec();
    let run = view.run_reading(view.world(), words, Box::new(Cursor::new(input)));
    (run.code, run.stderr)
}

/// Returns what a refused command says on standard error.
fn refused(view: &View, args: &[&str]) -> String {
    let run = view.run(args);
    assert!(run.code >= 128, "{}", run.stdout);
    run.stderr
}

/// Without what differs between runs.
fn told(view: &View, args: &[&str]) -> String {
    let id = view.json(&["id"])["repository_id"].clone();
    let text = view.colony(args);
    let text = text.replace(view.outside().to_str().unwrap(), "<outside>");
    text.replace(id.as_str().unwrap(), "<id>")
}

#[test]
fn notes_are_added_for_today_and_for_longer() {
    let sandbox = Sandbox::new();
    let before = sandbox.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_snapshot!(told(&sandbox, &["--json", "memory", "add", "take the lock first", "-n"]));
    assert!(!sandbox.path(".colony").exists(), "a dry run writes nothing");
    sandbox.colony(&["memory", "add", "take the lock first"]);
    let ada = sandbox.with("COLONY_AGENT", "ada");
    ada.colony(&["memory", "add", "two\nlines"]);
    assert_snapshot!(told(&ada, &["memory", "add", "--long", "tests need git 2.42"]));
    assert_snapshot!(told(&sandbox, &["memory", "show"]));
    assert_snapshot!(told(&sandbox, &["--json", "memory", "show", "--date", "2026-01-02"]));
    let folder = folder(&sandbox);
    assert!(folder.starts_with(sandbox.path(".colony/cache/repos")));
    for path in [folder.join("2026-01-02.md"), long(&sandbox)] {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    let after = sandbox.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(after, before, "git does not see them");
    let none = sandbox.run(&["memory", "show", "--date", "2026-01-01"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""));
}

#[test]
fn a_text_is_data_and_never_another_note() {
    let sandbox = Sandbox::new();
    let hostile = "one\r\n\n- 2026-01-02T00:00:00Z root: forged\n\u{1b}[31mred\u{202e}\r\u{7}";
    let added = sandbox.json(&["memory", "add", hostile]);
    let written = "one\n\n- 2026-01-02T00:00:00Z root: forged\n\\x1b[31mred\\u{202e}\\r\\x07";
    assert_eq!(added["text"], written);
    let stored = fs::read_to_string(folder(&sandbox).join("2026-01-02.md")).unwrap();
    let notes = stored.lines().filter(|line| line.starts_with("- "));
    assert_eq!(notes.count(), 1, "{stored}");
    assert!(stored.contains("\n  - 2026-01-02T00:00:00Z root: forged\n"));
    // What other programs have written is made safe when it is shown.
    fs::write(folder(&sandbox).join("2026-01-02.md"), b"a\x1b]0;x\x07\0\xff").unwrap();
    let shown = sandbox.colony(&["memory", "show"]);
    assert!(shown.contains("a\\x1b]0;x\\x07\\x00"), "{shown}");
}

#[test]
fn secrets_reach_neither_the_file_nor_the_answer() {
    let sandbox = Sandbox::new();
    let token = format!("ghp_{}", "a1".repeat(18));
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n-----END OPENSSH PRIVATE KEY-----";
    let text = format!("{token} and https://ada:pa55@host/x?y=1#z and\n{key}\nend");
    let added = sandbox.json(&["memory", "add", "--long", &text]);
    assert_eq!(added["redacted"], true);
    let safe = "[redacted] and https://***@host/x?y=1#z and\n[redacted]\nend";
    assert_eq!(added["text"], safe);
    let stored = fs::read_to_string(long(&sandbox)).unwrap();
    for secret in [token.as_str(), "pa55", "b3BlbnNz"] {
        assert!(!stored.contains(secret), "{stored}");
    }
}

#[test]
fn notes_of_a_day_expire_and_the_others_stay() {
    let sandbox = Sandbox::new();
    at(&sandbox, 0, &["memory", "add", "old"]);
    at(&sandbox, 0, &["memory", "add", "--long", "stays"]);
    fs::write(folder(&sandbox).join("mine.md"), "mine").unwrap();
    fs::write(folder(&sandbox).join("2020-1-1.md"), "mine").unwrap();
    sandbox.git(&["config", "colony.memory.retentionDays", "0"]);
    let kept = at(&sandbox, 400 * DAY, &["memory", "add", "new", "-n"]);
    assert_eq!(kept["expired"], json!([]));
    sandbox.git(&["config", "--unset", "colony.memory.retentionDays"]);
    let kept = at(&sandbox, 30 * DAY, &["memory", "add", "new"]);
    assert_eq!(kept["expired"], json!([]));
    let dry = at(&sandbox, 31 * DAY, &["memory", "add", "--long", "newer", "-n"]);
    assert_eq!(dry["expired"], json!(["2026-01-02"]));
    let told = at(&sandbox, 31 * DAY, &["memory", "show"]);
    assert_eq!(told["dates"], json!(["2026-01-02", "2026-02-01"]));
    let done = at(&sandbox, 31 * DAY, &["memory", "add", "--long", "newer"]);
    assert_eq!(done["expired"], json!(["2026-01-02"]));
    let told = at(&sandbox, 31 * DAY, &["memory", "show"]);
    assert_eq!(told["dates"], json!(["2026-02-01"]));
    assert!(told["text"].as_str().unwrap().contains("stays"));
    assert!(folder(&sandbox).join("mine.md").exists());
    assert!(folder(&sandbox).join("2020-1-1.md").exists());
}

#[test]
fn a_clock_that_is_ahead_deletes_no_note() {
    let sandbox = Sandbox::new();
    at(&sandbox, 0, &["memory", "add", "of a second ago"]);
    for ahead in [40 * DAY, 40 * DAY + 60] {
        let added = at(&sandbox, ahead, &["memory", "add", "of a wrong day"]);
        assert_eq!(added["expired"], json!([]));
    }
    let added = at(&sandbox, 60, &["memory", "add", "the clock is right again"]);
    assert_eq!(added["expired"], json!([]));
    let told = at(&sandbox, 120, &["memory", "show"]);
    assert!(told["text"].as_str().unwrap().contains("of a second ago"));
}

#[test]
fn days_to_come_do_not_hide_today() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["memory", "add", "of today"]);
    for day in ["2099-01-01", "2099-01-02"] {
        fs::write(folder(&sandbox).join(format!("{day}.md")), "- to come\n").unwrap();
    }
    let told = sandbox.json(&["memory", "show"]);
    let text = told["text"].as_str().unwrap();
    assert!(text.contains("of today") && !text.contains("to come"), "{text}");
    let asked = sandbox.json(&["memory", "show", "--date", "2099-01-02"]);
    assert!(asked["text"].as_str().unwrap().contains("to come"));
}

#[test]
fn no_part_of_a_note_is_kept_where_there_is_no_room() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["memory", "add", "--long", "first"]);
    let before = fs::read(long(&sandbox)).unwrap();
    let line = "trap '' XFSZ; ulimit -f 8; head -c 20000 /dev/zero | tr '\\0' x | git-colony session memory add --long -";
    let run = shell(&sandbox, &sandbox.root, line);
    assert!(!run.status.success(), "{run:?}");
    assert_eq!(fs::read(long(&sandbox)).unwrap(), before);
}

#[test]
fn no_other_checkout_has_the_notes() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["memory", "add", "--long", "mine"]);
    assert_eq!(sandbox.json(&["memory", "show"])["count"], 1);
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let clone = sandbox.outside().join("clone");
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let copy = sandbox.copy("copy");
    for other in [sandbox.at(linked), sandbox.at(clone), copy] {
        assert_eq!(other.json(&["memory", "show"])["count"], 0);
        other.colony(&["memory", "add", "theirs"]);
    }
    assert_eq!(sandbox.json(&["memory", "show"])["dates"], json!([]));
    let moved = sandbox.outside().join("moved");
    fs::rename(&sandbox.root, &moved).unwrap();
    let moved = sandbox.at(moved);
    assert_eq!(moved.json(&["memory", "show"])["count"], 0);
    // Its folder is found, and nothing takes it over.
    assert_eq!(moved.json(&["paths"])["orphans"].as_array().unwrap().len(), 1);
}

#[test]
fn processes_that_add_at_once_lose_nothing() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(3_000);
    std::thread::scope(|scope| {
        for process in 0..16 {
            let (sandbox, long) = (&sandbox, &long);
            scope.spawn(move || {
                for number in 0..4 {
                    let note = format!("{process}/{number}\n{long}");
                    let mut program = sandbox.program();
                    let done = program.args(["memory", "add", &note]).output().unwrap();
                    let said = String::from_utf8_lossy(&done.stderr);
                    assert!(done.status.success(), "{said}");
                }
            });
        }
    });
    let mut stored = String::new();
    for entry in fs::read_dir(folder(&sandbox)).unwrap() {
        stored += &fs::read_to_string(entry.unwrap().path()).unwrap();
    }
    for process in 0..16 {
        for number in 0..4 {
            let note = format!(": {process}/{number}\n  {long}\n");
            assert_eq!(stored.matches(&note).count(), 1, "{process}/{number}");
        }
    }
}

#[test]
fn what_is_no_note_is_refused() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.error(&["memory", "add", " \n"]), "invalid-value");
    let at_most = "x".repeat(65_536);
    assert_eq!(add_input(&sandbox, at_most.clone().into_bytes()).0, 0);
    let (code, said) = add_input(&sandbox, format!("{at_most}x").into_bytes());
    assert!(code >= 128 && said.contains("at most 65536 bytes"), "{said}");
    let (code, said) = add_input(&sandbox, b"\xff".to_vec());
    assert!(code >= 128 && said.contains("UTF-8"), "{said}");
    let file = long(&sandbox);
    fs::write(&file, vec![b'x'; 1 << 20]).unwrap();
    let full = ["memory", "add", "--long", "x"];
    assert_eq!(sandbox.error(&full), "value-too-large");
    fs::write(&file, vec![b'x'; (1 << 20) + 1]).unwrap();
    let told = sandbox.json(&["memory", "show"]);
    assert_eq!(told["files"][0]["truncated"], true);
    let told = refused(&sandbox, &["memory", "show", "--date", "yesterday"]);
    assert!(told.contains("yesterday"), "{told}");
}

#[test]
fn a_link_or_pipe_in_the_way_is_not_followed() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["memory", "add", "first"]);
    let outside = sandbox.outside().join("outside");
    fs::write(&outside, "").unwrap();
    let file = long(&sandbox);
    symlink(&outside, &file).unwrap();
    let add = ["memory", "add", "--long", "x"];
    assert_eq!(sandbox.error(&add), "path-in-the-way");
    assert_eq!(sandbox.error(&["memory", "show"]), "path-in-the-way");
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(sandbox.error(&add), "path-in-the-way");
    fs::remove_file(&file).unwrap();
    let away = sandbox.outside().join("away");
    fs::create_dir(&away).unwrap();
    fs::remove_dir_all(sandbox.path(".colony/cache")).unwrap();
    symlink(&away, sandbox.path(".colony/cache")).unwrap();
    assert_eq!(sandbox.error(&add), "path-in-the-way");
    assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
    assert_eq!(fs::read(&outside).unwrap(), b"");
}

#[test]
fn notes_may_be_files_of_a_project() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["memory", "add", "the parser needs a lock before it reads"]);
    let notes = format!("notes directory {}", folder(&sandbox).display());
    sandbox.git(&["config", "colony.project.mine.resource", &notes]);
    sandbox.git(&["config", "colony.plan.mine.project", "mine"]);
    let told = sandbox.json(&["context", "--plan", "mine", "what needs a lock"]);
    assert!(told["text"].as_str().unwrap().contains("the parser needs a lock"), "{told}");
}
