//! What an agent does all day, by tools alone, on a repository with a remote.

use serde_json::json;

use super::client::{Client, with_preview};
use crate::support::{Sandbox, View};

/// A repository whose `origin` is a bare one beside it.
fn published() -> Sandbox {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside().join("remote.git");
    let (here, there) = (sandbox.root.to_str().unwrap(), remote.to_str().unwrap());
    sandbox.git(&["clone", "-q", "--bare", here, there]);
    sandbox.git(&["remote", "add", "origin", there]);
    sandbox.git(&["fetch", "-q", "origin"]);
    sandbox.git(&["branch", "-q", "--set-upstream-to=origin/main"]);
    sandbox
}

fn fsck(view: &View) {
    view.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn an_agent_sets_up_and_maps_a_repository() {
    let sandbox = published();
    let mut client = Client::new(&sandbox);
    let set_up = json!({ "push": false, "enable_lfs": false });
    let made = client.done("initialize_repo_map", &set_up);
    assert_eq!((&made["status"], &made["pushed"]), (&json!("initialized"), &json!(false)));
    let mapped = client.done("materialize_repo_map", &json!({}));
    assert_eq!(mapped["results"][0]["status"], "mapped", "{mapped:#}");
    let listed = client.done("list_stored_pages", &json!({}));
    let id = &listed["pages"][0]["page_id"];
    let page = client.done("get_page", &json!({ "page_id": id }));
    assert_eq!(page["pages"][0]["page_id"], *id);
    assert!(page["pages"][0]["records"][0]["text"].is_string(), "{page:#}");
    drop(client);
    fsck(&sandbox);
}

/// A fork and `main` have changed one line, by tools.
fn with_conflict(sandbox: &Sandbox) -> Client {
    let mut client = Client::new(sandbox);
    client.done("fork_design", &json!({ "label": "shorter" }));
    sandbox.write("a.txt", "theirs\n");
    client.done("commit_state", &json!({ "message": "Shorten", "all_changes": true }));
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("a.txt", "ours\n");
    client.done("commit_state", &json!({ "message": "Lengthen", "paths": ["a.txt"] }));
    client
}

#[test]
fn an_agent_settles_a_conflict_and_picks_a_decision() {
    let sandbox = Sandbox::new();
    let mut client = with_conflict(&sandbox);
    let before = sandbox.visible_state();
    // It is an answer, not a failure: the model is to go on from here.
    let merge = json!({ "source_branch": "shorter" });
    let refused = client.done("merge_design", &merge);
    assert_eq!((&refused["ok"], &refused["code"]), (&json!(false), &json!("conflicted")));
    assert_eq!(refused["conflicts"][0]["path"], "a.txt");
    assert_eq!(refused["conflicts"][0]["kind"], "content");
    assert_eq!(sandbox.visible_state(), before);

    let settle = json!({ "source_branch": "shorter", "theirs": ["a.txt"] });
    let merged = client.done("merge_design", &settle);
    assert_eq!(merged["settled"], json!(["a.txt"]));
    assert_eq!(sandbox.read("a.txt"), "theirs\n");

    let choice = json!({
        "title": "Short names", "summary": "one word", "rationale": "they are typed", "rejected": ["long names"],
    });
    let decided = client.done("decide", &choice);
    let listed = client.done("list_recent_decisions", &json!({}));
    assert_eq!(listed["decisions"][0]["decision_id"], decided["decision_id"]);
    sandbox.git(&["branch", "release", "main~2"]);
    let pick = json!({ "commit_shas": ["short-names"], "target_branch": "release" });
    let picked = client.done("cherry_pick_decisions", &pick);
    assert_eq!(picked["picked"][0]["decision_id"], "short-names");
    sandbox.git(&["cat-file", "-e", "release:design/decisions/short-names.json"]);
    drop(client);
    fsck(&sandbox);
}

#[test]
fn a_restore_happens_after_a_preview_of_the_present_state() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    sandbox.write("a.txt", "two\n");
    let restore = json!({ "checkpoint_id": "start" });
    let before = sandbox.visible_state();
    let shown = client.done("restore_checkpoint", &restore);
    assert_eq!((&shown["applied"], &shown["dry_run"]), (&json!(false), &json!(true)));
    assert_eq!(sandbox.visible_state(), before);

    // What was shown is not what would happen now.
    sandbox.write("a.txt", "three\n");
    let changed = sandbox.visible_state();
    let stale = client.failed("restore_checkpoint", &with_preview(&restore, &shown));
    assert_eq!((&stale["code"], &stale["applied"]), (&json!("preview-stale"), &json!(false)));
    assert_ne!(stale["preview_id"], shown["preview_id"]);
    assert_eq!(stale["preview"]["files"]["rewritten"], 1, "{stale:#}");
    assert_eq!(sandbox.visible_state(), changed);

    let done = client.done("restore_checkpoint", &with_preview(&restore, &stale));
    assert_eq!(done["applied"], true);
    assert_eq!(sandbox.read("a.txt"), "one\n");
    let again = client.failed("restore_checkpoint", &with_preview(&restore, &stale));
    assert_eq!(again["code"], "preview-stale", "a preview counts once");
    client.done("undo", &json!({}));
    assert_eq!(sandbox.visible_state(), changed);
    client.done("redo", &json!({}));
    assert_eq!(sandbox.read("a.txt"), "one\n");
    drop(client);
    fsck(&sandbox);
}

#[test]
fn a_preview_is_of_one_call_with_its_arguments() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    sandbox.write("a.txt", "two\n");
    sandbox.write("dir/b.txt", "two\n");
    let some = json!({ "checkpoint_id": "start", "paths": ["a.txt"] });
    let shown = client.done("restore_checkpoint", &some);
    let before = sandbox.visible_state();
    let other = with_preview(&json!({ "checkpoint_id": "start" }), &shown);
    let stale = client.failed("restore_checkpoint", &other);
    assert_eq!(stale["code"], "preview-stale");
    let delete = with_preview(&json!({ "checkpoint_ids": ["start"] }), &stale);
    assert_eq!(client.failed("delete_checkpoints", &delete)["code"], "preview-stale");
    assert_eq!(sandbox.visible_state(), before);
    let done = client.done_by_preview("restore_checkpoint", &some);
    assert_eq!(done["files"]["rewritten"], 1, "{done:#}");
    assert_eq!(sandbox.read("dir/b.txt"), "two\n");
}

#[test]
fn an_agent_is_created_seen_and_removed() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox);
    let made = client.done("new_agent", &json!({ "name": "ada" }));
    let clone = sandbox.at(made["path"].as_str().unwrap().into());
    let seen = client.done("fleet", &json!({}));
    assert_eq!(seen["agents"][0]["agent"], "ada", "{seen:#}");
    assert_eq!(client.done("list_agents", &json!({}))["count"], 1);
    let ada = json!({ "name": "ada" });
    clone.write("new.txt", "not kept\n");
    let shown = client.done("remove_agent", &ada);
    assert!(clone.root.exists(), "a preview removes nothing");
    let done = client.done("remove_agent", &with_preview(&ada, &shown));
    assert_eq!(done["applied"], true, "{done:#}");
    assert!(!clone.root.exists());
    client.done("restore_agent", &ada);
    assert_eq!(clone.read("new.txt"), "not kept\n", "a removed agent comes back whole");
    drop(client);
    fsck(&sandbox);
}

#[test]
fn nothing_is_published_before_a_person_consents() {
    let sandbox = published();
    let remote = sandbox.at(sandbox.outside().join("remote.git"));
    let before = remote.refs();
    let mut client = Client::new(&sandbox);
    client.done("checkpoint_state", &json!({ "label": "start" }));
    let told = client.done_by_preview("sync", &json!({}));
    assert_eq!(told["consent"], "missing", "{told:#}");
    assert!(told["waiting"]["command"].as_str().unwrap().contains("--push"));
    assert_eq!(remote.refs(), before);

    sandbox.colony(&["sync", "--push"]);
    client.done("checkpoint_state", &json!({ "label": "later", "off_branch": true }));
    // Who has consented need not be asked again.
    let synced = client.done("sync", &json!({}));
    assert_eq!((&synced["consent"], &synced["dry_run"]), (&json!("given"), &json!(false)));
    let kept = remote.git(&["for-each-ref", "--format=%(refname)", "refs/colony/checkpoints"]);
    assert_eq!(kept.lines().count(), 2, "{kept}");
    drop(client);
    fsck(&sandbox);
    fsck(&remote);
}

/// A server for a harness whose session has this id.
fn in_session(sandbox: &Sandbox, id: &str) -> Client {
    Client::new(&sandbox.with("COLONY_SESSION", id))
}

#[test]
fn a_second_session_goes_on_from_the_first() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "parser.md",
        "# Parser\n\nThe parser reads numbers. It stops at the first byte that no number has.\n",
    );
    let parser =
        json!({ "question": "what does the parser read", "plan": "default", "budget_tokens": 400 });

    let mut first = in_session(&sandbox, "first");
    let begun = first.done("session_new", &json!({ "plan": "default" }));
    assert_eq!(begun["session_id"], "first");
    let read = first.done("hydrate_tiers_for_plan", &json!({ "plan": "default" }));
    assert!(read["stored"].as_u64() > Some(0), "{read:#}");
    let context = first.done("context", &parser);
    let text = context["text"].as_str().unwrap();
    assert!(text.contains("The parser reads numbers."), "{text}");
    assert_eq!(first.done("context", &parser), context);
    sandbox.write(
        "parser.md",
        "# Parser\n\nThe parser reads words, too. It stops at the first byte that no word has.\n",
    );
    let kept = first.done("checkpoint_state", &json!({ "label": "words" }));
    first.done("session_note", &json!({ "text": "dates are next" }));
    first.done("memory_add", &json!({ "text": "the parser is in parser.md" }));
    first.done("session_end", &json!({}));
    drop(first);

    let mut second = in_session(&sandbox, "second");
    second.done("session_new", &json!({}));
    let notes = second.done("memory_show", &json!({}));
    assert!(notes["text"].as_str().unwrap().contains("the parser is in parser.md"));
    let before = second.done("session_show", &json!({ "session": "first" }));
    assert_eq!(
        (&before["state"], &before["checkpoints"][0]["checkpoint_id"]),
        (&json!("ended"), &kept["checkpoint_id"]),
        "{before:#}"
    );
    assert_eq!(before["entries"][0]["path"], "parser.md");
    assert!(before.to_string().contains("dates are next"), "{before:#}");
    let context = second.done("context", &parser);
    let text = context["text"].as_str().unwrap();
    assert!(text.contains("reads words, too"), "{text}");
    drop(second);
    fsck(&sandbox);
}
