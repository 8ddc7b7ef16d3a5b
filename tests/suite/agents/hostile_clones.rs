//! A clone whose owner has named a program wherever git knows a setting for one: no command of others starts any, and
//! nothing that the owner has written is lost.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Sandbox, View, write_program};

/// The settings of git, git-lfs and git-colony that name a program; `TRAP` is the one that leaves a mark.
const PROGRAMS: &[(&str, &str)] = &[
    ("alias.status", "!TRAP"),
    ("alias.update-ref", "!TRAP"),
    ("colony.clone.run", "TRAP"),
    ("colony.source.trap.command", "TRAP"),
    ("core.alternateRefsCommand", "TRAP"),
    ("core.askPass", "TRAP"),
    ("core.editor", "TRAP"),
    ("core.fsmonitor", "TRAP"),
    ("core.gitProxy", "TRAP"),
    ("core.pager", "TRAP"),
    ("core.sshCommand", "TRAP"),
    ("credential.helper", "!TRAP"),
    ("diff.external", "TRAP"),
    ("diff.trap.command", "TRAP"),
    ("diff.trap.textconv", "TRAP"),
    ("filter.trap.clean", "TRAP"),
    ("filter.trap.process", "TRAP"),
    ("filter.trap.required", "true"),
    ("filter.trap.smudge", "TRAP"),
    ("filter.lfs.clean", "TRAP"),
    ("filter.lfs.process", "TRAP"),
    ("gpg.program", "TRAP"),
    ("gpg.ssh.defaultKeyCommand", "TRAP"),
    ("gpg.ssh.program", "TRAP"),
    ("gpg.x509.program", "TRAP"),
    ("commit.gpgSign", "true"),
    ("tag.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("interactive.diffFilter", "TRAP"),
    ("lfs.customtransfer.trap.path", "TRAP"),
    ("lfs.standalonetransferagent", "trap"),
    ("lfs.extension.trap.clean", "TRAP"),
    ("merge.default", "trap"),
    ("merge.trap.driver", "TRAP"),
    ("mergetool.trap.cmd", "TRAP"),
    ("pager.colony", "TRAP"),
    ("pager.diff", "TRAP"),
    ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"),
    ("remote.origin.receivepack", "TRAP"),
    ("remote.origin.uploadpack", "TRAP"),
    ("remote.origin.vcs", "ext"),
    ("remote.origin.promisor", "true"),
    ("extensions.partialClone", "origin"),
    ("sendemail.sendmailCmd", "TRAP"),
    ("sequence.editor", "TRAP"),
    ("submodule.sub.update", "!TRAP"),
    ("trailer.trap.command", "TRAP"),
    ("trailer.trap.cmd", "TRAP"),
    ("uploadpack.packObjectsHook", "TRAP"),
    ("web.browser", "trap"),
];

/// The hooks that git knows.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// What others run about the clone of `ada`; whether it succeeds does not matter here.
const COMMANDS: &[&str] = &[
    "agents",
    "agents path ada",
    "agents guide",
    "status",
    "topology",
    "ops",
    "forks",
    "fleet",
    "clones",
    "clones setup ada -n",
    "clones setup ada",
    "clones refresh ada -n",
    "clones refresh ada",
    "diff ada",
    "diff ada@",
    "diff ada@ --stat",
    "log ada",
    "log ada@",
    "merge ada -n",
    "merge ada",
    "cherry-pick main..ada -n",
    "merge ada@ -n",
    "restore ada@ -n",
    "restore ada@",
    "undo",
    "fork from-ada --from ada",
    "decisions",
    "checkpoints",
    "doctor",
    "doctor --deep",
    "groups --agents",
    "session list",
    "blackboard list",
    "lfs status",
    "lfs migrate -n",
    "deinit -n",
    "clones gc",
    "map",
    "search one",
    "context one",
    "sync -n",
    "agents remove ada -n",
];

fn trap(desk: &View) -> (String, PathBuf) {
    let (program, marks) = (desk.outside().join("trap"), desk.outside().join("marks"));
    let text =
        format!("#!/bin/sh\necho \"$* ${{GITHUB_TOKEN-}} $PWD\" >>'{}'\nexit 1\n", marks.display());
    write_program(&program, text);
    (program.to_str().unwrap().to_owned(), marks)
}

/// Names the trap in every place of a configuration, and gives it reasons to run.
fn arm(clone: &View, program: &str) {
    let git_dir = PathBuf::from(clone.git(&["rev-parse", "--absolute-git-dir"]));
    clone.git(&["config", "extensions.worktreeConfig", "true"]);
    for (place, options) in
        [("config", &["config", "--replace-all"]), ("worktree", &["config", "--worktree"])]
    {
        for (key, value) in PROGRAMS {
            let value = value.replace("TRAP", &format!("{program} {place} {key}"));
            clone.git(&[options.as_slice(), &[key, &value]].concat());
        }
    }
    let included = git_dir.join("included");
    for (key, value) in PROGRAMS {
        let value = value.replace("TRAP", &format!("{program} included {key}"));
        clone.git(&["config", "-f", included.to_str().unwrap(), key, &value]);
    }
    let included = included.to_str().unwrap();
    clone.git(&["config", "include.path", included]);
    clone.git(&["config", "includeIf.gitdir:/.path", included]);
    let hooks = clone.outside().join("hooks-of-ada");
    clone.git(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    for folder in [hooks, git_dir.join("hooks")] {
        fs::create_dir_all(&folder).unwrap();
        for hook in HOOKS {
            let text = format!("#!/bin/sh\nexec {program} hook {hook}\n");
            write_program(&folder.join(hook), text);
        }
    }
    let attributes = "*.txt filter=trap diff=trap merge=trap\n*.bin filter=lfs\n";
    fs::create_dir_all(git_dir.join("info")).unwrap();
    fs::write(git_dir.join("info/attributes"), attributes).unwrap();
    clone.write(".gitattributes", attributes);
    clone.write("a.txt", "edited by ada\n");
    clone.write("new.txt", "new of ada\n");
    clone.write("new.bin", "large of ada\n");
}

/// A clone of `ada` with work of hers, and a submodule that is as hostile.
fn clone_of_ada(desk: &View, program: &str) -> View {
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    clone.write("work.txt", "one\n");
    let checkpoint = clone.json(&["checkpoint", "-m", "work", "--agent", "ada"]);
    assert_eq!(checkpoint["ok"], true, "{checkpoint:#}");
    let sub = clone.at(clone.path("sub"));
    clone.git(&["init", "-q", "sub"]);
    sub.write("s.txt", "s\n");
    sub.git(&["add", "."]);
    sub.git(&["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "sub"]);
    clone.git(&["add", "sub"]);
    arm(&sub, program);
    arm(&clone, program);
    clone
}

fn assert_unmarked(marks: &Path, command: &str) {
    let found = fs::read_to_string(marks).unwrap_or_default();
    assert_eq!(found, "", "by '{command}'");
}

fn run_all(view: &View, marks: &Path) {
    for command in COMMANDS {
        let answer = view.json(&command.split(' ').collect::<Vec<_>>());
        assert_ne!(answer["code"], "usage", "{command}: {answer:#}");
        assert_unmarked(marks, command);
    }
}

/// A repository with a remote, so that a refresh asks somebody.
fn with_remote() -> Sandbox {
    let desk = Sandbox::new();
    let bare = desk.outside().join("remote.git");
    let bare = bare.to_str().unwrap();
    desk.git(&["clone", "-q", "--bare", desk.root.to_str().unwrap(), bare]);
    desk.git(&["remote", "add", "origin", bare]);
    desk.git(&["fetch", "-q", "origin"]);
    desk
}

/// The content of a file in what the hub keeps of a removed clone.
fn kept(desk: &View, hub: &str, path: &str) -> Vec<String> {
    let refs = desk.git(&["-C", hub, "for-each-ref", "--format=%(refname)", "refs/colony/kept/"]);
    let files = refs.lines().map(|name| format!("{name}^{{commit}}:{path}"));
    files
        .filter(|file| desk.try_git(&["-C", hub, "cat-file", "-e", file]))
        .map(|file| desk.git(&["-C", hub, "show", &file]))
        .collect()
}

#[test]
fn no_command_of_the_user_starts_a_program_of_a_clone() {
    let desk = with_remote();
    let view = desk.with("GITHUB_TOKEN", "secret-token");
    let (program, marks) = trap(&desk);
    clone_of_ada(&desk, &program);
    fs::remove_file(&marks).ok();
    run_all(&view, &marks);
    let nowhere = desk.outside().join("nowhere");
    fs::create_dir_all(&nowhere).unwrap();
    run_all(&view.at(nowhere), &marks);
    let removed = view.json(&["agents", "remove", "ada", "--force"]);
    assert_unmarked(&marks, "agents remove");
    let hub = removed["hub"].as_str().unwrap_or_else(|| panic!("{removed:#}"));
    assert!(kept(&desk, hub, "a.txt").contains(&"edited by ada".to_owned()));
    assert!(kept(&desk, hub, "new.txt").contains(&"new of ada".to_owned()));
}

#[test]
fn no_command_of_another_agent_starts_a_program_of_a_clone() {
    let desk = with_remote();
    let (program, marks) = trap(&desk);
    let bob = desk.json(&["agents", "new", "bob"]);
    clone_of_ada(&desk, &program);
    fs::remove_file(&marks).ok();
    let bob = desk.at(PathBuf::from(bob["path"].as_str().unwrap()));
    let bob = bob.with("GITHUB_TOKEN", "secret-token").with("COLONY_AGENT", "bob");
    run_all(&bob, &marks);
    let removed = bob.json(&["clones", "remove", "ada", "--force"]);
    assert_unmarked(&marks, "clones remove");
    assert_eq!(removed["ok"], true, "{removed:#}");
}

#[test]
fn a_clone_with_a_failing_filter_of_the_user_can_be_removed() {
    let desk = Sandbox::new();
    let made = desk.json(&["agents", "new", "ada"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap()));
    clone.write(".gitattributes", "*.txt filter=gone\n");
    clone.write("new.txt", "new of ada\n");
    let mut world = desk.world();
    let fails = "'filter.gone.clean=false' 'filter.gone.required=true'";
    world.variables.insert("GIT_CONFIG_PARAMETERS".into(), fails.into());
    let run = desk.run_in(world.clone(), &["--json", "agents", "remove", "ada"]);
    assert!(run.stdout.contains("filter-failed"), "{} {}", run.stdout, run.stderr);
    assert!(clone.path("new.txt").exists());
    let run = desk.run_in(world, &["--json", "agents", "remove", "ada", "--force"]);
    assert!(run.stderr.contains("kept unfiltered"), "{} {}", run.stdout, run.stderr);
    assert!(!clone.root.exists());
    let removed: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(
        kept(&desk, removed["hub"].as_str().unwrap(), "new.txt").contains(&"new of ada".to_owned())
    );
}

#[test]
fn a_hostile_clone_for_reading_is_refreshed_and_removed() {
    let desk = with_remote();
    let (program, marks) = trap(&desk);
    let url = desk.git(&["remote", "get-url", "origin"]);
    let made = desk.json(&["clone", &url, "--read-only"]);
    let clone = desk.at(PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}"))));
    arm(&clone, &program);
    clone.git_any(&["checkout", "-q", "-f"]);
    for file in [".gitattributes", "new.txt", "new.bin"] {
        clone.remove(file);
    }
    clone.write("a.txt", "one\n");
    fs::remove_file(&marks).ok();
    desk.write("a.txt", "two\n");
    desk.git(&["commit", "-qam", "second"]);
    desk.git(&["push", "-q", "origin", "main"]);
    let id = made["id"].as_str().unwrap();
    for args in [&["clones", "refresh", id, "-n"][..], &["clones", "refresh", id]] {
        let done = desk.json(args);
        assert_eq!(done["ok"], true, "{done:#}");
        assert_unmarked(&marks, &args.join(" "));
    }
    assert_eq!(clone.read("a.txt"), "two\n");
    assert_eq!(desk.json(&["clones", "remove", id, "--force"])["ok"], true);
    assert_unmarked(&marks, "clones remove");
}

#[test]
fn the_program_of_a_user_leaves_a_hostile_clone_alone_as_well() {
    let desk = with_remote();
    let (program, marks) = trap(&desk);
    clone_of_ada(&desk, &program);
    fs::remove_file(&marks).ok();
    let included = desk.outside().join("included-by-the-user");
    fs::write(&included, "[filter \"trap\"]\n\tclean = tr a-z A-Z\n\trequired = true\n").unwrap();
    let global = desk.outside().join("gitconfig");
    fs::write(&global, format!("[include]\n\tpath = {}\n", included.display())).unwrap();
    let user = desk.with("GIT_CONFIG_GLOBAL", &global).with("GITHUB_TOKEN", "secret-token");
    for args in [&["clones", "refresh", "ada"][..], &["fleet"], &["diff", "ada@"]] {
        let run = user.program().args(args).output().unwrap();
        assert!(run.status.success(), "{args:?} {}", String::from_utf8_lossy(&run.stderr));
        assert_unmarked(&marks, &args.join(" "));
    }
    let run =
        user.program().args(["--json", "agents", "remove", "ada", "--force"]).output().unwrap();
    assert_unmarked(&marks, "agents remove");
    let removed: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let hub = removed["hub"].as_str().unwrap_or_else(|| panic!("{removed:#}"));
    // What the user has configured counts, also where another file names it.
    assert!(kept(&desk, hub, "new.txt").contains(&"NEW OF ADA".to_owned()));
}

#[test]
fn a_clone_that_lacks_what_git_can_do_without_is_removed() {
    let desk = Sandbox::new();
    let (program, _) = trap(&desk);
    let clone = clone_of_ada(&desk, &program);
    for folder in ["logs", "info", "hooks"] {
        fs::remove_dir_all(clone.path(".git").join(folder)).unwrap();
    }
    let many = "[section]\n\tkey = value\n".repeat(50_000);
    let config = clone.path(".git/config");
    fs::write(&config, format!("{}{many}", fs::read_to_string(&config).unwrap())).unwrap();
    let removed = desk.json(&["agents", "remove", "ada", "--force"]);
    assert_eq!(removed["left_behind"], serde_json::Value::Null, "{removed:#}");
    let hub = removed["hub"].as_str().unwrap();
    assert!(kept(&desk, hub, "new.txt").contains(&"new of ada".to_owned()));
}
