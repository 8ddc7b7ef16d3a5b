//! The page table and the memory of cuts are derived data: whatever becomes of them, the pages are
//! those of a fresh repository. Kills, interrupts and several processes at once.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Sandbox, eventually_by};

const TABLE: &str = ".git/colony/cache/1/derived.db";

const LIST: [&str; 3] = ["pages", "--limit", "1000000"];

/// A repository with some directories of many small files.
fn library(directories: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    for directory in 0..directories {
        for number in 0..40 {
            let text = format!("directory {directory} and file {number}, line by line\n");
            let path = format!("part{directory:03}/file{number:02}.txt");
            sandbox.write(&path, text.repeat(30 + (number * 7 + directory) % 60));
        }
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "library"]);
    sandbox
}

fn listed(answer: &Value) -> Vec<Value> {
    assert_eq!(answer["ok"], true, "{answer:#}");
    answer["pages"].as_array().unwrap().clone()
}

/// The pages of a clone that nobody has mapped before, with a memory of its own.
fn fresh(sandbox: &Sandbox) -> Vec<Value> {
    let place = sandbox.outside().join("fresh");
    sandbox.git(&["clone", "-q", "--no-checkout", ".", place.to_str().unwrap()]);
    let home = sandbox.outside().join("fresh-home");
    let run = |args: &[&str]| -> Value {
        let mut world = sandbox.world();
        world.cwd.clone_from(&place);
        world.variables.insert("HOME".into(), home.clone().into());
        let run = sandbox.run_in(world, &[&["--json"], args].concat());
        serde_json::from_str(&run.stdout).unwrap()
    };
    assert_eq!(run(&["map"])["ok"], true);
    let pages = listed(&run(&LIST));
    fs::remove_dir_all(place).unwrap();
    pages
}

fn cuts(sandbox: &Sandbox) -> PathBuf {
    sandbox.outside().join("home/.cache/git-colony/cuts-1.db")
}

/// Bytes that are no database, nor anything else.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

/// Ways to damage a file.
fn damages(path: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let sound = fs::read(path).unwrap();
    let mut middle = sound.clone();
    let from = (sound.len() / 3).max(4096);
    middle[from..from + 8192.min(sound.len() - from)]
        .copy_from_slice(&noise(8192.min(sound.len() - from)));
    let mut tail = sound.clone();
    tail[4096..].fill(0);
    let mut header = sound.clone();
    header[..100].copy_from_slice(&noise(100));
    vec![
        ("nothing", Vec::new()),
        ("noise", noise(5000)),
        ("cut short", sound[..sound.len() / 2].to_vec()),
        ("cut in its first page", sound[..700].to_vec()),
        ("noise in the middle", middle),
        ("zeros behind the first page", tail),
        ("noise for a header", header),
    ]
}

#[test]
fn a_damaged_page_table_is_made_anew() {
    let sandbox = library(6);
    drop(sandbox.json(&["map"]));
    let wanted = listed(&sandbox.json(&LIST));
    assert_eq!(wanted, fresh(&sandbox));
    let table = sandbox.path(TABLE);
    for (name, bytes) in damages(&table) {
        let sound = fs::read(&table).unwrap();
        fs::write(&table, &bytes).unwrap();
        // Asked before it is mapped: the same pages, or none where the table was made again when it was opened.
        let asked = listed(&sandbox.json(&LIST));
        assert!(asked.is_empty() || asked == wanted, "{name}: {asked:#?}");
        assert_eq!(sandbox.json(&["map"])["ok"], true, "{name}");
        assert_eq!(listed(&sandbox.json(&LIST)), wanted, "{name}");

        // Mapped at once, after an edit.
        fs::write(&table, &sound).unwrap();
        sandbox.write("part001/file03.txt", format!("{name}\n"));
        sandbox.git(&["commit", "-qam", name]);
        fs::write(&table, &bytes).unwrap();
        assert_eq!(sandbox.json(&["map"])["ok"], true, "{name}");
        let after = listed(&sandbox.json(&LIST));
        sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
        sandbox.remove(".git/colony/cache");
        sandbox.json(&["map"]);
        assert_eq!(listed(&sandbox.json(&LIST)), wanted, "{name}");
        sandbox.git(&["reset", "-q", "--hard", "HEAD@{1}"]);
        sandbox.json(&["map"]);
        assert_eq!(listed(&sandbox.json(&LIST)), after, "{name}");
        sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
        sandbox.json(&["map"]);
    }
}

#[test]
fn numbers_that_no_mapping_has_written_are_not_believed() {
    let sandbox = library(3);
    drop(sandbox.json(&["map"]));
    let wanted = listed(&sandbox.json(&LIST));
    let stats = sandbox.json(&["pages", "stats"]);
    let sound = fs::read(sandbox.path(TABLE)).unwrap();
    for lie in [
        "UPDATE scopes SET pages = 7, records = 7, tokens = 7",
        "UPDATE scopes SET revision = substr(revision, 2) || 'x'",
        "UPDATE directories SET tokens = tokens + 1 WHERE path = x'70617274303031'",
        "UPDATE directories SET packed = CAST(replace(packed, '\"start\":0', '\"start\":9') AS BLOB)",
        "UPDATE directories SET rules = x'00'",
        "DELETE FROM directories WHERE path = x'70617274303031'",
    ] {
        fs::write(sandbox.path(TABLE), &sound).unwrap();
        let connection = rusqlite::Connection::open(sandbox.path(TABLE)).unwrap();
        assert!(connection.execute(lie, []).unwrap() > 0, "{lie}");
        drop(connection);
        let lied = fs::read(sandbox.path(TABLE)).unwrap();
        for command in [&LIST[..], &["pages", "stats"]] {
            fs::write(sandbox.path(TABLE), &lied).unwrap();
            let asked = sandbox.json(command);
            if command == LIST {
                assert_eq!(listed(&asked), wanted, "{lie}");
            } else {
                assert_eq!(asked["total"], stats["total"], "{lie}");
            }
        }
        fs::write(sandbox.path(TABLE), &lied).unwrap();
        let mapped = &sandbox.json(&["map"])["results"][0];
        assert_eq!(mapped["pages"], stats["total"]["pages"], "{lie}");
        assert_eq!(mapped["tokens"], stats["total"]["tokens"], "{lie}");
        drop(sandbox.json(&LIST));
        drop(sandbox.json(&["map"]));
        assert_eq!(listed(&sandbox.json(&LIST)), wanted, "{lie}");
    }
}

#[test]
fn a_damaged_memory_of_cuts_changes_no_page() {
    let sandbox = library(3);
    drop(sandbox.json(&["map"]));
    let wanted = listed(&sandbox.json(&LIST));
    let path = cuts(&sandbox);
    let mut all = damages(&path);
    // A value that still is one, but not the one that was written.
    let sound = fs::read(&path).unwrap();
    let text = b"\"t\":[\"u\",[[0,";
    let mut lie = sound.clone();
    let places: Vec<usize> =
        (0..sound.len() - text.len()).filter(|&at| sound[at..].starts_with(text)).collect();
    assert!(places.len() > 50, "{}", places.len());
    for at in places {
        lie[at + text.len()] = b'1';
    }
    all.push(("lies", lie));
    for (name, bytes) in all {
        fs::write(&path, &bytes).unwrap();
        sandbox.remove(".git/colony/cache");
        assert_eq!(sandbox.json(&["map"])["ok"], true, "{name}");
        assert_eq!(listed(&sandbox.json(&LIST)), wanted, "{name}");
        fs::write(&path, &sound).unwrap();
    }
}

#[test]
fn where_the_user_has_no_cache_the_pages_are_the_same() {
    let sandbox = library(2);
    let wanted = fresh(&sandbox);
    for place in ["/proc/self/nothing", "/dev/null", "relative"] {
        let mut world = sandbox.world();
        let name = "XDG_CACHE_HOME";
        world.variables.insert(name.into(), place.into());
        sandbox.remove(".git/colony/cache");
        assert_eq!(sandbox.run_in(world, &["map"]).code, 0, "{place}");
        assert_eq!(listed(&sandbox.json(&LIST)), wanted, "{place}");
    }
    drop(fs::remove_dir_all(sandbox.outside().join("home/.cache")));
    let in_the_way = cuts(&sandbox).join("in/the/way");
    fs::create_dir_all(&in_the_way).unwrap();
    sandbox.remove(".git/colony/cache");
    drop(sandbox.json(&["map"]));
    assert_eq!(listed(&sandbox.json(&LIST)), wanted);
    assert!(in_the_way.exists(), "it is not ours to remove");
}

/// What stands where the page table would be.
fn obstruct(sandbox: &Sandbox, obstacle: &str, outside: &Path) {
    let folder = sandbox.path(".git/colony/cache");
    sandbox.remove(".git/colony/cache");
    let table = sandbox.path(TABLE);
    match obstacle {
        "a directory" => fs::create_dir_all(table.join("in/the/way")).unwrap(),
        "a file above" => fs::write(folder, "in the way\n").unwrap(),
        "a link" => {
            fs::create_dir_all(table.parent().unwrap()).unwrap();
            symlink(outside, table).unwrap();
        }
        "a pipe" | "a pipe beside it" => {
            fs::create_dir_all(table.parent().unwrap()).unwrap();
            let beside = obstacle == "a pipe beside it";
            let name = if beside { "derived.db-wal" } else { "derived.db" };
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            let place = table.with_file_name(name);
            rustix::fs::mknodat(rustix::fs::CWD, place, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
        }
        // Not even root may make files there.
        _ => symlink("/proc/self", folder).unwrap(),
    }
}

#[test]
fn where_no_page_table_can_be_the_answers_are_those_without_one() {
    let sandbox = library(2);
    drop(sandbox.json(&["map"]));
    let wanted = listed(&sandbox.json(&LIST));
    let stats = sandbox.json(&["pages", "stats"]);
    let first = wanted[0]["page_id"].as_str().unwrap().to_owned();
    let shown = sandbox.json(&["pages", "show", &first]);
    // A sound table of somebody else, which a link leads to.
    let outside = sandbox.outside().join("outside.db");
    fs::copy(sandbox.path(TABLE), &outside).unwrap();
    let theirs = fs::read(&outside).unwrap();
    let refs = sandbox.git_any(&["for-each-ref"]);
    for obstacle in
        ["a directory", "a file above", "a link", "a pipe", "a pipe beside it", "no right to write"]
    {
        obstruct(&sandbox, obstacle, &outside);
        let mapped = sandbox.run(&["--json", "map"]);
        assert_eq!(mapped.code, 0, "{obstacle}: {}", mapped.stdout);
        let warnings = mapped.stderr.matches("warning: cannot use the page table: ");
        assert_eq!(warnings.count(), 1, "{obstacle}: {}", mapped.stderr);
        assert!(fs::symlink_metadata(sandbox.path(".git/colony/cache")).is_ok());
        let none = obstacle == "no right to write" || obstacle == "a pipe beside it";
        let list = sandbox.run(&[&["--json"], &LIST[..]].concat());
        let answer: Value = serde_json::from_str(&list.stdout).unwrap();
        if none && answer["total"] == 0 {
            // Nothing stands where the table would be, so nothing is in the way of looking.
            assert!(answer["nothing"].is_string(), "{answer:#}");
            continue;
        }
        assert_eq!(listed(&answer), wanted, "{obstacle}");
        assert!(list.stderr.contains("warning: "), "{obstacle}");
        assert_eq!(sandbox.json(&["pages", "stats"]), stats, "{obstacle}");
        let again = sandbox.json(&["pages", "show", &first]);
        assert_eq!(again, shown, "{obstacle}");
        assert_eq!(sandbox.git_any(&["for-each-ref"]), refs, "{obstacle}");
        assert_eq!(fs::read(&outside).unwrap(), theirs, "{obstacle}");
        let kept = obstacle != "a directory" || sandbox.path(TABLE).join("in/the/way").exists();
        assert!(kept, "it is not ours to remove");
    }
    sandbox.remove(".git/colony/cache");
    drop(sandbox.json(&["map"]));
    assert_eq!(listed(&sandbox.json(&LIST)), wanted);
}

#[test]
fn a_table_of_another_shape_is_made_anew() {
    let sandbox = library(2);
    let wanted = fresh(&sandbox);
    for schema in [
        "CREATE TABLE scopes (id INTEGER PRIMARY KEY, name TEXT)",
        "CREATE TABLE directories (scope INTEGER, path BLOB, parent BLOB)",
        "CREATE VIEW pages AS SELECT 1 AS scope, 2 AS page, 3 AS path",
        "CREATE TABLE unrelated (a, b)",
    ] {
        sandbox.remove(".git/colony/cache");
        fs::create_dir_all(sandbox.path(TABLE).parent().unwrap()).unwrap();
        let connection = rusqlite::Connection::open(sandbox.path(TABLE)).unwrap();
        connection.execute_batch(schema).unwrap();
        drop(connection);
        assert_eq!(sandbox.json(&["map"])["ok"], true, "{schema}");
        assert_eq!(listed(&sandbox.json(&LIST)), wanted, "{schema}");
    }
}

fn start(sandbox: &Sandbox, root: &Path, args: &[&str]) -> Child {
    let mut command = sandbox.at(root.to_owned()).program();
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn processes_that_map_at_once_agree() {
    let sandbox = library(8);
    let children: Vec<Child> = (0..6).map(|_| start(&sandbox, &sandbox.root, &["map"])).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(listed(&sandbox.json(&LIST)), fresh(&sandbox));
    assert_eq!(sandbox.json(&["pages", "stats"])["scopes"].as_array().unwrap().len(), 1);
    assert_eq!(sandbox.git(&["rev-list", "--count", "refs/colony/scopes"]), "1");
}

#[test]
fn who_maps_while_the_cache_is_deleted_loses_nothing() {
    let sandbox = library(8);
    let mut child = start(&sandbox, &sandbox.root, &["map"]);
    let mut deleted = 0;
    while child.try_wait().unwrap().is_none() {
        if sandbox.path(TABLE).exists() {
            drop(fs::remove_dir_all(sandbox.path(".git/colony/cache")));
            drop(fs::remove_dir_all(sandbox.outside().join("home/.cache")));
            deleted += 1;
            if deleted == 2 {
                break;
            }
        }
    }
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{:?} {}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    drop(sandbox.json(&["map"]));
    assert_eq!(listed(&sandbox.json(&LIST)), fresh(&sandbox));
}

#[test]
fn a_map_that_is_killed_leaves_what_the_next_one_completes() {
    let sandbox = library(12);
    let wanted = fresh(&sandbox);
    let grown = |path: PathBuf, least: u64| {
        move || fs::metadata(&path).is_ok_and(|file| file.len() >= least)
    };
    let memory = cuts(&sandbox);
    let written = memory.with_file_name("cuts-1.db-wal");
    let moments: [&dyn Fn() -> bool; 5] = [
        &grown(sandbox.path(".git/colony/worktree-key"), 1),
        &grown(sandbox.path(TABLE), 1),
        &grown(memory, 1),
        &grown(written, 4096),
        &grown(sandbox.path(".git/colony/cache/1/derived.db-wal"), 100_000),
    ];
    for moment in moments {
        sandbox.remove(".git/colony");
        drop(fs::remove_dir_all(sandbox.outside().join("home/.cache")));
        let mut child = start(&sandbox, &sandbox.root, &["map"]);
        while !moment() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(sandbox.json(&["map"])["ok"], true);
        assert_eq!(listed(&sandbox.json(&LIST)), wanted);
        sandbox.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn an_interrupt_ends_a_map_before_it_is_done() {
    let sandbox = library(40);
    let mut child = start(&sandbox, &sandbox.root, &["map"]);
    eventually_by(&mut child, "it has begun", || sandbox.path(TABLE).exists());
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let narration = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{narration}");
    assert!(narration.contains("interrupted"), "{narration}");
    let stats = sandbox.json(&["pages", "stats"]);
    assert_eq!(stats["scopes"].as_array().unwrap().len(), 0, "nothing was written");
    assert!(!sandbox.try_git(&["rev-parse", "-q", "--verify", "refs/colony/scopes"]));
    drop(sandbox.json(&["map"]));
    let ids = |pages: Vec<Value>| -> BTreeSet<String> {
        pages.iter().map(|page| page["page_id"].to_string()).collect()
    };
    assert_eq!(ids(listed(&sandbox.json(&LIST))), ids(fresh(&sandbox)));
}
