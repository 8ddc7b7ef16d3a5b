//! How a server starts and ends.

use std::fs;
use std::net::TcpListener;

use serde_json::json;

use super::{Server, view};
use crate::support::{Sandbox, View, eventually, program_path};

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
    server.post("/checkpoints", &json!({ "label": "one" }));
    server.get("/fleet");
    assert_eq!(server.end("-INT"), Some(130));
    let token = server.token.clone();
    let found = sandbox.process("grep").args(["-rl", &token]).arg(sandbox.outside()).output();
    let found = String::from_utf8(found.unwrap().stdout).unwrap();
    assert_eq!(found, "");
}

/// What the server and its children write and start, call by call.
#[test]
fn secrets_are_written_only_to_whom_they_are_for() {
    let sandbox = Sandbox::new();
    let trace = sandbox.outside().join("calls");
    let foreign = "gho-a-token-of-the-user";
    let view = view(&sandbox).with("GITHUB_TOKEN", foreign);
    let mut strace = view.process("strace");
    // The server stays the child; strace is a process beside it.
    strace.args(["-D", "-f", "-y", "-qq", "-s", "1000000", "-e"]);
    strace.arg("trace=write,writev,pwrite64,pwritev,sendto,sendmsg,sendmmsg,execve,rename,openat");
    strace.arg("-o").arg(&trace).arg(program_path());
    let (mut server, code) = Server::by(strace, &[]).logged_in();
    server.get("/fleet");
    server.post("/checkpoints", &json!({ "label": "one" }));
    server.ask("GET", "/repo-map?origin_url=https://127.0.0.1:9/r.git", None);
    assert_eq!(server.end("-INT"), Some(130));
    let mut calls = String::new();
    eventually("the end of the trace", || {
        calls = fs::read_to_string(&trace).unwrap();
        calls.ends_with("+++ exited with 130 +++\n") || calls.contains("SIGINT")
    });
    let with =
        |secret: &str| calls.lines().filter(|line| line.contains(secret)).collect::<Vec<_>>();
    let [link] = with(&code)[..] else { panic!("{:?}", with(&code)) };
    assert!(link.contains(">, \"dashboard of ") && link.contains("<pipe:["), "{link}");
    let [login] = with(&server.token)[..] else { panic!("{:?}", with(&server.token)) };
    assert!(login.contains("HTTP/1.1 200 OK") && login.contains("\\\"token\\\""), "{login}");
    assert_eq!(with(foreign), Vec::<&str>::new());
    assert!(calls.contains("execve") && calls.contains("r.git"), "strace saw no command");
}

#[test]
fn a_server_killed_in_a_map_leaves_nothing_broken() {
    let sandbox = Sandbox::new();
    let body = "/// Reads one header of a message.\nfn header() {}\n".repeat(20);
    for number in 0..600 {
        sandbox.write(&format!("src/file{number}.rs"), format!("// {number}\n{body}"));
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "many"]);
    let (view, other) = (view(&sandbox), view(&sandbox).copy("other"));
    for moment in [0, 1, 100, 400] {
        let mut server = Server::start(&view, &[]);
        let id = server.post("/vcm/map", &json!({})).json()["op_id"].as_str().unwrap().to_owned();
        eventually("progress", || {
            let operation = server.get(&format!("/operations/{id}"));
            let is_over = !["pending", "running"].contains(&operation["status"].as_str().unwrap());
            is_over || operation["progress"]["done"].as_u64().unwrap_or(0) >= moment
        });
        server.end("-KILL");
        assert!(view.git_any(&["fsck", "--strict"]).is_empty());
    }
    let again = view.json(&["map"]);
    assert_eq!(again["ok"], true, "{again}");
    other.colony(&["map"]);
    let ids = |view: &View| {
        let pages = view.json(&["pages", "--limit", "10000"]);
        let rows = pages["pages"].as_array().unwrap().clone();
        rows.iter().map(|page| page["page_id"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&view), ids(&other));
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
