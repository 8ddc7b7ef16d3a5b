//! Every answer of the page is an answer of `--json`.

use serde_json::{Value, json};

use super::{Server, view};
use crate::support::Sandbox;

/// Returns an answer without the notes, which are beside it on a command line.
fn without_notes(mut answer: Value) -> Value {
    answer.as_object_mut().unwrap().remove("notes");
    answer
}

#[test]
fn a_route_answers_as_its_command() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "/// Reads a header.\nfn header() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "second"]);
    let view = view(&sandbox);
    view.colony(&["map"]);
    view.colony(&["checkpoint", "-m", "one"]);
    view.colony(&["agents", "new", "ada"]);
    // The first search makes the index.
    view.colony(&["search", "header"]);
    sandbox.write("src/a.rs", "fn header() {}\n");
    let server = Server::start(&view, &[]);
    let ops = server.get("/ops");
    let newest = ops["ops"].as_array().unwrap().last().unwrap()["op"].as_str().unwrap().to_owned();
    let pages = server.get("/vcm/pages");
    let page = pages["pages"][0]["page_id"].as_str().unwrap().to_owned();
    for (path, words) in [
        ("/sessions", "session list".to_owned()),
        ("/vcm/pages", "pages --limit 20000".to_owned()),
        ("/vcm/stats", "pages stats".to_owned()),
        ("/vcm/working-set", "pages resident".to_owned()),
        ("/vcm/graph", "pages graph --max-nodes 5000".to_owned()),
        (&*format!("/vcm/pages/{page}"), format!("pages show --neighbours {page}")),
        ("/knowledge", "knowledge".to_owned()),
        ("/watches", "watches".to_owned()),
        ("/events?limit=3", "events --all --limit 3".to_owned()),
        ("/fleet", "fleet".to_owned()),
        ("/agents", "agents".to_owned()),
        ("/agents/ada/log", "log ada".to_owned()),
        ("/diff", "diff".to_owned()),
        ("/diff?patch=true&path=src", "diff --patch -- src".to_owned()),
        ("/diff?a=HEAD~1&b=ada", "diff HEAD~1...ada".to_owned()),
        ("/diff?a=HEAD~1&b=ada&since_left=false", "diff HEAD~1 ada".to_owned()),
        ("/checkpoints", "checkpoints".to_owned()),
        ("/ops", "ops --limit 200".to_owned()),
        (&*format!("/ops/{newest}"), format!("ops show {newest}")),
        ("/search?q=header", "search --limit 20 header".to_owned()),
        ("/context?q=header", "context --budget 4096 header".to_owned()),
        ("/context/stats", "context stats".to_owned()),
        ("/decisions", "decisions".to_owned()),
    ] {
        let words: Vec<_> = words.split(' ').chain(["--json"]).collect();
        // Options come before what follows '--'.
        let (options, rest): (Vec<_>, Vec<_>) = match words.iter().position(|word| *word == "--") {
            Some(at) => (words[..at].to_vec(), words[at..words.len() - 1].to_vec()),
            None => (words.clone(), Vec::new()),
        };
        let json = (!options.contains(&"--json")).then_some("--json");
        let output = view.program().args(options).args(json).args(rest).output().unwrap();
        let wanted: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(without_notes(server.get(path)), wanted, "{path}");
    }
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
