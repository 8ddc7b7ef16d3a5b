//! Refs of ours and the objects under them: none is left without, and one that is can be taken out.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use git_colony::testing::{Flags, GitHook, ObjectWrites, Session, World, plain_git};
use serde_json::{Value, json};

use crate::pages::edited_repository::commit;
use crate::support::{LIST_NEW_OBJECTS, Sandbox, eventually_by};

/// A `git gc --prune=now` that has looked before anything pointed to what a command writes, and deletes
/// it once the ref does.
const LATE_GC: &str = "echo \"$$ here\" >.git/gc.pid\n\
    touch .git/looked\n\
    for i in $(seq 100000); do ls $1 >/dev/null 2>&1 && break; done\n";

/// Starts such a gc, which waits for a ref.
fn start_late_gc(sandbox: &Sandbox, refs: &str) -> Child {
    sandbox.list_kept_objects();
    let script = sandbox.outside().join("late-gc");
    fs::write(&script, format!("{LATE_GC}{LIST_NEW_OBJECTS} | xargs rm -f\nrm .git/gc.pid\n"))
        .unwrap();
    let mut command = Command::new("sh");
    command.arg(&script).arg(refs).current_dir(&sandbox.root);
    let mut gc = command.spawn().unwrap();
    eventually_by(&mut gc, "the gc has looked", || sandbox.path(".git/looked").exists());
    gc
}

fn refs_below(sandbox: &Sandbox, prefix: &str) -> String {
    let all = sandbox.git(&["for-each-ref", "--format=%(refname)"]);
    let below = all.lines().filter(|name| name.starts_with(prefix));
    below.collect::<Vec<_>>().join("\n")
}

/// git works on the whole repository.
fn git_works(sandbox: &Sandbox) {
    sandbox.git(&["log", "--all", "--oneline"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
    sandbox.check_invariants();
}

#[test]
fn an_automatic_checkpoint_that_loses_objects_to_gc_has_no_ref() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("new.txt", "new\n");
    sandbox.write("a.txt", "staged\n");
    sandbox.git(&["add", "a.txt"]);
    let objects = sandbox.path(".git/objects");
    let staged = sandbox.git(&["hash-object", "a.txt"]);
    let mut gc = start_late_gc(&sandbox, ".git/refs/colony-local/auto/*/*");
    // What the index has is not for a gc to take.
    let answer = sandbox.json(&["checkpoint", "--auto"]);
    assert!(gc.wait().unwrap().success());
    assert_eq!(answer["code"], "object-missing", "{answer:#}");
    assert_eq!(refs_below(&sandbox, "refs/colony-local/auto/"), "");
    assert!(object_file(&objects, &staged).exists());
    git_works(&sandbox);
    let again = sandbox.automatic_checkpoint();
    assert_eq!(again["changed"], true, "{again:#}");
    git_works(&sandbox);
}

#[test]
fn a_step_of_git_whose_record_a_gc_takes_is_recorded_again() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("new.txt", "new\n");
    sandbox.git(&["add", "new.txt"]);
    sandbox.git(&["commit", "-qm", "by git"]);
    let mut gc = start_late_gc(&sandbox, ".git/refs/colony-local/ops/*/0000000002");
    let session = Session::open(sandbox.world(), &Flags::default(), ObjectWrites::Durable);
    let recorded = plain_git::record(&session.unwrap(), GitHook::PostCommit);
    assert!(gc.wait().unwrap().success());
    assert_eq!(recorded, None);
    git_works(&sandbox);
    sandbox.colony(&["undo", "--force"]);
    assert_eq!(sandbox.git(&["log", "--format=%s"]), "first");
    assert_eq!(sandbox.read("new.txt"), "new\n");
    git_works(&sandbox);
}

/// Has a hook of git take, once, what was written since: after git has looked for the objects of refs
/// of ours, before it moves them.
fn take_when_prepared(sandbox: &Sandbox, prefix: &str) {
    sandbox.list_kept_objects();
    let hook = ".git/hooks/reference-transaction";
    sandbox.write_program(
        hook,
        format!(
            "#!/bin/sh\ncd '{}' || exit 1\n\
             [ \"$1\" = prepared ] && [ ! -e .git/taken ] || exit 0\n\
             grep -q {prefix} || exit 0\n\
             touch .git/taken\n\
             {LIST_NEW_OBJECTS} | xargs rm -f\n",
            sandbox.root.display()
        ),
    );
}

#[test]
fn a_mapping_that_loses_objects_to_gc_leaves_the_ref_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.write("more.txt", "more\n");
    commit(&sandbox);
    take_when_prepared(&sandbox, "refs/colony/scopes");
    let answer = sandbox.json(&["map"]);
    assert_eq!(answer["code"], "object-missing", "{answer:#}");
    assert_eq!(refs_below(&sandbox, "refs/colony/"), "");
    sandbox.git(&["log", "--all", "--oneline"]);
    sandbox.colony(&["map"]);
    assert_eq!(refs_below(&sandbox, "refs/colony/"), "refs/colony/scopes");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn mapped_uncommitted_work_that_a_gc_takes_leaves_no_ref() {
    let sandbox = Sandbox::new();
    sandbox.write("more.txt", "more\n");
    commit(&sandbox);
    sandbox.colony(&["map"]);
    sandbox.write("new.txt", "new\n");
    take_when_prepared(&sandbox, "refs/colony-local/worktree");
    let answer = sandbox.json(&["map", "--worktree"]);
    assert_eq!(answer["results"][0]["code"], "object-missing", "{answer:#}");
    assert_eq!(refs_below(&sandbox, "refs/colony-local/worktree/"), "");
    sandbox.git(&["log", "--all", "--oneline"]);
    let again = sandbox.json(&["map", "--worktree"]);
    assert_eq!(again["results"][0]["pages"], 2, "{again:#}");
    assert_eq!(refs_below(&sandbox, "refs/colony-local/worktree/").lines().count(), 1);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

fn object_file(objects: &Path, id: &str) -> PathBuf {
    objects.join(&id[..2]).join(&id[2..])
}

#[test]
fn a_dead_operation_that_lost_objects_to_gc_is_taken_back() {
    for step in ["committed", "refs-moved"] {
        let sandbox = Sandbox::new();
        sandbox.colony(&["checkpoint", "-m", "base"]);
        sandbox.write("dir/new.txt", "new\n");
        let before = sandbox.visible_state();
        let world = World { die_at: Some(step), ..sandbox.world() };
        assert_ne!(sandbox.run_in(world, &["checkpoint", "-m", "lost"]).code, 0);
        let blob = sandbox.git(&["hash-object", "dir/new.txt"]);
        let objects = sandbox.path(".git/objects");
        fs::remove_file(object_file(&objects, &blob)).unwrap();
        sandbox.colony(&["checkpoints"]);
        let kept = sandbox.automatic_checkpoint();
        assert_eq!(kept["changed"], true, "{step} {kept:#}");
        assert_eq!(sandbox.visible_state(), before, "{step}");
        git_works(&sandbox);
    }
}

/// An id that no object has.
const NOWHERE: &str = "00000000000000000000000000000000000000aa";

/// A repository with refs of ours of every kind to objects that are gone; returns them, sorted.
fn damaged() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::new();
    sandbox.write(".colony/repo_map.yaml", "version: 1\n");
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("a.txt", "two\n");
    sandbox.automatic_checkpoint();
    let key = fs::read_to_string(sandbox.path(".git/colony/worktree-key")).unwrap();
    let key = key.trim();
    let mut names = [
        format!("refs/colony-local/ops/{key}/0000000007"),
        format!("refs/colony-local/ops/{key}/0000000001"),
        format!("refs/colony-local/auto/{key}/20990101T000000Z-00000001"),
        format!("refs/colony-local/worktree/{key}/00000000"),
        "refs/colony-local/agents/ada/main/heads/main".to_owned(),
        "refs/colony-local/backup/op-1/heads/main".to_owned(),
        "refs/colony/checkpoints/20990101T000000Z-00000003".to_owned(),
        "refs/colony/forks/gone".to_owned(),
        "refs/colony/migrations".to_owned(),
        "refs/colony/scopes".to_owned(),
        "refs/tags/checkpoint/20990101T000000Z-00000002".to_owned(),
    ];
    for name in &names {
        sandbox.write(&format!(".git/{name}"), format!("{NOWHERE}\n"));
    }
    names.sort();
    assert!(!sandbox.try_git(&["log", "--all", "--oneline"]));
    (sandbox, names.to_vec())
}

#[test]
fn doctor_names_refs_without_objects_and_prune_takes_them_out() {
    let (sandbox, names) = damaged();
    let doctor = sandbox.json(&["doctor"]);
    let check = doctor["checks"].as_array().unwrap().iter();
    let check = check.clone().find(|check| check["name"] == "refs").unwrap();
    assert_eq!(check["ok"], false);
    let fix = check["fix"].as_str().unwrap();
    assert!(fix.starts_with("git colony prune "), "{fix}");
    let lost = |answer: &Value| {
        let lost = answer["lost"].as_array().unwrap().iter();
        let lost = lost.inspect(|lost| assert_eq!(lost["missing"], NOWHERE));
        lost.map(|lost| lost["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = fs::read_to_string(sandbox.path(".git/refs/colony/scopes")).unwrap();
    assert_eq!(lost(&sandbox.json(&["prune", "-n"])), names);
    assert_eq!(fs::read_to_string(sandbox.path(".git/refs/colony/scopes")).unwrap(), before);
    let told = sandbox.colony(&["prune"]);
    let line = format!("lost: '{}', whose object git has removed: {NOWHERE}", names[0]);
    assert!(told.contains(&line), "{told}");
    assert_eq!(sandbox.json(&["prune"])["lost"], json!([]));
    let doctor = sandbox.json(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap();
    assert!(checks.iter().all(|check| check["name"] != "refs"));
    git_works(&sandbox);
    // No id of an operation is used twice.
    let answer = sandbox.json(&["checkpoint", "-m", "after"]);
    assert_eq!(answer["op"], "op-8", "{answer:#}");
}

#[test]
fn refs_without_objects_stop_no_other_command() {
    let (sandbox, _) = damaged();
    let up = sandbox.outside().join("up.git");
    sandbox.git(&["init", "-q", "--bare", up.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", up.to_str().unwrap()]);
    let mut failed = Vec::new();
    for command in [
        &["status"][..],
        &["checkpoints"],
        &["checkpoints", "--auto"],
        &["ops"],
        &["forks"],
        &["fleet"],
        &["diff"],
        &["checkpoint", "-m", "one"],
        &["restore", "base"],
        &["undo"],
        &["redo"],
        &["checkpoint", "--off-branch", "-m", "two"],
        &["commit", "--all", "-m", "three"],
        &["fork", "side"],
        &["topology"],
        &["tag", "-m", "label", "HEAD"],
        &["agents", "new", "bob"],
        &["sync", "origin"],
    ] {
        let answer = sandbox.json(command);
        if answer["ok"] != json!(true) {
            failed.push((command, answer["code"].clone(), answer["message"].clone()));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    // What it would tell is what was lost.
    let scopes = sandbox.json(&["scopes"]);
    assert_eq!(scopes["code"], "object-missing");
    assert!(scopes["hint"].as_str().unwrap().starts_with("git colony doctor "));
    let kept = sandbox.automatic_checkpoint();
    assert_eq!(kept["ok"], true);
    sandbox.colony(&["prune"]);
    sandbox.git(&["log", "--all", "--oneline"]);
    sandbox.git(&["gc", "-q", "--prune=now"]);
}

#[test]
fn a_record_that_was_lost_here_comes_back_from_the_remote() {
    let sandbox = Sandbox::new();
    let up = sandbox.outside().join("up.git");
    sandbox.git(&["init", "-q", "--bare", up.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", up.to_str().unwrap()]);
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.colony(&["fork", "side"]);
    sandbox.colony(&["sync", "origin", "--push"]);
    let record = sandbox.git(&["rev-parse", "refs/colony/forks/side"]);
    sandbox.write(".git/refs/colony/forks/side", format!("{NOWHERE}\n"));
    sandbox.colony(&["prune"]);
    assert_eq!(refs_below(&sandbox, "refs/colony/forks/"), "");
    sandbox.colony(&["sync", "origin"]);
    assert_eq!(sandbox.git(&["rev-parse", "refs/colony/forks/side"]), record);
    sandbox.git(&["gc", "-q", "--prune=now"]);
}

/// Writes what is no object id into refs of ours and of others; returns the names of ours, sorted.
fn with_damaged_refs(sandbox: &Sandbox) -> Vec<String> {
    let key = fs::read_to_string(sandbox.path(".git/colony/worktree-key")).unwrap();
    let ours = [
        format!("refs/colony-local/ops/{}/0000000007", key.trim()),
        "refs/colony/checkpoints/20990101T000000Z-00000003".to_owned(),
        "refs/colony/forks/garbage".to_owned(),
        "refs/colony/forks/symbolic".to_owned(),
        "refs/tags/checkpoint/20990101T000000Z-00000002".to_owned(),
    ];
    let holds = ["", "abc\n", "no \x1b[2J id\n", "ref: refs/heads/main\n", "0\n"];
    for (name, holds) in ours.iter().zip(holds) {
        sandbox.write(&format!(".git/{name}"), holds);
    }
    sandbox.write(".git/refs/heads/theirs", "garbage\n");
    sandbox.write(".git/refs/remotes/origin/HEAD", "ref: refs/heads/main\n");
    ours.to_vec()
}

fn damaged_refs(answer: &Value) -> Vec<String> {
    let damaged = answer["damaged"].as_array().unwrap().iter();
    let names = damaged.map(|one| one["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn doctor_names_refs_without_an_id_and_prune_takes_out_ours() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    let main = sandbox.git(&["rev-parse", "main"]);
    let names = with_damaged_refs(&sandbox);
    let doctor = sandbox.json(&["doctor"]);
    let checks = doctor["checks"].as_array().unwrap().iter();
    let checks = checks.filter(|check| check["name"] == "damaged-refs");
    let checks: Vec<_> = checks.collect();
    assert_eq!(checks.len(), 2, "{doctor:#}");
    let detail = checks[0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("5 refs of git-colony hold no object id"), "{detail}");
    let theirs = checks[1]["detail"].as_str().unwrap();
    assert_eq!(theirs, "1 ref holds no object id, the first: 'refs/heads/theirs' has 'garbage'");
    assert_eq!(damaged_refs(&sandbox.json(&["prune", "-n"])), names);
    assert_eq!(damaged_refs(&sandbox.json(&["prune", "-n"])), names);
    let told = sandbox.run(&["prune"]);
    assert!(!told.stdout.contains('\x1b'), "{}", told.stdout);
    let line = format!("lost: '{}', which had 'abc' in place of an object id", names[1]);
    assert!(told.stdout.contains(&line), "{}", told.stdout);
    assert_eq!(damaged_refs(&sandbox.json(&["prune"])), Vec::<String>::new());
    // What a symbolic ref led to, and what others have, stays.
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main);
    assert_eq!(sandbox.read(".git/refs/heads/theirs"), "garbage\n");
    assert_eq!(sandbox.read(".git/refs/remotes/origin/HEAD"), "ref: refs/heads/main\n");
    fs::remove_file(sandbox.path(".git/refs/heads/theirs")).unwrap();
    git_works(&sandbox);
    let answer = sandbox.json(&["checkpoint", "--off-branch", "-m", "after"]);
    assert_eq!(answer["op"], "op-8", "{answer:#}");
}

#[test]
fn refs_without_an_id_stop_no_other_command() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    with_damaged_refs(&sandbox);
    for command in [
        &["status"][..],
        &["checkpoints"],
        &["ops"],
        &["forks"],
        &["fleet"],
        &["checkpoint", "--off-branch", "-m", "one"],
        &["restore", "base"],
        &["fork", "side"],
        &["undo"],
        &["topology"],
    ] {
        let answer = sandbox.json(command);
        assert_eq!(answer["ok"], json!(true), "{command:?}: {answer:#}");
    }
}

/// Empties what was written since, as a power cut does that comes before these objects reach the disk.
fn empty_new_objects(sandbox: &Sandbox, known: &BTreeSet<PathBuf>) -> usize {
    let new: Vec<_> = loose_objects(sandbox).difference(known).cloned().collect();
    for path in &new {
        fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        fs::write(path, "").unwrap();
    }
    new.len()
}

fn loose_objects(sandbox: &Sandbox) -> BTreeSet<PathBuf> {
    let folders = fs::read_dir(sandbox.path(".git/objects")).unwrap().flatten();
    let folders = folders.filter(|folder| folder.file_name().len() == 2);
    folders
        .flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten())
        .map(|it| it.path())
        .collect()
}

#[test]
fn empty_objects_of_ours_are_deleted_and_the_next_command_works() {
    for words in [&["checkpoint", "--auto"][..], &["checkpoint", "--off-branch", "-m", "lost"]] {
        let sandbox = Sandbox::new();
        sandbox.colony(&["checkpoint", "-m", "base"]);
        sandbox.write("a.txt", "work\n");
        let known = loose_objects(&sandbox);
        sandbox.colony(words);
        sandbox.write("b.txt", "added\n");
        sandbox.git(&["add", "b.txt"]);
        assert!(empty_new_objects(&sandbox, &known) > 3);
        let narrated = sandbox.run(&["checkpoint", "-m", "after"]);
        assert_eq!(narrated.code, 0, "{}", narrated.stderr);
        for part in ["empty files, which a power cut has left", "deleted ref 'refs/colony"] {
            assert!(narrated.stderr.contains(part), "{}", narrated.stderr);
        }
        assert_eq!(sandbox.git(&["show", "HEAD:a.txt"]), "work");
        assert_eq!(sandbox.git(&["show", "HEAD:b.txt"]), "added");
        git_works(&sandbox);
    }
}

#[test]
fn an_empty_object_of_plain_git_is_named_with_the_way_out() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.write("b.txt", "added\n");
    let known = loose_objects(&sandbox);
    sandbox.git(&["add", "b.txt"]);
    assert_eq!(empty_new_objects(&sandbox, &known), 1);
    let answer = sandbox.json(&["checkpoint", "--auto"]);
    assert_eq!(answer["code"], "object-missing", "{answer:#}");
    let hint = answer["hint"].as_str().unwrap();
    assert!(hint.starts_with("find ") && hint.contains("-empty -delete"), "{hint}");
}
