//! `topology`: branches, where they left the main one, which one that is; git is the referee.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use crate::support::Sandbox;

#[test]
fn every_branch_tells_where_it_left_the_main_one() {
    let sandbox = Sandbox::new();
    let commit = |message: &str| sandbox.git(&["commit", "-q", "--allow-empty", "-m", message]);
    for name in ["fork/a", "session/s", "agent/x", "tool/t", "plain", "forks"] {
        sandbox.git(&["branch", name]);
    }
    commit("second");
    sandbox.git(&["checkout", "-q", "-b", "fork/merged"]);
    commit("on the fork");
    sandbox.git(&["checkout", "-q", "main"]);
    commit("third");
    sandbox.git(&["checkout", "-q", "fork/merged"]);
    sandbox.git(&["merge", "-q", "--no-edit", "main"]);
    commit("more");
    sandbox.git(&["checkout", "-q", "--orphan", "alone"]);
    commit("alone");
    sandbox.git(&["checkout", "-q", "main"]);
    commit("fourth");
    let answer = sandbox.json(&["topology"]);
    assert_eq!(answer["main"], "main");
    assert_eq!(answer["main_head_sha"], sandbox.git(&["rev-parse", "main"]));
    let mut told = String::new();
    for branch in answer["branches"].as_array().unwrap() {
        let name = branch["name"].as_str().unwrap();
        assert_eq!(branch["head_sha"], sandbox.git(&["rev-parse", name]));
        if name != "main" && name != "alone" {
            let base = sandbox.git(&["merge-base", "main", name]);
            assert_eq!(branch["diverged_from_sha"], base, "{name}");
            assert_eq!(branch["parent_branch"], "main");
        }
        let kinds = ["is_fork", "is_session", "is_agent", "is_tool"];
        let kinds = kinds.map(|kind| u8::from(branch[kind].as_bool().unwrap()).to_string());
        writeln!(told, "{name} {}", kinds.concat()).unwrap();
    }
    insta::assert_snapshot!(told, @r"
    agent/x 0010
    alone 0000
    fork/a 1000
    fork/merged 1000
    forks 0000
    main 0000
    plain 0000
    session/s 0100
    tool/t 0001
    ");
    let text = sandbox.colony(&["topology"]);
    assert!(text.starts_with("9 branches; the default branch is 'main'\n"), "{text}");
    let base = sandbox.git(&["rev-parse", "fork/a"]);
    let line = format!("left 'main' at {}\n", &base[..8]);
    assert!(text.contains(&line), "{text}");
    assert!(text.contains("has no history in common with 'main'\n"), "{text}");
    let branches = answer["branches"].as_array().unwrap();
    let main = branches.iter().find(|b| b["name"] == "main").unwrap();
    assert!(main["parent_branch"].is_null() && main["diverged_from_sha"].is_null());
}

#[test]
fn the_main_branch_is_found_by_the_written_order() {
    let sandbox = Sandbox::new();
    let main = || sandbox.json(&["topology"])["main"].clone();
    for name in ["manifested", "of-origin", "configured", "current"] {
        sandbox.git(&["branch", name]);
    }
    sandbox.git(&["branch", "-m", "main", "other"]);
    sandbox.git(&["checkout", "-q", "current"]);
    assert_eq!(main(), "current");
    sandbox.git(&["branch", "master"]);
    assert_eq!(main(), "master");
    sandbox.git(&["config", "init.defaultBranch", "configured"]);
    assert_eq!(main(), "configured");
    let tip = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["update-ref", "refs/remotes/origin/only-there", &tip]);
    sandbox.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/only-there"]);
    assert_eq!(main(), "only-there");
    sandbox.write(".colony/manifest.json", r#"{"default_branch": "manifested"}"#);
    assert_eq!(main(), "manifested");
    sandbox.write(".colony/manifest.json", r#"{"default_branch": "no such\nbranch"}"#);
    assert_eq!(main(), "only-there");
}

#[test]
fn a_repository_without_a_commit_has_no_branches() {
    let sandbox = Sandbox::unborn();
    let answer = sandbox.json(&["topology"]);
    assert_eq!((&answer["main"], &answer["count"]), (&"main".into(), &0.into()));
    assert!(answer["main_head_sha"].is_null());
}

#[test]
fn two_thousand_branches_are_one_walk() {
    let sandbox = Sandbox::new();
    let mut stream = String::new();
    for number in 1..=500 {
        let mark = format!("commit refs/heads/main\nmark :{number}\n");
        stream.extend(
            [&mark, &format!("committer A <a@b> {number} +0000\ndata 1\nx\n")].map(String::as_str),
        );
    }
    for number in 0..2_000 {
        let base = number % 500 + 1;
        let start = format!("commit refs/heads/fork/f{number}\ncommitter A <a@b> 900 +0000\n");
        stream.extend([&start, &format!("data 1\ny\nfrom :{base}\n\n")].map(String::as_str));
    }
    let mut import = sandbox
        .process("git")
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    let answer = sandbox.json(&["topology"]);
    assert_eq!(answer["count"], 2_001);
    let branch = &answer["branches"][1_999];
    let name = branch["name"].as_str().unwrap();
    assert_eq!(branch["diverged_from_sha"], sandbox.git(&["merge-base", "main", name]));
}

#[test]
fn a_fork_of_a_fork_left_that_one() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["fork", "par"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "p"]);
    let left = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.colony(&["fork", "child"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "c"]);
    let of = |name: &str| {
        let answer = sandbox.json(&["topology"]);
        let branches = answer["branches"].as_array().unwrap().clone();
        let found = branches.into_iter().find(|branch| branch["name"] == name);
        let found = found.unwrap();
        let text = |key: &str| found[key].as_str().unwrap().to_owned();
        (text("parent_branch"), text("diverged_from_sha"))
    };
    let first = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(of("fork/par"), ("main".to_owned(), first.clone()));
    assert_eq!(of("fork/child"), ("fork/par".to_owned(), left));
    sandbox.git(&["branch", "-q", "-D", "fork/par"]);
    assert_eq!(of("fork/child"), ("main".to_owned(), first));
}

#[test]
fn every_command_has_the_same_default_branch() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "-m", "main", "master"]);
    // One commit more on each, so that counts tell which one a command has compared with.
    let mut tips = Vec::new();
    for name in ["configured", "of-origin", "manifested", "work"] {
        sandbox.git(&["switch", "-qc", name]);
        sandbox.git(&["commit", "-q", "--allow-empty", "-m", name]);
        tips.push(sandbox.git(&["rev-parse", "HEAD"]));
    }
    sandbox.git(&["branch", "fork/x"]);
    let check = |name: &str, ahead: usize| {
        let topology = sandbox.json(&["topology"]);
        assert_eq!(topology["main"], name);
        let status = sandbox.json(&["status"]);
        assert_eq!(status["ahead_of_main_by"], ahead, "{name} {status:#}");
        let fork = sandbox.json(&["forks"])["forks"][0].clone();
        assert_eq!(fork["into"]["branch"], name, "{fork:#}");
        assert_eq!(fork["ahead"], ahead, "{fork:#}");
        let fleet = sandbox.json(&["fleet"]);
        let line = &fleet["agents"][0];
        assert_eq!(line["into"]["branch"], name, "{fleet:#}");
    };
    check("master", 4);
    sandbox.git(&["config", "init.defaultBranch", "configured"]);
    check("configured", 3);
    let head = "refs/remotes/origin/HEAD";
    let there = "refs/remotes/origin/of-origin";
    sandbox.git(&["update-ref", there, "of-origin"]);
    sandbox.git(&["symbolic-ref", head, there]);
    check("of-origin", 2);
    // Where only the remote has it, its tip there counts.
    sandbox.git(&["branch", "-D", "of-origin"]);
    check("of-origin", 2);
    sandbox.write(".colony/manifest.json", r#"{"default_branch": "manifested"}"#);
    check("manifested", 1);
    sandbox.git(&["branch", "-D", "manifested"]);
    check("of-origin", 2);
}
