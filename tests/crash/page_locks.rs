//! A killed `pages lock` is granted whole or not at all, and the database of the state is never broken.

use std::path::PathBuf;

use serde_json::Value;

use super::desk::{Desk, Point, Whom, each_point_of};
use super::repository::{self, Repository};

/// The calls by which the database and its folder change, and those between them.
const CALLS: &[&str] = &["pwrite64", "ftruncate", "unlink", "mkdir", "openat", "fcntl"];

/// What the state has before the command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It does not exist.
    Nothing,
    /// It has a lock on one of the pages, and a lock that has ended.
    Locks,
}

/// A mapped repository to make copies of, and the ids of its pages.
fn mapped(before: Before) -> (Repository, [String; 3]) {
    let desk = Desk::new();
    desk.repository.write("c/d.txt", "dee\n");
    desk.repository.git(&["add", "-A"]);
    desk.repository.git(&["commit", "-qm", "second"]);
    desk.colony(&["map"]);
    let pages: Vec<String> = rows(&desk).into_iter().map(|(page, _)| page).collect();
    let pages: [String; 3] = pages.try_into().expect("there is one for each directory");
    if before == Before::Locks {
        let [one, _, other] = &pages;
        desk.colony(&["pages", "lock", one, "--ttl", "600"]);
        desk.colony(&["pages", "lock", other, "--ttl", "0.001"]);
    }
    (desk.repository.copy(), pages)
}

/// Returns the pages, and when the lock on each ends.
fn rows(desk: &Desk) -> Vec<(String, Option<String>)> {
    let answer = desk.colony(&["pages", "--json"]);
    let answer: Value = serde_json::from_str(&answer).expect("it is JSON");
    let rows = answer.get("pages").and_then(Value::as_array);
    let rows = rows.expect("pages are a list").iter();
    let text = |row: &Value, name| row.get(name).and_then(Value::as_str).map(str::to_owned);
    rows.map(|row| {
        let page = text(row, "page_id").expect("a page has an id");
        (page, text(row, "locked_until"))
    })
    .collect()
}

/// Returns when the locks on two pages end.
fn ends(desk: &Desk, pages: [&str; 2]) -> [Option<String>; 2] {
    let rows = rows(desk);
    pages.map(|page| {
        let row = rows.iter().find(|(id, _)| id == page);
        row.expect("the page is there").1.clone()
    })
}

/// Checks the database itself, if there is one.
fn require_whole(desk: &Desk, point: Point) {
    let path: PathBuf = desk.repository.root.join(".git/colony/state/1.db");
    if !path.exists() {
        return;
    }
    let database = rusqlite::Connection::open(path).expect("it is a file");
    let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
    let found = database.query_row("PRAGMA integrity_check", [], check);
    assert_eq!(found.expect("it can be read"), "ok", "{point:?}");
}

fn a_killed_lock_is_whole(name: &'static str, before: Before) {
    let (template, [one, other, _]) = mapped(before);
    let pages = [one.as_str(), other.as_str()];
    let lock = ["pages", "lock", &one, &other, "--ttl", "9000"];
    each_point_of((name, Whom::Program), (CALLS, 5), |point| {
        let desk = Desk { repository: template.copy(), shared: repository::temporary_folder() };
        let was = ends(&desk, pages);
        let struck = desk.strike(&lock, point);
        require_whole(&desk, point);
        let found = ends(&desk, pages);
        let is_granted = |[one, other]: &[Option<String>; 2]| other.is_some() && one == other;
        let is_whole = is_granted(&found) || found == was;
        assert!(is_whole, "{point:?}: {was:?}, {found:?}");
        assert!(struck || is_granted(&found), "{point:?} was not struck");
        // The next command works, and a lock never ends earlier for it.
        let again = desk.colony(&lock);
        let now = ends(&desk, pages);
        assert!(is_granted(&now), "{point:?}: {again}");
        assert!(now >= found, "{point:?}: {found:?}, {now:?}");
        desk.colony(&["pages", "unlock", &one, &other]);
        assert_eq!(ends(&desk, pages), [None, None], "{point:?}");
        require_whole(&desk, point);
        struck
    });
}

#[test]
fn a_killed_first_lock_is_granted_whole_or_not_at_all() {
    a_killed_lock_is_whole("pages lock", Before::Nothing);
}

#[test]
fn a_killed_lock_beside_others_is_granted_whole_or_not_at_all() {
    a_killed_lock_is_whole("pages lock beside others", Before::Locks);
}
