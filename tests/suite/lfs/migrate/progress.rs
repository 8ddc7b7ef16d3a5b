//! A migration to git-lfs tells how far it is, and one that is stopped ends what it has started and
//! leaves nothing behind.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use git_colony::testing::{Progress, Step, Unit};

use crate::support::git_server::{GitServer, Manner, Wire};
use crate::support::{Sandbox, View, first_line};

use super::rewrite::{POINTER, at, grown, grown_with_origin};

/// What is told of parts: what is done, how much, of how much.
type Told = Vec<(String, u64, u64)>;

/// Runs a command and returns what it told of commits and of bytes; `None` stands for an end.
fn told(sandbox: &Sandbox, args: &[&str]) -> (Told, Told) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let mut world = sandbox.world();
    world.progress = Progress::new(move |step| {
        let part = match step {
            Step::Part { what, done, total, unit } => {
                Some((*unit, (*what).to_owned(), *done, *total))
            }
            Step::Files { .. } | Step::Said(_) | Step::Ended => None,
        };
        heard.lock().unwrap().push(part);
    });
    let run = sandbox.run_in(world, args);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let told = told.lock().unwrap().clone();
    assert_eq!(told.last(), Some(&None), "the end is told");
    let of = |wanted: Unit| {
        let parts = told.iter().flatten().filter(|(unit, ..)| *unit == wanted);
        parts.map(|(_, what, done, total)| (what.clone(), *done, *total)).collect()
    };
    (of(Unit::Commits), of(Unit::Bytes))
}

#[test]
fn progress_counts_commits_rewritten_and_bytes_uploaded() {
    let sandbox = grown();
    let served = sandbox.outside().join("served");
    let path = served.join("design.git").display().to_string();
    sandbox.git(&["init", "-q", "--bare", "-b", "main", &path]);
    let server =
        GitServer::start(&served, Wire::Plain, Manner::Serve { login: "ada:x".to_owned() });
    let url = server.url("design.git");
    let url = url.replacen("http://", "http://ada:x@", 1);
    sandbox.git(&["remote", "add", "origin", &url]);
    let (commits, bytes) = told(&sandbox, &["lfs", "migrate", "--no-push"]);
    let all: u64 = sandbox.git(&["rev-list", "--count", "main", "side"]).parse().unwrap();
    let last = commits.last().cloned();
    assert_eq!(last, Some(("rewrite history".to_owned(), all, all)));
    assert_eq!(bytes, []);
    let (commits, bytes) = told(&sandbox, &["lfs", "migrate", "--push"]);
    assert_eq!(commits, []);
    let (what, done, total) = bytes.last().cloned().unwrap();
    assert!(what.ends_with(" of 6"), "{what}");
    assert_eq!(done, total);
}

#[test]
fn who_does_not_look_on_is_not_told() {
    let sandbox = grown();
    let run = sandbox.run(&["lfs", "migrate", "--push"]);
    assert!(!run.stderr.contains("commits:"), "{}", run.stderr);
}

/// The real program, with a git-lfs that hangs in one command until it is ended.
struct Hanging {
    sandbox: Sandbox,
    /// Where the program finds that git-lfs.
    view: View,
    fifo: PathBuf,
}

impl Hanging {
    fn in_command(sandbox: Sandbox, command: &str) -> Hanging {
        let fifo = sandbox.outside().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).unwrap();
        let script = format!(
            "if [ \"$1\" = {command} ]; then exec 3>'{}'; echo begun >&3; sleep 600; fi",
            fifo.display(),
        );
        Hanging { view: sandbox.stand_in("git-lfs", &script), sandbox, fifo }
    }

    /// Runs a command, stops it by Ctrl-C once git-lfs hangs, and returns its exit code and its answer
    /// when nothing that it started is left.
    fn stop(&self, args: &[&str]) -> (Option<i32>, serde_json::Value) {
        let child = self
            .view
            .program()
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut line, mut pipe) = first_line(&self.fifo);
        assert_eq!(line, "begun");
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        // Whoever has the pipe open has it closed when it ends.
        pipe.read_to_string(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        let answer = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), answer)
    }
}

#[test]
fn a_rewriting_that_is_stopped_leaves_everything_as_it_was() {
    let (sandbox, _) = grown_with_origin();
    let hanging = Hanging::in_command(sandbox, "migrate");
    let sandbox = &hanging.sandbox;
    let config = sandbox.read(".git/config");
    let hooks = || {
        let listed = fs::read_dir(sandbox.path(".git/hooks")).into_iter().flatten();
        let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (state, before) = (sandbox.visible_state(), hooks());
    let all = sandbox.git(&["for-each-ref"]);
    let (code, answer) = hanging.stop(&["--json", "lfs", "migrate", "--push"]);
    assert_eq!(code, Some(130));
    assert_eq!(answer["code"], "interrupted", "{answer:#}");
    assert_eq!(sandbox.visible_state(), state);
    assert_eq!(sandbox.git(&["for-each-ref"]), all);
    assert_eq!(sandbox.read(".git/config"), config);
    assert_eq!(hooks(), before);
    assert!(!sandbox.path(".git/colony/migration").exists());
    sandbox.colony(&["lfs", "migrate", "--push"]);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_stopped_upload_leaves_origin_and_can_go_on_or_be_undone() {
    for way in [&["lfs", "migrate", "--push"][..], &["undo"]] {
        let (sandbox, bare) = grown_with_origin();
        sandbox.git(&["lfs", "install", "--local"]);
        let before = sandbox.git(&["for-each-ref", "refs/heads", "refs/tags"]);
        let hanging = Hanging::in_command(sandbox, "push");
        let sandbox = &hanging.sandbox;
        let theirs = at(&bare, sandbox, &["for-each-ref"]);
        let (code, answer) = hanging.stop(&["--json", "lfs", "migrate", "--push"]);
        assert_eq!(code, Some(130));
        assert_eq!(answer["code"], "interrupted", "{answer:#}");
        let said = answer["message"].as_str().unwrap();
        assert!(said.contains("history is rewritten here"), "{said}");
        assert_eq!(at(&bare, sandbox, &["for-each-ref"]), theirs);
        let pointer = sandbox.git(&["show", "main:paper.pdf"]);
        assert!(pointer.starts_with(POINTER), "{pointer}");
        sandbox.colony(way);
        let now = sandbox.git(&["for-each-ref", "refs/heads", "refs/tags"]);
        assert_eq!(now == before, way == ["undo"]);
        let pushed = at(&bare, sandbox, &["rev-parse", "main"]);
        assert_eq!(pushed, sandbox.git(&["rev-parse", "main"]));
        sandbox.check_invariants_of_git();
    }
}
