//! Hostile repositories and surroundings: everything they hold is data.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use git_colony::testing::World;

use crate::support::Sandbox;

/// Names that would be options, revisions or terminal commands if anybody took them for such.
const NASTY: [&str; 7] = [
    "--output=pwn",
    "-x",
    "a..b",
    "\u{1b}]0;title\u{7}",
    "\u{202e}txt.exe",
    "line\nend",
    "--upload-pack=touch pwn",
];

fn commands() -> Vec<Vec<&'static str>> {
    vec![
        vec!["status"],
        vec!["checkpoint", "-m", "x"],
        vec!["checkpoint", "--off-branch", "-m", "y"],
        vec!["checkpoint", "--auto"],
        vec!["tag", "-m", "z"],
        vec!["checkpoints"],
        vec!["checkpoints", "show", "x"],
        vec!["restore", "x", "--force"],
        vec!["undo"],
        vec!["redo"],
        vec!["ops"],
        vec!["ops", "show", "op-1"],
        vec!["config"],
        vec!["prune"],
        vec!["version"],
    ]
}

#[test]
fn names_are_never_options_and_no_control_byte_is_printed() {
    let sandbox = Sandbox::new();
    for name in NASTY {
        sandbox.write(name, name);
    }
    fs::write(sandbox.root.join(std::ffi::OsStr::from_bytes(b"latin\xe9")), "x").unwrap();
    sandbox.git(&["update-ref", "refs/heads/--output=pwn", "HEAD"]);
    sandbox.git(&["update-ref", "refs/tags/--output=pwn", "HEAD"]);
    sandbox.git(&["update-ref", "refs/tags/checkpoint/--output=pwn", "HEAD"]);
    sandbox.git(&["symbolic-ref", "HEAD", "refs/heads/--output=pwn"]);
    sandbox.git(&["config", "user.name", "\u{1b}[31mEve\u{202e}"]);
    for command in commands() {
        for form in [&[][..], &["--json"]] {
            let run = sandbox.run(&[form, &command[..]].concat());
            let all = format!("{}{}", run.stdout, run.stderr);
            let bad = all.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(bad, None, "{command:?} printed {bad:?}:\n{all}");
        }
    }
    assert!(!sandbox.path("pwn").exists() && !sandbox.outside().join("pwn").exists());
    assert_eq!(sandbox.read("--output=pwn"), "--output=pwn");
    sandbox.check_invariants();
}

#[test]
fn nasty_arguments_end_in_an_answer() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "x"]);
    let before = sandbox.visible_state();
    for argument in [
        "--output=pwn",
        "@{u}",
        "a..b",
        "^HEAD",
        ":/nobody wrote that",
        "refs/heads/none",
        "\u{1b}[31m",
        "",
        "..",
        "/",
        "@{99999999999999999999}",
    ] {
        for command in
            [&["restore", "--"][..0], &["restore"], &["checkpoints", "show"], &["ops", "show"]]
        {
            if command.is_empty() {
                continue;
            }
            let run = sandbox.run(&[command, &[argument]].concat());
            assert!(matches!(run.code, 128 | 129), "{command:?} {argument:?} gave {}", run.code);
        }
    }
    let odd = OsString::from_vec(b"\xff\xfe".to_vec());
    let run = sandbox.run_os(sandbox.world(), vec!["restore".into(), "x".into(), "--".into(), odd]);
    assert_eq!(run.code, 128);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn a_tree_with_unsafe_names_is_refused_before_anything_changes() {
    for name in [".git", ".GIT", "..", "git~1", ".g\u{200c}it"] {
        let sandbox = Sandbox::new();
        let blob = sandbox.git(&["hash-object", "-w", "a.txt"]);
        let entry = format!("100644 {name}\0");
        let mut bytes = entry.into_bytes();
        for pair in blob.as_bytes().chunks(2) {
            bytes.push(u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
        }
        sandbox.write("tree.bin", &bytes);
        let tree = sandbox.git(&["hash-object", "--literally", "-t", "tree", "-w", "tree.bin"]);
        sandbox.remove("tree.bin");
        let commit = sandbox.git(&["commit-tree", "-m", "evil", "-p", "HEAD", &tree]);
        sandbox.git(&["tag", "-a", "-m", "evil", "checkpoint/20260101T000000Z-00000000", &commit]);
        sandbox.git(&["config", "core.protectNTFS", "true"]);
        sandbox.git(&["config", "core.protectHFS", "true"]);
        let before = sandbox.visible_state();
        let run = sandbox.run(&["restore", "evil"]);
        assert_eq!(run.code, 128, "{name:?}: {}", run.stdout);
        assert_eq!(sandbox.visible_state(), before);
        assert!(sandbox.path(".git/HEAD").exists());
    }
}

#[test]
fn another_repository_in_the_environment_counts_by_git_rules() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    other.write("a.txt", "other\n");
    let mut world = sandbox.world();
    world.variables.insert("GIT_DIR".into(), other.path(".git").into());
    world.variables.insert("GIT_WORK_TREE".into(), other.root.clone().into());
    let run = sandbox.run_in(world, &["--json", "status"]);
    let status: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(status["changes"]["changed"], 1, "GIT_DIR names the repository");
    // Children act on the repository we opened, whatever GIT_INDEX_FILE and the like say.
    let mut world = sandbox.world();
    world.variables.insert("GIT_INDEX_FILE".into(), "/nonexistent/index".into());
    world.variables.insert("GIT_OBJECT_DIRECTORY".into(), "/nonexistent/objects".into());
    sandbox.write("a.txt", "two\n");
    assert_eq!(sandbox.run_in(world, &["checkpoint", "-m", "x"]).code, 0);
    sandbox.check_invariants();
}

#[test]
fn inside_an_operation_of_ours_nothing_is_changed() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    let inside = || {
        let mut world = sandbox.world();
        world.variables.insert("COLONY_OPERATION".into(), "op-1".into());
        world
    };
    let before = sandbox.visible_state();
    let auto = sandbox.run_in(inside(), &["--json", "checkpoint", "--auto"]);
    assert_eq!(auto.code, 0);
    assert!(auto.stdout.contains("\"busy\""));
    assert_eq!(sandbox.run_in(inside(), &["checkpoint", "-m", "x"]).code, 128);
    assert_eq!(sandbox.visible_state(), before);
}

#[test]
fn damaged_repositories_end_in_an_error_that_says_where() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "x"]);
    let index = fs::read(sandbox.path(".git/index")).unwrap();
    let half = index[..index.len() / 2].to_vec();
    // A bit of the first blob id: the file still has the form of an index.
    let mut flipped = index.clone();
    flipped[12 + 40] ^= 1;
    for damaged in [half, flipped] {
        sandbox.write(".git/index", &damaged);
        for command in [&["status"][..], &["checkpoint", "-m", "y"], &["restore", "x"], &["undo"]] {
            assert_eq!(sandbox.error(command), "repository-broken", "{command:?}");
        }
    }
    sandbox.write(".git/index", &index);
    sandbox.write(".git/HEAD", "garbage\n");
    assert_eq!(sandbox.run(&["status"]).code, 128);
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.write(".gitmodules", "[submodule \"broken\n");
    let run = sandbox.run(&["status"]);
    assert!(matches!(run.code, 0 | 128), "{}", run.code);
    sandbox.write(".git/refs/colony-local/ops/0000000000000000/0000000001", "");
    sandbox.write(".git/refs/tags/checkpoint/broken", "");
    sandbox.remove(".gitmodules");
    assert_eq!(sandbox.run(&["ops", "--all-worktrees"]).code, 0);
    assert_eq!(sandbox.run(&["checkpoints"]).code, 0);
}

#[test]
fn a_large_index_is_read_in_all_forms_and_damage_is_found() {
    let sandbox = Sandbox::new();
    for number in 0..900 {
        sandbox.write(&format!("folder/{number:04}.txt"), format!("{number}\n"));
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "many"]);
    let changed = || sandbox.json(&["status"])["changes"].clone();
    sandbox.write("folder/0500.txt", "edited\n");
    let expected = changed();
    let forms: [&[&str]; 4] = [
        &["-c", "index.skipHash=true", "update-index", "--force-write-index"],
        &["update-index", "--index-version=4"],
        &["update-index", "--split-index"],
        &["update-index", "--no-split-index", "--index-version=2"],
    ];
    for form in forms {
        sandbox.git(form);
        assert_eq!(changed(), expected, "{form:?}");
    }
    let mut index = fs::read(sandbox.path(".git/index")).unwrap();
    assert!(index.len() > 64 << 10);
    index[12 + 40] ^= 1;
    sandbox.write(".git/index", &index);
    assert_eq!(sandbox.error(&["status"]), "repository-broken");
}

#[test]
fn a_full_disk_changes_nothing_and_has_its_own_code() {
    let sandbox = Sandbox::new();
    let small = sandbox.outside().join("small");
    fs::create_dir(&small).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"])
        .arg(&small)
        .status()
        .is_ok_and(|status| status.success());
    assert!(
        mounted,
        "mounting a small tmpfs needs root: run the tests as root or in a user namespace"
    );
    let clone = small.join("repo");
    sandbox.git(&[
        "clone",
        "-q",
        "--template=",
        sandbox.root.to_str().unwrap(),
        clone.to_str().unwrap(),
    ]);
    let view = sandbox.at(clone.clone());
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    view.colony(&["checkpoint", "-m", "base"]);
    fs::write(clone.join("a.txt"), "work\n").unwrap();
    let refs = view.git(&["for-each-ref"]);
    let index = view.git(&["ls-files", "-s"]);
    let filler = small.join("filler");
    let mut size = 600_000;
    while size > 0 && fs::write(&filler, vec![1_u8; size]).is_err() {
        size -= 4096;
    }
    for command in [&["checkpoint", "-m", "full"][..], &["restore", "base"]] {
        let run = view.run(command);
        assert_eq!(run.code, 128, "{command:?} {}", run.stdout);
        let json = view.run(&[&["--json"], command].concat());
        assert!(json.stdout.contains("\"no-space\""), "{}", json.stdout);
        assert_eq!(view.git(&["ls-files", "-s"]), index);
        assert_eq!(view.git(&["for-each-ref"]), refs);
        assert!(!clone.join(".git/index.lock").exists());
        assert_eq!(fs::read_to_string(clone.join("a.txt")).unwrap(), "work\n");
    }
    fs::remove_file(filler).unwrap();
    view.colony(&["restore", "base"]);
    view.git(&["fsck", "--strict"]);
    let unmounted = std::process::Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
}

#[test]
fn a_repository_of_somebody_else_is_refused() {
    let sandbox = Sandbox::new();
    let owned =
        std::process::Command::new("chown").args(["-R", "65534:65534"]).arg(&sandbox.root).status();
    assert!(owned.unwrap().success(), "changing the owner needs root");
    for look in ["status", "id", "paths", "groups"] {
        assert_eq!(sandbox.error(&[look]), "untrusted-repository", "{look}");
    }
    assert_eq!(sandbox.error(&["checkpoint", "-m", "x"]), "untrusted-repository");
    let world = World { cwd: sandbox.outside(), ..sandbox.world() };
    assert_eq!(sandbox.run_in(world, &["status"]).code, 128);
}
