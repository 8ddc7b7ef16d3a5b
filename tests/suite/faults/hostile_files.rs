//! What stands in place of a file that we read: a link to a device, out of the worktree or to itself, a
//! pipe, a folder, a file without end. Every command ends, in bounded time and memory, and says so.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{HANG_TIMEOUT, Sandbox, end_of, eventually_by, program_path};

/// In units of 1,024 bytes: what a command may have of memory. The sparse file is larger.
const MAX_MEMORY: &str = "2000000";

const SPARSE_BYTES: u64 = 3 << 30;

const CONFIGURATION: [&str; 8] = [
    ".colony/manifest.json",
    ".colony/repo_map.yaml",
    ".colony/tool-registry.json",
    ".colony/colony.toml",
    ".colony/agents/ada.md",
    ".claude/settings.json",
    ".colonyignore",
    "design/decisions/x.json",
];

const RULES: [&str; 4] = [".gitattributes", ".gitignore", "dir/.gitattributes", "dir/.gitignore"];

/// The commands that read one or another of the files; none of them changes anything.
const COMMANDS: [&[&str]; 20] = [
    &["status"],
    &["status", "--line"],
    &["doctor"],
    &["deinit", "-n"],
    &["init", "-n"],
    &["lfs", "status"],
    &["decide", "-n", "--id", "x", "-m", "t", "--summary", "s", "--rationale", "r"],
    &["decisions"],
    &["checkpoint", "-n", "-m", "x"],
    &["checkpoint", "-n", "--auto"],
    &["commit", "-n", "-m", "x", "a.txt"],
    &["diff"],
    &["fleet"],
    &["forks"],
    &["undo", "-n"],
    &["tools"],
    &["map", "check"],
    &["map", "-n"],
    &["config"],
    &["hooks", "install", "--for", "claude-code", "-n"],
];

/// Runs a command with bounds of time and memory.
fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    let bounded = r#"ulimit -v "$0"; exec "$@""#;
    sandbox
        .process("timeout")
        .args(["-s", "KILL", &HANG_TIMEOUT.as_secs().to_string(), "sh", "-c", bounded, MAX_MEMORY])
        .arg(program_path())
        .args(args)
        .output()
        .unwrap()
}

fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    sandbox.write("secret.txt", "beyond\n");
    for path in CONFIGURATION.iter().chain(&RULES) {
        if !sandbox.path(path).exists() {
            sandbox.write(path, "");
        }
    }
    sandbox.git(&["add", "-A", "-f"]);
    sandbox.git(&["commit", "-qm", "everything"]);
    // Something to look at: an edited file, and a new one beside the rules.
    sandbox.write("dir/b.txt", "edited\n");
    sandbox.write("dir/new.txt", "new\n");
    sandbox
}

/// Puts something in place of each file in turn, and runs every command.
fn attack(put: impl Fn(&Sandbox, &Path)) {
    attack_by(&COMMANDS, put);
}

fn attack_by(commands: &[&[&str]], put: impl Fn(&Sandbox, &Path)) {
    let sandbox = repository();
    let mut wrong = Vec::new();
    for path in CONFIGURATION.iter().chain(&RULES) {
        let file = sandbox.path(path);
        fs::remove_file(&file).unwrap();
        put(&sandbox, &file);
        for args in commands {
            let output = run(&sandbox, args);
            if !matches!(output.status.code(), Some(0 | 1 | 128)) {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                wrong.push(format!("{path}: {args:?}: {:?}: {said}", output.status));
            }
        }
        sandbox.remove(path);
        sandbox.git(&["checkout", "-q", "HEAD", "--", path]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn pipe(file: &Path) {
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
}

fn sparse(file: &Path) {
    fs::File::create(file).unwrap().set_len(SPARSE_BYTES).unwrap();
}

#[test]
fn a_link_to_a_device_stops_no_command() {
    attack(|_, file| symlink("/dev/zero", file).unwrap());
}

#[test]
fn a_link_to_the_outside_stops_no_command() {
    attack(|sandbox, file| {
        let outside = sandbox.outside().join("outside");
        sparse(&outside);
        symlink(outside, file).unwrap();
    });
}

#[test]
fn a_link_to_itself_stops_no_command() {
    attack(|_, file| symlink(file.file_name().unwrap(), file).unwrap());
}

#[test]
fn a_pipe_stops_no_command() {
    attack(|_, file| pipe(file));
}

#[test]
fn a_folder_stops_no_command() {
    attack(|_, file| fs::create_dir(file).unwrap());
}

#[test]
fn a_file_of_any_size_stops_no_command() {
    // An edited file is taken in, whatever its size, and rightly takes its time.
    let takes_in = |args: &&&[&str]| matches!(args[0], "checkpoint" | "diff");
    let reads: Vec<_> = COMMANDS.iter().filter(|args| !takes_in(args)).copied().collect();
    attack_by(&reads, |_, file| sparse(file));
}

/// What is wrong with the manifest, as doctor has it.
fn doctor_on(put: impl Fn(&Sandbox, &Path)) -> String {
    let sandbox = repository();
    let file = sandbox.path(".colony/manifest.json");
    fs::remove_file(&file).unwrap();
    put(&sandbox, &file);
    let answer = sandbox.json(&["doctor"]);
    let checks = answer["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "manifest");
    let check = check.unwrap();
    assert_eq!(check["ok"], false, "{check:#}");
    check["detail"].as_str().unwrap().to_owned()
}

#[test]
fn doctor_says_why_a_file_cannot_be_read() {
    let of = |why: &str| format!("'.colony/manifest.json' cannot be used: {why}");
    let link = of("it is reached through a symlink");
    let other = of("it is not a plain file");
    assert_eq!(doctor_on(|_, file| symlink("/dev/zero", file).unwrap()), link);
    assert_eq!(doctor_on(|_, file| pipe(file)), other);
    assert_eq!(doctor_on(|_, file| fs::create_dir(file).unwrap()), other);
    assert_eq!(doctor_on(|_, file| sparse(file)), of("it is larger than 1 MiB"));
}

#[test]
fn rules_that_must_not_be_read_are_named() {
    for path in RULES {
        for put in [pipe, sparse] {
            let sandbox = repository();
            let file = sandbox.path(path);
            fs::remove_file(&file).unwrap();
            put(&file);
            for args in [["checkpoint", "-m", "x"], ["checkpoint", "-n", "--auto"]] {
                let answer = sandbox.json(&args);
                assert_eq!(answer["code"], "path-in-the-way", "{args:?}: {answer:#}");
                assert_eq!(answer["detail"]["path"], path);
            }
        }
    }
}

#[test]
fn a_signal_ends_a_command_that_is_stuck_in_a_read() {
    let sandbox = Sandbox::new();
    let refused = sandbox.outside().join("refused").display().to_string();
    let mut child = sandbox
        .program()
        .args(["credential", "--for", "example.com", "--variable", "TOKEN"])
        .args(["--username", "ada", "--refused", &refused, "get"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut question = child.stdin.take().unwrap();
    question.write_all(b"h").unwrap();
    // Once the command has taken it, it waits for more.
    eventually_by(&mut child, "the question is read", || {
        rustix::io::ioctl_fionread(&question).unwrap() == 0
    });
    let pid = child.id().to_string();
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    let ended = end_of(&mut child);
    assert_eq!(ended.signal(), Some(15), "{ended:?}");
}

#[test]
fn a_pipe_in_place_of_the_users_own_rules_is_named() {
    let sandbox = repository();
    let configured = sandbox.outside().join("ignored");
    sandbox.git(&["config", "core.excludesFile", configured.to_str().unwrap()]);
    let exclude = sandbox.path(".git/info/exclude");
    fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    for file in [configured, exclude] {
        fs::remove_file(&file).ok();
        pipe(&file);
        let output = run(&sandbox, &["status"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(128), "{said}");
        let shown = file.display().to_string();
        assert!(said.contains(&shown), "{said}");
        assert!(said.contains("it is not a plain file"), "{said}");
        fs::remove_file(&file).unwrap();
    }
    assert_eq!(run(&sandbox, &["status"]).status.code(), Some(0));
}

#[test]
fn the_users_rules_at_their_usual_place_are_read_within_limits() {
    let sandbox = repository();
    let folder = sandbox.outside().join("home/.config/git");
    fs::create_dir_all(&folder).unwrap();
    for (name, command) in [("ignore", &["status"][..]), ("attributes", &["restore", "HEAD"])] {
        let file = folder.join(name);
        fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
        sandbox.write("new.txt", name);
        let output = run(&sandbox, command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(128), "{said}");
        assert!(said.contains(&file.display().to_string()), "{said}");
        assert!(said.contains("larger than"), "{said}");
        fs::remove_file(&file).unwrap();
    }
    assert_eq!(run(&sandbox, &["status"]).status.code(), Some(0));
}

#[test]
fn a_repository_is_used_where_its_path_is_hard_to_quote() {
    for name in ["a:b", "say \"hi\"", "two\nlines", "back\\slash \t tab", "#hash '$(x)"] {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
        sandbox.git(&["config", "filter.up.smudge", "cat"]);
        sandbox.write(".gitattributes", "*.up filter=up\n");
        sandbox.colony(&["checkpoint", "-m", "first"]);
        let there = sandbox.copy(name);
        // Objects of a dry run are in memory, and git reads them from a folder beside the store.
        there.write("a.txt", "edited\n");
        there.write("x.up", "filtered\n");
        let diff = there.json(&["diff", "--worktree", "--patch"]);
        let patch = diff["raw_unified_diff"].as_str();
        let patch = patch.unwrap_or_else(|| panic!("{name:?} {diff:#}"));
        assert!(patch.contains("+edited"), "{name:?} {patch}");
        assert!(patch.contains("+FILTERED"), "{name:?} {patch}");
        let would = there.json(&["checkpoint", "-n", "-m", "x"]);
        assert_eq!(would["ok"], true, "{name:?} {would:#}");
        there.colony(&["checkpoint", "-m", "edited"]);
        // A merge writes its objects elsewhere and reads the others from the store.
        there.git(&["branch", "other", "HEAD~1"]);
        there.git(&["switch", "-q", "other"]);
        there.write("dir/b.txt", "of other\n");
        there.colony(&["checkpoint", "-m", "other"]);
        let would = there.json(&["merge", "main", "-n"]);
        assert_eq!(would["outcome"], "merged", "{name:?} {would:#}");
        let merged = there.json(&["merge", "main"]);
        assert_eq!(merged["outcome"], "merged", "{name:?} {merged:#}");
        there.git(&["fsck", "--strict", "--no-dangling"]);
    }
}

#[test]
fn rules_of_the_repository_itself_are_read_within_limits() {
    let sandbox = repository();
    fs::create_dir_all(sandbox.path(".git/info")).unwrap();
    for (name, command) in [
        ("exclude", &["status"][..]),
        ("attributes", &["checkpoint", "-m", "x"]),
        ("attributes", &["lfs", "status"]),
    ] {
        let file = sandbox.path(".git/info").join(name);
        let before = fs::read(&file).ok();
        fs::File::create(&file).unwrap().set_len(1 << 40).unwrap();
        sandbox.write("new.txt", name);
        let output = run(&sandbox, command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(128), "{command:?} {said}");
        assert!(said.contains("it is larger than 4 MiB"), "{said}");
        match before {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
    }
    assert_eq!(run(&sandbox, &["status"]).status.code(), Some(0));
}

#[test]
fn what_stands_in_place_of_the_lock_ends_a_command_at_once() {
    let outside = |sandbox: &Sandbox| sandbox.outside().join("outside");
    let kinds: [fn(&Sandbox, &Path); 6] = [
        |sandbox, lock| {
            fs::write(sandbox.outside().join("outside"), "of the user").unwrap();
            symlink(sandbox.outside().join("outside"), lock).unwrap();
        },
        |sandbox, lock| symlink(sandbox.outside().join("outside"), lock).unwrap(),
        |_, lock| symlink("lock", lock).unwrap(),
        |_, lock| symlink("/dev/zero", lock).unwrap(),
        |_, lock| pipe(lock),
        |_, lock| fs::create_dir(lock).unwrap(),
    ];
    for put in kinds {
        let sandbox = Sandbox::new();
        sandbox.write("a.txt", "edited\n");
        let before = sandbox.git(&["for-each-ref"]);
        fs::create_dir_all(sandbox.path(".git/colony")).unwrap();
        let lock = sandbox.path(".git/colony/lock");
        put(&sandbox, &lock);
        let there = fs::read(outside(&sandbox)).ok();
        // Also one that would wait for as long as another works.
        let output = run(&sandbox, &["--json", "checkpoint", "-m", "x"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(128), "{lock:?}: {said}");
        assert!(said.contains("/.git/colony/lock'"), "{said}");
        assert_eq!(sandbox.git(&["for-each-ref"]), before);
        assert_eq!(fs::read(outside(&sandbox)).ok(), there);
        // The hint leads to a command that mends it.
        assert!(said.contains("git colony doctor"), "{said}");
        let report = run(&sandbox, &["--json", "doctor"]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let checks = report["checks"].as_array().unwrap();
        let ill = checks.iter().find(|check| check["name"] == "writing").unwrap();
        let fix = ill["fix"].as_str().unwrap_or_else(|| panic!("{lock:?}: {report:#}"));
        assert!(sandbox.process("sh").args(["-c", fix]).status().unwrap().success(), "{fix}");
        sandbox.colony(&["checkpoint", "-m", "x"]);
    }
}
