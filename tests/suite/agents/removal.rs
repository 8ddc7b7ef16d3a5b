//! A clone that is removed while somebody works in it: what is written until the end is kept.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use git_colony::testing::World;
use serde_json::Value;

use crate::support::{Sandbox, View, eventually, wait_for_locks};

fn agent(desk: &Sandbox, name: &str) -> PathBuf {
    let made = desk.json(&["agents", "new", name]);
    PathBuf::from(made["path"].as_str().unwrap_or_else(|| panic!("{made:#}")))
}

/// A checkout whose removed clones are deleted at once.
fn at_once() -> Sandbox {
    let desk = Sandbox::new();
    desk.git(&["config", "colony.keepRemovedDays", "0"]);
    desk
}

fn shared(desk: &Sandbox) -> PathBuf {
    desk.outside().join("home/.local/share/git-colony")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.map(|entry| entry.path());
    folders.filter(|path| path.is_dir()).collect()
}

/// Every version of a file in what the hub keeps, by the names of its refs.
fn kept_versions(desk: &Sandbox, hub: &str, path: &str) -> Vec<String> {
    let refs = desk.git(&["-C", hub, "for-each-ref", "--format=%(refname)", "refs/colony/kept/"]);
    let versions = refs.lines().filter_map(|name| {
        let file = format!("{name}^{{commit}}:{path}");
        let there = desk.try_git(&["-C", hub, "cat-file", "-e", &file]);
        there.then(|| desk.git(&["-C", hub, "show", &file]))
    });
    versions.collect()
}

/// A world in which somebody writes at each of the first `times` moments that chance is asked for,
/// into the clone or where it has gone.
fn written_into(desk: &Sandbox, clone: &Path, times: usize) -> (World, Arc<AtomicUsize>) {
    let world = desk.world();
    let count = Arc::new(AtomicUsize::new(0));
    let (chance, counted) = (Arc::clone(&world.entropy), Arc::clone(&count));
    let (clone, removed) = (clone.to_owned(), shared(desk).join("agents/ada/removed"));
    let entropy = move || {
        let number = counted.load(Ordering::SeqCst);
        let place = [vec![clone.clone()], folders(&removed)].concat();
        let place = place.into_iter().find(|place| place.join(".git").exists());
        if let Some(place) = place.filter(|_| number < times) {
            fs::write(place.join(format!("late-{number}.txt")), format!("{number}\n")).unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
        }
        chance()
    };
    let world = World { entropy: Arc::new(entropy), ..world };
    (world, count)
}

fn remove(desk: &Sandbox, world: World, name: &str) -> Value {
    let run = desk.run_in(world, &["--json", "agents", "remove", name]);
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn what_is_written_between_the_keeping_and_the_removal_is_kept() {
    let desk = at_once();
    let clone = agent(&desk, "ada");
    fs::write(clone.join("b.txt"), "before\n").unwrap();
    let (world, count) = written_into(&desk, &clone, 4);
    let removed = remove(&desk, world, "ada");
    assert_eq!(removed["left_behind"], Value::Null, "{removed:#}");
    assert!(!clone.exists());
    let written = count.load(Ordering::SeqCst);
    assert!(written > 1);
    let hub = removed["hub"].as_str().unwrap();
    for number in 0..written {
        let versions = kept_versions(&desk, hub, &format!("late-{number}.txt"));
        assert!(versions.contains(&number.to_string()), "{number} {versions:?}");
    }
    for folder in ["agents/ada", "trash"] {
        assert_eq!(folders(&shared(&desk).join(folder)), [] as [PathBuf; 0]);
    }
}

#[test]
fn commits_tags_and_stashes_of_a_clone_are_kept() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let git = |args: &[&str]| {
        let args = [&["-C", clone.to_str().unwrap()], args].concat();
        desk.git(&args)
    };
    git(&["config", "user.name", "ada"]);
    git(&["config", "user.email", "ada@example.com"]);
    for content in ["one", "two"] {
        fs::write(clone.join("a.txt"), content).unwrap();
        git(&["stash", "-q"]);
    }
    git(&["tag", "-a", "-m", "mine", "mine"]);
    let removed = desk.json(&["agents", "remove", "ada"]);
    let hub = removed["hub"].as_str().unwrap();
    let versions = kept_versions(&desk, hub, "a.txt");
    for content in ["one", "two"] {
        assert!(versions.contains(&content.to_owned()), "{versions:?}");
    }
    let refs = desk.git(&["-C", hub, "for-each-ref", "--format=%(refname)"]);
    assert!(refs.lines().any(|name| name.ends_with("/tags/mine")), "{refs}");
}

/// A process that writes in a clone without end, and says after each line that it has written it.
struct Writer {
    process: Child,
    said: PathBuf,
}

impl Writer {
    fn start(clone: &Path, said: PathBuf) -> Writer {
        fs::write(&said, "").unwrap();
        // New files are few: what is tested is that none is lost, not how many there can be. The whole
        // ends with the tests where one that fails does not end it.
        let script = "exec 3>>open.txt\n\
             while [ $((i=i+1)) ] && kill -0 $PPID; do echo $i >&3 && echo o $i >>\"$1\"; \
             if [ $((i % 50)) = 0 ] && [ $i -lt 10000 ]; then \
             echo $i >new-$i.txt && echo n $i >>\"$1\"; fi; done 2>>\"$1.errors\"";
        let process = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(&said)
            .current_dir(clone)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let writer = Writer { process, said };
        eventually("the first file is written", || !writer.written("n").is_empty());
        writer
    }

    fn written(&self, kind: &str) -> Vec<u64> {
        let said = fs::read_to_string(&self.said).unwrap();
        let lines = said.lines().filter_map(|line| line.split_once(' '));
        let lines = lines.filter(|(said, _)| *said == kind);
        lines.filter_map(|(_, number)| number.parse().ok()).collect()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_writes_on_and_on_loses_nothing() {
    let desk = at_once();
    let clone = agent(&desk, "ada");
    let writer = Writer::start(&clone, desk.outside().join("said"));
    let removed = desk.json(&["agents", "remove", "ada"]);
    let left = PathBuf::from(removed["left_behind"]["path"].as_str().unwrap());
    assert!(!clone.exists());
    let before = writer.written("o").len();
    eventually("more is written", || writer.written("o").len() >= before + 3);
    // While it runs, what it writes stays.
    let swept = desk.json(&["clones", "gc"]);
    assert_eq!(swept["left"][0]["path"], left.to_str().unwrap(), "{swept:#}");
    let (appended, created) = {
        let mut writer = writer;
        writer.process.kill().unwrap();
        writer.process.wait().unwrap();
        (writer.written("o"), writer.written("n"))
    };
    let swept = desk.json(&["clones", "gc"]);
    assert_eq!(swept["left"], Value::Array(Vec::new()), "{swept:#}");
    assert!(!left.exists());
    let hub = removed["hub"].as_str().unwrap();
    let versions = kept_versions(&desk, hub, "open.txt");
    let longest = versions.iter().map(|text| text.lines().count()).max();
    assert!(longest.unwrap() >= appended.len(), "lines are lost");
    for number in [created[0], created[created.len() / 2], created[created.len() - 1]] {
        let versions = kept_versions(&desk, hub, &format!("new-{number}.txt"));
        assert!(versions.contains(&number.to_string()), "{number}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_clone_with_a_process_inside_is_deleted_when_that_ends() {
    let desk = at_once();
    let clone = agent(&desk, "ada");
    let mut reader = Command::new("cat")
        .current_dir(&clone)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = reader.stdin.take().unwrap();
    input.write_all(b"there\n").unwrap();
    let removed = desk.json(&["agents", "remove", "ada"]);
    assert_eq!(removed["left_behind"]["pid"], reader.id(), "{removed:#}");
    assert_eq!(desk.json(&["agents"])["count"], 0);
    let refused = desk.json(&["agents", "new", "ada"]);
    assert_eq!(refused["code"], "agent-exists", "it would take the reader for its own");
    assert_eq!(refused["detail"]["pid"], reader.id(), "{refused:#}");
    drop(input);
    reader.wait().unwrap();
    // Who comes next sweeps.
    agent(&desk, "bob");
    assert_eq!(folders(&shared(&desk).join("agents/ada")), [] as [PathBuf; 0]);
}

#[test]
fn two_clones_of_one_name_that_go_within_a_second_are_both_kept() {
    let desk = Sandbox::new();
    let mut prefixes = Vec::new();
    let mut hub = String::new();
    for content in ["one", "two", "three"] {
        let clone = agent(&desk, "ada");
        fs::write(clone.join("a.txt"), content).unwrap();
        let clone = desk.at(clone);
        clone.colony(&["checkpoint", "-m", content]);
        let removed = remove(&desk, desk.world_at(7_000), "ada");
        hub = removed["hub"].as_str().unwrap().to_owned();
        prefixes.push(removed["kept_as"].as_str().unwrap().to_owned());
    }
    let versions = kept_versions(&desk, &hub, "a.txt");
    for content in ["one", "two", "three"] {
        assert!(versions.contains(&content.to_owned()), "{versions:?}");
    }
    let stamp = prefixes[0].strip_suffix('/').unwrap();
    assert_eq!(prefixes[1], format!("{stamp}-2/"));
    assert_eq!(prefixes[2], format!("{stamp}-3/"));
}

#[test]
fn lightweight_tags_are_kept_with_the_objects_only_they_hold() {
    let desk = Sandbox::new();
    desk.git(&["tag", "of-the-desk"]);
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    fs::write(clone.join("a.txt"), "tagged\n").unwrap();
    // It is published, and then let go of: the hub has the object, and no ref.
    inside.colony(&["checkpoint", "-m", "tried"]);
    let checkpoint =
        inside.git(&["for-each-ref", "--format=%(refname)", "refs/colony/checkpoints"]);
    inside.git(&["tag", "mine"]);
    inside.git(&["update-ref", "-d", &checkpoint]);
    inside.git(&["reset", "-q", "--hard", "HEAD~1"]);
    inside.git(&["tag", "here"]);
    let tagged = inside.git(&["rev-parse", "mine"]);
    let removed = desk.json(&["agents", "remove", "ada"]);
    let hub = removed["hub"].as_str().unwrap();
    let format = "--format=%(objectname) %(refname)";
    let kept = removed["kept_as"].as_str().unwrap();
    let refs = desk.git(&["-C", hub, "for-each-ref", format, kept]);
    let tags: Vec<_> = refs.lines().filter(|line| line.contains("/tags/")).collect();
    assert_eq!(tags.len(), 2, "{refs}");
    assert!(tags[0].ends_with("/tags/here"), "{refs}");
    assert!(tags[1].starts_with(&tagged), "{refs}");
    assert!(tags[1].ends_with("/tags/mine"), "{refs}");
}

#[test]
fn submodules_and_other_worktrees_are_not_taken_away_unasked() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    let other = desk.outside().join("other");
    let other = other.to_str().unwrap();
    inside.git(&["worktree", "add", "-q", "--detach", other]);
    for force in [&[][..], &["--force"]] {
        let refused = desk.json(&[&["agents", "remove", "ada"], force].concat());
        assert_eq!(refused["code"], "clone-in-use", "{refused:#}");
        assert_eq!(refused["detail"]["worktree"], other);
    }
    inside.git(&["worktree", "remove", other]);
    // What 'git submodule update' makes of one.
    let module = clone.join(".git/modules/deep/sub");
    desk.git(&["init", "-q", "--bare", module.to_str().unwrap()]);
    let refused = desk.json(&["agents", "remove", "ada"]);
    assert_eq!(refused["detail"]["lost"][0], module.to_str().unwrap());
    assert!(clone.exists());
    assert_eq!(desk.json(&["agents", "remove", "ada", "--force"])["ok"], true);
    assert!(!clone.exists());
}

#[test]
fn notes_own_refs_and_what_a_rebase_has_set_aside_are_kept() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    inside.git(&["notes", "add", "-m", "a note"]);
    let own = inside.git(&["commit-tree", "-m", "own", "HEAD^{tree}"]);
    inside.git(&["update-ref", "refs/custom/x", &own]);
    fs::write(clone.join("a.txt"), "set aside\n").unwrap();
    let aside = inside.git(&["stash", "create"]);
    inside.git(&["checkout", "-q", "--", "a.txt"]);
    let notes = inside.git(&["rev-parse", "refs/notes/commits"]);
    fs::write(clone.join(".git/MERGE_AUTOSTASH"), &aside).unwrap();
    let removed = desk.json(&["agents", "remove", "ada"]);
    let hub = removed["hub"].as_str().unwrap_or_else(|| panic!("{removed:#}"));
    let format = "--format=%(objectname)";
    let kept = desk.git(&["-C", hub, "for-each-ref", format, "refs/colony/kept/"]);
    for id in [notes, own, aside] {
        assert!(kept.contains(&id), "{id} is not in {kept}");
    }
    desk.git(&["-C", hub, "fsck", "--strict"]);
}

#[test]
fn a_pipe_in_place_of_a_record_stops_nobody() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    let lease = clone.join(".git/colony/lease.json");
    fs::remove_file(&lease).ok();
    let made = Command::new("mkfifo").arg(&lease).status().unwrap();
    assert!(made.success());
    desk.colony(&["fleet"]);
    let inside = desk.at(clone);
    inside.json(&["checkpoint", "--off-branch", "-m", "x"]);
    desk.json(&["agents", "remove", "ada", "--force"]);
}

#[test]
fn checkpoints_of_the_desk_are_not_kept_with_each_agent() {
    let desk = Sandbox::new();
    let ids = |view: &View| {
        let format = "--format=%(objectname)";
        view.git(&["for-each-ref", format, "--sort=refname", "refs/colony/checkpoints"])
    };
    // From here on, the desk publishes its checkpoints.
    agent(&desk, "first");
    desk.colony(&["checkpoint", "--off-branch", "-m", "of the desk"]);
    let clone = agent(&desk, "ada");
    let of_desk = ids(&desk.at(desk.root.clone()));
    let inside = desk.at(clone.clone());
    assert_eq!(ids(&inside), of_desk, "a new clone has it from the start");
    fs::write(clone.join("a.txt"), "tried\n").unwrap();
    inside.colony(&["checkpoint", "--off-branch", "-m", "of the agent"]);
    let both = ids(&inside);
    let of_agent = both.lines().find(|id| *id != of_desk).unwrap();
    let removed = desk.json(&["agents", "remove", "ada"]);
    let kept = kept_refs(&desk, removed["hub"].as_str().unwrap());
    assert!(kept.contains(of_agent), "{kept}");
    assert!(!kept.contains(&of_desk), "{kept}");
}

/// The refs that the hub keeps, by what follows `refs/colony/kept/`.
fn kept_refs(desk: &Sandbox, hub: &str) -> String {
    let format = "--format=%(refname) %(objectname)";
    desk.git(&["-C", hub, "for-each-ref", format, "refs/colony/kept/"])
}

/// A removal whose process dies when the clone is in the trash; its hub, and where it is.
fn killed_in_the_trash(desk: &Sandbox) -> (String, PathBuf) {
    let clone = agent(desk, "ada");
    fs::write(clone.join("new.txt"), "new\n").unwrap();
    let world = World { die_at: Some("clone-in-trash"), ..desk.world() };
    let died = desk.run_in(world, &["agents", "remove", "ada"]);
    assert!(died.stderr.contains("died") || died.stdout.contains("died"));
    wait_for_locks(&shared(desk).join("removing"));
    let hub = desk.json(&["agents"])["hub"].as_str().unwrap().to_owned();
    (hub, folders(&shared(desk).join("trash")).remove(0))
}

#[test]
fn a_removal_killed_in_the_trash_keeps_nothing_twice() {
    let desk = at_once();
    let (hub, trash) = killed_in_the_trash(&desk);
    assert!(kept_versions(&desk, &hub, "new.txt").contains(&"new".to_owned()));
    let before = kept_refs(&desk, &hub);
    let swept = desk.json(&["clones", "gc"]);
    assert_eq!(swept["left"], Value::Array(Vec::new()), "{swept:#}");
    assert_eq!(kept_refs(&desk, &hub), before);
    assert!(!trash.exists());
}

#[test]
fn files_written_into_a_clone_in_the_trash_are_kept() {
    let desk = at_once();
    let (hub, trash) = killed_in_the_trash(&desk);
    fs::write(trash.join("late.txt"), "late\n").unwrap();
    let swept = desk.json(&["clones", "gc"]);
    assert_eq!(swept["left"], Value::Array(Vec::new()), "{swept:#}");
    assert!(kept_versions(&desk, &hub, "late.txt").contains(&"late".to_owned()));
    assert!(!trash.exists());
}

#[test]
fn edits_of_files_that_git_does_not_look_at_are_kept() {
    let desk = at_once();
    let clone = agent(&desk, "ada");
    let inside = desk.at(clone.clone());
    inside.git(&["update-index", "--assume-unchanged", "a.txt"]);
    inside.git(&["update-index", "--skip-worktree", "dir/b.txt"]);
    fs::write(clone.join("a.txt"), "assumed\n").unwrap();
    fs::write(clone.join("dir/b.txt"), "skipped\n").unwrap();
    let removed = desk.json(&["agents", "remove", "ada"]);
    assert_eq!(removed["left_behind"], Value::Null, "{removed:#}");
    let hub = removed["hub"].as_str().unwrap();
    assert!(kept_versions(&desk, hub, "a.txt").contains(&"assumed".to_owned()));
    assert!(kept_versions(&desk, hub, "dir/b.txt").contains(&"skipped".to_owned()));
}

#[test]
fn ignored_files_that_go_are_named() {
    let desk = Sandbox::new();
    desk.write(".gitignore", "*.log\nbuild/\n");
    desk.git(&["add", "-A"]);
    desk.git(&["commit", "-qm", "ignore"]);
    let clone = agent(&desk, "ada");
    fs::create_dir(clone.join("build")).unwrap();
    for path in ["a.log", "b.log", "c.log", "build/x", "build/y"] {
        fs::write(clone.join(path), "local\n").unwrap();
    }
    for args in [&["agents", "remove", "ada", "-n"][..], &["agents", "remove", "ada"]] {
        let said = desk.colony(args);
        let told = "in no checkpoint, 4 ignored paths: a.log, b.log, build, ...";
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn a_kept_commit_of_no_file_leaves_the_hub_whole() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    fs::remove_dir_all(clone.join("dir")).unwrap();
    fs::remove_file(clone.join("a.txt")).unwrap();
    let removed = desk.json(&["agents", "remove", "ada"]);
    let hub = removed["hub"].as_str().unwrap();
    desk.git(&["-C", hub, "fsck", "--strict"]);
    let empty = desk.git(&["hash-object", "-t", "tree", "/dev/null"]);
    let (folder, file) = empty.trim().split_at(2);
    let loose = Path::new(hub).join("objects").join(folder).join(file);
    assert!(loose.exists(), "git wants it there, whatever it knows");
}

#[test]
fn one_of_many_removals_of_a_clone_acts_and_the_others_say_so() {
    let desk = Sandbox::new();
    let clone = agent(&desk, "ada");
    fs::write(clone.join("new.txt"), "new\n").unwrap();
    let start = |_| {
        desk.program()
            .args(["--json", "agents", "remove", "ada"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<Child> = (0..6).map(start).collect();
    let mut done = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        if answer["ok"] == true {
            done += 1;
            continue;
        }
        let code = answer["code"].as_str().unwrap();
        let told = ["clone-not-found", "locked", "ref-moved", "clone-in-use"];
        assert!(told.contains(&code), "{answer:#}");
    }
    assert_eq!(done, 1);
    assert!(!clone.exists());
    let hub = desk.json(&["agents"])["hub"].as_str().unwrap().to_owned();
    assert!(kept_versions(&desk, &hub, "new.txt").contains(&"new".to_owned()));
}

#[test]
fn a_removal_tells_the_commits_that_are_not_merged() {
    let desk = Sandbox::new();
    let clone = desk.at(agent(&desk, "ada"));
    let told = |args: &[&str]| desk.json(&[&["agents", "remove", "ada"], args].concat());
    assert_eq!(told(&["-n"])["unmerged_commits"], 0);
    for number in 0..2 {
        clone.write("a.txt", format!("{number}\n"));
        clone.colony(&["commit", "-m", "edit", "--all"]);
    }
    assert_eq!(told(&["-n"])["unmerged_commits"], 2);
    desk.colony(&["merge", "ada"]);
    assert_eq!(told(&["-n"])["unmerged_commits"], 0, "the branch here has them");
    desk.colony(&["undo"]);
    clone.git(&["commit", "-q", "--allow-empty", "-m", "by plain git"]);
    let text = desk.colony(&["agents", "remove", "ada"]);
    assert!(text.contains("\n3 commits not merged; kept\n"), "{text}");
}
