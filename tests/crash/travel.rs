//! What travels arrives whole: publication and `sync` are cut off at every system call by which they
//! change something, in the program and in the gits it starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::desk::{CALLS, Desk, Point, Whom, each_point, each_point_of};

/// Every ref names an object that is there with all it needs.
const WHOLE: [&str; 3] = ["fsck", "--strict", "--connectivity-only"];

/// How the objects of a clone are stored, and so how they travel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    /// Each in a file: they are linked.
    Loose,
    /// In a pack: git brings them.
    Packed,
}

fn a_killed_publication_is_whole(stored: Stored, whom: Whom, stride: usize) {
    let name = match stored {
        Stored::Loose => "publication of loose objects",
        Stored::Packed => "publication of packed objects",
    };
    each_point((name, whom), stride, |point: Point| {
        let desk = Desk::new();
        let clone = PathBuf::from(desk.colony(&["agents", "new", "ada"]));
        let hub = desk.hub().expect("it was made");
        // Commits that are not published: the hooks that would are off.
        for text in ["one", "two"] {
            fs::write(clone.join("a.txt"), text).expect("it is there");
            fs::write(clone.join(format!("{text}.txt")), text).expect("it is there");
            let no_hooks = "core.hooksPath=/dev/null";
            Desk::git_in(&clone, &["add", "-A"]);
            Desk::git_in(&clone, &["-c", no_hooks, "commit", "-qm", text]);
        }
        if stored == Stored::Packed {
            Desk::git_in(&clone, &["repack", "-q", "-d", "-l"]);
        }
        let tip = Desk::git_in(&clone, &["rev-parse", "HEAD"]);
        let tip = tip.trim_end();
        let published = || {
            let refs = Desk::git_in(&hub, &["for-each-ref", "refs/colony/agents/ada/"]);
            let mut lines = refs.lines();
            let line = lines.find(|line| line.ends_with("/heads/fork/ada"));
            let id = line.and_then(|line| line.split_once(' '));
            id.expect("it was published").0.to_owned()
        };
        let before = published();
        assert_ne!(before, tip, "nothing was left to publish");
        let struck = desk.strike_in(&clone, &["hook", "post-commit"], (point, whom));
        Desk::git_in(&hub, &WHOLE);
        Desk::git_in(&clone, &WHOLE);
        let found = published();
        assert!(found == before || found == tip, "{point:?} {found}");
        // The next command publishes, whatever a killed git has left locked.
        desk.colony_in(&clone, &["tag", "-m", "next"]);
        assert_eq!(published(), tip, "{point:?}");
        Desk::git_in(&hub, &WHOLE);
        desk.colony(&["merge", "ada"]);
        desk.repository.git(&WHOLE);
        let merged = fs::read_to_string(desk.repository.root.join("two.txt"));
        assert_eq!(merged.expect("it was merged"), "two", "{point:?}");
        struck
    });
}

#[test]
fn a_killed_publication_leaves_the_hub_whole() {
    a_killed_publication_is_whole(Stored::Loose, Whom::Program, 2);
}

#[test]
fn a_killed_publication_of_packed_objects_leaves_the_hub_whole() {
    a_killed_publication_is_whole(Stored::Packed, Whom::Everybody, 2);
}

/// Lists the locks that stand on refs.
pub(crate) fn locks_on_refs(git_dir: &Path) -> Vec<PathBuf> {
    let (mut locks, mut open) = (Vec::new(), vec![git_dir.join("refs")]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "lock") {
                locks.push(path);
            }
        }
    }
    locks
}

/// Removes the locks that a killed git left on refs, as its message advises.
pub(crate) fn remove_locks_on_refs(git_dir: &Path) {
    for path in locks_on_refs(git_dir) {
        fs::remove_file(path).expect("the lock can be removed");
    }
    fs::remove_file(git_dir.join("packed-refs.lock")).ok();
}

/// The refs that may travel, and what they hold.
fn exchanged(place: &Path) -> BTreeMap<String, String> {
    let listed = Desk::git_in(
        place,
        &[
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/heads/fork",
            "refs/colony",
            "refs/tags/checkpoint",
        ],
    );
    let pairs = listed.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(name, id)| (name.to_owned(), id.to_owned())).collect()
}

/// Every ref is as it was or as it is to be.
fn check_old_or_new(found: &Refs, before: &Refs, after: &Refs, point: Point) {
    for name in found.keys().chain(before.keys()).chain(after.keys()) {
        let now = found.get(name);
        assert!(now == before.get(name) || now == after.get(name), "{point:?} {name} {now:?}");
    }
}

type Refs = BTreeMap<String, String>;

/// Whether the person at the desk has consented to publish to the remote.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Missing,
}

/// A desk and another clone, which has synced already: each has what the other lacks.
fn apart(consent: Consent) -> (Desk, PathBuf, PathBuf) {
    let desk = Desk::new();
    let remote = desk.shared.path().join("remote.git");
    let url = remote.to_str().expect("our names are UTF-8");
    let root = desk.repository.root.clone();
    desk.repository.git(&["clone", "-q", "--bare", ".", url]);
    desk.repository.git(&["remote", "add", "origin", url]);
    let other = desk.shared.path().join("other");
    let name = other.to_str().expect("our names are UTF-8");
    desk.repository.git(&["clone", "-q", url, name]);
    Desk::git_in(&other, &["config", "user.name", "Bob"]);
    Desk::git_in(&other, &["config", "user.email", "bob@example.com"]);
    desk.colony_in(&other, &["fork", "of-bob"]);
    fs::write(other.join("b.txt"), "bob\n").expect("it is there");
    desk.colony_in(&other, &["checkpoint", "-m", "of bob"]);
    desk.colony_in(&other, &["sync", "--push"]);
    if consent == Consent::Given {
        desk.colony(&["sync", "--push"]);
    }
    desk.colony(&["fork", "of-ada"]);
    fs::write(root.join("a.txt"), "ada\n").expect("it is there");
    desk.colony(&["checkpoint", "-m", "of ada"]);
    (desk, remote, other)
}

/// The calls by which `sync` has gits started, and talks to them: it changes nothing itself.
pub(crate) const CALLS_OF_SYNC: [&str; 7] =
    ["clone3", "clone", "vfork", "write", "wait4", "waitid", "mkdir"];

fn a_killed_sync_converges(whom: Whom, stride: usize) {
    let calls = match whom {
        Whom::Program => &CALLS_OF_SYNC[..],
        Whom::Everybody | Whom::Group => &CALLS,
    };
    each_point_of(("sync", whom), (calls, stride), |point: Point| {
        let (desk, remote, other) = apart(Consent::Given);
        let root = desk.repository.root.clone();
        let before = (exchanged(&root), exchanged(&remote));
        let struck = desk.strike_in(&root, &["sync"], (point, whom));
        for place in [&root, &remote] {
            Desk::git_in(place, &WHOLE);
        }
        let found = (exchanged(&root), exchanged(&remote));
        if whom == Whom::Everybody {
            // What a server has left nobody here can prove.
            remove_locks_on_refs(&remote);
        }
        desk.colony(&["sync"]);
        assert_eq!(locks_on_refs(&root.join(".git")), [] as [PathBuf; 0]);
        let after = (exchanged(&root), exchanged(&remote));
        check_old_or_new(&found.0, &before.0, &after.0, point);
        check_old_or_new(&found.1, &before.1, &after.1, point);
        // Both have everything now, and so has the other clone.
        let said = desk.colony(&["sync"]);
        assert!(said.starts_with("up to date with 'origin'"), "{point:?} {said}");
        desk.colony_in(&other, &["sync"]);
        let shared = |place: &Path| {
            let mut refs = exchanged(place);
            refs.retain(|name, _| !name.starts_with("refs/heads/"));
            refs
        };
        assert_eq!(shared(&root), shared(&remote), "{point:?}");
        assert_eq!(shared(&other), shared(&remote), "{point:?}");
        assert_eq!(shared(&remote).len(), 4, "{point:?} {after:#?}");
        for fork in ["refs/heads/fork/of-ada", "refs/heads/fork/of-bob"] {
            assert!(after.1.contains_key(fork), "{point:?} {after:#?}");
        }
        for place in [&root, &remote, &other] {
            Desk::git_in(place, &WHOLE);
        }
        let incoming = desk.repository.git(&["for-each-ref", "refs/colony-local"]);
        assert!(!incoming.contains("incoming"), "{point:?} {incoming}");
        struck
    });
}

#[test]
fn a_killed_sync_did_all_or_none_and_the_next_one_converges() {
    a_killed_sync_converges(Whom::Program, 4);
}

#[test]
fn a_sync_whose_gits_are_killed_leaves_both_sides_old_or_new() {
    a_killed_sync_converges(Whom::Everybody, 4);
}

fn a_killed_consent_is_given_or_not(whom: Whom, stride: usize) {
    each_point(("sync --push", whom), stride, |point: Point| {
        let (desk, remote, _) = apart(Consent::Missing);
        let root = desk.repository.root.clone();
        let before = exchanged(&remote);
        let struck = desk.strike_in(&root, &["sync", "--push"], (point, whom));
        for place in [&root, &remote] {
            Desk::git_in(place, &WHOLE);
        }
        let key = "colony.sync.origin.push";
        let said = Desk::git_in(&root, &["config", "--local", "--default", "none", "--get", key]);
        let is_given = said.trim_end() != "none";
        let found = exchanged(&remote);
        assert!(is_given || found == before, "{point:?} published without consent: {found:#?}");
        if whom == Whom::Everybody {
            remove_locks_on_refs(&remote);
            remove_locks_on_refs(&root.join(".git"));
        }
        // Whatever is left of it is in nobody's way.
        desk.colony(&["sync", "--push"]);
        let said = Desk::git_in(&root, &["config", "--local", "--get-all", key]);
        assert_eq!(said.lines().count(), 1, "{point:?} {said}");
        assert!(!root.join(".git/config.lock").exists(), "{point:?}");
        let after = exchanged(&remote);
        check_old_or_new(&found, &before, &after, point);
        assert!(after.contains_key("refs/heads/fork/of-ada"), "{point:?} {after:#?}");
        struck
    });
}

#[test]
fn a_killed_consent_is_given_before_publication_or_not_at_all() {
    a_killed_consent_is_given_or_not(Whom::Program, 1);
}
