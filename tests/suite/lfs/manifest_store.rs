//! The store of large files that the manifest names, in the checkout of a person and in clones that exist; and the
//! warning before a push of large files without it.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;

use serde_json::Value;

use crate::support::{Sandbox, View};

const URL: &str = "https://user:secret@lfs.example.com/store";
const PLAIN: &str = "https://lfs.example.com/store";

/// Commits a mode of git-lfs in the manifest.
fn set_mode(view: &View, mode: &str, url: &str) {
    let mut manifest: Value = serde_json::from_str(&view.read(".colony/manifest.json")).unwrap();
    manifest["lfs"]["mode"] = mode.into();
    manifest["lfs"]["separate_url"] = Some(url).filter(|url| !url.is_empty()).into();
    view.write(".colony/manifest.json", manifest.to_string());
    view.colony(&["commit", "-m", mode, "--all"]);
}

fn set_up(mode: &str, url: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.colony(&["init"]);
    set_mode(&sandbox, mode, url);
    sandbox
}

fn store(view: &View) -> String {
    view.git_any(&["config", "--local", "lfs.url"]).trim().to_owned()
}

fn check(view: &View) -> Value {
    check_of(view, "git-lfs-store")
}

fn check_of(view: &View, name: &str) -> Value {
    let checks = view.json(&["doctor"])["checks"].clone();
    let found = checks.as_array().unwrap().iter();
    let mut found = found.filter(|check| check["name"] == name);
    found.next().cloned().unwrap_or(Value::Null)
}

#[test]
fn init_follows_the_manifest_and_deinit_takes_its_url_out() {
    let sandbox = set_up("separate", URL);
    let before = sandbox.read(".git/config");
    assert_eq!(check(&sandbox)["ok"], false);
    let dry = sandbox.json(&["init", "--dry-run"]);
    let told = format!("lfs.url: large files are at {PLAIN}");
    assert_eq!(dry["set_up"], serde_json::json!([told]));
    assert_eq!(sandbox.read(".git/config"), before);
    sandbox.colony(&["init"]);
    assert_eq!(store(&sandbox), PLAIN);
    assert!(!sandbox.read(".git/config").contains("secret"));
    assert_eq!(check(&sandbox)["ok"], true);
    let again = sandbox.json(&["init"]);
    assert_eq!(again["set_up"], serde_json::json!([]));
    let removed = sandbox.json(&["deinit"])["removed"].to_string();
    assert!(removed.contains(&format!("lfs.url = {PLAIN}")), "{removed}");
    assert_eq!(store(&sandbox), "");
    assert!(!sandbox.read(".git/config").contains("lfs.example.com"));
}

#[test]
fn another_mode_removes_our_url_and_no_url_of_the_user() {
    let sandbox = set_up("separate", URL);
    sandbox.colony(&["init"]);
    set_mode(&sandbox, "same_remote", "");
    assert_eq!(check(&sandbox)["fix"], "git colony init");
    sandbox.colony(&["init"]);
    assert_eq!((store(&sandbox).as_str(), check(&sandbox)), ("", Value::Null));
    sandbox.git(&["config", "lfs.url", "https://me:word@mine.example.com/lfs"]);
    set_mode(&sandbox, "separate", URL);
    sandbox.colony(&["init"]);
    assert_eq!(store(&sandbox), "https://me:word@mine.example.com/lfs");
    let found = check(&sandbox);
    assert_eq!(found["ok"], false, "{found:#}");
    let detail = found["detail"].as_str().unwrap();
    assert!(detail.contains("mine.example.com") && !detail.contains("word"), "{detail}");
    sandbox.colony(&["deinit"]);
    assert_eq!(store(&sandbox), "https://me:word@mine.example.com/lfs");
}

#[test]
fn a_url_that_no_content_may_name_stops_init_at_once() {
    for url in ["file:///tmp/store", "ext::sh -c true", "http://lfs.example.com/s"] {
        let sandbox = set_up("separate", url);
        let before = (sandbox.read(".git/config"), sandbox.git(&["rev-parse", "HEAD"]));
        assert_eq!(sandbox.json(&["init"])["code"], "url-refused", "{url}");
        let after = (sandbox.read(".git/config"), sandbox.git(&["rev-parse", "HEAD"]));
        assert_eq!(before, after);
        assert_eq!(check(&sandbox)["ok"], false);
    }
}

#[test]
fn clones_follow_the_manifest_of_the_default_branch() {
    let sandbox = set_up("same_remote", "");
    let made = sandbox.json(&["agents", "new", "ada"]);
    let clone = sandbox.at(made["path"].as_str().unwrap().into());
    assert_eq!(store(&clone), "");
    set_mode(&sandbox, "separate", URL);
    let refreshed = sandbox.json(&["clones", "refresh", "ada"]);
    assert_eq!(refreshed["lfs_url"], PLAIN, "{refreshed:#}");
    assert_eq!(store(&clone), PLAIN);
    // An agent does not choose the store.
    set_mode(&clone, "separate", "https://other.example.com/lfs");
    let refreshed = sandbox.json(&["clones", "refresh", "ada"]);
    assert_eq!(refreshed["lfs_url"], Value::Null, "{refreshed:#}");
    assert_eq!(store(&clone), PLAIN);
    set_mode(&sandbox, "same_remote", "");
    assert_eq!(sandbox.json(&["clones", "refresh", "ada"])["lfs_url"], "");
    assert_eq!(store(&clone), "");
}

#[test]
fn a_push_of_large_files_without_a_pattern_is_warned_of() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["hooks", "install"]);
    let bare = sandbox.outside().join("remote.git");
    sandbox.git(&["init", "-q", "--bare", bare.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    sandbox.git(&["config", "core.bigFileThreshold", "1m"]);
    let view = sandbox.with_program();
    let push = || {
        let output = view.git_output(&["push", "-q", "origin", "main"]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let large = |path: &str, bytes: u64| {
        let file = fs::File::create(sandbox.path(path)).unwrap();
        file.set_len(bytes).unwrap();
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", path]);
    };
    large("small.bin", 100 << 20);
    assert_eq!(push(), "");
    large("big one.bin", 101 << 20);
    let said = push();
    assert!(
        said.contains("warning: this push publishes 'big one.bin' (101 MiB) as an ordinary object"),
        "{said}"
    );
    // It is there now, and one that attributes give to git-lfs is named by others.
    sandbox.write(".gitattributes", "*.lfs filter=lfs\n");
    large("other.lfs", 102 << 20);
    assert_eq!(push(), "");
}

#[test]
fn a_kill_between_the_two_writes_makes_no_url_the_users() {
    let sandbox = set_up("separate", URL);
    let killed = |key: &str| {
        let script = format!("case \"$*\" in *'{key}'*) kill -9 $PPID; exit 1;; esac");
        let view = sandbox.stand_in("git", &script);
        let ended = view.program().args(["init"]).output().unwrap();
        assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
    };
    killed("--replace-all lfs.url");
    assert_eq!(store(&sandbox), "");
    sandbox.colony(&["init"]);
    assert_eq!(store(&sandbox), PLAIN);
    // The same from one URL to another, at each of the writes.
    let mut last = PLAIN.to_owned();
    for (number, at) in
        ["--replace-all colony.lfsUrl", "--replace-all lfs.url"].into_iter().enumerate()
    {
        let next = format!("https://other{number}.example.com/store");
        set_mode(&sandbox, "separate", &next);
        assert_eq!(store(&sandbox), last);
        killed(at);
        sandbox.colony(&["init"]);
        assert_eq!(store(&sandbox), next, "{at}");
        last = next;
    }
    sandbox.colony(&["deinit"]);
    assert_eq!(store(&sandbox), "");
}

#[test]
fn filters_that_the_manifest_does_not_want_stay_and_are_named() {
    let sandbox = set_up("disabled", "");
    let filters = |sandbox: &Sandbox| sandbox.git(&["config", "--get", "filter.lfs.clean"]);
    let before = filters(&sandbox);
    sandbox.colony(&["init"]);
    assert_eq!(filters(&sandbox), before, "files may be pointers");
    let found = check_of(&sandbox, "git-lfs-mode");
    assert_eq!(found["ok"], false);
    assert!(found["fix"].as_str().unwrap().starts_with("git colony init --lfs "), "{found:#}");
    let wanted = sandbox.copy("wanted");
    wanted.colony(&["init", "--lfs"]);
    assert_eq!(check_of(&wanted, "git-lfs-mode"), Value::Null);
    // Without lines the filters alone are left.
    let attributes = sandbox.read(".gitattributes");
    let kept = attributes.lines().filter(|line| !line.contains("lfs"));
    let kept: Vec<_> = kept.collect();
    sandbox.write(".gitattributes", kept.join("\n") + "\n");
    sandbox.colony(&["commit", "-m", "no git-lfs", "--all"]);
    let found = check_of(&sandbox, "git-lfs-mode");
    assert_eq!(found["fix"], "git lfs uninstall --local");
    sandbox.git(&["lfs", "uninstall", "--local"]);
    assert_eq!(check_of(&sandbox, "git-lfs-mode"), Value::Null);
}
