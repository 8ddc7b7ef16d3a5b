//! `git log`, `diff`, `status` and `blame` for agents: git's answer within limits, or its message.

use std::fmt::Write as _;
use std::fs;

use serde_json::json;

use crate::support::{Sandbox, write_program};

#[test]
fn git_answers_about_this_checkout() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.write("new.txt", "new\n");
    let below = sandbox.at(sandbox.path("dir"));
    let status = below.json(&["git", "status"]);
    assert_eq!(status["text"], sandbox.git(&["status", "--short", "--branch"]) + "\n");
    assert_eq!(status["root"], sandbox.root.to_str().unwrap());
    let diff = below.json(&["git", "diff", "../a.txt"]);
    assert_eq!(diff["text"], sandbox.git(&["diff", "a.txt"]) + "\n");
    assert_eq!((&diff["truncated"], &diff["next_offset"]), (&json!(false), &json!(null)));
    assert_eq!(sandbox.json(&["git", "diff"])["text"], diff["text"]);
    assert_eq!(sandbox.json(&["git", "diff", "--staged"])["text"], "");
    sandbox.git(&["add", "a.txt"]);
    assert_eq!(sandbox.json(&["git", "diff", "--staged"])["text"], diff["text"]);
    let log = sandbox.json(&["git", "log"]);
    assert_eq!(log["commits"][0]["commit"], sandbox.git(&["rev-parse", "HEAD"]));
    let blame = sandbox.json(&["git", "blame", "dir/b.txt"]);
    assert!(blame["text"].as_str().unwrap().contains(" 1) "), "{blame}");
}

#[test]
fn a_git_that_fails_is_an_error_with_its_message() {
    let sandbox = Sandbox::new();
    for (words, message) in [
        (&["git", "blame", "dir"][..], "no such path"),
        (&["git", "blame", "missing"], "no such path"),
        (&["git", "blame", "--", "--output=x"], "no such path"),
    ] {
        let answer = sandbox.json(words);
        assert_eq!(answer["code"], "git-failed", "{words:?} {answer}");
        assert!(answer["detail"]["stderr"].as_str().unwrap().contains(message), "{answer}");
        assert_eq!(answer["detail"]["exit_code"], 128);
    }
    sandbox.write("untracked", "new\n");
    let answer = sandbox.json(&["git", "blame", "untracked"]);
    assert_eq!(answer["code"], "path-not-found", "{answer}");
    assert_eq!(sandbox.json(&["git", "diff", "--", "--output=pwned"])["text"], "");
    assert_eq!(sandbox.json(&["git", "diff", ":(top)*"])["text"], "", "a path is no pathspec");
    assert!(!sandbox.path("pwned").exists());
    assert_eq!(sandbox.error(&["git", "diff", "../x"]), "path-outside");
    let none = sandbox.at(sandbox.outside().join("none"));
    fs::create_dir(&none.root).unwrap();
    assert_eq!(none.error(&["git", "status"]), "not-a-repository");
    assert_eq!(Sandbox::unborn().error(&["git", "log"]), "revision-not-found");
    assert_eq!(Sandbox::init(&["--bare"]).error(&["git", "status"]), "bare-repository");
}

#[test]
fn a_long_answer_is_continued_by_its_offset() {
    let sandbox = Sandbox::new();
    let line = "x".repeat(99);
    let mut long = String::new();
    for number in 0..25_000 {
        writeln!(long, "{number:05} {line}").unwrap();
    }
    sandbox.write("a.txt", &long);
    let whole = sandbox.git(&["diff"]) + "\n";
    let (mut text, mut offset) = (String::new(), "0".to_owned());
    let mut parts = 0;
    loop {
        let part = sandbox.json(&["git", "diff", "--offset", &offset]);
        text += part["text"].as_str().unwrap();
        assert!(part["text"].as_str().unwrap().len() <= 1 << 20);
        parts += 1;
        let Some(next) = part["next_offset"].as_u64() else {
            break;
        };
        offset = next.to_string();
    }
    assert_eq!(parts, 3);
    assert!(text == whole);
}

#[test]
fn no_program_of_the_configuration_is_run() {
    let sandbox = Sandbox::new();
    let marker = sandbox.outside().join("ran");
    let script = sandbox.outside().join("evil");
    write_program(&script, format!("#!/bin/sh\ntouch {}\ncat\n", marker.display()));
    let evil = script.to_str().unwrap();
    sandbox.write(".gitattributes", "*.txt diff=x\n");
    for key in [
        "core.fsmonitor",
        "core.pager",
        "gpg.program",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
    ] {
        sandbox.git(&["config", key, evil]);
    }
    sandbox.git(&["config", "log.showSignature", "true"]);
    sandbox.write("a.txt", "two\n");
    for words in [&["log"][..], &["diff"], &["status"], &["blame", "dir/b.txt"]] {
        sandbox.colony(&[&["git"], words].concat());
    }
    assert!(!marker.exists());
}

#[test]
fn no_reading_command_asks_the_monitor_of_files() {
    let sandbox = Sandbox::new();
    let marker = sandbox.outside().join("ran");
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.git(&["config", "core.fsmonitor", &format!("touch '{}'; false", marker.display())]);
    sandbox.write("a.txt", "two\n");
    sandbox.write("new.txt", "new\n");
    sandbox.git(&["-c", "core.fsmonitor=false", "add", "new.txt"]);
    for words in [
        &["diff"][..],
        &["diff", "HEAD"],
        &["diff", "checkpoint/base"],
        &["status"],
        &["log"],
        &["doctor", "--deep"],
        &["commit", "-n", "-m", "x", "--all"],
        &["checkpoint", "-m", "x"],
        &["fleet"],
        &["query", "search", "two"],
    ] {
        drop(sandbox.run(words));
        assert!(!marker.exists(), "{words:?}");
    }
}

#[test]
fn the_history_of_an_untracked_file_is_not_found() {
    let sandbox = Sandbox::new();
    sandbox.write("untracked.txt", "new\n");
    let answer = sandbox.json(&["git", "blame", "untracked.txt"]);
    assert_eq!(answer["code"], "path-not-found", "{answer:#}");
}

#[test]
fn a_name_that_no_ref_can_have_is_an_invalid_value() {
    let sandbox = Sandbox::new();
    let long = "a".repeat(256);
    for words in [
        &["fork", &long][..],
        &["fork", "x", "--from", &long],
        &["restore", &long],
        &["merge", &long],
        &["diff", &long],
        &["diff", &format!("{long}@")],
        &["log", &format!("x/{long}")],
        &["forks", "delete", &long],
        &["cherry-pick", &long],
    ] {
        assert_eq!(sandbox.error(words), "invalid-value", "{words:?}");
    }
}

#[test]
fn git_shows_no_content_that_queries_hide() {
    let sandbox = Sandbox::new();
    let token = format!("ghp_{}", "a1".repeat(18));
    sandbox.write(".colonyignore", "hidden/\n");
    let names = [
        ".env",
        "hidden/a.txt",
        "k/terraform.tfvars",
        "x/.docker/config.json",
        "plain.txt",
        "a b.txt",
    ];
    for name in names {
        sandbox.write(name, "before-change\n");
    }
    sandbox.git(&["add", "-A", "-f"]);
    sandbox.git(&["commit", "-qm", "all"]);
    for name in names {
        sandbox.write(name, "after-change\n");
    }
    sandbox.write("plain.txt", format!("key = {token}\n"));
    let diff = sandbox.json(&["git", "diff"]);
    let text = diff["text"].as_str().unwrap();
    assert_eq!(diff["hidden"], 5, "{text}");
    for name in &names[..4] {
        assert!(!text.contains(name), "{text}");
        let refused = sandbox.json(&["git", "diff", name]);
        assert_eq!(refused["code"], "path-not-found", "{refused:#}");
        let refused = sandbox.json(&["git", "blame", name]);
        assert_eq!(refused["code"], "path-not-found", "{refused:#}");
    }
    assert!(text.contains("+after-change"), "the rest is shown: {text}");
    assert!(text.contains("plain.txt") && !text.contains(&token), "{text}");
    assert_eq!(text.len(), sandbox.git(&["diff", "plain.txt", "a b.txt"]).len() + 1);
    assert_eq!(sandbox.error(&["git", "blame", "plain.txt"]), "path-not-found");
    // Neither the name in another case nor a rename shows them.
    sandbox.git(&["checkout", "-q", "."]);
    sandbox.git(&["mv", ".env", "renamed.txt"]);
    sandbox.git(&["mv", "hidden/a.txt", "hidden/b.txt"]);
    let staged = sandbox.json(&["git", "diff", "--staged"]);
    let text = staged["text"].as_str().unwrap();
    assert!(!text.contains(".env") && !text.contains("hidden"), "{text}");
    assert_eq!(staged["hidden"], 3, "{text}");
    let said = sandbox.run(&["git", "diff", "--staged"]).stderr;
    assert!(said.contains("hidden: 3 changed files"), "{said}");
    let below = sandbox.json(&["git", "diff", "--staged", "hidden"]);
    assert_eq!((&below["text"], &below["hidden"]), (&json!(""), &json!(2)));
}

#[test]
fn an_offset_beyond_all_answers_is_refused() {
    let sandbox = Sandbox::new();
    let most = (64 << 20).to_string();
    assert_eq!(sandbox.json(&["git", "diff", "--offset", &most])["text"], "");
    let beyond = ((64 << 20) + 1).to_string();
    let refused = sandbox.json(&["git", "diff", "--offset", &beyond]);
    assert_eq!(refused["code"], "invalid-value", "{refused:#}");
    let said = refused["message"].as_str().unwrap();
    assert!(said.contains(&beyond), "{said}");
}

#[test]
fn a_git_that_is_ended_says_by_what() {
    let sandbox = Sandbox::new();
    let killed = sandbox.stand_in("git", "case \"$*\" in *blame*) kill -9 $$;; esac");
    let answer = killed.json(&["git", "blame", "a.txt"]);
    assert_eq!(answer["code"], "git-failed", "{answer:#}");
    assert!(answer["message"].as_str().unwrap().contains("signal 9 ended it"), "{answer:#}");
    let loud = sandbox.stand_in("git", "case \"$*\" in *' log '*) exec yes;; esac");
    let answer = loud.json(&["git", "log"]);
    assert!(
        answer["message"].as_str().unwrap().contains("it printed more than 1 MiB"),
        "{answer:#}"
    );
    assert!(answer["hint"].as_str().unwrap().contains("-n"), "{answer:#}");
    for words in [&["git", "log", "-n", "1001"][..], &["query", "log", "-n", "1001"]] {
        let refused = sandbox.json(words);
        assert_eq!(refused["code"], "invalid-value", "{refused:#}");
        assert!(refused["message"].as_str().unwrap().contains("at most 1000"));
    }
    assert_eq!(sandbox.json(&["git", "log", "-n", "1000"])["ok"], true);
}
