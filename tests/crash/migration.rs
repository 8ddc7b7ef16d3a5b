//! A migration to git-lfs is published whole or not at all: its publication is cut off at every system
//! call by which something changes or a git is started, in the program, in the gits, in git-lfs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::desk::{CALLS, Desk, Point, Whom, each_point_of};
use super::repository::{self, Repository};
use super::travel::{CALLS_OF_SYNC, remove_locks_on_refs};

/// A checkout with large files in git, and a remote that has all of it.
fn published() -> (Desk, PathBuf) {
    let repository = Repository::new();
    repository.git(&["lfs", "install", "--local"]);
    for text in ["first", "second"] {
        repository.write("paper.pdf", &format!("a large file, {text}\n"));
        repository.git(&["add", "--all"]);
        repository.git(&["commit", "--quiet", "-m", text]);
    }
    repository.git(&["tag", "-a", "-m", "annotated", "v1", "HEAD~1"]);
    repository.git(&["branch", "side", "HEAD~1"]);
    let attributes = "*.pdf filter=lfs diff=lfs merge=lfs -text\n";
    repository.write(".gitattributes", attributes);
    repository.git(&["add", ".gitattributes"]);
    repository.git(&["commit", "--quiet", "-m", "patterns"]);
    let desk = Desk { repository, shared: repository::temporary_folder() };
    let remote = desk.shared.path().join("remote.git");
    let name = remote.to_str().expect("our names are UTF-8");
    desk.repository.git(&["clone", "-q", "--bare", ".", name]);
    let url = format!("file://{name}");
    desk.repository.git(&["remote", "add", "origin", &url]);
    (desk, remote)
}

/// The refs that a migration moves, and its map.
fn refs(place: &Path) -> String {
    Desk::git_in(
        place,
        &[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads",
            "refs/tags",
            "refs/colony/migrations",
        ],
    )
}

/// The large files that are in the store of a repository.
fn large_files(git_dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![git_dir.join("lfs/objects")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                open.push(entry.path());
            } else if name.len() == 64 {
                found.insert(name);
            }
        }
    }
    found
}

/// Nobody has a ref without what it needs.
fn check_whole(desk: &Desk, remote: &Path, point: Point) {
    let root = &desk.repository.root;
    for place in [root.as_path(), remote] {
        Desk::git_in(place, &["fsck", "--strict", "--no-dangling"]);
    }
    if refs(remote).contains("refs/colony/migrations") {
        let here = large_files(&root.join(".git"));
        assert!(!here.is_empty(), "{point:?}");
        assert_eq!(large_files(remote), here, "{point:?}");
    }
}

fn a_killed_publication_is_whole(whom: Whom, stride: usize) {
    let calls = match whom {
        Whom::Program => &CALLS_OF_SYNC[..],
        Whom::Everybody | Whom::Group => &CALLS,
    };
    let name = "lfs migrate --push";
    each_point_of((name, whom), (calls, stride), |point: Point| {
        let (desk, remote) = published();
        let root = desk.repository.root.clone();
        let (old, theirs) = (refs(&root), refs(&remote));
        desk.colony(&["lfs", "migrate"]);
        let new = refs(&root);
        let command = ["lfs", "migrate", "--push"];
        let struck = desk.strike_in(&root, &command, (point, whom));
        assert_eq!(refs(&root), new, "{point:?}");
        let found = refs(&remote);
        check_whole(&desk, &remote, point);
        if whom == Whom::Everybody {
            // A server that is killed while it moves refs has moved some of them.
            let is_known = |line: &str| theirs.contains(line) || new.contains(line);
            assert!(found.lines().all(is_known), "{point:?} {found}");
            for git_dir in [remote.clone(), root.join(".git")] {
                remove_locks_on_refs(&git_dir);
                fs::remove_file(git_dir.join("HEAD.lock")).ok();
            }
        } else {
            assert!(found == theirs || found == new, "{point:?} {found}");
        }
        if found == theirs && point.1.is_multiple_of(2) {
            desk.colony(&["undo"]);
            assert_eq!(refs(&root), old, "{point:?}");
            return struck;
        }
        desk.colony(&["lfs", "migrate", "--push"]);
        assert_eq!(refs(&remote), new, "{point:?}");
        assert_eq!(refs(&root), new, "{point:?}");
        check_whole(&desk, &remote, point);
        desk.colony(&["lfs", "migrate", "--push"]);
        assert_eq!(refs(&remote), new, "{point:?}");
        struck
    });
}

#[test]
fn a_killed_publication_of_a_migration_happened_or_did_not() {
    a_killed_publication_is_whole(Whom::Program, 5);
}

#[test]
fn a_publication_with_any_process_killed_happened_or_did_not() {
    a_killed_publication_is_whole(Whom::Everybody, 7);
}

#[test]
fn a_migration_killed_anywhere_is_published_whole_by_the_next() {
    let what = ("lfs migrate and push", Whom::Program);
    each_point_of(what, (&CALLS, 7), |point: Point| {
        let (desk, remote) = published();
        let root = desk.repository.root.clone();
        let theirs = refs(&remote);
        let struck = desk.strike(&["lfs", "migrate", "--push"], point);
        let found = refs(&remote);
        check_whole(&desk, &remote, point);
        desk.colony(&["lfs", "migrate", "--push"]);
        let new = refs(&root);
        assert_eq!(refs(&remote), new, "{point:?}");
        assert!(found == theirs || found == new, "{point:?} {found}");
        assert_eq!(desk.repository.git(&["status", "--porcelain"]), "");
        let left = root.join(".git/colony/migration");
        assert!(!left.exists(), "{point:?}");
        check_whole(&desk, &remote, point);
        struck
    });
}
