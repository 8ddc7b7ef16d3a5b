//! A link logs in once; a token belongs to one server.

use super::{Server, view};
use crate::support::Sandbox;
use crate::support::eventually;

#[test]
fn a_link_logs_in_once() {
    let sandbox = Sandbox::new();
    let mut server = Server::waiting(&view(&sandbox), &[]);
    let (port, code) = server.next_link();
    server.port = port;
    assert_eq!(code.len(), 32);
    let wrong = server.log_in("0123");
    assert_eq!((wrong.status, wrong.code().as_str()), (401, "login-required"));
    assert_eq!(wrong.header("www-authenticate").as_deref(), Some("Bearer"));
    let first = server.log_in(&code);
    assert_eq!(first.status, 200, "{first:?}");
    let answer = first.json();
    assert_eq!(answer["token"].as_str().unwrap().len(), 32);
    assert_eq!((&answer["read_only"], &answer["agent"]), (&false.into(), &().into()));
    assert_eq!(server.log_in(&code).status, 401);
}

#[test]
fn another_link_withdraws_the_first() {
    let sandbox = Sandbox::new();
    let mut server = Server::waiting(&view(&sandbox), &[]);
    let (port, first) = server.next_link();
    server.port = port;
    server.press("\n");
    let (_, second) = server.next_link();
    assert_ne!(first, second);
    assert_eq!(server.log_in(&first).status, 401);
    assert_eq!(server.log_in(&second).status, 200);
}

#[test]
fn a_key_ends_all_logins() {
    let sandbox = Sandbox::new();
    let mut server = Server::start(&view(&sandbox), &[]);
    assert_eq!(server.ask("GET", "/watches", None).status, 200);
    server.press("x\n");
    eventually("the end of the login", || server.ask("GET", "/watches", None).status == 401);
}

#[test]
fn a_token_of_another_server_does_not_count() {
    let sandbox = Sandbox::new();
    let mut ended = Server::start(&view(&sandbox), &[]);
    let token = ended.token.clone();
    assert_eq!(ended.end("-TERM"), Some(143));
    let mut server = Server::start(&view(&sandbox), &[]);
    server.token = token;
    assert_eq!(server.ask("GET", "/watches", None).code(), "login-required");
}

#[test]
fn the_oldest_of_many_logins_leaves() {
    let sandbox = Sandbox::new();
    let mut server = Server::start(&view(&sandbox), &[]);
    for _ in 0..16 {
        server.press("\n");
        let (_, code) = server.next_link();
        assert_eq!(server.log_in(&code).status, 200);
    }
    assert_eq!(server.ask("GET", "/watches", None).status, 401);
}
