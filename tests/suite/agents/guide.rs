//! What an agent is told of working here.

use std::fs;
use std::path::PathBuf;

use git_colony::testing::{Tokenizer, World};
use serde_json::Value;

use crate::support::Sandbox;

/// What a model may have to read before it works. Names of the repository are in it.
const MAX_TOKENS: usize = 940;

fn told(answer: &Value) -> String {
    let guide = answer["guide"].as_str();
    let guide = guide.unwrap_or_else(|| panic!("{answer:#}"));
    // The random name of the temporary folder is more or fewer tokens in each run.
    let names = guide.split_inclusive('/').map(|name| match name {
        name if name.starts_with(".tmp") => "demo/",
        name => name,
    });
    let tokens = Tokenizer::O200k.count(&names.collect::<String>());
    assert!(guide.lines().count() <= 72 && tokens <= MAX_TOKENS, "{tokens}");
    guide.to_owned()
}

#[test]
fn the_guide_names_what_is_here() {
    let desk = Sandbox::new();
    desk.write(".colony/agents/ada.md", "---\nscope: [src/**, '`x`']\n---\n");
    desk.colony(&["commit", "-m", "rule", "--all"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let path = made["path"].as_str().unwrap();
    let clone = desk.at(PathBuf::from(path));
    let answer = clone.json(&["agents", "guide"]);
    let guide = told(&answer);
    let line =
        format!("Agent `ada` works in `{path}`, on `fork/ada`; the work is merged into `main`.");
    assert!(guide.contains(&line), "{guide}");
    assert!(guide.contains("Here these are `src/**`, `` `x` `` (see `.colony/agents/ada.md`)."));
    assert!(guide.contains("    git colony merge main "), "{guide}");
    assert_eq!(answer["scope"], serde_json::json!(["src/**", "`x`"]));
    assert_eq!(clone.colony(&["agents", "guide"]), format!("{guide}"));
    let guide = told(&desk.json(&["agents", "guide"]));
    assert!(guide.contains(", on `main` is a checkout of a person: "));
}

#[test]
fn the_guide_is_there_without_a_repository() {
    let desk = Sandbox::new();
    let place = desk.outside().join("nowhere");
    fs::create_dir(&place).unwrap();
    let world = World { cwd: place, ..desk.world() };
    let run = desk.run_in(world, &["--json", "agents", "guide"]);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(told(&answer).contains("`git colony agents path NAME`"));
    assert_eq!(answer["branch"], Value::Null);
}

#[test]
fn names_of_the_repository_end_nothing_in_the_guide() {
    let desk = Sandbox::new();
    desk.git(&["switch", "-qc", "a`b``{rule}"]);
    let guide = told(&desk.json(&["agents", "guide"]));
    assert!(guide.contains("on ``` a`b``{rule} ```"), "{guide}");
}

#[test]
fn every_command_of_the_guide_is_one_of_ours() {
    let desk = Sandbox::new();
    let guide = told(&desk.json(&["agents", "guide"]));
    let lines = guide.lines().filter_map(|line| line.strip_prefix("    git colony "));
    let names = lines.filter_map(|line| line.split(' ').next());
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    assert!(names.len() > 10, "{guide}");
    for name in names {
        assert_eq!(desk.run(&[name, "--help"]).code, 0, "{name}");
    }
    for line in guide.lines() {
        for flag in line.split([' ', '`', '|']).filter(|word| word.starts_with("--")) {
            let flag = flag.trim_end_matches([',', '.']);
            let known = ["checkpoint", "decide", "commit", "merge", "sync", "context"];
            let help = |name: &&str| {
                let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
                desk.run(&words).stdout
            };
            let mut helps = known.iter().map(help);
            let elsewhere = ["--mirror", "--takeover", "--hard"].contains(&flag);
            assert!(elsewhere || helps.any(|help| help.contains(flag)), "{flag}");
        }
    }
}

#[test]
fn each_line_of_the_guide_is_one_command_and_each_tool_is_there() {
    let desk = Sandbox::new();
    let guide = told(&desk.json(&["agents", "guide"]));
    let lines = guide.lines().filter(|line| line.starts_with("    git colony"));
    let chained: Vec<_> =
        lines.filter(|line| line.contains("; git") || line.contains("&&")).collect();
    assert!(chained.is_empty(), "{chained:?}");
    let tools = guide.split("## Tools").nth(1).unwrap().split("##").next().unwrap();
    let offered = desk.json(&["call"]);
    let offered: Vec<_> = offered["actions"].as_array().unwrap().iter().collect();
    let words = tools.split('`').skip(1).step_by(2);
    let others = [".git", "preview_id", "directory", "read_action", "call_action"];
    let named: Vec<_> = words.filter(|word| !others.contains(word)).collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(offered.iter().any(|action| action["name"] == name), "{name}");
    }
}
