//! What a clone has of the checkout it was made from: filters and other settings about files, and nothing of a person.

use std::fs;
use std::path::PathBuf;

use crate::support::{Sandbox, View, write_program};

/// Makes an agent; returns the view of its clone.
fn agent(desk: &Sandbox) -> View {
    let made = desk.json(&["agents", "new", "ada"]);
    assert_eq!(made["ok"], true, "{made:#}");
    desk.at(PathBuf::from(made["path"].as_str().unwrap()))
}

/// A checkout with a filter of its own configuration that hides the content of `*.secret`.
fn desk_with_filter() -> Sandbox {
    let desk = Sandbox::new();
    desk.write(".gitattributes", "*.secret filter=hide\n");
    desk.git(&["config", "filter.hide.clean", "tr a-z A-Z"]);
    desk.git(&["config", "filter.hide.smudge", "tr A-Z a-z"]);
    desk.write("key.secret", "swordfish\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-q", "-m", "a filtered file"]);
    assert_eq!(desk.git(&["show", "HEAD:key.secret"]), "SWORDFISH");
    desk
}

#[test]
fn a_filter_of_the_checkout_runs_in_its_clones() {
    let desk = desk_with_filter();
    let ada = agent(&desk);
    assert_eq!(ada.read("key.secret"), "swordfish\n");
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    ada.write("key.secret", "open sesame\n");
    ada.colony(&["checkpoint", "-m", "by a checkpoint"]);
    assert_eq!(ada.git(&["show", "HEAD:key.secret"]), "OPEN SESAME");
    desk.colony(&["merge", "ada"]);
    assert_eq!(desk.read("key.secret"), "open sesame\n");
    ada.write("new.secret", "by git\n");
    ada.git(&["add", "-A"]);
    ada.git(&["commit", "-q", "-m", "by git"]);
    assert_eq!(ada.git(&["show", "HEAD:new.secret"]), "BY GIT");
}

#[test]
fn a_filter_that_cannot_run_in_a_clone_commits_nothing() {
    let desk = Sandbox::new();
    let program = desk.outside().join("hide");
    write_program(&program, "#!/bin/sh\nexec tr a-z A-Z\n");
    desk.write(".gitattributes", "*.secret filter=hide\n");
    desk.git(&["config", "filter.hide.clean", program.to_str().unwrap()]);
    desk.write("key.secret", "swordfish\n");
    desk.colony(&["checkpoint", "-m", "a filtered file"]);
    let ada = agent(&desk);
    fs::remove_file(&program).unwrap();
    let before = ada.git(&["rev-parse", "HEAD"]);
    ada.write("key.secret", "open sesame\n");
    assert!(!ada.try_git(&["add", "key.secret"]), "git refuses it as well");
    let refused = ada.json(&["checkpoint", "-m", "x"]);
    assert_eq!(refused["code"], "filter-missing", "{refused:#}");
    let said = refused["message"].as_str().unwrap();
    let missing = format!(
        "cannot store 'key.secret': its required filter 'hide' needs '{}', not installed; nothing has changed",
        program.display()
    );
    assert_eq!(said, missing);
    assert_eq!(ada.error(&["commit", "-m", "x", "key.secret"]), "filter-missing");
    assert_eq!(ada.git(&["rev-parse", "HEAD"]), before);
    let plain = ada.git(&["hash-object", "--no-filters", "key.secret"]);
    assert!(!ada.try_git(&["cat-file", "-e", plain.trim()]), "the plain text is stored nowhere");
}

#[test]
fn a_clone_gets_lost_filters_back_before_it_commits() {
    let desk = Sandbox::new();
    desk.write(".gitattributes", "*.secret filter=hide\n");
    desk.git(&["config", "filter.hide.clean", "tr a-z A-Z"]);
    desk.write("key.secret", "swordfish\n");
    desk.colony(&["checkpoint", "-m", "a filtered file"]);
    let ada = agent(&desk);
    let lose = || ada.git(&["config", "--file", ".git/config", "--unset-all", "include.path"]);
    lose();
    ada.write("key.secret", "open sesame\n");
    ada.colony(&["commit", "-m", "x", "key.secret"]);
    assert_eq!(ada.git(&["show", "HEAD:key.secret"]), "OPEN SESAME");
    lose();
    desk.colony(&["clones", "refresh", "ada"]);
    assert_eq!(ada.git(&["config", "filter.hide.clean"]), "tr a-z A-Z");
}

#[test]
fn nothing_of_a_person_or_a_remote_is_in_a_clone() {
    let desk = Sandbox::new();
    let included = desk.outside().join("included");
    fs::write(&included, "[diff]\n\talgorithm = histogram\n[alias]\n\tx = !false\n").unwrap();
    for (key, value) in [
        ("include.path", included.to_str().unwrap()),
        ("branch.main.description", "MINE"),
        ("colony.publish.https://example.com/x.git", "MINE"),
        ("core.fsmonitor", "MINE"),
        ("core.sshCommand", "MINE"),
        ("credential.helper", "MINE"),
        ("extensions.mine", "MINE"),
        ("gc.auto", "12345"),
        ("http.extraHeader", "MINE"),
        ("maintenance.strategy", "MINE"),
        ("url.MINE.insteadOf", "x"),
        ("user.name", "MINE"),
        ("user.signingKey", "MINE"),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("submodule.s.url", "https://me:MINE@example.com/s.git"),
        ("core.excludesFile", "rules"),
        ("merge.conflictStyle", "diff3"),
    ] {
        desk.git(&["config", key, value]);
    }
    let ada = agent(&desk);
    let all = ada.git(&["config", "--list", "--includes"]);
    assert!(!all.contains("MINE") && !all.contains("12345"), "{all}");
    let value = |key: &str| ada.git(&["config", key]).trim().to_owned();
    assert_eq!(value("diff.algorithm"), "histogram");
    assert_eq!(value("merge.conflictStyle"), "diff3");
    assert_eq!(value("core.excludesFile"), desk.path("rules").to_str().unwrap());
    assert_eq!(value("submodule.s.url"), "https://example.com/s.git");
    assert_eq!((value("commit.gpgSign"), value("tag.gpgSign")), ("false".into(), "false".into()));
    assert_eq!(value("user.name"), "agent:ada:agent");
    assert!(!ada.try_git(&["config", "alias.x"]));
    ada.git(&["config", "merge.conflictStyle", "zdiff3"]);
    assert_eq!(value("merge.conflictStyle"), "zdiff3", "a setting of the clone wins");
}

#[test]
fn settings_that_another_user_may_write_are_not_taken_over() {
    let desk = desk_with_filter();
    desk.git(&["config", "diff.algorithm", "histogram"]);
    desk.set_mode(".git/config", 0o666);
    let made = desk.run(&["agents", "new", "ada"]);
    assert_eq!(made.code, 128, "{}", made.stderr);
    let refused = "its required filter 'hide' has no command 'smudge'";
    assert!(made.stderr.contains(refused), "{}", made.stderr);
    desk.set_mode("key.secret", 0o644);
    desk.git(&["rm", "-q", "key.secret"]);
    desk.git(&["commit", "-q", "-m", "no filtered file"]);
    let made = desk.run(&["agents", "new", "ada"]);
    let note = format!(
        "note: clones do not take over settings of '{}': another user may write there\n",
        desk.path(".git/config").display()
    );
    assert!(made.stderr.contains(&note), "{}", made.stderr);
    let ada = desk.at(PathBuf::from(made.stdout.trim()));
    assert!(!ada.try_git(&["config", "diff.algorithm"]));
    ada.write("key.secret", "swordfish\n");
    assert_eq!(ada.error(&["checkpoint", "-m", "x"]), "filter-missing");
    assert!(!ada.try_git(&["add", "key.secret"]));
}

#[test]
fn a_changed_setting_reaches_the_clone() {
    let desk = desk_with_filter();
    let ada = agent(&desk);
    desk.git(&["config", "filter.hide.clean", "tr a-z0 A-Z1"]);
    ada.write("key.secret", "x0\n");
    ada.colony(&["checkpoint", "-m", "by the new filter"]);
    assert_eq!(ada.git(&["show", "HEAD:key.secret"]), "X1");
    desk.git(&["config", "diff.algorithm", "patience"]);
    let refreshed = desk.json(&["clones", "refresh", "ada"]);
    assert_eq!(refreshed["settings_renewed"], true, "{refreshed:#}");
    assert_eq!(ada.git(&["config", "diff.algorithm"]).trim(), "patience");
    let again = desk.json(&["clones", "refresh", "ada"]);
    assert_eq!(again["settings_renewed"], serde_json::Value::Null);
}

#[test]
fn a_clone_keeps_its_settings_when_its_checkout_has_moved() {
    let desk = desk_with_filter();
    let ada = agent(&desk);
    fs::rename(&desk.root, desk.outside().join("moved")).unwrap();
    ada.write("key.secret", "still\n");
    ada.colony(&["checkpoint", "-m", "alone"]);
    assert_eq!(ada.git(&["show", "HEAD:key.secret"]), "STILL");
}

#[test]
fn others_see_the_line_endings_of_the_checkout_in_a_clone() {
    let desk = Sandbox::new();
    desk.git(&["config", "core.autocrlf", "true"]);
    desk.git(&["config", "core.fileMode", "false"]);
    desk.write("lines.txt", "one\r\ntwo\r\n");
    desk.colony(&["checkpoint", "-m", "lines"]);
    let ada = agent(&desk);
    assert_eq!(ada.read("lines.txt"), "one\r\ntwo\r\n");
    ada.set_mode("lines.txt", 0o755);
    ada.write("lines.txt", "one\r\ntwo\r\n");
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    let fleet = desk.json(&["fleet"]);
    assert_eq!(fleet["agents"][0]["work"], "idle", "{fleet:#}");
}

/// Writes a hook that notes its name and directory beside the checkout.
fn write_hook(desk: &View, path: &str) {
    let log = desk.outside().join("hooks.log");
    let name = path.rsplit('/').next().unwrap();
    let script = format!("#!/bin/sh\necho \"{name} ${{PWD##*/}}\" >>'{}'\n", log.display());
    desk.write_program(path, script);
}

fn hooks_that_ran(desk: &View) -> String {
    let log = desk.outside().join("hooks.log");
    let ran = fs::read_to_string(&log).unwrap_or_default();
    fs::write(log, "").unwrap();
    ran
}

#[test]
fn hooks_of_the_checkout_run_in_its_clones() {
    let desk = Sandbox::new();
    for hook in ["pre-commit", "commit-msg"] {
        write_hook(&desk, &format!(".git/hooks/{hook}"));
    }
    write_hook(&desk, ".git/hooks/pre-push.sample");
    let made = desk.json(&["agents", "new", "ada"]);
    let named = format!("hooks of '{}': pre-commit, commit-msg", desk.path(".git/hooks").display());
    assert_eq!(made["setup"][0], named, "{made:#}");
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    ada.write("a.txt", "by git\n");
    ada.git(&["commit", "-q", "-a", "-m", "by git"]);
    assert_eq!(hooks_that_ran(&desk), "pre-commit main\ncommit-msg main\n");
    ada.write("a.txt", "by git-colony\n");
    ada.colony(&["commit", "-m", "by git-colony", "--all"]);
    assert_eq!(hooks_that_ran(&desk), "pre-commit main\ncommit-msg main\n");
    // Ours in the checkout do not run twice, and what was there before still does.
    desk.colony(&["hooks", "install"]);
    let refreshed = desk.json(&["clones", "refresh", "ada"]);
    assert_eq!(refreshed["settings_renewed"], true, "{refreshed:#}");
    ada.write("a.txt", "again\n");
    ada.git(&["commit", "-q", "-a", "-m", "again"]);
    assert_eq!(hooks_that_ran(&desk), "pre-commit main\ncommit-msg main\n");
}

#[test]
fn an_ignored_folder_of_hooks_works_in_a_clone() {
    let desk = Sandbox::new();
    desk.write(".gitignore", ".husky/_/\n");
    desk.colony(&["checkpoint", "-m", "ignored"]);
    write_hook(&desk, ".husky/_/pre-commit");
    desk.git(&["config", "core.hooksPath", ".husky/_"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let named = format!("hooks of '{}': pre-commit", desk.path(".husky/_").display());
    assert_eq!(made["setup"][0], named, "{made:#}");
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    ada.write("a.txt", "x\n");
    ada.git(&["commit", "-q", "-a", "-m", "x"]);
    assert_eq!(hooks_that_ran(&desk), "pre-commit main\n");
}

#[test]
fn a_hook_that_another_user_may_write_runs_in_no_clone() {
    let desk = Sandbox::new();
    write_hook(&desk, ".git/hooks/pre-commit");
    desk.set_mode(".git/hooks/pre-commit", 0o757);
    let made = desk.run(&["agents", "new", "ada"]);
    let hook = desk.path(".git/hooks/pre-commit");
    let note =
        format!("note: clones do not run '{}': another user may write there\n", hook.display());
    assert!(made.stderr.contains(&note), "{}", made.stderr);
    let ada = desk.at(PathBuf::from(made.stdout.trim()));
    ada.write("a.txt", "x\n");
    ada.git(&["commit", "-q", "-a", "-m", "x"]);
    assert_eq!(hooks_that_ran(&desk), "");
}

#[test]
fn rules_of_the_git_directory_come_along_and_are_renewed() {
    let desk = Sandbox::new();
    desk.write(".git/info/exclude", "*.log\n");
    desk.write(".git/info/attributes", "*.bin -text\n");
    let ada = agent(&desk);
    ada.write("x.log", "x\n");
    assert_eq!(ada.git(&["status", "--porcelain"]), "");
    assert_eq!(ada.git(&["check-attr", "text", "x.bin"]).trim(), "x.bin: text: unset");
    let own = ada.read(".git/info/exclude") + "!x.log\n";
    ada.write(".git/info/exclude", own);
    assert_eq!(ada.git(&["status", "--porcelain"]), "?? x.log", "a rule of the clone wins");
    desk.write(".git/info/exclude", "*.tmp\n");
    ada.write("x.tmp", "x\n");
    ada.colony(&["checkpoint", "-m", "x"]);
    assert_eq!(ada.git(&["ls-files", "x.*"]), "x.log");
    assert!(ada.read(".git/info/exclude").ends_with("!x.log\n"));
    desk.remove(".git/info/exclude");
    desk.colony(&["clones", "refresh", "ada"]);
    assert_eq!(ada.read(".git/info/exclude"), "!x.log\n");
}

#[test]
fn tags_of_the_checkout_are_in_its_clones() {
    let desk = Sandbox::new();
    desk.git(&["tag", "-a", "v1", "-m", "one"]);
    desk.colony(&["checkpoint", "-m", "no tag"]);
    let ada = agent(&desk);
    assert_eq!(ada.git(&["describe"]), desk.git(&["describe"]));
    assert_eq!(ada.git(&["tag"]), "v1");
    ada.git(&["tag", "mine"]);
    desk.git(&["tag", "v2"]);
    desk.git(&["tag", "mine", "v1"]);
    desk.json(&["clones", "refresh", "ada"]);
    assert_eq!(ada.git(&["tag"]), "mine\nv1\nv2");
    assert_ne!(ada.git(&["rev-parse", "mine"]), desk.git(&["rev-parse", "mine"]));
    let removed = desk.json(&["agents", "remove", "ada", "--force"]);
    assert_eq!(removed["ok"], true, "{removed:#}");
}

#[test]
fn a_submodule_comes_from_where_the_checkout_has_it() {
    let desk = Sandbox::new();
    let other = desk.outside().join("sub");
    let sub = desk.at(other.clone());
    desk.git(&["init", "-q", "-b", "main", other.to_str().unwrap()]);
    let who = ["-c", "user.name=Sub", "-c", "user.email=sub@example.com"];
    sub.git(&[&who[..], &["commit", "-q", "--allow-empty", "-m", "sub"]].concat());
    let allow = ["-c", "protocol.file.allow=always"];
    desk.git(&[&allow[..], &["submodule", "add", "-q", "../sub", "vendor"]].concat());
    desk.git(&["commit", "-q", "-m", "a submodule"]);
    let made = desk.run(&["agents", "new", "ada"]);
    let note = "note: 1 submodule is empty in the clone; to fill in what the agent needs: \
                git submodule update --init PATH\n";
    assert!(made.stderr.contains(note), "{}", made.stderr);
    let ada = desk.at(PathBuf::from(made.stdout.trim()));
    ada.git(&[&allow[..], &["submodule", "update", "-q", "--init", "vendor"]].concat());
    assert_eq!(ada.at(ada.path("vendor")).git(&["log", "--format=%s"]), "sub");
}

#[test]
fn a_sparse_checkout_has_sparse_clones() {
    let desk = Sandbox::new();
    desk.write("docs/a.md", "a\n");
    desk.write("src/b.rs", "b\n");
    desk.colony(&["checkpoint", "-m", "directories"]);
    desk.git(&["sparse-checkout", "set", "--cone", "docs"]);
    let made = desk.json(&["agents", "new", "ada"]);
    assert_eq!(made["sparse"], serde_json::json!(["docs"]), "{made:#}");
    let ada = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    assert!(ada.path("docs/a.md").exists() && !ada.path("src").exists());
    let made = desk.json(&["agents", "new", "bob", "--no-sparse"]);
    assert_eq!(made["sparse"], serde_json::json!([]), "{made:#}");
    desk.git(&["sparse-checkout", "set", "--no-cone", "/docs/"]);
    let made = desk.run(&["agents", "new", "eve"]);
    assert!(made.stderr.contains("has patterns, not directories"), "{}", made.stderr);
}

#[test]
fn a_removed_clone_keeps_filtered_files_as_git_stores_them() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "filter.secret.clean", "tr a-z n-za-m"]);
    sandbox.git(&["config", "filter.secret.smudge", "tr n-za-m a-z"]);
    sandbox.write(".gitattributes", "secrets/** filter=secret\n");
    sandbox.write("secrets/one", "first words\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-qm", "secret"]);
    let made = sandbox.json(&["agents", "new", "ada"]);
    let clone = sandbox.at(made["path"].as_str().unwrap().into());
    clone.write("secrets/one", "plain words\n");
    clone.write("secrets/two", "new words\n");
    let removed = sandbox.json(&["agents", "remove", "ada"]);
    assert_eq!(removed["ok"], true, "{removed:#}");
    // Nowhere in the hub is a text as it is on disk.
    let hub = sandbox.at(made["hub"].as_str().unwrap().into());
    let kept = hub.git(&["for-each-ref", "--format=%(refname)", "refs/colony/kept"]);
    let state = kept.lines().find(|name| name.ends_with("/uncommitted")).expect(&kept);
    for (path, stored) in [("secrets/one", "cynva jbeqf"), ("secrets/two", "arj jbeqf")] {
        assert_eq!(hub.git(&["show", &format!("{state}:{path}")]), stored);
    }
    let restored = sandbox.json(&["agents", "restore", "ada"]);
    assert_eq!(restored["ok"], true, "{restored:#}");
    let again = sandbox.at(restored["path"].as_str().unwrap().into());
    assert_eq!(again.read("secrets/one"), "plain words\n");
    assert_eq!(again.read("secrets/two"), "new words\n");
    assert_eq!(again.git(&["status", "--short"]), " M secrets/one\n?? secrets/two");
}

#[test]
fn a_clone_with_large_files_has_our_hooks_and_the_projects() {
    let sandbox = Sandbox::new();
    let upstream = sandbox.outside().join("upstream.git");
    sandbox.git(&["init", "-q", "--bare", upstream.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", upstream.to_str().unwrap()]);
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.git(&["lfs", "track", "*.bin"]);
    sandbox.write("large.bin", "data\n");
    for name in ["pre-push", "post-checkout", "post-commit", "post-merge"] {
        let hook = format!(".git/hooks/{name}");
        sandbox.write_program(&hook, format!("#!/bin/sh\necho {name} >>\"$RAN\"\n"));
    }
    let ran = sandbox.outside().join("ran");
    let desk = sandbox.with("RAN", &ran);
    desk.git(&["add", "."]);
    desk.git(&["commit", "-qm", "large"]);
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(made["path"].as_str().unwrap().into());
    assert_eq!(clone.read("large.bin"), "data\n");
    std::fs::write(&ran, "").unwrap();
    clone.write("new.bin", "more\n");
    clone.git(&["add", "."]);
    clone.git(&["commit", "-qm", "more"]);
    let said = clone.with_program().git_output(&["push", "origin", "HEAD:main"]);
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(!said.status.success() && told.contains("no person has allowed"), "{told}");
    assert!(std::fs::read_to_string(&ran).unwrap().contains("post-commit"), "{told}");
    let state = clone.json(&["hooks"]);
    assert!(!state.to_string().contains("replaced"), "{state:#}");
}
