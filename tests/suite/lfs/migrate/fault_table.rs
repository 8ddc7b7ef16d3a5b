//! What really happens around a migration to git-lfs, row by row, with the test that shows it.
//!
//! The sequence of the requirements:
//! - no git-lfs: `lfs_surroundings::without_git_lfs_nothing_is_begun`, and with its filters configured
//!   `without_git_lfs_filters_that_are_configured_stop_nothing_but_the_migration` here;
//! - set up twice: `init::init_commits_its_own_files_and_sets_git_lfs_up`, and each second run below;
//! - git calls committed large files modified once patterns are there:
//!   `lfs_migrate::a_file_that_only_git_calls_modified_is_no_edit`;
//! - `--yes` throws edits away: `lfs_migrate::edits_that_would_be_lost_are_refused_before_anything_changes`;
//! - every branch and tag is rewritten, with `.gitattributes`: `lfs_migrate::every_ref_moves_to_a_history_with_pointers`;
//! - a plain push is rejected, tags go by themselves, a second run changes nothing:
//!   `lfs_migrate::a_migration_by_plain_git_lfs_is_published_as_the_document_says`,
//!   `lfs_migrate::origin_gets_the_new_history_and_its_objects_and_a_second_run_changes_nothing`;
//! - an old clone: `lfs_followed::an_old_clone_is_refused_and_follows_with_its_own_commits`, and what it pushes
//!   back: `lfs_come_back`.
//!
//! Races and faults:
//! - a racing pusher, with and without a fetch between (attack 10):
//!   `lfs_migrate::a_racing_pusher_wins_whatever_is_fetched_meanwhile`,
//!   `lfs_migrate::a_pusher_between_the_look_and_the_push_wins_as_well`, and that nothing is uploaded for nothing:
//!   `a_race_that_is_lost_uploads_nothing_and_keeps_what_was_before` here;
//! - branches on the remote alone (attack 12): `lfs_migrate::what_the_remote_alone_has_is_refused_before_anything_changes`,
//!   `lfs_hints::what_is_on_the_remote_alone_comes_as_what_it_is`;
//! - a kill (attack 11): `lfs_migrate::wherever_it_dies_it_can_be_continued_or_taken_back`,
//!   `lfs_ways::what_is_cut_off_by_a_kill_of_git_colony_alone_is_told_and_leaves_nothing_behind`, at every system call
//!   of a publication `tests/crash/migration.rs`, and
//!   `lfs_progress::an_upload_that_is_stopped_leaves_origin_as_it_was_and_can_be_continued_or_taken_back`; every ref is
//!   what it was in `lfs_migrate::abort_brings_every_ref_back_and_the_index_with_its_times`;
//! - stale locks: `lfs_surroundings::stale_locks_are_named_and_left`;
//! - other worktrees (attack 12): `lfs_surroundings::from_a_linked_worktree_the_others_count`,
//!   `lfs_hints::only_a_worktree_that_can_be_removed_is_offered_to_be`;
//! - stashes (attack 12): `lfs_surroundings::a_stash_without_large_files_survives_and_can_be_popped`,
//!   `lfs_hints::the_very_stashes_that_break_are_kept_as_branches`;
//! - notes and checkpoints (attack 12): `lfs_migrate::every_ref_moves_to_a_history_with_pointers`,
//!   `lfs_migrate::checkpoints_forks_and_what_they_say_are_in_the_new_history`, and what names commits `lfs_carried`;
//! - signatures and the reflog: `lfs_surroundings::what_is_lost_is_said_beforehand`, and that they do not hold
//!   `a_signature_holds_no_more_and_is_back_when_that_is_taken_back` here;
//! - pointers as content without git-lfs: `surroundings::without_git_lfs_pointers_are_told_as_pointers`,
//!   `literature::a_missing_object_is_named_or_fetched`;
//! - hooks that are there, `core.hooksPath`: `lfs_surroundings::hooks_of_others_are_neither_replaced_nor_half_installed`,
//!   `lfs_surroundings::a_hook_of_somebody_is_no_obstacle_beside_ours`,
//!   `lfs_hints::a_hook_of_somebody_is_called_beside_ours_as_it_is_told`;
//! - a push past the hooks: `a_push_without_the_hook_is_what_doctor_warns_of` here;
//! - an object that is missing here: `lfs_migrate::an_object_that_is_missing_here_stops_the_push_and_nothing_else`;
//! - objects that are missing on the remote (attack 15): `a_clone_without_the_objects_of_the_remote_is_clean_and_names_them`
//!   here;
//! - objects that clones borrow: `large_files::a_large_file_of_an_agent_that_a_prune_took_here_comes_from_the_hub`;
//! - CRLF, `-filter` and spaces in attributes: `lfs_surroundings::patterns_with_spaces_and_such_as_take_back_are_those_of_git`,
//!   and lines that git only warns of `lines_that_git_warns_of_are_no_patterns` here;
//! - a server over http: `lfs_migrate::a_server_with_the_batch_api_has_every_object_before_the_refs`, its locks `lfs_locks`;
//! - the progress file: `lfs_progress::commits_are_told_while_history_is_rewritten_and_bytes_while_they_are_uploaded`.

use std::fs;

use serde_json::Value;

use super::rewrite::{POINTER, at, grown, with_origin};

#[test]
fn without_git_lfs_filters_that_are_configured_stop_nothing_but_the_migration() {
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
    let refused = run(&["lfs", "migrate"]);
    assert_eq!(refused["code"], "lfs-not-installed", "{refused:#}");
    assert_eq!(sandbox.refs(), before);
    let status = run(&["status"]);
    assert_eq!(status["ok"], true, "{status:#}");
    let doctor = run(&["doctor"]);
    let told = doctor["checks"].to_string();
    assert!(told.contains("git-lfs is not installed"), "{doctor:#}");
}

#[test]
fn a_race_that_is_lost_uploads_nothing_and_keeps_what_was_before() {
    let sandbox = grown();
    let bare = with_origin(&sandbox);
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
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["push_error_code"], "ref-moved", "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), raced);
    assert!(!bare.join("lfs/objects").exists());
    let op = answer["op"].as_str().unwrap();
    let kept = format!("refs/colony-local/backup/{op}/heads/main");
    assert_eq!(sandbox.git(&["rev-parse", &kept]), old);
}

#[test]
fn a_signature_holds_no_more_and_is_back_when_that_is_taken_back() {
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
    sandbox.colony(&["lfs", "migrate"]);
    assert_ne!(sandbox.git(&["rev-parse", "main"]), id);
    // git-lfs keeps the header as it was, and it fits no more.
    assert!(!sandbox.try_git(&["verify-commit", "main"]));
    let shown = sandbox.git(&["log", "-1", "--format=%an %s", "main"]);
    assert_eq!(shown, "Ada patterns");
    sandbox.colony(&["lfs", "migrate", "--abort"]);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), id);
    sandbox.check_invariants_of_git();
}

#[test]
fn a_push_without_the_hook_is_what_doctor_warns_of() {
    let sandbox = grown();
    with_origin(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    let told = || sandbox.json(&["doctor"])["checks"].to_string();
    let warning = "a push would publish pointers without objects";
    assert!(!told().contains(warning), "{}", told());
    sandbox.remove(".git/hooks/pre-push");
    assert!(told().contains(warning), "{}", told());
}

#[test]
fn a_clone_without_the_objects_of_the_remote_is_clean_and_names_them() {
    let sandbox = grown();
    let bare = with_origin(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
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
        text.lines()
            .find_map(|line| line.strip_prefix("oid sha256:").map(str::to_owned))
    };
    let missing = clone.json(&["lfs", "status"])["missing"].clone();
    assert_eq!(missing.as_array().unwrap().len(), 2, "{missing:#}");
    assert_eq!(
        missing[0]["oid"].as_str().map(str::to_owned),
        oid(&pointer),
        "{missing:#}"
    );
    // Work that has nothing to do with them goes on.
    fs::write(clone.path("text.txt"), "zed\n").unwrap();
    clone.colony(&["commit", "-m", "work", "--all"]);
    let brought = clone.run(&["--json", "lfs", "hydrate", "paper.pdf"]);
    assert_eq!(brought.code, 1, "{}", brought.stdout);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    fs::remove_dir_all(bare.join("lfs")).ok();
    fs::rename(bare.join("lfs-away"), bare.join("lfs")).unwrap();
    clone.colony(&["lfs", "hydrate", "paper.pdf"]);
    assert_eq!(
        fs::read_to_string(clone.path("paper.pdf")).unwrap(),
        "paper 3\n"
    );
}

#[test]
fn lines_that_git_warns_of_are_no_patterns() {
    let sandbox = grown();
    let attributes = sandbox.read(".gitattributes");
    sandbox.write(
        ".gitattributes",
        format!("!bad.txt filter=lfs\n{attributes}"),
    );
    sandbox.git(&["commit", "-qam", "a line that git warns of"]);
    let answer = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    assert_eq!(
        answer["patterns"],
        serde_json::json!(["*.pdf", "*.bin"]),
        "{answer:#}"
    );
    assert_eq!(sandbox.git(&["show", "main:text.txt"]), "text 3");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_clone_that_has_pointers_alone_finds_nothing_to_publish() {
    let sandbox = grown();
    let bare = with_origin(&sandbox);
    sandbox.colony(&["lfs", "migrate"]);
    let place = sandbox.outside().join("new");
    let url = format!("file://{}", bare.display());
    sandbox.git(&["clone", "-q", &url, &place.display().to_string()]);
    let clone = sandbox.at(place);
    clone.git(&[
        "fetch",
        "-q",
        "origin",
        "side:side",
        "refs/notes/*:refs/notes/*",
    ]);
    clone.colony(&["sync", "--fetch"]);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let answer = clone.json(&["lfs", "migrate"]);
    assert_eq!(answer["status"], "up_to_date", "{answer:#}");
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert!(!clone.path(".git/lfs/objects").exists() || bare.join("lfs/objects").exists());
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
}
