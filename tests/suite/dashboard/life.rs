//! How a server starts and ends.

use std::fs;
use std::net::TcpListener;

use super::{Server, view};
use crate::support::Sandbox;

#[test]
fn a_taken_port_is_refused() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let code = sandbox.error(&["dashboard", "--port", &port.to_string()]);
    assert_eq!(code, "port-in-use");
}

#[test]
fn a_signal_ends_the_server() {
    let sandbox = Sandbox::new();
    for (signal, exit) in [("-INT", 130), ("-TERM", 143), ("-HUP", 143)] {
        let mut server = Server::start(&view(&sandbox), &[]);
        assert_eq!(server.end(signal), Some(exit));
    }
}

#[test]
fn the_answer_in_json_is_one_object_with_the_link() {
    let sandbox = Sandbox::new();
    let mut server = Server::waiting(&view(&sandbox), &["--json"]);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut server.lines, &mut line).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = answer["url"].as_str().unwrap();
    let port = answer["port"].as_u64().unwrap();
    assert!(url.starts_with(&format!("http://127.0.0.1:{port}/#")), "{url}");
    assert_eq!(answer["ok"], true);
}

#[test]
fn no_file_has_the_token() {
    let sandbox = Sandbox::new();
    let mut server = Server::start(&view(&sandbox), &[]);
    server.post("/checkpoints", &serde_json::json!({ "label": "one" }));
    server.get("/fleet");
    assert_eq!(server.end("-INT"), Some(130));
    let token = server.token.clone();
    let found = sandbox.process("grep").args(["-rl", &token]).arg(sandbox.outside()).output();
    let found = String::from_utf8(found.unwrap().stdout).unwrap();
    assert_eq!(found, "");
}

#[test]
fn a_server_at_rest_is_small() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    server.get("/fleet");
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    // Without the pages of the program itself: those of a debug build are many, and shared.
    let own = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes: u64 = own.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 30 * 1024, "{kilobytes} kB");
}
