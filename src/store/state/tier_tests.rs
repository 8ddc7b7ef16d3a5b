//! The tiers against a simple model: one list in the order of use, with a clock that the test sets.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::model::RepoPath;
use crate::store::cache::database_wait::waiter_of_tests;

use super::tier_set::{COLD_TIME, IDLE_TIME, PROMOTION};
use super::{
    Fragment, FragmentName, Mode, NewFragment, State, Tier, TierLimits, TierOwner, TierStep,
};

const OWNER: TierOwner<'_> =
    TierOwner { repository: "0123456789abcdef", agent: "ada", project: "app" };

const LIMITS: TierLimits = TierLimits { hot_tokens: 20, warm: 3, cold: 2 };

#[derive(Clone, Debug)]
enum Step {
    /// Files, the best first: name and content.
    Hydrate(Vec<(u8, u8)>),
    Access(Vec<u8>),
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let files = proptest::collection::btree_map(0_u8..10, 0_u8..3, 0..10);
    let shuffled = files.prop_map(|files| files.into_iter().collect::<Vec<_>>());
    prop_oneof![
        shuffled.prop_shuffle().prop_map(Step::Hydrate),
        proptest::collection::vec(0_u8..10, 1..4).prop_map(Step::Access),
        (1_i64..50).prop_map(|hours| Step::Wait(hours * 3_600_000)),
        Just(Step::Wait(COLD_TIME)),
    ]
}

/// The tokens of a content: one is larger than the hot tier.
fn tokens(name: u8, content: u8) -> u64 {
    if name == 9 && content == 2 { 21 } else { u64::from(name % 4 + content) + 3 }
}

fn file(name: u8, content: u8) -> NewFragment {
    NewFragment {
        name: named(name),
        hash: format!("{content:040}"),
        tokens: tokens(name, content),
        bytes: tokens(name, content) * 4,
    }
}

fn named(name: u8) -> FragmentName {
    FragmentName { resource: "code".to_owned(), path: RepoPath::new(vec![b'\xff', name]) }
}

/// A fragment of the model.
#[derive(Clone, Debug, PartialEq)]
struct Simple {
    name: u8,
    content: u8,
    /// 0 is hot, 3 is none.
    tier: u8,
    since: i64,
    accesses: u64,
}

/// The least recently used is first.
#[derive(Default)]
struct Model {
    line: Vec<Simple>,
    now: i64,
    hits: u64,
    moves: [u64; 3],
}

impl Model {
    fn step(&mut self, step: &Step) {
        let before = self.line.clone();
        let now = self.now;
        for it in &mut self.line {
            while it.tier < 2 && now - it.since >= IDLE_TIME {
                it.tier += 1;
                it.since += IDLE_TIME;
            }
        }
        self.line.retain(|it| it.tier < 2 || now - it.since < COLD_TIME);
        match step {
            Step::Hydrate(files) => {
                self.line.retain(|it| files.iter().any(|(name, _)| *name == it.name));
                for &(name, content) in files.iter().rev() {
                    let at = self.line.iter().position(|it| it.name == name);
                    let old = at.map(|at| self.line[at].clone());
                    if old.as_ref().is_some_and(|old| old.content == content) {
                        continue;
                    }
                    self.line.retain(|it| it.name != name);
                    self.line.push(Simple {
                        name,
                        content,
                        tier: 0,
                        since: now,
                        accesses: old.map_or(0, |old| old.accesses),
                    });
                }
            }
            Step::Access(names) => {
                for name in names {
                    let at = self.line.iter().position(|it| it.name == *name && it.tier < 3);
                    let Some(at) = at else { continue };
                    let mut it = self.line.remove(at);
                    self.hits += 1;
                    it.accesses += 1;
                    it.since = now;
                    if it.accesses.is_multiple_of(PROMOTION) {
                        it.tier = it.tier.saturating_sub(1);
                    }
                    self.line.push(it);
                }
            }
            Step::Wait(_) => {}
        }
        self.shrink();
        self.count(&before);
    }

    fn shrink(&mut self) {
        let now = self.now;
        let mut down = |it: &mut Simple| (it.tier, it.since) = (it.tier + 1, now);
        let large = self.line.iter_mut();
        large
            .filter(|it| it.tier == 0 && tokens(it.name, it.content) > LIMITS.hot_tokens)
            .for_each(&mut down);
        loop {
            let hot = self.line.iter().filter(|it| it.tier == 0);
            let sum: u64 = hot.map(|it| tokens(it.name, it.content)).sum();
            if sum <= LIMITS.hot_tokens {
                break;
            }
            down(self.line.iter_mut().find(|it| it.tier == 0).unwrap());
        }
        for (tier, limit) in [(1, LIMITS.warm), (2, LIMITS.cold)] {
            while self.line.iter().filter(|it| it.tier == tier).count() > limit {
                down(self.line.iter_mut().find(|it| it.tier == tier).unwrap());
            }
        }
    }

    /// Counts those that went up, down and out, but not those with new content.
    fn count(&mut self, before: &[Simple]) {
        for old in before {
            let new = self.line.iter().find(|it| it.name == old.name);
            match new.filter(|new| new.content == old.content) {
                Some(new) if new.tier < old.tier => self.moves[0] += 1,
                Some(new) if new.tier == 3 && old.tier < 3 => self.moves[2] += 1,
                Some(new) if new.tier > old.tier => self.moves[1] += 1,
                None if new.is_none() && old.tier < 3 => self.moves[2] += 1,
                _ => {}
            }
        }
    }
}

fn simple(it: &Fragment) -> Simple {
    Simple {
        name: it.file.name.path.as_bytes()[1],
        content: it.file.hash.parse::<u8>().unwrap(),
        tier: it.tier.map_or(3, |tier| tier as u8),
        since: it.since,
        accesses: it.accesses,
    }
}

fn check(state: &mut State, model: &Model) {
    let stored = state.fragments(OWNER).unwrap();
    let mut in_order: Vec<&Fragment> = stored.iter().collect();
    // Those in no tier have no order.
    in_order.sort_by_key(|it| it.tier.map(|_| it.used));
    let line: Vec<Simple> = in_order.into_iter().map(simple).collect();
    let mut expected = model.line.clone();
    expected.sort_by_key(|it| (it.tier < 3, if it.tier < 3 { 0 } else { it.name }));
    assert_eq!(line, expected);
    let counters = state.tier_counters(OWNER).unwrap();
    assert_eq!(counters.hits, model.hits);
    let moves = [counters.promotions, counters.demotions, counters.evictions];
    assert_eq!(moves, model.moves);
    let mut sums: BTreeMap<Tier, (u64, usize)> = BTreeMap::new();
    for it in &stored {
        if let Some(tier) = it.tier {
            let sum = sums.entry(tier).or_default();
            *sum = (sum.0 + it.file.tokens, sum.1 + 1);
        }
    }
    let sum = |tier| sums.get(&tier).copied().unwrap_or_default();
    assert!(sum(Tier::Hot).0 <= LIMITS.hot_tokens);
    assert!(sum(Tier::Warm).1 <= LIMITS.warm && sum(Tier::Cold).1 <= LIMITS.cold);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tiers_are_those_of_a_simple_model(steps in proptest::collection::vec(step(), 1..40)) {
        let folder = tempfile::tempdir().unwrap();
        let mut state = State::open_at(&folder.path().join("1.db"), Mode::Kept, waiter_of_tests()).unwrap();
        let mut model = Model { now: 1_000, ..Model::default() };
        for step in &steps {
            if let Step::Wait(time) = step {
                model.now += time;
            }
            let (mut files, mut names) = (Vec::new(), Vec::new());
            let taken = match step {
                Step::Hydrate(hydrated) => {
                    files.extend(hydrated.iter().map(|&(name, content)| file(name, content)));
                    TierStep::Hydrate(&files)
                }
                Step::Access(used) => {
                    names.extend(used.iter().copied().map(named));
                    TierStep::Access(&names)
                }
                Step::Wait(_) => TierStep::Age,
            };
            let (fragments, _) = state.tier_step(OWNER, taken, LIMITS, model.now).unwrap();
            prop_assert!(fragments.iter().all(|it| it.tier.is_some()));
            model.step(step);
            check(&mut state, &model);
        }
    }
}

#[test]
fn nothing_is_lost_where_much_is_hydrated() {
    let folder = tempfile::tempdir().unwrap();
    let mut state =
        State::open_at(&folder.path().join("1.db"), Mode::Kept, waiter_of_tests()).unwrap();
    let files: Vec<NewFragment> = (0..1_000_u32)
        .map(|number| NewFragment {
            name: FragmentName {
                resource: "code".to_owned(),
                path: RepoPath::from(format!("{number:04}").as_str()),
            },
            hash: format!("{number:040}"),
            tokens: 2_600,
            bytes: 10_400,
        })
        .collect();
    let limits = TierLimits { hot_tokens: 32_000, warm: 500, cold: 5_000 };
    let step = TierStep::Hydrate(&files);
    let (first, changes) = state.tier_step(OWNER, step, limits, 1_000).unwrap();
    let count = |tier| first.iter().filter(|it| it.tier == Some(tier)).count();
    assert_eq!(Tier::ALL.map(count), [12, 500, 488]);
    assert_eq!(changes.stored.len(), 1_000);
    assert_eq!((changes.demoted.len(), changes.evicted.len()), (0, 0));
    // The best are hot.
    let best = first.iter().filter(|it| it.tier == Some(Tier::Hot));
    assert!(best.map(|it| &it.file).eq(&files[..12]));
    let (again, changes) = state.tier_step(OWNER, step, limits, 2_000).unwrap();
    assert_eq!(again, first);
    assert_eq!(changes, super::TierChanges::default());
    let tokens: u64 = again.iter().map(|it| it.file.tokens).sum();
    assert_eq!(tokens, 2_600_000);
}

#[test]
fn a_file_that_has_no_room_is_not_taken_in_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut state =
        State::open_at(&folder.path().join("1.db"), Mode::Kept, waiter_of_tests()).unwrap();
    let files: Vec<NewFragment> = (0..10).map(|name| file(name, 0)).collect();
    let mut step = |files: &[NewFragment], now| {
        let limits = TierLimits { hot_tokens: 0, ..LIMITS };
        let step = TierStep::Hydrate(files);
        state.tier_step(OWNER, step, limits, now).unwrap().0
    };
    let first = step(&files, 1_000);
    assert_eq!(first.len(), 5);
    assert!(first.iter().all(|it| it.tier > Some(Tier::Hot)));
    assert_eq!(step(&files, 2_000), first);
    // With other content it is.
    let mut changed = files;
    changed[9] = file(9, 1);
    let last = step(&changed, 3_000);
    assert!(last.iter().any(|it| it.file == changed[9]));
}

#[test]
fn a_value_of_a_wrong_type_has_the_file_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    let files = [file(0, 0)];
    let step = TierStep::Hydrate(&files);
    let (whole, _) = state.tier_step(OWNER, step, LIMITS, 1_000).unwrap();
    for value in ["tokens = 'many'", "tier = 300", "hash = x'00'", "hash = CAST(x'ff' AS TEXT)"] {
        let damage = || {
            let other = rusqlite::Connection::open(&path).unwrap();
            other.execute(&format!("UPDATE fragments SET {value}"), [])
        };
        damage().unwrap();
        assert_eq!(state.fragments(OWNER).unwrap(), [], "{value}");
        state.tier_step(OWNER, step, LIMITS, 1_000).unwrap();
        damage().unwrap();
        let (again, _) = state.tier_step(OWNER, step, LIMITS, 1_000).unwrap();
        assert_eq!(again, whole, "{value}");
    }
}
