//! A clone of an agent behaves as `git worktree add` does: with settings, rules, hooks and filters of any kind in the
//! checkout, the same edits have the same status, the same commit and the same hooks.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::support::{Sandbox, View};

/// Settings of which each checkout has some.
const SETTINGS: &[(&str, &[&str])] = &[
    ("core.autocrlf", &["true", "input", "false"]),
    ("core.eol", &["lf", "crlf"]),
    ("core.fileMode", &["true", "false"]),
    ("core.whitespace", &["trailing-space,tab-in-indent"]),
    ("core.excludesFile", &["RULES/exclude"]),
    ("core.attributesFile", &["RULES/attributes"]),
    ("core.hooksPath", &["my hooks", "RULES/hooks"]),
    ("core.quotePath", &["false"]),
    ("commit.cleanup", &["scissors", "verbatim"]),
    ("diff.noprefix", &["true"]),
    ("diff.show.textconv", &["tr a-z A-Z <"]),
    ("diff.algorithm", &["histogram"]),
    ("filter.up.clean", &["tr a-z A-Z", ""]),
    ("filter.up.smudge", &["tr A-Z a-z"]),
    ("filter.up.required", &["false"]),
    ("filter.down.smudge", &["sed s/^/+/"]),
    ("filter.down.clean", &["sed s/^+//", "cat"]),
    ("merge.conflictStyle", &["diff3"]),
    ("status.showUntrackedFiles", &["all", "no"]),
    ("i18n.commitEncoding", &["ISO-8859-1"]),
];

const PATTERNS: &[&str] = &["*.txt", "sub/*", "/a.c", "*.dat", "!b.c", "sub", "*.c", "x*"];
const ATTRIBUTES: &[&str] =
    &["text", "-text", "text=auto", "eol=crlf", "filter=up", "filter=down", "diff=show", "ident"];
const FILES: &[&str] = &["a.c", "b.c", "x.txt", "sub/d.txt", "sub/e.dat", "sub/x y.c"];
const HOOKS: &[&str] = &["pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"];

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn choose<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn is_rare(&mut self) -> bool {
        self.below(3) == 0
    }

    fn text(&mut self) -> String {
        let ends = ["\n", "\r\n", " \n", "$Id$\n"];
        let lines: Vec<_> =
            (0..=self.below(4)).map(|_| ["some Words", self.choose(&ends)].concat()).collect();
        lines.concat()
    }

    fn rules(&mut self, with_attributes: bool) -> String {
        let mut rules = String::new();
        for _ in 0..self.below(4) {
            let pattern = self.choose(PATTERNS);
            match with_attributes {
                // A negative pattern is an error there.
                true if pattern.starts_with('!') => {}
                true => writeln!(rules, "{pattern} {}", self.choose(ATTRIBUTES)).unwrap(),
                false => writeln!(rules, "{pattern}").unwrap(),
            }
        }
        rules
    }
}

/// A checkout with settings, rules and hooks by chance.
fn desk(numbers: &mut Numbers) -> Sandbox {
    let desk = Sandbox::new();
    let rules = desk.outside().join("rules");
    for (key, values) in SETTINGS {
        if numbers.is_rare() {
            let value = numbers.choose(values).replace("RULES", rules.to_str().unwrap());
            desk.git(&["config", key, &value]);
        }
    }
    for (place, with_attributes) in [
        ("../rules/exclude", false),
        ("../rules/attributes", true),
        (".git/info/exclude", false),
        (".git/info/attributes", true),
        (".gitattributes", true),
    ] {
        desk.write(place, numbers.rules(with_attributes));
    }
    for folder in [".git/hooks", "my hooks", "../rules/hooks"] {
        for hook in HOOKS {
            if numbers.is_rare() {
                let log = desk.outside().join("hooks.log");
                let script = format!("#!/bin/sh\necho '{folder} {hook}' >>'{}'\n", log.display());
                desk.write_program(&format!("{folder}/{hook}"), script);
            }
        }
    }
    for file in FILES {
        desk.write(file, numbers.text());
    }
    // Hooks of the tree run in a worktree, too.
    desk.git(&["-c", "core.fileMode=true", "add", "-f", "."]);
    desk.git(&["commit", "-q", "--no-verify", "-m", "files"]);
    desk.git(&["tag", "-a", "v1", "-m", "v1"]);
    desk
}

/// Everything that can be seen of a tree after the same edits and the same commit.
fn seen_after(tree: &View, edits: &[(String, String)]) -> String {
    let log = tree.outside().join("hooks.log");
    fs::write(&log, "").unwrap();
    let tree = ["AUTHOR", "COMMITTER"].into_iter().fold(tree.clone(), |tree, role| {
        let named = tree.with(&format!("GIT_{role}_NAME"), "Ada");
        named.with(&format!("GIT_{role}_EMAIL"), "ada@example.com")
    });
    let mut seen = format!("{:?}\n", tree.worktree());
    for (path, text) in edits {
        tree.write(path, text);
    }
    fs::set_permissions(tree.path(FILES[0]), fs::Permissions::from_mode(0o755)).unwrap();
    for command in [
        &["status", "--porcelain"][..],
        &["status", "--porcelain", "--ignored"],
        &["diff", "--textconv"],
        &["add", "-A"],
        &["commit", "-q", "-m", "# edits\n\nof a tree "],
        &["rev-parse", "HEAD"],
        &["status", "--porcelain"],
        &["describe"],
    ] {
        writeln!(seen, "{command:?}: {}", tree.git_any(command)).unwrap();
    }
    seen + &fs::read_to_string(log).unwrap()
}

#[test]
fn a_clone_behaves_as_a_worktree_of_its_checkout() {
    for round in 0..12 {
        let mut numbers = Numbers(round);
        let desk = desk(&mut numbers);
        let edits: Vec<_> = ["a.c", "sub/d.txt", "new.c", "x new.txt", "sub/new.dat"]
            .map(|path| (path.to_owned(), numbers.text()))
            .into();
        let made = desk.json(&["agents", "new", "ada"]);
        assert_eq!(made["ok"], true, "round {round}: {made:#}");
        let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
        let place = desk.outside().join("worktree");
        desk.git(&["worktree", "add", "-q", "--no-track", "-b", "wt", place.to_str().unwrap()]);
        let by_git = seen_after(&desk.at(place), &edits);
        let by_us = seen_after(&clone, &edits);
        assert_eq!(by_us, by_git, "round {round}\n{}", desk.read(".git/config"));
    }
}
