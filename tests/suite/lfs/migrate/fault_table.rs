//! What really happens around a migration to git-lfs, row by row, with the test that shows it (search for
//! its name; "here" is in this file).
//!
//! The sequence of the requirements:
//! - no git-lfs: `without_git_lfs_nothing_is_begun`, and with its filters configured
//!   `configured_filters_without_git_lfs_stop_only_the_migration` here;
//! - set up twice: `init_commits_its_own_files_and_sets_git_lfs_up`, and each second run below;
//! - git calls committed large files modified once patterns are there:
//!   `a_file_that_only_git_calls_modified_is_no_edit`;
//! - `--yes` throws edits away: `edits_that_would_be_lost_are_refused_before_anything_changes`;
//! - every branch and tag is rewritten, with `.gitattributes`: `every_ref_moves_to_a_history_with_pointers`;
//! - a plain push is rejected, tags go by themselves, a second run changes nothing:
//!   `a_migration_by_plain_git_lfs_is_published_as_documented`,
//!   `origin_gets_new_history_and_a_second_run_changes_nothing`;
//! - an old clone: `an_old_clone_is_refused_and_follows_with_its_own_commits`, and what it pushes
//!   back: `old_history_pushed.rs`.
//!
//! Races and faults:
//! - a racing pusher, with and without a fetch between (attack 10):
//!   `a_racing_pusher_wins_whatever_is_fetched_meanwhile`,
//!   `a_pusher_between_the_look_and_the_push_wins_as_well`, and that nothing is uploaded for nothing:
//!   `a_lost_race_uploads_nothing_and_keeps_the_old_state` here;
//! - branches on the remote alone (attack 12): `what_the_remote_alone_has_is_refused_before_anything_changes`,
//!   `what_is_on_the_remote_alone_comes_as_what_it_is`;
//! - a kill (attack 11): `wherever_it_dies_it_can_be_continued_or_taken_back`,
//!   `a_migration_killed_alone_is_reported_and_leaves_nothing`, at every system call
//!   of a publication `tests/crash/migration.rs`, and
//!   `a_stopped_upload_leaves_origin_and_can_continue_or_abort`; every ref is
//!   what it was in `abort_brings_every_ref_back_and_the_index_with_its_times`;
//! - stale locks: `stale_locks_are_named_and_left`;
//! - other worktrees (attack 12): `from_a_linked_worktree_the_others_count`,
//!   `only_a_worktree_that_can_be_removed_is_offered_to_be`;
//! - stashes (attack 12): `a_stash_without_large_files_survives_and_can_be_popped`,
//!   `the_very_stashes_that_break_are_kept_as_branches`;
//! - notes and checkpoints (attack 12): `every_ref_moves_to_a_history_with_pointers`,
//!   `checkpoints_forks_and_what_they_say_are_in_the_new_history`, and what names commits `named_commits.rs`;
//! - signatures and the reflog: `what_is_lost_is_said_beforehand`, and that they do not hold
//!   `a_signature_becomes_invalid_and_is_valid_after_an_undo` here;
//! - pointers as content without git-lfs: `without_git_lfs_pointers_are_told_as_pointers`,
//!   `a_missing_object_is_named_or_fetched`;
//! - hooks that are there, `core.hooksPath`: `hooks_of_others_are_neither_replaced_nor_half_installed`,
//!   `a_hook_of_somebody_is_no_obstacle_beside_ours`,
//!   `a_hook_of_somebody_is_called_beside_ours_as_it_is_told`;
//! - a push past the hooks: `a_push_without_the_hook_is_what_doctor_warns_of` here;
//! - an object that is missing here: `an_object_that_is_missing_here_stops_only_the_push`;
//! - objects that are missing on the remote (attack 15): `a_clone_without_the_objects_of_the_remote_names_them`
//!   here;
//! - objects that clones borrow: `a_pruned_large_file_of_an_agent_comes_from_the_hub`;
//! - CRLF, `-filter` and spaces in attributes: `patterns_with_spaces_and_such_as_take_back_are_those_of_git`,
//!   and lines that git only warns of `lines_that_git_warns_of_are_no_patterns` here;
//! - a server over http: `a_server_with_the_batch_api_has_every_object_before_the_refs`, its locks `server_locks.rs`;
//! - the progress file: `progress_counts_commits_rewritten_and_bytes_uploaded`.

use std::fs;

use serde_json::Value;

use super::rewrite::{POINTER, at, grown, grown_with_origin};

#[test]
fn configured_filters_without_git_lfs_stop_only_the_migration() {
    let sandbox = grown();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    let bin = sandbox.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    for name in ["git", "sh"] {
        let path = std::env::var_os("PATH").unwrap();
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        let found = found.find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(found, bin.join(name)).unwrap();
    }
    let run = |args: &[&str]| -> Value {
        let mut world = sandbox.world();
        let path = bin.clone().into_os_string();
        world.variables.insert("PATH".into(), path);
        let run = sandbox.run_in(world, &[&["--json"], args].concat());
        serde_json::from_str(&run.stdout).unwrap()
    };
    let before = sandbox.refs();
    let refused = run(&["lfs", "migrate", "--push"]);
    assert_eq!(refused["code"], "lfs-not-installed", "{refused:#}");
    assert_eq!(sandbox.refs(), before);
    let status = run(&["status"]);
    assert_eq!(status["ok"], true, "{status:#}");
    let doctor = run(&["doctor"]);
    let told = doctor["checks"].to_string();
    assert!(told.contains("git-lfs is not installed"), "{doctor:#}");
}

#[test]
fn a_lost_race_uploads_nothing_and_keeps_the_old_state() {
    let (sandbox, bare) = grown_with_origin();
    let old = sandbox.git(&["rev-parse", "main"]);
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    // Somebody else pushes, and something here fetches it.
    let raced = sandbox.git(&[
        "-C",
        &bare.display().to_string(),
        "-c",
        "user.name=Bob",
        "-c",
        "user.email=b@example.com",
        "commit-tree",
        "-m",
        "raced",
        "-p",
        "main",
        "main^{tree}",
    ]);
    at(&bare, &sandbox, &["update-ref", "refs/heads/main", &raced]);
    sandbox.git(&["fetch", "-q", "origin"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["push_error_code"], "left-behind", "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), raced);
    assert!(!bare.join("lfs/objects").exists());
    let op = "op-1";
    let kept = format!("refs/colony-local/backup/{op}/heads/main");
    assert_eq!(sandbox.git(&["rev-parse", &kept]), old);
}

#[test]
fn a_signature_becomes_invalid_and_is_valid_after_an_undo() {
    let sandbox = grown();
    let raw = sandbox.git(&["cat-file", "commit", "main"]);
    let (head, message) = raw.split_once("\n\n").unwrap();
    let signed = format!(
        "{head}\ngpgsig -----BEGIN SSH SIGNATURE-----\n AAAA\n -----END SSH SIGNATURE-----\n\n{message}\n"
    );
    sandbox.write("../signed", signed);
    let file = sandbox.outside().join("signed").display().to_string();
    let id = sandbox.git(&["hash-object", "-t", "commit", "-w", &file]);
    sandbox.git(&["update-ref", "refs/heads/main", &id]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_ne!(sandbox.git(&["rev-parse", "main"]), id);
    // git-lfs keeps the header as it was, and it fits no more.
    assert!(!sandbox.try_git(&["verify-commit", "main"]));
    let shown = sandbox.git(&["log", "-1", "--format=%an %s", "main"]);
    assert_eq!(shown, "Ada patterns");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), id);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_push_without_the_hook_is_what_doctor_warns_of() {
    let (sandbox, _) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let told = || sandbox.json(&["doctor"])["checks"].to_string();
    let warning = "a push would publish pointers without objects";
    assert!(!told().contains(warning), "{}", told());
    sandbox.remove(".git/hooks/pre-push");
    assert!(told().contains(warning), "{}", told());
}

#[test]
fn a_clone_without_the_objects_of_the_remote_names_them() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    fs::rename(bare.join("lfs"), bare.join("lfs-away")).unwrap();
    let url = format!("file://{}", bare.display());
    let outside = sandbox.at(sandbox.outside());
    let made = outside.json(&["clone", &url, "--agent", "zed", "--lfs", "all"]);
    assert_eq!(made["ok"], true, "{made:#}");
    let clone = sandbox.at(made["path"].as_str().unwrap().into());
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    let pointer = fs::read_to_string(clone.path("paper.pdf")).unwrap();
    assert!(pointer.starts_with(POINTER), "{pointer}");
    let oid = |text: &str| {
        text.lines().find_map(|line| line.strip_prefix("oid sha256:").map(str::to_owned))
    };
    let missing = clone.json(&["lfs", "status"])["missing"].clone();
    assert_eq!(missing.as_array().unwrap().len(), 2, "{missing:#}");
    assert_eq!(missing[0]["oid"].as_str().map(str::to_owned), oid(&pointer), "{missing:#}");
    // Work that has nothing to do with them goes on.
    clone.write("text.txt", "zed\n");
    clone.colony(&["commit", "-m", "work", "--all"]);
    let brought = clone.run(&["--json", "lfs", "hydrate", "paper.pdf"]);
    assert_eq!(brought.code, 1, "{}", brought.stdout);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    fs::remove_dir_all(bare.join("lfs")).ok();
    fs::rename(bare.join("lfs-away"), bare.join("lfs")).unwrap();
    clone.colony(&["lfs", "hydrate", "paper.pdf"]);
    assert_eq!(fs::read_to_string(clone.path("paper.pdf")).unwrap(), "paper 3\n");
}

#[test]
fn lines_that_git_warns_of_are_no_patterns() {
    let sandbox = grown();
    let attributes = sandbox.read(".gitattributes");
    sandbox.write(".gitattributes", format!("!bad.txt filter=lfs\n{attributes}"));
    sandbox.git(&["commit", "-qam", "a line that git warns of"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    assert_eq!(answer["patterns"], serde_json::json!(["*.pdf", "*.bin"]), "{answer:#}");
    assert_eq!(sandbox.git(&["show", "main:text.txt"]), "text 3");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_clone_that_has_pointers_alone_finds_nothing_to_publish() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let place = sandbox.outside().join("new");
    let url = format!("file://{}", bare.display());
    sandbox.git(&["clone", "-q", &url, &place.display().to_string()]);
    let clone = sandbox.at(place);
    clone.git(&["fetch", "-q", "origin", "side:side", "refs/notes/*:refs/notes/*"]);
    clone.colony(&["sync", "--fetch"]);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let answer = clone.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "up_to_date", "{answer:#}");
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert!(!clone.path(".git/lfs/objects").exists() || bare.join("lfs/objects").exists());
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
}
