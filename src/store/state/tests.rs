//! Random commands against a model that keeps everything in maps, with a clock that may jump.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use crate::model::interrupt::Interrupt;
use crate::store::cache::database_wait::{waiter_of, waiter_of_tests};
use crate::store::files::atomic;

use super::*;

const AGENTS: [&str; 2] = ["ada", ""];
const BUDGET: u64 = 100;
const PAGES: u8 = 12;

/// Pages of the same number have the same tokens: 10 to 43.
fn tokens(page: u8) -> u64 {
    10 + u64::from(page) * 3
}

/// Every third page is of a pinned scope.
fn scope(page: u8) -> String {
    if page.is_multiple_of(3) { "pinned" } else { "free" }.to_owned()
}

fn key(page: u8) -> PageKey {
    [page; 16]
}

fn wanted(page: u8) -> Wanted {
    Wanted {
        id: key(page),
        page: Some(StoredPage {
            id: key(page),
            scope: scope(page),
            place: None,
            tokens: tokens(page),
            packed: vec![page],
        }),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Request { agent: usize, pages: BTreeSet<u8>, how: Terms },
    Lock { agent: usize, page: u8, time: i64 },
    Unlock { agent: usize, page: u8 },
    Extend { agent: usize, page: u8, time: i64 },
    Forget { agent: usize },
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let (agent, page) = (0..AGENTS.len(), 0..PAGES);
    let request = (
        agent.clone(),
        proptest::collection::btree_set(page.clone(), 1..4),
        0..3_i64,
        proptest::option::of(1..60_i64),
        prop_oneof![Just(BUDGET), Just(BUDGET), Just(50)],
    );
    prop_oneof![
        6 => request.prop_map(|(agent, pages, priority, lock, budget)| Step::Request { agent, pages, how: Terms { priority, lock, budget } }),
        2 => (agent.clone(), page.clone(), 1..60_i64)
            .prop_map(|(agent, page, time)| Step::Lock { agent, page, time }),
        2 => (agent.clone(), page.clone()).prop_map(|(agent, page)| Step::Unlock { agent, page }),
        1 => (agent.clone(), page, 1..60_i64)
            .prop_map(|(agent, page, time)| Step::Extend { agent, page, time }),
        1 => agent.prop_map(|agent| Step::Forget { agent }),
        2 => (-20..60_i64).prop_map(Step::Wait),
    ]
}

/// How pages are requested.
#[derive(Clone, Copy, Debug)]
struct Terms {
    priority: i64,
    lock: Option<i64>,
    budget: u64,
}

/// What a resident set and locks should be.
#[derive(Default)]
struct Model {
    now: i64,
    turn: u64,
    /// By agent and page: priority, last use, order.
    resident: BTreeMap<(usize, u8), (i64, u64, u64)>,
    locks: BTreeMap<(usize, u8), i64>,
}

impl Model {
    fn pages(&self, agent: usize) -> Vec<u8> {
        let resident = self.resident.iter().filter(|((of, _), _)| *of == agent);
        let mut own: Vec<_> = resident.map(|((_, page), (_, _, order))| (*order, *page)).collect();
        own.sort_unstable();
        own.into_iter().map(|(_, page)| page).collect()
    }

    fn sum(&self, agent: usize) -> u64 {
        self.pages(agent).into_iter().map(tokens).sum()
    }

    fn is_locked(&self, agent: usize, page: u8) -> bool {
        self.locks.get(&(agent, page)).is_some_and(|until| *until > self.now)
    }

    /// Lets pages leave one by one; returns those, or `None` where too few can.
    fn evict(&mut self, agent: usize, pages: &BTreeSet<u8>, budget: u64) -> Option<BTreeSet<u8>> {
        let added = |model: &Model| {
            let new = pages.iter().filter(|page| !model.resident.contains_key(&(agent, **page)));
            new.map(|page| tokens(*page)).sum::<u64>()
        };
        let before = self.resident.clone();
        let mut evicted = BTreeSet::new();
        while self.sum(agent) + added(self) > budget {
            let free = self.pages(agent).into_iter().filter(|page| {
                !pages.contains(page) && !self.is_locked(agent, *page) && scope(*page) == "free"
            });
            let next = free.min_by_key(|page| {
                let (priority, used, _) = self.resident[&(agent, *page)];
                (priority, used)
            });
            let Some(next) = next else {
                self.resident = before;
                return None;
            };
            self.resident.remove(&(agent, next));
            evicted.insert(next);
        }
        Some(evicted)
    }

    fn touch(&mut self, agent: usize, pages: &BTreeSet<u8>, priority: i64) {
        for page in pages {
            self.turn += 1;
            let turn = self.turn;
            let entry = self.resident.entry((agent, *page)).or_insert((0, 0, turn));
            (entry.0, entry.1) = (priority, turn);
        }
    }

    fn lock(&mut self, agent: usize, page: u8, until: i64) {
        let held = self.locks.get(&(agent, page)).copied();
        let valid = held.filter(|held| *held > self.now);
        self.locks.insert((agent, page), valid.map_or(until, |held| held.max(until)));
    }

    fn sweep(&mut self) {
        let now = self.now;
        self.locks.retain(|_, until| *until > now);
    }
}

fn set(pages: &[PageKey]) -> BTreeSet<u8> {
    pages.iter().map(|page| page[0]).collect()
}

fn pinned(pages: &[Resident]) -> BTreeSet<PageKey> {
    let pinned = pages.iter().filter(|page| page.scope == "pinned");
    pinned.map(|page| page.id).collect()
}

fn do_request(
    state: &mut State,
    model: &mut Model,
    agent: usize,
    pages: &BTreeSet<u8>,
    how: Terms,
) {
    let Terms { priority, lock, budget } = how;
    let names: Vec<Wanted> = pages.iter().map(|page| wanted(*page)).collect();
    let was: BTreeSet<u8> = model.pages(agent).into_iter().collect();
    let done = state.request(&Request {
        agent: AGENTS[agent],
        wanted: &names,
        priority,
        budget,
        lock: lock.map(|time| NewLock { until: model.now + time, reason: "why" }),
        now: model.now,
        pinned: &|pages| Ok(pinned(pages)),
    });
    match (done.unwrap(), model.evict(agent, pages, budget)) {
        (Requested::DoesNotFit { held, .. }, None) => {
            for page in held {
                let number = page.id[0];
                let locked = matches!(page.by, Holding::Lock(_));
                assert!(locked == model.is_locked(agent, number));
                assert!(locked || scope(number) == "pinned");
            }
        }
        (Requested::Loaded { hits, faults, evicted, used_tokens }, Some(expected)) => {
            assert_eq!(set(&evicted), expected);
            assert_eq!(set(&hits), was.intersection(pages).copied().collect());
            assert_eq!(set(&faults), pages.difference(&was).copied().collect());
            model.touch(agent, pages, priority);
            assert_eq!(used_tokens, model.sum(agent));
            assert!(used_tokens <= budget);
            for page in pages.iter().filter(|_| lock.is_some()) {
                model.lock(agent, *page, model.now + lock.unwrap());
            }
            model.sweep();
        }
        (done, expected) => panic!("{done:?}, and expected {expected:?}"),
    }
}

fn run(state: &mut State, model: &mut Model, step: &Step) {
    match step {
        Step::Request { agent, pages, how } => do_request(state, model, *agent, pages, *how),
        Step::Lock { agent, page, time } => {
            let new = NewLock { until: model.now + time, reason: "" };
            let done = state.lock(AGENTS[*agent], &[wanted(*page)], new, model.now).unwrap();
            model.sweep();
            model.lock(*agent, *page, model.now + time);
            assert_eq!(done, [Some(model.locks[&(*agent, *page)])]);
        }
        Step::Unlock { agent, page } => {
            let done = state.unlock(AGENTS[*agent], &[key(*page)], model.now).unwrap();
            model.sweep();
            let own = model.locks.remove(&(*agent, *page));
            let others = model.locks.contains_key(&(1 - agent, *page));
            match &done[0] {
                Unlocked::Deleted => assert!(own.is_some()),
                Unlocked::NotLocked => assert!(own.is_none() && !others),
                Unlocked::OfOthers(locks) => assert!(own.is_none() && others && locks.len() == 1),
            }
        }
        Step::Extend { agent, page, time } => {
            let done = state.extend(AGENTS[*agent], key(*page), *time, model.now).unwrap();
            let is_held = model.is_locked(*agent, *page);
            let until = is_held.then(|| model.locks[&(*agent, *page)] + time);
            assert_eq!(done, until.map_or(Extended::NotLocked, Extended::Until));
            if let Some(until) = until {
                model.locks.insert((*agent, *page), until);
            }
        }
        Step::Forget { agent } => {
            state.forget(AGENTS[*agent]).unwrap();
            model.resident.retain(|(of, _), _| of != agent);
            model.locks.retain(|(of, _), _| of != agent);
        }
        Step::Wait(time) => model.now += time,
    }
}

fn check(state: &mut State, model: &Model) {
    for (agent, name) in AGENTS.iter().enumerate() {
        let residents = state.residents(name).unwrap();
        let page_ids: Vec<u8> = residents.iter().map(|page| page.id[0]).collect();
        assert_eq!(page_ids, model.pages(agent));
    }
    let valid = model.locks.iter().filter(|(_, until)| **until > model.now);
    let mut held: Vec<_> =
        valid.map(|((agent, page), until)| (*page, AGENTS[*agent], *until)).collect();
    held.sort_unstable();
    let locks = state.locks(model.now).unwrap();
    let held_locks = locks.iter().map(|lock| (lock.page[0], lock.owner.as_str(), lock.until));
    assert_eq!(held_locks.collect::<Vec<_>>(), held);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn residency_and_locks_are_those_of_a_simple_model(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State::open_at(&folder.path().join("1.db"), Mode::Kept, waiter_of_tests()).unwrap();
        let mut model = Model { now: 1_000, ..Model::default() };
        for step in &steps {
            run(&mut state, &mut model, step);
            check(&mut state, &model);
        }
    }
}

fn ask(state: &mut State, page: u8) -> Requested {
    let request = Request {
        agent: "ada",
        wanted: &[wanted(page)],
        priority: 0,
        budget: BUDGET,
        lock: None,
        now: 1,
        pinned: &|pages| Ok(pinned(pages)),
    };
    state.request(&request).unwrap()
}

#[test]
fn a_deleted_or_damaged_file_is_made_again_under_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    let mut other = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    ask(&mut state, 1);
    std::fs::remove_file(&path).unwrap();
    ask(&mut state, 2);
    ask(&mut other, 4);
    assert_eq!(other.residents("ada").unwrap().len(), 2);
    drop((state, other));
    atomic::write_quickly(&path, &[b'x'; 5_000]).unwrap();
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    ask(&mut state, 1);
    assert_eq!(state.residents("ada").unwrap().len(), 1);
}

#[test]
fn a_file_that_is_deleted_during_a_transaction_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    ask(&mut state, 1);
    let is_deleted = std::cell::Cell::new(false);
    let changed = state.update(|connection| {
        if !is_deleted.replace(true) {
            for name in ["1.db", "1.db-journal"] {
                drop(std::fs::remove_file(folder.path().join(name)));
            }
        }
        Ok(connection.execute("UPDATE residents SET priority = 1", [])?)
    });
    assert_eq!(changed.unwrap(), 0, "the new file has no residents");
}

/// Replaces the table of locks by something else of that name.
fn with_locks(definition: &str) -> (tempfile::TempDir, State) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    drop(State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap());
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(&format!("DROP TABLE locks; {definition}")).unwrap();
    let state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    (folder, state)
}

#[test]
fn a_table_that_was_replaced_by_an_endless_view_is_made_again() {
    let (_folder, mut state) = with_locks(
        "CREATE VIEW locks AS WITH RECURSIVE n(page) AS (SELECT x'00' UNION ALL SELECT page FROM n)
         SELECT page, 'ada' AS agent, 9 AS until, '' AS reason, 0 AS created FROM n",
    );
    assert_eq!(state.locks(1).unwrap().len(), 0);
    state.lock("ada", &[wanted(1)], NewLock { until: 100, reason: "" }, 1).unwrap();
    assert_eq!(state.locks(1).unwrap().len(), 1);
}

#[test]
fn a_signal_ends_a_query_that_takes_long() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let interrupt = Interrupt::default();
    let waiter = waiter_of(interrupt.clone());
    let mut state = State::open_at(&path, Mode::Kept, waiter).unwrap();
    let endless =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT count(*) FROM n";
    interrupt.flag.store(true, std::sync::atomic::Ordering::SeqCst);
    let ended =
        state.read(|connection| Ok(connection.query_one(endless, [], |row| row.get::<_, i64>(0))?));
    assert!(ended.unwrap_err().is_busy());
}

#[test]
fn pins_are_looked_up_while_others_can_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    ask(&mut state, 1);
    // What looks them up may run programs, which may run commands.
    let at_once = Waiter::hasty(Duration::ZERO);
    let request = Request {
        agent: "ada",
        wanted: &[wanted(2)],
        priority: 0,
        budget: tokens(2),
        lock: None,
        now: 1,
        pinned: &|pages| {
            let mut other = State::open_at(&path, Mode::Kept, at_once.clone())?;
            other.lock("bob", &[wanted(3)], NewLock { until: 100, reason: "" }, 1)?;
            Ok(pinned(pages))
        },
    };
    let loaded = state.request(&request).unwrap();
    assert!(
        matches!(&loaded, Requested::Loaded { evicted, .. } if evicted.len() == 1),
        "{loaded:?}"
    );
    assert_eq!(state.locks(1).unwrap().len(), 1);
}

#[test]
fn a_file_that_cannot_be_written_grants_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    ask(&mut state, 1);
    drop(state);
    let mut dry = State::open_at(&path, Mode::Dry, waiter_of_tests()).unwrap();
    let new = NewLock { until: 100, reason: "" };
    dry.lock("ada", &[wanted(1)], new, 1).unwrap();
    assert_eq!(dry.locks(1).unwrap(), []);
}
