//! Repositories of every kind, with configuration and contents that somebody else has chosen.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use git_colony::testing::World;
use serde_json::Value;

use crate::support::{Sandbox, View};

/// Commands that only look.
const LOOKS: [&[&str]; 20] = [
    &["status"],
    &["status", "--line"],
    &["checkpoints"],
    &["checkpoints", "show", "base"],
    &["ops"],
    &["ops", "show", "op-1"],
    &["config"],
    &["version"],
    &["id"],
    &["paths"],
    &["groups", "a.txt"],
    &["doctor"],
    &["doctor", "--deep"],
    &["lfs", "status"],
    &["hooks", "status"],
    &["init", "-n"],
    &["checkpoint", "-n"],
    &["undo", "-n"],
    &["deinit", "-n"],
    &["hooks", "install", "-n"],
];

/// What a loop of the safe kind looks like, on a changed `a.txt`.
fn walk(view: &View, file: &PathBuf) {
    view.colony(&["init"]);
    view.colony(&["hooks", "install"]);
    let before = fs::read(file).unwrap();
    fs::write(file, "changed\n").unwrap();
    view.colony(&["checkpoint", "-m", "kept"]);
    fs::write(file, "worse\n").unwrap();
    view.colony(&["restore", "kept"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "changed\n");
    for _ in 0..2 {
        view.colony(&["undo"]);
    }
    assert_ne!(fs::read(file).unwrap(), before);
    view.git(&["fsck", "--strict", "--no-dangling"]);
    view.colony(&["hooks", "uninstall"]);
    view.colony(&["deinit", "--purge", "--force"]);
    assert_eq!(view.git(&["for-each-ref", "refs/colony-local"]), "");
    view.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn what_only_looks_starts_nothing_that_a_configuration_names() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "base"]);
    sandbox.write("a.txt", "two\n");
    let trap = sandbox.outside().join("pwn");
    let command = format!("touch '{}'; false", trap.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "core.askPass",
        "core.alternateRefsCommand",
        "credential.helper",
        "diff.external",
        "gpg.program",
        "interactive.diffFilter",
        "pager.status",
        "pager.config",
        "filter.other.clean",
        "filter.other.process",
    ] {
        sandbox.git(&["config", key, &command]);
    }
    for alias in ["status", "lfs", "config", "fsck"] {
        sandbox.git(&["config", &format!("alias.{alias}"), &format!("!{command}")]);
    }
    let hooks = sandbox.outside().join("their-hooks");
    fs::create_dir(&hooks).unwrap();
    for name in ["post-checkout", "pre-commit", "post-index-change"] {
        symlink("/bin/touch", hooks.join(name)).unwrap();
    }
    sandbox.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    // The trap works: what git itself does with it.
    sandbox.try_git(&["status"]);
    assert!(trap.exists());
    fs::remove_file(&trap).unwrap();
    for look in LOOKS {
        let run = sandbox.run(look);
        assert_ne!(run.code, 101, "{look:?}");
        assert!(!trap.exists(), "{look:?} ran what the configuration names");
    }
}

#[test]
fn a_bare_repository_in_the_tree_is_not_entered() {
    let sandbox = Sandbox::new();
    let trap = sandbox.outside().join("pwn");
    sandbox.write("embedded/HEAD", "ref: refs/heads/main\n");
    sandbox.write(
        "embedded/config",
        format!("[core]\n bare = true\n fsmonitor = touch '{}'\n", trap.display()),
    );
    sandbox.write("embedded/objects/keep", "");
    sandbox.write("embedded/refs/keep", "");
    sandbox.colony(&["checkpoint", "-m", "x"]);
    assert!(sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("embedded/HEAD"));
    let inside = sandbox.at(sandbox.path("embedded"));
    for look in LOOKS {
        // These need no working tree.
        if matches!(look, ["version"] | ["status", "--line"] | ["id" | "paths" | "groups", ..]) {
            assert_eq!(inside.run(look).code, 0, "{look:?}");
        } else {
            assert_eq!(inside.error(look), "bare-repository", "{look:?}");
        }
    }
    for change in [&["checkpoint", "-m", "y"][..], &["hooks", "install"], &["init"]] {
        assert_eq!(inside.error(change), "bare-repository", "{change:?}");
    }
    assert!(!trap.exists());
    assert!(!sandbox.path("embedded/colony").exists());
}

#[test]
fn without_git_lfs_pointers_are_told_as_pointers() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.pdf filter=lfs diff=lfs merge=lfs -text\n");
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "ab".repeat(32)
    );
    sandbox.write("a.pdf", &pointer);
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "pointer"]);
    let bin = sandbox.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["git", "sh"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(name))
            .find(|path| path.exists());
        symlink(found.unwrap(), bin.join(name)).unwrap();
    }
    let run = |args: &[&str]| {
        let mut world = sandbox.world();
        let path = bin.clone().into_os_string();
        world.variables.insert("PATH".into(), path);
        sandbox.run_in(world, &[&["--json"], args].concat())
    };
    let answer = |args: &[&str]| -> Value { serde_json::from_str(&run(args).stdout).unwrap() };
    assert_eq!(answer(&["status"])["ok"], true);
    let status = answer(&["lfs", "status"]);
    assert_eq!(status["pointers"], 1, "{status:#}");
    assert_eq!(status["missing"].as_array().unwrap().len(), 1);
    let before = sandbox.visible_state();
    let hydrate = run(&["lfs", "hydrate", "a.pdf"]);
    assert_ne!(hydrate.code, 0, "{}", hydrate.stdout);
    assert_eq!(sandbox.visible_state(), before);
    // The pointer is kept as the pointer it is.
    sandbox.write("a.txt", "two\n");
    assert_eq!(run(&["checkpoint", "-m", "x"]).code, 0);
    assert_eq!(sandbox.git(&["show", "HEAD:a.pdf"]) + "\n", pointer);
}

/// Overwrites the tree of HEAD, as the loose object it is.
fn spoil_object(sandbox: &Sandbox) {
    let tree = sandbox.git(&["rev-parse", "HEAD^{tree}"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    sandbox.set_mode(&object, 0o644);
    sandbox.write(&object, "garbage");
}

/// Cuts the pack off that everything is in.
fn spoil_pack(sandbox: &Sandbox) {
    sandbox.git(&["repack", "-adq"]);
    let packs = fs::read_dir(sandbox.path(".git/objects/pack")).unwrap();
    let pack = packs
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "pack"))
        .unwrap();
    let bytes = fs::read(&pack).unwrap();
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, &bytes[..20]).unwrap();
}

#[test]
fn damaged_objects_are_named_and_nothing_changes() {
    for spoil in [spoil_object, spoil_pack] {
        let sandbox = Sandbox::new();
        sandbox.colony(&["checkpoint", "-m", "base"]);
        sandbox.write("a.txt", "two\n");
        spoil(&sandbox);
        let stands = || {
            let read = |path| fs::read(sandbox.path(path)).ok();
            [".git/HEAD", ".git/refs/heads/main", ".git/index", "a.txt"].map(read)
        };
        let before = stands();
        for command in [&["checkpoint", "-m", "y"][..], &["restore", "base"], &["init"], &["undo"]]
        {
            let run = sandbox.run(&[&["--json"], command].concat());
            let answer: Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!((run.code, &answer["ok"]), (128, &false.into()), "{command:?}");
            assert!(answer["code"].is_string());
        }
        for look in LOOKS {
            assert_ne!(sandbox.run(look).code, 101, "{look:?}");
        }
        let deep = sandbox.json(&["doctor", "--deep"]);
        assert!(deep.to_string().contains("git fsck"), "{deep:#}");
        assert_eq!(stands(), before);
        assert!(!sandbox.path(".git/index.lock").exists());
    }
}

#[test]
fn shallow_partial_and_sparse_clones_work() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "second\n");
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", sandbox.root.display());
    for (name, options) in
        [("shallow", &["--depth", "1"][..]), ("partial", &["--filter=blob:none", "--sparse"])]
    {
        let clone = sandbox.outside().join(name);
        let args = [&["clone", "-q"], options, &[&url, clone.to_str().unwrap()]].concat();
        sandbox.git(&args);
        let view = sandbox.at(clone.clone());
        view.git(&["config", "user.name", "Ada"]);
        view.git(&["config", "user.email", "ada@example.com"]);
        walk(&view, &clone.join("a.txt"));
    }
}

#[test]
fn linked_worktrees_and_absorbed_submodules_work() {
    let sandbox = Sandbox::new();
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let source = Sandbox::new();
    let url = format!("file://{}", source.root.display());
    sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &url, "sub"]);
    sandbox.git(&["commit", "-qm", "submodule"]);
    assert!(sandbox.path("sub/.git").is_file());
    walk(&sandbox.at(linked.clone()), &linked.join("a.txt"));
    let view = sandbox.at(sandbox.path("sub"));
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    walk(&view, &sandbox.path("sub/a.txt"));
    assert!(!sandbox.path(".git/colony").join("hooks.json").exists());
}

#[test]
fn sha256_is_set_up_and_reftable_is_refused_before_any_change() {
    let sandbox = Sandbox::init(&["--object-format=sha256"]);
    sandbox.write("a.txt", "one\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "first"]);
    walk(&sandbox.at(sandbox.root.clone()), &sandbox.path("a.txt"));

    let plain = Sandbox::init(&[]);
    plain.git(&["config", "core.repositoryFormatVersion", "1"]);
    plain.git(&["config", "extensions.refStorage", "reftable"]);
    let config = plain.read(".git/config");
    for command in [&["init"][..], &["hooks", "install"], &["checkpoint", "-m", "x"]] {
        assert_eq!(plain.error(command), "unsupported", "{command:?}");
    }
    assert_eq!(plain.read(".git/config"), config);
    assert!(!plain.path(".git/colony").exists() && !plain.path(".git/hooks").exists());
}

#[test]
fn variables_of_a_git_hook_do_not_reach_another_repository() {
    let sandbox = Sandbox::new();
    let other = Sandbox::new();
    other.write("a.txt", "other\n");
    let run = |variables: &[(&str, OsString)]| -> Value {
        let mut world = World { cwd: other.root.clone(), ..sandbox.world() };
        for (name, value) in variables {
            world.variables.insert((*name).into(), value.clone());
        }
        let run = sandbox.run_in(world, &["--json", "status"]);
        serde_json::from_str(&run.stdout).unwrap()
    };
    assert_eq!(run(&[])["changes"]["changed"], 1);
    let index = sandbox.path(".git/index").into_os_string();
    let with_index = run(&[("GIT_INDEX_FILE", index)]);
    assert_eq!(with_index["changes"]["changed"], 1);
    let parameters = OsString::from("'core.worktree'='/nonexistent'");
    assert_eq!(run(&[("GIT_CONFIG_PARAMETERS", parameters)])["ok"], true);
}

#[test]
fn a_worktree_without_its_git_directory_is_not_the_one_around() {
    let sandbox = Sandbox::new();
    sandbox.write("lost/.git", "gitdir: /nowhere/worktrees/lost\n");
    sandbox.write("lost/a.txt", "mine\n");
    let lost = sandbox.at(sandbox.path("lost"));
    assert!(!lost.try_git(&["rev-parse", "--git-dir"]));
    for command in [&["status"][..], &["fork", "x"], &["checkpoint", "-m", "x"]] {
        assert_eq!(lost.error(command), "repository-broken", "{command:?}");
    }
    assert_eq!(sandbox.git(&["rev-list", "--count", "--all"]), "1");
}

#[test]
fn the_search_for_a_repository_ends_where_that_of_git_ends() {
    let sandbox = Sandbox::new();
    let below = sandbox.path("dir");
    for ceiling in [sandbox.root.clone(), sandbox.outside(), below.clone()] {
        let view = sandbox.with("GIT_CEILING_DIRECTORIES", ceiling.clone());
        let view = view.at(below.clone());
        let is_found = view.try_git(&["rev-parse", "--git-dir"]);
        let run = view.run(&["status"]);
        assert_eq!(run.code == 0, is_found, "{ceiling:?} {}", run.stderr);
    }
    let alone = sandbox.outside().join("alone");
    fs::create_dir_all(alone.join(".git")).unwrap();
    let alone = sandbox.at(alone);
    assert!(!alone.try_git(&["rev-parse", "--git-dir"]));
    assert_eq!(alone.error(&["status"]), "not-a-repository");
}

#[test]
fn a_clock_before_1970_makes_no_command_panic() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "two\n");
    for words in [
        &["status"][..],
        &["checkpoint", "-m", "old"],
        &["checkpoint", "--auto"],
        &["memory", "add", "old"],
        &["fork", "old"],
        &["log"],
        &["doctor"],
    ] {
        let run = sandbox.run_in(sandbox.world_at(-66 * 365 * 86_400), words);
        assert!(run.code <= 1 || run.stderr.contains("error: "), "{words:?} {}", run.stderr);
        // No other process is in the way of git, which takes no such date: nothing is tried again for a minute.
        assert!(!run.stderr.contains("another process"), "{words:?} {}", run.stderr);
    }
}
