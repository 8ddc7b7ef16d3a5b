//! From rows to scopes: which repository, branch and commit a row means, and that one that fails stops
//! no other.

use std::path::{Path, PathBuf};

use git_colony::testing::{
    Change, Flags, MapState, ObjectWrites, Provenance, RefName, RemoteUrl, ScopeRecord, Scopes,
    Session, SharedRoot, locate, map_rows, map_rows::Network, map_rows::Request, scope_writing,
};
use serde_json::{Value, json};

use crate::support::Sandbox;

const MAP: &str = ".colony/repo_map.yaml";

fn commit_map(sandbox: &Sandbox, rows: &str) {
    sandbox.write(MAP, format!("schema_version: 1\nsources:\n{rows}"));
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "map"]);
}

fn git_row(name: &str, rest: &str) -> String {
    format!("  - {{name: {name}, type: git_repo{rest}}}\n")
}

fn preview(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.json(&[&["map", "preview"], args].concat())
}

/// What a row came to: its commit, or the code of its error.
fn came_to(sandbox: &Sandbox, args: &[&str]) -> Vec<(String, String)> {
    let answer = preview(sandbox, args);
    let rows = answer["rows"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    rows.iter()
        .map(|row| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let commit = text(&row["mmap_kwargs"]["commit"]);
            (text(&row["name"]), commit + &text(&row["code"]))
        })
        .collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    let pair = |(name, commit): &(&str, &str)| ((*name).to_owned(), (*commit).to_owned());
    wanted.iter().map(pair).collect()
}

fn scope_ids(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let answer = preview(sandbox, args);
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| row["scope_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_single_row_named_default_has_the_base_name_as_its_scope() {
    let sandbox = Sandbox::new();
    let base = ["--base-scope", "team"];
    assert_eq!(scope_ids(&sandbox, &base), ["team"]);
    commit_map(&sandbox, &git_row("default", ""));
    assert_eq!(scope_ids(&sandbox, &base), ["team"]);
    commit_map(&sandbox, &git_row("code", ""));
    assert_eq!(scope_ids(&sandbox, &base), ["team:code"]);
    commit_map(&sandbox, &(git_row("default", "") + &git_row("code", "")));
    assert_eq!(scope_ids(&sandbox, &base), ["team:default", "team:code"]);
    let one = [&base[..], &["--source", "default"]].concat();
    assert_eq!(scope_ids(&sandbox, &one), ["team:default"], "a choice of rows renames none");
    assert_eq!(sandbox.error(&["map", "preview", "--source", "cod"]), "usage");
    assert_eq!(sandbox.run(&["map", "preview", "--thaw", "cod"]).code, 129);
    assert_eq!(sandbox.error(&["map", "preview", "--base-scope", "a\nb"]), "invalid-value");
}

#[test]
fn the_base_is_the_colony_else_the_origin_else_the_first_commit() {
    let sandbox = Sandbox::new();
    let root = sandbox.git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(scope_ids(&sandbox, &[]), std::slice::from_ref(&root));
    // A second root, older by its id or not, changes nothing.
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let other = sandbox.git(&["commit-tree", "-m", "other root", &tree]);
    sandbox.git(&["merge", "-q", "--allow-unrelated-histories", "-m", "m", &other]);
    assert_eq!(scope_ids(&sandbox, &[]), std::slice::from_ref(&root));
    // The path of a clone, or of where it was cloned from, is no name.
    let clone = sandbox.outside().join("clone");
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let answer = sandbox.at(clone).json(&["map", "preview"]);
    assert_eq!(answer["rows"][0]["scope_id"], *root);
    sandbox.git(&["remote", "add", "origin", "https://user:pw@Example.com/team/repo.git"]);
    assert_eq!(scope_ids(&sandbox, &[]), ["example.com/team/repo"]);
    let answer = preview(&sandbox, &[]);
    assert_eq!(answer["origin_url"], "https://Example.com/team/repo.git");
    let manifest = json!({"colony": "orion", "design_repo_url": "", "program": "p",
        "target_system": "t", "tenant": "t"});
    sandbox.write(".colony/manifest.json", manifest.to_string());
    assert_eq!(scope_ids(&sandbox, &[]), ["example.com/team/repo"], "not committed yet");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "manifest"]);
    assert_eq!(scope_ids(&sandbox, &[]), ["orion"]);
    sandbox.write(".colony/manifest.json", "{}");
    sandbox.git(&["commit", "-qam", "broken"]);
    assert_eq!(sandbox.error(&["map", "preview"]), "manifest-invalid");
}

#[test]
fn a_key_of_a_row_wins_and_only_an_absent_one_is_inherited() {
    let sandbox = Sandbox::new();
    let rows = [
        git_row("inherits", ""),
        git_row("main", ", branch: main"),
        git_row("head", ", commit: HEAD"),
        git_row("tag", ", commit: v1"),
        git_row("both", ", branch: main, commit: v1"),
        git_row("no-branch", ", branch: nowhere"),
        git_row("no-commit", ", commit: abcdef12"),
        git_row("no-branch-commit", ", branch: nowhere, commit: v1"),
    ];
    sandbox.git(&["tag", "v1"]);
    let v1 = sandbox.git(&["rev-parse", "v1"]);
    commit_map(&sandbox, &rows.concat());
    let main = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.git(&["checkout", "-qb", "side"]);
    sandbox.write("a.txt", "side\n");
    sandbox.git(&["commit", "-qam", "one"]);
    let one = sandbox.git(&["rev-parse", "HEAD"]);
    sandbox.write("a.txt", "more\n");
    sandbox.git(&["commit", "-qam", "two"]);
    let two = sandbox.git(&["rev-parse", "HEAD"]);
    let wanted = |own: &str, tip: &str| {
        pairs(&[
            ("inherits", own),
            ("main", &main),
            ("head", tip),
            ("tag", &v1),
            ("both", &v1),
            ("no-branch", "revision-not-found"),
            ("no-commit", "revision-not-found"),
            ("no-branch-commit", "revision-not-found"),
        ])
    };
    assert_eq!(came_to(&sandbox, &[]), wanted(&two, &two));
    assert_eq!(came_to(&sandbox, &["--rev", "side"]), wanted(&two, &two));
    assert_eq!(came_to(&sandbox, &["--rev", "HEAD~1"]), wanted(&one, &one));
    let answer = preview(&sandbox, &["--rev", "side"]);
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["rows"][1]["mmap_kwargs"]["branch"], "main");
    assert_eq!(answer["rows"][0]["mmap_kwargs"]["branch"], "side");
    let message = "no branch is named 'nowhere', here or on the remote";
    assert_eq!(answer["rows"][5]["error"], message);
}

#[test]
fn a_remote_branch_is_mapped_and_not_the_default_one_instead() {
    let sandbox = Sandbox::new();
    sandbox.git(&["branch", "only-there"]);
    let there = sandbox.git(&["rev-parse", "only-there"]);
    commit_map(&sandbox, &git_row("a", ", branch: only-there"));
    let clone = sandbox.outside().join("clone");
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let answer = sandbox.at(clone).json(&["map", "preview"]);
    assert_eq!(answer["rows"][0]["mmap_kwargs"]["commit"], *there);
}

#[test]
fn every_argument_in_force_is_shown_with_the_inherited_ones() {
    let sandbox = Sandbox::new();
    sandbox.write("lit/a.md", "text\n");
    sandbox.write(".colony/colony.toml", "[map]\nflushThreshold = 8\nchunkOverlapTokens = 64\n");
    let rows = "  - {name: code, type: git_repo, pinned: true, flush_token_budget: 2048}\n  \
        - {name: lit, type: literature, start_dir: lit/, include_globs: [], exclude_globs: ['*.tmp']}\n";
    commit_map(&sandbox, rows);
    let answer = preview(&sandbox, &["--base-scope", "b"]);
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    assert_eq!(
        answer["rows"],
        json!([
            {"name": "code", "scope_id": "b:code", "mmap_kwargs": {
                "scope_id": "b:code", "source_type": "git_repo", "origin_url": null,
                "branch": "main", "commit": head, "start_dir": "", "include_globs": null,
                "exclude_globs": [], "binary_policy": "skip", "static": false,
                "chunk_target_tokens": null, "chunk_overlap_tokens": null, "flush_threshold": 8,
                "flush_token_budget": 2048, "pinned": true, "tokenizer": "o200k",
                "gitignore": false}},
            {"name": "lit", "scope_id": "b:lit", "mmap_kwargs": {
                "scope_id": "b:lit", "source_type": "literature", "origin_url": null,
                "branch": "main", "commit": head, "start_dir": "lit", "include_globs": [],
                "exclude_globs": ["*.tmp"], "binary_policy": "include", "static": false,
                "chunk_target_tokens": 800, "chunk_overlap_tokens": 64, "flush_threshold": 8,
                "flush_token_budget": 4096, "pinned": false, "tokenizer": "o200k",
                "gitignore": false}},
        ])
    );
    let text = sandbox.colony(&["map", "preview", "--base-scope", "b", "--source", "code"]);
    assert!(text.contains("\ncode: b:code\n"), "{text}");
    assert!(text.contains("\n  flush_threshold: 8\n"), "{text}");
}

#[test]
fn a_contradictory_row_or_a_missing_directory_stops_no_other() {
    let sandbox = Sandbox::new();
    std::os::unix::fs::symlink("/", sandbox.path("everything")).unwrap();
    let rows = [
        git_row("both", ", origin_url: 'https://h/a', submodule: dir"),
        git_row("url", ", origin_url: 'file:///etc'"),
        git_row("typo", ", start_dir: dri"),
        git_row("file", ", start_dir: a.txt"),
        git_row("link", ", start_dir: everything/etc"),
        git_row("linked", ", start_dir: everything"),
        git_row("chunks", "").replace("git_repo", "literature, chunk_overlap_tokens: 800"),
        git_row("submodule", ", submodule: dir"),
        git_row("fine", ", start_dir: dir/"),
    ];
    commit_map(&sandbox, &rows.concat());
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let wanted = pairs(&[
        ("both", "map-invalid"),
        ("url", "map-invalid"),
        ("typo", "path-not-found"),
        ("file", "path-not-found"),
        ("link", "path-not-found"),
        ("linked", "path-not-found"),
        ("chunks", "map-invalid"),
        ("submodule", "submodule-not-found"),
        ("fine", &head),
    ]);
    assert_eq!(came_to(&sandbox, &[]), wanted);
    let answer = preview(&sandbox, &[]);
    let error = "'submodule' and 'origin_url' are mutually exclusive: this row has both";
    assert_eq!(answer["rows"][0]["error"], error);
    let message = answer["message"].as_str().unwrap();
    assert!(message.ends_with(", 8 cannot be mapped"), "{message}");
    // A map that cannot be used at all maps nothing.
    commit_map(&sandbox, "  - {name: a}\n");
    let answer = preview(&sandbox, &[]);
    assert_eq!(answer["code"], "map-invalid");
    assert_eq!(answer["detail"]["problems"][0]["line"], 3);
}

/// Adds a submodule at `third_party/foo`, as git does; the commit that it pins.
fn add_submodule(sandbox: &Sandbox) -> String {
    let library = sandbox.outside().join("lib");
    std::fs::create_dir(&library).unwrap();
    let git = |args: &[&str]| sandbox.at(library.clone()).git(args);
    git(&["init", "-q", "-b", "trunk", "--template="]);
    std::fs::create_dir(library.join("src")).unwrap();
    std::fs::write(library.join("src/x.c"), "x").unwrap();
    git(&["add", "-A"]);
    let who = ["-c", "user.name=L", "-c", "user.email=l@example.com"];
    git(&[&who[..], &["commit", "-qm", "lib"]].concat());
    let add = ["submodule", "--quiet", "add", library.to_str().unwrap(), "third_party/foo"];
    sandbox.git(&[&["-c", "protocol.file.allow=always"], &add[..]].concat());
    git(&["rev-parse", "HEAD"])
}

#[test]
fn a_submodule_is_at_the_commit_that_the_tree_pins() {
    let sandbox = Sandbox::new();
    let pinned = add_submodule(&sandbox);
    let rows = [
        git_row("foo", ", submodule: third_party/foo/, start_dir: src/, branch: x, commit: abcd"),
        git_row("gone", ", submodule: third_party/bar"),
        git_row("typo", ", submodule: third_party/foo, start_dir: scr"),
    ];
    commit_map(&sandbox, &rows.concat());
    let wanted =
        pairs(&[("foo", &pinned), ("gone", "submodule-not-found"), ("typo", "path-not-found")]);
    assert_eq!(came_to(&sandbox, &[]), wanted);
    // Whatever is checked out there.
    let inside = sandbox.path("third_party/foo");
    let who = ["-c", "user.name=L", "-c", "user.email=l@example.com"];
    let commit = ["commit", "-q", "--allow-empty", "-m", "newer"];
    sandbox.at(inside).git(&[&who[..], &commit].concat());
    assert_eq!(came_to(&sandbox, &[]), wanted);
    // What git's parser reads is read: a '%', a comment, quotes.
    sandbox.write(
        ".gitmodules",
        "[submodule \"third_party/foo\"]\n\tpath = \"third_party/foo\" ; ours\n\turl = https://h/a%20b.git\n",
    );
    sandbox.git(&["commit", "-qm", "url", ".gitmodules"]);
    assert_eq!(came_to(&sandbox, &[]), wanted);
    let answer = preview(&sandbox, &["--source", "foo"]);
    assert_eq!(answer["rows"][0]["mmap_kwargs"]["origin_url"], "https://h/a%20b.git");
    // A clone without it, and no user who says where a path of the machine is.
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let clone = sandbox.outside().join("clone");
    sandbox.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let answer = sandbox.at(clone).json(&["map", "preview", "--source", "foo"]);
    assert_eq!(answer["rows"][0]["code"], "submodule-not-found");
}

/// Makes the hub of a URL from a local repository, as if it had been fetched.
fn make_hub(sandbox: &Sandbox, url: &str, from: &Path) -> PathBuf {
    let root = SharedRoot::of(&sandbox.world()).unwrap();
    let parsed = RemoteUrl::parse(url, Provenance::Repository, Path::new("/")).unwrap();
    let place = locate::place_of_url(&root, &parsed);
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    let (from, to) = (from.to_str().unwrap(), place.to_str().unwrap());
    sandbox.git(&["clone", "-q", "--bare", "--template=", from, to]);
    let fetch = ["fetch", "-q", from, "+refs/heads/*:refs/remotes/origin/*"];
    sandbox.at(place.clone()).git(&fetch);
    place
}

#[test]
fn another_repository_is_read_from_its_hub_or_reported_missing() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    let main = other.git(&["rev-parse", "HEAD"]);
    other.git(&["tag", "v2"]);
    other.git(&["checkout", "-qb", "side"]);
    other.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
    let side = other.git(&["rev-parse", "HEAD"]);
    make_hub(&sandbox, "https://example.com/lib.git", &other.root);
    let url = ", origin_url: 'https://Example.com/lib'";
    let rows = [
        git_row("usual", url),
        git_row("side", &format!("{url}, branch: side, commit: HEAD")),
        git_row("tag", &format!("{url}, commit: v2")),
        git_row("id", &format!("{url}, commit: {side}, start_dir: dir")),
        git_row("nowhere", &format!("{url}, branch: nowhere")),
        git_row("nowhere-id", &format!("{url}, branch: nowhere, commit: {side}")),
        git_row("typo", &format!("{url}, start_dir: dri")),
        git_row("away", ", origin_url: 'https://example.com/away'"),
        git_row("here", ""),
    ];
    commit_map(&sandbox, &rows.concat());
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let wanted = pairs(&[
        ("usual", &main),
        ("side", &side),
        ("tag", &main),
        ("id", &side),
        ("nowhere", "revision-not-found"),
        ("nowhere-id", "revision-not-found"),
        ("typo", "path-not-found"),
        ("away", "offline"),
        ("here", &head),
    ]);
    let before = sandbox.git(&["count-objects", "-v"]);
    assert_eq!(came_to(&sandbox, &[]), wanted);
    assert_eq!(sandbox.git(&["count-objects", "-v"]), before);
    let answer = preview(&sandbox, &["--source", "usual"]);
    let kwargs = &answer["rows"][0]["mmap_kwargs"];
    assert_eq!(
        (&kwargs["branch"], &kwargs["origin_url"]),
        (&json!("main"), &json!("https://Example.com/lib"))
    );
}

fn session(sandbox: &Sandbox) -> Session {
    Session::open(sandbox.world(), &Flags::default(), ObjectWrites::Durable).unwrap()
}

fn request() -> Request {
    Request {
        by_url: None,
        state: MapState::Head,
        base_scope: Some("b".to_owned()),
        network: Network::Offline,
        sources: Vec::new(),
        thaw: Vec::new(),
        ingest: false,
    }
}

/// Writes the records of what is resolved, as a mapping does: whether anything changed.
fn record(sandbox: &Sandbox) -> bool {
    let session = session(sandbox);
    let rows = map_rows::resolve(&session, &request()).unwrap();
    let changes = rows.outcomes.iter().map(|outcome| {
        let resolved = outcome.resolved.as_ref().unwrap();
        Change::Put(Box::new(ScopeRecord::of(&outcome.row, resolved, "2026-01-02T03:04:05Z")))
    });
    let changes: Vec<_> = changes.collect();
    let written = scope_writing::write(&session, &rows.records.unwrap(), &changes);
    !written.unwrap().is_empty()
}

#[test]
fn a_static_row_stays_at_its_first_commit_until_it_is_thawed() {
    let sandbox = Sandbox::new();
    let rows = [git_row("frozen", ", static: true"), git_row("live", "")];
    commit_map(&sandbox, &rows.concat());
    let first = sandbox.git(&["rev-parse", "HEAD"]);
    assert!(record(&sandbox));
    let tip = sandbox.git(&["rev-parse", "refs/colony/scopes"]);
    assert!(!record(&sandbox), "nothing has changed");
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    let second = sandbox.git(&["rev-parse", "HEAD"]);
    let base = ["--base-scope", "b"];
    let wanted = pairs(&[("frozen", &first), ("live", &second)]);
    assert_eq!(came_to(&sandbox, &base), wanted);
    assert!(!record(&sandbox), "a commit is no change of a mapping");
    assert_eq!(sandbox.git(&["rev-parse", "refs/colony/scopes"]), tip);
    let thawed = [&base[..], &["--thaw", "frozen"]].concat();
    let wanted = pairs(&[("frozen", &second), ("live", &second)]);
    assert_eq!(came_to(&sandbox, &thawed), wanted);
    // The commit stays, whatever becomes of the branch.
    sandbox.git(&[
        "update-ref",
        "refs/heads/main",
        &sandbox.git(&["commit-tree", "-m", "x", "HEAD^{tree}"]),
    ]);
    sandbox.git(&["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(came_to(&sandbox, &base)[0].1, first);
    sandbox.check_invariants_of_git();
}

#[test]
fn mappings_of_other_branches_stay_in_the_worktree() {
    let sandbox = Sandbox::new();
    commit_map(&sandbox, &git_row("a", ""));
    sandbox.git(&["checkout", "-qb", "side"]);
    let rows = map_rows::resolve(&session(&sandbox), &request()).unwrap();
    assert_eq!(rows.records, None, "nobody has written here yet");
    drop(sandbox.json(&["checkpoint", "-m", "one"]));
    let rows = map_rows::resolve(&session(&sandbox), &request()).unwrap();
    let name = rows.records.unwrap().to_string();
    assert!(name.starts_with("refs/colony-local/scopes/"), "{name}");
    assert!(record(&sandbox));
    assert!(!sandbox.try_git(&["rev-parse", "--verify", "-q", "refs/colony/scopes"]));
    sandbox.git(&["checkout", "-q", "main"]);
    let rows = map_rows::resolve(&session(&sandbox), &request()).unwrap();
    assert_eq!(rows.records, Some(RefName::from("refs/colony/scopes")));
}

/// Writes a tree of records as a stranger might.
fn hostile_records(sandbox: &Sandbox, good: &str, newer: &str) -> String {
    let written = |content: &str| sandbox.hash_literally("blob", content.as_bytes());
    let in_tree = |lines: &str| sandbox.make_tree(lines);
    let record_of =
        |content: &str| in_tree(&format!("100644 blob {}\tscope.json\n", written(content)));
    let link = in_tree(&format!("120000 blob {}\tscope.json\n", written("/etc/passwd")));
    let entries = [
        ("b%3Amore", record_of(newer)),
        ("another", record_of(good)),
        ("future", record_of("{\"format\": 3}")),
        ("huge", record_of(&" ".repeat(300_000))),
        ("link", link),
        ("none", in_tree("")),
        ("no%41encoding", record_of(good)),
        ("text", record_of("hello")),
    ];
    let mut lines: Vec<_> =
        entries.iter().map(|(name, tree)| format!("040000 tree {tree}\t{name}")).collect();
    lines.push(format!("100644 blob {}\tfile", written("x")));
    in_tree(&(lines.join("\n") + "\n"))
}

#[test]
fn records_of_others_may_have_more_fields_or_are_refused() {
    let sandbox = Sandbox::new();
    commit_map(&sandbox, &git_row("a", ""));
    assert!(record(&sandbox));
    let good = sandbox.git(&["cat-file", "-p", "refs/colony/scopes:b%3Aa/scope.json"]);
    let newer = good.replacen('{', "{\"tomorrow\": [1],", 1).replace("\"b:a\"", "\"b:more\"");
    let tree = hostile_records(&sandbox, &good, &newer);
    let commit = sandbox.git(&["commit-tree", "-m", "hostile", &tree]);
    sandbox.git(&["update-ref", "refs/colony/scopes", &commit]);
    let session = session(&sandbox);
    let name = RefName::from("refs/colony/scopes");
    let scopes = Scopes::load(&session.repo, &name).unwrap();
    assert_eq!(scopes.records.keys().collect::<Vec<_>>(), ["b:more"]);
    let told: Vec<_> =
        scopes.unreadable.iter().map(|one| format!("{}: {}", one.name, one.reason)).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    another: it belongs to another scope
    file: it is not a directory
    future: it was written by a newer git-colony
    huge: 'scope.json' is not a plain file of at most 256 KiB
    link: 'scope.json' is not a plain file of at most 256 KiB
    no%41encoding: its name is not an encoded scope id
    none: it has no 'scope.json'
    text: 'scope.json' is not a record: expected value at line 1 column 1
    ");
    // What cannot be read stays as it is when others are written.
    assert!(record(&sandbox));
    let after = sandbox.git(&["ls-tree", "--name-only", "refs/colony/scopes"]);
    assert_eq!(after.lines().count(), 10, "{after}");
    assert_eq!(sandbox.git(&["cat-file", "-p", "refs/colony/scopes:b%3Amore/scope.json"]), newer);
}

#[test]
fn scopes_are_listed_shown_and_taken_back() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json(&["scopes"])["count"], 0);
    let mapped = |id: &str| sandbox.json(&["scopes", "mapped", id])["mapped"].clone();
    assert_eq!(mapped("b:lit"), false);
    assert_eq!(sandbox.run(&["scopes", "mapped", "b:lit"]).code, 1);
    sandbox.write("lit/a.md", "text\n");
    let literature = "  - {name: lit, type: literature, start_dir: lit, flush_threshold: 1}\n";
    commit_map(&sandbox, &(git_row("code", "") + literature));
    assert!(record(&sandbox));
    insta::assert_snapshot!(sandbox.colony(&["scopes"]), @r"
    2 scopes
    b:code  git_repo    main  shared
    b:lit   literature  main  shared
    ");
    insta::assert_snapshot!(sandbox.colony(&["scopes", "show", "b:l"]), @r"
    follows HEAD of main, no pages here: b:lit
    source: lit (literature)
    pages: at most 1 record and 4096 tokens
    mapped: 5 minutes ago
    ");
    let shown = sandbox.json(&["scopes", "show", "b:lit"]);
    assert_eq!(shown["config"]["flush_threshold"], 1);
    let wanted = json!({"origin_url": null, "branch": "main", "commit": "HEAD"});
    assert_eq!(shown["revision"], wanted);
    assert_eq!((&shown["syscontext"]["shared"], &shown["stale"]), (&json!(true), &Value::Null));
    assert_eq!(sandbox.error(&["scopes", "show", "nothing"]), "scope-not-found");
    assert_eq!(sandbox.error(&["scopes", "show", "b:"]), "name-ambiguous");
    let before = sandbox.refs();
    let dry = sandbox.json(&["scopes", "unmap", "-n", "b:lit"]);
    assert_eq!((&dry["status"], &dry["dry_run"]), (&json!("unmapped"), &json!(true)));
    assert_eq!(sandbox.refs(), before);
    assert_eq!(
        sandbox.colony(&["scopes", "unmap", "b:lit"]),
        "unmapped (the shared record): b:lit\n"
    );
    assert_eq!((mapped("b:lit"), mapped("b:code")), (json!(false), json!(true)));
    let after = sandbox.refs();
    let again = sandbox.json(&["scopes", "unmap", "b:lit"]);
    assert_eq!((&again["status"], &again["ok"]), (&json!("not_mapped"), &json!(true)));
    assert_eq!(sandbox.refs(), after, "nothing to write");
    assert!(record(&sandbox));
    assert_eq!(mapped("b:lit"), true);
    sandbox.check_invariants_of_git();
}

#[test]
fn sixteen_writers_of_scopes_lose_none() {
    let sandbox = Sandbox::new();
    let names: Vec<_> = (0..16).map(|number| format!("n{number}")).collect();
    commit_map(&sandbox, &names.iter().map(|name| git_row(name, "")).collect::<String>());
    std::thread::scope(|threads| {
        for name in &names {
            let sandbox = &sandbox;
            threads.spawn(move || {
                let session = session(sandbox);
                let sources = vec![name.clone()];
                let request = Request { sources, ..request() };
                let rows = map_rows::resolve(&session, &request).unwrap();
                let outcome = &rows.outcomes[0];
                let resolved = outcome.resolved.as_ref().unwrap();
                let record = ScopeRecord::of(&outcome.row, resolved, "2026-01-02T03:04:05Z");
                let change = [Change::Put(Box::new(record))];
                let records = rows.records.unwrap();
                while let Err(error) = scope_writing::write(&session, &records, &change) {
                    let moved = git_colony::testing::Code::RefMoved;
                    assert_eq!(error.code(), moved, "{error:?}");
                }
            });
        }
    });
    assert_eq!(sandbox.json(&["scopes"])["count"], 16);
    sandbox.check_invariants_of_git();
}
