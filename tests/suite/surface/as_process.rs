//! The program as a process: where it stands, what it is not told, how it is ended, which git it finds.

use std::fs;
use std::process::{Command, Stdio};

use crate::support::{Sandbox, first_line, program_path};

/// Runs the program in a folder that is gone when it starts.
fn from_a_folder_that_is_gone(sandbox: &Sandbox, args: &str) -> (Option<i32>, String) {
    let gone = sandbox.outside().join("gone");
    fs::create_dir(&gone).unwrap();
    let tool = program_path().display();
    let line = format!("cd '{0}' && rmdir '{0}' && '{tool}' {args}", gone.display());
    let mut shell = sandbox.process("sh");
    let output = shell.args(["-c", &line]).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn a_repository_is_found_by_its_path_from_a_folder_that_is_gone() {
    let sandbox = Sandbox::new();
    let root = sandbox.root.display();
    let (code, said) = from_a_folder_that_is_gone(&sandbox, &format!("-C '{root}' status"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("on 'main'"), "{said}");
    let (code, said) = from_a_folder_that_is_gone(&sandbox, "--json checkpoint -m x");
    assert_eq!(code, Some(128), "{said}");
    assert!(said.contains("\"not-a-repository\""), "{said}");
}

#[test]
fn commands_that_look_do_so_without_a_home() {
    let sandbox = Sandbox::new();
    for args in [&["fleet"][..], &["clones"], &["agents"], &["colony"]] {
        let output = sandbox.program().env_remove("HOME").args(args).output();
        let output = output.unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?} {output:?}");
    }
}

#[test]
fn a_terminal_that_goes_away_ends_it_as_asking_does() {
    let sandbox = Sandbox::new();
    let fifo = sandbox.outside().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
    let hang = format!("exec 3>'{}'; echo begun >&3; sleep 600", fifo.display());
    sandbox.git(&["config", "filter.x.clean", &hang]);
    sandbox.write(".gitattributes", "*.x filter=x\n");
    sandbox.write("new.x", "new\n");
    let before = sandbox.visible_state();
    let mut command = sandbox.program();
    command.args(["--json", "checkpoint", "-m", "x"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null());
    let child = child.spawn().unwrap();
    let _pipe = first_line(&fifo);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::HUP).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["code"], "interrupted", "{answer:#}");
    assert_eq!(sandbox.visible_state(), before);
}

/// The program with a git that says another version and does not know a command.
fn with_other_git(sandbox: &Sandbox, version: &str, lacking: &str) -> Command {
    let says = format!("--version) echo '{version}'; exit 0;;");
    let script = format!("case \"$1\" in {says} {lacking}) exit 129;; esac");
    sandbox.stand_in("git", &script).program()
}

#[test]
fn a_git_that_is_too_old_or_says_no_version_is_named() {
    let sandbox = Sandbox::new();
    for (version, wanted) in [
        ("garbage", "the version of git cannot be read"),
        ("git version 2.30.2", "git version 2.30.2 is too old"),
    ] {
        let mut doctor = with_other_git(&sandbox, version, "hook");
        let output = doctor.args(["--json", "doctor"]).output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
    sandbox.write("new.txt", "new\n");
    let before = sandbox.visible_state();
    let run = |version: &str| {
        let mut commit = with_other_git(&sandbox, version, "hook");
        let output = commit.args(["--json", "commit", "--all", "-m", "x"]).output();
        serde_json::from_slice::<serde_json::Value>(&output.unwrap().stdout).unwrap()
    };
    for _ in 0..2 {
        let answer = run("git version 2.41.9");
        assert_eq!(answer["code"], "unsupported", "{answer:#}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("git 2.42 or newer"), "{message}");
        assert_eq!(sandbox.visible_state(), before);
    }
    // A newer git that fails so is not called old.
    let newer = run("git version 2.42.0");
    assert_ne!(newer["code"], "unsupported", "{newer:#}");
}

#[test]
fn no_agent_is_called_as_git_calls_a_revision() {
    let sandbox = Sandbox::new();
    for name in ["HEAD", "head", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "AUTO_MERGE", "@"] {
        assert_eq!(sandbox.error(&["agents", "new", name]), "invalid-value", "{name}");
    }
    let refs = sandbox.git(&["for-each-ref", "refs/colony", "refs/heads/fork"]);
    assert_eq!(refs, "");
}

#[test]
fn a_checkpoint_is_made_again_if_git_moves_the_branch_meanwhile() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "user.name", "Ada"]);
    let once = sandbox.outside().join("once");
    fs::write(&once, "").unwrap();
    let filter = format!(
        "if rm '{}' 2>/dev/null; then git update-ref refs/heads/main \
         $(git commit-tree -p main -m theirs 'main^{{tree}}'); fi; cat",
        once.display()
    );
    sandbox.git(&["config", "filter.x.clean", &filter]);
    sandbox.write(".gitattributes", "*.x filter=x\n");
    sandbox.write("new.x", "new\n");
    let answer = sandbox.json(&["checkpoint", "-m", "ours"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    let history = sandbox.git(&["log", "--format=%s", "main"]);
    assert_eq!(history.lines().collect::<Vec<_>>(), ["checkpoint: ours", "theirs", "first"]);
    assert_eq!(sandbox.git(&["show", "main:new.x"]), "new");
    sandbox.check_invariants();
}

#[test]
fn a_hook_stopped_after_the_work_says_that_something_changed() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("a.txt", "two\n");
    sandbox.colony(&["checkpoint", "-m", "second"]);
    // Its parent is git, and that one's the program.
    sandbox.write_program(
        ".git/hooks/post-checkout",
        "#!/bin/sh\nread -r pid name state parent rest </proc/$PPID/stat\n\
         kill -TERM \"$parent\"; sleep 600\n",
    );
    let output = sandbox.program().args(["restore", "base", "--force"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("the command itself is done"), "{said}");
    assert!(!said.contains("nothing has changed"), "{said}");
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn what_is_offered_works_where_the_shell_stands() {
    let sandbox = Sandbox::new();
    sandbox.git(&["switch", "-qc", "it's"]);
    sandbox.write("a.txt", "theirs\n");
    sandbox.git(&["commit", "-qam", "theirs"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.write("a.txt", "ours\n");
    sandbox.git(&["commit", "-qam", "ours"]);
    let tool = program_path();
    let bin = sandbox.outside().join("bin of it");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(tool, bin.join("git-colony")).unwrap();
    let shell = |line: &str| {
        let mut shell = sandbox.process("sh");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let line = format!("cd '{}' && {line}", bin.display());
        let output = shell.env("PATH", path).args(["-c", &line]).output();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8(said).unwrap()
    };
    let offered = |said: &str, label: &str| {
        let found = said.lines().find_map(|line| line.strip_prefix(label));
        found.unwrap_or_else(|| panic!("{said}")).to_owned()
    };
    let root = sandbox.root.display();
    for begin in [
        format!("git -C {root} colony"),
        format!("git colony -C {root}"),
        format!("git colony -C '../{}'", sandbox.root.file_name().unwrap().display()),
    ] {
        let before = sandbox.visible_state();
        let opened = shell(&format!("{begin} merge \"it's\" --resolve"));
        let again = shell(&format!("{begin} merge \"it's\" --resolve"));
        let hint = offered(&again, "hint: ");
        let expected = format!("git -C {root} colony merge --abort   #");
        assert!(hint.starts_with(&expected), "{again}");
        let told: serde_json::Value =
            serde_json::from_str(&shell(&format!("{begin} --json merge x"))).unwrap();
        let other = told["hint"].as_str().unwrap();
        let expected = format!("git -C {root} colony agents ");
        assert!(other.starts_with(&expected), "{told:#}");
        shell(&offered(&opened, "or to undo: "));
        assert_eq!(sandbox.visible_state(), before);
        let kept = shell(&format!("{begin} merge \"it's\" --ours ."));
        let way_back = offered(&kept, "to undo: ");
        shell(way_back.split("   ").next().unwrap());
        assert_eq!(sandbox.visible_state(), before);
    }
    // Where the shell stands in the repository itself, nothing is sent.
    let here = shell(&format!("cd '{root}' && git colony merge \"it's\" --ours ."));
    assert!(here.contains("to undo: git colony undo   ("), "{here}");
}
