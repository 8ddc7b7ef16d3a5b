//! A killed `context hydrate` leaves the tiers as they were or as they will be, and the next one loses nothing.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::desk::{Desk, Point, Whom, each_point_of};
use super::repository;

/// The calls by which the database and its folder change, and those between them.
const CALLS: &[&str] = &["pwrite64", "ftruncate", "unlink", "mkdir", "openat", "fcntl"];

/// The files, each with other content in the second state.
const FILES: [&str; 6] = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt"];

/// What the tiers have before the command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing.
    Nothing,
    /// The files, of which some have changed since.
    Older,
}

/// Writes files, each changed a second after the one before.
fn write(desk: &Desk, paths: &[&str], content: &str) {
    for (number, path) in (1_000..).zip(paths) {
        desk.repository.write(path, content);
        let file = File::options()
            .write(true)
            .open(desk.repository.root.join(path))
            .expect("it was written");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number);
        file.set_modified(time).expect("it is ours");
    }
}

/// A desk with files of which only some have room in the hot tier.
fn desk(template: &Desk, before: Before) -> Desk {
    // The id of a checkout is that of its place, so tiers cannot be copied.
    let desk =
        Desk { repository: template.repository.copy(), shared: repository::temporary_folder() };
    let hot = ["config", "colony.context.hotTokens", "10"];
    desk.repository.git(&hot);
    write(&desk, &FILES, "one two three\n");
    if before == Before::Older {
        desk.colony(&["context", "hydrate"]);
        write(&desk, &["c.txt", "b.txt"], "four five six\n");
    }
    desk
}

/// Returns tier, path and content of each fragment.
fn tiers(desk: &Desk) -> Vec<String> {
    let told = desk.colony(&["context", "list", "--json"]);
    let told: Value = serde_json::from_str(&told).expect("it is JSON");
    let rows = told.get("fragments").and_then(Value::as_array);
    let rows = rows.expect("fragments are a list").iter();
    let text = |row: &Value, name: &str| {
        let value = row.get(name).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let mut rows: Vec<_> =
        rows.map(|row| ["tier", "path", "hash"].map(|name| text(row, name)).join(" ")).collect();
    rows.sort();
    rows
}

/// Checks the database itself, if there is one.
fn require_whole(desk: &Desk, point: Point) {
    let path: PathBuf = desk.repository.root.join(".git/colony/state/1.db");
    if path.exists() {
        let database = rusqlite::Connection::open(path).expect("it is a file");
        let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        let found = database.query_row("PRAGMA integrity_check", [], check);
        assert_eq!(found.expect("it can be read"), "ok", "{point:?}");
    }
}

fn a_killed_hydration_is_whole(name: &'static str, before: Before) {
    let template = Desk::new();
    let whole = desk(&template, before);
    let was = tiers(&whole);
    whole.colony(&["context", "hydrate"]);
    let wanted = tiers(&whole);
    assert!(was != wanted && wanted.len() >= FILES.len(), "{wanted:?}");
    each_point_of((name, Whom::Program), (CALLS, 5), |point| {
        let desk = desk(&template, before);
        let struck = desk.strike(&["context", "hydrate"], point);
        require_whole(&desk, point);
        let found = tiers(&desk);
        assert!(found == was || found == wanted, "{point:?}: {found:?}");
        assert!(struck || found == wanted, "{point:?} was not struck");
        // The next one gives the tiers of a run that nothing has struck.
        desk.colony(&["context", "hydrate"]);
        assert_eq!(tiers(&desk), wanted, "{point:?}");
        require_whole(&desk, point);
        struck
    });
}

#[test]
fn a_killed_first_hydration_did_all_or_none() {
    a_killed_hydration_is_whole("context hydrate", Before::Nothing);
}

#[test]
fn a_killed_hydration_of_changed_files_did_all_or_none() {
    a_killed_hydration_is_whole("context hydrate of changed files", Before::Older);
}
