//! `git lfs prune` beside a command of ours: it takes what no ref holds when it looks, and deletes it
//! when it likes. What a command has committed is in the store afterwards all the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use git_colony::testing::{STEPS, World};

use crate::support::Sandbox;
use crate::support::fixture::Fixture;

const CONTENT: &str = "a large file\n";

/// A repository that gives `*.bin` to git-lfs.
pub(crate) fn with_lfs() -> Sandbox {
    WITH_LFS.copy()
}

static WITH_LFS: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
    sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "large files"]);
    sandbox
});

#[test]
fn a_copy_of_a_repository_with_git_lfs_is_whole() {
    WITH_LFS.check();
}

/// Has git run `script` in the worktree in one of its hooks.
fn hook(sandbox: &Sandbox, name: &str, script: &str) {
    let path = format!(".git/hooks/{name}");
    let root = sandbox.root.display();
    sandbox.write_program(&path, format!("#!/bin/sh\ncd '{root}' || exit 1\n{script}\n"));
}

/// Lists the objects of git-lfs below a folder.
fn objects_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(objects_in(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Takes every object away, as a prune does that held none of them to be in use.
fn prune_all(sandbox: &Sandbox) {
    for object in objects_in(&sandbox.path(".git/lfs/objects")) {
        fs::remove_file(object).unwrap();
    }
}

#[test]
fn a_prune_before_the_branch_moves_keeps_what_is_committed() {
    for command in [
        &["commit", "-m", "large", "--all"][..],
        &["checkpoint", "-m", "large"],
        &["checkpoint", "-m", "large", "--off-branch"],
        &["decide", "-m", "large", "--id", "large", "new.bin"],
    ] {
        let sandbox = with_lfs();
        let pruned = sandbox.outside().join("pruned");
        let script = format!(
            "[ \"$1\" = prepared ] && {{ git lfs prune && touch '{}'; }}; true",
            pruned.display()
        );
        hook(&sandbox, "reference-transaction", &script);
        sandbox.write("new.bin", CONTENT);
        sandbox.colony(command);
        assert!(pruned.exists());
        sandbox.git(&["lfs", "fsck"]);
        let stored = objects_in(&sandbox.path(".git/lfs/objects"));
        assert_eq!(stored.len(), 1, "{command:?}");
        assert_eq!(fs::read_to_string(&stored[0]).unwrap(), CONTENT);
        sandbox.check_invariants();
    }
}

#[test]
fn a_prune_that_has_looked_before_finds_nothing_to_delete_after() {
    let sandbox = with_lfs();
    let seen = sandbox.outside().join("seen");
    let seen = seen.display();
    hook(
        &sandbox,
        "reference-transaction",
        &format!("[ \"$1\" = prepared ] && find .git/lfs/objects -type f >>'{seen}'; true"),
    );
    hook(&sandbox, "post-commit", &format!("while read -r path; do rm \"$path\"; done <'{seen}'"));
    sandbox.write("new.bin", CONTENT);
    sandbox.colony(&["commit", "-m", "large", "--all"]);
    sandbox.git(&["lfs", "fsck"]);
    sandbox.write("new.bin", "changed\n");
    sandbox.colony(&["commit", "-m", "large again", "new.bin"]);
    sandbox.git(&["lfs", "fsck"]);
}

#[test]
fn what_git_add_had_stored_and_a_prune_took_is_stored_again() {
    let sandbox = with_lfs();
    hook(&sandbox, "pre-commit", "rm -r .git/lfs/objects");
    sandbox.write("new.bin", CONTENT);
    sandbox.git(&["add", "new.bin"]);
    sandbox.colony(&["commit", "-m", "large", "--all"]);
    sandbox.git(&["lfs", "fsck"]);
    sandbox.check_invariants();
}

#[test]
fn what_cannot_be_stored_again_is_not_committed() {
    let sandbox = with_lfs();
    sandbox.write("new.bin", CONTENT);
    // A file as young as the index is read again, and its object with it.
    let file = fs::File::options().append(true).open(sandbox.path("new.bin"));
    file.unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    sandbox.git(&["add", "new.bin"]);
    hook(
        &sandbox,
        "pre-commit",
        "rm -r .git/lfs/objects; tr a-z A-Z <new.bin >other; cat other >new.bin",
    );
    let before = sandbox.visible_state();
    let answer = sandbox.json(&["commit", "-m", "large", "--all"]);
    assert_eq!(answer["code"], "object-missing", "{answer:#}");
    assert_eq!(answer["detail"]["path"], "new.bin");
    let after = sandbox.visible_state();
    assert_eq!((before.refs, before.index), (after.refs, after.index));
    fs::remove_file(sandbox.path(".git/hooks/pre-commit")).unwrap();
    // As the hint says.
    sandbox.git(&["add", "--renormalize", "."]);
    sandbox.colony(&["commit", "-m", "large", "--all"]);
    sandbox.git(&["lfs", "fsck"]);
}

#[test]
fn a_pointer_whose_object_was_never_here_commits_and_merges() {
    let sandbox = with_lfs();
    sandbox.colony(&["fork", "try"]);
    sandbox.write("new.bin", CONTENT);
    sandbox.colony(&["commit", "-m", "large", "--all"]);
    let pointer = sandbox.git(&["cat-file", "-p", "HEAD:new.bin"]);
    sandbox.write("new.bin", &pointer);
    prune_all(&sandbox);
    sandbox.git(&["mv", "new.bin", "moved.bin"]);
    sandbox.colony(&["commit", "-m", "moved", "--all"]);
    assert_eq!(sandbox.git(&["cat-file", "-p", "HEAD:moved.bin"]), pointer);
    sandbox.git(&["switch", "-q", "--detach", "main"]);
    let merged = sandbox.json(&["merge", "try", "--into", "main"]);
    assert_eq!(merged["ok"], true, "{merged:#}");
    sandbox.check_invariants();
}

/// A new large file, and one that `git add` has stored.
fn half_staged() -> Sandbox {
    let sandbox = with_lfs();
    sandbox.write("staged.bin", "staged before\n");
    sandbox.git(&["add", "staged.bin"]);
    sandbox.write("new.bin", CONTENT);
    sandbox
}

#[test]
fn large_files_survive_a_death_and_a_prune_at_every_step() {
    let written = STEPS.iter().position(|step| *step == "written").unwrap();
    let committed = STEPS.iter().position(|step| *step == "committed").unwrap();
    for (number, step) in STEPS.iter().enumerate().skip(written) {
        let sandbox = half_staged();
        let world = World { die_at: Some(step), ..sandbox.world() };
        let run = sandbox.run_in(world, &["commit", "-m", "large", "--all"]);
        assert_ne!(run.code, 0, "never reached {step}");
        let kept_by_a_ref = number > committed;
        if !kept_by_a_ref || *step == "refs-moved" {
            prune_all(&sandbox);
        }
        // The next command finishes or cancels.
        sandbox.write("later.txt", "later\n");
        sandbox.colony(&["commit", "-m", "later", "later.txt"]);
        sandbox.git(&["lfs", "fsck"]);
        let stored = objects_in(&sandbox.path(".git/lfs/objects"));
        let wanted = if number < committed { 1 } else { 2 };
        assert_eq!(stored.len(), wanted, "{step} {stored:?}");
        sandbox.check_invariants();
    }
}

/// Lists the files below `colony-kept`.
fn kept(sandbox: &Sandbox) -> Vec<PathBuf> {
    objects_in(&sandbox.path(".git/colony-kept"))
}

#[test]
fn an_automatic_checkpoint_restores_pruned_large_files() {
    let sandbox = half_staged();
    let made = sandbox.automatic_checkpoint();
    let id = made["checkpoint_id"].as_str().unwrap();
    sandbox.git(&["lfs", "prune"]);
    prune_all(&sandbox);
    sandbox.write("new.bin", "other\n");
    sandbox.write("staged.bin", "other\n");
    // What undo brings back comes from the kept files; a look at a checkpoint from its own.
    sandbox.colony(&["restore", id, "--mode", "files", "--", "new.bin", "staged.bin"]);
    assert_eq!(sandbox.read("new.bin"), CONTENT);
    assert_eq!(sandbox.read("staged.bin"), "staged before\n");
    sandbox.check_invariants();
}

#[test]
fn large_files_of_automatic_checkpoints_go_with_them() {
    let sandbox = half_staged();
    sandbox.automatic_checkpoint();
    assert_eq!(kept(&sandbox).len(), 2);
    // Twice named, not twice there.
    let store = objects_in(&sandbox.path(".git/lfs/objects"));
    for object in store {
        let links = std::os::unix::fs::MetadataExt::nlink(&fs::metadata(&object).unwrap());
        assert!(links >= 2, "{}", object.display());
    }
    let later = sandbox.world_at(40 * 24 * 60 * 60);
    assert_eq!(sandbox.run_in(later, &["prune"]).code, 0);
    assert_eq!(kept(&sandbox), Vec::<PathBuf>::new());
}

#[test]
fn a_pruned_large_file_of_an_agent_comes_from_the_hub() {
    let desk = with_lfs();
    let made = desk.json(&["agents", "new", "ada"]);
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    ada.write("new.bin", CONTENT);
    let answer = ada.json(&["commit", "-m", "large", "--all"]);
    assert_eq!(answer["ok"], true, "{answer:#}");
    desk.colony(&["fleet"]);
    prune_all(&desk);
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("new.bin"), CONTENT);
    desk.git(&["lfs", "fsck"]);
}

#[test]
fn a_named_off_branch_checkpoint_restores_pruned_large_files() {
    let sandbox = half_staged();
    sandbox.write("staged.bin", "edited after\n");
    let status = sandbox.git(&["status", "--porcelain"]);
    let made = sandbox.json(&["checkpoint", "-m", "beside", "--off-branch"]);
    // What it named it names again once its undo is undone.
    sandbox.colony(&["undo"]);
    sandbox.git(&["lfs", "prune"]);
    sandbox.colony(&["prune"]);
    sandbox.colony(&["redo"]);
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.remove("new.bin");
    // Its commit has two parents, and git-lfs does not look at what a merge alone brings along.
    sandbox.git(&["lfs", "prune"]);
    sandbox.colony(&["restore", made["checkpoint_id"].as_str().unwrap()]);
    assert_eq!(sandbox.read("new.bin"), CONTENT);
    assert_eq!(sandbox.read("staged.bin"), "edited after\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), status);
    sandbox.check_invariants();
}

#[test]
fn large_files_of_a_named_checkpoint_go_long_after_its_tag() {
    let sandbox = half_staged();
    let made = sandbox.json(&["checkpoint", "-m", "beside", "--off-branch"]);
    assert_eq!(large_ones(&sandbox).len(), 2);
    let tag = format!("refs/{}", made["ref"].as_str().unwrap());
    let prune = |days: i64| {
        let later = sandbox.world_at(days * 24 * 60 * 60);
        assert_eq!(sandbox.run_in(later, &["prune"]).code, 0);
    };
    prune(4000);
    assert_eq!(large_ones(&sandbox).len(), 2, "the tag is there");
    sandbox.git(&["update-ref", "-d", &tag]);
    prune(1);
    assert_eq!(large_ones(&sandbox).len(), 2, "it may come back");
    prune(4000);
    assert_eq!(large_ones(&sandbox).len(), 0);
}

/// Lists the large files that checkpoints keep.
fn large_ones(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut all = kept(sandbox);
    all.retain(|path| path.components().any(|part| part.as_os_str() == "large-files"));
    all
}
