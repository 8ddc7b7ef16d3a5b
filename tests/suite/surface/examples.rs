//! The examples of help and the man pages: every command has some, and each works when it is typed.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use git_colony::testing::examples;

use crate::support::Sandbox;

/// The commands whose examples make what those of others need.
const FIRST: [&str; 3] = ["init", "agents", "fork"];

/// The commands whose examples delete or merge it.
const LAST: [&str; 2] = ["forks", "merge"];

/// A repository with a remote, and the program on the path of a shell.
fn shell(sandbox: &Sandbox, script: &str) -> Command {
    let mut shell = sandbox.with_program().process("sh");
    shell.args(["-c", script]);
    let shared = sandbox.outside().join("shared");
    shell.env("COLONY_SHARED_ROOT", shared);
    shell
}

/// Returns a line that ends: a dashboard serves until a signal comes.
fn ended(typed: &str) -> String {
    if !typed.starts_with("git colony dashboard") {
        return typed.to_owned();
    }
    let link = "read -r link <link && test -n \"$link\"";
    format!("mkfifo link && {{ {typed} >link & }} && {link} && rm link && kill $! && ! wait $!")
}

#[test]
fn every_example_works_when_it_is_typed() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    sandbox.write("src/header.rs", "/// Parses a header.\nfn parse_header() {}\n");
    sandbox.write("docs/undo.md", "# Undo\n");
    sandbox.write("Cargo.toml", "[package]\nname = \"one\"\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qam", "second"]);
    // A merge to revert.
    sandbox.git(&["switch", "-q", "-c", "fork/parser"]);
    sandbox.write("src/parser.rs", "fn parse() {}\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "parser"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["merge", "-q", "--no-ff", "--no-edit", "fork/parser"]);
    let remote = sandbox.outside().join("origin.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", ".", remote]);
    sandbox.git(&["remote", "add", "origin", remote]);
    sandbox.git(&["fetch", "-q", "origin"]);
    // Documents to list and to clear.
    sandbox.colony(&["ingest", "docs/undo.md"]);
    let mut wrong = String::new();
    let mut all: Vec<_> = examples::all().collect();
    all.sort_by_key(|one| (LAST.contains(&one.command), !FIRST.contains(&one.command)));
    let lines = all.iter().flat_map(|examples| examples.lines);
    for (number, (typed, _)) in lines.enumerate() {
        sandbox.write("a.txt", format!("{number}\n"));
        sandbox.write("dir/b.txt", format!("{number}\n"));
        let output = shell(&sandbox, &ended(typed)).output().unwrap();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            writeln!(wrong, "{typed}: {}\n{said}", output.status).unwrap();
        }
    }
    // Their process would go on in a folder that is being deleted.
    let stop = "git colony watch list --json | grep -o 'watch_[0-9a-f]\\+' | xargs -n 1 git colony watch stop";
    assert!(shell(&sandbox, stop).output().unwrap().status.success());
    assert_eq!(wrong, "");
}

#[test]
fn help_and_the_manual_show_the_examples_of_every_command() {
    let sandbox = Sandbox::new();
    let commands = sandbox.json(&["help", "--all"])["commands"].clone();
    for command in commands.as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        let examples = examples::all().find(|examples| examples.command == name);
        let examples = examples.unwrap_or_else(|| panic!("'{name}' has no examples"));
        assert!((2..=3).contains(&examples.lines.len()), "{name}");
        let help = sandbox.colony(&[name, "-h"]);
        let at = |what: &str| help.find(what).unwrap_or_else(|| panic!("{what}: {help}"));
        assert!(at("Global options:") < at("Examples:"), "{help}");
        for (typed, told) in examples.lines {
            assert!(typed.contains("git colony"), "{typed}");
            let shown = &help[at("Examples:")..];
            assert!(shown.contains(typed) && shown.contains(told), "{help}");
            assert!(typed.chars().count() <= 76, "{typed}");
        }
        let page = format!("{}/man/git-colony-{name}.1", env!("CARGO_MANIFEST_DIR"));
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains(".SH \"EXAMPLES\""), "{name}");
    }
    // Own options first, those of every command last.
    let help = sandbox.colony(&["merge", "-h"]);
    let everywhere = help.find("Global options:").unwrap();
    assert!(help.find("--squash").unwrap() < everywhere, "{help}");
    assert!(help.find("--json").unwrap() > everywhere, "{help}");
}
