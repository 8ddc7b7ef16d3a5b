//! A checkpoint while git is in the middle of something changes nothing of it: git is the referee, in a twin of the
//! repository where no checkpoint was made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::{Sandbox, View};

/// A number below a limit.
type Random<'a> = &'a mut dyn FnMut(usize) -> usize;

/// What git can be in the middle of: what begins it on `main` or `side`, and what goes on.
const OPERATIONS: [(&[&str], &[&str]); 9] = [
    (&["rebase", "main", "side"], &["rebase", "--continue"]),
    (&["rebase", "--apply", "main", "side"], &["rebase", "--continue"]),
    (&["rebase", "-i", "main", "side"], &["rebase", "--continue"]),
    (
        &["rebase", "--exec", "test ! -e stop", "--autostash", "main", "side"],
        &["rebase", "--continue"],
    ),
    (&["am", "-3", "../patches"], &["am", "--continue"]),
    (&["cherry-pick", "base..side"], &["cherry-pick", "--continue"]),
    (&["revert", "--no-edit", "base..main"], &["revert", "--continue"]),
    (&["merge", "side"], &["merge", "--continue"]),
    (&["bisect", "start", "side", "base"], &["bisect", "good"]),
];

/// A repository where `main` and `side` have edited the same files since `base`.
fn diverged(random: Random<'_>) -> Sandbox {
    let sandbox = Sandbox::unborn();
    for file in 0..4 {
        let lines: Vec<_> = (0..6).map(|line| format!("line {line}\n")).collect();
        sandbox.write(&format!("f{file}"), lines.concat());
    }
    commit(&sandbox, "base");
    sandbox.git(&["branch", "base"]);
    sandbox.git(&["switch", "-qc", "side"]);
    for branch in ["side", "main"] {
        sandbox.git(&["switch", "-q", branch]);
        for number in 0..2 + random(3) {
            edit(&sandbox, random, branch);
            sandbox.write(&format!("{branch}-{number}"), "new\n");
            commit(&sandbox, &format!("{branch} {number}"));
        }
    }
    let patches = sandbox.git(&["format-patch", "--stdout", "base..side"]);
    fs::write(sandbox.outside().join("patches"), patches + "\n").unwrap();
    // An editor that stops at every commit, and one that takes every message.
    sandbox.git(&["config", "sequence.editor", "sed -i s/^pick/edit/"]);
    sandbox.git(&["config", "core.editor", "true"]);
    sandbox
}

fn commit(view: &View, subject: &str) {
    view.git(&["add", "-A"]);
    view.git(&["commit", "-qm", subject]);
}

/// Edits one line of one file, or its mode, or deletes it.
fn edit(view: &View, random: Random<'_>, text: &str) {
    let path = view.path(&format!("f{}", random(4)));
    let Ok(old) = fs::read_to_string(&path) else {
        fs::write(path, format!("{text} again\n")).unwrap();
        return;
    };
    let line = random(6);
    match random(9) {
        0 => fs::remove_file(path).unwrap(),
        1 => fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap(),
        _ => {
            let edited = |(number, old): (usize, &str)| {
                if number == line { format!("{text} {}\n", random(9)) } else { format!("{old}\n") }
            };
            fs::write(path, old.lines().enumerate().map(edited).collect::<String>()).unwrap();
        }
    }
}

/// Everything in the git directory but objects and what is ours alone.
fn git_files(view: &View) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&view.root.join(".git"), "", &mut files);
    files
}

fn collect(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    const OURS: [&str; 7] = [
        "objects",
        "colony",
        "colony-kept",
        "refs/colony",
        "refs/colony-local",
        "refs/tags",
        "logs/refs/colony",
    ];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if OURS.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(path).unwrap());
        }
    }
}

/// Checks what a checkpoint does now: none on the branch, one beside it, and no change of anything else.
fn check_checkpoints(view: &View, label: &str) {
    let (before, files) = (git_files(view), view.worktree());
    let refused = view.json(&["checkpoint", "-m", label]);
    assert_eq!(refused["code"], "operation-in-progress", "{label} {refused:#}");
    assert_eq!(refused["hint"], "git colony checkpoint --off-branch   # keeps the current state");
    view.colony(&["checkpoint", "--off-branch", "-m", label]);
    view.automatic_checkpoint();
    assert_eq!(git_files(view), before, "{label}");
    assert_eq!(view.worktree(), files, "{label}");
}

/// Settles what is in conflict, in both repositories alike.
fn settle(both: &[&View; 2], random: Random<'_>) {
    let text = format!("settled {}\n", random(9));
    let keeps = random(4) > 0;
    for view in both {
        let unmerged = view.git(&["diff", "--name-only", "--diff-filter=U"]);
        for path in unmerged.lines() {
            if keeps {
                view.write(path, &text);
            } else {
                view.remove(path);
            }
        }
        view.git(&["add", "-A"]);
    }
}

/// Has git go on in both repositories; they must say the same.
fn go_on(both: &[&View; 2], words: &[&str]) -> bool {
    let [ours, git] = both.map(|view| view.git_output(words));
    assert_eq!(ours.status, git.status, "{words:?}");
    assert_eq!(
        String::from_utf8_lossy(&ours.stdout),
        String::from_utf8_lossy(&git.stdout),
        "{words:?}"
    );
    ours.status.success()
}

fn branches(view: &View) -> String {
    view.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/stash"])
}

#[test]
fn a_checkpoint_in_the_middle_changes_nothing_of_it() {
    let mut state = 20_261_128_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let rounds = if std::env::var_os("COLONY_TEST_LONG").is_some() { 200 } else { 2 };
    let mut kept = 0;
    for (begin, next) in (0..rounds).flat_map(|_| OPERATIONS) {
        let sandbox = diverged(&mut random);
        let git = sandbox.copy("git");
        let both = [&*sandbox, &git];
        let skip = [next[0], "--skip"];
        go_on(&both, begin);
        for stop in 0..12 {
            if sandbox.json(&["status"])["in_progress"].is_null() {
                break;
            }
            if random(3) == 0 {
                for view in both {
                    view.write("stray.txt", "of no commit\n");
                }
            }
            kept += 1;
            check_checkpoints(&sandbox, &format!("{} {stop}", begin.join(" ")));
            settle(&both, &mut random);
            if !go_on(&both, next) && next[0] != "merge" && random(2) == 0 {
                go_on(&both, &skip);
            }
            assert_eq!(sandbox.worktree(), git.worktree(), "{begin:?}");
            assert_eq!(sandbox.head_commit(), git.head_commit(), "{begin:?}");
        }
        assert_eq!(branches(&sandbox), branches(&git), "{begin:?}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), git.git(&["status", "--porcelain"]));
        sandbox.check_invariants();
    }
    assert!(kept > 5 * rounds, "{kept}");
}

#[test]
fn a_state_in_the_middle_of_a_rebase_comes_back_after_it() {
    for end in ["--abort", "--continue"] {
        let sandbox = Sandbox::new();
        sandbox.git(&["switch", "-qc", "side"]);
        sandbox.write("a.txt", "side\n");
        sandbox.git(&["commit", "-qam", "side"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.write("a.txt", "main\n");
        sandbox.git(&["commit", "-qam", "main"]);
        assert!(!sandbox.try_git(&["rebase", "main", "side"]));
        sandbox.write("a.txt", "half settled\n");
        sandbox.write("stray.txt", "of no commit\n");
        let files = sandbox.worktree();
        sandbox.colony(&["checkpoint", "--off-branch", "-m", "half"]);
        sandbox.git(&["add", "a.txt"]);
        sandbox.git(&["-c", "core.editor=true", "rebase", end]);
        let tip = sandbox.head_commit();
        sandbox.colony(&["restore", "half", "--mode", "files"]);
        assert_eq!(sandbox.worktree(), files, "{end}");
        assert_eq!(sandbox.head_commit(), tip, "the branch stays");
        sandbox.colony(&["undo"]);
        sandbox.check_invariants();
    }
}
