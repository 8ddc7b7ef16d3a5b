//! Many repositories that write one blackboard on one remote, against a model: random histories with lost pushes, stale
//! fetches, copied and deleted repositories, and histories that are cut off.
//!
//! The model is a set of events: a value was added, a value was deleted. A version has seen some of them, and holds the
//! values that were added and not deleted. A joint version has seen what each of its parts has.

use std::collections::{BTreeMap, BTreeSet};

use git_colony::testing::records::{
    Fold, NewCommit, Place, RecordSides, Sides, Signature, TreeEntry, Value, Writer, keys, write,
    write_value,
};
use git_colony::testing::{ObjectWrites, Oid, RefName, Repo, RepoPath};
use proptest::prelude::*;

use crate::support::Sandbox;

const BOARD: &str = "refs/colony/blackboard/plan";
const MACHINES: usize = 8;
const KEYS: [&str; 3] = ["a", "b", "c"];

/// What some version has seen.
#[derive(Clone, Debug, Default)]
struct Events {
    added: BTreeSet<(String, Oid)>,
    deleted: BTreeSet<Oid>,
}

impl Events {
    fn include(&mut self, other: &Events) {
        self.added.extend(other.added.iter().cloned());
        self.deleted.extend(&other.deleted);
    }

    fn values(&self) -> BTreeSet<(String, Oid)> {
        let left = self.added.iter().filter(|(_, value)| !self.deleted.contains(value));
        left.cloned().collect()
    }
}

#[derive(Clone, Debug, Default)]
struct Server {
    record: Option<Oid>,
    outboxes: BTreeMap<Writer, Oid>,
}

#[derive(Clone, Debug, Default)]
struct Machine {
    tip: Option<Oid>,
    note: Option<Oid>,
    writer: Option<Writer>,
    /// What it read of the server some time ago.
    read: Option<Server>,
}

/// How much of a push arrives.
#[derive(Clone, Copy, Debug)]
enum Push {
    Whole,
    /// It arrives, and the machine is not told.
    Unanswered,
    /// The post arrives and the rest does not.
    Half,
    Lost,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Put(usize, usize, bool),
    Delete(usize, usize),
    Read(usize),
    Sync(usize, Push),
    /// The second becomes a copy of the first.
    Copy(usize, usize),
    Forget(usize),
    /// The next write cuts the history off.
    Age(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let push = prop_oneof![
        6 => Just(Push::Whole),
        1 => Just(Push::Unanswered),
        1 => Just(Push::Half),
        1 => Just(Push::Lost),
    ];
    let (machine, key) = (0..MACHINES, 0..KEYS.len());
    prop_oneof![
        8 => (machine.clone(), key.clone(), any::<bool>()).prop_map(|(at, key, text)| Act::Put(at, key, text)),
        4 => (machine.clone(), key).prop_map(|(at, key)| Act::Delete(at, key)),
        4 => machine.clone().prop_map(Act::Read),
        10 => (machine.clone(), push).prop_map(|(at, push)| Act::Sync(at, push)),
        1 => (machine.clone(), machine.clone()).prop_map(|(from, to)| Act::Copy(from, to)),
        1 => machine.clone().prop_map(Act::Forget),
        1 => machine.prop_map(Act::Age),
    ]
}

struct Colony {
    repo: Repo,
    name: RefName,
    server: Server,
    machines: Vec<Machine>,
    seen: BTreeMap<Oid, Events>,
    /// All that a machine was told to be on the server.
    acknowledged: Events,
    writers: u64,
}

impl Colony {
    fn new(sandbox: &Sandbox) -> Colony {
        Colony {
            repo: Repo::open(&sandbox.world(), ObjectWrites::InMemory).unwrap(),
            name: RefName::from(BOARD),
            server: Server::default(),
            machines: vec![Machine::default(); MACHINES],
            seen: BTreeMap::new(),
            acknowledged: Events::default(),
            writers: 0,
        }
    }

    fn seen_by(&self, versions: impl IntoIterator<Item = Oid>) -> Events {
        let mut events = Events::default();
        versions.into_iter().for_each(|version| events.include(&self.seen[&version]));
        events
    }

    fn values(&self, version: Option<Oid>) -> BTreeSet<(String, Oid)> {
        let mut values = BTreeSet::new();
        for (key, entry) in keys(&self.repo, &self.name, version).unwrap() {
            let files = self.repo.entries_of(entry.id).unwrap();
            values.extend(files.into_iter().map(|(_, file)| (key.to_string(), file.id)));
        }
        values
    }

    fn commit(&mut self, at: usize, tree: Oid, message: &str) -> Oid {
        let parents = self.machines[at].tip.into_iter().collect();
        let signature = signature();
        let commit =
            NewCommit { tree, parents, signature: &signature, message: message.to_owned() };
        write(&self.repo, &self.name, commit).unwrap()
    }

    /// Writes or deletes a key. All values are of one second, and of two texts.
    fn change(&mut self, at: usize, key: &str, text: Option<&str>) {
        let tip = self.machines[at].tip;
        let before = self.values(tip);
        let mut now = keys(&self.repo, &self.name, tip).unwrap();
        let mut events = self.seen_by(tip);
        let old = before.iter().filter(|(of, _)| of == key).map(|(_, value)| *value);
        events.deleted.extend(old);
        let removed = now.remove(&RepoPath::from(key));
        if let Some(text) = text {
            let value = Value {
                value: text.to_owned(),
                writes: 1,
                author: format!("machine {at}"),
                updated_at: "2026-01-02T00:00:00Z".to_owned(),
            };
            let place = Place { scope: "plan", key };
            let folder = write_value(&self.repo, place, &value, tip).unwrap();
            let file = self.repo.entries_of(folder).unwrap().remove(0).1.id;
            assert!(
                events.added.insert((key.to_owned(), file)),
                "each write is a value of its own"
            );
            now.insert(RepoPath::from(key), TreeEntry::directory(folder));
        } else if removed.is_none() {
            return;
        }
        let entries = now.iter().map(|(name, entry)| (name, Some(*entry)));
        let tree = self.repo.edit_tree(self.repo.empty_tree(), entries).unwrap();
        let commit = self.commit(at, tree, "change");
        self.seen.entry(commit).or_default().include(&events);
        self.machines[at].tip = Some(commit);
    }

    /// Puts a commit on top that counts so many others that the next one has no parent.
    fn age(&mut self, at: usize) {
        let Some(tip) = self.machines[at].tip else { return };
        let message = self.repo.message_of(tip).unwrap();
        let era = message.lines().find(|line| line.starts_with("Era: ")).unwrap_or_default();
        let now = keys(&self.repo, &self.name, Some(tip)).unwrap();
        let entries = now.iter().map(|(name, entry)| (name, Some(*entry)));
        let commit = NewCommit {
            tree: self.repo.edit_tree(self.repo.empty_tree(), entries).unwrap(),
            parents: vec![tip],
            signature: &signature(),
            message: format!("age\n\nCommits: 1000\n{era}\n"),
        };
        let commit = self.repo.write_commit(commit).unwrap();
        let events = self.seen_by([tip]);
        self.seen.entry(commit).or_default().include(&events);
        self.machines[at].tip = Some(commit);
    }

    /// Joins what a machine has with what it read, and holds the result against the model.
    fn fold(&mut self, at: usize, read: &Server, is_contended: bool) -> Fold {
        let Machine { tip, note, writer, .. } = self.machines[at].clone();
        let record = RecordSides {
            name: &self.name,
            sides: Sides { base: note, ours: tip, theirs: read.record },
            outboxes: &read.outboxes,
            writer: writer.as_ref(),
            is_contended,
            at_once: 200,
            draw: 0,
        };
        let fold = record.fold(&self.repo).unwrap().expect("few keys");
        let parts = tip.into_iter().chain(read.record).chain(read.outboxes.values().copied());
        let events = self.seen_by(parts);
        assert_eq!(self.values(fold.joint), events.values(), "machine {at}");
        if let Some(joint) = fold.joint {
            self.seen.entry(joint).or_default().include(&events);
        }
        fold
    }

    /// One sync; returns whether it is over, or has to be tried once more.
    fn sync(&mut self, at: usize, push: Push, is_contended: bool) -> bool {
        let read = self.machines[at].read.take().unwrap_or_else(|| self.server.clone());
        let fold = self.fold(at, &read, is_contended);
        let ours = self.machines[at].tip;
        if fold.joint.is_none() {
            return true;
        }
        self.machines[at].tip = fold.joint;
        if matches!(push, Push::Lost) {
            return true;
        }
        let mut is_posted = false;
        if let Some(posted) = fold.post.filter(|_| fold.joint != read.record) {
            if fold.is_copied || self.machines[at].writer.is_none() {
                self.writers += 1;
                self.machines[at].writer = Some(Writer::new(self.writers));
            }
            let writer = self.machines[at].writer.clone().unwrap();
            assert!(!fold.folded.contains(&writer), "a push moves a ref once");
            // With a lease on what was read.
            if self.server.outboxes.get(&writer) == read.outboxes.get(&writer) {
                self.server.outboxes.insert(writer, posted);
                is_posted = true;
            }
        }
        if matches!(push, Push::Half) {
            return true;
        }
        let has_won = self.server.record == read.record;
        if has_won {
            self.server.record = fold.joint;
        }
        for writer in &fold.folded {
            if self.server.outboxes.get(writer) == read.outboxes.get(writer) {
                self.server.outboxes.remove(writer);
            }
        }
        if matches!(push, Push::Unanswered) {
            return true;
        }
        if has_won {
            self.machines[at].note = fold.joint;
        }
        if has_won || is_posted {
            let events = self.seen_by(ours);
            self.acknowledged.include(&events);
        }
        has_won || is_posted
    }

    fn run(&mut self, act: Act) {
        match act {
            Act::Put(at, key, text) => {
                self.change(at, KEYS[key], Some(if text { "x" } else { "y" }));
            }
            Act::Delete(at, key) => self.change(at, KEYS[key], None),
            Act::Read(at) => self.machines[at].read = Some(self.server.clone()),
            Act::Sync(at, push) => {
                // A push that lost the record is tried again, with a post: that needs no luck.
                if !self.sync(at, push, false) {
                    assert!(self.sync(at, push, true), "machine {at} got through");
                }
            }
            Act::Copy(from, to) => self.machines[to] = self.machines[from].clone(),
            Act::Forget(at) => self.machines[at] = Machine::default(),
            Act::Age(at) => self.age(at),
        }
    }

    /// Syncs all machines until nothing changes, and compares them.
    fn settle(&mut self) {
        self.machines.iter_mut().for_each(|machine| machine.read = None);
        let mut all = self.acknowledged.clone();
        all.include(&self.seen_by(self.machines.iter().filter_map(|machine| machine.tip)));
        for _ in 0..3 {
            for at in 0..MACHINES {
                self.run(Act::Sync(at, Push::Whole));
            }
        }
        let tips: BTreeSet<_> = self.machines.iter().map(|machine| machine.tip).collect();
        assert_eq!(tips, BTreeSet::from([self.server.record]), "all machines agree");
        assert!(self.server.outboxes.is_empty(), "{:?}", self.server.outboxes);
        let Some(record) = self.server.record else { return };
        let mut events = self.seen_by([record]);
        let values = events.values();
        assert_eq!(self.values(Some(record)), values);
        events.include(&all);
        assert_eq!(events.values(), values, "nothing acknowledged is lost, and nothing comes back");
    }
}

fn signature() -> Signature {
    Signature {
        name: "A".to_owned(),
        email: "a@example.com".to_owned(),
        seconds: 1_767_312_000,
        offset_seconds: 0,
    }
}

#[test]
fn of_too_many_outboxes_each_has_its_turn() {
    let sandbox = Sandbox::new();
    let mut colony = Colony::new(&sandbox);
    colony.change(7, "a", Some("record"));
    let theirs = colony.machines[7].tip;
    let post = |at: usize| {
        colony.change(at, "b", Some(&format!("{at}")));
        (Writer::new(at as u64), colony.machines[at].tip.unwrap())
    };
    let outboxes: BTreeMap<Writer, Oid> = (0..6).map(post).collect();
    let values_of = |draw: u64| {
        let record = RecordSides {
            name: &colony.name,
            sides: Sides { base: None, ours: theirs, theirs },
            outboxes: &outboxes,
            writer: None,
            is_contended: false,
            at_once: 2,
            draw,
        };
        colony.values(record.fold(&colony.repo).unwrap().expect("few keys").joint)
    };
    for tip in outboxes.values() {
        let posted = colony.values(Some(*tip));
        let joined = (0..6).filter(|draw| posted.is_subset(&values_of(*draw)));
        assert_eq!(joined.count(), 2, "of six syncs two read it");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("COLONY_TEST_LONG").is_some() { 20_000 } else { 200 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn writers_without_order_lose_nothing_and_agree(acts in prop::collection::vec(act(), 1..60)) {
        let sandbox = Sandbox::new();
        let mut colony = Colony::new(&sandbox);
        for act in acts {
            colony.run(act);
        }
        colony.settle();
    }
}
