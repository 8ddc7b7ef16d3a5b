//! A day: twenty programs are started with new agents, their work is tried, landed, taken out and landed again. The project
//! is small and real, and so are its tests.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use crate::support::waiting::eventually;
use crate::support::{Sandbox, View};

/// The files of the project.
const PROJECT: [(&str, &str); 7] = [
    (".gitignore", "__pycache__/\n*.log\n"),
    ("README", "A calculator.\n"),
    ("calc/__init__.py", ""),
    ("calc/ops.py", "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"),
    ("calc/plugins/__init__.py", ""),
    ("tests/__init__.py", ""),
    ("tests/test_calc.py", TESTS),
];

/// Plugins may not have the same number.
const TESTS: &str = "import importlib, pkgutil, unittest
from calc import ops, plugins


class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(ops.add(2, 3), 5)

    def test_double(self):
        self.assertEqual(ops.double(4), 8)

    def test_plugins(self):
        found = [name for _, name, _ in pkgutil.iter_modules(plugins.__path__)]
        all = [importlib.import_module('calc.plugins.' + name) for name in found]
        numbers = [plugin.NUMBER for plugin in all]
        self.assertEqual(len(numbers), len(set(numbers)))
        for plugin in all:
            self.assertEqual(plugin.run(), plugin.NUMBER)
";

/// The test of the agent whose test fails by chance: in its eighth run.
const FLAKY: &str = "import unittest


class Flaky(unittest.TestCase):
    def test_by_chance(self):
        with open('flaky.log', 'a+') as log:
            log.write('run\\n')
            log.seek(0)
            self.assertNotEqual(len(log.readlines()), 8)
";

/// What the program of an agent does, by the name of the agent. Two of those who break the tests keep the size of the file.
const PROGRAM: &str = "set -e
plugin() { printf 'NUMBER = %s\\n\\n\\ndef run():\\n    return %s\\n' $1 $2 > calc/plugins/$COLONY_AGENT.py; }
case $COLONY_AGENT in
  bad-add) sed -i 's/a + b/a - b/' calc/ops.py;;
  bad-double) sed -i 's/a \\* 2/a * 3/' calc/ops.py;;
  bad-plugin) plugin 900 901;;
  clash-*) echo \"As $COLONY_AGENT has it.\" > README;;
  pair-*) plugin 800 800;;
  flaky) cat \"$PROJECT_OF_FLAKY\" > tests/test_flaky.py;;
  *) plugin ${COLONY_AGENT#good-} ${COLONY_AGENT#good-};;
esac
git add -A && git commit -qm \"$COLONY_TASK\"
git colony agents done -m \"$COLONY_TASK\"
";

const OTHERS: [&str; 8] =
    ["bad-add", "bad-double", "bad-plugin", "clash-1", "clash-2", "flaky", "pair-1", "pair-2"];

/// Makes a checkout with twenty agents whose programs have ended.
fn begun() -> Sandbox {
    let desk = Sandbox::new();
    for (path, text) in PROJECT {
        desk.write(path, text);
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "a project with tests"]);
    desk.git(&["config", "colony.test.run", "python3 -m unittest -q"]);
    let [program, flaky] = ["program.sh", "flaky.py"].map(|name| desk.outside().join(name));
    fs::write(&program, PROGRAM).unwrap();
    fs::write(&flaky, FLAKY).unwrap();
    let line = format!("sh '{}'", program.display());
    let person = desk.with_program().with("PROJECT_OF_FLAKY", flaky.to_str().unwrap());
    let good: Vec<String> = (1..=12).map(|number| format!("good-{number}")).collect();
    let all: Vec<&str> = good.iter().map(String::as_str).chain(OTHERS).collect();
    let args = [&["agents", "new"], all.as_slice(), &["-m", "a task", "-x", &line]].concat();
    let run = person.run(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    eventually("that all are done", || {
        let fleet = desk.json(&["fleet"]);
        let rows = fleet["agents"].as_array().unwrap().iter();
        rows.filter(|row| row.get("done").is_some()).count() == all.len()
    });
    desk
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

fn operations(desk: &View) -> usize {
    desk.json(&["ops"])["ops"].as_array().unwrap().len()
}

/// Runs a command that is one operation, and after which the tests pass on the branch; returns its answer.
fn step(desk: &View, args: &[&str]) -> Value {
    let before = operations(desk);
    let run = desk.run(&[&["--json"], args].concat());
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(operations(desk), before + 1, "{report:#}");
    let tests = desk.process("python3").args(["-B", "-m", "unittest", "-q"]).output().unwrap();
    assert!(tests.status.success(), "{report:#}{}", String::from_utf8_lossy(&tests.stderr));
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    report
}

/// Who lands: all good ones, the one with the flaky test, and one each of those that do not go together.
fn landed(report: &Value) -> usize {
    let names = names(&report["landed"]);
    assert!(!names.iter().any(|name| name.starts_with("bad-")), "{report:#}");
    for pair in ["clash-", "pair-"] {
        let count = names.iter().filter(|name| name.starts_with(pair)).count();
        assert_eq!(count, 1, "{report:#}");
    }
    names.iter().filter(|name| name.starts_with("good-") || **name == "flaky").count()
}

fn left_out<'a>(report: &'a Value, why: &str) -> Vec<&'a str> {
    let all = report["left_out"].as_array().unwrap().iter();
    all.filter(|left| left["why"] == why).map(|left| left["name"].as_str().unwrap()).collect()
}

#[test]
fn twenty_programs_begin_and_their_work_lands_and_goes() {
    let desk = begun();
    let tried: Value = serde_json::from_str(&desk.run(&["--json", "try"]).stdout).unwrap();
    assert_eq!(tried["outcome"], "failed", "{tried:#}");
    let first = step(&desk, &["land"]);
    assert_eq!(landed(&first), 13, "{first:#}");
    let mut failed = left_out(&first, "failed");
    failed.sort_unstable();
    assert_eq!(failed[..3], ["bad-add", "bad-double", "bad-plugin"], "{first:#}");
    assert!(failed.len() == 4 && failed[3].starts_with("pair-"), "{first:#}");
    assert_eq!(left_out(&first, "conflicts").len(), 1, "{first:#}");
    assert_eq!(first["flaky"], json!(["good-11"]), "{first:#}");
    step(&desk, &["undo"]);
    let second = step(&desk, &["land", "--except", "good-5"]);
    assert_eq!(landed(&second), 12, "{second:#}");
    // One is thrown away, one that failed is repaired, and the one that was left alone lands.
    step(&desk, &["revert", "good-7"]);
    assert!(!desk.path("calc/plugins/good-7.py").exists());
    let repaired = desk.at(desk.colony(&["agents", "path", "bad-plugin"]).trim().into());
    repaired.write("calc/plugins/bad-plugin.py", "NUMBER = 900\n\n\ndef run():\n    return 900\n");
    repaired.colony(&["commit", "-m", "repaired", "--all"]);
    repaired.colony(&["agents", "done"]);
    let third = step(&desk, &["land"]);
    assert_eq!(names(&third["landed"]), ["bad-plugin", "good-5"], "{third:#}");
    let last = step(&desk, &["land", "good-7", "good-5"]);
    assert_eq!(names(&last["landed"]), ["good-7"]);
    assert_eq!(last["up_to_date"], json!(["good-5"]));
    desk.colony(&["agents", "remove", "--merged"]);
    assert_eq!(desk.json(&["fleet"])["agents"].as_array().unwrap().len(), 4);
    desk.git(&["fsck", "--strict", "--no-dangling"]);
}
