//! Valid objects with something wrong about them: tags, commits, trees and the records of ours, changed
//! at random. No command that reads them may crash, stand still or let a control byte through.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use crate::support::{HANG_TIMEOUT, Sandbox};

/// How an object is changed; places are parts of 65536 of it.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Flip(u16, u8),
    Truncate(u16),
    Duplicate(u16, u16),
    Insert(u16, &'static [u8]),
    Remove(u16, u16),
    Replace(&'static [u8]),
}

impl Change {
    pub(crate) fn make(&self, bytes: &[u8]) -> Vec<u8> {
        let place = |part: u16| bytes.len() * usize::from(part) / 65536;
        let range = |from: u16, to: u16| place(from.min(to))..place(from.max(to));
        let mut new = bytes.to_vec();
        match self {
            Change::Flip(at, bit) => {
                if let Some(byte) = new.get_mut(place(*at)) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Change::Truncate(at) => new.truncate(place(*at)),
            Change::Duplicate(from, to) => {
                let part = bytes[range(*from, *to)].to_vec();
                new.splice(place(*to)..place(*to), part);
            }
            Change::Insert(at, what) => drop(new.splice(place(*at)..place(*at), what.to_vec())),
            Change::Remove(from, to) => drop(new.splice(range(*from, *to), [])),
            Change::Replace(what) => new = what.to_vec(),
        }
        new
    }
}

/// Bytes that parsers stumble over.
const ODD: [&[u8]; 12] = [
    b"",
    b"\0",
    b"\n\n",
    b"\x1b]0;pwn\x07\x1b[2J",
    b"\xff\xfe",
    b"-1",
    b"99999999999999999999999999",
    b"null",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":{}}",
    b"\ntype tag\n",
    b"40000 ..\0aaaaaaaaaaaaaaaaaaaa",
];

pub(crate) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<u16>(), any::<u8>()).prop_map(|(at, bit)| Change::Flip(at, bit)),
        any::<u16>().prop_map(Change::Truncate),
        (any::<u16>(), any::<u16>()).prop_map(|(from, to)| Change::Duplicate(from, to)),
        (any::<u16>(), select(ODD.as_slice())).prop_map(|(at, what)| Change::Insert(at, what)),
        (any::<u16>(), any::<u16>()).prop_map(|(from, to)| Change::Remove(from, to)),
        select(ODD.as_slice()).prop_map(Change::Replace),
    ]
}

/// Which object of a ref is changed.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// What the ref holds.
    Itself,
    /// Its commit.
    Commit,
    /// The tree of its commit.
    Tree,
    /// The first file of its tree: a record.
    File,
}

/// A repository with one of everything, and the refs of it.
struct World {
    sandbox: Sandbox,
    targets: Vec<(String, Part)>,
}

impl World {
    fn new() -> World {
        let sandbox = Sandbox::new();
        sandbox.colony(&["checkpoint", "-m", "kept"]);
        sandbox.write("a.txt", "two\n");
        sandbox.colony(&["checkpoint", "--auto"]);
        sandbox.colony(&["fork", "work"]);
        sandbox.colony(&["checkpoint", "-m", "more"]);
        sandbox.git(&["switch", "-q", "main"]);
        sandbox.colony(&["map"]);
        let mut targets = Vec::new();
        for name in sandbox.git(&["for-each-ref", "--format=%(refname)"]).lines() {
            if name == "refs/heads/main" {
                continue;
            }
            for part in [Part::Itself, Part::Commit, Part::Tree, Part::File] {
                targets.push((name.to_owned(), part));
            }
        }
        World { sandbox, targets }
    }

    /// Writes the ref anew with one object of it changed; tells what it held.
    fn spoil(&self, (name, part): &(String, Part), change: &Change) -> Option<String> {
        let sandbox = &self.sandbox;
        let held = sandbox.git(&["rev-parse", name]);
        let kind = sandbox.git(&["cat-file", "-t", &held]);
        let commit = sandbox.git(&["rev-parse", &format!("{name}^{{}}")]);
        let tree = sandbox.git(&["rev-parse", &format!("{name}^{{tree}}")]);
        let change_of = |kind: &str, id: &str| {
            sandbox.hash_literally(kind, &change.make(&sandbox.object(kind, id)))
        };
        let with_tree = |new: &str| {
            let text = String::from_utf8_lossy(&sandbox.object("commit", &commit)).into_owned();
            sandbox.hash_literally("commit", text.replacen(&tree, new, 1).as_bytes())
        };
        let new = match part {
            Part::Itself => change_of(&kind, &held),
            Part::Commit => change_of("commit", &commit),
            Part::Tree => with_tree(&change_of("tree", &tree)),
            Part::File => {
                let list = sandbox.git(&["ls-tree", &tree]);
                let blob = list.lines().find_map(|line| {
                    let (_, rest) = line.split_once(" blob ")?;
                    rest.get(..40)
                })?;
                let blob = blob.to_owned();
                with_tree(&sandbox.make_tree(&list.replacen(&blob, &change_of("blob", &blob), 1)))
            }
        };
        sandbox.write(&format!(".git/{name}"), format!("{new}\n"));
        Some(held)
    }

    fn read(&self, name: &str) -> Result<(), TestCaseError> {
        let short = name.rsplit("refs/tags/").next().unwrap_or(name);
        let commands: [&[&str]; 13] = [
            &["status"],
            &["checkpoints"],
            &["checkpoints", "--auto"],
            &["forks", "--conflicts"],
            &["fleet"],
            &["ops"],
            &["undo", "-n"],
            &["topology"],
            &["scopes"],
            &["doctor"],
            &["diff", "HEAD", name],
            &["restore", "-n", short],
            &["merge", "-n", name],
        ];
        commands.iter().try_for_each(|args| holds_up(&self.sandbox, args))
    }
}

/// Runs a command, which may fail but neither crash nor stand still nor let a control byte through.
pub(crate) fn holds_up(sandbox: &Sandbox, args: &[&str]) -> Result<(), TestCaseError> {
    let began = Instant::now();
    let run = catch_unwind(AssertUnwindSafe(|| sandbox.run(args)));
    let run = run.map_err(|_| TestCaseError::fail(format!("{args:?} panicked")))?;
    let all = format!("{}{}", run.stdout, run.stderr);
    prop_assert!([0, 1, 128, 129].contains(&run.code), "{args:?} {} {all}", run.code);
    let control = |letter: char| letter.is_control() && letter != '\n';
    prop_assert!(!all.contains(control), "{args:?} {all:?}");
    prop_assert!(run.code != 128 || all.contains("error: "), "{args:?} {all}");
    prop_assert!(began.elapsed() < HANG_TIMEOUT, "{args:?} took too long");
    Ok(())
}

pub(crate) fn runner() -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases: cases(),
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

fn cases() -> u32 {
    if std::env::var_os("COLONY_TEST_LONG").is_some() { 2000 } else { 40 }
}

#[test]
fn no_object_that_makes_no_sense_stops_a_command() {
    let world = World::new();
    let strategy = (select(world.targets.clone()), change());
    let found = runner().run(&strategy, |(target, change)| {
        let Some(held) = world.spoil(&target, &change) else {
            return Ok(());
        };
        let read = world.read(&target.0);
        world.sandbox.write(&format!(".git/{}", target.0), format!("{held}\n"));
        read
    });
    found.unwrap();
}
