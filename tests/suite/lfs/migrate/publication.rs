//! How a migration to git-lfs is published: large files by their ids, found by one walk over all
//! histories; hooks are told so only where they do nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::git_server::{GitServer, Manner, Wire};
use crate::support::{Run, Sandbox, View, write_program};

use super::rewrite::{at, grown_with_origin};

/// A repository with more branches, its remote, and a git-lfs that writes down how it is called.
struct Watched {
    sandbox: Sandbox,
    /// Where the program finds that git-lfs.
    view: View,
    bare: PathBuf,
    log: PathBuf,
}

impl Watched {
    fn new() -> Watched {
        let (sandbox, bare) = grown_with_origin();
        sandbox.git(&["lfs", "install", "--local"]);
        for number in 0..4 {
            let name = format!("branch-{number}");
            sandbox.git(&["branch", &name, "HEAD~1"]);
            sandbox.git(&["push", "-q", "origin", &name]);
        }
        let log = sandbox.outside().join("log");
        let script = format!("echo \"$1 $2 spared=$GIT_LFS_SKIP_PUSH\" >>'{}'", log.display());
        let view = sandbox.stand_in("git-lfs", &script);
        Watched { sandbox, view, bare, log }
    }

    /// Has a script write down what it is told.
    fn hook(&self, path: &Path, name: &str, rest: &str) {
        let log = self.log.display();
        let said =
            format!("#!/bin/sh\necho \"{name} spared=$GIT_LFS_SKIP_PUSH\" >>'{log}'\n{rest}");
        write_program(path, said);
    }

    fn migrate(&self, args: &[&str]) -> Run {
        self.view.run(&[&["lfs", "migrate", "--push"], args].concat())
    }

    /// How git-lfs was called to upload, and what hooks were told, in this order.
    fn told(&self) -> Vec<String> {
        let log = fs::read_to_string(&self.log).unwrap();
        let is_told = |line: &&str| line.contains("push") || line.contains("receive");
        log.lines().filter(is_told).map(str::to_owned).collect()
    }

    fn large_files(&self) -> usize {
        let mut find = Command::new("find");
        find.arg(self.bare.join("lfs/objects")).args(["-type", "f"]);
        let found = String::from_utf8(find.output().unwrap().stdout).unwrap();
        found.lines().count()
    }
}

#[test]
fn large_files_are_pushed_by_id_and_asked_for_again_after_refs() {
    let watched = Watched::new();
    let receive = watched.bare.join("hooks/post-receive");
    watched.hook(&receive, "post-receive", "");
    let run = watched.migrate(&[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert_eq!(
        watched.told(),
        [
            "push --object-id spared=",
            "pre-push origin spared=1",
            "post-receive spared=",
            "push --object-id spared=",
        ]
    );
    assert_eq!(watched.large_files(), 6);
    let main = at(&watched.bare, &watched.sandbox, &["rev-parse", "main"]);
    assert_eq!(main, watched.sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn a_hook_that_does_more_is_told_nothing() {
    let (of_lfs, more) = ("git lfs pre-push \"$@\"\n", "true\n");
    for (rest, is_ours) in [(of_lfs, false), (more, true)] {
        let watched = Watched::new();
        let hook = watched.sandbox.path(".git/hooks/pre-push");
        watched.hook(&hook, "hook-of-push", rest);
        if is_ours {
            watched.sandbox.colony(&["hooks", "install"]);
            let setting = ["config", "colony.lfsHooks", "true"];
            watched.sandbox.git(&setting);
        }
        let run = watched.migrate(&[]);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        let told = watched.told();
        assert!(told.contains(&"hook-of-push spared=".to_owned()), "{told:?}");
        assert!(told.iter().all(|line| line.ends_with("spared=")), "{told:?}");
        assert_eq!(watched.large_files(), 6);
    }
}

#[test]
fn our_own_hook_beside_that_of_git_lfs_spares_it_too() {
    let watched = Watched::new();
    watched.sandbox.colony(&["hooks", "install"]);
    let run = watched.migrate(&[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let told = watched.told();
    assert!(told.contains(&"pre-push origin spared=1".to_owned()), "{told:?}");
    assert_eq!(watched.large_files(), 6);
}

#[test]
fn status_tells_of_a_migration_until_it_is_published() {
    let watched = Watched::new();
    let told = |wanted: &str| {
        let status = watched.sandbox.json(&["status"]);
        let health = status["health"].as_array().unwrap().clone();
        health.iter().any(|row| row["name"] == wanted)
    };
    assert!(!told("migration"));
    watched.sandbox.colony(&["lfs", "migrate", "--no-push"]);
    assert!(told("migration"));
    watched.sandbox.colony(&["lfs", "migrate", "--push"]);
    assert!(!told("migration"));
}

#[test]
fn objects_that_only_the_server_has_do_not_stop_a_publication() {
    let watched = Watched::new();
    let sandbox = &watched.sandbox;
    let served = sandbox.outside().join("served");
    let path = served.join("design.git");
    let there = path.display().to_string();
    let bare = watched.bare.display().to_string();
    sandbox.git(&["clone", "-q", "--bare", &bare, &there]);
    let login = "ada:x".to_owned();
    let server = GitServer::start(&served, Wire::Plain, Manner::Serve { login });
    let url = server.url("design.git").replacen("://", "://ada:x@", 1);
    sandbox.git(&["remote", "set-url", "origin", &url]);
    let theirs = at(&path, sandbox, &["for-each-ref"]);
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    let pointer = sandbox.git(&["show", "main:paper.pdf"]);
    let mut lines = pointer.lines();
    let oid = lines.find_map(|line| line.strip_prefix("oid sha256:"));
    let oid = oid.unwrap();
    let here = format!(".git/lfs/objects/{}/{}/{oid}", &oid[..2], &oid[2..4]);
    fs::create_dir_all(served.join("lfs")).unwrap();
    let away = sandbox.outside().join("away");
    fs::rename(sandbox.path(&here), &away).unwrap();
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["push_error_code"], "lfs-missing", "{answer:#}");
    assert_eq!(at(&path, sandbox, &["for-each-ref"]), theirs);
    fs::rename(&away, served.join("lfs").join(oid)).unwrap();
    let run = watched.migrate(&[]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let told = watched.told();
    let walks = told.iter().filter(|line| *line == "push --all spared=");
    assert_eq!(walks.count(), 2, "{told:?}");
    let spares_nobody = told.iter().all(|line| line.ends_with("spared="));
    assert!(spares_nobody, "{told:?}");
    let main = at(&path, sandbox, &["rev-parse", "main"]);
    assert_eq!(main, sandbox.git(&["rev-parse", "main"]));
    assert_eq!(fs::read_dir(served.join("lfs")).unwrap().count(), 6);
}
