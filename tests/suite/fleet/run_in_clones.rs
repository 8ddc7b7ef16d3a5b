//! A command in the clones of agents.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::support::Sandbox;

use crate::agents::leases::Harness;
use crate::agents::new_and_merge::{agent, commit};

fn ran(desk: &Sandbox, args: &[&str]) -> (u8, Vec<Value>) {
    let run = desk.run(&[&["--json", "agents", "run"], args].concat());
    let answers = serde_json::Deserializer::from_str(&run.stdout).into_iter();
    let mut answers: Vec<Value> = answers.map(Result::unwrap).collect();
    answers.sort_by_key(|it| it["agent"].as_str().map(str::to_owned));
    (run.code, answers)
}

#[test]
fn a_command_runs_in_each_clone_and_its_ends_are_told() {
    let desk = Sandbox::new();
    for name in ["ada", "bob", "cleo"] {
        commit(&agent(&desk, name), &format!("{name}.txt"), "of an agent\n");
    }
    let (code, answers) = ran(&desk, &["-j", "2", "--", "test", "-e", "bob.txt"]);
    assert_eq!(code, 1);
    let codes: Vec<&Value> = answers.iter().map(|it| &it["exit_code"]).collect();
    assert_eq!(codes, [&json!(1), &json!(0), &json!(1)]);
    // One word is a line for the shell; the words of several are no code.
    let (code, answers) = ran(&desk, &["ada", "--", "echo one && ls *.txt"]);
    assert_eq!((code, &answers[0]["output"]), (0, &json!("one\na.txt\nada.txt\n")));
    for word in ["$(id)", "a;b", "\\';touch bad;#\n", "nl\nfile", "q'q\nz", "", "\u{1b}[31m", "-n"]
    {
        let (_, answers) = ran(&desk, &["ada", "--", "printf", "<%s>", word]);
        assert_eq!(answers[0]["output"], format!("<{word}>"), "{word:?}");
    }
    let (_, answers) = ran(&desk, &["ada", "ada", "--", "ls"]);
    assert_eq!((answers.len(), &answers[0]["output"]), (1, &json!("a.txt\nada.txt\ndir\n")));
    let (code, answers) = ran(&desk, &["-n", "--", "touch", "made.txt"]);
    assert_eq!((code, answers.len(), &answers[0]["ran"]), (0, 3, &json!(false)));
    let (code, _) = ran(&desk, &["--", "test", "!", "-e", "made.txt"]);
    assert_eq!(code, 0);
    let long = "yes | head -c 300000";
    let (_, answers) = ran(&desk, &["ada", "--", long]);
    assert_eq!(answers[0]["output"].as_str().unwrap().len(), 64 << 10);
    assert_eq!(answers[0]["truncated"], true);
}

#[test]
fn damaged_clones_are_named_where_all_are_meant() {
    let record = "rm .git/colony/membership.json";
    for damage in ["rm -rf .git", "rm .git/HEAD", record, "rm -rf ../main"] {
        let desk = Sandbox::new();
        let ada = agent(&desk, "ada");
        let damage_ada =
            || assert!(ada.process("sh").args(["-c", damage]).status().unwrap().success());
        let check = |expected: &[(&str, bool)]| {
            let (code, answers) = ran(&desk, &["--", "touch made.txt"]);
            let told: Vec<_> = answers
                .iter()
                .map(|it| (it["agent"].as_str().unwrap(), it["ran"].as_bool().unwrap()))
                .collect();
            assert_eq!((code, told.as_slice()), (1, expected), "{damage}");
            let problem = answers[0]["problem"].as_str().unwrap();
            assert!(problem.starts_with("its clone is damaged: "), "{problem}");
            assert!(!ada.path("made.txt").exists(), "{damage}");
        };
        if damage.contains("main") {
            agent(&desk, "bob");
            damage_ada();
        } else {
            damage_ada();
            check(&[("ada", false)]);
            agent(&desk, "bob");
        }
        check(&[("ada", false), ("bob", true)]);
        let run = desk.run(&["agents", "run", "--", "true"]);
        assert!(run.stderr.contains("failed: ada"), "{}", run.stderr);
        let (code, answers) = ran(&desk, &["bob", "--", "test", "-e", "made.txt"]);
        assert_eq!((code, answers.len()), (0, 1), "{damage}");
    }
}

#[test]
fn a_busy_clone_is_left_out_and_an_agent_runs_nothing() {
    let desk = Sandbox::new();
    let (ada, bob) = (agent(&desk, "ada"), agent(&desk, "bob"));
    let mut at_work = Harness::start(&desk, "at-work");
    at_work.work(&ada.root, "at work\n");
    let (_, answers) = ran(&desk, &["--", "true"]);
    assert_eq!((&answers[0]["ran"], &answers[1]["ran"]), (&json!(false), &json!(true)));
    assert_ne!(answers[0]["held_by"], Value::Null);
    let (_, answers) = ran(&desk, &["--busy", "--", "true"]);
    assert_eq!((&answers[0]["ran"], &answers[1]["ran"]), (&json!(true), &json!(true)));
    let refused = bob.run(&["agents", "run", "ada", "--", "true"]);
    assert_eq!(refused.code, 128, "{}", refused.stdout);
    assert!(refused.stderr.contains("may not run in clones"), "{}", refused.stderr);
}
