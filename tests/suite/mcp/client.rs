//! The official Python client, driven by a test on the real binary: `client.py` beside this file starts the server and speaks to it.
//!
//! tests/run installs it, in a place of its own. A test that does not find it there fails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{View, program_path};

/// The newest version of the protocol that has a handshake.
pub(super) const USUAL: &str = "2025-11-25";

/// A connection to a server of its own.
pub(super) struct Client {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// What the client knows of the server after the first messages.
    pub(super) connection: Value,
}

impl Client {
    /// Connects to `git colony mcp --structured`.
    pub(super) fn new(view: &View) -> Client {
        Client::of(view, USUAL, &["mcp"])
    }

    /// Connects in a version of the protocol to the server that a command line starts, and that sends structures.
    pub(super) fn of(view: &View, version: &str, arguments: &[&str]) -> Client {
        Client::of_texts(view, version, &[arguments, &["--structured"]].concat())
    }

    /// Does so to a server that sends what its command line says: without more, texts alone.
    pub(super) fn of_texts(view: &View, version: &str, arguments: &[&str]) -> Client {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/mcp/client.py");
        let mut process = view
            .process(python())
            .args([script, version])
            .arg(program_path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut client = Client {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            connection: Value::Null,
        };
        client.connection = client.answer();
        client
    }

    /// Has the client do something.
    pub(super) fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).expect("the client said on standard error why it ended")
    }

    /// Calls a tool; returns the whole result.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(&json!({ "do": "call", "tool": tool, "arguments": arguments }))
    }

    /// Calls a tool that has to do what is wanted, or to answer no; returns its data.
    pub(super) fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool} {result:#}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that has to fail; returns its data.
    pub(super) fn failed(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} {result:#}");
        let data = result["structuredContent"].clone();
        assert_eq!(data["ok"], false, "{data:#}");
        assert!(data["code"].is_string(), "{data:#}");
        data
    }

    /// Calls a tool that first answers with a preview, and again to have it done.
    pub(super) fn done_by_preview(&mut self, tool: &str, arguments: &Value) -> Value {
        let shown = self.done(tool, arguments);
        assert_eq!(shown["applied"], false, "{shown:#}");
        let done = self.done(tool, &with_preview(arguments, &shown));
        assert_eq!(done["applied"], true, "{done:#}");
        done
    }

    /// Calls a tool, and does not wait for it.
    pub(super) fn begin(&mut self, tool: &str, arguments: &Value) {
        self.ask(&json!({ "do": "begin", "tool": tool, "arguments": arguments }));
    }

    /// Waits for the call that was begun; returns the whole result.
    pub(super) fn wait(&mut self) -> Value {
        self.ask(&json!({ "do": "wait" }))
    }

    /// Returns the tools that are offered.
    pub(super) fn tools(&mut self) -> Vec<Value> {
        let listed = self.ask(&json!({ "do": "tools" }));
        listed["tools"].as_array().unwrap().clone()
    }
}

impl Drop for Client {
    /// The end of its input ends the client, and with it the server.
    fn drop(&mut self) {
        drop(self.input.take());
        let status = self.process.wait().unwrap();
        assert!(status.success() || std::thread::panicking(), "{status}");
    }
}

/// Returns the arguments with the id of a preview.
pub(super) fn with_preview(arguments: &Value, shown: &Value) -> Value {
    let mut arguments = arguments.clone();
    arguments["preview_id"] = shown["preview_id"].clone();
    assert!(arguments["preview_id"].is_string(), "{shown:#}");
    arguments
}

/// Returns the Python that has the client.
fn python() -> PathBuf {
    if let Some(named) = std::env::var_os("COLONY_TEST_MCP_PYTHON") {
        return named.into();
    }
    let version = include_str!("requirements.txt").trim();
    let version = version.strip_prefix("mcp==").unwrap();
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    let cache = cache.map_or_else(
        || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"),
        PathBuf::from,
    );
    let place = cache.join(format!("git-colony/mcp-client-{version}/bin/python"));
    assert!(
        place.exists(),
        "no MCP client is at {}: run tests/run, which installs it",
        place.display()
    );
    place
}
