//! Merges and picks of generated histories, and of any repository: git is the referee.
//!
//! `COLONY_REFEREE=<path>` names a repository whose newest 400 merges are made again as well.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git_colony::testing::{ObjectWrites, Oid, Repo, SideNames};
use serde_json::Value;

use crate::support::{Sandbox, View};

/// How many histories are generated: all kinds of edits meet in a few dozen.
fn cases() -> u64 {
    if std::env::var_os("COLONY_TEST_LONG").is_some() { 200 } else { 24 }
}

/// A sequence of numbers that is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        // The constants of Knuth's MMIX generator; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const PATHS: [&str; 8] = ["a", "b", "c.bin", "d/a", "d/b", "d/e/a", "link", "tool.sh"];

/// Makes one random edit of the worktree.
fn edit(sandbox: &Sandbox, chance: &mut Chance) {
    let mut pick = || PATHS[usize::try_from(chance.below(8)).unwrap()];
    let (path, other) = (pick(), pick());
    let line = chance.below(12);
    match chance.below(9) {
        0 => sandbox.remove(path),
        1 => {
            let from = sandbox.path(path);
            if from.is_file() && !sandbox.path(other).exists() {
                let parent = sandbox.path(other).parent().unwrap().to_owned();
                if std::fs::create_dir_all(parent).is_ok() {
                    std::fs::rename(from, sandbox.path(other)).ok();
                }
            }
        }
        2 if sandbox.path(path).is_file() => sandbox.set_mode(path, 0o755),
        3 => {
            sandbox.remove(path);
            let made = std::fs::create_dir_all(sandbox.path(path).parent().unwrap());
            if made.is_ok() {
                std::os::unix::fs::symlink(format!("to-{line}"), sandbox.path(path)).ok();
            }
        }
        4 => place(sandbox, path, &[0, u8::try_from(line).unwrap(), 0]),
        // A file in the place of a directory, and the other way round.
        5 => place(sandbox, "d", b"a file now\n"),
        6 => place(sandbox, "a/inside", b"a directory now\n"),
        _ => {
            let old = std::fs::read_to_string(sandbox.path(path)).unwrap_or_default();
            let mut lines: Vec<_> = (0..12).map(|n| format!("line {n} of {path}")).collect();
            for (at, old) in old.lines().enumerate().take(12) {
                old.clone_into(&mut lines[at]);
            }
            lines[usize::try_from(line).unwrap()] = format!("edit {}", chance.below(3));
            place(sandbox, path, (lines.join("\n") + "\n").as_bytes());
        }
    }
}

/// Writes a file; whatever is in its way goes.
fn place(sandbox: &Sandbox, path: &str, bytes: &[u8]) {
    for (at, _) in path.match_indices('/') {
        if !sandbox.path(&path[..at]).is_dir() {
            sandbox.remove(&path[..at]);
        }
    }
    sandbox.remove(path);
    sandbox.write(path, bytes);
}

fn commit(sandbox: &Sandbox, subject: &str) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "--allow-empty", "-m", subject]);
}

/// Makes a history in which `main` and `side` go their own ways, HEAD on `main`.
fn generate(seed: u64) -> Sandbox {
    let sandbox = Sandbox::new();
    let mut chance = Chance(seed);
    let mut edits = |count: u64, subject: &str| {
        for _ in 0..=chance.below(count) {
            edit(&sandbox, &mut chance);
        }
        commit(&sandbox, subject);
    };
    edits(12, "base");
    sandbox.git(&["switch", "-q", "-c", "side"]);
    edits(3, "side one");
    edits(3, "side two");
    sandbox.git(&["switch", "-q", "main"]);
    edits(4, "main");
    sandbox
}

fn tree(view: &View, revision: &str) -> String {
    view.git(&["rev-parse", &format!("{revision}^{{tree}}")])
}

fn conflicted(answer: &Value) -> BTreeSet<String> {
    let conflicts = answer["conflicts"].as_array().unwrap().iter();
    let paths = conflicts.flat_map(|conflict| conflict["paths"].as_array().unwrap().clone());
    paths.map(|path| path.as_str().unwrap().to_owned()).collect()
}

#[test]
fn generated_merges_and_picks_are_what_git_makes_of_them() {
    let (mut clean, mut open) = (0, 0);
    for seed in 0..cases() {
        let sandbox = generate(seed);
        let view = sandbox.at(sandbox.root.clone());
        let git_is_clean = sandbox.try_git(&["merge-tree", "--write-tree", "main", "side"]);
        let answer = sandbox.json(&["merge", "side"]);
        let outcome = answer["outcome"].as_str().unwrap().to_owned();
        assert_eq!(outcome != "conflicted", git_is_clean, "seed {seed}: {answer:#}");
        if git_is_clean {
            clean += 1;
            let expected = sandbox.git(&["merge-tree", "--write-tree", "main~0^1", "side"]);
            if outcome == "merged" {
                assert_eq!(tree(&view, "main"), expected, "seed {seed}");
            }
            assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "seed {seed}");
            sandbox.colony(&["undo"]);
        } else {
            open += 1;
            let listed = sandbox.git_any(&[
                "merge-tree",
                "--write-tree",
                "--name-only",
                "--no-messages",
                "main",
                "side",
            ]);
            let told = conflicted(&answer);
            for path in listed.lines().skip(1) {
                assert!(told.contains(path), "seed {seed}: {path} of {told:?}");
            }
        }
        compare_pick(&sandbox, seed);
    }
    assert!(clean > 3 && open > 3, "{clean} clean, {open} in conflict");
}

/// Picks the last commit of `side`, here by us and in a copy by git.
fn compare_pick(sandbox: &Sandbox, seed: u64) {
    let referee = sandbox.copy("referee");
    let git_is_clean =
        referee.try_git(&["cherry-pick", "--allow-empty", "--keep-redundant-commits", "side"]);
    let answer = sandbox.json(&["cherry-pick", "side"]);
    let ours_is_clean = answer["conflicts"] == serde_json::json!([]);
    assert_eq!(ours_is_clean, git_is_clean, "seed {seed}: {answer:#}");
    if git_is_clean {
        let view = sandbox.at(sandbox.root.clone());
        assert_eq!(tree(&view, "main"), tree(&referee, "main"), "seed {seed}");
    }
}

#[test]
fn merging_what_one_side_has_and_both_alike_changes_nothing() {
    for seed in 0..cases() {
        let sandbox = generate(seed);
        let repo = Repo::open(&sandbox.world(), ObjectWrites::InMemory).unwrap();
        let tree = |revision: &str| -> Oid {
            let name = format!("{revision}^{{tree}}");
            Oid::parse(&sandbox.git(&["rev-parse", &name])).unwrap()
        };
        let names = SideNames { base: "base", ours: "ours", theirs: "theirs" };
        let merge = |base, sides| repo.merge_on_trees(base, sides, names).unwrap();
        let (base, a, b) = (tree("main~1"), tree("main"), tree("side"));
        for (sides, expected) in [((a, base), a), ((base, a), a), ((a, a), a), ((b, b), b)] {
            let merged = merge(base, sides);
            assert!(merged.is_clean, "seed {seed}");
            assert_eq!(merged.tree, expected, "seed {seed}");
        }
        let (one, other) = (merge(base, (a, b)), merge(base, (b, a)));
        assert_eq!(one.is_clean, other.is_clean, "seed {seed}");
        if one.is_clean {
            assert_eq!(one.tree, other.tree, "seed {seed}");
        }
    }
}

#[test]
fn the_merges_of_a_repository_come_out_as_they_did() {
    let Some(path) = std::env::var_os("COLONY_REFEREE").map(PathBuf::from) else {
        return;
    };
    let sandbox = Sandbox::new();
    let source = sandbox.at(path);
    let merges = "--min-parents=2 --max-parents=2 --format=%P HEAD";
    let args: Vec<_> = ["log", "-400"].into_iter().chain(merges.split(' ')).collect();
    let listed = source.git(&args);
    let pairs: Vec<_> = listed.lines().filter_map(|line| line.split_once(' ')).collect();
    // Its objects are borrowed: nothing is written there, and it may be bare.
    let objects = source.git(&["rev-parse", "--path-format=absolute", "--git-path", "objects"]);
    sandbox.write(".git/objects/info/alternates", objects + "\n");
    let (view, world) = (sandbox.at(sandbox.root.clone()), sandbox.world());
    let repo = Repo::open(&world, ObjectWrites::InMemory).unwrap();
    let parse = |hex: &str| Oid::parse(hex).unwrap();
    let related = |(a, b): &(&str, &str)| !repo.merge_bases(parse(a), parse(b)).unwrap().is_empty();
    let pairs: Vec<_> = pairs.into_iter().filter(related).collect();
    assert!(!pairs.is_empty(), "this repository has no merges");
    let asked: Vec<_> = pairs.iter().map(|(a, b)| (parse(a), parse(b))).collect();
    let merges = repo.preview_merges(&world, &asked).unwrap();
    for ((a, b), merged) in pairs.iter().zip(merges) {
        let output = view.git_any(&["merge-tree", "--write-tree", a, b]);
        let expected = output.lines().next().unwrap();
        assert_eq!(merged.tree.to_string(), expected, "{a} {b}");
        assert_eq!(merged.is_clean, view.try_git(&["merge-tree", "--write-tree", a, b]));
    }
}
