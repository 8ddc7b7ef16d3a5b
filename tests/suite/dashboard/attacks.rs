//! What attackers tried: logins that end in the middle of a request, other repositories that never answer, arguments in
//! another type, and a server that ends.

use std::io::Write as _;
use std::net::TcpListener;

use serde_json::json;

use super::stream::Stream;
use super::{Server, response, view};
use crate::support::{Sandbox, eventually};

#[test]
fn a_login_that_ends_before_the_body_comes_changes_nothing() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    let mut server = Server::start(&view, &[]);
    let body = json!({"label": "late", "off_branch": true}).to_string();
    let token = format!("Bearer {}", server.token);
    let headers = [("Authorization", token.as_str())];
    let request = server.request("POST", "/api/v1/checkpoints", &headers, Some(&body));
    let (head, rest) = request.split_at(request.len() - body.len());
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).unwrap();
    // The server has read the head when it answers another request.
    server.get("/watches");
    server.press("x\n");
    eventually("the end of the login", || server.ask("GET", "/watches", None).status == 401);
    stream.write_all(rest.as_bytes()).unwrap();
    assert_eq!(response(stream).code(), "login-required");
    assert_eq!(view.json(&["checkpoints"])["count"], 0);
}

#[test]
fn a_stream_ends_with_its_own_login() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    let mut server = Server::start(&view, &[]);
    let mut stream = Stream::open(&server, "");
    for _ in 0..16 {
        server.press("\n");
        let (_, code) = server.next_link();
        assert_eq!(server.log_in(&code).status, 200);
    }
    view.colony(&["checkpoint", "-m", "not for the one who left"]);
    stream.next("end");
}

#[test]
fn repositories_that_never_answer_hold_nothing_else_up() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let token = format!("Bearer {}", server.token);
    let ask = |number: usize| {
        let path = format!("/api/v1/repo-map?origin_url=https://127.0.0.1:{port}/{number}");
        let request = server.request("GET", &path, &[("Authorization", &token)], None);
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let mut waiting: Vec<_> = (0..4).map(ask).collect();
    let busy = || {
        let path = format!("/repo-map?origin_url=https://127.0.0.1:{port}/more");
        let answer = server.ask("GET", &path, None);
        (answer.status, answer.code())
    };
    // The four have begun when one more is refused.
    eventually("a refusal", || busy() == (503, "server-busy".to_owned()));
    assert_eq!(server.get("/state")["ok"], true);
    waiting.clear();
}

#[test]
fn arguments_have_their_type_before_any_check() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    for sources in [json!("[]"), json!([]), json!("[\"nope\"]")] {
        for path in ["/vcm/map", "/repo-map/preview"] {
            let answer = server.post(path, &json!({"enabled_sources": sources}));
            assert_eq!(answer.status, 422, "{path} {sources} {answer:?}");
        }
    }
    for path in ["/vcm/pages?limit=6e4", "/vcm/working-set?agent=a&agent=b"] {
        assert_eq!(server.ask("GET", path, None).status, 422, "{path}");
    }
    let url = "https://user:S3CRET@127.0.0.1:1/x.git";
    let started = server.post("/vcm/map", &json!({"origin_url": url}));
    assert_eq!(started.status, 202, "{started:?}");
    assert!(!started.text.contains("S3CRET"), "{started:?}");
    assert!(!server.get("/operations").to_string().contains("S3CRET"));
    // A dry run cancels nothing, and makes nothing.
    let id = started.json()["op_id"].as_str().unwrap().to_owned();
    let dry = server.ask("DELETE", &format!("/operations/{id}?dry_run=true"), None).json();
    assert!(["queued", "running", "error"].iter().any(|it| dry["status"] == *it), "{dry}");
    let after = server.get(&format!("/operations/{id}"));
    assert_ne!(after["status"], "cancelled", "{after}");
    let colony = json!({"id": "x", "origin_url": "https://example.org/x.git", "dry_run": true});
    assert_eq!(server.post("/colonies", &colony).status, 200);
}

#[test]
fn a_watch_outlives_the_server_that_began_it() {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.rs", "fn a() {}\n");
    let view = view(&sandbox);
    let mut server = Server::start(&view, &[]);
    let wanted = json!({"scope_id": "s", "paths": ["src"], "on_change": "notify_only"});
    let begun = server.post("/watches", &wanted);
    assert_eq!(begun.status, 200, "{begun:?}");
    assert_eq!(server.end("-INT"), Some(130));
    let watches = view.json(&["watches"]);
    assert_eq!(watches["running"], true, "{watches:#}");
    let id = watches["watches"][0]["watch_id"].as_str().unwrap_or_default().to_owned();
    view.json(&["watches", "stop", &id]);
}
