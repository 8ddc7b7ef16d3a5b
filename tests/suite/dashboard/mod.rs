//! The dashboard as a process of its own, asked by raw sockets: no client library mends what a request breaks.

mod attacks;
mod changes;
mod guard;
mod life;
mod login;
mod operations;
mod reports;
mod stream;
mod trains;
mod words;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{HANG_TIMEOUT, end_of};
use crate::support::{Sandbox, View};

/// A dashboard that serves, and somebody who is logged in.
struct Server {
    child: Child,
    keys: ChildStdin,
    lines: BufReader<ChildStdout>,
    port: u16,
    token: String,
}

/// What a server sent.
#[derive(Clone, Debug)]
struct Response {
    status: u16,
    head: String,
    text: String,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }
}

/// A repository with what every user of the page has.
fn view(sandbox: &Sandbox) -> View {
    sandbox.with("COLONY_SHARED_ROOT", sandbox.outside().join("shared"))
}

impl Server {
    /// Starts one without a login.
    fn waiting(view: &View, options: &[&str]) -> Server {
        Server::by(view.program(), options)
    }

    /// Starts one by a program that takes the command line.
    fn by(mut program: Command, options: &[&str]) -> Server {
        program.arg("dashboard").args(options);
        let piped = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().unwrap();
        let keys = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Server { child, keys, lines, port: 0, token: String::new() }
    }

    fn start(view: &View, options: &[&str]) -> Server {
        Server::waiting(view, options).logged_in().0
    }

    /// Takes the link; returns its code, too.
    fn logged_in(mut self) -> (Server, String) {
        let (port, code) = self.next_link();
        self.port = port;
        self.token = self.log_in(&code).json()["token"].as_str().unwrap().to_owned();
        (self, code)
    }

    /// Reads a link; returns its port and its code.
    fn next_link(&mut self) -> (u16, String) {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let (_, place) = line.trim().rsplit_once("http://127.0.0.1:").unwrap();
        let (port, code) = place.split_once("/#").unwrap();
        (port.parse().unwrap(), code.to_owned())
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    fn log_in(&self, code: &str) -> Response {
        let body = json!({ "code": code }).to_string();
        self.raw(&self.request("POST", "/api/v1/login", &[], Some(&body)))
    }

    /// Makes a request with these headers besides those that every request needs.
    fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let has = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let host = format!("127.0.0.1:{}", self.port);
        let mut all: Vec<(&str, &str)> = headers.to_vec();
        if !has("host") {
            all.push(("Host", &host));
        }
        if body.is_some() && !has("content-type") {
            all.push(("Content-Type", "application/json"));
        }
        let lines = all.iter().filter(|(_, value)| !value.is_empty());
        text.extend(lines.map(|(name, value)| format!("{name}: {value}\r\n")));
        let end = match body {
            Some(body) => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
            None => "\r\n".to_owned(),
        };
        text + &end
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(HANG_TIMEOUT)).unwrap();
        stream
    }

    /// Sends bytes; returns the first response.
    fn raw(&self, request: &str) -> Response {
        let mut stream = self.connect();
        // A server that refuses early closes its end.
        stream.write_all(request.as_bytes()).ok();
        response(stream)
    }

    /// Asks a route with the token.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Response {
        let token = format!("Bearer {}", self.token);
        let body = body.map(Value::to_string);
        let path = format!("/api/v1{path}");
        self.raw(&self.request(method, &path, &[("Authorization", &token)], body.as_deref()))
    }

    fn get(&self, path: &str) -> Value {
        let response = self.ask("GET", path, None);
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.json()
    }

    fn post(&self, path: &str, body: &Value) -> Response {
        self.ask("POST", path, Some(body))
    }

    fn end(&mut self, signal: &str) -> Option<i32> {
        let number = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &number]).status();
        assert!(sent.unwrap().success());
        end_of(&mut self.child).code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn response(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that was reset has what came before.
    stream.read_to_end(&mut bytes).ok();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text.as_str(), ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    Response { status, head: head.to_owned(), text: body.to_owned() }
}
