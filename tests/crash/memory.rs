//! A killed `memory add` has added its note or not, loses no other, and git never sees one.

use std::fs;
use std::path::PathBuf;

use super::desk::{Desk, Whom, each_point_of};
use super::repository;

/// The calls by which a note, its folders and the file that hides them change.
const CALLS: &[&str] =
    &["write", "mkdirat", "openat", "renameat", "unlinkat", "fsync", "fdatasync", "flock"];

/// Returns the notes of the desk.
fn notes(desk: &Desk) -> String {
    let folder = PathBuf::from(desk.colony(&["memory", "path"]));
    let files = fs::read_dir(folder);
    let files = files.into_iter().flatten().flatten();
    files.map(|file| fs::read_to_string(file.path()).expect("it is text")).collect()
}

fn a_killed_note_is_whole(name: &'static str, before: &[&str]) {
    let desk = Desk::new();
    each_point_of((name, Whom::Program), (CALLS, 3), |point| {
        // The id of a checkout is that of its place, so the notes cannot be copied.
        let desk =
            Desk { repository: desk.repository.copy(), shared: repository::temporary_folder() };
        for note in before {
            desk.colony(&["memory", "add", note]);
        }
        let state = desk.state();
        let struck = desk.strike(&["memory", "add", "new"], point);
        let found = notes(&desk);
        for note in before {
            assert_eq!(found.matches(&format!(": {note}\n")).count(), 1, "{point:?}");
        }
        let added = found.matches(": new\n").count();
        assert!(added <= 1 && (struck || added == 1), "{point:?}: {found}");
        desk.colony(&["memory", "add", "next"]);
        let found = notes(&desk);
        assert_eq!(found.matches(": next\n").count(), 1, "{point:?}: {found}");
        assert_eq!(found.matches(": new\n").count(), added, "{point:?}: {found}");
        assert_eq!(desk.state(), state, "{point:?}");
        struck
    });
}

#[test]
fn a_killed_first_note_is_added_or_not() {
    a_killed_note_is_whole("memory add", &[]);
}

#[test]
fn a_killed_note_beside_others_loses_none() {
    a_killed_note_is_whole("memory add beside others", &["one", "two"]);
}
