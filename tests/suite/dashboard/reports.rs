//! Every answer of the page is an answer of `--json`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Server, view};
use crate::support::{Sandbox, View, at_the_time_of};

/// Returns an answer without the notes, which are beside it on a command line.
pub(super) fn without_notes(mut answer: Value) -> Value {
    answer.as_object_mut().unwrap().remove("notes");
    answer
}

/// Each route whose answer is the report of one command, and that command. Names in braces are filled in.
pub(super) const SAME: [(&str, &str); 24] = [
    ("/sessions", "session list"),
    ("/vcm/pages", "pages --limit 20000"),
    ("/vcm/stats", "pages stats"),
    ("/vcm/working-set", "pages resident"),
    ("/vcm/graph", "pages graph --max-nodes 5000"),
    ("/vcm/pages/{page}", "pages show --neighbours {page}"),
    ("/knowledge", "knowledge"),
    ("/watches", "watches"),
    ("/events?limit=3", "events --all --limit 3"),
    ("/fleet", "fleet"),
    ("/agents", "agents"),
    ("/agents/ada/log", "log ada"),
    ("/diff", "diff"),
    ("/diff?patch=true&path=src", "diff --patch -- src"),
    ("/diff?a=HEAD~1&b=ada", "diff HEAD~1...ada"),
    ("/diff?a=HEAD~1&b=ada&since_left=false", "diff HEAD~1 ada"),
    ("/checkpoints", "checkpoints"),
    ("/ops", "ops --limit 200"),
    ("/ops/{op}", "ops show {op}"),
    ("/search?q=header", "search --limit 20 header"),
    ("/context?q=header", "context --budget 4096 header"),
    ("/context?q=header&in=pages&path=src", "context --budget 4096 --in pages --path src header"),
    ("/context/stats", "context stats"),
    ("/decisions", "decisions"),
];

/// Each route that adds to a report or gives it another shape: its command, what it adds, and what it leaves out or
/// names in another way.
pub(super) const SHAPED: [(&str, &str, &[&str], &[&str]); 7] = [
    (
        "/state",
        "status",
        &[
            "agent",
            "branch",
            "default_branch",
            "origin_url",
            "read_only",
            "repository",
            "repository_id",
            "root",
            "sessions_open",
            "version",
        ],
        &[],
    ),
    ("/colonies", "colony list", &["colonies", "count"], &["colonies", "count"]),
    (
        "/colonies/rocket/design-monorepo",
        "colony show rocket",
        &["branch", "commit"],
        &["branch", "commit", "message", "name"],
    ),
    (
        "/repo-map",
        "map show",
        &[
            "branch",
            "commit",
            "knowledge_routing",
            "origin_url",
            "raw_yaml",
            "resolved_commit",
            "sources",
        ],
        &["commit", "parsed", "raw"],
    ),
    (
        "/repo-map/tree",
        "map tree --max-nodes 5000 --max-depth 8",
        &["branch", "commit", "origin_url", "resolved_commit"],
        &["commit"],
    ),
    ("/vcm/scopes", "scopes", &["mappings"], &["mappings"]),
    (
        "POST /repo-map/preview",
        "map preview",
        &["branch", "commit", "origin_url", "resolved_commit", "sources"],
        &["commit", "rows"],
    ),
];

/// Runs a command with `--json`.
pub(super) fn reported(view: &View, words: &str) -> Value {
    let words: Vec<_> = words.split(' ').collect();
    // Options come before what follows '--'.
    let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let mut program = view.program();
    let output = program.args(&words[..at]).arg("--json").args(&words[at..]).output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    report.unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
}

/// A repository with pages, an agent, a state and an uncommitted change.
fn used(sandbox: &Sandbox) -> View {
    sandbox.write("src/a.rs", "/// Reads a header.\nfn header() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "second"]);
    let view = view(sandbox);
    view.colony(&["map"]);
    view.colony(&["checkpoint", "-m", "one"]);
    view.colony(&["agents", "new", "ada"]);
    view.colony(&["colony", "set", "rocket", "https://example.org/r.git"]);
    // The first search makes the index.
    view.colony(&["search", "header"]);
    sandbox.write("src/a.rs", "fn header() {}\n");
    view
}

#[test]
fn a_route_answers_as_its_command() {
    let sandbox = Sandbox::new();
    let view = used(&sandbox);
    let server = Server::start(&view, &[]);
    let ops = server.get("/ops");
    let newest = ops["ops"].as_array().unwrap().last().unwrap()["op"].as_str().unwrap().to_owned();
    let pages = server.get("/vcm/pages");
    let page = pages["pages"][0]["page_id"].as_str().unwrap().to_owned();
    let fill = |text: &str| text.replace("{page}", &page).replace("{op}", &newest);
    for (path, words) in SAME {
        let answered = without_notes(server.get(&fill(path)));
        let wanted = reported(&view, &fill(words));
        assert_eq!(at_the_time_of(&wanted, answered), wanted, "{path}");
    }
}

#[test]
fn a_route_of_another_shape_says_what_its_command_does() {
    let sandbox = Sandbox::new();
    let view = used(&sandbox);
    let server = Server::start(&view, &[]);
    let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    for (path, words, adds, changes) in SHAPED {
        let answered = match path.strip_prefix("POST ") {
            Some(path) => server.post(path, &json!({})).json(),
            None => server.get(path),
        };
        let answered = without_notes(answered);
        let report = reported(&view, words);
        let all = names(&report);
        let mut wanted: BTreeSet<_> =
            all.iter().filter(|name| !changes.contains(&name.as_str())).cloned().collect();
        for name in &wanted {
            let answered = at_the_time_of(&report[name], answered[name].clone());
            assert_eq!(answered, report[name], "{name} of {path}");
        }
        wanted.extend(adds.iter().map(|name| (*name).to_owned()));
        assert_eq!(names(&answered), wanted, "{path}");
    }
}

#[test]
fn every_route_is_held_against_its_command() {
    // Logins have no command; operations are answered before theirs ends.
    let elsewhere = ["/login", "/operations", "/vcm/map", "/try"];
    let table = include_str!("../../../docs/dashboard.md");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let routes: Vec<_> = rows
        .filter_map(|(route, _)| route.split_once(' '))
        .filter(|(_, pattern)| pattern.starts_with('/'))
        .collect();
    assert!(routes.len() > 50, "{routes:?}");
    let same = SAME.iter().map(|(path, _)| ("GET", *path));
    let shaped = SHAPED
        .iter()
        .map(|(path, ..)| path.strip_prefix("POST ").map_or(("GET", *path), |path| ("POST", path)));
    let held: Vec<_> = same
        .chain(shaped)
        .chain(super::changes::CHANGES.iter().map(|(method, path, ..)| (*method, *path)))
        .collect();
    let is_like = |pattern: &str, path: &str| {
        let path = path.split('?').next().unwrap_or(path);
        let (parts, wanted): (Vec<_>, Vec<_>) =
            (path.split('/').collect(), pattern.split('/').collect());
        parts.len() == wanted.len()
            && parts
                .iter()
                .zip(&wanted)
                .all(|(part, wanted)| wanted.starts_with('{') || part == wanted)
    };
    let missing: Vec<_> = routes
        .iter()
        .filter(|(_, pattern)| !elsewhere.iter().any(|start| pattern.starts_with(start)))
        .filter(|(method, pattern)| {
            !held.iter().any(|(own, path)| own == method && is_like(pattern, path))
        })
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_failure_has_the_code_of_the_command() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    for (path, status, code) in [
        ("/ops/op-99", 404, "operation-not-found"),
        ("/vcm/pages/0123456789", 404, "page-not-found"),
        ("/agents/nobody/log", 404, "revision-not-found"),
        ("/diff?a=nothing", 404, "revision-not-found"),
        ("/repo-map?origin_url=/etc", 422, "url-refused"),
        ("/vcm/map/operations/map_0", 404, "operation-not-found"),
    ] {
        let answer = server.ask("GET", path, None);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{path}");
    }
}

#[test]
fn a_colony_is_created_and_changed() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let first = server.get("/colonies");
    let unset = json!([{ "id": "default", "origin_url": null, "branch": "main", "commit": "HEAD", "is_here": true }]);
    assert_eq!(first["colonies"], unset);
    let url = "https://example.org/r.git";
    let wanted = json!({ "id": "rocket", "origin_url": url });
    assert_eq!(server.post("/colonies", &wanted).status, 201);
    assert_eq!(server.post("/colonies", &wanted).code(), "colony-exists");
    let place = "/colonies/rocket/design-monorepo";
    let changed = json!({ "origin_url": url, "branch": "dev", "commit": "HEAD" });
    assert_eq!(server.ask("PUT", place, Some(&changed)).status, 200);
    let shown = server.get(place);
    assert_eq!((&shown["origin_url"], &shown["branch"]), (&json!(url), &json!("dev")));
    let unknown = server.get("/colonies/unknown/design-monorepo");
    assert_eq!((&unknown["origin_url"], &unknown["branch"]), (&Value::Null, &json!("main")));
    let refused = server.ask("PUT", "/colonies/unknown/design-monorepo", Some(&changed));
    assert_eq!((refused.status, refused.code().as_str()), (404, "colony-not-found"));
    let local = json!({ "origin_url": "/etc" });
    assert_eq!(server.ask("PUT", place, Some(&local)).code(), "url-refused");
}

#[test]
fn what_destroys_is_shown_first() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    let before = sandbox.read("a.txt");
    view.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "another\n");
    let server = Server::start(&view, &[]);
    let wanted = json!({ "checkpoint_id": "one" });
    let shown = server.post("/restore", &wanted).json();
    assert_eq!(shown["applied"], false);
    assert_eq!(sandbox.read("a.txt"), "another\n");
    let with = |id: &Value| json!({ "checkpoint_id": "one", "preview_id": id });
    let stale = server.post("/restore", &with(&json!("preview-0")));
    assert_eq!((stale.status, stale.code().as_str()), (409, "preview-stale"));
    let done = server.post("/restore", &with(&shown["preview_id"])).json();
    assert_eq!((&done["ok"], &done["applied"]), (&json!(true), &json!(true)), "{done}");
    assert_eq!(sandbox.read("a.txt"), before);
    let undo = server.post("/undo", &json!({})).json();
    let body = json!({ "preview_id": undo["preview_id"] });
    assert_eq!(server.post("/undo", &body).json()["applied"], true);
    assert_eq!(sandbox.read("a.txt"), "another\n");
}

#[test]
fn a_preview_belongs_to_its_login() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    view.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "another\n");
    let mut server = Server::start(&view, &[]);
    let shown = server.post("/restore", &json!({ "checkpoint_id": "one" })).json();
    server.press("\n");
    let (_, code) = server.next_link();
    server.token = server.log_in(&code).json()["token"].as_str().unwrap().to_owned();
    let body = json!({ "checkpoint_id": "one", "preview_id": shown["preview_id"] });
    assert_eq!(server.post("/restore", &body).code(), "preview-stale");
    assert_eq!(sandbox.read("a.txt"), "another\n");
}

#[test]
fn an_answer_that_has_not_changed_is_not_sent_again() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let token = format!("Bearer {}", server.token);
    let login = ("Authorization", token.as_str());
    let fleet = |headers: &[(&str, &str)]| {
        server.raw(&server.request("GET", "/api/v1/fleet", headers, None))
    };
    let tag = fleet(&[login]).header("etag").unwrap();
    let known = [login, ("If-None-Match", tag.as_str())];
    assert_eq!((fleet(&known).status, fleet(&known).text.as_str()), (304, ""));
    sandbox.write("new.txt", "new\n");
    assert_eq!(fleet(&known).status, 200);
}
