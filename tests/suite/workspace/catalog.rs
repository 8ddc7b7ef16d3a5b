//! `catalog`: what its file may say, and what its rows resolve to.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Sandbox, View};

pub(super) const FILE: &str = ".colony/repositories.yaml";

/// A repository beside that of the sandbox, with one commit.
pub(super) fn repository(sandbox: &Sandbox, name: &str) -> View {
    let view = sandbox.at(sandbox.outside().join(name));
    fs::create_dir_all(&view.root).unwrap();
    view.git(&["init", "-q", "-b", "main"]);
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    view.write("own.txt", format!("{name}\n"));
    view.git(&["add", "-A"]);
    view.git(&["commit", "-qm", name]);
    view
}

fn row(sandbox: &Sandbox, lines: &str) -> Value {
    sandbox.write(
        FILE,
        format!("schema_version: 1\nrepositories:\n  - {}\n", lines.replace('\n', "\n    ")),
    );
    sandbox.json(&["catalog"])["repositories"][0].clone()
}

/// Texts that a catalog refuses.
const INVALID: &[&str] = &[
    "",
    "repositories: []\n",
    "schema_version: 2\nrepositories: []\n",
    "schema_version: '1'\nrepositories: []\n",
    "schema_version: 1\n",
    "schema_version: 1\nrepositories: {}\n",
    "schema_version: 1\nrepositores: []\n",
    "schema_version: 1\nrepositories:\n  - root_path: a\n    root: b\n",
    "schema_version: 1\nrepositories:\n  - access_mode: lokal\n",
    "schema_version: 1\nrepositories:\n  - capabilities: [write]\n",
    "schema_version: 1\nrepositories:\n  - capabilities: [read_file, read_file]\n",
    "schema_version: 1\nrepositories:\n  - root_path: a\n  - root_path: ./a/\n",
    "schema_version: 1\nrepositories:\n  - repository_id: a\n  - repository_id: a\n",
    "schema_version: 1\nrepositories:\n  - display_name: \"a\\nb\"\n",
    "schema_version: 1\nrepositories:\n  - root_path: ''\n",
    "schema_version: 1\nrepositories:\n  - root_path: 7\n",
    "schema_version: 1\nrepositories:\n  - remote:\n      mcp: x\n",
    "schema_version: 1\nrepositories: [\n",
    "schema_version: 1\n---\nschema_version: 1\n",
    "- a\n",
];

#[test]
fn a_catalog_that_cannot_be_used_says_where() {
    let sandbox = Sandbox::new();
    let mut told = String::new();
    let long = format!("schema_version: 1\nrepositories: []\n#{}", "x".repeat(1 << 20));
    for text in INVALID.iter().copied().chain([&*long]) {
        sandbox.write(FILE, text);
        let answer = sandbox.json(&["catalog"]);
        assert_eq!(answer["code"], "catalog-invalid", "{text}");
        let checked = sandbox.json(&["catalog", "check"]);
        assert_eq!(checked["ok"], false, "{text}");
        assert_eq!(checked["problems"], answer["detail"]["problems"], "{text}");
        for problem in answer["detail"]["problems"].as_array().unwrap() {
            let (line, column) = (&problem["line"], &problem["column"]);
            writeln!(told, "{line}:{column} {}", problem["message"].as_str().unwrap()).unwrap();
        }
    }
    insta::assert_snapshot!(told, @r"
    1:1 it is empty, expected 'schema_version: 1' and 'repositories'
    1:1 the catalog has no 'schema_version'
    1:17 'schema_version' is 2, expected 1
    1:17 'schema_version' is a text, expected 1
    1:1 the catalog has no 'repositories'
    2:15 'repositories' is a map, expected a list of rows
    1:1 the catalog has no 'repositories'
    2:1 'repositores' is not a key of the catalog: the nearest is 'repositories'
    4:5 'root' is not a key of a row of 'repositories': its keys are repository_id, display_name, root_path, origin_url, provider, default_ref, access_mode, capabilities, remote, metadata
    3:18 'access_mode' is 'lokal', expected local, remote_mcp, remote_git_host or remote_search_service; the nearest is 'local'
    3:20 'capabilities' is 'write', expected read_file, list_files, text_search, semantic_search or history_search
    3:31 'capabilities' has 'read_file' twice
    4:5 'root_path' is 'a', as in the row of line 3
    4:5 'repository_id' is 'a', as in the row of line 3
    3:19 'display_name' holds control characters
    3:16 'root_path' is empty
    3:16 'root_path' is a number, expected a text: put it in quotes
    4:7 'mcp' is not a key of 'remote': its keys are mcp_url, git_host_api_base, git_host_owner, git_host_repo, search_service_url, search_namespace
    2:15 it cannot be read as plain YAML: unclosed bracket '['
    3:1 it cannot be read as plain YAML: there is more than one document
    1:1 the catalog is a list, expected a map
    1:1 it is larger than 1 MiB
    ");
}

#[test]
fn texts_of_a_row_have_a_maximum_length() {
    let sandbox = Sandbox::new();
    for (key, most) in
        [("display_name", 256), ("default_ref", 512), ("provider", 128), ("root_path", 4096)]
    {
        let text = "x".repeat(most);
        let rows = |text: &str| format!("schema_version: 1\nrepositories:\n  - {key}: {text}\n");
        sandbox.write(FILE, rows(&text));
        assert_eq!(sandbox.run(&["catalog"]).code, 0, "{key}");
        sandbox.write(FILE, rows(&format!("{text}x")));
        assert_eq!(sandbox.error(&["catalog"]), "catalog-invalid", "{key}");
    }
}

#[test]
fn without_a_catalog_its_place_is_named() {
    let sandbox = Sandbox::new();
    let answer = sandbox.json(&["catalog", "list"]);
    assert_eq!(answer["code"], "catalog-missing");
    assert_eq!(answer["detail"]["path"], sandbox.path(FILE).to_str().unwrap());
    assert_eq!(sandbox.run(&["catalog", "list"]).code, 128);
    for command in [
        &["catalog", "check"][..],
        &["catalog", "refresh"],
        &["catalog", "focus"],
        &["catalog", "remove", "x"],
    ] {
        assert_eq!(sandbox.error(command), "catalog-missing", "{command:?}");
    }
    sandbox.write(".vox/repositories.yaml", "schema_version: 1\nrepositories: []\n");
    let answer = sandbox.json(&["catalog"]);
    assert!(answer["manifest_path"].as_str().unwrap().ends_with("/.vox/repositories.yaml"));
    sandbox.write(FILE, "schema_version: 1\nrepositories: []\n");
    let answer = sandbox.json(&["catalog"]);
    assert!(answer["manifest_path"].as_str().unwrap().ends_with(FILE));
    assert_eq!(answer["primary_repository_id"], sandbox.json(&["id"])["repository_id"]);
    // A file that a symlink names is not part of the repository.
    fs::rename(sandbox.path(FILE), sandbox.outside().join("real")).unwrap();
    symlink(sandbox.outside().join("real"), sandbox.path(FILE)).unwrap();
    assert_eq!(sandbox.error(&["catalog"]), "catalog-invalid");
}

/// Paths of rows, good and bad.
fn paths(sandbox: &Sandbox) -> Vec<String> {
    let absolute = |name: &str| sandbox.outside().join(name).to_str().unwrap().to_owned();
    vec![
        "nested".to_owned(),
        ".".to_owned(),
        absolute("other"),
        absolute("by-link"),
        "missing".to_owned(),
        absolute("missing"),
        "plain".to_owned(),
        "empty".to_owned(),
        "a.txt".to_owned(),
        "a.txt/x".to_owned(),
        ".git".to_owned(),
        absolute("nothing"),
        "away".to_owned(),
        "../other".to_owned(),
        "dir/../nested".to_owned(),
        "/".to_owned(),
        "/etc".to_owned(),
        "/proc".to_owned(),
    ]
}

#[test]
fn a_row_is_the_root_of_a_repository_or_nothing() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    fs::create_dir(sandbox.path("plain")).unwrap();
    fs::create_dir_all(sandbox.path("empty/.git")).unwrap();
    fs::create_dir(sandbox.outside().join("nothing")).unwrap();
    symlink(&other.root, sandbox.path("away")).unwrap();
    symlink(&other.root, sandbox.outside().join("by-link")).unwrap();
    let nested = sandbox.at(sandbox.path("nested"));
    fs::create_dir(&nested.root).unwrap();
    nested.git(&["init", "-q"]);
    let absolute = |name: &str| sandbox.outside().join(name).to_str().unwrap().to_owned();
    let mut told = String::new();
    for path in paths(&sandbox) {
        let found = row(&sandbox, &format!("root_path: {path}"));
        let status = found["resolution_status"].as_str().unwrap();
        let error = found["resolution_error"].as_str().unwrap_or_default();
        assert_eq!(status == "resolved_local", error.is_empty(), "{path}");
        assert_eq!(status == "resolved_local", found["resolved_root"].is_string(), "{path}");
        let line = format!("{path}: {status} {error}");
        writeln!(told, "{}", line.trim_end().replace(&absolute(""), "<outside>/")).unwrap();
    }
    insta::assert_snapshot!(told, @r"
    nested: resolved_local
    .: resolved_local
    <outside>/other: resolved_local
    <outside>/by-link: resolved_local
    missing: local_missing nothing exists at 'missing'
    <outside>/missing: local_missing nothing exists at '<outside>/missing'
    plain: local_not_a_root 'plain' is a directory in the repository '<outside>/repo', not its root
    empty: local_not_a_root 'empty' is a directory in the repository '<outside>/repo', not its root
    a.txt: local_not_a_root 'a.txt' is not a directory
    a.txt/x: local_resolution_failed cannot resolve 'a.txt/x': Not a directory (os error 20)
    .git: local_not_a_root '.git' is a directory in the repository '<outside>/repo', not its root
    <outside>/nothing: local_not_a_root '<outside>/nothing' is not a repository of git
    away: local_resolution_failed a symlink in 'away' leads out of the workspace
    ../other: local_resolution_failed '../other' has '..': a path that leaves the workspace is absolute
    dir/../nested: local_resolution_failed 'dir/../nested' has '..': a path that leaves the workspace is absolute
    /: local_not_a_root '/' is not a repository of git
    /etc: local_not_a_root '/etc' is not a repository of git
    /proc: local_not_a_root '/proc' is not a repository of git
    ");
}

#[test]
fn an_id_that_is_not_that_of_the_checkout_is_a_mismatch() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    other.git(&["remote", "add", "origin", "https://ada:secret@github.com/acme/other.git"]);
    let absolute = |name: &str| sandbox.outside().join(name).to_str().unwrap().to_owned();
    let found = row(&sandbox, &format!("root_path: {}\nrepository_id: mine", absolute("other")));
    assert_eq!(found["repository_id"], other.json(&["id"])["repository_id"]);
    assert_eq!(found["declared_repository_id"], "mine");
    assert_eq!(found["repository_id_mismatch"], true);
    assert_eq!(found["provider"], "github");
    assert_eq!(found["origin_url"], "https://github.com/acme/other.git");
    let checked = sandbox.json(&["catalog", "check"]);
    assert_eq!(
        (&checked["ok"], &checked["count"], &checked["problems"][0]["line"]),
        (&json!(false), &json!(1), &json!(3))
    );
}

#[test]
fn a_repository_of_another_user_is_refused() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    // Root may give files away; nobody else can.
    if std::os::unix::fs::chown(&other.root, Some(12345), None).is_ok() {
        std::os::unix::fs::chown(other.path(".git"), Some(12345), None).unwrap();
        let path = other.root.to_str().unwrap();
        let found = row(&sandbox, &format!("root_path: {path}"));
        assert_eq!(found["resolution_status"], "local_resolution_failed");
        assert!(found["resolution_error"].as_str().unwrap().contains("belongs to another user"));
    }
}

#[test]
fn rows_elsewhere_are_only_listed() {
    let sandbox = Sandbox::new();
    let found = row(
        &sandbox,
        "origin_url: https://u:secret@host/x.git\naccess_mode: remote_git_host\nrepository_id: x\nmetadata: {team: a, url: 'https://u:secret@host/', n: [1, true]}\nremote: {git_host_owner: acme}",
    );
    assert_eq!(found["resolution_status"], "catalog_only_remote");
    assert_eq!(found["capabilities"], json!(["history_search"]));
    assert_eq!(found["display_name"], "x");
    assert!(!found.to_string().contains("secret"), "{found}");
    assert_eq!(found["metadata"]["n"], json!([1, true]));
    let found =
        row(&sandbox, "access_mode: remote_mcp\nremote: {mcp_url: 'https://u:secret@host/mcp'}");
    assert_eq!(found["resolution_status"], "remote_missing_repository_id");
    assert_eq!(found["capabilities"], json!(["read_file", "list_files", "text_search"]));
    assert!(!found.to_string().contains("secret"), "{found}");
    assert!(!sandbox.colony(&["catalog"]).contains("secret"));
}

#[test]
fn a_repository_is_in_the_catalog_once() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    let link = sandbox.outside().join("link");
    symlink(&other.root, &link).unwrap();
    sandbox.write(FILE, format!(
        "schema_version: 1\nprimary_repository_id: gone\nrepositories:\n  - root_path: {}\n  - root_path: {}\n",
        other.root.display(), link.display()
    ));
    let answer = sandbox.json(&["catalog"]);
    assert_eq!(answer["repositories"][1]["resolution_status"], "local_resolution_failed");
    assert_eq!(
        answer["repositories"][1]["resolution_error"],
        "it is the repository of line 4 as well"
    );
    let checked = sandbox.json(&["catalog", "check"]);
    assert_eq!(checked["count"], 2);
    let text = sandbox.run(&["catalog", "check"]).stdout;
    insta::assert_snapshot!(text.replace(sandbox.outside().to_str().unwrap(), "<outside>"), @r"
    2 problems in '<outside>/repo/.colony/repositories.yaml'
    2:24: 'primary_repository_id' is 'gone', the id of no repository
    5:5: it is the repository of line 4 as well
    ");
}

#[test]
fn a_workspace_without_git_may_hold_plain_directories() {
    let sandbox = Sandbox::new();
    let view = sandbox.at(sandbox.outside().join("none"));
    view.write("repo-a/x", "");
    view.write(FILE, "schema_version: 1\nrepositories:\n  - root_path: repo-a\n  - root_path: /etc\n  - root_path: .\n");
    let answer = view.json(&["catalog"]);
    let status = |at: usize| answer["repositories"][at]["resolution_status"].clone();
    assert_eq!(
        [status(0), status(1), status(2)],
        ["resolved_local", "local_not_a_root", "resolved_local"]
    );
    assert_eq!(answer["repositories"][0]["git_root"], Value::Null);
    assert_eq!(answer["primary_resolved_root"], view.root.to_str().unwrap());
}

#[test]
fn a_refresh_is_kept_and_read_again() {
    let sandbox = Sandbox::new();
    let other = repository(&sandbox, "other");
    sandbox.write(
        FILE,
        format!("schema_version: 1\nrepositories:\n  - root_path: {}\n", other.root.display()),
    );
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "catalog"]);
    assert_eq!(sandbox.error(&["catalog", "list", "--cached"]), "catalog-missing");
    let fresh = sandbox.json(&["catalog", "refresh"]);
    let kept = fresh["snapshot_path"].as_str().unwrap();
    assert!(fs::read_to_string(kept).unwrap().contains("resolved_at"));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "it hides itself from git");
    let id = other.json(&["id"])["repository_id"].clone();
    fs::rename(&other.root, sandbox.outside().join("moved")).unwrap();
    let now = sandbox.json(&["catalog"]);
    assert_eq!(now["repositories"][0]["resolution_status"], "local_missing");
    assert_eq!(now["repositories"][0]["last_known"]["repository_id"], id);
    assert_eq!(now["repositories"][0]["last_known"]["resolved_at"], fresh["resolved_at"]);
    let cached = sandbox.json(&["catalog", "list", "--cached"]);
    assert_eq!((&cached["cached"], &cached["stale"]), (&json!(true), &json!(false)));
    assert_eq!(cached["repositories"][0]["repository_id"], id);
    sandbox.write(FILE, "schema_version: 1\nrepositories: []\n");
    assert_eq!(sandbox.json(&["catalog", "list", "--cached"])["stale"], true);
    // A damaged or foreign file counts as absent, and no write leaves the repository by a symlink.
    fs::write(kept, "{").unwrap();
    assert_eq!(sandbox.error(&["catalog", "list", "--cached"]), "catalog-missing");
    let away = sandbox.outside().join("away");
    fs::create_dir(&away).unwrap();
    sandbox.remove(".colony/cache");
    symlink(&away, sandbox.path(".colony/cache")).unwrap();
    assert_eq!(sandbox.error(&["catalog", "refresh"]), "path-in-the-way");
    assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
}
