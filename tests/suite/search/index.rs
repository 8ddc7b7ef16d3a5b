//! The index is derived data: whatever happens to it changes no answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::{Sandbox, View};

use super::{map, mapped, output};

const INDEX: &str = ".git/colony/cache/search-1.db";

/// Searches, and returns all of the answer but the number of files that it has indexed.
fn answer(sandbox: &View) -> Value {
    let mut told = sandbox.json(&["search", "merge base"]);
    told["indexed"].take();
    told
}

#[test]
fn an_index_that_is_missing_or_damaged_is_made_again() {
    let sandbox = mapped();
    let wanted = answer(&sandbox);
    assert!(sandbox.path(INDEX).exists());
    let whole = fs::read(sandbox.path(INDEX)).unwrap();
    fs::remove_file(sandbox.path(INDEX)).unwrap();
    assert_eq!(answer(&sandbox), wanted);
    fs::write(sandbox.path(INDEX), "not a database").unwrap();
    assert_eq!(answer(&sandbox), wanted);
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        for name in ["-wal", "-shm"] {
            drop(fs::remove_file(sandbox.path(&format!("{INDEX}{name}"))));
        }
        let mut damaged = whole.clone();
        for byte in damaged.iter_mut().skip(at).step_by(37).take(40) {
            *byte ^= 0x55;
        }
        fs::write(sandbox.path(INDEX), damaged).unwrap();
        // A word that is damaged itself is a word that nobody looks up.
        let run = sandbox.run(&["--json", "search", "merge base"]);
        assert!(run.code <= 1, "{at}: {}", output(&run));
    }
    fs::remove_file(sandbox.path(INDEX)).unwrap();
    assert_eq!(answer(&sandbox), wanted);
}

#[test]
fn a_damaged_page_table_stops_no_answer() {
    const TABLE: &str = ".git/colony/cache/1/derived.db";
    let sandbox = mapped();
    let questions: [&[&str]; 3] =
        [&["search", "merge base"], &["context", "--question", "merge base"], &["pages"]];
    let ask = |question: &[&str]| {
        let mut told = sandbox.json(question);
        told["indexed"].take();
        told
    };
    let wanted = questions.map(ask);
    let sound = fs::read(sandbox.path(TABLE)).unwrap();
    for at in (4096..sound.len()).step_by(4096) {
        for (question, wanted) in questions.iter().zip(&wanted) {
            for byte in [0x00, 0x5a] {
                let mut damaged = sound.clone();
                damaged[at..at + 4096].fill(byte);
                fs::write(sandbox.path(TABLE), damaged).unwrap();
                assert_eq!(ask(question), *wanted, "{at} {question:?}");
            }
        }
    }
}

#[test]
fn an_index_in_the_way_is_made_for_one_command() {
    let sandbox = mapped();
    let wanted = answer(&sandbox);
    fs::remove_file(sandbox.path(INDEX)).unwrap();
    fs::create_dir(sandbox.path(INDEX)).unwrap();
    let run = sandbox.run(&["--json", "search", "merge base"]);
    let mut told: Value = serde_json::from_str(&run.stdout).unwrap();
    told["indexed"].take();
    assert_eq!(told, wanted);
    assert!(run.stderr.contains("cannot use the index"), "{}", run.stderr);
}

#[test]
fn other_branches_in_the_index_change_no_answer() {
    let sandbox = mapped();
    let wanted = answer(&sandbox);
    sandbox.git(&["switch", "-qc", "other"]);
    for number in 0..30 {
        let text = format!("fn merge_base_{number}() {{ merge(base); }}\n");
        sandbox.write(&format!("src/more/{number}.rs"), text);
    }
    map(&sandbox);
    assert_ne!(answer(&sandbox), wanted);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.colony(&["map"]);
    assert_eq!(answer(&sandbox), wanted);
}

#[test]
fn map_keeps_an_index_up_to_date_and_makes_none() {
    let sandbox = mapped();
    assert!(!sandbox.path(INDEX).exists(), "nobody has searched");
    assert!(sandbox.json(&["search", "merge"])["indexed"].as_u64() > Some(0));
    assert_eq!(sandbox.json(&["search", "merge"])["indexed"], 0);
    sandbox.write("src/new.rs", "fn merge() {}\n");
    map(&sandbox);
    assert_eq!(sandbox.json(&["search", "merge"])["indexed"], 0);
}

#[test]
fn clones_of_a_hub_share_the_index() {
    let sandbox = Sandbox::new();
    sandbox.write("src/base.rs", "pub fn merge_base() {}\n");
    map(&sandbox);
    let clone = sandbox.json(&["agents", "new", "ada"]);
    let clone = sandbox.at(clone["path"].as_str().unwrap().into());
    let own = sandbox.json(&["search", "merge base"]);
    clone.colony(&["map"]);
    let told = clone.json(&["search", "merge base"]);
    assert_eq!((own["count"].as_u64(), told["count"].as_u64()), (Some(1), Some(1)));
    assert_eq!(told["indexed"], 0);
    assert!(!sandbox.path(INDEX).exists(), "it is in the hub");
}

#[test]
fn processes_that_index_at_once_lose_nothing() {
    let sandbox = Sandbox::new();
    for number in 0..300 {
        let text = format!("fn merge_{number}() {{ base(); }}\n");
        sandbox.write(&format!("src/{}/{number}.rs", number % 7), text);
    }
    map(&sandbox);
    let search = || {
        let output =
            sandbox.program().args(["--json", "search", "base", "--limit", "999"]).output();
        let told: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        assert_eq!(told["ok"], true, "{told:#}");
        told["count"].as_u64()
    };
    let counts: Vec<Option<u64>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(search)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(counts, [Some(300); 6]);
}

#[test]
fn a_repository_that_cannot_be_written_is_searched() {
    let sandbox = mapped();
    let wanted = answer(&sandbox);
    fs::remove_file(sandbox.path(INDEX)).unwrap();
    let cache = sandbox.path(".git/colony/cache");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).unwrap();
    let told = sandbox.run(&["--json", "search", "merge base"]);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    let mut told: Value = serde_json::from_str(&told.stdout).unwrap();
    told["indexed"].take();
    assert_eq!(told, wanted);
}

#[test]
fn a_file_that_cannot_be_read_is_indexed_later() {
    let sandbox = mapped();
    let id = sandbox.git(&["rev-parse", "HEAD:src/other.rs"]);
    let (folder, name) = id.trim().split_at(2);
    let object = sandbox.path(&format!(".git/objects/{folder}/{name}"));
    let aside = sandbox.outside().join("object");
    fs::rename(&object, &aside).unwrap();
    let run = sandbox.run(&["search", "merge"]);
    assert!(run.code == 0 && run.stderr.contains("1 document"), "{}", output(&run));
    assert_eq!(sandbox.run(&["search", "other", "--path", "src/other.rs"]).code, 1);
    fs::rename(&aside, &object).unwrap();
    let told = sandbox.json(&["search", "other", "--path", "src/other.rs"]);
    assert_eq!((&told["indexed"], &told["hits"][0]["path"]), (&1.into(), &"src/other.rs".into()));
}

#[test]
fn a_search_needs_no_index_that_another_process_holds() {
    let sandbox = mapped();
    answer(&sandbox);
    sandbox.write("src/new.rs", "fn merge_base() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "new"]);
    let held = rusqlite::Connection::open(sandbox.path(INDEX)).unwrap();
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = sandbox.run(&["--timeout", "0.2", "search", "merge base", "--refresh"]);
    assert!(run.stderr.contains("another process holds the index"), "{}", output(&run));
    held.execute_batch("ROLLBACK").unwrap();
    assert_eq!(sandbox.run(&["search", "merge base"]).stdout, run.stdout);
}
