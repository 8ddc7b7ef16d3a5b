//! A real agent program works with our server: it is the smallest that is one package for node and needs no account.
//!
//! Its model is a script (`scripted_model.py`), which gets what a model would get. Both run in a network of their own.
//! tests/run installs the program where npm is there, and says it where the test is skipped.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Sandbox, View, program_path};

const PACKAGE: &str = include_str!("agent-program.txt");

/// What the model does. The program shows tools by search only.
const SCRIPT: [(&str, &str); 3] = [
    (
        "tool_search",
        r#"{"query":"select:mcp__git-colony__list_checkpoints,mcp__git-colony__checkpoint_state"}"#,
    ),
    ("list_checkpoints", "{}"),
    ("checkpoint_state", r#"{"label":"by-tool"}"#),
];

/// Starts the model, and the program once it listens.
const RUN: &str = r#"
    python3 "$1/scripted_model.py" "$1/log" "$2" >"$1/port" & model=$!
    until [ -s "$1/port" ] || ! kill -0 $model; do sleep 0.05; done
    export OPENAI_BASE_URL="http://127.0.0.1:$(cat "$1/port")/v1"
    timeout 100 node "$3" --auth-type openai --yolo -p go </dev/null
    kill $model
"#;

/// Returns the program; `None` where tests/run found no npm.
fn program() -> Option<PathBuf> {
    let (name, version) = PACKAGE.trim().rsplit_once('@').unwrap();
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache");
    let cache = cache.map_or_else(home, PathBuf::from);
    let place =
        cache.join(format!("git-colony/agent-program-{version}/node_modules/{name}/cli.js"));
    place.exists().then_some(place)
}

/// Runs the program in a directory; returns the requests that the model got, or why there are none.
fn requests(view: &View, program: &PathBuf) -> Result<Vec<Value>, String> {
    let folder = view.outside().join("model");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("scripted_model.py"), include_str!("scripted_model.py")).unwrap();
    let parsed = SCRIPT.map(|(tool, text)| json!([tool, super::answer(text)]));
    let home = view.outside().join("home/.qwen");
    fs::create_dir_all(&home).unwrap();
    let server = json!({ "command": program_path(), "args": ["mcp"], "trust": true });
    let settings = json!({
        "mcpServers": { "git-colony": server },
        "privacy": { "usageStatisticsEnabled": false },
        "general": { "disableAutoUpdate": true },
    });
    fs::write(home.join("settings.json"), settings.to_string()).unwrap();
    let variables = view.with("OPENAI_API_KEY", "none").with("OPENAI_MODEL", "scripted");
    let mut unshare = variables.process("unshare");
    unshare.args(["--user", "--map-root-user", "--net", "sh", "-c", RUN, "sh"]);
    unshare.arg(&folder).arg(json!(parsed).to_string()).arg(program);
    let output = unshare.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let log = fs::read_to_string(folder.join("log")).map_err(|_| said)?;
    Ok(log.lines().map(super::answer).collect())
}

/// Returns what a tool answered, as a model reads it.
fn told(requests: &[Value], step: usize) -> String {
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    let mut results = messages.iter().filter(|message| message["role"] == "tool");
    results.nth(step).unwrap_or_else(|| panic!("{messages:#?}"))["content"].to_string()
}

#[test]
fn a_real_agent_program_sees_and_uses_our_tools() {
    let Some(program) = program() else {
        // tests/run has said so.
        return;
    };
    let desk = Sandbox::new();
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    clone.colony(&["checkpoint", "--off-branch", "-m", "known-label"]);
    clone.write("new.txt", "work\n");
    let requests = match requests(&clone, &program) {
        Ok(requests) => requests,
        // Not every machine lets its users make a network.
        Err(said) if said.contains("unshare") => return,
        Err(said) => panic!("{said}"),
    };
    // The tools are listed, the data of an answer reach the model, and a change is the agent's.
    let first = requests[0]["messages"].to_string();
    assert!(first.contains("mcp__git-colony__checkpoint_state"), "{first}");
    assert!(told(&requests, 0).contains("Make a checkpoint"), "{}", told(&requests, 0));
    assert!(told(&requests, 1).contains("known-label"), "{}", told(&requests, 1));
    assert!(told(&requests, 2).contains("kept 'by-tool'"), "{}", told(&requests, 2));
    let newest = clone.git(&["log", "-1", "--format=%an %s", "--name-only"]);
    assert_eq!(newest.trim(), "agent:ada:agent checkpoint: by-tool\n\nnew.txt");
}
