//! Attacks on setting up and taking out: what stands in the way, what fails half way, who else acts.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::support::Sandbox;

/// What setting up may change beside the tree: configuration, hooks, attributes.
fn setup_of(sandbox: &Sandbox) -> (String, Vec<String>, bool) {
    let hooks = fs::read_dir(sandbox.path(".git/hooks"));
    let mut hooks: Vec<String> = hooks
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    hooks.sort();
    (sandbox.read(".git/config"), hooks, sandbox.path(".git/info/attributes").exists())
}

/// A repository whose `.gitattributes` is somebody else's, so that lines of ours go elsewhere.
fn with_attributes() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.x text\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "attributes"]);
    sandbox
}

fn hint_of(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.json(args)["hint"].as_str().unwrap().to_owned()
}

fn paste(sandbox: &Sandbox, line: &str) {
    let status = sandbox.process("bash").args(["-c", line]).stdin(Stdio::null()).status();
    assert!(status.unwrap().success(), "{line}");
}

#[test]
fn attributes_that_are_not_a_file_stop_init_before_any_change() {
    let fifo = |sandbox: &Sandbox| {
        let path = sandbox.path(".git/info/attributes");
        let made = Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let makers: [&dyn Fn(&Sandbox); 4] = [
        &|sandbox| {
            let outside = sandbox.outside().join("theirs");
            fs::write(&outside, "*.y text\n").unwrap();
            symlink(outside, sandbox.path(".git/info/attributes")).unwrap();
        },
        &|sandbox| symlink("/nonexistent", sandbox.path(".git/info/attributes")).unwrap(),
        &|sandbox| sandbox.write(".git/info/attributes/keep", "theirs"),
        &fifo,
    ];
    for make in makers {
        let sandbox = with_attributes();
        fs::create_dir_all(sandbox.path(".git/info")).unwrap();
        make(&sandbox);
        let kind = |sandbox: &Sandbox| {
            let metadata = fs::symlink_metadata(sandbox.path(".git/info/attributes"));
            metadata.unwrap().file_type()
        };
        let before = (setup_of(&sandbox), kind(&sandbox));
        assert_eq!(sandbox.error(&["init", "-n"]), "path-in-the-way");
        assert_eq!(sandbox.error(&["init"]), "path-in-the-way");
        assert_eq!((setup_of(&sandbox), kind(&sandbox)), before);
        paste(&sandbox, &hint_of(&sandbox, &["init"]));
        sandbox.colony(&["init"]);
        sandbox.check_invariants_of_git();
    }
}

#[test]
fn an_init_that_cannot_commit_takes_back_what_it_set_up() {
    for lock in ["index.lock", "refs/heads/main.lock", "config.lock"] {
        let sandbox = with_attributes();
        let before = setup_of(&sandbox);
        sandbox.write(&format!(".git/{lock}"), "");
        let run = ["--timeout", "0.1", "init"];
        assert_eq!(sandbox.error(&run), "locked", "{lock}");
        assert_eq!(setup_of(&sandbox), before, "{lock}");
        assert!(!sandbox.path(".git/colony/lfs-installed").exists());
        sandbox.remove(&format!(".git/{lock}"));
        sandbox.colony(&["init"]);
        assert_ne!(setup_of(&sandbox), before);
    }
}

#[test]
fn a_failing_init_keeps_what_an_earlier_one_set_up() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    sandbox.colony(&["init"]);
    let before = setup_of(&sandbox);
    sandbox.git(&["rm", "-q", ".colony/repo_map.yaml"]);
    sandbox.git(&["commit", "-qm", "less"]);
    sandbox.write(".git/index.lock", "");
    assert_eq!(sandbox.error(&["--timeout", "0.1", "init"]), "locked");
    assert_eq!(setup_of(&sandbox), before);
}

#[test]
fn two_inits_at_once_make_one_commit() {
    for _ in 0..4 {
        let sandbox = Sandbox::new();
        let codes = std::thread::scope(|scope| {
            let runs = [(); 2].map(|()| scope.spawn(|| sandbox.run(&["init"])));
            runs.map(|run| run.join().unwrap().code)
        });
        assert_eq!(codes, [0, 0]);
        assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "2");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
        sandbox.check_invariants_of_git();
    }
}

#[test]
fn a_locked_configuration_stops_deinit_before_anything_goes() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.colony(&["hooks", "install"]);
    sandbox.git(&["config", "colony.maxNewFileSize", "1m"]);
    let before = setup_of(&sandbox);
    sandbox.write(".git/config.lock", "");
    assert_eq!(sandbox.error(&["deinit", "--purge"]), "locked");
    assert_eq!(setup_of(&sandbox), before);
    paste(&sandbox, &hint_of(&sandbox, &["deinit", "--purge"]));
    sandbox.colony(&["deinit", "--purge"]);
    assert!(!sandbox.read(".git/config").contains("lfs"));
    assert!(!sandbox.read(".git/config").contains("colony"));
}

#[test]
fn an_empty_hooks_path_is_no_folder_to_write_to() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.hooksPath", ""]);
    let before = setup_of(&sandbox);
    assert_eq!(sandbox.error(&["init"]), "hooks-in-the-way");
    assert_eq!(setup_of(&sandbox), before);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_empty_hooks_folder_of_the_user_outlives_deinit() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    let theirs = sandbox.outside().join("their hooks");
    fs::create_dir(&theirs).unwrap();
    sandbox.git(&["config", "core.hooksPath", theirs.to_str().unwrap()]);
    sandbox.colony(&["deinit", "--purge"]);
    assert!(theirs.is_dir());
}

#[test]
fn hooks_that_alone_upload_large_files_are_not_removed() {
    let sandbox = Sandbox::new();
    let remote = sandbox.outside().join("remote.git");
    let remote = remote.to_str().unwrap();
    sandbox.git(&["init", "-q", "--bare", remote]);
    let remote = &format!("file://{remote}");
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["init"]);
    sandbox.write("a.pdf", "large\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large"]);
    let before = setup_of(&sandbox);
    for args in [&["hooks", "uninstall", "-n"][..], &["hooks", "uninstall"]] {
        assert_eq!(sandbox.error(args), "hooks-in-the-way");
    }
    assert_eq!(setup_of(&sandbox), before);
    // What the hint says, by hand: git-colony is not on the path of every test machine.
    assert!(hint_of(&sandbox, &["hooks", "uninstall"]).contains("git lfs update"));
    sandbox.git(&["config", "colony.lfsHooks", "false"]);
    sandbox.colony(&["hooks", "uninstall"]);
    sandbox.git(&["lfs", "update"]);
    sandbox.git(&["push", "-q", remote, "main"]);
    assert!(sandbox.outside().join("remote.git/lfs/objects").exists());
}

#[test]
fn links_and_folders_at_our_paths_are_left_and_named() {
    for path in [".gitattributes", ".colony", ".colony/manifest.json"] {
        for target in ["theirs", "/nonexistent"] {
            let sandbox = Sandbox::new();
            let outside = sandbox.outside().join("theirs");
            fs::create_dir(&outside).unwrap();
            let target = if target == "theirs" { outside.clone() } else { target.into() };
            fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
            symlink(&target, sandbox.path(path)).unwrap();
            let before = setup_of(&sandbox);
            assert_eq!(sandbox.error(&["init"]), "path-in-the-way", "{path}");
            assert_eq!(setup_of(&sandbox), before);
            assert_eq!(fs::read_link(sandbox.path(path)).unwrap(), target);
            assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
        }
    }
}

#[test]
fn a_repository_in_a_path_of_any_bytes_is_set_up_and_taken_out() {
    let sandbox = Sandbox::new();
    let odd = sandbox.outside().join("sp ace\nquo'te\"$(touch pwn)");
    fs::create_dir(&odd).unwrap();
    let view = sandbox.at(odd.clone());
    view.git(&["init", "-q", "-b", "main", "--template="]);
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    fs::write(odd.join("a"), "a\n").unwrap();
    view.git(&["add", "-A"]);
    view.git(&["commit", "-qm", "first"]);
    let config = fs::read(odd.join(".git/config")).unwrap();
    // git-lfs cannot work below a folder with a line break in its name, and says so.
    assert_eq!(view.error(&["init"]), "git-failed");
    assert_eq!(fs::read(odd.join(".git/config")).unwrap(), config);
    view.colony(&["init", "--no-lfs"]);
    view.colony(&["hooks", "install"]);
    view.colony(&["hooks", "install", "--for", "claude-code"]);
    view.git(&["commit", "-q", "--allow-empty", "-m", "more"]);
    fs::write(odd.join(".git/index.lock"), "").unwrap();
    let answer = view.json(&["--timeout", "2", "checkpoint", "-m", "x"]);
    paste(&sandbox, answer["hint"].as_str().unwrap());
    assert!(!odd.join(".git/index.lock").exists());
    view.colony(&["hooks", "uninstall", "--for", "claude-code"]);
    view.colony(&["deinit", "--purge"]);
    assert_eq!(fs::read(odd.join(".git/config")).unwrap(), config);
    assert!(!odd.join("pwn").exists() && !sandbox.outside().join("pwn").exists());
}
