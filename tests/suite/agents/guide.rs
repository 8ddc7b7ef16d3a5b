//! What an agent is told of working here.

use std::fs;
use std::path::PathBuf;

use git_colony::testing::World;
use serde_json::Value;

use crate::support::Sandbox;

fn told(answer: &Value) -> String {
    let guide = answer["guide"].as_str();
    let guide = guide.unwrap_or_else(|| panic!("{answer:#}"));
    assert!(guide.lines().count() <= 66, "{}", guide.lines().count());
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
            let known = ["checkpoint", "decide", "commit", "merge", "sync", "pages show"];
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
