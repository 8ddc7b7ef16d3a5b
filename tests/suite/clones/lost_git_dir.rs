//! A clone that has lost its '.git', as by an agent's own 'rm -rf'.

use std::fs;

use git_colony::testing::World;
use serde_json::{Value, json};

use crate::agents::new_and_merge::{agent, commit, hub};
use crate::support::{Sandbox, View};

fn row(view: &View, agent: &str) -> Value {
    let fleet = view.json(&["fleet"]);
    let mut rows = fleet["agents"].as_array().unwrap().iter();
    rows.find(|row| row["agent"] == agent).cloned().unwrap_or_default()
}

/// An agent with a commit and all kinds of uncommitted changes, whose '.git' is deleted; returns its files.
fn lost(desk: &Sandbox) -> (View, String) {
    let ada = agent(desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    commit(&ada, "gone.txt", "gone\n");
    ada.write("kept.txt", "edited\n");
    ada.write("new/file.txt", "new\n");
    ada.write("staged.txt", "staged\n");
    ada.git(&["add", "staged.txt"]);
    fs::remove_file(ada.path("gone.txt")).unwrap();
    // As a program that runs in the clone has it: commits are published by their hook or by a command.
    ada.colony(&["status"]);
    let status = ada.git(&["status", "--porcelain", "-uall"]);
    fs::remove_dir_all(ada.path(".git")).unwrap();
    (ada, status.replace("A  ", "?? "))
}

#[test]
fn a_clone_without_git_dir_is_repaired_around_its_files() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let (ada, status) = lost(&desk);
    // In it, 'git init' is not the answer.
    let refused = ada.json(&["status"]);
    assert_eq!(refused["code"], "not-a-repository", "{refused:#}");
    let hint = "git colony agents restore ada   # by the user, in the checkout";
    assert_eq!(refused["hint"], hint);
    let told = row(&here, "ada");
    assert_eq!((&told["lost"], &told["unsaved"]), (&json!(true), &Value::Null), "{told:#}");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["next"], Value::Null, "{fleet:#}");
    assert_eq!(fleet["removed"], json!([]), "{fleet:#}");
    let shown = desk.colony(&["fleet"]);
    assert!(shown.contains("its clone is damaged"), "{shown}");
    assert!(shown.contains("git colony agents restore ada"), "{shown}");
    // Nothing takes its work for that of a removed agent, or its folder for one that may go.
    let bob = desk.colony(&["agents", "new", "bob"]);
    for args in [["agents", "new", "ada"], ["agents", "remove", "ada"], ["agents", "path", "ada"]] {
        let refused = desk.run(&args);
        assert_eq!(refused.code, 128, "{args:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("git colony agents restore ada"), "{}", refused.stderr);
    }
    desk.colony(&["clones", "gc"]);
    let planned = desk.json(&["agents", "restore", "ada", "-n"]);
    assert_eq!((&planned["dry_run"], &planned["fork"]), (&json!(true), &json!("fork/ada")));
    assert!(!ada.path(".git").exists());
    let restored = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(restored["path"], ada.root.to_str().unwrap(), "{restored:#}");
    assert_eq!(restored["files"], 4);
    let after = ada.git(&["status", "--porcelain", "-uall"]);
    let sorted = |status: &str| {
        let mut lines: Vec<_> = status.lines().map(|line| line.trim_start().to_owned()).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&after), sorted(&status));
    assert_eq!(fs::read_to_string(ada.path("kept.txt")).unwrap(), "edited\n");
    ada.git(&["fsck", "--strict"]);
    let told = row(&here, "ada");
    assert_eq!((&told["commits"], &told["unsaved"]), (&json!(2), &json!(4)), "{told:#}");
    ada.colony(&["checkpoint", "-m", "all of it"]);
    desk.colony(&["merge", "ada"]);
    assert_eq!(fs::read_to_string(desk.path("new/file.txt")).unwrap(), "new\n");
    assert!(std::path::Path::new(bob.trim()).is_dir());
}

#[test]
fn a_lost_clone_of_another_repository_is_not_told_of() {
    let desk = Sandbox::new();
    lost(&desk);
    let other = desk.outside().join("other");
    desk.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
    let other = desk.at(other);
    other.write("a.txt", "a\n");
    other.git(&["add", "-A"]);
    other.git(&["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "a"]);
    assert_eq!(row(&other, "ada"), Value::Null);
    assert_eq!(other.json(&["agents"])["damaged"], json!([]));
    let refused = other.run(&["agents", "restore", "ada"]);
    assert_eq!(refused.code, 128, "{}", refused.stdout);
}

/// Runs a shell in a clone, as its agent would.
fn shell(clone: &View, script: &str) {
    let mut shell = clone.with_program().process("sh");
    shell.args(["-ec", script]).current_dir(&clone.root);
    assert!(shell.status().unwrap().success(), "{script}");
}

/// Ways in which a program in a clone ruins its git directory.
const DAMAGES: [&str; 17] = [
    ": > .git/HEAD",
    "rm .git/HEAD",
    "echo main > .git/HEAD",
    "rm -rf .git/refs .git/packed-refs",
    "rm -rf .git/objects",
    "rm .git/objects/info/alternates",
    "rm .git/config",
    "echo 'ref: refs/heads/a..b' > .git/HEAD",
    "echo garbage > .git/packed-refs",
    "printf %s \"$(cat .git/packed-refs)\" | tail -c 40 > .git/p; mv .git/p .git/packed-refs",
    "git repack -q -d -l; rm .git/objects/info/alternates",
    "sed -i 's/$/\\r/' .git/objects/info/alternates",
    "echo '[core' >> .git/config",
    "rm -rf .git && git init -q",
    "rm -rf .git && git init -q && git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x",
    "rm -rf .git && echo 'gitdir: /nowhere' > .git",
    "rm -rf .git/colony && echo /gone/objects > .git/objects/info/alternates",
];

#[test]
fn a_clone_with_a_damaged_git_dir_is_repaired() {
    for damage in DAMAGES {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        ada.write("kept.txt", "edited\n");
        ada.write(".git/own", "kept too\n");
        shell(&ada, damage);
        let told = row(&here, "ada");
        assert_eq!((&told["lost"], &told["commits"]), (&json!(true), &json!(1)), "{damage}");
        let rows = desk.json(&["fleet"])["agents"].as_array().unwrap().len();
        assert_eq!(rows, 1, "{damage}");
        // Without its configuration git works, with the identity of the user.
        if damage != "rm .git/config" {
            let inside = ada.run(&["checkpoint", "-m", "x"]);
            assert!(inside.stderr.contains("agents restore"), "{damage}: {}", inside.stderr);
        }
        let refused = desk.run(&["agents", "new", "ada"]);
        assert!(refused.stderr.contains("git colony agents restore ada"), "{}", refused.stderr);
        let restored = desk.json(&["agents", "restore", "ada"]);
        assert_eq!(restored["files"], 1, "{damage}: {restored:#}");
        let aside = restored["damaged_git_dir"].as_str().unwrap();
        assert!(fs::symlink_metadata(aside).is_ok(), "{damage}: {aside}");
        let own = !damage.starts_with("rm -rf .git ");
        assert_eq!(std::path::Path::new(aside).join("own").exists(), own, "{damage}");
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{damage}");
        ada.git(&["fsck", "--strict"]);
        assert_eq!(row(&here, "ada")["lost"], Value::Null, "{damage}");
        desk.colony(&["clones", "gc"]);
        assert!(fs::symlink_metadata(aside).is_ok(), "{damage}: {aside}");
    }
}

/// Damages that one command of git repairs, which keeps stashes and unpublished commits.
const REPAIRED_IN_PLACE: [&str; 14] = [
    "rm -rf .git/refs/heads .git/packed-refs",
    "mv .git/refs/heads/fork .git/refs/heads/other",
    ": > .git/refs/heads/fork/ada",
    "echo x > .git/index",
    "printf 'DIRC\\000\\000' > .git/index",
    "mkfifo .git/refs/heads/pipe",
    "git init -q --separate-git-dir ../elsewhere.git",
    "mv .git ../moved.git && ln -s ../moved.git .git",
    "git config core.bare true",
    "git config core.worktree /nowhere",
    "git config core.repositoryFormatVersion 9",
    "git config extensions.objectFormat sha1",
    "git config core.repositoryFormatVersion 1 && git config extensions.strange true",
    "git config core.preferSymlinkRefs true && git symbolic-ref HEAD refs/heads/fork/ada",
];

/// Damages of what git reads first, for which the clone needs a new git directory though ours can open it.
const UNREADABLE: [&str; 5] = [
    "echo 1111111111111111111111111111111111111111 > .git/refs/heads/fork/ada",
    "echo 1111111111111111111111111111111111111111 > .git/HEAD",
    "rm -rf .git/refs/heads/fork && echo x > .git/refs/heads/fork",
    "rm .git/refs/heads/fork/ada && mkdir -p .git/refs/heads/fork/ada/x && touch .git/refs/heads/fork/ada/x/y",
    "printf 'DIRC\\000\\000\\000\\002\\000\\000\\000\\011' > .git/index",
];

#[test]
fn a_clone_that_cannot_be_read_is_repaired_by_a_restore() {
    for damage in UNREADABLE {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        ada.write("kept.txt", "edited\n");
        shell(&ada, damage);
        let shown = desk.run(&["fleet"]);
        let shown = [shown.stdout, shown.stderr].concat();
        assert!(shown.contains("\nrepair: "), "{damage}: {shown}");
        assert_eq!(shown.matches("  ada ").count(), 1, "{damage}: {shown}");
        assert_eq!(desk.json(&["agents", "restore", "ada"])["files"], 1, "{damage}");
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{damage}");
        assert_eq!(row(&here, "ada")["unsaved"], 1, "{damage}");
    }
}

#[test]
fn a_damage_that_git_can_repair_is_told_with_its_command() {
    for damage in REPAIRED_IN_PLACE {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        ada.write("kept.txt", "stashed\n");
        ada.git(&["stash", "-q"]);
        ada.write("kept.txt", "edited\n");
        let tip = ada.git(&["rev-parse", "HEAD"]);
        shell(&ada, damage);
        let shown = desk.run(&["fleet"]);
        let shown = [shown.stdout, shown.stderr].concat();
        let mut lines = shown.lines().filter_map(|line| line.strip_prefix("repair: "));
        let repair = lines.next().unwrap_or_else(|| panic!("{damage}: {shown}"));
        assert_eq!(shown.matches("  ada ").count(), 1, "{damage}: {shown}");
        shell(&here, repair);
        assert_eq!(ada.git(&["rev-parse", "HEAD"]), tip, "{damage}");
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{damage}");
        assert_eq!(ada.git(&["stash", "list"]).lines().count(), 1, "{damage}");
        let told = row(&here, "ada");
        assert_eq!((&told["commits"], &told["unsaved"]), (&json!(1), &json!(1)), "{damage}");
        ada.git(&["fsck", "--strict"]);
        ada.colony(&["checkpoint", "-m", "all of it"]);
        desk.colony(&["merge", "ada"]);
        assert_eq!(fs::read_to_string(desk.path("kept.txt")).unwrap(), "edited\n", "{damage}");
    }
}

#[test]
fn a_git_dir_that_git_uses_is_not_damaged() {
    let ways = [
        "sed -i 's/.*/\"&\"/' .git/objects/info/alternates",
        "echo '# a comment' >> .git/objects/info/alternates",
        ": > .git/packed-refs",
        "git switch -q --orphan empty",
        "git config core.logAllRefUpdates false && rm -rf .git/logs",
    ];
    for way in ways {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        shell(&ada, way);
        let told = row(&here, "ada");
        assert_eq!((&told["lost"], &told["unseen"]), (&Value::Null, &Value::Null), "{way}");
        ada.colony(&["status"]);
    }
}

#[test]
fn a_repair_names_what_only_the_damaged_one_has() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    ada.write("kept.txt", "stashed\n");
    ada.git(&["stash", "-q"]);
    ada.write("kept.txt", "unpublished\n");
    let no_hooks = ["-c", "core.hooksPath=/nowhere"];
    ada.git(&[&no_hooks[..], &["commit", "-qam", "unpublished"]].concat());
    let newest = ada.git(&["rev-parse", "HEAD"]);
    fs::write(ada.path(".git/HEAD"), "").unwrap();
    let planned = desk.json(&["agents", "restore", "ada", "-n"]);
    let restored = desk.json(&["agents", "restore", "ada"]);
    for report in [&planned, &restored] {
        let only = report["only_in_damaged"].as_array().unwrap();
        let commits = only[1].as_str().unwrap().rsplit(' ').next().unwrap();
        assert_eq!((only.len(), &only[0]), (2, &json!("1 stash")), "{report:#}");
        assert!(newest.starts_with(commits), "{report:#}");
    }
    assert_eq!(planned["damaged_git_dir"], ada.path(".git").to_str().unwrap());
    let aside = restored["damaged_git_dir"].as_str().unwrap();
    let (folder, file) = newest.split_at(2);
    assert!(std::path::Path::new(aside).join("objects").join(folder).join(file).exists());
}

/// Lists what an agent has published.
fn published(desk: &Sandbox) -> String {
    let hub = desk.at(hub(desk));
    hub.git(&["for-each-ref", "--format=%(refname) %(objectname)", "refs/colony/agents/ada"])
}

/// Returns those of some published refs that the work of the agent in the hub does not have any more.
fn missing(desk: &Sandbox, before: &str) -> Vec<String> {
    let hub = desk.at(hub(desk));
    let work = ["refs/colony/agents/ada", "refs/colony/kept/ada"];
    let mut ids = hub.git(&[&["for-each-ref", "--format=%(objectname)"], &work[..]].concat());
    ids.push('\n');
    ids += &hub.git(&["rev-list", "--glob=refs/colony/agents/ada", "--glob=refs/colony/kept/ada"]);
    let lines = before.lines().filter(|line| !line.contains("/auto "));
    let is_gone = |line: &&str| !ids.contains(line.rsplit(' ').next().unwrap());
    lines.filter(is_gone).map(str::to_owned).collect()
}

/// Ways in which a clone loses refs, or has others in place of them.
const LOSSES: [&str; 12] = [
    "rm -rf .git/refs/heads .git/packed-refs",
    "rm -rf .git/refs .git/packed-refs; mkdir .git/refs",
    "rm -rf .git/refs/heads .git/packed-refs .git/logs",
    "rm .git/refs/heads/side",
    "rm -rf .git/logs .git/refs/heads/side",
    "git config core.logAllRefUpdates false; rm .git/refs/heads/side",
    "mv .git/refs/heads/fork .git/refs/heads/other",
    "rm -rf .git/refs/colony",
    "rm .git/refs/heads/side; git branch side main",
    "git gc -q; rm .git/packed-refs",
    "rm -rf .git/refs .git/packed-refs .git/logs .git/HEAD; git init -q -b trunk; git add -A",
    "git checkout -q --detach; rm -rf .git/logs .git/refs/heads",
];

/// What is done in it afterwards.
const LATER: [&str; 4] = [
    "git colony status",
    "git colony checkpoint -m x",
    "git -c core.hooksPath=/nowhere commit -qam x; git colony checkpoint -m x",
    "git commit -qam x; git commit -qam y --allow-empty; git colony status",
];

#[test]
fn lost_branches_take_nothing_of_what_was_published() {
    for (at, loss) in LOSSES.into_iter().enumerate() {
        for later in [LATER[at % 4], LATER[(at + 2) % 4]] {
            let desk = Sandbox::new();
            let ada = agent(&desk, "ada");
            commit(&ada, "kept.txt", "kept\n");
            ada.git(&["switch", "-qc", "side"]);
            commit(&ada, "side.txt", "side\n");
            ada.git(&["switch", "-q", "fork/ada"]);
            ada.colony(&["checkpoint", "-m", "named"]);
            ada.write("kept.txt", "edited\n");
            let before = published(&desk);
            assert!(before.contains("/heads/side "), "{before}");
            shell(&ada, &format!("{loss}; ({later}) || true"));
            assert_eq!(missing(&desk, &before), Vec::<String>::new(), "{loss}; {later}");
        }
    }
}

#[test]
fn what_a_clone_had_published_before_a_loss_is_restored() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    let tip = ada.git(&["rev-parse", "HEAD"]);
    ada.write("kept.txt", "edited\n");
    shell(&ada, "rm -rf .git/refs/heads .git/packed-refs");
    shell(&ada, "git -c core.hooksPath=/nowhere commit -qam x");
    let told = ada.run(&["checkpoint", "-m", "x"]);
    let mut lines = told.stderr.lines().filter_map(|line| line.trim().strip_prefix("git colony "));
    let line = lines.next().unwrap_or_else(|| panic!("{}", told.stderr)).replace("OTHER", "bob");
    let restored = desk.json(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(restored["head_sha"], tip, "{restored:#}");
    // The same state is kept once.
    ada.colony(&["checkpoint", "-m", "y"]);
    let kept = desk.at(hub(&desk)).git(&["for-each-ref", "refs/colony/kept/ada"]);
    assert_eq!(kept.matches("/heads/fork/ada").count(), 1, "{kept}");
}

#[test]
fn histories_that_git_rewrites_are_published() {
    let rewrites = [
        "git commit -q --amend -m again",
        "git rebase -q --root --exec true",
        "git reset -q --soft $(git commit-tree -m other HEAD^{tree})",
        "git update-ref -d HEAD; git commit -qm again",
        "git switch -q --orphan other; git commit -q --allow-empty -m other",
    ];
    for rewrite in rewrites {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        agent(&desk, "ada");
        shell(&here, rewrite);
        let made = desk.json(&["agents", "new", "bob"]);
        let bob = desk.at(made["path"].as_str().unwrap().into());
        assert_eq!(bob.git(&["rev-parse", "HEAD"]), here.git(&["rev-parse", "HEAD"]), "{rewrite}");
        commit(&bob, "bob.txt", "bob\n");
        let kept = desk.at(hub(&desk)).git(&["for-each-ref", "refs/colony/kept"]);
        assert_eq!(kept, "", "{rewrite}");
        shell(&bob, "git commit -q --amend -m more; git rebase -q --root --exec true");
        let tip = bob.git(&["rev-parse", "HEAD"]);
        bob.colony(&["checkpoint", "-m", "x"]);
        let published = desk.at(hub(&desk)).git(&["for-each-ref", "refs/colony/agents/bob"]);
        assert!(published.contains(&tip), "{rewrite}: {published}");
        let kept = desk.at(hub(&desk)).git(&["for-each-ref", "refs/colony/kept"]);
        assert_eq!(kept, "", "{rewrite}");
    }
}

#[test]
fn a_branch_that_takes_the_name_of_another_is_published() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    ada.git(&["switch", "-q", "--orphan", "other"]);
    commit(&ada, "only.txt", "only\n");
    ada.git(&["branch", "-M", "other", "fork/ada"]);
    ada.colony(&["checkpoint", "-m", "renamed"]);
    let tip = ada.git(&["rev-parse", "HEAD"]);
    let after = published(&desk);
    assert!(after.contains(&format!("/heads/fork/ada {tip}")), "{after}");
    assert!(!after.contains("/heads/other "), "{after}");
    ada.git(&["branch", "side"]);
    ada.colony(&["checkpoint", "-m", "with a branch"]);
    assert!(published(&desk).contains("/heads/side "));
    ada.git(&["branch", "-D", "side"]);
    ada.colony(&["checkpoint", "-m", "without it"]);
    assert!(!published(&desk).contains("/heads/side "));
}

#[test]
fn a_killed_repair_is_completed_by_the_next() {
    for died_at in ["clone-staged", "git-dir-aside", "clone-in-place"] {
        let desk = Sandbox::new();
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        ada.write("kept.txt", "edited\n");
        fs::write(ada.path(".git/HEAD"), "").unwrap();
        let world = World { die_at: Some(died_at), ..desk.world() };
        let died = desk.run_in(world, &["agents", "restore", "ada"]);
        assert!([died.stderr, died.stdout].concat().contains("died"), "{died_at}");
        if died_at != "clone-in-place" {
            assert_eq!(desk.json(&["agents", "restore", "ada"])["files"], 1, "{died_at}");
        }
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{died_at}");
        ada.colony(&["checkpoint", "-m", "all of it"]);
        desk.colony(&["merge", "ada"]);
        assert_eq!(fs::read_to_string(desk.path("kept.txt")).unwrap(), "edited\n", "{died_at}");
    }
}

#[test]
fn a_clone_that_borrows_nothing_any_more_is_whole() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    shell(&ada, "git repack -q -a -d && rm .git/objects/info/alternates");
    ada.git(&["fsck", "--strict"]);
    assert_eq!(row(&here, "ada")["lost"], Value::Null);
    here.colony(&["merge", "ada"]);
}

#[test]
fn a_damaged_clone_of_another_repository_keeps_its_folder() {
    for damage in ["rm -rf .git", "rm -rf .git/colony", "rm -rf .git && git init -q"] {
        let desk = Sandbox::new();
        let here = desk.at(desk.root.clone());
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        shell(&ada, damage);
        let other = desk.outside().join("other");
        desk.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
        let other = desk.at(other);
        other.write("a.txt", "a\n");
        other.git(&["add", "-A"]);
        other.git(&["-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "a"]);
        let made = other.json(&["agents", "new", "ada"]);
        assert_ne!(made["path"], ada.root.to_str().unwrap(), "{damage}: {made:#}");
        assert!(ada.path("kept.txt").exists(), "{damage}");
        let repair: &[&str] = match damage {
            "rm -rf .git/colony" => &["clones", "refresh", "ada"],
            _ => &["agents", "restore", "ada"],
        };
        here.colony(repair);
        assert_eq!(row(&here, "ada")["commits"], 1, "{damage}");
    }
}

#[test]
fn a_record_is_restored_for_the_checkout_that_asks() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    let record = ada.path(".git/colony/membership.json");
    let read = || -> Value { serde_json::from_slice(&fs::read(&record).unwrap()).unwrap() };
    let desk_id = read()["desk"].clone();
    assert!(desk_id.is_string(), "{desk_id}");
    fs::remove_file(&record).unwrap();
    here.colony(&["clones", "refresh", "ada"]);
    assert_eq!(read()["desk"], desk_id);
}

#[test]
fn a_checkout_goes_on_whose_colony_folder_was_deleted() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    desk.colony(&["fork", "idea"]);
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    here.json(&["fleet"]);
    here.write("a.txt", "edited\n");
    here.colony(&["checkpoint", "-m", "before"]);
    let operations = here.json(&["ops"]);
    let fleet = here.json(&["fleet"]);
    let published = || desk.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/ops"]);
    let keys = published();
    fs::remove_dir_all(here.path(".git/colony")).unwrap();
    assert_eq!(here.json(&["ops"]), operations);
    let after = here.json(&["fleet"]);
    assert_eq!((&after["agents"], &after["elsewhere"]), (&fleet["agents"], &fleet["elsewhere"]));
    assert_eq!(published(), keys);
    let before = here.git(&["rev-parse", "HEAD~"]);
    here.colony(&["undo"]);
    assert_eq!(here.git(&["rev-parse", "HEAD"]), before);
    here.git(&["checkout", "-q", "a.txt"]);
    here.colony(&["merge", "ada"]);
    let desks = desk.git(&["for-each-ref", "--format=%(refname)", "refs/colony-local/desks"]);
    assert_eq!(desks, "", "its own forks are not those of another checkout");
    here.colony(&["agents", "remove", "ada"]);
}

#[test]
fn logs_of_several_worktrees_are_not_guessed() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    here.write("one.txt", "one\n");
    here.colony(&["checkpoint", "-m", "one"]);
    let beside = desk.outside().join("beside");
    here.git(&["worktree", "add", "-q", beside.to_str().unwrap()]);
    let beside = desk.at(beside);
    beside.write("two.txt", "two\n");
    beside.colony(&["checkpoint", "-m", "two"]);
    fs::remove_dir_all(here.path(".git/colony")).unwrap();
    assert_eq!(here.json(&["ops"])["ops"], json!([]));
}

#[test]
fn the_log_of_a_removed_worktree_is_not_taken_over() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let beside = desk.outside().join("beside");
    here.git(&["worktree", "add", "-q", beside.to_str().unwrap()]);
    let beside = desk.at(beside);
    beside.write("two.txt", "two\n");
    beside.colony(&["checkpoint", "-m", "two"]);
    here.git(&["worktree", "remove", "--force", beside.root.to_str().unwrap()]);
    assert_eq!(here.json(&["ops"])["ops"], json!([]));
}

#[test]
fn a_repair_keeps_the_branch_and_the_submodules() {
    let desk = Sandbox::new();
    let inner = desk.outside().join("inner");
    desk.git(&["init", "-q", "-b", "main", inner.to_str().unwrap()]);
    let inside = desk.at(inner.clone());
    inside.write("i.txt", "i\n");
    inside.git(&["add", "-A"]);
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    inside.git(&[&identity[..], &["commit", "-qm", "i"]].concat());
    let local = ["-c", "protocol.file.allow=always"];
    desk.git(
        &[&local[..], &["submodule", "--quiet", "add", inner.to_str().unwrap(), "sub"]].concat(),
    );
    desk.git(&["commit", "-qm", "a submodule"]);
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    ada.git(&[&local[..], &["submodule", "--quiet", "update", "--init"]].concat());
    let beside = desk.outside().join("beside");
    ada.git(&["worktree", "add", "-q", "-b", "zz", beside.to_str().unwrap()]);
    ada.colony(&["status"]);
    fs::remove_file(ada.path(".git/HEAD")).unwrap();
    let restored = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(restored["fork"], "fork/ada", "{restored:#}");
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    assert_eq!(ada.git(&["-C", "sub", "status", "--porcelain"]), "");
}

#[test]
fn directories_outside_of_the_cone_do_not_count_as_deleted() {
    let desk = Sandbox::new();
    for path in ["in/one/i.txt", "in/two/j.txt", "out/o.txt", "out/deep/p.txt"] {
        desk.write(path, "text\n");
    }
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "directories"]);
    for (agent, cone) in [("ada", "in"), ("bob", "in/two")] {
        let made = desk.json(&["agents", "new", agent, "--sparse", cone]);
        let clone = desk.at(made["path"].as_str().unwrap().into());
        clone.write(&format!("{cone}/new.txt"), "new\n");
        fs::remove_dir_all(clone.path(".git")).unwrap();
        assert_eq!(desk.json(&["agents", "restore", agent])["files"], 1);
        assert_eq!(clone.git(&["status", "--porcelain"]), format!("?? {cone}/new.txt"));
        assert!(!clone.path("out").exists());
        clone.colony(&["checkpoint", "-m", "work"]);
        desk.colony(&["merge", agent]);
        assert_eq!(fs::read(desk.path("out/deep/p.txt")).unwrap(), b"text\n");
    }
}

#[test]
fn commands_in_a_lost_clone_leave_a_repository_around_it_alone() {
    let desk = Sandbox::new();
    let (ada, _) = lost(&desk);
    // As where a home directory is a repository.
    let home = desk.outside().join("home");
    desk.git(&["init", "-q", home.to_str().unwrap()]);
    for args in [["checkpoint", "-m", "x"].as_slice(), &["agents", "new", "bob"], &["status"]] {
        let refused = ada.run(args);
        assert_eq!(refused.code, 128, "{args:?}: {}", refused.stdout);
        assert!(refused.stderr.contains("git colony agents restore ada"), "{}", refused.stderr);
    }
    desk.colony(&["agents", "restore", "ada", "--as", "eve"]);
    desk.colony(&["agents", "restore", "ada"]);
    ada.colony(&["checkpoint", "-m", "x"]);
}

#[test]
fn files_that_a_sparse_clone_never_had_are_not_deleted() {
    for patterns in ["set in", "set --no-cone /in/ /b.txt"] {
        let desk = Sandbox::new();
        for path in ["in/i.txt", "out/o.txt", "b.txt"] {
            desk.write(path, "text\n");
        }
        desk.git(&["add", "-A"]);
        desk.git(&["commit", "-qm", "directories"]);
        let ada = agent(&desk, "ada");
        shell(&ada, &format!("git sparse-checkout {patterns}"));
        ada.write("out/new.txt", "new\n");
        fs::remove_file(ada.path(".git/HEAD")).unwrap();
        desk.colony(&["agents", "restore", "ada"]);
        assert_eq!(ada.git(&["status", "--porcelain"]), "?? out/new.txt", "{patterns}");
        ada.colony(&["checkpoint", "-m", "x"]);
        desk.colony(&["merge", "ada"]);
        assert!(desk.path("out/o.txt").exists() && desk.path("out/new.txt").exists(), "{patterns}");
    }
}

#[test]
fn a_repair_takes_the_branch_of_the_clone_not_of_its_worktree() {
    for damage in ["rm .git/HEAD", "echo garbage > .git/packed-refs"] {
        let desk = Sandbox::new();
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        let beside = desk.outside().join("beside");
        shell(&ada, &format!("git worktree add -q -b side {}", beside.display()));
        commit(&desk.at(beside.clone()), "side.txt", "side\n");
        ada.write("kept.txt", "edited\n");
        shell(&ada, damage);
        let restored = desk.json(&["agents", "restore", "ada"]);
        assert_eq!(restored["fork"], "fork/ada", "{damage}: {restored:#}");
        assert!(restored["only_in_damaged"].to_string().contains("beside"), "{restored:#}");
        assert_eq!(ada.git(&["status", "--porcelain"]), " M kept.txt", "{damage}");
    }
}

#[test]
fn a_clone_whose_folder_is_gone_is_told_and_restored() {
    let desk = Sandbox::new();
    let here = desk.at(desk.root.clone());
    let ada = agent(&desk, "ada");
    commit(&ada, "kept.txt", "kept\n");
    let bob = agent(&desk, "bob");
    commit(&bob, "bob.txt", "bob\n");
    desk.colony(&["agents", "remove", "bob"]);
    fs::remove_dir_all(&ada.root).unwrap();
    let line = "repair: git colony agents restore ada";
    let shown = desk.colony(&["fleet"]);
    assert!(shown.lines().any(|told| told == line), "{shown}");
    assert!(!shown.contains("next:"), "{shown}");
    let agents = desk.run(&["agents"]);
    assert!([agents.stdout, agents.stderr].concat().contains("its folder is gone"));
    let doctor = desk.run(&["doctor", "--json"]);
    assert!(doctor.stdout.contains("git colony agents restore ada"), "{}", doctor.stdout);
    desk.colony(&["agents", "restore", "ada"]);
    assert_eq!(row(&here, "ada")["commits"], 1);
    assert!(!desk.colony(&["fleet"]).contains("repair:"));
}

#[test]
fn a_git_dir_of_another_agent_is_not_taken_for_its_own() {
    for (swap, repair) in [
        ("rm -rf .git && ln -s \"$BOB/.git\" .git", "agents restore"),
        ("rm -rf .git && cp -r \"$BOB/.git\" .git", "clones refresh"),
    ] {
        let desk = Sandbox::new();
        let ada = agent(&desk, "ada");
        commit(&ada, "kept.txt", "kept\n");
        let bob = agent(&desk, "bob");
        commit(&bob, "bob.txt", "bob\n");
        let before = published(&desk);
        shell(&ada.with("BOB", &bob.root), swap);
        let words: Vec<&str> = repair.split(' ').chain(["ada"]).collect();
        desk.colony(&words);
        shell(&ada, "git commit -qm x --allow-empty || true; git colony checkpoint -m x");
        assert_eq!(missing(&desk, &before), Vec::<String>::new(), "{swap}");
        assert_eq!(bob.git(&["log", "-1", "--format=%s"]), "edit bob.txt", "{swap}");
    }
}
