//! A removed agent's folder is kept for some days: whole, whoever goes on there, until its time is over.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Sandbox, View, eventually, worktree_of};

const DAY: i64 = 24 * 60 * 60;

fn agent(desk: &Sandbox, name: &str) -> View {
    let made = desk.json(&["agents", "new", name]);
    let path = made["path"].as_str().unwrap_or_else(|| panic!("{made:#}"));
    desk.at(PathBuf::from(path))
}

fn shared(desk: &Sandbox) -> PathBuf {
    desk.outside().join("home/.local/share/git-colony")
}

/// Removes an agent; returns the answer and where its folder is now.
fn removed(desk: &Sandbox, name: &str) -> (Value, PathBuf) {
    let answer = desk.json(&["agents", "remove", name]);
    let folder = answer["folder"]["path"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    let folder = PathBuf::from(folder);
    assert!(folder.starts_with(shared(desk).join(format!("agents/{name}/removed"))));
    (answer, folder)
}

/// Runs a command that many days after the first.
fn after(desk: &Sandbox, days: i64, args: &[&str]) -> Value {
    let run = desk.run_in(desk.world_at(days * DAY), &[&["--json"], args].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{args:?} {}", run.stderr))
}

#[test]
fn a_removed_agent_comes_back_as_it_stood() {
    let desk = Sandbox::new();
    desk.write(".gitignore", "build/\n*.log\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "ignore"]);
    let clone = agent(&desk, "ada");
    clone.write("build/out.o", "an hour of compiling\n");
    clone.write("a.log", "local\n");
    clone.write("staged.txt", "staged\n");
    clone.git(&["add", "staged.txt"]);
    clone.write("staged.txt", "and edited\n");
    clone.write("a.txt", "stashed\n");
    clone.git(&["stash", "push", "-q", "a.txt"]);
    fs::create_dir(clone.path("empty")).unwrap();
    let seen = || {
        let status = clone.git(&["status", "--porcelain", "--ignored"]);
        (worktree_of(&clone.root), status, clone.git(&["stash", "list"]))
    };
    let number = |path: &Path| fs::metadata(path).unwrap().ino();
    let (before, inode) = (seen(), number(&clone.path("build/out.o")));
    let (answer, folder) = removed(&desk, "ada");
    assert!(!clone.root.exists());
    assert!(answer["folder"]["size"].as_u64().unwrap() > 0, "{answer:#}");
    assert_eq!(number(&folder.join("build/out.o")), inode);
    let planned = desk.json(&["agents", "restore", "ada", "-n"]);
    assert_eq!((&planned["as_it_stood"], &planned["dry_run"]), (&true.into(), &true.into()));
    assert!(folder.exists());
    let back = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(back["as_it_stood"], true, "{back:#}");
    assert_eq!(back["path"], clone.root.to_str().unwrap());
    assert_eq!(seen(), before);
    assert_eq!(number(&clone.path("build/out.o")), inode);
    assert!(!folder.exists());
    clone.git(&["fsck", "--strict", "--no-dangling"]);
    // It works as before, and its log is its own again.
    clone.json(&["checkpoint", "-m", "on it goes"]);
    assert_eq!(desk.error(&["ops", "--removed", "ada"]), "clone-not-found");
    assert_eq!(desk.json(&["merge", "ada"])["ok"], true);
}

#[test]
fn a_restored_agent_can_be_removed_and_restored_again() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    for round in 0..3 {
        clone.write("a.txt", format!("{round}\n"));
        clone.json(&["checkpoint", "-m", &format!("round {round}")]);
        removed(&desk, "ada");
        assert_eq!(desk.json(&["agents"])["removed"].as_array().map(Vec::len), Some(round + 1));
        desk.json(&["agents", "restore", "ada"]);
        assert_eq!(clone.read("a.txt"), format!("{round}\n"));
    }
}

/// A process that writes on and on, by the path that the first argument names, and says after each line that it has
/// written it.
struct Writer {
    process: Child,
    said: PathBuf,
}

impl Writer {
    fn start(clone: &View, by: &str, said: PathBuf) -> Writer {
        fs::write(&said, "").unwrap();
        let script = "while [ $((i=i+1)) -lt 100000 ] && kill -0 $PPID; do mkdir -p \"$1\" \
                      && echo $i >\"$1/new-$i.txt\" && echo $i >>\"$2\"; sleep .005; done 2>/dev/null";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", by]).arg(&said).current_dir(&clone.root);
        let process = command.stdin(Stdio::null()).spawn().unwrap();
        let writer = Writer { process, said };
        eventually("the first file is written", || writer.count() > 2);
        writer
    }

    fn count(&self) -> usize {
        fs::read_to_string(&self.said).unwrap().lines().count()
    }

    fn goes_on(&self) {
        let before = self.count();
        eventually("more is written", || self.count() > before + 3);
    }

    fn end(mut self) -> usize {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.count()
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_writer_by_a_relative_path_writes_into_the_kept_folder() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let writer = Writer::start(&clone, "out", desk.outside().join("said"));
    let (_, folder) = removed(&desk, "ada");
    writer.goes_on();
    assert!(!clone.root.exists());
    // Its name is not used for another while it goes on.
    let refused = desk.json(&["agents", "new", "ada"]);
    assert_eq!(refused["code"], "agent-exists", "{refused:#}");
    desk.json(&["agents", "new", "eve"]);
    // Not even the end of its days takes the folder away under it.
    let swept = after(&desk, 30, &["clones", "gc"]);
    assert_eq!(swept["left"][0]["path"], folder.to_str().unwrap(), "{swept:#}");
    writer.goes_on();
    let written = writer.end();
    assert_eq!(fs::read_dir(folder.join("out")).unwrap().count(), written);
    desk.json(&["agents", "restore", "ada"]);
    assert_eq!(fs::read_dir(clone.path("out")).unwrap().count(), written);
}

#[cfg(target_os = "linux")]
#[test]
fn a_writer_by_the_old_path_is_moved_aside_and_named() {
    let restored: &[&str] = &["agents", "restore", "ada"];
    for next in [restored, &["agents", "new", "ada"]] {
        let desk = Sandbox::new();
        let clone = agent(&desk, "ada");
        let by = clone.path("out");
        let writer = Writer::start(&clone, by.to_str().unwrap(), desk.outside().join("said"));
        let (_, folder) = removed(&desk, "ada");
        writer.goes_on();
        let written = writer.end();
        assert!(clone.root.exists(), "somebody writes by the old path");
        let run = desk.run(next);
        assert_eq!(run.code, 0, "{next:?} {}", run.stderr);
        let late = run.stderr.split("it is now in '").nth(1);
        let late = late.unwrap_or_else(|| panic!("{}", run.stderr)).split('\'').next().unwrap();
        assert!(late.ends_with("-late"), "{late}");
        let count = |folder: &Path| fs::read_dir(folder.join("out")).into_iter().flatten().count();
        let kept = if next == restored { &clone.root } else { &folder };
        assert_eq!(count(kept) + count(Path::new(late)), written, "{next:?}");
        // Nobody deletes it, and it is named.
        let swept = after(&desk, 30, &["clones", "gc"]);
        assert!(Path::new(late).exists());
        assert_eq!(swept["left"][0]["path"], late, "{swept:#}");
    }
}

#[test]
fn each_of_two_removed_agents_of_one_name_comes_back() {
    let desk = Sandbox::new();
    for text in ["first\n", "second\n"] {
        agent(&desk, "ada").write("scratch.txt", text);
        removed(&desk, "ada");
    }
    let older = desk.json(&["agents"])["removed"][0]["removed_at"].clone();
    let newest = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(newest["as_it_stood"], true);
    let path = |answer: &Value| PathBuf::from(answer["path"].as_str().unwrap());
    assert_eq!(fs::read(path(&newest).join("scratch.txt")).unwrap(), b"second\n");
    let older = ["agents", "restore", "ada", "--as", "eve", "--at", older.as_str().unwrap()];
    let older = desk.json(&older);
    assert_eq!(older["as_it_stood"], false, "{older:#}");
    assert_eq!(fs::read(path(&older).join("scratch.txt")).unwrap(), b"first\n");
}

#[test]
fn another_name_has_what_was_written_since_the_removal() {
    let desk = Sandbox::new();
    agent(&desk, "ada").write("before.txt", "before\n");
    let (_, folder) = removed(&desk, "ada");
    fs::write(folder.join("later.txt"), "later\n").unwrap();
    let back = desk.json(&["agents", "restore", "ada", "--as", "eve"]);
    let back = PathBuf::from(back["path"].as_str().unwrap());
    for name in ["before", "later"] {
        let text = fs::read_to_string(back.join(format!("{name}.txt"))).unwrap();
        assert_eq!(text, format!("{name}\n"));
    }
    assert!(folder.exists(), "the first can still be restored");
}

#[test]
fn changing_commands_are_refused_in_the_kept_folder() {
    let desk = Sandbox::new();
    agent(&desk, "ada").write("a.txt", "edited\n");
    let (answer, folder) = removed(&desk, "ada");
    let inside = desk.at(folder);
    let published = || {
        let hub = answer["hub"].as_str().unwrap();
        desk.git(&["-C", hub, "for-each-ref", "refs/colony/agents/"])
    };
    assert_eq!(published(), "");
    let commands: [&[&str]; 6] = [
        &["checkpoint", "-m", "one"],
        &["commit", "-m", "one", "--all"],
        &["fork", "other"],
        &["undo"],
        &["restore", "HEAD"],
        &["agents", "new", "eve"],
    ];
    for command in commands {
        let refused = inside.json(command);
        assert_eq!(refused["code"], "clone-not-found", "{command:?} {refused:#}");
        assert!(refused["hint"].as_str().unwrap().contains("agents restore ada"), "{refused:#}");
    }
    assert_eq!(inside.json(&["status"])["ok"], true);
    // Plain git and its hooks go on.
    inside.git(&["commit", "-qam", "by plain git"]);
    assert_eq!(published(), "", "its old name belongs to the next");
    let tip = inside.git(&["rev-parse", "HEAD"]);
    let back = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(back["head_sha"].as_str().map(str::len), Some(40));
    let clone = desk.at(PathBuf::from(back["path"].as_str().unwrap()));
    assert_eq!(clone.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_folder_goes_when_its_days_are_over_and_its_work_stays() {
    let commands: [&[&str]; 4] =
        [&["clones", "gc"], &["prune"], &["agents", "new", "eve"], &["agents", "remove", "bob"]];
    for command in commands {
        let desk = Sandbox::new();
        agent(&desk, "bob");
        agent(&desk, "ada").write("scratch.txt", "an hour of work\n");
        let (answer, folder) = removed(&desk, "ada");
        fs::write(folder.join("later.txt"), "later\n").unwrap();
        assert_eq!(answer["folder"]["until"].as_str().map(str::len), Some(20), "{answer:#}");
        after(&desk, 6, command);
        assert!(folder.exists(), "{command:?}");
        if command == ["clones", "gc"] {
            let planned = after(&desk, 8, &["clones", "gc", "-n"]);
            assert_eq!(planned["deleted"][0]["path"], folder.to_str().unwrap(), "{planned:#}");
            assert!(folder.exists());
        }
        let undone: &[&str] = match command {
            ["agents", "new", _] => &["agents", "new", "eva"],
            ["agents", "remove", _] => &["agents", "restore", "bob"],
            _ => command,
        };
        if undone[1..].first() == Some(&"restore") {
            after(&desk, 6, undone);
            after(&desk, 8, command);
        } else {
            after(&desk, 8, undone);
        }
        assert!(!folder.exists(), "{command:?}");
        let back = after(&desk, 8, &["agents", "restore", "ada"]);
        assert_eq!(back["as_it_stood"], false, "{back:#}");
        let back = PathBuf::from(back["path"].as_str().unwrap());
        assert_eq!(fs::read(back.join("scratch.txt")).unwrap(), b"an hour of work\n");
        assert_eq!(fs::read(back.join("later.txt")).unwrap(), b"later\n", "{command:?}");
    }
}

#[test]
fn the_oldest_folders_go_first_where_all_are_too_large() {
    let desk = Sandbox::new();
    let mut folders = Vec::new();
    for (at, name) in ["ada", "bob", "eve"].into_iter().enumerate() {
        agent(&desk, name).write("large.bin", "x".repeat(200_000));
        let at = i64::try_from(at).unwrap();
        let args = ["--json", "agents", "remove", name];
        let run = desk.run_in(desk.world_at(at * 60), &args);
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        folders.push(PathBuf::from(answer["folder"]["path"].as_str().unwrap()));
    }
    desk.git(&["config", "colony.keepRemovedSize", "700k"]);
    desk.json(&["clones", "gc"]);
    let there: Vec<_> = folders.iter().map(|folder| folder.exists()).collect();
    assert_eq!(there, [false, true, true]);
}

#[test]
fn a_hub_stays_while_a_removed_clone_borrows_from_it() {
    let desk = Sandbox::new();
    agent(&desk, "ada").write("scratch.txt", "an hour of work\n");
    let (answer, folder) = removed(&desk, "ada");
    let hub = PathBuf::from(answer["hub"].as_str().unwrap());
    for args in [&["-n"][..], &[], &["--force", "-n"], &["--force"]] {
        let swept = desk.json(&[&["clones", "gc"], args].concat());
        assert_eq!(swept["removed"], Value::Array(Vec::new()), "{args:?} {swept:#}");
        assert_eq!(swept["kept_folders"][0]["path"], folder.to_str().unwrap());
        assert!(hub.is_dir() && folder.is_dir());
    }
    // Where it is gone, what is kept of the agent is kept again in the new one.
    fs::remove_dir_all(&hub).unwrap();
    desk.json(&["agents", "new", "eve"]);
    let kept = desk.git(&["-C", hub.to_str().unwrap(), "for-each-ref", "refs/colony/kept/ada/"]);
    assert!(kept.contains("/heads/fork/ada"), "{kept}");
    let back = desk.json(&["agents", "restore", "ada"]);
    assert_eq!(back["as_it_stood"], true, "{back:#}");
}

#[test]
fn an_agent_may_be_named_removed() {
    let desk = Sandbox::new();
    for name in ["removed", "clones"] {
        agent(&desk, name).write("scratch.txt", "mine\n");
        let (_, folder) = removed(&desk, name);
        assert!(folder.join("scratch.txt").exists());
        let back = desk.json(&["agents", "restore", name]);
        assert_eq!(back["as_it_stood"], true, "{back:#}");
    }
    let names = desk.json(&["agents"]);
    assert_eq!(names["agents"].as_array().map(Vec::len), Some(2), "{names:#}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_clone_with_a_file_system_mounted_in_it_stays() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    fs::create_dir(clone.path("data")).unwrap();
    // In a namespace of its own, so that nothing outlives the test.
    let script = "mount -t tmpfs none data && touch data/precious && \"$1\" -C \"$2\" --json \
                  agents remove ada";
    let mut unshare = desk.process("unshare");
    unshare.args(["--user", "--map-root-user", "--mount", "sh", "-ec", script, "sh"]);
    unshare.arg(env!("CARGO_BIN_EXE_git-colony")).arg(&desk.root).current_dir("/");
    let output = unshare.current_dir(&clone.root).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(answer["code"], "clone-in-use", "{answer:#}");
    let mounted = clone.path("data").display().to_string();
    assert!(answer["message"].as_str().unwrap().contains(&mounted), "{answer:#}");
    assert!(clone.root.exists());
}

/// The agent has written everything in its folder, also the record of its removal.
#[test]
fn a_record_of_a_removal_that_lies_moves_nothing() {
    let desk = Sandbox::new();
    let home = desk.outside().join("home");
    let lies: [(&str, PathBuf); 3] = [
        ("place", home.join("elsewhere")),
        ("place", shared(&desk).join("agents/bob/clones/main")),
        ("kept", PathBuf::from("refs/colony/kept/bob/main/20260101T000000Z/")),
    ];
    agent(&desk, "bob");
    for (name, value) in lies {
        agent(&desk, "ada").write("scratch.txt", "mine\n");
        let (_, folder) = removed(&desk, "ada");
        let note = folder.join(".git/colony/removal.json");
        let honest = fs::read(&note).unwrap();
        let mut json: Value = serde_json::from_slice(&honest).unwrap();
        json[name] = value.to_str().unwrap().into();
        fs::write(&note, json.to_string()).unwrap();
        // It counts as one that cannot be read: it stays, and the work comes from the hub.
        let swept = after(&desk, 30, &["clones", "gc"]);
        assert_eq!(swept["left"][0]["path"], folder.to_str().unwrap(), "{swept:#}");
        assert!(folder.exists() && !home.join("elsewhere").exists());
        let back = desk.json(&["agents", "restore", "ada"]);
        assert_eq!(back["as_it_stood"], false, "{back:#}");
        desk.git(&["config", "colony.keepRemovedDays", "0"]);
        desk.json(&["agents", "remove", "ada"]);
        desk.git(&["config", "--unset", "colony.keepRemovedDays"]);
        fs::remove_dir_all(folder).unwrap();
    }
}
