//! A migration to git-lfs where several work on one machine: the hub tells everybody of it, and what
//! others have published there stops it.

use std::fs;
use std::path::PathBuf;

use crate::support::{Sandbox, View};

use super::in_progress::{hint_of, paste};
use super::rewrite::{POINTER, grown, grown_with_origin, with_origin};

/// The clone of an agent, made now.
fn agent(sandbox: &Sandbox, name: &str) -> View {
    let made = sandbox.json(&["agents", "new", name]);
    sandbox.at(PathBuf::from(made["path"].as_str().unwrap()))
}

#[test]
fn a_clone_follows_a_migration_from_the_hub_without_a_remote() {
    let sandbox = grown();
    let ada = agent(&sandbox, "ada");
    sandbox.colony(&["lfs", "migrate"]);
    ada.write("paper.pdf", "ada\n");
    ada.colony(&["commit", "-m", "work", "--all"]);
    let before = ada.git(&["for-each-ref", "refs/heads"]);
    assert_eq!(ada.error(&["merge", "main"]), "history-rewritten");
    assert_eq!(sandbox.error(&["merge", "ada"]), "history-rewritten");
    assert_eq!(ada.git(&["for-each-ref", "refs/heads"]), before);
    let answer = ada.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "followed", "{answer:#}");
    assert_eq!(ada.git(&["rev-parse", "HEAD~1"]), sandbox.git(&["rev-parse", "main"]));
    assert!(ada.git(&["show", "HEAD:paper.pdf"]).starts_with(POINTER));
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    let merged = sandbox.json(&["merge", "ada"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    assert_eq!(sandbox.read("paper.pdf"), "ada\n");
    sandbox.check_invariants_of_git();
}

#[test]
fn what_was_told_of_a_migration_is_taken_back_with_it() {
    let sandbox = grown();
    let ada = agent(&sandbox, "ada");
    sandbox.colony(&["lfs", "migrate"]);
    assert_eq!(ada.error(&["merge", "main"]), "history-rewritten");
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    ada.write("text.txt", "ada\n");
    ada.colony(&["commit", "-m", "work", "--all"]);
    let merged = ada.json(&["merge", "main"]);
    assert_eq!(merged["outcome"], "up_to_date", "{merged:#}");
    let merged = sandbox.json(&["merge", "ada"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
}

#[test]
fn work_published_by_another_checkout_stops_a_migration() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.colony(&["agents", "new", "ada"]);
    let place = sandbox.outside().join("desk");
    let url = format!("file://{}", bare.display());
    sandbox.git(&["clone", "-q", &url, &place.display().to_string()]);
    let desk = sandbox.at(place);
    desk.git(&["config", "user.name", "Bob"]);
    desk.git(&["config", "user.email", "bob@example.com"]);
    desk.colony(&["agents", "new", "bert"]);
    desk.git(&["commit", "-q", "--allow-empty", "-m", "only at the other desk"]);
    desk.colony(&["tag", "-m", "publishes"]);
    let state = (sandbox.refs(), sandbox.visible_state());
    let refused = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("another checkout"), "{refused:#}");
    assert!(message.contains("main"), "{refused:#}");
    assert_eq!((sandbox.refs(), sandbox.visible_state()), state);
    // The way on that it names.
    desk.git(&["push", "-q", "origin", "main"]);
    sandbox.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
}

/// Two agents with work from before a migration that the desk has made, and that `way` publishes.
fn two_old(sandbox: &Sandbox) -> [View; 2] {
    with_origin(sandbox);
    let agents = ["ada", "bob"].map(|name| agent(sandbox, name));
    sandbox.colony(&["lfs", "migrate"]);
    for (name, agent) in ["ada", "bob"].iter().zip(&agents) {
        fs::write(agent.path(&format!("{name}.txt")), "work\n").unwrap();
        agent.colony(&["commit", "-m", "work", "--all"]);
    }
    agents
}

#[test]
fn each_way_on_of_each_agent_works_as_it_is_told_in_any_order() {
    // Who does what: `true` for the desk, which takes the work over, `false` for the agent, who takes what is new.
    for order in [[true, true], [false, false], [true, false], [false, true]] {
        let sandbox = grown();
        let agents = two_old(&sandbox);
        for ((name, agent), at_desk) in ["ada", "bob"].iter().zip(&agents).zip(order) {
            let (root, source) =
                if at_desk { (sandbox.root.clone(), *name) } else { (agent.path(""), "main") };
            let refused = sandbox.at(root.clone()).json(&["merge", source]);
            assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
            paste(&sandbox, &root, hint_of(&refused));
            // What is the other's is no obstacle to what is this one's.
            let merged = sandbox.json(&["merge", name]);
            assert_eq!(merged["ok"], true, "{merged:#}");
        }
        for name in ["ada.txt", "bob.txt"] {
            assert_eq!(sandbox.read(name), "work\n");
        }
        sandbox.check_invariants_of_git();
    }
}

#[test]
fn an_agent_takes_over_work_of_another_before_both_followed() {
    let sandbox = grown();
    let [ada, bob] = two_old(&sandbox);
    // Both are from before: they may merge with each other.
    ada.colony(&["merge", "bob"]);
    paste(&sandbox, &ada.path(""), hint_of(&ada.json(&["merge", "main"])));
    bob.write("bob.txt", "more\n");
    bob.colony(&["commit", "-m", "more", "--all"]);
    let refused = ada.json(&["merge", "bob"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    paste(&sandbox, &ada.path(""), hint_of(&refused));
    let merged = ada.json(&["merge", "bob"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    assert_eq!(fs::read_to_string(ada.path("bob.txt")).unwrap(), "more\n");
}

#[test]
fn a_second_migration_names_those_who_missed_the_first() {
    let sandbox = grown();
    let agents = two_old(&sandbox);
    fs::write(agents[0].path("edited.txt"), "edited\n").unwrap();
    let attributes = sandbox.read(".gitattributes");
    let more = "*.txt filter=lfs diff=lfs merge=lfs -text\n";
    sandbox.write(".gitattributes", format!("{attributes}{more}"));
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "more patterns"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    for round in 0.. {
        let answer = sandbox.json(&["lfs", "migrate"]);
        if answer["ok"] == true {
            assert_eq!((&answer["pushed"], round), (&true.into(), 2), "{answer:#}");
            break;
        }
        assert_eq!(answer["code"], "left-behind", "{answer:#}");
        assert!(round < 4, "{answer:#}");
        paste(&sandbox, &sandbox.root, hint_of(&answer));
        sandbox.git(&["push", "-q", "origin", "main"]);
    }
    for name in ["ada.txt", "bob.txt", "edited.txt"] {
        assert!(sandbox.path(name).exists(), "{name}");
        let pointer = sandbox.git(&["show", &format!("main:{name}")]);
        assert!(pointer.starts_with(POINTER), "{name}: {pointer}");
    }
}

#[test]
fn a_desk_joins_no_history_that_an_agents_clone_has_rewritten() {
    let (sandbox, _) = grown_with_origin();
    let ada = agent(&sandbox, "ada");
    ada.write("ada.txt", "work\n");
    ada.colony(&["commit", "-m", "work", "--all"]);
    let refused = ada.json(&["lfs", "migrate", "--no-push"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    // What the desk has alone would stay behind; a clone whose desk has nothing more may migrate.
    sandbox.git(&["push", "-q", "--all", "origin"]);
    sandbox.git(&["push", "-q", "--tags", "origin"]);
    ada.git(&["fetch", "-q", "origin", "+refs/heads/side:refs/heads/side"]);
    let made = ada.json(&["lfs", "migrate"]);
    assert_eq!(made["pushed"], true, "{made:#}");
    let before = sandbox.visible_state();
    let refused = sandbox.json(&["merge", "ada"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    assert_eq!(sandbox.visible_state(), before);
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    assert_eq!(sandbox.json(&["merge", "ada"])["outcome"], "fast_forward");
}

#[test]
fn a_clone_that_followed_what_is_taken_back_takes_it_back_too() {
    let (sandbox, bare) = grown_with_origin();
    let ada = agent(&sandbox, "ada");
    ada.write("ada.txt", "work\n");
    ada.colony(&["commit", "-m", "work", "--all"]);
    let before = ada.git(&["rev-parse", "HEAD"]);
    sandbox.colony(&["merge", "ada"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    assert_eq!(ada.json(&["lfs", "migrate"])["status"], "followed");
    // What is not published is not for the clone to publish, in parts at that.
    let theirs = sandbox.at(bare.clone()).git(&["for-each-ref"]);
    assert_eq!(ada.error(&["sync"]), "history-rewritten");
    let answer = ada.json(&["lfs", "migrate", "--continue"]);
    assert_eq!(answer["push_error_code"], "history-rewritten", "{answer:#}");
    assert_eq!(sandbox.at(bare.clone()).git(&["for-each-ref"]), theirs);
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    let told = ada.json(&["merge", "main"]);
    assert_eq!(told["code"], "history-rewritten", "{told:#}");
    assert!(ada.json(&["status"])["health"].to_string().contains("--abort"));
    let refused = sandbox.json(&["merge", "ada"]);
    assert_eq!(refused["code"], "history-rewritten", "{refused:#}");
    paste(&sandbox, &sandbox.root, hint_of(&refused));
    assert_eq!(ada.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(ada.git(&["diff", "--cached"]), "");
    // With the filters of its clone git calls a file modified that is whole in history, sooner or later.
    let paper = fs::read_to_string(ada.path("paper.pdf")).unwrap();
    assert_eq!(paper, ada.git(&["show", "HEAD:paper.pdf"]) + "\n");
    assert_eq!(sandbox.json(&["merge", "ada"])["outcome"], "up_to_date");
    // And by the way that the clone itself names.
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    ada.colony(&["lfs", "migrate"]);
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    paste(&sandbox, &ada.path(""), hint_of(&ada.json(&["merge", "main"])));
    assert_eq!(ada.git(&["rev-parse", "HEAD"]), before);
}

#[test]
fn protected_branches_follow_and_are_published_by_people() {
    let (sandbox, _bare) = grown_with_origin();
    sandbox.git(&["config", "colony.protect", "main"]);
    let ada = agent(&sandbox, "ada");
    ada.git(&["config", "colony.protect", "main fork/* *"]);
    ada.git(&["branch", "-f", "main", "HEAD"]);
    let before = ada.git(&["for-each-ref", "refs/heads"]);
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    for args in [&["--continue"][..], &["--continue", "-n"], &["--abort"]] {
        let args = [&["--agent", "bob", "lfs", "migrate"], args].concat();
        assert_eq!(sandbox.error(&args), "branch-protected");
    }
    let done = sandbox.json(&["clones", "refresh", "ada"]);
    assert!(done["followed"].is_string(), "{done:#}");
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    let done = sandbox.json(&["clones", "refresh", "ada"]);
    assert!(done["gave_up"].is_string(), "{done:#}");
    assert_eq!(ada.git(&["for-each-ref", "refs/heads"]), before);
}

#[test]
fn a_clone_that_followed_early_goes_on_once_it_is_published() {
    let (sandbox, bare) = grown_with_origin();
    let ada = agent(&sandbox, "ada");
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    ada.colony(&["lfs", "migrate"]);
    sandbox.colony(&["lfs", "migrate", "--continue"]);
    let theirs = sandbox.at(bare.clone()).git(&["for-each-ref"]);
    ada.colony(&["sync", "--fetch"]);
    assert!(ada.json(&["status"])["migration"].is_null());
    assert_eq!(sandbox.at(bare).git(&["for-each-ref"]), theirs);
    assert_eq!(ada.error(&["lfs", "migrate", "--abort"]), "nothing-to-resolve");
}

#[test]
fn a_refresh_says_beforehand_what_it_would_do() {
    let sandbox = grown();
    let [ada, _] = two_old(&sandbox);
    let state = |view: &View| (view.git(&["for-each-ref"]), view.worktree());
    let hub =
        PathBuf::from(sandbox.json(&["clones", "refresh", "ada", "-n"])["hub"].as_str().unwrap());
    let hub = sandbox.at(hub);
    let before = (state(&ada), hub.git(&["for-each-ref"]));
    let dry = sandbox.json(&["clones", "refresh", "ada", "-n"]);
    assert_eq!((&dry["dry_run"], &dry["would_follow"]), (&true.into(), &true.into()), "{dry:#}");
    assert!(dry["moved"].to_string().contains("origin/main"), "{dry:#}");
    assert_eq!((state(&ada), hub.git(&["for-each-ref"])), before);
    let done = sandbox.json(&["clones", "refresh", "ada"]);
    assert_eq!(done["moved"], dry["moved"], "{done:#}");
    assert!(done["followed"].is_string(), "{done:#}");
    let dry = sandbox.json(&["clones", "refresh", "ada", "-n"]);
    assert_eq!((&dry["moved"], &dry["would_follow"]), (&serde_json::json!([]), &false.into()));
}
