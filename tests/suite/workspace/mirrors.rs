//! `query` of repositories without a checkout: at a git host, from their mirrors, and at a revision.

use std::fs;

use git_colony::testing::{Provenance, RemoteUrl, SharedRoot, locate};
use serde_json::{Value, json};

use super::catalog::{FILE, repository};
use super::query::reasons;
use crate::remote::credentials_leak::{Desk, TOKEN};
use crate::support::git_server::{GitServer, Wire};
use crate::support::{Sandbox, View};

const ALL: &str = "[read_file, list_files, text_search, history_search]";

/// A workspace with a row for a repository on a server, which it can fetch.
struct Served {
    desk: Desk,
    server: GitServer,
    /// A checkout from which the server gets its commits.
    source: View,
    workspace: View,
}

impl Served {
    fn new() -> Served {
        let desk = Desk::new();
        let server = desk.server(Wire::Tls);
        desk.configure(&[&server]);
        let source = repository(&desk.sandbox, "source");
        source.write("src/a.txt", "needle one\n");
        source.write("src/.colonyignore", "hidden.txt\n");
        source.write("src/hidden.txt", "needle hidden\n");
        source.write("id_rsa", "needle secret\n");
        source.write(
            "large.bin",
            format!(
                "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 9\n",
                "0".repeat(64)
            ),
        );
        std::os::unix::fs::symlink("/etc/passwd", source.path("link")).unwrap();
        let served = Served { workspace: desk.view(TOKEN), desk, server, source };
        served.push("first");
        served.row(&served.server.url("design.git"), ALL);
        served
    }

    fn push(&self, message: &str) {
        self.source.git(&["add", "-A"]);
        self.source.git(&["commit", "-qm", message]);
        let bare = self.desk.served.join("design.git");
        let to = bare.to_str().unwrap();
        self.source.git(&["push", "-q", to, "main", "--tags"]);
    }

    fn row(&self, url: &str, capabilities: &str) {
        self.workspace.write(
            FILE,
            format!(
                "schema_version: 1\nrepositories:\n  - display_name: far\n    repository_id: far\n    access_mode: remote_git_host\n    origin_url: '{url}'\n    capabilities: {capabilities}\n"
            ),
        );
    }
}

fn lines(answer: &Value) -> Vec<String> {
    let found =
        ["hits", "files", "paths", "commits"].iter().find_map(|name| answer[name].as_array());
    let text = |one: &Value| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let of = ["path", "line_text", "content", "summary"].map(text);
        of.join(" ").trim().to_owned()
    };
    found.unwrap().iter().map(text).collect()
}

#[test]
fn a_mirror_answers_every_query_without_a_checkout() {
    let served = Served::new();
    let view = &served.workspace;
    let missing = view.json(&["query", "text", "needle"]);
    assert_eq!(missing["repositories_queried"], 0);
    let reason = &reasons(&missing)[0].1;
    assert!(
        reason.ends_with(
            "is here yet; to fetch it: git colony catalog query log --repo 'far' --fetch"
        ),
        "{reason}"
    );
    assert!(served.server.seen().is_empty(), "nothing was fetched");
    assert_eq!(
        lines(&view.json(&["query", "log", "--repo", "far", "--fetch"])),
        ["first", "source"]
    );
    let asked = served.server.seen().len();
    let text = view.json(&["query", "text", "needle"]);
    assert_eq!(lines(&text), ["src/a.txt needle one"]);
    let hit = &text["hits"][0];
    assert_eq!(hit["root"], json!(null));
    assert_eq!(hit["at_commit"], served.source.git(&["rev-parse", "HEAD"]));
    assert_eq!(text["trace"]["query_backend"], "commit");
    assert_eq!(lines(&view.json(&["query", "file", "src/a.txt"])), ["src/a.txt  needle one"]);
    assert_eq!(
        lines(&view.json(&["query", "list"])),
        ["large.bin", "own.txt", "src/.colonyignore", "src/a.txt"]
    );
    assert_eq!(lines(&view.json(&["query", "list", "src/"])), ["src/.colonyignore", "src/a.txt"]);
    for (path, expected) in [
        ("src/hidden.txt", "its ignore files hide 'src/hidden.txt'"),
        ("id_rsa", "'id_rsa' looks like a secret"),
        ("link", "'link' is not a regular file"),
        ("src", "'src' is not a regular file"),
        ("none", "it has no 'none'"),
        ("large.bin", "'large.bin' is in git-lfs, and only a checkout has its content"),
    ] {
        let answer = view.json(&["query", "file", path]);
        assert_eq!(reasons(&answer)[0].1, expected);
    }
    assert_eq!(served.server.seen().len(), asked, "nothing more was fetched");
}

#[test]
fn a_mirror_is_asked_at_any_published_revision() {
    let served = Served::new();
    let view = &served.workspace;
    view.json(&["query", "log", "--fetch"]);
    served.source.git(&["tag", "-am", "one", "v1"]);
    served.source.write("src/a.txt", "needle two\n");
    served.push("second");
    let found = |words: &[&str]| lines(&view.json(&[&["query", "text", "needle"], words].concat()));
    assert_eq!(found(&[]), ["src/a.txt needle one"]);
    assert_eq!(found(&["--fetch"]), ["src/a.txt needle two"]);
    for revision in ["v1", "refs/tags/v1", "main~1", "refs/heads/main^"] {
        assert_eq!(found(&["--rev", revision]), ["src/a.txt needle one"]);
    }
    let id = served.source.git(&["rev-parse", "HEAD~1"]);
    assert_eq!(found(&["--rev", &id[..9]]), ["src/a.txt needle one"]);
    let log = view.json(&["query", "log", "--rev", "v1"]);
    assert_eq!(lines(&log), ["first", "source"]);
    // What agents keep in the hub is no revision of the remote.
    let url = served.server.url("design.git");
    let root = SharedRoot::of(&view.world()).unwrap();
    let parsed = RemoteUrl::parse(&url, Provenance::Repository, std::path::Path::new("/")).unwrap();
    let hub = view.at(locate::place_of_url(&root, &parsed));
    hub.git(&["update-ref", "refs/colony/desks/x", &id]);
    for revision in ["refs/colony/desks/x", "HEAD", "nowhere", "--all", "v1..main", ""] {
        let revision = format!("--rev={revision}");
        let answer = view.json(&["query", "log", &revision]);
        assert_eq!(answer["count"], 0, "{revision}");
        let reason = &reasons(&answer)[0].1;
        assert!(reason.starts_with("it has no branch or tag"), "{reason}");
    }
    // A server that is gone leaves its last state.
    served.row(&url, "[history_search]");
    drop(served.server);
    let answer = view.json(&["query", "log", "--fetch"]);
    assert_eq!(lines(&answer), ["second", "first", "source"]);
    let refused = view.json(&["query", "text", "needle"]);
    assert_eq!(reasons(&refused)[0].1, "its row does not have the capability 'text_search'");
}

#[test]
fn an_agent_has_a_mirror_fetched_and_asks_it() {
    let served = Served::new();
    let view = &served.workspace;
    let ask = |action: &str, arguments: Value| {
        crate::mcp::tool_at(&served.desk.sandbox, view.world(), action, &arguments)
    };
    let listed = ask("query_list", json!({}));
    assert_eq!(listed["repositories_queried"], 0);
    assert!(served.server.seen().is_empty(), "nothing was fetched");
    let listed = ask("query_list", json!({ "fetch": true }));
    assert!(lines(&listed).contains(&"src/a.txt".to_owned()), "{listed:#}");
    assert!(!listed.to_string().contains("id_rsa"), "{listed:#}");
    let log = ask("query_log", json!({ "repositories": ["far"] }));
    assert_eq!(lines(&log), ["first", "source"]);
    let text = ask("query_text", json!({ "query": "needle", "fetch": true }));
    assert_eq!(lines(&text), ["src/a.txt needle one"]);
    let file = ask("query_file", json!({ "path": "src/a.txt", "fetch": true }));
    assert_eq!(lines(&file), ["src/a.txt  needle one"]);
}

#[test]
fn a_mirror_is_fetched_from_https_and_ssh_alone() {
    let desk = Desk::new();
    let view = &desk.sandbox;
    let ran = desk.sandbox.outside().join("ran");
    let served = desk.served.join("design.git");
    for url in [
        format!("ext::touch {}", ran.display()),
        format!("fd::{}", ran.display()),
        format!("--upload-pack=touch {}", ran.display()),
        format!("ssh://-oProxyCommand=touch {}/x", ran.display()),
        served.display().to_string(),
        format!("file://{}", served.display()),
        "http://127.0.0.1/x.git".to_owned(),
        "git://127.0.0.1/x.git".to_owned(),
    ] {
        view.write(FILE, format!("schema_version: 1\nrepositories:\n  - access_mode: remote_git_host\n    repository_id: far\n    origin_url: '{url}'\n"));
        let answer = view.json(&["query", "log", "--fetch"]);
        assert_eq!(answer["repositories_queried"], 0, "{url}");
        let reason = &reasons(&answer)[0].1;
        assert!(reason.starts_with("cannot use"), "{reason}");
    }
    assert!(!ran.exists());
    // A server that wants to know who asks gets no answer, and the user no question.
    let server = desk.server(Wire::Tls);
    fs::write(desk.sandbox.outside().join("home/.gitconfig"), "").unwrap();
    let view = desk.view("");
    view.write(FILE, format!("schema_version: 1\nrepositories:\n  - access_mode: remote_git_host\n    repository_id: far\n    origin_url: '{}'\n", server.url("design.git")));
    let answer = view.json(&["query", "log", "--fetch"]);
    assert_eq!(answer["repositories_queried"], 0);
    assert!(server.authorized().is_empty());
}

#[test]
fn a_checkout_is_asked_at_a_revision() {
    let sandbox = Sandbox::new();
    let one = repository(&sandbox, "one");
    let two = repository(&sandbox, "two");
    sandbox.write(
        FILE,
        format!(
            "schema_version: 1\nrepositories:\n  - root_path: {}\n  - root_path: {}\n",
            one.root.display(),
            two.root.display()
        ),
    );
    one.git(&["tag", "v1"]);
    one.write("own.txt", "changed\n");
    let answer = sandbox.json(&["query", "file", "own.txt", "--rev", "v1"]);
    assert_eq!(lines(&answer), ["own.txt  one"]);
    assert_eq!(reasons(&answer), [("two".to_owned(), "no commit is named 'v1'".to_owned())]);
    assert_eq!(answer["files"][0]["root"], one.root.to_str().unwrap());
    // A tree of few objects that expands to many files is cut.
    let mut tree =
        one.make_tree(&format!("100644 blob {}\ta\n", one.git(&["rev-parse", "v1:own.txt"])));
    for _ in 0..12 {
        let lines = (0..12).map(|n| format!("040000 tree {tree}\t{n:02}\n"));
        tree = one.make_tree(&lines.collect::<String>());
    }
    let bomb = one.git(&["commit-tree", "-m", "bomb", &tree]);
    let answer = sandbox.json(&["query", "text", "one", "--rev", &bomb, "--max-files", "100"]);
    assert_eq!((&answer["truncated"], &answer["count"]), (&json!(true), &json!(50)));
    let hollow = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let mut tree = hollow.to_owned();
    one.git(&["hash-object", "-t", "tree", "-w", "--stdin"]);
    for _ in 0..12 {
        let lines = (0..12).map(|n| format!("040000 tree {tree}\t{n:02}\n"));
        tree = one.make_tree(&lines.collect::<String>());
    }
    let bomb = one.git(&["commit-tree", "-m", "hollow", &tree]);
    let answer = sandbox.json(&["query", "text", "one", "--rev", &bomb]);
    assert_eq!((&answer["truncated"], &answer["count"]), (&json!(true), &json!(0)));
}
