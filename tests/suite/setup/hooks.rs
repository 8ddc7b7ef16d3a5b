//! Hooks: ours beside those of managers, in real git; nothing of theirs lost, git never stopped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{HANG_TIMEOUT, Sandbox, View, program_path, write_program};

const OURS: [&str; 6] =
    ["pre-commit", "post-commit", "post-checkout", "post-merge", "post-rewrite", "pre-push"];

/// A sandbox whose git finds the program, or what stands in for it, and hooks find a log.
struct Hooked {
    sandbox: Sandbox,
    bin: PathBuf,
}

impl Hooked {
    fn new() -> Hooked {
        let sandbox = Sandbox::new();
        let program = program_path();
        let bin = program.parent().unwrap().to_owned();
        Hooked { sandbox, bin }
    }

    /// Puts a script in the place of the program.
    fn with_fake(mut self, script: &str) -> Hooked {
        self.bin = self.sandbox.outside().join("bin");
        write_program(&self.bin.join("git-colony"), script);
        self
    }

    fn log_path(&self) -> PathBuf {
        self.sandbox.outside().join("hook-log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    fn view(&self) -> View {
        let view = self.sandbox.with_path(&self.bin);
        view.with("HOOK_LOG", self.log_path())
    }

    fn command(&self, directory: &Path, args: &[&str]) -> Output {
        self.view().at(directory.to_owned()).git_output(args)
    }

    /// Runs git with hooks; it has to succeed.
    fn git(&self, args: &[&str]) -> String {
        let output = self.command(&self.sandbox.root, args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {args:?}: {stderr}");
        stderr
    }

    fn commit(&self) -> String {
        self.git(&["commit", "-q", "--allow-empty", "-m", "again"])
    }

    fn hooks(&self) -> PathBuf {
        self.sandbox.path(".git/hooks")
    }

    /// Copies what a manager would install.
    fn install_fixture(&self, manager: &str, folder: &str) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/hooks").join(manager);
        copy(&from, &self.sandbox.path(folder));
    }

    fn states(&self) -> BTreeMap<String, String> {
        let status = self.sandbox.json(&["hooks", "status"]);
        let hooks = status["hooks"].as_array().unwrap().clone();
        let of_git = hooks.iter().filter(|hook| hook["for"] == "git");
        of_git.map(|hook| (text(&hook["name"]), text(&hook["state"]))).collect()
    }

    fn fired(&self, name: &str) -> bool {
        self.sandbox.path(".git/colony/hooks-fired").join(name).exists()
    }

    /// Runs the program as an agent does, with a payload.
    fn agent(&self, directory: &Path, agent: &str, payload: &[u8]) -> (i32, String) {
        let mut child = self
            .view()
            .at(directory.to_owned())
            .process(self.bin.join("git-colony"))
            .args(["hook", agent])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It may answer before it has read everything.
        drop(child.stdin.take().unwrap().write_all(payload));
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), stdout.trim().to_owned())
    }

    fn automatic(&self) -> Vec<Value> {
        let list = self.sandbox.json(&["checkpoints", "--auto"]);
        list["checkpoints"].as_array().unwrap().clone()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            write_program(&target, fs::read(&path).unwrap());
            fs::set_permissions(&target, fs::metadata(&path).unwrap().permissions()).unwrap();
        }
    }
}

/// Name, mode, time and bytes of everything in a folder.
fn listing(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else {
            fs::read(&path).unwrap_or_default().escape_ascii().to_string()
        };
        let (mode, time) = (metadata.mode(), metadata.mtime_nsec());
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        found.insert(name, format!("{mode:o} {time} {content}"));
    }
    found
}

/// What uninstalling has to give back.
fn given(sandbox: &Sandbox) -> (BTreeMap<String, String>, Vec<u8>, BTreeMap<String, String>) {
    (
        listing(&sandbox.path(".git/hooks")),
        fs::read(sandbox.path(".git/config")).unwrap(),
        sandbox.worktree(),
    )
}

#[test]
fn plain_hooks_still_run_once_with_their_arguments_and_input() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    hooked.install_fixture("plain", ".git/hooks");
    symlink("post-commit", hooked.hooks().join("post-merge")).unwrap();
    let remote = sandbox.outside().join("remote.git");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let before = given(sandbox);
    sandbox.colony(&["hooks", "install"]);
    assert!(sandbox.colony(&["hooks", "install"]).contains("installed already"));
    hooked.commit();
    hooked.git(&["checkout", "-q", "-b", "side"]);
    hooked.git(&["push", "-q", "origin", "main"]);
    let head = sandbox.git(&["rev-parse", "main"]);
    let zeros = "0".repeat(40);
    let wanted = format!(
        "plain post-commit \nplain post-checkout 1\nplain pre-push origin\nstdin refs/heads/main \
         {head} refs/heads/main {zeros}\n"
    );
    assert_eq!(hooked.log(), wanted);
    for name in ["post-commit", "post-checkout", "pre-push"] {
        assert!(hooked.fired(name), "{name}");
    }
    fs::write(hooked.log_path().with_extension("refuse"), "").unwrap();
    let refused = hooked.command(&sandbox.root, &["push", "-q", "origin", "side"]);
    assert!(!refused.status.success(), "the chained hook refuses");
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(given(sandbox), before);
    assert!(sandbox.colony(&["hooks", "uninstall"]).starts_with("no hooks"));
}

#[test]
fn nothing_is_left_where_nothing_was() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let before = given(sandbox);
    assert!(!hooked.hooks().exists());
    let plan = sandbox.json(&["hooks", "install", "-n"]);
    assert_eq!(plan["changed"], true);
    assert!(!sandbox.path(".git/colony").exists(), "a dry run writes nothing");
    sandbox.colony(&["hooks", "install"]);
    hooked.commit();
    assert!(hooked.states().values().all(|state| state == "installed"));
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(given(sandbox), before);
    assert!(!hooked.hooks().exists());
    let left = listing(&sandbox.path(".git/colony"));
    assert_eq!(left.keys().collect::<Vec<_>>(), ["lock"]);
}

#[test]
fn a_hook_that_looks_at_its_name_is_not_renamed() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    hooked.install_fixture("husky-4", ".git/hooks");
    let before = given(sandbox);
    sandbox.colony(&["hooks", "install"]);
    hooked.commit();
    assert_eq!(hooked.log(), "husky-4 post-commit \n");
    assert!(hooked.fired("post-commit"));
    assert_eq!(hooked.states()["post-commit"], "chained");
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(given(sandbox), before);
}

#[test]
fn a_tracked_hooks_folder_is_never_written_to() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    hooked.install_fixture("husky-9", ".husky");
    sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
    let before = given(sandbox);
    sandbox.colony(&["hooks", "install"]);
    assert_eq!(sandbox.worktree(), before.2);
    hooked.commit();
    assert_eq!(hooked.log(), "husky-9 post-commit \n");
    assert!(hooked.fired("post-commit"));
    // What the team adds later runs, too, in a linked worktree as well.
    sandbox.write_program(".husky/_/pre-commit", "#!/bin/sh\necho added >> \"$HOOK_LOG\"\n");
    sandbox.git(&["add", "-f", ".husky"]);
    hooked.commit();
    assert!(hooked.log().ends_with("added\nhusky-9 post-commit \n"), "{}", hooked.log());
    let linked = sandbox.outside().join("linked");
    hooked.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    let args = ["commit", "-q", "--allow-empty", "-m", "x"];
    assert!(hooked.command(&linked, &args).status.success());
    assert!(hooked.log().ends_with("added\nhusky-9 post-commit \n"));
    let worktree = sandbox.worktree();
    sandbox.colony(&["hooks", "uninstall"]);
    let after = given(sandbox);
    assert_eq!((after.0, after.1), (before.0, before.1));
    assert_eq!(sandbox.worktree(), worktree);
}

#[test]
fn no_hooks_folder_and_one_outside_come_back_as_they_were() {
    let outside = Hooked::new();
    outside.install_fixture("lefthook", "../team hooks");
    let team = outside.sandbox.outside().join("team hooks");
    for value in ["/dev/null", team.to_str().unwrap(), ".no-such-folder"] {
        let hooked = Hooked::new();
        let sandbox = &hooked.sandbox;
        sandbox.git(&["config", "core.hooksPath", value]);
        let before = (given(sandbox), listing(&team));
        sandbox.colony(&["hooks", "install"]);
        hooked.commit();
        assert!(hooked.fired("post-commit"), "{value}");
        let wanted = if value.ends_with("hooks") { "lefthook run post-commit\n" } else { "" };
        assert_eq!(hooked.log(), wanted, "{value}");
        sandbox.colony(&["hooks", "uninstall"]);
        assert_eq!((given(sandbox), listing(&team)), before, "{value}");
    }
}

#[test]
fn other_changes_of_the_configuration_survive() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    sandbox.git(&["config", "core.hooksPath", "/dev/null"]);
    sandbox.colony(&["hooks", "install"]);
    sandbox.git(&["config", "user.nickname", "ada"]);
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(sandbox.git(&["config", "core.hooksPath"]), "/dev/null");
    assert_eq!(sandbox.git(&["config", "user.nickname"]), "ada");
    sandbox.git(&["config", "--unset", "core.hooksPath"]);
    // A worktree with a setting of its own is changed there and nowhere else.
    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    sandbox.git(&["config", "--worktree", "core.hooksPath", ".x"]);
    let files = || [".git/config", ".git/config.worktree"].map(|file| sandbox.read(file));
    let before = files();
    sandbox.colony(&["hooks", "install"]);
    hooked.commit();
    assert!(hooked.fired("post-commit"));
    assert_eq!(files()[0], before[0]);
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(files(), before);
}

#[test]
fn a_newcomer_is_noticed_and_left_alone() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    hooked.install_fixture("plain", ".git/hooks");
    sandbox.colony(&["hooks", "install"]);
    // As pre-commit does it: ours becomes its legacy hook.
    let path = |name: &str| hooked.hooks().join(name);
    fs::rename(path("post-commit"), path("post-commit.legacy")).unwrap();
    hooked.install_fixture("pre-commit", ".git/hooks");
    // As others do it: ours is gone.
    write_program(&path("pre-push"), "#!/bin/sh\n");
    fs::set_permissions(path("post-merge"), fs::Permissions::from_mode(0o644)).unwrap();
    let status = sandbox.json(&["hooks", "status"]);
    let row = |name: &str| {
        let hooks = status["hooks"].as_array().unwrap();
        let row = hooks.iter().find(|hook| hook["name"] == name).unwrap();
        (text(&row["state"]), row["runs"].as_bool().unwrap())
    };
    assert_eq!(row("post-commit"), ("replaced".to_owned(), true));
    assert_eq!(row("pre-push"), ("replaced".to_owned(), false));
    assert_eq!(row("post-merge"), ("disabled".to_owned(), false));
    hooked.commit();
    assert_eq!(hooked.log(), "plain post-commit \npre-commit post-commit \n");
    assert!(hooked.fired("post-commit"));
    let again = sandbox.run(&["hooks", "install"]);
    assert_eq!(again.code, 1, "{}", again.stdout);
    assert!(again.stdout.contains("pre-push: replaced"), "{}", again.stdout);
    let answer = sandbox.json(&["hooks", "uninstall"]);
    assert!(text(&answer["left"][0]).ends_with("pre-push.before-colony"));
    let plain = fs::read(path("post-commit.legacy")).unwrap();
    assert!(plain.starts_with(b"#!/bin/sh\necho \"plain post-commit"));
}

#[test]
fn managers_that_write_whole_scripts_are_chained() {
    for (manager, wanted) in
        [("lefthook", "lefthook run post-commit\n"), ("pre-commit", "pre-commit post-commit \n")]
    {
        let hooked = Hooked::new();
        let sandbox = &hooked.sandbox;
        hooked.install_fixture(manager, ".git/hooks");
        let before = given(sandbox);
        sandbox.colony(&["hooks", "install"]);
        hooked.commit();
        assert_eq!(hooked.log(), wanted);
        assert!(hooked.fired("post-commit"));
        sandbox.colony(&["hooks", "uninstall"]);
        assert_eq!(given(sandbox), before);
    }
}

#[test]
fn a_place_that_lefthook_took_is_taken_back_beside_it() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    sandbox.colony(&["hooks", "install"]);
    // As lefthook does it: ours is renamed, and nobody runs it.
    let path = |name: &str| hooked.hooks().join(name);
    fs::rename(path("post-commit"), path("post-commit.old")).unwrap();
    hooked.install_fixture("lefthook", ".git/hooks");
    let theirs = fs::read(path("post-commit")).unwrap();
    assert_eq!(hooked.states()["post-commit"], "replaced");
    sandbox.colony(&["hooks", "install"]);
    assert!(!path("post-commit.old").exists());
    hooked.commit();
    assert_eq!(hooked.log(), "lefthook run post-commit\n");
    assert!(hooked.fired("post-commit"));
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(fs::read(path("post-commit")).unwrap(), theirs);
}

#[test]
fn a_script_of_ours_that_was_edited_is_kept() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    sandbox.colony(&["hooks", "install"]);
    let path = hooked.hooks().join("post-commit");
    let edited = format!("{}# mine\n", fs::read_to_string(&path).unwrap());
    fs::write(&path, &edited).unwrap();
    assert_eq!(hooked.states()["post-commit"], "edited");
    sandbox.colony(&["hooks", "install"]);
    sandbox.colony(&["hooks", "uninstall"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), edited);
}

#[test]
fn git_goes_on_whatever_the_program_does() {
    let slow = "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done\n";
    for fake in [slow, "#!/bin/sh\necho noise; exit 3\n", "#!/no/such/interpreter\n"] {
        let mut hooked = Hooked::new().with_fake(fake);
        let sandbox = &hooked.sandbox;
        hooked.install_fixture("plain", ".git/hooks");
        sandbox.colony(&["hooks", "install"]);
        let limit = if fake == slow { "1" } else { "600" };
        let limited = hooked.view().with("COLONY_HOOK_TIMEOUT", limit);
        let output = limited.git_output(&["checkout", "-q", "-b", "side"]);
        assert!(output.status.success(), "{fake}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(stderr.contains("was stopped after 1 s"), fake == slow, "{stderr}");
        assert_eq!(hooked.log(), "plain post-checkout 1\n");
        // And where there is no program at all.
        fs::remove_file(hooked.bin.join("git-colony")).unwrap();
        hooked.bin = sandbox.outside().join("nowhere");
        assert_eq!(hooked.commit(), "");
        assert!(hooked.log().ends_with("plain post-commit \n"));
    }
}

#[test]
fn no_hook_waits_for_its_time_limit() {
    let hooked = Hooked::new().with_fake("#!/bin/sh\nexit 3\n");
    hooked.sandbox.colony(&["hooks", "install"]);
    // As where a program reads what git prints: it waits until every process of the hook has ended.
    let loop_of_hooks =
        "for i in $(seq 60); do .git/hooks/post-checkout a b 1 2>&1 | cat; done >&2";
    let view = hooked.view().with("COLONY_HOOK_TIMEOUT", "600");
    let seconds = HANG_TIMEOUT.as_secs().to_string();
    let start = || {
        let mut many = view.process("timeout");
        many.args([&seconds, "sh", "-c", loop_of_hooks]).stderr(Stdio::null()).spawn().unwrap()
    };
    let running: Vec<_> = (0..8).map(|_| start()).collect();
    for mut hooks in running {
        assert!(hooks.wait().unwrap().success(), "a hook waited for its time limit");
    }
}

#[test]
fn each_step_of_plain_git_becomes_an_operation_of_its_own() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    sandbox.write("a.txt", "kept\n");
    sandbox.colony(&["checkpoint", "-m", "base"]);
    sandbox.colony(&["hooks", "install"]);
    hooked.git(&["commit", "-q", "--allow-empty", "-m", "by hand"]);
    hooked.git(&["checkout", "-q", "-b", "side"]);
    sandbox.write("a.txt", "two\n");
    hooked.git(&["commit", "-qam", "on the side"]);
    hooked.git(&["commit", "-q", "--amend", "-m", "amended"]);
    hooked.git(&["checkout", "-q", "main"]);
    hooked.git(&["merge", "-q", "--no-ff", "-m", "joined", "side"]);
    let ops = sandbox.json(&["ops"]);
    let summaries: Vec<_> = ops["ops"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|op| op["kind"] == "external")
        .map(|op| text(&op["summary"]))
        .collect();
    let steps = [
        "commit: by hand",
        "git switched from main to side",
        "commit: on the side",
        "commit (amend): amended",
        "git switched from side to main",
        "merge side: Merge made by the 'ort' strategy.",
    ];
    assert_eq!(summaries, steps);
    for _ in steps {
        sandbox.colony(&["undo", "--force"]);
    }
    assert_eq!(sandbox.git(&["log", "-1", "--format=%s"]), "checkpoint: base");
    // A commit that is taken back leaves its changes in the files.
    assert_eq!(sandbox.read("a.txt"), "two\n");
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn inside_an_operation_of_ours_the_hook_is_silent() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    hooked.install_fixture("plain", ".git/hooks");
    sandbox.colony(&["hooks", "install"]);
    let inside = hooked.view().with("COLONY_OPERATION", "op-1");
    inside.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    assert!(!hooked.fired("post-commit"));
    assert_eq!(hooked.log(), "plain post-commit \n");
    let run = inside.run(&["--json", "hooks", "uninstall"]);
    assert!(run.stdout.contains("operation-in-progress"), "{}", run.stdout);
}

#[test]
fn a_linked_worktree_fires_for_its_own_repository() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let linked = sandbox.outside().join("linked");
    sandbox.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    sandbox.at(linked.clone()).colony(&["hooks", "install"]);
    let args = ["commit", "-q", "--allow-empty", "-m", "x"];
    assert!(hooked.command(&linked, &args).status.success());
    assert!(hooked.fired("post-commit"));
    // A real hook of another repository, with GIT_DIR set, does not lead us astray.
    let other = Hooked::new();
    other.sandbox.colony(&["hooks", "install"]);
    let script = "#!/bin/sh\ngit -C \"$OTHER\" commit -q --allow-empty -m from-a-hook\n";
    let former = hooked.hooks().join("post-commit.before-colony");
    write_program(&former, script.replace("$OTHER", other.sandbox.root.to_str().unwrap()));
    fs::remove_dir_all(sandbox.path(".git/colony/hooks-fired")).unwrap();
    hooked.commit();
    assert!(hooked.fired("post-commit"));
}

#[test]
fn a_mirror_push_is_warned_of_private_refs() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let remote = sandbox.outside().join("remote.git");
    sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
    sandbox.colony(&["checkpoint", "-m", "one"]);
    sandbox.colony(&["hooks", "install"]);
    let remote = remote.to_str().unwrap();
    assert_eq!(hooked.git(&["push", "-q", remote, "main"]), "");
    let warned = hooked.git(&["push", "-q", "--mirror", remote]);
    assert!(warned.contains("publishes 1 ref below refs/colony-local/"), "{warned}");
}

#[test]
fn git_lfs_runs_through_ours_also_without_the_program() {
    for own_hooks in [true, false] {
        let mut hooked = Hooked::new();
        let remote = hooked.sandbox.outside().join("remote.git");
        hooked.sandbox.git(&["init", "-q", "--bare", remote.to_str().unwrap()]);
        let sandbox = &hooked.sandbox;
        if own_hooks {
            sandbox.git(&["lfs", "install", "--local"]);
        } else {
            sandbox.git(&["lfs", "install", "--local", "--skip-repo"]);
            sandbox.git(&["config", "colony.lfsHooks", "true"]);
        }
        let before = given(sandbox);
        sandbox.colony(&["hooks", "install"]);
        hooked.bin = sandbox.outside().join("nowhere");
        sandbox.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
        sandbox.write("a.bin", "large\n");
        hooked.git(&["add", "-A"]);
        hooked.commit();
        sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
        hooked.git(&["push", "-q", "origin", "main"]);
        assert!(remote.join("lfs/objects").exists(), "own hooks: {own_hooks}");
        sandbox.git(&["remote", "remove", "origin"]);
        if !own_hooks {
            assert_eq!(sandbox.error(&["hooks", "uninstall"]), "hooks-in-the-way");
            sandbox.git(&["config", "colony.lfsHooks", "false"]);
        }
        sandbox.colony(&["hooks", "uninstall"]);
        assert_eq!(given(sandbox).0, before.0);
    }
}

#[test]
fn without_git_lfs_a_push_of_its_pointers_is_refused() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    sandbox.git(&["config", "colony.lfsHooks", "true"]);
    sandbox.colony(&["hooks", "install"]);
    let tools = sandbox.outside().join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["git", "sh", "cat", "grep", "sleep"] {
        let path = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join(tool))
            .find(|path| path.exists());
        symlink(path.unwrap(), tools.join(tool)).unwrap();
    }
    let run = |hook: &str| {
        let mut command = sandbox.process(hooked.hooks().join(hook));
        command.env("PATH", &tools).stdin(Stdio::null()).output().unwrap()
    };
    let output = run("pre-push");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(stderr.contains("cannot push: git-lfs is not on the PATH"), "{stderr}");
    assert_eq!(run("post-commit").status.code(), Some(0));
}

#[test]
fn a_kill_at_any_step_is_completed_or_taken_back() {
    let steps = [
        "hooks-remembered",
        "hooks-set-aside",
        "hooks-written",
        "hooks-configured",
        "hooks-put-back",
        "hooks-removed",
        "hooks-unconfigured",
    ];
    for manager in ["plain", "husky-4"] {
        for step in steps {
            let hooked = Hooked::new();
            let sandbox = &hooked.sandbox;
            hooked.install_fixture(manager, ".git/hooks");
            let before = given(sandbox);
            let die = |action: &str| {
                let mut world = sandbox.world();
                world.die_at = Some(step);
                sandbox.run_in(world, &["hooks", action]).code
            };
            let died = die("install") != 0;
            if died {
                sandbox.colony(&["hooks", "uninstall"]);
                assert_eq!(given(sandbox), before, "{manager} {step}");
                die("install");
            }
            sandbox.colony(&["hooks", "install"]);
            let states = hooked.states();
            assert_eq!(states["post-commit"], "chained", "{manager} {step}");
            die("uninstall");
            sandbox.colony(&["hooks", "uninstall"]);
            assert_eq!(given(sandbox), before, "{manager} {step}");
        }
    }
}

const CLAUDE: &str = "{\n    \"permissions\": {\"allow\": [\"Bash(ls:*)\"]},\n    \"hooks\": {\n        \
                      \"Stop\": [\n            {\"hooks\": [{\"type\": \"command\", \"command\": \
                      \"say done\"}]}\n        ]\n    },\n    \"n\": 1.0e3\n}\n";

#[test]
fn an_agents_configuration_is_kept_and_given_back() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    sandbox.write(".claude/settings.local.json", CLAUDE);
    let before = sandbox.worktree();
    let args = ["hooks", "install", "--for", "claude-code"];
    let plan = sandbox.json(&[&args[..], &["-n"]].concat());
    assert_eq!(sandbox.worktree(), before);
    sandbox.colony(&args);
    let after = sandbox.read(".claude/settings.local.json");
    let value: Value = serde_json::from_str(&after).unwrap();
    assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 2);
    assert!(after.contains("1.0e3") && after.contains("{\"allow\": [\"Bash(ls:*)\"]}"));
    let diff = text(&plan["diff"]);
    assert!(diff.contains("--- a/.claude/settings.local.json\n+++ b/"), "{diff}");
    assert!(sandbox.colony(&args).contains("installed already"));
    // A change of somebody else is kept, ours is taken out.
    let removal = ["hooks", "uninstall", "--for", "claude-code"];
    sandbox.write(".claude/settings.local.json", after.replace("say done", "say ready"));
    sandbox.colony(&removal);
    let rest = sandbox.read(".claude/settings.local.json");
    assert_eq!(rest, CLAUDE.replace("say done", "say ready"));
    sandbox.write(".claude/settings.local.json", CLAUDE);
    sandbox.colony(&args);
    sandbox.colony(&removal);
    assert_eq!(sandbox.worktree(), before);
}

#[test]
fn each_agent_gets_a_file_that_goes_again() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let before = sandbox.worktree();
    let mut shown = String::new();
    for agent in ["claude-code", "codex", "cursor"] {
        shown += &sandbox.colony(&["hooks", "install", "--for", agent]);
    }
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("hooks_of_agents", shown);
    });
    for agent in ["claude-code", "codex", "cursor"] {
        sandbox.colony(&["hooks", "uninstall", "--for", agent]);
    }
    assert_eq!(sandbox.worktree(), before);
}

#[test]
fn what_cannot_be_edited_is_left_and_the_lines_are_given() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let broken = ["{ // a comment\n}", "[]", "{\"hooks\": []}", "{\"hooks\": {\"stop\": 1}}"];
    for text in broken {
        sandbox.write(".cursor/hooks.json", text);
        for action in ["install", "uninstall"] {
            if action == "uninstall" && text != broken[0] && text != broken[1] {
                continue;
            }
            let answer = sandbox.json(&["hooks", action, "--for", "cursor"]);
            assert_eq!(answer["code"], "agent-config-refused", "{text} {action}");
            assert!(answer["detail"]["by_hand"]["hooks"]["stop"].is_array());
        }
        assert_eq!(sandbox.read(".cursor/hooks.json"), text);
    }
    sandbox.remove(".cursor");
    let target = sandbox.outside().join("elsewhere.json");
    fs::write(&target, "{}").unwrap();
    sandbox.write(".cursor/x", "");
    symlink(&target, sandbox.path(".cursor/hooks.json")).unwrap();
    assert_eq!(sandbox.error(&["hooks", "install", "--for", "cursor"]), "agent-config-refused");
    sandbox.remove(".codex");
    symlink(sandbox.outside(), sandbox.path(".codex")).unwrap();
    assert_eq!(sandbox.error(&["hooks", "install", "--for", "codex"]), "agent-config-refused");
    assert_eq!(fs::read_to_string(&target).unwrap(), "{}");
}

#[test]
fn an_agent_keeps_the_state_with_its_session() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let elsewhere = sandbox.outside();
    let root = sandbox.root.display();
    sandbox.write("a.txt", "by the agent\n");
    let look = format!(
        r#"{{"session_id":"s-1","hook_event_name":"PreToolUse","tool_name":"Read","cwd":"{root}"}}"#
    );
    let answer = hooked.agent(&elsewhere, "claude-code", look.as_bytes());
    assert_eq!(answer, (0, "{}".to_owned()));
    assert_eq!(hooked.automatic().len(), 0, "nothing before a tool that looks");
    let edit = look.replace("Read", "Edit");
    hooked.agent(&elsewhere, "claude-code", edit.as_bytes());
    let kept = hooked.automatic();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0]["session"], "s-1");
    let tag = sandbox.git(&["for-each-ref", "--format=%(contents)", "refs/colony-local/auto"]);
    assert!(tag.contains("\nColony-Session: s-1"), "{tag}");
    sandbox.write("a.txt", "more\n");
    let stop = format!(
        r#"{{"conversation_id":"c-2","hook_event_name":"stop","workspace_roots":["{root}"]}}"#
    );
    hooked.agent(&elsewhere, "cursor", stop.as_bytes());
    assert_eq!(hooked.automatic().last().unwrap()["session"], "c-2");
    assert!(hooked.fired("cursor.stop") && hooked.fired("claude-code.before-tool"));
}

#[test]
fn hostile_payloads_stop_nobody_and_forge_nothing() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let huge = format!("{{\"session_id\": \"{}\"}}", "x".repeat(9 << 20));
    let deep = "[".repeat(200_000);
    let payloads: [&[u8]; 9] = [
        b"",
        b"not json",
        b"[1, 2]",
        b"\xff\xfe\x00",
        br#"{"session_id": "x\nColony-Mode: branch", "cwd": "/no/such/folder"}"#,
        br#"{"session_id": ["a"], "tool_name": {}, "cwd": 7, "hook_event_name": null}"#,
        br#"{"hook_event_name": "SomethingNew", "cwd": "relative/../.."}"#,
        huge.as_bytes(),
        deep.as_bytes(),
    ];
    for (number, payload) in payloads.into_iter().enumerate() {
        sandbox.write("a.txt", format!("{number}\n"));
        for agent in ["claude-code", "codex"] {
            let answer = hooked.agent(&sandbox.root, agent, payload);
            assert_eq!(answer, (0, "{}".to_owned()), "payload {number}");
        }
        let kept = hooked.automatic();
        assert_eq!(kept.len(), number + 1, "payload {number}");
        assert!(kept.last().unwrap().get("session").is_none());
        assert_eq!(kept.last().unwrap()["mode"], "auto");
    }
    let outside = hooked.agent(&sandbox.outside(), "codex", b"{}");
    assert_eq!(outside, (0, "{}".to_owned()), "outside a repository");
    assert_eq!(sandbox.run(&["hook", "of-a-newer-version"]).code, 0);
}

#[test]
fn the_answers_about_hooks_read_well() {
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    hooked.install_fixture("plain", ".git/hooks");
    let mut told = String::new();
    for args in [
        &["hooks"][..],
        &["hooks", "install", "-n"],
        &["hooks", "install"],
        &["--json", "hooks", "status"],
        &["hooks", "uninstall"],
        &["hooks", "-h"],
        &["hooks", "install", "--help"],
    ] {
        writeln!(told, "$ git colony {}\n{}", args.join(" "), sandbox.colony(args)).unwrap();
    }
    let told = told.replace(sandbox.root.to_str().unwrap(), "<repo>");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("hooks", told);
    });
    assert_eq!(OURS.len(), hooked.states().len());
}

#[test]
fn what_git_lfs_finds_is_known_beforehand() {
    use git_colony::testing::{FolderSort, ObjectWrites, Presence, Repo, git_hooks_state};
    let hooked = Hooked::new();
    let sandbox = &hooked.sandbox;
    let look = || {
        let world = sandbox.world();
        let repo = Repo::open(&world, ObjectWrites::InMemory).unwrap();
        let state = git_hooks_state(&repo, &world).unwrap();
        let pre_push = state.hooks.last().unwrap();
        (state.folder.sort, pre_push.presence, pre_push.chained, pre_push.runs_lfs)
    };
    assert_eq!(look(), (FolderSort::Default, Presence::Absent, None, false));
    sandbox.git(&["lfs", "install", "--local"]);
    assert_eq!(look(), (FolderSort::Default, Presence::GitLfs, None, true));
    sandbox.colony(&["hooks", "install"]);
    let chained = Some(Presence::GitLfs);
    assert_eq!(look(), (FolderSort::Default, Presence::Ours, chained, true));
    sandbox.colony(&["hooks", "uninstall"]);
    hooked.install_fixture("plain", ".git/hooks");
    assert_eq!(look(), (FolderSort::Default, Presence::Foreign, None, false));
    hooked.install_fixture("plain", ".githooks");
    sandbox.git(&["config", "core.hooksPath", ".githooks"]);
    assert_eq!(look().0, FolderSort::InTree);
    sandbox.git(&["config", "core.hooksPath", "/dev/null"]);
    assert_eq!(look().0, FolderSort::Missing);
    sandbox.colony(&["hooks", "install"]);
    assert_eq!(look(), (FolderSort::Ours, Presence::Ours, Some(Presence::Absent), false));
}

#[test]
fn what_a_hook_leaves_running_is_not_waited_for() {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "base"]);
    let pid = sandbox.outside().join("pid");
    let script = format!(
        "#!/bin/sh\necho 'the hook says this'\nsleep 600 &\necho $! >>'{}'\n",
        pid.display()
    );
    for hook in ["pre-commit", "commit-msg", "post-commit", "post-checkout"] {
        let hook = format!(".git/hooks/{hook}");
        sandbox.write_program(&hook, &script);
    }
    sandbox.write("a.txt", "two\n");
    let run = sandbox.run(&["commit", "-m", "second", "a.txt"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("the hook says this"), "{}", run.stderr);
    assert_eq!(sandbox.run(&["restore", "base", "--force"]).code, 0);
    for pid in fs::read_to_string(pid).unwrap().lines() {
        let pid = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
        // It still runs: nobody has ended it, or waited for its end.
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}
