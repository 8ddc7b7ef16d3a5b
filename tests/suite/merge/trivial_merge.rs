//! What is certain of a merge without git is what git makes of it, in generated histories.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use git_colony::testing::{ObjectWrites, Oid, Repo, conflicts};

use crate::support::Sandbox;

/// How many merges are generated.
fn cases() -> usize {
    if std::env::var_os("COLONY_TEST_LONG").is_some() { 60_000 } else { 3_000 }
}

/// A sequence of numbers that is the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const PATHS: [&str; 7] = ["a", "b", "b/c", "d/a", "d/b", "d/e/f", "g"];

/// Files by path: mode and content.
type Files = std::collections::BTreeMap<String, (&'static str, String)>;

/// A text in which some lines occur often and some once, so that algorithms differ.
fn text(chance: &mut Chance) -> String {
    let words = 2 + chance.below(5);
    let line = |chance: &mut Chance| match chance.below(3) {
        0 => format!("once {}\n", chance.below(1_000)),
        _ => format!("{}\n", chance.below(words)),
    };
    (0..chance.below(14)).map(|_| line(chance)).collect()
}

/// Replaces a stretch of lines, now and then two.
fn edit_text(chance: &mut Chance, old: &str) -> String {
    let mut lines: Vec<_> = old.split_inclusive('\n').map(str::to_owned).collect();
    for _ in 0..=chance.below(4) / 3 {
        let start = chance.below(lines.len() + 1);
        let end = (start + chance.below(3)).min(lines.len());
        let mut new = text(chance);
        for (cut, _) in new.clone().match_indices('\n').skip(3).take(1) {
            new.truncate(cut + 1);
        }
        // A stretch is often moved, or put in twice.
        if chance.below(3) == 0 && !lines.is_empty() {
            let from = chance.below(lines.len());
            new = lines[from..(from + 2).min(lines.len())].concat();
        }
        lines.splice(start..end, [new]);
        lines = lines.concat().split_inclusive('\n').map(str::to_owned).collect();
    }
    let mut new = lines.concat();
    if chance.below(40) == 0 {
        new.pop();
    }
    new
}

fn put(files: &mut Files, path: &str, file: (&'static str, String)) {
    let below = format!("{path}/");
    files.retain(|known, _| !known.starts_with(&below) && !path.starts_with(&format!("{known}/")));
    files.insert(path.to_owned(), file);
}

fn edit(chance: &mut Chance, files: &mut Files) {
    let (path, other) = (chance.pick(&PATHS), chance.pick(&PATHS));
    match chance.below(24) {
        0 => drop(files.remove(path)),
        1 => {
            if let Some(file) = files.remove(path) {
                put(files, other, file);
            }
        }
        2 => put(files, path, ("120000", format!("to-{}", chance.below(3)))),
        3 => drop(files.get_mut(path).map(|file| file.0 = "100755")),
        4 => put(files, path, ("100644", "\0binary\n".repeat(1 + chance.below(2)))),
        5 | 6 => put(files, path, ("100644", text(chance))),
        _ => {
            if let Some((mode, old)) = files.get(path).cloned() {
                put(files, path, (mode, edit_text(chance, &old)));
            }
        }
    }
}

/// Writes a history of three commits for `git fast-import`: base, ours and theirs, with three marks.
/// In every other one there is but one text, changed by both.
fn history(chance: &mut Chance, stream: &mut String, number: usize) {
    let is_one_text = number % 2 == 1;
    let paths = if is_one_text { &PATHS[..1] } else { &PATHS };
    let mut base = Files::new();
    for path in paths {
        if is_one_text || chance.below(5) > 0 {
            put(&mut base, path, ("100644", text(chance)));
        }
    }
    let first = 3 * number + 1;
    commit(stream, (first, None), &base);
    for mark in [first + 1, first + 2] {
        let mut files = base.clone();
        if is_one_text {
            let new = edit_text(chance, &base[PATHS[0]].1);
            put(&mut files, PATHS[0], ("100644", new));
        } else {
            (0..=chance.below(4)).for_each(|_| edit(chance, &mut files));
        }
        commit(stream, (mark, Some(first)), &files);
    }
}

fn commit(stream: &mut String, (mark, from): (usize, Option<usize>), files: &Files) {
    let who = "committer A <a@example.com> 1700000000 +0000";
    stream.push_str("reset refs/heads/generated\n");
    write!(stream, "commit refs/heads/generated\nmark :{mark}\n{who}\ndata 0\n").unwrap();
    if let Some(from) = from {
        writeln!(stream, "from :{from}").unwrap();
    }
    stream.push_str("deleteall\n");
    for (path, (mode, content)) in files {
        let size = content.len();
        write!(stream, "M {mode} inline {path}\ndata {size}\n{content}\n").unwrap();
    }
}

/// Makes the commits and returns them by their marks, the first at 0.
fn import(sandbox: &Sandbox, stream: &str) -> Vec<Oid> {
    let marks = sandbox.path(".git/marks");
    let mut git = Command::new("git");
    git.args(["fast-import", "--quiet"]).current_dir(&sandbox.root);
    git.arg(format!("--export-marks={}", marks.display()));
    let mut child = git.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let mut commits = std::collections::BTreeMap::new();
    for line in std::fs::read_to_string(marks).unwrap().lines() {
        let (mark, id) = line.split_once(' ').unwrap();
        commits.insert(mark[1..].parse::<usize>().unwrap(), Oid::parse(id).unwrap());
    }
    commits.into_values().collect()
}

fn notes(all: &[git_colony::testing::MergeNote]) -> Vec<(Vec<String>, &str)> {
    let conflicts = all.iter().filter(|note| note.kind.starts_with("CONFLICT"));
    let paths = |note: &git_colony::testing::MergeNote| {
        note.paths.iter().map(ToString::to_string).collect()
    };
    conflicts.map(|note| (paths(note), note.kind.as_str())).collect()
}

#[test]
fn what_is_certain_of_a_merge_is_what_git_makes_of_it() {
    let (sandbox, mut chance, mut stream) = (Sandbox::new(), Chance(7), String::new());
    for number in 0..cases() {
        history(&mut chance, &mut stream, number);
    }
    let commits = import(&sandbox, &stream);
    let world = sandbox.world();
    let repo = Repo::open(&world, ObjectWrites::InMemory).unwrap();
    let pairs: Vec<_> = commits.chunks(3).map(|three| (three[1], three[2])).collect();
    let asked = repo.preview_merges(&world, &pairs).unwrap();
    let mut merges = repo.certain_merges(&world);
    let (mut taken, mut joined, mut open) = (0, 0, 0);
    for (number, (pair, by_git)) in pairs.into_iter().zip(asked).enumerate() {
        let Some(certain) = merges.commits(&[commits[3 * number]], pair) else {
            continue;
        };
        assert_eq!(certain.is_clean(), by_git.is_clean, "{number}");
        if certain.is_clean() {
            let merged = certain.write(&repo, repo.tree_of(Some(pair.0)).unwrap()).unwrap();
            assert_eq!(merged.tree, by_git.tree, "{number}");
            let is_side = |commit| repo.tree_of(Some(commit)).unwrap() == merged.tree;
            if is_side(pair.0) || is_side(pair.1) || number % 2 == 0 {
                taken += 1;
            } else {
                joined += 1;
            }
        } else {
            open += 1;
            assert_eq!(certain.stages, by_git.stages, "{number}");
            assert_eq!(notes(&certain.notes()), notes(&by_git.notes), "{number}");
            assert_eq!(
                conflicts::list(&repo, &certain.stages, &certain.notes()),
                conflicts::list(&repo, &by_git.stages, &by_git.notes),
                "{number}"
            );
        }
    }
    let enough = taken > cases() / 10 && joined > cases() / 100 && open > cases() / 100;
    assert!(enough, "{taken} taken, {joined} joined, {open} open");
}

/// A fork `side` and `main` that changed two ends of `long.txt` and a file of their own each.
fn two_lines() -> Sandbox {
    let sandbox = Sandbox::new();
    let lines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";
    sandbox.write("long.txt", lines);
    commit_all(&sandbox, "long");
    sandbox.git(&["switch", "-q", "-c", "fork/side"]);
    sandbox.write("long.txt", format!("{lines}end of side\n"));
    sandbox.write("dir/b.txt", "side\n");
    sandbox.write("new/of-side", "side\n");
    commit_all(&sandbox, "side");
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("long.txt", format!("top of main\n{lines}"));
    commit_all(&sandbox, "main");
    sandbox
}

fn commit_all(sandbox: &Sandbox, subject: &str) {
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", subject]);
}

/// What is done to a repository, and what to call that.
type Case = (&'static str, fn(&Sandbox));

/// Dates files and index into the past: git trusts no entry as young as its index.
fn settle(sandbox: &Sandbox) {
    for path in ["a.txt", "long.txt", "dir/b.txt"] {
        let past = filetime::FileTime::from_unix_time(1_700_000_000, 0);
        filetime::set_file_mtime(sandbox.path(path), past).unwrap();
    }
    sandbox.git(&["update-index", "--refresh"]);
}

#[test]
fn a_certain_merge_is_previewed_without_git() {
    let sandbox = two_lines();
    settle(&sandbox);
    let without_git = |args: &[&str]| {
        let mut world = sandbox.world();
        world.variables.insert("PATH".into(), "/nonexistent".into());
        let run = sandbox.run_in(world, args);
        assert_eq!(run.code, 0, "{args:?} {}", run.stderr);
        run.stdout
    };
    let before = sandbox.git(&["count-objects"]);
    let told = without_git(&["merge", "side", "--dry-run"]);
    assert!(told.contains("merges cleanly") && told.contains("3 files"), "{told}");
    let told = without_git(&["cherry-pick", "fork/side", "--dry-run"]);
    assert!(told.contains("1 commit"), "{told}");
    sandbox.git(&["branch", "fork/other", "main"]);
    let told = without_git(&["forks", "--conflicts"]);
    assert!(told.contains("fork/other"), "{told}");
    assert_eq!(sandbox.git(&["count-objects"]), before);
    sandbox.colony(&["merge", "side"]);
    assert_eq!(sandbox.read("long.txt").lines().count(), 11);
}

#[test]
fn a_preview_says_of_every_edit_what_the_merge_says() {
    let disturb: [Case; 9] = [
        ("nothing", |_| {}),
        ("elsewhere", |s| s.write("a.txt", "edited\n")),
        ("edited", |s| s.write("dir/b.txt", "edited\n")),
        ("gone", |s| s.remove("dir/b.txt")),
        ("mode", |s| s.set_mode("dir/b.txt", 0o755)),
        ("staged", |s| {
            s.write("dir/b.txt", "staged\n");
            s.git(&["add", "dir/b.txt"]);
        }),
        ("untracked", |s| s.write("new/of-side", "untracked\n")),
        ("a file above", |s| s.write("new", "untracked\n")),
        ("ignored", |s| {
            s.write(".git/info/exclude", "new/\n");
            s.write("new/of-side", "ignored\n");
        }),
    ];
    for (what, disturb) in disturb {
        let sandbox = two_lines();
        settle(&sandbox);
        disturb(&sandbox);
        let preview = sandbox.json(&["merge", "side", "--dry-run"]);
        let merged = sandbox.json(&["merge", "side"]);
        for key in ["ok", "code", "outcome", "files_changed", "ignored_kept", "paths"] {
            assert_eq!(preview[key], merged[key], "{what} {key}: {preview:#} {merged:#}");
        }
    }
}

#[test]
fn what_attributes_and_configuration_say_of_merges_is_for_git() {
    let set: [Case; 6] = [
        ("in the worktree", |s| {
            s.write(".gitattributes", "*.txt merge=union\n");
        }),
        ("by a macro", |s| {
            s.write(".gitattributes", "[attr]both merge=union\n*.txt both\n");
        }),
        ("below", |s| {
            s.write("dir/.gitattributes", "b.txt merge=union\n");
        }),
        ("beside", |s| {
            s.write(".git/info/attributes", "dir/b.txt merge=union\n");
        }),
        ("in a file that is configured", |s| {
            s.write(".git/mine", "*.txt merge=union\n");
            let path = s.path(".git/mine");
            s.git(&["config", "core.attributesFile", path.to_str().unwrap()]);
        }),
        ("for all files", |s| {
            drop(s.git(&["config", "merge.default", "union"]));
        }),
    ];
    for (where_, set) in set {
        let sandbox = two_lines();
        sandbox.write("dir/b.txt", "main\n");
        commit_all(&sandbox, "clash");
        assert_eq!(sandbox.json(&["merge", "side", "--dry-run"])["outcome"], "conflicted");
        set(&sandbox);
        let answer = sandbox.json(&["merge", "side", "--dry-run"]);
        assert_eq!(answer["outcome"], "merged", "{where_}: {answer:#}");
    }
}
