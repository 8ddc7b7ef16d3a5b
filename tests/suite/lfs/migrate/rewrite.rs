//! `git colony lfs migrate` with the real git and the real git-lfs: history is another afterwards, and
//! nothing that anybody had is gone.

use std::fs;
use std::path::{Path, PathBuf};

use git_colony::testing::STEPS;

use crate::support::fixture::Fixture;
use crate::support::git_server::{GitServer, Manner, Wire};
use crate::support::{Sandbox, write_program};

use super::in_progress::paste;

pub(crate) const POINTER: &str = "version https://git-lfs.github.com/spec/v1";

/// A repository with three commits of large files in git, a branch, tags and notes, and the patterns
/// that came later.
pub(crate) fn grown() -> Sandbox {
    GROWN.copy()
}

static GROWN: Fixture = Fixture::new(|| {
    let sandbox = Sandbox::new();
    for number in 1..=3 {
        sandbox.write("paper.pdf", format!("paper {number}\n"));
        sandbox.write("sub/data.bin", format!("data {number}\n"));
        sandbox.write("text.txt", format!("text {number}\n"));
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("change {number}")]);
    }
    sandbox.git(&["notes", "add", "-m", "a note", "HEAD~1"]);
    sandbox.git(&["tag", "light", "HEAD~1"]);
    sandbox.git(&["tag", "-am", "annotated", "v1", "HEAD~2"]);
    sandbox.git(&["branch", "side", "HEAD~2"]);
    sandbox.write(
        ".gitattributes",
        "# ours\n*.pdf filter=lfs diff=lfs merge=lfs -text\n*.bin filter=lfs diff=lfs merge=lfs -text\n",
    );
    sandbox.git(&["add", ".gitattributes"]);
    sandbox.git(&["commit", "-qm", "patterns"]);
    sandbox
});

/// [`grown`] with a bare repository beside it that has everything, as `origin`.
pub(crate) fn grown_with_origin() -> (Sandbox, PathBuf) {
    let sandbox = GROWN_WITH_ORIGIN.copy();
    let bare = sandbox.outside().join("origin.git");
    (sandbox, bare)
}

static GROWN_WITH_ORIGIN: Fixture = Fixture::new(|| {
    let sandbox = grown();
    drop(with_origin(&sandbox));
    sandbox
});

#[test]
fn copies_of_what_migrations_begin_with_are_whole() {
    GROWN.check();
    GROWN_WITH_ORIGIN.check();
}

/// A bare repository beside the sandbox's that has everything, as `origin`.
pub(crate) fn with_origin(sandbox: &Sandbox) -> PathBuf {
    let bare = sandbox.outside().join("origin.git");
    sandbox.git(&["init", "-q", "--bare", "-b", "main", &bare.display().to_string()]);
    sandbox.git(&["remote", "add", "origin", &format!("file://{}", bare.display())]);
    sandbox.git(&["push", "-q", "origin", "main", "side", "light", "v1"]);
    bare
}

/// Every ref that somebody could see, and our backups; operations are left out.
fn refs(sandbox: &Sandbox) -> String {
    let all = sandbox.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let kept = all.lines().filter(|line| !line.starts_with("refs/colony-local/ops/"));
    kept.collect::<Vec<_>>().join("\n")
}

pub(crate) fn at(bare: &Path, sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.at(bare.to_owned()).git(args)
}

#[test]
fn every_ref_moves_to_a_history_with_pointers() {
    let sandbox = grown();
    let files = sandbox.worktree();
    let (old_main, old_side) =
        (sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "side"]));
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    assert_eq!(answer["head"], sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(answer["commits"], 5);
    for rev in ["main~3", "main~1", "main", "light", "v1", "side"] {
        let pointer = sandbox.git(&["show", &format!("{rev}:paper.pdf")]);
        assert!(pointer.starts_with(POINTER), "{rev}: {pointer}");
    }
    let attributes = sandbox.git(&["show", "main:.gitattributes"]);
    assert!(attributes.starts_with("# ours\n"), "{attributes}");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.worktree(), files);
    // Also once git looks inside.
    sandbox.write("paper.pdf", "paper 3\n");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["notes", "show", "main~2"]), "a note");
    assert_eq!(sandbox.git(&["cat-file", "-t", "v1"]), "tag");
    assert_eq!(sandbox.git(&["merge-base", "main", "side"]), sandbox.git(&["rev-parse", "side"]));
    sandbox.git(&["lfs", "fsck"]);
    let op = answer["op"].as_str().unwrap();
    for (name, old) in [("heads/main", old_main), ("heads/side", old_side)] {
        let kept = sandbox.git(&["rev-parse", &format!("refs/colony-local/backup/{op}/{name}")]);
        assert_eq!(kept, old);
    }
    sandbox.check_invariants_of_git();
}

#[test]
fn undo_brings_every_ref_back_and_the_index_with_its_times() {
    let sandbox = grown();
    let (before, state) = (refs(&sandbox), sandbox.visible_state());
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_ne!(refs(&sandbox), before);
    sandbox.colony(&["undo"]);
    assert_eq!(refs(&sandbox), before);
    assert_eq!(sandbox.visible_state(), state);
    assert_eq!(sandbox.error(&["undo"]), "nothing-to-undo");
    // And once more, to the same ids.
    let first = sandbox.json(&["lfs", "migrate", "--push"]);
    let head = first["head"].clone();
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.json(&["lfs", "migrate", "--push"])["head"], head);
    sandbox.check_invariants_of_git();
}

#[test]
fn wherever_it_dies_it_can_be_continued_or_taken_back() {
    for step in STEPS {
        for way in [&["lfs", "migrate"][..], &["undo"]] {
            let sandbox = grown();
            sandbox.git(&["lfs", "install", "--local"]);
            let (before, state) = (refs(&sandbox), sandbox.visible_state());
            let mut world = sandbox.world();
            world.die_at = Some(step);
            assert_eq!(sandbox.run_in(world, &["lfs", "migrate", "--push"]).code, 128, "{step}");
            let answer = sandbox.json(way);
            if way == ["undo"] {
                // Before the commit point nothing was under way.
                let code = &answer["code"];
                assert!(answer["ok"] == true || *code == "nothing-to-undo", "{answer:#}");
                assert_eq!(refs(&sandbox), before, "{step}");
                assert_eq!(sandbox.visible_state(), state, "{step}");
            } else {
                assert_eq!(answer["ok"], true, "{step} {answer:#}");
                let pointer = sandbox.git(&["show", "v1:paper.pdf"]);
                assert!(pointer.starts_with(POINTER), "{step}");
                assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "{step}");
                sandbox.git(&["lfs", "fsck"]);
            }
            sandbox.check_invariants_of_git();
        }
    }
}

/// Prepares a repository with an origin and checks that a migration of it is refused, and changes
/// nothing.
fn refused(prepare: &dyn Fn(&Sandbox), code: &str, named: &str) {
    let (sandbox, _) = grown_with_origin();
    prepare(&sandbox);
    let state = (refs(&sandbox), sandbox.visible_state());
    let config = sandbox.read(".git/config");
    for args in [&["lfs", "migrate", "-n"][..], &["lfs", "migrate", "--push"]] {
        let answer = sandbox.json(args);
        assert_eq!(answer["code"], code, "{answer:#}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(named), "{answer:#}");
        assert!(answer["hint"].is_string(), "{answer:#}");
        assert_eq!((refs(&sandbox), sandbox.visible_state()), state);
        assert_eq!(sandbox.read(".git/config"), config);
    }
}

#[test]
fn edits_that_would_be_lost_are_refused_before_anything_changes() {
    let edit = |s: &Sandbox| s.write("text.txt", "edited\n");
    refused(&edit, "uncommitted-edits", "1 file");
    let stage = |s: &Sandbox| {
        s.write("new.txt", "x");
        s.git(&["add", "new.txt"]);
    };
    refused(&stage, "uncommitted-edits", "1 file");
    let stash = |s: &Sandbox| {
        s.write("paper.pdf", "stashed\n");
        s.git(&["-c", "filter.lfs.clean=cat", "stash", "-q"]);
    };
    refused(&stash, "left-behind", "stash@{0}");
    let link = |s: &Sandbox| {
        let place = s.outside().join("linked").display().to_string();
        s.git(&["worktree", "add", "-q", &place, "side"]);
    };
    refused(&link, "left-behind", "linked");
}

#[test]
fn what_git_lfs_could_not_do_is_refused_before_anything_changes() {
    let patterns = |s: &Sandbox| {
        s.write(".gitattributes", "*.txt text\n");
        s.git(&["commit", "-qam", "no patterns"]);
    };
    refused(&patterns, "no-lfs-patterns", ".gitattributes");
    let hook = |s: &Sandbox| {
        s.write_program(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    };
    refused(&hook, "hooks-in-the-way", "pre-push");
}

#[test]
fn everything_that_stands_in_the_way_is_named_at_once() {
    let (sandbox, _) = grown_with_origin();
    let place = sandbox.outside().join("linked").display().to_string();
    sandbox.git(&["worktree", "add", "-q", &place, "side"]);
    sandbox.write("text.txt", "edited\n");
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["code"], "uncommitted-edits", "{answer:#}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("linked"), "{message}");
    assert_eq!(answer["detail"]["others"][0]["code"], "left-behind");
}

#[test]
fn objects_kept_by_a_migration_end_with_its_operation() {
    let sandbox = grown();
    sandbox.write("text.txt", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "before"]);
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let backups = || sandbox.git(&["for-each-ref", "refs/colony-local/backup"]);
    let count = backups().lines().count();
    let (before, later) = (refs(&sandbox), sandbox.world_at(91 * 24 * 60 * 60));
    let tried = sandbox.json(&["ops", "prune", "--keep", "0", "-n"]);
    assert_eq!(tried["backups_removed"], count, "{tried:#}");
    assert_eq!(refs(&sandbox), before);
    // A younger operation stays, and what it has kept.
    sandbox.colony(&["ops", "prune"]);
    assert_eq!(backups().lines().count(), count);
    assert_eq!(sandbox.run_in(later, &["ops", "prune"]).code, 0);
    assert_eq!(backups(), "");
    assert_eq!(sandbox.error(&["undo"]), "nothing-to-undo");
    let state = refs(&sandbox);
    let again = sandbox.json(&["lfs", "migrate"]);
    assert_eq!(again["status"], "up_to_date", "{again:#}");
    assert_eq!(refs(&sandbox), state);
    sandbox.check_invariants_of_git();
}

#[test]
fn origin_gets_new_history_and_a_second_run_changes_nothing() {
    let (sandbox, bare) = grown_with_origin();
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(answer["push_error"], serde_json::Value::Null);
    for name in ["main", "side", "light", "v1"] {
        let (here, there) =
            (sandbox.git(&["rev-parse", name]), at(&bare, &sandbox, &["rev-parse", name]));
        assert_eq!(here, there, "{name}");
    }
    let pointer = at(&bare, &sandbox, &["show", "main:paper.pdf"]);
    assert!(pointer.starts_with(POINTER), "{pointer}");
    let place = sandbox.outside().join("clone");
    sandbox.git(&[
        "clone",
        "-q",
        &format!("file://{}", bare.display()),
        &place.display().to_string(),
    ]);
    let clone = sandbox.at(place);
    clone.git(&["lfs", "install", "--local"]);
    clone.git(&["lfs", "pull"]);
    assert_eq!(fs::read_to_string(clone.path("paper.pdf")).unwrap(), "paper 3\n");
    let before = refs(&sandbox);
    let again = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(again["status"], "up_to_date", "{again:#}");
    assert_eq!(refs(&sandbox), before);
    sandbox.check_invariants_of_git();
}

/// A clone of the sandbox's origin by somebody else, beside it under that name.
pub(crate) fn clone_of_another(sandbox: &Sandbox, bare: &Path, name: &str) -> crate::support::View {
    let place = sandbox.outside().join(name);
    let url = format!("file://{}", bare.display());
    sandbox.git(&["clone", "-q", &url, &place.display().to_string()]);
    let clone = sandbox.at(place);
    clone.git(&["config", "user.name", "Bob"]);
    clone.git(&["config", "user.email", "bob@example.com"]);
    clone
}

#[test]
fn a_racing_pusher_wins_whatever_is_fetched_meanwhile() {
    for fetched in [false, true] {
        let (sandbox, bare) = grown_with_origin();
        let racer = clone_of_another(&sandbox, &bare, "racer");
        sandbox.colony(&["lfs", "migrate", "--no-push"]);
        racer.git(&["commit", "-q", "--allow-empty", "-m", "raced"]);
        racer.git(&["push", "-q", "origin", "main"]);
        if fetched {
            sandbox.git(&["fetch", "-q", "origin"]);
        }
        let (theirs, mine) = (at(&bare, &sandbox, &["for-each-ref"]), refs(&sandbox));
        let answer = sandbox.json(&["lfs", "migrate", "--push"]);
        assert_eq!(answer["ok"], false, "{answer:#}");
        assert_eq!(answer["push_error_code"], "left-behind", "{answer:#}");
        assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
        assert_eq!(refs(&sandbox), mine);
        // The ways on that it names: what was raced is in the new history then.
        let (_, hint) = answer["push_error"].as_str().unwrap().split_once("hint: ").unwrap();
        paste(&sandbox, &sandbox.root, hint);
        assert!(at(&bare, &sandbox, &["log", "--oneline", "main"]).contains("raced"));
        sandbox.check_invariants_of_git();
    }
}

#[test]
fn a_pusher_between_the_look_and_the_push_wins_as_well() {
    let (sandbox, bare) = grown_with_origin();
    let racer = clone_of_another(&sandbox, &bare, "racer");
    racer.git(&["commit", "-q", "--allow-empty", "-m", "raced"]);
    sandbox.git(&["lfs", "install", "--local"]);
    // The last moment there is: git has looked at the remote and is about to push.
    let hook = sandbox.read(".git/hooks/pre-push");
    let push = format!(
        "#!/bin/sh\nunset GIT_DIR GIT_WORK_TREE COLONY_OPERATION\ngit -C '{}' push -q origin main || exit 1\n",
        racer.path("").display()
    );
    sandbox.write_program(".git/hooks/pre-push", hook.replacen("#!/bin/sh\n", &push, 1));
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["ok"], false, "{answer:#}");
    assert_eq!(answer["push_error_code"], "ref-moved", "{answer:#}");
    assert!(at(&bare, &sandbox, &["log", "--oneline", "main"]).contains("raced"));
    assert!(at(&bare, &sandbox, &["show", "side:paper.pdf"]).starts_with("paper"));
}

#[test]
fn a_second_run_publishes_only_what_the_first_could_not() {
    let (sandbox, bare) = grown_with_origin();
    write_program(&bare.join("hooks/pre-receive"), "#!/bin/sh\nexit 1\n");
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let first = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!((&first["ok"], &first["status"]), (&false.into(), &"migrated".into()));
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    fs::remove_file(bare.join("hooks/pre-receive")).unwrap();
    let heads = sandbox.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/notes"]);
    let second = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(second["status"], "continued", "{second:#}");
    assert_eq!(second["pushed"], true, "{second:#}");
    assert_eq!(second["head"], first["head"]);
    let now = sandbox.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/notes"]);
    assert_eq!(now, heads);
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), first["head"]);
}

#[test]
fn a_migration_by_plain_git_lfs_is_published_as_documented() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.git(&["lfs", "migrate", "import", "--include=*.pdf,*.bin", "--everything", "--yes"]);
    assert!(!sandbox.try_git(&["push", "-q", "origin", "main"]));
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "continued", "{answer:#}");
    assert_eq!(answer["pushed"], true, "{answer:#}");
    for name in ["main", "side", "v1"] {
        assert!(at(&bare, &sandbox, &["show", &format!("{name}:paper.pdf")]).starts_with(POINTER));
    }
}

#[test]
fn a_remote_added_later_gets_it_only_if_it_had_the_old_history() {
    let sandbox = grown();
    sandbox.colony(&["lfs", "migrate", "--push"]);
    let bare = sandbox.outside().join("late.git");
    sandbox.git(&["init", "-q", "--bare", "-b", "main", &bare.display().to_string()]);
    sandbox.git(&["remote", "add", "origin", &format!("file://{}", bare.display())]);
    let op = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/backup"]);
    let old = op.lines().find(|name| name.ends_with("heads/main")).unwrap();
    sandbox.git(&["push", "-q", "--no-verify", "origin", &format!("{old}:refs/heads/main")]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), answer["head"]);
}

#[test]
fn checkpoints_forks_and_what_they_say_are_in_the_new_history() {
    let sandbox = grown();
    sandbox.colony(&["checkpoint", "-m", "named"]);
    sandbox.colony(&["fork", "idea"]);
    sandbox.write("paper.pdf", "idea\n");
    sandbox.colony(&["checkpoint", "-m", "on the fork"]);
    sandbox.write("sub/data.bin", "staged\n");
    sandbox.git(&["add", "sub/data.bin"]);
    sandbox.write("sub/data.bin", "edited\n");
    sandbox.write("new.pdf", "new\n");
    let state = (sandbox.git(&["status", "--porcelain"]), sandbox.worktree());
    let beside = sandbox.json(&["checkpoint", "-m", "beside", "--off-branch"]);
    sandbox.write("new.pdf", "newer\n");
    let automatic = (sandbox.automatic_checkpoint(), sandbox.worktree());
    sandbox.git(&["reset", "-q", "--hard"]);
    sandbox.remove("new.pdf");
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["status"], "migrated", "{answer:#}");
    let forks = sandbox.json(&["forks"]);
    let base = sandbox.git(&["merge-base", "main", "fork/idea"]);
    assert_eq!(forks["forks"][0]["diverged_from_sha"], base, "{forks:#}");
    for checkpoint in sandbox.json(&["checkpoints", "--auto"])["checkpoints"].as_array().unwrap() {
        let sha = checkpoint["sha"].as_str().unwrap();
        assert!(sandbox.git(&["show", &format!("{sha}:paper.pdf")]).starts_with(POINTER));
    }
    // The very index comes back, and what only a ref of ours holds is safe from a prune.
    let id = beside["checkpoint_id"].as_str().unwrap();
    sandbox.git(&["lfs", "prune"]);
    sandbox.colony(&["restore", id]);
    assert_eq!((sandbox.git(&["status", "--porcelain"]), sandbox.worktree()), state);
    sandbox.colony(&["undo"]);
    sandbox.git(&["lfs", "prune"]);
    sandbox.colony(&["restore", automatic.0["checkpoint_id"].as_str().unwrap()]);
    assert_eq!(sandbox.worktree(), automatic.1);
    sandbox.check_invariants_of_git();
}

/// A repository whose large files nobody has given to git-lfs yet, with an origin.
fn without_patterns() -> (Sandbox, PathBuf) {
    let sandbox = grown();
    sandbox.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let bare = with_origin(&sandbox);
    (sandbox, bare)
}

#[test]
fn init_commits_the_patterns_rewrites_history_and_publishes_it() {
    let (sandbox, bare) = without_patterns();
    let answer = sandbox.json(&["init", "--push", "--migrate-existing-to-lfs"]);
    assert_eq!(answer["status"], "initialized", "{answer:#}");
    assert_eq!(answer["migrated_to_lfs"], true, "{answer:#}");
    assert_eq!(answer["migrate_error"], serde_json::Value::Null);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(answer["would_dirty"], serde_json::json!([]));
    // The reported id is the new one, here and there.
    assert_eq!(answer["committed_sha"], sandbox.git(&["rev-parse", "HEAD"]));
    assert_eq!(answer["committed_sha"], at(&bare, &sandbox, &["rev-parse", "main"]));
    for rev in ["main", "main~3", "v1"] {
        assert!(at(&bare, &sandbox, &["show", &format!("{rev}:paper.pdf")]).starts_with(POINTER));
    }
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    let again = sandbox.json(&["init", "--push", "--migrate-existing-to-lfs"]);
    assert_eq!(again["status"], "already_initialized", "{again:#}");
    assert_eq!((&again["migrated_to_lfs"], &again["pushed"]), (&true.into(), &true.into()));
    assert_eq!(again["committed_sha"], serde_json::Value::Null);
    sandbox.check_invariants_of_git();
}

#[test]
fn init_refuses_before_it_commits_and_reports_a_failed_push() {
    let (sandbox, bare) = without_patterns();
    sandbox.write("text.txt", "edited\n");
    let before = (refs(&sandbox), sandbox.visible_state());
    let refused = sandbox.json(&["init", "--push", "--migrate-existing-to-lfs"]);
    assert_eq!(refused["code"], "uncommitted-edits", "{refused:#}");
    assert_eq!((refs(&sandbox), sandbox.visible_state()), before);
    sandbox.git(&["checkout", "-q", "--", "text.txt"]);
    assert_eq!(sandbox.run(&["init", "--migrate-existing-to-lfs", "--no-lfs"]).code, 129);
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let kept = sandbox.json(&["init", "--migrate-existing-to-lfs", "--no-push"]);
    assert_eq!(kept["migrated_to_lfs"], true, "{kept:#}");
    assert_eq!((&kept["pushed"], &kept["push_error"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    fs::rename(&bare, bare.with_extension("away")).unwrap();
    let away = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!((&away["ok"], &away["pushed"]), (&false.into(), &false.into()), "{away:#}");
    assert_eq!(away["push_error_code"], "remote-not-found", "{away:#}");
    fs::rename(bare.with_extension("away"), &bare).unwrap();
    // The commit of init is a step of its own: the log is open again behind the migration.
    sandbox.colony(&["undo"]);
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.refs().lines().count(), before.0.lines().count());
    sandbox.check_invariants_of_git();
}

#[test]
fn a_file_that_only_git_calls_modified_is_no_edit() {
    let sandbox = grown();
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.write("paper.pdf", "paper 3\n");
    assert!(sandbox.git(&["status", "--porcelain"]).contains("M paper.pdf"));
    sandbox.colony(&["lfs", "migrate", "--push"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_detached_head_and_attributes_of_a_directory_go_along() {
    let sandbox = grown();
    sandbox.write("lit/.gitattributes", "*.dat filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.write("lit/deep/x.dat", "dat\n");
    sandbox.write("x.dat", "stays\n");
    sandbox.git(&["-c", "filter.lfs.clean=cat", "add", "-A"]);
    sandbox.git(&["commit", "-qm", "of a directory"]);
    sandbox.git(&["switch", "-q", "--detach"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["head"], sandbox.git(&["rev-parse", "HEAD"]), "{answer:#}");
    assert_eq!(answer["head"], sandbox.git(&["rev-parse", "main"]));
    assert!(sandbox.git(&["show", "HEAD:lit/deep/x.dat"]).starts_with(POINTER));
    assert_eq!(sandbox.git(&["show", "HEAD:x.dat"]), "stays");
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.colony(&["undo"]);
    assert_eq!(sandbox.git(&["status", "--porcelain"]), "");
    sandbox.check_invariants_of_git();
}

#[test]
fn a_server_with_the_batch_api_has_every_object_before_the_refs() {
    let sandbox = grown();
    let served = sandbox.outside().join("served");
    let bare = served.join("design.git");
    let path = bare.display().to_string();
    sandbox.git(&["init", "-q", "--bare", "-b", "main", &path]);
    sandbox.git(&["push", "-q", &path, "main", "v1"]);
    let login = "ada:s3cret".to_owned();
    let server = GitServer::start(&served, Wire::Plain, Manner::Serve { login });
    let url = server.url("design.git");
    let url = url.replacen("http://", "http://ada:s3cret@", 1);
    sandbox.git(&["remote", "add", "origin", &url]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["pushed"], true, "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["rev-parse", "main"]), answer["head"]);
    // Three papers and three files of data.
    assert_eq!(fs::read_dir(served.join("lfs")).unwrap().count(), 6);
    let seen: Vec<_> = server.seen().into_iter().map(|seen| seen.line).collect();
    let first = |wanted: &str| seen.iter().position(|line| line.starts_with(wanted));
    assert!(first("PUT /lfs/") < first("POST /design.git/git-receive-pack"));
    assert_eq!(sandbox.json(&["lfs", "migrate", "--push"])["status"], "up_to_date");
}

#[test]
fn an_object_that_is_missing_here_stops_only_the_push() {
    let (sandbox, bare) = grown_with_origin();
    sandbox.colony(&["lfs", "migrate", "--no-push"]);
    let objects = sandbox.path(".git/lfs/objects");
    fs::rename(&objects, objects.with_extension("away")).unwrap();
    let theirs = at(&bare, &sandbox, &["for-each-ref"]);
    let answer = sandbox.json(&["lfs", "migrate", "--push"]);
    assert_eq!(answer["push_error_code"], "lfs-missing", "{answer:#}");
    assert_eq!(at(&bare, &sandbox, &["for-each-ref"]), theirs);
    fs::remove_dir_all(&objects).ok();
    fs::rename(objects.with_extension("away"), &objects).unwrap();
    assert_eq!(sandbox.json(&["lfs", "migrate", "--push"])["pushed"], true);
}
