//! Events as they come.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Server, view};
use crate::support::Sandbox;

/// An open stream.
pub(super) struct Stream(BufReader<TcpStream>);

impl Stream {
    pub(super) fn open(server: &Server, query: &str) -> Stream {
        let token = format!("Bearer {}", server.token);
        let headers = [("Authorization", token.as_str()), ("Accept", "text/event-stream")];
        let path = format!("/api/v1/events{query}");
        let mut stream = server.connect();
        stream.write_all(server.request("GET", &path, &headers, None).as_bytes()).unwrap();
        let mut stream = Stream(BufReader::new(stream));
        assert_eq!(stream.next("tick"), json!({}));
        stream
    }

    /// Returns the data of the next message of a kind.
    pub(super) fn next(&mut self, kind: &str) -> Value {
        let mut is_kind = false;
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream has ended");
            let line = line.trim_end();
            if let Some(found) = line.strip_prefix("event: ") {
                is_kind = found == kind;
            }
            if let Some(data) = line.strip_prefix("data: ").filter(|_| is_kind) {
                return serde_json::from_str(data).unwrap();
            }
        }
    }
}

#[test]
fn events_and_operations_come_as_they_happen() {
    let sandbox = Sandbox::new();
    let server = Server::start(&view(&sandbox), &[]);
    let mut stream = Stream::open(&server, "");
    server.post("/checkpoints", &json!({ "label": "one" }));
    let event = stream.next("colony");
    assert!(event["key"].as_str().unwrap().starts_with("checkpoint_"), "{event}");
    let mut other = Stream::open(&server, "");
    let started = server.post("/vcm/map", &json!({})).json();
    assert_eq!(other.next("operation")["op_id"], started["op_id"]);
}

#[test]
fn a_stream_goes_on_at_its_position() {
    let sandbox = Sandbox::new();
    let view = view(&sandbox);
    view.colony(&["checkpoint", "-m", "one"]);
    let server = Server::start(&view, &[]);
    let first = server.get("/events")["events"][0].clone();
    view.colony(&["checkpoint", "-m", "two", "--off-branch"]);
    let position = first["position"].as_str().unwrap();
    let mut stream = Stream::open(&server, &format!("?since={position}"));
    assert_ne!(stream.next("colony")["position"], first["position"]);
    let mut lost = Stream::open(&server, "?since=0000000000000000:1");
    lost.next("lost");
}

#[test]
fn the_end_of_all_logins_ends_the_streams() {
    let sandbox = Sandbox::new();
    let mut server = Server::start(&view(&sandbox), &[]);
    let mut stream = Stream::open(&server, "");
    server.press("x\n");
    stream.next("end");
}
