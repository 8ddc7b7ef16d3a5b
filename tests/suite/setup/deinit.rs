//! `deinit` leaves nothing behind, and `doctor` sees what could hurt.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::agents::new_and_merge::{agent, hub};
use crate::lfs::migrate::in_progress::paste;
use crate::support::Sandbox;

/// Everything below `.git` that git or a person would look at: configuration, hooks, refs, info.
fn git_files(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for part in ["config", "HEAD", "packed-refs", "hooks", "refs", "info", "colony", "colony-kept"]
    {
        collect(&sandbox.path(".git"), &sandbox.path(".git").join(part), &mut found);
    }
    found
}

fn collect(root: &Path, path: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(root, &entry.unwrap().path(), found);
        }
    } else if let Ok(bytes) = fs::read(path) {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        found.insert(name, bytes);
    }
}

#[test]
fn an_off_branch_checkpoint_and_a_purge_leave_every_byte() {
    let sandbox = Sandbox::new();
    sandbox.write("a.txt", "changed\n");
    let before = git_files(&sandbox);
    let state = sandbox.visible_state();
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "aside"]);
    sandbox.colony(&["checkpoint", "--auto"]);
    sandbox.colony(&["deinit", "--purge"]);
    assert_eq!(git_files(&sandbox), before);
    assert_eq!(sandbox.visible_state(), state);
}

#[test]
fn init_and_purge_move_only_the_branch_and_init_works_again() {
    let sandbox = Sandbox::new();
    let before = git_files(&sandbox);
    sandbox.colony(&["init"]);
    sandbox.colony(&["deinit", "--purge"]);
    let mut after = git_files(&sandbox);
    assert_ne!(after.remove("refs/heads/main"), before.get("refs/heads/main").cloned());
    let mut expected = before;
    expected.remove("refs/heads/main");
    assert_eq!(after, expected);
    sandbox.git(&["fsck", "--strict"]);
    assert_eq!(sandbox.json(&["init"])["lfs_enabled"], true);
    assert!(sandbox.git(&["config", "filter.lfs.process"]).contains("git-lfs"));
}

#[test]
fn the_filters_that_the_user_has_set_up_stay() {
    for chosen in [&["--local"][..], &["--local", "--skip-smudge"], &["--local", "--skip-repo"]] {
        let sandbox = Sandbox::new();
        sandbox.git(&[&["lfs", "install"], chosen].concat());
        let filters = || sandbox.git(&["config", "--local", "--get-regexp", "^filter"]);
        let before = (filters(), sandbox.visible_state());
        sandbox.colony(&["init"]);
        assert_eq!(filters(), before.0, "{chosen:?}");
        sandbox.colony(&["undo"]);
        sandbox.colony(&["init", "remove", "--purge", "--force"]);
        assert_eq!((filters(), sandbox.visible_state()), before, "{chosen:?}");
    }
}

#[test]
fn settings_of_git_lfs_that_were_there_stay_alone() {
    let filters = [
        ("filter.lfs.clean", "git-lfs clean -- %f"),
        ("filter.lfs.smudge", "git-lfs smudge -- %f"),
        ("filter.lfs.process", "git-lfs filter-process"),
        ("filter.lfs.required", "true"),
        ("filter.lfs.extra", "mine"),
        ("lfs.url", "https://lfs.example.com/r"),
        ("lfs.locksverify", "false"),
    ];
    // Each of the filters alone, all but that one, and what is none.
    for (chosen, _) in filters {
        for alone in [true, false] {
            let sandbox = Sandbox::new();
            for (key, value) in filters.iter().filter(|(key, _)| (*key == chosen) == alone) {
                sandbox.git(&["config", key, value]);
            }
            let configuration = || sandbox.git(&["config", "--local", "--list"]);
            let before = configuration();
            sandbox.colony(&["init"]);
            assert!(configuration().contains("lfs.repositoryformatversion"));
            assert!(configuration().contains("filter.lfs.process"));
            sandbox.git(&["config", "filter.lfs.later", "of the user"]);
            sandbox.colony(&["undo"]);
            sandbox.colony(&["init", "remove", "--purge", "--force"]);
            let later = sandbox.git(&["config", "--local", "--get", "filter.lfs.later"]);
            assert_eq!(later, "of the user");
            sandbox.git(&["config", "--unset", "filter.lfs.later"]);
            assert_eq!(configuration(), before, "{chosen} {alone}");
        }
    }
}

#[test]
fn filters_of_another_program_are_not_mixed_with_ours() {
    for (key, value) in [("clean", "cat"), ("smudge", "cat"), ("required", "false")] {
        let sandbox = Sandbox::new();
        let key = format!("filter.lfs.{key}");
        sandbox.git(&["config", &key, value]);
        let before = sandbox.visible_state();
        let refused = sandbox.json(&["init"]);
        assert_eq!(refused["code"], "unsupported", "{refused:#}");
        assert!(refused["message"].as_str().unwrap().contains(&key), "{refused:#}");
        assert_eq!(sandbox.visible_state(), before);
        sandbox.colony(&["init", "--no-lfs"]);
    }
}

#[test]
fn deinit_alone_keeps_checkpoints_and_operations() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.colony(&["checkpoint", "-m", "kept"]);
    let refs = sandbox.git(&["for-each-ref"]);
    sandbox.colony(&["deinit"]);
    assert_eq!(sandbox.git(&["for-each-ref"]), refs);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M a.txt");
}

#[test]
fn a_purge_does_not_delete_kept_files_unless_forced() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "precious\n");
    sandbox.colony(&["restore", "one"]);
    let before = git_files(&sandbox);
    assert_eq!(sandbox.error(&["deinit", "--purge"]), "kept-files");
    assert_eq!(git_files(&sandbox), before);
    sandbox.colony(&["deinit", "--purge", "--force"]);
    assert!(!sandbox.path(".git/colony-kept").exists());
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony-local", "refs/tags"]), "");
}

#[test]
fn deinit_keeps_git_lfs_while_the_tree_has_pointers() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    let answer = sandbox.json(&["deinit", "--purge"]);
    assert!(answer["stays"][0].as_str().unwrap().contains("git-lfs"), "{answer:#}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_purge_gives_hooks_back_that_were_there_before() {
    let sandbox = Sandbox::new();
    sandbox.write_program(".git/hooks/post-commit", "#!/bin/sh\nexit 0\n");
    let before = git_files(&sandbox);
    let worktree = sandbox.worktree();
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["hooks", "install", "--for", "claude-code"]);
    assert_ne!(git_files(&sandbox), before);
    sandbox.colony(&["deinit", "--purge"]);
    assert_eq!(git_files(&sandbox), before);
    assert_eq!(sandbox.worktree(), worktree);
}

#[test]
fn hooks_install_lets_init_set_git_lfs_up_beside_a_foreign_hook() {
    let sandbox = Sandbox::new();
    sandbox.write_program(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    sandbox.colony(&["hooks", "install"]);
    assert_eq!(sandbox.json(&["init"])["lfs_enabled"], true);
    sandbox.write("model.bin", "w".repeat(5000));
    sandbox.colony(&["checkpoint", "-m", "weights"]);
    let bare = sandbox.outside().join("bare.git");
    sandbox.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    let url = format!("file://{}", bare.display());
    sandbox.git(&["remote", "add", "origin", &url]);
    sandbox.git(&["push", "-q", "origin", "main"]);
    assert!(bare.join("lfs/objects").exists());
    // They are what uploads, so they stay while the tree has pointers.
    sandbox.colony(&["deinit", "--purge"]);
    assert!(sandbox.read(".git/hooks/pre-push").contains("git lfs"));
}

#[test]
fn a_dry_run_of_deinit_removes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.colony(&["checkpoint", "-m", "one"]);
    let before = git_files(&sandbox);
    let answer = sandbox.json(&["deinit", "--purge", "-n"]);
    assert_eq!(answer["dry_run"], true);
    assert!(!answer["removed"].as_array().unwrap().is_empty());
    assert_eq!(git_files(&sandbox), before);
}

#[test]
fn a_settings_section_goes_and_other_configuration_stays() {
    let sandbox = Sandbox::new();
    let before = git_files(&sandbox);
    sandbox.git(&["config", "colony.keepDays", "7"]);
    sandbox.colony(&["deinit"]);
    assert_eq!(git_files(&sandbox)["config"], before["config"]);
}

fn ill(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let answer = sandbox.json(&[&["doctor"], args].concat());
    let checks = answer["checks"].as_array().unwrap().clone();
    let ill = checks.iter().filter(|check| check["ok"] == false);
    ill.map(|check| check["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_doctor_is_content_with_a_repository_that_is_well() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("a.txt", "changed\n");
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "again\n");
    sandbox.colony(&["restore", "one"]);
    assert_eq!(ill(&sandbox, &["--deep"]), Vec::<String>::new());
}

#[test]
fn the_doctor_names_locks_mirrors_and_lost_files() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.write("a.txt", "precious\n");
    sandbox.colony(&["restore", "one"]);
    for lock in ["HEAD.lock", "objects/maintenance.lock", "packed-refs.new", "refs/heads/main.lock"]
    {
        sandbox.write(&format!(".git/{lock}"), "");
    }
    sandbox.git(&["config", "remote.up.mirror", "true"]);
    let kept = sandbox.path(".git/colony-kept");
    let worktree = fs::read_dir(kept).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(worktree.join("0000000002/0")).unwrap();
    assert_eq!(ill(&sandbox, &[]), ["lock", "lock", "lock", "lock", "mirror"]);
    assert_eq!(
        ill(&sandbox, &["--deep"]),
        ["lock", "lock", "lock", "lock", "mirror", "operations"]
    );
    assert!(sandbox.path(".git/HEAD.lock").exists());
}

#[test]
fn the_doctor_sees_filters_without_the_hook_that_uploads() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.remove(".git/hooks/pre-push");
    assert_eq!(ill(&sandbox, &[]), ["git-lfs-push"]);
    // Filters alone are those of every repository of the user.
    sandbox.remove(".gitattributes");
    let ill = ill(&sandbox, &[]);
    assert!(!ill.contains(&"git-lfs-push".to_owned()), "{ill:?}");
}

/// Dies in a restore that has files to move aside.
fn cut_off(sandbox: &Sandbox) {
    sandbox.colony(&["checkpoint", "-m", "k1"]);
    sandbox.write("scratch.txt", "an hour\n");
    let world = git_colony::testing::World { die_at: Some("large-files-kept"), ..sandbox.world() };
    assert_ne!(sandbox.run_in(world, &["restore", "k1", "--force"]).code, 0);
}

#[test]
fn what_recovery_moves_aside_is_counted_before_a_purge() {
    let sandbox = Sandbox::new();
    cut_off(&sandbox);
    assert_eq!(sandbox.error(&["deinit", "--purge"]), "kept-files");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.read("scratch.txt"), "an hour\n");
}

#[test]
fn an_operation_cut_off_in_another_worktree_stops_a_purge() {
    let sandbox = Sandbox::new();
    let other = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
    cut_off(&sandbox);
    let linked = sandbox.at(other);
    let refused = linked.json(&["deinit", "--purge", "--force"]);
    assert_eq!(refused["code"], "recovery-needed", "{refused:#}");
    sandbox.automatic_checkpoint();
    assert_eq!(linked.json(&["deinit", "--purge", "--force"])["ok"], true);
}

#[test]
fn a_copy_of_the_configuration_is_where_its_worktree_is_swept() {
    let sandbox = Sandbox::new();
    let other = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", other.to_str().unwrap()]);
    sandbox.git(&["config", "colony.lock-timeout", "7"]);
    let seen = sandbox.outside().join("seen");
    let script =
        format!("case \"$*\" in *'config --file /'*) echo \"$*\" >>'{}';; esac", seen.display());
    let linked = sandbox.at(other).stand_in("git", &script);
    linked.colony(&["init"]);
    linked.colony(&["deinit"]);
    let copies = std::fs::read_to_string(seen).unwrap();
    assert!(
        copies.lines().all(|line| line.contains("/.git/worktrees/linked/colony/tmp-")),
        "{copies}"
    );
}

fn private_refs(sandbox: &Sandbox) -> String {
    sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local"])
}

#[test]
fn a_purge_of_a_colony_names_commands_for_what_it_leaves() {
    let sandbox = Sandbox::new();
    agent(&sandbox, "ada");
    agent(&sandbox, "bob");
    sandbox.colony(&["agents", "remove", "bob"]);
    sandbox.colony(&["fleet"]);
    assert!(private_refs(&sandbox).contains("refs/colony-local/agents/ada/"));
    let hub = hub(&sandbox);
    let would = sandbox.json(&["deinit", "--purge", "-n"]);
    let done = sandbox.json(&["deinit", "--purge"]);
    for field in ["removed", "stays", "left"] {
        assert_eq!(done[field], would[field], "{field}");
    }
    let removed = done["removed"].to_string();
    assert!(removed.contains("private refs"), "{removed}");
    assert!(removed.contains(hub.to_str().unwrap()), "{removed}");
    assert_eq!(private_refs(&sandbox), "");
    assert!(!sandbox.path(".git/colony").exists());
    let published = sandbox.at(hub.clone()).git(&["for-each-ref", "refs/colony/desks"]);
    assert_eq!(published, "", "it takes part no more");
    let again = sandbox.json(&["deinit", "--purge"]);
    assert_eq!(again["removed"], serde_json::json!([]));
    assert_eq!(again["left"], done["left"]);
    let left = done["left"].as_array().unwrap();
    let told: Vec<_> = left.iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert_eq!(told[0], "1 clone, with everything in them: ada");
    assert!(told[1].ends_with(", with the work of removed agents: bob"), "{told:#?}");
    for one in left {
        paste(&sandbox, &sandbox.root, one["command"].as_str().unwrap());
    }
    assert!(!hub.exists());
    assert_eq!(sandbox.json(&["deinit", "--purge", "-n"])["left"], serde_json::json!([]));
}

#[test]
fn records_and_objects_left_by_a_purge_are_named_with_a_command() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--lfs"]);
    sandbox.colony(&["fork", "one"]);
    sandbox.colony(&["fork", "two"]);
    sandbox.git(&["update-ref", "refs/colony/scopes", "HEAD"]);
    fs::create_dir_all(sandbox.path(".git/lfs/objects")).unwrap();
    let done = sandbox.json(&["deinit", "--purge"]);
    let left = done["left"].as_array().unwrap();
    let told: Vec<_> = left.iter().map(|one| one["what"].as_str().unwrap()).collect();
    let stored = sandbox.path(".git/lfs").display().to_string();
    assert_eq!(
        told,
        [
            "2 fork records below refs/colony/forks/",
            "refs/colony/scopes",
            &format!("the store of git-lfs, '{stored}'"),
        ]
    );
    for one in left {
        paste(&sandbox, &sandbox.root, one["command"].as_str().unwrap());
    }
    assert_eq!(sandbox.git(&["for-each-ref", "refs/colony"]), "");
    assert!(!sandbox.path(".git/lfs").exists());
    let again = sandbox.json(&["deinit", "--purge"]);
    assert_eq!(again["left"], serde_json::json!([]));
}

#[test]
fn a_checkout_that_joins_again_after_a_purge_is_one_checkout() {
    let sandbox = Sandbox::new();
    let ada = agent(&sandbox, "ada");
    sandbox.colony(&["deinit", "--purge"]);
    sandbox.colony(&["fleet"]);
    // What was published before would be another opinion of where the branch is.
    sandbox.git(&["commit", "-q", "--amend", "-m", "another first"]);
    sandbox.colony(&["checkpoint", "--off-branch", "-m", "published"]);
    ada.colony(&["fleet"]);
    let desks = ada.git(&[
        "for-each-ref",
        "--format=%(objectname)",
        "refs/colony-local/desks/*/heads/main",
    ]);
    assert_eq!(desks, sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn uninstalling_the_hooks_of_git_names_those_of_agents() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["hooks", "install", "--for", "claude-code"]);
    let would = sandbox.json(&["hooks", "uninstall", "-n"]);
    assert_eq!(would["others"], serde_json::json!(["claude-code"]));
    let screen = sandbox.colony(&["hooks", "uninstall"]);
    let start = "the hooks of claude-code stay: ";
    let told = screen.lines().find_map(|line| line.strip_prefix(start));
    paste(&sandbox, &sandbox.root, told.unwrap_or_else(|| panic!("{screen}")));
    assert!(!sandbox.path(".claude").exists());
    assert_eq!(sandbox.json(&["hooks", "uninstall"])["others"], serde_json::json!([]));
}
