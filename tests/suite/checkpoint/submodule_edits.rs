//! Edits inside submodules are named wherever a state is told, as git names them.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::support::{Sandbox, View};

/// A checkout with a submodule, `sub`, that has one of its own, `sub/deep`.
pub(super) struct Nested {
    _libraries: [Sandbox; 2],
    pub(super) top: Sandbox,
}

pub(super) const FILES: [&str; 2] = ["-c", "protocol.file.allow=always"];
pub(super) const WHO: [&str; 4] = ["-c", "user.name=A", "-c", "user.email=a@b"];

impl Nested {
    pub(super) fn new() -> Nested {
        let (deep, library, top) = (Sandbox::new(), Sandbox::new(), Sandbox::new());
        let add = |to: &Sandbox, of: &Sandbox, path: &str| {
            let add = ["submodule", "--quiet", "add", of.root.to_str().unwrap(), path];
            to.git(&[&FILES[..], &add].concat());
            to.git(&["commit", "-qm", path]);
        };
        add(&library, &deep, "deep");
        add(&top, &library, "sub");
        top.git(
            &[&FILES[..], &["submodule", "--quiet", "update", "--init", "--recursive"]].concat(),
        );
        Nested { _libraries: [deep, library], top }
    }

    pub(super) fn inner(&self) -> View {
        self.top.at(self.top.path("sub"))
    }
}

/// The submodules with edits inside, as git tells them.
fn edited_by_git(top: &Sandbox) -> BTreeSet<String> {
    let told = top.git(&["status", "--porcelain=v2", "--no-renames"]);
    let lines = told.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let state = words.nth(2).filter(|state| state.starts_with('S'))?;
        let is_edited = state.contains('M') || state.contains('U');
        is_edited.then(|| line.rsplit(' ').next().unwrap().to_owned())
    });
    lines.collect()
}

fn named(list: &Value) -> BTreeSet<String> {
    let paths = list.as_array().into_iter().flatten();
    let of = |it: &Value| it.as_str().or_else(|| it["path"].as_str()).unwrap().to_owned();
    paths.map(of).collect()
}

/// Small numbers that are the same in each run.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn act(nested: &Nested, random: &mut Random) -> String {
    let (top, inner) = (&nested.top, nested.inner());
    let deep = top.at(top.path("sub/deep"));
    let view = if random.below(2) == 0 { &inner } else { &deep };
    if !view.path(".git").exists() {
        let update = ["submodule", "--quiet", "update", "--init", "--recursive", "--force"];
        top.git_any(&[&FILES[..], &update].concat());
        return "update".to_owned();
    }
    let number = random.below(1_000).to_string();
    let setting = ["none", "untracked", "dirty"][usize::try_from(random.below(3)).unwrap()];
    match random.below(12) {
        0 => view.write("a.txt", &number),
        1 => view.write("new.txt", &number),
        2 => drop(fs::remove_file(view.path("a.txt"))),
        3 => drop(view.git_any(&["add", "-A"])),
        4 => {
            let commit = ["commit", "-qam", "inside", "--allow-empty"];
            view.git_any(&[&WHO[..], &commit].concat());
        }
        5 => drop(view.git_any(&["checkout", "-q", "--", "."])),
        6 => drop(fs::remove_file(view.path("new.txt"))),
        7 => drop(top.git_any(&["config", "submodule.sub.ignore", setting])),
        8 => drop(top.git_any(&["config", "--unset", "submodule.sub.ignore"])),
        9 => drop(top.git_any(&["config", "diff.ignoreSubmodules", setting])),
        10 => drop(top.git_any(&["config", "--unset", "diff.ignoreSubmodules"])),
        _ => drop(fs::remove_dir_all(top.path("sub/deep"))),
    }
    format!("{} {number} {setting}", view.root.display())
}

#[test]
fn random_edits_in_submodules_are_named_as_git_names_them() {
    for seed in [7, 1_234_567] {
        let nested = Nested::new();
        let top = &nested.top;
        let mut random = Random(seed);
        let mut done = Vec::new();
        for _ in 0..60 {
            done.push(act(&nested, &mut random));
            let status = top.json(&["status"]);
            let edited = edited_by_git(top);
            assert_eq!(named(&status["edited_submodules"]), edited, "{done:#?} {status:#}");
            assert_eq!(status["changes"]["in_submodules"], edited.len());
            let is_clean = top.git(&["status", "--porcelain"]).is_empty();
            assert_eq!(status["uncommitted_changes"], !is_clean, "{done:#?} {status:#}");
        }
    }
}

#[test]
fn a_state_with_edits_in_a_submodule_is_not_the_current_one() {
    let nested = Nested::new();
    let top = &nested.top;
    top.colony(&["checkpoint", "-m", "clean"]);
    assert!(top.colony(&["restore", "clean"]).contains("already the current state"));
    for path in ["sub/a.txt", "sub/deep/new.txt"] {
        top.write(path, "an hour of work\n");
        let status = top.colony(&["status"]);
        assert!(status.contains("1 edited inside submodules"), "{status}");
        assert!(status.contains("edits inside the submodule sub\n"), "{status}");
        top.git(&["config", "colony.checkpoint.submodules", "false"]);
        let kept = top.json(&["checkpoint", "--off-branch", "-m", path]);
        assert_eq!(kept["left_out"][0]["path"], "sub", "{kept:#}");
        assert_eq!(kept["left_out"][0]["reason"], "edited-submodule");
        let said = top.colony(&["restore", "clean"]);
        assert!(said.contains("'clean' is the current state, but for submodules"), "{said}");
        assert!(said.contains("left alone: sub (edits inside a submodule)"), "{said}");
        assert_eq!(top.read(path), "an hour of work\n");
        fs::remove_file(top.path(path)).unwrap();
        top.at(top.path(path).parent().unwrap().to_owned()).git_any(&["checkout", "-q", "."]);
    }
    // Another commit of it is a change that a checkpoint has, and a restore does not check out.
    let commit = ["commit", "-q", "--allow-empty", "-m", "inside"];
    nested.inner().git(&[&WHO[..], &commit].concat());
    let said = top.colony(&["restore", "clean"]);
    assert!(!said.contains("already the current state"), "{said}");
    assert!(said.contains("submodule not touched: sub"), "{said}");
}

#[test]
fn an_agent_with_work_in_a_submodule_is_not_removed_unasked() {
    let nested = Nested::new();
    let top = &nested.top;
    let made = top.json(&["agents", "new", "ada"]);
    let clone = top.at(made["path"].as_str().unwrap().into());
    let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
    clone.git(&[&FILES[..], &update].concat());
    let inner = clone.at(clone.path("sub"));
    inner.write("a.txt", "an hour of work\n");
    let row = top.json(&["fleet"]);
    assert!(row.to_string().contains("\"unsaved\":1"), "{row:#}");
    let refused = top.json(&["agents", "remove", "ada"]);
    assert_eq!(refused["code"], "clone-in-use", "{refused:#}");
    assert_eq!(refused["detail"]["left_out"][0]["path"], "sub");
    inner.git(&[&WHO[..], &["commit", "-qam", "inside"]].concat());
    let refused = top.json(&["agents", "remove", "ada"]);
    assert_eq!(refused["code"], "clone-in-use", "{refused:#}");
    let lost = refused["detail"]["lost"].to_string();
    assert!(lost.contains("modules/sub"), "{refused:#}");
    inner.git(&["reset", "-q", "--soft", "HEAD~1"]);
    inner.git(&["checkout", "-q", "HEAD", "--", "."]);
    let removed = top.json(&["agents", "remove", "ada"]);
    assert_eq!(removed["ok"], true, "it has nothing that its remote has not: {removed:#}");
    // All of it comes back, set up as it was.
    top.json(&["agents", "restore", "ada"]);
    assert_eq!(inner.git(&["status", "--porcelain"]), "");
}
