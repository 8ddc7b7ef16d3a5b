//! The tiers against a simple model: one list in the order of use, with a clock that the test sets.

use proptest::prelude::*;

use crate::model::RepoPath;
use crate::store::cache::database_wait::waiter_of_tests;

use super::tier_view::{COLD_TIME, HOT_TIME, WARM_TIME};
use super::{Fragment, FragmentName, Mode, NewFragment, State, Tier, TierOwner, TierView};

const OWNER: TierOwner<'_> =
    TierOwner { repository: "0123456789abcdef", agent: "ada", project: "app" };

const VIEW: TierView = TierView { hot_tokens: 20, warm: 3, cold: 2, now: 1_000 };

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
    used_at: i64,
    accesses: u64,
}

/// The last used is first.
#[derive(Default)]
struct Model {
    line: Vec<Simple>,
    now: i64,
}

impl Model {
    fn step(&mut self, step: &Step) {
        let now = self.now;
        match step {
            Step::Hydrate(files) => {
                self.forget();
                self.line.retain(|fragment| files.iter().any(|(name, _)| *name == fragment.name));
                for &(name, content) in files.iter().rev() {
                    let old = self.line.iter().position(|fragment| fragment.name == name);
                    let mut accesses = 0;
                    if let Some(old) = old {
                        if self.line[old].content == content {
                            continue;
                        }
                        accesses = self.line.remove(old).accesses;
                    }
                    self.line.insert(0, Simple { name, content, used_at: now, accesses });
                }
            }
            Step::Access(names) => {
                for name in names {
                    let Some(at) = self.line.iter().position(|fragment| fragment.name == *name)
                    else {
                        continue;
                    };
                    let fragment = self.line.remove(at);
                    self.line.insert(
                        0,
                        Simple { used_at: now, accesses: fragment.accesses + 1, ..fragment },
                    );
                }
            }
            Step::Wait(_) => self.forget(),
        }
    }

    fn forget(&mut self) {
        self.line.retain(|fragment| self.now - fragment.used_at < COLD_TIME);
    }

    /// Fills one tier after the other with those that are not in one before it.
    fn tiers(&self) -> Vec<(Simple, Option<Tier>)> {
        let idle = |fragment: &Simple| self.now - fragment.used_at;
        let tokens = |fragment: &Simple| tokens(fragment.name, fragment.content);
        let fits =
            |fragment: &&Simple| idle(fragment) < HOT_TIME && tokens(fragment) <= VIEW.hot_tokens;
        let mut sum = 0;
        let is_room = |fragment: &&Simple| {
            sum += tokens(fragment);
            sum <= VIEW.hot_tokens
        };
        let hot: Vec<&Simple> = self.line.iter().filter(fits).take_while(is_room).collect();
        let rest = |others: &[&Simple], time: i64, room: usize| {
            let own = self
                .line
                .iter()
                .filter(|fragment| !others.contains(fragment) && idle(fragment) < time);
            own.take(room).collect::<Vec<_>>()
        };
        let warm = rest(&hot, WARM_TIME, VIEW.warm);
        let cold = rest(&[hot.clone(), warm.clone()].concat(), COLD_TIME, VIEW.cold);
        let tier = |fragment: &Simple| {
            let tiers = [(&hot, Tier::Hot), (&warm, Tier::Warm), (&cold, Tier::Cold)];
            tiers.into_iter().find(|(all, _)| all.contains(&fragment)).map(|(_, tier)| tier)
        };
        let known = self.line.iter().filter(|fragment| idle(fragment) < COLD_TIME);
        let mut rows: Vec<_> = known.map(|fragment| (fragment.clone(), tier(fragment))).collect();
        rows.sort_by_key(|(fragment, _)| fragment.name);
        rows
    }
}

fn simple(fragment: &Fragment) -> (Simple, Option<Tier>) {
    let simple = Simple {
        name: fragment.file.name.path.as_bytes()[1],
        content: fragment.file.hash.parse::<u8>().unwrap(),
        used_at: fragment.used_at,
        accesses: fragment.accesses,
    };
    (simple, fragment.tier)
}

fn check(state: &mut State, model: &Model) {
    let view = TierView { now: model.now, ..VIEW };
    let mut read = |last| {
        let read = state.fragments(OWNER, last, view).unwrap();
        read.iter().map(simple).collect::<Vec<_>>()
    };
    let expected = model.tiers();
    assert_eq!(read(None), expected);
    for last in [Tier::Hot, Tier::Warm, Tier::Cold] {
        let wanted = expected.iter().filter(|(_, tier)| tier.is_some_and(|tier| tier <= last));
        assert!(wanted.eq(&read(Some(last))), "{last:?} of {expected:?}");
    }
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
            let view = TierView { now: model.now, ..VIEW };
            let before = model.line.clone();
            model.step(step);
            match step {
                Step::Hydrate(hydrated) => {
                    let files: Vec<_> = hydrated.iter().map(|&(name, content)| file(name, content)).collect();
                    let (all, changed) = state.hydrate_tiers(OWNER, &files, view).unwrap();
                    prop_assert_eq!(all, state.fragments(OWNER, None, view).unwrap());
                    let is_new = |fragment: &&Simple| !before.iter().any(|old| {
                        old.name == fragment.name && old.content == fragment.content
                            && model.now - old.used_at < COLD_TIME
                    });
                    prop_assert_eq!(changed, model.line.iter().filter(is_new).count());
                }
                Step::Access(used) => {
                    let names: Vec<_> = used.iter().copied().map(named).collect();
                    state.use_fragments(OWNER, &names, model.now).unwrap();
                }
                Step::Wait(_) => {
                    let forgotten = state.forget_fragments(OWNER, view).unwrap();
                    prop_assert_eq!(forgotten, before.len() - model.line.len());
                }
            }
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
    let view = TierView { hot_tokens: 32_000, warm: 500, cold: 5_000, now: 1_000 };
    assert_eq!(state.hydrate_tiers(OWNER, &files, view).unwrap().1, 1_000);
    let first = state.fragments(OWNER, Some(Tier::Cold), view).unwrap();
    let count = |tier| first.iter().filter(|fragment| fragment.tier == Some(tier)).count();
    assert_eq!([Tier::Hot, Tier::Warm, Tier::Cold].map(count), [12, 500, 488]);
    // The best are hot.
    let best = first.iter().filter(|fragment| fragment.tier == Some(Tier::Hot));
    assert!(best.map(|fragment| &fragment.file).eq(&files[..12]));
    assert_eq!(state.hydrate_tiers(OWNER, &files, view).unwrap().1, 0);
    let again = state.fragments(OWNER, Some(Tier::Cold), view).unwrap();
    assert_eq!(again, first);
    let tokens: u64 = again.iter().map(|fragment| fragment.file.tokens).sum();
    assert_eq!(tokens, 2_600_000);
}

#[test]
fn a_file_that_has_no_room_is_not_taken_in_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut state =
        State::open_at(&folder.path().join("1.db"), Mode::Kept, waiter_of_tests()).unwrap();
    let files: Vec<NewFragment> = (0..10).map(|name| file(name, 0)).collect();
    let view = TierView { hot_tokens: 0, ..VIEW };
    let mut hydrated = |files: &[NewFragment]| {
        state.hydrate_tiers(OWNER, files, view).unwrap();
        state.fragments(OWNER, Some(Tier::Cold), view).unwrap()
    };
    let first = hydrated(&files);
    assert_eq!(first.len(), 5);
    assert!(first.iter().all(|fragment| fragment.tier > Some(Tier::Hot)));
    assert_eq!(hydrated(&files), first);
    // With other content it is.
    let mut changed = files;
    changed[9] = file(9, 1);
    let last = hydrated(&changed);
    assert!(last.iter().any(|fragment| fragment.file == changed[9]));
}

#[test]
fn a_value_of_a_wrong_type_has_the_file_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1.db");
    let mut state = State::open_at(&path, Mode::Kept, waiter_of_tests()).unwrap();
    let files = [file(0, 0)];
    state.hydrate_tiers(OWNER, &files, VIEW).unwrap();
    let whole = state.fragments(OWNER, None, VIEW).unwrap();
    for value in ["tokens = 'many'", "hash = x'00'", "hash = CAST(x'ff' AS TEXT)"] {
        let damage = || {
            let other = rusqlite::Connection::open(&path).unwrap();
            other.execute(&format!("UPDATE context_fragments SET {value}"), [])
        };
        damage().unwrap();
        assert_eq!(state.fragments(OWNER, None, VIEW).unwrap(), [], "{value}");
        state.hydrate_tiers(OWNER, &files, VIEW).unwrap();
        damage().unwrap();
        state.hydrate_tiers(OWNER, &files, VIEW).unwrap();
        assert_eq!(state.fragments(OWNER, None, VIEW).unwrap(), whole, "{value}");
    }
}
