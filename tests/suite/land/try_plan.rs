//! The plan of a try: who would be merged and tested, without a run.

use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit};

use super::landing::{desk, done};

#[test]
fn a_dry_try_says_who_would_be_tested_and_runs_nothing() {
    let desk = desk();
    for name in ["ada", "bob", "cleo"] {
        done(&desk, name, "good\n");
    }
    let dan = agent(&desk, "dan");
    commit(&dan, "ada.txt", "of dan\n");
    dan.colony(&["agents", "done"]);
    desk.colony(&["fleet"]);
    let before = desk.visible_state();
    let plan = desk.json(&["try", "-n", "--except", "cleo"]);
    let names = |field: &str| plan[field].clone();
    assert_eq!((names("outcome"), names("names")), (json!("planned"), json!(["bob", "ada"])));
    assert_eq!((&plan["left_out"][0]["name"], &plan["dry_run"]), (&json!("dan"), &json!(true)));
    assert_eq!(
        (names("runs"), names("tree"), names("breaks")),
        (json!([]), Value::Null, Value::Null)
    );
    assert_eq!(names("forecast")["runs"], 1);
    assert_eq!(names("tests")["commands"], json!(["sh check.sh"]));
    let text = desk.colony(&["try", "-n", "ada"]);
    assert_eq!(
        text,
        "'ada' would be tested on 'main'\n  ada  merges cleanly\ntests: 1 run; if one fails, at most 3 runs\n"
    );
    desk.git(&["config", "--unset", "colony.test.run"]);
    assert_eq!(desk.json(&["try", "-n", "ada"])["tests"], Value::Null);
    assert_eq!(desk.error(&["try", "ada"]), "no-tests");
    assert_eq!(desk.visible_state(), before);
    let tries = desk.outside().join("home/.local/share/git-colony/try");
    assert!(!tries.exists(), "a tree for tests was made");
}

#[test]
fn a_dry_try_plans_for_a_branch_that_is_protected() {
    let desk = desk();
    desk.write(".colony/colony.toml", "protect = ['main']\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "settings"]);
    let ada = done(&desk, "ada", "good\n");
    // Nor does a file that a landing would meet matter.
    desk.write("ada.txt", "in the way\n");
    assert_eq!(desk.json(&["try", "-n", "ada"])["names"], json!(["ada"]));
    assert_eq!(ada.json(&["try", "-n", "ada", "--into", "main"])["names"], json!(["ada"]));
    assert_eq!(desk.json(&["try", "ada"])["outcome"], "passed");
}
