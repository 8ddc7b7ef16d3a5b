//! The fleet says how far each line of work is, never stops advising while something is left to merge, and a
//! conflict says what to do next.

use std::fs;

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};
use crate::lfs::migrate::in_progress::{hint_of, paste, shell};
use crate::support::{Sandbox, View};

fn row(desk: &Sandbox, name: &str) -> Value {
    let fleet = desk.json(&["fleet"]);
    let rows = fleet["agents"].as_array().unwrap().iter();
    let mut rows = rows.filter(|row| row["agent"] == name);
    let found = rows.next().unwrap_or_else(|| panic!("{fleet:#}")).clone();
    assert_eq!(rows.next(), None, "{fleet:#}");
    found
}

/// Returns the line of an agent on the screen.
fn line(desk: &Sandbox, name: &str) -> String {
    let screen = desk.colony(&["fleet"]);
    let start = format!("  {name} ");
    let found = screen.lines().find(|line| line.starts_with(&start));
    found.unwrap_or_else(|| panic!("{screen}")).to_owned()
}

#[test]
fn merged_idle_kept_and_uncommitted_are_told_apart() {
    let desk = Sandbox::new();
    let names = ["done", "idle", "auto", "beside", "loose", "ahead"];
    let clones = names.map(|name| agent(&desk, name));
    let [done, _, auto, beside, loose, ahead] = &clones;
    commit(done, "a.txt", "of done\n");
    desk.colony(&["merge", "done"]);
    for clone in [auto, beside, loose] {
        clone.write("new.txt", "new\n");
        clone.write("run", "true\n");
    }
    auto.colony(&["checkpoint", "--auto"]);
    beside.colony(&["checkpoint", "-m", "kept", "--off-branch"]);
    commit(ahead, "b.txt", "of ahead\n");
    let work = |name: &str| row(&desk, name)["work"].as_str().unwrap().to_owned();
    let words = names.map(work);
    assert_eq!(words, ["merged", "idle", "kept", "kept", "uncommitted", "ahead"]);
    for (name, told) in [
        ("idle", "nothing yet"),
        ("auto", "2*  no commits, kept "),
        ("beside", "2*  no commits, kept "),
        ("loose", "2*  no commits "),
        ("ahead", "1c +1 -0      edit b.txt"),
    ] {
        assert!(line(&desk, name).contains(told), "{}", line(&desk, name));
    }
    let kept = row(&desk, "auto");
    assert_eq!((&kept["unsaved"], &kept["merged"]), (&2.into(), &false.into()));
    assert_eq!(kept["kept_at"], kept["last_checkpoint_at"]);
    assert_eq!(row(&desk, "loose")["kept_at"], Value::Null);
}

#[test]
fn what_is_edited_after_a_checkpoint_is_uncommitted_again() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let is_kept = || row(&desk, "ada")["kept_at"].is_string();
    ada.write("a.txt", "one\n");
    ada.write("b.txt", "one\n");
    std::os::unix::fs::symlink("a.txt", ada.path("link")).unwrap();
    ada.colony(&["checkpoint", "--auto"]);
    assert!(is_kept());
    ada.write("b.txt", "two\n");
    assert!(!is_kept(), "another text");
    ada.write("b.txt", "one\n");
    assert!(is_kept());
    ada.write("c.txt", "new\n");
    assert!(!is_kept(), "a new file");
    fs::remove_file(ada.path("c.txt")).unwrap();
    fs::remove_file(ada.path("b.txt")).unwrap();
    assert!(!is_kept(), "a file is gone");
    ada.write("b.txt", "one\n");
    desk.at(ada.path("")).git(&["update-index", "--refresh"]);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(ada.path("b.txt"), mode).unwrap();
    assert!(!is_kept(), "another mode");
    // A secret is in no checkpoint.
    fs::remove_file(ada.path("b.txt")).unwrap();
    ada.write("b.txt", "one\n");
    assert!(is_kept());
    ada.write(".env", "KEY=1\n");
    ada.colony(&["checkpoint", "--auto"]);
    assert!(!is_kept());
}

#[test]
fn no_filter_of_a_clone_runs_to_tell_whether_its_work_is_kept() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    ada.write(".gitattributes", "*.txt filter=mine\n");
    ada.write("new.txt", "one\n");
    ada.colony(&["checkpoint", "--auto"]);
    let ran = desk.outside().join("ran");
    let command = format!("touch {}; cat", ran.display());
    ada.git(&["config", "filter.mine.clean", &command]);
    assert!(row(&desk, "ada")["kept_at"].is_string());
    ada.write("new.txt", "two\n");
    assert_eq!(row(&desk, "ada")["work"], "uncommitted");
    assert!(!ran.exists());
}

/// Has three agents meet what the desk did: one in one file, two in another.
fn clashing(desk: &Sandbox) {
    for path in ["a.txt", "b.txt"] {
        desk.write(path, "base\n");
    }
    desk.colony(&["commit", "-m", "base", "--all"]);
    for name in ["both", "one", "two"] {
        let clone = agent(desk, name);
        commit(&clone, "a.txt", &format!("of {name}\n"));
        if name == "both" {
            commit(&clone, "b.txt", "of both\n");
        }
    }
    let clean = agent(desk, "clean");
    commit(&clean, "c.txt", "of clean\n");
    for path in ["a.txt", "b.txt"] {
        desk.write(path, "of the desk\n");
    }
    desk.colony(&["commit", "-m", "mine", "--all"]);
}

#[test]
fn the_fleet_advises_until_nothing_is_left_to_merge() {
    let desk = Sandbox::new();
    clashing(&desk);
    let mut advice = Vec::new();
    loop {
        let fleet = desk.json(&["fleet"]);
        let Some(hint) = fleet["hint"].as_str() else {
            assert_eq!(fleet["next"], Value::Null);
            break;
        };
        assert_eq!(fleet["next"]["command"], hint);
        advice.push((hint.to_owned(), fleet["next"]["paths"].clone()));
        assert!(advice.len() < 20, "{advice:#?}");
        if hint == "git status" {
            desk.git(&["checkout", "-q", "--theirs", "."]);
            desk.git(&["add", "-A"]);
        } else {
            let done = shell(&desk, &desk.root, hint);
            assert!(done.status.code() < Some(2), "{hint} {done:?}");
        }
    }
    let open = |name: &str| format!("git colony merge {name} --resolve");
    let (none, a, both) = (json!([]), json!(["a.txt"]), json!(["a.txt", "b.txt"]));
    let go_on = "git colony merge --continue".to_owned();
    let expected = [
        ("git colony merge clean".to_owned(), none.clone()),
        (open("one"), a.clone()),
        ("git status".to_owned(), none.clone()),
        (go_on.clone(), none.clone()),
        (open("two"), a),
        ("git status".to_owned(), none.clone()),
        (go_on.clone(), none.clone()),
        (open("both"), both),
        ("git status".to_owned(), none.clone()),
        (go_on, none),
    ];
    assert_eq!(advice, expected);
    assert_eq!(desk.read("b.txt"), "of both\n");
    desk.check_invariants_of_git();
}

#[test]
fn an_agent_can_settle_it_and_an_open_merge_is_shown() {
    let desk = Sandbox::new();
    clashing(&desk);
    desk.colony(&["merge", "clean"]);
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["next"]["or"]["agent"], "one", "{fleet:#}");
    let way = fleet["next"]["or"]["command"].as_str().unwrap();
    let screen = desk.colony(&["fleet"]);
    assert!(screen.contains("next: git colony merge one --resolve   # a.txt\n"), "{screen}");
    assert!(screen.contains(&format!("or let one settle it: {way}\n")), "{screen}");
    assert!(screen.contains("clash: a.txt: both one two\n"), "{screen}");
    let opened = shell(&desk, &desk.root, way);
    assert_eq!(opened.status.code(), Some(1), "{opened:?}");
    let row = row(&desk, "one");
    let operation = json!({"kind": "merge", "source": "main", "conflicts": 1});
    assert_eq!(row["operation"], operation, "{row:#}");
    let told = line(&desk, "one");
    assert!(told.contains("merging main, 1 conflict left"), "{told}");
    // Who is at it already is left to it.
    let mut fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["hint"], "git colony merge two --resolve");
    let place = desk.json(&["agents", "path", "one"])["path"].clone();
    let status = format!("git -C {} status", place.as_str().unwrap());
    for name in ["two", "both"] {
        assert_ne!(fleet["next"], Value::Null, "{fleet:#}");
        desk.colony(&["merge", name, "--theirs", "."]);
        fleet = desk.json(&["fleet"]);
    }
    assert_eq!(fleet["next"], Value::Null, "{fleet:#}");
    let screen = desk.colony(&["fleet"]);
    assert!(screen.ends_with(&format!("one is settling main: {status}\n")), "{screen}");
    assert_eq!(fleet["settling"][0]["command"], status, "{fleet:#}");
    assert!(shell(&desk, &desk.root, &status).status.success());
}

/// Gives the branch `main` of a clone a commit of its own, which the desk does not have.
fn own_main(clone: &View) {
    let tree = clone.git(&["rev-parse", "refs/heads/main^{tree}"]);
    let own = clone.git(&["commit-tree", "-p", "refs/heads/main", "-m", "own", &tree]);
    clone.git(&["update-ref", "refs/heads/main", &own]);
}

#[test]
fn the_other_way_names_the_branch_of_the_desk_alone() {
    let desk = Sandbox::new();
    clashing(&desk);
    desk.colony(&["merge", "clean"]);
    let place = desk.json(&["agents", "path", "one"])["path"].clone();
    let place = place.as_str().unwrap();
    let one = desk.at(place.into());
    let way = || {
        let fleet = desk.json(&["fleet"]);
        assert_eq!(fleet["next"]["or"]["agent"], "one", "{fleet:#}");
        fleet["next"]["or"]["command"].as_str().unwrap().to_owned()
    };
    let plain = format!("git -C {place} colony merge main --resolve");
    assert_eq!(way(), plain, "its 'main' is an older one");
    own_main(&one);
    assert_eq!(one.error(&["merge", "main"]), "name-ambiguous");
    let command = way();
    assert_ne!(command, plain);
    let opened = shell(&desk, &desk.root, &command);
    assert_eq!(opened.status.code(), Some(1), "{opened:?}");
    let of_desk = desk.git(&["rev-parse", "main"]);
    assert_eq!(one.git(&["rev-parse", "MERGE_HEAD"]), of_desk);
    let operation = json!({"kind": "merge", "source": "main", "conflicts": 1});
    assert_eq!(row(&desk, "one")["operation"], operation);
    // In the clone the same is told of its own conflict.
    one.git(&["merge", "--abort"]);
    let own = one.json(&["fleet"])["hint"].clone();
    let opened = shell(&desk, &one.root, own.as_str().unwrap());
    assert_eq!(opened.status.code(), Some(1), "{own} {opened:?}");
    assert_eq!(one.git(&["rev-parse", "MERGE_HEAD"]), of_desk);
}

#[test]
fn elsewhere_the_hint_goes_to_the_branch_first() {
    let desk = Sandbox::new();
    clashing(&desk);
    desk.colony(&["merge", "clean"]);
    desk.git(&["switch", "-qc", "side"]);
    let hint = "git switch main && git colony merge one --resolve";
    assert_eq!(desk.json(&["fleet"])["hint"], hint);
    let refused = desk.json(&["merge", "one", "-m", "it's one"]);
    assert_eq!(
        refused["hint"],
        "git switch main && git colony merge one -m 'it'\\''s one' --resolve"
    );
    let open = shell(&desk, &desk.root, hint_of(&refused));
    assert_eq!(open.status.code(), Some(1), "{open:?}");
    assert_eq!(desk.git(&["branch", "--show-current"]), "main");
    assert_eq!(desk.json(&["status"])["in_progress"], "merge");
}

#[test]
fn a_conflict_has_a_code_and_the_next_command() {
    let desk = Sandbox::new();
    clashing(&desk);
    let commit = desk.at(desk.json(&["agents", "path", "two"])["path"].as_str().unwrap().into());
    let commit = commit.git(&["rev-parse", "HEAD"]);
    for (command, what) in [("merge", "two"), ("cherry-pick", commit.trim())] {
        for dry_run in [true, false] {
            let options = if dry_run { &["-n"][..] } else { &[] };
            let refused = desk.json(&[&[command, what][..], options].concat());
            assert_eq!(refused["ok"], false, "{refused:#}");
            assert_eq!(refused["code"], "conflicted");
            assert_eq!(refused["hint"], format!("git colony {command} {what} --resolve"));
        }
        let run = desk.run(&[command, what]);
        assert_eq!(run.code, 1);
        let opened = desk.json(&[command, what, "--resolve"]);
        assert_eq!(opened["code"], "conflicted", "{opened:#}");
        desk.write("a.txt", "settled\n");
        desk.git(&["add", "a.txt"]);
        paste(&desk, &desk.root, hint_of(&opened));
        let done = desk.json(&["status"]);
        assert_eq!(done["in_progress"], Value::Null, "{done:#}");
        desk.colony(&["undo"]);
        desk.colony(&["undo"]);
    }
    // What is settled already stays settled.
    let part = desk.json(&["merge", "both", "--ours", "b.txt"]);
    assert_eq!(part["hint"], "git colony merge both --ours :/b.txt --resolve");
    shell(&desk, &desk.root, hint_of(&part));
    assert_eq!(desk.git(&["ls-files", "-u", "--format=%(path)"]), "a.txt\na.txt\na.txt");
    assert_eq!(desk.read("b.txt"), "of the desk\n");
}

#[test]
fn work_from_a_deleted_branch_goes_where_the_forecast_is_for() {
    for conflicted in [false, true] {
        let desk = Sandbox::new();
        desk.git(&["switch", "-qc", "topic"]);
        desk.colony(&["fork", "wb"]);
        desk.write("a.txt", "of wb\n");
        desk.git(&["commit", "-qam", "of wb"]);
        desk.git(&["switch", "-q", "main"]);
        desk.git(&["branch", "-qD", "topic"]);
        if conflicted {
            desk.write("a.txt", "of main\n");
            desk.git(&["commit", "-qam", "of main"]);
        }
        let resolve = if conflicted { " --resolve" } else { "" };
        let hint = desk.json(&["fleet"])["hint"].clone();
        let expected = format!("git colony merge fork/wb --into main{resolve}");
        assert_eq!(hint, expected);
        let refused = desk.json(&["merge", "wb"]);
        assert_eq!(refused["code"], "revision-not-found", "{refused:#}");
        assert_eq!(refused["hint"], "git colony merge fork/wb --into main", "{refused:#}");
        let opened = shell(&desk, &desk.root, hint.as_str().unwrap());
        assert_eq!(opened.status.code(), Some(i32::from(conflicted)));
    }
}

#[test]
fn a_merge_into_another_branch_than_the_current_one_says_so() {
    let desk = Sandbox::new();
    desk.colony(&["fork", "work"]);
    desk.write("a.txt", "of work\n");
    desk.git(&["commit", "-qam", "of work"]);
    desk.git(&["switch", "-q", "main"]);
    desk.git(&["switch", "-qc", "feature"]);
    for options in [&["-n"][..], &[]] {
        let said = desk.colony(&[&["merge", "work"], options].concat());
        let first = said.lines().next().unwrap();
        assert!(first.contains("'main'"), "{said}");
        assert!(first.ends_with(" ('feature' is checked out)"), "{said}");
    }
    desk.git(&["switch", "-q", "main"]);
    let said = desk.colony(&["merge", "work"]);
    assert!(!said.contains("checked out"), "{said}");
}

#[test]
fn an_open_merge_here_is_shown_with_what_ends_it() {
    let desk = Sandbox::new();
    clashing(&desk);
    assert_eq!(desk.run(&["merge", "one", "--resolve"]).code, 1);
    let screen = desk.colony(&["fleet"]);
    let told = "next: git status\n\
                then: git colony merge --continue\n\
                or to undo: git colony merge --abort\n";
    assert!(screen.contains(told), "{screen}");
    let status = desk.colony(&["status"]);
    let told = "attention: a merge is in progress: git colony merge --continue, or --abort\n";
    assert!(status.contains(told), "{status}");
    let next = desk.json(&["fleet"])["next"].clone();
    let ends =
        json!({ "continue": "git colony merge --continue", "abort": "git colony merge --abort" });
    assert_eq!(next["ends"], ends, "{next:#}");
}
