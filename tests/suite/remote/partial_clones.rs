//! Partial clones: what a remote has promised is fetched in one batch, or the command refuses before it begins.

use std::fs;

use crate::support::{Sandbox, View};

/// A partial clone of a repository with three commits, a branch beside and a tag.
fn partial(sandbox: &Sandbox, filter: &str) -> View {
    sandbox.git(&["config", "uploadpack.allowFilter", "true"]);
    sandbox.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    for number in 0..3 {
        for file in 0..4 {
            sandbox.write(&format!("d{file}/f.txt"), format!("{number} {file}\n"));
        }
        sandbox.write(&format!("new{number}.txt"), "new\n");
        sandbox.git(&["add", "-A"]);
        sandbox.git(&["commit", "-qm", &format!("c{number}")]);
    }
    sandbox.git(&["switch", "-qc", "side", "HEAD~1"]);
    sandbox.write("d0/f.txt", "1 0\nside\n");
    sandbox.write("side.txt", "side\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "side"]);
    sandbox.git(&["switch", "-q", "main"]);
    sandbox.git(&["rm", "-rq", "d0"]);
    sandbox.write("d1/g.txt", "main\n");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-qm", "later"]);
    let url = format!("file://{}", sandbox.root.display());
    let root = sandbox.outside().join("partial");
    let filter = format!("--filter={filter}");
    sandbox.git(&["clone", "-q", &filter, &url, root.to_str().unwrap()]);
    let clone = sandbox.at(root);
    clone.git(&["config", "user.name", "Ada"]);
    clone.git(&["config", "user.email", "ada@example.com"]);
    clone
}

#[test]
fn promised_objects_are_fetched_in_one_batch() {
    let commands: [(&[&str], usize); 4] = [
        (&["fork", "x", "--from", "HEAD~3"], 1),
        (&["restore", "HEAD~2", "--mode", "files"], 1),
        (&["restore", "HEAD~2", "--mode", "fork"], 1),
        (&["diff", "HEAD~3", "HEAD"], 9),
    ];
    for (command, most) in commands {
        let sandbox = Sandbox::new();
        let clone = partial(&sandbox, "blob:none");
        let missing = || {
            let all = clone.git(&["rev-list", "--objects", "--all", "--missing=print"]);
            all.lines().filter(|line| line.starts_with('?')).count()
        };
        assert!(missing() > 4);
        let packs = || fs::read_dir(clone.path(".git/objects/pack")).unwrap().count();
        let before = packs();
        let answer = clone.json(command);
        assert_eq!(answer["ok"], true, "{command:?} {answer:#}");
        assert_eq!(
            clone.git(&["status", "--porcelain", "-uno"]).is_empty(),
            command[0] != "restore" || command[3] == "fork"
        );
        // A fetch leaves a pack, its index and the mark of a promise, and more of some versions of git.
        assert!(packs() - before <= 4 * most, "{command:?}: {} new files", packs() - before);
    }
}

#[test]
fn merges_fetch_what_they_need_from_both_sides() {
    let sandbox = Sandbox::new();
    let clone = partial(&sandbox, "blob:none");
    let answer = clone.json(&["merge", "origin/side"]);
    assert_eq!(answer["outcome"], "conflicted", "{answer:#}");
    let sandbox = Sandbox::new();
    let clone = partial(&sandbox, "blob:none");
    clone.git(&["switch", "-qc", "older", "HEAD~2"]);
    clone.write("d3/f.txt", "ours\n");
    clone.colony(&["checkpoint", "-m", "ours"]);
    clone.colony(&["merge", "origin/side"]);
    assert_eq!(clone.read("d0/f.txt"), "1 0\nside\n");
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_remote_that_cannot_be_reached_is_named_before_any_change() {
    let sandbox = Sandbox::new();
    let clone = partial(&sandbox, "blob:none");
    let head = clone.git(&["rev-parse", "HEAD"]);
    fs::rename(&sandbox.root, sandbox.outside().join("away")).unwrap();
    for command in [&["fork", "x", "--from", "HEAD~3"][..], &["cherry-pick", "origin/side"]] {
        let answer = clone.json(command);
        assert_eq!(answer["code"], "object-missing", "{answer:#}");
        assert_eq!(answer["detail"]["remote"], "origin", "{answer:#}");
        assert!(answer["detail"]["missing"].as_u64().unwrap() > 0, "{answer:#}");
        assert_eq!(clone.git(&["rev-parse", "HEAD"]), head);
        assert_eq!(clone.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn incomplete_repositories_have_no_agents_and_no_hub() {
    let sandbox = Sandbox::new();
    let partial = partial(&sandbox, "blob:none");
    let url = format!("file://{}", sandbox.root.display());
    let root = sandbox.outside().join("shallow");
    sandbox.git(&["clone", "-q", "--depth=1", &url, root.to_str().unwrap()]);
    let shared = sandbox.outside().join("shared");
    for view in [partial, sandbox.at(root)] {
        let view = view.with("COLONY_SHARED_ROOT", &shared);
        for command in [&["agents", "new", "ada"][..], &["agents", "new", "ada", "-n"]] {
            assert_eq!(view.error(command), "unsupported", "{command:?}");
        }
        assert!(!shared.join("hubs").exists());
    }
}
