//! `git colony tour`: what it shows is what came out, and nothing of it is left.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use git_colony::testing::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Run, Sandbox, end_of, eventually_by, worktree_of, write_program};

/// A sandbox whose tour has a folder for temporary files of its own.
struct Stage {
    sandbox: Sandbox,
    temporary: PathBuf,
}

impl Stage {
    fn new(sandbox: Sandbox) -> Stage {
        let temporary = sandbox.outside().join("tmp");
        fs::create_dir(&temporary).unwrap();
        Stage { sandbox, temporary }
    }

    fn world(&self) -> World {
        let mut world = self.sandbox.world();
        let temporary = self.temporary.clone().into();
        world.variables.insert("TMPDIR".into(), temporary);
        world
    }

    fn tour(&self, options: &[&str]) -> Run {
        let run = self.sandbox.run_in(self.world(), &[&["tour"], options].concat());
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        run
    }

    fn report(&self) -> Value {
        serde_json::from_str(&self.tour(&["--json"]).stdout).unwrap()
    }

    /// Everything that there is: the repository, its `.git`, the home directory, temporary files.
    fn everything(&self) -> BTreeMap<String, String> {
        let mut all = worktree_of(&self.sandbox.outside());
        for (name, root) in [("git", ".git"), ("tree", "")] {
            let found = worktree_of(&self.sandbox.path(root)).into_iter();
            all.extend(found.map(|(path, state)| (format!("{name}: {path}"), state)));
        }
        all
    }

    /// Puts a git in front of the real one that runs `script` in place of `read-tree`.
    fn replace_read_tree(&self, script: &str) -> std::ffi::OsString {
        let path = std::env::var_os("PATH").unwrap();
        let git = std::env::split_paths(&path).map(|folder| folder.join("git"));
        let git = git.into_iter().find(|path| path.exists()).unwrap();
        let folder = self.sandbox.outside().join("stand-in");
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' read-tree '*) {script};; esac\nexec '{}' \"$@\"\n",
            git.display()
        );
        write_program(&folder.join("git"), text);
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        std::env::join_paths(folders).unwrap()
    }
}

/// Returns the step of the first command that begins so.
fn step<'a>(report: &'a Value, command: &str) -> &'a Value {
    let mut steps = report["steps"].as_array().unwrap().iter();
    let begins = |step: &&Value| step["command"].as_str().unwrap().starts_with(command);
    steps.find(begins).unwrap_or_else(|| panic!("'{command}' is not in {report:#}"))
}

fn output(report: &Value, command: &str) -> String {
    let lines = step(report, command)["output"].as_array().unwrap();
    lines.iter().map(|line| line.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn the_tour_shows_the_whole_promise() {
    let stage = Stage::new(Sandbox::new());
    let report = stage.report();
    let words = "'before the risky change'";
    assert!(output(&report, &format!("git colony checkpoint -m {words}")).contains("kept"));
    assert!(output(&report, &format!("git colony restore {words}")).contains("1 restored"));
    assert!(output(&report, "git colony undo").starts_with("undid op-"));
    let fleet = output(&report, "git colony");
    assert!(output(&report, "git colony merge ada").starts_with("fast-forwarded 'main'"));
    let merge = step(&report, "git colony merge bob");
    assert_eq!(merge["exit_code"], 1, "{fleet}{merge:#}");
    assert!(output(&report, "git colony merge bob").contains("a.txt"), "{merge:#}");
    assert!(output(&report, "git colony agents remove bob").contains("removed the clone"));
    assert!(output(&report, "git colony map --offline").contains("tokens"));
    assert!(output(&report, "git colony map tree --tokens").contains("a.txt  "));
    assert_eq!((&report["files"], &report["all_files"]), (&json!(2), &json!(2)));
}

#[test]
fn each_part_of_the_tour_fits_on_a_screen() {
    let sandbox = Sandbox::new();
    for number in 0..120 {
        let path = format!("{number}-{}/{}", "long-name".repeat(9), "file".repeat(20));
        sandbox.write(&path, "one\n");
    }
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    let shown = Stage::new(sandbox).tour(&[]).stdout;
    let (message, parts) = shown.split_once('\n').unwrap();
    assert!(message.contains("122 files"), "{message}");
    let parts: Vec<_> = parts.split("\n\n").collect();
    assert_eq!(parts.len(), 4, "{shown}");
    for part in parts {
        assert!(part.lines().count() <= 23, "{part}");
        assert!(part.lines().all(|line| line.chars().count() <= 80), "{part}");
    }
}

#[test]
fn the_tour_changes_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    sandbox.write("pointer.bin", pointer);
    sandbox.write(".gitattributes", "*.bin filter=lfs\n* filter=bad merge=bad\n");
    sandbox.write(".colony/agents/ada.md", "---\nscope: []\n---\n");
    sandbox.write(".colony/colony.toml", "[clone]\nrun = [\"touch /ran\"]\n");
    let elsewhere = sandbox.outside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, sandbox.path("Scratch")).unwrap();
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "more"]);
    sandbox.write("a.txt", "staged\n");
    sandbox.git(&["add", "a.txt"]);
    sandbox.write("untracked", "new\n");
    sandbox.git(&["config", "filter.bad.smudge", "false"]);
    sandbox.git(&["config", "colony.agent", "eve"]);
    let stage = Stage::new(sandbox);
    let before = stage.everything();
    let report = stage.report();
    assert_eq!(stage.everything(), before);
    assert_eq!(step(&report, "git colony merge bob")["exit_code"], 1);
    step(&report, "mkdir scratch-2 && ");
    assert_eq!((&report["files"], &report["all_files"]), (&json!(4), &json!(7)));
}

#[test]
fn a_repository_without_commits_has_a_tour() {
    let stage = Stage::new(Sandbox::unborn());
    let before = stage.everything();
    let report = stage.report();
    assert_eq!(stage.everything(), before);
    assert_eq!(report["files"], 0);
    step(&report, "rm NOTES.md");
    assert_eq!(step(&report, "git colony merge bob")["exit_code"], 1);
}

#[test]
fn a_bare_repository_is_refused_by_the_tour() {
    let stage = Stage::new(Sandbox::init(&["--bare"]));
    let run = stage.sandbox.run_in(stage.world(), &["tour"]);
    assert_eq!(run.code, 128, "{}", run.stdout);
    assert!(run.stderr.contains("no working tree"), "{}", run.stderr);
    assert_eq!(fs::read_dir(&stage.temporary).unwrap().count(), 0);
}

#[test]
fn a_tour_that_fails_leaves_nothing() {
    let stage = Stage::new(Sandbox::new());
    let path = stage.replace_read_tree("echo broken >&2; exit 128");
    let before = stage.everything();
    let mut world = stage.world();
    world.variables.insert("PATH".into(), path);
    let run = stage.sandbox.run_in(world, &["tour"]);
    assert_eq!(run.code, 128, "{}", run.stdout);
    assert!(run.stderr.contains("broken"), "{}", run.stderr);
    assert_eq!(stage.everything(), before);
}

#[test]
fn a_tour_that_is_interrupted_leaves_nothing() {
    let stage = Stage::new(Sandbox::new());
    let hanging = stage.sandbox.outside().join("hanging");
    let path = stage.replace_read_tree(&format!("touch '{}'; exec sleep 600", hanging.display()));
    let before = stage.everything();
    let mut child = stage
        .sandbox
        .program()
        .envs(stage.world().variables.iter())
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .arg("tour")
        .spawn()
        .unwrap();
    eventually_by(&mut child, "a git hangs", || hanging.exists());
    assert_eq!(fs::read_dir(&stage.temporary).unwrap().count(), 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(130));
    fs::remove_file(hanging).unwrap();
    assert_eq!(stage.everything(), before);
}
