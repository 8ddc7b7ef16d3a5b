//! Clones from a URL, clones for reading, and what tends them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Sandbox, View};

/// A bare repository beside the sandbox that its `main` was pushed to.
fn remote(sandbox: &Sandbox) -> String {
    let bare = sandbox.outside().join("remote.git");
    let bare = bare.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", sandbox.root.to_str().unwrap(), bare]);
    bare.to_owned()
}

/// A place that is in no repository.
fn nowhere(sandbox: &Sandbox) -> View {
    let place = sandbox.outside().join("nowhere");
    fs::create_dir_all(&place).unwrap();
    sandbox.at(place)
}

fn at(sandbox: &Sandbox, report: &serde_json::Value) -> View {
    assert_eq!(report["ok"], true, "{report:#}");
    sandbox.at(PathBuf::from(report["path"].as_str().unwrap()))
}

#[test]
fn an_agent_gets_a_clone_of_a_url_outside_of_any_repository() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let would = place.json(&["clone", &url, "--agent", "ada", "-n"]);
    assert_eq!(would["dry_run"], true);
    assert!(!sandbox.outside().join("home").exists());
    let report = place.json(&["clone", &url, "--agent", "ada"]);
    let clone = at(&sandbox, &report);
    assert_eq!(report["branch"], "main");
    assert!(report["path"].as_str().unwrap().ends_with("/agents/ada/clones/main"));
    assert_eq!(clone.worktree(), sandbox.worktree());
    assert_eq!(clone.git(&["remote", "get-url", "origin"]), url);
    assert_eq!(clone.git(&["rev-parse", "origin/main"]), sandbox.git(&["rev-parse", "main"]));
    clone.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(place.json(&["clones"])["count"], 1);
    // Another branch is another scope; the same one is there.
    assert_eq!(place.error(&["clone", &url, "--agent", "ada"]), "agent-exists");
    let report = place.json(&["clone", &url, "--agent", "ada", "--scope", "a/b"]);
    assert!(report["path"].as_str().unwrap().ends_with("/clones/a%2Fb"));
    assert_eq!(place.error(&["clone", &url]), "usage");
    assert_eq!(place.error(&["clone", "ext::sh -c x", "--read-only"]), "url-refused");
}

#[test]
fn a_clone_for_reading_follows_its_remote_and_refuses_changes() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let report = place.json(&["clone", &url, "--read-only"]);
    assert_eq!(report["read_only"], true);
    let clone = at(&sandbox, &report);
    assert_eq!(clone.error(&["checkpoint", "-m", "x"]), "read-only-clone");
    assert_eq!(clone.error(&["checkpoint", "--auto"]), "read-only-clone");
    assert_eq!(clone.error(&["memory", "add", "x"]), "read-only-clone");
    sandbox.write("a.txt", "two\n");
    sandbox.git(&["commit", "-qam", "second"]);
    sandbox.git(&["push", "-q", &url, "main"]);
    let id = report["id"].as_str().unwrap();
    let refreshed = place.json(&["clones", "refresh", &id[..6]]);
    assert_eq!(refreshed["moved"][0], "origin/main", "{refreshed:#}");
    assert_eq!(clone.worktree(), sandbox.worktree());
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    // One that somebody edited is not taken away, nor written over.
    clone.write("a.txt", "edited\n");
    sandbox.write("a.txt", "three\n");
    sandbox.git(&["commit", "-qam", "third"]);
    sandbox.git(&["push", "-q", &url, "main"]);
    assert_eq!(place.error(&["clones", "refresh", id]), "uncommitted-edits");
    assert_eq!(place.error(&["clones", "remove", id]), "clone-in-use");
    assert_eq!(fs::read_to_string(clone.path("a.txt")).unwrap(), "edited\n");
    assert_eq!(place.json(&["clones", "remove", id, "--force"])["ok"], true);
    assert!(!clone.path("").exists());
}

#[test]
fn a_colony_says_where_clones_come_from() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    assert_eq!(place.error(&["clone", "--agent", "ada"]), "colony-not-found");
    let unknown = place.run(&["colony", "show", "$(touch pwned)"]).stderr;
    assert!(unknown.contains("git colony clones colony set '$(touch pwned)' URL"), "{unknown}");
    sandbox.git(&["remote", "add", "origin", &url]);
    let would = sandbox.json(&["colony", "set", &url, "--branch", "main", "-n"]);
    assert_eq!(would["origin_url"], url.as_str());
    assert_eq!(sandbox.json(&["colony"])["count"], 0);
    sandbox.json(&["colony", "set", &url, "--branch", "main"]);
    place.json(&["colony", "set", "odd \"name\"", "https://u:secret@example.com/x"]);
    let shown = place.json(&["colony", "show", "odd \"name\""]);
    assert_eq!(shown["origin_url"], "https://example.com/x");
    assert_eq!(place.json(&["colony", "list"])["count"], 2);
    let clone = place.json(&["clone", "--agent", "ada"]);
    let clone = at(&sandbox, &clone);
    // The checkout takes part since it has noted the colony.
    clone.write("a.txt", "of ada\n");
    clone.colony(&["commit", "-m", "edit", "--all"]);
    assert_eq!(sandbox.json(&["merge", "ada"])["outcome"], "fast_forward");
}

#[test]
fn an_agent_outside_of_a_repository_works_in_its_clone() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    assert_eq!(place.error(&["--agent", "ada", "checkpoints"]), "not-a-repository");
    place.json(&["colony", "set", &url]);
    assert_eq!(place.error(&["checkpoint", "-m", "x"]), "not-a-repository");
    let refused = place.json(&["--agent", "ada", "checkpoint", "-m", "here"]);
    assert_eq!(refused["code"], "clone-not-found", "{refused:#}");
    assert_eq!(refused["hint"], "git colony clones new --agent ada");
    assert_eq!(place.json(&["clones"])["count"], 0);
    place.json(&["clones", "new", "--agent", "ada"]);
    for _ in 0..2 {
        let forked = place.json(&["--agent", "ada", "checkpoint", "-m", "here"]);
        assert_eq!(forked["ok"], true, "{forked:#}");
        assert_eq!(forked["author"], "agent:ada:agent <ada@external.agent.colony.local>");
    }
    let clones = place.json(&["clones"]);
    assert_eq!(clones["count"], 1);
    let clone = sandbox.at(PathBuf::from(clones["clones"][0]["path"].as_str().unwrap()));
    assert_eq!(clone.json(&["checkpoints"])["count"], 2);
}

#[test]
fn hubs_go_when_their_last_clone_has_gone_and_hold_no_work() {
    let sandbox = Sandbox::new();
    let hubs = sandbox.outside().join("home/.local/share/git-colony/hubs");
    let count = || {
        let entries = fs::read_dir(&hubs).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| is_hub(path)).count()
    };
    sandbox.git(&["config", "colony.keepRemovedDays", "0"]);
    sandbox.json(&["agents", "new", "ada"]);
    assert_eq!(sandbox.json(&["clones", "gc"])["removed"].as_array().unwrap().len(), 0);
    sandbox.json(&["agents", "remove", "ada"]);
    let gc = sandbox.json(&["clones", "gc"]);
    assert_eq!(gc["kept"].as_array().unwrap().len(), 1, "{gc:#}");
    assert_eq!(count(), 1);
    let gc = sandbox.json(&["clones", "gc", "--force"]);
    assert_eq!(gc["removed"].as_array().unwrap().len(), 1, "{gc:#}");
    assert_eq!(count(), 0);
    // The checkout does not miss it, and makes another when it is needed.
    sandbox.write("a.txt", "two\n");
    let run = sandbox.run(&["checkpoint", "-m", "kept"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let again = sandbox.json(&["agents", "new", "ada"]);
    let clone = at(&sandbox, &again);
    assert_eq!(clone.worktree(), sandbox.worktree());
}

#[test]
fn gc_deletes_a_hub_that_a_killed_command_had_begun() {
    let sandbox = Sandbox::new();
    sandbox.json(&["agents", "new", "ada"]);
    let hubs = sandbox.outside().join("home/.local/share/git-colony/hubs");
    // That of a repository with another origin: no command of this one makes it.
    let begun = hubs.join("0123456789abcdef.new");
    fs::create_dir_all(begun.join("objects/pack")).unwrap();
    sandbox.json(&["clones", "gc", "-n"]);
    assert!(begun.exists());
    sandbox.json(&["clones", "gc"]);
    assert!(!begun.exists());
}

fn is_hub(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "git")
}

#[test]
fn large_files_are_shared_with_the_hub_and_pointers_stay() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    sandbox.write("big.stl", "x".repeat(5000));
    sandbox.colony(&["commit", "-m", "large", "--all"]);
    let all = sandbox.json(&["agents", "new", "ada"]);
    let all = at(&sandbox, &all);
    assert!(fs::read_to_string(all.path("big.stl")).unwrap() == "x".repeat(5000));
    assert_eq!(all.git(&["status", "--porcelain"]), "");
    let none = sandbox.json(&["agents", "new", "bob", "--lfs", "none"]);
    let none = at(&sandbox, &none);
    let pointer = fs::read_to_string(none.path("big.stl")).unwrap();
    assert!(pointer.starts_with("version https://git-lfs"), "{pointer}");
    assert_eq!(none.git(&["status", "--porcelain"]), "");
    // What an agent adds is merged with its content.
    all.write("new.stl", "y".repeat(6000));
    all.colony(&["commit", "-m", "another", "--all"]);
    assert_eq!(sandbox.json(&["merge", "ada"])["outcome"], "fast_forward");
    assert!(sandbox.read("new.stl") == "y".repeat(6000));
}

/// A repository that is set up, with a manifest that says something else of large files.
fn with_large_files(mode: &str, url: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init", "--no-lfs"]);
    let text = sandbox.read(".colony/manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["lfs"]["mode"] = mode.into();
    manifest["lfs"]["separate_url"] = Some(url).filter(|url| !url.is_empty()).into();
    sandbox.write(".colony/manifest.json", manifest.to_string());
    sandbox.colony(&["commit", "-m", "mode", "--all"]);
    sandbox
}

/// Commits a file that attributes give to git-lfs, in a clone; returns what git has of it.
fn commit_large(clone: &View) -> String {
    clone.write(".gitattributes", "*.bin filter=lfs -text\n");
    clone.write("new.bin", "y".repeat(3000));
    clone.git(&["add", "."]);
    clone.git(&["commit", "-qm", "large"]);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
    clone.git(&["cat-file", "blob", "HEAD:new.bin"])
}

#[test]
fn a_manifest_with_large_files_at_the_remote_sets_up_git_lfs() {
    let sandbox = with_large_files("same_remote", "");
    for made in [["agents", "new", "ada"], ["clone", "--agent", "bob"]] {
        let made = sandbox.json(&made);
        assert_eq!(made["setup"][1], "git-lfs", "{made:#}");
        let pointer = commit_large(&at(&sandbox, &made));
        assert!(pointer.starts_with("version https://git-lfs"), "{pointer}");
    }
}

#[test]
fn a_manifest_that_disables_git_lfs_leaves_it_out_of_clones() {
    let sandbox = with_large_files("disabled", "");
    sandbox.write(".gitattributes", "*.bin filter=lfs -text\n");
    sandbox.colony(&["commit", "-m", "attributes", "--all"]);
    for made in [["agents", "new", "ada"], ["clone", "--agent", "bob"]] {
        let made = sandbox.json(&made);
        assert_eq!(made["setup"].as_array().unwrap().len(), 1, "{made:#}");
        let clone = at(&sandbox, &made);
        assert!(!clone.try_git(&["config", "--get-regexp", "^(filter|lfs)"]));
        assert_eq!(commit_large(&clone), "y".repeat(3000));
    }
}

#[test]
fn a_manifest_with_its_own_store_sends_large_files_there() {
    let url = "https://user:secret@lfs.example.com/store";
    let sandbox = with_large_files("separate", url);
    for made in [["agents", "new", "ada"], ["clone", "--agent", "bob"]] {
        let clone = at(&sandbox, &sandbox.json(&made));
        let known = clone.git(&["lfs", "env"]);
        assert!(known.contains("Endpoint=https://lfs.example.com/store ("), "{known}");
        assert!(commit_large(&clone).starts_with("version https://git-lfs"));
        assert!(!fs::read_to_string(clone.path(".git/config")).unwrap().contains("secret"));
    }
}

#[test]
fn a_store_that_no_content_may_name_is_not_used() {
    for url in ["file:///tmp/store", "ext::sh -c true", "-x", "http://lfs.example.com/s"] {
        let sandbox = with_large_files("separate", url);
        let made = sandbox.run(&["--json", "agents", "new", "ada"]);
        assert!(made.stderr.contains("warning: the store of large files"), "{}", made.stderr);
        let clone = at(&sandbox, &serde_json::from_str(&made.stdout).unwrap());
        assert!(!clone.try_git(&["config", "lfs.url"]), "{url}");
    }
    let sandbox = with_large_files("separate", "");
    let made = sandbox.run(&["agents", "new", "ada"]);
    assert!(made.code == 0 && made.stderr.contains("is not a manifest"), "{}", made.stderr);
}

#[test]
fn a_hub_is_compacted_and_nothing_is_dropped() {
    let sandbox = Sandbox::new();
    let made = sandbox.json(&["agents", "new", "ada"]);
    let hub = made["hub"].as_str().unwrap().to_owned();
    let clone = at(&sandbox, &made);
    let git = |args: &[&str]| sandbox.git(&[&["-C", &hub][..], args].concat());
    // Somebody's work that no ref reaches any more.
    clone.write("lost.txt", "lost\n");
    clone.colony(&["commit", "-m", "lost", "--all"]);
    let lost = clone.git(&["rev-parse", "HEAD"]);
    clone.git(&["reset", "-q", "--hard", "HEAD~1"]);
    for number in 0..20 {
        let path = format!("f{number}");
        fs::write(clone.path(&path), &path).unwrap();
        clone.git(&["add", "."]);
        clone.git(&["commit", "-qm", &path]);
        clone.git(&["repack", "-q", "-d", "-l"]);
        clone.colony(&["tag", "-m", &path]);
    }
    let packs = || {
        let folder = Path::new(&hub).join("objects/pack");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|end| end == "pack")).count()
    };
    assert!(packs() < 5, "{}", packs());
    git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(git(&["cat-file", "-t", &lost]), "commit");
    clone.git(&["fsck", "--strict", "--no-dangling"]);
    // Others bring over what is packed now.
    assert_eq!(sandbox.json(&["merge", "ada"])["outcome"], "fast_forward");
    assert_eq!(sandbox.read("f19"), "f19");
}

/// Commits a change in a clone for reading, with plain git.
fn commit_inside(clone: &View, content: &str) -> String {
    clone.write("mine.txt", content);
    clone.git(&["add", "mine.txt"]);
    let who = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    clone.git(&[&who[..], &["commit", "-q", "--no-verify", "-m", "mine"]].concat());
    clone.git(&["rev-parse", "HEAD"])
}

#[test]
fn commits_in_a_reading_clone_are_kept_when_it_moves_on() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let report = place.json(&["clone", &url, "--read-only"]);
    let clone = at(&sandbox, &report);
    let id = report["id"].as_str().unwrap();
    let first = clone.git(&["rev-parse", "HEAD"]);
    let mine = commit_inside(&clone, "one\n");
    let refreshed = place.json(&["clones", "refresh", id]);
    assert_eq!(refreshed["from"], mine.as_str(), "{refreshed:#}");
    assert_eq!(refreshed["commit"], first.as_str());
    let message = refreshed["message"].as_str().unwrap();
    let (from, to) = (&mine[..8], &first[..8]);
    assert_eq!(message, format!("the clone moved from {from} to {to}"));
    let kept = refreshed["kept_as"].as_str().unwrap();
    let hub = refreshed["hub"].as_str().unwrap();
    let ids = ["-C", hub, "for-each-ref", "--format=%(objectname)", kept];
    assert_eq!(sandbox.git(&ids), mine);
    // Once more from a HEAD on no branch, and nothing where there is nothing.
    clone.git(&["checkout", "-q", "--detach"]);
    let other = commit_inside(&clone, "two\n");
    let refreshed = place.json(&["clones", "refresh", id]);
    let kept = refreshed["kept_as"].as_str().unwrap();
    let ids = ["-C", hub, "for-each-ref", "--format=%(objectname)", kept];
    assert_eq!(sandbox.git(&ids), other);
    let text = place.colony(&["clones", "refresh", id]);
    assert_eq!(text, "the clone is up to date\n");
}

#[test]
fn commits_in_a_reading_clone_are_kept_when_it_is_removed() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let report = place.json(&["clone", &url, "--read-only"]);
    let clone = at(&sandbox, &report);
    let mine = commit_inside(&clone, "one\n");
    clone.git(&["switch", "-qc", "side"]);
    let side = commit_inside(&clone, "two\n");
    let removed = place.json(&["clones", "remove", report["id"].as_str().unwrap()]);
    let kept = removed["kept_as"].as_str().unwrap();
    let hub = removed["hub"].as_str().unwrap();
    let format = "--format=%(objectname) %(refname)";
    let refs = sandbox.git(&["-C", hub, "for-each-ref", format, kept]);
    assert_eq!(
        refs,
        format!("{mine} {kept}heads/main\n{side} {kept}heads/side\n{side} {kept}on/side")
    );
    // One without anything of its own leaves nothing.
    let report = place.json(&["clone", &url, "--read-only"]);
    let removed = place.json(&["clones", "remove", report["id"].as_str().unwrap()]);
    assert_eq!(removed["kept_as"], serde_json::Value::Null);
}

#[test]
fn edits_in_a_clone_for_reading_are_named_with_a_way_out() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let report = place.json(&["clone", &url, "--read-only"]);
    let clone = at(&sandbox, &report);
    clone.write("a.txt", "edited\n");
    sandbox.write("a.txt", "three\n");
    sandbox.git(&["commit", "-qam", "third"]);
    sandbox.git(&["push", "-q", &url, "main"]);
    let id = report["id"].as_str().unwrap();
    let refused = place.json(&["clones", "refresh", id]);
    assert_eq!(refused["code"], "uncommitted-edits", "{refused:#}");
    assert_eq!(refused["detail"]["paths"][0], "a.txt");
    let text = refused.to_string();
    assert!(!text.contains(r"\t") && !text.contains(" ID "), "{text}");
    let hint = refused["hint"].as_str().unwrap();
    assert!(hint.starts_with("git -C "), "{hint}");
    assert!(hint.contains(&id[..8]), "{hint}");
}

#[test]
fn an_ignored_file_in_a_clone_for_reading_is_not_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "*.log\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "ignore"]);
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let report = place.json(&["clone", &url, "--read-only"]);
    let clone = at(&sandbox, &report);
    clone.write("x.log", "mine\n");
    sandbox.write("x.log", "theirs\n");
    sandbox.git(&["add", "-f", "x.log"]);
    sandbox.git(&["commit", "-qm", "a log"]);
    sandbox.git(&["push", "-q", &url, "main"]);
    let refused = place.json(&["clones", "refresh", report["id"].as_str().unwrap()]);
    assert_eq!(refused["code"], "uncommitted-edits", "{refused:#}");
    assert_eq!(fs::read_to_string(clone.path("x.log")).unwrap(), "mine\n");
}

#[test]
fn a_push_guard_and_a_new_origin_come_along() {
    let desk = Sandbox::new();
    let url = remote(&desk);
    desk.git(&["remote", "add", "origin", &url]);
    desk.git(&["config", "remote.origin.pushurl", "no_push"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let ada = at(&desk, &made);
    assert_eq!(ada.git(&["config", "remote.origin.pushurl"]), "no_push");
    assert!(!ada.try_git(&["push", "origin", "fork/ada"]));
    // The remote has moved, and has a commit that the old one has not.
    let moved = desk.outside().join("moved.git");
    let moved = moved.to_str().unwrap();
    desk.git(&["clone", "-q", "--bare", &url, moved]);
    desk.git(&["remote", "set-url", "origin", moved]);
    desk.git(&["config", "remote.origin.pushurl", "also_none"]);
    desk.write("a.txt", "two\n");
    desk.git(&["commit", "-qam", "second"]);
    desk.git(&["push", "-q", moved, "main"]);
    let refreshed = desk.json(&["clones", "refresh", "ada"]);
    assert_eq!(refreshed["url_changed"], moved, "{refreshed:#}");
    assert_eq!(refreshed["moved"][0], "origin/main", "{refreshed:#}");
    assert_eq!(ada.git(&["remote", "get-url", "origin"]), moved);
    assert_eq!(ada.git(&["config", "remote.origin.pushurl"]), "also_none");
    let again = desk.colony(&["clones", "refresh", "ada"]);
    assert_eq!(again, "the clone is up to date\n");
    // A new clone goes by the origin that is there, not by what was noted once.
    let read = desk.json(&["clone", "--read-only"]);
    assert_eq!(read["url"], moved, "{read:#}");
    assert_eq!(at(&desk, &read).git(&["remote", "get-url", "origin"]), moved);
}

#[test]
fn a_sync_says_where_without_credentials() {
    let desk = Sandbox::new();
    let url = remote(&desk);
    desk.git(&["remote", "add", "origin", &url]);
    let would = desk.colony(&["sync", "-n"]);
    assert!(would.contains(&format!("  at {url}\n")), "{would}");
    desk.git(&["config", "remote.origin.pushurl", "https://a:secret@host.example/x"]);
    let synced = desk.json(&["sync", "--fetch"]);
    assert_eq!(synced["url"], url.as_str());
    assert_eq!(synced["push_url"], "https://host.example/x");
}

#[test]
fn a_clone_for_reading_is_shared_by_all_who_ask_for_it() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    let first = place.json(&["clone", &url, "--read-only"]);
    assert_eq!(first["status"], "created");
    let would = place.json(&["clone", &url, "--read-only", "-n"]);
    assert_eq!(would["status"], "exists", "{would:#}");
    let second = place.json(&["clone", &url, "--read-only"]);
    assert_eq!(second["ok"], true, "{second:#}");
    assert_eq!(second["status"], "exists");
    for key in ["id", "path", "branch", "commit", "hub", "url", "scope"] {
        assert_eq!(second[key], first[key], "{key}");
    }
    assert_eq!(place.json(&["clones"])["count"], 1);
    let path = first["path"].as_str().unwrap();
    let again = place.colony(&["clone", &url, "--read-only"]);
    assert_eq!(again.trim_end(), path);
    // Another branch, other directories or another repository are not the same thing.
    sandbox.git(&["push", "-q", &url, "main:other"]);
    let other = place.json(&["clone", &url, "--read-only", "--branch", "other"]);
    assert_eq!(other["status"], "created", "{other:#}");
    let part = ["clone", &url, "--read-only", "--sparse", "dir"];
    assert_eq!(place.error(&part), "agent-exists");
    let elsewhere = sandbox.outside().join("elsewhere.git");
    let elsewhere = elsewhere.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", &url, elsewhere]);
    let foreign = place.json(&["clone", elsewhere, "--read-only"]);
    assert_eq!(foreign["status"], "created", "{foreign:#}");
    assert_ne!(foreign["path"], first["path"]);
    let foreign_again = place.json(&["clone", elsewhere, "--read-only"]);
    assert_eq!(foreign_again["status"], "exists");
    assert_eq!(foreign_again["path"], foreign["path"]);
    // That of an agent is its own.
    place.json(&["clone", &url, "--agent", "ada"]);
    assert_eq!(place.error(&["clone", &url, "--agent", "ada"]), "agent-exists");
}

#[test]
fn a_clone_that_fails_keeps_all_that_git_said() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    // One that is there and broken: git says more than one line.
    let broken = sandbox.outside().join("broken.git");
    let broken = broken.to_str().unwrap();
    sandbox.git(&["clone", "-q", "--bare", ".", broken]);
    fs::remove_dir_all(format!("{broken}/objects")).unwrap();
    fs::create_dir(format!("{broken}/objects")).unwrap();
    let refused = place.json(&["clone", &format!("file://{broken}"), "--read-only"]);
    assert_eq!(refused["ok"], false, "{refused:#}");
    let git = &refused["detail"]["git"];
    assert_eq!(git["exit"], 128, "{refused:#}");
    let said = git["stderr"].as_str().unwrap();
    assert!(said.lines().count() > 1, "{refused:#}");
    assert!(said.contains("fatal: "), "{said}");
    // Nobody listens there; what logs in is shown nowhere.
    let url = "http://ada:s3cret@127.0.0.1:1/r.git";
    let refused = place.json(&["clone", url, "--read-only"]);
    assert_eq!(refused["code"], "remote-unreachable", "{refused:#}");
    let git = &refused["detail"]["git"];
    assert_eq!(git["exit"], 128, "{refused:#}");
    let said = git["stderr"].as_str().unwrap();
    assert!(said.contains("127.0.0.1"), "{said}");
    let all = refused.to_string();
    assert!(!all.contains("s3cret") && !all.contains("ada:"), "{all}");
    // A fetch of a remote that is gone does the same.
    sandbox.git(&["remote", "add", "origin", url]);
    let refused = sandbox.json(&["sync", "--fetch"]);
    assert_eq!(refused["detail"]["git"]["exit"], 128, "{refused:#}");
    assert!(!refused.to_string().contains("s3cret"), "{refused:#}");
}

#[test]
fn commands_of_an_agent_outside_a_repository_act_on_its_clone() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    place.json(&["colony", "set", &url]);
    place.json(&["clones", "new", "--agent", "ada"]);
    let status = place.json(&["--agent", "ada", "status"]);
    assert_eq!(status["current_branch"], "main", "{status:#}");
    let path = place.json(&["agents", "path", "ada"])["path"].clone();
    let clone = sandbox.at(PathBuf::from(path.as_str().unwrap()));
    clone.write("a.txt", "changed\n");
    let commands: [&[&str]; 14] = [
        &["status"],
        &["diff"],
        &["agents"],
        &["agents", "path", "ada"],
        &["config", "list"],
        &["config", "get", "colony.keepDays", "--show-origin"],
        &["topology"],
        &["tools"],
        &["hooks"],
        &["map", "preview"],
        &["ops"],
        &["forks"],
        &["fleet"],
        &["checkpoint", "-m", "x", "-n"],
    ];
    for args in commands {
        let inside = clone.json(args);
        let outside = place.json(&[&["--agent", "ada"], args].concat());
        assert_ne!(outside["code"], "not-a-repository", "{args:?}");
        assert_eq!(outside["message"], inside["message"], "{args:?}");
        assert_eq!(outside["ok"], inside["ok"], "{args:?}");
    }
    let removed = place.json(&["agents", "remove", "ada"]);
    assert_eq!(removed["agent"], "ada", "{removed:#}");
    assert_eq!(place.error(&["agents", "path", "ada"]), "clone-not-found");
}

#[test]
fn one_of_several_colonies_is_chosen_by_a_person() {
    let sandbox = Sandbox::new();
    let url = remote(&sandbox);
    let place = nowhere(&sandbox);
    for name in ["two", "one"] {
        place.json(&["colony", "set", name, &url]);
    }
    let message = "2 colonies, and none is 'default': 'one', 'two'";
    for args in [
        &["--agent", "ada", "status"][..],
        &["--agent", "ada", "agents"],
        &["--agent", "ada", "map", "-n"],
        &["--agent", "ada", "clone"],
        &["--agent", "ada", "clone", "-n"],
        &["--agent", "ada", "mcp"],
        &["colony", "show"],
    ] {
        let refused = place.json(args);
        assert_eq!(refused["code"], "name-ambiguous", "{args:?} {refused:#}");
        assert_eq!(refused["message"], format!("{message}; nothing has changed"), "{args:?}");
        let hint = refused["hint"].as_str().unwrap();
        assert!(hint.starts_with("git colony clones new URL --agent "), "{hint}");
    }
    // The flag decides, as does a default.
    let made = place.json(&["clone", &url, "--agent", "ada"]);
    assert_eq!(made["ok"], true, "{made:#}");
    assert_eq!(place.json(&["--agent", "ada", "status"])["ok"], true);
    place.json(&["colony", "set", &url]);
    assert_eq!(place.error(&["--agent", "bob", "status"]), "clone-not-found");
    assert_eq!(place.json(&["clone", "--agent", "bob"])["ok"], true);
    assert_eq!(place.json(&["--agent", "bob", "status"])["ok"], true);
}

#[test]
fn a_server_for_an_agent_without_a_place_does_not_start() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    let refused = place.json(&["--agent", "ada", "mcp"]);
    assert_eq!(refused["code"], "not-a-repository", "{refused:#}");
}

#[test]
fn where_no_colony_is_noted_the_one_clone_of_that_name_is_meant() {
    let sandbox = Sandbox::new();
    let place = nowhere(&sandbox);
    let refused = place.json(&["--agent", "ada", "status"]);
    assert_eq!(refused["code"], "not-a-repository");
    assert!(refused["hint"].as_str().unwrap().starts_with("git colony clones colony set URL "));
    sandbox.json(&["agents", "new", "ada"]);
    let status = place.json(&["--agent", "ada", "status"]);
    assert_eq!(status["current_branch"], "fork/ada", "{status:#}");
    let taken = place.json(&["agents", "path", "ada", "--takeover"]);
    assert_eq!(taken["ok"], true, "{taken:#}");
}
