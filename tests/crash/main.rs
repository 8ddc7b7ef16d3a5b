//! The crash matrix: every changing command is cut off at every system call by which it changes
//! something, and nothing is lost.
//!
//! The real program runs under strace, which kills it (or the git it started, or lets a call fail)
//! at the first, the second, the third such call, and so on until the command gets through. After
//! each run the repository is all as before the command or all as after it.
//!
//! The short form takes all moments of checkpoint, restore and undo, and every third or fifth of what
//! shares their steps. `COLONY_TEST_LONG=1` takes all, and with `COLONY_WRITE_CRASH_MATRIX=1` writes
//! `docs/crash-matrix.md`.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start real processes and write files themselves"
)]
#![expect(clippy::panic, reason = "a test fails by panicking, with the words of a process")]

mod clones;
mod command;
mod desk;
mod fault;
mod groups;
mod matrix;
mod memory;
mod migration;
mod page_locks;
mod power;
mod repository;
mod sessions;
mod state;
mod table;
mod tiers;
mod travel;

use command::{
    BLACKBOARD_PUT, CATALOG_ADD, CHECKPOINT, CHECKPOINT_AUTO, CHECKPOINT_OF_A_CLEAN_STATE,
    CHECKPOINT_OF_A_RENAMED_FILE, CHECKPOINT_OF_A_SUBMODULE, CHECKPOINT_OFF_BRANCH,
    CHECKPOINTS_DELETE, COMMIT, DECIDE, DEINIT, DEINIT_OF_A_REDIRECT, DEINIT_PURGE, FORK,
    FORK_WITHOUT_A_SWITCH, FORKS_DELETE, HYDRATE, INGEST, INIT, INIT_BESIDE, KNOWLEDGE_CLEAR, LAND,
    LFS_MIGRATE, MAP, MAP_AGAIN, MERGE, MERGE_ABORT, MERGE_CONTINUE, MERGE_ELSEWHERE,
    MERGE_RESOLVE, PICK, PICK_ABORT, PICK_CONTINUE, PICK_RESOLVE, PROJECTS_ADD, PROMOTE, PRUNE,
    PRUNE_PACKED, RECOVERY, RECOVERY_BACKWARDS, REDO, RESTORE, RESTORE_FILES, RESTORE_FORK,
    RESTORE_OF_A_SUBMODULE, RESTORE_OFF_BRANCH, REVERT, TAG, TAG_AFTER_PLAIN_GIT, TOOLS_NEW, UNDO,
    UNDO_LFS_MIGRATE, UNDO_OF_A_SUBMODULE, UNDO_OF_PLAIN_GIT, UNDO_PACKED, UNMAP,
};
use matrix::Depth;

#[test]
fn a_killed_checkpoint_happened_or_did_not() {
    matrix::kill(&CHECKPOINT, Depth::Every);
}

#[test]
fn a_killed_checkpoint_of_a_clean_state_happened_or_did_not() {
    matrix::kill(&CHECKPOINT_OF_A_CLEAN_STATE, Depth::EveryThird);
}

#[test]
fn a_killed_checkpoint_of_a_submodule_names_what_is_kept() {
    matrix::kill(&CHECKPOINT_OF_A_SUBMODULE, Depth::EveryThird);
}

#[test]
fn a_killed_restore_of_a_submodule_is_completed_or_not_begun() {
    matrix::kill(&RESTORE_OF_A_SUBMODULE, Depth::EveryThird);
}

#[test]
fn a_killed_undo_of_a_submodule_is_completed_or_not_begun() {
    matrix::kill(&UNDO_OF_A_SUBMODULE, Depth::EveryFifth);
}

#[test]
fn a_killed_checkpoint_off_the_branch_happened_or_did_not() {
    matrix::kill(&CHECKPOINT_OFF_BRANCH, Depth::EveryThird);
}

#[test]
fn a_killed_automatic_checkpoint_happened_or_did_not() {
    matrix::kill(&CHECKPOINT_AUTO, Depth::EveryThird);
}

#[test]
fn a_killed_tag_happened_or_did_not() {
    matrix::kill(&TAG, Depth::EveryThird);
}

#[test]
fn a_killed_write_of_a_blackboard_happened_or_did_not() {
    matrix::kill(&BLACKBOARD_PUT, Depth::EveryThird);
}

#[test]
fn a_killed_ingest_happened_or_did_not() {
    matrix::kill(&INGEST, Depth::EveryThird);
}

#[test]
fn a_killed_clear_of_the_knowledge_base_happened_or_did_not() {
    matrix::kill(&KNOWLEDGE_CLEAR, Depth::EveryThird);
}

#[test]
fn a_killed_change_of_the_catalog_happened_or_did_not() {
    matrix::kill(&CATALOG_ADD, Depth::EveryThird);
}

#[test]
fn a_killed_promotion_happened_or_did_not() {
    matrix::kill(&PROMOTE, Depth::EveryThird);
}

#[test]
fn a_killed_change_of_projects_happened_or_did_not() {
    matrix::kill(&PROJECTS_ADD, Depth::EveryThird);
}

#[test]
fn a_killed_map_happened_or_did_not() {
    matrix::kill(&MAP, Depth::EveryThird);
}

#[test]
fn a_killed_map_of_a_mapped_scope_happened_or_did_not() {
    matrix::kill(&MAP_AGAIN, Depth::EveryThird);
}

#[test]
fn a_killed_unmap_of_a_scope_happened_or_did_not() {
    matrix::kill(&UNMAP, Depth::EveryThird);
}

#[test]
fn a_map_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&MAP, Depth::EveryFifth);
}

#[test]
fn a_killed_restore_happened_or_did_not() {
    matrix::kill(&RESTORE, Depth::Every);
}

#[test]
fn a_killed_restore_of_files_happened_or_did_not() {
    matrix::kill(&RESTORE_FILES, Depth::EveryThird);
}

#[test]
fn a_killed_restore_of_an_off_branch_checkpoint_did_all_or_none() {
    matrix::kill(&RESTORE_OFF_BRANCH, Depth::EveryThird);
}

#[test]
fn a_killed_undo_happened_or_did_not() {
    matrix::kill(&UNDO, Depth::Every);
}

#[test]
fn a_killed_redo_happened_or_did_not() {
    matrix::kill(&REDO, Depth::EveryThird);
}

#[test]
fn a_killed_undo_that_is_run_again_takes_one_step() {
    matrix::kill_and_repeat(&UNDO, Depth::EveryThird);
}

#[test]
fn a_killed_redo_that_is_run_again_takes_one_step() {
    matrix::kill_and_repeat(&REDO, Depth::EveryThird);
}

#[test]
fn a_killed_undo_of_plain_git_happened_or_did_not() {
    matrix::kill(&UNDO_OF_PLAIN_GIT, Depth::EveryThird);
}

#[test]
fn an_undo_of_plain_git_whose_disk_fails_takes_it_back() {
    matrix::fail(&UNDO_OF_PLAIN_GIT, "EIO", "renameat2");
}

#[test]
fn a_killed_recording_of_plain_git_happened_or_did_not() {
    matrix::kill(&TAG_AFTER_PLAIN_GIT, Depth::EveryThird);
}

#[test]
fn a_killed_prune_touches_nothing_but_what_it_lets_go() {
    matrix::kill(&PRUNE, Depth::EveryThird);
}

#[test]
fn a_killed_init_happened_or_did_not() {
    matrix::kill(&INIT, Depth::EveryThird);
}

#[test]
fn a_killed_checkpoint_of_a_renamed_file_happened_or_did_not() {
    matrix::kill(&CHECKPOINT_OF_A_RENAMED_FILE, Depth::EveryThird);
}

#[test]
fn a_killed_init_beside_a_hook_and_large_files_did_all_or_none() {
    matrix::kill(&INIT_BESIDE, Depth::EveryThird);
}

#[test]
fn an_init_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&INIT, Depth::EveryFifth);
}

#[test]
fn an_init_with_any_git_killed_happened_or_did_not() {
    matrix::kill_any_git(&INIT, Depth::EveryThird);
}

#[test]
fn an_init_whose_git_lfs_is_killed_happened_or_did_not() {
    matrix::kill_lfs(&INIT);
}

#[test]
fn a_killed_hydrate_happened_or_did_not() {
    matrix::kill(&HYDRATE, Depth::EveryThird);
}

#[test]
fn a_hydrate_with_any_git_killed_happened_or_did_not() {
    matrix::kill_any_git(&HYDRATE, Depth::EveryThird);
}

#[test]
fn a_killed_deinit_is_completed_by_the_next() {
    matrix::kill(&DEINIT, Depth::EveryThird);
}

#[test]
fn a_deinit_with_any_git_killed_is_completed_by_the_next() {
    matrix::kill_any_git(&DEINIT, Depth::EveryThird);
}

#[test]
fn a_killed_deinit_of_a_hooks_folder_is_completed_by_the_next() {
    matrix::kill(&DEINIT_OF_A_REDIRECT, Depth::EveryThird);
}

#[test]
fn a_killed_purge_is_completed_by_the_next() {
    matrix::kill(&DEINIT_PURGE, Depth::EveryThird);
}

#[test]
fn a_purge_whose_git_is_killed_is_completed_by_the_next() {
    matrix::kill_git(&DEINIT_PURGE, Depth::EveryFifth);
}

#[test]
fn a_purge_with_any_git_killed_is_completed_by_the_next() {
    matrix::kill_any_git(&DEINIT_PURGE, Depth::EveryThird);
}

#[test]
fn a_killed_recovery_is_completed_by_the_next() {
    matrix::kill(&RECOVERY, Depth::EveryFifth);
}

#[test]
fn a_killed_recovery_that_takes_back_is_completed_by_the_next() {
    matrix::kill(&RECOVERY_BACKWARDS, Depth::EveryFifth);
}

#[test]
fn a_killed_beginning_of_a_tool_happened_or_did_not() {
    matrix::kill(&TOOLS_NEW, Depth::EveryThird);
}

#[test]
fn work_done_after_a_killed_restore_is_not_touched() {
    matrix::kill_and_work_on(&RESTORE, Depth::EveryFifth);
}

#[test]
fn work_done_after_a_killed_restore_of_files_is_not_touched() {
    matrix::kill_and_work_on(&RESTORE_FILES, Depth::EveryFifth);
}

#[test]
fn a_checkpoint_killed_with_its_git_happened_or_did_not() {
    matrix::kill_both(&CHECKPOINT, Depth::EveryFifth);
}

#[test]
fn a_checkpoint_killed_with_git_at_writes_happened_or_did_not() {
    matrix::kill_both_at_writes(&CHECKPOINT);
}

#[test]
fn a_restore_killed_with_its_git_happened_or_did_not() {
    matrix::kill_both(&RESTORE, Depth::EveryFifth);
}

#[test]
fn a_group_killed_in_a_checkpoint_leaves_nothing_in_the_way() {
    matrix::kill_group(&CHECKPOINT);
}

#[test]
fn a_group_killed_in_a_restore_leaves_nothing_in_the_way() {
    matrix::kill_group(&RESTORE);
}

#[test]
fn a_group_killed_in_a_restore_to_a_fork_blocks_nothing() {
    matrix::kill_group(&RESTORE_FORK);
}

#[test]
fn a_group_killed_in_a_fork_leaves_nothing_in_the_way() {
    matrix::kill_group(&FORK);
}

#[test]
fn a_group_killed_in_an_undo_leaves_nothing_in_the_way() {
    matrix::kill_group(&UNDO);
}

#[test]
fn a_group_killed_in_an_undo_of_packed_refs_blocks_nothing() {
    matrix::kill_group(&UNDO_PACKED);
}

#[test]
fn a_group_killed_in_a_deletion_of_a_fork_blocks_nothing() {
    matrix::kill_group(&FORKS_DELETE);
}

#[test]
fn a_group_killed_in_a_prune_leaves_nothing_in_the_way() {
    matrix::kill_group(&PRUNE_PACKED);
}

#[test]
fn a_checkpoint_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&CHECKPOINT, Depth::EveryThird);
}

#[test]
fn a_tag_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&TAG, Depth::EveryThird);
}

#[test]
fn a_restore_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&RESTORE, Depth::EveryThird);
}

#[test]
fn an_undo_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&UNDO, Depth::EveryThird);
}

#[test]
fn a_prune_whose_git_is_killed_touches_only_what_it_prunes() {
    matrix::kill_git(&PRUNE, Depth::EveryThird);
}

#[test]
fn a_checkpoint_on_a_full_disk_cleans_up() {
    matrix::fail(&CHECKPOINT, "ENOSPC", "write");
}

#[test]
fn a_checkpoint_on_a_failing_disk_cleans_up() {
    matrix::fail(&CHECKPOINT, "EIO", "fsync");
}

#[test]
fn a_restore_on_a_full_disk_cleans_up() {
    matrix::fail(&RESTORE, "ENOSPC", "write");
}

#[test]
fn a_restore_on_a_failing_disk_cleans_up() {
    matrix::fail(&RESTORE, "EIO", "fsync");
}

#[test]
fn a_restore_that_cannot_make_files_last_takes_them_back() {
    matrix::fail(&RESTORE, "EIO", "syncfs");
}

#[test]
fn a_restore_that_cannot_move_a_file_takes_the_others_back() {
    matrix::fail(&RESTORE, "EIO", "renameat2");
}

#[test]
fn a_killed_commit_happened_or_did_not() {
    matrix::kill(&COMMIT, Depth::EveryThird);
}

#[test]
fn a_commit_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&COMMIT, Depth::EveryThird);
}

#[test]
fn a_killed_decision_happened_or_did_not() {
    matrix::kill(&DECIDE, Depth::EveryThird);
}

#[test]
fn a_decision_on_a_full_disk_cleans_up() {
    matrix::fail(&DECIDE, "ENOSPC", "write");
}

#[test]
fn a_killed_fork_happened_or_did_not() {
    matrix::kill(&FORK, Depth::EveryThird);
}

#[test]
fn a_killed_fork_without_a_switch_happened_or_did_not() {
    matrix::kill(&FORK_WITHOUT_A_SWITCH, Depth::EveryThird);
}

#[test]
fn a_killed_deletion_of_a_fork_happened_or_did_not() {
    matrix::kill(&FORKS_DELETE, Depth::EveryThird);
}

#[test]
fn a_killed_deletion_of_checkpoints_happened_or_did_not() {
    matrix::kill(&CHECKPOINTS_DELETE, Depth::EveryThird);
}

#[test]
fn a_killed_restore_to_a_fork_happened_or_did_not() {
    matrix::kill(&RESTORE_FORK, Depth::EveryThird);
}

#[test]
fn a_killed_migration_happened_or_did_not() {
    matrix::kill(&LFS_MIGRATE, Depth::EveryFifth);
}

#[test]
fn a_killed_migration_that_is_taken_back_happened_or_did_not() {
    matrix::kill(&UNDO_LFS_MIGRATE, Depth::EveryFifth);
}

#[test]
fn a_migration_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&LFS_MIGRATE, Depth::EveryFifth);
}

#[test]
fn a_migration_with_any_git_killed_happened_or_did_not() {
    matrix::kill_any_git(&LFS_MIGRATE, Depth::EveryFifth);
}

#[test]
fn a_killed_merge_happened_or_did_not() {
    matrix::kill(&MERGE, Depth::EveryThird);
}

#[test]
fn a_killed_merge_into_another_branch_happened_or_did_not() {
    matrix::kill(&MERGE_ELSEWHERE, Depth::EveryThird);
}

#[test]
fn a_killed_merge_that_opens_conflicts_happened_or_did_not() {
    matrix::kill(&MERGE_RESOLVE, Depth::EveryThird);
}

#[test]
fn a_killed_merge_that_goes_on_happened_or_did_not() {
    matrix::kill(&MERGE_CONTINUE, Depth::EveryThird);
}

#[test]
fn a_killed_merge_that_is_taken_back_happened_or_did_not() {
    matrix::kill(&MERGE_ABORT, Depth::EveryThird);
}

#[test]
fn a_killed_landing_happened_or_did_not() {
    matrix::kill(&LAND, Depth::EveryThird);
}

#[test]
fn a_landing_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&LAND, Depth::EveryFifth);
}

#[test]
fn a_killed_pick_happened_or_did_not() {
    matrix::kill(&PICK, Depth::EveryThird);
}

#[test]
fn a_killed_revert_happened_or_did_not() {
    matrix::kill(&REVERT, Depth::EveryThird);
}

#[test]
fn a_killed_pick_that_opens_a_conflict_happened_or_did_not() {
    matrix::kill(&PICK_RESOLVE, Depth::EveryThird);
}

#[test]
fn a_killed_pick_that_goes_on_happened_or_did_not() {
    matrix::kill(&PICK_CONTINUE, Depth::EveryThird);
}

#[test]
fn a_killed_pick_that_is_taken_back_happened_or_did_not() {
    matrix::kill(&PICK_ABORT, Depth::EveryThird);
}

#[test]
fn a_fork_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&FORK, Depth::EveryFifth);
}

#[test]
fn a_merge_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&MERGE, Depth::EveryFifth);
}

#[test]
fn a_merge_elsewhere_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&MERGE_ELSEWHERE, Depth::EveryFifth);
}

#[test]
fn a_merge_that_goes_on_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&MERGE_CONTINUE, Depth::EveryFifth);
}

#[test]
fn a_pick_whose_git_is_killed_happened_or_did_not() {
    matrix::kill_git(&PICK, Depth::EveryFifth);
}

#[test]
fn a_merge_with_any_git_killed_happened_or_did_not() {
    matrix::kill_any_git(&MERGE, Depth::EveryFifth);
}

#[test]
fn a_merge_with_conflicts_and_any_git_killed_did_all_or_none() {
    matrix::kill_any_git(&MERGE_RESOLVE, Depth::EveryFifth);
}

#[test]
fn a_pick_with_any_git_killed_happened_or_did_not() {
    matrix::kill_any_git(&PICK, Depth::EveryFifth);
}

#[test]
fn a_pick_that_goes_on_with_any_git_killed_happened_or_did_not() {
    matrix::kill_any_git(&PICK_CONTINUE, Depth::EveryFifth);
}

#[test]
fn a_merge_killed_with_its_git_happened_or_did_not() {
    matrix::kill_both(&MERGE, Depth::EveryFifth);
}

#[test]
fn a_merge_that_goes_on_killed_with_its_git_happened_or_did_not() {
    matrix::kill_both(&MERGE_CONTINUE, Depth::EveryFifth);
}

#[test]
fn a_revert_killed_with_its_git_happened_or_did_not() {
    matrix::kill_both(&REVERT, Depth::EveryFifth);
}

#[test]
fn a_pick_killed_with_its_git_happened_or_did_not() {
    matrix::kill_both(&PICK, Depth::EveryFifth);
}

#[test]
fn work_after_a_killed_merge_with_conflicts_is_not_touched() {
    matrix::kill_and_work_on(&MERGE_RESOLVE, Depth::EveryFifth);
}

#[test]
fn work_done_after_a_killed_merge_that_goes_on_is_not_touched() {
    matrix::kill_and_work_on(&MERGE_CONTINUE, Depth::EveryFifth);
}

#[test]
fn work_done_after_a_killed_pick_that_goes_on_is_not_touched() {
    matrix::kill_and_work_on(&PICK_CONTINUE, Depth::EveryFifth);
}

#[test]
fn a_checkpoint_with_any_call_failing_happened_or_did_not() {
    matrix::fail_anywhere(&CHECKPOINT, "EIO");
}

#[test]
fn a_restore_with_any_call_failing_happened_or_did_not() {
    matrix::fail_anywhere(&RESTORE, "EIO");
}

#[test]
fn rules_that_cannot_be_read_are_never_taken_for_none() {
    for file in [".gitignore", ".git/info/exclude"] {
        for command in [&CHECKPOINT, &RESTORE, &MERGE, &FORK] {
            matrix::fail_to_read(command, file);
        }
    }
}

#[test]
fn a_merge_with_any_call_failing_happened_or_did_not() {
    matrix::fail_anywhere(&MERGE, "EIO");
}

#[test]
fn a_prune_with_any_call_failing_happened_or_did_not() {
    matrix::fail_anywhere(&PRUNE, "EIO");
}

#[test]
fn a_tag_with_any_call_failing_happened_or_did_not() {
    matrix::fail_anywhere(&TAG, "EACCES");
}

#[test]
fn a_fork_on_a_failing_disk_is_taken_back() {
    matrix::fail(&FORK, "EIO", "renameat2");
}

#[test]
fn a_merge_that_opens_conflicts_on_a_failing_disk_is_taken_back() {
    matrix::fail(&MERGE_RESOLVE, "EIO", "fsync");
}

#[test]
fn a_merge_that_goes_on_on_a_failing_disk_is_taken_back() {
    matrix::fail(&MERGE_CONTINUE, "EIO", "unlink");
}

#[test]
fn a_pick_that_opens_a_conflict_on_a_failing_disk_is_taken_back() {
    matrix::fail(&PICK_RESOLVE, "EIO", "rename");
}

#[test]
fn a_pick_that_goes_on_on_a_failing_disk_is_taken_back() {
    matrix::fail(&PICK_CONTINUE, "EIO", "unlink");
}
