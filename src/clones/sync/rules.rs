//! What becomes of one key of a record that two repositories have changed: pure rules, the same on both
//! sides.
//!
//! A side that did not change since the last sync follows the other, also where that has deleted it.
//! Deleted on one side and changed on the other, it stays as changed. Changed on both, the rule of its
//! kind decides. Whoever asks comes to the same value: swapping the sides swaps the answer.

use crate::git::Oid;
use crate::model::time::Moment;

/// What a key held when both sides last agreed, and what it holds now. `None` is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides<T> {
    /// When both last agreed.
    pub base: Option<T>,
    /// Here.
    pub ours: Option<T>,
    /// On the remote.
    pub theirs: Option<T>,
}

impl<T> Sides<T> {
    /// Makes the same of each side.
    pub fn map<U>(self, make: impl Fn(T) -> U) -> Sides<U> {
        Sides {
            base: self.base.map(&make),
            ours: self.ours.map(&make),
            theirs: self.theirs.map(&make),
        }
    }
}

/// One of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Here.
    Ours,
    /// On the remote.
    Theirs,
}

/// What a key becomes on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Both have it already.
    Same,
    /// What one side has, which may be nothing; the other has not changed it, or has deleted it.
    Take(Side),
    /// Both changed it: this side's counts, the other is kept beside it.
    Prefer(Side),
    /// Both changed it, and no rule decides.
    Conflict,
}

/// The rule of a kind for what both sides have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The one that was changed last; of the same moment, the larger blob.
    Latest,
    /// None: both stay, each where it is.
    KeepBoth,
}

/// A value as rules compare it, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// When it says that it was changed; one that does not say is older than all.
    pub updated_at: Option<Moment>,
    /// The blob that holds it.
    pub blob: Oid,
    /// The commit that holds that.
    pub id: Oid,
}

/// Decides what becomes of a key.
pub fn merge(rule: Rule, sides: &Sides<Version>) -> Merge {
    let changed = |side: &Option<Version>| *side != sides.base;
    match (&sides.ours, &sides.theirs) {
        (ours, theirs) if ours == theirs => Merge::Same,
        (ours, _) if !changed(ours) => Merge::Take(Side::Theirs),
        (_, theirs) if !changed(theirs) => Merge::Take(Side::Ours),
        (None, _) => Merge::Take(Side::Theirs),
        (_, None) => Merge::Take(Side::Ours),
        (Some(ours), Some(theirs)) => match rule {
            Rule::Latest if ours > theirs => Merge::Prefer(Side::Ours),
            Rule::Latest => Merge::Prefer(Side::Theirs),
            Rule::KeepBoth => Merge::Conflict,
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::time;

    fn version() -> impl Strategy<Value = Option<Version>> {
        let hex = |digit: u8| Oid::parse(&format!("{digit:x}").repeat(40)).unwrap();
        let made =
            (0..3u8, 0..3u8, prop::option::of(0..3i64)).prop_map(move |(id, blob, at)| Version {
                updated_at: at.and_then(|seconds| time::from_git(seconds, 0)),
                blob: hex(blob),
                id: hex(id),
            });
        prop::option::of(made)
    }

    fn rule() -> impl Strategy<Value = Rule> {
        prop_oneof![Just(Rule::Latest), Just(Rule::KeepBoth)]
    }

    fn swapped(merge: Merge) -> Merge {
        let other = |side| match side {
            Side::Ours => Side::Theirs,
            Side::Theirs => Side::Ours,
        };
        match merge {
            Merge::Take(side) => Merge::Take(other(side)),
            Merge::Prefer(side) => Merge::Prefer(other(side)),
            settled => settled,
        }
    }

    /// What a key holds after a merge; an error where no rule decides.
    fn value(rule: Rule, sides: &Sides<Version>) -> Result<Option<Version>, Merge> {
        match merge(rule, sides) {
            Merge::Same | Merge::Take(Side::Ours) | Merge::Prefer(Side::Ours) => Ok(sides.ours),
            Merge::Take(Side::Theirs) | Merge::Prefer(Side::Theirs) => Ok(sides.theirs),
            Merge::Conflict => Err(Merge::Conflict),
        }
    }

    proptest! {
        #[test]
        fn both_sides_come_to_the_same(rule in rule(), base in version(), one in version(), other in version()) {
            let here = Sides { base, ours: one, theirs: other };
            let there = Sides { base, ours: other, theirs: one };
            prop_assert_eq!(merge(rule, &here), swapped(merge(rule, &there)));
            prop_assert_eq!(value(rule, &here), value(rule, &there));
        }

        #[test]
        fn what_is_merged_stays_so(rule in rule(), base in version(), one in version(), other in version()) {
            if let Ok(merged) = value(rule, &Sides { base, ours: one, theirs: other }) {
                let again = Sides { base: merged, ours: merged, theirs: merged };
                prop_assert_eq!(merge(rule, &again), Merge::Same);
                // Whoever merged it with one side alone takes it over from the other.
                let late = Sides { base: one, ours: one, theirs: merged };
                prop_assert_eq!(value(rule, &late), Ok(merged));
            }
        }

        #[test]
        fn a_change_is_never_lost_to_a_deletion(rule in rule(), base in version(), one in version()) {
            prop_assume!(one.is_some() && one != base);
            let sides = Sides { base, ours: one, theirs: None };
            prop_assert_eq!(value(rule, &sides), Ok(one));
        }

        #[test]
        fn three_that_changed_come_to_the_same_in_any_order(a in version(), b in version(), c in version()) {
            let join = |one, other| value(Rule::Latest, &Sides { base: None, ours: one, theirs: other }).unwrap();
            prop_assert_eq!(join(join(a, b), c), join(a, join(b, c)));
        }
    }
}
