//! Paths that lead out of the repository, also through a link that is put there while a command runs.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{Sandbox, id_of, worktree_of};

const SECRET: &str = "what is outside\n";

/// A repository with a checkpoint of `dir/b.txt`, and a folder outside with a file of that name.
fn with_outside() -> (Sandbox, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    sandbox.colony(&["checkpoint", "-m", "first"]);
    let outside = sandbox.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("b.txt"), SECRET).unwrap();
    (sandbox, outside)
}

/// Nothing outside changed, and nothing of it came in.
fn check_apart(sandbox: &Sandbox, outside: &Path) {
    let expected = "file 644 what is outside\\n".to_owned();
    let found = worktree_of(outside);
    assert_eq!(found, [("b.txt".to_owned(), expected)].into());
    let id = id_of("blob", SECRET);
    assert!(!sandbox.try_git(&["cat-file", "-e", &id]), "it was read");
}

#[test]
fn paths_outside_are_refused_also_through_links() {
    let (sandbox, outside) = with_outside();
    std::os::unix::fs::symlink(&outside, sandbox.path("link")).unwrap();
    let absolute = outside.join("b.txt");
    let absolute = absolute.to_str().unwrap();
    let before = sandbox.visible_state();
    for path in [
        "../elsewhere/b.txt",
        absolute,
        "dir/../../elsewhere/b.txt",
        "link/b.txt",
        "link/../../elsewhere/b.txt",
        ".git/config",
    ] {
        for command in [
            &["commit", "-m", "x", path][..],
            &["restore", "first", "--mode", "files", path],
            &["decide", "-m", "x", "--id", "y", path],
        ] {
            let answer = sandbox.json(command);
            assert_eq!(answer["ok"], false, "{command:?} {answer:#}");
        }
    }
    assert_eq!(sandbox.visible_state(), before);
    check_apart(&sandbox, &outside);
}

#[test]
fn a_folder_replaced_by_a_link_meanwhile_leads_nowhere() {
    let (sandbox, outside) = with_outside();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (folder, aside) = (sandbox.path("dir"), sandbox.outside().join("aside"));
            while !done.load(Ordering::SeqCst) {
                // One of ours may stand where the folder was, or have moved it.
                if fs::rename(&folder, &aside).is_ok() {
                    std::os::unix::fs::symlink(&outside, &folder).ok();
                    if fs::remove_file(&folder).is_ok() {
                        fs::rename(&aside, &folder).ok();
                    }
                    fs::remove_dir_all(&aside).ok();
                }
            }
        });
        for turn in 0..15 {
            let label = format!("turn {turn}");
            let edited = format!("{turn}\n");
            fs::create_dir(sandbox.path("dir")).ok();
            // Not through the link: the test itself is no attacker.
            let other = sandbox.outside().join("edited");
            fs::write(&other, edited).unwrap();
            fs::rename(&other, sandbox.path("a.txt")).unwrap();
            for command in [
                &["restore", "first", "--mode", "files", "dir/b.txt", "a.txt"][..],
                &["commit", "-m", &label, "dir/b.txt"],
                &["checkpoint", "-m", &label],
                &["undo"],
                &["restore", "first"],
            ] {
                // Any answer will do, as long as it is one.
                let run = sandbox.run(&[&["--json"], command].concat());
                let said = &run.stdout;
                assert!(serde_json::from_str::<serde_json::Value>(said).is_ok(), "{said}");
            }
        }
        done.store(true, Ordering::SeqCst);
    });
    check_apart(&sandbox, &outside);
    sandbox.git(&["fsck", "--strict", "--no-dangling"]);
}
