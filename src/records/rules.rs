//! Merges one scope, or one record of a fork, that two repositories have changed (keys of blackboards and knowledge:
//! `join`): a pure function, the same on both sides.
//!
//! A side that did not change since the last sync follows the other, also if that has deleted the key. If one
//! side has deleted it and the other changed it, the change stays. If both changed it, the
//! latest change wins; with the same time, the larger blob. Both sides compute the same value: swapping them swaps the answer.

use crate::git::Oid;
use crate::model::time::Moment;

/// A key's value when both sides last agreed, and its values now. `None` means that it does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides<T> {
    /// The value when both last agreed.
    pub base: Option<T>,
    /// Here.
    pub ours: Option<T>,
    /// On the remote.
    pub theirs: Option<T>,
}

impl<T> Sides<T> {
    /// Applies a function to each side.
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

/// The value of a key on both sides after the sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Both have it already.
    Same,
    /// The value of one side, which may be none; the other has not changed it, or has deleted it.
    Take(Side),
    /// Both changed it: this side's value wins, the other is kept beside it.
    Prefer(Side),
}

/// A value with everything that is compared, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The time of its change; a value without one is older than all others.
    pub updated_at: Option<Moment>,
    /// The blob that holds it.
    pub blob: Oid,
    /// The commit that holds that.
    pub id: Oid,
}

/// Decides the value of a key.
pub fn merge(sides: &Sides<Version>) -> Merge {
    let changed = |side: &Option<Version>| *side != sides.base;
    match (&sides.ours, &sides.theirs) {
        (ours, theirs) if ours == theirs => Merge::Same,
        (ours, _) if !changed(ours) => Merge::Take(Side::Theirs),
        (_, theirs) if !changed(theirs) => Merge::Take(Side::Ours),
        (None, _) => Merge::Take(Side::Theirs),
        (_, None) => Merge::Take(Side::Ours),
        (Some(ours), Some(theirs)) if ours > theirs => Merge::Prefer(Side::Ours),
        (Some(_), Some(_)) => Merge::Prefer(Side::Theirs),
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

    fn swapped(merge: Merge) -> Merge {
        let other = |side| match side {
            Side::Ours => Side::Theirs,
            Side::Theirs => Side::Ours,
        };
        match merge {
            Merge::Take(side) => Merge::Take(other(side)),
            Merge::Prefer(side) => Merge::Prefer(other(side)),
            Merge::Same => Merge::Same,
        }
    }

    /// Returns the value of a key after a merge.
    fn value(sides: &Sides<Version>) -> Option<Version> {
        match merge(sides) {
            Merge::Same | Merge::Take(Side::Ours) | Merge::Prefer(Side::Ours) => sides.ours,
            Merge::Take(Side::Theirs) | Merge::Prefer(Side::Theirs) => sides.theirs,
        }
    }

    proptest! {
        #[test]
        fn both_sides_compute_the_same(base in version(), ours in version(), theirs in version()) {
            let here = Sides { base, ours, theirs };
            let there = Sides { base, ours: theirs, theirs: ours };
            prop_assert_eq!(merge(&here), swapped(merge(&there)));
            prop_assert_eq!(value(&here), value(&there));
        }

        #[test]
        fn a_merged_value_is_stable(base in version(), ours in version(), theirs in version()) {
            let merged = value(&Sides { base, ours, theirs });
            let again = Sides { base: merged, ours: merged, theirs: merged };
            prop_assert_eq!(merge(&again), Merge::Same);
            // A repository that merged it with one side only accepts it from the other.
            let late = Sides { base: ours, ours, theirs: merged };
            prop_assert_eq!(value(&late), merged);
        }

        #[test]
        fn a_change_is_never_lost_to_a_deletion(base in version(), change in version()) {
            prop_assume!(change.is_some() && change != base);
            let sides = Sides { base, ours: change, theirs: None };
            prop_assert_eq!(value(&sides), change);
        }

        #[test]
        fn three_changes_merge_to_the_same_in_any_order(a in version(), b in version(), c in version()) {
            let join = |ours, theirs| value(&Sides { base: None, ours, theirs });
            prop_assert_eq!(join(join(a, b), c), join(a, join(b, c)));
        }
    }
}
