//! Actions that change something answer the same by each face, and leave the same behind.

use std::ffi::OsString;

use serde_json::{Value, json};

use super::contract::FULL;
use super::{answer, call_at, conversation, result, serve_at};
use crate::support::Sandbox;

/// The actions, their arguments, and the command of the same work.
const CHANGES: &[(&str, &str, &str)] = &[
    ("checkpoint_state", r#"{"label":"second"}"#, "checkpoint -m second"),
    ("checkpoint_state", r#"{"label":"named","all_changes":false}"#, "tag -m named"),
    ("tag_checkpoint", r#"{"label":"older","sha":"HEAD~1"}"#, "tag -m older HEAD~1"),
    ("delete_checkpoints", r#"{"checkpoint_ids":["first"]}"#, "checkpoints delete first"),
    ("restore_checkpoint", r#"{"checkpoint_id":"first"}"#, "restore first"),
    (
        "restore_checkpoint",
        r#"{"checkpoint_id":"first","mode":"fork","recovery_label":"back"}"#,
        "restore first --mode fork --label back",
    ),
    ("restore_checkpoint", r#"{"checkpoint_id":"first","paths":["src"]}"#, "restore first -- src"),
    ("undo", r#"{"steps":1,"force":true}"#, "undo 1 --force"),
    ("redo", "{}", "redo"),
    ("commit_state", r#"{"message":"m","all_changes":true}"#, "commit -m m --all"),
    ("commit_state", r#"{"message":"m","paths":["src/a.rs"]}"#, "commit -m m src/a.rs"),
    (
        "fork_design",
        r#"{"label":"new","from_sha":"HEAD~1","checkout":false}"#,
        "fork new --from HEAD~1 --no-switch",
    ),
    ("delete_fork", r#"{"label":"other"}"#, "forks delete other"),
    ("merge_design", r#"{"source_branch":"fork/other","message":"m"}"#, "merge fork/other -m m"),
    (
        "cherry_pick_decisions",
        r#"{"commit_shas":["HEAD"],"target_branch":"fork/other"}"#,
        "cherry-pick HEAD --into fork/other",
    ),
    ("land_work", r#"{"names":["fork/other"],"squash":true}"#, "land fork/other --squash"),
    ("try_work", r#"{"names":["fork/other"]}"#, "try fork/other"),
    ("revert_work", r#"{"name":"other"}"#, "revert other"),
    ("decide", r#"{"title":"Another","paths":["src/a.rs"]}"#, "decide -m Another src/a.rs"),
    ("remove_agent", r#"{"name":"ada"}"#, "agents remove ada"),
    ("restore_agent", r#"{"name":"ada"}"#, "agents restore ada"),
    ("refresh_clone", r#"{"clone_id":"none"}"#, "clones refresh none"),
    ("materialize_repo_map", r#"{"worktree":true}"#, "map --worktree"),
    ("materialize_repo_map", r#"{"base_scope_id":"o"}"#, "map --base-scope o"),
    (
        "materialize_repo_map",
        r#"{"origin_url":"ext::id","branch":"main","commit":"HEAD"}"#,
        "map --url ext::id --branch main --commit HEAD",
    ),
    ("munmap_scope", r#"{"scope_id":"SCOPE"}"#, "scopes unmap SCOPE"),
    (
        "request_pages",
        r#"{"page_ids":["PAGE"],"timeout_s":60,"lock_duration_s":60,"lock_reason":"why"}"#,
        "pages request PAGE --timeout 60 --lock 60 --reason why",
    ),
    (
        "watch_repo",
        r#"{"scope_id":"default","paths":["a.txt"],"debounce_seconds":0.5,"watch_id":"mine"}"#,
        "watch default a.txt --debounce 0.5 --id mine --detach",
    ),
    ("unwatch_repo", r#"{"watch_id":"mine"}"#, "watches stop mine"),
    ("request_pages", r#"{"page_ids":[]}"#, "pages request"),
    (
        "lock_pages",
        r#"{"page_ids":["PAGE","none"],"reason":"why"}"#,
        "pages lock PAGE none --ttl 300 --reason why",
    ),
    ("unlock_pages", r#"{"page_ids":["PAGE"]}"#, "pages unlock PAGE"),
    ("extend_lock", r#"{"page_id":"PAGE","additional_s":60}"#, "pages extend PAGE --by 60"),
    (
        "blackboard_put",
        r#"{"scope":"plan","key":"owner","value":"ada","if_version":"0"}"#,
        "blackboard put plan owner ada --if-version 0",
    ),
    ("blackboard_delete", r#"{"scope":"plan","key":"state"}"#, "blackboard delete plan state"),
    (
        "ingest",
        r#"{"paths":["src/a.rs"],"profile":"tool","offline":true}"#,
        "ingest src/a.rs --profile tool --offline",
    ),
    ("clear_knowledge", r#"{"sources":["docs/b.md"]}"#, "knowledge clear docs/b.md"),
    ("promote", r#"{"paths":["docs/b.md"]}"#, "promote docs/b.md"),
    ("demote", r#"{"paths":["src"]}"#, "demote src"),
    ("hydrate_tiers_from_project", r#"{"project":"default"}"#, "context hydrate --project default"),
    ("hydrate_tiers_for_plan", "{}", "context hydrate"),
    (
        "mmap_blackboard_scope",
        r#"{"scope":"plan","namespace":"pages"}"#,
        "map blackboard plan --namespace pages",
    ),
    ("initialize_repo_map", r#"{"push":false}"#, "init --no-push --lfs"),
    (
        "bootstrap_repo",
        r#"{"template":"python_lib","purpose":"p","name":"n","license":"MIT","capability":"c"}"#,
        "tools new --template python_lib --purpose p --name n --license MIT --capability c",
    ),
    ("sync", "{}", "sync"),
    ("session_new", r#"{"plan":"default"}"#, "session new"),
    ("session_note", r#"{"text":"words"}"#, "session note words"),
    ("session_end", "{}", "session end"),
    ("lfs_hydrate", r#"{"paths":["src"]}"#, "lfs hydrate src"),
    ("lfs_migrate", r#"{"push":false}"#, "lfs migrate --no-push"),
];

/// What needs a clone or another repository, whose paths and ids are in the answer, or answers with the state of a copy.
const ELSEWHERE: [&str; 12] = [
    "agent_done",
    "catalog_refresh",
    "repo_index_refresh",
    "memory_add",
    "new_agent",
    "mmap_repo",
    "run_tests",
    "check_workspace",
    "test_all",
    "build_crate",
    "lint_crate",
    "coverage_report",
];

/// A copy with an uncommitted change, and what puts the ids of its scope and its page into a text.
fn changed() -> (Sandbox, impl Fn(&str) -> String) {
    let sandbox = FULL.copy();
    sandbox.write("src/a.rs", "fn a() { b() }\n");
    sandbox.colony(&["session", "new"]);
    let scopes = sandbox.json(&["scopes"]);
    let id = |answer: &Value| answer.as_str().unwrap().to_owned();
    let scope = id(&scopes["mappings"][0]["scope_id"]);
    let page = id(&sandbox.json(&["pages"])["pages"][0]["page_id"]);
    let fill = move |text: &str| text.replace("SCOPE", &scope).replace("PAGE", &page);
    (sandbox, fill)
}

/// An answer without the place of the copy, and the id that it has by its place.
fn without_place(sandbox: &Sandbox, answer: &Value) -> String {
    let place = sandbox.outside().display().to_string();
    let id = sandbox.json(&["id"])["repository_id"].clone();
    let text = format!("{answer:#}").replace(&place, "PLACE");
    text.replace(id.as_str().unwrap(), "ID")
}

fn by_command(command: &str) -> (String, Value) {
    let (sandbox, fill) = changed();
    let command = fill(command);
    let words = ["--json"].into_iter().chain(command.split(' ')).map(OsString::from);
    let told = answer(&sandbox.run_os(sandbox.world(), words.collect()).stdout);
    (without_place(&sandbox, &told), json!(sandbox.visible_state().refs))
}

fn by_call(action: &str, arguments: &str) -> (String, Value) {
    let (sandbox, fill) = changed();
    let arguments = answer(&fill(arguments));
    let told = call_at(&sandbox, sandbox.world(), action, &arguments);
    (without_place(&sandbox, &told), json!(sandbox.visible_state().refs))
}

fn by_server(action: &str, arguments: &str) -> (String, Value) {
    let (sandbox, fill) = changed();
    let arguments = answer(&fill(arguments));
    let input = conversation(&[(action, arguments)]);
    let messages = serve_at(&sandbox, sandbox.world(), &["--trust"], input);
    let told = result(&messages, 0)["structuredContent"].clone();
    (without_place(&sandbox, &told), json!(sandbox.visible_state().refs))
}

#[test]
fn every_face_changes_the_same() {
    for (action, arguments, command) in CHANGES {
        let typed = by_command(command);
        assert_eq!(by_call(action, arguments), typed, "{action}");
        assert_eq!(by_server(action, arguments), typed, "{action}");
    }
}

#[test]
fn every_action_that_changes_is_compared() {
    let sandbox = Sandbox::new();
    let told = answer(&sandbox.colony(&["--json", "call"]));
    let rows = told["actions"].as_array().unwrap().iter();
    let changes = rows.filter(|row| row["writes"] == true);
    let names = changes.map(|row| row["name"].as_str().unwrap());
    let compared =
        |name: &&str| ELSEWHERE.contains(name) || CHANGES.iter().any(|row| row.0 == *name);
    let missing: Vec<_> = names.filter(|name| !compared(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
