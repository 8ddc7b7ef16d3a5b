//! `init` and the ground of git-lfs, on real git and real git-lfs.

use std::fs;
use std::path::Path;

use crate::support::{Sandbox, program_path};

/// A repository with two committed PDFs, before any pattern of git-lfs.
fn with_pdfs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("paper.pdf", "first\nsecond\n");
    sandbox.write("deep/other.pdf", "other\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "papers"]);
    sandbox
}

fn config_of(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path(".git/config")).unwrap()
}

fn hooks_of(sandbox: &Sandbox) -> Vec<String> {
    let Ok(found) = fs::read_dir(sandbox.path(".git/hooks")) else {
        return Vec::new();
    };
    let mut names: Vec<String> =
        found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn init_commits_its_own_files_and_sets_git_lfs_up() {
    let sandbox = Sandbox::new();
    let answer = sandbox.json(&["init", "--colony", "bridge"]);
    assert_eq!(answer["status"], "initialized", "{answer:#}");
    assert_eq!(answer["lfs_enabled"], true);
    assert_eq!(answer["pushed"], false);
    let files = sandbox.git(&["show", "--name-only", "--format=%s", "HEAD"]);
    assert_eq!(
        files,
        "init: scaffold .colony/ (manifest + repo_map.yaml) and .gitattributes\n\n.colony/.gitignore\n\
         .colony/manifest.json\n.colony/repo_map.yaml\n.gitattributes"
    );
    assert!(sandbox.read(".colony/manifest.json").contains("\"colony\": \"bridge\""));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(hooks_of(&sandbox), ["post-checkout", "post-commit", "post-merge", "pre-push"]);
    assert!(config_of(&sandbox).contains("git-lfs filter-process"));
    sandbox.git(&["fsck", "--strict"]);
}

#[test]
fn init_again_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    let (before, config) = (sandbox.visible_state(), config_of(&sandbox));
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["status"], "already_initialized");
    assert_eq!(answer["committed_sha"], serde_json::Value::Null);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(config_of(&sandbox), config);
}

#[test]
fn init_leaves_what_others_staged_and_changed_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.write("untracked.txt", "untracked\n");
    let before = sandbox.git(&["status", "--porcelain"]);
    sandbox.colony(&["init"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), before);
    assert!(!sandbox.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains("staged.txt"));
}

#[test]
fn init_keeps_what_the_operator_wrote() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitattributes", "*.txt text\n");
    sandbox.write(".colony/repo_map.yaml", "schema_version: 1\nsources: []\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "mine"]);
    let answer = sandbox.json(&["init"]);
    assert_eq!(sandbox.read(".gitattributes"), "*.txt text\n");
    assert_eq!(sandbox.read(".colony/repo_map.yaml"), "schema_version: 1\nsources: []\n");
    assert_eq!(
        answer["files_created"],
        serde_json::json!([".colony/.gitignore", ".colony/manifest.json"])
    );
    let info = fs::read_to_string(sandbox.path(".git/info/attributes")).unwrap();
    assert!(info.contains("merge=colony-decisions"), "{info}");
}

#[test]
fn a_dry_run_of_init_touches_nothing() {
    let sandbox = with_pdfs();
    let (before, config) = (sandbox.visible_state(), config_of(&sandbox));
    let answer = sandbox.json(&["init", "-n"]);
    assert_eq!(answer["dry_run"], true);
    assert_eq!(answer["exempt"], serde_json::json!(["deep/other.pdf", "paper.pdf"]));
    assert_eq!(answer["would_dirty"], serde_json::json!([]));
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(config_of(&sandbox), config);
    assert!(!sandbox.path(".git/colony").exists());
    assert!(hooks_of(&sandbox).is_empty());
}

#[test]
fn an_edit_after_init_commits_one_file_here_and_in_a_clone() {
    let sandbox = with_pdfs();
    sandbox.colony(&["init"]);
    assert_eq!(sandbox.json(&["status"])["uncommitted_changes"], false);
    // The clone is not an edit behind: both start from the commit of init.
    let clone = sandbox.outside().join("clone");
    let url = format!("file://{}", sandbox.root.display());
    sandbox.git(&["clone", "-q", &url, clone.to_str().unwrap()]);
    let view = sandbox.at(clone.clone());
    view.git(&["config", "user.name", "Ada"]);
    view.git(&["config", "user.email", "ada@example.com"]);
    view.git(&["lfs", "install", "--local"]);
    assert_eq!(view.json(&["status"])["uncommitted_changes"], false);
    fs::write(clone.join("a.txt"), "one line more\n").unwrap();
    view.colony(&["checkpoint", "-m", "edit"]);
    assert_eq!(view.git(&["show", "--name-only", "--format=", "HEAD"]), "a.txt");

    sandbox.write("paper.pdf", "first\nsecond\nthird\n");
    sandbox.colony(&["checkpoint", "-m", "edit"]);
    assert_eq!(sandbox.git(&["show", "--name-only", "--format=", "HEAD"]), "paper.pdf");
    assert_eq!(sandbox.git(&["show", "HEAD:paper.pdf"]), "first\nsecond\nthird");
    sandbox.write("new.pdf", "new\n");
    sandbox.colony(&["checkpoint", "-m", "a new one"]);
    assert!(sandbox.git(&["show", "HEAD:new.pdf"]).starts_with("version https://git-lfs"));
    assert_eq!(sandbox.json(&["status"])["uncommitted_changes"], false);
}

#[test]
fn init_can_be_undone_and_done_again() {
    let sandbox = Sandbox::new();
    let before = sandbox.visible_state();
    sandbox.colony(&["init"]);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(sandbox.json(&["init"])["status"], "initialized");
}

#[test]
fn init_works_before_the_first_commit() {
    let sandbox = Sandbox::unborn();
    sandbox.write("staged.txt", "staged\n");
    sandbox.git(&["add", "staged.txt"]);
    assert_eq!(sandbox.json(&["init"])["status"], "initialized");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "A  staged.txt");
}

#[test]
fn no_lfs_writes_no_line_of_it_and_only_lfs_turns_it_on() {
    let sandbox = Sandbox::new();
    let answer = sandbox.json(&["init", "--no-lfs"]);
    assert_eq!(answer["lfs_enabled"], false);
    assert!(!sandbox.read(".gitattributes").contains("filter=lfs"));
    assert!(sandbox.read(".colony/manifest.json").contains("\"disabled\""));
    assert!(!config_of(&sandbox).contains("lfs"));
    let answer = sandbox.json(&["init"]);
    assert_eq!(answer["status"], "already_initialized");
    assert_eq!(answer["lfs_kept_off"], true);
    assert!(!config_of(&sandbox).contains("lfs"));
    let answer = sandbox.json(&["init", "--lfs"]);
    assert_eq!(
        answer["files_created"],
        serde_json::json!([".colony/manifest.json", ".gitattributes"])
    );
    assert!(sandbox.read(".colony/manifest.json").contains("\"same_remote\""));
}

#[test]
fn a_manifest_with_uncommitted_edits_is_not_rewritten() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    let edited = sandbox.read(".colony/manifest.json").replace("\"unspecified\"", "\"mine\"");
    sandbox.write(".colony/manifest.json", &edited);
    let (before, config) = (sandbox.visible_state(), config_of(&sandbox));
    assert_eq!(sandbox.error(&["init", "--lfs"]), "uncommitted-edits");
    assert_eq!(sandbox.visible_state(), before);
    assert_eq!(config_of(&sandbox), config);
}

#[test]
fn what_is_no_manifest_stops_init_before_anything_happens() {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/manifest.json", "[1]\n");
    let config = config_of(&sandbox);
    assert_eq!(sandbox.error(&["init"]), "manifest-invalid");
    sandbox.remove(".colony");
    sandbox.write(".colony", "a file\n");
    assert_eq!(sandbox.error(&["init"]), "path-in-the-way");
    sandbox.remove(".colony");
    std::os::unix::fs::symlink("..", sandbox.path(".colony")).unwrap();
    assert_eq!(sandbox.error(&["init"]), "path-in-the-way");
    assert_eq!(config_of(&sandbox), config);
    assert!(hooks_of(&sandbox).is_empty());
}

#[test]
fn an_ordinary_pre_push_hook_is_kept_and_runs_beside_git_lfs() {
    let sandbox = Sandbox::new();
    let bare = sandbox.outside().join("bare.git");
    sandbox.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    let url = format!("file://{}", bare.display());
    sandbox.git(&["remote", "add", "origin", &url]);
    let hook = "#!/bin/sh\ntouch ../ran\n";
    sandbox.write_program(".git/hooks/pre-push", hook);
    let (before, config) = (hooks_of(&sandbox), config_of(&sandbox));
    let told = sandbox.colony(&["init", "-n"]);
    assert!(told.contains("'pre-push' hook that was there"), "{told}");
    assert_eq!((hooks_of(&sandbox), config_of(&sandbox)), (before.clone(), config.clone()));

    let told = sandbox.colony(&["init"]);
    assert!(told.contains("'pre-push' hook that was there"), "{told}");
    assert_eq!(sandbox.json(&["init"])["status"], "already_initialized");
    sandbox.colony(&["deinit"]);
    assert_eq!(hooks_of(&sandbox), before);
    assert_eq!(sandbox.read(".git/hooks/pre-push"), hook);
    assert!(!config_of(&sandbox).contains("lfs"));

    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    assert!(bare.join("lfs/objects").exists());
    assert!(sandbox.outside().join("ran").exists());
}

#[test]
fn hooks_that_init_has_put_in_go_when_it_fails() {
    let sandbox = Sandbox::new();
    sandbox.write_program(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    let config = config_of(&sandbox);
    sandbox.write(".git/index.lock", "");
    assert_eq!(sandbox.error(&["init"]), "locked");
    assert_eq!(hooks_of(&sandbox), ["pre-push"]);
    assert_eq!(sandbox.read(".git/hooks/pre-push"), "#!/bin/sh\nexit 0\n");
    assert_eq!(config_of(&sandbox), config);
}

#[test]
fn a_hooks_folder_that_is_not_ours_is_never_written_to() {
    for folder in [".githooks", "/dev/null"] {
        let sandbox = Sandbox::new();
        sandbox.git(&["config", "core.hooksPath", folder]);
        let config = config_of(&sandbox);
        assert_eq!(sandbox.error(&["init"]), "hooks-in-the-way", "{folder}");
        assert_eq!(config_of(&sandbox), config);
        assert!(!sandbox.path(".githooks").exists());
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn without_git_lfs_init_leaves_it_out_and_says_so() {
    let sandbox = Sandbox::new();
    let bin = sandbox.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["git", "sh"] {
        let found = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(name))
            .find(|path| path.exists())
            .unwrap();
        std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
    }
    let exec = sandbox.git(&["--exec-path"]);
    assert!(!Path::new(exec.trim()).join("git-lfs").exists());
    let mut world = sandbox.world();
    world.variables.insert("PATH".into(), bin.into_os_string());
    let run = sandbox.run_in(world, &["--json", "init"]);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((run.code, &answer["lfs_enabled"]), (0, &false.into()), "{answer:#}");
    assert!(answer["lfs_error"].as_str().unwrap().contains("not installed"));
    assert!(!sandbox.read(".gitattributes").contains("filter=lfs"));
    assert!(!config_of(&sandbox).contains("lfs"));
    // Once it is there, it is turned on where that is asked for: the manifest says that it is off.
    assert_eq!(sandbox.json(&["init"])["lfs_enabled"], false);
    assert_eq!(sandbox.json(&["init", "--lfs"])["lfs_enabled"], true);
}

#[test]
fn init_pushes_only_when_asked() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["--json", "init", "--push"]);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1);
    assert!(answer["push_error"].as_str().unwrap().contains("origin"));
    assert!(answer["committed_sha"].is_string());

    let sandbox = Sandbox::new();
    let bare = sandbox.outside().join("bare.git");
    sandbox.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    assert_eq!(sandbox.json(&["init", "--push"])["pushed"], true);
    let pushed = sandbox.git(&["ls-remote", "origin", "refs/heads/main"]);
    assert!(pushed.starts_with(sandbox.git(&["rev-parse", "HEAD"]).trim()), "{pushed}");
}

#[test]
fn a_url_with_a_password_does_not_reach_the_manifest() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--url", "https://ada:hunter2@example.com/r.git"]);
    let manifest = sandbox.read(".colony/manifest.json");
    assert!(manifest.contains("\"https://example.com/r.git\""), "{manifest}");
    assert!(!manifest.contains("hunter2"));
}

/// A repository with one large file in git-lfs, and its clone that has only pointers.
fn with_pointers() -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.write("deep/x y.bin", "z".repeat(3000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    let clone = sandbox.outside().join("clone");
    let url = format!("file://{}", sandbox.root.display());
    let target = clone.to_str().unwrap().to_owned();
    sandbox.git(&[
        "-c",
        "filter.lfs.smudge=",
        "-c",
        "filter.lfs.process=",
        "clone",
        "-q",
        &url,
        &target,
    ]);
    let view = sandbox.at(clone.clone());
    view.git(&["lfs", "install", "--local"]);
    (sandbox, clone)
}

#[test]
fn lfs_status_counts_by_pattern_and_names_what_is_missing() {
    let (sandbox, clone) = with_pointers();
    let answer = sandbox.json(&["lfs", "status"]);
    assert_eq!(answer["pointers"], 2);
    assert_eq!(answer["bytes"], 8000);
    assert_eq!(answer["missing"], serde_json::json!([]));
    assert_eq!(
        answer["patterns"],
        serde_json::json!([{"pattern": "*.bin", "files": 2, "bytes": 8000}])
    );
    let answer = sandbox.at(clone).json(&["lfs", "status"]);
    assert_eq!(answer["missing"].as_array().unwrap().len(), 2, "{answer:#}");
    assert_eq!(answer["not_hydrated"].as_array().unwrap().len(), 2);
}

#[test]
fn hydrate_brings_content_in_and_undo_brings_the_pointer_back() {
    let (sandbox, clone) = with_pointers();
    let view = sandbox.at(clone.clone());
    let answer = view.json(&["lfs", "hydrate", "deep"]);
    assert_eq!(answer["hydrated"], serde_json::json!(["deep/x y.bin"]), "{answer:#}");
    assert_eq!(fs::read_to_string(clone.join("deep/x y.bin")).unwrap(), "z".repeat(3000));
    assert!(fs::read_to_string(clone.join("model.bin")).unwrap().starts_with("version"));
    assert_eq!(view.git(&["status", "--porcelain"]), "");
    view.colony(&["undo"]);
    assert!(fs::read_to_string(clone.join("deep/x y.bin")).unwrap().starts_with("version"));
}

#[test]
fn hydrate_names_what_cannot_be_had_and_brings_in_the_rest() {
    let (sandbox, clone) = with_pointers();
    let view = sandbox.at(clone.clone());
    view.colony(&["lfs", "hydrate", "deep"]);
    fs::remove_dir_all(sandbox.path(".git/lfs/objects")).unwrap();
    let run = view.run(&["--json", "lfs", "hydrate", "."]);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.code, 1, "{answer:#}");
    assert_eq!(answer["missing"][0]["path"], "model.bin");
    assert!(fs::read_to_string(clone.join("model.bin")).unwrap().starts_with("version"));
    assert_eq!(view.error(&["lfs", "hydrate", "a.txt"]), "path-not-found");
}

#[test]
fn restore_names_a_missing_large_object_and_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    sandbox.remove("model.bin");
    sandbox.colony(&["checkpoint", "-m", "without"]);
    sandbox.colony(&["restore", "weights"]);
    assert_eq!(sandbox.read("model.bin"), "w".repeat(5000));
    sandbox.colony(&["undo"]);
    fs::remove_dir_all(sandbox.path(".git/lfs/objects")).unwrap();
    // What 'git lfs prune' would not take either.
    fs::remove_dir_all(sandbox.path(".git/colony-kept/large-files")).unwrap();
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["restore", "weights"]);
    assert_eq!(answer["code"], "lfs-missing", "{answer:#}");
    assert_eq!(answer["detail"]["missing"][0]["path"], "model.bin");
    assert_eq!(sandbox.visible_state(), before);
}

/// Runs the real program under strace and returns the files it and its children opened.
fn opened_by(sandbox: &Sandbox, args: &[&str]) -> String {
    let log = sandbox.outside().join("opened");
    let status = sandbox
        .process("strace")
        .args(["-f", "-qq", "-e", "trace=open,openat", "-o"])
        .arg(&log)
        .arg(program_path())
        .args(args)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
    fs::read_to_string(log).unwrap()
}

#[test]
fn unchanged_large_files_are_never_opened() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.write("small.bin", "s".repeat(500));
    // Older than the index: a file of the same moment has to be compared, here as in git.
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    let file = fs::File::options().write(true).open(sandbox.path("model.bin")).unwrap();
    file.set_modified(old).unwrap();
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    sandbox.write("small.bin", "t".repeat(600));
    for args in [
        &["status"][..],
        &["checkpoint", "--auto"],
        &["checkpoint", "-m", "next"],
        &["lfs", "status"],
    ] {
        let opened = opened_by(&sandbox, args);
        assert!(!opened.contains("model.bin"), "{args:?}: {opened}");
        assert!(opened.contains("openat"), "strace saw nothing");
    }
}
