//! An agent may write everything in its clone: its refs, its record, its configuration. None of it lifts what protects
//! a branch from it, and none of it makes the clone a person's.

use std::fs;
use std::path::PathBuf;

use crate::support::{Sandbox, View};

/// A checkout of a person that protects 'main', and the clone of an agent on its fork.
fn protected() -> (Sandbox, View) {
    let desk = Sandbox::new();
    desk.write(".colony/colony.toml", "protect = 'main'\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "settings"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap())).with_program();
    (desk, clone)
}

/// Commits settings that protect nothing on 'main' of the clone.
fn lift(clone: &View) {
    clone.write(".colony/colony.toml", "protect = []\n");
    clone.git(&["add", "-A"]);
    clone.git(&["commit", "-qm", "lift"]);
    clone.git(&["switch", "-q", "-C", "main"]);
    clone.write("new.txt", "new\n");
    clone.git(&["add", "-A"]);
}

fn refused_by_hook(clone: &View) -> String {
    let output = clone.git_output(&["commit", "-qm", "on main"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[test]
fn no_ref_of_the_clone_lifts_a_protection() {
    let (_desk, clone) = protected();
    lift(&clone);
    let refs = clone.git(&["for-each-ref", "--format=%(refname)"]);
    for name in refs.lines().filter(|name| name.ends_with("/main")) {
        clone.git(&["update-ref", name, "HEAD"]);
    }
    clone.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    clone.git(&["replace", "HEAD~1", "HEAD"]);
    assert!(refused_by_hook(&clone).contains("'main' is protected"));
    assert_eq!(clone.error(&["commit", "-m", "x", "--all"]), "branch-protected");
    // Neither does a clone that has lost them.
    for name in refs.lines().filter(|name| name.contains("desks") || name.contains("remotes")) {
        clone.git(&["update-ref", "--no-deref", "-d", name]);
    }
    assert_eq!(clone.error(&["checkpoint", "-m", "x"]), "branch-protected");
}

#[test]
fn no_file_of_the_clone_hides_a_default_branch() {
    let (desk, clone) = protected();
    desk.git(&["branch", "-qm", "main", "trunk"]);
    desk.write(".colony/manifest.json", r#"{"schema_version": 1, "default_branch": "trunk"}"#);
    desk.write(".colony/colony.toml", "protect = 'trunk'\n");
    desk.colony(&["commit", "-m", "trunk", "--all"]);
    clone.write("new.txt", "new\n");
    clone.git(&["switch", "-q", "-C", "trunk"]);
    clone.remove(".colony/manifest.json");
    assert_eq!(clone.error(&["commit", "-m", "x", "--all"]), "branch-protected");
}

#[test]
fn a_hub_that_cannot_be_read_protects_all_but_forks() {
    let (_desk, clone) = protected();
    lift(&clone);
    let hubs = clone.path("../../../../hubs");
    let hub = fs::read_dir(&hubs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "git"))
        .unwrap();
    fs::write(hub.join("config"), "[").unwrap();
    let answer = clone.json(&["commit", "-m", "x", "--all"]);
    assert_eq!(answer["code"], "branch-protected", "{answer:#}");
    let said = answer["message"].as_str().unwrap();
    assert!(said.contains("every branch except forks"), "{said}");
}

#[test]
fn no_record_makes_the_clone_of_an_agent_a_persons() {
    let (desk, clone) = protected();
    lift(&clone);
    let record = clone.path(".git/colony/membership.json");
    let whole = fs::read_to_string(&record).unwrap();
    let desk_role = whole.replace(r#""role": "agent""#, r#""role": "desk""#);
    assert_ne!(desk_role, whole);
    let other_hub = whole.replace("/hubs/", "/agents/");
    assert_ne!(other_hub, whole);
    let newer = whole.replace(r#""format": 2"#, r#""format": 99"#);
    for (content, code) in [
        (None, "repository-broken"),
        (Some("{"), "repository-broken"),
        (Some(&*desk_role), "repository-broken"),
        (Some(&*other_hub), "repository-broken"),
        (Some(&*newer), "newer-format"),
    ] {
        match content {
            Some(content) => fs::write(&record, content).unwrap(),
            None => fs::remove_file(&record).unwrap(),
        }
        let said = refused_by_hook(&clone);
        assert!(said.contains("agent 'ada'"), "{said}");
        assert_eq!(clone.error(&["commit", "-m", "x", "--all"]), code);
        // From there, it is that agent elsewhere as well.
        let here = desk.root.to_str().unwrap().to_owned();
        desk.write("new.txt", "new\n");
        let elsewhere = ["-C", &here, "commit", "-m", "x", "--all"];
        assert_eq!(clone.error(&elsewhere), "branch-protected", "{content:?}");
    }
    fs::write(&record, &whole).unwrap();
    assert!(refused_by_hook(&clone).contains("'main' is protected"));
    // A setting that stops our commands stops no rule.
    clone.git(&["config", "colony.timeout", "never"]);
    assert!(refused_by_hook(&clone).contains("agent 'ada'"));
}

#[test]
fn a_folder_that_looks_like_a_clone_is_a_persons() {
    let other = Sandbox::new();
    let place = other.outside().join("agents/ada/clones/x");
    fs::create_dir_all(&place).unwrap();
    let ordinary = other.at(place);
    ordinary.git(&["init", "-q", "-b", "main"]);
    ordinary.git(&["config", "user.name", "A"]);
    ordinary.git(&["config", "user.email", "a@example.com"]);
    ordinary.git(&["config", "colony.protect", "main"]);
    ordinary.write("a.txt", "a\n");
    let answer = ordinary.json(&["commit", "-m", "x", "--all"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
}

#[test]
fn a_repository_in_the_clone_is_another_one() {
    let (_desk, clone) = protected();
    fs::create_dir_all(clone.path("inner")).unwrap();
    let inner = clone.at(clone.path("inner"));
    inner.git(&["init", "-q", "-b", "work"]);
    inner.git(&["config", "user.name", "A"]);
    inner.git(&["config", "user.email", "a@example.com"]);
    inner.write("a.txt", "a\n");
    let answer = inner.json(&["commit", "-m", "x", "--all"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
}

#[test]
fn a_symlinked_branch_is_the_branch_it_leads_to() {
    let (_desk, clone) = protected();
    clone.git(&["switch", "-q", "-C", "main", "fork/ada"]);
    let tip = clone.git(&["rev-parse", "main"]);
    clone.git(&["symbolic-ref", "refs/heads/fork/b", "refs/heads/main"]);
    clone.git(&["symbolic-ref", "refs/heads/fork/a", "refs/heads/fork/b"]);
    clone.git(&["symbolic-ref", "HEAD", "refs/heads/fork/a"]);
    clone.write("new.txt", "new\n");
    clone.git(&["add", "-A"]);
    assert!(refused_by_hook(&clone).contains("'main' is protected"));
    for args in [
        &["commit", "-m", "x", "--all"][..],
        &["checkpoint", "-m", "x"],
        &["decide", "-m", "x"],
        &["merge", "fork/ada", "--into", "fork/a"],
        &["cherry-pick", "HEAD", "--into", "fork/a"],
    ] {
        assert_eq!(clone.error(args), "branch-protected", "{args:?}");
    }
    assert_eq!(clone.git(&["rev-parse", "main"]), tip);
}

#[test]
fn a_person_commits_through_symbolic_refs_as_with_git() {
    let desk = Sandbox::new();
    desk.git(&["symbolic-ref", "refs/heads/b", "refs/heads/main"]);
    desk.git(&["symbolic-ref", "refs/heads/a", "refs/heads/b"]);
    desk.git(&["symbolic-ref", "HEAD", "refs/heads/a"]);
    desk.write("one.txt", "one\n");
    desk.colony(&["checkpoint", "-m", "one"]);
    desk.write("two.txt", "two\n");
    desk.colony(&["commit", "-m", "two", "--all"]);
    assert_eq!(desk.git(&["log", "--format=%s", "-2", "main"]), "two\ncheckpoint: one");
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    desk.colony(&["restore", "one", "--force"]);
    assert_eq!(desk.git(&["log", "-1", "--format=%s", "main"]), "checkpoint: one");
    assert_eq!(desk.git(&["symbolic-ref", "--no-recurse", "HEAD"]), "refs/heads/a");
    desk.colony(&["undo"]);
    assert_eq!(desk.git(&["log", "-1", "--format=%s", "main"]), "two");
    // git follows five; more are broken, and refused at once.
    for at in 0..6 {
        let (name, next) = (format!("refs/heads/c{at}"), format!("refs/heads/c{}", at + 1));
        desk.git(&["symbolic-ref", &name, &next]);
    }
    desk.git(&["symbolic-ref", "HEAD", "refs/heads/c0"]);
    assert_eq!(desk.error(&["checkpoint", "-m", "x"]), "repository-broken");
}
