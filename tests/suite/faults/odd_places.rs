//! Repositories in places with names, layouts and policies that few have: commands work there, or say why not.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use crate::support::{Sandbox, View};

/// Commands of every part, in an order in which each has something to do.
const COMMANDS: [&[&str]; 22] = [
    &["status"],
    &["checkpoint", "-m", "one"],
    &["restore", "one"],
    &["fork", "try"],
    &["undo"],
    &["redo"],
    &["map"],
    &["search", "one"],
    &["context", "one"],
    &["init", "--no-lfs"],
    &["hooks", "install"],
    &["id"],
    &["paths"],
    &["agents", "new", "ada"],
    &["agents"],
    &["diff", "ada@"],
    &["merge", "ada"],
    &["agents", "remove", "ada"],
    &["agents", "restore", "ada"],
    &["blackboard", "put", "plan", "key", "value"],
    &["doctor"],
    &["deinit", "--purge", "--force"],
];

/// Moves the repository of a sandbox to another name.
fn moved(sandbox: &Sandbox, name: &[u8]) -> View {
    let place = sandbox.outside().join(OsStr::from_bytes(name));
    fs::rename(&sandbox.root, &place).unwrap();
    sandbox.at(place).with("COLONY_SHARED_ROOT", sandbox.outside().join("shared"))
}

#[test]
fn a_name_with_a_newline_is_a_name_like_others() {
    let sandbox = Sandbox::new();
    let view = moved(&sandbox, b"new\nline");
    for command in COMMANDS {
        let answer = view.json(command);
        assert_ne!(answer["status"], "error", "{command:?} {answer:#}");
    }
}

#[test]
fn a_name_that_is_not_utf8_works_or_is_refused_by_its_reason() {
    let sandbox = Sandbox::new();
    let view = moved(&sandbox, b"byte\xff");
    let mut refused = Vec::new();
    for command in COMMANDS {
        let answer = view.json(command);
        let code = answer["code"].as_str().unwrap_or_default();
        let is_agent = ["agents", "ada", "ada@"].iter().any(|word| command.contains(word));
        let is_about_agents = is_agent || command[0] == "blackboard";
        assert!(answer["status"] != "error" || is_about_agents, "{command:?} {answer:#}");
        if code == "unsupported" {
            assert!(answer["message"].as_str().unwrap().contains("is not UTF-8"), "{answer:#}");
            refused.push(command[0]);
        }
    }
    assert_eq!(refused.first(), Some(&"agents"), "{refused:?}");
    assert!(!sandbox.outside().join("shared/hubs").exists(), "refused before anything is made");
}

#[test]
fn agents_work_where_git_takes_no_local_url() {
    let sandbox = Sandbox::new();
    let shared = sandbox.outside().join("shared");
    let sandbox = sandbox.with("COLONY_SHARED_ROOT", shared);
    sandbox.git(&["config", "protocol.file.allow", "never"]);
    let user = sandbox.outside().join("user-config");
    fs::write(&user, "[protocol \"file\"]\n\tallow = never\n").unwrap();
    let sandbox = sandbox.with("GIT_CONFIG_GLOBAL", user);
    sandbox.colony(&["agents", "new", "ada"]);
    let clone = sandbox.at(sandbox.colony(&["agents", "path", "ada"]).trim().into());
    clone.write("a.txt", "of ada\n");
    clone.colony(&["commit", "-m", "edit", "--all"]);
    sandbox.colony(&["merge", "ada"]);
    assert_eq!(sandbox.read("a.txt"), "of ada\n");
    sandbox.write("dir/b.txt", "of main\n");
    sandbox.git(&["-c", "user.name=Ada", "-c", "user.email=a@b", "commit", "-qam", "main"]);
    sandbox.colony(&["clones", "refresh", "ada"]);
    clone.colony(&["merge", "main"]);
    assert_eq!(clone.read("dir/b.txt"), "of main\n");
    clone.write("a.txt", "unsaved\n");
    sandbox.colony(&["agents", "remove", "ada"]);
    sandbox.colony(&["agents", "restore", "ada"]);
    assert_eq!(clone.read("a.txt"), "unsaved\n");
    sandbox.colony(&["agents", "new", "bob", "--from", "ada"]);
    sandbox.colony(&["doctor", "--deep"]);
}

#[test]
fn a_layout_with_a_bare_repository_names_a_worktree() {
    let sandbox = Sandbox::new();
    let place = sandbox.outside().join("layout");
    fs::create_dir(&place).unwrap();
    let layout = sandbox.at(place.clone());
    let bare = place.join(".bare");
    sandbox.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    layout.write(".git", "gitdir: ./.bare\n");
    let refused = layout.json(&["status"]);
    assert_eq!(refused["code"], "bare-repository");
    assert_eq!(refused["hint"], "run the command in a clone with a working tree");
    layout.git(&["worktree", "add", "-q", "other", "-b", "other"]);
    layout.git(&["worktree", "add", "-q", "main"]);
    fs::remove_dir_all(place.join("main")).unwrap();
    let hint = format!("cd '{}'   # its files are there", place.join("other").display());
    for command in [&["status"][..], &["checkpoint", "-m", "x"], &["agents"], &["fleet"]] {
        let refused = layout.json(command);
        assert_eq!(
            (&refused["code"], &refused["hint"]),
            (&"bare-repository".into(), &hint.as_str().into())
        );
    }
    layout.at(place.join("other")).colony(&["status"]);
}
