//! A row for each check of docs/dashboard.md: what is refused, by which status and code, and that nothing has changed.

use std::io::{Read as _, Write as _};

use serde_json::json;

use super::{Server, response, view};
use crate::support::Sandbox;

/// Headers, the status and the code of the answer.
type Row<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

#[test]
fn requests_from_elsewhere_are_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let token = format!("Bearer {}", server.token);
    let own = format!("http://127.0.0.1:{}", server.port);
    let login = ("Authorization", token.as_str());
    let rows: [Row<'_>; 13] = [
        (&[login], 200, ""),
        (&[login, ("Origin", &own), ("Sec-Fetch-Site", "same-origin")], 200, ""),
        (&[login, ("Host", "localhost:1")], 200, ""),
        (&[login, ("Host", "evil.example")], 421, "host-refused"),
        (&[login, ("Host", "")], 421, "host-refused"),
        (&[login, ("Origin", "http://evil.example")], 403, "origin-refused"),
        (&[login, ("Origin", "null")], 403, "origin-refused"),
        (&[login, ("Origin", "http://127.0.0.1:1")], 403, "origin-refused"),
        (&[login, ("Sec-Fetch-Site", "cross-site")], 403, "origin-refused"),
        (&[], 401, "login-required"),
        (&[("Authorization", "Bearer 00")], 401, "login-required"),
        (&[("Authorization", "Basic eDp5")], 401, "login-required"),
        (&[("Host", "evil.example"), ("Origin", "null")], 421, "host-refused"),
    ];
    for (headers, status, code) in rows {
        let answer = server.raw(&server.request("GET", "/api/v1/fleet", headers, None));
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{headers:?}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        assert_eq!(answer.header("cache-control").as_deref(), Some("no-store"));
        assert_eq!(answer.header("x-content-type-options").as_deref(), Some("nosniff"));
        assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
        assert_eq!(answer.header("set-cookie"), None);
    }
}

#[test]
fn addresses_methods_and_bodies_are_checked() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let token = format!("Bearer {}", server.token);
    let login = ("Authorization", token.as_str());
    let long = format!("{{\"plan\": \"{}\"}}", "x".repeat(1024 * 1024));
    let sessions = "/api/v1/sessions";
    let text = ("Content-Type", "text/plain");
    for (method, path, headers, body, status, code) in [
        ("GET", "/api/v1/nothing", vec![login], None, 404, "route-not-found"),
        ("GET", "/api", vec![login], None, 404, "route-not-found"),
        ("GET", "/nothing.js", vec![], None, 404, "route-not-found"),
        ("GET", "/vendor/../app.js", vec![], None, 404, "route-not-found"),
        ("GET", "/..%2fCargo.toml", vec![], None, 404, "route-not-found"),
        ("GET", "/app.js%00", vec![], None, 404, "route-not-found"),
        ("DELETE", sessions, vec![login], None, 405, "request-refused"),
        ("OPTIONS", sessions, vec![login], None, 405, "request-refused"),
        ("PUT", "/app.js", vec![], None, 405, "request-refused"),
        ("POST", sessions, vec![], Some("{}"), 401, "login-required"),
        ("POST", sessions, vec![login, text], Some("{}"), 415, "request-refused"),
        ("POST", sessions, vec![login], Some(long.as_str()), 413, "request-refused"),
        ("POST", sessions, vec![login], Some("[]"), 422, "invalid-value"),
        ("POST", sessions, vec![login], Some("{"), 422, "invalid-value"),
        ("POST", sessions, vec![login], Some("{\"plann\": \"x\"}"), 422, "usage"),
        ("POST", sessions, vec![login], Some("{\"plan\": 7}"), 422, "invalid-value"),
        ("POST", sessions, vec![login], Some("{\"dry_run\": \"maybe\"}"), 422, "invalid-value"),
        ("GET", "/api/v1/repo-map/tree?max_nodes=9", vec![login], None, 422, "usage"),
        ("GET", "/api/v1/vcm/pages?limit=50001", vec![login], None, 422, "invalid-value"),
    ] {
        let answer = server.raw(&server.request(method, path, &headers, body));
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {path}");
        if status == 405 {
            assert!(answer.header("allow").is_some(), "{method} {path}: {}", answer.head);
        }
    }
    assert_eq!(server.get("/sessions")["count"], 0);
}

#[test]
fn the_page_opens_from_anywhere_and_holds_nothing() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    for path in ["/", "/fleet/ada?tab=diff"] {
        let from = [("Accept", "text/html"), ("Sec-Fetch-Site", "cross-site")];
        let page = server.raw(&server.request("GET", path, &from, None));
        assert_eq!(page.status, 200, "{page:?}");
        assert!(page.text.contains("app.js") && !page.text.contains(&server.token));
        let head = server.raw(&server.request("HEAD", path, &from, None));
        assert_eq!((head.status, head.text.as_str()), (200, ""));
    }
    let script = server.raw(&server.request("GET", "/app.js", &[], None));
    assert_eq!(script.header("cache-control").as_deref(), Some("no-cache"));
    let tag = script.header("etag").unwrap();
    let again = [("If-None-Match", tag.as_str())];
    assert_eq!(server.raw(&server.request("GET", "/app.js", &again, None)).status, 304);
    let embedded = [("Sec-Fetch-Site", "cross-site")];
    assert_eq!(server.raw(&server.request("GET", "/app.js", &embedded, None)).status, 403);
}

#[test]
fn broken_and_oversized_requests_end_their_connection() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let host = format!("Host: 127.0.0.1:{}\r\n", server.port);
    let long = "x".repeat(16 * 1024 + 1);
    let head = server.raw(&format!("GET / HTTP/1.1\r\n{host}X-Long: {long}\r\n\r\n"));
    assert_eq!(head.status, 431);
    assert_eq!(server.raw("nonsense\r\n\r\n").status, 400);
    let two = "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n";
    let lengths = server.raw(&format!(
        "POST /api/v1/login HTTP/1.1\r\nConnection: close\r\nContent-Type: application/json\r\n{host}{two}"
    ));
    assert!([400, 422].contains(&lengths.status), "{lengths:?}");
    // The second of two requests in one write is checked as the first is.
    let first = format!("GET /app.js HTTP/1.1\r\n{host}\r\n");
    let second = format!("GET /api/v1/fleet HTTP/1.1\r\nConnection: close\r\n{host}\r\n");
    let both = server.raw(&format!("{first}{second}"));
    assert!(both.text.contains("HTTP/1.1 401 Unauthorized"), "{}", both.head);
}

#[test]
fn more_connections_than_fit_are_refused() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let idle: Vec<_> = (0..64).map(|_| server.connect()).collect();
    let mut refused = 0;
    // Few enough that the first ones are not closed for being idle, also on a slow machine.
    for _ in 64..264 {
        let mut answer = String::new();
        server.connect().read_to_string(&mut answer).ok();
        refused += usize::from(answer.starts_with("HTTP/1.1 503 "));
    }
    assert!(refused > 150, "{refused}");
    drop(idle);
    crate::support::eventually("a free connection", || {
        server.ask("GET", "/watches", None).status == 200
    });
}

#[test]
fn a_server_that_only_reads_changes_nothing() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &["--read-only"]);
    let wanted = json!({ "label": "one" });
    let refused = server.post("/checkpoints", &wanted);
    assert_eq!((refused.status, refused.code().as_str()), (403, "read-only"));
    let planned = server.post("/checkpoints", &json!({ "label": "one", "dry_run": true }));
    assert_eq!(planned.status, 200, "{planned:?}");
    assert_eq!(server.post("/repo-map/preview", &json!({})).status, 200);
    assert_eq!(server.post("/vcm/map", &json!({})).code(), "read-only");
    assert_eq!(server.ask("DELETE", "/watches/watch_1", None).code(), "read-only");
    assert_eq!(server.get("/checkpoints")["count"], 0);
    assert_eq!(server.get("/state")["read_only"], true);
}

#[test]
fn a_request_that_comes_in_pieces_is_answered() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let token = format!("Bearer {}", server.token);
    let request =
        server.request("GET", "/api/v1/watches", &[("Authorization", token.as_str())], None);
    let mut stream = server.connect();
    for piece in request.as_bytes().chunks(7) {
        stream.write_all(piece).unwrap();
    }
    assert_eq!(response(stream).status, 200);
}
