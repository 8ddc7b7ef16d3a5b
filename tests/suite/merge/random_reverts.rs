//! Random merges, squashes and reverts of two agents, against a model: which files each side must have.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::support::{Sandbox, View};

/// A sequence of numbers that is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

type Files = BTreeSet<String>;

struct Agent {
    name: &'static str,
    clone: View,
    /// What it made itself.
    own: Files,
    /// What its clone must have.
    has: Files,
    /// What each merge of it has brought that was not reverted, oldest first.
    brought: Vec<Files>,
}

struct Model {
    desk: Sandbox,
    main: Files,
    agents: Vec<Agent>,
    made: usize,
}

fn listed(place: &View) -> Files {
    let listed = place.git(&["ls-files"]);
    listed.lines().filter(|name| name.starts_with("of-")).map(str::to_owned).collect()
}

fn add(place: &View, name: &str) {
    fs::write(place.path(name), format!("{name}\n")).unwrap();
    place.colony(&["commit", "-m", name, "--all"]);
}

impl Model {
    fn new() -> Model {
        let desk = Sandbox::new();
        let agents = ["ada", "bob"].map(|name| {
            let made = desk.json(&["agents", "new", name]);
            let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
            let (own, has) = (Files::new(), Files::new());
            Agent { name, clone, own, has, brought: Vec::new() }
        });
        Model { desk, main: Files::new(), agents: agents.into(), made: 0 }
    }

    fn step(&mut self, what: u64, who: usize) -> String {
        self.made += 1;
        let agent = &mut self.agents[who];
        let name = agent.name;
        match what {
            0..=2 => {
                let file = format!("of-{name}-{}", self.made);
                add(&agent.clone, &file);
                agent.own.insert(file.clone());
                agent.has.insert(file);
                format!("{name} commits")
            }
            3 => {
                let file = format!("of-main-{}", self.made);
                add(&self.desk, &file);
                self.main.insert(file);
                "main commits".to_owned()
            }
            4..=6 => {
                let brought: Files = agent.own.difference(&self.main).cloned().collect();
                let squash = if what == 6 { &["--squash"][..] } else { &[] };
                self.desk.json(&[&["merge", name], squash].concat());
                self.main.extend(brought.iter().cloned());
                agent.brought.extend((!brought.is_empty()).then_some(brought));
                format!("merge {name} {squash:?}")
            }
            7 => {
                let report = agent.clone.json(&["merge", "main"]);
                agent.has = self.main.union(&agent.own).cloned().collect();
                format!("{name} merges main: {}", report["outcome"])
            }
            _ => {
                let report = self.desk.json(&["revert", name]);
                // Without one, it is refused, or shows in the files.
                let brought = agent.brought.pop().unwrap_or_default();
                self.main.retain(|file| !brought.contains(file));
                format!("revert {name}: {}", report["message"])
            }
        }
    }

    fn check(&self, done: &[String]) {
        let done = done.join("\n");
        let graph = || self.desk.git(&["log", "--oneline", "--graph", "--all"]);
        assert_eq!(listed(&self.desk), self.main, "main after\n{done}\n{}", graph());
        for agent in &self.agents {
            assert_eq!(
                listed(&agent.clone),
                agent.has,
                "{} after\n{done}\n{}",
                agent.name,
                graph()
            );
        }
        let fleet = self.desk.json(&["fleet"]);
        for agent in &self.agents {
            let rows = fleet["agents"].as_array().unwrap();
            let row = rows.iter().find(|row| row["agent"] == agent.name).unwrap();
            if !agent.own.is_subset(&self.main) {
                assert_eq!(row["merged"], false, "{row:#} after\n{done}\n{}", graph());
                assert_ne!(row["commits"], 0, "{row:#} after\n{done}\n{}", graph());
            }
        }
    }
}

#[test]
fn random_merges_and_reverts_leave_each_side_its_files() {
    let cases = if std::env::var_os("COLONY_TEST_LONG").is_some() { 200 } else { 8 };
    let from: u64 = std::env::var("COLONY_TEST_FROM").map_or(0, |text| text.parse().unwrap());
    for case in from..from + cases {
        let mut chance = Chance(case);
        let mut model = Model::new();
        let mut done = vec![format!("case {case}")];
        for _ in 0..18 {
            let (what, who) = (chance.below(10), chance.below(2));
            done.push(model.step(what, usize::try_from(who).unwrap()));
            model.check(&done);
        }
        model.desk.check_invariants_of_git();
    }
}
