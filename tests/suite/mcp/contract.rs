//! The contract of the actions: their names and arguments, and that each face answers the same.

use std::collections::BTreeSet;
use std::ffi::OsString;

use git_colony::testing::Tokenizer;
use serde_json::{Value, json};

use super::{answer, call_at, conversation, result, serve_at, tool_at};
use crate::support::Sandbox;
use crate::support::fixture::Fixture;

/// What the specification names, with the arguments it gives them.
const SPECIFIED: &[(&str, &[&str])] = &[
    ("get_repo_state", &[]),
    ("find_existing_tool", &["capability_query", "require_writable"]),
    ("list_recent_decisions", &["since", "limit"]),
    ("diff_against_checkpoint", &["checkpoint_id"]),
    ("get_branch_topology", &[]),
    ("checkpoint_state", &["label", "rationale", "all_changes"]),
    ("tag_checkpoint", &["label", "rationale", "sha"]),
    ("list_checkpoints", &[]),
    ("restore_checkpoint", &["checkpoint_id", "mode", "recovery_label"]),
    ("fork_design", &["label", "from_sha", "checkout"]),
    ("list_forks", &[]),
    ("merge_design", &["source_branch", "target_branch", "message"]),
    ("cherry_pick_decisions", &["commit_shas", "target_branch"]),
    ("commit_state", &["message", "paths", "all_changes"]),
    ("diff_design", &["ref_a", "ref_b"]),
    ("initialize_repo_map", &["push", "enable_lfs", "migrate_existing_to_lfs"]),
    (
        "bootstrap_repo",
        &[
            "template",
            "name",
            "purpose",
            "license",
            "capability",
            "description",
            "target",
            "initial_files",
            "template_vars",
        ],
    ),
    ("materialize_repo_map", &["origin_url", "branch", "commit", "base_scope_id"]),
    ("mmap_repo", &["origin_url", "local_repo_path", "branch", "commit", "scope_id", "config"]),
    ("mmap_blackboard_scope", &["scope", "scope_id", "namespace"]),
    ("munmap_scope", &["scope_id"]),
    ("is_scope_mapped", &["scope_id"]),
    ("get_scope_status", &["scope_id"]),
    ("list_mapped_scopes", &[]),
    ("watch_repo", &["scope_id", "paths", "on_change", "debounce_seconds", "watch_id"]),
    ("unwatch_repo", &["watch_id"]),
    ("list_watches", &[]),
    ("get_page_graph", &["max_nodes"]),
    ("list_stored_pages", &["source_pattern", "limit", "offset"]),
    ("get_pages_for_scope", &["scope_id", "include_metadata"]),
    ("get_vcm_stats", &[]),
    ("fleet", &[]),
    ("undo", &[]),
    ("decide", &[]),
    ("preview_repo_map", &["origin_url", "branch", "commit", "base_scope_id"]),
    ("check_repo_map", &["origin_url", "branch", "commit"]),
    ("repo_status", &[]),
    ("git_log", &["max_commits"]),
    ("git_diff", &["path"]),
    ("git_status", &[]),
    ("git_blame", &["path"]),
    ("validate_file", &["path"]),
    ("run_tests", &["package"]),
    ("check_workspace", &[]),
    ("test_all", &[]),
    ("build_crate", &["package"]),
    ("lint_crate", &["package"]),
    ("coverage_report", &[]),
    ("repo_index_status", &[]),
    ("repo_index_refresh", &[]),
    ("catalog_list", &[]),
    ("catalog_refresh", &[]),
    ("query_text", &["query", "repositories", "regex", "case_sensitive", "max_matches"]),
    ("query_file", &["path", "repositories", "max_bytes"]),
    ("query_log", &["path", "contains", "repositories", "max_commits"]),
];

/// A repository with something of everything.
pub(super) static FULL: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "fn a() {}\n");
    sandbox.write("docs/b.md", "# B\n\nWords about b.\n");
    sandbox.colony(&["init", "--no-push"]);
    sandbox.colony(&["checkpoint", "-m", "first", "--rationale", "to begin with"]);
    sandbox.colony(&[
        "decide",
        "-m",
        "Use a file",
        "--id",
        "use-a-file",
        "--rationale",
        "it is there",
    ]);
    sandbox.colony(&["fork", "other", "--no-switch"]);
    sandbox.colony(&["map"]);
    sandbox.colony(&["ingest", "docs"]);
    sandbox.colony(&["blackboard", "put", "plan", "state", "begun"]);
    sandbox
});

#[test]
fn a_copy_of_the_repository_for_the_contract_is_whole() {
    FULL.check();
}

#[test]
fn every_action_of_the_specification_has_its_arguments() {
    let sandbox = Sandbox::new();
    for (action, wanted) in SPECIFIED {
        let told = answer(&sandbox.colony(&["--json", "call", action, "--schema"]));
        let schema = &told["actions"][0]["arguments"];
        let has: BTreeSet<_> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        // Some are published under one word for all actions, and accepted by this one.
        let is_accepted = |name: &str| {
            let asked = json!({ name: null }).to_string();
            let told = sandbox.run(&["--json", "call", "-n", action, &asked]).stdout;
            !told.contains("is not an argument of")
        };
        let missing: Vec<_> =
            wanted.iter().filter(|name| !has.contains(*name) && !is_accepted(name)).collect();
        assert!(missing.is_empty(), "{action} has no {missing:?}");
    }
}

/// Actions that read, their arguments, and the command of the same answer. Names in capitals stand for ids.
const SAME: &[(&str, &str, &str)] = &[
    ("repo_index_status", "{}", "index"),
    ("session_list", "{}", "session list"),
    ("session_show", r#"{"session":"none"}"#, "session show none"),
    ("git_log", r#"{"max_commits":2}"#, "git log -n 2"),
    ("git_diff", r#"{"path":"src","staged":true}"#, "git diff --staged src"),
    ("git_status", "{}", "git status"),
    ("git_blame", r#"{"path":"src/a.rs"}"#, "git blame src/a.rs"),
    ("validate_file", r#"{"path":"src/a.rs"}"#, "validate src/a.rs"),
    ("get_repo_state", "{}", "status"),
    ("list_checkpoints", r#"{"all":true}"#, "checkpoints --all"),
    ("show_checkpoint", r#"{"checkpoint_id":"first"}"#, "checkpoints show first"),
    ("list_operations", r#"{"limit":2}"#, "ops -n 2"),
    ("show_operation", r#"{"operation":"op-1"}"#, "ops show op-1"),
    (
        "diff_design",
        r#"{"ref_a":"HEAD~1","ref_b":"HEAD","paths":["design"]}"#,
        "diff --patch HEAD~1 HEAD -- design",
    ),
    (
        "diff_against_checkpoint",
        r#"{"checkpoint_id":"CHECKPOINT"}"#,
        "diff --patch --checkpoint CHECKPOINT",
    ),
    ("get_branch_topology", "{}", "topology"),
    ("list_forks", r#"{"conflicts":true}"#, "forks --conflicts"),
    ("list_recent_decisions", r#"{"limit":3}"#, "decisions --limit 3"),
    ("show_decision", r#"{"decision_id":"use-a-file"}"#, "decisions show use-a-file"),
    ("show_log", r#"{"name":"fork/other"}"#, "log fork/other"),
    ("list_projects", "{}", "projects"),
    ("list_plans", "{}", "plans"),
    ("list_groups", r#"{"paths":["src/a.rs"]}"#, "groups src/a.rs"),
    ("list_groups", r#"{"agents":true}"#, "groups --agents"),
    ("list_paths", "{}", "paths"),
    ("fleet", "{}", "fleet"),
    ("list_agents", "{}", "agents"),
    ("list_events", r#"{"limit":2}"#, "events -n 2"),
    (
        "wait_events",
        r#"{"since":"0:0","keys":["branch_changed:"],"timeout_s":60,"limit":1}"#,
        "--timeout 60 events --wait --since 0:0 --key branch_changed: -n 1",
    ),
    ("check_paths", r#"{"name":"ada","paths":["src/a.rs"]}"#, "agents check ada src/a.rs"),
    ("get_guide", "{}", "agents guide"),
    (
        "search",
        r#"{"query":"words","limit":3,"globs":["*.rs","*.md"],"raw":true}"#,
        "search words --limit 3 --path *.rs --path *.md --raw",
    ),
    (
        "context",
        r#"{"question":"words","budget_tokens":500,"exclude_resident":true}"#,
        "context --question words --budget 500 --exclude-resident",
    ),
    ("list_clones", "{}", "clones list"),
    ("list_colonies", "{}", "colony list"),
    ("check_repo_map", "{}", "map check"),
    ("show_repo_map", r#"{"revision":"HEAD"}"#, "map show --rev HEAD"),
    (
        "check_repo_map",
        r#"{"origin_url":"ext::id","branch":"main"}"#,
        "map check --url ext::id --branch main",
    ),
    (
        "show_repo_map",
        r#"{"origin_url":"ext::id","commit":"none"}"#,
        "map show --url ext::id --commit none",
    ),
    ("preview_repo_map", "{}", "map preview"),
    ("preview_repo_map", r#"{"base_scope_id":"o"}"#, "map preview --base-scope o"),
    ("show_repo_tree", r#"{"max_depth":2,"tokens":true}"#, "map tree --max-depth 2 --tokens"),
    (
        "show_repo_tree",
        r#"{"origin_url":"ext::id","branch":"main"}"#,
        "map tree --url ext::id --branch main",
    ),
    ("is_scope_mapped", r#"{"scope_id":"SCOPE"}"#, "scopes mapped SCOPE"),
    ("is_scope_mapped", r#"{"scope_id":"none"}"#, "scopes mapped none"),
    ("get_scope_status", r#"{"scope_id":"SCOPE"}"#, "scopes show SCOPE"),
    ("list_mapped_scopes", "{}", "scopes"),
    ("list_knowledge", "{}", "knowledge"),
    ("list_watches", "{}", "watches"),
    ("blackboard_get", r#"{"scope":"plan","key":"state"}"#, "blackboard get plan state"),
    ("blackboard_list", r#"{"scope":"plan"}"#, "blackboard list plan"),
    ("list_stored_pages", "{}", "pages --limit 2000"),
    (
        "list_stored_pages",
        r#"{"source_pattern":"none","limit":5}"#,
        "pages --source none --limit 5",
    ),
    (
        "get_pages_for_scope",
        r#"{"scope_id":"SCOPE"}"#,
        "pages --scope SCOPE --no-records --limit 1000",
    ),
    (
        "get_pages_for_scope",
        r#"{"scope_id":"SCOPE","include_metadata":true,"offset":1}"#,
        "pages --scope SCOPE --limit 1000 --offset 1",
    ),
    ("get_page", r#"{"page_id":"PAGE"}"#, "pages show PAGE"),
    ("get_page", r#"{"page_ids":["PAGE"],"neighbours":true}"#, "pages show PAGE --neighbours"),
    ("get_page", r#"{"path":"src","scope_id":"SCOPE"}"#, "pages show --path src --scope SCOPE"),
    ("get_page_graph", r#"{"max_nodes":10}"#, "pages graph --max-nodes 10"),
    ("get_vcm_stats", "{}", "pages stats"),
    ("get_resident_pages", "{}", "pages resident"),
    ("get_resident_pages", r#"{"format":"text"}"#, "pages resident --format text"),
    ("find_existing_tool", r#"{"capability_query":"parse"}"#, "tools find parse"),
    ("list_tools", "{}", "tools"),
    ("lfs_status", "{}", "lfs status"),
    ("list_hooks", "{}", "hooks status"),
    ("get_config", "{}", "config list"),
    ("repo_status", "{}", "id"),
    ("version", "{}", "version"),
    ("show_checkpoint", r#"{"checkpoint_id":"none"}"#, "checkpoints show none"),
    ("get_page", r#"{"page_id":"--none"}"#, "pages show -- --none"),
];

/// What needs more than the repository of these tests has.
const ELSEWHERE: [&str; 15] = [
    "agent_path",
    "catalog_list",
    "catalog_refresh",
    "diff_pages",
    "doctor",
    "find",
    "history",
    "memory_show",
    "query_file",
    "query_list",
    "query_log",
    "query_text",
    "read",
    "repo_index_refresh",
    "show_agent",
];

/// Returns a function that puts the ids of the repository in the place of names in capitals.
fn filler(sandbox: &Sandbox) -> impl Fn(&str) -> String {
    let first = |list: &str, name: &str, id: &str| {
        let told = sandbox.json(&[list]);
        told[name][0][id].as_str().unwrap().to_owned()
    };
    let ids = [
        ("CHECKPOINT", first("checkpoints", "checkpoints", "checkpoint_id")),
        ("SCOPE", first("scopes", "mappings", "scope_id")),
        ("PAGE", first("pages", "pages", "page_id")),
    ];
    move |text: &str| {
        let ids = ids.iter();
        ids.fold(text.to_owned(), |text, (name, id)| text.replace(name, id))
    }
}

/// Returns calls of the actions that read, with arguments.
pub(super) fn reading_calls(sandbox: &Sandbox) -> Vec<(&'static str, Value)> {
    let fill = filler(sandbox);
    SAME.iter().map(|(action, arguments, _)| (*action, answer(&fill(arguments)))).collect()
}

#[test]
fn every_face_answers_the_same() {
    let sandbox = FULL.copy();
    // The first search alone makes the index, and says so.
    sandbox.colony(&["search", "words"]);
    let fill = filler(&sandbox);
    for (action, arguments, command) in SAME {
        let at = || sandbox.world_at(100_000);
        let arguments = answer(&fill(arguments));
        let command = fill(command);
        let words = ["--json"].into_iter().chain(command.split(' ')).map(OsString::from);
        let typed = answer(&sandbox.run_os(at(), words.collect()).stdout);
        assert_eq!(call_at(&sandbox, at(), action, &arguments), typed, "{action}");
        assert_eq!(tool_at(&sandbox, at(), action, &arguments), typed, "{action}");
    }
}

#[test]
fn every_action_that_reads_is_compared() {
    let sandbox = Sandbox::new();
    let told = answer(&sandbox.colony(&["--json", "call"]));
    let rows = told["actions"].as_array().unwrap().iter();
    let reads = rows.filter(|row| row["writes"] == false);
    let names = reads.map(|row| row["name"].as_str().unwrap());
    let compared = |name: &&str| ELSEWHERE.contains(name) || SAME.iter().any(|row| row.0 == *name);
    let missing: Vec<_> = names.filter(|name| !compared(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_list_has_its_count() {
    let sandbox = FULL.copy();
    for (action, list) in [
        ("list_checkpoints", "checkpoints"),
        ("list_operations", "ops"),
        ("list_forks", "forks"),
        ("list_recent_decisions", "decisions"),
        ("list_agents", "agents"),
        ("list_events", "events"),
        ("list_clones", "clones"),
        ("list_mapped_scopes", "mappings"),
        ("list_watches", "watches"),
        ("list_stored_pages", "pages"),
        ("list_tools", "tools"),
        ("list_hooks", "hooks"),
    ] {
        let told = call_at(&sandbox, sandbox.world(), action, &json!({}));
        assert_eq!(
            told[list].as_array().map(Vec::len),
            told["count"].as_u64().map(|count| usize::try_from(count).unwrap()),
            "{action} {told:#}"
        );
    }
}

#[test]
fn numbers_of_page_locks_are_numbers() {
    let sandbox = Sandbox::new();
    let of = |action: &str, argument: &str| {
        let told = answer(&sandbox.colony(&["--json", "call", action, "--schema"]));
        told["actions"][0]["arguments"]["properties"][argument]["type"].clone()
    };
    assert_eq!(of("lock_pages", "ttl_s"), "number");
    assert_eq!(of("watch_repo", "debounce_seconds"), "number");
    assert_eq!(of("extend_lock", "additional_s"), "number");
    assert_eq!(of("request_pages", "lock_duration_s"), "number");
    assert_eq!(of("request_pages", "timeout_s"), "integer");
    assert_eq!(of("request_pages", "priority"), "integer");
}

#[test]
fn the_list_of_tools_is_short_enough() {
    let sandbox = Sandbox::new();
    let ask = json!({ "jsonrpc": "2.0", "id": "tools", "method": "tools/list" });
    let input = conversation(&[]) + &format!("{ask}\n");
    let messages = serve_at(&sandbox, sandbox.world(), &["--tools", "all"], input);
    let tokens = Tokenizer::O200k.count(&result(&messages, "tools").to_string());
    assert!(tokens <= 12_750, "{tokens}");
    let input = conversation(&[]) + &format!("{ask}\n");
    let messages = serve_at(&sandbox, sandbox.world(), &["--only", "states"], input);
    let some = result(&messages, "tools");
    assert!(Tokenizer::O200k.count(&some.to_string()) < tokens / 2, "{some:#}");
}

#[test]
fn json_is_one_line_where_no_terminal_reads_it() {
    let sandbox = Sandbox::new();
    for args in [&["--json", "status"][..], &["call", "get_repo_state"], &["call", "none"]] {
        let output = sandbox.program().args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(answer(&text)["ok"].is_boolean() && !text.contains("\": "), "{text}");
    }
}

#[test]
fn an_unknown_method_is_answered_by_a_sentence() {
    let sandbox = Sandbox::new();
    let ask = json!({ "jsonrpc": "2.0", "id": "odd", "method": "tools/nosuch" });
    let input = conversation(&[]) + &format!("{ask}\n");
    let messages = serve_at(&sandbox, sandbox.world(), &[], input);
    let answer = messages.iter().find(|message| message["id"] == "odd");
    let error = &answer.unwrap()["error"];
    assert_eq!(error["code"], -32601, "{error:#}");
    assert_eq!(error["message"], "no method is called 'tools/nosuch'");
}

#[test]
fn arguments_never_become_options() {
    let sandbox = FULL.copy();
    let before = sandbox.visible_state();
    for (action, arguments) in [
        ("show_checkpoint", json!({ "checkpoint_id": "--help" })),
        ("diff_design", json!({ "ref_a": "--output=pwned" })),
        ("restore_checkpoint", json!({ "checkpoint_id": "--force" })),
        ("fork_design", json!({ "label": "--from=HEAD" })),
        ("undo", json!({ "steps": "--force" })),
        ("merge_design", json!({ "source_branch": "--abort" })),
        ("find_existing_tool", json!({ "capability_query": 7, "require_writable": "yes" })),
        ("checkpoint_state", json!({ "label": ["a"] })),
        ("checkpoint_state", json!({})),
        ("checkpoint_state", json!({ "label": "a\u{0}b" })),
        ("mmap_repo", json!({ "config": { "run": "id" } })),
    ] {
        let told = call_at(&sandbox, sandbox.world(), action, &arguments);
        assert_eq!(told["ok"], false, "{action} {told:#}");
        assert!(told["code"].is_string(), "{action} {told:#}");
    }
    assert_eq!(sandbox.visible_state(), before);
    // An empty list of paths is not all of them.
    let none = json!({ "checkpoint_id": "first", "paths": [] });
    let told = call_at(&sandbox, sandbox.world(), "restore_checkpoint", &none);
    assert_eq!(told["ok"], false, "{told:#}");
}

#[test]
fn a_tool_is_made_of_files_and_variables() {
    let sandbox = FULL.copy();
    let arguments = json!({
        "target": "subdir_in_monorepo:tools/parse/words",
        "template": "python_lib",
        "license": "MIT",
        "capability": "split words",
        "initial_files": { "notes/a=b.md": "refused", },
    });
    let told = call_at(&sandbox, sandbox.world(), "bootstrap_repo", &arguments);
    assert_eq!(told["code"], "usage", "{told:#}");
    let mut arguments = arguments;
    arguments["initial_files"] = json!({ "notes.md": "-- not an option\n", "data/x.txt": "k=v\n" });
    arguments["template_vars"] = json!({ "version": "1.2.3" });
    let told = call_at(&sandbox, sandbox.world(), "bootstrap_repo", &arguments);
    assert_eq!(told["ok"], true, "{told:#}");
    assert_eq!(sandbox.read("tools/parse/words/data/x.txt"), "k=v\n");
    assert_eq!(sandbox.read("tools/parse/words/notes.md"), "-- not an option\n");
}
