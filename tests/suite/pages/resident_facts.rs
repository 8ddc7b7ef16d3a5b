//! What lists and counts say of resident and locked pages: what is stale, who holds a page and why.

use serde_json::json;

use super::edited_repository::commit;
use super::residency::{library, on, pages};

#[test]
fn an_old_mapping_of_the_working_tree_keeps_no_page_fresh() {
    let sandbox = library(2);
    sandbox.colony(&["map", "--worktree"]);
    let ids = pages(&sandbox, 0..2);
    on(&sandbox, &["request"], &ids);
    sandbox.write("f00.txt", "other\n");
    commit(&sandbox);
    sandbox.colony(&["map"]);
    let stale = |at: usize| sandbox.json(&["pages", "resident"])["pages"][at]["stale"].clone();
    assert_eq!((stale(0), stale(1)), (json!(true), json!(false)));
    // What the files of the working tree are is current, whatever HEAD is.
    sandbox.write("f00.txt", "line of file 0\n".repeat(20));
    sandbox.colony(&["map", "--worktree"]);
    assert_eq!((stale(0), stale(1)), (json!(false), json!(false)));
}

#[test]
fn statistics_count_each_page_once_and_stale_ones() {
    let sandbox = library(3);
    let before = sandbox.json(&["pages", "stats"]);
    assert_eq!(before["worktree_total"], json!(null));
    sandbox.colony(&["map", "--worktree"]);
    let ids = pages(&sandbox, 0..3);
    on(&sandbox, &["request"], &ids[..2]);
    on(&sandbox, &["lock"], &ids[1..]);
    let stats = sandbox.json(&["pages", "stats"]);
    assert_eq!(stats["total"]["pages"], before["total"]["pages"]);
    assert_eq!(stats["worktree_total"]["pages"], before["total"]["pages"]);
    let counts = |stats: &serde_json::Value| {
        ["resident", "stale", "locked"].map(|name| stats[name].as_u64().unwrap())
    };
    assert_eq!(counts(&stats["stats"]), [2, 0, 2], "{stats:#}");
    assert_eq!(counts(&stats["total"]["stats"]), [2, 0, 2]);
    sandbox.write("f00.txt", "other\n");
    commit(&sandbox);
    sandbox.colony(&["map"]);
    let stats = sandbox.json(&["pages", "stats"]);
    assert_eq!(counts(&stats["stats"]), [2, 1, 2], "{stats:#}");
    assert_eq!(counts(&stats["scopes"][0]["stats"]), [2, 1, 2]);
    let text = sandbox.colony(&["pages", "stats"]);
    assert!(text.contains("2 resident (1 stale)"), "{text}");
    assert!(text.contains("; in the working tree "), "{text}");
}

#[test]
fn a_lock_on_a_page_that_is_not_resident_says_that() {
    let sandbox = library(2);
    let ids = pages(&sandbox, 0..2);
    on(&sandbox, &["request"], &ids[..1]);
    let locked = on(&sandbox, &["lock"], &ids);
    let resident = [0, 1].map(|at| locked["locked"][at]["resident"].clone());
    assert_eq!(resident, [json!(true), json!(false)], "{locked:#}");
    let run = sandbox.run(&["pages", "lock", &ids[0], &ids[1]]);
    assert_eq!(
        run.stderr,
        format!(
            "not resident: {}; the lock holds it once 'git colony pages request' loads it\n",
            &ids[1][..8]
        )
    );
}

#[test]
fn who_holds_a_page_and_why_is_listed() {
    let sandbox = library(1);
    let ids = pages(&sandbox, 0..1);
    on(&sandbox, &["request"], &ids);
    let id = ids[0].as_str();
    sandbox.colony(&["pages", "lock", id, "--ttl", "99999", "--reason", "review"]);
    let ada = sandbox.with("COLONY_AGENT", "ada");
    ada.colony(&["pages", "lock", id, "--ttl", "99999"]);
    for list in [&["pages", "resident"][..], &["pages", "--path", "f00.txt"]] {
        let text = sandbox.colony(list);
        assert!(text.contains("locked by the user until 20"), "{text}");
        assert!(text.contains(": review, locked by ada until 20"), "{text}");
        let locks = sandbox.json(list)["pages"][0]["locks"].clone();
        assert_eq!(locks[0]["owner"], json!(null), "{locks:#}");
        assert_eq!(locks[0]["reason"], "review");
        assert_eq!(locks[1]["owner"], "ada");
    }
}

#[test]
fn a_time_that_no_lock_can_have_names_its_flag() {
    let sandbox = library(1);
    let ids = pages(&sandbox, 0..1);
    let id = ids[0].as_str();
    let lock = sandbox.run(&["pages", "lock", id, "--ttl", "0"]);
    assert!(lock.stdout.contains("ttl_s must be positive"), "{}", lock.stdout);
    assert_eq!(lock.stderr, "ttl_s is the value of '--ttl'\n");
    let extend = sandbox.run(&["pages", "extend", id, "--by", "0"]);
    assert_eq!(extend.stderr, "additional_s is the value of '--by'\n");
    let request = sandbox.json(&["pages", "request", id, "--lock", "0"]);
    assert_eq!(request["message"], "lock_duration_s must be positive; nothing has changed");
    let hint = request["hint"].as_str().unwrap();
    assert!(hint.starts_with("git colony pages request --lock "), "{hint}");
}
