//! Objects without those below them, as a fetch, push or prune that was killed leaves them: what is published,
//! gathered or made from such a repository is whole all the same.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agents::new_and_merge::{agent, hub};
use crate::support::{Sandbox, View};

/// The loose objects of a repository.
fn loose(objects: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(objects).unwrap().flatten().map(|entry| entry.path());
    let folders = folders.filter(|path| path.file_name().unwrap().len() == 2);
    let mut found: Vec<_> = folders
        .flat_map(|folder| fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()))
        .collect();
    found.sort();
    found
}

/// Copies those of some objects that a pattern of bits selects.
fn leave_some(some: &[PathBuf], into: &Path, bits: u64) {
    for (at, object) in some.iter().enumerate() {
        if bits.rotate_right(u32::try_from(at % 64).unwrap()) & 1 == 0 {
            continue;
        }
        let folder = into.join(object.parent().unwrap().file_name().unwrap());
        fs::create_dir_all(&folder).unwrap();
        let copy = folder.join(object.file_name().unwrap());
        if !copy.exists() {
            fs::copy(object, copy).unwrap();
        }
    }
}

/// Commits with plain git, without our hooks: two commits with folders. Returns their objects.
fn commits(view: &View, round: u64) -> Vec<PathBuf> {
    let objects = view.path(".git/objects");
    let before = loose(&objects);
    for number in 0..2 {
        view.write(&format!("new-{round}/deep/{number}.txt"), format!("{round} {number}\n"));
        view.write(&format!("same/deep/{number}.txt"), format!("{round} {number}\n"));
        view.git(&["add", "-A"]);
        let own = ["core.hooksPath=/dev/null", "user.name=Eve", "user.email=eve@example.com"];
        let own = own.iter().flat_map(|setting| ["-c", setting]);
        view.git(&own.chain(["commit", "-qm", "by plain git"]).collect::<Vec<_>>());
    }
    let mut new = loose(&objects);
    new.retain(|object| !before.contains(object));
    new
}

/// Everything but the files, everything but the folders, and mixtures.
const PATTERNS: [u64; 6] = [
    u64::MAX,
    0x5555_5555_5555_5555,
    0xaaaa_aaaa_aaaa_aaaa,
    0x9249_2492_4924_9249,
    0x1337_c0de_600d_f00d,
    0xfeed_0bad_cafe_1234,
];

/// Asserts that every ref has everything below it.
fn assert_whole(view: &View, repository: &Path) {
    let place = repository.to_str().unwrap();
    view.git(&["-C", place, "rev-list", "--objects", "--all", "--quiet"]);
    view.git(&["-C", place, "fsck", "--connectivity-only", "--no-dangling"]);
}

fn without_files(view: &View, objects: &[PathBuf]) -> Vec<PathBuf> {
    let id = |path: &PathBuf| {
        let folder = path.parent().unwrap().file_name().unwrap();
        [folder, path.file_name().unwrap()].map(|part| part.to_str().unwrap()).concat()
    };
    let is_no_file = |path: &&PathBuf| view.git(&["cat-file", "-t", &id(path)]).trim() != "blob";
    objects.iter().filter(is_no_file).cloned().collect()
}

#[test]
fn half_a_history_in_a_hub_or_a_checkout_is_completed() {
    let desk = Sandbox::new();
    let ada = agent(&desk, "ada");
    let store = hub(&desk);
    for (round, bits) in (0..).zip(PATTERNS) {
        for (target, into) in [(&store, store.clone()), (&desk.root, desk.path(".git"))] {
            let new = commits(&ada, round * 2 + u64::from(target == &store));
            let some = if bits == u64::MAX { without_files(&ada, &new) } else { new };
            leave_some(&some, &into.join("objects"), bits);
            ada.json(&["checkpoint", "-m", "published"]);
            let tip = ada.git(&["rev-parse", "HEAD"]);
            let published =
                ["-C", store.to_str().unwrap(), "for-each-ref", "--format=%(objectname)"];
            assert!(desk.git(&published).contains(&tip));
            assert_whole(&desk, &store);
            desk.json(&["merge", "ada", "-n"]);
            assert!(desk.git(&["for-each-ref", "--format=%(objectname)"]).contains(&tip));
            assert_whole(&desk, &desk.root);
        }
    }
    assert_eq!(desk.json(&["merge", "ada"])["ok"], true);
    assert_whole(&desk, &desk.root);
}

#[test]
fn a_tip_of_the_hub_without_its_history_here_stops_nothing() {
    let desk = Sandbox::new();
    agent(&desk, "ada");
    let store = hub(&desk);
    let place = desk.outside().join("remote");
    desk.git(&["clone", "-q", desk.root.to_str().unwrap(), place.to_str().unwrap()]);
    let remote = desk.at(place.clone());
    let new = commits(&remote, 0);
    let branch = "+refs/heads/main:refs/remotes/origin/main";
    desk.git(&["-C", store.to_str().unwrap(), "fetch", "-q", place.to_str().unwrap(), branch]);
    let tip = remote.git(&["rev-parse", "HEAD"]);
    let is_tip = |path: &&PathBuf| path.ends_with(Path::new(&tip[..2]).join(tip[2..].trim()));
    let only: Vec<_> = new.iter().filter(is_tip).cloned().collect();
    assert_eq!(only.len(), 1);
    leave_some(&only, &desk.path(".git/objects"), u64::MAX);
    desk.write("a.txt", "new\n");
    assert_eq!(desk.json(&["checkpoint", "-m", "published"])["ok"], true);
    let head = desk.git(&["rev-parse", "HEAD"]);
    let refs = ["-C", store.to_str().unwrap(), "for-each-ref", "--format=%(objectname)"];
    assert!(desk.git(&refs).contains(&head));
    assert_whole(&desk, &store);
}

#[test]
fn a_hub_of_a_checkout_with_half_a_history_is_whole() {
    for (round, bits) in (0..).zip(PATTERNS) {
        let desk = Sandbox::new();
        let place = desk.outside().join("remote");
        desk.git(&["clone", "-q", desk.root.to_str().unwrap(), place.to_str().unwrap()]);
        let remote = desk.at(place);
        let new = commits(&remote, round);
        let some = if bits == u64::MAX { without_files(&remote, &new) } else { new.clone() };
        leave_some(&some, &desk.path(".git/objects"), bits);
        agent(&desk, "ada");
        // The fetch that was killed is repeated.
        leave_some(&new, &desk.path(".git/objects"), u64::MAX);
        let tip = remote.git(&["rev-parse", "HEAD"]);
        desk.git(&["merge", "-q", "--ff-only", tip.trim()]);
        desk.json(&["checkpoint", "--auto"]);
        assert_whole(&desk, &hub(&desk));
        let eve = agent(&desk, "eve");
        assert_whole(&desk, &eve.root);
        assert_eq!(eve.git(&["status", "--porcelain"]), "");
    }
}
