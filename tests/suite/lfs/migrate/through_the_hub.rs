//! A migration to git-lfs where several work on one machine: what others have published in the hub stops it,
//! and protected branches are moved by people.

use super::rewrite::grown_with_origin;

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
    let refused = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(refused["code"], "left-behind", "{refused:#}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("another checkout"), "{refused:#}");
    assert!(message.contains("main"), "{refused:#}");
    assert_eq!((sandbox.refs(), sandbox.visible_state()), state);
    // The way on that it names.
    desk.git(&["push", "-q", "origin", "main"]);
    sandbox.git(&["pull", "-q", "--ff-only", "origin", "main"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
}

#[test]
fn protected_branches_are_rewritten_and_published_by_people() {
    let (sandbox, _bare) = grown_with_origin();
    sandbox.git(&["config", "colony.protect", "main"]);
    let of_agent = ["--agent", "bob", "lfs", "migrate", "--push-if-allowed"];
    assert_eq!(sandbox.error(&of_agent), "branch-protected");
    assert_eq!(sandbox.error(&["--agent", "bob", "lfs", "migrate", "--push"]), "approval-refused");
    sandbox.colony(&["lfs", "migrate"]);
    assert_eq!(sandbox.error(&["--agent", "bob", "undo"]), "branch-protected");
    sandbox.colony(&["lfs", "migrate", "--push"]);
}
